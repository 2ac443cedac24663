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
use crate::convert::trunc_to_u64;
use crate::units::NS_PER_MS;

/// Longest timeout in break-even times. The average of all timeouts is in force, so long ones weigh heavily in it; and a
/// device that has waited for the break-even time has lost as much as a return costs already.
const BREAK_EVENS: f64 = 2.0;

/// Longest timeout there can be: one that a parameter can give too.
const LONGEST_MS: f64 = 1e9;

/// Experts that are judged side by side.
const LANES: usize = 4;

/// The experts and their weights.
#[derive(Clone, Debug)]
pub struct Share {
    rates: Rates,
    /// How many experts there are.
    count: usize,
    /// Their timeouts, rising. Here and below, some without weight fill the lanes behind them.
    timeout_ns: Box<[f64]>,
    /// Joules above the lowest mode's power that waiting for each timeout takes.
    wait_j: Box<[f64]>,
    /// The weight of an expert is `scale` times the sum of this, which it kept at the last loss, and the `portion`.
    kept: Box<[f64]>,
    /// Factors on their weights for the losses judged last.
    factor: Box<[f64]>,
    /// The fractions that they keep of them then.
    keep: Box<[f64]>,
    /// Sum of all timeouts.
    timeouts_ns: f64,
    /// The timeout in force.
    average_ns: f64,
    /// What each expert got of what all gave away.
    portion: f64,
    /// Factor by which weights add up to 1.
    scale: f64,
    /// Whether the energy of waiting grows in proportion to the timeout: there is no mode between the first and the lowest.
    proportional: bool,
    /// The case that was judged last: often the same again.
    judged: Case,
}

/// How weights follow losses.
#[derive(Clone, Copy, Debug)]
struct Rates {
    learning: f64,
    /// How fast an expert gives its weight away: it keeps exp(-rate * loss).
    sharing: f64,
}

/// What experts lost in an idle period.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Case {
    /// So many, those of the shortest timeouts, stopped the device.
    stopped: usize,
    /// The loss of each of them is this and its waiting energy times `per_j`.
    rest: f64,
    per_j: f64,
    /// Loss of the others.
    late: f64,
}

/// What a loss does to a weight: its factor, and the fraction that is kept of it then.
type Verdict = (f64, f64);

impl Rates {
    fn verdict(&self, loss: f64) -> Verdict {
        if loss == 0.0 {
            return (1.0, 1.0);
        }
        (libm::exp(-self.learning * loss), libm::exp(-self.sharing * loss))
    }
}

/// The verdict on the sum of two losses.
fn both(one: Verdict, other: Verdict) -> Verdict {
    (one.0 * other.0, one.1 * other.1)
}

impl Share {
    /// Experts for a ladder, all with one weight: one that stops at once, the others at timeouts that double up to the
    /// longest, which is 2 break-even times where it is not given.
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
            proportional: ladder.lowest() <= 1,
            judged: Case { stopped: 0, rest: f64::NAN, per_j: f64::NAN, late: f64::NAN },
        };
        share.weigh_evenly();
        share.weigh(ladder);
        share
    }

    /// Takes the powers of a ladder.
    pub fn weigh(&mut self, ladder: &Ladder) {
        for (wait_j, &timeout_ns) in self.wait_j.iter_mut().zip(&self.timeout_ns) {
            *wait_j = descent(ladder, timeout_ns).0;
        }
        self.judged.rest = f64::NAN;
    }

    /// Gives all experts one weight.
    fn weigh_evenly(&mut self) {
        self.kept.fill(0.0);
        self.portion = 1.0 / self.count as f64;
        self.scale = 1.0;
        self.average_ns = self.timeouts_ns * self.portion;
    }

    #[inline]
    fn longest_ns(&self) -> f64 {
        self.timeout_ns[self.count - 1]
    }

    /// Timeouts of the experts, rising, in nanoseconds.
    pub fn timeouts_ns(&self) -> impl Iterator<Item = f64> + '_ {
        self.timeout_ns[..self.count].iter().copied()
    }

    /// The timeout in force: the weighted average.
    #[inline]
    #[must_use]
    pub fn timeout_ns(&self) -> u64 {
        // Rounding must not carry the average beyond what it is the average of.
        trunc_to_u64(self.average_ns.min(self.longest_ns()) + 0.5)
    }

    /// Learns from an idle period that a request ended after so long.
    pub fn learn(&mut self, ladder: &Ladder, idle_ns: u64) {
        let returning_j = ladder.return_j(ladder.lowest());
        let idle = idle_ns as f64;
        let most_j = ladder.above_w(0) * idle.min(self.longest_ns()) * 1e-9 + returning_j.max(0.0);
        if most_j <= 0.0 {
            return;
        }
        let per_j = 1.0 / most_j;
        let best_j = ladder.excess_j(ladder.best(idle_ns), idle_ns);
        // Those whose timeout is not over when the request comes have all done the same.
        let stopped = self.timeouts_ns().filter(|&timeout_ns| timeout_ns < idle).count();
        let mut case = Case { stopped, rest: (returning_j - best_j) * per_j, per_j, late: 0.0 };
        if stopped < self.count {
            let (waited_j, left_j) = descent(ladder, idle);
            case.late = ((waited_j + left_j - best_j) * per_j).clamp(0.0, 1.0);
        }
        if case != self.judged {
            self.judge(&case);
        }
        self.follow();
    }

    /// Finds what the losses do to the weights.
    fn judge(&mut self, case: &Case) {
        self.judged = *case;
        let rates = self.rates;
        let late = rates.verdict(case.late);
        self.factor[case.stopped..self.count].fill(late.0);
        self.keep[case.stopped..self.count].fill(late.1);
        let stopped = self.factor[..case.stopped].iter_mut().zip(&mut self.keep[..case.stopped]);
        if self.proportional {
            let rest = rates.verdict(case.rest);
            // Each timeout is twice the one before, so each exponential is the square of the one before.
            let (mut first, mut waiting) = (true, rates.verdict(self.wait_j[1] * case.per_j));
            for (factor, keep) in stopped {
                if first {
                    (*factor, *keep) = rest;
                    first = false;
                } else {
                    (*factor, *keep) = both(rest, waiting);
                    waiting = both(waiting, waiting);
                }
            }
        } else {
            for ((factor, keep), wait_j) in stopped.zip(&self.wait_j) {
                (*factor, *keep) = rates.verdict((case.rest + wait_j * case.per_j).clamp(0.0, 1.0));
            }
        }
    }

    /// Weighs the experts anew.
    fn follow(&mut self) {
        let (portion, scale) = (self.portion, self.scale);
        let (mut weights, mut kept, mut kept_ns) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        let experts = self.kept.chunks_exact_mut(LANES).zip(self.timeout_ns.chunks_exact(LANES));
        let verdicts = self.factor.chunks_exact(LANES).zip(self.keep.chunks_exact(LANES));
        for ((expert_kept, timeout_ns), (factor, keep)) in experts.zip(verdicts) {
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
            // Every weight has vanished, so none says anything any more.
            self.weigh_evenly();
            return;
        }
        self.portion = (weight - kept) / self.count as f64;
        self.scale = 1.0 / weight;
        self.average_ns = (kept_ns + self.portion * self.timeouts_ns) * self.scale;
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
