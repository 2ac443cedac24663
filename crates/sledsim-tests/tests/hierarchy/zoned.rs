//! Zones that are written in order: which writes are refused, and what rewriting a zone costs.

use serde_json::{json, Value};
use sledsim::engine::random::Stream;
use sledsim::engine::Status;
use sledsim::request::{Flags, Op};
use sledsim_testing::host::Host;
use sledsim_testing::scenarios::{poisson, resolve};
use sledsim_testing::tiers::size;

const BLOCK: u64 = 512;

/// Zones of 100 blocks, of which the first is conventional, over a drive.
fn zoned(child: &Value, keys: &Value) -> Host {
    let mut system = json!({"kind": "zoned", "child": child, "zone_bytes": 100 * BLOCK, "conventional_zones": 1});
    for (key, value) in keys.as_object().expect("a table") {
        system[key] = value.clone();
    }
    Host::new(&system)
}

/// A drive of 1,050 blocks in which each access takes a millisecond.
fn constant() -> Value {
    let device = json!({
        "mechanism": "simpledisk-constant", "name": "constant", "block_bytes": BLOCK, "capacity_blocks": 1_050, "access_ms": 1.0,
    });
    json!({"kind": "drive", "device": device, "scheduler": {"name": "fcfs"}})
}

fn write(host: &mut Host, lbn: u64, blocks: u32) -> (Status, f64) {
    host.submit(Op::Write, lbn, blocks, Flags::NONE);
    let done = host.completion();
    (done.status, (done.service.end - done.request.arrival) as f64 * 1e-6)
}

const SERVED: (Status, f64) = (Status::Served, 1.0);
const REFUSED: (Status, f64) = (Status::Refused, 0.0);

#[test]
fn host_managed_zones_accept_writes_at_the_write_pointer() {
    let mut host = zoned(&constant(), &json!({}));
    assert_eq!(host.capacity_blocks(), 1_050);
    for (lbn, blocks, expected) in [
        (100, 10, SERVED),
        (110, 5, SERVED),
        // Below and above the pointer.
        (112, 1, REFUSED),
        (120, 1, REFUSED),
        // Beyond the end of the zone; then exactly up to it.
        (115, 86, REFUSED),
        (115, 85, SERVED),
        (199, 1, REFUSED),
        // A write at the start of the zone resets it.
        (100, 1, SERVED),
        (115, 1, REFUSED),
        (101, 1, SERVED),
        // The last zone is smaller.
        (1_000, 50, SERVED),
        (1_049, 1, REFUSED),
        // Conventional blocks in any order, but not across the border.
        (60, 5, SERVED),
        (3, 90, SERVED),
        (90, 20, REFUSED),
    ] {
        assert_eq!(write(&mut host, lbn, blocks), expected, "{blocks} blocks from {lbn} on");
    }
    assert_eq!((host.count("out_of_order_writes"), host.count("zone_resets")), (7.0, 1.0));
    // Reads are served everywhere.
    assert_eq!(host.response_ms(Op::Read, 150, 100, Flags::NONE), 1.0);
}

#[test]
fn full_host_managed_zones_have_to_be_reset() {
    let mut host = zoned(&constant(), &json!({"full": true}));
    assert_eq!(
        [write(&mut host, 150, 1), write(&mut host, 200, 1), write(&mut host, 201, 1)],
        [REFUSED, SERVED, SERVED]
    );
}

#[test]
fn a_reset_empties_whole_sequential_zones() {
    let mut host = zoned(&constant(), &json!({"full": true}));
    let reset = |host: &mut Host, lbn, blocks| {
        host.submit(Op::Reset, lbn, blocks, Flags::NONE);
        let done = host.completion();
        (done.status, done.service.end - done.request.arrival)
    };
    const EMPTIED: (Status, u64) = (Status::Served, 0);
    const REFUSED_RESET: (Status, u64) = (Status::Refused, 0);
    for (lbn, blocks, expected, resets) in [
        // Parts of zones, the conventional zone, and blocks beyond the end.
        (100, 99, REFUSED_RESET, 0.0),
        (101, 99, REFUSED_RESET, 0.0),
        (150, 100, REFUSED_RESET, 0.0),
        (0, 100, REFUSED_RESET, 0.0),
        (0, 200, REFUSED_RESET, 0.0),
        (1_000, 51, REFUSED_RESET, 0.0),
        // One zone, an empty one, three of which one is empty, and the last, which is smaller.
        (200, 100, EMPTIED, 1.0),
        (200, 100, EMPTIED, 1.0),
        (100, 300, EMPTIED, 3.0),
        (1_000, 50, EMPTIED, 4.0),
    ] {
        assert_eq!(reset(&mut host, lbn, blocks), expected, "{blocks} blocks from {lbn} on");
        assert_eq!(host.count("zone_resets"), resets, "{blocks} blocks from {lbn} on");
    }
    // A write at the start of an empty zone resets nothing.
    assert_eq!(
        [write(&mut host, 101, 1), write(&mut host, 100, 1), write(&mut host, 1_000, 50)],
        [REFUSED, SERVED, SERVED]
    );
    assert_eq!(host.count("zone_resets"), 4.0);
}

