//! Time of a reference, by replacement policy and cache size, for skewed popularity of pages.

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};
use sledsim::engine::random::Stream;
use sledsim::hierarchy::cache::replacement::{build, POLICIES};

const REFERENCES: usize = 1_000_000;
const PAGES: u64 = 1_000_000;

/// Popularity falls with the rank of a page, which is independent of its number.
fn keys() -> Vec<u64> {
    let mut random = Stream::new(1, "pages");
    (0..REFERENCES)
        .map(|_| {
            let bound = random.below(PAGES) + 1;
            random.below(bound).wrapping_mul(0x9e37_79b9) % (1 << 40)
        })
        .collect()
}

fn replacement(criterion: &mut Criterion) {
    let keys = keys();
    let mut group = criterion.benchmark_group("replacement");
    group.throughput(Throughput::Elements(REFERENCES as u64)).sample_size(10);
    for policy in POLICIES {
        for slots in [1_000, 100_000] {
            let name = BenchmarkId::new(policy.name, slots);
            group.bench_function(name, |bencher| bencher.iter(|| build(&policy.default, slots).references(&keys)));
        }
    }
    group.finish();
}

/// Misses in a full cache whose oldest entries, nine in ten, are pinned, and some of them are unpinned now and then. A policy that is notified of
/// this avoids a walk over all entries.
fn pinned(criterion: &mut Criterion) {
    const SLOTS: u32 = 100_000;
    const MISSES: u64 = 1000;
    let mut group = criterion.benchmark_group("pinned");
    group.throughput(Throughput::Elements(MISSES)).sample_size(10);
    for policy in POLICIES {
        for notified in [false, true] {
            let mut cache = build(&policy.default, SLOTS);
            if notified {
                cache.expect_releases();
            }
            (0..u64::from(SLOTS)).for_each(|key| assert!(!cache.reference(key)));
            let mut is_pinned: Vec<bool> = (0..SLOTS).map(|slot| slot < SLOTS / 10 * 9).collect();
            let (mut next, mut random) = (u64::from(SLOTS), Stream::new(1, "pins"));
            let name = BenchmarkId::new(policy.name, if notified { "notified" } else { "walk" });
            group.bench_function(name, |bencher| {
                bencher.iter(|| {
                    for _ in 0..MISSES {
                        if random.chance(0.1) {
                            let slot = random.below(u64::from(SLOTS)) as u32;
                            if !std::mem::replace(&mut is_pinned[slot as usize], false) {
                                continue;
                            }
                            cache.released(slot);
                        }
                        next += 1;
                        let admission = cache.admit(next, &mut |slot| !is_pinned[slot as usize]);
                        // A page that replaces a pinned one is pinned, too.
                        let slot = admission.expect("a tenth may leave").slot;
                        is_pinned[slot as usize] = slot < SLOTS / 10 * 9;
                    }
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, replacement, pinned);
criterion_main!(benches);
