//! Contract of MEMS devices for accesses to only the needed tip sectors.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use sledsim::devices::mems::{Geometry, MemsDevice, MemsParameters};
use sledsim::devices::{BatchAccess, Location, Mechanism, Service, State, Together};
use sledsim::engine::random::Stream;
use sledsim::request::{Op, Padding, Request};
use sledsim::time::{s_to_ns, Time};
use sledsim_testing::mems_designs::mems_design;
use sledsim_testing::scenarios;
use sledsim_testing::tiers::cases;

fn device(parameters: &MemsParameters) -> MemsDevice {
    MemsDevice::new(parameters).unwrap_or_else(|error| panic!("{error}"))
}

fn subsector(parameters: &MemsParameters) -> MemsDevice {
    let mut device = device(parameters);
    assert!(device.access_subsectors());
    device
}

fn request(op: Op, lbn: u64, blocks: u32) -> Request {
    Request { op, ..Request::read(lbn, blocks) }
}

/// Returns a request of up to a few rows; three of four have unneeded bytes, often most of the request.
fn partial(geometry: &Geometry, random: &mut Stream) -> Request {
    let capacity = geometry.capacity_blocks();
    let lbn = random.below(capacity);
    let most = [1, 3, 3 * u64::from(geometry.blocks_per_row)][random.below(3) as usize];
    let blocks = (1 + random.below(most.min(capacity - lbn))) as u32;
    let whole = request(if random.chance(0.5) { Op::Read } else { Op::Write }, lbn, blocks);
    let bytes = u64::from(blocks) * u64::from(geometry.block_bytes);
    let first = random.below(bytes);
    match random.below(4) {
        0 => whole,
        1 => whole.with_needed_bytes(0, 1 + random.below(bytes), geometry.block_bytes),
        2 => whole.with_needed_bytes(first, bytes - first, geometry.block_bytes),
        _ => whole.with_needed_bytes(first, 1 + random.below(bytes - first), geometry.block_bytes),
    }
}

/// Returns the tips that hold needed bytes, found byte by byte: block and index of the tip in it, in LBN order.
fn tips_wanted(geometry: &Geometry, request: &Request) -> BTreeSet<(u64, u32)> {
    let block_bytes = u64::from(geometry.block_bytes);
    let sector_bytes = geometry.block_bytes / geometry.tips_per_block;
    let all = u64::from(request.blocks) * block_bytes;
    let needed = u64::from(request.padding.front_bytes)..all - u64::from(request.padding.back_bytes);
    needed.map(|byte| (request.lbn + byte / block_bytes, (byte % block_bytes) as u32 / sector_bytes)).collect()
}

/// Returns cylinder, row and number of tips of each pass of a request. A pass takes the blocks of a row with needed
/// tips, in LBN order, plus a last block of the next row at the same position if tips are left.
fn passes_wanted(geometry: &Geometry, request: &Request) -> Vec<(u32, u32, u32)> {
    let mut blocks: BTreeMap<u64, u32> = BTreeMap::new();
    for (lbn, _) in tips_wanted(geometry, request) {
        *blocks.entry(lbn).or_default() += 1;
    }
    let last = blocks.keys().next_back().copied();
    let mut passes: Vec<(u32, u32, u32)> = Vec::new();
    let mut together = 0;
    for (lbn, tips) in blocks {
        let place = geometry.place(lbn);
        match passes.last_mut() {
            Some((cylinder, row, on))
                if (*cylinder, *row) == (place.cylinder, place.row)
                    && (together < geometry.blocks_per_row
                        || together == geometry.blocks_per_row
                            && Some(lbn) == last
                            && *on + tips <= geometry.active_tips) =>
            {
                *on += tips;
                together += 1;
            }
            _ => {
                passes.push((place.cylinder, place.row, tips));
                together = 1;
            }
        }
    }
    passes
}

/// Servo and data time of a pass.
fn pass_ns(parameters: &MemsParameters, geometry: &Geometry) -> (u64, u64) {
    let bit_s = 1.0 / (parameters.bit_rate_kbit_s * 1e3);
    let servo_ns = s_to_ns(f64::from(geometry.servo_bits) * bit_s);
    (servo_ns, s_to_ns(geometry.pitch_bits() * bit_s) - servo_ns)
}

/// Returns the energy in joules of `ns` with a moving sled and a number of active tips, for all passes.
fn tips_j(parameters: &MemsParameters, ns: u64, passes: u64, tip_passes: u64) -> f64 {
    let sled_w = parameters.sled_mw * 1e-3 * passes as f64;
    (sled_w + parameters.tip_mw * 1e-3 * tip_passes as f64) * ns as f64 * 1e-9
}

/// Returns true if both are equal up to the rounding of a few sums and products.
fn same(joules: f64, expected_j: f64) -> bool {
    (joules - expected_j).abs() <= 1e-12 * expected_j
}

