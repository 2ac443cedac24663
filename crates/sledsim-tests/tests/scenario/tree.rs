//! Systems that are trees of components: notation, errors, and reports of components.
//!
//! Properties: short forms resolve to long forms, and resolved documents to themselves; a partition that starts at
//! block 0 and volumes on one drive serve every request as the drive alone does; reports of components add up to that
//! of the system.

use std::path::Path;

use serde_json::{json, Value};
use sledsim::engine::System;
use sledsim::hierarchy::{Child, Drive, Partition, PartitionSpec, VolumeSpec, Volumes, VolumesSpec};
use sledsim::scenario::{self, explain, DeviceSpec, Notation};
use sledsim::schedulers::{build, fcfs};
use sledsim::units::shown_bytes;
use sledsim_testing::scenarios::{self, catalog, poisson, resolve, resolved};
use sledsim_testing::test_bed::{Load, TestBed};

fn document(system: Value) -> Value {
    json!({"workload": poisson(300.0), "system": system, "run": {"requests": 600}})
}

/// Returns the resolved system of a document.
fn tree(document: &Value) -> Value {
    serde_json::to_value(resolved(document).system).expect("a table")
}

fn error_of(document: &Value) -> String {
    resolve(document).expect_err(&document.to_string())
}

#[test]
fn short_forms_resolve_to_the_long_ones() {
    let g2 = json!({"kind": "drive", "device": {"name": "g2"}, "scheduler": {"name": "sptf"}});
    let long = json!({
        "kind": "volumes",
        "members": [
            {"count": 2, "system": g2},
            {"count": 1, "system": {"kind": "partition", "name": "front", "child": {"kind": "drive", "device": {"name": "g3"}},
                "first_block": 0, "bytes": 1_048_576}},
        ],
    });
    let short = json!({
        "kind": "volumes",
        "members": [{"count": 2, "device": "g2", "scheduler": "sptf"}, "front"],
    });
    let mut short = document(short);
    short["components"] = json!({"front": {"kind": "partition", "child": "g3", "bytes": "1 MiB"}});
    assert_eq!(resolved(&short), resolved(&document(long)));

    let once = resolved(&short);
    assert_eq!(resolved(&serde_json::to_value(&once).expect("a table")), once);
    assert_eq!(tree(&document(json!("g2"))), tree(&document(json!({"device": "g2"}))));
    // A component that is only a name refers to the named component.
    short["components"]["alias"] = json!("front");
    short["system"]["members"][1] = json!("alias");
    assert_eq!(resolved(&short), once);
}

#[test]
fn settings_reach_every_component() {
    let text = r#"{"workload": {"arrival": {"kind": "closed", "outstanding": 1}}, "components": {"fast": {"device": "g1"}},
        "system": {"kind": "volumes", "members": ["atlas10k", {"count": 2, "system": "g2"}, "fast"]}}"#;
    let settings = [
        "system.members.0.scheduler=clook",
        "system.members.1.system.device.bit_nm=50",
        "system.members.1.count=3",
        "components.fast.device.name=g3",
        "by_origin=true",
    ];
    let resolved =
        scenario::resolve(text, Notation::Json, "test", &settings.map(str::to_owned), &catalog(), Path::new("."));
    let system = serde_json::to_value(&resolved.expect("settings that fit").scenario().system).expect("a table");
    assert_eq!(system["members"][0]["system"]["scheduler"]["name"], "clook");
    assert_eq!(system["members"][1]["system"]["device"]["bit_nm"], 50.0);
    assert_eq!((&system["members"][1]["count"], &system["by_origin"]), (&json!(3), &json!(true)));
    assert_eq!(system["members"][2]["system"]["device"]["name"], "g3");
    assert_eq!(system["members"][2]["system"]["name"], "fast");
}

