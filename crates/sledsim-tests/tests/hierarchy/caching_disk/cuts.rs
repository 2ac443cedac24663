//! Power cuts at any time, recovery included, lose no acknowledged write.

use std::collections::BTreeSet;

use sledsim::engine::{Completion, Component, ComponentId, Context, Instrumentation, PowerLoss, System};
use sledsim::hierarchy::caching_disk::MAGIC;
use sledsim::hierarchy::{CachingDiskFlushSpec, CachingDiskSpec};
use sledsim::request::{Flags, Request};
use sledsim::schedulers::{fcfs, sptf};
use sledsim_testing::buggy_component::{Bug, BuggyComponent};
use sledsim_testing::test_bed::{Load, TestBed};
use sledsim_testing::tiers::size;

use super::{
    add_caching_disk, add_constant, add_drive, constant, count, techniques, units, DISK_NS, LARGE_SEGMENT, MEMS_NS,
    SEGMENT,
};

const LOAD: Load = Load { span_blocks: 90, most_blocks: 12, writes: 0.7, gap_ns: 150_000, outstanding: 6 };

/// Cuts power up to `cuts` times, every fifth time once or twice more during recovery. Stops at the first error. Returns the number of
/// cuts.
fn cut(bed: &mut TestBed, cuts: u64, load: &Load) -> u64 {
    for index in 0..cuts {
        let again = if index % 5 == 4 { 1 + index / 5 % 2 } else { 0 };
        bed.cut(1 + index * 37 % 211, load, again);
        if !(bed.wrong.is_empty() && bed.lost.is_empty()) {
            return index + 1;
        }
    }
    cuts
}

fn loses_nothing(mut bed: TestBed, cuts: u64, load: &Load, what: &CachingDiskSpec) -> TestBed {
    let made = cut(&mut bed, cuts, load);
    let wrong = bed.wrong.first();
    assert!(wrong.is_none() && bed.lost.is_empty(), "cut {made}: {wrong:?}, {:?}, {what:?}", bed.lost);
    bed
}

/// Number of power cuts, enough to detect every planted bug.
fn cuts() -> u64 {
    size(500, 5000)
}

/// Power cuts with a combination of techniques, in several sizes.
fn combination(combination: u32) {
    let spec = techniques(combination);
    let bed = loses_nothing(TestBed::new(constant(&spec, 5, 12), 7), cuts(), &LOAD, &spec);
    assert!(count(&bed.system, "recovery_ms") > 0.0);
    // More slots than the journal has room for, and one that is rarely full.
    let spec = CachingDiskSpec { buffer_bytes: 32 * 1024, ..spec };
    loses_nothing(TestBed::new(constant(&spec, 9, 12), 8), cuts(), &Load { writes: 0.5, ..LOAD }, &spec);
    // With streams that bypass MEMS: about every sixth request continues another.
    let spec = CachingDiskSpec { bypass_bytes: Some(512), ..spec };
    let bed = loses_nothing(TestBed::new(constant(&spec, 5, 12), 13), cuts(), &LOAD, &spec);
    assert!(count(&bed.system, "bypasses") > cuts() as f64 / 50.0);
    // With fills in units.
    if spec.partial_write {
        let spec = units(&spec);
        let bed =
            loses_nothing(TestBed::new(constant(&spec, 5, 12), 14), cuts(), &Load { most_blocks: 5, ..LOAD }, &spec);
        assert!(count(&bed.system, "unit_changes") > cuts() as f64 / 1000.0);
    }
}

macro_rules! cuts_lose_nothing {
    ($($name:ident: $combination:expr,)*) => {
        $(#[test]
        fn $name() {
            combination($combination);
        })*
    };
}

// Bits: shortcut, immediate report, partial write.
cuts_lose_nothing! {
    cuts_lose_nothing_plain: 0,
    cuts_lose_nothing_with_shortcut: 1,
    cuts_lose_nothing_with_immediate_report: 2,
    cuts_lose_nothing_with_shortcut_and_immediate_report: 3,
    cuts_lose_nothing_with_partial_write: 4,
    cuts_lose_nothing_with_shortcut_and_partial_write: 5,
    cuts_lose_nothing_with_immediate_report_and_partial_write: 6,
    cuts_lose_nothing_with_all_techniques: 7,
}

#[test]
fn cuts_lose_nothing_while_changed_segments_are_flushed() {
    for combination in [0, 7] {
        let flush = Some(CachingDiskFlushSpec { idle_ms: Some(0.2), period_s: None, high_water: 0.3, low_water: 0.1 });
        let spec = CachingDiskSpec { flush, ..techniques(combination) };
        let bed = loses_nothing(TestBed::new(constant(&spec, 9, 12), 9), 1000, &LOAD, &spec);
        assert!(count(&bed.system, "flushes") > 1000.0);
    }
}

