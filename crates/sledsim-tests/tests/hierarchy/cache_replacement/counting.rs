//! Hit ratios of generated traces: long requests, several devices, and rejected values.

use std::collections::HashSet;
use std::io::Cursor;

use sledsim::hierarchy::cache::hit_ratio::{hit_ratios, CacheSpec, HitRatioError, HitRatios};
use sledsim::hierarchy::cache::replacement::{lru, slru, ReplacementSpec};
use sledsim::limits::PAGES_OF_A_REQUEST;
use sledsim::traces::{TraceOptions, TraceReader};

const LRU: ReplacementSpec = lru::POLICY.default;

/// A CSV trace of reads: device, offset, bytes.
fn trace(requests: &[(u32, u64, u64)]) -> TraceReader {
    let rows = requests.iter().map(|(device, offset, bytes)| format!("0,{device},{offset},{bytes},R\n"));
    let text = ["t_ns,device,offset_bytes,bytes,op\n".to_owned()].into_iter().chain(rows).collect::<String>();
    TraceReader::from_reader("made", Box::new(Cursor::new(text)), &TraceOptions::default()).unwrap()
}

fn counted(requests: &[(u32, u64, u64)], page_bytes: u64, pages: u64) -> Result<HitRatios, HitRatioError> {
    hit_ratios(&mut trace(requests), Some(page_bytes), &[CacheSpec { policy: LRU.into(), pages }], &mut |_, _| true)
}

/// Requests longer than a batch of references, at any offset, on devices with distant numbers.
#[test]
fn every_page_of_a_long_request_is_referenced_once() {
    let far = (1_u64 << 44) - 70_000;
    let requests: [(u32, u64, u64); 6] =
        [(0, 0, 100_000), (7, 5, 65_531), (0, 99_990, 20), (7, far, 140_000), (0, far, 140_000), (7, far, 1)];
    for page_bytes in [1, 3, 512] {
        let mut seen = HashSet::new();
        let (mut references, mut hits) = (0, 0);
        for (device, offset, bytes) in requests {
            for page in offset / page_bytes..(offset + bytes).div_ceil(page_bytes) {
                references += 1;
                hits += u64::from(!seen.insert((device, page)));
            }
        }
        let found = counted(&requests, page_bytes, 1 << 20).unwrap();
        assert_eq!((found.requests, found.references, found.caches[0].hits), (6, references, hits));
    }
}

/// The last byte that a trace can address.
#[test]
fn the_last_possible_page_is_counted() {
    let found = counted(&[(0, u64::MAX - 10, 10), (0, u64::MAX - 1, 1)], 4096, 10).unwrap();
    assert_eq!((found.references, found.caches[0].hits), (2, 1));
}

#[test]
fn flushes_reference_no_page() {
    let text = "t_ns,device,offset_bytes,bytes,op\n0,0,0,0,F\n0,0,0,512,R\n1,0,0,0,F\n2,0,0,512,WF\n3,0,7,7,flush\n";
    let mut reader = TraceReader::from_reader("made", Box::new(Cursor::new(text)), &TraceOptions::default()).unwrap();
    let found =
        hit_ratios(&mut reader, Some(512), &[CacheSpec { policy: LRU.into(), pages: 1 }], &mut |_, _| true).unwrap();
    assert_eq!((found.references, found.caches[0].hits), (2, 1));
}

#[test]
fn invalid_sizes_and_parameters_are_rejected() {
    let requests = [(0, 0, 4096)];
    for (page_bytes, pages, said) in [
        (0, 10, "page_bytes = 0 is out of range: expected a whole number of at least 1"),
        (4096, 0, "pages = 0 is out of range: expected a whole number from 1 to 2147483647"),
        (4096, 1 << 31, "pages = 2147483648"),
        (4096, 1 << 32, "pages = 4294967296"),
    ] {
        let message = counted(&requests, page_bytes, pages).unwrap_err().to_string();
        assert!(message.contains(said), "{message}");
    }
    let cache = CacheSpec { policy: ReplacementSpec::Slru(slru::Spec { protected_share: 2.0 }).into(), pages: 10 };
    let error = hit_ratios(&mut trace(&requests), Some(4096), &[cache], &mut |_, _| true).unwrap_err();
    assert!(matches!(error, HitRatioError::Cache(_)), "{error}");
    let error = hit_ratios(&mut trace(&requests), Some(4096), &[], &mut |_, _| true).unwrap_err();
    assert!(error.to_string().contains("caches.0 is missing"), "{error}");
}

#[test]
fn interruption_takes_effect_within_a_request() {
    let mut asked = 0;
    let cache = CacheSpec { policy: LRU.into(), pages: 10 };
    let most = PAGES_OF_A_REQUEST.most;
    let outcome = hit_ratios(&mut trace(&[(0, 0, most)]), Some(1), std::slice::from_ref(&cache), &mut |requests, _| {
        assert_eq!(requests, 1);
        asked += 1;
        asked < 3
    });
    assert!(matches!(outcome, Err(HitRatioError::Interrupted)));
    assert_eq!(asked, 3);
    let refused =
        hit_ratios(&mut trace(&[(0, 0, most + 1)]), Some(1), &[cache], &mut |_, _| true).expect_err("it is too long");
    assert!(refused.to_string().contains(&most.to_string()), "{refused}");
}
