//! The schema of scenarios as written by users, with defaults, names and short forms.

use serde_json::Value;

use super::document::BASE;
use super::expand::{COMPONENTS, DRAWING};
use super::resolve::schema;
use crate::plugin::LOCATION_KEYS;

/// Returns the alternatives of a definition.
fn options_mut<'a>(schema: &'a mut Value, definition: &str) -> impl Iterator<Item = &'a mut Value> {
    let options = schema.pointer_mut(&format!("/$defs/{definition}/oneOf")).and_then(Value::as_array_mut);
    options.into_iter().flatten()
}

/// Returns the schema of a scenario as written by users: devices and schedulers may be names, missing values of a
/// device come from the catalogue, and kinds have defaults.
#[must_use]
pub fn user_schema() -> Value {
    let mut schema = schema().clone();
    let mut relax = |definition: &str, keep: &[&str], or_name: bool| {
        let Some(options) = schema.pointer_mut(&format!("/$defs/{definition}/oneOf")).and_then(Value::as_array_mut)
        else {
            return;
        };
        for option in options.iter_mut() {
            option["required"] = Value::from(keep.to_vec());
        }
        if or_name {
            options.push(
                serde_json::json!({"type": "string", "description": "The name alone, everything else by default."}),
            );
        }
    };
    relax("DeviceSpec", &["name"], true);
    relax("SchedulerSpec", &["name"], true);
    relax("SpinDownSpec", &["name"], true);
    relax("ReplacementSpec", &["name"], true);
    if let Some(options) = schema.pointer_mut("/$defs/ReadChoice/oneOf").and_then(Value::as_array_mut) {
        options.push(serde_json::json!({
            "type": "string", "pattern": ":", "description": "A Python class: `my_module:MyChoice`.",
        }));
    }
    relax_drawn(&mut schema);
    relax_custom(&mut schema);
    relax_system(&mut schema);
    relax_workload(&mut schema);
    if let Some(device) = schema.pointer_mut("/$defs/DeviceSpec").and_then(Value::as_object_mut) {
        // A device with only a name is valid for every mechanism.
        if let Some(options) = device.remove("oneOf") {
            device.insert("anyOf".into(), options);
        }
    }
    schema
}

/// Allows a MEMS device with a drawing instead of a name.
fn relax_drawn(schema: &mut Value) {
    for mems in options_mut(schema, "DeviceSpec").filter(|option| option["properties"]["mechanism"]["const"] == "mems")
    {
        mems["required"] = Value::from(Vec::<&str>::new());
        mems["anyOf"] = ["name", DRAWING].map(|key| serde_json::json!({ "required": [key] })).to_vec().into();
        mems["properties"][DRAWING] = serde_json::json!({
            "type": ["string", "object"],
            "description": "In the place of the name, the drawing that the device is made from, and the values not given here \
                come from: its name in the catalogue, its file, or a table with `drawing`, either of them, and values that differ.",
        });
    }
}

/// Allows a plugin without `name`, and with its parameters beside the other keys.
fn relax_custom(schema: &mut Value) {
    for policy in ["SchedulerSpec", "ReplacementSpec", "ReadChoice", "SpinDownSpec"] {
        for custom in options_mut(schema, policy).filter(|option| option["properties"]["name"]["const"] == "custom") {
            custom["required"] = Value::from(Vec::<&str>::new());
            custom["anyOf"] = LOCATION_KEYS.iter().map(|key| serde_json::json!({ "required": [key] })).collect();
            custom["additionalProperties"] = true.into();
        }
    }
    for custom in
        options_mut(schema, "DeviceSpec").filter(|option| option["properties"]["mechanism"]["const"] == "custom")
    {
        custom["required"] = Value::from(Vec::<&str>::new());
        custom["anyOf"] = LOCATION_KEYS.iter().map(|key| serde_json::json!({ "required": [key] })).collect();
        custom["additionalProperties"] = true.into();
    }
}

/// Allows a component to be the name of a device or of a named component, a drive without `kind`, and named components.
fn relax_system(schema: &mut Value) {
    let drive = options_mut(schema, "SystemSpec").find(|option| option["properties"]["kind"]["const"] == "drive");
    if let Some(drive) = drive {
        drive["required"] = Value::from(vec!["device"]);
    }
    if let Some(options) = schema.pointer_mut("/$defs/SystemSpec/oneOf").and_then(Value::as_array_mut) {
        options.push(
            serde_json::json!({"type": "string", "description": "A device by its name, or one of `components`."}),
        );
    }
    schema["properties"][COMPONENTS] = serde_json::json!({
        "type": "object",
        "description": "Components by name, to be named where one is expected, each in one place.",
        "additionalProperties": {"$ref": "#/$defs/SystemSpec"},
    });
}

/// Allows a workload to be only the name of a stand-in, and a synthetic workload with a name to omit other keys.
fn relax_workload(schema: &mut Value) {
    let Some(options) = schema.pointer_mut("/$defs/WorkloadSpec/oneOf").and_then(Value::as_array_mut) else { return };
    for required in options.iter_mut().filter_map(|option| option.get_mut("required")?.as_array_mut()) {
        required.retain(|key| key != "arrival" && key != "streams");
    }
    options
        .push(serde_json::json!({"type": "string", "description": "A stand-in of the catalogue by its name alone."}));
}

/// Returns the schema of a scenario in a file: quantities may be texts with a unit, and the kind of a workload is
/// optional.
#[must_use]
pub fn document_schema() -> Value {
    let mut schema = user_schema();
    if let Some(options) = schema.pointer_mut("/$defs/WorkloadSpec/oneOf").and_then(Value::as_array_mut) {
        // Without the kind, several options may match the given keys.
        for option in options {
            if let Some(required) = option.get_mut("required").and_then(Value::as_array_mut) {
                required.retain(|key| key != "kind");
            }
        }
    }
    if let Some(member) = schema.pointer_mut("/$defs/MemberSpec") {
        // A component may replace the table, or have its keys beside `count`.
        let counted = serde_json::json!({"type": "object", "required": ["count"], "not": {"required": ["system"]}});
        *member = serde_json::json!({"anyOf": [member.take(), {"$ref": "#/$defs/SystemSpec"}, counted]});
    }
    allow_texts(&mut schema);
    schema["properties"][BASE] = serde_json::json!({
        "type": "string",
        "description": "A scenario whose values stand where this one gives none: a file, from the folder of this one.",
    });
    schema
}

/// Allows a text in place of every number, because the reader accepts quantities.
fn allow_texts(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            if let Some(types) = keys.get_mut("type") {
                let names: Vec<Value> = types.as_array().cloned().unwrap_or_else(|| vec![types.clone()]);
                if names.iter().any(|name| name == "number" || name == "integer") {
                    *types = names.into_iter().chain([Value::from("string")]).collect();
                }
            }
            keys.values_mut().for_each(allow_texts);
        }
        Value::Array(items) => items.iter_mut().for_each(allow_texts),
        _ => {}
    }
}
