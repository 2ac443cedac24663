//! Sequential streams that bypass MEMS.

use sledsim::engine::ComponentId;
use sledsim::hierarchy::CachingDiskSpec;
use sledsim::request::{Flags, Op};
use sledsim_testing::test_bed::{Load, TestBed};

use super::{constant, count, details, techniques, DISK_NS, MEMS_NS, SEGMENT};

/// Requests that continue a stream of two segments bypass MEMS.
fn bypassing(combination: u32) -> CachingDiskSpec {
    CachingDiskSpec { bypass_bytes: Some(2 * SEGMENT * 512), ..techniques(combination) }
}

fn request(bed: &mut TestBed, op: Op, lbn: u64, blocks: u64) -> u64 {
    let start = bed.system.now();
    bed.submit(start, op, lbn, blocks as u32, Flags::NONE);
    bed.settle();
    let response_ns = bed.system.now() - start;
    while bed.step() {}
    assert_eq!(bed.wrong, [] as [String; 0]);
    response_ns
}

fn mems_ns(bed: &TestBed) -> u64 {
    bed.system.component(ComponentId(0)).measured(bed.system.now()).busy_ns
}

#[test]
fn a_stream_does_not_change_the_cache() {
    for combination in 0..8 {
        for op in [Op::Read, Op::Write] {
            let mut bed = TestBed::new(constant(&bypassing(combination), 6, 40), 1);
            for segment in [2, 12, 19, 26] {
                request(&mut bed, Op::Write, segment * SEGMENT, SEGMENT);
            }
            // Two requests of a segment each make it a stream.
            request(&mut bed, op, 6 * SEGMENT, SEGMENT);
            request(&mut bed, op, 7 * SEGMENT, SEGMENT);
            let before = mems_ns(&bed);
            // One disk access for each, regardless of the number of segments; all but the last end within a segment.
            let mut lbn = 8 * SEGMENT;
            for blocks in [12, 3, 5, 2, 10] {
                assert_eq!(request(&mut bed, op, lbn, blocks), DISK_NS, "{op:?} at {lbn}");
                lbn += blocks;
            }
            assert_eq!(mems_ns(&bed), before, "MEMS was not accessed");
            assert_eq!((count(&bed.system, "bypasses"), count(&bed.system, "bypassed_blocks")), (5.0, 32.0));
            assert_eq!(count(&bed.system, "evictions"), 0.0);
            let name = if op == Op::Read { "read-bypass" } else { "write-bypass" };
            let paths = details(&bed.system).paths;
            assert_eq!(paths.iter().find(|path| path.name == name).map(|path| path.count), Some(5));
            // Cached segments in the path of the stream are read and written on MEMS; the rest of the stream continues
            // to bypass it.
            assert_eq!(lbn, 12 * SEGMENT);
            assert_eq!(request(&mut bed, op, lbn, SEGMENT), MEMS_NS);
            assert_eq!(request(&mut bed, op, 13 * SEGMENT, 5 * SEGMENT), DISK_NS);
            assert_eq!(request(&mut bed, op, 18 * SEGMENT, 2 * SEGMENT), DISK_NS.max(MEMS_NS), "one of each");
            bed.read_all();
            assert_eq!(bed.wrong, [] as [String; 0]);
        }
    }
}

#[test]
fn a_segment_is_cached_only_after_its_bypassing_writes() {
    for combination in 0..8 {
        let mut bed = TestBed::new(constant(&bypassing(combination), 6, 40), 1);
        request(&mut bed, Op::Write, 0, 2 * SEGMENT);
        let start = bed.system.now();
        bed.submit(start, Op::Write, 2 * SEGMENT, 4, Flags::NONE);
        bed.submit(start, Op::Read, 2 * SEGMENT + 3, 2, Flags::NONE);
        bed.settle();
        while bed.step() {}
        assert_eq!(count(&bed.system, "bypasses"), 1.0);
        let before = bed.checked;
        request(&mut bed, Op::Read, 2 * SEGMENT, SEGMENT);
        assert_eq!(bed.checked, before + SEGMENT, "written data is read back");
    }
}

#[test]
fn data_is_intact_with_streams() {
    for combination in 0..8 {
        let spec = CachingDiskSpec { bypass_bytes: Some(512), ..techniques(combination) };
        let mut bed = TestBed::new(constant(&spec, 6, 12), 3);
        // A small range, so that many requests continue others.
        let load = Load { span_blocks: 90, most_blocks: 20, writes: 0.5, gap_ns: 150_000, outstanding: 12 };
        bed.operate(10_000, &load);
        bed.settle();
        while bed.step() {}
        bed.read_all();
        assert!(bed.wrong.is_empty() && bed.lost.is_empty(), "{spec:?}: {:?}", bed.wrong.first());
        assert!(count(&bed.system, "bypasses") > 100.0, "{}", count(&bed.system, "bypasses"));
    }
}
