//! Arms and platters against closed forms.

use proptest::prelude::*;
use serde_json::{json, Value};
use sledsim::devices::disk::{Arm, DiskDevice, DiskParameters, Mechanics, Place, RotationModel, Run};
use sledsim::devices::{Mechanism, Service};
use sledsim::request::{Op, Request};
use sledsim::time::Time;
use sledsim_testing::tiers::cases;

const SURFACES: u32 = 3;
const SECTORS: u32 = 120;
const CYLINDERS: u32 = 50;
/// A revolution at 6,000 rpm.
const PERIOD_NS: u64 = 10_000_000;
const SECTOR_NS: u64 = PERIOD_NS / SECTORS as u64;

/// Returns a drive at 6,000 rpm whose other times are zero unless `more` sets them.
fn parameters(skews: [f64; 2], more: &Value) -> DiskParameters {
    let mut drive = json!({
        "name": "small", "surfaces": SURFACES, "cylinders": CYLINDERS,
        "zones": [{"first_cylinder": 0, "last_cylinder": CYLINDERS - 1, "sectors_per_track": SECTORS,
                   "track_skew_sectors": skews[0], "cylinder_skew_sectors": skews[1]}],
        "rotation_rpm": 6000.0, "seek": {"curve": "constant", "seek_ms": 0.0}, "head_switch_ms": 0.0,
        "bus_ms_per_block": 0.0, "buffer_caching": false,
    });
    for (key, value) in more.as_object().expect("parameters") {
        drive[key] = value.clone();
    }
    serde_json::from_value(drive).expect("a drive")
}

fn mechanics(skews: [f64; 2], more: &Value) -> Mechanics {
    Mechanics::new(&parameters(skews, more)).expect("a drive")
}

fn serve(drive: &mut DiskDevice, now: Time, lbn: u64, blocks: u32, op: Op) -> Service {
    drive.serve(now, &Request { arrival: now, op, ..Request::read(lbn, blocks) })
}

#[test]
fn mean_wait_is_half_a_revolution() {
    let mean_ns = |mechanics: &Mechanics| {
        let angle = mechanics.start_angle(Place { cylinder: 1, head: 0, sector: 7 });
        // Times spread evenly over a revolution, each in a different revolution.
        let waits = (0..100_000_u64).map(|n| {
            let at = Time::from_ns(n * (3 * PERIOD_NS + PERIOD_NS / 100_000));
            (0..mechanics.actuators()).map(|arm| mechanics.wait_ns(at, arm, angle)).min().expect("an arm")
        });
        waits.sum::<u64>() as f64 / 100_000.0
    };
    let half_ns = PERIOD_NS as f64 / 2.0;
    // Exact to half a step plus a nanosecond.
    assert!((mean_ns(&mechanics([0.0; 2], &json!({}))) - half_ns).abs() <= 51.0);
    // Two arms on opposite sides: a quarter of a revolution.
    assert!((mean_ns(&mechanics([0.0; 2], &json!({"actuators": 2}))) - half_ns / 2.0).abs() <= 51.0);
    // If the drive ignores its phase, every wait is the mean.
    let mechanics =
        Mechanics::new(&DiskParameters { rotation: RotationModel::Average, ..parameters([0.0; 2], &json!({})) });
    assert!((mean_ns(&mechanics.expect("a drive")) - half_ns).abs() < f64::EPSILON);
}

