//! The power of drives: hand-calculated idle periods, comparison with a drive without power parameters, and scenarios.

use proptest::prelude::*;
use serde_json::{json, Value};
use sledsim::devices::disk::{DiskDevice, DiskParameters, FastWrite, ReadAhead};
use sledsim::devices::{EnergyLedger, Mechanism, Powered, Service, State};
use sledsim::engine::random::Stream;
use sledsim::power::{PowerParameters, SpinDownSpec};
use sledsim::request::{Op, Request};
use sledsim::scenario::DeviceSpec;
use sledsim::time::{s_to_ns, Time};
use sledsim_testing::disk_designs::disk_design;
use sledsim_testing::powers::{policies, power};
use sledsim_testing::scenarios;
use sledsim_testing::tiers::cases;

/// Energies are sums of a few products.
const ROUNDING_J: f64 = 1e-12;

fn request(op: Op, lbn: u64, blocks: u32) -> Request {
    Request { op, ..Request::read(lbn, blocks) }
}

fn catalogued(name: &str) -> DiskParameters {
    match scenarios::device_spec(name) {
        DeviceSpec::Disk(parameters) => *parameters,
        other => panic!("{name} is no disk: {other:?}"),
    }
}

/// The mobile drive without background work.
fn plain_travelstar() -> DiskParameters {
    DiskParameters { read_ahead: ReadAhead::None, fast_write: FastWrite::None, ..catalogued("travelstar") }
}

fn device(parameters: &DiskParameters, policy: Option<&SpinDownSpec>) -> DiskDevice {
    DiskDevice::new(parameters).unwrap_or_else(|error| panic!("{error}")).with_spin_down(policy)
}

fn close(ours_j: f64, by_hand_j: f64) -> bool {
    (ours_j - by_hand_j).abs() <= ROUNDING_J
}

/// Returns the difference of two ledgers.
fn between(before: &EnergyLedger, after: &EnergyLedger) -> EnergyLedger {
    after - before
}

#[test]
fn mobile_drive_idle_energy_matches_hand_calculation() {
    // An idle period, s; time in each mode, s; time of the return, ms. Powers are 2.0, 1.3, 0.85 and 0.2 W, and 2.2 W.
    for (idle_s, modes_s, wake_ms, by_hand_j) in [
        (0.5, [0.5, 0.0, 0.0, 0.0], 0.0, 1.0),
        (1.0, [1.0, 0.0, 0.0, 0.0], 0.0, 2.0),
        (2.0, [1.0, 1.0, 0.0, 0.0], 40.0, 2.0 + 1.3 + 0.088),
        (5.0, [1.0, 3.0, 1.0, 0.0], 400.0, 2.0 + 3.9 + 0.85 + 0.88),
        (11.9, [1.0, 3.0, 7.9, 0.0], 400.0, 2.0 + 3.9 + 6.715 + 0.88),
        (12.1, [1.0, 3.0, 8.0, 0.1], 2000.0, 2.0 + 3.9 + 6.8 + 0.02 + 4.4),
        (100.0, [1.0, 3.0, 8.0, 88.0], 2000.0, 2.0 + 3.9 + 6.8 + 17.6 + 4.4),
    ] {
        let mut drive = device(&plain_travelstar(), None);
        let rests = drive.serve(Time::ZERO, &request(Op::Read, 1000, 8)).end;
        let now = rests + s_to_ns(idle_s);
        let there = drive.locate(&request(Op::Read, 5_000_000, 8));
        let (before, wake_ns) = (drive.ledger(rests), s_to_ns(wake_ms * 1e-3));
        assert_eq!(drive.wake_ns(now), wake_ns, "{idle_s} s");
        let positioning_ns = drive.positioning_ns(now, there);
        let service = drive.serve(now, &request(Op::Read, 5_000_000, 8));
        let phases = &service.phases;
        assert_eq!(phases.startup_ns, wake_ns, "{idle_s} s");
        assert_eq!(positioning_ns, wake_ns + phases.command_ns + phases.seek_ns + phases.rotation_ns, "{idle_s} s");
        let took = between(&before, &drive.ledger(now + wake_ns));
        for (mode, &mode_s) in modes_s.iter().enumerate() {
            assert_eq!(took.modes[mode].time_ns, s_to_ns(mode_s), "{idle_s} s, mode {mode}");
            // The drive is in the ready mode while the bus is still busy.
            assert_eq!(took.modes[mode].entered, u64::from(mode > 0 && mode_s > 0.0), "{idle_s} s, mode {mode}");
        }
        assert_eq!(took.time_ns[State::Startup as usize], wake_ns);
        assert_eq!(took.startups(), u64::from(wake_ns > 0));
        assert!(close(took.total_j(), by_hand_j), "{idle_s} s: {} J, by hand {by_hand_j} J", took.total_j());
        assert!(close(service.energy.startup_j, wake_ms * 1e-3 * 2.2));
    }
}

