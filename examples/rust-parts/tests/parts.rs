//! Parts of this crate in scenarios: they decide as those that they are written after.

use std::path::Path;
use std::sync::Arc;

use rust_parts::PARTS;
use serde_json::{json, Value};
use sledsim::fault::{Faults, Kind};
use sledsim::scenario::{resolve, run_keeping, Catalog, Keep, Notation, Scenario};

fn resolved(system: &Value, settings: &[&str]) -> Result<Scenario, Faults> {
    let catalog = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/sledsim/catalog");
    let catalog = Catalog::new(vec![catalog]).with_door(Arc::new(PARTS));
    let workload = json!({"arrival": {"kind": "poisson", "rate_per_s": 1200.0}, "read_fraction": 0.6});
    let document = json!({"seed": 5, "workload": workload, "system": system, "run": {"requests": 800}});
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    resolve(&document.to_string(), Notation::Json, "test", &settings, &catalog, Path::new("."))
}

fn log(system: &Value, settings: &[&str]) -> String {
    let scenario = resolved(system, settings).unwrap_or_else(|faults| panic!("{system}: {faults}"));
    let keep = Keep { log: true, check: true, ..Keep::default() };
    let found = run_keeping(&scenario, Vec::new(), &keep, &mut |_| true).expect("it runs");
    assert_eq!(found.report.requests.completed, 800);
    format!("{:?}", found.recorder.log())
}

#[test]
fn a_scheduler_gives_the_same_log_as_the_one_that_it_is_written_after() {
    for device in ["g2", "atlas10k"] {
        for (mine, listed) in [
            (json!("mine-fcfs"), json!("fcfs")),
            (json!("mine-clook"), json!("clook")),
            (json!("mine-sptf"), json!("sptf")),
            (json!({"name": "mine-sptf", "weight": 0.02}), json!({"name": "asptf", "weight": 0.02})),
        ] {
            let system = |scheduler: &Value| json!({"device": device, "scheduler": scheduler});
            assert_eq!(log(&system(&mine), &[]), log(&system(&listed), &[]), "{mine} on {device}");
        }
    }
}

#[test]
fn a_replacement_policy_gives_the_same_log_as_the_one_that_it_is_written_after() {
    for write in ["back", "through"] {
        for name in ["lru", "arc"] {
            let system = |policy: String| {
                let child = json!({"device": "g2"});
                // Blocks that come again, far more of them than there is room for.
                json!({"kind": "ram-cache", "bytes": 131_072, "write": write, "policy": policy,
                       "child": {"kind": "partition", "bytes": 1_048_576, "child": child}})
            };
            assert_eq!(log(&system(format!("mine-{name}")), &[]), log(&system(name.into()), &[]), "{name} {write}");
        }
    }
}

#[test]
fn settings_take_a_part_over_any_other_policy() {
    let system = json!({"device": "g2", "scheduler": "fcfs"});
    let aged = log(&json!({"device": "g2", "scheduler": {"name": "mine-sptf", "weight": 0.02}}), &[]);
    assert_eq!(log(&system, &["scheduler=mine-sptf", "scheduler.weight=0.02"]), aged);
    assert_eq!(log(&system, &["scheduler.rust=mine-sptf", "scheduler.weight=0.02"]), aged);
}

#[test]
fn what_is_wrong_is_told_by_its_path() {
    for (scheduler, kind, path) in [
        (json!({"name": "mine-sptf", "weight": -1}), Kind::OutOfRange, "system.scheduler.weight"),
        (json!({"name": "mine-sptf", "wait": 1}), Kind::UnknownKey, "system.scheduler.wait"),
        (json!({"name": "mine-fcfs", "symbol": "pick"}), Kind::Conflict, "system.scheduler.symbol"),
        (json!({"rust": "mine-sptff"}), Kind::UnknownName, "system.scheduler.rust"),
        (json!({"rust": "mine-lru"}), Kind::UnknownName, "system.scheduler.rust"),
    ] {
        let faults = resolved(&json!({"device": "g2", "scheduler": scheduler}), &[]).expect_err(&scheduler.to_string());
        assert_eq!((faults[0].kind, faults[0].path.to_string().as_str()), (kind, path), "{faults}");
    }
}

#[test]
fn no_name_is_taken() {
    assert_eq!(PARTS.check(), Ok(()));
}
