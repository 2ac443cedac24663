//! Errors of invalid scenarios name the file, the key, the value, and the allowed values.

use std::path::Path;

use serde_json::{json, Value};
use sledsim::scenario::{self, Notation};
use sledsim_testing::scenarios::{catalog, poisson, resolve, resolve_in, try_run};

/// Returns a valid document after a change.
fn changed(change: impl FnOnce(&mut Value)) -> String {
    let mut document = json!({"workload": poisson(10.0), "system": {"device": {"name": "g2"}}, "run": {}});
    change(&mut document);
    resolve(&document).expect_err(&document.to_string())
}

fn assert_parts(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "no {part:?} in: {error}");
    }
}

#[test]
fn unknown_keys_suggest_the_nearest() {
    let cases: [(&str, &[&str]); 6] = [
        ("/sede", &["unknown key sede: did you mean \"seed\"?"]),
        ("/run/request", &["unknown key run.request: did you mean \"requests\"?"]),
        ("/system/device/bits_nm", &["unknown key system.device.bits_nm: did you mean \"bit_nm\"?"]),
        ("/workload/arival", &["unknown key workload.arival: did you mean \"arrival\"?"]),
        ("/workload/arrival/rate", &["unknown key workload.arrival.rate", "rate_per_s"]),
        ("/system/qqqqqqqqqqqqqq", &["unknown key system.qqqqqqqqqqqqqq (known: "]),
    ];
    for (pointer, parts) in cases {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let error = changed(|document| document.pointer_mut(parent).unwrap()[key] = json!(3));
        assert!(error.starts_with("test: "), "{error}");
        assert_parts(&error, parts);
    }
}

#[test]
fn unknown_names_suggest_the_nearest() {
    let scheduler = changed(|document| document["system"]["scheduler"] = json!("sptff"));
    assert_parts(&scheduler, &["system.scheduler.name = \"sptff\" is not known: did you mean \"sptf\"?"]);
    let device = changed(|document| document["system"]["device"] = json!("g22"));
    assert_parts(&device, &["system.device.name = \"g22\" is not known: did you mean \"g2\"?"]);
    let own = changed(|document| {
        document["system"]["device"] = json!({"name": "own", "mechanism": "simpledisk-constant", "block_bytes": 512});
    });
    assert_parts(
        &own,
        &["system.device.name = \"own\" is not known", "a complete device also needs capacity_blocks, access_ms"],
    );
    let kind = changed(|document| document["workload"]["arrival"]["kind"] = json!("poison"));
    assert_parts(&kind, &["workload.arrival.kind = \"poison\" is not known: did you mean \"poisson\"?"]);
    let model = changed(|document| document["system"]["device"]["seek_model"] = json!("optimal"));
    assert_parts(
        &model,
        &["system.device.seek_model = \"optimal\" is not known", "first-order, decomposed, time-optimal"],
    );
    let format = changed(|document| document["workload"] = json!({"path": "x", "format": "hpsrt"}));
    assert_parts(&format, &["workload.format", "\"hpsrt\"", "hp-srt"]);
    let column = changed(|document| document["workload"] = json!({"path": "x", "columns": {"tiem": "t"}}));
    assert_parts(&column, &["unknown key workload.columns.tiem: did you mean \"time\"?"]);
    let unit = changed(|document| document["workload"] = json!({"path": "x", "columns": {"time_unit": "h"}}));
    assert_parts(&unit, &["workload.columns.time_unit = \"h\" is not known", "s, ms, us, ns, filetime"]);
}

#[test]
fn errors_for_wrong_types_name_the_expected_type() {
    let cases = [
        ("/seed", json!("x"), "seed = \"x\""),
        ("/title", json!(5), "title = 5 is of the wrong type: expected a string"),
        (
            "/workload",
            json!([]),
            "workload = [] is of the wrong type: expected a table with kind = one of synthetic, mix, trace",
        ),
        (
            "/workload/arrival",
            json!(5),
            "workload.arrival = 5 is of the wrong type: expected a table with kind = one of",
        ),
        ("/system/device", json!(true), "system.device"),
        ("/system/device/name", json!(5), "system.device.name = 5 is of the wrong type: expected a string"),
        (
            "/system/device/bidirectional",
            json!("yes"),
            "system.device.bidirectional = \"yes\" is of the wrong type: expected true or false",
        ),
        ("/system/device/inactive_after_ms", json!("soon"), "or \"never\""),
        ("/workload/location", json!({"kind": "hot-spots", "spots": []}), "workload.location.spots is empty"),
        (
            "/workload/location",
            json!({"kind": "hot-spots", "spots": 1}),
            "workload.location.spots = 1 is of the wrong type: expected a list",
        ),
        ("/run", json!(7), "run = 7 is of the wrong type: expected a table"),
    ];
    for (pointer, value, expected) in cases {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let error = changed(|document| document.pointer_mut(parent).unwrap()[key] = value);
        assert_parts(&error, &["test: ", expected]);
    }
}

