//! Runs with every spin-down policy, with and without delayed start-up: sums of energies, the bound of hindsight, and waits.

use proptest::prelude::*;
use serde_json::{json, Value};
use sledsim::engine::Status;
use sledsim::request::{Flags, Op, Request};
use sledsim::scenario::{Report, RunOutput};
use sledsim::service::Service;
use sledsim_testing::host::Host;
use sledsim_testing::scenarios::{self, resolve, resolved, run, try_run};
use sledsim_testing::tiers::cases;

const POLICIES: [&str; 6] = ["own", "immediate", "timeout", "never", "adaptive", "offline"];

/// Returns the policy as a scenario sets it; `own` stands for no policy, that is, the device's own timeouts.
fn policy(name: &str) -> Value {
    match name {
        "own" => Value::Null,
        "timeout" => json!({"name": "timeout", "after_ms": 1.5}),
        other => json!(other),
    }
}

fn document(device: &Value, scheduler: &str, spin_down: &str, rate_per_s: f64, limits: &Value) -> Value {
    json!({
        "seed": 4,
        "workload": {
            "arrival": {"kind": "poisson", "rate_per_s": rate_per_s},
            "size_bytes": {"kind": "exponential", "mean": 6000.0},
            "read_fraction": 0.6,
        },
        "system": {"device": device, "scheduler": scheduler, "spin_down": policy(spin_down)},
        "run": limits,
    })
}

fn sled() -> Value {
    json!({"name": "g2", "inactive_after_ms": 4.0})
}

/// Checks the energy report of a run of `mechanisms` mechanisms.
fn check_energy(report: &Report, mechanisms: u64) {
    let energy = report.energy.as_ref().expect("powers are known");
    let parts = [energy.seek_j, energy.rotation_j, energy.servo_j, energy.data_j];
    let others = [energy.startup_j, energy.inactive_j, energy.idle_j];
    let total_j: f64 = parts.iter().chain(&others).sum();
    assert!((energy.total_j - total_j).abs() <= 1e-12 * total_j, "{energy:?}");
    assert!(parts.iter().chain(&others).all(|&part_j| part_j >= 0.0), "{energy:?}");
    assert!((0.0..=energy.total_j).contains(&energy.hindsight_j), "{energy:?}");
    // Sums over states: times are exact to the nanosecond, energies to the last bit.
    let window_ns = (report.run.measured_s * 1e9).round() as u64;
    assert_eq!(energy.states.iter().map(|state| state.time_ns).sum::<u64>(), window_ns * mechanisms, "{energy:?}");
    assert_eq!(energy.states.iter().map(|state| state.energy_j).sum::<f64>(), energy.total_j, "{energy:?}");
    // No run takes less energy than the lowest idle mode throughout.
    let least_j = least_w(report) * (window_ns * mechanisms) as f64 * 1e-9;
    assert!(energy.hindsight_j >= least_j * (1.0 - 1e-9), "{least_j} J: {energy:?}");
}

/// Power of the lowest idle mode of the run's device.
fn least_w(report: &Report) -> f64 {
    let device = &report.scenario["system"]["device"];
    match device["inactive_mw"].as_f64() {
        Some(inactive_mw) => inactive_mw * 1e-3,
        None => device["power"]["idle_modes"].as_array().expect("modes").last().expect("a mode")["power_w"]
            .as_f64()
            .expect("a power"),
    }
}

fn entries(output: &RunOutput) -> &[(Request, Service)] {
    &output.recorder.log().expect("a log was asked for").entries
}

/// A report without its scenario.
fn outcome(output: &RunOutput) -> Value {
    let mut report = serde_json::to_value(&output.report).expect("a report is serialisable");
    report["scenario"] = Value::Null;
    report
}

/// With hindsight, the regret is 0. In a window that starts within an idle period, it can be up to the energy of a
/// return, because the optimum for the rest of the period may differ from that for the whole.
fn check_bound(report: &Report, name: &str, mechanisms: u64) {
    const RETURN_J: f64 = 25e-6;
    let energy = report.energy.as_ref().expect("known powers");
    let whole = report.run.measured_s == report.run.simulated_s;
    let slack_j = if whole { 0.0 } else { RETURN_J * mechanisms as f64 } + 1e-12 * energy.total_j;
    assert!(name != "offline" || energy.total_j - energy.hindsight_j <= slack_j, "{energy:?}");
}