#[test]
fn a_single_drive_resolves_and_reports() {
    let scenario = resolved(&document(json!({"device": "g2"})));
    let keys: Vec<String> = serde_json::to_value(&scenario.system)
        .expect("a table")
        .as_object()
        .expect("a table")
        .keys()
        .cloned()
        .collect();
    let expected = [
        "kind",
        "device",
        "scheduler",
        "batch_max",
        "merge",
        "spin_down",
        "delayed_startup",
        "anticipation",
        "subsector",
    ];
    assert_eq!(keys, expected);
    let report = serde_json::to_value(scenarios::run(&scenario).report).expect("a table");
    assert!(report.get("components").is_none());
    assert_eq!((&report["device"]["name"], &report["scheduler"]), (&json!("g2"), &json!("fcfs")));
}

#[test]
fn contradictions_name_both_keys() {
    let partition = |child: Value| json!({"kind": "partition", "child": child, "bytes": "1 MiB"});
    let volumes = |members: Value| json!({"kind": "volumes", "members": members});
    let coarse = json!({"device": {"name": "simpledisk-constant", "block_bytes": 4096}});
    let mut deep = json!("g2");
    for _ in 0..16 {
        deep = partition(deep);
    }
    for (system, problem) in [
        (json!({"kind": "partition", "child": "g2", "bytes": "10 GB"}), "system.bytes = 10000000000 (10 GB) from system.first_block = 0 on reaches beyond the 3.456 GB of system.child"),
        (json!({"kind": "partition", "child": "g2"}), "system.bytes is missing: Its size"),
        (json!({"kind": "partition", "bytes": 512}), "system.child is missing"),
        (json!({"child": "g2", "bytes": 512}), "system.kind is missing: expected one of drive, partition, volumes, "),
        (json!({"kind": "raid9", "child": "g2"}), "system.kind = \"raid9\" is not known"),
        (volumes(json!([])), "system.members is empty: it needs at least one entry"),
        (volumes(json!(["g2", coarse])), "system.members.1 has blocks of 4096 B, system.members.0 of 512 B: they must be equal"),
        (volumes(json!([{"count": 0, "device": "g2"}])), "system.members.0.count = 0 is out of range"),
        (volumes(json!([{"count": 2, "device": "g2", "sceduler": "sptf"}])), "unknown key system.members.0.sceduler"),
        (volumes(json!(["g2", {"device": "atlas10k", "subsector": true}])), "system.members.1.subsector = true: atlas10k can't access less"),
        (volumes(json!(["g2", {"device": {"name": "g3", "bit_nm": "wide"}}])), "system.members.1.device.bit_nm = \"wide\""),
        (partition(partition(json!({"device": "nosuch"}))), "system.child.child.device.name = \"nosuch\" is not known"),
        (partition(json!({"device": "g2", "batch_max": 4, "merge": {}})), "system.child.batch_max = 4 and system.child.merge exclude each other"),
        (partition(json!({"device": "atlas10k", "spin_down": "timeout"})), "system.child.spin_down.after_ms is missing"),
        (deep, "it is nested deeper than 16 components"),
        (json!({"kind": "volumes", "members": [{"count": 2, "device": "g2"}], "moved": {"x": 1}}), "unknown key system.moved.x"),
        (partition(volumes(json!([{"count": 1024, "device": "g2"}, {"count": 1024, "device": "g2"}, {"count": 1024, "device": "g2"}, {"count": 1024, "device": "g2"}]))), "more than 4096 components"),
    ] {
        let error = error_of(&document(system));
        assert!(error.contains(problem), "{error}\nexpected: {problem}");
    }
}