#[test]
fn units_must_fit_their_key() {
    let of = |key: &str, value: &str| changed(|document| document["system"]["device"][key] = json!(value));
    assert_parts(
        &of("overhead_ms", "3 nm"),
        &["system.device.overhead_ms = \"3 nm\" is of the wrong type: expected a number in ms", "not of \"nm\""],
    );
    assert_parts(&of("bit_nm", "50 ms"), &["system.device.bit_nm", "not of \"ms\"", "nm, um"]);
    assert_parts(&of("spring_factor", "0.5 N"), &["system.device.spring_factor", "without a unit"]);
    assert_parts(&of("startup_ms", "20 s"), &["system.device.startup_ms = 20000 is out of range", "from 0 to 10000"]);
}

#[test]
fn missing_keys_are_described() {
    let cases: [(&str, &str); 4] = [
        ("/workload", "workload is missing: The requests."),
        ("/system", "system is missing"),
        ("/system/device", "system.device is missing"),
        ("/workload/arrival", "workload.arrival is missing: When requests arrive."),
    ];
    for (pointer, expected) in cases {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let error = changed(|document| {
            document.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(key);
        });
        assert_parts(&error, &[expected]);
    }
    let name = changed(|document| document["system"]["device"] = json!({"bit_nm": 50}));
    assert_parts(&name, &["system.device.name is missing: a device of the catalogue, or the path of a device file"]);
}

#[test]
fn contradicting_values_are_both_named() {
    let device = |values: Value| {
        changed(|document| {
            document["system"]["device"].as_object_mut().unwrap().extend(values.as_object().unwrap().clone())
        })
    };
    assert_parts(
        &device(json!({"active_tips": 9000})),
        &["system.device.active_tips = 9000 exceeds system.device.tips = 6400"],
    );
    assert_parts(&device(json!({"active_tips": 63})), &["active_tips = 63 is fewer than the 64 tips of a block"]);
    assert_parts(
        &device(json!({"tip_sector_bytes": 7})),
        &["block_bytes = 512 is not a multiple of system.device.tip_sector_bytes = 7"],
    );
    assert_parts(&device(json!({"y_range_um": 1})), &["y_range_um = 1", "raise it or lower system.device.bit_nm"]);
    assert_parts(
        &device(json!({"x_range_um": 1, "bit_nm": 2000, "y_range_um": 10_000})),
        &["x_range_um = 1 is less than one bit"],
    );
    assert_parts(
        &device(json!({"spring_factor": 0.99, "bit_rate_kbit_s": 1e6})),
        &["spring_factor = 0.99", "lower it or system.device.bit_rate_kbit_s"],
    );
    let stripes = json!({"sleds": 2, "sled_layout": "striped", "stripe_blocks": 7_000_000});
    assert_parts(&device(stripes), &["system.device.stripe_blocks = 7000000 exceeds the 6750000 blocks of a sled"]);
    let largest = json!({"bit_nm": 1, "x_range_um": 10000, "y_range_um": 10000, "tips": 10_000_000, "active_tips": 10_000_000,
        "block_bytes": 1, "tip_sector_bytes": 1, "servo_bits": 0, "encoded_bits_per_byte": 8});
    assert_parts(
        &device(largest),
        &[
            "system.device.bit_nm = 1: the device would hold more than",
            "bytes: raise system.device.bit_nm or lower system.device.tips or ",
        ],
    );
    let run = |values: Value| changed(|document| document["run"] = values);
    assert_parts(
        &run(json!({"requests": 5, "warmup_requests": 5})),
        &["run.warmup_requests = 5 leaves nothing of run.requests = 5"],
    );
    assert_parts(&run(json!({"time_s": 5, "warmup_s": 5})), &["run.warmup_s = 5 leaves nothing of run.time_s = 5"]);
    let trace = changed(|document| document["workload"] = json!({"path": "x", "start_s": 5, "end_s": 5}));
    assert_parts(&trace, &["workload.end_s = 5 is not after workload.start_s = 5"]);
    let range = changed(|document| document["workload"]["range"] = json!({"start_fraction": 0.5, "end_fraction": 0.5}));
    assert_parts(&range, &["workload.range", "end_fraction = 0.5"]);
}

