//! Peak power of windows that begin in the middle of a service.

use serde_json::{json, Value};
use sledsim_testing::scenarios::{resolved, run};

/// Returns peak and mean power between `warmup_s` and `time_s` of sleds that long requests keep busy.
fn peak_and_mean_w(sleds: u32, warmup_s: f64, time_s: f64) -> [f64; 2] {
    let workload: Value = json!({
        "arrival": {"kind": "closed", "outstanding": 8 * sleds},
        "size_bytes": {"kind": "fixed", "value": 1_000_000},
        "read_fraction": 1.0,
    });
    let device = json!({"name": "g1", "sleds": sleds});
    let limits = json!({"warmup_s": warmup_s, "time_s": time_s});
    let report = run(&resolved(&json!({"workload": workload, "system": {"device": device}, "run": limits}))).report;
    let energy = report.energy.expect("known powers");
    [energy.peak_power_w, energy.mean_power_w]
}

/// A meter that counted the rest of the service as idle time would miss its power and exceed the end of the run.
#[test]
fn a_window_that_begins_in_a_service_counts_its_rest() {
    for sleds in [1, 2] {
        for (warmup_s, time_s) in [(0.005, 0.0123), (0.005, 0.05), (0.0301, 0.04), (0.1, 0.3)] {
            let [peak_w, mean_w] = peak_and_mean_w(sleds, warmup_s, time_s);
            // A sled draws 0.1 W while it is idle, seeks or reverses, and 0.74 W with 640 active tips during a pass. If
            // it is always busy, its mean power is a multiple of the first and less than the second.
            let sleds = f64::from(sleds);
            assert!(mean_w > 0.3 * sleds, "{mean_w} W");
            assert!((mean_w..=0.74 * sleds).contains(&peak_w), "{peak_w} W, mean {mean_w} W");
        }
    }
}
