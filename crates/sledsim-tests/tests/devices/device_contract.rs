//! Contract of sleds in addition to that of all mechanisms (`device_contract_mechanisms`): geometry, and the exact
//! phases and energy of services. Checked on all sleds of the catalogue and on random designs.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sledsim::devices::mems::{
    Geometry, Layout, MemsDevice, MemsParameters, Place, RowDirection, Timeout, WriteTransfer,
};
use sledsim::devices::{Mechanism, Service, State};
use sledsim::engine::random::Stream;
use sledsim::request::{Op, Request};
use sledsim::time::{s_to_ns, Time};
use sledsim_testing::mems_designs::{mems_design, with_options};
use sledsim_testing::scenarios;
use sledsim_testing::tiers::cases;

use super::mems_passes::{passes, passes_by_track};

/// Energies are sums of floating-point products; this tolerance is far above their rounding error and far below the
/// energy of one tip.
const ENERGY_TOLERANCE: f64 = 1e-9;

fn device(parameters: &MemsParameters) -> MemsDevice {
    MemsDevice::new(parameters).unwrap_or_else(|error| panic!("{error}"))
}

fn every_catalogue_device(check: impl Fn(&MemsParameters)) {
    for (name, parameters) in scenarios::mems_devices() {
        println!("{name}");
        check(&parameters);
    }
}

/// Returns the blocks to check: those at the borders of rows, tracks and cylinders, and random ones.
fn sample_blocks(geometry: &Geometry) -> Vec<u64> {
    let capacity = geometry.capacity_blocks();
    let row = u64::from(geometry.blocks_per_row);
    let track = row * u64::from(geometry.rows);
    let cylinder = track * u64::from(geometry.tracks);
    let mut random = Stream::new(1, "blocks");
    let mut blocks: BTreeSet<u64> = (0..200).map(|_| random.below(capacity)).collect();
    for border in [row, track, cylinder, 2 * cylinder, 3 * cylinder, capacity] {
        blocks.extend([border.saturating_sub(1), border, border + 1, border + track - 1, border + track]);
    }
    blocks.into_iter().filter(|&lbn| lbn < capacity).collect()
}

fn check_geometry(parameters: &MemsParameters) {
    let geometry = Geometry::new(parameters).unwrap();
    let (tracks, rows, slots) = (geometry.tracks, geometry.rows, geometry.blocks_per_row);
    assert!(slots * geometry.tips_per_block <= parameters.active_tips);
    assert!(tracks * parameters.active_tips <= parameters.tips);
    let volume = [geometry.cylinders, tracks, rows, slots].map(u64::from).iter().product::<u64>();
    assert_eq!(geometry.capacity_blocks(), volume);
    for lbn in sample_blocks(&geometry) {
        let place = geometry.place(lbn);
        assert!(place.cylinder < geometry.cylinders && place.track < tracks && place.row < rows && place.slot < slots);
        assert_eq!(geometry.lbn(&place), lbn);
        assert!(geometry.group(&place) < tracks * slots);
        let next_lbn = lbn - u64::from(place.slot) + u64::from(slots);
        if next_lbn < geometry.capacity_blocks() {
            let next = geometry.place(next_lbn);
            assert_eq!(geometry.next_row(&place), next);
            check_order(parameters.layout, rows, &place, &next);
        }
    }
    let within = |position_m: f64, range_um: f64| position_m.abs() <= range_um * 1e-6 / 2.0 * (1.0 + 1e-9);
    for cylinder in [0, geometry.cylinders - 1, geometry.centre_cylinder()] {
        assert!(within(geometry.x_m(cylinder), parameters.x_range_um), "cylinder {cylinder} lies out of reach");
    }
    for bit in [geometry.upward_bit(0), geometry.downward_bit(rows)] {
        assert!(within(geometry.y_m(bit), parameters.y_range_um), "bit {bit} lies out of reach");
    }
}

/// Checks the positions of a row and of its successor in LBN order.
fn check_order(layout: Layout, rows: u32, place: &Place, next: &Place) {
    assert_eq!(next.slot, 0);
    if (next.cylinder, next.track) == (place.cylinder, place.track) {
        assert_eq!(next.row.abs_diff(place.row), 1);
        return;
    }
    match layout {
        Layout::Serpentine => assert_eq!(next.row, place.row, "the end of a track lies at the start of the next"),
        Layout::Simple => assert_eq!((place.row, next.row), (rows - 1, 0)),
    }
    if next.cylinder == place.cylinder {
        assert_eq!(next.track, place.track + 1);
    } else {
        assert_eq!((next.cylinder, next.track), (place.cylinder + 1, 0));
    }
}