#[test]
fn every_policy_accounts_for_every_run() {
    let limits = [
        json!({"requests": 1500}),
        json!({"requests": 1500, "warmup_requests": 200}),
        json!({"time_s": 2.0, "warmup_s": 0.4}),
    ];
    for sleds in [1, 3] {
        for tips in ["none", "last-access"] {
            let device =
                json!({"name": "g2", "sleds": sleds, "idle": "sweep", "inactive_after_ms": 2.0, "idle_tips": tips});
            for name in POLICIES {
                for (limits, rate_per_s) in limits.iter().zip([200.0, 700.0, 1500.0]) {
                    for delay in [Value::Null, json!({"requests": 4, "wait_ms": 3.0})] {
                        let mut text = document(&device, "sptf", name, rate_per_s, limits);
                        text["system"]["delayed_startup"] = delay;
                        let output = run(&resolved(&text));
                        check_energy(&output.report, sleds);
                        check_bound(&output.report, name, sleds);
                    }
                }
            }
        }
    }
}

#[test]
fn a_window_that_begins_in_an_idle_period_counts_its_rest() {
    // Requests 1 ms and 20 ms after the previous one: offline stays ready for some and stops for others.
    for rate_per_s in [30.0, 300.0, 1000.0] {
        for warmup_s in [0.1, 0.2, 0.31, 0.4321, 0.5, 0.777, 0.9] {
            for name in POLICIES {
                let limits = json!({"time_s": 1.0, "warmup_s": warmup_s});
                let report = run(&resolved(&document(&sled(), "look", name, rate_per_s, &limits))).report;
                check_energy(&report, 1);
                check_bound(&report, name, 1);
            }
        }
    }
}

#[test]
fn a_run_that_ends_during_a_start_up_counts_only_its_past() {
    let slow = json!({"name": "g2", "startup_ms": 400.0, "inactive_after_ms": 30.0});
    for device in [slow, json!("travelstar")] {
        for name in POLICIES {
            for part in 0..60 {
                let limits = json!({"time_s": 20.0 + 0.1037 * f64::from(part)});
                check_energy(&run(&resolved(&document(&device, "fcfs", name, 0.4, &limits))).report, 1);
            }
        }
    }
}

#[test]
fn policies_with_equal_timeouts_give_equal_runs() {
    let limits = json!({"requests": 2000});
    let of = |device: &Value, name: &str| outcome(&run(&resolved(&document(device, "fcfs", name, 400.0, &limits))));
    let timeout = |value: Value| json!({"name": "g2", "inactive_after_ms": value});
    assert_eq!(of(&timeout(json!("never")), "own"), of(&timeout(json!(2.5)), "never"));
    assert_eq!(of(&timeout(json!(1.5)), "own"), of(&timeout(json!("never")), "timeout"));
    assert_eq!(of(&timeout(json!(0.0)), "own"), of(&timeout(json!(7.0)), "immediate"));
}

#[test]
fn offline_has_the_least_energy() {
    // All runs have the same length. Start-ups of different policies delay different requests, so idle periods differ
    // slightly, by far less than the savings.
    let (sled, drive) = (sled(), json!("travelstar"));
    let cases = [
        (&sled, 20.0, 20.0),
        (&sled, 200.0, 5.0),
        (&sled, 500.0, 5.0),
        (&sled, 800.0, 5.0),
        (&drive, 0.02, 40_000.0),
        (&drive, 0.2, 20_000.0),
        (&drive, 1.0, 5000.0),
    ];
    for (device, rate_per_s, time_s) in cases {
        let total_j = |name: &str| {
            let report = run(&resolved(&document(device, "fcfs", name, rate_per_s, &json!({"time_s": time_s})))).report;
            report.energy.expect("known powers").total_j
        };
        let offline_j = total_j("offline");
        for name in POLICIES {
            let policy_j = total_j(name);
            println!("{device} {rate_per_s}/s {name:10} {policy_j:10.4} J, {:.4} of offline's", policy_j / offline_j);
            assert!(
                offline_j <= policy_j,
                "{device} at {rate_per_s}/s: {name} takes {policy_j} J, offline {offline_j} J"
            );
        }
    }
}

