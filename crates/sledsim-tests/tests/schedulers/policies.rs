//! Each policy on sequences calculated by hand.

use sledsim::devices::{Location, Mechanism};
use sledsim::schedulers::{
    asptf, build, clook, fcfs, look, sdf, sptf, sstf_lbn, vscan, zsptf, Scheduler, SchedulerSpec,
};
use sledsim::time::Time;
use sledsim_testing::sled::{read, Sled};

/// Ten cylinders of four rows of ten blocks.
///
/// A seek along X takes 0 within a cylinder, otherwise 1000 ns plus 1000 ns times the square root of the distance in
/// cylinders; along Y, 400 ns per row.
fn small_sled(at: Location) -> Sled {
    Sled {
        cylinders: 10,
        rows: 4,
        blocks_per_row: 10,
        settle_ns: 1000,
        // 2 sqrt(n * 2.5e-13 / 1) s = 1000 sqrt(n) ns.
        cylinder_pitch_m: 2.5e-13,
        row_pitch_m: 1e-12,
        accelerations_m_s2: (1.0, 1.0),
        row_ns: 400,
        at,
        ..Sled::mems()
    }
}

/// First LBN of a row of the small sled.
const fn lbn(cylinder: u64, row: u64) -> u64 {
    cylinder * 40 + row * 10
}

/// Serves all requests of `scheduler` on the sled. Returns the LBNs in the order of service.
fn drain(scheduler: &mut dyn Scheduler, sled: &mut Sled, mut now: Time) -> Vec<u64> {
    let mut order = Vec::new();
    while let Some(request) = scheduler.pop(now, sled) {
        now = sled.serve(now, &request).free;
        order.push(request.lbn);
    }
    order
}

/// Pushes reads of `blocks` at `lbns` at time 0, numbered from `first` on.
fn push(scheduler: &mut dyn Scheduler, sled: &Sled, first: u64, lbns: &[u64], blocks: u32) {
    for (id, &lbn) in (first..).zip(lbns) {
        scheduler.push(Time::ZERO, read(id, 0, lbn, blocks), sled);
    }
}

/// Pushes one-block reads at `lbns` at time 0 and drains.
fn order(spec: SchedulerSpec, sled: &mut Sled, lbns: &[u64]) -> Vec<u64> {
    let mut scheduler = build(&spec, sled);
    push(scheduler.as_mut(), sled, 0, lbns, 1);
    drain(scheduler.as_mut(), sled, Time::ZERO)
}

fn origin() -> Sled {
    small_sled(Location::default())
}

/// Serves LBN 199 first, so that the head is at 200; then `lbns` arrive.
fn order_from_200(spec: SchedulerSpec, lbns: &[u64]) -> Vec<u64> {
    let mut sled = origin();
    let mut scheduler = build(&spec, &sled);
    scheduler.push(Time::ZERO, read(0, 0, 199, 1), &sled);
    assert_eq!(scheduler.pop(Time::ZERO, &sled).map(|it| it.lbn), Some(199));
    push(scheduler.as_mut(), &sled, 1, lbns, 1);
    drain(scheduler.as_mut(), &mut sled, Time::ZERO)
}

#[test]
fn fcfs_serves_in_order_of_arrival() {
    assert_eq!(order(fcfs::POLICY.default, &mut origin(), &[300, 10, 200, 10, 0]), [300, 10, 200, 10, 0]);
}

#[test]
fn look_sweeps_up_then_down() {
    let served = order_from_200(look::POLICY.default, &[100, 250, 199, 300, 210, 20]);
    assert_eq!(served, [210, 250, 300, 199, 100, 20]);
}

#[test]
fn look_serves_a_new_request_ahead_before_reversing() {
    let mut sled = origin();
    let mut look = build(&look::POLICY.default, &sled);
    look.push(Time::ZERO, read(0, 0, 100, 1), &sled);
    look.push(Time::ZERO, read(1, 0, 200, 1), &sled);
    assert_eq!(look.pop(Time::ZERO, &sled).map(|it| it.id), Some(0));
    look.push(Time::ZERO, read(2, 0, 50, 1), &sled);
    look.push(Time::ZERO, read(3, 0, 300, 1), &sled);
    assert_eq!(drain(look.as_mut(), &mut sled, Time::ZERO), [200, 300, 50]);
}

#[test]
fn look_serves_a_request_at_the_head_in_either_direction() {
    let mut sled = origin();
    let mut look = build(&look::POLICY.default, &sled);
    push(look.as_mut(), &sled, 0, &[300, 100], 10);
    // Up to 100 and 300, then 50 reverses the sweep; on the way down, both 60 and 40 are ahead.
    assert_eq!(drain(look.as_mut(), &mut sled, Time::ZERO), [100, 300]);
    look.push(Time::ZERO, read(2, 0, 50, 10), &sled);
    assert_eq!(look.pop(Time::ZERO, &sled).map(|it| it.lbn), Some(50));
    push(look.as_mut(), &sled, 3, &[40, 61, 60], 1);
    // From 60 served, the head is at 61 and the sweep still goes down: 61 is at the head.
    assert_eq!(drain(look.as_mut(), &mut sled, Time::ZERO), [60, 61, 40]);
}