#[test]
fn a_policy_selects_the_modes_of_the_drive() {
    let served = |policy: &SpinDownSpec, idle_s: f64| {
        let mut drive = device(&plain_travelstar(), Some(policy));
        let rests = drive.serve(Time::ZERO, &request(Op::Read, 1000, 8)).end;
        let (before, now) = (drive.ledger(rests), rests + s_to_ns(idle_s));
        let service = drive.serve(now, &request(Op::Read, 5_000_000, 8));
        let took = between(&before, &drive.ledger(now + service.phases.startup_ns));
        (service.phases.startup_ns, took.total_j())
    };
    // 3 s: at once to standby, 0.6 + 4.4 J; never, 6 J; after 2 s, 2 + 1.3 + 0.2 + 4.4 J.
    for (policy, idle_s, wake_ns, by_hand_j) in [
        (SpinDownSpec::Immediate {}, 3.0, 2_000_000_000, 0.6 + 4.4),
        (SpinDownSpec::Never {}, 3.0, 0, 6.0),
        (SpinDownSpec::Timeout { after_ms: 2000.0 }, 3.0, 2_000_000_000, 2.0 + 1.3 + 0.2 + 4.4),
        (SpinDownSpec::Timeout { after_ms: 2000.0 }, 2.0, 40_000_000, 2.0 + 1.3 + 0.088),
        // With hindsight, the drive enters the best mode at once. Above 0.2 W, fast idle costs 1.1 W and 0.08 J,
        // low-power idle 0.65 W and 0.8 J, and standby 4 J. So the best mode is fast idle for 1 s, low-power idle for 3
        // s (2.75 J, not 3.38 or 4), and standby for 5 s (4 J, not 4.05).
        (SpinDownSpec::Offline {}, 0.04, 0, 0.08),
        (SpinDownSpec::Offline {}, 1.0, 40_000_000, 1.3 + 0.088),
        (SpinDownSpec::Offline {}, 3.0, 400_000_000, 2.55 + 0.88),
        (SpinDownSpec::Offline {}, 5.0, 2_000_000_000, 1.0 + 4.4),
    ] {
        let (waited_ns, took_j) = served(&policy, idle_s);
        assert_eq!(waited_ns, wake_ns, "{policy:?} {idle_s} s");
        assert!(close(took_j, by_hand_j), "{policy:?} {idle_s} s: {took_j} J, by hand {by_hand_j} J");
    }
}

#[test]
fn table_4_of_schlosser_2000_gives_the_power_of_a_return() {
    // Active, performance idle, returns, fast idle, low-power idle, spin-ups, standby; the total.
    let andrew = [14.026, 13.025, 0.880, 2.400, 2.722, 0.0, 0.0];
    let postmark = [1378.162, 1003.969, 0.0, 0.0, 0.0, 0.0, 0.0];
    let netscape = [321.211, 1924.100, 513.480, 1799.885, 1000.467, 228.800, 308.885];
    for (rows_j, total_j) in [(andrew, 33.053), (postmark, 2382.131), (netscape, 6096.828)] {
        // Three decimals are printed.
        assert!((rows_j.iter().sum::<f64>() - total_j).abs() < 0.5e-3, "{rows_j:?}");
    }
    let power = catalogued("travelstar").power.expect("powers");
    let modes = power.ladder().expect("modes").modes().to_vec();
    let return_j = |mode: usize| modes[mode].wake_w * modes[mode].wake_ns as f64 * 1e-9;
    let whole = |times: f64| (times - times.round()).abs() < 1e-6;
    // One return from low-power idle for Andrew; 52 spin-ups, and returns in steps of one from fast idle, for Netscape.
    assert!(close(return_j(2), andrew[2]));
    assert!(whole(netscape[5] / return_j(3)) && whole(netscape[2] / return_j(1)));
    let (spin_ups, steps) = (netscape[5] / return_j(3), netscape[2] / return_j(1));
    assert_eq!((spin_ups.round(), steps.round()), (52.0, 5835.0));
    // A return from low-power idle takes ten steps. Every return took a second of performance idle, which bounds their
    // number from above,
    let returns = netscape[1] / modes[0].power_w / 1.0 - spin_ups;
    // so this is the least number of returns from low-power idle, which passed through fast idle as the spin-ups did.
    let through_fast_idle = ((steps - returns) / 9.0).ceil() + spin_ups;
    assert_eq!(through_fast_idle, 600.0);
    // Three seconds of fast idle each, as the timeouts of the modes imply, exceed the table; two exceed it for Andrew.
    assert!(through_fast_idle * 3.0 * modes[1].power_w > netscape[3]);
    assert!(through_fast_idle * 2.0 * modes[1].power_w < netscape[3]);
    assert!(2.0 * modes[1].power_w > andrew[3]);
}

