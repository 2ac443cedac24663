//! What a drive's commands and bus wait for.

use serde_json::{json, Value};
use sledsim::devices::disk::DiskDevice;
use sledsim::devices::Mechanism;
use sledsim::request::{Op, Request};
use sledsim::time::Time;

const SECTORS: u64 = 120;
/// A sector at 6,000 rpm.
const SECTOR_MS: f64 = 10.0 / SECTORS as f64;
/// First block of cylinder 10.
const CYLINDER_10: u64 = 10 * 2 * SECTORS;

/// Milliseconds that a request takes that comes to a new drive as sector 0 comes by.
fn served_ms(values: &Value, op: Op, lbn: u64, blocks: u32) -> f64 {
    let mut drive = json!({
        "name": "small", "surfaces": 2, "cylinders": 50,
        "zones": [{"first_cylinder": 0, "last_cylinder": 49, "sectors_per_track": SECTORS,
                   "track_skew_sectors": 0.0, "cylinder_skew_sectors": 0.0}],
        "rotation_rpm": 6000.0, "seek": {"curve": "constant", "seek_ms": 3.0}, "head_switch_ms": 0.0,
        "bus_ms_per_block": 0.0, "buffer_segments": 1, "segment_blocks": 64,
    });
    for (key, value) in values.as_object().expect("a table") {
        drive[key] = value.clone();
    }
    let mut drive = DiskDevice::new(&serde_json::from_value(drive).expect("parameters")).expect("a drive");
    let request = Request { op, ..Request::read(lbn, blocks) };
    drive.serve(Time::ZERO, &request).end.ns() as f64 / 1e6
}

#[track_caller]
fn assert_close(found_ms: f64, expected_ms: f64) {
    assert!((found_ms - expected_ms).abs() < 1e-4, "{found_ms} ms, expected {expected_ms} ms");
}

#[test]
fn a_drive_that_keeps_the_bus_hands_over_whole_passes_where_it_reads_in_any_order() {
    let read = |values: Value, lbn: u64| {
        let mut values = values;
        values["bus_ms_per_block"] = 0.05.into();
        served_ms(&values, Op::Read, lbn, 8)
    };
    // Else blocks follow each other over the bus, and only the last crosses it once the medium is through.
    for values in [json!({}), json!({"zero_latency_reads": true}), json!({"hold_bus_reading": true})] {
        assert_close(read(values, 10), 18.0 * SECTOR_MS + 0.05);
    }
    for keeps in ["hold_bus_reading", "never_disconnect"] {
        let values = json!({"zero_latency_reads": true, keeps: true});
        assert_close(read(values.clone(), 10), 18.0 * SECTOR_MS + 8.0 * 0.05);
        // What the first track has of it crosses the bus beside the pass over the second.
        assert_close(read(values, SECTORS - 4), 124.0 * SECTOR_MS + 4.0 * 0.05);
    }
}

#[test]
fn the_arm_sets_off_for_a_write_as_soon_after_a_read_as_after_a_write() {
    let write = |after_read_ms: f64, after_write_ms: f64, lbn: u64| {
        let values = json!({"write_miss_after_read_ms": after_read_ms, "write_miss_after_write_ms": after_write_ms});
        served_ms(&values, Op::Write, lbn, 1)
    };
    // A sector 4.5 ms away, behind a seek of 3 ms; a new drive counts as one that has read.
    let sector = CYLINDER_10 + 54;
    assert_close(write(2.0, 1.0, sector), 55.0 * SECTOR_MS);
    assert_close(write(2.0, 2.0, sector), 55.0 * SECTOR_MS + 10.0);
    // The longer time after writes is theirs alone.
    assert_close(write(1.0, 2.0, sector), 55.0 * SECTOR_MS);
    // The data come no sooner: on the track it is on, the drive misses a sector that passes before them.
    assert_close(write(2.0, 1.0, 18), 19.0 * SECTOR_MS + 10.0);
    assert_close(write(2.0, 1.0, 30), 31.0 * SECTOR_MS);
}
