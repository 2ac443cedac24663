//! Moves of volumes during requests: their time, data integrity through power cuts and failures, and their reports.

use serde_json::json;
use sledsim::devices::simple::{ConstantParameters, SimpleDevice};
use sledsim::engine::random::Stream;
use sledsim::engine::{ComponentId, Status, System};
use sledsim::fault::Fault;
use sledsim::hierarchy::{Child, Drive, FaultSpec, Faulty, MoveSpec, VolumeSpec, Volumes, VolumesSpec};
use sledsim::request::{Flags, Op};
use sledsim::scenario::explain;
use sledsim::schedulers::{build, fcfs};
use sledsim::time::Time;
use sledsim_testing::buggy_component::{Bug, BuggyComponent};
use sledsim_testing::scenarios;
use sledsim_testing::test_bed::{Load, TestBed};
use sledsim_testing::tiers::size;

/// Size of a block.
const BLOCK: u32 = 64;
/// Time of each access of a drive, ns.
const T_NS: u64 = 100_000;
/// Blocks of each of three drives.
const DRIVE_BLOCKS: u64 = 120;

fn constant(system: &mut System) -> ComponentId {
    let (name, access_ms) = (String::new(), T_NS as f64 * 1e-6);
    let parameters =
        ConstantParameters { name, block_bytes: BLOCK, capacity_blocks: DRIVE_BLOCKS, access_ms, power: None };
    let device = SimpleDevice::constant(&parameters).expect("a device");
    let scheduler = build(&fcfs::POLICY.default, &device);
    system.add(Box::new(Drive::new(Box::new(device), scheduler, 1)), &[])
}

fn volume(name: &str, blocks: u64, member: u32) -> VolumeSpec {
    VolumeSpec { name: name.into(), bytes: blocks * u64::from(BLOCK), member, first_block: None, origin: None }
}

fn step(volume: &str, to: u32, at_s: f64, chunk_blocks: u64, mb_per_s: Option<f64>) -> MoveSpec {
    MoveSpec { volume: volume.into(), to, at_s, chunk_bytes: chunk_blocks * u64::from(BLOCK), mb_per_s }
}

/// Volumes of 50, 40 and 60 blocks on three drives, each under the component that `over` returns.
fn over(moves: Vec<MoveSpec>, mut over: impl FnMut(&mut System, usize, ComponentId) -> ComponentId) -> System {
    let mut system = System::default();
    let members: Vec<ComponentId> = (0..3)
        .map(|number| {
            let drive = constant(&mut system);
            over(&mut system, number, drive)
        })
        .collect();
    let children: Vec<Child> = members.iter().map(|&id| Child::of(&system, id)).collect();
    system.add(Box::new(volumes(moves, &children).expect("they fit")), &members);
    system
}

fn volumes(moves: Vec<MoveSpec>, members: &[Child]) -> Result<Volumes, Fault> {
    let volumes = vec![volume("a", 50, 0), volume("b", 40, 1), volume("c", 60, 2)];
    Volumes::new(&VolumesSpec { volumes, moves, ..VolumesSpec::default() }, members)
}

fn system(moves: Vec<MoveSpec>) -> System {
    over(moves, |_, _, id| id)
}

/// A counter of the volumes.
fn counted(system: &System, name: &str) -> Option<f64> {
    let details = system.component(system.root()).details(system.now()).expect("counts");
    details.counts.iter().find(|count| count.name == name).map(|count| count.value)
}

fn count(bed: &TestBed, name: &str) -> u64 {
    counted(&bed.system, name).unwrap_or_else(|| panic!("no {name}")) as u64
}

