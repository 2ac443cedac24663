//! Power cuts: a volatile cache loses only unflushed writes, a non-volatile cache loses no acknowledged write.

use sledsim::engine::random::Stream;
use sledsim::engine::System;
use sledsim::hierarchy::cache::ram::{Eviction, RamCacheSpec, WritePolicy};
use sledsim::request::{Flags, Op};
use sledsim::schedulers::fcfs;
use sledsim_testing::test_bed::{Load, TestBed};
use sledsim_testing::tiers::size;

use super::between::{Between, Disturbance};
use super::content::{any_cache, drive, scrambled_drive};
use super::host::{add_cache, constant_drive, T};

/// A small range, so that all of it can be checked after each cut.
const LOAD: Load = Load { span_blocks: 60, most_blocks: 12, writes: 0.7, gap_ns: T / 2, outstanding: 12 };

/// Caches of a few lines.
fn small(index: usize) -> RamCacheSpec {
    let spec = any_cache(index);
    let line_bytes = spec.line_bytes.min(8 * 512);
    RamCacheSpec { line_bytes, bytes: line_bytes * (2 + index as u64 % 13), ..spec }
}

/// Cuts power `cuts` times. Returns the errors found.
fn cut(system: System, seed: usize, cuts: u64) -> Vec<String> {
    let mut bed = TestBed::new(system, seed as u64);
    let mut calls = Stream::new(seed as u64, "cuts");
    for _ in 0..cuts {
        // Sometimes power fails again during recovery.
        let again = u64::from(calls.chance(0.1));
        bed.cut(1 + calls.below(150), &LOAD, again);
    }
    assert!(bed.lost.is_empty(), "{:?}", bed.lost);
    bed.wrong
}

/// The same with a host that makes a third of its writes durable; only these count as acknowledged.
fn cut_volatile(system: System, seed: usize, cuts: u64) -> Vec<String> {
    let mut bed = TestBed::new(system, seed as u64);
    bed.volatile = true;
    let mut stream = Stream::new(seed as u64, "host");
    for _ in 0..cuts {
        bed.system.cut_power_after(1 + stream.below(150));
        while !bed.system.is_power_off() {
            let at = bed.system.now() + stream.below(T);
            while bed.system.next_time().is_some_and(|next| next <= at) && bed.step() {}
            let op = if stream.chance(LOAD.writes) { Op::Write } else { Op::Read };
            let flags = if stream.chance(0.3) { Flags::DURABLE } else { Flags::NONE };
            let blocks = 1 + stream.below(LOAD.most_blocks);
            let lbn = stream.below(LOAD.span_blocks + 1 - blocks);
            if !bed.system.is_power_off() {
                bed.submit(at.max(bed.system.now()), op, lbn, blocks as u32, flags);
            }
        }
        bed.cut(0, &LOAD, 0);
    }
    assert!(bed.lost.is_empty(), "{:?}", bed.lost);
    bed.wrong
}

#[test]
fn a_non_volatile_cache_loses_no_acknowledged_write() {
    for index in (0..64).step_by(size(3, 1)) {
        let mut system = System::default();
        let child = scrambled_drive(&mut system);
        add_cache(&mut system, child, &RamCacheSpec { volatile: false, ..small(index) });
        let wrong = cut(system, index, 160);
        assert!(wrong.is_empty(), "cache {index}: {:?}", wrong.first());
    }
}

#[test]
fn a_volatile_cache_loses_only_unflushed_writes() {
    for index in (0..64).step_by(size(3, 1)) {
        let mut system = System::default();
        let child = scrambled_drive(&mut system);
        add_cache(&mut system, child, &RamCacheSpec { volatile: true, write: WritePolicy::Back, ..small(index) });
        let wrong = cut_volatile(system, index, 160);
        assert!(wrong.is_empty(), "cache {index}: {:?}", wrong.first());
    }
}

#[test]
fn a_write_through_cache_loses_nothing() {
    for index in 0..16 {
        let mut system = System::default();
        let child = scrambled_drive(&mut system);
        let mut spec = RamCacheSpec { write: WritePolicy::Through, eviction: Eviction::Skip, ..small(index) };
        spec.flush.demand_only = false;
        add_cache(&mut system, child, &spec);
        let wrong = cut(system, index, 60);
        assert!(wrong.is_empty(), "cache {index}: {:?}", wrong.first());
    }
}

