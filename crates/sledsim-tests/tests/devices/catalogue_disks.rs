//! Disks of the catalogue: measured drives equal their parameter files, projected drives the figures of their papers.

use serde_json::json;
use sledsim::devices::disk::{Characteristics, DiskParameters, Seek, SeekCurve};
use sledsim::request::Request;
use sledsim::scenario::{self, DeviceSpec};
use sledsim::time::Time;
use sledsim_disksim::{import, ImportOptions};
use sledsim_testing::reference;
use sledsim_testing::scenarios;

const MEASURED: [&str; 6] = ["atlas10k", "cheetah4LP", "cheetah9LP", "barracuda", "hp_c2247a", "st41601n"];

fn disk(name: &str) -> DiskParameters {
    match scenarios::device_spec(name) {
        DeviceSpec::Disk(parameters) => *parameters,
        other => panic!("{name} is no disk: {other:?}"),
    }
}

fn figures(parameters: &DiskParameters) -> Characteristics {
    Characteristics::of(parameters).expect("a drive of the catalogue")
}

fn seek_ms(parameters: &DiskParameters, distance: u32) -> f64 {
    Seek::new(parameters).expect("a drive of the catalogue").time_ns(distance) as f64 * 1e-6
}

/// Returns true if two figures agree to a relative tolerance.
fn close(ours: f64, printed: f64, tolerance: f64) -> bool {
    (ours / printed - 1.0).abs() <= tolerance
}

fn capacity_bytes(parameters: &DiskParameters) -> f64 {
    let device = scenario::device(&DeviceSpec::Disk(Box::new(parameters.clone()))).expect("a drive of the catalogue");
    device.dimensions().capacity_blocks as f64 * f64::from(device.dimensions().block_bytes)
}