#[test]
fn named_components_are_used_once() {
    let named = |system: Value, components: Value| {
        let mut document = document(system);
        document["components"] = components;
        error_of(&document)
    };
    let over = |child: &str| json!({"kind": "partition", "child": child, "bytes": 512});
    let cycle = named(over("a"), json!({"a": over("b"), "b": over("a")}));
    assert!(
        cycle.contains("components.b has components.a below it, which it is itself a part of (a -> b -> a)"),
        "{cycle}"
    );
    // These components are unused, but that is not their fault under test.
    let cycle = named(json!("g2"), json!({"a": over("a")}));
    assert!(cycle.contains("components.a has components.a below it"), "{cycle}");
    let twice = named(json!({"kind": "volumes", "members": ["a", over("a")]}), json!({"a": "g2"}));
    let both = "components.a is both system.members.0 and system.members.1.child: a component has one place";
    assert!(twice.contains(both), "{twice}");
    let unused = named(json!("g2"), json!({"a": "g3"}));
    assert!(unused.contains("components.a is used nowhere"), "{unused}");
    let unknown = named(json!({"kind": "volumes", "members": ["a", "aa"]}), json!({"a": "g2"}));
    assert!(unknown.contains("\"aa\" is not known") && unknown.ends_with("; and components has a"), "{unknown}");
    assert!(named(json!("g2"), json!(3)).contains("components = 3 is of the wrong type: expected a table"));
}

