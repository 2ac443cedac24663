//! Tiers: first placement and moves of extents, data integrity through moves, power cuts and failures, and rejected keys.

use serde_json::{json, Value};
use sledsim::devices::simple::{ConstantParameters, SimpleDevice};
use sledsim::engine::random::Stream;
use sledsim::engine::{ComponentId, Status, System};
use sledsim::hierarchy::{
    BlockRangeSpec, Child, Drive, FaultSpec, Faulty, TierMigrationSpec, TierPlacementSpec, Tiers, TiersSpec,
};
use sledsim::request::{Flags, Op};
use sledsim::scenario::explain;
use sledsim::schedulers::{build, fcfs};
use sledsim_testing::buggy_component::{Bug, BuggyComponent};
use sledsim_testing::scenarios;
use sledsim_testing::test_bed::{Load, TestBed};
use sledsim_testing::tiers::size;

const BLOCK: u32 = 64;
/// Blocks of an extent.
const EXTENT: u64 = 5;
/// Number of extents that fit on the fast and on the slow drive.
const FAST: u64 = 8;
const SLOW: u64 = 25;
/// Capacity of the tiers, blocks: that of both drives without one extent.
const BLOCKS: u64 = (FAST + SLOW - 1) * EXTENT;
/// Time of each access of the fast and of the slow drive, ns.
const T_NS: [u64; 2] = [20_000, 100_000];

fn constant(system: &mut System, blocks: u64, access_ns: u64) -> ComponentId {
    let (name, access_ms) = (String::new(), access_ns as f64 * 1e-6);
    let parameters = ConstantParameters { name, block_bytes: BLOCK, capacity_blocks: blocks, access_ms, power: None };
    let device = SimpleDevice::constant(&parameters).expect("a device");
    let scheduler = build(&fcfs::POLICY.default, &device);
    system.add(Box::new(Drive::new(Box::new(device), scheduler, 1)), &[])
}

/// Parameters with frequent moves at small differences of use.
const LIVELY: TierMigrationSpec =
    TierMigrationSpec { mb_per_s: 1.0, period_s: 0.002, half_life_s: 0.05, factor: 1.2, least_uses: 0.5 };

fn spec(migration: TierMigrationSpec) -> TiersSpec {
    TiersSpec { extent_bytes: EXTENT * u64::from(BLOCK), placement: TierPlacementSpec::default(), migration }
}

/// Tiers over the components that `over` returns for each drive. The drives are not whole numbers of extents.
fn over(spec: &TiersSpec, mut over: impl FnMut(&mut System, usize, ComponentId) -> ComponentId) -> System {
    let mut system = System::default();
    let children = [FAST * EXTENT + 1, SLOW * EXTENT + 3].into_iter().zip(T_NS).enumerate();
    let children: Vec<ComponentId> = children
        .map(|(tier, (blocks, access_ns))| {
            let drive = constant(&mut system, blocks, access_ns);
            over(&mut system, tier, drive)
        })
        .collect();
    let [fast, slow] = [0, 1].map(|tier: usize| Child::of(&system, children[tier]));
    system.add(Box::new(Tiers::new(spec, fast, slow).expect("they fit")), &children);
    system
}

fn plain(spec: &TiersSpec) -> TestBed {
    let mut system = over(spec, |_, _, id| id);
    system.start_measuring();
    TestBed::new(system, 1)
}

/// A counter of the tiers, or the number of requests of a path.
fn count(bed: &TestBed, name: &str) -> u64 {
    let system = &bed.system;
    let details = system.component(system.root()).details(system.now()).expect("counts");
    let counted = details.counts.iter().find(|count| count.name == name).map(|count| count.value as u64);
    let path = details.paths.iter().find(|path| path.name == name).map(|path| path.count);
    counted.or(path).unwrap_or_else(|| panic!("no {name}"))
}

/// Submits a request and waits for its completion.
fn submit(bed: &mut TestBed, op: Op, lbn: u64, blocks: u32, flags: Flags) {
    let now = bed.system.now();
    bed.submit(now, op, lbn, blocks, flags);
    bed.settle();
}

fn assert_right(bed: &TestBed, what: &str) {
    assert!(bed.wrong.is_empty() && bed.lost.is_empty(), "{what}: {:?} {:?}", bed.wrong.first(), bed.lost);
    assert_eq!(bed.system.component(bed.system.root()).check_invariants(false), Ok(()), "{what}");
}

const STILL: TierMigrationSpec = TierMigrationSpec { mb_per_s: 0.0, ..LIVELY };