proptest! {
    #![proptest_config(cases(5000))]

    /// Compared with exact arithmetic: a wait ends at the nearest nanosecond to the start of the sector, however late
    /// in a run.
    #[test]
    fn waits_are_exact_to_the_nanosecond(
        rpm in 1_u32..100_000, sectors in 1_u32..2_000, pick in any::<u32>(), cylinder in 0..CYLINDERS, head in 0..SURFACES,
        skews in prop::array::uniform2(0_u32..500), at in prop_oneof![0..1_u64 << 34, 0..1_u64 << 62],
    ) {
        let mut p = parameters(skews.map(f64::from), &json!({"rotation_rpm": rpm}));
        p.zones[0].sectors_per_track = sectors;
        let mechanics = Mechanics::new(&p).expect("a drive");
        let place = Place { cylinder, head, sector: pick % sectors };
        let wait_ns = mechanics.wait_ns(Time::from_ns(at), 0, mechanics.start_angle(place));
        // Positions in sectors; times in units of 1/60e9 of a sector.
        let tracks = head + (SURFACES - 1) * cylinder;
        let position = u128::from(place.sector) + u128::from(tracks * skews[0]) + u128::from(cylinder * skews[1]);
        let part_per_ns = u128::from(rpm) * u128::from(sectors);
        let (minute, round) = (60_000_000_000_u128, 60_000_000_000 * u128::from(sectors));
        let off = (u128::from(at + wait_ns) * part_per_ns + round - position % u128::from(sectors) * minute) % round;
        let off = off.min(round - off);
        // Within half a nanosecond, plus a millionth for the rounding of the period.
        prop_assert!(off * 2_000_000 <= part_per_ns * 1_000_001, "{} of {} a nanosecond", off, part_per_ns);
        // Never more than a revolution.
        prop_assert!(u128::from(wait_ns) * u128::from(rpm) <= minute, "{} ns at {} rpm", wait_ns, rpm);
    }

    /// Compared with each sector on its own: the access begins with the first sector that passes as a whole and ends
    /// with the last.
    #[test]
    fn zero_latency_access_begins_with_the_next_sector(
        rpm in 1_000_u32..20_000, first in 0..SECTORS, blocks in 1..=SECTORS, at in 0..1_u64 << 40, arm in 0_u32..2,
    ) {
        let blocks = blocks.min(SECTORS - first);
        let mechanics = mechanics([3.0, 5.0], &json!({"rotation_rpm": rpm, "actuators": 2}));
        let place = Place { cylinder: 7, head: 1, sector: first };
        let at = Time::from_ns(at);
        let wait_ns = |index: u32| {
            mechanics.wait_ns(at, arm, mechanics.start_angle(Place { sector: first + index, ..place }))
        };
        let next = (0..blocks).min_by_key(|index| wait_ns(*index)).expect("a sector");
        // If the head is within the run, the last sector to pass is the one before the first; otherwise it is the last
        // of the run.
        let sector_ns = 60e9 / f64::from(rpm) / f64::from(SECTORS);
        let last_ns = (0..blocks).map(wait_ns).max().expect("a sector") as f64 + sector_ns;
        let access = mechanics.pass_any(at, arm, &Run { place, blocks: blocks.into(), zone: 0 });
        prop_assert_eq!(access.first, u64::from(next));
        // This test computes a sector's angle from the start of the run, the drive from the start of the track.
        prop_assert!(access.wait_ns.abs_diff(wait_ns(next)) <= 1, "{} {}", access.wait_ns, wait_ns(next));
        // Rounded twice to a nanosecond.
        prop_assert!((access.end_ns as f64 - last_ns).abs() <= 2.0, "{} {}", access.end_ns, last_ns);
    }

    /// The arm that arrives first serves the request, and the other does not move.
    #[test]
    fn quicker_arm_is_used(
        cylinders in prop::array::uniform4(0..CYLINDERS), heads in prop::array::uniform4(0..SURFACES),
        sector in 0..SECTORS, at in 0..1_u64 << 40, write in any::<bool>(),
    ) {
        let parameters = parameters([0.0; 2], &json!({
            "actuators": 2, "seek": {"curve": "linear", "single_ms": 1.0, "full_ms": 9.0}, "head_switch_ms": 1.5,
            "write_settle_ms": 0.25,
        }));
        let mechanics = Mechanics::new(&parameters).expect("a drive");
        let mut drive = DiskDevice::new(&parameters).expect("a drive");
        let op = if write { Op::Write } else { Op::Read };
        let (mut arms, mut now) = ([Arm::default(); 2], Time::from_ns(at));
        for (cylinder, head) in cylinders.into_iter().zip(heads) {
            let (place, to) = (Place { cylinder, head, sector }, Arm { cylinder, head });
            let ways = [0, 1].map(|arm| {
                let (from, seek_ns) = (arms[arm], mechanics.seek_ns(arms[arm], to, op));
                let distance = u64::from(from.cylinder.abs_diff(cylinder));
                let way_ns = if distance == 0 { 0 } else { 1_000_000 + (distance - 1) * 8_000_000 / u64::from(CYLINDERS - 2) };
                let moved_ns = if from.head == head { way_ns } else { way_ns.max(1_500_000) };
                let settle_ns = if write && moved_ns > 0 { 250_000 } else { 0 };
                assert!(seek_ns.abs_diff(moved_ns + settle_ns) <= 1, "{seek_ns} ns");
                (seek_ns, mechanics.wait_ns(now + seek_ns, arm as u32, mechanics.start_angle(place)))
            });
            let arm = usize::from(ways[1].0 + ways[1].1 < ways[0].0 + ways[0].1);
            let lbn = u64::from((cylinder * SURFACES + head) * SECTORS + sector);
            let service = serve(&mut drive, now, lbn, 1, op);
            prop_assert_eq!((service.phases.seek_ns, service.phases.rotation_ns), ways[arm]);
            (arms[arm], now) = (to, service.free);
        }
    }
}

