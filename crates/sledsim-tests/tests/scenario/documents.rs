//! A scenario in several notations, with settings, and resolved repeatedly.

use std::path::Path;

use serde_json::{json, Value};
use sledsim::scenario::{self, user_schema, Catalog, DeviceSpec, Notation, Resolved, Scenario, Subject};
use sledsim::schedulers::POLICIES;
use sledsim_testing::scenarios::{self, catalog, poisson, resolve, resolved};

const TOML: &str = r#"
title = "three notations"
seed = 7

[workload]
size_bytes = { kind = "exponential", mean = "4 KiB" }
arrival = { kind = "poisson", rate_per_s = 500 }
location = { kind = "hot-spots", spots = [{ start_fraction = 0.25, end_fraction = 0.5, probability = 0.75 }] }

[system]
scheduler = "sptf"
[system.device]
name = "g2"
overhead_ms = "100 us"
inactive_after_ms = "never"

[run]
requests = 1e4
warmup_requests = 100
"#;

const YAML: &str = "
title: three notations
seed: 7
workload:
  size_bytes: {kind: exponential, mean: 4 KiB}
  arrival: {kind: poisson, rate_per_s: 500}
  location:
    kind: hot-spots
    spots:
    - {start_fraction: 0.25, end_fraction: 0.5, probability: 0.75}
system:
  scheduler: sptf
  device: {name: g2, overhead_ms: 0.1, inactive_after_ms: never}
run:
  requests: 10000
  warmup_requests: 100
";

const JSON: &str = r#"{
  "title": "three notations", "seed": 7,
  "workload": {
    "kind": "synthetic",
    "size_bytes": {"kind": "exponential", "mean": 4096}, "arrival": {"kind": "poisson", "rate_per_s": 500.0},
    "location": {"kind": "hot-spots", "spots": [{"start_fraction": 0.25, "end_fraction": 0.5, "probability": 0.75}]}
  },
  "system": {
    "kind": "drive", "scheduler": {"name": "sptf"},
    "device": {"mechanism": "mems", "name": "g2", "overhead_ms": "0.1ms", "inactive_after_ms": "never"}
  },
  "run": {"requests": 10000, "warmup_requests": 1e2}
}"#;

fn read(text: &str, notation: Notation, settings: &[&str]) -> Result<Scenario, String> {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    scenario::resolve(text, notation, "test", &settings, &catalog(), Path::new("."))
        .map(Resolved::into_scenario)
        .map_err(|error| error.to_string())
}

/// Documents that use every kind of workload, policy and device.
fn documents() -> Vec<Value> {
    let mut documents = Vec::new();
    for policy in POLICIES {
        documents.push(json!({"workload": poisson(10.0), "system": {"device": "g1", "scheduler": policy.name}}));
    }
    for name in scenarios::device_names() {
        let mut device = json!({"name": name});
        if matches!(scenarios::device_spec(&name), DeviceSpec::Mems(_)) {
            device["sleds"] = 2.into();
        }
        documents.push(json!({"workload": poisson(10.0), "system": {"device": device}, "run": {"time_s": 0.5}}));
    }
    for kind in ["on-off", "closed", "renewal"] {
        let arrival = match kind {
            "on-off" => json!({"kind": kind, "burst_ms": 1.5, "idle_ms": 20, "rate_per_s": 1000}),
            "closed" => json!({"kind": kind, "outstanding": 3}),
            _ => json!({"kind": kind, "interarrival_ms": {"kind": "gamma", "mean": 3, "scv": 0.3}}),
        };
        documents.push(json!({"seed": u64::MAX, "workload": {"arrival": arrival}, "system": {"device": "g3"}}));
    }
    documents.push(json!({"workload": {"path": "some.trace", "end_s": 10, "records": 5, "devices": [1, 2]}, "system": {"device": "g2"}}));
    documents.push(json!({
        "workload": {"path": "a.csv", "format": "csv", "columns": {"time": "when", "time_unit": "us", "device": "0"}},
        "system": {"device": "g2"},
    }));
    documents
}

#[test]
fn notations_give_the_same_scenario() {
    let scenario = read(JSON, Notation::Json, &[]).unwrap();
    assert_eq!(read(TOML, Notation::Toml, &[]).as_ref(), Ok(&scenario));
    assert_eq!(read(YAML, Notation::Yaml, &[]).as_ref(), Ok(&scenario));
    for (name, notation) in
        [("toml", Notation::Toml), ("yaml", Notation::Yaml), ("yml", Notation::Yaml), ("json", Notation::Json)]
    {
        assert_eq!(Notation::named(name), Ok(notation));
    }
    let error = Notation::named("xml").unwrap_err().to_string();
    assert_eq!(error, "format = \"xml\" is not known: did you mean \"toml\"?");
}