#[test]
fn the_first_request_places_an_extent() {
    let small = u64::from(BLOCK) * 2;
    let placement = TierPlacementSpec {
        metadata: true,
        small_bytes: Some(small),
        origins: vec![3],
        pinned: vec![BlockRangeSpec { first_block: 22, bytes: small }],
    };
    let mut bed = plain(&TiersSpec { placement, ..spec(STILL) });
    assert_eq!((count(&bed, "fast_extents"), count(&bed, "slow_extents")), (1, 0));
    let asked: [(u64, u32, Flags, &str); 8] = [
        (0, 3, Flags::NONE, "slow"),
        (1, 1, Flags::METADATA, "slow"),
        (6, 2, Flags::NONE, "fast"),
        (5, 5, Flags::NONE, "fast"),
        (10, 3, Flags::METADATA, "fast"),
        (20, 5, Flags::NONE, "fast"),
        (24, 3, Flags::NONE, "both"),
        (4, 7, Flags::NONE, "both"),
    ];
    for (lbn, blocks, flags, path) in asked {
        let before = count(&bed, path);
        submit(&mut bed, Op::Write, lbn, blocks, flags);
        assert_eq!(count(&bed, path), before + 1, "{lbn}");
    }
    assert_eq!((count(&bed, "fast_extents"), count(&bed, "slow_extents")), (3, 2));
    assert_right(&bed, "placed");
}

/// Every extent gets a place, on either tier, and returns written data.
#[test]
fn a_full_tier_places_extents_on_the_other() {
    for (small_bytes, path) in [(None, "slow"), (Some(1 << 20), "fast")] {
        let placement = TierPlacementSpec { small_bytes, ..TierPlacementSpec::default() };
        let mut bed = plain(&TiersSpec { placement, ..spec(STILL) });
        assert_eq!(bed.system.component(bed.system.root()).capacity_blocks(), BLOCKS);
        for extent in (0..FAST + SLOW - 1).rev() {
            submit(&mut bed, Op::Write, extent * EXTENT, EXTENT as u32, Flags::NONE);
        }
        let expected = if small_bytes.is_some() { FAST } else { SLOW };
        assert_eq!(count(&bed, path), expected);
        bed.read_all();
        assert_right(&bed, path);
    }
}

/// Requests of pinned extents take the time of the fast drive alone.
#[test]
fn pinned_extents_perform_as_the_fast_drive_alone() {
    let pinned = vec![BlockRangeSpec { first_block: 0, bytes: FAST * EXTENT * u64::from(BLOCK) }];
    let placement = TierPlacementSpec { pinned, ..TierPlacementSpec::default() };
    let mut tiers = plain(&TiersSpec { placement, ..spec(LIVELY) });
    let mut alone = System::default();
    constant(&mut alone, FAST * EXTENT + 1, T_NS[0]);
    let mut alone = TestBed::new(alone, 1);
    let load = Load { span_blocks: FAST * EXTENT, most_blocks: 12, writes: 0.5, gap_ns: 25_000, outstanding: 8 };
    for bed in [&mut tiers, &mut alone] {
        bed.operate(2_000, &load);
        bed.settle();
    }
    assert_eq!(tiers.system.now(), alone.system.now());
    assert_eq!((count(&tiers, "fast"), count(&tiers, "moved_bytes")), (2_000, 0));
    assert_right(&tiers, "pinned");
}

/// Hot extents move to the fast drive as far as they fit and are replaced by hotter ones.
#[test]
fn hot_extents_move_up_and_cold_extents_move_down() {
    let mut bed = plain(&spec(TierMigrationSpec { half_life_s: 0.01, ..LIVELY }));
    for extent in 0..SLOW {
        submit(&mut bed, Op::Write, extent * EXTENT, EXTENT as u32, Flags::NONE);
    }
    for (round, first) in [3, 3 + FAST].into_iter().enumerate() {
        let read_hot = |bed: &mut TestBed| {
            for turn in 0..100 * FAST {
                submit(bed, Op::Read, (first + turn % FAST) * EXTENT, EXTENT as u32, Flags::NONE);
            }
        };
        read_hot(&mut bed);
        let before = count(&bed, "fast");
        read_hot(&mut bed);
        assert_eq!(count(&bed, "fast") - before, 100 * FAST, "round {round}");
        assert_eq!(count(&bed, "fast_extents"), FAST);
    }
    assert!(count(&bed, "moves_down") >= FAST, "{}", count(&bed, "moves_down"));
    bed.read_all();
    assert_right(&bed, "moved");
}

