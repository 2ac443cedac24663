//! The share algorithm: a timeout that follows the idle periods.
//!
//! Experts stand for fixed timeouts; the timeout in force is their average, weighted by how well each would have done so
//! far (Helmbold, Long & Sherrod, *A dynamic disk spin-down technique for mobile computing*, `MobiCom` 1996; Helmbold, Long,
//! Sconyers & Sherrod, *Adaptive disk spin-down for mobile computers*, MONET 5, 2000). After each idle period every expert's
//! weight is multiplied by exp(-η loss); then each gives away the fraction 1 - (1 - α)^loss of what it has left, and what
//! all gave is divided evenly (the variable share of Herbster & Warmuth, ICML 1995). So an expert that fell behind is
//! taken up again when its time comes.
//!
//! | code | paper's symbol |
//! | --- | --- |
//! | `learning_rate` | η |
//! | `sharing` | α |
//!
//! The loss of an expert is what its timeout would have taken above the best choice with hindsight, over the most that an
//! expert could have taken above the lowest mode in that period: it lies from 0 to 1.

use super::Ladder;
use crate::units::NS_PER_MS;

/// Longest timeout in break-even times. The average of all timeouts is in force, so long ones weigh heavily in it; and a
/// device that has waited for the break-even time has lost as much as a return costs already.
const BREAK_EVENS: f64 = 2.0;

/// Longest timeout there can be: one that a parameter can give too.
const LONGEST_MS: f64 = 1e9;

/// The experts and their weights.
#[derive(Clone, Debug)]
pub struct Share {
    learning_rate: f64,
    /// How fast an expert gives its weight away: it keeps exp(-rate * loss).
    sharing_rate: f64,
    experts: Box<[Expert]>,
    /// Whether the energy of waiting grows in proportion to the timeout: there is no mode between the first and the lowest.
    proportional: bool,
}

/// A fixed timeout.
#[derive(Clone, Copy, Debug)]
struct Expert {
    timeout_ns: f64,
    /// Joules above the lowest mode's power that waiting for the timeout takes.
    wait_j: f64,
    /// Weights of all experts add up to 1.
    weight: f64,
    /// Factor on the weight for the last loss.
    factor: f64,
    /// Fraction of its weight kept after the last loss.
    keep: f64,
}

impl Share {
    /// Experts for a ladder, all with one weight: one that stops at once, the others at timeouts that double up to the
    /// longest, which is 2 break-even times where it is not given.
    #[must_use]
    pub fn new(ladder: &Ladder, experts: u32, longest_ms: Option<f64>, learning_rate: f64, sharing: f64) -> Self {
        let break_even_ms = ladder.break_even_ns().map(|break_even_ns| break_even_ns / NS_PER_MS);
        let derived_ms = break_even_ms.map_or(LONGEST_MS, |break_even_ms| BREAK_EVENS * break_even_ms);
        let longest_ns = longest_ms.unwrap_or(derived_ms).min(LONGEST_MS) * NS_PER_MS;
        let experts = experts.max(2);
        let expert = |index: u32| Expert {
            timeout_ns: if index == 0 { 0.0 } else { libm::scalbn(longest_ns, index as i32 + 1 - experts as i32) },
            wait_j: 0.0,
            weight: 1.0 / f64::from(experts),
            factor: 1.0,
            keep: 1.0,
        };
        let experts = (0..experts).map(expert).collect();
        let sharing_rate = -libm::log1p(-sharing);
        let mut share = Self { learning_rate, sharing_rate, experts, proportional: ladder.lowest() <= 1 };
        share.weigh(ladder);
        share
    }

    /// Takes the powers of a ladder.
    pub fn weigh(&mut self, ladder: &Ladder) {
        for expert in &mut self.experts {
            expert.wait_j = if self.proportional {
                ladder.above_w(0) * expert.timeout_ns * 1e-9
            } else {
                descent(ladder, expert.timeout_ns).0
            };
        }
    }