#[test]
fn a_reset_of_drive_managed_zones_ignores_parts_of_zones() {
    let mut host = zoned(&constant(), &json!({"out_of_order": "rewrite", "full": true}));
    // The last block of the conventional zone, two whole zones, and half of one.
    host.submit(Op::Reset, 99, 251, Flags::NONE);
    assert_eq!((host.completion().status, host.count("zone_resets")), (Status::Served, 2.0));
    // Nothing has to be rewritten in the emptied zones.
    assert_eq!([write(&mut host, 100, 5), write(&mut host, 250, 5)], [SERVED, SERVED]);
    assert_eq!(write(&mut host, 300, 5), (Status::Served, 2.0));
    assert_eq!((host.count("zone_rewrites"), host.count("rewritten_blocks")), (1.0, 95.0));
}

#[test]
fn systems_without_zones_refuse_resets() {
    let mut host = Host::new(&constant());
    host.submit(Op::Reset, 0, 100, Flags::NONE);
    assert_eq!(host.completion().status, Status::Refused);
}

#[test]
fn drive_managed_zones_are_rewritten_up_to_the_write_pointer() {
    let mut host = zoned(&constant(), &json!({"out_of_order": "rewrite"}));
    let rewritten = |ms: f64| (Status::Served, ms);
    for (lbn, blocks, expected, blocks_rewritten) in [
        (100, 40, SERVED, 0.0),
        // A gap needs no rewrite, as nothing lies behind it.
        (150, 10, SERVED, 0.0),
        // The rest of the zone, from block 105 to the pointer at 160, is read and written again.
        (100, 5, rewritten(2.0), 55.0),
        // Nothing lies behind the last blocks before the pointer, nor beyond it.
        (155, 5, SERVED, 55.0),
        (158, 20, SERVED, 55.0),
        // One part in each of three zones, one of them rewritten: one access after the other on one mechanism.
        (170, 200, rewritten(3.0), 55.0),
        (190, 20, rewritten(3.0), 145.0),
        (20, 60, SERVED, 145.0),
    ] {
        assert_eq!(write(&mut host, lbn, blocks), expected, "{blocks} blocks from {lbn} on");
        assert_eq!(host.count("rewritten_blocks"), blocks_rewritten, "{blocks} blocks from {lbn} on");
    }
    // Only two writes have data behind them.
    assert_eq!(host.count("zone_rewrites"), 2.0);
}

#[test]
fn writes_wait_while_their_zone_is_rewritten() {
    let mut host = zoned(&constant(), &json!({"out_of_order": "rewrite", "full": true}));
    let rewrite = host.submit(Op::Write, 100, 1, Flags::NONE);
    let same_zone = host.submit(Op::Write, 199, 1, Flags::NONE);
    let read = host.submit(Op::Read, 150, 1, Flags::NONE);
    let other_zone = host.submit(Op::Write, 299, 1, Flags::NONE);
    let order =
        [host.completion(), host.completion(), host.completion(), host.completion()].map(|done| done.request.id);
    assert_eq!(order, [read, other_zone, rewrite, same_zone]);
}

#[test]
fn a_reset_of_drive_managed_zones_waits_for_their_writes() {
    let mut host = zoned(&constant(), &json!({"out_of_order": "rewrite", "full": true}));
    let rewrite = host.submit(Op::Write, 100, 1, Flags::NONE);
    let reset = host.submit(Op::Reset, 100, 200, Flags::NONE);
    let write = host.submit(Op::Write, 100, 1, Flags::NONE);
    let free_zone = host.submit(Op::Reset, 300, 100, Flags::NONE);
    let done = [(); 4].map(|()| host.completion());
    assert_eq!(done.map(|done| done.request.id), [free_zone, rewrite, reset, write]);
    // The first write reads and writes its zone, the second only writes.
    assert_eq!(done.map(|done| done.service.end.ns() / 1_000_000), [0, 2, 2, 3]);
    assert_eq!((host.count("zone_resets"), host.count("zone_rewrites")), (3.0, 1.0));
}

