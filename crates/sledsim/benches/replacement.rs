//! What a reference costs each replacement policy: pages of which a few are popular, in caches of several sizes.

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};
use sledsim::engine::random::Stream;
use sledsim::hierarchy::cache::replacement::{with_policy, PolicyUser, Replacement, POLICIES};

const REFERENCES: usize = 1_000_000;
const PAGES: u64 = 1_000_000;

/// Popularity falls with the page's number, which says nothing of its place.
fn keys() -> Vec<u64> {
    let mut random = Stream::new(1, "pages");
    (0..REFERENCES)
        .map(|_| {
            let bound = random.below(PAGES) + 1;
            random.below(bound).wrapping_mul(0x9e37_79b9) % (1 << 40)
        })
        .collect()
}

struct Counting<'a>(&'a [u64]);

impl PolicyUser for Counting<'_> {
    type Output = usize;

    fn take<R: Replacement + 'static>(self, mut policy: R) -> usize {
        self.0.iter().filter(|&&key| policy.reference(key)).count()
    }
}

fn replacement(criterion: &mut Criterion) {
    let keys = keys();
    let mut group = criterion.benchmark_group("replacement");
    group.throughput(Throughput::Elements(REFERENCES as u64)).sample_size(10);
    for policy in POLICIES {
        for slots in [1_000, 100_000] {
            let name = BenchmarkId::new(policy.name, slots);
            group.bench_function(name, |bencher| bencher.iter(|| with_policy(&policy.default, slots, Counting(&keys))));
        }
    }
    group.finish();
}

criterion_group!(benches, replacement);
criterion_main!(benches);
