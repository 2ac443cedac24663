//! Motion of a sled: random axes and seeks, and a numerical simulation of the sled without closed forms.

mod anchors;
mod optimal_control;
mod properties;

use proptest::prelude::*;
use sledsim::devices::mems::motion::Axis;

/// Access speed and axis of the published devices (griffin1999; g1, g2, g3 as in DiskSim 4.0).
pub const PUBLISHED: [(f64, Axis); 4] = [
    (0.020, Axis { accel_m_s2: 114.8, spring: 0.0, range_m: 100e-6 }),
    (0.020, Axis { accel_m_s2: 688.8, spring: 0.75, range_m: 100e-6 }),
    (0.028, Axis { accel_m_s2: 803.6, spring: 0.75, range_m: 100e-6 }),
    (0.030, Axis { accel_m_s2: 1033.2, spring: 0.75, range_m: 100e-6 }),
];

/// A seek along Y.
#[derive(Clone, Copy, Debug)]
pub struct Seek {
    pub axis: Axis,
    pub speed_m_s: f64,
    pub y0_m: f64,
    pub v0_m_s: f64,
    pub y1_m: f64,
    pub v1_m_s: f64,
}

/// Published axes, and axes far from them: any spring, from slow and wide to fast and narrow.
pub fn axis_and_speed() -> impl Strategy<Value = (Axis, f64)> {
    let published = prop::sample::select(PUBLISHED.to_vec()).prop_map(|(speed_m_s, axis)| (axis, speed_m_s));
    let any = (20.0..3000.0f64, prop_oneof![Just(0.0), 0.0..0.99f64], 10e-6..400e-6f64, 1e-3..0.2f64)
        .prop_map(|(accel_m_s2, spring, range_m, speed_m_s)| (Axis { accel_m_s2, spring, range_m }, speed_m_s));
    prop_oneof![published, any]
}

/// A fraction of the half travel; the edges, the centre and the same place twice are all likely.
pub fn place() -> impl Strategy<Value = f64> {
    prop_oneof![8 => -1.0..1.0f64, 1 => Just(1.0), 1 => Just(-1.0), 1 => Just(0.0)]
}

/// A direction.
pub fn way() -> impl Strategy<Value = f64> {
    prop_oneof![Just(1.0), Just(-1.0)]
}

/// A seek between two passes at access speed.
pub fn moving_seek() -> impl Strategy<Value = Seek> {
    (axis_and_speed(), place(), place(), way(), way()).prop_map(|((axis, speed_m_s), p0, p1, w0, w1)| Seek {
        axis,
        speed_m_s,
        y0_m: p0 * axis.range_m / 2.0,
        v0_m_s: w0 * speed_m_s,
        y1_m: p1 * axis.range_m / 2.0,
        v1_m_s: w1 * speed_m_s,
    })
}

/// A seek from rest whose access speed is within reach.
pub fn rest_seek() -> impl Strategy<Value = Seek> {
    moving_seek()
        .prop_filter("speed within reach from rest", |s| s.axis.starts_to(s.speed_m_s))
        .prop_map(|s| Seek { v0_m_s: 0.0, ..s })
}

/// Position, velocity and the extremes of position passed on the way, after `time_s` under the acceleration `u_m_s2`:
/// classical fourth-order Runge-Kutta.
pub fn integrate(axis: &Axis, state: (f64, f64), u_m_s2: f64, time_s: f64, steps: u32) -> (f64, f64, (f64, f64)) {
    let stiffness = axis.spring * axis.accel_m_s2 * 2.0 / axis.range_m;
    let rate = |x: f64, v: f64| (v, u_m_s2 - stiffness * x);
    let dt = time_s / f64::from(steps);
    let (mut x, mut v) = state;
    let mut extremes = (x, x);
    for _ in 0..steps {
        let k1 = rate(x, v);
        let k2 = rate(x + 0.5 * dt * k1.0, v + 0.5 * dt * k1.1);
        let k3 = rate(x + 0.5 * dt * k2.0, v + 0.5 * dt * k2.1);
        let k4 = rate(x + dt * k3.0, v + dt * k3.1);
        x += dt / 6.0 * (k1.0 + 2.0 * (k2.0 + k3.0) + k4.0);
        v += dt / 6.0 * (k1.1 + 2.0 * (k2.1 + k3.1) + k4.1);
        extremes = (extremes.0.min(x), extremes.1.max(x));
    }
    (x, v, extremes)
}
