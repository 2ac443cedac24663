//! Faults of documents, as data for programs and as text for two kinds of readers.

use std::path::Path as File;

use serde_json::{json, Value};
use sledsim::fault::{Allowed, Fault, Faults, Keys, Kind, Range};
use sledsim::scenario::{resolve, Notation};
use sledsim_testing::options::Options;
use sledsim_testing::scenarios::{catalog, poisson};

fn document() -> Value {
    json!({"workload": poisson(10.0), "system": {"device": "g2"}})
}

fn faults(document: &Value, settings: &[&str]) -> Faults {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    let found = resolve(&document.to_string(), Notation::Json, "my.json", &settings, &catalog(), File::new("."));
    found.expect_err(&document.to_string())
}

/// Returns the only fault of a document with one changed key.
fn only(pointer: &str, value: Value) -> Fault {
    let mut document = document();
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    document.pointer_mut(parent).expect(pointer)[key] = value;
    let found = faults(&document, &[]);
    assert_eq!(found.len(), 1, "{found}");
    found[0].clone()
}

fn names(words: &[&str]) -> Option<Allowed> {
    Some(Allowed::Names(words.iter().map(|&word| word.to_owned()).collect()))
}

/// Documents with the kind, path, value and suggestion of their fault.
type Case = (&'static str, Value, Kind, &'static str, Option<Value>, Option<&'static str>);

fn cases() -> Vec<Case> {
    let least_one = json!({"kind": "partition", "child": "g2", "bytes": 1000});
    let stripe =
        json!({"kind": "stripe", "unit_bytes": 4096, "members": ["g2", {"device": {"name": "g3", "tips": "many"}}]});
    vec![
        ("/sead", json!(1), Kind::UnknownKey, "sead", None, Some("seed")),
        ("/run/reqests", json!(1), Kind::UnknownKey, "run.reqests", None, Some("requests")),
        (
            "/system/scheduler",
            json!("spft"),
            Kind::UnknownName,
            "system.scheduler.name",
            Some(json!("spft")),
            Some("sptf"),
        ),
        ("/system/device", json!("g22"), Kind::UnknownName, "system.device.name", Some(json!("g22")), Some("g2")),
        ("/seed", json!("x"), Kind::WrongType, "seed", Some(json!("x")), None),
        ("/run", json!(7), Kind::WrongType, "run", Some(json!(7)), None),
        (
            "/system/device",
            json!({"name": "g2", "bit_nm": "3 s"}),
            Kind::WrongType,
            "system.device.bit_nm",
            Some(json!("3 s")),
            None,
        ),
        (
            "/system/device",
            json!({"name": "g2", "bit_nm": 0}),
            Kind::OutOfRange,
            "system.device.bit_nm",
            Some(json!(0)),
            None,
        ),
        ("/system/device", json!({"bit_nm": 50}), Kind::Missing, "system.device.name", None, None),
        (
            "/system/device",
            json!({"name": "g2", "active_tips": 9000}),
            Kind::Conflict,
            "system.device.active_tips",
            Some(json!(9000)),
            None,
        ),
        (
            "/run",
            json!({"requests": 5, "warmup_requests": 5}),
            Kind::Conflict,
            "run.warmup_requests",
            Some(json!(5)),
            None,
        ),
        ("/system", least_one, Kind::Misfit, "system.bytes", Some(json!(1000)), None),
        ("/system", stripe, Kind::WrongType, "system.members.1.device.tips", Some(json!("many")), None),
        (
            "/system/device",
            json!("no/such.toml"),
            Kind::Unreadable,
            "system.device.name",
            Some(json!("no/such.toml")),
            None,
        ),
    ]
}

#[test]
fn faults_have_kind_path_value_and_suggestion() {
    for (pointer, value, kind, path, found, suggestion) in cases() {
        let mut whole = document();
        whole["run"] = json!({});
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        whole.pointer_mut(parent).expect(pointer)[key] = value;
        let faults = faults(&whole, &[]);
        assert_eq!(faults.len(), 1, "{faults}");
        let fault = &faults[0];
        assert_eq!(
            (fault.kind, fault.location.path.to_string(), &fault.value),
            (kind, path.to_owned(), &found),
            "{fault}"
        );
        assert_eq!(fault.suggestion.as_deref(), suggestion, "{fault}");
        assert_eq!(fault.location.file.as_deref(), Some("my.json"));
        let text = fault.to_string();
        assert!(text.starts_with("my.json: ") && text.contains(path), "{text}");
        if let Some(name) = suggestion {
            assert!(text.contains(&format!("did you mean {name:?}?")), "{text}");
        }
        if let Some(Value::Number(number)) = found {
            assert!(text.contains(&format!("{path} = {number}")), "{text}");
        }
    }
}

#[test]
fn allowed_values_are_bounds_or_words() {
    let bits = only("/system/device", json!({"name": "g2", "bit_nm": 0}));
    let range = Range { least: Some(1.0), most: Some(10_000.0), unit: "nm".into(), ..Range::default() };
    assert_eq!(bits.allowed, Some(Allowed::Range(range)));
    let mut whole = document();
    whole["workload"]["arrival"] = json!({"kind": "poison", "rate_per_s": 1});
    let kind = &faults(&whole, &[])[0];
    assert_eq!(kind.allowed, names(&["poisson", "constant", "renewal", "on-off", "closed"]));
}

#[test]
fn all_faults_of_a_document_are_reported() {
    let document = json!({
        "sead": 1,
        "workload": {"arrival": {"kind": "poisson", "rate_per_s": -1}, "read_fraction": 3},
        "system": {"kind": "volumes", "members": ["g22", {"device": {"name": "g2", "bit_nm": "wide"}, "sceduler": "sptf"}]},
        "run": {"requests": "many"},
    });
    let found = faults(&document, &["devise=1", "run.time_s=x"]);
    let paths: Vec<String> = found.iter().map(|fault| fault.location.path.to_string()).collect();
    let mut sorted = paths.clone();
    sorted.sort();
    assert_eq!(
        sorted,
        [
            "devise",
            "run.requests",
            "run.time_s",
            "sead",
            "system.members.0.device.name",
            "system.members.1.device.bit_nm",
            "system.members.1.sceduler",
            "workload.arrival.rate_per_s",
            "workload.read_fraction",
        ]
    );
    assert_eq!(found.to_string().lines().count(), paths.len());
    // The same for faults that involve several keys: of each drive, the workload and the run.
    let mut document = document_that_contradicts_itself();
    let found = faults(&document, &[]);
    let paths: Vec<String> = found.iter().map(|fault| fault.location.path.to_string()).collect();
    assert_eq!(
        paths,
        ["system.child.batch_max", "system.child.device.active_tips", "workload.range.end_fraction", "run.warmup_s"]
    );
    document["system"]["child"] = json!("g2");
    assert_eq!(faults(&document, &[])[0].location.path.to_string(), "system.bytes");
}

fn paths_of(document: &Value) -> Vec<String> {
    faults(document, &[]).iter().map(|fault| fault.location.path.to_string()).collect()
}

#[test]
fn faults_of_several_keys_are_reported_with_those_of_single_keys() {
    let mut whole = document();
    whole["workload"]["arrival"]["rate_per_s"] = json!(-1);
    whole["run"] = json!({"requests": 5, "warmup_requests": 9});
    assert_eq!(paths_of(&whole), ["workload.arrival.rate_per_s", "run.warmup_requests"]);
    whole["run"] = json!({"requests": "many", "warmup_requests": 9});
    whole["workload"] =
        json!({"arrival": {"kind": "poisson", "rate_per_s": 1}, "range": {"start_fraction": 1, "end_fraction": 0}});
    whole["missing"] = json!(["bus time"]);
    assert_eq!(paths_of(&whole), ["run.requests", "workload.range.end_fraction", "missing"]);
    // Faults of each valid drive, and the device of an invalid drive.
    let contradicts = json!({"name": "g2", "active_tips": 9000});
    whole = document();
    whole["system"] = json!({"kind": "concat", "members": [
        {"device": contradicts}, {"device": "g2", "batch_max": "x"}, {"device": contradicts, "scheduler": "sptff"},
        {"kind": "partition", "child": {"device": "g2", "batch_max": 4, "merge": {}}, "bytes": 100}, "g22",
    ]});
    let members = [
        "1.batch_max",
        "2.scheduler.name",
        "4.device.name",
        "0.device.active_tips",
        "2.device.active_tips",
        "3.child.batch_max",
        "3.bytes",
    ];
    let mut expected: Vec<String> = members.iter().map(|member| format!("system.members.{member}")).collect();
    let mut paths = paths_of(&whole);
    expected.sort();
    paths.sort();
    assert_eq!(paths, expected);
}

/// The children of an unknown kind are not checked and may be invalid.
#[test]
fn children_of_unknown_kinds_are_not_checked() {
    for device in [json!({"name": "g2", "sleds": 0}), json!({"name": "g2", "tips": -1}), json!("g22"), json!(7)] {
        for bytes in [json!(16_777_216), json!(-1), json!("a")] {
            let partition = json!({"kind": "partition", "child": {"device": device}, "bytes": bytes});
            let mut whole = document();
            whole["system"] = json!({"kind": "uniform", "members": [{"count": 3, "system": partition}]});
            let paths = paths_of(&whole);
            assert!(paths.contains(&"system.kind".to_owned()), "{paths:?}");
            whole["system"] =
                json!({"kind": "drive", "device": "g2", "child": {"kind": "concat", "members": [partition]}});
            assert!(paths_of(&whole).contains(&"system.child".to_owned()));
            whole["system"] = json!({"kind": 5, "child": partition});
            assert!(paths_of(&whole).contains(&"system.kind".to_owned()));
        }
    }
}

#[test]
fn all_contradictions_in_a_system_are_reported() {
    let mut whole = document();
    let cache = json!({"kind": "ram-cache", "child": "g2", "bytes": 4096, "line_bytes": 4096,
        "flush": {"high_water": 0.2, "low_water": 0.5}, "read_ahead": {"kind": "sequential", "most_bytes": 512}});
    let small = json!({"kind": "partition", "child": "g2", "bytes": 100});
    whole["system"] = json!({"kind": "mirror", "members": [cache, {"count": 3, "system": small}], "spares": 1});
    assert_eq!(
        paths_of(&whole),
        [
            "system.members.0.bytes",
            "system.members.0.flush.low_water",
            "system.members.0.read_ahead.most_bytes",
            "system.members.1.system.bytes",
        ]
    );
    whole["system"] = json!({"kind": "mcd", "mems": "g2", "disk": "atlas10k", "mems_bytes": 1_000_000_000_000_u64,
        "segment_bytes": 1000, "units": {}});
    assert_eq!(paths_of(&whole)[..2], ["system.mems_bytes", "system.segment_bytes"]);
    let befallen = json!([{"member": 7, "fails_at_s": 1.0}, {"member": 9, "fails_at_s": 1.0}]);
    whole["system"] = json!({"kind": "mirror", "members": [{"count": 2, "system": "g2"}], "faults": befallen});
    assert_eq!(paths_of(&whole), ["system.faults.0.member", "system.faults.1.member"]);
}

#[test]
fn all_faults_of_mixes_and_hot_spots_are_reported() {
    let arrival = json!({"kind": "poisson", "rate_per_s": 1});
    let backwards = json!({"start_fraction": 0.5, "end_fraction": 0.2});
    let mut spot = backwards.clone();
    spot["probability"] = json!(0.7);
    let spots = json!({"kind": "hot-spots", "spots": [spot, spot]});
    let mut whole = document();
    whole["workload"] = json!({"streams": [
        {"arrival": arrival, "range": backwards, "metadata": {}}, {"arrival": arrival, "name": "x", "location": spots},
    ]});
    assert_eq!(
        paths_of(&whole),
        [
            "workload.streams.0.range.end_fraction",
            "workload.streams.0.metadata.share",
            "workload.streams.1.name",
            "workload.streams.1.location.spots.0.end_fraction",
            "workload.streams.1.location.spots.1.end_fraction",
            "workload.streams.1.location.spots",
        ]
    );
}

fn document_that_contradicts_itself() -> Value {
    let mut document = document();
    document["system"] = json!({"kind": "partition", "bytes": 100, "child":
        {"device": {"name": "g2", "active_tips": 9000}, "batch_max": 4, "merge": {}}});
    document["workload"]["range"] = json!({"start_fraction": 0.9, "end_fraction": 0.1});
    document["run"] = json!({"time_s": 1, "warmup_s": 2});
    document
}

#[test]
fn messages_use_the_vocabulary_of_the_reader() {
    let fault = Fault::misfit("last_block", 9)
        .says(" is beyond ")
        .key_is("blocks", 4)
        .says(": give ")
        .set("fit", "wrap")
        .says(" or ")
        .option("first_record")
        .within("workload")
        .in_file("a.trace")
        .on_line(3);
    assert_eq!(
        fault.text(&Keys),
        "a.trace: line 3: workload.last_block = 9 is beyond workload.blocks = 4: give workload.fit = \"wrap\" or workload.first_record"
    );
    assert_eq!(
        fault.text(&Options),
        "a.trace: line 3: workload.last_block = 9 is beyond workload.blocks = 4: give --fit wrap or --first-record"
    );
    let setting = &faults(&document(), &["sead=1"])[0];
    assert_eq!(setting.location.setting.as_deref(), Some("sead=1"));
    assert!(
        setting.text(&Keys).starts_with("overrides = \"sead=1\": unknown key sead: did you mean \"seed\"?"),
        "{setting}"
    );
    assert!(setting.text(&Options).starts_with("--set sead=1: unknown key sead: did you mean \"seed\"?"));
}

/// Documents with a wrong `bit_nm` in a short form, and its path as written.
const SHORT_FORMS: [(&str, Notation, &str); 10] = [
    (
        "[system]\nkind = 'concat'\n[[system.members]]\ncount = 3\n# c\n# c\ndevice = { name = 'g2', bit_nm = -1 }\n",
        Notation::Toml,
        "system.members.0.device.bit_nm",
    ),
    (
        "[system]\nkind = 'concat'\nmembers = [\n'g1',\n{ device = { name = 'g2',\nbit_nm = -1 } },\n]\n",
        Notation::Toml,
        "system.members.1.device.bit_nm",
    ),
    (
        "[system]\nkind = 'concat'\n[[system.members]]\n[system.members.device]\nname = 'g2'\nbit_nm = -1\n",
        Notation::Toml,
        "system.members.0.device.bit_nm",
    ),
    (
        "[system]\nkind = 'concat'\n[[system.members]]\n[system.members.system]\ndevice.name = 'g2'\ndevice.bit_nm = -1\n",
        Notation::Toml,
        "system.members.0.system.device.bit_nm",
    ),
    (
        "[system]\nkind = 'concat'\n[[system.members]]\nkind = 'concat'\n[[system.members.members]]\ndevice = 'g1'\n\
         [[system.members.members]]\n[system.members.members.system.device]\nname = 'g2'\nbit_nm = -1\n",
        Notation::Toml,
        "system.members.0.members.1.system.device.bit_nm",
    ),
    (
        "system:\n  kind: concat\n  members:\n    - g1\n    - count: 2\n      # c\n      device:\n        name: g2\n        bit_nm: -1\n",
        Notation::Yaml,
        "system.members.1.device.bit_nm",
    ),
    (
        "{\"system\": {\"kind\": \"concat\", \"members\": [\"g1\",\n{\"kind\": \"concat\", \"members\": [\n\
         {\"device\":\n{\"name\": \"g2\",\n\"bit_nm\": -1}}]}]}}",
        Notation::Json,
        "system.members.1.members.0.device.bit_nm",
    ),
    (
        "{\"system\": {\"kind\": \"concat\", \"members\": [\n{\"system\": {\"device\":\n{\"name\": \"g2\",\n\"bit_nm\": -1}}}]}}",
        Notation::Json,
        "system.members.0.system.device.bit_nm",
    ),
    (
        "[system]\nkind = 'concat'\nmembers = ['own']\n[components.own]\n# c\ndevice.name = 'g2'\ndevice.bit_nm = -1\n",
        Notation::Toml,
        "components.own.device.bit_nm",
    ),
    (
        "system: outer\ncomponents:\n  outer:\n    kind: concat\n    members:\n      - count: 2\n        system: inner\n\
         \x20 inner:\n    kind: concat\n    members:\n      - device:\n          name: g2\n          bit_nm: -1\n",
        Notation::Yaml,
        "components.inner.members.0.device.bit_nm",
    ),
];

#[test]
fn faults_in_short_forms_have_the_written_path() {
    for (text, notation, path) in SHORT_FORMS {
        let settings = ["workload.arrival={ kind = 'poisson', rate_per_s = 10 }".to_owned()];
        let read = |more: &[String]| {
            let settings = [settings.as_slice(), more].concat();
            resolve(text, notation, "a", &settings, &catalog(), File::new("."))
        };
        let found = read(&[]).expect_err(text);
        let [fault] = &*found else { panic!("{found}\n{text}") };
        let line = text.lines().position(|line| line.contains("bit_nm")).map(|at| at as u64 + 1);
        assert_eq!((fault.location.path.to_string().as_str(), fault.location.line), (path, line), "{text}");
        // The path of a fault can be used in a setting, and the fault then names the setting.
        let found = read(&[format!("{path}=-2")]).expect_err(text);
        assert_eq!(
            (found.len(), found[0].location.setting.clone()),
            (1, Some(format!("{path}=-2"))),
            "{found}\n{text}"
        );
    }
}

/// A fault of a value from a setting names the last setting of its path, and no line.
#[test]
fn faults_of_settings_name_the_setting() {
    let own = |settings: &[&str]| faults(&document(), settings)[0].clone();
    let fault = own(&["run.requests=7", "device.tips=-5"]);
    assert_eq!(
        (fault.location.setting.as_deref(), &fault.location.file, fault.location.line),
        (Some("device.tips=-5"), &None, None)
    );
    assert!(
        fault.text(&Options).starts_with("--set device.tips=-5: system.device.tips = -5 is out of range"),
        "{fault}"
    );
    for (settings, named) in [
        (&["device={name=\"g2\",bit_nm=-3}"][..], 0),
        (&["run.requests=5", "run.warmup_requests=6"], 1),
        (&["device.bit_nm=-1", "device.bit_nm=-2"], 1),
        (&["scheduler=lok"], 0),
    ] {
        assert_eq!(own(settings).location.setting.as_deref(), Some(settings[named]), "{settings:?}");
    }
}

#[test]
fn syntax_errors_have_a_line() {
    let read = |text: &str, notation| {
        Fault::clone(&resolve(text, notation, "a", &[], &catalog(), File::new(".")).unwrap_err()[0])
    };
    for (text, notation) in [
        ("seed = 1\nseed = = 2", Notation::Toml),
        ("seed: 1\nrun: [", Notation::Yaml),
        ("{\"seed\": 1,\n\"run\":: 2}", Notation::Json),
    ] {
        let fault = read(text, notation);
        assert_eq!((fault.kind, fault.location.line.is_some_and(|line| line >= 2)), (Kind::Notation, true), "{fault}");
    }
}

#[test]
fn faults_in_a_device_file_name_it_and_the_document_that_uses_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("own.toml");
    let text =
        "mechanism = \"simpledisk-constant\"\n[values]\nblock_bytes = 512\naccess_ms = -1.0\ncapacity_blocks = 9\n";
    std::fs::write(&file, text).expect("written");
    let mut whole = document();
    whole["system"]["device"] = json!(file);
    let fault = &faults(&whole, &[])[0];
    assert_eq!(fault.location.file.as_deref(), file.to_str());
    assert_eq!(fault.location.used_by.as_deref(), Some("my.json"));
    assert_eq!(fault.location.path.to_string(), "values.access_ms");
    assert_eq!(fault.location.line, Some(4));
    let said = format!("{}: line 4: values.access_ms = -1 is out of range", file.display());
    assert!(fault.to_string().starts_with(&said) && fault.to_string().ends_with(" (used by my.json)"), "{fault}");
}

#[test]
fn all_faults_of_a_device_file_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("own.toml");
    let mut whole = document();
    whole["system"]["device"] = json!(file);
    let paths = |text: &str| {
        std::fs::write(&file, text).expect("written");
        let mut found: Vec<String> = faults(&whole, &[]).iter().map(|fault| fault.location.path.to_string()).collect();
        found.sort();
        found
    };
    let own = "base = \"g2\"\ntitel = \"mine\"\n[values]\nbit_nm = \"wide\"\ntips = -4\nzip = 1\n";
    assert_eq!(paths(own), ["titel", "values.bit_nm", "values.tips", "values.zip"]);
    let units = "base = \"g2\"\n[values]\nbit_nm = { value = 30, unit = \"mm\" }\n\
                 startup_ms = { value = 1, unit = \"s\" }\ntips = -4\n";
    assert_eq!(paths(units), ["values.bit_nm.unit", "values.startup_ms.unit", "values.tips"]);
}
