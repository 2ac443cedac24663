//! Hit ratios of traces without a device: each request is a series of references to pages.
//!
//! Reads and writes count alike, and a missed page is admitted. Flushes reference no page. Pages of different devices are
//! different pages. An object of a trace that lists objects counts as one page, whatever its size.

use std::collections::HashMap;

use serde::Serialize;

use super::replacement::{PolicyFailure, MAX_SLOTS};
use crate::engine::Stop;
use crate::fault::{Fault, Faults, Kind, Range, Word};
use crate::limits::PAGES_OF_A_REQUEST;
use crate::plugin::ReplacementChoice;
use crate::request::Op;
use crate::traces::{TraceError, TraceReader, TraceRecord};

/// Page size in bytes if neither the caller nor the trace's format gives one.
const DEFAULT_PAGE_BYTES: u64 = 4096;
/// Number of references that are applied to one cache before the next.
const BATCH_REFERENCES: usize = 32_768;

/// A cache to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheSpec {
    /// Its policy.
    pub policy: ReplacementChoice,
    /// Its size in pages, 1 to [`MAX_SLOTS`].
    pub pages: u64,
}

/// The result of one cache.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheHits {
    /// Its policy.
    pub policy: ReplacementChoice,
    /// Its size in pages.
    pub pages: u64,
    /// References to pages that were in the cache.
    pub hits: u64,
    /// Hits among the references, 0 to 1.
    pub hit_ratio: f64,
    /// Memory of the policy, bytes.
    pub memory_bytes: usize,
}

/// The results of all caches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HitRatios {
    /// The trace's format.
    pub format: &'static str,
    /// Requests of the trace.
    pub requests: u64,
    /// Bad records skipped, as the options allowed.
    pub skipped: u64,
    /// Page size, bytes; `None` if the trace lists objects, each of which counts as a page.
    pub page_bytes: Option<u64>,
    /// References to pages.
    pub references: u64,
    /// Each cache, in the order given.
    pub caches: Vec<CacheHits>,
}

/// An error of [`hit_ratios`].
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
    /// The caller has interrupted the run.
    #[error("interrupted")]
    Interrupted,
}

/// 2^32 consecutive pages of a device.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Region {
    device: u32,
    index: u64,
}

/// The keys of pages of several devices: a number for each region in order of appearance, and the page in the region. Memory grows
/// with the number of regions.
#[derive(Default)]
struct Regions {
    /// The first key of each region.
    bases: HashMap<Region, u64>,
    /// The last region and its first key.
    last: Option<(Region, u64)>,
}

impl Regions {
    /// The key of a page.
    #[inline]
    fn key(&mut self, device: u32, page: u64) -> u64 {
        let region = Region { device, index: page >> 32 };
        let base = match self.last {
            Some((last, base)) if last == region => base,
            _ => self.base(region),
        };
        base | page & u64::from(u32::MAX)
    }

    /// The first key of a region.
    fn base(&mut self, region: Region) -> u64 {
        let next = (self.bases.len() as u64) << 32;
        let base = *self.bases.entry(region).or_insert(next);
        self.last = Some((region, base));
        base
    }
}

/// The rest of a request: pages `first` to `last` of a device.
struct RestOfRequest {
    device: u32,
    first: u64,
    last: u64,
}

/// The references of a trace, in batches.
struct References<'a> {
    reader: &'a mut TraceReader,
    /// `None` if the trace lists objects.
    page_bytes: Option<u64>,
    regions: Regions,
    /// Pages of the last request that have not been returned.
    rest: Option<RestOfRequest>,
}

impl References<'_> {
    /// Replaces `keys` by the next references; by none at the end of the trace.
    fn fill(&mut self, keys: &mut Vec<u64>) -> Result<(), HitRatioError> {
        keys.clear();
        loop {
            if let Some(RestOfRequest { device, first, last }) = self.rest.take() {
                let end = last.min(first + (BATCH_REFERENCES - keys.len()) as u64 - 1);
                keys.extend((first..=end).map(|page| self.regions.key(device, page)));
                if end < last {
                    self.rest = Some(RestOfRequest { device, first: end + 1, last });
                }
            }
            if keys.len() == BATCH_REFERENCES {
                return Ok(());
            }
            let Some(TraceRecord { device, offset_bytes, bytes, op, .. }) = self.reader.next()? else { return Ok(()) };
            if op == Op::Flush {
                continue;
            }
            let Some(page_bytes) = self.page_bytes else {
                self.rest = Some(RestOfRequest { device, first: offset_bytes, last: offset_bytes });
                continue;
            };
            let (first, last) = (offset_bytes / page_bytes, (offset_bytes + (bytes - 1)) / page_bytes);
            if last - first >= PAGES_OF_A_REQUEST.most {
                let (request, pages, limit) = (self.reader.records(), last - first + 1, PAGES_OF_A_REQUEST.most);
                let says = format!(
                    ": request {request} of the trace has {pages} pages of this size; at most {limit} are supported: use larger pages"
                );
                return Err(Faults::from(Fault::of(Kind::Unsupported, "page_bytes", page_bytes).says(says)).into());
            }
            self.rest = Some(RestOfRequest { device, first, last });
        }
    }
}

/// Simulates caches on the rest of a trace in one pass. All caches are empty at first.
///
/// `page_bytes` is at least 1; `None` selects the page size of the trace's format, or else 4096 bytes. A trace that lists objects
/// has no pages and takes none. `keep_going` is called
/// repeatedly with the number of requests read and the share of the trace read, 0 to 1, if that is known; it returns false to
/// interrupt.
///
/// # Errors
/// There is no cache, a size or parameter is out of range, the trace has an error, a custom policy failed, or `keep_going` returned
/// false.
pub fn hit_ratios(
    reader: &mut TraceReader,
    page_bytes: Option<u64>,
    caches: &[CacheSpec],
    keep_going: &mut dyn FnMut(u64, Option<f64>) -> bool,
) -> Result<HitRatios, HitRatioError> {
    if page_bytes == Some(0) {
        return Err(Faults::from(Fault::out_of_range("page_bytes", 0, Range::at_least(1.0).whole())).into());
    }
    let page_bytes = if reader.format().lists_objects() {
        if let Some(given) = page_bytes {
            let says =
                format!(": each object of a trace of format {} counts as one page: leave it out", reader.format());
            return Err(Faults::from(Fault::conflict("page_bytes", given).says(says)).into());
        }
        None
    } else {
        Some(page_bytes.or(reader.page_bytes().map(u64::from)).unwrap_or(DEFAULT_PAGE_BYTES))
    };
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
