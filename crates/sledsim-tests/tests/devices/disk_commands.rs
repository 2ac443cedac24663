//! Times of a drive's commands and bus transfers.

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

/// Returns a drive of 50 cylinders with the given values.
fn drive(values: &Value) -> DiskDevice {
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
    DiskDevice::new(&serde_json::from_value(drive).expect("parameters")).expect("a drive")
}

/// Returns the service time of a request to a new drive, ms; sector 0 passes at its arrival.
fn served_ms(values: &Value, op: Op, lbn: u64, blocks: u32) -> f64 {
    let request = Request { op, ..Request::read(lbn, blocks) };
    drive(values).serve(Time::ZERO, &request).end.ns() as f64 / 1e6
}

#[track_caller]
fn assert_close(found_ms: f64, expected_ms: f64) {
    assert!((found_ms - expected_ms).abs() < 1e-4, "{found_ms} ms, expected {expected_ms} ms");
}

#[test]
fn zero_latency_reads_on_a_held_bus_transfer_after_the_pass() {
    let read = |values: Value, lbn: u64| {
        let mut values = values;
        values["bus_ms_per_block"] = 0.05.into();
        served_ms(&values, Op::Read, lbn, 8)
    };
    // Otherwise the transfer overlaps the medium access, except for the last block.
    for values in [json!({}), json!({"zero_latency_reads": true}), json!({"hold_bus_reading": true})] {
        assert_close(read(values, 10), 18.0 * SECTOR_MS + 0.05);
    }
    for keeps in ["hold_bus_reading", "never_disconnect"] {
        let values = json!({"zero_latency_reads": true, keeps: true});
        assert_close(read(values.clone(), 10), 18.0 * SECTOR_MS + 8.0 * 0.05);
        // The transfer of the first track overlaps the pass over the second.
        assert_close(read(values, SECTORS - 4), 124.0 * SECTOR_MS + 4.0 * 0.05);
    }
}

/// Returns the overheads (ms) of write misses after a read and after a write, and of read misses after a write.
fn overheads(after_read: f64, after_write: f64, read: f64) -> Value {
    json!({
        "write_miss_after_read_ms": after_read, "write_miss_after_write_ms": after_write, "read_miss_after_write_ms": read,
    })
}

#[test]
fn write_command_after_a_read_overlaps_the_seek() {
    let write = |after_read: f64, after_write: f64, lbn: u64| {
        served_ms(&overheads(after_read, after_write, 0.0), Op::Write, lbn, 1)
    };
    // The sector passes after 4.5 ms, of which the seek takes 3 ms. A new drive behaves as if it had read before.
    let sector = CYLINDER_10 + 54;
    assert_close(write(2.0, 1.0, sector), 55.0 * SECTOR_MS);
    assert_close(write(2.0, 2.0, sector), 55.0 * SECTOR_MS + 10.0);
    // The overhead after a write does not apply after a read.
    assert_close(write(1.0, 2.0, sector), 55.0 * SECTOR_MS);
    // The data do not arrive earlier: on the current track, the drive misses a sector that passes before its data
    // arrive.
    assert_close(write(2.0, 1.0, 18), 19.0 * SECTOR_MS + 10.0);
    assert_close(write(2.0, 1.0, 30), 31.0 * SECTOR_MS);
}

#[test]
fn write_command_on_a_held_bus_precedes_the_seek() {
    for holds in ["hold_bus_reading", "never_disconnect"] {
        let mut values = overheads(2.0, 1.0, 0.0);
        values[holds] = true.into();
        assert_close(served_ms(&values, Op::Write, CYLINDER_10 + 54, 1), 55.0 * SECTOR_MS + 10.0);
        assert_close(served_ms(&values, Op::Write, CYLINDER_10 + 62, 1), 63.0 * SECTOR_MS);
    }
}

/// Returns the service time (ms) of the second of two writes of one block. The first writes block 0; the second arrives
/// `gap_ms` after its end, which is when sector 0 has passed.
fn second_write_ms(values: &Value, gap_ms: f64, lbn: u64) -> f64 {
    let mut drive = drive(values);
    let write = |lbn: u64| Request { op: Op::Write, ..Request::read(lbn, 1) };
    let arrival = drive.serve(Time::ZERO, &write(0)).end + (gap_ms * 1e6) as u64;
    (drive.serve(arrival, &write(lbn)).end - arrival) as f64 / 1e6
}

