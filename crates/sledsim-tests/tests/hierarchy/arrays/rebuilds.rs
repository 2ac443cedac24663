//! Degraded arrays and rebuilding: times and accesses against closed forms, contents under load.

use std::sync::atomic::Ordering;

use sledsim::engine::random::Stream;
use sledsim::hierarchy::array::{Level, RebuildSpec, Sparing};
use sledsim::hierarchy::ArraySpec;
use sledsim::request::Op;
use sledsim::time::Time;
use sledsim_testing::test_bed::TestBed;
use sledsim_testing::tiers::size;

use super::building::*;
use super::contents::{assert_right, load, on_test_bed, small, BLOCK};

const UNIT: u64 = 8;
const ROWS: u64 = 50;

/// Handles all remaining events.
fn exhaust(bed: &mut TestBed) {
    while bed.step() {}
}

fn broken(level: Level, count: usize, spec: &ArraySpec, member: usize) -> Built {
    let mut built = array(level, &constant(ROWS * UNIT, 512), count, spec);
    built.switch(member).store(true, Ordering::Relaxed);
    // An access detects the failure.
    for lbn in (0..16 * UNIT).step_by(UNIT as usize) {
        serve_one(&mut built.system, Op::Read, lbn, 1);
    }
    built
}

#[test]
fn degraded_accesses_match_the_number_of_columns() {
    let count = 5_u64;
    let mut built = broken(Level::Raid5, count as usize, &units(UNIT * 512), 2);
    let system = &mut built.system;
    system.start_measuring();
    // Whole rounds of the layout, one block of every unit: 2 (N - 1) / N accesses per block.
    let reads = count * (count - 1) * 10;
    (0..reads).for_each(|unit| assert!(serve_one(system, Op::Read, unit * UNIT, 1).is_served()));
    assert_eq!(accesses(system).0, reads * 2 * (count - 1) / count);
    let layout = sledsim::hierarchy::array::Layout::new(Level::Raid5, count as usize, 0, UNIT, ROWS);
    for row in 0..count {
        for column in 0..4 {
            system.start_measuring();
            assert!(serve_one(system, Op::Write, (row * 4 + column) * UNIT, 1).is_served());
            let expected = match layout.column(row, 2) {
                // The parity of this row is lost, so it is not updated.
                4 => (0, 1),
                // Only parity can be written; it is computed from the other three columns.
                lost if lost == column as usize => (3, 1),
                _ => (2, 2),
            };
            assert_eq!(accesses(system), expected, "row {row} column {column}");
        }
    }
}

fn rebuild(spec: RebuildSpec) -> ArraySpec {
    ArraySpec { spares: 1, rebuild: spec, ..units(UNIT * 512) }
}

/// A rebuild of an idle array: each step reads, then writes.
#[test]
fn rebuild_time_follows_from_steps_or_the_rate_limit() {
    for (rows, outstanding) in [(1, 1), (4, 1), (50, 1), (8, 1)] {
        let spec = RebuildSpec { rows, outstanding, ..RebuildSpec::default() };
        let mut built = array(Level::Raid5, &constant(ROWS * UNIT, 512), 5, &rebuild(spec));
        built.switch(0).store(true, Ordering::Relaxed);
        // A write of the last row, whose parity is lost: the array detects the failure without any read.
        assert!(serve_one(&mut built.system, Op::Read, 0, 1).is_served());
        while built.system.next_time().is_some() {
            built.system.step(&mut |_| {});
        }
        let steps = ROWS.div_ceil(u64::from(rows));
        let spent_ns = counted(&built.system, "rebuild_time") * 1e9;
        // The read that detected the failure delays the first step by one T.
        let expected = (steps * 2 * T_NS + T_NS) as f64;
        assert!((spent_ns - expected).abs() < 1.0, "{rows} rows: {spent_ns}, not {expected}");
        assert_eq!(counted(&built.system, "rebuilt_blocks"), (ROWS * UNIT) as f64);
        assert_eq!(counted(&built.system, "rebuilt_share"), 1.0);
    }
    // 4096 B in 5 ms: steps begin 5 ms apart, the last takes two accesses.
    let spec = RebuildSpec { rows: 1, mb_per_s: Some(4096.0 / 5000.0), delay_s: 0.25, ..RebuildSpec::default() };
    let mut built = array(Level::Raid5, &constant(ROWS * UNIT, 512), 5, &rebuild(spec));
    built.switch(0).store(true, Ordering::Relaxed);
    assert!(serve_one(&mut built.system, Op::Read, 0, 1).is_served());
    while built.system.next_time().is_some() {
        built.system.step(&mut |_| {});
    }
    let spent_s = counted(&built.system, "rebuild_time");
    // Times of steps are rounded up to nanoseconds.
    assert!((spent_s - (0.25 + 49.0 * 5e-3 + 2e-3)).abs() < 1e-7, "{spent_s}");
}

