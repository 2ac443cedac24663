//! Failures of children: lost data is never served, and data on the other child still is.

use std::collections::{BTreeMap, BTreeSet};

use sledsim::engine::random::Stream;
use sledsim::engine::{Completion, Component, ComponentId, Context, Instrumentation, PowerLoss, Status, System};
use sledsim::hierarchy::{CachingDiskFlushSpec, CachingDiskSpec, Child, FaultSpec, Faulty};
use sledsim::request::{Flags, Op, Request};
use sledsim::schedulers::fcfs;
use sledsim::time::Time;
use sledsim_testing::test_bed::{Load, TestBed};

use super::{add_caching_disk, add_constant, count, techniques, DISK_NS, LARGE_SEGMENT, MEMS_NS, SEGMENT};

const SLOTS: u64 = 6;
const DISK_BLOCKS: u64 = 12 * SEGMENT;

fn add_faulty(system: &mut System, child: ComponentId, fault: &FaultSpec) -> ComponentId {
    let mut stream = Stream::new(1, "faults");
    let faulty = Faulty::new(Child::of(system, child), fault, &mut stream).expect("it fits");
    system.add(Box::new(faulty), &[child])
}

/// A caching disk over children that may fail.
fn faulty(spec: &CachingDiskSpec, mems: &FaultSpec, disk: &FaultSpec) -> System {
    let mut system = System::default();
    let fcfs = fcfs::POLICY.default;
    let below = add_constant(&mut system, SLOTS * (SEGMENT + 1), MEMS_NS, &fcfs);
    let mems = add_faulty(&mut system, below, mems);
    let below = add_constant(&mut system, DISK_BLOCKS, DISK_NS, &fcfs);
    let disk = add_faulty(&mut system, below, disk);
    add_caching_disk(&mut system, spec, mems, disk);
    system
}

fn none() -> FaultSpec {
    FaultSpec::default()
}

fn fails_at(at_ns: u64) -> FaultSpec {
    FaultSpec { fails_at_s: Some(at_ns as f64 / 1e9), ..none() }
}

/// Makes some blocks unreadable from a given time until they are written again.
#[derive(Clone)]
struct Spoiling {
    child: ComponentId,
    capacity_blocks: u64,
    from: Time,
    blocks: BTreeSet<u64>,
}

impl Component for Spoiling {
    fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        512
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let payload = context.payload(&request);
        context.submit_with(self.child, request, payload);
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let answer = context.read_payload(child, completion);
        let Request { lbn, op, .. } = completion.request;
        let mut status = completion.status;
        if context.now() >= self.from {
            let touched: Vec<u64> = self.blocks.range(lbn..completion.request.end_lbn()).copied().collect();
            match op {
                Op::Read if !touched.is_empty() => status = Status::Unreadable,
                Op::Read => {}
                Op::Write | Op::Flush | Op::Reset => {
                    touched.iter().for_each(|block| assert!(self.blocks.remove(block)))
                }
            }
        }
        context.complete_with(&Completion { status, ..*completion }, answer);
    }
}

impl PowerLoss for Spoiling {}

impl Instrumentation for Spoiling {}

/// A caching disk over children some of whose blocks are unreadable from a given time on.
fn spoiling(spec: &CachingDiskSpec, from_ns: u64, mems: &[u64], disk: &[u64]) -> System {
    let mut system = System::default();
    let mut add = |capacity_blocks, access_ns, blocks: &[u64]| {
        let child = add_constant(&mut system, capacity_blocks, access_ns, &fcfs::POLICY.default);
        let (from, blocks) = (Time::from_ns(from_ns), blocks.iter().copied().collect());
        system.add(Box::new(Spoiling { child, capacity_blocks, from, blocks }), &[child])
    };
    let mems = add(SLOTS * (SEGMENT + 1), MEMS_NS, mems);
    let disk = add(DISK_BLOCKS, DISK_NS, disk);
    add_caching_disk(&mut system, spec, mems, disk);
    system
}

fn request(bed: &mut TestBed, op: Op, lbn: u64, blocks: u64) -> bool {
    let lost: u64 = bed.lost.values().sum();
    bed.submit(bed.system.now(), op, lbn, blocks as u32, Flags::NONE);
    bed.settle();
    while bed.step() {}
    assert_eq!(bed.wrong, [] as [String; 0]);
    bed.lost.values().sum::<u64>() == lost
}

fn flushing() -> Option<CachingDiskFlushSpec> {
    Some(CachingDiskFlushSpec { idle_ms: Some(1.0), period_s: None, high_water: 1.0, low_water: 1.0 })
}