#[test]
fn catalogue_drives_have_the_values_of_their_files() {
    for name in MEASURED {
        let Some(path) = reference(&format!("drives/{name}/{name}.parv")) else { return };
        let import = import(&path, &ImportOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let DeviceSpec::Disk(mut read) = import.device else { panic!("{name} is no disk") };
        read.name = name.into();
        assert_eq!(disk(name), *read, "{name}");
    }
}

#[test]
fn faster_atlas_differs_in_media_rate_only() {
    let (faster, atlas) = (disk("atlas10k-50mb"), disk("atlas10k"));
    let (ours, base) = (figures(&faster), figures(&atlas));
    // The outermost track has a whole number of sectors: half of one in 584 is 0.09 %.
    assert!(close(ours.zones[0].media_bytes_s, 50e6, 0.001), "{}", ours.zones[0].media_bytes_s);
    assert!((ours.rotation_s - base.rotation_s).abs() < 1e-12);
    assert_eq!(faster.capacity_blocks, atlas.capacity_blocks);
    // The paper states 8.6 GB (of 2^30 bytes) and 5.7 ms; the mean of the measured curve is 5.60 ms.
    assert!(close(capacity_bytes(&faster) / f64::from(1 << 30), 8.6, 0.01));
    assert!(close(ours.mean_seek_s * 1e3, 5.7, 0.02), "{}", ours.mean_seek_s);
    assert!(close(ours.mean_seek_s, base.mean_seek_s, 0.001), "{} {}", ours.mean_seek_s, base.mean_seek_s);
    let stroke = |parameters: &DiskParameters| seek_ms(parameters, parameters.cylinders - 1);
    // The distance is rounded to whole cylinders, and the curve is steep there: 0.03 ms a cylinder.
    assert!(close(stroke(&faster), stroke(&atlas), 0.005), "{} {}", stroke(&faster), stroke(&atlas));
    // The capacity fills all cylinders, up to rounding of the zones.
    let used: u64 = ours.zones.iter().map(|zone| zone.blocks).sum();
    let last = ours.zones.last().expect("zones");
    assert!(last.blocks > 0 && close(used as f64, 17_938_986.0, 1e-9));
}

#[test]
fn superdisk_has_published_figures() {
    let superdisk = disk("superdisk");
    let ours = figures(&superdisk);
    assert!(close(ours.rotation_s, 60.0 / 20_000.0, 1e-9));
    // A whole number of sectors on a track: half of one in 732 is 0.07 %.
    assert!(close(ours.zones[0].media_bytes_s, 125e6, 0.001), "{}", ours.zones[0].media_bytes_s);
    assert_eq!(superdisk.surfaces, 12);
    // The table has two decimals.
    assert!((ours.mean_seek_s * 1e3 - 3.12).abs() < 0.005, "{}", ours.mean_seek_s);
    assert!((seek_ms(&superdisk, superdisk.cylinders - 1) - 8.50).abs() < 0.005);
    assert!((superdisk.write_settle_ms - (3.58 - 3.12)).abs() < 1e-9);
    assert!((superdisk.write_settle_ms - (8.96 - 8.50)).abs() < 1e-9);
}

#[test]
fn uberdisk_has_published_figures() {
    let uberdisk = disk("uberdisk");
    assert_eq!((uberdisk.surfaces, uberdisk.cylinders), (2, 39_511));
    // Rounded to whole nanoseconds.
    assert!((figures(&uberdisk).rotation_s - 60.0 / 55_000.0).abs() <= 0.5e-9);
    assert!(close(capacity_bytes(&uberdisk), 41.6e9, 1e-9));
    // Times are whole nanoseconds, the coefficients rounded to as much.
    assert!((seek_ms(&uberdisk, 1) - 0.1).abs() < 2e-6);
    assert!((seek_ms(&uberdisk, 39_510) - 2.0).abs() < 2e-5);
    let SeekCurve::Hpl { short_below, short_constant_ms, short_sqrt_ms, long_constant_ms, long_linear_ms, .. } =
        uberdisk.seek
    else {
        panic!("the Überdisk's curve is the one of Ruemmler and Wilkes")
    };
    let (short, long) =
        (short_constant_ms + short_sqrt_ms * short_below.sqrt(), long_constant_ms + long_linear_ms * short_below);
    assert!((short - long).abs() < 1e-6, "a step of {} ms", long - short);
    let slope = short_sqrt_ms / (2.0 * short_below.sqrt());
    assert!(close(slope, long_linear_ms, 1e-4), "a kink: {slope} before the border, {long_linear_ms} behind it");
    // On the HP 97560 of that paper, short seeks cover this share of the stroke.
    assert!(close(short_below / f64::from(uberdisk.cylinders), 383.0 / 1962.0, 1e-4));
}

#[test]
fn uberdisk_random_reads_have_published_times() {
    let document = json!({
        "workload": {"arrival": {"kind": "closed", "outstanding": 1}},
        "system": {"device": {"name": "uberdisk", "capacity_blocks": 6_750_000}},
        "run": {"requests": 100_000},
    });
    let report = scenarios::run(&scenarios::resolved(&document)).report;
    let service_ms = report.service.expect("requests were measured").mean_ms;
    // The table has two decimals. The rotation is known to 0.315 ms / sqrt(100,000) = 0.001 ms.
    assert!((service_ms - 0.88).abs() < 0.005 + 0.001, "{service_ms}");
    // By hand: half a revolution; the formula's mean over the first 2,930 cylinders, 0.0929 + 0.00709 * 8/15 * sqrt(2930);
    // the first block under the head, and eight across the bus.
    let by_hand_ms =
        30.0 / 55.0 + (0.092_907 + 0.007_093_5 * 8.0 / 15.0 * 2930_f64.sqrt()) + 60.0 / 55.0 / 1152.0 + 8.0 * 0.005_12;
    assert!((service_ms - by_hand_ms).abs() < 0.003, "{service_ms} {by_hand_ms}");
}

#[test]
fn uberdisk_streams_at_bus_speed() {
    let spec = DeviceSpec::Disk(Box::new(disk("uberdisk")));
    for share in [0.0, 0.5, 0.99] {
        let mut device = scenario::device(&spec).expect("a drive of the catalogue");
        let (lbn, blocks) = ((device.dimensions().capacity_blocks as f64 * share) as u64, 200_000);
        let request = Request::read(lbn, blocks);
        let service = device.serve(Time::ZERO, &request);
        let mb_per_s = f64::from(blocks) * 512.0 * 1e-6 / (service.end - service.start) as f64 * 1e9;
        // The time includes the first positioning: at most 3 of 1024 ms.
        assert!(close(mb_per_s, 100.0, 0.004), "{mb_per_s} MB/s at {share} of the capacity");
    }
}

#[test]
fn mobile_drive_has_data_sheet_figures() {
    let travelstar = disk("travelstar");
    let ours = figures(&travelstar);
    assert!(close(capacity_bytes(&travelstar), 12e9, 0.01));
    // Rounded to whole nanoseconds.
    assert!((ours.rotation_s - 60.0 / 4200.0).abs() <= 0.5e-9);
    assert!((seek_ms(&travelstar, 1) - 2.5).abs() < 1e-6);
    assert!((seek_ms(&travelstar, travelstar.cylinders - 1) - 23.0).abs() < 1e-5);
    // The curve takes 12 ms for a third of the stroke, which is close to its mean.
    assert!(close(ours.mean_seek_s * 1e3, 12.0, 0.02), "{}", ours.mean_seek_s);
    let sectors: f64 = travelstar.zones.iter().map(|zone| f64::from(zone.sectors_per_track)).sum();
    assert!((sectors / 12.0 - 292.0).abs() < 1.0);
}

#[test]
fn server_drive_has_data_sheet_figures() {
    let ultrastar = disk("ultrastar36z15");
    let ours = figures(&ultrastar);
    assert!(close(capacity_bytes(&ultrastar), 36.7e9, 0.001));
    assert!(close(ours.rotation_s, 4e-3, 1e-9));
    assert!(close(ours.mean_seek_s * 1e3, 4.2, 0.001), "{}", ours.mean_seek_s);
    // A whole number of sectors on a track: half of one in 430 is 0.12 %.
    assert!(close(ours.zones[0].media_bytes_s, 55e6, 0.0012), "{}", ours.zones[0].media_bytes_s);
    let standby = ultrastar.power.as_ref().and_then(|power| power.ladder().ok()).expect("powers").modes()[1].clone();
    // The energy of a spin-up is printed without decimals.
    assert!((standby.wake_w * standby.wake_ns as f64 * 1e-9 - 135.0).abs() < 0.5);
}

#[test]
fn cheetah_73_has_data_sheet_figures() {
    let cheetah = disk("cheetah73");
    let ours = figures(&cheetah);
    assert!(close(capacity_bytes(&cheetah), 73.4e9, 0.001));
    assert!(close(ours.mean_seek_s * 1e3, 5.85, 0.001), "{}", ours.mean_seek_s);
    assert!(close(ours.rotation_s, 6e-3, 1e-9));
}
