//! Times and accesses against closed forms, most of them exact, because members have a constant access time T.

use sledsim::engine::random::Stream;
use sledsim::engine::System;
use sledsim::hierarchy::array::{Level, ReadChoice, WriteMethod};
use sledsim::hierarchy::{ArraySpec, Spread};
use sledsim::request::Op;
use sledsim::schedulers::fcfs;
use sledsim::time::Time;

use super::building::*;

/// Blocks of a stripe unit.
const UNIT: u64 = 8;

fn parity(level: Level, count: usize) -> System {
    plain_array(level, &constant(8000, 512), count, &units(UNIT * 512))
}

fn response(system: &mut System, op: Op, lbn: u64, blocks: u64) -> u64 {
    let began = system.now();
    let completion = serve_one(system, op, lbn, blocks);
    assert!(completion.is_served());
    system.now() - began
}

#[test]
fn single_writes_take_the_sum_of_their_steps() {
    // Level, members; for a write of a block: response time in units of T, reads, writes.
    let small = [
        (Level::Raid4, 5, 2, 2, 2),
        (Level::Raid5, 5, 2, 2, 2),
        (Level::Raid6, 6, 2, 3, 3),
        (Level::Mirror, 3, 1, 0, 3),
    ];
    for (level, count, steps, reads, writes) in small {
        let mut system = parity(level, count);
        for lbn in [0, 17, 1234, 4567] {
            system.start_measuring();
            assert_eq!(response(&mut system, Op::Write, lbn, 1), steps * T_NS, "{level:?}");
            assert_eq!(accesses(&system), (reads, writes), "{level:?}");
        }
        system.start_measuring();
        assert_eq!((response(&mut system, Op::Read, 99, 1), accesses(&system)), (T_NS, (1, 0)), "{level:?}");
    }
    // A whole row: no reads.
    for (level, count, data) in [(Level::Raid5, 5, 4), (Level::Raid6, 6, 4)] {
        let mut system = parity(level, count);
        assert_eq!(response(&mut system, Op::Write, 3 * data * UNIT, data * UNIT), T_NS);
        assert_eq!(accesses(&system), (0, count as u64));
    }
    // Seven eighths of a row: the eighth is read.
    let mut system = parity(Level::Raid5, 9);
    assert_eq!(response(&mut system, Op::Write, 0, 7 * UNIT), 2 * T_NS);
    assert_eq!(accesses(&system), (1, 8));
}

/// At saturation, members are nearly always busy: with `outstanding` random requests over N members, some are idle for
/// short times. That share falls with the number outstanding; 2 % covers it here, together with the standard error of a
/// mean over 20,000 requests (below 1 %).
#[test]
fn saturated_small_write_throughput_follows_from_accesses() {
    let (requests, t_s) = (20_000, T_NS as f64 * 1e-9);
    let cases = [
        (Level::Raid5, 5, 5.0 / 4.0),
        (Level::Raid6, 6, 6.0 / 6.0),
        // The parity member has two accesses for each write.
        (Level::Raid4, 5, 1.0 / 2.0),
        (Level::Mirror, 3, 1.0),
    ];
    for (level, count, per_t) in cases {
        let mut system = parity(level, count);
        let capacity = system.component(system.root()).capacity_blocks();
        let mut stream = Stream::new(7, "places");
        let spent = saturate(&mut system, 400, requests, |_| (Op::Write, stream.below(capacity), 1));
        let rate = requests as f64 / (spent as f64 * 1e-9);
        assert!((rate * t_s / per_t - 1.0).abs() < 0.02, "{level:?}: {} per T, not {per_t}", rate * t_s);
    }
}

fn spread_of(count: usize, striped: bool) -> System {
    let mut system = System::default();
    let drives: Vec<_> =
        (0..count).map(|_| add_drive(&mut system, &constant(8000, 512), &fcfs::POLICY.default)).collect();
    let sizes = vec![(8000, 512); count];
    let spread =
        if striped { Spread::stripe(drives.clone(), &sizes, 4096) } else { Spread::concat(drives.clone(), &sizes) };
    system.add(Box::new(spread.expect("they fit")), &drives);
    system
}

#[test]
fn striping_multiplies_throughput_but_not_single_response_times() {
    let mut system = spread_of(4, true);
    assert_eq!(response(&mut system, Op::Read, 5, 1), T_NS);
    // The parts on all members are served concurrently.
    assert_eq!(response(&mut system, Op::Write, 0, 32), T_NS);
    let mut stream = Stream::new(3, "places");
    let spent = saturate(&mut system, 400, 20_000, |_| (Op::Read, stream.below(32_000), 1));
    // As above: 2 % because members are idle by chance.
    assert!((20_000.0 * T_NS as f64 / spent as f64 / 4.0 - 1.0).abs() < 0.02, "{spent}");
    // Consecutive blocks use the members in turn: exactly N/T.
    let spent = saturate(&mut system, 4, 4000, |i| (Op::Read, i % 4 * 8, 1));
    assert_eq!(spent, 1000 * T_NS);
}

