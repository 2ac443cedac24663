//! Written device files and scenarios can be run, and contain the sources of their values.

use std::path::Path;

use sledsim::devices::disk::{Arm, DiskParameters, Mechanics, ReadAhead, SeekCurve, Sparing};
use sledsim::fault::Kind;
use sledsim::request::Op;
use sledsim::scenario::{resolve, run, Catalog, DeviceSpec, Notation, Resolved, Scenario};
use sledsim::workloads::arrival::{closed, poisson};
use sledsim::workloads::location::uniform;
use sledsim::workloads::WorkloadSpec;
use sledsim::workloads::{ArrivalSpec, Distribution, LocationSpec};
use sledsim_disksim::Import;

use super::files::{generator, system, Files};

fn disk(import: &Import) -> &DiskParameters {
    match &import.device {
        DeviceSpec::Disk(parameters) => parameters,
        other => panic!("{other:?} is no disk"),
    }
}

fn resolved(text: &str, base: &Path) -> Scenario {
    let accepted = ["accept_missing=true".to_owned()];
    resolve(text, Notation::Toml, "test", &accepted, &Catalog::default(), base)
        .map(Resolved::into_scenario)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn arrival(import: &Import) -> ArrivalSpec {
    let scenario = resolved(&import.scenario_toml().expect("a scenario"), Path::new(""));
    let WorkloadSpec::Synthetic(workload) = scenario.workload else { panic!("no generator") };
    workload.arrival
}

#[test]
fn device_file_gives_the_same_device() {
    let files = Files::of_a_drive();
    let import = files.import("drive.parv").expect("a drive");
    files.write("drive.toml", import.device_toml());
    let text = "workload.arrival = { kind = \"closed\", outstanding = 1 }\nsystem.device = \"drive.toml\"";
    let drive = resolved(text, files.folder()).system.into_drive().expect("a drive alone");
    let DeviceSpec::Disk(mut read) = drive.device else { panic!("no disk") };
    read.name.clone_from(&disk(&import).name);
    assert_eq!(*read, *disk(&import));
    let written = import.device_toml();
    let expected = "[values.head_switch_ms]\nvalue = 0.75\nunit = \"ms\"\nsource = \"drive.model\"\n\
                    where = \"drive.model:12 Head switch time\"\nkind = \"published\"\n";
    assert!(written.contains(expected), "{written}");
    assert!(written.contains("# no effect here: chooses what DiskSim prints"), "{written}");
}

#[test]
fn every_value_is_carried_over() {
    let files = Files::of_a_drive();
    let import = files.import("drive.parv").expect("a drive");
    let disk = disk(&import);
    assert_eq!((disk.bus_ms_per_block, disk.bus_write_ms_per_block), (0.1, Some(0.2)));
    assert_eq!((disk.read_ahead, disk.sparing), (ReadAhead::Segment, Sparing::SectorsPerZone));
    assert_eq!((&*disk.zones[0].slips, &*disk.zones[1].remaps), (&[40, 7][..], &[[3, 9]][..]));
    assert_eq!(disk.seek, SeekCurve::Table { points: vec![[1.0, 1.25], [10.0, 3.0], [99.0, 8.5]] });
    let overheads = [
        disk.request_overhead_ms,
        disk.read_hit_after_read_ms,
        disk.read_hit_after_write_ms,
        disk.read_miss_after_read_ms,
        disk.read_miss_after_write_ms,
        disk.write_hit_after_read_ms,
        disk.write_hit_after_write_ms,
        disk.write_miss_after_read_ms,
        disk.write_miss_after_write_ms,
        disk.read_completion_ms,
        disk.write_completion_ms,
        disk.data_preparation_ms,
        disk.first_reselect_ms,
        disk.other_reselect_ms,
        disk.read_disconnect_after_read_ms,
        disk.read_disconnect_after_write_ms,
        disk.write_disconnect_ms,
        disk.extra_command_ms,
        disk.extra_disconnect_ms,
        disk.extra_gap_ms,
        disk.extra_second_disconnect_ms,
        disk.extra_seek_delay_ms,
        disk.least_seek_ms,
    ];
    for (index, overhead) in overheads.iter().enumerate() {
        let expected: f64 = format!("0.{:02}", index + 1).parse().expect("a number");
        assert_eq!(*overhead, expected, "overhead {index}");
    }
}

#[test]
fn mechanics_alone_give_a_drive_without_electronics() {
    let files = Files::of_a_drive();
    let (bare, whole) = (files.import("drive.model").expect("mechanics"), files.import("drive.parv").expect("a drive"));
    let (DeviceSpec::Disk(bare_disk), DeviceSpec::Disk(disk)) = (&bare.device, &whole.device) else { panic!("disks") };
    assert_eq!((&bare_disk.zones, &bare_disk.seek), (&disk.zones, &disk.seek));
    assert!(!bare_disk.buffer_caching && bare_disk.bus_ms_per_block == 0.0);
    let lost: Vec<_> = bare.notes.iter().filter(|note| note.changes_results).collect();
    assert!(lost.iter().any(|note| note.reason.contains("the mechanics alone") && note.line == 2), "{lost:?}");
    let error = files.scenario("drive.model").expect_err("no workload").to_string();
    assert!(error.contains("drive.model"), "{error}");
}

#[test]
fn byte_order_mark_is_skipped() {
    let files = Files::of_a_drive();
    let plain = files.import("drive.parv").expect("a drive").device;
    for name in ["drive.parv", "drive.diskspecs", "drive.model", "drive.seek"] {
        let text = std::fs::read(files.path(name)).expect("readable");
        files.write(name, [b"\xef\xbb\xbf".as_slice(), &text].concat());
    }
    assert_eq!(files.import("drive.parv").expect("a drive").device, plain);
}

#[test]
fn imported_scenario_runs() {
    let files = Files::of_a_drive();
    let import = files.scenario("drive.parv").expect("a scenario");
    assert!(import.notes.iter().all(|note| !note.changes_results), "{:#?}", import.listing());
    let scenario = resolved(&import.scenario_toml().expect("asked for"), Path::new(""));
    assert_eq!((scenario.seed, scenario.run.requests, scenario.run.time_s), (17, Some(300), Some(1000.0)));
    let WorkloadSpec::Synthetic(workload) = &scenario.workload else { panic!("no generator") };
    assert_eq!(workload.location, LocationSpec::Uniform(uniform::Spec { align_bytes: Some(4096) }));
    assert_eq!(
        workload.arrival,
        ArrivalSpec::Closed(closed::Spec { outstanding: 1, think_ms: Distribution::Fixed { value: 0.0 } })
    );
    // 2 surfaces of 50 cylinders of 60 and of 40 sectors, minus spares and slips.
    assert!((0.4..0.6).contains(&workload.range.end_fraction) && workload.read_fraction == 0.66);
    let output = run(&scenario, Vec::new(), false, &mut |_| true).expect("it runs");
    assert_eq!(output.report.requests.completed, 300);
}

#[test]
fn generators_become_one_workload() {
    let files = Files::of_a_drive();
    let three = |critical: &str, times: &str| system(&[(); 3].map(|()| generator(critical, times)).join(",\n"));
    files.write("drive.parv", three("1.0", "0.0, 5.0"));
    let expected =
        ArrivalSpec::Closed(closed::Spec { outstanding: 3, think_ms: Distribution::Exponential { mean: 5.0 } });
    let import = files.scenario("drive.parv").expect("a scenario");
    assert_eq!(arrival(&import), expected);
    assert!(import.notes.iter().any(|note| note.changes_results && note.name == "Number of processors"));
    files.write("drive.parv", three("0.0", "0.0, 5.0").replace("processors = 1", "processors = 3"));
    let import = files.scenario("drive.parv").expect("a scenario");
    assert_eq!(arrival(&import), ArrivalSpec::Poisson(poisson::Spec { rate_per_s: 600.0 }));
    assert!(import.notes.iter().all(|note| !note.changes_results), "{:#?}", import.listing());
    files.write("drive.parv", three("0.3", "0.0, 5.0"));
    let import = files.scenario("drive.parv").expect("a scenario");
    assert!(import.notes.iter().any(|note| note.decides && note.name == "Probability of time-critical request"));
    // Some requests depend on others, which can't be carried over; the scenario must accept that.
    let text = import.scenario_toml().expect("asked for");
    let refused =
        resolve(&text, Notation::Toml, "test", &[], &Catalog::default(), Path::new("")).expect_err("not accepted");
    assert_eq!((refused[0].kind, refused[0].location.path.to_string().as_str()), (Kind::Unsupported, "missing"));
    assert!(refused.to_string().contains("Probability of time-critical request = 0.3"), "{refused}");
    let scenario = resolved(&text, Path::new(""));
    let output = run(&scenario, Vec::new(), false, &mut |_| true).expect("it runs");
    assert!(output.report.run.note.is_some_and(|note| note.contains("time-critical request = 0.3")));
}

#[test]
fn lost_scenario_parameters_are_listed() {
    let files = Files::of_a_drive();
    files.replace("drive.parv", "Scale for delays = 0.0", "Scale for delays = 1.5");
    files.replace("drive.parv", "Arbitration time = 0.0", "Arbitration time = 0.25");
    files.replace("drive.model", "Percent error in rpms = 0.0", "Percent error in rpms = 0.5");
    files.replace("drive.diskspecs", "Max queue length = 1", "Max queue length = 4");
    files.replace("drive.diskspecs", "Preseeking level = 0", "Preseeking level = 2");
    files.replace("drive.diskspecs", "Low (write) water mark = 0.0", "Low (write) water mark = 0.25");
    let switched = [
        ("Maximum number of write segments", 1, 2),
        ("Disconnect write if seek", 0, 1),
        ("Write hit stop prefetch", 1, 0),
        ("Read directly to buffer", 1, 0),
    ];
    for (name, neutral, other) in switched {
        files.replace("drive.diskspecs", &format!("{name} = {neutral}"), &format!("{name} = {other}"));
    }
    let import = files.import("drive.parv").expect("a drive");
    let lost: Vec<_> =
        import.notes.iter().filter(|note| note.changes_results).map(|note| (&*note.name, &*note.value)).collect();
    let expected = [
        ("Arbitration time", "0.25"),
        ("Scale for delays", "1.5"),
        ("Low (write) water mark", "0.25"),
        ("Preseeking level", "2"),
        ("Max queue length", "4"),
        ("Maximum number of write segments", "2"),
        ("Disconnect write if seek", "1"),
        ("Write hit stop prefetch", "0"),
        ("Read directly to buffer", "0"),
        ("Percent error in rpms", "0.5"),
    ];
    assert_eq!(lost, expected);
    let listing = import.listing().join("\n");
    assert!(listing.starts_with("NOT CARRIED OVER, changes results: "), "{listing}");
    assert!(
        import.device_toml().contains("#   drive.model:14: Percent error in rpms = 0.5"),
        "{}",
        import.device_toml()
    );
}

#[test]
fn negative_settling_delay_shortens_reads() {
    let files = Files::of_a_drive();
    files.replace("drive.model", "Add. write settling delay = 0.5", "Add. write settling delay = -0.25");
    let import = files.import("drive.parv").expect("DiskSim takes it");
    let mechanics = Mechanics::new(disk(&import)).expect("sound");
    let seek_ns = |cylinder, op| mechanics.seek_ns(Arm { cylinder: 0, head: 0 }, Arm { cylinder, head: 0 }, op);
    assert_eq!((seek_ns(10, Op::Read), seek_ns(10, Op::Write)), (2_750_000, 3_000_000));
    assert_eq!((seek_ns(0, Op::Read), seek_ns(0, Op::Write)), (0, 0));
    for distance in 1..100 {
        assert!(mechanics.seek_bound_ns(distance) <= seek_ns(distance, Op::Read), "{distance}");
    }
}

#[test]
fn complete_device_needs_no_catalogue() {
    let files = Files::of_a_drive();
    let text = files.scenario("drive.parv").expect("a scenario").scenario_toml().expect("asked for");
    let without = text.replace("head_switch_ms = 0.75", "");
    let error =
        resolve(&without, Notation::Toml, "t", &[], &Catalog::default(), Path::new("")).expect_err("a key is missing");
    assert!(error.to_string().contains("system.device.name = \"TINY\" is not known"), "{error}");
}

#[test]
fn faults_deep_in_a_device_have_a_path() {
    let text = Files::of_a_drive().scenario("drive.parv").expect("a scenario").scenario_toml().expect("asked for");
    let refused = |from: &str, to: &str, expected: &str| {
        assert!(text.contains(from), "{from:?} is not in {text}");
        let text = text.replacen(from, to, 1);
        let error = resolve(&text, Notation::Toml, "t", &[], &Catalog::default(), Path::new("")).expect_err(to);
        assert!(error.to_string().contains(expected), "{error}\nexpected {expected:?}");
    };
    refused("first_cylinder = 50", "first_cylinder = -1", "system.device.zones.1.first_cylinder = -1 is out of range");
    refused("spares = 2", "spare = 2", "unknown key system.device.zones.0.spare");
    refused("remaps = [[3, 9]]", "remaps = [[3, 9, 5]]", "system.device.zones.0.remaps.0 has 3 entries: expected 2");
    refused("[1.0, 1.25]", "[1.0]", "system.device.seek.points.0 has 1 entries: expected 2");
    refused("curve = \"table\"", "curve = \"tabel\"", "system.device.seek.curve = \"tabel\" is not known");
    refused("curve = \"table\"", "curve = \"table\", x = 1", "unknown key system.device.seek.x");
    refused(
        "fast_write = \"sequential\"",
        "fast_write = \"quick\"",
        "system.device.fast_write = \"quick\" is not known",
    );
}

#[test]
fn devices_of_other_kinds_are_carried_over() {
    let queue = super::files::disk();
    let queue = &queue[queue.find("disksim_ioqueue").expect("there")..=queue.find('}').expect("there")];
    let simple = format!(
        "disksim_simpledisk SD0 {{ Block count = 1000, Access time = 9.5, Command overhead = 0.5,\n \
         Bulk sector transfer time = 0.0, Never disconnect = 0, Print stats = 1, Max queue length = 1,\n \
         Scheduler = {queue} }}"
    );
    let import = Files::of("s.diskspecs", &simple).import("s.diskspecs").expect("a device");
    let DeviceSpec::SimplediskConstant(device) = &import.device else { panic!("{:?}", import.device) };
    assert_eq!((device.capacity_blocks, device.access_ms, device.block_bytes), (1000, 10.0, 512));
    assert!(import.notes.iter().all(|note| !note.changes_results));

    let mems = format!(
        "memsmodel_mems g {{ Points in precomputed seek curve = 0, Seek function = 0, Command overhead = 0.2,\n \
         Bulk sector transfer time = 0.00512, Print stats = 1, Max queue length = 100000,\n \
         Number of buffer segments = 10, Segment size (in blks) = 128, Number of sleds = 1, Layout policy = 7,\n \
         Sled movement X = 100000, Sled movement Y = 100000, Bit cell length = 40, Tip sector length = 80,\n \
         Servo burst length = 10, Tip sectors per lbn = 64, Number of usable tips = 6400,\n \
         Simultaneously active tips = 1280, Bidirectional access = 1, Sled acceleration X = 803.6,\n \
         Sled acceleration Y = 803.6, Sled access speed = 700000, Sled resonant frequency = 739,\n \
         Settling time constants = 1.0, Spring constant factor = 0.75, Prefetch depth = 0,\n \
         Time before sled inactive = 100.0, Startup delay = 0.5, Sled active power = 100.0,\n \
         Sled inactive power = 50.0, Tip access power = 1.0, Scheduler = {queue} }}"
    );
    let files = Files::of("m.specs", &mems);
    let import = files.import("m.specs").expect("a device");
    let DeviceSpec::Mems(device) = &import.device else { panic!("{:?}", import.device) };
    assert_eq!(
        (device.x_range_um, device.bit_nm, device.bit_rate_kbit_s, device.block_bytes),
        (100.0, 40.0, 700.0, 512)
    );
    assert_eq!(
        (device.tips, device.active_tips, device.tip_sector_bytes, device.bus_ms_per_block),
        (6400, 1280, 8, 0.00512)
    );
    assert_eq!(import.notes.iter().filter(|note| note.changes_results).count(), 2, "{:#?}", import.listing());
    files.replace("m.specs", "Seek function = 0", "Seek function = 1");
    let import = files.import("m.specs").expect("a device");
    assert!(import.notes.iter().any(|note| note.changes_results && note.name == "Seek function"));
}
