//! Contract of synthetic workloads for all arrivals, sizes and locations.

use std::collections::VecDeque;

use sledsim::engine::Completion;
use sledsim::request::{Op, Request};
use sledsim::service::Service;
use sledsim::time::Time;
use sledsim::workloads::arrival::{closed, constant, on_off, poisson, renewal};
use sledsim::workloads::location::{hot_spots, local_walk, sequential, uniform, zipf};
use sledsim::workloads::{
    ArrivalSpec, ContinuationSpec, Distribution, HotSpot, LocationSpec, Next, RangeSpec, Synthetic, SyntheticSpec,
    WeightedValue, Workload,
};
use sledsim_testing::scenarios;

const CAPACITY_BLOCKS: u64 = 100_003;
const BLOCK_BYTES: u32 = 512;
const REQUESTS: usize = 2000;
const SERVICE_NS: u64 = 700_000;

fn arrivals() -> Vec<ArrivalSpec> {
    let no_time = Distribution::Fixed { value: 0.0 };
    vec![
        ArrivalSpec::Poisson(poisson::Spec { rate_per_s: 1000.0 }),
        ArrivalSpec::Constant(constant::Spec { rate_per_s: 777.0 }),
        ArrivalSpec::Renewal(renewal::Spec { interarrival_ms: Distribution::Pareto { mean: 1.0, shape: 1.2 } }),
        ArrivalSpec::Renewal(renewal::Spec {
            interarrival_ms: Distribution::ExponentialMixture {
                means: [(0.1, 9.0), (20.0, 1.0)].map(|(value, weight)| WeightedValue { value, weight }).to_vec(),
            },
        }),
        ArrivalSpec::OnOff(on_off::Spec { burst_ms: 20.0, idle_ms: 30.0, rate_per_s: 2000.0 }),
        ArrivalSpec::Closed(closed::Spec { outstanding: 5, think_ms: no_time }),
        ArrivalSpec::Closed(closed::Spec { outstanding: 3, think_ms: Distribution::Exponential { mean: 2.0 } }),
    ]
}

fn sizes() -> Vec<Distribution> {
    vec![
        Distribution::Fixed { value: 4096.0 },
        Distribution::Fixed { value: 0.0 },
        Distribution::Exponential { mean: 4096.0 },
        Distribution::Uniform { min: 1.0, max: 1e5 },
        // Often longer than the device.
        Distribution::Lognormal { mean: 1e8, scv: 10.0 },
        Distribution::Empirical { points: vec![WeightedValue { value: 512.0, weight: 1.0 }] },
    ]
}

fn locations() -> Vec<LocationSpec> {
    let spot = |start_fraction, end_fraction, probability| HotSpot { start_fraction, end_fraction, probability };
    vec![
        LocationSpec::Uniform(uniform::Spec { align_bytes: None }),
        LocationSpec::Uniform(uniform::Spec { align_bytes: Some(4096) }),
        LocationSpec::Sequential(sequential::Spec { run_requests: None }),
        LocationSpec::Sequential(sequential::Spec { run_requests: Some(10.0) }),
        LocationSpec::LocalWalk(local_walk::Spec { scale_bytes: 1e6 }),
        LocationSpec::Zipf(zipf::Spec { exponent: 0.9, regions: 1000, shuffle: false, align_bytes: None }),
        LocationSpec::Zipf(zipf::Spec { exponent: 2.0, regions: 7, shuffle: true, align_bytes: Some(4096) }),
        LocationSpec::HotSpots(hot_spots::Spec {
            spots: vec![spot(0.0, 0.1, 0.5), spot(0.99, 1.0, 0.3)],
            align_bytes: None,
        }),
    ]
}

fn specs() -> Vec<SyntheticSpec> {
    let ranges = [RangeSpec::default(), RangeSpec { start_fraction: 0.3333, end_fraction: 0.6 }];
    let mut specs = Vec::new();
    for arrival in arrivals() {
        for size_bytes in sizes() {
            for location in locations() {
                for range in ranges {
                    specs.push(SyntheticSpec {
                        size_bytes: size_bytes.clone(),
                        location: location.clone(),
                        range,
                        read_fraction: 0.6,
                        ..scenarios::arriving(&arrival)
                    });
                }
            }
        }
    }
    specs
}

fn workload(spec: &SyntheticSpec, seed: u64) -> Synthetic {
    Synthetic::new(spec, seed, CAPACITY_BLOCKS, BLOCK_BYTES).expect("the workload fits the device")
}

/// Runs the workload against an FCFS server that takes [`SERVICE_NS`] for each request.
fn requests(spec: &SyntheticSpec, seed: u64, count: usize) -> Vec<Request> {
    let mut workload = workload(spec, seed);
    let mut taken = Vec::with_capacity(count);
    let mut pending: VecDeque<(Request, Time)> = VecDeque::new();
    let (mut now, mut free) = (Time::ZERO, Time::ZERO);
    while taken.len() < count {
        let next = workload.peek().expect("a synthetic workload can't fail");
        assert_eq!(Ok(next), workload.peek().map_err(|error| error.to_string()), "`peek` changes the next request");
        let arrival = match next {
            Next::At(at) => Some(at),
            Next::Waiting => None,
            Next::Busy => panic!("a generator always knows"),
            Next::Ended => panic!("a synthetic workload doesn't end"),
        };
        let completion = pending.front().map(|&(_, end)| end);
        if arrival.is_some_and(|at| completion.is_none_or(|end| at <= end)) {
            let request = workload.take();
            assert_eq!(Some(request.arrival), arrival);
            assert!(request.arrival >= now, "time decreases");
            now = request.arrival;
            free = free.max(now) + SERVICE_NS;
            pending.push_back((request, free));
            taken.push(request);
        } else {
            let (request, end) = pending.pop_front().expect("it waits, so something is outstanding");
            now = end;
            workload.completed(&Completion::of(request, Service { end, free: end, ..Service::default() }));
        }
    }
    taken
}

