//! Faults of an import as data: kind, path of block and parameter, value, allowed values, suggestion, file and line.

use serde_json::{json, Value};
use sledsim::fault::{Fault, Kind};
use sledsim_disksim::{import, ImportOptions};

use super::files::{system, Files};

/// Data of a fault of a parameter: kind, path, value (null for none), allowed values and suggestion.
type FaultData<'a> = (Kind, &'a str, Value, &'a str, &'a str);

fn fault_data(fault: &Fault) -> (Kind, String, Value, String, String) {
    (
        fault.kind,
        fault.location.path.to_string(),
        fault.value.clone().unwrap_or_default(),
        fault.allowed.as_ref().map(ToString::to_string).unwrap_or_default(),
        fault.suggestion.clone().unwrap_or_default(),
    )
}

/// Returns the first fault of a scenario's import after one change; asserts that it is in the changed file.
fn first(file: &str, from: &str, to: &str) -> Fault {
    let files = Files::of_a_drive();
    files.replace(file, from, to);
    let fault = files.scenario("drive.parv").expect_err(&format!("{from:?} to {to:?}"))[0].clone();
    assert_eq!(fault.location.file.as_deref(), files.path(file).to_str(), "{fault}");
    assert!(fault.location.line.is_some_and(|line| line > 0), "{fault}");
    fault
}

fn check(file: &str, from: &str, to: &str, (kind, path, value, allowed, suggestion): FaultData) {
    let expected = (kind, path.to_owned(), value, allowed.to_owned(), suggestion.to_owned());
    assert_eq!(fault_data(&first(file, from, to)), expected, "{from:?} to {to:?}");
}

#[test]
fn values_outside_definitions_are_rejected() {
    let head = |to: &str, expected: FaultData| check("drive.model", "    Head switch time = 0.75,\n", to, expected);
    let (path, range) = ("dm_mech_g1.Head switch time", "a number from 0 to 1000");
    head("Head switch time = 1001,", (Kind::OutOfRange, path, json!(1001), range, ""));
    head("Head switch time = fast,", (Kind::WrongType, path, json!("fast"), range, ""));
    head("", (Kind::Missing, path, json!(null), range, ""));
    let swich = first("drive.model", "Head switch", "Head swich");
    assert_eq!((swich.kind, swich.location.path.last()), (Kind::UnknownKey, Some("Head swich time")));
    assert_eq!(swich.suggestion.as_deref(), Some("Head switch time"));
    let twice = first("drive.model", "Seek type", "Head switch time = 1.0,\nSeek type");
    assert_eq!((twice.kind, &*twice.location.path.to_string()), (Kind::Conflict, path));
    let kinds = "one of linear, curve, constant, hpl, hplplus10, extracted";
    let seek = (Kind::UnknownName, "dm_mech_g1.Seek type", json!("extractd"), kinds, "extracted");
    check("drive.model", "Seek type = extracted", "Seek type = extractd", seek);
    let drive = |from: &str, to: &str, expected: FaultData| check("drive.diskspecs", from, to, expected);
    let disconnect = (Kind::OutOfRange, "disksim_disk TINY.Never disconnect", json!(2), "0 or 1", "");
    drive("Never disconnect = 0", "Never disconnect = 2", disconnect);
    let model = (Kind::WrongType, "disksim_disk TINY.Model", json!(5), "a block of dm_disk", "");
    drive("Model = source drive.model", "Model = 5", model);
    let zone = first("drive.model", "dm_layout_g1_zone", "dm_layout_g1_zoom");
    assert_eq!((zone.kind, &*zone.location.path.to_string()), (Kind::UnknownName, "type of block"));
    assert_eq!(zone.suggestion.as_deref(), Some("dm_layout_g1_zone"));
    let fourth = first("drive.model", "dm_layout_g1 {", "dm_layout_g4 {");
    assert_eq!((fourth.kind, &*fourth.location.path.to_string()), (Kind::Unsupported, "dm_layout_g4"));
}