#[test]
fn reads_and_writes_have_their_own_power() {
    let joules = |parameters: &DiskParameters, op: Op| -> (Service, f64) {
        let mut drive = device(parameters, Some(&SpinDownSpec::Never {}));
        let service = drive.serve(Time::ZERO, &request(op, 5_000_000, 300));
        let total_j = drive.ledger(service.end).total_j();
        let energy = &service.energy;
        assert!(close(energy.total_j(), total_j), "all of it is the request's");
        (service, energy.seek_j)
    };
    let plain = plain_travelstar();
    for (op, active_w) in [(Op::Read, 2.5), (Op::Write, 2.7)] {
        let (service, seek_j) = joules(&plain, op);
        let (phases, energy) = (&service.phases, &service.energy);
        let seconds = |ns: u64| ns as f64 * 1e-9;
        assert!(close(energy.data_j, active_w * seconds(phases.transfer_ns)), "{op:?}: {energy:?}");
        let still_ns = phases.command_ns + phases.bus_ns;
        assert!(close(energy.idle_j, 2.0 * seconds(still_ns)), "{op:?}: ready while waiting for electronics and bus");
        let moving_j = active_w * seconds(phases.seek_ns + phases.rotation_ns + phases.turnaround_ns);
        assert!(close(seek_j + energy.rotation_j, moving_j), "{op:?}: {energy:?}");
        // A separate seek power changes only the seek energy.
        let power = PowerParameters { seek_w: Some(5.0), ..plain.power.clone().expect("powers") };
        let (seeking, own_j) = joules(&DiskParameters { power: Some(power), ..plain.clone() }, op);
        assert!(close(own_j * active_w, seek_j * 5.0) && close(seeking.energy.data_j, energy.data_j));
    }
}

#[test]
fn background_work_keeps_a_drive_active() {
    for op in [Op::Read, Op::Write] {
        let mut drive = device(&catalogued("travelstar"), Some(&SpinDownSpec::Immediate {}));
        let done = drive.serve(Time::ZERO, &request(op, 5_000_000, 64)).end;
        // Read-ahead and write-behind take their active power, not the idle power.
        let (from, to) = (done + 1_000_000, done + 2_000_000);
        let took = between(&drive.ledger(from), &drive.ledger(to));
        let active_w = if op == Op::Read { 2.5 } else { 2.7 };
        assert!(close(took.total_j(), 1e-3 * active_w), "{op:?}: {took:?}");
        assert_eq!((drive.wake_ns(to), drive.wake_ns(done + 1_000_000_000)), (0, 2_000_000_000), "{op:?}");
    }
}

/// Time of the last activity of a drive without power parameters, at `now`.
fn last_worked(twin: &DiskDevice, served: Time, now: Time) -> Time {
    let worked_ns = |at: Time| {
        let ledger = twin.ledger(at);
        ledger.total_ns() - ledger.time_ns[State::Idle as usize]
    };
    let all_ns = worked_ns(now);
    let (mut before_ns, mut after_ns) = (served.ns(), now.ns());
    while before_ns < after_ns {
        let middle_ns = before_ns + (after_ns - before_ns) / 2;
        if worked_ns(Time::from_ns(middle_ns)) == all_ns {
            after_ns = middle_ns;
        } else {
            before_ns = middle_ns + 1;
        }
    }
    Time::from_ns(after_ns)
}