#[test]
fn writes_settle_no_sooner_than_reads() {
    let seeks = |settle_ms: f64| {
        let seek = json!({"curve": "linear", "single_ms": 1.0, "full_ms": 9.0});
        let drive = mechanics([0.0; 2], &json!({"seek": seek, "head_switch_ms": 0.5, "write_settle_ms": settle_ms}));
        let arm = |cylinder, head| Arm { cylinder, head };
        [arm(0, 0), arm(0, 1), arm(1, 0)].map(|to| [Op::Read, Op::Write].map(|op| drive.seek_ns(arm(0, 0), to, op)))
    };
    assert_eq!(seeks(0.25), [[0, 0], [500_000, 750_000], [1_000_000, 1_250_000]]);
    // Seek times measured with writes: a read takes less settle time, but not less than zero.
    assert_eq!(seeks(-0.25), [[0, 0], [250_000, 500_000], [750_000, 1_000_000]]);
    assert_eq!(seeks(-0.75), [[0, 0], [0, 500_000], [250_000, 1_000_000]]);
}

#[test]
fn track_takes_one_revolution() {
    let mut drive = DiskDevice::new(&parameters([0.0; 2], &json!({}))).expect("a drive");
    let phases = serve(&mut drive, Time::from_ns(123_456), 5, SECTORS - 5, Op::Read).phases;
    // Both ends are rounded to a nanosecond.
    assert!(phases.transfer_ns.abs_diff(PERIOD_NS - 5 * SECTOR_NS) <= 2, "{phases:?}");
    let phases = serve(&mut drive, Time::from_ns(2 * PERIOD_NS), 0, SECTORS, Op::Read).phases;
    assert_eq!((phases.rotation_ns, phases.transfer_ns), (0, PERIOD_NS));
    assert_eq!(phases.service_ns(), PERIOD_NS);
}

/// Reads tracks from the start of the drive in one request. Returns the time from the first sector on.
fn streaming_ns(more: &Value, skews: [f64; 2], tracks: u32) -> u64 {
    let mut drive = DiskDevice::new(&parameters(skews, more)).expect("a drive");
    let phases = serve(&mut drive, Time::ZERO, 0, tracks * SECTORS, Op::Read).phases;
    assert_eq!(phases.transfer_ns, u64::from(tracks) * PERIOD_NS);
    phases.service_ns() - phases.seek_ns - phases.rotation_ns
}

