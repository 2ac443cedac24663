//! Properties of all axes and seeks.

use proptest::prelude::*;
use sledsim::devices::mems::motion::{
    exact_turnaround_s, rest_to_rest_s, run_out_m, time_optimal_profile, turnaround_s, x_move_bound_s, x_move_s,
    y_seek, Axis, SeekModel, YSeek,
};
use sledsim_testing::tiers::cases;

use super::{axis_and_speed, integrate, moving_seek, place, rest_seek, way, Seek};

/// Rounding of a sum of a few times.
const ROUNDING: f64 = 1e-14;

fn seek(model: SeekModel, s: &Seek) -> YSeek {
    y_seek(model, &s.axis, s.speed_m_s, s.y0_m, s.v0_m_s, s.y1_m, s.v1_m_s)
}

fn any_seek() -> impl Strategy<Value = Seek> {
    prop_oneof![3 => moving_seek(), 1 => rest_seek()]
}

/// Integrates the time-optimal force numerically. Returns the final state and the extremes of the position.
fn follow(s: &Seek) -> (f64, f64, (f64, f64)) {
    let p = time_optimal_profile(&s.axis, s.speed_m_s, s.y0_m, s.v0_m_s, s.y1_m, s.v1_m_s);
    let u = p.first_force_sign * s.axis.accel_m_s2;
    let (x, v, first) = integrate(&s.axis, (s.y0_m, s.v0_m_s), u, p.first_s, 1000);
    let (x, v, second) = integrate(&s.axis, (x, v), -u, p.second_s, 1000);
    (x, v, (first.0.min(second.0), first.1.max(second.1)))
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn time_optimal_never_exceeds_its_decomposition(s in moving_seek()) {
        let (optimal, decomposed) = (seek(SeekModel::TimeOptimal, &s), seek(SeekModel::Decomposed, &s));
        prop_assert_eq!(optimal.turnarounds, decomposed.turnarounds);
        // An exact move with reversals at constant force before and after it.
        let direction = (if s.y1_m == s.y0_m { s.v1_m_s } else { s.y1_m - s.y0_m }).signum();
        let mut parts_s = optimal.time_s - optimal.turnaround_s;
        if s.v0_m_s.signum() != direction {
            parts_s += turnaround_s(&s.axis, s.y0_m, s.v0_m_s);
        }
        if s.v1_m_s.signum() != direction {
            parts_s += turnaround_s(&s.axis, s.y1_m, -s.v1_m_s);
        }
        prop_assert!(optimal.time_s <= parts_s * (1.0 + ROUNDING), "{optimal:?} {parts_s}");
    }

    #[test]
    fn disksim_integration_is_within_a_few_percent((axis, v) in axis_and_speed(), p in [place(), place()], w in way()) {
        // Published devices have springs of 0.75 and less; stiffer ones outrun eight pieces.
        let axis = Axis { spring: axis.spring.min(0.75), ..axis };
        let [y0_m, y1_m] = p.map(|p| p * axis.range_m / 2.0);
        let exact_s = rest_to_rest_s(&axis, y0_m, y1_m);
        let pieces_s = x_move_s(SeekModel::Decomposed, &axis, y0_m, y1_m);
        prop_assert!((pieces_s - exact_s).abs() <= 0.05 * exact_s, "{pieces_s} {exact_s}");
        prop_assert!(x_move_bound_s(SeekModel::Decomposed, &axis, y0_m, y1_m) <= pieces_s * (1.0 + ROUNDING));
        let pass_s = |model| y_seek(model, &axis, v, y0_m, w * v, y1_m, w * v);
        let (exact, pieces) = (pass_s(SeekModel::TimeOptimal), pass_s(SeekModel::Decomposed));
        let (exact_s, pieces_s) = (exact.time_s - exact.turnaround_s, pieces.time_s - pieces.turnaround_s);
        prop_assert!((pieces_s - exact_s).abs() <= 0.05 * exact_s + ROUNDING * exact.time_s, "{pieces_s} {exact_s}");
    }

    #[test]
    fn x_move_bound_holds_for_any_spring((axis, _) in axis_and_speed(), p in [place(), place()]) {
        let [x0_m, x1_m] = p.map(|p| p * axis.range_m / 2.0);
        for model in SeekModel::ALL {
            let bound_s = x_move_bound_s(model, &axis, x0_m, x1_m);
            prop_assert!(bound_s <= x_move_s(model, &axis, x0_m, x1_m) * (1.0 + ROUNDING));
        }
    }

    #[test]
    fn reversal_never_exceeds_its_constant_force_form((axis, v) in axis_and_speed(), p in place(), w in way()) {
        let y_m = p * axis.range_m / 2.0;
        let (exact, constant) = (exact_turnaround_s(&axis, y_m, w * v), turnaround_s(&axis, y_m, w * v));
        prop_assert!(exact <= constant * (1.0 + ROUNDING));
        // Stopping at once would need infinite force.
        prop_assert!(exact > 0.0);
    }

    #[test]
    fn without_springs_all_models_agree(s in any_seek()) {
        let s = Seek { axis: Axis { spring: 0.0, ..s.axis }, ..s };
        let reference = seek(SeekModel::FirstOrder, &s).time_s;
        for model in SeekModel::ALL {
            prop_assert!((seek(model, &s).time_s - reference).abs() <= ROUNDING * reference);
        }
    }

    #[test]
    fn times_are_invariant_under_reflection(s in any_seek()) {
        let mirrored = Seek { y0_m: -s.y0_m, v0_m_s: -s.v0_m_s, y1_m: -s.y1_m, v1_m_s: -s.v1_m_s, ..s };
        for model in SeekModel::ALL {
            prop_assert_eq!(seek(model, &s), seek(model, &mirrored));
        }
        let (there, mirrored) = (rest_to_rest_s(&s.axis, s.y0_m, s.y1_m), rest_to_rest_s(&s.axis, -s.y0_m, -s.y1_m));
        prop_assert_eq!(there, mirrored);
    }

    #[test]
    fn times_are_invariant_under_time_reversal(s in moving_seek()) {
        let reversed = Seek { y0_m: s.y1_m, v0_m_s: -s.v1_m_s, y1_m: s.y0_m, v1_m_s: -s.v0_m_s, ..s };
        // DiskSim's sign at the reversal after a move leaves the decomposed model without this symmetry.
        for model in [SeekModel::FirstOrder, SeekModel::TimeOptimal] {
            let (there, back) = (seek(model, &s).time_s, seek(model, &reversed).time_s);
            prop_assert!((there - back).abs() <= ROUNDING * there, "{model}: {there} {back}");
        }
        prop_assert_eq!(rest_to_rest_s(&s.axis, s.y0_m, s.y1_m), rest_to_rest_s(&s.axis, s.y1_m, s.y0_m));
    }

    #[test]
    fn only_a_null_seek_takes_no_time(s in moving_seek()) {
        for model in SeekModel::ALL {
            let stay = Seek { y1_m: s.y0_m, v1_m_s: s.v0_m_s, ..s };
            prop_assert_eq!(seek(model, &stay), YSeek { time_s: 0.0, turnaround_s: 0.0, turnarounds: 0 });
            let goes = s.y0_m != s.y1_m || s.v0_m_s != s.v1_m_s;
            prop_assert_eq!(seek(model, &s).time_s > 0.0, goes);
        }
        prop_assert_eq!(rest_to_rest_s(&s.axis, s.y0_m, s.y0_m), 0.0);
    }

    #[test]
    fn move_times_rise_with_distance((axis, v) in axis_and_speed(), p in [place(), place(), place()], w in way()) {
        let mut p = p;
        p.sort_by(f64::total_cmp);
        let [start, near, far] = p.map(|p| w * p * axis.range_m / 2.0);
        prop_assert!(rest_to_rest_s(&axis, start, near) <= rest_to_rest_s(&axis, start, far) * (1.0 + ROUNDING));
        // With springs, DiskSim's trials of the switch make the decomposed model uneven.
        let even = SeekModel::ALL.into_iter().filter(|&model| model != SeekModel::Decomposed || axis.spring == 0.0);
        for model in even {
            let pass_s = |y1_m| y_seek(model, &axis, v, start, w * v, y1_m, w * v).time_s;
            prop_assert!(pass_s(near) <= pass_s(far) * (1.0 + ROUNDING));
        }
    }

    #[test]
    fn triangle_inequality_holds(s in any_seek(), p in place(), w in way()) {
        let via_m = p * s.axis.range_m / 2.0;
        let v_m_s = w * s.speed_m_s;
        let direct = seek(SeekModel::TimeOptimal, &s).time_s;
        let to = seek(SeekModel::TimeOptimal, &Seek { y1_m: via_m, v1_m_s: v_m_s, ..s }).time_s;
        let from = seek(SeekModel::TimeOptimal, &Seek { y0_m: via_m, v0_m_s: v_m_s, ..s }).time_s;
        prop_assert!(direct <= (to + from) * (1.0 + ROUNDING), "{direct} > {to} + {from}");
    }

    #[test]
    fn x_move_is_a_time_optimal_seek_to_rest((axis, _) in axis_and_speed(), p in [place(), place()]) {
        let [x0, x1] = p.map(|p| p * axis.range_m / 2.0);
        let rest = rest_to_rest_s(&axis, x0, x1);
        // In the limit of no access speed, started from rest or not, a seek is an X move.
        let slow_m_s = 1e-9 * (axis.accel_m_s2 * (x1 - x0).abs()).sqrt();
        prop_assume!(slow_m_s > 0.0);
        for v0 in [0.0, slow_m_s, -slow_m_s] {
            for v1 in [slow_m_s, -slow_m_s] {
                let seek = y_seek(SeekModel::TimeOptimal, &axis, slow_m_s, x0, v0, x1, v1).time_s;
                // Gaining or losing the speed takes up to slow_m_s / (a (1 − spring)) at each end, and reversing twice that.
                let slack = 1e-13 * rest + 4.0 * slow_m_s / (axis.accel_m_s2 * (1.0 - axis.spring));
                prop_assert!((seek - rest).abs() <= slack, "{seek} {rest}");
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn time_optimal_force_reaches_the_target_within_bounds(s in any_seek()) {
        let profile = time_optimal_profile(&s.axis, s.speed_m_s, s.y0_m, s.v0_m_s, s.y1_m, s.v1_m_s);
        let time_s = seek(SeekModel::TimeOptimal, &s).time_s;
        prop_assert!((profile.total_s() - time_s).abs() <= ROUNDING * time_s);
        prop_assert!(profile.first_s >= 0.0 && profile.second_s >= 0.0);

        // Fourth-order steps of a thousandth of an arc: errors of 1e-11 of the travel.
        let (y_m, v_m_s, (low, high)) = follow(&s);
        let speed_scale = s.speed_m_s.max((s.axis.accel_m_s2 * s.axis.range_m).sqrt());
        let reach_m = s.axis.range_m / 2.0 + run_out_m(&s.axis, s.axis.range_m / 2.0, s.speed_m_s);
        prop_assert!((y_m - s.y1_m).abs() <= 1e-10 * reach_m, "{y_m}");
        prop_assert!((v_m_s - s.v1_m_s).abs() <= 1e-10 * speed_scale, "{v_m_s}");
        prop_assert!(-low <= reach_m * (1.0 + 1e-10) && high <= reach_m * (1.0 + 1e-10), "{low} {high} {reach_m}");
    }
}