#[test]
fn positioning_includes_the_start_up_under_every_policy() {
    // After an idle period, SPTF has only one request to choose from, so start-up times in the estimates have no
    // effect. The device contract compares estimates with services.
    for name in POLICIES {
        let output = run(&resolved(&document(&sled(), "sptf", name, 300.0, &json!({"requests": 800}))));
        let startups = entries(&output).iter().filter(|(_, service)| service.phases.startup_ns > 0).count() as u64;
        assert_eq!(output.report.energy.as_ref().expect("known powers").startups, startups);
        assert_eq!(startups == 1, name == "never", "{name}: {startups} start-ups");
    }
}

/// Checks that each start-up began when enough requests were waiting or the oldest had waited long enough, and not before.
fn check_delays(output: &RunOutput, requests: usize, wait_ns: u64) {
    let overhead_ns = output.recorder.overhead_ns();
    let mut served = entries(output).to_vec();
    served.sort_by_key(|(_, service)| service.start);
    for (index, (_, service)) in served.iter().enumerate().filter(|(_, (_, service))| service.phases.startup_ns > 0) {
        let begin = service.start;
        let ready = served[index..].iter().map(|(request, _)| request.arrival + overhead_ns).filter(|&at| at <= begin);
        let ready: Vec<_> = ready.collect();
        let oldest = *ready.iter().min().expect("the request itself");
        let waited_ns = begin - oldest;
        let before = ready.iter().filter(|&&at| at < begin).count();
        assert!(waited_ns <= wait_ns, "{waited_ns} ns at {begin:?}");
        assert!(ready.len() >= requests || waited_ns == wait_ns, "{} after {waited_ns} ns at {begin:?}", ready.len());
        assert!(before < requests || waited_ns == 0, "{before} were enough before {begin:?}");
    }
}

#[test]
fn delayed_start_up_waits_for_more_requests() {
    for name in POLICIES {
        for scheduler in ["fcfs", "sptf", "clook"] {
            for (requests, wait_ms) in [(2, 1.0), (3, 7.5), (50, 4.0), (1, 9.0), (6, 0.0), (1_000_000, 30.0)] {
                for rate_per_s in [60.0, 500.0] {
                    let mut text = document(&sled(), scheduler, name, rate_per_s, &json!({"requests": 700}));
                    text["system"]["delayed_startup"] = json!({"requests": requests, "wait_ms": wait_ms});
                    let output = run(&resolved(&text));
                    assert_eq!(output.report.requests.completed, 700, "all requests complete");
                    check_delays(&output, requests, (wait_ms * 1e6) as u64);
                    let last = entries(&output).iter().map(|(_, service)| service.end).max().expect("services");
                    assert_eq!(
                        output.report.run.simulated_s,
                        last.seconds(),
                        "no timer remains after the last request"
                    );
                }
            }
        }
    }
}

/// Returns dispatch times for requests of one block at given times, ms.
fn dispatches_ms(arrivals_ms: &[f64], system: &Value) -> Vec<f64> {
    let folder = tempfile::tempdir().expect("a folder");
    let line = |ms: &f64| format!("{},0,{},512,R\n", (ms * 1e6) as u64, (ms * 1e3) as u64 * 512);
    let text = "t_ns,device,offset_bytes,bytes,op\n".to_owned() + &arrivals_ms.iter().map(line).collect::<String>();
    let path = folder.path().join("arrivals.csv");
    std::fs::write(&path, text).expect("a writable folder");
    let output = run(&resolved(&json!({"workload": {"path": path, "rebase": false}, "system": system})));
    assert_eq!(output.report.requests.completed, arrivals_ms.len() as u64);
    let mut starts: Vec<f64> = entries(&output).iter().map(|(_, service)| service.start.ns() as f64 * 1e-6).collect();
    starts.sort_by(f64::total_cmp);
    starts
}

