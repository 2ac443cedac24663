//! Contents of a drive's buffer.

use serde_json::json;
use sledsim::devices::disk::DiskDevice;
use sledsim::devices::Mechanism;
use sledsim::request::Request;
use sledsim::time::Time;

const SECTORS: u64 = 120;
/// A revolution at 6,000 rpm.
const PERIOD_NS: u64 = 10_000_000;

/// Returns a drive that reads ahead at most a segment of 64 blocks beyond a request, and whose only delays are those of
/// the medium.
fn drive(over_requested: i32, read_ahead: &str) -> DiskDevice {
    let drive = json!({
        "name": "small", "surfaces": 2, "cylinders": 50,
        "zones": [{"first_cylinder": 0, "last_cylinder": 49, "sectors_per_track": SECTORS,
                   "track_skew_sectors": 0.0, "cylinder_skew_sectors": 0.0}],
        "rotation_rpm": 6000.0, "seek": {"curve": "constant", "seek_ms": 0.0}, "head_switch_ms": 0.0,
        "bus_ms_per_block": 0.0, "buffer_segments": 1, "segment_blocks": 64, "read_ahead": read_ahead,
        "read_ahead_most_blocks": 64, "read_ahead_over_requested": over_requested,
    });
    DiskDevice::new(&serde_json::from_value(drive).expect("parameters")).expect("a drive")
}

/// Returns true if a read, long after the one before, hits the buffer.
fn hits(drive: &mut DiskDevice, revolution: u64, lbn: u64, blocks: u32) -> bool {
    let now = Time::from_ns(revolution * PERIOD_NS);
    drive.serve(now, &Request { arrival: now, ..Request::read(lbn, blocks) }).end == now
}

#[test]
fn read_ahead_keeps_requested_data() {
    for read_ahead in ["segment", "track", "cylinder"] {
        let mut keeping = drive_after_miss(0, read_ahead);
        assert!(hits(&mut keeping, 3, 10, 8), "{read_ahead}: read again");
        assert!(hits(&mut keeping, 6, 18, 56), "{read_ahead}: the rest of the segment");
        let mut reading_over = drive_after_miss(1, read_ahead);
        assert!(hits(&mut reading_over, 3, 18, 64), "{read_ahead}: a segment ahead");
        assert!(!hits(&mut drive_after_miss(1, read_ahead), 3, 10, 8), "{read_ahead}: read over");
    }
}

/// Returns a drive that has read 8 blocks and then ahead.
fn drive_after_miss(over_requested: i32, read_ahead: &str) -> DiskDevice {
    let mut drive = drive(over_requested, read_ahead);
    assert!(!hits(&mut drive, 0, 10, 8));
    drive
}

#[test]
fn power_cut_empties_the_buffer_and_ends_the_read_ahead() {
    let mut cut = drive_after_miss(0, "segment");
    cut.power_cut(Time::from_ns(PERIOD_NS));
    // Neither the data of the read before, nor those that it would have read ahead.
    assert!(!hits(&mut cut.clone(), 3, 10, 8));
    assert!(!hits(&mut cut, 3, 30, 8));
}

#[test]
fn request_longer_than_a_segment_has_no_read_ahead() {
    let mut keeping = drive(0, "segment");
    assert!(!hits(&mut keeping, 0, 10, 70));
    assert!(!hits(&mut keeping, 3, 80, 1));
}
