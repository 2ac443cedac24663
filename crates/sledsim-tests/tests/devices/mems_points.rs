//! Blocks at points, from which the sled can continue along either axis.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sledsim::devices::mems::{Characteristics, Geometry, Idle, MemsDevice, MemsParameters, Place, SeekModel, Transfer};
use sledsim::devices::{BatchAccess, Coordinates, Mechanism, Service, State, Together};
use sledsim::engine::random::Stream;
use sledsim::request::{Op, Request};
use sledsim::time::{s_to_ns, Time};
use sledsim_testing::mems_designs::points_design;
use sledsim_testing::scenarios::mems_parameters;
use sledsim_testing::tiers::cases;

/// Returns `g2` with a tip for each bit of a block (8 × 512 and those of the code), without bus time and overhead.
fn g2() -> MemsParameters {
    MemsParameters {
        transfer: Transfer::Points,
        active_tips: 5120,
        bus_ms_per_block: 0.0,
        overhead_ms: 0.0,
        ..mems_parameters("g2")
    }
}

/// Without springs, so that every move has a short closed form.
fn without_springs() -> MemsParameters {
    MemsParameters { spring_factor: 0.0, ..g2() }
}

fn device(parameters: &MemsParameters) -> MemsDevice {
    MemsDevice::new(parameters).expect("a design that fits")
}

fn lbn(device: &MemsDevice, cylinder: u32, row: u32) -> u64 {
    device.geometry().lbn(&Place { cylinder, track: 0, row, slot: 0 })
}

/// Serves the points of a row, or of a column, together.
fn serve_line(device: &mut MemsDevice, now: Time, along_x: bool, across: u32, along: std::ops::Range<u32>) -> Service {
    let place = |index| if along_x { lbn(device, index, across) } else { lbn(device, across, index) };
    let requests: Vec<Request> = along.map(|index| Request::read(place(index), 1)).collect();
    let mut services = Vec::new();
    device.serve_together(now, &requests, Together::Batch, &mut services);
    assert!(services.iter().all(|service| service.free == services[0].free));
    services[0]
}

fn point_s(parameters: &MemsParameters) -> f64 {
    let data_bits = f64::from(parameters.tip_sector_bytes * parameters.encoded_bits_per_byte);
    let bits = 1.0 + f64::from(parameters.servo_bits) / data_bits;
    bits / (parameters.bit_rate_kbit_s * 1e3)
}

/// Returns the time from rest until a point `distance_m` ahead is passed at speed `v`, with acceleration `a` and no
/// springs. Over a long distance the sled exceeds `v` and brakes to it; over a short one it first moves backward.
fn run_up_s(distance_m: f64, v: f64, a: f64) -> f64 {
    let peak = (a * distance_m + v * v / 2.0).abs();
    if distance_m >= v * v / (2.0 * a) {
        (2.0 * peak.sqrt() - v) / a
    } else {
        (2.0 * ((v * v - 2.0 * a * distance_m) / 2.0).sqrt() + v) / a
    }
}

#[test]
fn both_axes_have_tip_sectors_between_servo_bursts() {
    let device = device(&g2());
    let geometry = device.geometry();
    // (100 µm / 40 nm − 10) / 90 = 27 tip sectors of 80 bits along each axis, with a block at each point.
    assert_eq!((geometry.cylinders, geometry.rows), (27 * 80, 27 * 80));
    assert_eq!((geometry.tracks, geometry.blocks_per_row, geometry.tips_per_block), (1, 1, 5120));
    assert_eq!(device.dimensions().capacity_blocks, 2160 * 2160);
    let most = MemsParameters { tips: 3 * 5120 + 5119, active_tips: 12_000, ..g2() };
    assert_eq!(Geometry::new(&most).expect("it fits").tracks, 3, "one block works at a time, however many tips could");
}

#[test]
fn peak_bandwidth_is_that_of_the_tips_in_use() {
    // The papers print these.
    for (name, mb_per_s) in [("g1", 25.6), ("g2", 89.6), ("g3", 320.0)] {
        let figures = Characteristics::of(&mems_parameters(name)).expect("a device of the catalogue");
        let found = figures.peak_bandwidth_bytes_s / 1e6;
        assert!((found - mb_per_s).abs() < 1e-6, "{name}: {found} MB/s, not {mb_per_s}");
    }
}