/// At any time, moved and cleared bytes are at most those of the bandwidth, and equal them while moves are pending.
#[test]
fn moves_stay_within_their_bandwidth() {
    for mb_per_s in [0.002, 0.02, 0.2, 0.0] {
        let mut bed = plain(&spec(TierMigrationSpec { mb_per_s, factor: 1.0, ..LIVELY }));
        let load = Load { span_blocks: BLOCKS, most_blocks: 8, writes: 0.5, gap_ns: 200_000, outstanding: 4 };
        for _ in 0..100 {
            bed.operate(40, &load);
            if mb_per_s == 0.0 {
                continue;
            }
            let done = (count(&bed, "moved_bytes") + count(&bed, "cleared_bytes")) as f64;
            let most = mb_per_s * 1e6 * bed.system.now().seconds();
            assert!(done <= most, "{done} B at {mb_per_s} MB/s until {:?}", bed.system.now());
        }
        bed.settle();
        if mb_per_s > 0.0 && mb_per_s < 0.1 {
            let done = (count(&bed, "moved_bytes") + count(&bed, "cleared_bytes")) as f64;
            let most = mb_per_s * 1e6 * bed.system.now().seconds();
            assert!(done > 0.7 * most - 320.0, "{done} of {most} B at {mb_per_s} MB/s");
            assert!(count(&bed, "deferred_moves") > 100);
        }
        bed.read_all();
        assert_right(&bed, "bandwidth");
    }
}

const LOAD: Load = Load { span_blocks: BLOCKS, most_blocks: 12, writes: 0.6, gap_ns: 60_000, outstanding: 8 };

/// Random parameters that lead to many moves.
fn any_spec(seed: u64) -> TiersSpec {
    let mut stream = Stream::new(seed, "tiers");
    let small_bytes = stream.chance(0.5).then(|| (1 + stream.below(6)) * u64::from(BLOCK));
    let pinned = BlockRangeSpec { first_block: stream.below(BLOCKS - 20), bytes: 9 * u64::from(BLOCK) };
    let pinned = if stream.chance(0.5) { vec![pinned] } else { Vec::new() };
    let migration = TierMigrationSpec {
        mb_per_s: 0.05 + stream.below(200) as f64 * 0.01,
        period_s: 0.000_5 * (1 + stream.below(20)) as f64,
        half_life_s: 0.001 * (1 + stream.below(30)) as f64,
        factor: 1.0 + stream.below(10) as f64 * 0.1,
        least_uses: stream.below(3) as f64 * 0.5,
    };
    let placement = TierPlacementSpec { small_bytes, pinned, ..TierPlacementSpec::default() };
    TiersSpec { placement, ..spec(migration) }
}

#[test]
fn data_is_intact_through_moves() {
    let mut sums = [0; 4];
    let seeds = size(6, 50);
    for seed in 0..seeds {
        let mut bed = TestBed::new(over(&any_spec(seed), |_, _, id| id), seed);
        // First a part of the capacity, so that some extents are unused until the end, then all of it.
        for span_blocks in [60, 120, BLOCKS] {
            bed.operate(5_000, &Load { span_blocks, gap_ns: 40_000 + 5_000 * (seed % 10), ..LOAD });
        }
        bed.settle();
        bed.read_all();
        assert_right(&bed, &format!("{seed}"));
        let meanwhile = ["moves_up", "moves_down", "cleared_bytes", "write_waits"].map(|name| count(&bed, name));
        sums.iter_mut().zip(meanwhile).for_each(|(sum, count)| *sum += count);
    }
    assert!(sums.iter().all(|&sum| sum > 20 * seeds), "{sums:?}");
}

/// With power cuts during moves.
#[test]
fn power_cuts_lose_no_acknowledged_write() {
    let mut moved = 0;
    for seed in 0..size(6, 30) {
        let mut bed = TestBed::new(over(&any_spec(seed), |_, _, id| id), seed);
        for cut in 0..60 {
            bed.cut(1 + cut * 37 % 400, &LOAD, cut % 3);
        }
        bed.operate(2_000, &LOAD);
        bed.settle();
        bed.read_all();
        assert_right(&bed, &format!("{seed}"));
        moved += count(&bed, "moves_up");
    }
    assert!(moved > 100, "{moved}");
}

