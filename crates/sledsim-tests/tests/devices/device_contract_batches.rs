//! Contract of all devices for batches.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use sledsim::devices::mems::{Geometry, MemsDevice, MemsParameters, Transfer};
use sledsim::devices::{BatchAccess, Mechanism, Service, State, Together, STATES};
use sledsim::engine::random::Stream;
use sledsim::limits::{BATCH_BLOCKS, BATCH_POSITIONS};
use sledsim::request::{Op, Request};
use sledsim::time::Time;
use sledsim_testing::mems_designs::mems_design;
use sledsim_testing::scenarios::{self, mems_parameters};
use sledsim_testing::tiers::cases;

use super::mems_passes;

fn device(parameters: &MemsParameters) -> MemsDevice {
    MemsDevice::new(parameters).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns requests of a few blocks, many at common sled positions, some for the same blocks.
fn batch(geometry: &Geometry, random: &mut Stream) -> Vec<Request> {
    let capacity = geometry.capacity_blocks();
    let anchor = random.below(capacity);
    let neighbours = geometry.equivalent(anchor);
    let count = 1 + random.below(6);
    let mut batch = Vec::new();
    for id in 0..count {
        let lbn = match random.below(4) {
            0 => random.below(capacity),
            1 => anchor,
            _ if neighbours.is_empty() => anchor,
            _ => neighbours[random.below(neighbours.len() as u64) as usize],
        };
        let longest = (2 * u64::from(geometry.blocks_per_row)).min(capacity - lbn);
        let blocks = (1 + random.below(longest)) as u32;
        let op = if random.chance(0.5) { Op::Read } else { Op::Write };
        batch.push(Request { id, op, ..Request::read(lbn, blocks) });
    }
    batch
}

/// Returns the sled positions that a request visits, each with the tip groups it uses there.
fn positions(geometry: &Geometry, request: &Request) -> BTreeMap<(u32, u32), BTreeSet<u32>> {
    let mut positions: BTreeMap<(u32, u32), BTreeSet<u32>> = BTreeMap::new();
    for lbn in request.lbn..request.end_lbn() {
        let place = geometry.place(lbn);
        positions.entry((place.cylinder, place.row)).or_default().insert(geometry.group(&place));
    }
    positions
}

/// Returns the least number of passes, given how many tip groups can be active at once.
fn fewest_passes(geometry: &Geometry, requests: &[Request]) -> u64 {
    let mut wanted: BTreeMap<(u32, u32), BTreeSet<u32>> = BTreeMap::new();
    for request in requests {
        for (position, groups) in positions(geometry, request) {
            wanted.entry(position).or_default().extend(groups);
        }
    }
    wanted.values().map(|groups| groups.len().div_ceil(geometry.blocks_per_row as usize) as u64).sum()
}

fn check_batches(parameters: &MemsParameters, batches: usize) {
    let mut device = device(parameters);
    let geometry = device.geometry().clone();
    let mut random = Stream::new(3, "batches");
    let mut now = Time::ZERO;
    for _ in 0..batches {
        let requests = batch(&geometry, &mut random);
        let before = device.ledger(now);
        let mut services = Vec::new();
        device.serve_together(now, &requests, Together::Batch, &mut services);
        assert_eq!(services.len(), requests.len(), "each is served once");
        let free = services[0].free;
        let spent = &device.ledger(free) - &before;
        check_passes(parameters, &geometry, &requests, &services, spent.time_ns);
        let all_tips_w = (parameters.sled_mw + f64::from(parameters.active_tips) * parameters.tip_mw) * 1e-3;
        for state in [State::Servo, State::Data] {
            let most_j = spent.time_ns[state as usize] as f64 * 1e-9 * all_tips_w;
            assert!(spent.energy_j[state as usize] <= most_j * (1.0 + 1e-6) + 1e-15, "more tips than can be active");
        }
        let members_j: f64 = services.iter().map(|service| service.energy.total_j()).sum();
        assert!((members_j - spent.total_j()).abs() <= 1e-7 * spent.total_j(), "{members_j} J of {spent:?}");
        for service in &services {
            assert_eq!((service.start, service.free), (now, free));
            assert_eq!(service.phases.service_ns(), service.end - service.start, "{service:?}");
            assert_eq!(service.phases.seek_ns, service.phases.seek_x_ns.max(service.phases.seek_y_ns));
        }
        let last = services.iter().map(|service| service.end).max();
        assert!(last >= Some(free), "the last member ends with the last pass or after it");
        now = free + random.below(3) * 700_000;
    }
}

fn check_passes(
    parameters: &MemsParameters,
    geometry: &Geometry,
    requests: &[Request],
    services: &[Service],
    spent_ns: [u64; STATES.len()],
) {
    let bit_s = 1.0 / (parameters.bit_rate_kbit_s * 1e3);
    let pass_ns = sledsim::time::s_to_ns(geometry.pitch_bits() * bit_s);
    let transfer_ns = pass_ns - sledsim::time::s_to_ns(f64::from(geometry.servo_bits) * bit_s);
    let passes = spent_ns[State::Data as usize] / transfer_ns;
    assert_eq!(spent_ns[State::Data as usize] % transfer_ns, 0);
    assert_eq!(spent_ns[State::Data as usize] + spent_ns[State::Servo as usize], passes * pass_ns);
    match requests {
        [only] => assert_eq!(passes, mems_passes::passes(geometry, only).len() as u64),
        _ => assert_eq!(passes, fewest_passes(geometry, requests), "{requests:?}"),
    }
    let alone: usize = requests.iter().map(|request| mems_passes::passes(geometry, request).len()).sum();
    assert!(passes <= alone as u64, "{passes} passes together, {alone} one after the other");
    for (request, service) in requests.iter().zip(services) {
        let own = service.phases.transfer_ns / transfer_ns;
        assert!(own >= positions(geometry, request).len() as u64 && own <= passes);
    }
}

fn check_batch_of_one(parameters: &MemsParameters) {
    let (mut single, mut batched) = (device(parameters), device(parameters));
    let geometry = single.geometry().clone();
    let mut random = Stream::new(5, "one");
    let mut now = Time::ZERO;
    for _ in 0..40 {
        let request = batch(&geometry, &mut random)[0];
        let mut services = Vec::new();
        batched.serve_together(now, &[request], Together::Batch, &mut services);
        let service = single.serve(now, &request);
        assert_eq!(services, [service]);
        now = service.free + random.below(2) * 900_000;
    }
    assert_eq!(single.ledger(now), batched.ledger(now));
    let mut services = Vec::new();
    batched.serve_together(now, &[], Together::Batch, &mut services);
    assert!(services.is_empty());
    assert_eq!(single.ledger(now), batched.ledger(now), "an empty batch changes nothing");
}

fn check_shared_passes(parameters: &MemsParameters) {
    let device = device(parameters);
    let geometry = device.geometry();
    let mut random = Stream::new(9, "shared");
    for _ in 0..40 {
        let requests = batch(geometry, &mut random);
        let places: Vec<BTreeSet<(u32, u32)>> =
            requests.iter().map(|request| positions(geometry, request).into_keys().collect()).collect();
        for (first, here) in requests.iter().zip(&places) {
            for (other, there) in requests.iter().zip(&places) {
                assert_eq!(device.shares_pass(first, other), !here.is_disjoint(there), "{first:?} {other:?}");
            }
        }
    }
}

/// Equivalent blocks are read in a single pass, which takes as long as one block, if all their tips can be active at
/// once.
#[test]
fn equivalent_blocks_cost_one_pass() {
    for (name, parameters) in scenarios::mems_devices() {
        let (mut one, mut many) = (device(&parameters), device(&parameters));
        let geometry = one.geometry().clone();
        let lbn = geometry.capacity_blocks() / 3;
        let mut requests = vec![Request::read(lbn, 1)];
        let others = one.equivalent(lbn);
        let step = (others.len() / geometry.blocks_per_row as usize).max(1);
        for &lbn in others.iter().step_by(step).take(geometry.blocks_per_row as usize - 1) {
            requests.push(Request { id: requests.len() as u64, lbn, ..requests[0] });
        }
        assert_eq!(requests.len() as u32, geometry.blocks_per_row);
        let alone = one.serve(Time::ZERO, &requests[0]);
        let mut services = Vec::new();
        many.serve_together(Time::ZERO, &requests, Together::Batch, &mut services);
        for service in services {
            assert_eq!(service.free, alone.free, "{name}");
            assert_eq!(service.phases.seek_ns, alone.phases.seek_ns, "{name}");
            assert_eq!(service.phases.transfer_ns, alone.phases.transfer_ns, "{name}");
        }
    }
}

/// Blocks at different positions are served one after the other, in order of least seek time from the current position;
/// ties go to the lowest cylinder, then to the lowest row.
fn check_nearest_first(parameters: &MemsParameters, random: &mut Stream) {
    if parameters.transfer != Transfer::Rows || parameters.read_error_rate > 0.0 {
        return;
    }
    let mut device = device(parameters);
    let geometry = device.geometry().clone();
    let capacity = geometry.capacity_blocks();
    let anchor = random.below(capacity);
    let mut wanted: BTreeMap<(u32, u32), Request> = BTreeMap::new();
    for id in 0..40 {
        // Half of the blocks are close to others.
        let near = anchor.saturating_add(random.below(capacity / 100 + 1)).min(capacity - 1);
        let lbn = if random.chance(0.5) { near } else { random.below(capacity) };
        let place = geometry.place(lbn);
        wanted.insert((place.cylinder, place.row), Request { id, ..Request::read(lbn, 1) });
    }
    device.serve(Time::ZERO, &Request::read(random.below(capacity), 1));
    let begun = Time::ZERO + 1_000_000_000;
    let requests: Vec<Request> = wanted.values().copied().collect();
    let (mut together, mut now) = (Vec::new(), begun);
    device.clone().serve_together(begun, &requests, Together::Batch, &mut together);
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|&place| together[place].end);
    let mut one_by_one = Vec::new();
    while one_by_one.len() < requests.len() {
        let left = (0..requests.len()).filter(|place| !one_by_one.contains(place));
        let nearest = left.min_by_key(|&place| device.clone().serve(now, &requests[place]).phases.seek_ns);
        let nearest = nearest.expect("some are left");
        now = device.serve(now, &requests[nearest]).free;
        one_by_one.push(nearest);
    }
    assert_eq!(order, one_by_one);
}

