//! Runs with data: media hold the written data, a power cut leaves a prefix of each write under way, and the test bed's
//! oracle detects wrong data.

use sledsim::engine::{ComponentId, System};
use sledsim::hierarchy::{Drive, MergeSpec, Spread, SpreadLayout};
use sledsim::request::{Flags, Op};
use sledsim::scenario;
use sledsim::schedulers::{build, fcfs, sptf, SchedulerSpec};
use sledsim_testing::buggy_component::{Bug, BuggyComponent};
use sledsim_testing::scenarios;
use sledsim_testing::test_bed::{Load, TestBed};

const LOAD: Load = Load { span_blocks: 400, most_blocks: 24, writes: 0.6, gap_ns: 300_000, outstanding: 12 };

fn add_drive(system: &mut System, name: &str, scheduler: SchedulerSpec, merges: bool) -> ComponentId {
    let device = scenario::device(&scenarios::device_spec(name)).expect("a device");
    let scheduler = build(&scheduler, device.as_ref());
    let mut drive = Drive::new(device, scheduler, 1);
    if merges {
        drive = drive.merging(MergeSpec { requests: 8, anywhere: true, writes: true, rows: true, mixed: true });
    }
    system.add(Box::new(drive), &[])
}

fn drive(name: &str, scheduler: SchedulerSpec, merges: bool) -> System {
    let mut system = System::default();
    add_drive(&mut system, name, scheduler, merges);
    system
}

fn sleds(layout: SpreadLayout) -> System {
    let mut system = System::default();
    let sleds: Vec<ComponentId> = (0..3).map(|_| add_drive(&mut system, "g2", sptf::POLICY.default, false)).collect();
    system.add(Box::new(Spread::new(sleds.clone(), layout, 8, 120, 512)), &sleds);
    system
}

/// Systems with FCFS scheduling, which keeps overlapping requests in order.
fn systems() -> Vec<System> {
    vec![
        drive("g2", fcfs::POLICY.default, false),
        drive("g2", fcfs::POLICY.default, true),
        drive("atlas10k", fcfs::POLICY.default, false),
    ]
}

#[test]
fn reads_return_written_data() {
    for (index, system) in systems().into_iter().chain([sleds(SpreadLayout::Split)]).enumerate() {
        let mut bed = TestBed::new(system, index as u64);
        let span_blocks = bed.capacity_blocks().min(LOAD.span_blocks);
        bed.operate(3000, &Load { span_blocks, ..LOAD });
        bed.settle();
        bed.read_all();
        assert!(bed.wrong.is_empty() && bed.lost.is_empty(), "system {index}: {:?}", bed.wrong.first());
        assert!(bed.checked > 10_000, "{}", bed.checked);
    }
}

#[test]
fn media_hold_acknowledged_or_newer_data_after_a_power_cut() {
    for (index, system) in systems().into_iter().enumerate() {
        let mut bed = TestBed::new(system, index as u64);
        // The atlas10k acknowledges writes that are only in its buffer.
        bed.volatile = index == 2;
        for cut in 0..60 {
            bed.cut(1 + cut * 7 % 500, &LOAD, 0);
        }
        assert!(bed.wrong.is_empty() && bed.lost.is_empty(), "system {index}: {:?}", bed.wrong.first());
    }
}

#[test]
fn a_disk_that_reports_early_loses_writes_unless_they_are_durable() {
    for (flags, loses) in [(Flags::NONE, true), (Flags::DURABLE, false)] {
        let mut wrong = 0;
        for seed in 0..30 {
            let mut bed = TestBed::new(drive("atlas10k", fcfs::POLICY.default, false), seed);
            for write in 0..20 {
                bed.submit(bed.system.now(), Op::Write, write * 31 % 200, 8, flags);
                bed.settle();
            }
            bed.system.cut_power_after(0);
            bed.cut(0, &LOAD, 0);
            wrong += bed.wrong.len();
        }
        assert_eq!(wrong > 0, loses, "{flags:?}: {wrong} blocks are wrong");
    }
}

#[test]
fn early_acknowledgements_are_detected() {
    let mut system = drive("g2", fcfs::POLICY.default, false);
    let child = system.root();
    BuggyComponent::over(&mut system, child, Bug::EarlyAcknowledge);
    let mut bed = TestBed::new(system, 5);
    bed.operate(500, &LOAD);
    bed.settle();
    assert!(bed.wrong.is_empty(), "the bug is invisible without a power cut: {:?}", bed.wrong.first());
    for cut in 0..40 {
        bed.cut(20 + cut, &LOAD, 0);
    }
    assert!(!bed.wrong.is_empty(), "nothing was found wrong");
}