#[test]
fn clook_ascends_then_restarts_at_the_lowest() {
    let served = order_from_200(clook::POLICY.default, &[100, 250, 199, 300, 210, 20]);
    assert_eq!(served, [210, 250, 300, 20, 100, 199]);
}

#[test]
fn clook_measures_from_the_end_of_the_last_request() {
    let mut sled = origin();
    let mut clook = build(&clook::POLICY.default, &sled);
    clook.push(Time::ZERO, read(0, 0, 100, 16), &sled);
    assert_eq!(clook.pop(Time::ZERO, &sled).map(|it| it.lbn), Some(100));
    push(clook.as_mut(), &sled, 1, &[115, 116, 117], 1);
    assert_eq!(drain(clook.as_mut(), &mut sled, Time::ZERO), [116, 117, 115]);
}

#[test]
fn sstf_lbn_serves_the_nearest_lbn() {
    // From 200: 198 at 2. From 199: 210 at 11. From 211: 250 at 39. From 251: 300 at 49. From 301: 100 at 201; then 20.
    let served = order_from_200(sstf_lbn::POLICY.default, &[100, 250, 198, 300, 210, 20]);
    assert_eq!(served, [198, 210, 250, 300, 100, 20]);
}

#[test]
fn sstf_lbn_breaks_ties_by_arrival() {
    assert_eq!(order_from_200(sstf_lbn::POLICY.default, &[190, 210])[0], 190);
    assert_eq!(order_from_200(sstf_lbn::POLICY.default, &[210, 190])[0], 210);
}

#[test]
fn vscan_adds_r_times_the_capacity_behind() {
    // Capacity 400, head 200, ascending: 190 counts 10 + 400 r, 250 counts 50. They tie at r = 0.1.
    let first = |r, lbns: &[u64]| order_from_200(SchedulerSpec::Vscan(vscan::Spec { r }), lbns)[0];
    assert_eq!(first(0.0, &[250, 190]), 190);
    assert_eq!(first(0.09, &[250, 190]), 190);
    assert_eq!(first(0.1, &[250, 190]), 250, "ties go to the older request");
    assert_eq!(first(0.1, &[190, 250]), 190, "ties go to the older request");
    assert_eq!(first(0.11, &[190, 250]), 250);
    assert_eq!(first(1.0, &[0, 399]), 399);
}

#[test]
fn vscan_reverses_when_it_serves_a_request_behind() {
    // Penalty 40. From 200 up: 190 counts 10 + 40, 260 counts 60: the sweep turns. From 191 down: 170 counts 21, 195
    // counts 4 + 40. From 171 down: 195 counts 24 + 40, 260 counts 89 + 40. From 196 up again: 260.
    let vscan = SchedulerSpec::Vscan(vscan::Spec { r: 0.1 });
    let mut sled = origin();
    let mut scheduler = build(&vscan, &sled);
    scheduler.push(Time::ZERO, read(0, 0, 199, 1), &sled);
    assert_eq!(scheduler.pop(Time::ZERO, &sled).map(|it| it.lbn), Some(199));
    push(scheduler.as_mut(), &sled, 1, &[190, 260], 1);
    assert_eq!(scheduler.pop(Time::ZERO, &sled).map(|it| it.lbn), Some(190));
    push(scheduler.as_mut(), &sled, 3, &[170, 195], 1);
    assert_eq!(drain(scheduler.as_mut(), &mut sled, Time::ZERO), [170, 195, 260]);
}

#[test]
fn vscan_0_is_sstf_and_1_is_look() {
    let lbns: Vec<u64> = (0..200).map(|i| i * 7919 % 400).collect();
    for (r, end) in [(0.0, sstf_lbn::POLICY.default), (1.0, look::POLICY.default)] {
        assert_eq!(order_from_200(SchedulerSpec::Vscan(vscan::Spec { r }), &lbns), order_from_200(end, &lbns));
    }
}

#[test]
fn sptf_considers_both_dimensions() {
    // From cylinder 5, row 0. Cylinder 5 row 3: Y 1200. Cylinder 6 row 0: X 2000. Cylinder 4 row 1: X 2000, Y hidden.
    let sled = || small_sled(Location { cylinder: 5, slot: 0 });
    let served = order(sptf::POLICY.default, &mut sled(), &[lbn(6, 0), lbn(5, 3), lbn(4, 1)]);
    assert_eq!(served, [lbn(5, 3), lbn(6, 0), lbn(4, 1)], "from (5, 3), both need 2000: the older goes first");
    let served = order(sptf::POLICY.default, &mut sled(), &[lbn(4, 1), lbn(6, 0), lbn(5, 3)]);
    assert_eq!(served, [lbn(5, 3), lbn(4, 1), lbn(6, 0)], "in the other order of arrival");
}

#[test]
fn sptf_breaks_ties_by_arrival() {
    assert_eq!(order(sptf::POLICY.default, &mut origin(), &[25, 21, 28, 20]), [25, 21, 28, 20]);
}

