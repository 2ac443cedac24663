//! Exact times of a cache with access time a over a drive with access time t.

use sledsim::engine::random::Stream;
use sledsim::engine::Status;
use sledsim::hierarchy::cache::ram::{RamCacheSpec, ReadAheadSpec, WritePolicy};
use sledsim::hierarchy::cache::replacement::{build, POLICIES};
use sledsim::request::{Flags, Op};

use super::between::Disturbance;
use super::host::{plain, Host, A, LINE, T};

#[test]
fn a_hit_takes_the_access_time_and_a_miss_adds_the_child() {
    let mut host = Host::new(&plain(16));
    assert_eq!(host.read(100, 3), T + A);
    assert_eq!(host.read(100, 3), A);
    assert_eq!(host.read(101, 1), A);
    assert_eq!(host.read(100, 4), T + A, "block 103 is in the same line, but has not been read");
    assert_eq!(host.write(104, 8), A);
    assert_eq!(host.read(104, 8), A, "what was written is there");
    let whole = (host.count("read_hits"), host.count("read_misses"), host.count("write_misses"));
    assert_eq!(whole, (3.0, 2.0, 1.0), "by lines: 104 to 111 is line 13");
    assert_eq!(host.below(), [(0, Op::Read, 100, 3), (T + 3 * A, Op::Read, 103, 1)]);
}

#[test]
fn missing_blocks_of_adjacent_lines_are_one_access() {
    let mut host = Host::new(&plain(64));
    assert_eq!(host.read(4, 100), T + A);
    assert_eq!(host.below().len(), 1);
    // Line 13 (blocks 104 to 111) lacks blocks on both sides of 106; the first block of line 14 is valid, so the
    // missing blocks are not contiguous.
    host.write(112, 1);
    host.write(106, 1);
    assert_eq!(host.read(104, 16), 2 * T + A);
    assert_eq!(host.below(), [(T + 3 * A, Op::Read, 104, 8), (T + 3 * A, Op::Read, 113, 7)]);
}

#[test]
fn write_back_takes_the_access_time_and_write_through_that_of_the_child() {
    let through = RamCacheSpec { write: WritePolicy::Through, ..plain(16) };
    let mut host = Host::new(&through);
    assert_eq!(host.write(0, 8), T);
    assert_eq!(host.read(0, 8), A, "the written data is cached");
    assert_eq!(host.write(0, 3), T);
    assert_eq!(host.below().len(), 2);
    for volatile in [true, false] {
        let mut host = Host::new(&RamCacheSpec { volatile, ..plain(16) });
        host.submit(0, Op::Write, 0, 8, Flags::DURABLE);
        host.drain();
        let took = host.answers[0].service.end.ns();
        assert_eq!(took, if volatile { T } else { A }, "written through unless non-volatile");
        let log = host.log.lock().expect("one thread");
        assert_eq!(log.len(), usize::from(volatile));
        assert!(log.iter().all(|(_, request)| request.flags.contains(Flags::DURABLE) && request.origin == 7));
    }
}

#[test]
fn a_host_link_adds_the_bytes_over_its_rate() {
    // 4,096 bytes at 512 MB/s take 8 us, 512 take 1.
    let mut host = Host::new(&RamCacheSpec { mb_per_s: Some(512.0), access_us: 2.5, ..plain(16) });
    assert_eq!(host.write(0, 8), 2_500 + 8_000);
    assert_eq!(host.read(0, 1), 2_500 + 1_000);
    assert_eq!(host.read(8, 8), T + 2_500 + 8_000);
    let mut host = Host::new(&RamCacheSpec { access_us: 0.0, ..plain(16) });
    assert_eq!((host.write(0, 8), host.read(0, 8), host.read(8, 1)), (0, 0, T));
}

#[test]
fn requests_of_more_than_half_the_lines_bypass_the_cache() {
    let mut host = Host::new(&plain(16));
    assert_eq!(host.read(0, 8 * LINE), T + A);
    assert_eq!(host.read(0, 8 * LINE), A, "half of the lines stay");
    assert_eq!(host.read(0, 8 * LINE + 1), T, "more do not");
    assert_eq!(host.write(640, 8 * LINE), A);
    assert_eq!(host.write(640, 8 * LINE + 1), T);
    assert_eq!(host.read(640, 8 * LINE), A, "but blocks that were cached are updated");
    let dirty_before = host.count("destaged_blocks");
    assert_eq!(dirty_before, 0.0, "and clean, since the child has it");
}

