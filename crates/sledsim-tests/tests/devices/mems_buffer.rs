//! The read buffer of a sled, and the greatest access speed for a gap between the fingers of its actuator.

use sledsim::devices::mems::{Characteristics, MemsDevice, MemsParameters, Transfer};
use sledsim::devices::{Mechanism, Powered};
use sledsim::request::{Op, Request};
use sledsim::time::{ms_to_ns, Time};
use sledsim_testing::scenarios::mems_parameters;

fn device(parameters: &MemsParameters) -> MemsDevice {
    MemsDevice::new(parameters).expect("a valid device")
}

fn buffered(buffer_rows: u32) -> MemsParameters {
    MemsParameters { buffer_rows, ..mems_parameters("g2") }
}

#[test]
fn blocks_of_a_buffered_row_take_bus_time_only() {
    let parameters = buffered(1);
    let bus_ns = ms_to_ns(parameters.bus_ms_per_block);
    let mut device = device(&parameters);
    let per_row = u64::from(device.geometry().blocks_per_row);
    let mut at = Time::ZERO;
    for lbn in 0..10 * per_row {
        let service = device.serve(at, &Request::read(lbn, 1));
        let is_first = lbn % per_row == 0;
        assert_eq!(service.phases.transfer_ns > 0, is_first, "block {lbn}");
        if !is_first {
            assert_eq!(service.end - service.start, bus_ns, "block {lbn}");
            assert_eq!(service.energy.total_j(), 0.0, "block {lbn}");
        }
        at = service.end;
    }
}

#[test]
fn buffered_read_takes_no_longer_and_the_energy_of_a_whole_row() {
    let [plain, buffered] = [0, 1].map(|rows| device(&buffered(rows)).serve(Time::ZERO, &Request::read(4000, 1)));
    assert_eq!((plain.end, plain.phases), (buffered.end, buffered.phases));
    let per_row = device(&mems_parameters("g2")).geometry().blocks_per_row;
    let row = device(&mems_parameters("g2"))
        .serve(Time::ZERO, &Request::read(4000 / u64::from(per_row) * u64::from(per_row), per_row));
    assert!((buffered.energy.data_j - row.energy.data_j).abs() < 1e-15, "{} J", buffered.energy.data_j);
    assert!(plain.energy.data_j < buffered.energy.data_j);
}

#[test]
fn writes_and_replaced_rows_go_to_the_media() {
    let mut device = device(&buffered(2));
    let per_row = u64::from(device.geometry().blocks_per_row);
    let mut at = Time::ZERO;
    let mut moves = |request: Request| {
        let service = device.serve(at, &request);
        at = service.end;
        service.phases.transfer_ns > 0
    };
    assert!(moves(Request::read(0, 1)));
    assert!(!moves(Request::read(per_row - 1, 1)));
    assert!(moves(Request { op: Op::Write, ..Request::read(0, 1) }));
    assert!(!moves(Request::read(0, 1)), "a write leaves the row valid");
    assert!(moves(Request::read(per_row - 1, 2)), "one of the two rows is missing");
    assert!(!moves(Request::read(0, 1)));
    assert!(moves(Request::read(5 * per_row, 1)));
    assert!(!moves(Request::read(0, 1)));
    assert!(moves(Request::read(per_row, 1)), "the least recently used row was replaced");
}

#[test]
fn stopped_sled_answers_from_its_buffer_without_a_start() {
    let parameters = MemsParameters { inactive_after_ms: sledsim::devices::mems::Timeout::AfterMs(1.0), ..buffered(1) };
    let mut device = device(&parameters);
    let first = device.serve(Time::ZERO, &Request::read(0, 1));
    let later = first.end + 1_000_000_000;
    assert!(device.wake_ns(later) > 0);
    let hit = device.serve(later, &Request::read(1, 1));
    assert_eq!(hit.phases.startup_ns, 0);
    assert!(device.wake_ns(hit.end) > 0, "the sled is still stopped");
    let energy = device.ledger(hit.end);
    assert!((energy.time_ns.iter().sum::<u64>()) == (hit.end - Time::ZERO), "{energy:?}");
}

