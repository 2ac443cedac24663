//! The engine serves open arrivals to a lone drive without events. The results must equal those of event processing.

use std::io::Write;

use serde_json::{json, Value};
use sledsim::devices::mems::Transfer;
use sledsim::engine::{run, Checkpoint, Completion, Next, Observer, RunLimits, Workload};
use sledsim::fault::Fault;
use sledsim::request::Request;
use sledsim::scenario::testing::assemble;
use sledsim::scenario::{self, DeviceSpec, RunOutput, SystemSpec};
use sledsim::schedulers::POLICIES;
use sledsim::service::Service;
use sledsim::time::Time;
use sledsim_testing::scenarios::{device_names, device_spec, resolved};
use sledsim_testing::tiers::size;

/// Runs a workload of the given rate on a system, with a log.
fn run_with(system: &Value, rate_per_s: f64, limits: &Value) -> RunOutput {
    let location = json!({"kind": "zipf", "exponent": 1.2, "regions": 5000, "shuffle": true});
    let scenario = resolved(&json!({
        "seed": 3,
        "workload": {
            "arrival": {"kind": "on-off", "burst_ms": 5.0, "idle_ms": 5.0, "rate_per_s": 2.0 * rate_per_s},
            "size_bytes": {"kind": "exponential", "mean": 9000.0},
            "location": location,
            "read_fraction": 0.5,
        },
        "system": system,
        "run": limits,
    }));
    scenario::run(&scenario, Vec::new(), true, &mut |_| true).expect("the scenario runs")
}

/// Returns the report without the limits of the run.
fn outcome(output: &RunOutput) -> Value {
    let mut report = serde_json::to_value(&output.report).expect("a report is serialisable");
    report["scenario"] = Value::Null;
    report
}

/// Runs a system both ways and compares reports and logs.
fn compare(system: &Value, rate_per_s: f64) -> RunOutput {
    // A time limit makes the run process events, even if it is never reached.
    let requests = size(500, 3000);
    let (short, events) = (json!({"requests": requests}), json!({"requests": requests, "time_s": 1e9}));
    let (short, events) = (run_with(system, rate_per_s, &short), run_with(system, rate_per_s, &events));
    assert_eq!(outcome(&short), outcome(&events), "{system} at {rate_per_s}/s");
    let logs = [&short, &events].map(|output| output.recorder.log().expect("asked for").entries.clone());
    assert!(logs[0] == logs[1], "{system} at {rate_per_s}/s: the logs differ");
    short
}

#[test]
fn runs_without_events_report_the_same_as_with_events() {
    let settings = [
        json!({}),
        json!({"overhead_ms": 0.0}),
        json!({"idle": "sweep", "inactive_after_ms": 1.0}),
        json!({"inactive_after_ms": 0.0, "bus_ms_per_block": 0.05}),
    ];
    for name in device_names() {
        for setting in &settings {
            let mut device = match device_spec(&name) {
                // With points, an idle sled holds its position.
                DeviceSpec::Mems(mems) if mems.transfer == Transfer::Points && setting["idle"] == "sweep" => continue,
                DeviceSpec::Mems(_) => setting.clone(),
                _ => json!({}),
            };
            device["name"] = json!(name);
            for rate_per_s in [50.0, 600.0, 4000.0] {
                compare(&json!({"device": device}), rate_per_s);
            }
        }
    }
}

#[test]
fn runs_without_events_equal_events_with_merging_and_waiting() {
    let merging = [json!({"requests": 2}), json!({"requests": 16, "anywhere": true, "writes": true, "rows": true})];
    let delays = [json!({"requests": 3, "wait_ms": 4.0}), json!({"requests": 1000, "wait_ms": 0.5})];
    let mut together = 0;
    for device in ["g1", "g2", "g3", "atlas10k", "travelstar"] {
        let mems = matches!(device_spec(device), DeviceSpec::Mems(_));
        let settings = if mems {
            vec![json!({}), json!({"overhead_ms": 0.0}), json!({"overhead_ms": 0.0, "buffer_rows": 500})]
        } else {
            vec![json!({})]
        };
        let mut systems: Vec<Value> = merging.iter().map(|merge| json!({"merge": merge})).collect();
        systems.push(json!({"batch_max": 8}));
        systems.push(json!({"merge": merging[1], "anticipation": {"wait_ms": 0.3}}));
        if device != "atlas10k" {
            systems.extend(delays.iter().map(|delay| json!({"delayed_startup": delay, "spin_down": "immediate"})));
            systems.push(json!({"delayed_startup": delays[0], "merge": merging[1], "spin_down": "adaptive"}));
        }
        for (setting, mut system) in
            settings.iter().flat_map(|it| systems.iter().map(move |system| (it, system.clone())))
        {
            system["device"] = setting.clone();
            system["device"]["name"] = json!(device);
            for rate_per_s in [50.0, 600.0, 4000.0] {
                let output = compare(&system, rate_per_s);
                let found = serde_json::to_value(&output.report).expect("a report is serialisable");
                together += u64::from(found["requests"]["merged"].as_u64() > Some(0));
            }
        }
    }
    assert!(together > 10, "requests were served together in only {together} runs");
}

