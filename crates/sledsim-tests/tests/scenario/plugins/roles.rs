//! The rules of single roles, and devices from drawings.

use serde_json::{json, Value};
use sledsim::fault::Kind;
use sledsim::plugin::Role;
use sledsim::scenario::Catalog;

use super::support::{plugin, with_loader, Case};
use sledsim_testing::scenarios::catalog;

#[test]
fn an_invalid_victim_ends_the_run() {
    for (parameters, says) in [
        (json!({"decisions": 20}), "no more"),
        (json!({"decisions": 20, "slot": 16}), "chose slot 16 of 16, which has no key"),
        (json!({"decisions": 0, "slot": 3}), "chose slot 3 of 16, which can't be evicted, a second time"),
    ] {
        // Dirty lines can't be evicted, so the policy picks again.
        let case = Case { read_fraction: 0.1, ..Case::of(Role::Replacement, plugin(parameters)) };
        let message = case.failure().to_string();
        assert!(message.contains(says) && message.contains(" s, with line "), "{message}");
    }
}

#[test]
fn transfer_follows_positioning() {
    let output = Case::of(Role::Mechanism, plugin(json!({"transfer_ns": 3000}))).run().expect("it runs");
    for (request, service) in &output.recorder.log().expect("it was asked for").entries {
        assert_eq!(service.phases.transfer_ns, 3000 * u64::from(request.blocks));
        assert!(service.phases.seek_ns >= 100_000);
        assert_eq!(service.phases.seek_ns + service.phases.transfer_ns, service.end - service.start);
    }
}

#[test]
fn a_mechanism_fails_in_positioning_and_in_service() {
    for (parameters, scheduler, says) in [
        (json!({"decisions": 50}), "fcfs", "no more"),
        (json!({"decisions": 50}), "sptf", "no more"),
        (json!({"decisions": 50, "fails_in_positioning": true}), "fcfs", "no more"),
        (json!({"decisions": 50, "fails_in_positioning": true}), "sptf", "no more"),
        (json!({"transfer_ns": 1_000_000_000_001_u64}), "fcfs", "expected at most 1000000000000"),
    ] {
        let mut case = Case::of(Role::Mechanism, plugin(parameters));
        case.system["scheduler"] = scheduler.into();
        let message = case.failure().to_string();
        assert!(message.contains(says) && message.contains(" LBN "), "{message}");
    }
}

#[test]
fn sizes_of_a_mechanism_are_limited() {
    for parameters in [
        json!({"capacity_blocks": 0}),
        json!({"capacity_blocks": 2_000_000_000_000_000_u64}),
        json!({"block_bytes": 1_048_577}),
    ] {
        let faults = Case::of(Role::Mechanism, plugin(parameters)).resolve(&with_loader(), &[]).expect_err("too large");
        assert_eq!(
            (faults[0].kind, faults[0].location.path.to_string().as_str()),
            (Kind::Policy, "system.device.python")
        );
    }
}

#[test]
fn a_mechanism_needs_a_location_and_takes_a_name_and_power() {
    for (device, kind, path) in [
        (json!({"mechanism": "custom", "name": "mine"}), Kind::UnknownName, "system.device.python"),
        (json!({"mechanism": "custom"}), Kind::Missing, "system.device.name"),
        (plugin(json!({"power": {"seek_w": 1}})), Kind::Missing, "system.device.power.active_read_w"),
    ] {
        let faults = Case::of(Role::Mechanism, device).resolve(&with_loader(), &[]).expect_err("invalid");
        assert_eq!((faults[0].kind, faults[0].location.path.to_string().as_str()), (kind, path), "{faults}");
    }
    let named = Case::of(Role::Mechanism, plugin(json!({"name": "mine"}))).resolve(&with_loader(), &[]).expect("valid");
    assert_eq!(named.system.title(), "mine");
    let mut case = Case::of(Role::Mechanism, plugin(json!({})));
    let listed = case.resolve(&with_loader(), &["device.name=g2"]).expect("valid");
    assert_eq!(listed, Case::of(Role::Mechanism, json!("g2")).resolve(&with_loader(), &[]).expect("valid"));
    // Plugins are loaded only if the rest of the document is valid.
    case.system["batch_max"] = 0.into();
    let faults = case.resolve(&with_loader(), &[]).expect_err("no batches of none");
    assert_eq!(faults.len(), 1, "{faults}");
}

#[test]
fn a_device_without_idle_modes_has_no_spin_down_policy() {
    let mut case = Case::of(Role::SpinDown, plugin(json!({})));
    case.system["device"] = "atlas10k".into();
    let faults = case.resolve(&with_loader(), &[]).expect_err("it has no idle modes");
    assert_eq!((faults[0].kind, faults[0].location.path.to_string().as_str()), (Kind::Conflict, "system.spin_down"));
}

#[test]
fn a_built_in_mirror_rule_takes_no_other_keys() {
    let resolved = |read: Value| Case::of(Role::Mirror, read).resolve(&with_loader(), &[]);
    assert_eq!(resolved(json!({"name": "nearest"})).expect("valid"), resolved(json!("nearest")).expect("valid"));
    for (read, path) in [
        (json!({"name": "nearest", "python": "test:Plugin"}), "system.read.name"),
        (json!({"name": "nearst"}), "system.read"),
        (json!(["nearest"]), "system.read"),
    ] {
        let faults = resolved(read).expect_err("invalid");
        assert_eq!(faults[0].location.path.to_string(), path, "{faults}");
    }
    let scheduler = Case::of(Role::Scheduler, json!({"name": "sptf", "python": "test:Plugin"}));
    let faults = scheduler.resolve(&with_loader(), &[]).expect_err("invalid");
    assert_eq!(faults[0].location.path.to_string(), "system.scheduler.python");
}

#[test]
fn a_drawing_becomes_the_device_that_the_loader_makes() {
    let resolved = |device: &str, setting: &str, catalog: &Catalog| {
        let mut case = Case::of(Role::Scheduler, json!("fcfs"));
        case.system["device"] = device.into();
        case.resolve(catalog, &[setting, "device.bit_rate_kbit_s=500"])
    };
    let drawn = resolved("g1", "device.drawing={ width = 30 }", &with_loader()).expect("valid");
    assert_eq!(drawn, resolved("g2", "device.bit_nm=30", &catalog()).expect("valid"));
    let fault = |setting: &str, catalog: &Catalog| {
        let faults = resolved("g1", setting, catalog).expect_err(setting);
        (faults[0].kind, faults[0].location.path.to_string())
    };
    let at = |key: &str| format!("system.device.drawing{key}");
    assert_eq!(fault("device.drawing={ width = 30 }", &catalog()), (Kind::Unsupported, at("")));
    assert_eq!(fault("device.drawing.width=30", &with_loader()), (Kind::Conflict, "system.device.name".into()));
    assert_eq!(fault("device.drawing={ width = true }", &with_loader()), (Kind::WrongType, at(".width")));
    assert_eq!(fault("device.drawing={}", &with_loader()), (Kind::Missing, at(".width")));
}
