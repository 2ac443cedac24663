//! The time-optimal seek against optimal control solved numerically, with no closed form, no switching times and no
//! assumption on how often the force changes.
//!
//! With `L` any pair of weights on final position and velocity, no force `|u| ≤ a` moves the weighted final state by
//! more than `a ∫ |L · response(r)| dr`. If the target is further away than that for some `L`, it can't be reached in
//! that time. The reachable set is convex, so such an `L` exists for every target that can't be reached. Responses come
//! from Runge-Kutta steps, the integral from the midpoint rule, `L` from a search over its angle. The least time found
//! is a lower bound for the implementation. Another test checks that its force reaches the target.

use std::f64::consts::PI;

use proptest::prelude::*;
use sledsim::devices::mems::motion::{rest_to_rest_s, y_seek, SeekModel};
use sledsim_testing::tiers::{cases, size};

use super::{integrate, moving_seek, rest_seek, Seek, PUBLISHED};

/// Free motion of the sled, and its response to an impulse, over one candidate duration.
struct Horizon {
    /// Target minus the final state of the unforced sled: position, and velocity times the duration.
    missing_m: (f64, f64),
    /// Final position and velocity times the duration, per unit of velocity given `r` before the end, at midpoints of
    /// equal steps.
    responses_s: Vec<(f64, f64)>,
    /// `a · dr`.
    kick_m_s: f64,
}

impl Horizon {
    fn new(s: &Seek, end: (f64, f64), duration_s: f64, steps: u32) -> Self {
        let axis = &s.axis;
        let (x, v, _) = integrate(axis, (s.y0_m, s.v0_m_s), 0.0, duration_s, steps);
        let dr = duration_s / f64::from(steps);
        let mut state = (0.0, 1.0);
        let mut responses_s = Vec::with_capacity(steps as usize);
        for i in 0..steps {
            let (x, v, _) = integrate(axis, state, 0.0, if i == 0 { 0.5 * dr } else { dr }, 1);
            state = (x, v);
            responses_s.push((x, v * duration_s));
        }
        let missing_m = (end.0 - x, (end.1 - v) * duration_s);
        Self { missing_m, responses_s, kick_m_s: axis.accel_m_s2 * dr }
    }

    /// Returns the distance of the target beyond all reachable states along one direction, in metres.
    fn beyond_m(&self, angle: f64) -> f64 {
        let (weight_v, weight_x) = angle.sin_cos();
        let reach_s: f64 = self.responses_s.iter().map(|r| (weight_x * r.0 + weight_v * r.1).abs()).sum();
        weight_x * self.missing_m.0 + weight_v * self.missing_m.1 - self.kick_m_s * reach_s
    }

    /// The largest of [`Self::beyond_m`]: positive if and only if the target is out of reach.
    fn distance_m(&self) -> f64 {
        const COARSE: u32 = 96;
        let step = 2.0 * PI / f64::from(COARSE);
        let best = (0..COARSE)
            .map(|i| f64::from(i) * step)
            .max_by(|a, b| self.beyond_m(*a).total_cmp(&self.beyond_m(*b)))
            .unwrap_or_default();
        let golden = 0.5 * (5.0f64.sqrt() - 1.0);
        let (mut low, mut high) = (best - step, best + step);
        for _ in 0..50 {
            let (left, right) = (high - golden * (high - low), low + golden * (high - low));
            if self.beyond_m(left) < self.beyond_m(right) {
                low = left;
            } else {
                high = right;
            }
        }
        self.beyond_m(0.5 * (low + high))
    }
}

/// Asserts that `end` can't be reached before `time_s`, and that it can be reached just after.
fn assert_least_time(s: &Seek, end: (f64, f64), time_s: f64) {
    for i in 1..40 {
        let earlier_s = time_s * f64::from(i) / 40.0;
        assert!(Horizon::new(s, end, earlier_s, 400).distance_m() > 0.0, "{s:?} reached in {earlier_s} s");
    }
    // The reachable set's border at this duration is known to the midpoint rule's error, of the order of 1/steps².
    const STEPS: u32 = 8000;
    let just_before = Horizon::new(s, end, time_s * (1.0 - 1e-6), STEPS).distance_m();
    let just_after = Horizon::new(s, end, time_s * (1.0 + 1e-6), STEPS).distance_m();
    assert!(just_before > 0.0, "{s:?} reached 1e-6 before {time_s} s: {just_before}");
    assert!(just_after < 0.0, "{s:?} not reached 1e-6 after {time_s} s: {just_after}");
}

fn assert_seek_is_optimal(s: &Seek) {
    let time_s = y_seek(SeekModel::TimeOptimal, &s.axis, s.speed_m_s, s.y0_m, s.v0_m_s, s.y1_m, s.v1_m_s).time_s;
    if time_s > 0.0 {
        assert_least_time(s, (s.y1_m, s.v1_m_s), time_s);
    }
}

#[test]
fn published_devices_seek_in_minimum_time() {
    for (v, axis) in PUBLISHED {
        let ways = [(-0.9, -0.4), (0.8, 0.8), (-1.0, 1.0), (0.1, 0.15)];
        for (p0, p1) in ways.into_iter().take(size(1, 3)) {
            for (v0_m_s, v1_m_s) in [(v, v), (v, -v), (-v, v), (-v, -v), (0.0, v), (0.0, -v)] {
                let (y0_m, y1_m) = (p0 * axis.range_m / 2.0, p1 * axis.range_m / 2.0);
                assert_seek_is_optimal(&Seek { axis, speed_m_s: v, y0_m, v0_m_s, y1_m, v1_m_s });
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(size(12, 40)))]

    #[test]
    fn random_sleds_seek_in_minimum_time(s in prop_oneof![2 => moving_seek(), 1 => rest_seek()]) {
        assert_seek_is_optimal(&s);
    }

    #[test]
    fn x_moves_take_minimum_time(s in moving_seek()) {
        let at_rest = Seek { v0_m_s: 0.0, v1_m_s: 0.0, ..s };
        let time_s = rest_to_rest_s(&s.axis, s.y0_m, s.y1_m);
        prop_assume!(time_s > 0.0);
        assert_least_time(&at_rest, (s.y1_m, 0.0), time_s);
    }
}
