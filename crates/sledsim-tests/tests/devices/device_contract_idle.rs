//! Idle devices: hold, sweep, stop and start-up.

use proptest::prelude::*;
use sledsim::devices::mems::motion::{exact_turnaround_s, y_seek, Axis};
use sledsim::devices::mems::{Idle, MemsDevice, MemsParameters, SeekModel, StopAt, Timeout};
use sledsim::devices::{Coordinates, Mechanism, State};
use sledsim::power::SpinDownSpec;
use sledsim::request::Request;
use sledsim::time::Time;
use sledsim_testing::mems_designs::mems_design;
use sledsim_testing::scenarios;
use sledsim_testing::tiers::cases;

/// Positions are computed in floating point from micrometres.
const POSITION_TOLERANCE_M: f64 = 1e-14;

/// Returns a device that has served one block, with its idle behaviour, and the time at which it became free.
fn idling(parameters: &MemsParameters, idle: Idle, inactive_after_ms: Timeout) -> (MemsDevice, Time) {
    let mut device = MemsDevice::new(&MemsParameters { idle, inactive_after_ms, ..parameters.clone() })
        .unwrap_or_else(|error| panic!("{error}"));
    let service = device.serve(Time::ZERO, &read(device.dimensions().capacity_blocks / 3));
    (device, service.free)
}

fn read(lbn: u64) -> Request {
    Request::read(lbn, 1)
}

fn check_hold(parameters: &MemsParameters) {
    let (device, free) = idling(parameters, Idle::Hold, Timeout::Never);
    let later = free + 3_600_000_000_000;
    assert_eq!(device.position_m(later), device.position_m(free));
    assert_eq!(device.cylinder(later), device.cylinder(free));
    let there = device.locate(&read(0));
    assert_eq!(device.positioning_ns(later, there), device.positioning_ns(free, there));
}

/// Time for the sled to sweep its column up and down, with both reversals, in seconds.
fn sweep_s(parameters: &MemsParameters, bottom_m: f64, top_m: f64) -> f64 {
    let speed_m_s = parameters.bit_rate_kbit_s * 1e3 * parameters.bit_nm * 1e-9;
    let spring = if parameters.seek_model == SeekModel::FirstOrder { 0.0 } else { parameters.spring_factor };
    let accel_m_s2 = parameters.acceleration_y_m_s2;
    let axis = Axis { accel_m_s2, spring, range_m: parameters.y_range_um * 1e-6 };
    let reversals_s = exact_turnaround_s(&axis, bottom_m, -speed_m_s) + exact_turnaround_s(&axis, top_m, speed_m_s);
    2.0 * (top_m - bottom_m) / speed_m_s + reversals_s
}

fn check_sweep(parameters: &MemsParameters) {
    let (mut device, free) = idling(parameters, Idle::Sweep, Timeout::Never);
    let geometry = device.geometry();
    let (bottom_m, top_m) = (geometry.y_m(geometry.upward_bit(0)), geometry.y_m(geometry.downward_bit(geometry.rows)));
    let speed_m_s = parameters.bit_rate_kbit_s * 1e3 * parameters.bit_nm * 1e-9;
    let period_ns = sweep_s(parameters, bottom_m, top_m) * 1e9;
    let step_ns = (period_ns / 200.0).ceil().max(1.0) as u64;
    let Coordinates { x_m, y_m: mut last_m } = device.position_m(free);
    let (mut lowest_m, mut highest_m) = (last_m, last_m);
    for step in 1..=250 {
        let now = free + step * step_ns;
        let Coordinates { x_m: x_now_m, y_m } = device.position_m(now);
        assert_eq!(x_now_m, x_m, "the sled stays in its column");
        assert!(y_m >= bottom_m - POSITION_TOLERANCE_M && y_m <= top_m + POSITION_TOLERANCE_M);
        let reach_m = speed_m_s * (step_ns as f64 + 1.0) * 1e-9 + POSITION_TOLERANCE_M;
        assert!((y_m - last_m).abs() <= reach_m, "{last_m} to {y_m} is more than {reach_m}");
        (lowest_m, highest_m) = (lowest_m.min(y_m), highest_m.max(y_m));
        last_m = y_m;
        // The period is rounded to a nanosecond, so positions a period apart differ by at most the movement in that
        // time.
        let again_m = device.position_m(now + period_ns.round() as u64).y_m;
        assert!((again_m - y_m).abs() <= 2e-9 * speed_m_s + POSITION_TOLERANCE_M, "the period is {period_ns} ns");
    }
    let step_m = speed_m_s * step_ns as f64 * 1e-9;
    assert!(lowest_m - bottom_m <= step_m && top_m - highest_m <= step_m, "the sweep goes from end to end");
    let now = free + 77 * step_ns + 13;
    let request = read(device.dimensions().capacity_blocks - 1);
    let expected_ns = device.positioning_ns(now, device.locate(&request));
    assert_eq!(device.serve(now, &request).phases.seek_ns, expected_ns);
}

