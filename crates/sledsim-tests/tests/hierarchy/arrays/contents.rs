//! Data integrity of arrays: whole, degraded, nested, and with latent sector errors.

use std::sync::atomic::Ordering;

use sledsim::engine::random::Stream;
use sledsim::engine::{ComponentId, Status, System};
use sledsim::hierarchy::array::{JournalSpec, Level, ReadChoice, Sparing, WriteMethod};
use sledsim::hierarchy::faulty::UnreadableSpec;
use sledsim::hierarchy::{ArraySpec, Child, FaultSpec, Faulty, RedundantArray, Spread};
use sledsim::request::{Flags, Op};
use sledsim::schedulers::fcfs;
use sledsim_testing::test_bed::{Load, TestBed};
use sledsim_testing::tiers;

use super::building::*;

/// Size of a block: small for many operations, but large enough for its identification.
pub const BLOCK: u32 = 32;

/// Stripe units of 4 blocks.
pub fn small() -> ArraySpec {
    units(4 * u64::from(BLOCK))
}

pub fn load(span_blocks: u64) -> Load {
    Load { span_blocks, most_blocks: 14, writes: 0.6, gap_ns: T_NS / 2, outstanding: 6 }
}

/// Members of a level that tolerates `.1` failures.
pub const ARRAYS: [(Level, usize, usize); 4] =
    [(Level::Mirror, 3, 2), (Level::Raid4, 4, 1), (Level::Raid5, 4, 1), (Level::Raid6, 5, 2)];

/// A test bed over an array, and its members.
pub fn on_test_bed(level: Level, count: usize, spec: &ArraySpec, seed: u64) -> (TestBed, Built) {
    let mut built = array(level, &constant(40, BLOCK), count, spec);
    (TestBed::new(std::mem::take(&mut built.system), seed), built)
}

pub fn assert_right(bed: &TestBed, what: &str) {
    assert!(bed.wrong.is_empty(), "{what}: {:?}", bed.wrong.first());
    assert!(bed.lost.is_empty(), "{what}: lost {:?}", bed.lost);
}

/// Number of operations for each kind and setting of an array: more than a million in all for the full size.
fn operations() -> u64 {
    tiers::size(2_000, 20_000)
}

#[test]
fn arrays_return_written_data() {
    let journal = Some(JournalSpec { size_bytes: 1024, access_us: 5.0, ..JournalSpec::default() });
    for (level, count, _) in ARRAYS {
        for (seed, write) in [WriteMethod::Cost, WriteMethod::Rmw, WriteMethod::Reconstruct].into_iter().enumerate() {
            for journal in [None, journal] {
                let read = [ReadChoice::ShortestQueue, ReadChoice::RoundRobin, ReadChoice::Nearest][seed];
                let spec = ArraySpec { write, read, journal, ..small() };
                let (mut bed, _) = on_test_bed(level, count, &spec, seed as u64);
                let capacity = bed.capacity_blocks();
                bed.operate(operations(), &load(capacity));
                bed.settle();
                bed.read_all();
                assert_right(&bed, &format!("{level:?} {spec:?}"));
                let stalls = counted(&bed.system, "journal_stalls");
                assert_eq!(stalls > 0.0, journal.is_some(), "a journal of a few rows is full at times");
                let waits = counted(&bed.system, "row_waits");
                assert!(waits > 0.0, "{level:?}: no request waited for a row");
            }
        }
    }
}

/// First as many failures as the redundancy tolerates, then one more.
#[test]
fn arrays_tolerate_failures_up_to_their_redundancy() {
    for (level, count, most) in ARRAYS {
        for seed in 0..tiers::size(3, 8) {
            let (mut bed, built) = on_test_bed(level, count, &small(), seed);
            let span = load(bed.capacity_blocks());
            for member in 0..most {
                bed.operate(2000, &span);
                built.switch((member * 2 + seed as usize) % count).store(true, Ordering::Relaxed);
            }
            bed.operate(2000, &span);
            bed.settle();
            bed.read_all();
            assert_right(&bed, &format!("{level:?}"));
            let paths = bed.system.component(bed.system.root()).details(bed.system.now()).expect("details").paths;
            assert!(paths.iter().any(|path| path.name == "degraded-write" && path.count > 0));
            // The last member of RAID-4 holds parity only.
            let may_be_whole = matches!(level, Level::Mirror | Level::Raid4);
            assert!(may_be_whole || paths[1].count > 0, "nothing was read degraded");
            // One more: requests fail, but no wrong data is read.
            let left = (0..count).find(|&member| !built.switches[member].load(Ordering::Relaxed)).expect("one is left");
            built.switch(left).store(true, Ordering::Relaxed);
            bed.operate(500, &span);
            bed.settle();
            assert!(bed.wrong.is_empty(), "{level:?}: {:?}", bed.wrong.first());
            assert!(bed.lost[&Status::Failed] > 0 && counted(&bed.system, "lost_requests") > 0.0);
        }
    }
}

/// A level over members, some of which have latent sector errors at random places.
fn with_errors(level: Level, count: usize, bad: usize, seed: u64) -> TestBed {
    let mut system = System::default();
    let mut stream = Stream::new(seed, "faults");
    let blocks = 40;
    let member = |number| {
        let drive = add_drive(&mut system, &constant(blocks, BLOCK), &fcfs::POLICY.default);
        // One block in ten.
        let latent_per_gb = if number < bad { 0.1 * 1e9 / f64::from(BLOCK) } else { 0.0 };
        let spec = FaultSpec { latent_per_gb, ..FaultSpec::default() };
        let faulty = Faulty::new(Child::of(&system, drive), &spec, &mut stream).expect("it fits");
        system.add(Box::new(faulty), &[drive])
    };
    let members: Vec<ComponentId> = (0..count).map(member).collect();
    let array = RedundantArray::new(level, members.clone(), &vec![(blocks, BLOCK); count], &small());
    system.add(Box::new(array.expect("they fit")), &members);
    TestBed::new(system, seed)
}