#[test]
fn buffered_reads_do_not_wait_for_the_start() {
    let mut device = serde_json::to_value(scenarios::device_spec("g2")).expect("a device");
    (device["buffer_rows"], device["overhead_ms"]) = (json!(4), json!(0.0));
    let mut host = Host::new(&json!({
        "kind": "drive", "device": device, "scheduler": {"name": "fcfs"}, "spin_down": {"name": "immediate"},
        "delayed_startup": {"requests": 3, "wait_ms": 20.0},
    }));
    let mut submit = |lbn: u64, op: Op| {
        host.system.advance(host.now() + 1_000_000);
        host.submit(op, lbn, 1, Flags::NONE)
    };
    submit(0, Op::Read);
    submit(1_000_000, Op::Read);
    submit(1, Op::Write);
    host.rest();
    (0..3).for_each(|_| assert!(host.completion().status == Status::Served));
    host.system.advance(host.now() + 1_000_000);
    // The first and the last of these are in the buffer; the sled does not start for them.
    let [first, miss, last] = [0, 2_000_000, 1].map(|lbn| host.submit(Op::Read, lbn, 1, Flags::NONE));
    let done = [host.completion(), host.completion(), host.completion()];
    assert_eq!(done.map(|it| it.request.id), [first, last, miss]);
    let response_ms = done.map(|it| (it.service.end - it.request.arrival) as f64 * 1e-6);
    assert!(response_ms[1] < 0.1 && response_ms[2] > 20.0, "{response_ms:?}");
}

#[test]
fn a_batch_or_a_deadline_starts_the_sled() {
    let device = json!({"name": "g2", "overhead_ms": 0.25});
    let delay = json!({"requests": 3, "wait_ms": 10.0});
    let system = json!({"device": device, "spin_down": "immediate", "delayed_startup": delay});
    // Three requests within 10 ms start the sled; two wait until the deadline, and so does the last one. The first
    // waits, too, because the sled starts stopped.
    let starts_ms = dispatches_ms(&[5.0, 6.0, 8.0, 100.0, 109.0, 200.0], &system);
    assert_eq!((starts_ms[0], starts_ms[3], starts_ms[5]), (8.25, 110.25, 210.25), "{starts_ms:?}");
    // The others of a batch follow while the sled is awake.
    assert!(starts_ms[1] < 12.0 && starts_ms[2] < 13.0 && starts_ms[4] < 113.0, "{starts_ms:?}");
    let never = json!({"device": device, "spin_down": "never", "delayed_startup": {"requests": 3, "wait_ms": 10.0}});
    assert_eq!(
        dispatches_ms(&[5.0, 50.0, 90.0], &never),
        [15.25, 50.25, 90.25],
        "only the first request finds the sled stopped"
    );
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn a_delay_for_one_request_or_zero_time_has_no_effect(
        name in prop::sample::select(&POLICIES[..]),
        scheduler in prop::sample::select(&["fcfs", "sptf", "look"][..]),
        overhead_ms in prop_oneof![Just(0.0), 0.0..0.5_f64],
        (rate_per_s, sleds, batch_max) in (20.0..2500.0_f64, 1..4_u32, prop_oneof![Just(1), Just(8)]),
        (requests, wait_ms) in prop_oneof![(Just(1_u32), 0.0..50.0_f64), (1..100_u32, Just(0.0))],
        by_time in any::<bool>(),
    ) {
        let device = json!({"name": "g2", "inactive_after_ms": 1.0, "overhead_ms": overhead_ms, "sleds": sleds});
        let limits = if by_time { json!({"time_s": 0.5, "warmup_s": 0.1}) } else { json!({"requests": 300}) };
        let mut text = document(&device, scheduler, name, rate_per_s, &limits);
        text["system"]["batch_max"] = json!(batch_max);
        let plain = run(&resolved(&text));
        text["system"]["delayed_startup"] = json!({"requests": requests, "wait_ms": wait_ms});
        let delayed = run(&resolved(&text));
        prop_assert_eq!(outcome(&plain), outcome(&delayed));
        prop_assert!(entries(&plain) == entries(&delayed), "the logs differ");
    }

    #[test]
    fn all_requests_complete_and_hindsight_is_a_lower_bound(
        name in prop::sample::select(&POLICIES[..]),
        (rate_per_s, sleds) in (5.0..2500.0_f64, 1..4_u64),
        (requests, wait_ms) in (1..40_u32, 0.0..40.0_f64),
        delayed in any::<bool>(),
        warmup in 0..200_u32,
    ) {
        let device = json!({"name": "g2", "inactive_after_ms": 1.0, "sleds": sleds});
        let mut text = document(&device, "sptf", name, rate_per_s, &json!({"requests": 300, "warmup_requests": warmup}));
        if delayed {
            text["system"]["delayed_startup"] = json!({"requests": requests, "wait_ms": wait_ms});
        }
        let output = run(&resolved(&text));
        prop_assert_eq!(output.report.requests.completed, 300);
        check_energy(&output.report, sleds);
    }
}