/// Segments so large that recovery reads their headers one by one, and more segments than fit in the journal. The slots
/// of the journal's headers are unknown until recovery ends.
#[test]
fn cuts_lose_nothing_with_a_crowded_journal_and_a_long_recovery() {
    let (segment, slots) = (LARGE_SEGMENT, 130);
    let spec = CachingDiskSpec { segment_bytes: segment * 512, buffer_bytes: 136 * 1024, ..techniques(7) };
    let mut system = System::default();
    let mems = add_constant(&mut system, slots * (segment + 1), MEMS_NS, &fcfs::POLICY.default);
    let disk = add_constant(&mut system, 2 * slots * segment, DISK_NS, &fcfs::POLICY.default);
    add_caching_disk(&mut system, &spec, mems, disk);
    // More segments than slots, so that replaced segments get new headers.
    let load = Load { span_blocks: (slots + 20) * segment, most_blocks: 2, writes: 0.9, ..LOAD };
    let mut bed = TestBed::new(system, 15);
    // Cuts follow each other too closely to fill the journal, so it is filled before them.
    let mut least = 100.0;
    for _ in 0..3 {
        bed.operate(2000, &load);
        let written = count(&bed.system, "header_writes");
        assert!(written > least, "the journal was written back {written} times");
        least = written;
        bed = loses_nothing(bed, 10, &load, &spec);
    }
}

/// A MEMS device and a disk that acknowledges writes before they are on the medium.
fn mechanisms(system: &mut System, combination: u32) -> (ComponentId, ComponentId, CachingDiskSpec) {
    let mems = add_drive(system, "g2", &sptf::POLICY.default);
    let disk = add_drive(system, "atlas10k", &fcfs::POLICY.default);
    (mems, disk, CachingDiskSpec { mems_bytes: Some(8 * (SEGMENT + 1) * 512), ..techniques(combination) })
}

const SLOW: Load = Load { gap_ns: 3_000_000, ..LOAD };

#[test]
fn cuts_lose_nothing_over_a_disk_that_reports_early() {
    for combination in 0..8 {
        let mut system = System::default();
        let (mems, disk, spec) = mechanisms(&mut system, combination);
        add_caching_disk(&mut system, &spec, mems, disk);
        loses_nothing(TestBed::new(system, 10), 150, &SLOW, &spec);
    }
}

/// Passes requests on, but drops the durable flag of writes.
#[derive(Clone)]
struct Careless {
    child: ComponentId,
    capacity_blocks: u64,
    /// Ids of writes whose flag was dropped.
    durable: BTreeSet<u64>,
}

impl Component for Careless {
    fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        512
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let payload = context.payload(&request);
        if request.flags.contains(Flags::DURABLE) {
            self.durable.insert(request.id);
        }
        let flags = request.flags.without(Flags::DURABLE);
        context.submit_with(self.child, Request { flags, ..request }, payload);
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let (answer, request) = (context.read_payload(child, completion), completion.request);
        let durable = if self.durable.remove(&request.id) { Flags::DURABLE } else { Flags::NONE };
        let request = Request { flags: request.flags.with(durable), ..request };
        context.complete_with(&Completion { request, ..*completion }, answer);
    }
}

impl PowerLoss for Careless {}

impl Instrumentation for Careless {}

#[test]
fn destages_without_the_durable_flag_are_detected() {
    let mut system = System::default();
    let (mems, disk, spec) = mechanisms(&mut system, 7);
    let capacity_blocks = system.component(disk).capacity_blocks();
    let disk = system.add(Box::new(Careless { child: disk, capacity_blocks, durable: BTreeSet::new() }), &[disk]);
    add_caching_disk(&mut system, &spec, mems, disk);
    let mut bed = TestBed::new(system, 11);
    cut(&mut bed, 300, &SLOW);
    assert!(!bed.wrong.is_empty(), "no error was detected");
}

/// Bugs between the caching disk and its children.
#[test]
fn planted_bugs_are_detected() {
    let headers = Bug::DropHeaders { magic: &MAGIC, every: 3 };
    let bugs = [
        (0, headers),
        (0, Bug::EarlyAcknowledge),
        (0, Bug::SwapWrites),
        (1, Bug::EarlyAcknowledge),
        (1, Bug::SwapWrites),
    ];
    for combination in 0..8 {
        for (child, bug) in bugs {
            let spec = techniques(combination);
            let mut system = System::default();
            let mut children = [(5 * (SEGMENT + 1), MEMS_NS), (12 * SEGMENT - 3, DISK_NS)]
                .map(|(blocks, access_ns)| add_constant(&mut system, blocks, access_ns, &fcfs::POLICY.default));
            children[child] = BuggyComponent::over(&mut system, children[child], bug);
            add_caching_disk(&mut system, &spec, children[0], children[1]);
            let mut bed = TestBed::new(system, 12);
            let cuts = cut(&mut bed, cuts(), &LOAD);
            assert!(!bed.wrong.is_empty(), "{bug:?} is not detected in {cuts} cuts of {spec:?}");
        }
    }
}
