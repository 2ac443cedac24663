//! Workloads as text: strict parsing, defaults, and a schema that documents every key.

use serde_json::Value;
use sledsim::workloads::arrival::on_off;
use sledsim::workloads::location::zipf;
use sledsim::workloads::{ArrivalSpec, Distribution, LocationSpec, SyntheticSpec};

#[test]
fn a_workload_reads_from_toml() {
    let text = r#"
        read_fraction = 0.67
        size_bytes = { kind = "exponential", mean = 4096 }
        range = { end_fraction = 0.5 }
        arrival = { kind = "on-off", burst_ms = 10, idle_ms = 90.5, rate_per_s = 2000 }
        [location]
        kind = "zipf"
        exponent = 1
        regions = 100
    "#;
    let spec: SyntheticSpec = toml::from_str(text).expect("a valid workload");
    assert_eq!(spec.size_bytes, Distribution::Exponential { mean: 4096.0 });
    assert_eq!(spec.arrival, ArrivalSpec::OnOff(on_off::Spec { burst_ms: 10.0, idle_ms: 90.5, rate_per_s: 2000.0 }));
    assert_eq!(
        spec.location,
        LocationSpec::Zipf(zipf::Spec { exponent: 1.0, regions: 100, shuffle: false, align_bytes: None })
    );
    assert_eq!((spec.range.start_fraction, spec.range.end_fraction), (0.0, 0.5));
    assert_eq!(spec.validate(), Ok(()));
}

#[test]
fn unknown_keys_are_rejected_at_every_depth() {
    let arrival = r#"arrival = { kind = "poisson", rate_per_s = 5 }"#;
    assert!(toml::from_str::<SyntheticSpec>(arrival).is_ok());
    for wrong in [
        r#"arrival = { kind = "poisson", rate_per_s = 5, rate = 5 }"#.to_owned(),
        r#"arrival = { kind = "poisson", rate_per_ms = 5 }"#.to_owned(),
        r#"arrival = { kind = "fish", rate_per_s = 5 }"#.to_owned(),
        format!("{arrival}\nsize = 4096"),
        format!("{arrival}\nrange = {{ first = 1 }}"),
        format!("{arrival}\nlocation = {{ kind = \"uniform\", align = 8 }}"),
        format!("{arrival}\nsize_bytes = {{ kind = \"fixed\", value = 1, unit = \"KB\" }}"),
    ] {
        assert!(toml::from_str::<SyntheticSpec>(&wrong).is_err(), "{wrong}");
    }
}

/// Calls `visit` with the name and schema of every key below `schema`.
fn each_key(schema: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Object(properties)) = object.get("properties") {
                properties.iter().for_each(|(name, property)| visit(name, property));
            }
            object.values().for_each(|value| each_key(value, visit));
        }
        Value::Array(items) => items.iter().for_each(|item| each_key(item, visit)),
        _ => {}
    }
}

#[test]
fn the_schema_documents_and_limits_every_key() {
    let schema = serde_json::to_value(schemars::schema_for!(SyntheticSpec)).expect("a schema is plain data");
    let mut keys = 0;
    each_key(&schema, &mut |name, property| {
        keys += 1;
        if name == "kind" {
            return;
        }
        assert!(property["description"].is_string(), "{name} has no description");
        let kind = &property["type"];
        let is_number = kind == "number" || kind == "integer";
        let limited = property.get("minimum").or(property.get("exclusiveMinimum")).is_some();
        assert!(!is_number || limited, "{name} has no lower limit: {property}");
    });
    assert!(keys > 40, "only {keys} keys found");
    let properties = &schema["properties"];
    assert_eq!(properties["read_fraction"]["default"], 1.0);
    assert_eq!(properties["size_bytes"]["default"]["value"], 4096.0);
    assert_eq!(schema["required"], serde_json::json!(["arrival"]));
}
