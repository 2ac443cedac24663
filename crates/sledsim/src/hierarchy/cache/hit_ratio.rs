//! Hit ratios without a device: a trace's requests as references to pages, and how many of them each cache would serve.
//!
//! Reads and writes count alike, and whatever is missed is brought in. Flushes touch no page. Pages of different devices are
//! different pages.

use std::collections::HashMap;

use serde::Serialize;

use super::replacement::{PolicyFailure, MAX_SLOTS};
use crate::engine::Stop;
use crate::fault::{Fault, Faults, Kind, Range, Word};
use crate::limits::PAGES_OF_A_REQUEST;
use crate::plugin::ReplacementChoice;
use crate::request::Op;
use crate::traces::{TraceError, TraceReader, TraceRecord};

/// Size of a page where neither the caller nor the trace's format gives one.
const DEFAULT_PAGE_BYTES: u64 = 4096;
/// References that go through a cache at a time.
const BATCH_REFERENCES: usize = 32_768;

/// A cache to try.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheSpec {
    /// Its policy.
    pub policy: ReplacementChoice,
    /// Its size, 1 to [`MAX_SLOTS`].
    pub pages: u64,
}

/// What a cache did with a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheHits {
    /// Its policy.
    pub policy: ReplacementChoice,
    /// Its size.
    pub pages: u64,
    /// References to pages that were in it.
    pub hits: u64,
    /// Hits among the references, 0 to 1.
    pub hit_ratio: f64,
    /// Memory that the policy took.
    pub memory_bytes: usize,
}

/// What the caches did with a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HitRatios {
    /// The trace's format.
    pub format: &'static str,
    /// Requests of the trace.
    pub requests: u64,
    /// Bad records passed over, as the options allowed.
    pub skipped: u64,
    /// Size of a page.
    pub page_bytes: u64,
    /// Pages that the requests touch, each as often as it is touched.
    pub references: u64,
    /// Each cache, in the order given.
    pub caches: Vec<CacheHits>,
}

/// Why there are no hit ratios.
#[derive(Debug, thiserror::Error)]
pub enum HitRatioError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A parameter of a policy is outside its range, a cache or a page has an impossible size, or there is no cache.
    #[error(transparent)]
    Cache(#[from] Faults),
    /// A custom policy failed.
    #[error(transparent)]
    Policy(Fault),
    /// The caller wanted no more.
    #[error("interrupted")]
    Interrupted,
}

/// Numbers for the pages of several devices: page numbers below 2^32 within a region, and a number for each region in
/// the order in which the regions appear. Memory is that of the regions, 2^32 pages each.
#[derive(Default)]
struct Regions {
    bases: HashMap<(u32, u64), u64>,
    last: Option<((u32, u64), u64)>,
}

impl Regions {
    /// The key of a page.
    #[inline]
    fn key(&mut self, device: u32, page: u64) -> u64 {
        let region = (device, page >> 32);
        let base = match self.last {
            Some((last, base)) if last == region => base,
            _ => self.base(region),
        };
        base | page & u64::from(u32::MAX)
    }

    fn base(&mut self, region: (u32, u64)) -> u64 {
        let next = (self.bases.len() as u64) << 32;
        let base = *self.bases.entry(region).or_insert(next);
        self.last = Some((region, base));
        base
    }
}

/// The references of a trace, some at a time.
struct References<'a> {
    reader: &'a mut TraceReader,
    page_bytes: u64,
    regions: Regions,
    /// What is left of the last request: device, next page, last page.
    rest: Option<(u32, u64, u64)>,
}