/// A start-up that draws less than a stopped sled counts as 0 J.
#[test]
fn hindsight_energy_is_never_negative() {
    let device = json!({"name": "g3", "startup_ms": 1000.0, "startup_mw": 0.0, "inactive_after_ms": 4.0});
    for name in POLICIES {
        for rate_per_s in [0.3, 3.0, 30.0, 300.0] {
            let document = document(&device, "fcfs", name, rate_per_s, &json!({"requests": 500}));
            let energy = run(&resolved(&document)).report.energy.expect("powers are known");
            // The hindsight energy is a difference of sums.
            assert!(
                energy.hindsight_j > 0.0 && energy.hindsight_j <= energy.total_j * (1.0 + 1e-12),
                "{name}: {energy:?}"
            );
        }
    }
}

#[test]
fn invalid_settings_are_rejected() {
    let scenario = |system: Value| json!({"workload": scenarios::poisson(100.0), "system": system});
    let refused = |system: Value| {
        let document = scenario(system);
        resolve(&document).and_then(|scenario| try_run(&scenario)).err().unwrap_or_else(|| panic!("{document}"))
    };
    for device in ["simpledisk-constant", "atlas10k"] {
        let error = refused(json!({"device": device, "spin_down": "adaptive"}));
        assert!(error.contains("system.spin_down") && error.contains("adaptive") && error.contains(device), "{error}");
        let error = refused(json!({"device": device, "delayed_startup": {"requests": 2, "wait_ms": 5.0}}));
        assert!(error.contains("system.delayed_startup") && error.contains(device), "{error}");
    }
    let wasteful = json!({"name": "g2", "sled_mw": 40.0});
    let error = refused(json!({"device": wasteful, "spin_down": "immediate"}));
    assert!(error.contains("system.device.inactive_mw = 50 exceeds system.device.sled_mw = 40"), "{error}");
    assert!(error.contains("leave out system.spin_down"), "{error}");
    let delayed = json!({"device": "atlas10k", "delayed_startup": {"requests": 2, "wait_ms": 5.0}});
    assert!(resolve(&scenario(delayed)).is_err_and(|error| error.contains("system.delayed_startup: atlas10k")));
    assert!(
        try_run(&resolved(&json!({
            "workload": scenarios::poisson(100.0), "system": {"device": wasteful}, "run": {"requests": 50},
        })))
        .is_ok(),
        "without a policy it runs, if not well"
    );
    let error = refused(json!({"device": "g2", "spin_down": "adaptve"}));
    assert!(error.contains("adaptve") && error.contains("adaptive"), "{error}");
    let error = refused(json!({"device": "g2", "spin_down": {"name": "adaptive", "experts": 1}}));
    assert!(error.contains("system.spin_down.experts = 1"), "{error}");
    let error = refused(json!({"device": "g2", "spin_down": {"name": "immediate", "after_ms": 1}}));
    assert!(error.contains("after_ms"), "{error}");
    let error = refused(json!({"device": "g2", "spin_down": "timeout"}));
    assert!(error.contains("system.spin_down.after_ms is missing"), "{error}");
    assert!(error.contains("spin_down = { name = \"timeout\", after_ms = 5.0 }"), "{error}");
    let error = refused(json!({"device": "g2", "delayed_startup": {"requests": 0, "wait_ms": 1.0}}));
    assert!(error.contains("system.delayed_startup.requests = 0"), "{error}");
    let error = refused(json!({"device": "g2", "delayed_startup": {"requests": 2}}));
    assert!(error.contains("system.delayed_startup.wait_ms is missing"), "{error}");
}