fn check_equivalents(parameters: &MemsParameters) {
    let device = device(parameters);
    let geometry = device.geometry();
    for lbn in sample_blocks(geometry).into_iter().step_by(7) {
        let place = geometry.place(lbn);
        let others = device.equivalent(lbn);
        assert_eq!(others.len() as u32, geometry.tracks * geometry.blocks_per_row - 1);
        assert!(others.windows(2).all(|pair| pair[0] < pair[1]), "ascending, each once");
        for &other in others.iter().step_by(1 + others.len() / 20) {
            let there = geometry.place(other);
            assert_eq!((there.cylinder, there.row), (place.cylinder, place.row));
            assert_ne!(geometry.group(&there), geometry.group(&place));
            assert!(device.equivalent(other).contains(&lbn), "{lbn} and {other}: not symmetric");
        }
    }
}

/// Generates random requests and their arrival times.
struct Walk {
    random: Stream,
    capacity: u64,
    longest: u64,
    served: u64,
}

impl Walk {
    fn new(device: &MemsDevice, seed: u64) -> Self {
        let geometry = device.geometry();
        let track = u64::from(geometry.blocks_per_row) * u64::from(geometry.rows);
        Self { random: Stream::new(seed, "walk"), capacity: geometry.capacity_blocks(), longest: 3 * track, served: 0 }
    }

    /// Returns the idle time before a request: usually zero or short, sometimes longer than every inactivity timeout.
    fn gap_ns(&mut self) -> u64 {
        match self.random.below(4) {
            0 => 0,
            1 => self.random.below(3_000_000),
            2 => self.random.below(20_000_000),
            _ => 1,
        }
    }

    fn request(&mut self) -> Request {
        let blocks = 1 + if self.random.chance(0.5) { 0 } else { self.random.below(self.longest.min(self.capacity)) };
        let lbn = self.random.below(self.capacity - blocks + 1);
        let op = if self.random.chance(0.5) { Op::Read } else { Op::Write };
        self.served += 1;
        Request { id: self.served, op, ..Request::read(lbn, blocks as u32) }
    }
}

/// Expected values of a pass over a row.
struct Pass {
    servo_ns: u64,
    transfer_ns: u64,
    bus_ns_per_block: u64,
}

impl Pass {
    fn of(parameters: &MemsParameters) -> Self {
        let bits_ns = |bits: u32| s_to_ns(f64::from(bits) / (parameters.bit_rate_kbit_s * 1e3));
        let data_bits = parameters.tip_sector_bytes * parameters.encoded_bits_per_byte;
        let servo_ns = bits_ns(parameters.servo_bits);
        let transfer_ns = bits_ns(parameters.servo_bits + data_bits) - servo_ns;
        Self { servo_ns, transfer_ns, bus_ns_per_block: (parameters.bus_ms_per_block * 1e6).round() as u64 }
    }
}

fn check_services(parameters: &MemsParameters, requests: usize) {
    let mut device = device(parameters);
    let mut walk = Walk::new(&device, 7);
    let mut free = Time::ZERO;
    let mut bus_free = Time::ZERO;
    let mut requests_j = 0.0;
    let mut write_waits_j = 0.0;
    let mut startups = 0;
    for index in 0..requests {
        let gap_ns = walk.gap_ns();
        let now = free + gap_ns;
        let request = walk.request();
        let wakes = index == 0
            || matches!(parameters.inactive_after_ms, Timeout::AfterMs(limit) if gap_ns > (limit * 1e6).round() as u64);
        let expected_ns = device.positioning_ns(now, device.locate(&request));
        let service = device.serve(now, &request);
        let phases = &service.phases;
        assert_eq!(service.start, now);
        assert_eq!(expected_ns, phases.startup_ns + phases.seek_ns, "positioning differs from its estimate");
        assert_eq!(phases.startup_ns, if wakes { (parameters.startup_ms * 1e6).round() as u64 } else { 0 });
        startups += u64::from(wakes);
        check_service(parameters, &device, bus_free, &request, &service);
        bus_free = service.end;
        if request.op == Op::Write {
            write_waits_j += phases.bus_ns as f64 * 1e-9 * parameters.sled_mw * 1e-3;
        }
        requests_j += service.energy.total_j();
        free = service.free;
    }
    let ledger = device.ledger(free);
    assert_eq!(ledger.startups(), startups);
    let spells_j = ledger.energy_j[State::Idle as usize] - write_waits_j + ledger.energy_j[State::Inactive as usize];
    let total_j = ledger.total_j();
    assert!(
        (requests_j + spells_j - total_j).abs() <= ENERGY_TOLERANCE * total_j,
        "{requests_j} + {spells_j} != {total_j}"
    );
}