#[test]
fn asptf_weighs_waiting_against_positioning() {
    // At time 10000, from (0, 0): cylinder 9 needs 1000 + 3000 ns and has waited 10000; row 1 needs 400 and is new.
    let first = |weight| {
        let sled = origin();
        let mut asptf = build(&SchedulerSpec::Asptf(asptf::Spec { weight }), &sled);
        asptf.push(Time::ZERO, read(0, 0, lbn(9, 0), 1), &sled);
        asptf.push(Time::from_ns(10_000), read(1, 10_000, lbn(0, 1), 1), &sled);
        asptf.pop(Time::from_ns(10_000), &sled).map(|it| it.lbn)
    };
    assert_eq!(first(0.0), Some(lbn(0, 1)));
    assert_eq!(first(0.35), Some(lbn(0, 1)), "4000 - 3500 > 400");
    assert_eq!(first(0.36), Some(lbn(9, 0)), "4000 - 3600 = 400, and the tie goes to the older request");
    assert_eq!(first(10.0), Some(lbn(9, 0)));
}

#[test]
fn asptf_with_a_large_weight_is_fcfs() {
    let mut sled = origin();
    let mut asptf = build(&SchedulerSpec::Asptf(asptf::Spec { weight: 1e6 }), &sled);
    let lbns = [350, 10, 200, 11, 0];
    for (id, &lbn) in (0..).zip(&lbns) {
        asptf.push(Time::from_ns(id), read(id, id, lbn, 1), &sled);
    }
    assert_eq!(drain(asptf.as_mut(), &mut sled, Time::from_ns(10)), lbns);
}

#[test]
fn sdf_uses_euclidean_distance() {
    // In picometres from (5, 1): (8, 1) is 0.75 away; (5, 2) 1.0; (6, 2) 1.03; (1, 2) 1.41; (5, 3) 2.0.
    let mut sled = small_sled(Location { cylinder: 5, slot: 1 });
    let mut sdf = build(&sdf::POLICY.default, &sled);
    let places = [(5, 3), (1, 2), (6, 2), (5, 2), (8, 1)];
    for (id, (cylinder, row)) in (0..).zip(places) {
        sdf.push(Time::ZERO, read(id, 0, lbn(cylinder, row), 1), &sled);
    }
    // The sled does not move, so requests are ordered by distance from one position.
    let served: Vec<_> = std::iter::from_fn(|| sdf.pop(Time::ZERO, &sled)).map(|it| it.lbn).collect();
    assert_eq!(served, [lbn(8, 1), lbn(5, 2), lbn(6, 2), lbn(1, 2), lbn(5, 3)]);
    sled.mirrored = true;
    assert_eq!(order(sdf::POLICY.default, &mut sled, &[lbn(6, 2), lbn(8, 1)]), [lbn(8, 1), lbn(6, 2)]);
}

#[test]
fn zsptf_finishes_a_zone_before_the_next() {
    // Two zones: cylinders 0 to 4 and 5 to 9. The sled is at (5, 0), but zone 0 is served first, nearest request first.
    let spec = SchedulerSpec::Zsptf(zsptf::Spec { zones: 2 });
    let mut sled = small_sled(Location { cylinder: 5, slot: 0 });
    let served = order(spec, &mut sled, &[lbn(5, 0), lbn(1, 0), lbn(9, 0), lbn(4, 0)]);
    assert_eq!(served, [lbn(4, 0), lbn(1, 0), lbn(5, 0), lbn(9, 0)]);
}

#[test]
fn zsptf_is_cyclic_and_new_requests_join_the_current_zone() {
    let mut sled = origin();
    let mut zsptf = build(&SchedulerSpec::Zsptf(zsptf::Spec { zones: 5 }), &sled);
    let push = |zsptf: &mut dyn Scheduler, sled: &Sled, id, cylinder| {
        zsptf.push(Time::ZERO, read(id, 0, lbn(cylinder, 0), 1), sled);
    };
    push(zsptf.as_mut(), &sled, 0, 4);
    push(zsptf.as_mut(), &sled, 1, 8);
    assert_eq!(zsptf.pop(Time::ZERO, &sled).map(|it| it.id), Some(0), "zones 0 and 1 are empty and skipped");
    // Zone 2 is current: a new request there is served before zone 4; one in zone 0 waits for the next round.
    push(zsptf.as_mut(), &sled, 2, 0);
    push(zsptf.as_mut(), &sled, 3, 5);
    assert_eq!(drain(zsptf.as_mut(), &mut sled, Time::ZERO), [lbn(5, 0), lbn(8, 0), lbn(0, 0)]);
}

#[test]
fn zsptf_with_one_zone_is_sptf() {
    let lbns: Vec<u64> = (0..300).map(|i| i * 7919 % 400).collect();
    let sptf = order(sptf::POLICY.default, &mut origin(), &lbns);
    assert_eq!(order(SchedulerSpec::Zsptf(zsptf::Spec { zones: 1 }), &mut origin(), &lbns), sptf);
    assert_eq!(order(SchedulerSpec::Asptf(asptf::Spec { weight: 0.0 }), &mut origin(), &lbns), sptf);
}