#[test]
fn runs_without_events_equal_events_under_every_policy() {
    let devices = [json!({"name": "g2"}), json!({"name": "g2", "overhead_ms": 0.0}), json!({"name": "g2-points"})];
    let disks = [json!({"name": "atlas10k"}), json!({"name": "travelstar"}), json!({"name": "simpledisk-linear"})];
    let extras = [
        json!({}),
        json!({"merge": {"requests": 4, "anywhere": true}}),
        json!({"anticipation": {"wait_ms": 0.5}}),
        json!({"anticipation": {"wait_ms": 2.0}, "batch_max": 4}),
        json!({"delayed_startup": {"requests": 3, "wait_ms": 4.0}, "spin_down": "immediate"}),
    ];
    for policy in POLICIES {
        for device in devices.iter().chain(&disks) {
            for extra in &extras {
                let mut system = extra.clone();
                let is_stopped = system["spin_down"].is_string();
                if is_stopped && !matches!(device_spec(device["name"].as_str().expect("a name")), DeviceSpec::Mems(_)) {
                    continue;
                }
                system["device"] = device.clone();
                system["scheduler"] = json!(policy.name);
                for rate_per_s in [90.0, 1500.0] {
                    compare(&system, rate_per_s);
                }
            }
        }
    }
}

/// Flushes of drives without a volatile cache complete at once, between requests that complete later.
#[test]
fn runs_without_events_equal_events_with_flushes() {
    let mut trace = tempfile::NamedTempFile::with_suffix(".csv").expect("a file");
    writeln!(trace, "timestamp_us,lbn,blocks,op").expect("written");
    for request in 0_u64..2000 {
        // Two of three requests arrive together.
        let at_us = (request - request % 3) * 900;
        let (lbn, op) = (request * 7919 % 900_000, ["R", "W", "F", "R", "WF"][(request / 2 % 5) as usize]);
        writeln!(trace, "{at_us},{lbn},8,{op}").expect("written");
    }
    for device in ["g2", "atlas10k", "simpledisk-constant"] {
        for scheduler in ["fcfs", "sptf", "clook"] {
            let [first, events] = [json!({}), json!({"time_s": 1e9})].map(|limits| {
                let scenario = resolved(&json!({
                    "workload": {"kind": "trace", "path": trace.path().to_str(), "fit": "wrap"},
                    "system": {"device": device, "scheduler": scheduler},
                    "run": limits,
                }));
                scenario::run(&scenario, Vec::new(), true, &mut |_| true).expect("the scenario runs")
            });
            assert_eq!(outcome(&first), outcome(&events), "{device} {scheduler}");
            let [log, other] = [&first, &events].map(|output| &output.recorder.log().expect("asked for").entries);
            assert!(log == other, "{device} {scheduler}: the logs differ");
            assert!(first.recorder.flushes().moments().count() > 100);
        }
    }
}

/// Every other request arrives in the instant in which another is dispatched.
#[test]
fn runs_without_events_equal_events_with_simultaneous_arrivals() {
    for (rate_per_s, most) in [(2000.0, 10), (1000.0, 1)] {
        let both = [json!({"requests": 20}), json!({"requests": 20, "time_s": 1e9})].map(|limits| {
            let scenario = resolved(&json!({
                "workload": {"arrival": {"kind": "constant", "rate_per_s": rate_per_s}},
                "system": {"device": {"name": "simpledisk-constant", "access_ms": 1.0}},
                "run": limits,
            }));
            scenario::run(&scenario, Vec::new(), false, &mut |_| true).expect("the scenario runs")
        });
        assert_eq!(outcome(&both[0]), outcome(&both[1]));
        assert_eq!(both[0].report.queue.max, most, "at {rate_per_s}/s");
    }
}

/// Reads at intervals of 10 ms, two of three beyond the device.
struct MostlyBeyond {
    taken: u64,
    requests: u64,
}

impl Workload for MostlyBeyond {
    fn peek(&mut self) -> Result<Next, Fault> {
        let next = Time::from_ns(10_000_000 * self.taken);
        Ok(if self.taken == self.requests { Next::Ended } else { Next::At(next) })
    }

    fn take(&mut self) -> Request {
        let (id, arrival) = (self.taken, Time::from_ns(10_000_000 * self.taken));
        self.taken += 1;
        Request { id, arrival, ..Request::read(if id % 3 == 0 { 8 } else { 1 << 40 }, 8) }
    }

    fn is_open(&self) -> bool {
        true
    }

    fn completed(&mut self, _completion: &Completion) {}
}

/// The numbers of submitted requests at the checks of a run.
struct Checks(Vec<u64>);

impl Observer for Checks {
    fn served(&mut self, _request: &Request, _service: &Service) {}

    fn first_check(&self) -> u64 {
        1
    }

    fn check(&mut self, at: &Checkpoint<'_>) -> Option<u64> {
        assert_eq!(at.in_system, 0, "each request ends before the next arrives");
        self.0.push(at.submitted);
        Some(at.submitted + 1)
    }
}

#[test]
fn observer_is_checked_after_refused_requests() {
    let spec: Result<SystemSpec, _> =
        serde_json::from_value(json!({"kind": "drive", "device": device_spec("g2"), "scheduler": {"name": "fcfs"}}));
    for until in [None, Some(Time::from_ns(1_000_000_000))] {
        let mut system = assemble(spec.as_ref().expect("a system"), 1, &mut |_, id, _| id).expect("it fits");
        let limits = RunLimits { until, ..RunLimits::default() };
        let mut checks = Checks(Vec::new());
        let mut workload = MostlyBeyond { taken: 0, requests: 9 };
        run(&mut system, &mut workload, &limits, &mut checks, &mut |_| true).expect("it runs");
        assert_eq!(checks.0, (1..=9).collect::<Vec<_>>(), "until {until:?}");
    }
}
