//! Hit ratios of references in memory: the policies alone, without reading a trace.
//!
//!     hit_ratio TRACE PAGE_BYTES POLICY[,POLICY...] PAGES[,PAGES...] ROUNDS
//!
//! Prints a line for each policy and size: hits, references, and processor time of a reference in ns. Each round starts with an
//! empty cache. Without rounds (0) it compares each reference with the policy's reference implementation instead. Linux only: the
//! processor time comes from `/proc`.

use std::path::Path;

use sledsim::hierarchy::cache::replacement::{build, POLICIES};
use sledsim::traces::{TraceOptions, TraceReader};
use sledsim_testing::replacement::reference;

/// References given to a policy at once, as in `sledsim hit-ratio`.
const BATCH: usize = 32_768;

/// The processor time of this thread, ns.
fn processor_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts processor time");
    text.split(' ').next().and_then(|first| first.parse().ok()).expect("a number")
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [trace, page_bytes, policies, sizes, rounds] = arguments.as_slice() else {
        panic!("expected TRACE PAGE_BYTES POLICY,... PAGES,... ROUNDS");
    };
    let page_bytes: u64 = page_bytes.parse().expect("bytes");
    let rounds: u32 = rounds.parse().expect("a number of rounds");
    let mut keys = Vec::new();
    for record in TraceReader::open(Path::new(trace), &TraceOptions::default()).expect("a trace") {
        let record = record.expect("a record");
        keys.extend(record.offset_bytes / page_bytes..(record.offset_bytes + record.bytes).div_ceil(page_bytes));
    }
    for size in sizes.split(',') {
        for name in policies.split(',') {
            let policy = POLICIES.iter().find(|policy| policy.name == name).expect("a policy");
            let pages: u32 = size.parse().expect("a number of pages");
            if rounds == 0 {
                let (mut cache, mut expected) = (build(&policy.default, pages), reference(name, pages as usize));
                let differs = keys.iter().position(|&key| cache.reference(key) != expected.reference(key));
                println!(
                    "{name} {size}: {}",
                    differs.map_or("equal".to_owned(), |at| format!("differs at reference {at}"))
                );
                continue;
            }
            let mut hits = 0;
            let start = processor_ns();
            for _ in 0..rounds {
                let mut cache = build(&policy.default, pages);
                hits = keys.chunks(BATCH).map(|batch| cache.references(batch)).sum();
            }
            let each_ns = (processor_ns() - start) / f64::from(rounds) / keys.len() as f64;
            println!("{name} {size} {hits} {} {each_ns:.1}", keys.len());
        }
    }
}