#[test]
fn rebuild_steps_run_concurrently_up_to_the_limit() {
    let spent = |outstanding| {
        let spec = RebuildSpec { rows: 1, outstanding, ..RebuildSpec::default() };
        let mut built = broken(Level::Raid5, 5, &rebuild(spec), 1);
        while built.system.next_time().is_some() {
            built.system.step(&mut |_| {});
        }
        counted(&built.system, "rebuild_time")
    };
    // Survivors are read while the spare is written, which takes half the time except for the reads that detected the
    // failure.
    let (one, two) = (spent(1), spent(2));
    assert!((two / one - 0.5).abs() < 0.1, "{two} after {one}");
}

/// Failure, rebuild under load, then other failures: all data is intact.
#[test]
fn data_rebuilt_under_load_is_correct() {
    let cases = [
        (Level::Mirror, 2, Sparing::Dedicated),
        (Level::Raid4, 4, Sparing::Dedicated),
        (Level::Raid5, 4, Sparing::Dedicated),
        (Level::Raid5, 4, Sparing::Distributed),
        (Level::Raid6, 5, Sparing::Dedicated),
        (Level::Raid6, 4, Sparing::Distributed),
    ];
    for (level, count, sparing) in cases {
        for seed in 0..size(6, 20) {
            let rebuild = RebuildSpec {
                rows: 1 + (seed % 3) as u32,
                outstanding: 1 + (seed % 4) as u32,
                mb_per_s: (seed % 2 == 0).then_some(0.01),
                ..RebuildSpec::default()
            };
            let spec = ArraySpec { spares: 1, sparing, rebuild, ..small() };
            let (mut bed, built) = on_test_bed(level, count + 1, &spec, seed);
            let span = load(bed.capacity_blocks());
            let first = seed as usize % count;
            bed.operate(300, &span);
            built.switch(first).store(true, Ordering::Relaxed);
            bed.operate(1500, &span);
            bed.settle();
            exhaust(&mut bed);
            let what = format!("{level:?} {sparing:?} {seed}");
            assert_eq!(counted(&bed.system, "rebuilt_share"), 1.0, "{what}");
            assert!(counted(&bed.system, "rebuild_time") > 0.0, "{what}");
            assert_eq!(counted(&bed.system, "failed_members"), 1.0, "{what}");
            bed.read_all();
            assert_right(&bed, &what);
            built.switch((first + 1) % count).store(true, Ordering::Relaxed);
            bed.operate(300, &span);
            bed.settle();
            bed.read_all();
            assert_right(&bed, &what);
        }
    }
}

#[test]
fn failures_during_a_rebuild_are_tolerated_while_redundancy_is_left() {
    for sparing in [Sparing::Dedicated, Sparing::Distributed] {
        for seed in 0..40 {
            let rebuild = RebuildSpec { rows: 1, mb_per_s: Some(0.02), ..RebuildSpec::default() };
            let spec = ArraySpec { spares: 2, sparing, rebuild, ..small() };
            // Members 0 to 4, and as many more as there are spares.
            let (mut bed, built) = on_test_bed(Level::Raid6, 7, &spec, seed);
            let span = load(bed.capacity_blocks());
            let second = if sparing == Sparing::Dedicated && seed % 2 == 0 { 5 } else { 3 };
            bed.operate(100, &span);
            built.switch(1).store(true, Ordering::Relaxed);
            bed.operate(20 + seed, &span);
            built.switch(second).store(true, Ordering::Relaxed);
            bed.operate(300, &span);
            bed.settle();
            exhaust(&mut bed);
            bed.read_all();
            assert_right(&bed, &format!("{sparing:?} {seed}"));
            assert_eq!(counted(&bed.system, "failed_members"), 2.0, "{sparing:?} {seed}");
        }
    }
}