#[test]
fn requests_are_in_range_and_reproducible() {
    let continuation = Some(ContinuationSpec { reads: 0.6, writes: 0.2 });
    let going_on = specs().into_iter().map(|spec| SyntheticSpec { continuation, ..spec });
    for spec in specs().into_iter().chain(going_on) {
        let taken = requests(&spec, 1, REQUESTS);
        let first = (spec.range.start_fraction * CAPACITY_BLOCKS as f64) as u64;
        let end = (spec.range.end_fraction * CAPACITY_BLOCKS as f64) as u64;
        for (id, request) in taken.iter().enumerate() {
            assert_eq!(request.id, id as u64);
            assert!(request.blocks >= 1, "{spec:?}");
            assert!(request.lbn >= first && request.end_lbn() <= end, "{request:?} of {spec:?}");
        }
        assert_eq!(taken, requests(&spec, 1, REQUESTS), "same seed, other requests: {spec:?}");
        assert_ne!(taken[..100], requests(&spec, 2, 100), "other seed, same requests: {spec:?}");
        let text = serde_json::to_string(&spec).expect("a workload is plain data");
        assert_eq!(serde_json::from_str::<SyntheticSpec>(&text).expect("what was written can be read"), spec);
    }
}

#[test]
fn arrivals_sizes_and_locations_are_independent() {
    let plain = specs().remove(0);
    let base = requests(&plain, 9, REQUESTS);
    let changed = |change: &dyn Fn(&mut SyntheticSpec)| {
        let mut spec = plain.clone();
        change(&mut spec);
        requests(&spec, 9, REQUESTS)
    };
    let same = |a: &[Request], b: &[Request], part: &dyn Fn(&Request) -> u64| a.iter().map(part).eq(b.iter().map(part));
    let by_arrival = changed(&|spec| spec.arrival = ArrivalSpec::Constant(constant::Spec { rate_per_s: 10.0 }));
    assert!(same(&base, &by_arrival, &|request| request.lbn));
    assert!(same(&base, &by_arrival, &|request| request.op as u64));
    let by_size = changed(&|spec| spec.size_bytes = Distribution::Exponential { mean: 1e4 });
    assert!(same(&base, &by_size, &|request| request.arrival.ns()));
    assert!(same(&base, &by_size, &|request| request.op as u64));
    let by_location = changed(&|spec| spec.location = LocationSpec::LocalWalk(local_walk::Spec { scale_bytes: 1e5 }));
    assert!(same(&base, &by_location, &|request| request.arrival.ns()));
    assert!(same(&base, &by_location, &|request| request.op as u64));
    let by_operation = changed(&|spec| spec.read_fraction = 0.1);
    assert!(same(&base, &by_operation, &|request| request.lbn));
    assert!(!same(&base, &by_operation, &|request| request.op as u64));
    let by_continuation = changed(&|spec| spec.continuation = Some(ContinuationSpec { reads: 0.5, writes: 0.5 }));
    assert!(same(&base, &by_continuation, &|request| request.arrival.ns()));
    assert!(same(&base, &by_continuation, &|request| u64::from(request.blocks)));
    assert!(!same(&base, &by_continuation, &|request| request.lbn));
}

#[test]
fn closed_workloads_keep_every_user_busy() {
    let no_time = Distribution::Fixed { value: 0.0 };
    for (outstanding, think_ms) in [(1, no_time.clone()), (17, no_time), (17, Distribution::Exponential { mean: 3.0 })]
    {
        let arrival = ArrivalSpec::Closed(closed::Spec { outstanding, think_ms: think_ms.clone() });
        let mut workload = workload(&SyntheticSpec { arrival, ..specs().remove(0) }, 4);
        let mut sent: VecDeque<Request> = VecDeque::new();
        let mut now = Time::ZERO;
        for _ in 0..5000 {
            while let Next::At(at) = workload.peek().expect("a synthetic workload can't fail") {
                now = now.max(at);
                sent.push_back(workload.take());
            }
            // Every user has exactly one outstanding request.
            assert_eq!(sent.len(), outstanding as usize);
            let oldest = sent.pop_front().expect("at least one user");
            now += SERVICE_NS;
            workload.completed(&Completion::of(oldest, Service { end: now, free: now, ..Service::default() }));
            if think_ms.mean() == 0.0 {
                let next = workload.peek().expect("a synthetic workload can't fail");
                assert_eq!(next, Next::At(now), "without think time the next request follows at once");
            }
        }
    }
}

#[test]
fn the_read_fraction_is_reached() {
    for read_fraction in [0.0, 0.3, 1.0] {
        let spec = SyntheticSpec { read_fraction, ..specs().remove(0) };
        let count = 100_000;
        let reads = requests(&spec, 3, count).iter().filter(|request| request.op == Op::Read).count();
        // Four standard errors.
        let tolerance = 4.0 * (read_fraction * (1.0 - read_fraction) * count as f64).sqrt();
        assert!((reads as f64 - read_fraction * count as f64).abs() <= tolerance, "{reads} reads");
    }
}
