//! Evictions of dirty lines: requests wait for them, or pass over them.

use sledsim::engine::random::Stream;
use sledsim::hierarchy::cache::ram::{Eviction, FlushSpec, RamCacheSpec};
use sledsim::request::{Flags, Op};

use super::host::{plain, Host, A, LINE, T};

/// A cache that writes dirty lines only when it evicts them, line by line.
fn on_demand(lines: u64, eviction: Eviction) -> RamCacheSpec {
    let flush = FlushSpec { demand_only: true, idle_ms: None, most_write_bytes: LINE * 512, ..FlushSpec::default() };
    RamCacheSpec { eviction, flush, ..plain(lines) }
}

/// First block of every second line, so that no two are neighbours.
fn lbn(line: u64) -> u64 {
    2 * LINE * line
}

#[test]
fn a_read_waits_for_the_dirty_line_that_it_evicts_or_takes_a_clean_one() {
    for (eviction, response, evicted) in [(Eviction::Skip, T + A, 1), (Eviction::Wait, 2 * T + A, 0)] {
        let mut host = Host::new(&on_demand(4, eviction));
        host.write(lbn(0), LINE);
        (1..4).for_each(|line| assert_eq!(host.read(lbn(line), LINE), T + A));
        host.below();
        let now = host.system.now().ns();
        assert_eq!(host.read(lbn(4), LINE), response, "{eviction:?}");
        let read = (now + response - T - A, Op::Read, lbn(4), LINE as u32);
        let write = (now, Op::Write, lbn(0), LINE as u32);
        assert_eq!(host.below(), if eviction == Eviction::Wait { vec![write, read] } else { vec![read] });
        // The dirty line is not used again, so that the next read evicts it, or passes over it again.
        (0..4).filter(|&line| line != evicted).for_each(|line| assert_eq!(host.read(lbn(line), LINE), A));
        assert_eq!(host.count("stalls"), f64::from(u8::from(eviction == Eviction::Wait)));
        assert_eq!(host.count("stalled"), (response - T - A) as f64 * 1e-6);
    }
}

#[test]
fn a_durable_write_waits_for_the_dirty_lines_that_it_evicts_or_takes_clean_ones() {
    for (eviction, waits) in [(Eviction::Skip, false), (Eviction::Wait, true)] {
        let mut host = Host::new(&on_demand(4, eviction));
        host.read(lbn(0), LINE);
        host.write(lbn(1), LINE);
        (2..4).for_each(|line| assert_eq!(host.read(lbn(line), LINE), T + A));
        host.below();
        let now = host.system.now().ns();
        // Its two lines evict lines 0 and 1, of which the second is dirty.
        host.submit(now, Op::Write, lbn(10), 2 * LINE, Flags::DURABLE);
        host.drain();
        let written = |line, lines, after| (now + after, Op::Write, lbn(line), lines * LINE as u32);
        let below = if waits { vec![written(1, 1, 0), written(10, 2, T)] } else { vec![written(10, 2, 0)] };
        assert_eq!(host.below(), below, "{eviction:?}");
        assert_eq!(host.count("stalls"), f64::from(u8::from(waits)));
        let evicted = if waits { [0, 1] } else { [0, 2] };
        (0..4).filter(|line| !evicted.contains(line)).for_each(|line| assert_eq!(host.read(lbn(line), LINE), A));
        (0..2).for_each(|line| assert_eq!(host.read(lbn(10) + line * LINE, LINE), A, "written lines are in the cache"));
    }
}

#[test]
fn each_write_into_a_cache_full_of_dirty_lines_waits_for_one_write() {
    let lines = 16;
    for eviction in [Eviction::Skip, Eviction::Wait] {
        let mut host = Host::new(&on_demand(lines, eviction));
        (0..40).for_each(|write| host.submit(0, Op::Write, lbn(write), LINE, Flags::NONE));
        host.drain();
        for answer in &host.answers {
            let waited = (answer.request.id + 1).saturating_sub(lines);
            assert_eq!(answer.service.end.ns(), waited * T + A, "{eviction:?}: write {}", answer.request.id);
        }
        assert_eq!((host.answers.len(), host.count("destages")), (40, 24.0), "{eviction:?}: no line is written ahead");
    }
}

#[test]
fn all_dirty_blocks_of_an_evicted_line_are_written() {
    let mut host = Host::new(&on_demand(2, Eviction::Wait));
    host.write(lbn(0), 2);
    host.write(lbn(0) + 4, 3);
    host.write(lbn(1), LINE);
    let now = host.system.now().ns();
    assert_eq!(host.write(lbn(2), LINE), 2 * T + A);
    assert_eq!(host.below(), [(now, Op::Write, 0, 2), (now, Op::Write, 4, 3)]);
}

#[test]
fn dirty_blocks_that_follow_an_evicted_line_are_written_with_it() {
    let base = on_demand(4, Eviction::Wait);
    let flush = FlushSpec { most_write_bytes: 2 * LINE * 512, ..base.flush };
    let mut host = Host::new(&RamCacheSpec { flush, ..base });
    (0..4).for_each(|line| assert_eq!(host.write(line * LINE, LINE), A));
    let now = host.system.now().ns();
    assert_eq!((host.write(lbn(4), LINE), host.write(lbn(5), LINE)), (T + A, A));
    assert_eq!(host.below(), [(now, Op::Write, 0, 2 * LINE as u32)]);
}

#[test]
fn responses_are_those_of_a_list_of_lines_with_a_dirty_flag() {
    let capacity = 20;
    let mut host = Host::new(&on_demand(capacity as u64, Eviction::Wait));
    let mut stream = Stream::new(5, "evictions");
    // From the line that was used longest ago to the last.
    let mut list: Vec<(u64, bool)> = Vec::new();
    let (mut waits, requests) = (0, 5_000);
    for _ in 0..requests {
        let (line, writes) = (stream.below(60), stream.chance(0.4));
        let mut expected = A;
        let is_dirty = match list.iter().position(|entry| entry.0 == line) {
            Some(at) => list.remove(at).1,
            None => {
                if list.len() == capacity && list.remove(0).1 {
                    (expected, waits) = (expected + T, waits + 1);
                }
                expected += if writes { 0 } else { T };
                false
            }
        };
        list.push((line, is_dirty || writes));
        let response = if writes { host.write(lbn(line), LINE) } else { host.read(lbn(line), LINE) };
        assert_eq!(response, expected);
    }
    assert!(waits > requests / 10, "{waits} waits");
    assert_eq!((host.count("stalls"), host.count("destages")), (f64::from(waits), f64::from(waits)));
}