#[test]
fn values_that_contradict_the_drive_are_rejected() {
    let zone = |from: &str, to: &str, (kind, name, value, allowed, _): FaultData| {
        check("drive.model", from, to, (kind, &format!("dm_layout_g1_zone.{name}"), value, allowed, ""));
    };
    let places = "a whole number from 0 to 5999";
    zone("slips = [ 40, 7 ]", "slips = [ 40, 6000 ]", (Kind::OutOfRange, "slips.1", json!(6000), places, ""));
    zone("slips = [ 40, 7 ]", "slips = [ few ]", (Kind::WrongType, "slips.0", json!("few"), places, ""));
    zone("defects = [ 3, 9 ]", "defects = [ 3 ]", (Kind::Misfit, "defects", json!("[ 3 ]"), "", ""));
    let first_cylinder = (Kind::OutOfRange, "First cylinder number", json!(49), "a whole number of at least 50", "");
    zone("First cylinder number = 50", "First cylinder number = 49", first_cylinder);
    let last_cylinder = (Kind::OutOfRange, "Last cylinder number", json!(101), "a whole number from 50 to 99", "");
    zone("Last cylinder number = 99", "Last cylinder number = 101", last_cylinder);
    let access = (Kind::Unsupported, "dm_mech_g1.Access time type", json!("constant"), "", "");
    check("drive.model", "= trackSwitchPlusRotation", "= constant", access);
    let hpl = |values: &str, (kind, entry, value, allowed, _): FaultData| {
        let to = format!("Seek type = hpl, HPL seek equation values = {values}");
        let path = format!("dm_mech_g1.HPL seek equation values{entry}");
        check("drive.model", "Seek type = extracted", &to, (kind, &path, value, allowed, ""));
    };
    hpl("[ 1, 2 ]", (Kind::WrongType, "", json!("[ 1, 2 ]"), "6 numbers", ""));
    hpl("[ 1, 2, 3, 4, x, 6 ]", (Kind::WrongType, ".4", json!("x"), "a number", ""));
    let cylinders = "a whole number (cylinders) from 0 to 1000000000";
    hpl("[ 1.5, 2, 3, 4, 5, 6 ]", (Kind::OutOfRange, ".0", json!(1.5), cylinders, ""));
    hpl("[ 1, 2, 3, 4, -5, 6 ]", (Kind::OutOfRange, ".4", json!(-5), "a number (ms) from 0 to 10000", ""));
    hpl("[ 1, 2, 3, 4, 5, -6 ]", (Kind::OutOfRange, ".5", json!(-6), "a number (ms) from 0 to 10000", ""));
    let ten = (Kind::Missing, "dm_mech_g1.First ten seek times", json!(null), "a list", "");
    let hplplus10 = "Seek type = hplplus10, HPL seek equation values = [ 1, 2, 3, 4, 5, -1 ]";
    check("drive.model", "Seek type = extracted", hplplus10, ten);
    let distance = first("drive.seek", "10, 3.0", "1, 3.0");
    assert_eq!((distance.kind, distance.location.field.as_deref()), (Kind::Record, Some("distance")));
}

#[test]
fn invalid_workloads_are_rejected() {
    let sizes = |to: &str, (kind, entry, value, allowed, suggestion): FaultData| {
        let path = format!("disksim_synthgen.Sizes{entry}");
        check("drive.parv", "Sizes = [ exponential, 0.0, 8.0 ]", to, (kind, &path, value, allowed, suggestion));
    };
    let shapes = "one of uniform, normal, exponential, poisson, twovalue";
    sizes("Sizes = [ uniforn, 1, 2 ]", (Kind::UnknownName, ".0", json!("uniforn"), shapes, "uniform"));
    sizes("Sizes = [ ]", (Kind::Missing, ".0", json!(null), shapes, ""));
    sizes("Sizes = [ uniform, 1 ]", (Kind::WrongType, "", json!("[ uniform, 1 ]"), "uniform and 2 numbers", ""));
    sizes("Sizes = [ uniform, x, 2 ]", (Kind::WrongType, ".1", json!("x"), "a number", ""));
    sizes("Sizes = [ uniform, -2, -1 ]", (Kind::OutOfRange, "", json!("[ uniform, -2, -1 ]"), "", ""));
    let none = (Kind::OutOfRange, "disksim_synthgen.General inter-arrival times");
    let fault = first("drive.parv", "time-critical request = 1.0", "time-critical request = 0.0");
    assert_eq!((fault.kind, &*fault.location.path.to_string()), none);
    let files = Files::of_a_drive();
    files.write("drive.parv", system(""));
    let fault = files.scenario("drive.parv").expect_err("no generator")[0].clone();
    let path = "disksim_synthio Synthio.Generators.0".to_owned();
    assert_eq!(
        fault_data(&fault),
        (Kind::Missing, path, json!(null), "a block of disksim_synthgen".into(), String::new())
    );
}

#[test]
fn missing_devices_are_rejected() {
    let files = Files::of_a_drive();
    let options = ImportOptions { device: Some("disk7"), ..ImportOptions::default() };
    let fault = import(&files.path("drive.parv"), &options).expect_err("no such device")[0].clone();
    let expected = (Kind::UnknownName, "device".into(), json!("disk7"), "one of disk0".into(), "disk0".into());
    assert_eq!(fault_data(&fault), expected);
    files.replace("drive.parv", "instantiate [ bus0 ] as BUS0", "instantiate [ bus0 ] as BUSS0");
    let fault = files.import("drive.parv").expect_err("no such block")[0].clone();
    assert_eq!((fault.kind, fault.suggestion.as_deref()), (Kind::UnknownName, Some("BUS0")));
}