/// Data that cannot be rebuilt is never read as other data.
#[test]
fn a_second_failure_during_a_single_parity_rebuild_fails_requests_without_wrong_data() {
    let mut lost = 0;
    for seed in 0..40 {
        let rebuild = RebuildSpec { rows: 1, mb_per_s: Some(0.02), ..RebuildSpec::default() };
        let spec = ArraySpec { spares: 2, rebuild, ..small() };
        let (mut bed, built) = on_test_bed(Level::Raid5, 6, &spec, seed);
        let span = load(bed.capacity_blocks());
        bed.operate(100, &span);
        built.switch(1).store(true, Ordering::Relaxed);
        bed.operate(20 + seed, &span);
        built.switch(2).store(true, Ordering::Relaxed);
        bed.operate(300, &span);
        bed.settle();
        exhaust(&mut bed);
        bed.read_all();
        assert!(bed.wrong.is_empty(), "{:?}", bed.wrong.first());
        lost += bed.lost.values().sum::<u64>();
    }
    assert!(lost > 0);
}

/// Foreground requests wait behind the steps of a rebuild without a limit, and hardly with a low one.
#[test]
fn a_rate_limit_protects_the_foreground_from_a_rebuild() {
    let mean_ns = |mb_per_s| {
        let spec = rebuild(RebuildSpec { rows: 1, mb_per_s, ..RebuildSpec::default() });
        let mut built = array(Level::Raid5, &constant(20_000 * UNIT, 512), 6, &spec);
        built.switch(0).store(true, Ordering::Relaxed);
        let mut stream = Stream::new(4, "places");
        saturate(&mut built.system, 1, 2000, |_| (Op::Read, stream.below(20_000 * UNIT), 1)) / 2000
    };
    let (unlimited, limited) = (mean_ns(None), mean_ns(Some(0.004)));
    assert!(limited < T_NS * 11 / 10 && unlimited > limited * 11 / 10, "{limited} {unlimited}");
}

#[test]
fn rebuilds_are_the_same_without_data_to_check() {
    let run = |checked: bool| {
        let spec = ArraySpec { spares: 1, ..small() };
        let mut built = array(Level::Raid5, &constant(40, BLOCK), 5, &spec);
        built.switch(1).store(true, Ordering::Relaxed);
        if checked {
            built.system.hold_data(Stream::new(0, "media"));
        }
        let reads: Vec<u64> =
            (0..60).map(|lbn| serve_one(&mut built.system, Op::Read, lbn, 3).service.end.ns()).collect();
        while built.system.next_time().is_some() {
            built.system.step(&mut |_| {});
        }
        (reads, built.system.now())
    };
    assert_eq!(run(true), run(false));
}

/// Breaks members one after the other and handles all events. Returns the counters of the array and, for each of its
/// first blocks, the number of later reads that were served.
fn lost_one_after_the_other(level: Level, spec: &ArraySpec, seed: u64) -> (Vec<f64>, Vec<bool>) {
    let rows = 40 + seed;
    let spares = spec.spares as usize;
    let width = level.fewest_members() + if spec.sparing == Sparing::Distributed { 0 } else { seed as usize % 2 };
    let mut built = array(level, &constant(rows * UNIT, 512), width + spares, spec);
    let mut stream = Stream::new(seed, "failures");
    let capacity = built.system.component(built.system.root()).capacity_blocks();
    let mut broken = 0;
    let mut base = Time::ZERO;
    for step in 0..60 {
        // Services end at multiples of the service time, requests arrive half a service time and failures a quarter
        // after them, so that the few nanoseconds by which a rate limit delays steps do not change the order of events.
        base += T_NS * (1 + stream.below(6));
        if step % 12 == 5 && broken < 2 + seed as usize % 2 {
            let at = base + T_NS / 4;
            while built.system.next_time().is_some_and(|next| next < at) {
                built.system.step(&mut |_| {});
            }
            built.switch(broken).store(true, Ordering::Relaxed);
            broken += 1;
        }
        let at = base + T_NS / 2;
        while built.system.next_time().is_some_and(|next| next < at) {
            built.system.step(&mut |_| {});
        }
        let blocks = 1 + stream.below(3 * UNIT);
        // A write before a step restores blocks that the step would otherwise lose.
        built.system.submit(request(step, at, Op::Read, stream.below(capacity - blocks), blocks), &mut |_| {});
    }
    while built.system.next_time().is_some() {
        built.system.step(&mut |_| {});
    }
    let names = ["lost_blocks", "rebuilt_blocks", "rebuilt_share", "failed_members", "lost_requests", "member_writes"];
    let counts = names.iter().map(|name| counted(&built.system, name)).collect();
    let served = (0..capacity).map(|lbn| serve_one(&mut built.system, Op::Read, lbn, 1).is_served()).collect();
    (counts, served)
}