#[test]
fn lines_along_either_axis_pass_at_the_bit_rate() {
    let parameters = g2();
    for along_x in [false, true] {
        let mut device = device(&parameters);
        let service = serve_line(&mut device, Time::ZERO, along_x, 700, 300..1500);
        let passed_ns = device.ledger(service.free).time_ns;
        let passed_ns = passed_ns[State::Servo as usize] + passed_ns[State::Data as usize];
        let expected_ns = 1200.0 * point_s(&parameters) * 1e9;
        assert!((passed_ns as f64 - expected_ns).abs() <= 1200.0, "{passed_ns} for {expected_ns} ns");
        assert_eq!(passed_ns + service.phases.seek_ns + service.phases.startup_ns, service.free.ns(), "nowhere a stop");
        let moving_s = (passed_ns + service.phases.seek_ns) as f64 * 1e-9;
        let expected_j =
            moving_s * parameters.sled_mw * 1e-3 + passed_ns as f64 * 1e-9 * 5120.0 * parameters.tip_mw * 1e-3;
        let energy = device.ledger(service.free).energy_j;
        let found_j: f64 = [State::Seek, State::Servo, State::Data].iter().map(|&state| energy[state as usize]).sum();
        assert!((found_j - expected_j).abs() <= 1e-9 * expected_j, "{found_j} J for {expected_j} J");
    }
}

#[test]
fn change_of_axis_equals_the_closed_form() {
    for model in [SeekModel::FirstOrder, SeekModel::TimeOptimal, SeekModel::Decomposed] {
        let parameters = MemsParameters { seek_model: model, ..without_springs() };
        let (v, a) = (parameters.bit_rate_kbit_s * 1e3 * parameters.bit_nm * 1e-9, parameters.acceleration_x_m_s2);
        let settle_s = parameters.settle_constants / (2.0 * std::f64::consts::PI * parameters.resonance_hz);
        let pitch_m = point_s(&parameters) * v;
        for (across, along) in [(1400, 900), (1010, 1300), (400, 1000), (1009, 1005)] {
            for along_x in [true, false] {
                let mut device = device(&parameters);
                // The sled moves up to 1010 at access speed, at rest at 1000 on the other axis; then it accesses a line
                // along that other axis.
                let first = upward(&mut device, !along_x, 1000, 990..1010);
                let second = serve_line(&mut device, first.free, along_x, across, along..along + 50);
                // The access starts at the end of the line that is reached sooner from rest at 1000.
                let ahead = [f64::from(along) - 1000.0, 1000.0 - f64::from(along + 50)];
                let run_up = ahead.map(|points| run_up_s(points * pitch_m, v, a));
                // Braking to rest from 1010 is a run-up reversed in time.
                let stop_s = run_up_s((f64::from(across) - 1010.0) * pitch_m, v, a) + settle_s;
                let expected_s = run_up[0].min(run_up[1]).max(stop_s);
                let found_s = second.phases.seek_ns as f64 * 1e-9;
                assert!(
                    (found_s - expected_s).abs() <= 3e-9,
                    "{model:?} {across} {along} {along_x}: {found_s} {expected_s}"
                );
            }
        }
    }
}

/// Serves a line from its start to its end.
fn upward(device: &mut MemsDevice, along_x: bool, across: u32, along: std::ops::Range<u32>) -> Service {
    // One reversal or two: a sled at the start of the line also reverses there.
    let mut service = serve_line(device, Time::ZERO, along_x, across, along.clone());
    let end_m = device.geometry().x_m(along.end);
    for _ in 0..2 {
        let Coordinates { x_m, y_m } = device.position_m(service.free);
        if ((if along_x { x_m } else { y_m }) - end_m).abs() < 1e-12 {
            return service;
        }
        service = serve_line(device, service.free, along_x, across, along.clone());
    }
    panic!("it has not turned round");
}

#[test]
fn times_are_symmetric_in_the_axes() {
    for spring_factor in [0.0, 0.75] {
        let parameters = MemsParameters { spring_factor, ..g2() };
        let mut random = Stream::new(5, "lines");
        let mut devices = [device(&parameters), device(&parameters)];
        let mut at = [Time::ZERO; 2];
        for step in 0..200 {
            let (across, first) = (random.below(2160) as u32, random.below(2000) as u32);
            let along = first..first + 2 + random.below(150) as u32;
            let along_x = random.chance(0.5);
            let mut found = [0; 2];
            for (which, along_x) in [along_x, !along_x].into_iter().enumerate() {
                let service = serve_line(&mut devices[which], at[which], along_x, across, along.clone());
                at[which] = service.free;
                found[which] = service.phases.seek_ns;
            }
            // The centre, from which both start, lies between two cylinders.
            assert!(step == 0 || found[0].abs_diff(found[1]) <= 2, "step {step}: {found:?}");
        }
    }
}