fn check_service(
    parameters: &MemsParameters,
    device: &MemsDevice,
    bus_free: Time,
    request: &Request,
    service: &Service,
) {
    let phases = &service.phases;
    assert!(service.start <= service.free && service.free <= service.end);
    assert_eq!(service.end - service.start, phases.service_ns(), "phases do not add up: {service:?}");
    assert_eq!(phases.seek_ns, phases.seek_x_ns.max(phases.seek_y_ns));
    assert!(phases.settle_ns <= phases.seek_x_ns && phases.seek_turnaround_ns <= phases.seek_y_ns);
    let pass = Pass::of(parameters);
    let of_request = if parameters.row_direction == RowDirection::ByTrack { passes_by_track } else { passes };
    let rows = of_request(device.geometry(), request);
    let mut count = rows.len() as u64;
    let divides = parameters.write_transfer == WriteTransfer::Before && request.op == Op::Write;
    if divides {
        // Blocks that cross the bus too late take further passes.
        let fewest = count;
        count = phases.transfer_ns / pass.transfer_ns;
        assert!((fewest..=u64::from(request.blocks)).contains(&count), "{count} passes of {fewest} rows");
    }
    assert_eq!((phases.servo_ns, phases.transfer_ns), (count * pass.servo_ns, count * pass.transfer_ns));
    if count == 1 {
        assert_eq!(phases.turnaround_ns, 0);
    }
    check_bus(bus_free, request, service, &rows, &pass);
    let pass_s = (pass.servo_ns + pass.transfer_ns) as f64 * 1e-9;
    let waited_ns = if request.op == Op::Write { phases.bus_ns } else { 0 };
    let moving_ns = phases.seek_ns + phases.turnaround_ns + phases.servo_ns + phases.transfer_ns + waited_ns;
    let tips = f64::from(request.blocks) * f64::from(device.geometry().tips_per_block);
    let expected_j = phases.startup_ns as f64 * 1e-9 * parameters.startup_mw * 1e-3
        + moving_ns as f64 * 1e-9 * parameters.sled_mw * 1e-3
        + tips * pass_s * parameters.tip_mw * 1e-3;
    assert!(
        (service.energy.total_j() - expected_j).abs() <= ENERGY_TOLERANCE * expected_j,
        "{service:?}: {expected_j} J"
    );
}

/// Checks bus times: reads are transferred after their passes, writes before them, and both after the transfers under
/// way at the start.
fn check_bus(bus_free: Time, request: &Request, service: &Service, rows: &[(u32, u32, Vec<u32>)], pass: &Pass) {
    let phases = &service.phases;
    let last_ns = rows.last().map_or(0, |row| row.2.len() as u64) * pass.bus_ns_per_block;
    let all_ns = u64::from(request.blocks) * pass.bus_ns_per_block;
    assert!(service.end - service.start >= phases.startup_ns + all_ns, "all blocks are transferred");
    if request.op == Op::Read {
        assert!(phases.bus_ns >= last_ns);
        assert_eq!(service.end - service.free, phases.bus_ns);
        return;
    }
    assert_eq!(service.end, service.free);
    let passed_ns = phases.servo_ns + phases.transfer_ns;
    if passed_ns == pass.servo_ns + pass.transfer_ns {
        let awake = service.start + phases.startup_ns;
        let crossed = bus_free.max(awake) + all_ns;
        assert_eq!(phases.bus_ns, crossed.saturating_since(awake + phases.seek_ns), "a write waits for its blocks");
    }
}

#[test]
fn geometry_of_the_catalogue_is_a_bijection_in_lbn_order() {
    every_catalogue_device(check_geometry);
}

#[test]
fn equivalent_blocks_of_the_catalogue_share_a_position() {
    every_catalogue_device(check_equivalents);
}

#[test]
fn services_of_the_catalogue_account_for_every_nanosecond() {
    every_catalogue_device(|parameters| check_services(parameters, 300));
}

proptest! {
    #![proptest_config(cases(192))]

    #[test]
    fn geometry_is_a_bijection_in_lbn_order(design in mems_design()) {
        check_geometry(&design);
    }

    #[test]
    fn equivalent_blocks_share_a_position(design in mems_design()) {
        check_equivalents(&design);
    }

    #[test]
    fn services_account_for_every_nanosecond(design in mems_design()) {
        check_services(&design, 60);
    }

    #[test]
    fn services_with_options_account_for_every_nanosecond(design in mems_design(), options in 1_u32..8) {
        check_services(&with_options(&design, options), 60);
    }
}

#[test]
fn tracks_of_more_than_2_32_blocks() {
    for y_range_um in [524.288, 700.0] {
        let parameters = MemsParameters {
            block_bytes: 1,
            tip_sector_bytes: 1,
            encoded_bits_per_byte: 8,
            servo_bits: 0,
            bit_nm: 1.0,
            x_range_um: 1.0,
            y_range_um,
            tips: 1 << 20,
            active_tips: 1 << 20,
            ..scenarios::mems_parameters("g2")
        };
        let device = MemsDevice::new(&parameters).expect("every value is in range");
        let geometry = device.geometry();
        assert!(u64::from(geometry.rows) * u64::from(geometry.blocks_per_row) > u64::from(u32::MAX));
        let capacity = geometry.capacity_blocks();
        for lbn in [0, 1, u64::from(u32::MAX), 1 << 33, capacity / 3, capacity - 1] {
            assert_eq!(geometry.lbn(&geometry.place(lbn)), lbn);
        }
    }
}
