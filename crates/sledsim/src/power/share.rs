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
//! The loss of an expert is what its timeout would have taken above the best choice with hindsight, over the most that any
//! timeout can take above the lowest mode in that period: it lies from 0 to 1.

use super::Ladder;
use crate::units::NS_PER_MS;

/// Ratio of the longest timeout to the shortest but the immediate one.
const SPAN: f64 = 1024.0;

/// Longest timeout in break-even times.
const BREAK_EVENS: f64 = 10.0;

/// Longest timeout there can be: one that a parameter can give too.
const LONGEST_MS: f64 = 1e9;

/// The experts and their weights.
#[derive(Clone, Debug)]
pub struct Share {
    learning_rate: f64,
    /// Logarithm of the fraction that an expert with a loss of 1 keeps.
    keep_log: f64,
    /// Timeouts, rising.
    timeouts_ns: Box<[u64]>,
    /// Joules above the lowest mode's power that waiting for each timeout takes.
    waits_j: Box<[f64]>,
    /// Weights; their sum is 1.
    weights: Box<[f64]>,
}

impl Share {
    /// Experts for a ladder, all with one weight: one that stops at once, the others at timeouts in a geometric series up
    /// to the longest, which is 10 break-even times where it is not given.
    #[must_use]
    pub fn new(ladder: &Ladder, experts: u32, longest_ms: Option<f64>, learning_rate: f64, sharing: f64) -> Self {
        let break_even_ms = ladder.break_even_ns().map(|break_even_ns| break_even_ns / NS_PER_MS);
        let derived_ms = break_even_ms.map_or(LONGEST_MS, |break_even_ms| BREAK_EVENS * break_even_ms);
        let longest_ns = longest_ms.unwrap_or(derived_ms).min(LONGEST_MS) * NS_PER_MS;
        let experts = experts.max(2);
        let step = libm::log(SPAN) / f64::from((experts - 2).max(1));
        let timeout_ns = |expert: u32| match expert {
            0 => 0,
            _ => (longest_ns * libm::exp(-step * f64::from(experts - 1 - expert))).round() as u64,
        };
        let timeouts_ns: Box<[u64]> = (0..experts).map(timeout_ns).collect();
        let mut share = Self {
            learning_rate,
            keep_log: libm::log1p(-sharing),
            waits_j: vec![0.0; timeouts_ns.len()].into(),
            weights: vec![1.0 / f64::from(experts); timeouts_ns.len()].into(),
            timeouts_ns,
        };
        share.weigh(ladder);
        share
    }

    /// Takes the powers of a ladder.
    pub fn weigh(&mut self, ladder: &Ladder) {
        for (wait_j, &timeout_ns) in self.waits_j.iter_mut().zip(&self.timeouts_ns) {
            *wait_j = descent(ladder, timeout_ns).0;
        }
    }

    /// Timeouts of the experts, rising, in nanoseconds.
    #[must_use]
    pub fn timeouts_ns(&self) -> &[u64] {
        &self.timeouts_ns
    }

    /// The timeout in force: the weighted average.
    #[must_use]
    pub fn timeout_ns(&self) -> u64 {
        let average: f64 = self.timeouts_ns.iter().zip(&self.weights).map(|(&ns, weight)| ns as f64 * weight).sum();
        // Rounding must not carry the average beyond what it is the average of.
        (average.round() as u64).min(self.timeouts_ns[self.timeouts_ns.len() - 1])
    }

    /// Learns from an idle period that a request ended after so long.
    pub fn learn(&mut self, ladder: &Ladder, idle_ns: u64) {
        let lowest = ladder.lowest();
        let returning_j = ladder.return_j(lowest);
        let most_j = ladder.stay_j(0, idle_ns) + returning_j.max(0.0);
        if most_j <= 0.0 {
            return;
        }
        let best_j = ladder.excess_j(ladder.best(idle_ns), idle_ns);
        let loss = |spent_j: f64| ((spent_j - best_j) / most_j).clamp(0.0, 1.0);
        let factors = |loss: f64| (libm::exp(-self.learning_rate * loss), libm::exp(self.keep_log * loss));
        // Those whose timeout is not over when the request comes have all done the same.
        let (waited_j, left_j) = descent(ladder, idle_ns);
        let (late_factor, late_keep) = factors(loss(waited_j + left_j));
        let mut pool = 0.0;
        let stopped = self.timeouts_ns.partition_point(|&timeout_ns| timeout_ns < idle_ns);
        for (expert, weight) in self.weights.iter_mut().enumerate() {
            let (factor, keep) = if expert < stopped {
                factors(loss(self.waits_j[expert] + returning_j))
            } else {
                (late_factor, late_keep)
            };
            let after = *weight * factor;
            *weight = after * keep;
            pool += after - *weight;
        }
        let portion = pool / self.weights.len() as f64;
        let total: f64 = self.weights.iter().map(|weight| weight + portion).sum();
        for weight in &mut self.weights {
            *weight = (*weight + portion) / total;
        }
    }
}

/// Joules above the lowest mode's power during `idle_ns` on the way down through the modes above the lowest at their own
/// times, and those of the return from where that leads.
fn descent(ladder: &Ladder, idle_ns: u64) -> (f64, f64) {
    let modes = ladder.modes();
    let (mut spent_j, mut until_ns, mut reached) = (0.0, idle_ns, None);
    for mode in (0..ladder.lowest().max(1)).rev() {
        let from_ns = modes[mode].after_ns.unwrap_or(u64::MAX).min(until_ns);
        if from_ns < idle_ns {
            reached = reached.or(Some(mode));
        }
        spent_j += ladder.stay_j(mode, until_ns - from_ns);
        until_ns = from_ns;
    }
    (spent_j, ladder.return_j(reached.unwrap_or(0)))
}