#[test]
fn concatenation_accepts_members_of_different_sizes() {
    let mut system = System::default();
    let sizes: [(u64, u32); 3] = [(100, 512), (7, 512), (50, 512)];
    let drives: Vec<_> = sizes
        .iter()
        .map(|&(blocks, bytes)| add_drive(&mut system, &constant(blocks, bytes), &fcfs::POLICY.default))
        .collect();
    let root = system.add(Box::new(Spread::concat(drives.clone(), &sizes).expect("they fit")), &drives);
    assert_eq!(system.component(root).capacity_blocks(), 157);
    system.start_measuring();
    // From the last block of the first member to the first block of the last member.
    assert_eq!(response(&mut system, Op::Read, 99, 9), T_NS);
    let busy = |drive: usize| system.component(drives[drive]).measured(system.now()).busy_ns;
    assert_eq!([busy(0), busy(1), busy(2)], [T_NS; 3]);
    let details = system.component(root).details(system.now()).expect("details");
    assert_eq!((details.kind, details.paths[0].count, details.paths[0].max_ns), ("concat", 1, T_NS));
    assert!(!serve_one(&mut system, Op::Read, 150, 8).is_served());
}

fn mirror(device: &sledsim::scenario::DeviceSpec, copies: usize, read: ReadChoice) -> System {
    plain_array(Level::Mirror, device, copies, &ArraySpec { read, ..units(4096) })
}

#[test]
fn mirrors_multiply_read_throughput() {
    for read in [ReadChoice::RoundRobin, ReadChoice::ShortestQueue] {
        for copies in 2..5 {
            let mut system = mirror(&constant(8000, 512), copies, read);
            let count = 1000 * copies as u64;
            let mut stream = Stream::new(3, "places");
            let spent = saturate(&mut system, 3 * copies, count, |_| (Op::Read, stream.below(8000), 1));
            assert_eq!(spent, 1000 * T_NS, "{read:?} of {copies}");
        }
    }
}

/// Poisson reads at half the service rate of the copies. With constant service times, round robin and shortest queue
/// both equal a single queue for all copies (M/D/c), which is computed here from the arrivals; its wait is less than
/// that of a random choice (M/D/1), rho T / (2 (1 - rho)).
#[test]
fn mirror_reads_wait_as_in_a_single_queue_for_all_copies() {
    for (read, copies) in [(ReadChoice::RoundRobin, 2), (ReadChoice::ShortestQueue, 2), (ReadChoice::ShortestQueue, 4)]
    {
        let mut system = mirror(&constant(8000, 512), copies, read);
        let mut stream = Stream::new(11, "arrivals");
        let mut free = vec![0_u64; copies];
        let (mut at, mut expected, mut wait, mut done) = (0.0, 0, 0, Vec::new());
        let count = 50_000;
        for id in 0..count {
            at += stream.exponential() * T_NS as f64 * 2.0 / copies as f64;
            let arrival = Time::from_ns(at as u64);
            while system.next_time().is_some_and(|next| next <= arrival) {
                system.step(&mut |completion| done.push(*completion));
            }
            let asked = request(id, arrival, Op::Read, stream.below(8000), 1);
            system.submit(asked, &mut |completion| done.push(*completion));
            let first = (0..copies).min_by_key(|&copy| free[copy]).expect("a copy");
            let start = free[first].max(arrival.ns());
            free[first] = start + T_NS;
            expected += start - arrival.ns();
        }
        while system.next_time().is_some() {
            system.step(&mut |completion| done.push(*completion));
        }
        assert_eq!(done.len() as u64, count);
        for completion in &done {
            wait += completion.service.end - completion.request.arrival - T_NS;
        }
        assert_eq!(wait, expected, "{read:?} of {copies}");
        let random = 0.5 / (2.0 * (1.0 - 0.5));
        assert!((wait as f64) < random * (count * T_NS) as f64);
    }
}

/// Returns the mean seek distance, as a share of the capacity, if each uniform read moves the nearest of `copies` arms:
/// the stationary distribution by iteration on a grid, independent of the simulator.
fn nearest_distance(cells: usize) -> f64 {
    let near = |a: usize, b: usize, place: usize| a.abs_diff(place) <= b.abs_diff(place);
    let mut share = vec![1.0 / (cells * cells) as f64; cells * cells];
    let mut mean = 0.0;
    // The distribution converges within a few requests.
    for _ in 0..30 {
        let mut next = vec![0.0; cells * cells];
        mean = 0.0;
        for (a, b) in (0..cells).flat_map(|a| (0..cells).map(move |b| (a, b))) {
            let each = share[a * cells + b] / cells as f64;
            for place in 0..cells {
                let moved = if near(a, b, place) { place * cells + b } else { a * cells + place };
                next[moved] += each;
                mean += each * a.abs_diff(place).min(b.abs_diff(place)) as f64 / cells as f64;
            }
        }
        share = next;
    }
    mean
}