fn check_passes(parameters: &MemsParameters, requests: usize) {
    let mut device = subsector(parameters);
    let geometry = device.geometry().clone();
    let (servo_ns, data_ns) = pass_ns(parameters, &geometry);
    let mut random = Stream::new(11, "subsector");
    let (mut now, mut served) = (Time::ZERO, (0, 0));
    for _ in 0..requests {
        let request = partial(&geometry, &mut random);
        let passes = passes_wanted(&geometry, &request);
        assert_eq!(device.locate(&request), Location { cylinder: passes[0].0, slot: passes[0].1 }, "{request:?}");
        let positioning_ns = device.positioning_ns(now, device.locate(&request));
        let service = device.serve(now, &request);
        assert_eq!(service.phases.startup_ns + service.phases.seek_ns, positioning_ns, "{request:?}");
        let tips: u64 = passes.iter().map(|pass| u64::from(pass.2)).sum();
        let count = passes.len() as u64;
        assert_eq!(service.phases.servo_ns, servo_ns * count, "{request:?}");
        assert_eq!(service.phases.transfer_ns, data_ns * count, "{request:?}");
        assert!(same(service.energy.servo_j, tips_j(parameters, servo_ns, count, tips)), "{request:?}");
        assert!(same(service.energy.data_j, tips_j(parameters, data_ns, count, tips)), "{request:?}");
        assert_eq!(service.phases.service_ns(), service.end - service.start);
        served = (served.0 + count, served.1 + tips);
        let ledger = device.ledger(service.free);
        for (state, ns) in [(State::Servo, servo_ns), (State::Data, data_ns)] {
            assert_eq!(ledger.time_ns[state as usize], ns * served.0);
            assert!(same(ledger.energy_j[state as usize], tips_j(parameters, ns, served.0, served.1)), "{ledger:?}");
        }
        now = service.free + random.below(3) * 700_000;
    }
}

/// A device that accesses whole blocks ignores unneeded bytes, and requests without unneeded bytes are served equally
/// by both kinds of device.
fn check_whole_blocks(parameters: &MemsParameters, requests: usize) {
    let mut devices = [device(parameters), device(parameters), subsector(parameters)];
    let mut random = Stream::new(12, "whole");
    let mut now = Time::ZERO;
    for _ in 0..requests {
        let with_spare = partial(devices[0].geometry(), &mut random);
        let plain = Request { padding: Padding::NONE, ..with_spare };
        assert_eq!(devices[0].locate(&with_spare), devices[2].locate(&plain));
        let [first, rest @ ..] = &mut devices;
        let service = first.serve(now, &with_spare);
        for device in rest {
            assert_eq!(device.serve(now, &plain), service, "{with_spare:?}");
            assert_eq!(device.ledger(service.free), first.ledger(service.free));
        }
        now = service.free + random.below(3) * 700_000;
    }
}

/// Serves `request` after `before`: on a device that accesses whole blocks and on one that accesses needed tip sectors
/// only.
fn both(parameters: &MemsParameters, before: &Request, request: &Request, pause_ns: u64) -> (Service, Service) {
    let [whole, part] = [device(parameters), subsector(parameters)].map(|mut device| {
        let free = device.serve(Time::ZERO, before).free;
        device.serve(free + pause_ns, request)
    });
    (whole, part)
}

/// A subsector access never takes more passes, tips or pass time than whole blocks. If both begin in the same row, the
/// sled takes the same path.
fn check_never_more(parameters: &MemsParameters, requests: usize) {
    let geometry = device(parameters).geometry().clone();
    let mut random = Stream::new(13, "less");
    for _ in 0..requests {
        let before = Request { padding: Padding::NONE, ..partial(&geometry, &mut random) };
        let request = partial(&geometry, &mut random);
        let (whole, part) = both(parameters, &before, &request, random.below(3) * 700_000);
        let plain = Request { padding: Padding::NONE, ..request };
        let rows = |request| passes_wanted(&geometry, request);
        let (all, some) = (rows(&plain), rows(&request));
        assert!(some.len() <= all.len());
        assert!(part.energy.servo_j <= whole.energy.servo_j && part.energy.data_j <= whole.energy.data_j);
        assert_eq!(part.energy.startup_j, whole.energy.startup_j);
        let way = |passes: &[(u32, u32, u32)]| passes.iter().map(|pass| (pass.0, pass.1)).collect::<Vec<_>>();
        if way(&all).starts_with(&way(&some)) {
            assert!(part.energy.seek_j <= whole.energy.seek_j);
            assert!(part.energy.total_j() <= whole.energy.total_j() && part.end <= whole.end, "{request:?}");
            assert_eq!(part.phases.seek_ns, whole.phases.seek_ns);
        }
        if way(&all) == way(&some) {
            assert_eq!(part.phases.turnaround_ns, whole.phases.turnaround_ns, "{request:?}");
            assert!(part.free == whole.free || request.op == Op::Write && part.free < whole.free, "{request:?}");
        }
    }
}

