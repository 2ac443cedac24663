//! Systems with more than a drive, and drives with unusual values, as in DiskSim's own examples.

use sledsim::scenario::DeviceSpec;
use sledsim_disksim::Note;

use super::files::Files;

const CACHE: &str = "disksim_cachemem {\n  Cache size = 8192,\n  SLRU segments = [ 1.0 ],\n  Line size = 64,\n  \
     Bit granularity = 1,\n  Lock granularity = 64,\n  Shared read locks = 1,\n  Max request size = 512,\n  \
     Replacement policy = 2,\n  Allocation policy = 0,\n  Write scheme = 3,\n  Flush policy = 0,\n  Flush period = 0.0,\n  \
     Flush idle delay = -1.0,\n  Flush max line cluster = 8,\n  Read prefetch type = 0,\n  Write prefetch type = 0,\n  \
     Line-by-line fetches = 0,\n  Max gather = 7\n}";
const CACHE_DEVICE: &str = "disksim_cachedev {\n  Cache size = 4500,\n  Cache device = disk1,\n  Cached device = disk0,\n  \
     Max request size = 512,\n  Write scheme = 3,\n  Flush policy = 0,\n  Flush period = 0.0,\n  Flush idle delay = 100.0\n}";

/// Parameters of a controller's cache that are listed as changing results.
fn listed(cache: &str) -> Vec<Note> {
    let files = Files::of_a_drive();
    let controller = "disksim_ctlr CTLR0 {\n  type = 1,";
    files.replace("drive.parv", controller, &format!("disksim_ctlr CTLR0 {{\n  Cache = {cache},\n  type = 3,"));
    let import = files.import("drive.parv").expect("a drive behind a cache");
    import.notes.into_iter().filter(|note| note.changes_results).collect()
}

#[test]
fn every_parameter_of_a_controllers_cache_is_listed() {
    for cache in [CACHE, CACHE_DEVICE] {
        let notes = listed(cache);
        let lost: Vec<&str> = notes.iter().map(|note| note.name.as_str()).collect();
        let names = cache.lines().filter_map(|line| line.split_once(" = ").map(|(name, _)| name.trim()));
        for name in names.chain(["Cache", "type"]) {
            assert!(lost.contains(&name), "{name}: {lost:?}");
        }
        assert!(notes.iter().all(|note| note.file == "drive.parv" && note.line > 30), "{notes:#?}");
    }
    let files = Files::of_a_drive();
    let broken = CACHE.replace("Line size = 64", "Line size = wide");
    files.replace("drive.parv", "disksim_ctlr CTLR0 {\n", &format!("disksim_ctlr CTLR0 {{\n  Cache = {broken},\n"));
    let error = files.import("drive.parv").expect_err("no size").to_string();
    assert!(error.contains("drive.parv: line ") && error.contains("disksim_cachemem.Line size = \"wide\""), "{error}");
}

#[test]
fn synchronised_drives_need_no_type() {
    let files = Files::of_a_drive();
    files.replace(
        "drive.parv",
        "disksim_pf Proc",
        "disksim_syncset sync0 {\n  devices = [ disk0 .. disk2 ]\n}\ndisksim_pf Proc",
    );
    let import = files.import("drive.parv").expect("a drive");
    let idle = import.notes.iter().find(|note| note.name == "devices").expect("listed");
    assert!(!idle.changes_results, "{idle:?}");
}

#[test]
fn values_for_schedulers_alone_may_be_missing() {
    let files = Files::of_a_drive();
    files.replace("drive.diskspecs", "Avg sectors per cylinder = 100", "Avg sectors per cylinder = 0");
    assert!(files.import("drive.parv").is_ok());
}

#[test]
fn negative_settling_delay_is_carried_over_with_a_note() {
    let files = Files::of_a_drive();
    files.replace("drive.model", "settling delay = 0.5", "settling delay = -0.5");
    let import = files.import("drive.parv").expect("a drive");
    let DeviceSpec::Disk(disk) = &import.device else { panic!("no disk") };
    assert_eq!(disk.write_settle_ms, -0.5);
    let entry = import.entries.iter().find(|entry| entry.key == "write_settle_ms").expect("there");
    assert!(entry.note.as_ref().is_some_and(|note| note.contains("reads take so much less")), "{entry:?}");
}