#[test]
fn a_mems_failure_loses_exactly_the_changed_blocks() {
    for combination in 0..8 {
        let spec = techniques(combination);
        let mut bed = TestBed::new(faulty(&spec, &fails_at(100_000_000), &none()), 1);
        // Segments 0 and 1 are dirty, 2 and 3 clean.
        let quiet = |bed: &mut TestBed, op, segment| request(bed, op, segment * SEGMENT, SEGMENT);
        for (op, segment) in [(Op::Write, 0), (Op::Write, 1), (Op::Read, 2), (Op::Read, 3)] {
            bed.submit(bed.system.now(), op, segment * SEGMENT, SEGMENT as u32, Flags::NONE);
            bed.settle();
        }
        let at = Time::from_ns(100_000_000);
        while bed.system.next_time().is_some_and(|next| next < at) {
            bed.step();
        }
        bed.submit(at, Op::Read, 2 * SEGMENT, 3, Flags::NONE);
        bed.settle();
        assert_eq!(bed.lost.values().sum::<u64>(), 0, "the disk has segment 2, {spec:?}");
        assert!(quiet(&mut bed, Op::Read, 3) && quiet(&mut bed, Op::Read, 7));
        assert!(!quiet(&mut bed, Op::Read, 0) && !quiet(&mut bed, Op::Read, 1), "{spec:?}");
        assert_eq!(count(&bed.system, "lost_blocks"), 2.0 * SEGMENT as f64);
        // Writes go to the disk, and rewritten blocks are no longer lost.
        assert!(request(&mut bed, Op::Write, 2, 3) && request(&mut bed, Op::Read, 2, 3));
        assert!(!request(&mut bed, Op::Read, 2, 4), "the following block is lost");
        assert!(request(&mut bed, Op::Write, 3 * SEGMENT - 2, 4) && request(&mut bed, Op::Read, 3 * SEGMENT - 2, 4));
        // A power cut does not change that.
        bed.system.cut_power_after(1);
        bed.cut(0, &Load { span_blocks: 1, most_blocks: 1, writes: 0.0, gap_ns: 1, outstanding: 1 }, 0);
        assert!(request(&mut bed, Op::Read, 2, 3) && !quiet(&mut bed, Op::Read, 1));
        assert!(quiet(&mut bed, Op::Write, 1) && quiet(&mut bed, Op::Read, 1));
        assert_eq!(bed.wrong, [] as [String; 0]);
    }
}

/// MEMS fails at any time of a busy period.
#[test]
fn no_stale_data_after_a_mems_failure_at_any_time() {
    let load = Load { span_blocks: 90, most_blocks: 12, writes: 0.6, gap_ns: 150_000, outstanding: 8 };
    for combination in 0..8 {
        for seed in 0..40 {
            let flush = (seed % 2 == 0).then(flushing).flatten();
            let bypass_bytes = (seed % 3 == 0).then_some(512);
            let spec = CachingDiskSpec { flush, bypass_bytes, ..techniques(combination) };
            let mems = fails_at(3_000_000 + seed * 517_000);
            let mut bed = TestBed::new(faulty(&spec, &mems, &none()), seed);
            bed.operate(400, &load);
            bed.settle();
            while bed.step() {}
            bed.read_all();
            assert!(bed.wrong.is_empty(), "{seed}, {spec:?}: {:?}", bed.wrong.first());
            assert!(count(&bed.system, "detours") > 50.0);
            // The disk continues without MEMS: written data can be read, also after power cuts.
            bed.operate(200, &Load { writes: 1.0, ..load });
            bed.settle();
            for block in 0..90 {
                assert!(request(&mut bed, Op::Write, block, 1));
            }
            bed.lost.clear();
            bed.cut(10 + seed, &load, seed % 3);
            assert!(bed.wrong.is_empty() && bed.lost.is_empty(), "{seed}, {spec:?}: {:?}", bed.wrong.first());
        }
    }
}

/// MEMS fails while power is off or during recovery, so that its content is unknown.
#[test]
fn a_mems_failure_before_recovery_loses_all_possible_blocks() {
    let spec = techniques(7);
    let load = Load { span_blocks: 90, most_blocks: 12, writes: 0.6, gap_ns: 150_000, outstanding: 8 };
    for seed in 0..20 {
        let mems = fails_at(10_000_000);
        let mut bed = TestBed::new(faulty(&spec, &mems, &none()), seed);
        while bed.system.now().ns() < 8_000_000 {
            bed.operate(1, &load);
        }
        bed.settle();
        while bed.step() {}
        // Power fails before the next request, at a time at which MEMS has failed.
        let late = bed.system.now().ns() + 20_000_000;
        bed.system.advance(Time::from_ns(late));
        bed.system.cut_power_after(1);
        bed.cut(0, &load, 0);
        assert!(bed.wrong.is_empty(), "{seed}: {:?}", bed.wrong.first());
        assert!(bed.lost.contains_key(&Status::Unreadable), "{:?}", bed.lost);
        assert!(request(&mut bed, Op::Write, 0, 90) && request(&mut bed, Op::Read, 0, 90));
    }
}