/// A rate limit above the rate of all steps serialises the steps and changes nothing else.
#[test]
fn a_rebuild_lost_at_once_matches_one_lost_step_by_step() {
    let mut lost = 0.0;
    for level in LEVELS {
        for sparing in [Sparing::Dedicated, Sparing::Distributed] {
            if sparing == Sparing::Distributed && !matches!(level, Level::Raid5 | Level::Raid6) {
                continue;
            }
            for seed in 0..30 {
                let rebuild = |mb_per_s| RebuildSpec {
                    // If several steps end in the same instant, a nanosecond decides which continues first; with
                    // distributed spares, each row is a step.
                    rows: if sparing == Sparing::Distributed { 1 } else { 1 + (seed % 3) as u32 },
                    outstanding: 1,
                    mb_per_s,
                    ..RebuildSpec::default()
                };
                let spec = |mb_per_s| ArraySpec {
                    spares: 1 + (seed % 2) as u32,
                    sparing,
                    rebuild: rebuild(mb_per_s),
                    ..units(UNIT * 512)
                };
                let at_once = lost_one_after_the_other(level, &spec(None), seed);
                let stepwise = lost_one_after_the_other(level, &spec(Some(1e6)), seed);
                assert_eq!(at_once.0[..4], stepwise.0[..4], "{level:?} {sparing:?} {seed}");
                assert!(at_once.1 == stepwise.1, "{level:?} {sparing:?} {seed}");
                lost += at_once.0[0];
            }
        }
    }
    assert!(lost > 10_000.0, "{lost}");
}

/// Losing the rest of a rebuild takes no simulated time, for any member size.
#[test]
fn losing_a_rebuild_takes_no_time_for_any_member_size() {
    for (level, sparing) in [
        (Level::Mirror, Sparing::Dedicated),
        (Level::Raid4, Sparing::Dedicated),
        (Level::Raid5, Sparing::Dedicated),
        (Level::Raid5, Sparing::Distributed),
        (Level::Raid6, Sparing::Dedicated),
        (Level::Raid6, Sparing::Distributed),
    ] {
        let spec = ArraySpec { spares: 2, sparing, ..units(512) };
        let count = level.fewest_members();
        let member_blocks = 1_000_000_000_000_000;
        let mut built = array(level, &constant(member_blocks, 512), count + 2, &spec);
        for member in 0..count {
            built.switch(member).store(true, Ordering::Relaxed);
        }
        let lost = serve_one(&mut built.system, Op::Read, 0, 1);
        assert!(!lost.is_served(), "{level:?} {sparing:?}");
        for _ in 0..100_000 {
            built.system.step(&mut |_| {});
        }
        assert!(built.system.livelock().is_none(), "{level:?} {sparing:?}");
        // With distributed spares, the two remaining members of RAID-6 can reconstruct some rows, but not the first.
        let far = if (level, sparing) == (Level::Raid6, Sparing::Distributed) { 0 } else { 999 };
        assert!(!serve_one(&mut built.system, Op::Read, far, 1).is_served(), "{level:?} {sparing:?}");
    }
}