#[test]
fn faults_in_device_files_name_the_file() {
    let folder = std::env::temp_dir().join(format!("sledsim-tree-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("own.toml");
    std::fs::write(
        &file,
        "mechanism = \"simpledisk-constant\"\n[values]\nblocks = 100\nblock_bytes = 512\nservice_ms = -1\n",
    )
    .expect("a file");
    let system = json!({"kind": "volumes", "members": ["g2", {"device": file.to_string_lossy()}]});
    let error = error_of(&document(system));
    std::fs::remove_dir_all(&folder).expect("a folder");
    for expected in [
        "line 3: unknown key values.blocks",
        "line 5: unknown key values.service_ms",
        "values.access_ms is missing",
        "(used by ",
    ] {
        assert!(error.contains(expected), "{error}");
    }
    assert!(!error.contains("known: mechanism"), "keys of the table around the values: {error}");
}

/// Returns response and phases of each request.
fn log_of(system: Value) -> Vec<(u64, u64, u64, u64)> {
    let output = scenarios::run(&resolved(&document(system)));
    let log = output.recorder.log().expect("a log");
    let line = |(request, service): &(sledsim::request::Request, sledsim::service::Service)| {
        (request.id, request.lbn, service.start.ns(), service.end.ns())
    };
    log.entries.iter().map(line).collect()
}

#[test]
fn partitions_and_volumes_add_no_time() {
    let drive = json!({"device": "simpledisk-constant", "scheduler": "fcfs"});
    let whole = tree(&document(drive.clone()));
    let blocks = explain(&resolved(&document(drive.clone())).system).expect("a tree").capacity_blocks;
    assert_eq!(whole["kind"], "drive");
    let alone = log_of(drive.clone());
    let bytes = blocks * 512;
    let partition = json!({"kind": "partition", "child": drive, "bytes": bytes});
    assert_eq!(log_of(partition), alone);
    assert_eq!(log_of(json!({"kind": "volumes", "members": [drive]})), alone);
}

#[test]
fn reports_of_components_add_up() {
    let system = json!({
        "kind": "volumes",
        "members": [{"device": "g2", "name": "first"}, {"device": "g2", "scheduler": "sptf"}],
        "volumes": [{"name": "a", "bytes": "1 GB"}, {"name": "b", "bytes": "2 GB"}, {"name": "c", "bytes": "3 GB", "member": 1}],
    });
    let mut all = document(system.clone());
    let report = scenarios::run(&resolved(&all)).report;
    assert_eq!((report.device.name.as_str(), report.scheduler.as_str()), ("volumes of 2 g2", "several"));
    assert_eq!(report.device.capacity_blocks, 6_000_000_000 / 512);
    let [root, first, second] = report.components.as_slice() else { panic!("{:?}", report.components) };
    assert_eq!((root.path.as_str(), root.parent.as_deref(), root.kind.as_str()), ("system", None, "volumes"));
    assert_eq!((first.path.as_str(), first.parent.as_deref()), ("system.members[0]", Some("system")));
    assert_eq!((first.name.as_deref(), second.name.as_deref()), (Some("first"), Some("g2")));
    // No request is split: each goes to the member of its volume.
    let sent = [root, first, second].map(|component| component.requests);
    assert_eq!((sent[0], sent[1] + sent[2]), (600, 600 + root.counts[0].value as u64));
    // Requests are counted in the path of their volume, in proportion to its size: 100, 200, 300 of 600 within 5
    // standard deviations.
    let names: Vec<&str> = root.paths.iter().map(|path| path.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(root.paths.iter().map(|path| path.requests).sum::<u64>(), 600);
    for (path, expected) in root.paths.iter().zip([100.0_f64, 200.0, 300.0]) {
        let std = (expected * (1.0 - expected / 600.0)).sqrt();
        assert!((path.requests as f64 - expected).abs() < 5.0 * std, "{path:?}");
    }
    let mean = |paths: &[scenario::PathReport]| {
        paths.iter().filter_map(|path| Some(path.mean_ms? * path.requests as f64)).sum::<f64>() / 600.0
    };
    let response = report.response.expect("requests").mean_ms;
    assert!((mean(&root.paths) - response).abs() < 1e-9 * response);
    let mechanisms = [first, second].map(|drive| drive.mechanisms.clone().expect("a sled"));
    let energy: f64 = mechanisms.iter().filter_map(|each| each.energy_j).sum();
    let total = report.energy.expect("known powers");
    assert!((energy - total.total_j).abs() < 1e-9 * energy && !total.states.is_empty());
    let utilisation = (mechanisms[0].utilisation + mechanisms[1].utilisation) / 2.0;
    assert!((utilisation - report.utilisation.fraction).abs() < 1e-12);
    assert!(root.mechanisms.is_none());

    // A disk with unknown powers has no energy report.
    all["system"]["members"][1] = json!("atlas10k");
    let report = scenarios::run(&resolved(&all)).report;
    assert!(
        report.energy.is_none() && report.components[1].mechanisms.as_ref().is_some_and(|it| it.energy_j.is_some())
    );
    assert_eq!(report.device.name, "volumes of g2 and atlas10k");

    // With routing by origin, every request of this workload goes to volume 0, which is smaller than the largest
    // volume.
    all["system"] = system;
    all["system"]["by_origin"] = true.into();
    let report = scenarios::run(&resolved(&all)).report;
    assert_eq!(report.device.capacity_blocks, 3_000_000_000 / 512);
    assert_eq!(report.components[0].paths[0].requests, report.requests.completed);
    assert!(report.requests.failed > 300 && report.requests.completed > 100, "{:?}", report.requests);
}

#[test]
fn explanations_group_equal_members() {
    let system = json!({
        "kind": "volumes", "name": "shelf",
        "members": [{"count": 3, "device": "g2"}, {"kind": "partition", "child": "g3", "bytes": "1 MiB"}],
    });
    let tree = explain(&resolved(&document(system)).system).expect("a tree");
    assert_eq!((tree.kind.as_str(), tree.name.as_deref(), tree.path.as_str()), ("volumes", Some("shelf"), "system"));
    let [drives, partition] = tree.children.as_slice() else { panic!("{tree:?}") };
    assert_eq!((drives.role.as_str(), drives.count, drives.capacity_blocks), ("members[0..2]", 3, 6_750_000));
    assert_eq!((partition.role.as_str(), partition.path.as_str()), ("members[3]", "system.members[3]"));
    assert_eq!(partition.capacity_blocks, 2048);
    assert_eq!(partition.children[0].path, "system.members[3].child");
    assert_eq!(tree.capacity_blocks, 3 * 6_750_000 + 2048);
    assert_eq!((&drives.parameters["device"], &partition.parameters["bytes"]), (&json!("g2"), &json!(1_048_576)));
}

#[test]
fn explanations_name_write_latency_and_losses_of_power_cuts_and_failures() {
    let notes = |system: Value| explain(&resolved(&document(system)).system).expect("a tree").notes.join("; ");
    let cache = |keys: Value| {
        let mut system = json!({"kind": "ram-cache", "child": "g2", "bytes": "3 MiB", "line_bytes": "64 KiB"});
        system.as_object_mut().expect("a table").extend(keys.as_object().expect("a table").clone());
        notes(system)
    };
    let array = |kind: &str, count: u32, keys: Value| {
        let mut system = json!({"kind": kind, "members": [{"count": count, "device": "g2"}]});
        system.as_object_mut().expect("a table").extend(keys.as_object().expect("a table").clone());
        notes(system)
    };
    assert_eq!(notes(json!("g2")), "writes wait for the medium here");
    // All segments may be dirty.
    let DeviceSpec::Disk(disk) = scenarios::device_spec("atlas10k") else { panic!("a disk") };
    let bytes = u64::from(disk.buffer_segments) * u64::from(disk.segment_blocks) * u64::from(disk.block_bytes);
    let buffer = notes(json!("atlas10k"));
    assert_eq!(
        buffer,
        format!(
            "writes are acknowledged from a volatile buffer: a power cut loses up to {} of them",
            shown_bytes(bytes)
        )
    );
    assert!(cache(json!({})).contains("volatile memory: a power cut loses up to 3 MiB of them"));
    assert!(cache(json!({"volatile": false})).contains("acknowledged from non-volatile memory"));
    assert_eq!(cache(json!({"write": "through"})), "writes wait for the child");
    let mirror = array("mirror", 3, json!({"spares": 2, "rebuild": {"mb_per_s": 5}}));
    for text in ["wait for 3 members", "bears the failure of 2 members", "rebuilds on 2 spares at 5 MB/s at most"] {
        assert!(mirror.contains(text), "{mirror}");
    }
    assert!(mirror.contains("without a journal a power cut may leave copies that differ"), "{mirror}");
    let raid = array("raid6", 5, json!({"journal": {"size_bytes": "2 MiB"}}));
    for text in ["and 2 of parity", "bears the failure of 2 members", "2 MiB of non-volatile journal"] {
        assert!(raid.contains(text), "{raid}");
    }
    assert!(array("raid5", 3, json!({})).contains("bears the failure of 1 member;"));
    assert!(array("stripe", 3, json!({})).contains("failure of a member loses a part of all data"));
    let mcd = |shortcut: bool| notes(json!({"kind": "mcd", "mems": "g2", "disk": "atlas10k", "shortcut": shortcut}));
    assert!(mcd(true).contains("mems or 2 MiB of non-volatile buffer have them") && !mcd(false).contains("buffer"));
}

/// A mirror reads from the nearest member, even if members may fail later.
#[test]
fn a_mirror_uses_positioning_times_of_members_that_may_fail() {
    let run = |faults: Value| {
        let system = json!({
            "kind": "mirror", "read": "nearest", "faults": faults, "members": [{"count": 2, "device": "g2"}],
        });
        scenarios::run(&resolved(&document(system))).report.response.expect("requests").mean_ms
    };
    assert_eq!(run(json!([])), run(json!([{"member": 0, "fails_at_s": 1e6}, {"member": 1, "fails_at_s": 1e6}])));
}

/// Systems of every kind that does more than pass on requests.
fn kept() -> Vec<(&'static str, Value)> {
    let disk = json!({"device": "atlas10k", "scheduler": "clook"});
    vec![
        ("ram-cache", json!({"kind": "ram-cache", "child": disk, "bytes": "1 MiB", "policy": "arc"})),
        ("mwb", json!({"kind": "mwb", "mems": "g2", "disk": disk, "mems_bytes": "4 MiB"})),
        (
            "mcd",
            json!({"kind": "mcd", "mems": "g2", "disk": disk, "mems_bytes": "4 MiB", "policy": "lfuda", "shortcut": false}),
        ),
        ("stripe", json!({"kind": "stripe", "members": [{"count": 3, "device": "g2"}]})),
        ("mirror", json!({"kind": "mirror", "members": [{"count": 2, "device": "g2"}], "read": "nearest"})),
        (
            "raid5",
            json!({"kind": "raid5", "members": [disk, {"count": 3, "device": "atlas10k"}], "spares": 1,
            "faults": [{"member": 2, "fails_at_s": 0.2}], "rebuild": {"mb_per_s": 5}, "journal": {}}),
        ),
        (
            "raid6",
            json!({"kind": "raid6", "members": [{"count": 5, "device": "g2"}], "unit_bytes": "16 KiB",
            "sparing": "distributed", "spares": 1}),
        ),
        ("concat", json!({"kind": "concat", "members": ["g2", "g3"]})),
    ]
}

#[test]
fn every_kind_counts_each_request_in_a_path() {
    for (kind, system) in kept() {
        let system = json!({"kind": "ram-cache", "bytes": "512 KiB", "write": "through", "child": system});
        let scenario = resolved(&document(system));
        assert_eq!(resolved(&serde_json::to_value(&scenario).expect("a table")), scenario, "{kind}");
        let report = scenarios::run(&scenario).report;
        assert_eq!((report.requests.completed, report.requests.failed), (600, 0), "{kind}");
        assert_eq!(report.components[1].kind, kind);
        let ways =
            |component: &scenario::ComponentReport| component.paths.iter().map(|path| path.requests).sum::<u64>();
        assert_eq!(ways(&report.components[0]), 600, "{kind}: {:?}", report.components[0].paths);
        assert!(ways(&report.components[1]) > 0, "{kind}: {:?}", report.components[1].paths);
        assert!(report.components.iter().skip(2).all(|component| component.mechanisms.is_some()));
    }
}

#[test]
fn kinds_reject_contradicting_keys() {
    let coarse = json!({"device": {"name": "simpledisk-constant", "block_bytes": 4096}});
    for (system, problem) in [
        (json!({"kind": "ram-cache", "child": "g2", "bytes": "10 GB"}), "system.bytes = 10000000000: larger than the"),
        (
            json!({"kind": "ram-cache", "child": "g2", "bytes": "1 MiB", "policy": "lrru"}),
            "system.policy.name = \"lrru\" is not known",
        ),
        (
            json!({"kind": "mwb", "mems": "g2", "disk": "g2"}),
            "system.mems_bytes = 3456000000, system.disk has 3456000000 B",
        ),
        (
            json!({"kind": "mwb", "mems": "g2", "disk": "atlas10k", "mems_bytes": "10 GB"}),
            "system.mems_bytes = 10000000000 exceeds",
        ),
        (json!({"kind": "mwb", "mems": "g2"}), "system.disk is missing"),
        (json!({"kind": "raid5", "members": ["g2", "g2"]}), "system.members are 2 in all: raid5 needs at least 3"),
        (json!({"kind": "stripe", "members": ["g2"]}), "system.members are 1 in all: stripe needs at least 2"),
        (json!({"kind": "mirror", "members": ["g2", coarse]}), "members.1 has blocks of 4096 B"),
        (
            json!({"kind": "raid5", "members": [{"count": 3, "device": "g2"}], "unit_bytes": 6000}),
            "system.unit_bytes = 6000 is no multiple of the 512 B blocks",
        ),
        (
            json!({"kind": "raid5", "members": [{"count": 3, "device": "g2"}], "faults": [{"member": 7}]}),
            "system.faults.0.member = 7: system has 3 members and spares",
        ),
        (
            json!({"kind": "raid5", "members": [{"count": 3, "device": "g2"}], "faults": [{"member": 0, "fails_at": 1}]}),
            "unknown key system.faults.0.fails_at",
        ),
        (
            json!({"kind": "raid5", "members": [{"count": 3, "device": "g2"}], "faults": [{"member": 0, "unreadable": [{"lbn": 99_999_999}]}]}),
            "system.faults.0.unreadable.0: the member has 6750000 blocks, no 1 from 99999999 on",
        ),
        (
            json!({"kind": "volumes", "members": ["g2"], "moves": [{"volume": "member 0", "to": 0}]}),
            "system.moves.0.to = 0: the volume has 3.456 GB, system.members.0 at most 0 B free in one piece",
        ),
        (
            json!({"kind": "partition", "bytes": 512, "child": {"kind": "mirror", "members": ["g2", coarse]}}),
            "system.child.members.1 has blocks of 4096 B, system.child.members.0 of 512 B",
        ),
        (
            json!({"kind": "concat", "members": ["g2", {"kind": "ram-cache", "child": "g2", "bytes": "10 GB"}]}),
            "system.members.1.bytes = 10000000000: larger than the 3456000000 B of system.members.1.child",
        ),
        (
            json!({"kind": "concat", "members": ["g2", {"device": {"name": "atlas10k", "rotation_rpm": -5}}]}),
            "system.members.1.device.rotation_rpm = -5",
        ),
        (
            json!({"kind": "mwb", "mems": "g2", "disk": coarse}),
            "system.mems has blocks of 512 B, system.disk of 4096 B",
        ),
        (json!({"kind": "raid5", "spares": 2, "members": [{"count": 2, "device": "g2"}]}), "raid5 needs at least 3"),
        (
            json!({"kind": "mcd", "mems": "g2", "disk": "g2", "mems_bytes": "10 GB"}),
            "system.mems_bytes = 10000000000 exceeds",
        ),
    ] {
        let error = error_of(&document(system));
        assert!(error.contains(problem), "{error}\nexpected: {problem}");
    }
}

/// Three volumes over two drives and a partition; the last volume starts before the others on its drive.
fn volumes() -> System {
    let mut system = System::default();
    let mut drive = || {
        let device = scenario::device(&scenarios::device_spec("simpledisk-constant")).expect("a device");
        let scheduler = build(&fcfs::POLICY.default, device.as_ref());
        system.add(Box::new(Drive::new(device, scheduler, 1)), &[])
    };
    let drives = [drive(), drive()];
    let range = PartitionSpec { first_block: 77, bytes: 512 * 200 };
    let part = Partition::new(&range, Child::of(&system, drives[1])).expect("it fits");
    let part = system.add(Box::new(part), &[drives[1]]);
    let volume = |name: &str, blocks: u64, member, first_block| VolumeSpec {
        name: name.into(),
        bytes: blocks * 512,
        member,
        first_block,
        origin: None,
    };
    let spec = VolumesSpec {
        volumes: vec![volume("a", 150, 0, Some(300)), volume("b", 130, 1, None), volume("c", 120, 0, Some(20))],
        moved: [("a".to_owned(), 0)].into(),
        ..VolumesSpec::default()
    };
    let members = [drives[0], part].map(|id| Child::of(&system, id));
    system.add(Box::new(Volumes::new(&spec, &members).expect("they fit")), &[drives[0], part]);
    system
}

#[test]
fn volumes_return_written_data() {
    let load = Load { span_blocks: 400, most_blocks: 60, writes: 0.5, gap_ns: 3_000_000, outstanding: 8 };
    let mut bed = TestBed::new(volumes(), 3);
    assert_eq!(bed.capacity_blocks(), 400);
    bed.operate(6_000, &load);
    bed.settle();
    bed.read_all();
    assert!(bed.wrong.is_empty() && bed.lost.is_empty(), "{:?} {:?}", bed.wrong.first(), bed.lost);
    let root = bed.system.root();
    let details = bed.system.component(root).details(bed.system.now()).expect("paths");
    assert!(details.counts[0].value > 300.0, "requests that reach over borders: {:?}", details.counts);
    for cut in 0..40 {
        bed.cut(1 + cut * 7 % 300, &load, 0);
    }
    assert!(bed.wrong.is_empty() && bed.lost.is_empty(), "{:?} {:?}", bed.wrong.first(), bed.lost);
}
