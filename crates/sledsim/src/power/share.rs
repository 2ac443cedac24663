//! The share algorithm: a timeout that follows the idle periods.
//!
//! Experts have fixed timeouts. The current timeout is their average, weighted by their past performance (Helmbold, Long &
//! Sherrod, *A dynamic disk spin-down technique for mobile computing*, `MobiCom` 1996; Helmbold, Long, Sconyers & Sherrod,
//! *Adaptive disk spin-down for mobile computers*, MONET 5, 2000). After each idle period every weight is multiplied by
//! exp(-η loss). Then each expert gives away the fraction 1 - (1 - α)^loss of its weight, and the sum is divided evenly (the
//! variable share of Herbster & Warmuth, ICML 1995). So an expert with a small weight can recover quickly.
//!
//! | code | paper's symbol |
//! | --- | --- |
//! | `learning_rate` | η |
//! | `sharing` | α |
//!
//! The loss of an expert, from 0 to 1, is the energy of its timeout above the optimum with hindsight, divided by the largest
//! possible energy of an expert above the lowest mode in that period.

use super::Ladder;
use crate::convert::trunc_to_u64;
use crate::units::NS_PER_MS;

/// Default of the longest timeout, in break-even times. Long timeouts dominate the average, and after the break-even time a device has
/// wasted the energy of a return already.
const BREAK_EVENS: f64 = 2.0;

/// Upper bound of the longest timeout, also that of the parameter.
const LONGEST_MS: f64 = 1e9;

/// Number of experts that are updated together.
const LANES: usize = 4;

/// The experts and their weights.
#[derive(Clone, Debug)]
pub struct Share {
    rates: Rates,
    /// Number of experts.
    count: usize,
    /// Their timeouts, ascending. This and the following arrays are padded to whole lanes with experts without weight.
    timeout_ns: Box<[f64]>,
    /// Energy until each timeout above that of the lowest mode, J.
    wait_j: Box<[f64]>,
    /// Weight that each expert kept after the last loss. Its weight is `scale` times the sum of this and `portion`.
    kept: Box<[f64]>,
    /// Factor of each weight for the losses of `last_case`.
    factor: Box<[f64]>,
    /// Fraction of its weight that each expert keeps then.
    keep: Box<[f64]>,
    /// Sum of all timeouts.
    timeouts_ns: f64,
    /// The current timeout.
    average_ns: f64,
    /// Equal share of the weight given away by all experts.
    portion: f64,
    /// Factor that normalises the sum of weights to 1.
    scale: f64,
    /// True if the energy until the timeout is proportional to it: there is no mode between the first and the lowest.
    is_proportional: bool,
    /// The case of `factor` and `keep`; the next case is often the same.
    last_case: Case,
}

/// The dependence of weights on losses.
#[derive(Clone, Copy, Debug)]
struct Rates {
    learning: f64,
    /// An expert keeps exp(-`sharing` * loss) of its weight.
    sharing: f64,
}

/// The losses of all experts in an idle period.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Case {
    /// Number of experts, those with the shortest timeouts, that stopped the device.
    stopped: usize,
    /// The loss of each of these is `rest` plus its waiting energy times `per_j`.
    rest: f64,
    per_j: f64,
    /// Loss of each other expert.
    late: f64,
}

/// The effect of a loss on a weight.
#[derive(Clone, Copy, Debug)]
struct LossEffect {
    factor: f64,
    /// Fraction of the weight that the expert keeps after multiplication by `factor`.
    keep: f64,
}

impl LossEffect {
    /// The effect of the sum of two losses.
    fn and(self, other: Self) -> Self {
        Self { factor: self.factor * other.factor, keep: self.keep * other.keep }
    }
}

impl Rates {
    fn effect(&self, loss: f64) -> LossEffect {
        if loss == 0.0 {
            return LossEffect { factor: 1.0, keep: 1.0 };
        }
        LossEffect { factor: libm::exp(-self.learning * loss), keep: libm::exp(-self.sharing * loss) }
    }
}

impl Share {
    /// Experts of equal weight: one without a timeout, the others with timeouts that double up to the longest, which is twice the
    /// break-even time by default.
    #[must_use]
    pub fn new(ladder: &Ladder, experts: u32, longest_ms: Option<f64>, learning_rate: f64, sharing: f64) -> Self {
        let break_even_ms = ladder.break_even_ns().map(|break_even_ns| break_even_ns / NS_PER_MS);
        let derived_ms = break_even_ms.map_or(LONGEST_MS, |break_even_ms| BREAK_EVENS * break_even_ms);
        let longest_ns = longest_ms.unwrap_or(derived_ms).min(LONGEST_MS) * NS_PER_MS;
        let count = experts.max(2) as usize;
        let filled = || vec![0.0; count.next_multiple_of(LANES)].into_boxed_slice();
        let mut timeout_ns = filled();
        for (halvings, timeout_ns) in (0..).zip(timeout_ns[1..count].iter_mut().rev()) {
            *timeout_ns = libm::scalbn(longest_ns, -halvings);
        }
        let mut share = Self {
            rates: Rates { learning: learning_rate, sharing: -libm::log1p(-sharing) },
            count,
            timeouts_ns: timeout_ns.iter().sum(),
            timeout_ns,
            wait_j: filled(),
            kept: filled(),
            factor: filled(),
            keep: filled(),
            average_ns: 0.0,
            portion: 0.0,
            scale: 1.0,
            is_proportional: ladder.lowest() <= 1,
            last_case: Case { stopped: 0, rest: f64::NAN, per_j: f64::NAN, late: f64::NAN },
        };
        share.reset_weights();
        share.set_powers(ladder);
        share
    }