#[test]
fn lru_misses_a_cyclic_scan_one_line_larger_than_the_cache() {
    for (lines, hits) in [(16, 84.0), (17, 0.0)] {
        let mut host = Host::new(&plain(16));
        for reference in 0..100 {
            host.read(reference % lines * LINE, LINE);
        }
        assert_eq!(host.count("read_hits"), hits);
    }
}

#[test]
fn hits_match_the_policy_without_a_device() {
    for policy in POLICIES {
        let mut host = Host::new(&RamCacheSpec { policy: policy.default.into(), ..plain(50) });
        let (mut alone, mut stream) = (build(&policy.default, 50), Stream::new(9, policy.name));
        for _ in 0..5_000 {
            // Lower lines are referenced more often.
            let most = 1 + stream.below(200);
            let line = stream.below(most);
            let expected = if alone.reference(line) { A } else { T + A };
            assert_eq!(host.read(line * LINE, LINE), expected, "{}", policy.name);
        }
        let hits = host.count("read_hits");
        assert!(hits > 1_000.0 && hits + host.count("read_misses") == 5_000.0, "{} hits", policy.name);
    }
}

#[test]
fn the_hit_ratio_of_uniform_references_is_the_cached_share() {
    let (lines, cached, reads) = (200, 50, 40_000);
    let mut host = Host::new(&plain(cached));
    let mut stream = Stream::new(4, "uniform");
    let mut total_ns = 0;
    for _ in 0..reads {
        total_ns += host.read(stream.below(lines) * LINE, LINE);
    }
    let (hits, share) = (host.count("read_hits"), cached as f64 / lines as f64);
    assert_eq!(total_ns as f64, reads as f64 * A as f64 + (reads as f64 - hits) * T as f64);
    // The number of references that fill the cache, plus four standard deviations of independent references.
    let tolerance = 4.0 * (reads as f64 * share * (1.0 - share)).sqrt() + cached as f64;
    assert!((hits - reads as f64 * share).abs() < tolerance, "{hits} hits of {reads}");
}

#[test]
fn a_cache_full_of_dirty_lines_writes_at_the_rate_of_the_child() {
    let lines = 16;
    let mut host = Host::new(&plain(lines));
    // Every other line, so that no two are written together.
    (0..40).for_each(|write| host.submit(0, Op::Write, write * 2 * LINE, LINE, Flags::NONE));
    host.drain();
    assert_eq!(host.answers.len(), 40);
    for answer in &host.answers {
        let stalled = (answer.request.id + 1).saturating_sub(lines);
        assert_eq!(answer.service.end.ns(), stalled * T + A, "write {}", answer.request.id);
    }
    // A full cache is at its high-water mark and destages one additional line.
    assert_eq!((host.count("stalls"), host.count("destages")), (24.0, 25.0));
    // The k-th stalled write waits for k destages.
    assert_eq!(host.count("stalled"), (24 * 25 / 2 * T) as f64 * 1e-6);
}

#[test]
fn a_stream_is_read_ahead_of_the_host() {
    let spec = |read_ahead| RamCacheSpec { read_ahead, ..plain(64) };
    let mut host = Host::new(&spec(ReadAheadSpec::Sequential { most_bytes: 4 * LINE * 512 }));
    let mut responses = Vec::new();
    for read in 0..100 {
        responses.push(host.read(read * LINE, LINE));
        host.drain();
    }
    assert_eq!(&responses[..2], [T + A; 2], "two reads make a stream");
    assert!(
        responses[2..].iter().all(|&response| response == A),
        "the following blocks were read ahead: {responses:?}"
    );
    let (ahead, used) = (host.count("read_ahead_blocks"), host.count("read_ahead_used_blocks"));
    assert_eq!(used, 98.0 * LINE as f64);
    assert!(ahead - used <= 4.0 * LINE as f64 && host.count("read_ahead_wasted_blocks") == 0.0);
    let below = host.below();
    let blocks: u64 = below.iter().map(|&(.., blocks)| u64::from(blocks)).sum();
    assert_eq!(blocks as f64, 2.0 * LINE as f64 + ahead, "nothing is read twice");
    assert!(below.len() < 60, "{} accesses", below.len());

    let mut host = Host::new(&spec(ReadAheadSpec::Line {}));
    assert_eq!((host.read(10, 1), host.read(8, 8), host.read(15, 2)), (T + A, A, T + A));
    assert_eq!(host.below().iter().map(|it| (it.2, it.3)).collect::<Vec<_>>(), [(8, 8), (16, 8)]);
    assert_eq!((host.count("read_ahead_blocks"), host.count("read_ahead_used_blocks")), (14.0, 7.0));
}