#[test]
fn nonsequential_write_has_the_overhead_after_a_read() {
    let mut values = overheads(2.0, 1.0, 0.0);
    values["hold_bus_reading"] = true.into();
    // 4.5 ms from sector 1 to sector 55, 3 ms of which the seek takes.
    assert_close(second_write_ms(&values, 0.0, CYLINDER_10 + 55), 55.0 * SECTOR_MS + 10.0);
    // A write that continues the first takes the overhead after a write: its sector passes 1.5 ms after its arrival.
    assert_close(second_write_ms(&values, 8.5, 1), 1.5 + SECTOR_MS);
    // If the drive releases the bus, the difference overlaps the seek.
    values["hold_bus_reading"] = false.into();
    assert_close(second_write_ms(&values, 0.0, CYLINDER_10 + 55), 55.0 * SECTOR_MS);
}

#[test]
fn sequential_write_has_at_least_the_overhead_of_a_read() {
    // The sector passes 1.5 ms after the arrival.
    let second = |after_write: f64, read: f64| second_write_ms(&overheads(9.0, after_write, read), 8.5, 1);
    assert_close(second(1.0, 0.0), 1.5 + SECTOR_MS);
    assert_close(second(1.0, 1.4), 1.5 + SECTOR_MS);
    assert_close(second(1.0, 2.0), 11.5 + SECTOR_MS);
    // With fast write, a write does not wait for the medium.
    let mut fast = overheads(9.0, 0.0, 2.0);
    fast["fast_write"] = "full".into();
    fast["write_hit_after_write_ms"] = 0.5.into();
    assert_close(second_write_ms(&fast, 8.5, 1), 0.5);
}

#[test]
fn a_read_settles_on_its_track_again_after_read_ahead() {
    // The shorter of the track skew and of a seek of 3 ms: 0.5 ms with a skew of 6 sectors, 3 ms with one of 48.
    for (skew_sectors, missed, read) in [(6.0, 5, 7), (48.0, 35, 37)] {
        let zone = json!({"first_cylinder": 0, "last_cylinder": 49, "sectors_per_track": SECTORS,
                          "track_skew_sectors": skew_sectors, "cylinder_skew_sectors": 0.0});
        let values = json!({"zones": [zone], "read_ahead": "segment", "segment_blocks": 16});
        let read_ms = |lbn: u64| {
            let mut drive = drive(&values);
            // It reads ahead up to block 26. Sector 0 passes at 30 ms.
            drive.serve(Time::ZERO, &Request::read(10, 8));
            let now = Time::from_ns(30_000_000);
            (drive.serve(now, &Request { arrival: now, ..Request::read(lbn, 1) }).end - now) as f64 / 1e6
        };
        assert_close(read_ms(missed), (missed + 1) as f64 * SECTOR_MS + 10.0);
        assert_close(read_ms(read), (read + 1) as f64 * SECTOR_MS);
    }
}

#[test]
fn an_appended_write_waits_for_room_in_the_segment() {
    let values = json!({"fast_write": "full", "combine_writes": true, "bus_ms_per_block": 0.01});
    let appended_ms = |blocks: u32| {
        let mut drive = drive(&values);
        let write = |lbn: u64, blocks: u32| Request { op: Op::Write, ..Request::read(lbn, blocks) };
        drive.serve(Time::ZERO, &write(CYLINDER_10, 8));
        let now = Time::from_ns(1_000_000);
        (drive.serve(now, &Request { arrival: now, ..write(CYLINDER_10 + 8, blocks) }).end - now) as f64 / 1e6
    };
    assert_close(appended_ms(8), 0.08);
    assert_close(appended_ms(56), 0.56);
    // A segment of 64 blocks has room for one more when its first block is on the medium, in the second revolution.
    assert_close(appended_ms(57), 10.0 + SECTOR_MS - 1.0);
}