/// A disk of 100 tracks of 100 sectors without skew, which turns in 10 ms and seeks in no time.
fn disk() -> Value {
    let zone = json!({"first_cylinder": 0, "last_cylinder": 99, "sectors_per_track": 100, "track_skew_sectors": 0, "cylinder_skew_sectors": 0});
    let device = json!({
        "mechanism": "disk", "name": "small", "surfaces": 1, "cylinders": 100, "zones": [zone], "rotation_rpm": 6000,
        "seek": {"curve": "constant", "seek_ms": 0.0}, "head_switch_ms": 0.0, "bus_ms_per_block": 0.0,
    });
    json!({"kind": "drive", "device": device, "scheduler": {"name": "fcfs"}})
}

#[test]
fn rewriting_a_zone_takes_the_revolutions_of_reading_and_writing_it() {
    // Zones of 10 tracks, each of a revolution of 10 ms.
    let mut host = zoned(&disk(), &json!({"out_of_order": "rewrite", "full": true, "zone_bytes": 1_000 * BLOCK}));
    let mut random = Stream::new(1, "zones");
    for _ in 0..size(20, 200) {
        let (zone, track) = (1 + random.below(9), random.below(10));
        let first = zone * 1_000 + track * 100;
        host.response_ms(Op::Read, first, 1, Flags::NONE);
        // The rest of the tracks is read from the next sector on, then all is written. The first read ended at that sector.
        let (status, ms) = write(&mut host, first, 1);
        let tracks = (10 - track) as f64;
        let expected_ms = (10.0 * tracks - 0.1) + 10.0 * tracks;
        assert_eq!(status, Status::Served);
        assert!((ms - expected_ms).abs() < 0.01, "{tracks} tracks: {ms} ms instead of {expected_ms}");
    }
}

#[test]
fn ordered_writes_take_the_time_of_the_drive() {
    let mut plain = Host::new(&disk());
    let mut zones = zoned(&disk(), &json!({"zone_bytes": 1_000 * BLOCK}));
    let mut random = Stream::new(2, "appends");
    let mut pointers: Vec<u64> = (0..10).map(|zone| zone * 1_000).collect();
    for _ in 0..size(100, 400) {
        let zone = 1 + random.below(9) as usize;
        let lbn = pointers[zone];
        let blocks = (1 + random.below(20)).min((zone as u64 + 1) * 1_000 - lbn);
        if blocks > 0 {
            pointers[zone] += blocks;
            let times =
                [&mut plain, &mut zones].map(|host| host.response_ms(Op::Write, lbn, blocks as u32, Flags::NONE));
            assert_eq!(times[0], times[1], "{blocks} blocks from {lbn} on");
        }
    }
    assert_eq!(zones.count("out_of_order_writes"), 0.0);
}

#[test]
fn zones_are_whole_blocks() {
    let system = json!({"kind": "zoned", "child": "atlas10k", "zone_bytes": 1_000});
    let message = resolve(&json!({"workload": poisson(1.0), "system": system})).expect_err("half a block");
    assert!(message.contains("system.zone_bytes = 1000") && message.contains("512 B"), "{message}");
}

/// A write that a child refuses would be lost where no request can fail for it.
#[test]
fn components_that_write_by_themselves_reject_host_managed_zones() {
    let zones =
        |out_of_order: &str| json!({"kind": "zoned", "child": {"device": "cheetah73"}, "out_of_order": out_of_order});
    let error =
        |system: &Value| resolve(&json!({"workload": poisson(5.0), "system": system, "run": {"requests": 5}})).err();
    let members = |kind: &str, below: &Value| json!({"kind": kind, "members": [{"count": 3, "system": below}]});
    let mems = json!({"device": "g2"});
    for (system, path) in [
        (members("mirror", &zones("refuse")), "system.members.0"),
        (members("raid5", &zones("refuse")), "system.members.0"),
        (members("mirror", &members("stripe", &zones("refuse"))), "system.members.0.system.members.0"),
        (json!({"kind": "ram-cache", "bytes": 1 << 20, "child": zones("refuse")}), "system.child"),
        (json!({"kind": "mwb", "mems": mems, "disk": zones("refuse")}), "system.disk"),
        (json!({"kind": "mcd", "mems": mems, "disk": zones("refuse")}), "system.disk"),
        (json!({"kind": "tiers", "fast": mems, "slow": zones("refuse")}), "system.slow"),
    ] {
        let error = error(&system).expect("a fault");
        assert!(error.contains(path) && error.contains("out_of_order"), "{error}");
    }
    for system in [
        members("stripe", &zones("refuse")),
        members("mirror", &zones("rewrite")),
        json!({"kind": "ram-cache", "bytes": 1 << 20, "write": "through", "child": zones("refuse")}),
        json!({"kind": "zoned", "child": members("mirror", &json!({"device": "cheetah73"}))}),
    ] {
        assert_eq!(error(&system), None, "{system}");
    }
}