/// Each chunk is read and then written, and takes at least the time of its bytes at the given rate.
#[test]
fn an_undisturbed_move_takes_the_time_of_its_chunks_at_the_given_rate() {
    let bytes = |blocks: u64| (blocks * u64::from(BLOCK)) as f64;
    for (chunk, period_ns) in [(7, 0), (7, 150_000), (7, 450_000), (20, 1_000_000), (50, 5_000_000), (1000, 1)] {
        let mb_per_s = (period_ns > 0).then(|| bytes(chunk) * 1e3 / period_ns as f64);
        let mut system = system(vec![step("a", 1, 0.002, chunk, mb_per_s)]);
        system.start_measuring();
        // A request to another drive, at which the moves start.
        let mut bed = TestBed::new(system, 1);
        bed.submit(Time::ZERO, Op::Read, 120, 1, Flags::NONE);
        bed.settle();
        while bed.step() {}
        let (whole, rest) = (50 / chunk, 50 % chunk);
        let of_rest_ns = if rest > 0 { (period_ns * rest / chunk).max(2 * T_NS) } else { 0 };
        let expected = whole * period_ns.max(2 * T_NS) + of_rest_ns;
        let (began, ended) = (counted(&bed.system, "move_began"), counted(&bed.system, "move_ended"));
        let took = ended.expect("it ended") - began.expect("it began");
        assert_eq!(began, Some(0.002));
        // The time of each chunk is rounded up to a nanosecond.
        assert!(
            (took * 1e9 - expected as f64).abs() <= (whole + 1) as f64,
            "{chunk} blocks: {took} s, not {expected} ns"
        );
        assert_eq!((count(&bed, "moves"), count(&bed, "moved_bytes")), (1, bytes(50) as u64));
        assert_eq!((count(&bed, "requests_during_moves"), count(&bed, "failed_moves")), (0, 0));
    }
}

const LOAD: Load = Load { span_blocks: 150, most_blocks: 30, writes: 0.6, gap_ns: 90_000, outstanding: 8 };

/// Returns `count` random moves for which there is space after the moves before them.
fn any_moves(count: usize, seed: u64) -> Vec<MoveSpec> {
    let mut stream = Stream::new(seed, "moves");
    let member = |id| Child { id: ComponentId(id), capacity_blocks: DRIVE_BLOCKS, block_bytes: BLOCK };
    let members = [0, 1, 2].map(member);
    let mut moves = Vec::new();
    while moves.len() < count {
        let mb_per_s = stream.chance(0.5).then(|| 0.05 + stream.below(50) as f64 * 0.01);
        let at_s = stream.below(200) as f64 * 1e-3;
        let volume = ["a", "b", "c"][stream.below(3) as usize];
        let one = step(volume, stream.below(3) as u32, at_s, 1 + stream.below(40), mb_per_s);
        let with_it = [moves.clone(), vec![one]].concat();
        if volumes(with_it.clone(), &members).is_ok() {
            moves = with_it;
        }
    }
    moves
}

fn assert_right(bed: &TestBed, what: &str) {
    assert!(bed.wrong.is_empty() && bed.lost.is_empty(), "{what}: {:?} {:?}", bed.wrong.first(), bed.lost);
}

#[test]
fn data_is_intact_through_moves() {
    let mut sums = [0; 3];
    let seeds = size(5, 50);
    for seed in 0..seeds {
        let mut bed = TestBed::new(system(any_moves(20, seed)), seed);
        bed.operate(20_000, &Load { gap_ns: 50_000 + 5_000 * seed, ..LOAD });
        bed.settle();
        bed.read_all();
        assert_right(&bed, &format!("{seed}"));
        assert_eq!((count(&bed, "moves"), count(&bed, "failed_moves")), (20, 0), "{seed}");
        let meanwhile = ["requests_during_moves", "write_waits", "doubled_writes"].map(|name| count(&bed, name));
        sums.iter_mut().zip(meanwhile).for_each(|(sum, count)| *sum += count);
    }
    assert!(sums.iter().all(|&sum| sum > 100 * seeds), "{sums:?}");
}

/// Power cuts during moves lose no acknowledged write, and all moves are completed in the end.
#[test]
fn moves_continue_after_power_cuts() {
    for seed in 0..size(5, 20) {
        let mut bed = TestBed::new(system(any_moves(10, seed)), seed);
        for cut in 0..40 {
            bed.cut(1 + cut * 37 % 400, &LOAD, cut % 3);
        }
        bed.operate(10_000, &LOAD);
        bed.settle();
        bed.read_all();
        assert_right(&bed, &format!("{seed}"));
        assert_eq!((count(&bed, "moves"), count(&bed, "failed_moves")), (10, 0), "{seed}");
    }
}

