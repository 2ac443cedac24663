//! Limits without a key: sizes of documents, numbers of members and requests, and endless runs.

use std::path::Path as File;

use serde_json::{json, Value};
use sledsim::fault::{Fault, Kind};
use sledsim::limits::{
    ALL, COMPONENTS, DOCUMENT_BYTES, LATENT_ERRORS, LOG_ROWS, NESTING, PARTS_OF_A_REQUEST, PARTS_UNDER_WAY,
};
use sledsim::scenario::{self, resolve, Notation, Report};
use sledsim_testing::scenarios::{catalog, poisson, resolved};
use sledsim_testing::tiers::size;

fn refused(text: &str, notation: Notation, settings: &[String]) -> Fault {
    let found = resolve(text, notation, "deep", settings, &catalog(), File::new("."));
    found.err().unwrap_or_else(|| panic!("{} characters are taken", text.len()))[0].clone()
}

/// Deeper than the stack of a thread allows.
const DEEP: usize = 100_000;

#[test]
fn documents_nested_too_deep_are_rejected_in_every_notation() {
    for depth in [NESTING.most as usize + 1, 1_000, DEEP] {
        let list = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let table = format!("{}1{}", "{\"a\": ".repeat(depth), "}".repeat(depth));
        let keys = vec!["a"; depth].join(".");
        let documents = [
            (format!("{{\"title\": {list}}}"), Notation::Json),
            (format!("{{\"title\": {table}}}"), Notation::Json),
            (format!("title: {list}\n"), Notation::Yaml),
            (format!("title: {table}\n"), Notation::Yaml),
            (format!("title = {list}\n"), Notation::Toml),
            (format!("title.{keys} = 1\n"), Notation::Toml),
            (format!("[title.{keys}]\n"), Notation::Toml),
        ];
        for (text, notation) in &documents {
            let fault = refused(text, *notation, &[]);
            assert_eq!(fault.kind, Kind::Notation, "{notation:?} {depth}: {fault:.200}");
            assert!(fault.to_string().len() < 1_000, "{notation:?} {depth}: {fault:.200}");
        }
        let fault = refused("", Notation::Toml, &[format!("title.{keys}=1")]);
        assert_eq!(fault.kind, Kind::Notation, "{depth}");
        assert!(fault.to_string().contains("nested deeper than 100"));
    }
}

#[test]
fn brackets_in_strings_and_comments_are_not_counted() {
    let open = "[".repeat(200);
    let cases = [
        (format!("{{\"title\": \"\\\"{open}\", }}"), Notation::Json),
        (format!("title = '{open}\\'\n# {open}\nseed = = 1\n"), Notation::Toml),
    ];
    for (text, notation) in cases {
        let message = refused(&text, notation, &[]).to_string();
        assert!(!message.contains("nested"), "{message}");
    }
}

#[test]
fn too_large_documents_are_rejected() {
    let remark = format!("#{}", " ".repeat(DOCUMENT_BYTES.most as usize - 1));
    assert_ne!(refused(&remark, Notation::Toml, &[]).kind, Kind::Unreadable);
    let message = refused(&format!("{remark} "), Notation::Toml, &[]).to_string();
    assert_eq!(message, "deep: has more than the 16777216 bytes that a document may have");
    // Reading an endless file stops at the limit.
    let named = "[system]\ndevice = \"large.toml\"\n";
    let folder = tempfile::tempdir().expect("a folder");
    let large = folder.path().join("large.toml");
    let file = std::fs::File::create(&large).expect("a file");
    file.set_len(1 << 40).expect("a file of holes");
    let found = resolve(named, Notation::Toml, "s.toml", &[], &catalog(), folder.path());
    let message = found.expect_err("the device is too large").to_string();
    assert!(message.contains("large.toml: has more than the 16777216 bytes"), "{message}");
    assert!(scenario::text_of(&large).is_err_and(|says| says.starts_with("has more than")));
}

#[test]
fn a_long_value_is_shortened_in_messages() {
    let (digits, name) = ("9".repeat(5_000), "x".repeat(5_000));
    let cases = [
        (String::new(), vec![format!("run.requests={digits}")]),
        (String::new(), vec![format!("system.scheduler={name}")]),
        (format!("[workload]\n{name} = 1\n"), Vec::new()),
        (format!("title = [{digits}, \n"), Vec::new()),
    ];
    for (text, settings) in cases {
        let faults = resolve(&text, Notation::Toml, "deep", &settings, &catalog(), File::new("."));
        let text = faults.expect_err("the value is invalid").to_string();
        assert!(text.contains("… (") && text.len() < 1_500, "{} characters: {text:.300}", text.len());
    }
}