    /// Timeouts of the experts, rising, in nanoseconds.
    pub fn timeouts_ns(&self) -> impl Iterator<Item = f64> + '_ {
        self.experts.iter().map(|expert| expert.timeout_ns)
    }

    /// The timeout in force: the weighted average.
    #[inline]
    #[must_use]
    pub fn timeout_ns(&self) -> u64 {
        let average_ns: f64 = self.experts.iter().map(|expert| expert.timeout_ns * expert.weight).sum();
        // Rounding must not carry the average beyond what it is the average of.
        average_ns.min(self.experts[self.experts.len() - 1].timeout_ns).round() as u64
    }

    /// Learns from an idle period that a request ended after so long.
    pub fn learn(&mut self, ladder: &Ladder, idle_ns: u64) {
        let returning_j = ladder.return_j(ladder.lowest());
        let waited_ns = (idle_ns as f64).min(self.experts[self.experts.len() - 1].timeout_ns);
        let most_j = ladder.above_w(0) * waited_ns * 1e-9 + returning_j.max(0.0);
        if most_j <= 0.0 {
            return;
        }
        let best_j = ladder.excess_j(ladder.best(idle_ns), idle_ns);
        // Those whose timeout is not over when the request comes have all done the same.
        let (waited_j, left_j) = descent(ladder, idle_ns as f64);
        let stopped = self.experts.partition_point(|expert| expert.timeout_ns < idle_ns as f64);
        self.judge_stopped(stopped, (returning_j - best_j) / most_j, 1.0 / most_j);
        let late = ((waited_j + left_j - best_j) / most_j).clamp(0.0, 1.0);
        let (factor, keep) = (fall(self.learning_rate * late), fall(self.sharing_rate * late));
        for expert in &mut self.experts[stopped..] {
            (expert.factor, expert.keep) = (factor, keep);
        }
        self.update();
    }

    /// Judges the first `stopped` experts: the loss of each is `rest` and its waiting energy times `per_j`.
    fn judge_stopped(&mut self, stopped: usize, rest: f64, per_j: f64) {
        if self.proportional {
            // Each timeout is twice the one before, so each exponential is the square of the one before: two are enough.
            let least = self.experts[1].wait_j * per_j;
            let (mut factor, mut keep) = (fall(self.learning_rate * least), fall(self.sharing_rate * least));
            let (first_factor, first_keep) = (fall(self.learning_rate * rest), fall(self.sharing_rate * rest));
            for (index, expert) in self.experts[..stopped].iter_mut().enumerate() {
                if index == 0 {
                    (expert.factor, expert.keep) = (first_factor, first_keep);
                } else {
                    (expert.factor, expert.keep) = (first_factor * factor, first_keep * keep);
                    (factor, keep) = (factor * factor, keep * keep);
                }
            }
        } else {
            for expert in &mut self.experts[..stopped] {
                let loss = (rest + expert.wait_j * per_j).clamp(0.0, 1.0);
                (expert.factor, expert.keep) = (fall(self.learning_rate * loss), fall(self.sharing_rate * loss));
            }
        }
    }

    /// Weighs the experts anew.
    fn update(&mut self) {
        let (mut pool, mut total) = (0.0, 0.0);
        for expert in &mut self.experts {
            let weight = expert.weight * expert.factor;
            expert.weight = weight * expert.keep;
            pool += weight - expert.weight;
            total += weight;
        }
        let count = self.experts.len() as f64;
        if total < f64::MIN_POSITIVE {
            // Every weight has vanished, so none says anything any more.
            self.experts.iter_mut().for_each(|expert| expert.weight = 1.0 / count);
            return;
        }
        let (portion, scale) = (pool / count, 1.0 / total);
        for expert in &mut self.experts {
            expert.weight = (expert.weight + portion) * scale;
        }
    }
}

/// exp(-x) of an x that is often 0.
#[inline]
fn fall(x: f64) -> f64 {
    if x == 0.0 {
        1.0
    } else {
        libm::exp(-x)
    }
}

/// Joules above the lowest mode's power during `idle_ns` on the way down through the modes above the lowest at their own
/// times, and those of the return from where that leads.
fn descent(ladder: &Ladder, idle_ns: f64) -> (f64, f64) {
    let modes = ladder.modes();
    let (mut spent_j, mut until_ns, mut reached) = (0.0, idle_ns, None);
    for mode in (0..ladder.lowest().max(1)).rev() {
        let from_ns = modes[mode].after_ns.map_or(idle_ns, |after_ns| after_ns as f64).min(until_ns);
        if from_ns < idle_ns {
            reached = reached.or(Some(mode));
        }
        spent_j += ladder.above_w(mode) * (until_ns - from_ns) * 1e-9;
        until_ns = from_ns;
    }
    (spent_j, ladder.return_j(reached.unwrap_or(0)))
}
