//! Retries of reads from the medium: whole revolutions with the mean of the geometric distribution, and none for other accesses.

use serde_json::{json, Value};
use sledsim::devices::disk::DiskDevice;
use sledsim::devices::{Mechanism, Service};
use sledsim::engine::random::Stream;
use sledsim::request::{Op, Request};
use sledsim::time::Time;
use sledsim_testing::tiers::size;

/// Blocks of the drive: 50 cylinders of two tracks of 120 blocks.
const BLOCKS: u64 = 50 * 2 * 120;
const REVOLUTION_NS: u64 = 10_000_000;
/// Longer than any read with its retries: 37 means of 3 revolutions.
const APART_NS: u64 = 10_000_000_000;

fn drive(retries: Option<(f64, f64)>, values: &Value) -> DiskDevice {
    let mut drive = json!({
        "name": "small", "surfaces": 2, "cylinders": 50,
        "zones": [{"first_cylinder": 0, "last_cylinder": 49, "sectors_per_track": 120,
                   "track_skew_sectors": 10.0, "cylinder_skew_sectors": 20.0}],
        "rotation_rpm": 6000.0, "seek": {"curve": "constant", "seek_ms": 3.0}, "head_switch_ms": 0.5,
        "bus_ms_per_block": 0.01, "buffer_segments": 2, "segment_blocks": 400,
    });
    if let Some((probability, mean_revolutions)) = retries {
        drive["read_retries"] = json!({"probability": probability, "mean_revolutions": mean_revolutions});
    }
    for (key, value) in values.as_object().expect("a table") {
        drive[key] = value.clone();
    }
    DiskDevice::new(&serde_json::from_value(drive).expect("parameters")).expect("a drive")
}

/// Serves requests that are far apart, so that the delay of one does not reach the next.
fn serve(drive: &mut DiskDevice, requests: &[Request]) -> Vec<Service> {
    let at = |index: usize| Time::from_ns(index as u64 * APART_NS);
    requests.iter().enumerate().map(|(index, request)| drive.serve(at(index), request)).collect()
}

fn request(op: Op, lbn: u64, blocks: u32) -> Request {
    Request { op, ..Request::read(lbn, blocks) }
}

fn random_reads(number: usize) -> Vec<Request> {
    let mut random = Stream::new(5, "reads");
    let read = |_| {
        let blocks = 1 + random.below(300);
        request(Op::Read, random.below(BLOCKS - blocks), blocks as u32)
    };
    (0..number).map(read).collect()
}

#[test]
fn retries_add_whole_revolutions_with_the_closed_form_of_their_mean() {
    let reads = random_reads(size(10_000, 100_000));
    let plain_values = json!({"buffer_caching": false});
    let plain = serve(&mut drive(None, &plain_values), &reads);
    for (probability, mean) in [(0.1, 3.0), (0.9, 1.0)] {
        let retried = serve(&mut drive(Some((probability, mean)), &plain_values), &reads);
        let mut sum = 0;
        for (retried, plain) in retried.iter().zip(&plain) {
            let added_ns = retried.end - plain.end;
            assert_eq!(added_ns % REVOLUTION_NS, 0, "{retried:?} {plain:?}");
            // Positioning to the first sector is as without retries; the retries are between passes.
            let phases =
                |service: &Service| (service.phases.command_ns, service.phases.seek_ns, service.phases.rotation_ns);
            assert_eq!(phases(retried), phases(plain));
            assert_eq!(retried.phases.service_ns(), retried.end - retried.start);
            sum += added_ns / REVOLUTION_NS;
        }
        let number = reads.len() as f64;
        // Mean and variance of a number that is 0, or geometric with this probability.
        let (expected, square) = (probability * mean, probability * (2.0 * mean * mean - mean));
        let bound = 5.0 * ((square - expected * expected) / number).sqrt();
        let found = sum as f64 / number;
        assert!((found - expected).abs() <= bound, "{found} revolutions instead of {expected}");
    }
}

#[test]
fn reads_that_never_fail_take_the_same_time_as_without_retries() {
    let reads = random_reads(1_000);
    let values = json!({"read_ahead": "segment"});
    assert_eq!(serve(&mut drive(Some((0.0, 5.0)), &values), &reads), serve(&mut drive(None, &values), &reads));
}

#[test]
fn buffer_hits_read_ahead_and_writes_are_not_retried() {
    let values = json!({"read_ahead": "segment", "physical_sector_blocks": 8});
    let requests = [
        // A miss; a hit; two reads of what was read ahead; writes of whole and partial physical sectors; a miss.
        request(Op::Read, 1_000, 8),
        request(Op::Read, 1_000, 8),
        request(Op::Read, 1_008, 64),
        request(Op::Read, 1_200, 100),
        request(Op::Write, 5_000, 8),
        request(Op::Write, 7_001, 3),
        request(Op::Read, 9_000, 300),
    ];
    let plain = serve(&mut drive(None, &values), &requests);
    // Each failure takes exactly one more revolution, however many tracks the read covers.
    let retried = serve(&mut drive(Some((1.0, 1.0)), &values), &requests);
    let added: Vec<u64> = retried.iter().zip(&plain).map(|(retried, plain)| retried.end - plain.end).collect();
    assert_eq!(added, [REVOLUTION_NS, 0, 0, 0, 0, 0, REVOLUTION_NS]);
}

#[test]
fn read_ahead_begins_after_the_retries() {
    let reads = [request(Op::Read, 0, 8), request(Op::Read, 8, 8)];
    let both = |retries| {
        let mut drive =
            drive(retries, &json!({"read_ahead": "segment", "transfer_partial_hits": true, "almost_read_hits": true}));
        let first = drive.serve(Time::ZERO, &reads[0]).end;
        (first, drive.serve(first, &reads[1]).end)
    };
    let (first, second) = both(None);
    assert_eq!(both(Some((1.0, 1.0))), (first + REVOLUTION_NS, second + REVOLUTION_NS));
}