#[test]
fn syntax_errors_have_a_location() {
    let read = |text: &str, notation| {
        scenario::resolve(text, notation, "my.file", &[], &catalog(), Path::new(".")).expect_err(text).to_string()
    };
    assert_parts(&read("seed = = 1", Notation::Toml), &["my.file: ", "line 1", "column"]);
    assert_parts(&read("seed: [1", Notation::Yaml), &["my.file: ", "line"]);
    assert_parts(&read("{\"seed\": 1,}", Notation::Json), &["my.file: ", "line 1 column"]);
    for (text, notation) in [("[1]", Notation::Json), ("- 1", Notation::Yaml), ("5", Notation::Yaml)] {
        assert_eq!(read(text, notation), "my.file: expected a table of settings at the top");
    }
    assert_parts(&read("", Notation::Toml), &["my.file: workload is missing"]);
    assert_parts(&read("", Notation::Yaml), &["my.file: workload is missing"]);
    assert_parts(&read("seed = 1\nseed = 2", Notation::Toml), &["my.file: ", "duplicate key", "line 2"]);
    assert_parts(&read("seed: 1\nseed: 2", Notation::Yaml), &["my.file: ", "duplicate"]);
    assert_parts(&read("{\"seed\": 1, \"seed\": 2}", Notation::Json), &["my.file: ", "duplicate"]);
}

/// TOML and YAML can contain NaN and infinity, which are not the same as a missing key.
#[test]
fn nan_and_infinity_are_rejected() {
    let rest = "[workload.arrival]\nkind = \"poisson\"\nrate_per_s = 1\n[system]\ndevice = \"g2\"\n[run]\n";
    for value in ["nan", "inf", "-inf"] {
        let text = format!("{rest}time_s = {value}");
        let error = scenario::resolve(&text, Notation::Toml, "my.file", &[], &catalog(), Path::new("."));
        assert_parts(&error.expect_err(&text).to_string(), &["my.file: ", "is not a finite number"]);
    }
    let text = "{workload: {arrival: {kind: poisson, rate_per_s: 1}}, system: {device: g2}, run: {time_s: .nan}}";
    let error = scenario::resolve(text, Notation::Yaml, "my.file", &[], &catalog(), Path::new("."));
    assert_parts(&error.expect_err(text).to_string(), &["my.file: ", "is not a finite number"]);
}

#[test]
fn settings_are_checked_like_keys() {
    let document = json!({"workload": poisson(10.0), "system": {"device": "g2"}}).to_string();
    let set = |setting: &str| {
        scenario::resolve(&document, Notation::Json, "file", &[setting.to_owned()], &catalog(), Path::new("."))
            .expect_err(setting)
            .to_string()
    };
    assert_parts(&set("device.bit_nm"), &["overrides = \"device.bit_nm\": expected path=value, for example"]);
    assert_parts(
        &set("devise.bit_nm=3"),
        &["overrides = \"devise.bit_nm=3\": unknown key devise: did you mean \"device\"?"],
    );
    assert_parts(&set("device..bit_nm=3"), &["is no dotted path of keys"]);
    assert_parts(&set("device.bitnm=3"), &["unknown key system.device.bitnm: did you mean \"bit_nm\"?"]);
    assert_parts(
        &set("workload.read_fraction.x=3"),
        &["workload.read_fraction.x can't be set inside 0.67, which is not a table"],
    );
    assert_parts(&set("device.bit_nm=0"), &["system.device.bit_nm = 0 is out of range", "from 1 to 10000"]);
}