#[test]
fn streaming_time_follows_from_skews() {
    let tracks = SURFACES * CYLINDERS;
    let (between_tracks, between_cylinders) = (u64::from(tracks - CYLINDERS), u64::from(CYLINDERS - 1));
    let revolutions_ns = u64::from(tracks) * PERIOD_NS;
    // Without switch times and skews, LBNs follow each other without a gap.
    assert_eq!(streaming_ns(&json!({}), [0.0; 2], tracks), revolutions_ns);
    // Skews just longer than a head switch (4.8 sectors) and as long as a seek (12 sectors) cost only themselves.
    let seek = |ms: f64| json!({"head_switch_ms": 0.4, "seek": {"curve": "constant", "seek_ms": ms}});
    let skewed_ns = |skews: [u64; 2]| {
        revolutions_ns + (between_tracks * skews[0] + between_cylinders * skews[1]) * PERIOD_NS / u64::from(SECTORS)
    };
    // Rounded once for the whole stream.
    assert!(streaming_ns(&seek(1.0), [5.0, 12.0], tracks).abs_diff(skewed_ns([5, 12])) <= 1);
    assert!(streaming_ns(&seek(1.0), [6.0, 20.0], tracks).abs_diff(skewed_ns([6, 20])) <= 1);
    // If the skew is a sector too short, every switch costs another revolution.
    let missed_ns = skewed_ns([4, 12]) + between_tracks * PERIOD_NS;
    assert!(streaming_ns(&seek(1.0), [4.0, 12.0], tracks).abs_diff(missed_ns) <= 1);
}

#[test]
fn bus_transfer_overlaps_the_medium() {
    let with_bus = |blocks: f64| json!({"bus_ms_per_block": blocks * PERIOD_NS as f64 / 1e6 / f64::from(SECTORS)});
    let read = |bus: f64| {
        let mut drive = DiskDevice::new(&parameters([0.0; 2], &with_bus(bus))).expect("a drive");
        let phases = serve(&mut drive, Time::ZERO, 0, 60, Op::Read).phases;
        (phases.transfer_ns, phases.bus_ns)
    };
    let media_ns = PERIOD_NS / 2;
    // On a faster bus, only the last block remains to transfer at the end; on a slower bus, all blocks but the first
    // are delayed.
    assert_eq!(read(0.0), (media_ns, 0));
    let (transfer_ns, bus_ns) = read(0.5);
    assert!(transfer_ns == media_ns && bus_ns.abs_diff(SECTOR_NS / 2) <= 1, "{bus_ns}");
    let (transfer_ns, bus_ns) = read(2.0);
    // 60 blocks take two sectors each after the end of the first block, and 59 sectors pass meanwhile; each is rounded.
    assert!(transfer_ns == media_ns && bus_ns.abs_diff(61 * SECTOR_NS) <= 61, "{bus_ns}");
}

#[test]
fn late_block_waits_a_revolution() {
    // The bus takes two sector times for a block, so that the head must wait for data repeatedly.
    let bus_ms = 2.0 * PERIOD_NS as f64 / 1e6 / f64::from(SECTORS);
    let mut drive = DiskDevice::new(&parameters([0.0; 2], &json!({"bus_ms_per_block": bus_ms}))).expect("a drive");
    // The first block arrives after two sectors, just in time for sector 2; the next block is late.
    let service = serve(&mut drive, Time::ZERO, 2, 3, Op::Write);
    assert!((service.end - service.start).abs_diff(PERIOD_NS + 5 * SECTOR_NS) <= 3, "{service:?}");
    // 20 sectors ahead, 18 blocks arrive in time: block n arrives after 2 (n + 1) sectors, and its sector passes after
    // 20 + n.
    let begun = Time::from_ns(5 * PERIOD_NS);
    let service = serve(&mut drive, begun, 20, 18, Op::Write);
    assert!((service.end - service.start).abs_diff(38 * SECTOR_NS) <= 20, "{service:?}");
}

#[test]
fn out_of_range_speeds_and_arms_are_rejected() {
    let message =
        |more: Value| Mechanics::new(&parameters([0.0; 2], &more)).map(|_| ()).expect_err("no drive").to_string();
    assert!(message(json!({"rotation_rpm": 0.1})).contains("rotation_rpm = 0.1"));
    assert!(message(json!({"actuators": 3})).contains("actuators = 3"));
    assert!(message(json!({"head_switch_ms": -1.0})).contains("head_switch_ms = -1"));
    let skewed = Mechanics::new(&parameters([-1.0, 0.0], &json!({}))).map(|_| ()).expect_err("no drive").to_string();
    assert!(skewed.contains("zones.0.track_skew_sectors = -1"), "{skewed}");
}
