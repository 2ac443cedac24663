//! The registry, and parameters in scenarios.

use std::collections::BTreeSet;

use serde_json::{json, Value};
use sledsim::schedulers::{asptf, vscan, zsptf, SchedulerSpec, POLICIES};

#[test]
fn names_are_unique() {
    let names: Vec<&str> = POLICIES.iter().map(|it| it.name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    for policy in POLICIES {
        assert_eq!(policy.default.name(), policy.name);
        assert_eq!(policy.default.validate(), Ok(()));
        for text in [policy.title, policy.description, policy.source] {
            assert!(!text.is_empty(), "{}", policy.name);
        }
    }
}

#[test]
fn name_alone_selects_defaults() {
    for policy in POLICIES {
        let spec: SchedulerSpec = serde_json::from_value(json!({ "name": policy.name })).unwrap();
        assert_eq!(spec, policy.default);
        let written = serde_json::to_value(spec).unwrap();
        assert_eq!(written["name"], policy.name);
        assert_eq!(serde_json::from_value::<SchedulerSpec>(written).unwrap(), spec);
    }
}

#[test]
fn parameters_are_read() {
    let spec = serde_json::from_value::<SchedulerSpec>(json!({ "name": "vscan", "r": 0.5 }));
    assert_eq!(spec.unwrap(), SchedulerSpec::Vscan(vscan::Spec { r: 0.5 }));
}

#[test]
fn unknown_names_and_keys_are_errors() {
    let error = |value: Value| serde_json::from_value::<SchedulerSpec>(value).unwrap_err().to_string();
    assert!(error(json!({ "name": "scan" })).contains("unknown variant `scan`"));
    assert!(error(json!({})).contains("missing field `name`"));
    assert!(error(json!({ "name": "asptf", "weight": "heavy" })).contains("invalid type"));
    assert!(error(json!({ "name": "zsptf", "zones": -1 })).contains("invalid value"));
    for policy in POLICIES {
        assert!(error(json!({ "name": policy.name, "speed": 1 })).contains("unknown field `speed`"), "{}", policy.name);
    }
}

#[test]
fn out_of_range_parameters_are_rejected() {
    let message = |spec: SchedulerSpec| spec.validate().unwrap_err().to_string();
    assert_eq!(
        message(SchedulerSpec::Vscan(vscan::Spec { r: 1.5 })),
        "r = 1.5 is out of range: expected a number from 0 to 1"
    );
    assert_eq!(
        message(SchedulerSpec::Zsptf(zsptf::Spec { zones: 0 })),
        "zones = 0 is out of range: expected a whole number of at least 1"
    );
    // Values that are not finite are rejected, too; no document can contain them.
    for (value, weight, r) in [
        (-0.1, "weight = -0.1 is out of range: expected a number of at least 0", "r = -0.1 is out of range: expected"),
        (f64::NAN, "weight is out of range: expected a number of at least 0, not NaN", "from 0 to 1, not NaN"),
        (f64::INFINITY, "weight is out of range: expected a number of at least 0, not inf", "from 0 to 1, not inf"),
    ] {
        assert_eq!(message(SchedulerSpec::Asptf(asptf::Spec { weight: value })), weight);
        let of_r = message(SchedulerSpec::Vscan(vscan::Spec { r: value }));
        assert!(of_r.contains(r), "{of_r}");
    }
}

#[test]
fn the_schema_has_every_policy_with_limits_defaults_and_texts() {
    let schema = schemars::schema_for!(SchedulerSpec).to_value();
    let variants = schema["oneOf"].as_array().expect("one schema a policy");
    let names: Vec<&str> = variants.iter().filter_map(|it| it["properties"]["name"]["const"].as_str()).collect();
    assert_eq!(names, POLICIES.iter().map(|it| it.name).collect::<Vec<_>>());
    for variant in variants {
        assert_eq!(variant["additionalProperties"], json!(false), "{variant}");
        assert!(variant["description"].is_string(), "{variant}");
    }
    let parameter = |name: &str, key: &str| {
        let of = |it: &&Value| it["properties"]["name"]["const"] == name;
        variants.iter().find(of).map(|it| it["properties"][key].clone()).unwrap()
    };
    let r = parameter("vscan", "r");
    assert_eq!((&r["minimum"], &r["maximum"], &r["default"]), (&json!(0.0), &json!(1.0), &json!(0.2)));
    assert_eq!(parameter("asptf", "weight")["minimum"], json!(0.0));
    let zones = parameter("zsptf", "zones");
    assert_eq!((&zones["minimum"], &zones["default"]), (&json!(1), &json!(25)));
    assert!(zones["description"].is_string());
}