impl References<'_> {
    /// The next references into `keys`; none at the end of the trace.
    fn fill(&mut self, keys: &mut Vec<u64>) -> Result<(), HitRatioError> {
        keys.clear();
        loop {
            if let Some((device, first, last)) = self.rest.take() {
                let end = last.min(first + (BATCH_REFERENCES - keys.len()) as u64 - 1);
                keys.extend((first..=end).map(|page| self.regions.key(device, page)));
                if end < last {
                    self.rest = Some((device, end + 1, last));
                }
            }
            if keys.len() == BATCH_REFERENCES {
                return Ok(());
            }
            let Some(TraceRecord { device, offset_bytes, bytes, op, .. }) = self.reader.next()? else { return Ok(()) };
            if op == Op::Flush {
                continue;
            }
            let (first, last) = (offset_bytes / self.page_bytes, (offset_bytes + (bytes - 1)) / self.page_bytes);
            if last - first >= PAGES_OF_A_REQUEST.most {
                let (request, pages, most) = (self.reader.records(), last - first + 1, PAGES_OF_A_REQUEST.most);
                let says = format!(
                    ": request {request} of the trace touches {pages} pages of it, at most {most} are counted: take larger pages"
                );
                return Err(Faults::from(Fault::of(Kind::Unsupported, "page_bytes", self.page_bytes).says(says)).into());
            }
            self.rest = Some((device, first, last));
        }
    }
}

/// Sends the rest of a trace through each of at least one cache, all empty at first, in one pass.
///
/// `page_bytes` is at least 1; `None` means the page that the trace's format has, or else 4096 bytes. `keep_going` is called
/// now and then with the number of requests read and the share of the trace read, 0 to 1, if that is known.
///
/// # Errors
/// A size, a number or a parameter out of range, an error of [`TraceReader::next`], or `keep_going` returned false.
pub fn hit_ratios(
    reader: &mut TraceReader,
    page_bytes: Option<u64>,
    caches: &[CacheSpec],
    keep_going: &mut dyn FnMut(u64, Option<f64>) -> bool,
) -> Result<HitRatios, HitRatioError> {
    let page_bytes = page_bytes.or(reader.page_bytes().map(u64::from)).unwrap_or(DEFAULT_PAGE_BYTES);
    if page_bytes == 0 {
        return Err(Faults::from(Fault::out_of_range("page_bytes", 0, Range::at_least(1.0).whole())).into());
    }
    if caches.is_empty() {
        return Err(Faults::from(Fault::missing("caches.0").says(": at least one is needed")).into());
    }
    let mut policies = Vec::with_capacity(caches.len());
    for cache in caches {
        cache.policy.validate().map_err(|faults| faults.within("policy"))?;
        let slots = u32::try_from(cache.pages).ok().filter(|slots| (1..=MAX_SLOTS).contains(slots));
        let Some(slots) = slots else {
            let range = Range::from_to(1.0, f64::from(MAX_SLOTS)).whole();
            return Err(Faults::from(Fault::out_of_range("pages", cache.pages, range)).into());
        };
        policies.push((cache.policy.build(slots), 0));
    }
    let mut references = References { reader, page_bytes, regions: Regions::default(), rest: None };
    let mut keys = Vec::with_capacity(BATCH_REFERENCES);
    let mut count = 0;
    loop {
        references.fill(&mut keys)?;
        if keys.is_empty() {
            break;
        }
        count += keys.len() as u64;
        for (policy, hits) in &mut policies {
            if !keep_going(references.reader.records(), references.reader.fraction_read()) {
                return Err(HitRatioError::Interrupted);
            }
            *hits += policy.references(&keys);
            match policy.failure() {
                None => {}
                Some(PolicyFailure { stop: Stop::Interrupted, .. }) => return Err(HitRatioError::Interrupted),
                Some(PolicyFailure { stop: Stop::Failed(fault), key }) => {
                    let mut fault = fault.clone();
                    let with = key.map(|page| format!("with page {page}: "));
                    fault.message.splice(0..0, with.map(Word::Text));
                    return Err(HitRatioError::Policy(fault));
                }
            }
        }
    }
    let found = caches.iter().zip(policies).map(|(cache, (policy, hits))| CacheHits {
        policy: cache.policy.clone(),
        pages: cache.pages,
        hits,
        hit_ratio: hits as f64 / count as f64,
        memory_bytes: policy.memory_bytes(),
    });
    let caches = found.collect();
    let (format, requests, skipped) = (reader.format().name(), reader.records(), reader.skipped());
    Ok(HitRatios { format, requests, skipped, page_bytes, references: count, caches })
}