#[test]
fn sled_continues_along_either_axis_without_a_stop() {
    let mut device = device(&g2());
    let mut at = Time::ZERO;
    // After the change of axis, each consecutive block along a row takes only its pass time.
    let places = (500..600).map(|cylinder| (cylinder, 1200)).chain((1201..1300).map(|row| (599, row)));
    let mut stops = Vec::new();
    for (index, (cylinder, row)) in places.enumerate() {
        let service = device.serve(at, &Request::read(lbn(&device, cylinder, row), 1));
        if service.phases.seek_ns > 0 {
            stops.push(index);
        }
        at = service.free;
    }
    assert_eq!(stops[0], 0);
    assert!(stops.len() <= 3 && stops.iter().all(|&stop| stop < 2 || stop == 100), "{stops:?}");
}

#[test]
fn single_block_is_accessed_along_the_quicker_axis() {
    let parameters = g2();
    let mut random = Stream::new(3, "points");
    let mut device = device(&parameters);
    let mut at = Time::ZERO;
    let mut along = [0; 2];
    let mut last = 1000;
    for step in 0..300 {
        // Every other block is beside the last one across the rows, but in another row.
        let cylinder = if step % 2 == 0 { random.below(2158) as u32 } else { last + 1 };
        let row = random.below(2160) as u32;
        last = cylinder;
        let request = Request::read(lbn(&device, cylinder, row), 1);
        let mut from_both = [u64::MAX; 2];
        for along_x in [false, true] {
            // Two blocks form a line, which can be entered at either block.
            let index = if along_x { cylinder } else { row };
            for first in [index.saturating_sub(1), index.min(2158)] {
                let mut tried = device.clone();
                let service =
                    serve_line(&mut tried, at, along_x, if along_x { row } else { cylinder }, first..first + 2);
                from_both[usize::from(along_x)] = from_both[usize::from(along_x)].min(service.phases.seek_ns);
            }
        }
        let service = device.serve(at, &request);
        along[usize::from(from_both[1] < from_both[0])] += 1;
        let reach_ns = s_to_ns(2.0 * point_s(&parameters));
        let soonest = from_both[0].min(from_both[1]);
        assert!(service.phases.seek_ns <= soonest + reach_ns, "{} ns, and {from_both:?}", service.phases.seek_ns);
        at = service.free;
    }
    assert!(along.iter().all(|&often| often > 30), "{along:?}: one axis is never the sooner one");
}

#[test]
fn batch_block_belongs_to_the_longer_line() {
    let mut device = device(&g2());
    // A cross: 41 points along X, 11 along Y, one in both.
    let across = (1000..1041).map(|cylinder| (cylinder, 800));
    let upward = (795..806).filter(|&row| row != 800).map(|row| (1020, row));
    let requests: Vec<Request> =
        across.chain(upward).map(|(cylinder, row)| Request::read(lbn(&device, cylinder, row), 1)).collect();
    let mut services = Vec::new();
    device.serve_together(Time::ZERO, &requests, Together::Batch, &mut services);
    let mut ends: Vec<Time> = services[..41].iter().map(|service| service.end).collect();
    ends.dedup();
    assert_eq!(ends.len(), 1, "the row is one line: {ends:?}");
    let columns: BTreeSet<Time> = services[41..].iter().map(|service| service.end).collect();
    assert_eq!(columns.len(), 2, "the column is divided by the row");
}

#[test]
fn near_blocks_on_a_line_are_passed_without_a_stop() {
    // Blocks twenty points apart take no longer than the whole line: the sled moves at access speed or faster.
    let points: Vec<u32> = (1100..1201).collect();
    let [all, some] = [1, 20].map(|step| {
        let mut device = device(&g2());
        let requests: Vec<Request> =
            points.iter().step_by(step).map(|&cylinder| Request::read(lbn(&device, cylinder, 1200), 1)).collect();
        let mut services = Vec::new();
        device.serve_together(Time::ZERO, &requests, Together::Batch, &mut services);
        services[0].free
    });
    assert!(some <= all + 100, "{some:?} with gaps, {all:?} without");
}

