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
    rates: Rates,
    experts: Box<[Expert]>,
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
    /// Verdicts on the first expert that waits and on those that waited in vain: often the same again.
    least: Verdict,
    late: Verdict,
}

/// How weights follow losses.
#[derive(Clone, Copy, Debug)]
struct Rates {
    learning: f64,
    /// How fast an expert gives its weight away: it keeps exp(-rate * loss).
    sharing: f64,
}

/// A fixed timeout.
#[derive(Clone, Copy, Debug)]
struct Expert {
    timeout_ns: f64,
    /// Joules above the lowest mode's power that waiting for the timeout takes.
    wait_j: f64,
    /// Its weight is `scale` times the sum of this, which it kept at the last loss, and the `portion`.
    kept: f64,
}

/// What a loss does to a weight.
#[derive(Clone, Copy, Debug)]
struct Verdict {
    loss: f64,
    factor: f64,
    /// The fraction that is kept of it then.
    keep: f64,
}

impl Verdict {
    const NO_LOSS: Self = Self { loss: 0.0, factor: 1.0, keep: 1.0 };

    #[inline]
    fn new(loss: f64, rates: &Rates) -> Self {
        if loss == 0.0 {
            return Self::NO_LOSS;
        }
        Self { loss, factor: libm::exp(-rates.learning * loss), keep: libm::exp(-rates.sharing * loss) }
    }

    /// The verdict on a loss that may be the one of this verdict.
    #[inline]
    fn on(self, loss: f64, rates: &Rates) -> Self {
        if loss == self.loss {
            self
        } else {
            Self::new(loss, rates)
        }
    }

    /// On the sum of both losses.
    #[inline]
    fn and(self, other: &Self) -> Self {
        Self { loss: self.loss + other.loss, factor: self.factor * other.factor, keep: self.keep * other.keep }
    }
}

/// Sums over experts on the way to new weights.
#[derive(Default)]
struct Sums {
    weight: f64,
    kept: f64,
    kept_ns: f64,
}

impl Sums {
    #[inline]
    fn judge(&mut self, expert: &mut Expert, (portion, scale): (f64, f64), verdict: &Verdict) {
        let weight = (expert.kept + portion) * scale * verdict.factor;
        expert.kept = weight * verdict.keep;
        self.weight += weight;
        self.kept += expert.kept;
        self.kept_ns += expert.kept * expert.timeout_ns;
    }
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
            kept: 0.0,
        };
        let experts: Box<[Expert]> = (0..experts).map(expert).collect();
        let mut share = Self {
            rates: Rates { learning: learning_rate, sharing: -libm::log1p(-sharing) },
            timeouts_ns: experts.iter().map(|expert| expert.timeout_ns).sum(),
            experts,
            average_ns: 0.0,
            portion: 0.0,
            scale: 1.0,
            proportional: ladder.lowest() <= 1,
            least: Verdict::NO_LOSS,
            late: Verdict::NO_LOSS,
        };
        share.weigh_evenly();
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

    /// Gives all experts one weight.
    fn weigh_evenly(&mut self) {
        self.experts.iter_mut().for_each(|expert| expert.kept = 0.0);
        self.portion = 1.0 / self.experts.len() as f64;
        self.scale = 1.0;
        self.average_ns = self.timeouts_ns * self.portion;
    }

    /// Timeouts of the experts, rising, in nanoseconds.
    pub fn timeouts_ns(&self) -> impl Iterator<Item = f64> + '_ {
        self.experts.iter().map(|expert| expert.timeout_ns)
    }

    fn longest_ns(&self) -> f64 {
        self.experts[self.experts.len() - 1].timeout_ns
    }

    /// The timeout in force: the weighted average.
    #[inline]
    #[must_use]
    pub fn timeout_ns(&self) -> u64 {
        // Rounding must not carry the average beyond what it is the average of.
        (self.average_ns.min(self.longest_ns()) + 0.5) as u64
    }

    /// Learns from an idle period that a request ended after so long.
    pub fn learn(&mut self, ladder: &Ladder, idle_ns: u64) {
        let returning_j = ladder.return_j(ladder.lowest());
        let waited_ns = (idle_ns as f64).min(self.longest_ns());
        let most_j = ladder.above_w(0) * waited_ns * 1e-9 + returning_j.max(0.0);
        if most_j <= 0.0 {
            return;
        }
        let per_j = 1.0 / most_j;
        let best_j = ladder.excess_j(ladder.best(idle_ns), idle_ns);
        // Those whose timeout is not over when the request comes have all done the same.
        let stopped = self.experts.partition_point(|expert| expert.timeout_ns < idle_ns as f64);
        if stopped < self.experts.len() {
            let (waited_j, left_j) = descent(ladder, idle_ns as f64);
            let loss = ((waited_j + left_j - best_j) * per_j).clamp(0.0, 1.0);
            self.late = self.late.on(loss, &self.rates);
        }
        let sums = self.judge(stopped, (returning_j - best_j) * per_j, per_j);
        if sums.weight < f64::MIN_POSITIVE {
            // Every weight has vanished, so none says anything any more.
            self.weigh_evenly();
            return;
        }
        self.portion = (sums.weight - sums.kept) / self.experts.len() as f64;
        self.scale = 1.0 / sums.weight;
        self.average_ns = (sums.kept_ns + self.portion * self.timeouts_ns) * self.scale;
    }

    /// Judges the experts: the loss of each of the first `stopped` is `rest` and its waiting energy times `per_j`.
    #[inline]
    fn judge(&mut self, stopped: usize, rest: f64, per_j: f64) -> Sums {
        let mut sums = Sums::default();
        let shared = (self.portion, self.scale);
        let (stopped, late) = self.experts.split_at_mut(stopped);
        match stopped {
            [at_once, waited @ ..] if self.proportional => {
                let rest = Verdict::new(rest, &self.rates);
                sums.judge(at_once, shared, &rest);
                if let Some(first) = waited.first() {
                    self.least = self.least.on(first.wait_j * per_j, &self.rates);
                }
                // Each timeout is twice the one before, so each exponential is the square of the one before.
                let mut waiting = self.least;
                for expert in waited {
                    sums.judge(expert, shared, &rest.and(&waiting));
                    waiting = waiting.and(&waiting);
                }
            }
            _ => {
                for expert in stopped {
                    let loss = (rest + expert.wait_j * per_j).clamp(0.0, 1.0);
                    sums.judge(expert, shared, &Verdict::new(loss, &self.rates));
                }
            }
        }
        for expert in late {
            sums.judge(expert, shared, &self.late);
        }
        sums
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