#[test]
fn settings_change_catalogue_devices() {
    let text = "[workload.arrival]\nkind = \"closed\"\noutstanding = 1\n[system]\ndevice = \"superdisk\"\n";
    let disk = |settings: &[&str]| {
        let scenario = read(text, Notation::Toml, settings).unwrap_or_else(|error| panic!("{error}"));
        let drive = scenario.system.into_drive().expect("a drive alone");
        serde_json::to_value(&drive.device).expect("a table")
    };
    let changed = disk(&["device.zones.3.sectors_per_track=77", "device.zones.0.slips=[1, 2]"]);
    let mut expected = disk(&[]);
    expected["zones"][3]["sectors_per_track"] = 77.into();
    expected["zones"][0]["slips"] = vec![1, 2].into();
    assert_eq!(changed, expected);
    for (setting, problem) in [
        ("device.zones.13.spares=1", "system.device.zones"),
        ("device.zones.3.spares=-1", "system.device.zones.3.spares = -1 is out of range"),
        ("device.zones.3.sparez=1", "unknown key system.device.zones.3.sparez"),
    ] {
        let error = read(text, Notation::Toml, &[setting]).expect_err(setting);
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn settings_equal_keys() {
    let scenario = read(JSON, Notation::Json, &[]).unwrap();
    let settings = ["seed=7", "device.overhead_ms=0.1 ms", "system.scheduler=sptf", "run.requests=10000"];
    let other =
        TOML.replace("seed = 7", "").replace("\"sptf\"", "\"look\"").replace("1e4", "5").replace("100\n", "1\n");
    let settings: Vec<&str> = settings.into_iter().chain(["run.warmup_requests = 100"]).collect();
    assert_eq!(read(&other, Notation::Toml, &settings), Ok(scenario));
}

#[test]
fn a_resolved_scenario_resolves_to_itself_byte_for_byte() {
    for document in documents() {
        let first = resolved(&document);
        let text = serde_json::to_string(&first).unwrap();
        let second = read(&text, Notation::Json, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(serde_json::to_string(&second).unwrap(), text);
        assert_eq!(second, first);
        // JSON is YAML.
        let yaml = serde_json::to_string_pretty(&first).unwrap();
        assert_eq!(read(&yaml, Notation::Yaml, &[]), Ok(first));
    }
}

#[test]
fn device_files_are_relative_to_the_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let g2 = std::fs::read_to_string(scenarios::catalog_folder().join("devices/g2.toml")).unwrap();
    std::fs::write(folder.path().join("mine.toml"), g2).unwrap();
    let document = json!({"workload": poisson(1.0), "system": {"device": "mine.toml"}});
    let mine = scenarios::resolve_in(&document, folder.path()).unwrap();
    let mut as_g2 = serde_json::to_value(mine).unwrap();
    let path = std::path::absolute(folder.path().join("mine.toml")).unwrap();
    assert_eq!(as_g2["system"]["device"]["name"], path.to_str().unwrap());
    // The resolved document can be resolved again in any folder.
    assert_eq!(serde_json::to_value(resolved(&as_g2)).unwrap(), as_g2);
    as_g2["system"]["device"]["name"] = "g2".into();
    let g2 = json!({"workload": poisson(1.0), "system": {"device": "g2"}});
    assert_eq!(as_g2, serde_json::to_value(resolved(&g2)).unwrap());
    assert!(resolve(&document).unwrap_err().contains("mine.toml"), "relative to the scenario only");
}

#[test]
fn a_device_file_may_have_a_base() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let of = |device: &str| {
        let document = json!({"workload": poisson(1.0), "system": {"device": device}});
        let scenario = scenarios::resolve_in(&document, folder.path())?;
        Ok::<Value, String>(serde_json::to_value(scenario).unwrap()["system"]["device"].take())
    };
    write("still.toml", "base = \"g2\"\nsettle_constants = 0\n");
    write("finer.toml", "base = \"still.toml\"\n[values]\nbit_nm = { value = 30.0, unit = \"nm\" }\n");
    let mut expected = of("g2").unwrap();
    (expected["settle_constants"], expected["bit_nm"]) = (json!(0.0), json!(30.0));
    let mut finer = of("finer.toml").unwrap();
    expected["name"] = finer["name"].take();
    finer["name"] = expected["name"].clone();
    assert_eq!(finer, expected);
    for (text, said) in [
        ("base = \"own.toml\"", "based on itself"),
        ("base = \"g22\"", "g22"),
        ("base = \"g2\"\nmechanism = \"disk\"", "not that of its base"),
        ("base = \"g2\"\nsettle_constant = 0", "settle_constants"),
    ] {
        write("own.toml", text);
        let error = of("own.toml").unwrap_err();
        assert!(error.contains(said) && error.contains("own.toml"), "{error}");
    }
}

/// A catalogue keeps the entries that it has read until one of their files changes or a folder gets another file.
#[test]
fn a_changed_catalog_file_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    let (devices, shadowing) = (second.join("devices"), first.join("devices"));
    [&devices, &shadowing].into_iter().for_each(|path| std::fs::create_dir_all(path).unwrap());
    let catalog = Catalog::new(vec![first, second, scenarios::catalog_folder()]);
    let mut changes: u32 = 0;
    let mut age = |path: &Path| {
        // Files that have just changed are not kept: these changed long ago, each at another time.
        changes += 1;
        let modified = std::time::SystemTime::now() - std::time::Duration::from_secs(u64::from(1000 - changes));
        std::fs::File::open(path).unwrap().set_modified(modified).unwrap();
    };
    let mut write = |folder: &Path, name: &str, text: &str| {
        std::fs::write(folder.join(name), text).unwrap();
        [folder.join(name), folder.to_owned()].iter().for_each(|path| age(path));
    };
    let bit_nm = || {
        let entry = catalog.entry(Subject::Device, "mine", Path::new("")).unwrap();
        entry.to_value()["values"]["bit_nm"]["value"].clone()
    };
    write(&shadowing, "other.toml", "base = \"g2\"\n");
    write(&devices, "parent.toml", "base = \"g2\"\n[values]\nbit_nm = { value = 30.0, unit = \"nm\" }\n");
    write(&devices, "mine.toml", "base = \"parent\"\n");
    assert_eq!((bit_nm(), bit_nm()), (json!(30.0), json!(30.0)));
    write(&devices, "parent.toml", "base = \"g2\"\n[values]\nbit_nm = { value = 31.0, unit = \"nm\" }\n");
    assert_eq!(bit_nm(), json!(31.0), "a base changed");
    write(&shadowing, "parent.toml", "base = \"g2\"\n[values]\nbit_nm = { value = 32.0, unit = \"nm\" }\n");
    assert_eq!(bit_nm(), json!(32.0), "a folder that is searched first has a file of that name");
}