#[test]
fn invalid_device_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = |text: &str| {
        std::fs::write(folder.path().join("mine.toml"), text).unwrap();
        let document = json!({"workload": poisson(1.0), "system": {"device": "mine.toml"}});
        resolve_in(&document, folder.path()).expect_err(text)
    };
    assert_parts(&error("mechanism = "), &["mine.toml: ", "line 1", "(used by test)"]);
    assert_parts(&error("[values]"), &["mine.toml", "mechanism is missing"]);
    assert_parts(&error("mechanism = \"mems\""), &["mine.toml", "values is missing"]);
    assert_parts(
        &error("mechanism = \"mems\"\n[values.tips]\nunit = \"\""),
        &["mine.toml", "values.tips.value is missing"],
    );
    assert_parts(
        &error("mechanism = \"drum\"\n[values]"),
        &["line 1: mechanism = \"drum\" is not known", "mems", "mine.toml"],
    );
    assert_parts(&error("mechanism = \"mems\"\n[values]\ntips = 5"), &["values.bit_nm is missing", "mine.toml"]);
    assert_parts(&error("mechanism = \"mems\"\n[values]\ntips = nan"), &["mine.toml", "line 3", "not a finite number"]);
    assert_parts(&error("mechanism = \"mems\"\n[values]\ntips = 5\ntips = 6"), &["mine.toml", "duplicate key"]);
    std::fs::remove_file(folder.path().join("mine.toml")).unwrap();
    let document = json!({"workload": poisson(1.0), "system": {"device": "mine.toml"}});
    assert_parts(&resolve_in(&document, folder.path()).unwrap_err(), &["mine.toml", "no such file"]);
}

#[test]
fn faults_in_device_files_and_in_the_scenario_have_different_locations() {
    let folder = tempfile::tempdir().unwrap();
    let constant = "mechanism = \"simpledisk-constant\"\n[values]\nblock_bytes = 512\naccess_ms = 1.0\n";
    std::fs::write(folder.path().join("mine.toml"), format!("{constant}capacity_blocks = -1\n")).unwrap();
    let error = |more: Value| {
        let mut device = json!({"name": "mine.toml"});
        device.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        resolve_in(&json!({"workload": poisson(1.0), "system": {"device": device}}), folder.path()).unwrap_err()
    };
    assert_parts(&error(json!({})), &["line 5: values.capacity_blocks = -1 is out of range", "(used by "]);
    for own in [json!({"capacity_blocks": -2}), json!({"capacity_blocks": 5, "access_ms": -1})] {
        let error = error(own);
        assert!(error.contains("out of range") && !error.contains("mine.toml"), "{error}");
    }
}

#[test]
fn errors_of_traces_name_file_line_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let error = |name: &str, text: Option<&str>| {
        if let Some(text) = text {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let document = json!({"workload": {"path": name}, "system": {"device": "g2"}});
        let scenario = resolve_in(&document, folder.path()).unwrap_or_else(|error| panic!("{error}"));
        let error = try_run(&scenario).expect_err(name);
        assert!(error.starts_with(&folder.path().join(name).display().to_string()), "{error}");
        error
    };
    let header = "t_ns,device,offset_bytes,bytes,op\n";
    assert_parts(&error("missing.trace", None), &["cannot open", "No such file"]);
    assert_parts(&error("empty.trace", Some("")), &["contains no records"]);
    assert_parts(&error("prose.trace", Some("once upon a time\n")), &["no known trace format", "format"]);
    assert_parts(
        &error("zero.csv", Some(&format!("{header}1,0,0,0,R\n"))),
        &["line 2", "field `bytes`", "zero length"],
    );
    assert_parts(&error("back.csv", Some(&format!("{header}9,0,0,1,R\n1,0,0,1,R\n"))), &["line 2", "field `time`"]);
    assert_parts(&error("mixed.csv", Some(&format!("{header}9,0,0,1,R\n9 0 0 1 1\n"))), &["line 3", "skip_bad"]);
    assert_parts(&error("cut.csv", Some(&format!("{header}9,0,0,1,R\n9,0,0,"))), &["line 3", "field `"]);
    let beyond = error("far.csv", Some(&format!("{header}0,0,0,512,R\n1,0,3456000000,512,R\n")));
    assert_parts(
        &beyond,
        &["record 2: blocks 6750000 to 6750000 lie beyond the device, which has 6750000 blocks", "fit"],
    );
}
