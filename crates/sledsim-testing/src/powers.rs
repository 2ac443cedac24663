//! Random powers and idle modes, and all spin-down policies.

use proptest::prelude::*;
use serde_json::{json, Value};
use sledsim::power::SpinDownSpec;
use sledsim::scenario;

/// Valid powers: modes with falling powers and rising times, and any wake-ups. Some modes are entered by policies only.
pub fn power() -> impl Strategy<Value = Value> {
    let watts = || prop_oneof![Just(0.0), 0.0_f64..20.0];
    let mode = (0.0_f64..3.0, prop_oneof![Just(0.0), 0.0_f64..1.5], 0.0_f64..300.0, prop::option::of(watts()));
    let lower = prop::collection::vec(mode, 0..5);
    (watts(), watts(), prop::option::of(watts()), watts(), lower, 1_usize..6).prop_map(
        |(read_w, write_w, seek_w, least_w, lower, by_itself)| {
            let ready_w = least_w + lower.iter().map(|mode| mode.0).sum::<f64>();
            let mut modes = vec![json!({"name": "ready", "power_w": ready_w})];
            let (mut power_w, mut after_s) = (ready_w, 0.0);
            for (index, (less_w, later_s, wake_ms, wake_w)) in lower.into_iter().enumerate() {
                power_w = (power_w - less_w).max(0.0);
                after_s += later_s;
                modes.push(json!({
                    "name": format!("mode {}", index + 1), "power_w": power_w, "wake_ms": wake_ms,
                    "wake_w": wake_w.map(|more_w| power_w + more_w),
                    "after_s": if index + 1 < by_itself { json!(after_s) } else { Value::Null },
                }));
            }
            let mut power = json!({"active_read_w": read_w, "active_write_w": write_w, "idle_modes": modes});
            if let Some(seek_w) = seek_w {
                power["seek_w"] = seek_w.into();
            }
            power
        },
    )
}

/// Returns all spin-down policies of scenarios, and `None`. Times that a policy requires are 40 ms.
pub fn policies() -> Vec<Option<SpinDownSpec>> {
    let schema = scenario::schema();
    let kinds = schema.pointer("/$defs/SpinDownSpec/oneOf").and_then(Value::as_array).expect("policies");
    let policy = |kind: &Value| {
        let required = kind["required"].as_array().expect("a name at least");
        let value = |key: &str| if key == "name" { kind["properties"]["name"]["const"].clone() } else { 40.0.into() };
        let keys = required.iter().map(|key| key.as_str().expect("a key"));
        let table: Value = keys.map(|key| (key.to_owned(), value(key))).collect::<serde_json::Map<_, _>>().into();
        serde_json::from_value(table).expect("a policy")
    };
    let listed = kinds.iter().filter(|kind| kind["properties"]["name"]["const"] != "custom");
    let policies: Vec<_> = std::iter::once(None).chain(listed.map(|kind| Some(policy(kind)))).collect();
    assert!(policies.len() > 5, "{policies:?}");
    policies
}