/// Requests of blocks on a failed child fail, and no others.
#[test]
fn a_failed_child_fails_requests_without_wrong_data() {
    for seed in 0..10 {
        let failing = (seed % 2) as usize;
        let system = over(&any_spec(seed), |system, tier, drive| {
            if tier != failing {
                return drive;
            }
            let fault = FaultSpec { fails_at_s: Some(0.05), detect_ms: 0.03, ..FaultSpec::default() };
            let faulty = Faulty::new(Child::of(system, drive), &fault, &mut Stream::new(0, "faults")).expect("it fits");
            system.add(Box::new(faulty), &[drive])
        });
        let mut bed = TestBed::new(system, seed);
        bed.operate(5_000, &LOAD);
        bed.settle();
        // Current moves end, and no new ones start.
        while bed.step() {}
        assert!(bed.wrong.is_empty(), "{seed}: {:?}", bed.wrong.first());
        assert!(bed.lost.keys().eq([&Status::Failed]), "{seed}: {:?}", bed.lost);
        assert_eq!(bed.system.component(bed.system.root()).check_invariants(true), Ok(()), "{seed}");
    }
}

/// Extents have wrong data after they have moved to a drive that loses writes.
#[test]
fn writes_lost_during_moves_are_detected() {
    for (migration, finds) in [(STILL, false), (LIVELY, true)] {
        let system = over(&spec(migration), |system, tier, drive| match tier {
            0 => BuggyComponent::over(system, drive, Bug::LoseWrites { every: 20 }),
            _ => drive,
        });
        let mut bed = TestBed::new(system, 3);
        bed.operate(3_000, &Load { span_blocks: SLOW * EXTENT, ..LOAD });
        bed.settle();
        bed.read_all();
        assert_eq!(!bed.wrong.is_empty(), finds);
    }
}

fn tiers(keys: &Value) -> Value {
    let mut system = json!({"kind": "tiers", "fast": "g2", "slow": "atlas10k"});
    keys.as_object().expect("keys").iter().for_each(|(key, value)| system[key] = value.clone());
    json!({"workload": scenarios::poisson(30.0), "run": {"requests": 100}, "system": system})
}

#[test]
fn scenarios_define_placement_and_reports_count_moves() {
    let keys = json!({"placement": {"small_bytes": "1 MiB"}, "migration": {"mb_per_s": 3}});
    let scenario = scenarios::resolved(&tiers(&keys));
    let report = scenarios::run(&scenario).report;
    let paths: Vec<(&str, u64)> = report.components[0].paths.iter().map(|path| (&*path.name, path.requests)).collect();
    assert_eq!(paths, [("fast", 100), ("slow", 0), ("both", 0)]);
    let notes = explain(&scenario.system).expect("a tree").notes;
    assert_eq!(notes[0], "extents of 1 MiB move by use, at 3 MB/s at most");
}

#[test]
fn contradicting_sizes_are_rejected_with_both_keys() {
    let pinned = |first_block: u64, bytes: &str| json!({"placement": {"pinned": [{"first_block": first_block, "bytes": bytes}]}});
    for (keys, problem) in [
        (json!({"extent_bytes": 1000}), "system.extent_bytes = 1000 is no multiple of the 512 B blocks"),
        (pinned(1 << 40, "512 B"), "system.placement.pinned.0.first_block = 1099511627776 on reaches beyond the"),
        (pinned(0, "5 GB"), "system.placement.pinned touches more than the"),
        (pinned(0, "700 B"), "system.placement.pinned.0.bytes = 700 is no multiple of the 512 B blocks"),
        (json!({"migration": {"factor": 0.5}}), "system.migration.factor = 0.5 is out of range"),
    ] {
        let made = scenarios::resolve(&tiers(&keys)).and_then(|scenario| scenarios::try_run(&scenario).map(|_| ()));
        let message = made.expect_err(problem);
        assert!(message.contains(problem), "{message}");
    }
    let mut system = System::default();
    let [small, large] = [3, 100].map(|blocks| constant(&mut system, blocks, 1_000));
    let [small, large] = [small, large].map(|id| Child::of(&system, id));
    let message =
        Tiers::new(&spec(LIVELY), small, large).map(|_| ()).expect_err("three blocks are no extent").to_string();
    assert!(message.contains("extent_bytes = 320: fast has 192 B in all"), "{message}");
    let coarse = Child { block_bytes: 128, ..large };
    let message = Tiers::new(&spec(LIVELY), large, coarse).map(|_| ()).expect_err("blocks differ").to_string();
    assert!(message.contains("slow has blocks of 128 B, fast of 64 B"), "{message}");
}
