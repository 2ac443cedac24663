//! Moves as DiskSim 4.0 (Carnegie Mellon University, 2001–2008) integrates them: the force constant over pieces of the
//! way, the switch found by trial. The method is DiskSim's, the code is not.
//!
//! The move is cut where its force switches, and either part into eight pieces of equal length. Over a piece the springs
//! pull with the mean of their pull at its ends; a piece across the centre of travel counts as inward or outward as a
//! whole. The speeds with which the two parts meet are made equal by moving the switch step by step, and the trial in which
//! they differ least is taken. On the way back from its end, each piece of the second part takes the force of the piece
//! next to it on the side of the switch.
//!
//! All this makes moves 2 to 4 µs longer on average than they are (spring factor 0.75), and up to 20 µs; mean responses
//! under load, which magnify service times, can't be compared with DiskSim's without it (docs/reference/validation.md).

use super::Axis;

/// Pieces on either side of the switch.
const PIECES: usize = 8;
/// Trials of the place of the switch.
const TRIALS: u32 = 8;

/// Time in seconds of a move from `x0_m` to `x1_m` that starts and ends with `speed_m_s` in its own direction.
pub(super) fn move_s(axis: &Axis, speed_m_s: f64, x0_m: f64, x1_m: f64) -> f64 {
    if x0_m == x1_m {
        return 0.0;
    }
    let way_m = x1_m - x0_m;
    let mut switch_m = x0_m + 0.5 * way_m;
    let (mut best_s, mut least_mismatch) = (0.0, f64::INFINITY);
    for trial in 1..=TRIALS {
        let (time_s, speeds_m_s) = trial_move(axis, speed_m_s, [x0_m, switch_m, x1_m]);
        let mismatch = (speeds_m_s[0] / speeds_m_s[1] - 1.0).abs();
        if mismatch < least_mismatch {
            (best_s, least_mismatch) = (time_s, mismatch);
        }
        // Steps shrink from a little under 5 % of the way to 4 %.
        let step_m = (0.05 - 0.01 / f64::from(TRIALS + 1 - trial)) * way_m;
        switch_m += if speeds_m_s[0] > speeds_m_s[1] { -step_m } else { step_m };
    }
    best_s
}

/// A lower bound in seconds on [`move_s`] from rest to rest that grows with the distance.
///
/// No trial leaves a part less than a sixth of the way, and no piece has more than the force of actuator and springs
/// together at the edge of travel.
pub(super) fn rest_to_rest_bound_s(axis: &Axis, x0_m: f64, x1_m: f64) -> f64 {
    const SHORT_PART: f64 = 1.0 / 6.0;
    let parts = (2.0 * SHORT_PART).sqrt() + (2.0 * (1.0 - SHORT_PART)).sqrt();
    parts * ((x1_m - x0_m).abs() / (axis.accel_m_s2 * (1.0 + axis.spring))).sqrt()
}

/// Time of a move over start, switch and end, and the speeds with which its parts arrive at the switch.
fn trial_move(axis: &Axis, speed_m_s: f64, [start_m, switch_m, end_m]: [f64; 3]) -> (f64, [f64; 2]) {
    let pieces_m = [(switch_m - start_m) / PIECES as f64, (end_m - switch_m) / PIECES as f64];
    let mut places_m = [start_m; 2 * PIECES + 1];
    for i in 1..places_m.len() {
        places_m[i] = if i == PIECES { switch_m } else { places_m[i - 1] + pieces_m[usize::from(i > PIECES)] };
    }
    let mut accels_m_s2 = [0.0; 2 * PIECES];
    for (i, accel_m_s2) in accels_m_s2.iter_mut().enumerate() {
        let pushes_up = (end_m > start_m) == (i < PIECES);
        *accel_m_s2 = piece_accel_m_s2(axis, places_m[i], places_m[i + 1], pushes_up);
    }
    let mut time_s = 0.0;
    let mut gain = |speed_m_s: f64, piece: usize, accel_m_s2: f64| {
        let length_m = (places_m[piece + 1] - places_m[piece]).abs();
        let faster_m_s = (speed_m_s * speed_m_s + 2.0 * accel_m_s2 * length_m).sqrt();
        time_s += (faster_m_s - speed_m_s) / accel_m_s2;
        faster_m_s
    };
    let first_m_s = (0..PIECES).fold(speed_m_s, |speed_m_s, i| gain(speed_m_s, i, accels_m_s2[i]));
    let second_m_s = (PIECES..2 * PIECES).rev().fold(speed_m_s, |speed_m_s, i| gain(speed_m_s, i, accels_m_s2[i - 1]));
    (time_s, [first_m_s, second_m_s])
}

/// Acceleration by actuator and springs over a piece, the actuator pushing up or down.
fn piece_accel_m_s2(axis: &Axis, from_m: f64, to_m: f64, pushes_up: bool) -> f64 {
    let inward = if from_m <= 0.0 && to_m <= 0.0 {
        pushes_up
    } else if from_m >= 0.0 && to_m >= 0.0 {
        !pushes_up
    } else {
        from_m.abs() > to_m.abs()
    };
    let pull = axis.spring * (from_m.abs() + to_m.abs()) / axis.range_m;
    axis.accel_m_s2 * if inward { 1.0 + pull } else { 1.0 - pull }
}
