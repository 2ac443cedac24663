//! Writes of parts of physical sectors: the drive reads these sectors first.

use serde_json::{json, Value};
use sledsim::devices::disk::DiskDevice;
use sledsim::devices::Mechanism;
use sledsim::request::{Op, Request};
use sledsim::time::Time;

/// Blocks of the drive: 50 cylinders of two tracks of 120 blocks.
const BLOCKS: u64 = 50 * 2 * 120;

/// Returns a drive with 8 blocks in a physical sector, whose electronics take no time.
fn drive(values: &Value) -> DiskDevice {
    let mut drive = json!({
        "name": "small", "surfaces": 2, "cylinders": 50,
        "zones": [{"first_cylinder": 0, "last_cylinder": 49, "sectors_per_track": 120,
                   "track_skew_sectors": 0.0, "cylinder_skew_sectors": 0.0}],
        "rotation_rpm": 6000.0, "seek": {"curve": "constant", "seek_ms": 3.0}, "head_switch_ms": 0.0,
        "bus_ms_per_block": 0.0, "buffer_segments": 1, "segment_blocks": 64, "physical_sector_blocks": 8,
    });
    for (key, value) in values.as_object().expect("a table") {
        drive[key] = value.clone();
    }
    DiskDevice::new(&serde_json::from_value(drive).expect("parameters")).expect("a drive")
}

fn request(op: Op, first: u64, end: u64) -> Request {
    Request { op, ..Request::read(first, u32::try_from(end - first).expect("a short range")) }
}

/// Returns the end of the last of several requests, each of which begins when the one before has ended.
fn end_of(drive: &mut DiskDevice, requests: &[Request]) -> Time {
    requests.iter().fold(Time::ZERO, |at, request| drive.serve(at, request).end)
}

#[test]
fn partly_written_sectors_at_both_ends_are_read_and_no_others() {
    for (write, reads) in [
        ((8, 600), vec![]),
        ((4, 600), vec![(0, 8)]),
        ((8, 604), vec![(600, 608)]),
        ((4, 604), vec![(0, 8), (600, 608)]),
        ((3, 5), vec![(0, 8)]),
        ((4, 12), vec![(0, 16)]),
        ((4, 20), vec![(0, 8), (16, 24)]),
        ((BLOCKS - 12, BLOCKS), vec![(BLOCKS - 16, BLOCKS - 8)]),
    ] {
        let steps: Vec<Request> = reads
            .into_iter()
            .map(|(first, end)| request(Op::Read, first, end))
            .chain([request(Op::Write, write.0, write.1)])
            .collect();
        let expected = end_of(&mut drive(&json!({"physical_sector_blocks": 1})), &steps);
        assert_eq!(end_of(&mut drive(&json!({})), &steps[steps.len() - 1..]), expected, "{write:?}");
    }
}

#[test]
fn write_that_ends_in_another_partly_written_sector_does_not_continue_a_write_behind() {
    for (first_end, end, is_combined) in [(8, 16, true), (8, 20, false), (4, 8, true), (4, 6, true), (4, 12, false)] {
        let [combined, single] = [true, false].map(|combine_writes| {
            // The time to prepare the data makes a write that does not continue another miss its sector.
            let values = json!({"fast_write": "full", "combine_writes": combine_writes, "data_preparation_ms": 0.05});
            let (first, next) = (request(Op::Write, 0, first_end), request(Op::Write, first_end, end));
            let flush = Request { op: Op::Flush, ..Request::read(0, 0) };
            end_of(&mut drive(&values), &[first, next, flush])
        });
        assert_eq!(combined < single, is_combined, "{first_end} {end}: {combined:?}, one by one {single:?}");
    }
}