/// Volumes over three members of which one fails.
fn failing(which: usize, moves: Vec<MoveSpec>) -> System {
    over(moves, |system, number, drive| {
        if number != which {
            return drive;
        }
        let fault = FaultSpec { fails_at_s: Some(0.05), detect_ms: 0.03, ..FaultSpec::default() };
        let faulty = Faulty::new(Child::of(system, drive), &fault, &mut Stream::new(0, "faults")).expect("it fits");
        system.add(Box::new(faulty), &[drive])
    })
}

/// The volume keeps its place and data, and can be moved elsewhere.
#[test]
fn a_move_to_a_failed_member_loses_no_data() {
    for seed in 0..20 {
        // At 6,400 bytes/s, 3,200 bytes take half a second: the member fails during the move.
        let moves = vec![step("a", 1, 0.0, 1 + seed, Some(0.0064)), step("a", 2, 0.3, 10, None)];
        let mut bed = TestBed::new(failing(1, moves), seed);
        // Volume a, and volume c after b, which is lost.
        bed.operate(5_000, &Load { span_blocks: 50, ..LOAD });
        bed.settle();
        bed.read_all();
        assert_right(&bed, &format!("{seed}"));
        assert_eq!((count(&bed, "moves"), count(&bed, "failed_moves")), (1, 1), "{seed}");
        let doubled = count(&bed, "doubled_writes");
        assert!(doubled > 10, "{seed}: {doubled}");
    }
}

#[test]
fn a_move_from_a_failed_member_ends_without_wrong_data() {
    for seed in 0..20 {
        let moves = vec![step("a", 1, 0.0, 1 + seed, Some(0.0064)), step("b", 2, 0.3, 10, None)];
        let mut bed = TestBed::new(failing(0, moves), seed);
        bed.operate(5_000, &LOAD);
        bed.settle();
        assert!(bed.wrong.is_empty(), "{:?}", bed.wrong.first());
        assert!(bed.lost.keys().eq([&Status::Failed]), "{:?}", bed.lost);
        assert_eq!((count(&bed, "moves"), count(&bed, "failed_moves")), (1, 1), "{seed}");
    }
}

/// A volume has wrong data after it has moved to a drive that loses writes.
#[test]
fn writes_lost_at_the_new_place_are_detected() {
    let lossy = |moves| {
        over(moves, |system, number, drive| match number {
            1 => BuggyComponent::over(system, drive, Bug::LoseWrites { every: 20 }),
            _ => drive,
        })
    };
    for (moves, finds) in [(vec![], false), (vec![step("a", 1, 0.1, 5, None)], true)] {
        let mut bed = TestBed::new(lossy(moves), 3);
        bed.operate(3_000, &Load { span_blocks: 50, ..LOAD });
        bed.settle();
        bed.read_all();
        assert_eq!(!bed.wrong.is_empty(), finds);
    }
}

#[test]
fn scenarios_define_moves_and_reports_count_them() {
    let document = json!({
        "workload": scenarios::poisson(30.0),
        "run": {"time_s": 20},
        "system": {
            "kind": "volumes", "members": ["atlas10k", "g2"],
            "volumes": [{"name": "home", "bytes": "1 GiB"}, {"name": "mail", "bytes": "16 MiB"}],
            "moves": [{"volume": "mail", "to": 1, "at_s": 1, "chunk_bytes": "256 KiB", "mb_per_s": 2}],
        },
    });
    let scenario = scenarios::resolved(&document);
    let report = scenarios::run(&scenario).report;
    let value = |name: &str| {
        let found = report.components[0].counts.iter().find(|count| count.name == name);
        found.unwrap_or_else(|| panic!("no {name}")).value
    };
    assert_eq!((value("moves"), value("moved_bytes"), value("move_began")), (1.0, f64::from(16 << 20), 1.0));
    let least = f64::from(16 << 20) / 2e6;
    let took = value("move_ended") - 1.0;
    assert!((least..least + 1.0).contains(&took), "{took} s, at least {least} s");
    assert!((value("requests_during_moves") - 30.0 * took).abs() < 5.0 * (30.0 * took).sqrt());
    let notes = explain(&scenario.system).expect("a tree").notes;
    assert_eq!(notes, [format!("moves mail to members[1] from 1 s on, for at least {least:.3} s")]);
}