#[test]
fn batches_on_the_catalogue_go_to_the_nearest_position() {
    let mut random = Stream::new(6, "nearest");
    for (_, parameters) in scenarios::mems_devices() {
        for _ in 0..10 {
            check_nearest_first(&parameters, &mut random);
        }
    }
}

/// Batches with more positions than are compared pairwise are served cylinder by cylinder, from the end nearer to the
/// sled.
#[test]
fn large_batches_go_by_cylinder() {
    // One block at a time.
    for (transfer, active_tips) in [(Transfer::Rows, 64), (Transfer::Points, 5120)] {
        let device = device(&MemsParameters { transfer, active_tips, ..mems_parameters("g2") });
        let geometry = device.geometry().clone();
        let last = geometry.capacity_blocks() - 1;
        let stops: u64 = BATCH_POSITIONS.most + 1;
        for (at, is_upward) in [(0, true), (last, false)] {
            let requests: Vec<Request> =
                (0..stops).map(|id| Request { id, ..Request::read(last / stops * (id * 517 % stops), 1) }).collect();
            let order = |requests: &[Request]| {
                let (mut device, mut services) = (device.clone(), Vec::new());
                let free = device.serve(Time::ZERO, &Request::read(at, 1)).free;
                device.serve_together(free, requests, Together::Batch, &mut services);
                let mut order: Vec<usize> = (0..requests.len()).collect();
                order.sort_by_key(|&place| services[place].end);
                order.iter().map(|&place| geometry.place(requests[place].lbn).cylinder).collect::<Vec<u32>>()
            };
            let mut order_of_all = order(&requests);
            assert!(!order(&requests[1..]).is_sorted(), "as many as are tried go to the nearest next");
            if !is_upward {
                order_of_all.reverse();
            }
            assert!(order_of_all.is_sorted(), "{transfer:?} {is_upward}: {order_of_all:?}");
        }
    }
}