#[test]
fn documents_as_deep_as_allowed_are_read() {
    let depth = NESTING.most as usize - 1;
    let list = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    for (text, notation) in
        [(format!("{{\"title\": {list}}}"), Notation::Json), (format!("title: {list}\n"), Notation::Yaml)]
    {
        // A list is not a valid title, but the nesting is accepted.
        assert_ne!(refused(&text, notation, &[]).kind, Kind::Notation);
    }
}

fn try_run(document: &Value) -> Result<Report, String> {
    let scenario = resolved(document);
    let output = scenario::run(&scenario, Vec::new(), false, &mut |_| true);
    output.map(|output| output.report).map_err(|error| error.to_string())
}

fn array(kind: &str, count: u64, keys: &Value) -> Value {
    let mut system = json!({"kind": kind, "members": [{"count": count, "device": "cheetah73"}]});
    system.as_object_mut().expect("a table").extend(keys.as_object().expect("a table").clone());
    system
}

/// A second member fails while the first is rebuilt: requests of lost blocks fail, and the run continues.
#[test]
fn a_second_loss_during_a_rebuild_fails_requests_and_ends() {
    for kind in ["raid4", "raid5", "mirror"] {
        for sparing in ["dedicated", "distributed"] {
            if sparing == "distributed" && kind != "raid5" {
                continue;
            }
            let faults = json!([{"member": 0, "fails_at_s": 0.01}, {"member": 1, "fails_at_s": 0.2}]);
            let mut keys = json!({"spares": 2, "faults": faults});
            if kind != "mirror" {
                keys["sparing"] = sparing.into();
            }
            let system = array(kind, if kind == "mirror" { 2 } else { 3 }, &keys);
            let report = try_run(&json!({"workload": poisson(10.0), "system": system, "run": {"time_s": 3}}));
            let report = report.unwrap_or_else(|error| panic!("{kind} {sparing}: {error}"));
            assert!(report.requests.lost > 0 && report.requests.submitted > 10, "{kind} {sparing}");
            assert_eq!(report.run.end, "time");
        }
    }
}

#[test]
fn zero_latent_errors_of_any_sign_are_none() {
    for kind in ["raid5", "raid6"] {
        let faulty = |latent_per_gb: f64| {
            let system = array(kind, 4, &json!({"faults": [{"member": 0, "latent_per_gb": latent_per_gb}]}));
            try_run(&json!({"workload": poisson(50.0), "system": system, "run": {"requests": 300}})).expect("it ends")
        };
        let [minus, plus] = [faulty(-0.0), faulty(0.0)].map(|report| serde_json::to_string(&report).expect("JSON"));
        assert_eq!(minus, plus);
    }
}

#[test]
fn too_many_latent_errors_are_rejected() {
    let large = json!({"name": "simpledisk-constant", "capacity_blocks": 1_000_000_000_000_000_u64});
    let system = json!({
        "kind": "mirror", "members": [{"count": 2, "system": {"device": large}}],
        "faults": [{"member": 1, "latent_per_gb": 1.0}],
    });
    let document = json!({"workload": poisson(10.0), "system": system});
    let found = resolve(&document.to_string(), Notation::Json, "it", &[], &catalog(), File::new("."));
    let fault = found.expect_err("too many")[0].clone();
    assert_eq!(
        (fault.kind, fault.location.path.to_string()),
        (Kind::Misfit, "system.faults.0.latent_per_gb".to_owned())
    );
    assert!(fault.to_string().contains(&LATENT_ERRORS.most.to_string()), "{fault}");
}

/// The number is allowed for each of three members, but not for all together.
#[test]
fn latent_errors_are_counted_over_all_members() {
    let device = json!({"name": "simpledisk-constant", "capacity_blocks": 2_000_000});
    let a_third = 0.4 * LATENT_ERRORS.most as f64 / (2e6 * 512e-9);
    let refused = |members: u64| {
        let faults: Vec<_> = (0..members).map(|member| json!({"member": member, "latent_per_gb": a_third})).collect();
        let system =
            json!({"kind": "mirror", "members": [{"count": 3, "system": {"device": device}}], "faults": faults});
        let document = json!({"workload": poisson(10.0), "system": system});
        resolve(&document.to_string(), Notation::Json, "it", &[], &catalog(), File::new(".")).err()
    };
    assert!(refused(2).is_none());
    let fault = refused(3).expect("too many")[0].clone();
    assert_eq!(
        (fault.kind, fault.location.path.to_string()),
        (Kind::Misfit, "system.faults.2.latent_per_gb".to_owned())
    );
}