/// MEMS fails after recovery has read some of its headers: their segments are lost, too.
#[test]
fn a_mems_failure_during_recovery_loses_all_possible_blocks() {
    let (segment, slots) = (LARGE_SEGMENT, 30);
    let spec = CachingDiskSpec { segment_bytes: segment * 512, buffer_bytes: 136 * 1024, ..techniques(7) };
    for headers in 0..slots {
        let at = Time::from_ns(1_000_000_000);
        let mut system = System::default();
        let fcfs = fcfs::POLICY.default;
        let below = add_constant(&mut system, slots * (segment + 1), MEMS_NS, &fcfs);
        let mems = add_faulty(&mut system, below, &fails_at(at.ns() + headers * MEMS_NS + MEMS_NS / 2));
        let disk = add_constant(&mut system, 2 * slots * segment, DISK_NS, &fcfs);
        add_caching_disk(&mut system, &spec, mems, disk);
        let mut bed = TestBed::new(system, headers);
        for written in 0..4 {
            bed.submit(bed.system.now(), Op::Write, written * segment, segment as u32, Flags::NONE);
            bed.settle();
        }
        bed.system.advance(at);
        bed.system.cut_power_after(1);
        bed.cut(0, &Load { span_blocks: 1, most_blocks: 1, writes: 0.0, gap_ns: 1, outstanding: 1 }, 0);
        assert_eq!(bed.wrong, [] as [String; 0], "{headers}");
        assert_eq!(bed.lost, BTreeMap::from([(Status::Unreadable, 4 * segment)]), "{headers}");
        assert!(request(&mut bed, Op::Write, 0, segment) && request(&mut bed, Op::Read, 0, segment));
        assert!(!request(&mut bed, Op::Read, segment, 1));
    }
}

/// Slots are assigned in order: the first segment starts after block 0.
#[test]
fn blocks_unreadable_on_mems_are_read_from_the_disk_if_unchanged() {
    for combination in 0..8 {
        let spec = techniques(combination);
        let at_once = 50 * (MEMS_NS + DISK_NS);
        let mut bed = TestBed::new(spoiling(&spec, at_once, &[1 + 3, SEGMENT + 1 + 1 + 5], &[]), 1);
        assert!(request(&mut bed, Op::Read, 0, SEGMENT) && request(&mut bed, Op::Write, SEGMENT, SEGMENT));
        bed.submit(Time::from_ns(at_once), Op::Read, 0, SEGMENT as u32, Flags::NONE);
        bed.settle();
        assert_eq!((bed.lost.len(), count(&bed.system, "detours")), (0, 1.0), "{spec:?}");
        assert!(request(&mut bed, Op::Read, 4, 3), "the others are read on MEMS");
        assert_eq!(count(&bed.system, "detours"), 1.0);
        // Segment 1 is dirty: it exists on MEMS only, without the unreadable block.
        assert!(!request(&mut bed, Op::Read, SEGMENT, SEGMENT) && request(&mut bed, Op::Read, SEGMENT, 5));
        // Its eviction writes the readable blocks to the disk; the unreadable block stays lost until it is written.
        for segment in 3..3 + SLOTS {
            assert!(request(&mut bed, Op::Read, segment * SEGMENT, 1));
        }
        assert_eq!(count(&bed.system, "lost_blocks"), 1.0);
        assert!(request(&mut bed, Op::Read, SEGMENT, 5) && request(&mut bed, Op::Read, SEGMENT + 6, 2));
        assert!(!request(&mut bed, Op::Read, SEGMENT + 5, 1), "{spec:?}");
        assert!(request(&mut bed, Op::Write, SEGMENT + 5, 1) && request(&mut bed, Op::Read, SEGMENT, SEGMENT));
        let detours = count(&bed.system, "detours");
        assert!(request(&mut bed, Op::Read, SEGMENT, SEGMENT) && request(&mut bed, Op::Read, SEGMENT, SEGMENT));
        assert_eq!(count(&bed.system, "detours"), detours, "and the segment is cached again");
    }
}