    /// Sets the powers of the modes.
    pub fn set_powers(&mut self, ladder: &Ladder) {
        for (wait_j, &timeout_ns) in self.wait_j.iter_mut().zip(&self.timeout_ns) {
            *wait_j = descent(ladder, timeout_ns).spent_j;
        }
        self.last_case.rest = f64::NAN;
    }

    /// Gives all experts the same weight.
    fn reset_weights(&mut self) {
        self.kept.fill(0.0);
        self.portion = 1.0 / self.count as f64;
        self.scale = 1.0;
        self.average_ns = self.timeouts_ns * self.portion;
    }

    #[inline]
    fn longest_ns(&self) -> f64 {
        self.timeout_ns[self.count - 1]
    }

    /// Timeouts of the experts, ascending, ns.
    pub fn timeouts_ns(&self) -> impl Iterator<Item = f64> + '_ {
        self.timeout_ns[..self.count].iter().copied()
    }

    /// The current timeout: the weighted average, ns.
    #[inline]
    #[must_use]
    pub fn timeout_ns(&self) -> u64 {
        // Rounding errors must not carry the average beyond the longest timeout.
        trunc_to_u64(self.average_ns.min(self.longest_ns()) + 0.5)
    }

    /// Updates the weights after an idle period of `idle_ns`.
    pub fn learn(&mut self, ladder: &Ladder, idle_ns: u64) {
        let returning_j = ladder.return_j(ladder.lowest());
        let idle = idle_ns as f64;
        let most_j = ladder.above_w(0) * idle.min(self.longest_ns()) * 1e-9 + returning_j.max(0.0);
        if most_j <= 0.0 {
            return;
        }
        let per_j = 1.0 / most_j;
        let best_j = ladder.excess_j(ladder.best(idle_ns), idle_ns);
        // All experts whose timeout is longer than the idle period have the same loss.
        let stopped = self.timeouts_ns().filter(|&timeout_ns| timeout_ns < idle).count();
        let mut case = Case { stopped, rest: (returning_j - best_j) * per_j, per_j, late: 0.0 };
        if stopped < self.count {
            let Descent { spent_j, return_j } = descent(ladder, idle);
            case.late = ((spent_j + return_j - best_j) * per_j).clamp(0.0, 1.0);
        }
        if case != self.last_case {
            self.find_effects(&case);
        }
        self.apply_effects();
    }

    /// Calculates the effects of losses on the weights.
    fn find_effects(&mut self, case: &Case) {
        self.last_case = *case;
        let rates = self.rates;
        let late = rates.effect(case.late);
        self.factor[case.stopped..self.count].fill(late.factor);
        self.keep[case.stopped..self.count].fill(late.keep);
        let stopped = self.factor[..case.stopped].iter_mut().zip(&mut self.keep[..case.stopped]);
        if self.is_proportional {
            let rest = rates.effect(case.rest);
            // Each timeout is twice the one before, so each exponential is the square of the one before.
            let (mut first, mut waiting) = (true, rates.effect(self.wait_j[1] * case.per_j));
            for (factor, keep) in stopped {
                let mut effect = rest;
                if !first {
                    effect = rest.and(waiting);
                    waiting = waiting.and(waiting);
                }
                first = false;
                (*factor, *keep) = (effect.factor, effect.keep);
            }
        } else {
            for ((factor, keep), wait_j) in stopped.zip(&self.wait_j) {
                let effect = rates.effect((case.rest + wait_j * case.per_j).clamp(0.0, 1.0));
                (*factor, *keep) = (effect.factor, effect.keep);
            }
        }
    }

    /// Multiplies the weights by their factors and shares the weight given away.
    fn apply_effects(&mut self) {
        let (portion, scale) = (self.portion, self.scale);
        let (mut weights, mut kept, mut kept_ns) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        let experts = self.kept.chunks_exact_mut(LANES).zip(self.timeout_ns.chunks_exact(LANES));
        let effects = self.factor.chunks_exact(LANES).zip(self.keep.chunks_exact(LANES));
        for ((expert_kept, timeout_ns), (factor, keep)) in experts.zip(effects) {
            for lane in 0..LANES {
                let weight = (expert_kept[lane] + portion) * scale * factor[lane];
                expert_kept[lane] = weight * keep[lane];
                weights[lane] += weight;
                kept[lane] += expert_kept[lane];
                kept_ns[lane] += expert_kept[lane] * timeout_ns[lane];
            }
        }
        let [weight, kept, kept_ns] = [weights, kept, kept_ns].map(|sums| (sums[0] + sums[1]) + (sums[2] + sums[3]));
        if weight < f64::MIN_POSITIVE {
            // All weights have underflowed.
            self.reset_weights();
            return;
        }
        self.portion = (weight - kept) / self.count as f64;
        self.scale = 1.0 / weight;
        self.average_ns = (kept_ns + self.portion * self.timeouts_ns) * self.scale;
    }
}

/// Energies above that of the lowest mode, J.
struct Descent {
    /// Energy of an idle period in the modes above the lowest.
    spent_j: f64,
    /// Energy of the return from the mode at its end.
    return_j: f64,
}

/// The energies of `idle_ns` in the modes above the lowest, which are entered after their own timeouts.
fn descent(ladder: &Ladder, idle_ns: f64) -> Descent {
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
    Descent { spent_j, return_j: ladder.return_j(reached.unwrap_or(0)) }
}
