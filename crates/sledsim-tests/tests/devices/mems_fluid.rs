//! Fluid transfer: every block passes at the rate of all tips, without row boundaries, with reversals at track ends.

use sledsim::devices::mems::{MemsDevice, MemsParameters, Transfer};
use sledsim::devices::{Mechanism, Together};
use sledsim::request::Request;
use sledsim::service::Service;
use sledsim::time::Time;
use sledsim_testing::scenarios::mems_parameters;

/// Returns `g1` with access in both directions along Y and no bus, with the given kind of transfer.
fn g1(transfer: Transfer) -> MemsParameters {
    MemsParameters { transfer, bidirectional: true, bus_ms_per_block: 0.0, overhead_ms: 0.0, ..mems_parameters("g1") }
}

fn device(parameters: &MemsParameters) -> MemsDevice {
    MemsDevice::new(parameters).expect("a design that fits")
}

/// Returns the blocks of a track and the first LBN of a track in the middle of the device.
fn middle(device: &MemsDevice) -> (u64, u64) {
    let geometry = device.geometry();
    let track = u64::from(geometry.rows) * u64::from(geometry.blocks_per_row);
    (track, device.dimensions().capacity_blocks / 2 / track * track)
}

/// Serves requests one after the other.
fn serve(device: &mut MemsDevice, requests: &[Request]) -> Vec<Service> {
    let mut at = Time::ZERO;
    requests
        .iter()
        .map(|request| {
            let service = device.serve(at, request);
            at = service.free;
            service
        })
        .collect()
}

#[test]
fn block_takes_its_share_of_a_row() {
    let (fluid, rows) = (g1(Transfer::Fluid), g1(Transfer::Rows));
    let per_row = f64::from(device(&rows).geometry().blocks_per_row);
    for blocks in [1, 8, 32] {
        let [stream, row] = [&fluid, &rows].map(|each| device(each).serve(Time::ZERO, &Request::read(4000, blocks)));
        // All bits of a block, including servo bursts, at the rate of all active tips.
        let bits = f64::from(fluid.tip_sector_bytes * fluid.encoded_bits_per_byte + fluid.servo_bits) / per_row;
        let expected_ns = f64::from(blocks) * bits / (fluid.bit_rate_kbit_s * 1e3) * 1e9;
        let passed_ns = (stream.phases.servo_ns + stream.phases.transfer_ns) as f64;
        assert!((passed_ns - expected_ns).abs() <= f64::from(blocks), "{blocks}: {passed_ns} for {expected_ns} ns");
        let row_ns = row.phases.servo_ns + row.phases.transfer_ns;
        assert!(row_ns as f64 > passed_ns, "a row passes whole, however few of its blocks are needed");
    }
}

#[test]
fn capacity_and_a_whole_track_are_those_of_rows() {
    let [mut stream, mut rows] = [Transfer::Fluid, Transfer::Rows].map(|transfer| device(&g1(transfer)));
    assert_eq!(stream.dimensions().capacity_blocks, rows.dimensions().capacity_blocks);
    let (track, lbn) = middle(&stream);
    assert_eq!((track, lbn), middle(&rows));
    let request = Request::read(lbn, track as u32);
    let passed = |service: Service| service.phases.servo_ns + service.phases.transfer_ns;
    let [one, other] = [&mut stream, &mut rows].map(|each| passed(each.serve(Time::ZERO, &request)));
    assert!(one.abs_diff(other) <= track, "each block is rounded to a nanosecond: {one}, {other}");
}

#[test]
fn energy_is_that_of_active_tips() {
    let parameters = g1(Transfer::Fluid);
    let mut device = device(&parameters);
    let service = device.serve(Time::ZERO, &Request::read(4000, 7));
    let on_s = (service.phases.servo_ns + service.phases.transfer_ns) as f64 * 1e-9;
    let geometry = device.geometry();
    let tips = f64::from(geometry.tips_per_block);
    let expected_j = on_s * (parameters.sled_mw + tips * parameters.tip_mw) * 1e-3;
    let found_j = service.energy.servo_j + service.energy.data_j;
    assert!((found_j - expected_j).abs() < 1e-12, "{found_j} J for {expected_j} J");
    let ledger_j: f64 = device.ledger(service.free).energy_j.iter().sum();
    let service_j = service.energy.servicing_j() + service.energy.startup_j + service.energy.idle_j;
    assert!((ledger_j - service_j).abs() < 1e-12, "{ledger_j} J in the books, {service_j} J of the request");
}

#[test]
fn run_within_a_track_starts_at_the_quicker_end() {
    let mut either = device(&g1(Transfer::Fluid));
    let (track, lbn) = middle(&either);
    let (mut at, mut backwards) = (Time::ZERO, 0);
    for step in 0..200 {
        let request = Request::read(lbn + step * 37 % (track - 40), 40);
        let alone = |block: u64| either.clone().serve(at, &Request::read(request.lbn + block, 1)).phases.seek_ns;
        let (first, last) = (alone(0), alone(39));
        let service = either.serve(at, &request);
        // A single block can be accessed from either of its ends, a run only from the ends of the run.
        assert!(service.phases.seek_ns >= first.min(last), "{request:?}");
        backwards += u64::from(service.phases.seek_ns < first);
        at = service.free;
    }
    assert!(backwards > 20, "{backwards} of 200 were entered at the end");
}

#[test]
fn run_over_two_tracks_reverses_in_between() {
    let mut device = device(&g1(Transfer::Fluid));
    let (track, lbn) = middle(&device);
    let request = Request::read(lbn + track - 10, 20);
    let service = device.serve(Time::ZERO, &request);
    let geometry = device.geometry().clone();
    let places = [0, 19].map(|block| geometry.place(request.lbn + block));
    assert_ne!((places[0].cylinder, places[0].track), (places[1].cylinder, places[1].track));
    assert!(service.phases.turnaround_ns > 0);
    assert_eq!(geometry.run_in_track(&places[0], 20).blocks, 10);
}

#[test]
fn batches_are_served_one_after_the_other_and_merges_as_one() {
    let fresh = || device(&g1(Transfer::Fluid));
    let lbn = middle(&fresh()).1;
    let requests = [Request::read(lbn, 4), Request::read(lbn + 4, 4)];
    let (mut batch, mut merged) = (Vec::new(), Vec::new());
    fresh().serve_together(Time::ZERO, &requests, Together::Batch, &mut batch);
    assert_eq!(batch, serve(&mut fresh(), &requests));
    fresh().serve_together(Time::ZERO, &requests, Together::Merged(None), &mut merged);
    let whole = fresh().serve(Time::ZERO, &Request::read(lbn, 8));
    assert!(merged.iter().all(|service| (service.end, service.phases) == (whole.end, whole.phases)));
    assert!(fresh().batch_access().is_none());
    assert!(!fresh().access_subsectors(), "tips are never on for less than a block");
}

#[test]
fn track_with_too_many_blocks_is_rejected() {
    let parameters = MemsParameters {
        bit_nm: 1.0,
        y_range_um: 10_000.0,
        tips: 10_000_000,
        active_tips: 10_000_000,
        block_bytes: 1,
        tip_sector_bytes: 1,
        encoded_bits_per_byte: 8,
        servo_bits: 0,
        x_range_um: 1.0,
        ..g1(Transfer::Fluid)
    };
    let fault = MemsDevice::new(&parameters).err().expect("it does not fit 32 bits");
    assert!(fault.to_string().contains("transfer"), "{fault}");
}