/// A sled is a component with its own queue. Members of an array without a kind are checked, too, but only if their
/// number of sleds is allowed.
#[test]
fn too_many_sleds_are_rejected() {
    let faults = |kind: Option<&str>, count: u32, sleds: u32| {
        let device = json!({"name": "g1-paper", "sleds": sleds});
        let drive = json!({"kind": "drive", "device": device, "scheduler": {"name": "asptf"}});
        let member = json!({"kind": "partition", "child": drive, "first_block": 54547, "bytes": 16777216});
        let mut document =
            json!({"workload": poisson(10.0), "system": {"members": [{"count": count, "system": member}]}});
        document["system"].as_object_mut().expect("a table").extend(kind.map(|kind| ("kind".to_owned(), kind.into())));
        let found = resolve(&document.to_string(), Notation::Json, "it", &[], &catalog(), File::new("."));
        found.err().into_iter().flatten().collect::<Vec<Fault>>()
    };
    assert!(faults(Some("concat"), 3, 1024).is_empty());
    let too_many = faults(Some("concat"), 5, 1024);
    let [fault] = too_many.as_slice() else { panic!("{too_many:?}") };
    assert_eq!(
        (fault.kind, fault.location.path.to_string()),
        (Kind::Misfit, "system.members.0.system.child".to_owned())
    );
    assert!(fault.to_string().contains(&COMPONENTS.most.to_string()), "{fault}");
    for sleds in [0, 1024, 65536] {
        let found: Vec<String> = faults(None, 5, sleds).iter().map(|fault| fault.location.path.to_string()).collect();
        let expected = ["system.kind", "system.members.0.system.child.device.sleds"];
        assert_eq!(found, expected[..if sleds == 1024 { 1 } else { 2 }]);
    }
}

/// Sizes of gigabytes on stripe units of 512 bytes.
#[test]
fn requests_of_too_many_parts_fail_and_the_run_continues() {
    for kind in ["raid5", "raid6", "stripe"] {
        let system = array(kind, 4, &json!({"unit_bytes": 512}));
        let mut workload = poisson(10.0);
        workload["size_bytes"] = json!({"kind": "exponential", "mean": 8_192_000_000.0_f64});
        let report = try_run(&json!({"workload": workload, "system": system, "run": {"requests": 40}}));
        let report = report.unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert!(report.requests.failed > 30 && report.requests.lost == 0, "{kind}: {:?}", report.requests);
        let note = report.run.note.expect("a word on it");
        assert!(note.contains(&format!("more than {} parts", PARTS_OF_A_REQUEST.most)), "{note}");
        assert!(!note.contains("beyond the device"), "{note}");
    }
}

/// Requests of more than half the lines bypass a cache, so their lines are not counted.
#[test]
fn requests_that_bypass_a_cache_may_have_more_lines_than_parts_are_allowed() {
    let most = PARTS_OF_A_REQUEST.most;
    let system = json!({"kind": "ram-cache", "bytes": 2 * most * 512, "line_bytes": 512, "child": "g2"});
    let mut workload = poisson(10.0);
    workload["size_bytes"] = json!({"kind": "fixed", "value": (most + 1) * 512});
    let report = try_run(&json!({"workload": workload, "system": system, "run": {"requests": 2}})).unwrap();
    assert_eq!((report.requests.completed, report.requests.failed), (2, 0));
}

#[test]
fn too_many_outstanding_parts_end_the_run_with_an_error() {
    let system = array("stripe", 4, &json!({"unit_bytes": 512}));
    let workload = json!({
        "arrival": {"kind": "closed", "outstanding": 40}, "size_bytes": {"kind": "fixed", "value": 100_000_000},
    });
    let message = try_run(&json!({"workload": workload, "system": system})).expect_err("too many");
    assert!(message.contains(&PARTS_UNDER_WAY.most.to_string()) && message.contains("at 0 s"), "{message}");
}

/// A million requests in a millisecond that are not split, so that the queue grows.
#[test]
fn a_drive_with_a_too_long_queue_ends_the_run_with_an_error() {
    let arrival = json!({"kind": "constant", "rate_per_s": 1e9});
    let document = json!({"workload": {"arrival": arrival}, "system": {"device": "g2"}, "run": {"time_s": 10}});
    let mut scheduled = document.clone();
    scheduled["system"]["scheduler"] = "sptf".into();
    for document in [document, scheduled].into_iter().take(size(1, 2)) {
        let message = try_run(&document).expect_err("too many");
        assert!(
            message.contains(&PARTS_UNDER_WAY.most.to_string()) && message.contains("fallen far behind"),
            "{message}"
        );
    }
}

#[test]
fn a_log_of_too_many_rows_is_rejected_before_the_run() {
    let document = json!({"workload": poisson(10.0), "system": "g2", "run": {"requests": LOG_ROWS.most + 1}});
    let message =
        scenario::run(&resolved(&document), Vec::new(), true, &mut |_| true).expect_err("too many").to_string();
    assert!(message.contains(&LOG_ROWS.most.to_string()), "{message}");
}

#[test]
fn limits_have_unique_names_and_units() {
    for (place, limit) in ALL.iter().enumerate() {
        assert!(limit.most > 0 && !limit.of.is_empty() && !limit.why.is_empty(), "{limit:?}");
        assert!(ALL[..place].iter().all(|other| other.name != limit.name), "{limit:?}");
    }
}