/// A batch of the maximum size with all blocks at different positions. A search over all orders would not terminate.
#[test]
fn batch_of_maximum_size_terminates() {
    for (transfer, active_tips) in [(Transfer::Rows, 64), (Transfer::Points, 5120)] {
        let device = device(&MemsParameters { transfer, active_tips, ..mems_parameters("g2") });
        let distance = device.dimensions().capacity_blocks / BATCH_BLOCKS.most;
        let scattered: Vec<Request> =
            (0..BATCH_BLOCKS.most).map(|id| Request { id, ..Request::read(id * distance, 1) }).collect();
        let blocks = (BATCH_BLOCKS.most / 2) as u32;
        let half = Request { id: 1, ..Request::read(device.dimensions().capacity_blocks / 2, blocks) };
        for requests in [&scattered, &vec![Request::read(0, blocks), half]] {
            let mut services = Vec::new();
            device.clone().serve_together(Time::ZERO, requests, Together::Batch, &mut services);
            assert_eq!(services.len(), requests.len());
        }
    }
}

#[test]
fn batches_on_the_catalogue_take_the_fewest_passes() {
    for (_, parameters) in scenarios::mems_devices() {
        check_batches(&parameters, 100);
        check_batch_of_one(&parameters);
        check_shared_passes(&parameters);
    }
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn batches_take_the_fewest_passes(design in mems_design()) {
        check_batches(&design, 12);
    }

    #[test]
    fn batches_go_to_the_nearest_position(design in mems_design(), seed in any::<u64>()) {
        check_nearest_first(&design, &mut Stream::new(seed, "nearest"));
    }

    #[test]
    fn batch_of_one_equals_single_request(design in mems_design()) {
        check_batch_of_one(&design);
    }

    #[test]
    fn shares_pass_if_positions_are_equal(design in mems_design()) {
        check_shared_passes(&design);
    }
}