#[test]
fn generators_without_limits_get_defaults() {
    let requests =
        |run: Value| resolved(&json!({"workload": poisson(1.0), "system": {"device": "g2"}, "run": run})).run.requests;
    assert_eq!(requests(json!({})), Some(100_000));
    assert_eq!(requests(json!({"time_s": 5})), None);
    let trace = json!({"workload": {"path": "some.trace"}, "system": {"device": "g2"}});
    assert_eq!(resolved(&trace).run.requests, None);
}

/// Returns true if a value matches a schema. Supports the keywords of the scenario schema.
fn accepts(root: &Value, schema: &Value, value: &Value) -> bool {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/")) {
        if !accepts(root, &root["$defs"][name], value) {
            return false;
        }
    }
    let each = |key: &str| {
        schema[key].as_array().map(|options| options.iter().filter(|option| accepts(root, option, value)).count())
    };
    let number = |key: &str| schema[key].as_f64();
    let of_type = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    };
    let typed = match &schema["type"] {
        Value::String(name) => of_type(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(of_type),
        _ => true,
    };
    let in_range = value.as_f64().is_none_or(|given| {
        number("minimum").is_none_or(|least| given >= least)
            && number("maximum").is_none_or(|most| given <= most)
            && number("exclusiveMinimum").is_none_or(|bound| given > bound)
    });
    let keys = value.as_object().is_none_or(|object| {
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let known =
            |key: &str| schema["properties"].get(key).or(schema.get("additionalProperties")).unwrap_or(&Value::Null);
        required.into_iter().all(|key| object.contains_key(key))
            && object.iter().all(|(key, item)| known(key) != &json!(false) && accepts(root, known(key), item))
    });
    let items = value.as_array().is_none_or(|list| {
        list.len() as u64 >= schema["minItems"].as_u64().unwrap_or(0)
            && list.iter().all(|item| accepts(root, &schema["items"], item))
    });
    let constant = schema.get("const").is_none_or(|constant| constant == value);
    let listed = schema["enum"].as_array().is_none_or(|words| words.contains(value));
    let chosen = each("oneOf").is_none_or(|count| count == 1) && each("anyOf").is_none_or(|count| count > 0);
    typed && in_range && keys && items && constant && listed && chosen
}

#[test]
fn the_schema_accepts_valid_and_rejects_invalid_documents() {
    let schema = user_schema();
    let ok = |value: &Value| accepts(&schema, &schema, value);
    // The schema requires the key `kind`, which editors need for completion.
    for document in documents() {
        let whole = serde_json::to_value(resolved(&document)).unwrap();
        assert!(ok(&whole), "{whole:#}");
        let mut short = document.clone();
        short["workload"]["kind"] = whole["workload"]["kind"].clone();
        short["system"]["kind"] = "drive".into();
        if let Some(device) = short["system"]["device"].as_object_mut() {
            device.insert("mechanism".into(), "mems".into());
        }
        assert!(ok(&short), "{short:#}");
        let mut wrong = whole.clone();
        wrong["sede"] = json!(1);
        assert!(!ok(&wrong));
        let mut wrong = whole.clone();
        wrong["system"]["device"]["bit_nm"] = json!(-1);
        assert!(!ok(&wrong));
        let mut wrong = whole;
        wrong["system"]["scheduler"]["name"] = json!("sptff");
        assert!(!ok(&wrong));
    }
}