#[test]
fn a_read_waits_for_blocks_that_are_being_fetched() {
    let mut host = Host::new(&plain(16));
    host.submit(0, Op::Read, 0, 8, Flags::NONE);
    host.submit(T / 2, Op::Read, 2, 4, Flags::NONE);
    host.drain();
    assert_eq!(host.answers.iter().map(|it| it.service.end.ns()).collect::<Vec<_>>(), [T + A, T + A]);
    assert_eq!(host.below().len(), 1);
}

#[test]
fn unreadable_blocks_fail_only_their_own_requests() {
    let spec = RamCacheSpec { read_ahead: ReadAheadSpec::Line {}, ..plain(16) };
    let mut host = Host::disturbed(&spec, Disturbance::Unreadable(5));
    assert_eq!(
        host.ask(Op::Read, 1, 2),
        (2 * T + A, Status::Served),
        "the second access reads only what was asked for"
    );
    assert_eq!(host.ask(Op::Read, 1, 2), (A, Status::Served));
    assert_eq!(host.ask(Op::Read, 4, 2).1, Status::Unreadable);
    assert_eq!(host.ask(Op::Write, 5, 1), (A, Status::Served));
    assert_eq!(host.ask(Op::Read, 5, 1), (A, Status::Served));

    let mut host =
        Host::disturbed(&RamCacheSpec { write: WritePolicy::Through, ..plain(16) }, Disturbance::Unwritable(5));
    assert_eq!(host.ask(Op::Write, 0, 8), (T, Status::Unreadable));
    assert_eq!(host.ask(Op::Read, 0, 8), (T + A, Status::Served), "the cache does not keep data of a failed write");
    let mut host = Host::disturbed(&plain(2), Disturbance::Unwritable(5));
    host.write(0, 8);
    // Both lines are dirty: the first is destaged at once, at time A. The next request, at 2 A, waits for its slot.
    host.write(32, 8);
    assert_eq!(host.write(64, 8), T);
    assert_eq!(host.count("lost_blocks"), 8.0);
}

#[test]
fn path_counts_add_up_to_the_requests() {
    let spec = RamCacheSpec { read_ahead: ReadAheadSpec::Sequential { most_bytes: 8192 }, ..plain(16) };
    let mut host = Host::new(&spec);
    let mut stream = Stream::new(1, "ways");
    let mut at_ns = 0;
    for _ in 0..3_000 {
        at_ns += stream.below(2 * T);
        let op = if stream.chance(0.5) { Op::Read } else { Op::Write };
        let most = if stream.chance(0.1) { 100 } else { 20 };
        let blocks = 1 + stream.below(most);
        let flags = if stream.chance(0.1) { Flags::DURABLE } else { Flags::NONE };
        host.submit(at_ns.max(host.system.now().ns()), op, stream.below(600), blocks, flags);
    }
    host.drain();
    let details = host.system.component(host.system.root()).details(host.system.now()).expect("a cache");
    assert_eq!(details.kind, "ram-cache");
    assert!(details.paths.iter().all(|path| path.count > 0), "every path was used: {:?}", details.paths);
    assert_eq!(details.paths.iter().map(|path| path.count).sum::<u64>(), 3_000);
    let responses = host.answers.iter().map(|it| it.service.end - it.request.arrival);
    assert_eq!(details.paths.iter().map(|path| path.sum_ns).sum::<u128>(), responses.clone().map(u128::from).sum());
    assert_eq!(details.paths.iter().map(|path| path.max_ns).max(), responses.max());
    let below = host.below();
    let blocks_of = |op| below.iter().filter(|it| it.1 == op).map(|it| u64::from(it.3)).sum::<u64>() as f64;
    let passed: u64 = host.answers.iter().map(|it| u64::from(it.request.blocks)).sum();
    assert!(blocks_of(Op::Read) >= host.count("fetched_blocks"), "reads that bypass the cache are additional");
    assert!(host.count("destaged_blocks") <= passed as f64 && host.count("destaged_blocks") <= blocks_of(Op::Write));
    host.system.start_measuring();
    let details = host.system.component(host.system.root()).details(host.system.now()).expect("a cache");
    assert!(details.paths.iter().all(|path| path.count == 0), "a new window begins empty");
}
