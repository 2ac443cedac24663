//! Power cuts: with a journal, every row matches its parity afterwards and no acknowledged write is lost; without one,
//! the tests detect the write hole.

use std::sync::atomic::Ordering;

use sledsim::hierarchy::array::{JournalHolds, JournalSpec, Level, RebuildSpec};
use sledsim::hierarchy::ArraySpec;
use sledsim_testing::scenarios;
use sledsim_testing::test_bed::{Load, TestBed};
use sledsim_testing::tiers::size;

use super::building::{array, array_over, constant, units, Built};
use super::contents::{load, on_test_bed, small, BLOCK};

/// Blocks of a member.
const BLOCKS: u64 = 40;

fn journal(holds: JournalHolds) -> Option<JournalSpec> {
    Some(JournalSpec { size_bytes: 2048, holds, access_us: 3.0 })
}

/// Number of rows of single parity, or of copies, that do not match.
fn torn_blocks(bed: &TestBed, built: &Built, level: Level) -> usize {
    let size = bed.system.component(bed.system.root()).block_bytes();
    let block = |leaf: usize, lbn| {
        let medium = bed.system.medium(built.leaves[leaf]).expect("data is held");
        medium.read(lbn, 1, size).bytes().expect("bytes").to_vec()
    };
    let members = built.leaves.len();
    let torn = |lbn: &u64| match level {
        Level::Mirror => (1..members).any(|copy| block(copy, *lbn) != block(0, *lbn)),
        _ => {
            let mut sum = vec![0; size as usize];
            (0..members).for_each(|member| sum.iter_mut().zip(block(member, *lbn)).for_each(|(a, b)| *a ^= b));
            sum.iter().any(|&byte| byte != 0)
        }
    };
    (0..BLOCKS).filter(torn).count()
}

/// The errors found over many cuts.
#[derive(Debug, Default)]
struct Found {
    cuts: u64,
    torn: usize,
    /// Blocks that were wrong before and after a member failed.
    wrong: usize,
    wrong_degraded: usize,
}

/// Cuts power five times at random times in each of `rounds` arrays, then fails a member.
fn cut(level: Level, count: usize, spec: &ArraySpec, rounds: u64) -> Found {
    let mut found = Found::default();
    for seed in 0..rounds {
        let (mut bed, built) = on_test_bed(level, count, spec, seed);
        let span = load(bed.capacity_blocks());
        for cut in 0..5 {
            // Power fails again during one recovery of ten.
            let again = u64::from((seed + cut) % 10 == 0);
            bed.cut(1 + (seed * 31 + cut * 17) % 120, &span, again);
            found.cuts += 1 + again;
            if level != Level::Raid6 {
                found.torn += torn_blocks(&bed, &built, level);
            }
        }
        found.wrong += bed.wrong.len() + bed.lost.len();
        let before = bed.wrong.len() + bed.lost.len();
        let most = if level == Level::Raid6 { 2 } else { 1 };
        for member in 0..most {
            built.switch((seed as usize + member) % count).store(true, Ordering::Relaxed);
        }
        bed.read_all();
        found.wrong_degraded += bed.wrong.len() + bed.lost.len() - before;
    }
    found
}

/// Without the journal the test must detect the write hole.
#[test]
fn a_journal_closes_the_write_hole_of_raid5() {
    let spec = ArraySpec { journal: journal(JournalHolds::Data), ..small() };
    let rounds = size(100, 2000);
    let found = cut(Level::Raid5, 4, &spec, rounds);
    assert!(found.cuts >= 5 * rounds, "{found:?}");
    assert_eq!((found.torn, found.wrong, found.wrong_degraded), (0, 0, 0), "{found:?}");
    let found = cut(Level::Raid5, 4, &small(), 100);
    assert_eq!(found.wrong, 0, "no wrong data is read while all members work: {found:?}");
    assert!(found.torn > 0 && found.wrong_degraded > 0, "the write hole was not detected: {found:?}");
}

