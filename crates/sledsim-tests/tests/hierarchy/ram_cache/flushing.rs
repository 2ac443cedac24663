//! The times and sizes of destages.

use sledsim::hierarchy::cache::ram::{FlushSpec, RamCacheSpec};
use sledsim::request::{Flags, Op};

use super::host::{plain, Host, A, LINE, T};

fn flushing(lines: u64, flush: FlushSpec) -> RamCacheSpec {
    RamCacheSpec { flush, ..plain(lines) }
}

const NEVER: FlushSpec = FlushSpec {
    demand_only: false,
    idle_ms: None,
    high_water: 1.0,
    low_water: 0.5,
    period_s: None,
    outstanding: 1,
    most_write_bytes: 1 << 20,
};

#[test]
fn idle_time_destages_all_dirty_blocks_in_order_and_joined() {
    let idle_ns = 5_000_000;
    let flush = FlushSpec { idle_ms: Some(5.0), most_write_bytes: 4 * LINE * 512, ..NEVER };
    let mut host = Host::new(&flushing(64, flush));
    // Ten lines from block 80 on, written backwards; one distant block; block 84 in line 10 is missing.
    (11..20).rev().for_each(|line| assert_eq!(host.write(line * LINE, LINE), A));
    host.write(1000, 1);
    host.write(80, 4);
    host.write(85, 3);
    let quiet_ns = host.system.now().ns();
    host.drain();
    let start = quiet_ns + idle_ns;
    let expected = [(80, 4), (85, 32), (117, 32), (149, 11), (1000, 1)];
    let expected: Vec<_> =
        (0..).zip(expected).map(|(k, (lbn, blocks))| (start + k * T, Op::Write, lbn, blocks)).collect();
    assert_eq!(host.below(), expected);
    assert_eq!((host.count("destages"), host.count("destaged_blocks")), (5.0, 80.0));
    assert_eq!(host.read(80, 4), A, "destaged blocks stay cached");
}

#[test]
fn a_request_ends_idle_destages() {
    let flush = FlushSpec { idle_ms: Some(5.0), most_write_bytes: LINE * 512, ..NEVER };
    let mut host = Host::new(&flushing(64, flush));
    (0..10).for_each(|line| host.submit(0, Op::Write, line * LINE, LINE, Flags::NONE));
    // A request arrives during the third of ten destages; the rest waits for another 5 ms.
    let asked = A + 5_000_000 + 2 * T + T / 2;
    host.submit(asked, Op::Read, 0, 1, Flags::NONE);
    host.drain();
    let times: Vec<u64> = host.below().iter().map(|it| it.0).collect();
    let again = asked + A + 5_000_000;
    let expected: Vec<u64> = (0..3).map(|k| A + 5_000_000 + k * T).chain((0..7).map(|k| again + k * T)).collect();
    assert_eq!(times, expected);
}

#[test]
fn destages_run_from_high_water_to_low_water() {
    let flush = FlushSpec { high_water: 0.75, low_water: 0.5, most_write_bytes: LINE * 512, ..NEVER };
    let mut host = Host::new(&flushing(16, flush));
    for write in 0..11 {
        host.write(write * 2 * LINE, LINE);
    }
    host.drain();
    assert_eq!(host.below(), [], "11 of 16 lines are below three quarters");
    let now = host.system.now().ns();
    host.write(11 * 2 * LINE, LINE);
    host.drain();
    let expected: Vec<_> = (0..4).map(|k| (now + k * T, Op::Write, k * 2 * LINE, LINE as u32)).collect();
    assert_eq!(host.below(), expected, "12 dirty lines become 8");
    // The sweep continues where it stopped.
    (20..24).for_each(|write| assert_eq!(host.write(write * 2 * LINE, LINE), A));
    host.drain();
    assert_eq!(host.below().first().map(|it| it.2), Some(4 * 2 * LINE));
}

#[test]
fn each_period_destages_all_dirty_blocks() {
    let period_ns = 30_000_000;
    let mut host = Host::new(&flushing(16, FlushSpec { period_s: Some(0.03), ..NEVER }));
    host.submit(1_000_000, Op::Write, 0, 8, Flags::NONE);
    host.submit(2_000_000, Op::Write, 80, 8, Flags::NONE);
    host.drain();
    let start = 1_000_000 + period_ns;
    assert_eq!(host.below(), [(start, Op::Write, 0, 8), (start + T, Op::Write, 80, 8)]);
    assert_eq!(host.system.next_time(), None, "no timer is set without dirty blocks");
}

#[test]
fn destages_run_concurrently_up_to_the_limit() {
    let flush = FlushSpec { idle_ms: Some(1.0), outstanding: 3, most_write_bytes: LINE * 512, ..NEVER };
    let mut host = Host::new(&flushing(16, flush));
    (0..4).for_each(|line| host.submit(0, Op::Write, line * LINE, LINE, Flags::NONE));
    host.drain();
    let start = A + 1_000_000;
    let times: Vec<u64> = host.below().iter().map(|it| it.0).collect();
    assert_eq!(times, [start, start, start, start + T]);
}

#[test]
fn a_block_rewritten_during_its_destage_is_destaged_again() {
    for volatile in [true, false] {
        let flush = FlushSpec { idle_ms: Some(1.0), outstanding: 8, ..NEVER };
        let mut host = Host::new(&RamCacheSpec { volatile, ..flushing(16, flush) });
        host.submit(0, Op::Write, 0, 8, Flags::NONE);
        let start = A + 1_000_000;
        host.submit(start + T / 2, Op::Write, 2, 1, Flags::NONE);
        host.drain();
        let log = host.log.lock().expect("one thread").clone();
        assert!(log.iter().all(|(_, request)| request.flags.contains(Flags::DURABLE) != volatile));
        assert!(log.iter().all(|(_, request)| request.flags.contains(Flags::BACKGROUND)));
        let again = start + T / 2 + A + 1_000_000;
        assert_eq!(host.below(), [(start, Op::Write, 0, 8), (again, Op::Write, 2, 1)]);
    }
}

#[test]
fn the_dirty_share_is_a_time_average() {
    let mut host = Host::new(&flushing(16, FlushSpec { idle_ms: Some(1.0), ..NEVER }));
    host.submit(0, Op::Write, 0, 8, Flags::NONE);
    // The line is dirty until its write begins.
    host.submit(4_000_000, Op::Read, 0, 8, Flags::NONE);
    assert_eq!(host.count("dirty_share"), 1.0 / 16.0 * (A + 1_000_000) as f64 / 4e6);
}