#[test]
fn mirror_read_seek_distances_follow_the_closed_form() {
    // Distance 0 takes 1 ms, the whole capacity 11 ms.
    let device = linear(1_000_000, 1.0, 11.0);
    let count = 40_000;
    let mean = |read| {
        let mut system = mirror(&device, 2, read);
        let mut stream = Stream::new(5, "places");
        let spent = saturate(&mut system, 1, count, |_| (Op::Read, stream.below(1_000_000), 1));
        (spent as f64 / count as f64 * 1e-6 - 1.0) / 10.0
    };
    // The standard deviation of the distances is below 0.24, that of their mean below 0.0012; the tolerance is four
    // times that.
    let tolerance = 4.0 * 0.24 / f64::sqrt(count as f64);
    let round = mean(ReadChoice::RoundRobin);
    assert!((round - 1.0 / 3.0).abs() < tolerance, "{round}");
    // The error of a grid of 60 cells is their size squared, 3e-4 of the capacity; a grid of 400 cells gives 0.1615.
    let (nearest, expected) = (mean(ReadChoice::Nearest), nearest_distance(60));
    assert!((nearest - expected).abs() < tolerance + 1e-3, "{nearest}, not {expected}");
    assert!(nearest < 1.0 / 5.0, "the nearest of two arms is nearer than with independent positions");
}

/// Writes move both arms to the same position, so the distance is that of one arm.
#[test]
fn mirror_writes_keep_the_arms_together() {
    let mut system = mirror(&linear(1_000_000, 1.0, 11.0), 2, ReadChoice::Nearest);
    let mut stream = Stream::new(5, "places");
    let count = 40_000;
    let spent = saturate(&mut system, 1, count, |_| (Op::Write, stream.below(1_000_000), 1));
    let mean = (spent as f64 / count as f64 * 1e-6 - 1.0) / 10.0;
    assert!((mean - 1.0 / 3.0).abs() < 4.0 * 0.24 / f64::sqrt(count as f64), "{mean}");
}

/// A read of both members of a stripe ends with the slower one: the mean maximum of two distances is 7/15.
#[test]
fn a_request_over_two_members_waits_for_the_slower_one() {
    let mut system = System::default();
    let device = linear(1_000_000, 1.0, 11.0);
    let drives: Vec<_> = (0..2).map(|_| add_drive(&mut system, &device, &fcfs::POLICY.default)).collect();
    let mut stream = Stream::new(9, "places");
    let count = 40_000;
    // Two members at independent positions: a concatenation, both halves of which are read at once.
    system.add(Box::new(Spread::concat(drives.clone(), &[(1_000_000, 512); 2]).expect("they fit")), &drives);
    let mut spent = 0;
    for _ in 0..count {
        let began = system.now();
        let mut done = 0;
        for member in 0..2 {
            let lbn = member * 1_000_000 + stream.below(1_000_000);
            system.submit(request(member, began, Op::Read, lbn, 1), &mut |_| done += 1);
        }
        while done < 2 {
            system.step(&mut |_| done += 1);
        }
        spent += system.now() - began;
    }
    let mean = (spent as f64 / count as f64 * 1e-6 - 1.0) / 10.0;
    assert!((mean - 7.0 / 15.0).abs() < 4.0 * 0.24 / f64::sqrt(count as f64), "{mean}");
}

#[test]
fn every_request_is_counted_in_one_path() {
    let spec = |write| ArraySpec { write, ..units(UNIT * 512) };
    for (write, path) in [(WriteMethod::Rmw, "rmw-write"), (WriteMethod::Reconstruct, "reconstruct-write")] {
        let mut system = plain_array(Level::Raid5, &constant(8000, 512), 5, &spec(write));
        let mut stream = Stream::new(9, "places");
        saturate(&mut system, 20, 500, |_| (Op::Write, stream.below(30_000), 1 + stream.below(60)));
        saturate(&mut system, 20, 300, |_| (Op::Read, stream.below(30_000), 1));
        let details = system.component(system.root()).details(system.now()).expect("details");
        let count = |name: &str| details.paths.iter().find(|path| path.name == name).map_or(0, |path| path.count);
        assert_eq!((count("whole-read"), details.paths.iter().map(|path| path.count).sum()), (300, 800_u64));
        assert!(count(path) > 400, "{details:?}");
    }
}