/// Returns requests with unneeded bytes, most of them near each other, some equal.
fn partial_batch(geometry: &Geometry, random: &mut Stream) -> Vec<Request> {
    let anchor = partial(geometry, random);
    let neighbours = geometry.equivalent(anchor.lbn);
    let mut batch = vec![anchor];
    for id in 1..2 + random.below(6) {
        let other = partial(geometry, random);
        let near = match random.below(4) {
            0 => other.lbn,
            1 => anchor.lbn,
            _ if neighbours.is_empty() => anchor.lbn,
            _ => neighbours[random.below(neighbours.len() as u64) as usize],
        };
        let lbn = near.min(geometry.capacity_blocks() - u64::from(other.blocks));
        batch.push(Request { id, lbn, ..other });
    }
    batch
}

/// In a batch, each tip that any member needs is active once. The number of passes is at most that of whole blocks and
/// at least that which the number of active tips allows.
fn check_batches(parameters: &MemsParameters, batches: usize) {
    let [mut part, mut whole] = [subsector(parameters), device(parameters)];
    let geometry = part.geometry().clone();
    let (servo_ns, data_ns) = pass_ns(parameters, &geometry);
    let mut random = Stream::new(15, "batches");
    let mut now = Time::ZERO;
    for _ in 0..batches {
        let requests = partial_batch(&geometry, &mut random);
        let before = [&part, &whole].map(|device| device.ledger(now));
        let (mut services, mut others) = (Vec::new(), Vec::new());
        part.serve_together(now, &requests, Together::Batch, &mut services);
        whole.serve_together(now, &requests, Together::Batch, &mut others);
        let free = services[0].free;
        let spent = &part.ledger(free) - &before[0];
        let passes = spent.time_ns[State::Data as usize] / data_ns;
        let passes_whole = (&whole.ledger(others[0].free) - &before[1]).time_ns[State::Data as usize] / data_ns;
        let mut wanted: BTreeMap<(u32, u32), BTreeSet<(u64, u32)>> = BTreeMap::new();
        for (lbn, tip) in requests.iter().flat_map(|request| tips_wanted(&geometry, request)) {
            let place = geometry.place(lbn);
            wanted.entry((place.cylinder, place.row)).or_default().insert((lbn, tip));
        }
        let tips: u64 = wanted.values().map(|tips| tips.len() as u64).sum();
        let fewest: u64 = wanted.values().map(|tips| tips.len().div_ceil(geometry.active_tips as usize) as u64).sum();
        assert!((fewest..=passes_whole).contains(&passes), "{fewest} to {passes_whole}: {passes} {requests:?}");
        for (state, ns) in [(State::Servo, servo_ns), (State::Data, data_ns)] {
            // The energy is the difference of two sums that include earlier services.
            let error_j = 1e-12 * before[0].energy_j[state as usize];
            let expected_j = tips_j(parameters, ns, passes, tips);
            let spent_j = spent.energy_j[state as usize];
            assert!((spent_j - expected_j).abs() <= error_j + 1e-12 * expected_j, "{requests:?} {spent:?}");
        }
        let members_j: f64 = services.iter().map(|service| service.energy.total_j()).sum();
        assert!((members_j - spent.total_j()).abs() <= 1e-7 * spent.total_j(), "{members_j} J of {spent:?}");
        for (request, service) in requests.iter().zip(&services) {
            let own: BTreeSet<(u32, u32)> =
                passes_wanted(&geometry, request).into_iter().map(|(cylinder, row, _)| (cylinder, row)).collect();
            assert!(service.phases.transfer_ns / data_ns >= own.len() as u64, "{request:?}");
            assert_eq!(service.phases.service_ns(), service.end - service.start);
            for other in &requests {
                let there = passes_wanted(&geometry, other);
                let shared = there.iter().any(|(cylinder, row, _)| own.contains(&(*cylinder, *row)));
                assert_eq!(part.shares_pass(request, other), shared, "{request:?} {other:?}");
            }
        }
        now = free.max(others[0].free) + random.below(3) * 700_000;
    }
}

/// On the published devices, no subsector access costs more than whole blocks. This does not hold for all designs: if
/// the first rows hold no needed bytes, the sled goes to the nearer end of another row and may need more reversals
/// after that.
#[test]
fn catalogue_subsector_access_costs_no_more_than_the_block() {
    for (name, parameters) in scenarios::mems_devices() {
        let geometry = device(&parameters).geometry().clone();
        let mut random = Stream::new(14, &name);
        for _ in 0..3000 {
            let before = Request { padding: Padding::NONE, ..partial(&geometry, &mut random) };
            let request = partial(&geometry, &mut random);
            let (whole, part) = both(&parameters, &before, &request, random.below(3) * 700_000);
            assert!(part.energy.total_j() <= whole.energy.total_j(), "{name} {request:?} {part:?} {whole:?}");
        }
    }
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn only_tips_with_needed_bytes_are_active(design in mems_design()) {
        check_passes(&design, 12);
    }

    #[test]
    fn whole_blocks_without_padding_or_subsector_access(design in mems_design()) {
        check_whole_blocks(&design, 12);
    }

    #[test]
    fn tips_of_several_members_are_active_once(design in mems_design()) {
        check_batches(&design, 8);
    }

    #[test]
    fn subsector_access_costs_no_more_than_the_block(design in mems_design()) {
        check_never_more(&design, 12);
    }
}
