//! Exact times and numbers of accesses over devices with constant access times.

use sledsim::engine::ComponentId;
use sledsim::request::{Flags, Op};
use sledsim_testing::test_bed::TestBed;

use super::{constant, count, details, techniques, DISK_NS, MEMS_NS, SEGMENT};

/// The cost of a request: response time in ns, and accesses of MEMS and disk until all background work has ended.
type Cost = (u64, u64, u64);

fn accesses(bed: &TestBed, child: u32, access_ns: u64) -> u64 {
    let busy_ns = bed.system.component(ComponentId(child)).measured(bed.system.now()).busy_ns;
    assert_eq!(busy_ns % access_ns, 0);
    busy_ns / access_ns
}

fn cost(bed: &mut TestBed, op: Op, lbn: u64, blocks: u64) -> Cost {
    let before = (accesses(bed, 0, MEMS_NS), accesses(bed, 1, DISK_NS));
    let start = bed.system.now();
    bed.submit(start, op, lbn, blocks as u32, Flags::NONE);
    bed.settle();
    let response = bed.system.now() - start;
    while bed.step() {}
    assert_eq!(bed.wrong, [] as [String; 0]);
    let (mems, disk) = (accesses(bed, 0, MEMS_NS), accesses(bed, 1, DISK_NS));
    (response, mems - before.0, disk - before.1)
}

/// The cost of `mems` and `disk` accesses one after the other, with further accesses in the background.
fn time(mems: u64, disk: u64, more_mems: u64, more_disk: u64) -> Cost {
    (mems * MEMS_NS + disk * DISK_NS, mems + more_mems, disk + more_disk)
}

#[test]
fn each_case_takes_the_accesses_of_its_path() {
    for combination in 0..8 {
        let spec = techniques(combination);
        let mut bed = TestBed::new(constant(&spec, 2, 9), 1);
        let (shortcut, immediate, partial) = (spec.shortcut, spec.immediate_report, spec.partial_write);

        let fill = if shortcut { time(0, 1, 1, 0) } else { time(2, 1, 0, 0) };
        assert_eq!(cost(&mut bed, Op::Read, 0, 4), fill, "read miss, {spec:?}");
        assert_eq!(cost(&mut bed, Op::Read, 3, 5), time(1, 0, 0, 0), "read hit, {spec:?}");
        assert_eq!(cost(&mut bed, Op::Write, 0, 3), time(1, 0, 0, 0), "write hit, {spec:?}");
        assert_eq!(cost(&mut bed, Op::Write, SEGMENT, SEGMENT), time(1, 0, 0, 0), "write of a segment, {spec:?}");

        // Both segments are dirty: the first must be evicted, then the second.
        let room = if immediate { time(1, 0, 0, 1) } else { time(1, 1, 0, 0) };
        let add = |a: Cost, b: Cost| (a.0 + b.0, a.1 + b.1, a.2 + b.2);
        assert_eq!(cost(&mut bed, Op::Read, 2 * SEGMENT, 1), add(room, fill), "read, changed victim, {spec:?}");
        let part = match (partial, shortcut) {
            (true, _) => time(1, 0, 0, 0),
            (false, true) => time(0, 1, 1, 0),
            (false, false) => time(2, 1, 0, 0),
        };
        let lbn = 3 * SEGMENT + 2;
        assert_eq!(cost(&mut bed, Op::Write, lbn, 2), add(room, part), "write of a part, changed victim, {spec:?}");

        // Segment 2 is clean, so its eviction costs nothing.
        assert_eq!(cost(&mut bed, Op::Write, 4 * SEGMENT + 1, 1), part, "write of a part, {spec:?}");
        assert_eq!(count(&bed.system, "evictions"), 3.0);
        assert_eq!(count(&bed.system, "dirty_evictions"), 2.0);

        // With partial writes, only blocks 2 and 3 of segment 3 are valid. The disk has the blocks before and after
        // them: one read, two writes.
        let rest = match (partial, shortcut) {
            (true, true) => (DISK_NS.max(MEMS_NS), 3, 1),
            // The valid blocks are read while the disk is; both missing runs are written and then read, one by one.
            (true, false) => (DISK_NS + 4 * MEMS_NS, 5, 1),
            (false, _) => time(1, 0, 0, 0),
        };
        assert_eq!(cost(&mut bed, Op::Read, 3 * SEGMENT, SEGMENT), rest, "read of missing blocks, {spec:?}");
        assert_eq!(cost(&mut bed, Op::Read, 3 * SEGMENT, SEGMENT), time(1, 0, 0, 0), "read again, {spec:?}");

        // Two segments at once: the pieces are served one after the other only if there is a single MEMS device.
        assert_eq!(cost(&mut bed, Op::Write, 3 * SEGMENT + 7, 2), time(2, 0, 0, 0), "two hits, {spec:?}");
        let requests: u64 = details(&bed.system).paths.iter().map(|path| path.count).sum();
        assert_eq!(requests, 10);
        assert_eq!(count(&bed.system, "lost_blocks"), 0.0);
    }
}

#[test]
fn a_segment_being_destaged_is_read_from_the_buffer() {
    let spec = techniques(7);
    let mut bed = TestBed::new(constant(&spec, 2, 9), 1);
    cost(&mut bed, Op::Write, 0, SEGMENT);
    cost(&mut bed, Op::Write, SEGMENT, SEGMENT);
    let start = bed.system.now();
    // Segment 0 is evicted; when it is in the buffer, segment 2 is written to MEMS and segment 0 to the disk.
    bed.submit(start, Op::Write, 2 * SEGMENT, SEGMENT as u32, Flags::NONE);
    bed.settle();
    assert_eq!(bed.system.now() - start, 2 * MEMS_NS);
    bed.submit(bed.system.now(), Op::Read, 2, 3, Flags::NONE);
    bed.settle();
    assert_eq!(bed.system.now() - start, 2 * MEMS_NS, "the segment is in the buffer");
    assert_eq!(bed.wrong, [] as [String; 0]);
    let paths = details(&bed.system).paths;
    let buffered = paths.iter().find(|path| path.name == "read-buffer").expect("a path");
    assert_eq!((buffered.count, buffered.max_ns), (1, 0));
}

#[test]
fn disk_reads_precede_deferred_destages() {
    // The buffer holds 4 segments: up to 2 dirty segments wait there while the disk reads.
    let spec = techniques(7);
    let mut bed = TestBed::new(constant(&spec, 4, 40), 1);
    for segment in 0..4 {
        cost(&mut bed, Op::Write, segment * SEGMENT, SEGMENT);
    }
    let start = bed.system.now();
    bed.submit(start, Op::Read, 10 * SEGMENT, 1, Flags::NONE);
    bed.settle();
    assert_eq!(bed.system.now() - start, MEMS_NS + DISK_NS, "the victim does not go to the disk first");
}
