//! Open arrivals served in their order take a short way through the engine; it must lead where the events lead.

#[allow(dead_code, reason = "each test file uses its part of it")]
#[path = "common/scenarios.rs"]
mod scenarios;

use scenarios::{device_names, device_spec, resolved};
use serde_json::{json, Value};
use sledsim::scenario::{self, DeviceSpec, RunOutput};

/// A run with a log, its workload at a rate, on a device with settings.
fn run_with(device: &Value, rate_per_s: f64, limits: &Value) -> RunOutput {
    let scenario = resolved(&json!({
        "seed": 3,
        "workload": {
            "arrival": {"kind": "on-off", "burst_ms": 5.0, "idle_ms": 5.0, "rate_per_s": 2.0 * rate_per_s},
            "size_bytes": {"kind": "exponential", "mean": 9000.0},
            "read_fraction": 0.5,
        },
        "system": {"device": device},
        "run": limits,
    }));
    scenario::run(&scenario, Vec::new(), true, &mut |_| true).expect("the scenario runs")
}

/// Everything a run reports, but for what is said of its limits.
fn outcome(output: &RunOutput) -> Value {
    let mut report = serde_json::to_value(&output.report).expect("a report is serialisable");
    report["scenario"] = Value::Null;
    report
}

#[test]
fn the_short_way_reports_what_the_events_report() {
    // A time limit that is never reached takes the way through the events.
    let (short, events) = (json!({"requests": 3000}), json!({"requests": 3000, "time_s": 1e9}));
    let settings = [
        json!({}),
        json!({"overhead_ms": 0.0}),
        json!({"idle": "sweep", "inactive_after_ms": 1.0}),
        json!({"inactive_after_ms": 0.0, "bus_ms_per_block": 0.05}),
    ];
    for name in device_names() {
        for setting in &settings {
            let mut device = match device_spec(&name) {
                DeviceSpec::Mems(_) => setting.clone(),
                _ => json!({}),
            };
            device["name"] = json!(name);
            for rate_per_s in [50.0, 600.0, 4000.0] {
                let (short, events) = (run_with(&device, rate_per_s, &short), run_with(&device, rate_per_s, &events));
                assert_eq!(outcome(&short), outcome(&events), "{device} at {rate_per_s}/s");
                let logs = [&short, &events].map(|output| output.recorder.log().expect("asked for").entries.clone());
                assert!(logs[0] == logs[1], "{device} at {rate_per_s}/s: the logs differ");
            }
        }
    }
}