#[test]
fn flushed_writes_of_a_volatile_cache_survive() {
    for index in 0..32 {
        let mut system = System::default();
        let child = scrambled_drive(&mut system);
        let mut spec = RamCacheSpec { volatile: true, write: WritePolicy::Back, ..small(index) };
        (spec.flush.demand_only, spec.flush.idle_ms) = (false, Some(1.0));
        add_cache(&mut system, child, &spec);
        // All writes must survive, because all are flushed before the power cut.
        let mut bed = TestBed::new(system, index as u64);
        for _ in 0..20 {
            bed.operate(40, &LOAD);
            bed.settle();
            while bed.step() {}
            bed.system.cut_power_after(0);
            bed.cut(0, &LOAD, 0);
        }
        assert!(bed.wrong.is_empty(), "cache {index}: {:?}", bed.wrong.first());
    }
}

#[test]
fn a_non_volatile_cache_over_a_volatile_one_loses_nothing() {
    for index in 0..8 {
        for below_is_volatile in [true, false] {
            let mut system = System::default();
            let child = scrambled_drive(&mut system);
            let below = RamCacheSpec { volatile: below_is_volatile, ..small(100 + index) };
            let below = add_cache(&mut system, child, &below);
            add_cache(&mut system, below, &RamCacheSpec { volatile: false, ..small(index) });
            let wrong = cut(system, index, 60);
            assert!(wrong.is_empty(), "cache {index}: {:?}", wrong.first());
        }
        let mut system = System::default();
        let child = scrambled_drive(&mut system);
        let below = add_cache(&mut system, child, &RamCacheSpec { volatile: true, ..small(100 + index) });
        add_cache(&mut system, below, &RamCacheSpec { volatile: true, ..small(index) });
        let wrong = cut_volatile(system, index, 60);
        assert!(wrong.is_empty(), "cache {index}: {:?}", wrong.first());
    }
}

/// A non-volatile cache over a disk that acknowledges writes once they are in its buffer.
fn over_a_disk(index: usize, disturbance: Disturbance) -> Vec<String> {
    let mut system = System::default();
    let disk = drive(&mut system, "atlas10k", fcfs::POLICY.default);
    let (child, _) = Between::over(&mut system, disk, disturbance);
    add_cache(&mut system, child, &RamCacheSpec { volatile: false, ..small(index) });
    cut(system, index, 30)
}

#[test]
fn writes_in_a_disk_buffer_are_not_durable() {
    for index in 0..16 {
        let wrong = over_a_disk(index, Disturbance::Calm);
        assert!(wrong.is_empty(), "cache {index}: {:?}", wrong.first());
    }
    let wrong: usize = (0..16).map(|index| over_a_disk(index, Disturbance::ForgetsDurable).len()).sum();
    assert!(wrong > 0, "lost writes in the disk's buffer were not detected");
}

#[test]
fn a_child_that_acknowledges_early_is_detected() {
    let found = |volatile: bool| -> usize {
        (0..8)
            .map(|index| {
                let mut system = System::default();
                let drive = constant_drive(&mut system, 650);
                let (child, _) = Between::over(&mut system, drive, Disturbance::EarlyAcknowledge);
                add_cache(&mut system, child, &RamCacheSpec { volatile, ..small(index) });
                let cuts = if volatile { cut_volatile } else { cut };
                cuts(system, index, 60).len()
            })
            .sum()
    };
    assert!(found(true) > 0 && found(false) > 0, "no error was detected");
}

#[test]
fn a_volatile_cache_that_claims_durability_is_detected() {
    let found = (0..6).map(|index| {
        let mut system = System::default();
        let child = scrambled_drive(&mut system);
        add_cache(&mut system, child, &RamCacheSpec { volatile: true, write: WritePolicy::Back, ..small(index) });
        cut(system, index, 50).len()
    });
    assert!(found.sum::<usize>() > 0, "no error was detected");
}