/// As many members have errors as the level tolerates failures: no combination of errors in a row loses data.
#[test]
fn latent_sector_errors_are_recovered_and_repaired() {
    for (level, count, most) in ARRAYS {
        let mut repaired = 0.0;
        for seed in 0..40 {
            let mut bed = with_errors(level, count, most, seed);
            let capacity = bed.capacity_blocks();
            bed.operate(600, &load(capacity));
            bed.settle();
            for lbn in 0..capacity {
                bed.submit(bed.system.now(), Op::Read, lbn, 1, Flags::NONE);
                bed.settle();
            }
            assert_right(&bed, &format!("{level:?} {seed}"));
            repaired += counted(&bed.system, "repaired_parts");
        }
        assert!(repaired > 10.0, "{level:?}: {repaired}");
    }
}

#[test]
fn a_latent_error_in_a_degraded_row_fails_reads_until_a_write() {
    let mut system = System::default();
    let mut tops = Vec::new();
    for member in 0..3 {
        let drive = add_drive(&mut system, &constant(40, BLOCK), &fcfs::POLICY.default);
        let mut spec = FaultSpec::default();
        match member {
            0 => spec.fails_at_s = Some(0.0),
            _ => spec.unreadable = vec![UnreadableSpec { lbn: 2, blocks: member }],
        }
        let faulty = Faulty::new(Child::of(&system, drive), &spec, &mut Stream::new(0, "faults")).expect("it fits");
        tops.push(system.add(Box::new(faulty), &[drive]));
    }
    let array = RedundantArray::new(Level::Raid4, tops.clone(), &[(40, BLOCK); 3], &small()).expect("they fit");
    system.add(Box::new(array), &tops);
    // Column 0 is lost; column 1 has an error at its block 2, parity at 2 and 3.
    assert_eq!(serve_one(&mut system, Op::Read, 0, 1).status, Status::Served);
    for lbn in [2, 3, 6] {
        assert_eq!(serve_one(&mut system, Op::Read, lbn, 1).status, Status::Unreadable, "{lbn}");
    }
    assert_eq!(serve_one(&mut system, Op::Read, 7, 1).status, Status::Served);
    // All of column 1: it can't be reconstructed without column 0, which is lost, nor read.
    assert_eq!(serve_one(&mut system, Op::Write, 6, 2).status, Status::Failed);
    // A write of the whole row reads nothing.
    assert_eq!(serve_one(&mut system, Op::Write, 0, 8).status, Status::Served);
    for lbn in 0..8 {
        assert_eq!(serve_one(&mut system, Op::Read, lbn, 1).status, Status::Served, "{lbn}");
    }
}

/// The kind of the members of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Drive,
    Concat,
    Stripe,
    Redundant(Level),
}

/// Adds an array over drives or over arrays of drives.
fn add_part(system: &mut System, part: Part, below: Part) -> ComponentId {
    if part == Part::Drive {
        return add_drive(system, &constant(24, BLOCK), &fcfs::POLICY.default);
    }
    let count = if part == Part::Redundant(Level::Raid6) { 4 } else { 3 };
    let children: Vec<ComponentId> = (0..count).map(|_| add_part(system, below, Part::Drive)).collect();
    let sizes: Vec<(u64, u32)> = children.iter().map(|&child| super::building::size(system, child)).collect();
    let spec = ArraySpec { journal: Some(JournalSpec::default()), ..small() };
    match part {
        Part::Drive => unreachable!("handled above"),
        Part::Concat => system.add(Box::new(Spread::concat(children.clone(), &sizes).expect("fits")), &children),
        Part::Stripe => system.add(Box::new(Spread::stripe(children.clone(), &sizes, 96).expect("fits")), &children),
        Part::Redundant(level) => {
            let array = RedundantArray::new(level, children.clone(), &sizes, &spec).expect("they fit");
            system.add(Box::new(array), &children)
        }
    }
}

#[test]
fn nested_arrays_return_written_data() {
    let redundant = LEVELS.map(Part::Redundant);
    let parts: Vec<Part> = [Part::Concat, Part::Stripe].into_iter().chain(redundant).collect();
    for (seed, (&outer, &inner)) in parts.iter().flat_map(|outer| parts.iter().map(move |p| (outer, p))).enumerate() {
        let mut system = System::default();
        add_part(&mut system, outer, inner);
        let mut bed = TestBed::new(system, seed as u64);
        let capacity = bed.capacity_blocks();
        bed.operate(operations(), &load(capacity));
        bed.settle();
        bed.read_all();
        assert_right(&bed, &format!("{outer:?} of {inner:?}"));
    }
}

#[test]
fn spare_units_are_unused_until_a_failure() {
    let spec = ArraySpec { spares: 1, sparing: Sparing::Distributed, ..small() };
    let (mut bed, _) = on_test_bed(Level::Raid5, 5, &spec, 1);
    assert_eq!(bed.capacity_blocks(), 3 * 40);
    bed.operate(operations(), &load(3 * 40));
    bed.settle();
    bed.read_all();
    assert_right(&bed, "with distributed spares");
    assert_eq!(counted(&bed.system, "background_accesses"), 0.0);
}
