//! Break-even: the idle time beyond which a lower mode takes less energy than the ready mode.
//!
//! | code | meaning |
//! | --- | --- |
//! | `idle_s` | E_return / (P_ready - P_mode): the idle time that saves the energy of the return |
//! | `fixed_span_s` | the same if the time of the return would be spent in the lowest mode otherwise |
//! | `equal_idle_s` | E_return / P_ready: time in the ready mode with the energy of a return (Lin et al. 2002, section 5.1) |

use serde::Serialize;

use super::{Ladder, Mode};
use crate::time::ns_to_s;

/// An idle mode compared with the ready mode.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BreakEven {
    /// Name of the mode.
    pub mode: String,
    /// Power, W.
    pub power_w: f64,
    /// Idle time after which the device enters it without a policy, s; `None` for never.
    pub after_s: Option<f64>,
    /// Time of the return to the ready mode, s.
    pub wake_s: f64,
    /// Power during the return, W.
    pub wake_w: f64,
    /// Energy of the return, J.
    pub wake_j: f64,
    /// Idle time, from the end of a service to the next request, beyond which the mode saves energy, s; `None` if it never does.
    pub idle_s: Option<f64>,
    /// The same for a fixed span of time, s: the time of the return would be spent in the lowest mode otherwise.
    pub fixed_span_s: Option<f64>,
    /// Time in the ready mode with the energy of the return, s; `None` if the ready mode takes no power.
    pub equal_idle_s: Option<f64>,
    /// Idle times for which no other mode takes less energy; `None` if another mode always does.
    pub best: Option<Interval>,
    /// The same for a fixed span of time.
    pub best_fixed_span: Option<Interval>,
}

/// A range of idle times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Start, s.
    pub from_s: f64,
    /// End, s; `None` if unlimited.
    pub to_s: Option<f64>,
}

impl Ladder {
    /// Compares every mode with the ready mode, in the order of the ladder.
    #[must_use]
    pub fn break_even(&self) -> Vec<BreakEven> {
        let ready_w = self.modes()[0].power_w;
        let least_w = self.least_w();
        let span: Vec<Line> = self.modes().iter().map(|mode| Line::new(mode, least_w)).collect();
        let plain: Vec<Line> = self.modes().iter().map(|mode| Line::new(mode, 0.0)).collect();
        let of = |(k, mode): (usize, &Mode)| BreakEven {
            mode: mode.name.clone(),
            power_w: mode.power_w,
            after_s: mode.after_ns.map(ns_to_s),
            wake_s: wake_s(mode),
            wake_w: mode.wake_w,
            wake_j: plain[k].start_j,
            idle_s: plain[k].below_from_s(&plain[0]).filter(|_| k > 0),
            fixed_span_s: span[k].below_from_s(&span[0]).filter(|_| k > 0),
            equal_idle_s: (k > 0 && ready_w > 0.0).then(|| plain[k].start_j / ready_w),
            best: best(&plain, k),
            best_fixed_span: best(&span, k),
        };
        self.modes().iter().enumerate().map(of).collect()
    }
}

fn wake_s(mode: &Mode) -> f64 {
    ns_to_s(mode.wake_ns)
}

/// The energy of an idle period in one mode as a linear function of its length.
struct Line {
    /// Energy at length 0, which is that of the return.
    start_j: f64,
    /// Slope, W.
    power_w: f64,
}

impl Line {
    /// The line of a mode if the time of the return would be spent at `displaced_w` otherwise. A return with less power counts as 0 J.
    fn new(mode: &Mode, displaced_w: f64) -> Self {
        Self { start_j: ((mode.wake_w - displaced_w) * wake_s(mode)).max(0.0), power_w: mode.power_w }
    }

    /// The length beyond which this line is below that of a higher mode; `None` if it never is.
    fn below_from_s(&self, upper: &Self) -> Option<f64> {
        let (dearer_j, saved_w) = (self.start_j - upper.start_j, upper.power_w - self.power_w);
        if saved_w > 0.0 {
            // A return with less energy than the displaced time saves energy from length 0 on.
            Some((dearer_j / saved_w).max(0.0))
        } else {
            (dearer_j < 0.0).then_some(0.0)
        }
    }
}

/// The lengths for which mode `k` is on the lower envelope of all lines. Of equal modes, the highest is.
fn best(lines: &[Line], k: usize) -> Option<Interval> {
    let mut from_s = 0.0_f64;
    for upper in &lines[..k] {
        from_s = from_s.max(lines[k].below_from_s(upper)?);
    }
    let ends = lines[k + 1..].iter().filter_map(|lower| lower.below_from_s(&lines[k]));
    let to_s = ends.reduce(f64::min);
    to_s.is_none_or(|to_s| from_s < to_s).then_some(Interval { from_s, to_s })
}
