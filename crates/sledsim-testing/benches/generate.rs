//! Time of drawing numbers, of generating requests and of recording measurements.

use std::hint::black_box;

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use sledsim::engine::random::Stream;
use sledsim::metrics::Measure;
use sledsim::workloads::arrival::poisson;
use sledsim::workloads::location::{local_walk, zipf};
use sledsim::workloads::{ArrivalSpec, Distribution, LocationSpec, Synthetic, SyntheticSpec, Workload};
use sledsim_testing::scenarios;

/// Blocks of the device the requests are for: 3.2 GB of 512-byte blocks.
const CAPACITY_BLOCKS: u64 = 6_750_000;

fn streams(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("stream");
    let mut stream = Stream::new(1, "bench");
    group.bench_function("bits", |bencher| bencher.iter(|| stream.bits()));
    group.bench_function("below", |bencher| bencher.iter(|| stream.below(black_box(CAPACITY_BLOCKS))));
    group.bench_function("exponential", |bencher| bencher.iter(|| stream.exponential()));
    group.bench_function("normal", |bencher| bencher.iter(|| stream.normal()));
    group.bench_function("gamma", |bencher| bencher.iter(|| stream.gamma(black_box(2.5))));
}

fn workloads(criterion: &mut Criterion) {
    let poisson = ArrivalSpec::Poisson(poisson::Spec { rate_per_s: 1000.0 });
    let plain = SyntheticSpec { read_fraction: 0.67, ..scenarios::arriving(&poisson) };
    let exponential = SyntheticSpec { size_bytes: Distribution::Exponential { mean: 4096.0 }, ..plain.clone() };
    let zipf = SyntheticSpec {
        location: LocationSpec::Zipf(zipf::Spec { exponent: 1.0, regions: 1000, shuffle: true, align_bytes: None }),
        ..plain.clone()
    };
    let walk =
        SyntheticSpec { location: LocationSpec::LocalWalk(local_walk::Spec { scale_bytes: 1e6 }), ..plain.clone() };
    let mut group = criterion.benchmark_group("generate");
    for (name, spec) in
        [("poisson-fixed-uniform", plain), ("exponential-size", exponential), ("zipf", zipf), ("local-walk", walk)]
    {
        let mut workload = Synthetic::new(&spec, 1, CAPACITY_BLOCKS, 512).expect("the workload fits the device");
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let next = workload.peek();
                (next.is_ok(), workload.take())
            });
        });
    }
}

fn measures(criterion: &mut Criterion) {
    let mut stream = Stream::new(1, "bench");
    // Response times spread over three octaves, as a busy device shows them.
    let values: Vec<u64> = (0..4096).map(|_| (1e6 * (0.2 + stream.exponential())) as u64).collect();
    let mut group = criterion.benchmark_group("measure");
    group.throughput(Throughput::Elements(values.len() as u64));
    let mut measure = Measure::default();
    group.bench_function("record", |bencher| {
        bencher.iter(|| black_box(&values).iter().for_each(|&value| black_box(&mut measure).record(value)));
    });
}

criterion_group!(benches, streams, workloads, measures);
criterion_main!(benches);