#[test]
fn batch_groups_near_blocks_of_a_line() {
    let device = device(&g2());
    let picked = Request::read(lbn(&device, 1000, 900), 1);
    let near = |cylinder, row| device.shares_pass(&picked, &Request::read(lbn(&device, cylinder, row), 1));
    // Settling takes as long as 134 points.
    assert!(near(1000, 1030) && near(1000, 770) && near(1130, 900) && near(870, 900));
    assert!(!near(1000, 1040) && !near(1140, 900) && !near(1001, 901) && !near(860, 900));
    assert!(!device.batch_access().expect("blocks share lines").plans_merges());
    let edge = Request::read(lbn(&device, 0, 0), 1);
    device.for_each_companion(&edge, &mut |range| assert!(range.end <= device.dimensions().capacity_blocks));
}

#[test]
fn invalid_point_designs_are_rejected() {
    let fault = |parameters: MemsParameters| MemsDevice::new(&parameters).err().expect("it does not fit").to_string();
    let few = fault(MemsParameters { active_tips: 1280, ..g2() });
    assert!(few.contains("active_tips") && few.contains("5120") && few.contains("block_bytes"), "{few}");
    let sweeps = fault(MemsParameters { idle: Idle::Sweep, ..g2() });
    assert!(sweeps.contains("idle") && sweeps.contains("transfer"), "{sweeps}");
    let slow = fault(MemsParameters { acceleration_x_m_s2: 0.1, ..g2() });
    assert!(slow.contains("along X") && slow.contains("acceleration_x_m_s2"), "{slow}");
    let narrow = fault(MemsParameters { x_range_um: 3.0, ..g2() });
    assert!(narrow.contains("x_range_um") && narrow.contains("tip sector"), "{narrow}");
}

/// Returns a few requests on common lines.
fn batch(geometry: &Geometry, random: &mut Stream) -> Vec<Request> {
    let place = geometry.place(random.below(geometry.capacity_blocks()));
    (0..1 + random.below(8))
        .map(|id| {
            let cylinder = (place.cylinder + random.below(4) as u32) % geometry.cylinders;
            let row = (place.row + random.below(3) as u32) % geometry.rows;
            let lbn = geometry.lbn(&Place { cylinder, row, ..place });
            let blocks = (1 + random.below(3) * random.below(6)).min(geometry.capacity_blocks() - lbn);
            let op = if random.chance(0.5) { Op::Read } else { Op::Write };
            Request { id, op, ..Request::read(lbn, blocks as u32) }
        })
        .collect()
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn batch_passes_each_block_once(design in points_design()) {
        let mut device = device(&design);
        let geometry = device.geometry().clone();
        let mut random = Stream::new(3, "batches");
        let mut now = Time::ZERO;
        for _ in 0..12 {
            let requests = batch(&geometry, &mut random);
            let before = device.ledger(now);
            let mut services = Vec::new();
            device.serve_together(now, &requests, Together::Batch, &mut services);
            let free = services[0].free;
            let spent = &device.ledger(free) - &before;
            let wanted: BTreeSet<u64> = requests.iter().flat_map(|request| request.lbn..request.end_lbn()).collect();
            let passed_ns = spent.time_ns[State::Servo as usize] + spent.time_ns[State::Data as usize];
            let point_ns = s_to_ns(point_s(&design));
            prop_assert_eq!(passed_ns, wanted.len() as u64 * point_ns);
            let members_j: f64 = services.iter().map(|service| service.energy.total_j()).sum();
            prop_assert!((members_j - spent.total_j()).abs() <= 1e-7 * spent.total_j(), "{} J of {:?}", members_j, spent);
            for (service, request) in services.iter().zip(&requests) {
                prop_assert_eq!((service.start, service.free), (now, free));
                prop_assert_eq!(service.phases.service_ns(), service.end - service.start);
                let own_ns = service.phases.servo_ns + service.phases.transfer_ns;
                prop_assert_eq!(own_ns, u64::from(request.blocks) * point_ns);
            }
            now = free + random.below(3) * 700_000;
        }
    }

    #[test]
    fn geometry_with_points_is_a_bijection_in_lbn_order(design in points_design()) {
        let geometry = Geometry::new(&design).expect("it fits");
        for lbn in (0..geometry.capacity_blocks()).step_by(1 + geometry.capacity_blocks() as usize / 500) {
            prop_assert_eq!(geometry.lbn(&geometry.place(lbn)), lbn);
        }
        let edges_m = [geometry.x_m(0), geometry.x_m(geometry.cylinders)].map(f64::abs);
        prop_assert!(edges_m.iter().all(|&edge_m| edge_m <= design.x_range_um * 1e-6 / 2.0 * (1.0 + 1e-9)));
    }
}
