//! The plugins of this crate in scenarios: they make the same decisions as the built-in policies that they reimplement.

use std::path::Path;
use std::sync::Arc;

use rust_plugins::PLUGINS;
use serde_json::{json, Value};
use sledsim::fault::{Faults, Kind};
use sledsim::scenario::{resolve, run_keeping, Catalog, Keep, Notation, Scenario};

fn resolved(system: &Value, settings: &[&str]) -> Result<Scenario, Faults> {
    let catalog = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/sledsim/catalog");
    let catalog = Catalog::new(vec![catalog]).with_loader(Arc::new(PLUGINS));
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
fn a_device_gives_the_same_log_as_the_one_that_it_is_written_after() {
    let power = json!({"active_read_w": 3.0, "active_write_w": 3.5, "idle_modes": [
        {"name": "ready", "power_w": 1.0},
        {"name": "off", "power_w": 0.1, "after_s": 0.001, "wake_ms": 2.5},
    ]});
    let sizes = json!({"capacity_blocks": 6_750_000, "nearest_ms": 0.1, "farthest_ms": 2.0, "power": power});
    for scheduler in ["fcfs", "sptf", "sdf", "mine-sptf"] {
        let system = |name: &str| {
            let mut device = sizes.clone();
            device["name"] = name.into();
            json!({"device": device, "scheduler": scheduler, "spin_down": "immediate"})
        };
        let (mine, listed) = (log(&system("mine-linear"), &[]), log(&system("simpledisk-linear"), &[]));
        assert_eq!(mine, listed, "{scheduler}");
    }
}

#[test]
fn a_device_is_known_by_its_name_alone() {
    let sled =
        resolved(&json!({"device": "mine-sled", "scheduler": "sptf"}), &["device.settle_ms=0.5"]).expect("valid");
    let device = serde_json::to_value(&sled).expect("a scenario")["system"]["device"].take();
    assert_eq!(
        (&device["name"], &device["rust"], &device["mechanism"]),
        (&json!("mine-sled"), &json!("mine-sled"), &json!("custom"))
    );
    assert_eq!((&device["parameters"]["settle_ms"], &device["parameters"]["columns"]), (&json!(0.5), &json!(2500)));
    let system = json!({"device": device, "scheduler": "sptf"});
    assert_eq!(
        log(&system, &[]),
        log(&json!({"device": "g2", "scheduler": "sptf"}), &["device.rust=mine-sled", "device.settle_ms=0.5"])
    );
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
fn a_device_may_refuse_its_parameters() {
    let device = json!({"rust": "mine-linear", "capacity_blocks": 1000, "nearest_ms": 3, "farthest_ms": 2});
    let faults = resolved(&json!({"device": device}), &[]).expect_err("it is nearer than it may be");
    assert_eq!(
        (faults[0].kind, faults[0].path.to_string().as_str()),
        (Kind::Conflict, "system.device.farthest_ms"),
        "{faults}"
    );
}

#[test]
fn no_name_is_taken() {
    assert_eq!(PLUGINS.check(), Ok(()));
}