#[test]
fn an_unreadable_disk_block_fails_only_its_own_requests() {
    for combination in 0..8 {
        let spec = techniques(combination);
        let mut bed = TestBed::new(spoiling(&spec, 0, &[], &[3]), 1);
        assert!(request(&mut bed, Op::Read, 0, 3) && request(&mut bed, Op::Read, 4, 4), "{spec:?}");
        assert!(!request(&mut bed, Op::Read, 0, 4));
        assert!(request(&mut bed, Op::Write, 3, 1) && request(&mut bed, Op::Read, 0, SEGMENT), "{spec:?}");
        assert_eq!(count(&bed.system, "lost_blocks"), 0.0);
    }
}

#[test]
fn no_stale_data_with_unreadable_blocks() {
    let load = Load { span_blocks: 90, most_blocks: 12, writes: 0.5, gap_ns: 150_000, outstanding: 8 };
    for combination in 0..8 {
        for seed in 0..20 {
            let flush = (seed % 2 == 0).then(flushing).flatten();
            let spec = CachingDiskSpec { flush, ..techniques(combination) };
            // Unreadable blocks: a fifth of MEMS except the headers, and some of the disk.
            let mems: Vec<u64> =
                (0..SLOTS * (SEGMENT + 1)).filter(|lbn| lbn % (SEGMENT + 1) != 0 && lbn % 5 == seed % 5).collect();
            let disk: Vec<u64> = (0..90).filter(|lbn| lbn % 17 == seed % 17).collect();
            let mut bed = TestBed::new(spoiling(&spec, 5_000_000, &mems, &disk), seed);
            bed.operate(600, &load);
            bed.settle();
            while bed.step() {}
            bed.read_all();
            assert!(bed.wrong.is_empty(), "{seed}, {spec:?}: {:?}", bed.wrong.first());
            for _ in 0..3 {
                bed.cut(20 + seed * 7, &load, seed % 3);
            }
            assert!(bed.wrong.is_empty(), "after cuts, {seed}, {spec:?}: {:?}", bed.wrong.first());
        }
    }
}

/// The segment of an unreadable header may be any segment that is not found elsewhere.
#[test]
fn no_stale_data_after_an_unreadable_header() {
    for combination in 0..8 {
        let at_once = 50 * (MEMS_NS + DISK_NS);
        let spec = techniques(combination);
        let mut bed = TestBed::new(spoiling(&spec, at_once, &[SEGMENT + 1], &[]), 1);
        for segment in 0..4 {
            assert!(request(&mut bed, Op::Write, segment * SEGMENT, SEGMENT));
        }
        bed.submit(Time::from_ns(at_once), Op::Read, 0, 1, Flags::NONE);
        bed.settle();
        bed.system.cut_power_after(1);
        bed.cut(0, &Load { span_blocks: 1, most_blocks: 1, writes: 0.0, gap_ns: 1, outstanding: 1 }, 0);
        assert_eq!(bed.wrong, [] as [String; 0]);
        assert_eq!(bed.lost, BTreeMap::from([(Status::Unreadable, SEGMENT)]), "all of segment 1, {spec:?}");
        assert!(!request(&mut bed, Op::Read, 11 * SEGMENT, 1), "segment 11 may be lost, so its read fails");
        assert!(request(&mut bed, Op::Write, SEGMENT, SEGMENT) && request(&mut bed, Op::Read, SEGMENT, SEGMENT));
        assert!(request(&mut bed, Op::Read, 2 * SEGMENT, SEGMENT), "this segment was recovered");
    }
}

/// If the disk fails, evicted segments are lost, but not segments on MEMS.
#[test]
fn failed_destages_lose_only_evicted_segments() {
    for (combination, flush) in (0..8).flat_map(|combination| [(combination, None), (combination, flushing())]) {
        let spec = CachingDiskSpec { flush, ..techniques(combination) };
        let mut bed = TestBed::new(faulty(&spec, &none(), &fails_at(100_000)), 1);
        for segment in 0..SLOTS {
            assert!(request(&mut bed, Op::Write, segment * SEGMENT, SEGMENT), "MEMS takes it, {spec:?}");
        }
        for segment in 0..SLOTS {
            assert!(request(&mut bed, Op::Read, segment * SEGMENT, SEGMENT), "MEMS has it, {spec:?}");
        }
        assert_eq!(count(&bed.system, "lost_blocks"), 0.0);
        assert!(!request(&mut bed, Op::Read, 10 * SEGMENT, 1), "the disk does not");
        assert_eq!(count(&bed.system, "lost_blocks"), SEGMENT as f64, "and one segment was evicted for that, {spec:?}");
        assert!(!request(&mut bed, Op::Read, 0, 1));
    }
}