#[test]
fn power_cut_empties_the_buffer() {
    let mut device = device(&buffered(1));
    let end = device.serve(Time::ZERO, &Request::read(0, 1)).end;
    assert!(!device.wakes_for(end, &Request::read(1, 1)));
    device.power_cut(end);
    assert!(device.serve(end, &Request::read(1, 1)).phases.transfer_ns > 0);
}

#[test]
fn stopped_sled_wakes_for_all_but_buffered_reads() {
    let parameters = MemsParameters { inactive_after_ms: sledsim::devices::mems::Timeout::AfterMs(1.0), ..buffered(1) };
    let mut device = device(&parameters);
    let later = device.serve(Time::ZERO, &Request::read(0, 1)).end + 1_000_000_000;
    let per_row = u64::from(device.geometry().blocks_per_row);
    assert!(!device.wakes_for(later, &Request::read(1, 1)));
    assert!(device.wakes_for(later, &Request::read(per_row, 1)));
    assert!(device.wakes_for(later, &Request { op: Op::Write, ..Request::read(1, 1) }));
}

#[test]
fn buffer_needs_rows_and_whole_blocks() {
    let fluid = MemsParameters { transfer: Transfer::Fluid, ..buffered(1) };
    assert_eq!(
        MemsDevice::new(&fluid).err().map(|fault| fault.location.path.to_string()).as_deref(),
        Some("buffer_rows")
    );
    assert!(!device(&buffered(1)).access_subsectors());
}

/// Returns the greatest speed from which a force and a spring stop a sled within a gap, by summing their work over short steps.
fn stopped_within(p: &MemsParameters, gap_um: f64) -> f64 {
    let steps = 100_000;
    let (step_m, half_m) = (gap_um * 1e-6 / f64::from(steps), p.y_range_um * 1e-6 / 2.0);
    let work: f64 = (0..steps)
        .map(|step| {
            let beyond_m = (f64::from(step) + 0.5) * step_m;
            p.acceleration_y_m_s2 * (1.0 + p.spring_factor * (half_m + beyond_m) / half_m) * step_m
        })
        .sum();
    (2.0 * work).sqrt()
}

#[test]
fn greatest_access_speed_is_that_which_force_and_springs_stop_within_the_gap() {
    for (spring_factor, gap_um) in [(0.0, 10.0), (0.75, 10.0), (0.25, 3.0), (0.75, 20.0)] {
        let p = MemsParameters {
            spring_factor,
            finger_gap_um: Some(gap_um),
            bit_rate_kbit_s: 100.0,
            ..mems_parameters("g2")
        };
        let limit = Characteristics::of(&p).expect("a slow sled").access_speed_limit_m_s.expect("a gap is given");
        assert!((limit / stopped_within(&p, gap_um) - 1.0).abs() < 1e-9, "{limit} m/s");
        let at = |share: f64| MemsParameters { bit_rate_kbit_s: share * limit / (p.bit_nm * 1e-9) / 1e3, ..p.clone() };
        assert!(MemsDevice::new(&at(0.999)).is_ok());
        let fault = MemsDevice::new(&at(1.001)).err().expect("fingers would touch");
        assert_eq!(fault.location.path.to_string(), "finger_gap_um");
    }
}

#[test]
fn access_speed_limit_without_springs_is_that_of_constant_force() {
    let p = MemsParameters { spring_factor: 0.0, finger_gap_um: Some(10.0), ..mems_parameters("g2") };
    let limit = Characteristics::of(&p).expect("a valid sled").access_speed_limit_m_s.expect("a gap is given");
    assert!((limit - (2.0 * p.acceleration_y_m_s2 * 10e-6).sqrt()).abs() < 1e-12);
}
