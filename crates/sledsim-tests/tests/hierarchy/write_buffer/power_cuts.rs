//! Power cuts between any two calls of components, also during recovery: blocks have the acknowledged data or newer
//! data.

use sledsim::engine::System;
use sledsim::hierarchy::write_buffer::MAGIC;
use sledsim::hierarchy::{WriteBufferCleanSpec, WriteBufferSpec};
use sledsim::request::{Flags, Op};
use sledsim::schedulers::sptf;
use sledsim_testing::buggy_component::{Bug, BuggyComponent};
use sledsim_testing::test_bed::{Load, TestBed};
use sledsim_testing::tiers::size;

use super::{buffer, constant, count, drive, over_constant, spec, DISK_BLOCKS, DISK_NS, MEMS_BLOCKS, MEMS_NS};

/// More blocks than the log of these tests holds, written in a few requests.
const LOAD: Load = Load { span_blocks: 64, most_blocks: 10, writes: 0.8, gap_ns: 150_000, outstanding: 8 };

/// Six logs of eight blocks over a busy disk.
fn small() -> WriteBufferSpec {
    let clean = WriteBufferCleanSpec { idle_ms: 0.2, outstanding: 2, ..WriteBufferCleanSpec::default() };
    WriteBufferSpec { clean, ..spec(6, 8, 2) }
}

/// Cuts power repeatedly; one cut in ten is followed by one during recovery. Stops at the first error.
fn cut(system: System, cuts: u64, load: &Load) -> TestBed {
    let mut bed = TestBed::new(system, cuts);
    for cut in 0..cuts {
        bed.cut(1 + cut * 37 % 211, load, u64::from(cut % 10 == 0));
        if !bed.wrong.is_empty() {
            break;
        }
    }
    bed
}

fn assert_right(bed: &TestBed) {
    assert!(bed.wrong.is_empty() && bed.lost.is_empty(), "{:?} {:?}", bed.wrong.first(), bed.lost);
}

/// Number of power cuts, enough to detect every planted bug.
fn cuts() -> u64 {
    size(1_000, 10_000)
}

#[test]
fn power_cuts_lose_no_acknowledged_write() {
    let bed = cut(over_constant(&small()), cuts(), &LOAD);
    assert_right(&bed);
    assert!(bed.checked > 50 * cuts() && count(&bed.system, "disk_writes") > cuts() as f64);
}

#[test]
fn power_cuts_lose_nothing_over_a_disk_that_acknowledges_early() {
    // The disk acknowledges writes that are only in its buffer; the write buffer must wait until they are on the
    // medium.
    let mut system = System::default();
    let mems = drive(&mut system, "g2", sptf::POLICY.default);
    let disk = drive(&mut system, "atlas10k", sptf::POLICY.default);
    buffer(&mut system, &small(), mems, disk);
    let bed = cut(system, 1_000, &LOAD);
    assert_right(&bed);
    assert!(count(&bed.system, "disk_writes") > 500.0);
}

#[test]
fn power_cuts_lose_nothing_in_nested_write_buffers() {
    let mut system = System::default();
    let mut inner = |mems_ns, disk_ns, disk_blocks| {
        let mems = constant(&mut system, mems_ns, 64);
        let disk = constant(&mut system, disk_ns, disk_blocks);
        buffer(&mut system, &spec(6, 8, 2), mems, disk)
    };
    let mems = inner(MEMS_NS / 4, MEMS_NS, 256);
    let disk = inner(MEMS_NS / 2, DISK_NS, DISK_BLOCKS);
    buffer(&mut system, &small(), mems, disk);
    assert_right(&cut(system, 1_000, &LOAD));
}

#[test]
fn recovery_reads_every_log_once() {
    for logs in [6, 50] {
        let mut bed = TestBed::new(over_constant(&spec(logs, 8, 2)), logs);
        bed.operate(100, &LOAD);
        bed.settle();
        bed.system.cut_power_after(0);
        bed.cut(0, &LOAD, 0);
        assert_right(&bed);
        assert_eq!(count(&bed.system, "recovery_ms"), (logs * MEMS_NS) as f64 / 1e6);
    }
}

#[test]
fn recovery_restores_a_log_after_a_cut_at_rest() {
    // The log has wrapped around several times; after the cut it is as full as before and cleaning continues.
    let mut bed = TestBed::new(over_constant(&spec(10, 8, 2)), 1);
    for write in 0..400 {
        bed.submit(bed.system.now(), Op::Write, write * 7 % 60, 7, Flags::NONE);
        bed.settle();
    }
    let before = count(&bed.system, "filled_share");
    bed.system.cut_power_after(0);
    bed.cut(0, &Load { writes: 0.0, ..LOAD }, 0);
    assert_right(&bed);
    assert!(before > 0.5 && count(&bed.system, "filled_share") > 0.5);
}

/// Six logs on a MEMS device, over a disk, with a bug at one of them.
fn planted(at_mems: Option<Bug>, at_disk: Option<Bug>) -> System {
    let mut system = System::default();
    let mut device = |access_ns, blocks, bug: Option<Bug>| {
        let device = constant(&mut system, access_ns, blocks);
        bug.map_or(device, |bug| BuggyComponent::over(&mut system, device, bug))
    };
    let mems = device(MEMS_NS, MEMS_BLOCKS, at_mems);
    let disk = device(DISK_NS, DISK_BLOCKS, at_disk);
    buffer(&mut system, &small(), mems, disk);
    system
}

#[test]
fn planted_bugs_are_detected() {
    let cases = [
        (Some(Bug::DropHeaders { magic: MAGIC, every: 7 }), None),
        (Some(Bug::EarlyAcknowledge), None),
        (Some(Bug::SwapWrites), None),
        (None, Some(Bug::EarlyAcknowledge)),
        (None, Some(Bug::SwapWrites)),
    ];
    for (at_mems, at_disk) in cases {
        let mut with_power = TestBed::new(planted(at_mems, at_disk), 1);
        with_power.operate(2_000, &LOAD);
        with_power.settle();
        assert_right(&with_power);
        let bed = cut(planted(at_mems, at_disk), cuts(), &LOAD);
        assert!(!bed.wrong.is_empty(), "undetected: {at_mems:?} at the MEMS device, {at_disk:?} at the disk");
    }
    assert_right(&cut(planted(None, None), cuts(), &LOAD));
}
