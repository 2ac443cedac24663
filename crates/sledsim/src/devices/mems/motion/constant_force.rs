//! Exact motion under constant force, which the models with springs are composed of.

use super::Axis;

/// Constants of the motion along an axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dynamics {
    /// Acceleration by the actuator, `a`.
    pub a: f64,
    /// Stiffness per mass, `κ`.
    pub kappa: f64,
    /// `ω = √κ`.
    pub omega: f64,
}

impl Dynamics {
    /// Returns the constants of an axis.
    #[inline]
    pub fn of(axis: &Axis) -> Self {
        let kappa = axis.kappa();
        Self { a: axis.accel_m_s2, kappa, omega: kappa.sqrt() }
    }

    /// Returns the time of an arc from `tan(ω t / 2) / ω`, which is half the time without springs.
    #[inline]
    pub fn arc_s(&self, half_tangent_s: f64) -> f64 {
        if self.omega == 0.0 {
            2.0 * half_tangent_s
        } else {
            2.0 * libm::atan(self.omega * half_tangent_s) / self.omega
        }
    }

    /// Returns the time from passing `y_m` at `v_m_s` to passing it at `−v_m_s`, with full force against the motion.
    #[inline]
    pub fn reversal_s(&self, y_m: f64, v_m_s: f64) -> f64 {
        // The springs help to turn a sled that moves outwards, and oppose it if it moves inwards.
        let decel_m_s2 = self.a + self.kappa * y_m * v_m_s.signum();
        self.arc_s(v_m_s.abs() / decel_m_s2)
    }

    /// Returns the switch of force in a move with speed `v_m_s` at both ends.
    #[inline]
    pub fn passing_switch(&self, v_m_s: f64, y0_m: f64, y1_m: f64) -> PassingSwitch {
        let half_m = 0.5 * (y1_m - y0_m).abs();
        let sigma = 0.5 * self.kappa * (y0_m + y1_m) / self.a;
        let shape = 1.0 - sigma * sigma;
        let peak_m_s = (v_m_s * v_m_s + half_m * shape * (2.0 * self.a + self.kappa * half_m)).sqrt();
        PassingSwitch { half_m, sigma, shape, sum_m_s: v_m_s + peak_m_s }
    }

    /// Returns the time of a move that starts and ends at speed `v_m_s` in its direction.
    #[inline]
    pub fn passing_move_s(&self, v_m_s: f64, y0_m: f64, y1_m: f64) -> f64 {
        let s = self.passing_switch(v_m_s, y0_m, y1_m);
        // The tangent of the sum of the half angles of the two arcs, with the difference in its denominator expanded.
        self.arc_s(s.half_m * s.sum_m_s / (v_m_s * s.sum_m_s + self.a * s.half_m * s.shape))
    }
}

/// The switch of force in a move that starts and ends at the same speed.
pub(super) struct PassingSwitch {
    /// Half the distance of the move.
    pub half_m: f64,
    /// `σ = κ (y₀ + y₁) / (2a)`: distance of the switch from the middle, relative to `half_m`.
    pub sigma: f64,
    /// `1 − σ²`.
    pub shape: f64,
    /// End speed plus the speed at the switch.
    pub sum_m_s: f64,
}

/// Returns the exact time in seconds from passing `y_m` at `v_m_s` to passing it at `−v_m_s` with the actuator at full force:
/// `tan(ω t / 2) = ω |v| / (a ± κ |y|)`, with plus if the sled moves outwards.
///
/// Since `atan z ≤ z` it never exceeds the constant-force [`turnaround_s`](super::turnaround_s), on either side: a sled
/// that moves outwards gains spring force while it turns, and one that moves inwards loses opposition.
#[inline]
#[must_use]
pub fn exact_turnaround_s(axis: &Axis, y_m: f64, v_m_s: f64) -> f64 {
    Dynamics::of(axis).reversal_s(y_m, v_m_s)
}

/// Returns the distance in metres that the sled moves beyond `y_m` while it reverses from `v_m_s`.
#[must_use]
pub fn run_out_m(axis: &Axis, y_m: f64, v_m_s: f64) -> f64 {
    let kappa = axis.kappa();
    let decel_m_s2 = axis.accel_m_s2 + kappa * y_m * v_m_s.signum();
    let square = v_m_s * v_m_s;
    square / (decel_m_s2 + (decel_m_s2 * decel_m_s2 + kappa * square).sqrt())
}