/// A drive with power parameters serves a request like a drive without them that gets it after the return to the ready
/// mode.
fn check_twin(parameters: &DiskParameters, policy: Option<&SpinDownSpec>) {
    let mut drive = device(parameters, policy);
    let mut twin = device(&DiskParameters { power: None, ..parameters.clone() }, None);
    let modes = parameters.power.as_ref().and_then(|power| power.ladder().ok()).expect("powers").modes().to_vec();
    let mut random = Stream::new(5, "twin");
    let (mut now, mut last, mut slept_ns) = (Time::ZERO, 0, 0);
    for _ in 0..25 {
        let blocks = 1 + random.below(60.min(drive.dimensions().capacity_blocks));
        let anywhere = if random.chance(0.4) { last } else { random.below(drive.dimensions().capacity_blocks) };
        let op = if random.chance(0.5) { Op::Read } else { Op::Write };
        let request = request(op, anywhere.min(drive.dimensions().capacity_blocks - blocks), blocks as u32);
        now += [0, 1, random.below(10_000_000), random.below(4_000_000_000)][random.below(4) as usize];
        let service = drive.serve(now, &request);
        let wake_ns = service.phases.startup_ns;
        let idle_ns = now - last_worked(&twin, now.min(Time::from_ns(slept_ns)), now);
        let by_itself = modes.iter().rposition(|mode| mode.after_ns.is_some_and(|after_ns| idle_ns > after_ns));
        match policy {
            None => assert_eq!(wake_ns, modes[by_itself.unwrap_or(0)].wake_ns, "after {idle_ns} ns"),
            Some(SpinDownSpec::Never {}) => assert_eq!(wake_ns, 0),
            Some(SpinDownSpec::Immediate {}) => {
                assert_eq!(wake_ns, if idle_ns > 0 { modes[modes.len() - 1].wake_ns } else { 0 }, "after {idle_ns} ns");
            }
            Some(_) => {}
        }
        let shifted = twin.serve(now + wake_ns, &request);
        assert_eq!((service.start, service.end, service.free), (now, shifted.end, shifted.free), "{request:?}");
        let expected = sledsim::devices::Phases { startup_ns: wake_ns, ..shifted.phases };
        assert_eq!(service.phases, expected, "{request:?}");
        let (ours, theirs) = (drive.ledger(service.end), twin.ledger(service.end));
        for state in [State::Seek, State::Rotation, State::Data] {
            assert_eq!(ours.time_ns[state as usize], theirs.time_ns[state as usize], "{state:?}");
        }
        (now, last, slept_ns) = (service.end, request.end_lbn(), service.end.ns());
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn power_does_not_change_service_times_of_a_ready_drive(design in disk_design(), power in power(), drawn in 0_usize..1000) {
        let power = serde_json::from_value(power).expect("powers");
        let policies = policies();
        check_twin(&DiskParameters { power: Some(power), ..design }, policies[drawn % policies.len()].as_ref());
    }
}

/// A scenario of single reads at regular intervals.
fn reads_every(interval_ms: f64, system: &Value) -> Value {
    json!({
        "workload": {"arrival": {"kind": "constant", "rate_per_s": 1e3 / interval_ms}, "read_fraction": 1.0},
        "system": system, "run": {"requests": 50},
    })
}

#[test]
fn a_scenario_reports_the_energy_of_a_drive() {
    let report = |system: &Value| scenarios::run(&scenarios::resolved(&reads_every(5000.0, system))).report;
    let own = report(&json!({"device": "travelstar"}));
    let energy = own.energy.as_ref().expect("the powers of the drive are known");
    // Each read finds the drive in low-power idle.
    assert_eq!(energy.startups, 50);
    assert!(
        (own.phases.startup.mean_ms - 400.0).abs() < 1e-9 && own.phases.startup.std_ms < 1e-6,
        "{:?}",
        own.phases.startup
    );
    let parts_j = energy.servicing_j + energy.startup_j + energy.idle_j + energy.inactive_j;
    assert!((parts_j - energy.total_j).abs() < 1e-9 * energy.total_j);
    assert!((energy.startup_j - 50.0 * 0.88).abs() < 1e-9);
    assert!(energy.hindsight_j <= energy.total_j);
    let ready = report(&json!({"device": "travelstar", "spin_down": "never"}));
    let ready_energy = ready.energy.as_ref().expect("powers");
    assert_eq!(ready_energy.startups, 0);
    // Always ready or active; activity takes little more than the ready mode.
    assert!((1.0..1.01).contains(&(ready_energy.mean_power_w / 2.0)), "{}", ready_energy.mean_power_w);
    assert!(ready.response.expect("reads").mean_ms < own.response.expect("reads").mean_ms - 399.0);
    // 5 s in standby and 2 s to return take 1 J and 4.4 J, less than the 7.6 J of the modes down to low-power idle.
    let standby = report(&json!({"device": "travelstar", "spin_down": "immediate"}));
    assert!(standby.energy.expect("powers").total_j < energy.total_j);
}

#[test]
fn drives_without_power_have_no_energy_and_no_policy() {
    let report = scenarios::run(&scenarios::resolved(&reads_every(50.0, &json!({"device": "atlas10k"})))).report;
    assert!(report.energy.is_none());
    let document = reads_every(50.0, &json!({"device": "atlas10k", "spin_down": "immediate"}));
    let refusal = scenarios::resolve(&document).map(|_| ()).expect_err("a policy without modes");
    assert!(refusal.contains("system.spin_down") && refusal.contains("atlas10k"), "{refusal}");
    // The scenario may set the powers.
    let power =
        json!({"active_read_w": 10.0, "active_write_w": 10.0, "idle_modes": [{"name": "idle", "power_w": 8.0}]});
    let powered = reads_every(50.0, &json!({"device": {"name": "atlas10k", "power": power}}));
    let energy = scenarios::run(&scenarios::resolved(&powered)).report.energy.expect("powers");
    assert!((8.0..10.0).contains(&energy.mean_power_w), "{}", energy.mean_power_w);
}

#[test]
fn contradicting_modes_are_rejected_by_key() {
    let mode = |name: &str, power_w: f64, more: Value| {
        let mut mode = json!({"name": name, "power_w": power_w});
        mode.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
        mode
    };
    let refusal = |modes: Vec<Value>| {
        let power = json!({"active_read_w": 2.0, "active_write_w": 2.0, "idle_modes": modes});
        let device = json!({"name": "atlas10k", "power": power});
        scenarios::resolve(&reads_every(50.0, &json!({"device": device}))).map(|_| ()).expect_err("it is refused")
    };
    let (none, idle) = (json!({}), mode("idle", 1.0, json!({})));
    for (modes, place) in [
        (
            vec![idle.clone(), mode("standby", 1.5, none.clone())],
            "power.idle_modes.1.power_w = 1.5 is more than the 1 W",
        ),
        // If the power of the last mode is too high, the fault names that mode, not a return.
        (
            vec![idle.clone(), mode("standby", 1.5, json!({"wake_w": 1.2}))],
            "power.idle_modes.1.power_w = 1.5 is more than the 1 W",
        ),
        (vec![mode("idle", 1.0, json!({"wake_ms": 3.0}))], "power.idle_modes: \"idle\""),
        (vec![mode("idle", 1.0, json!({"after_s": 3.0}))], "power.idle_modes: \"idle\""),
        (
            vec![
                idle.clone(),
                mode("low", 0.5, json!({"after_s": 3.0})),
                mode("standby", 0.1, json!({"after_s": 2.0})),
            ],
            "power.idle_modes: \"standby\" is entered before",
        ),
        (vec![idle.clone(), mode("idle", 0.5, none.clone())], "power.idle_modes.1.name = \"idle\""),
        (vec![idle.clone(), mode("seek", 0.5, none.clone())], "power.idle_modes.1.name = \"seek\""),
        (vec![mode(" ", 1.0, none.clone())], "power.idle_modes.0.name = \" \""),
        (vec![idle.clone(), mode("low", 0.5, json!({"wake_w": 0.4}))], "power.idle_modes.1.wake_w = 0.4"),
        (vec![idle.clone(), mode("low", -0.5, none.clone())], "power.idle_modes.1.power_w = -0.5"),
        (vec![idle.clone(), mode("low", 0.5, json!({"after_ms": 4.0}))], "power.idle_modes.1.after_ms"),
        (Vec::new(), "power.idle_modes"),
        (vec![idle.clone(); 7], "power.idle_modes"),
    ] {
        let message = refusal(modes);
        assert!(message.contains("system.device") && message.contains(place), "{place}: {message}");
    }
}
