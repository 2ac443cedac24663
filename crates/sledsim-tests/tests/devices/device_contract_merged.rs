//! Contract of sleds for energy estimates, service plans and merged requests.

use proptest::prelude::*;
use sledsim::devices::mems::{MemsDevice, MemsParameters};
use sledsim::devices::{are_contiguous, merged_request, BatchAccess, Estimate, Mechanism, Service, State, Together};
use sledsim::request::{Op, Request};
use sledsim::service::EnergyLedger;
use sledsim::time::Time;
use sledsim_testing::mems_designs::mems_design;
use sledsim_testing::merging::{any_mix, requests, Mix};
use sledsim_testing::scenarios;
use sledsim_testing::tiers::cases;

fn device(parameters: &MemsParameters, subsector: bool) -> MemsDevice {
    let mut device = MemsDevice::new(parameters).unwrap_or_else(|error| panic!("{error}"));
    if subsector {
        assert!(device.access_subsectors());
    }
    device
}

fn servicing_j(ledger: &EnergyLedger) -> f64 {
    [State::Seek, State::Servo, State::Data].iter().map(|&state| ledger.energy_j[state as usize]).sum()
}

/// Requests of one kind that arrive at once.
fn batch(mix: &Mix, device: &dyn Mechanism) -> Vec<Request> {
    requests(&Mix { gap_ns: 0, count: mix.count.min(7), ..*mix }, device)
        .into_iter()
        .map(|request| Request { op: if mix.read_fraction > 0.5 { Op::Read } else { Op::Write }, ..request })
        .collect()
}

/// Serves `first`, then further requests. Returns the estimate made for the latter and their actual services.
fn tried_and_done(
    device: &mut MemsDevice,
    first: &Request,
    pause_ns: u64,
    attempt: impl Fn(&MemsDevice, Time) -> Estimate,
    serve: impl Fn(&mut MemsDevice, Time) -> Time,
) -> (Estimate, f64, Time) {
    let now = device.serve(Time::ZERO, first).free + pause_ns;
    let before_j = servicing_j(&device.ledger(now));
    let trial = attempt(device, now);
    let free = serve(device, now);
    (trial, servicing_j(&device.ledger(free)) - before_j, free)
}

fn close(one_j: f64, other_j: f64) -> bool {
    // Both are differences of sums of a few terms.
    (one_j - other_j).abs() <= 1e-9 * one_j.max(other_j)
}

fn check_services(device: &MemsDevice, now: Time, requests: &[Request], services: &[Service], energy_j: f64) {
    assert_eq!(services.len(), requests.len(), "each is served once");
    let free = services[0].free;
    for service in services {
        assert_eq!((service.start, service.free), (now, free));
        assert_eq!(service.phases.service_ns(), service.end - service.start, "{service:?}");
    }
    let members_j: f64 = services.iter().map(|service| service.energy.servicing_j()).sum();
    assert!(close(members_j, energy_j), "{members_j} J by members, {energy_j} J in all");
    assert!(
        services.iter().map(|service| service.end).max() >= Some(free),
        "the last ends with the last pass or after"
    );
    assert_eq!(device.ledger(free).total_ns(), free.ns());
}

fn check_ways(parameters: &MemsParameters, subsector: bool, mix: &Mix, pause_ns: u64) {
    let all = batch(mix, &device(parameters, subsector));
    let (first, merged) = (&all[0], &all[1..]);
    let fresh = || device(parameters, subsector);
    let alone = tried_and_done(
        &mut fresh(),
        first,
        pause_ns,
        |device, now| device.estimate(now, None, &merged[0]),
        |device, now| device.serve(now, &merged[0]).free,
    );
    let trial = alone.0;
    assert!(close(trial.servicing_j, alone.1), "{trial:?}, {} J done", alone.1);

    let mut probe = fresh();
    let now = probe.serve(Time::ZERO, first).free + pause_ns;
    let ways = probe.plans(now, merged);
    assert!(!ways.is_empty());
    if merged.len() > 1 && are_contiguous(merged) {
        let one = probe.estimate(now, None, &merged_request(merged)).servicing_j;
        let least = ways.iter().map(|way| way.estimate.servicing_j).fold(f64::INFINITY, f64::min);
        assert!(least <= one * (1.0 + 1e-12), "{least} J merged, {one} J as one request");
    }
    for plan in &ways {
        let trial = plan.estimate;
        let mut device = fresh();
        let mut services = Vec::new();
        let now = device.serve(Time::ZERO, first).free + pause_ns;
        let before_j = servicing_j(&device.ledger(now));
        device.serve_together(now, merged, Together::Merged(Some(plan)), &mut services);
        let free = services[0].free;
        let energy_j = servicing_j(&device.ledger(free)) - before_j;
        check_services(&device, now, merged, &services, energy_j);
        assert!(close(trial.servicing_j, energy_j), "{trial:?}, {energy_j} J done");
        for next in &all {
            // The sled ends where the plan predicted.
            assert_eq!(device.estimate(free, None, next), device.estimate(free, Some(trial.to), next));
        }
    }
}

