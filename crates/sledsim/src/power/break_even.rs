//! Break-even: the idle time past which a lower mode takes less energy than the ready one.
//!
//! | code | meaning |
//! | --- | --- |
//! | `idle_s` | E_return / (P_ready - P_mode): what the return takes is saved while idle |
//! | `fixed_span_s` | the same where the return displaces time that would else pass in the lowest mode |
//! | `equal_idle_s` | E_return / P_ready: ready idling that takes as much as a return (Lin et al. 2002, section 5.1) |

use serde::Serialize;

use super::{Ladder, Mode};
use crate::time::ns_to_s;

/// One idle mode against staying in the ready one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BreakEven {
    /// Name of the mode.
    pub mode: String,
    /// Power in it, W.
    pub power_w: f64,
    /// Idle time after which the device enters it by itself, s; none where it never does.
    pub after_s: Option<f64>,
    /// Time to be ready again, s.
    pub wake_s: f64,
    /// Power during that time, W.
    pub wake_w: f64,
    /// Energy of the return, J.
    pub wake_j: f64,
    /// Idle time past which the mode saves energy, s: from the end of a service to the next request. None where its power is
    /// that of the ready mode, so that it never does.
    pub idle_s: Option<f64>,
    /// The same over a fixed span of time, s: the return, too, passes time, which else would pass in the lowest mode at least.
    pub fixed_span_s: Option<f64>,
    /// Time in the ready mode that takes as much energy as the return, s. None where the ready mode takes no power.
    pub equal_idle_s: Option<f64>,
    /// Idle times for which no other mode takes less energy; `None` where some other always does.
    pub best: Option<Interval>,
    /// The same over a fixed span of time.
    pub best_fixed_span: Option<Interval>,
}

/// A range of idle times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// From here, s.
    pub from_s: f64,
    /// To here, s; `None` without end.
    pub to_s: Option<f64>,
}

impl Ladder {
    /// Every mode against the ready one, in the order of the ladder.
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

/// Energy of an idle period in one mode as its length grows.
struct Line {
    /// At length 0: the return.
    start_j: f64,
    /// Joules per second.
    power_w: f64,
}

impl Line {
    /// Of a mode, where the time that a return takes would else pass at `displaced_w`; a return that draws less costs nothing.
    fn new(mode: &Mode, displaced_w: f64) -> Self {
        Self { start_j: ((mode.wake_w - displaced_w) * wake_s(mode)).max(0.0), power_w: mode.power_w }
    }

    /// The length past which this line lies below that of a mode above; `None` if it never does.
    fn below_from_s(&self, upper: &Self) -> Option<f64> {
        let (dearer_j, saved_w) = (self.start_j - upper.start_j, upper.power_w - self.power_w);
        if saved_w > 0.0 {
            // A return that costs less than the time it displaces saves from the start.
            Some((dearer_j / saved_w).max(0.0))
        } else {
            (dearer_j < 0.0).then_some(0.0)
        }
    }
}

/// Where mode `k` lies on the lower envelope of all lines; of equal modes the upper one does.
fn best(lines: &[Line], k: usize) -> Option<Interval> {
    let mut from_s = 0.0_f64;
    for upper in &lines[..k] {
        from_s = from_s.max(lines[k].below_from_s(upper)?);
    }
    let ends = lines[k + 1..].iter().filter_map(|lower| lower.below_from_s(&lines[k]));
    let to_s = ends.reduce(f64::min);
    to_s.is_none_or(|to_s| from_s < to_s).then_some(Interval { from_s, to_s })
}