fn check_inactivity(parameters: &MemsParameters) {
    let timeout_ns = 2_000_000;
    let (mut device, free) = idling(parameters, parameters.idle, Timeout::AfterMs(2.0));
    let startup_ns = (parameters.startup_ms * 1e6).round() as u64;
    let lbn = device.dimensions().capacity_blocks / 3;
    let (still, stopped) = (free + timeout_ns, free + timeout_ns + 1);
    assert!(device.ledger(still).time_ns[State::Inactive as usize] == 0);
    assert_eq!(device.ledger(stopped + 9).time_ns[State::Inactive as usize], 10);
    let there = device.locate(&read(lbn));
    match parameters.stop_at {
        StopAt::Centre => {
            assert_eq!(device.cylinder(stopped), device.geometry().centre_cylinder());
            assert_eq!(device.position_m(stopped).y_m, 0.0, "the sled rests at the centre");
            assert!(device.positioning_ns(stopped, there) >= startup_ns);
        }
        StopAt::InPlace => {
            let later = stopped + 3_600_000_000_000;
            assert_eq!([stopped, later].map(|at| device.position_m(at)), [device.position_m(still); 2]);
            assert_eq!(device.positioning_ns(later, there), device.positioning_ns(stopped, there));
            assert!(device.positioning_ns(later, there) >= startup_ns);
        }
    }
    assert!(device.cylinder_bound_ns(stopped, there.cylinder) >= startup_ns);
    let service = device.serve(stopped, &read(lbn));
    assert_eq!(service.phases.startup_ns, startup_ns);
    assert_eq!(device.ledger(service.free).startups(), 2);
    let again = device.serve(service.free + timeout_ns, &read(lbn));
    assert_eq!(again.phases.startup_ns, 0, "at the timeout itself the sled still moves");
    assert_eq!(device.ledger(again.free).startups(), 2);
}

/// A new device is stopped, and queries do not change its state.
fn check_rest(parameters: &MemsParameters) {
    let device = MemsDevice::new(parameters).unwrap_or_else(|error| panic!("{error}"));
    let now = Time::from_ns(123_456_789);
    let ledger = device.ledger(now);
    assert_eq!(ledger.time_ns[State::Inactive as usize], now.ns());
    assert!((ledger.total_j() - now.seconds() * parameters.inactive_mw * 1e-3).abs() < 1e-15);
    let _ =
        (device.positioning_ns(now, device.locate(&read(0))), device.position_m(now), device.cylinder_bound_ns(now, 0));
    assert_eq!(device.ledger(now), ledger);
}

fn check_all(parameters: &MemsParameters) {
    check_rest(parameters);
    check_hold(parameters);
    check_sweep(parameters);
    check_inactivity(parameters);
}

#[test]
fn catalogue_devices_idle_as_specified() {
    for (name, parameters) in scenarios::mems_devices() {
        println!("{name}");
        check_all(&parameters);
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn random_designs_idle_as_specified(design in mems_design()) {
        check_all(&design);
    }
}

/// After a stop in place, the sled starts at rest from its position, which takes the closed-form time of such a seek. A
/// spin-down policy with hindsight, which stops at once, does not change that.
#[test]
fn sled_restarts_where_it_stopped() {
    for idle in [Idle::Hold, Idle::Sweep] {
        let parameters = MemsParameters { idle, stop_at: StopAt::InPlace, ..scenarios::mems_parameters("g2") };
        for (policy, moves_ns) in [
            (SpinDownSpec::Immediate {}, 0),
            (SpinDownSpec::Timeout { after_ms: 0.4 }, 400_000),
            (SpinDownSpec::Offline {}, 0),
        ] {
            let mut device = MemsDevice::with_spin_down(&parameters, Some(&policy), 0).expect("they fit");
            let first = device.dimensions().capacity_blocks / 7;
            let free = device.serve(Time::ZERO, &read(first)).free;
            let late = free + 9_000_000;
            let y0_m = device.position_m(late).y_m;
            assert_eq!(y0_m, device.position_m(free + moves_ns).y_m, "{idle:?} {policy:?}");
            assert!(y0_m != 0.0);
            // Accesses another row of the same cylinder, which can be entered from both ends.
            let next = read(first + 45);
            let geometry = device.geometry();
            let [here, there] = [first, first + 45].map(|lbn| geometry.place(lbn));
            assert!(here.cylinder == there.cylinder && here.row != there.row);
            let axis = Axis {
                accel_m_s2: parameters.acceleration_y_m_s2,
                spring: parameters.spring_factor,
                range_m: parameters.y_range_um * 1e-6,
            };
            let speed_m_s = parameters.bit_rate_kbit_s * 1e3 * parameters.bit_nm * 1e-9;
            let way_s = |bit: f64, v_m_s: f64| {
                y_seek(parameters.seek_model, &axis, speed_m_s, y0_m, 0.0, geometry.y_m(bit), v_m_s).time_s
            };
            let up_s = way_s(geometry.upward_bit(there.row), speed_m_s);
            let down_s = way_s(geometry.downward_bit(there.row + 1), -speed_m_s);
            let seek_ns = (up_s.min(down_s) * 1e9).round() as u64;
            let service = device.serve(late, &next);
            assert_eq!((service.phases.startup_ns, service.phases.seek_ns), (500_000, seek_ns), "{idle:?} {policy:?}");
            assert_eq!(device.ledger(service.free).startups(), 2);
        }
    }
}