#[test]
fn a_journal_keeps_mirrors_and_raid6_consistent() {
    for (level, count) in [(Level::Mirror, 3), (Level::Raid4, 3), (Level::Raid6, 5)] {
        let spec = ArraySpec { journal: journal(JournalHolds::Data), ..small() };
        let found = cut(level, count, &spec, 150);
        assert_eq!((found.torn, found.wrong, found.wrong_degraded), (0, 0, 0), "{level:?} {found:?}");
        let found = cut(level, count, &small(), 100);
        assert!(found.torn + found.wrong + found.wrong_degraded > 0, "{level:?} has no write hole: {found:?}");
    }
}

#[test]
fn an_intent_journal_suffices_without_failures() {
    for (level, count) in [(Level::Mirror, 3), (Level::Raid5, 4)] {
        let spec = ArraySpec { journal: journal(JournalHolds::Intents), ..small() };
        let found = cut(level, count, &spec, size(100, 300));
        assert_eq!((found.torn, found.wrong, found.wrong_degraded), (0, 0, 0), "{level:?} {found:?}");
    }
}

/// Cuts while a member has failed or is being rebuilt; then another one fails.
fn cut_degraded(holds: JournalHolds, spares: u32, rounds: u64) -> usize {
    let mut wrong = 0;
    for seed in 0..rounds {
        let rebuild = RebuildSpec { rows: 1, outstanding: 2, mb_per_s: Some(0.05), ..RebuildSpec::default() };
        let spec = ArraySpec { journal: journal(holds), spares, rebuild, ..small() };
        let (mut bed, built) = on_test_bed(Level::Raid5, 4 + spares as usize, &spec, seed);
        let span = load(bed.capacity_blocks());
        bed.operate(40, &span);
        built.switch(seed as usize % 4).store(true, Ordering::Relaxed);
        bed.operate(10, &span);
        bed.cut(1 + seed * 13 % 150, &span, seed % 3);
        bed.cut(1 + seed * 7 % 90, &span, 0);
        if spares > 0 {
            while bed.step() {}
            built.switch((seed as usize + 1) % 4).store(true, Ordering::Relaxed);
        }
        bed.read_all();
        wrong += bed.wrong.len() + bed.lost.len();
    }
    wrong
}

#[test]
fn only_a_data_journal_protects_degraded_and_rebuilding_arrays() {
    assert_eq!(cut_degraded(JournalHolds::Data, 0, size(100, 400)), 0);
    assert_eq!(cut_degraded(JournalHolds::Data, 1, size(100, 400)), 0);
    assert!(cut_degraded(JournalHolds::Intents, 0, 100) > 0, "intents alone can't be enough");
}

/// If members acknowledge writes at their arrival, entries leave the journal too early: the test must detect it.
#[test]
fn journal_entries_freed_too_early_are_detected() {
    let spec = ArraySpec { journal: journal(JournalHolds::Data), ..small() };
    let mut torn = 0;
    for seed in 0..100 {
        let mut built = array_over(Level::Raid5, &constant(BLOCKS, BLOCK), 4, &spec, true);
        let mut bed = TestBed::new(std::mem::take(&mut built.system), seed);
        let span = load(bed.capacity_blocks());
        bed.cut(1 + seed * 31 % 120, &span, 0);
        torn += torn_blocks(&bed, &built, Level::Raid5);
    }
    assert!(torn > 0);
}

/// The journal frees entries only after durable writes, not when the buffer of a disk has them.
#[test]
fn journal_entries_are_freed_only_after_durable_writes() {
    let with = ArraySpec { journal: Some(JournalSpec::default()), ..units(4 * 512) };
    let torn = |spec: &ArraySpec| {
        let mut torn = 0;
        for seed in 0..12 {
            let mut built = array(Level::Raid5, &scenarios::device_spec("atlas10k"), 4, spec);
            let mut bed = TestBed::new(std::mem::take(&mut built.system), seed);
            bed.volatile = spec.journal.is_none();
            for cut in 0..4 {
                let span = Load { gap_ns: 2_000_000, ..load(3 * BLOCKS) };
                bed.cut(20 + (seed * 31 + cut * 17) % 200, &span, 0);
                torn += torn_blocks(&bed, &built, Level::Raid5);
            }
            assert!(bed.wrong.is_empty() && bed.lost.is_empty(), "{:?}", bed.wrong.first());
        }
        torn
    };
    assert_eq!(torn(&with), 0);
    assert!(torn(&units(4 * 512)) > 0);
}