#[test]
fn plans_of_catalogue_devices_equal_their_services() {
    for (_, parameters) in scenarios::mems_devices() {
        for seed in 0..40 {
            let mix = Mix {
                seed,
                count: 2 + seed % 6,
                gap_ns: 0,
                streams: 2,
                shares: [0.5, 0.3, 0.5],
                read_fraction: if seed % 2 == 0 { 1.0 } else { 0.0 },
                most_blocks: [8, 60, 900][seed as usize % 3],
                area_blocks: u64::MAX,
                spare_fraction: 0.3,
            };
            check_ways(&parameters, seed % 4 < 2, &mix, seed % 3 * 700_000);
        }
    }
}

/// Contiguous requests merged in any order take no longer than one request for all their blocks.
#[test]
fn large_merge_streams_like_one_request() {
    for (name, parameters) in scenarios::mems_devices() {
        let capacity = device(&parameters, false).dimensions().capacity_blocks;
        for (seed, blocks) in [(1, 100), (2, 1_000), (3, 5_000)] {
            let mix = Mix {
                seed,
                count: 30,
                gap_ns: 0,
                streams: 1,
                shares: [1.0, 0.0, 0.0],
                read_fraction: 1.0,
                most_blocks: blocks / 25,
                area_blocks: capacity / 2,
                spare_fraction: 0.0,
            };
            let mut run = requests(&mix, &device(&parameters, false));
            run.sort_by_key(|request| request.id * 7 % 30);
            assert!(are_contiguous(&run));
            let mut one = device(&parameters, false);
            let whole = one.serve(Time::ZERO, &merged_request(&run));
            let mut merged = device(&parameters, false);
            let mut services = Vec::new();
            let ways = merged.plans(Time::ZERO, &run);
            let best = ways.iter().min_by(|a, b| a.estimate.servicing_j.total_cmp(&b.estimate.servicing_j));
            merged.serve_together(Time::ZERO, &run, Together::Merged(best), &mut services);
            assert!(services[0].free <= whole.free, "{name}: {} blocks", blocks);
            let mean_ns: u64 = services.iter().map(|service| service.end.ns()).sum::<u64>() / 30;
            assert!(mean_ns < whole.end.ns(), "members complete when their own blocks are done");
        }
    }
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn plans_equal_their_services(
        design in mems_design(), subsector in any::<bool>(), mix in any_mix(), pause_ns in prop_oneof![Just(0_u64), 0..3_000_000_u64],
    ) {
        check_ways(&design, subsector, &mix, pause_ns);
    }

    /// The companion ranges of a request are exactly the blocks at its sled positions.
    #[test]
    fn companions_share_a_position(design in mems_design(), mix in any_mix()) {
        let device = device(&design, false);
        let geometry = device.geometry();
        for request in batch(&mix, &device).iter().take(3) {
            let request = Request { blocks: request.blocks.min(200), ..*request };
            let mut ranges = Vec::new();
            device.for_each_companion(&request, &mut |range| ranges.push(range));
            let places: std::collections::BTreeSet<(u32, u32)> = (request.lbn..request.end_lbn())
                .map(|lbn| geometry.place(lbn))
                .map(|place| (place.cylinder, place.row))
                .collect();
            for lbn in (0..device.dimensions().capacity_blocks).step_by(device.dimensions().capacity_blocks as usize / 300 + 1) {
                let place = geometry.place(lbn);
                let shares = places.contains(&(place.cylinder, place.row));
                prop_assert_eq!(ranges.iter().any(|range| range.contains(&lbn)), shares);
            }
        }
    }
}
