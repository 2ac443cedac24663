//! Probability that an enclosure loses data within a time, by state. Failures are forced according to these probabilities.
//!
//! They are those of the Markov chain with the same mean times, with an error of a few per cent. The estimates stay unbiased for any
//! probabilities, because of the likelihood ratios; with exact ones all forced lives would have the same weight.

use super::enclosure::{in_use, State};
use super::lifetime::Law;
use super::parameters::{Enclosure, Sparing};
use crate::convert::trunc_to_usize;
use crate::fault::{Fault, Kind};
use crate::limits::FORCED_LOSSES;

/// Time steps, which grow by a constant factor.
const STEPS: usize = 240;
/// Ratio of the whole time to the first step.
const SPAN: f64 = 1e5;

/// Returns true if losses of an enclosure can be forced in reasonable time, see [`FORCED_LOSSES`].
#[must_use]
pub fn can_be_forced(enclosure: &Enclosure) -> bool {
    (u64::from(enclosure.parity) + 1) * u64::from(enclosure.devices()) <= FORCED_LOSSES.most
}

/// Probabilities of a loss by remaining time and state.
#[derive(Clone, Debug)]
pub(super) struct LossProbabilities {
    parity: u32,
    spares: u32,
    first_h: f64,
    /// Logarithm of the factor between steps.
    log_factor: f64,
    /// By step, then by spares, then by failed devices.
    losses: Vec<Vec<f64>>,
    /// Probability that there is a latent error when redundancy is lost.
    latent: f64,
    /// Mean hazard of a device until the horizon, per h.
    failure_rate: f64,
}

impl LossProbabilities {
    /// Returns the probabilities for remaining times up to `horizon_h`.
    ///
    /// # Errors
    /// Forcing losses would take too long, see [`FORCED_LOSSES`].
    pub(super) fn new(enclosure: &Enclosure, horizon_h: f64) -> Result<Self, Fault> {
        if !can_be_forced(enclosure) {
            let says = format!(
                ": (parity + 1) times {} devices and spares is more than {}, the limit for forced losses: use plain sampling",
                enclosure.devices(),
                FORCED_LOSSES.most,
            );
            return Err(Fault::of(Kind::OutOfRange, "enclosure.parity", enclosure.parity).says(says));
        }
        let states = (enclosure.parity as usize + 1) * (enclosure.spares as usize + 1);
        let mut table = Self {
            parity: enclosure.parity,
            spares: enclosure.spares,
            first_h: horizon_h / SPAN,
            log_factor: libm::log(SPAN) / (STEPS - 1) as f64,
            losses: Vec::with_capacity(STEPS),
            latent: latent_at_loss_of_redundancy(enclosure, horizon_h),
            failure_rate: mean_hazard(enclosure, horizon_h),
        };
        let mut now = vec![0.0; states];
        let mut time_h = 0.0;
        for step in 0..STEPS {
            let next_h = table.first_h * libm::exp(step as f64 * table.log_factor);
            now = table.step(enclosure, &now, next_h - time_h);
            table.losses.push(now.clone());
            time_h = next_h;
        }
        Ok(table)
    }

    /// Mean hazard of a device until the horizon, per h.
    pub(super) const fn failure_rate(&self) -> f64 {
        self.failure_rate
    }

    fn index(&self, state: State) -> usize {
        state.spares as usize * (self.parity as usize + 1) + state.failed as usize
    }

    /// Returns the probability of a loss within `left_h` from a state.
    pub(super) fn loss(&self, state: State, left_h: f64) -> f64 {
        if state.failed > self.parity {
            return 1.0;
        }
        let index = self.index(state);
        let place = libm::log(left_h / self.first_h) / self.log_factor;
        if place <= 0.0 {
            return self.losses[0][index] * (left_h / self.first_h).max(0.0);
        }
        let step = trunc_to_usize(place).min(STEPS - 2);
        let beyond = (place - step as f64).min(1.0);
        self.losses[step][index] * (1.0 - beyond) + self.losses[step + 1][index] * beyond
    }

    /// Returns the probability of a loss within `left_h` after a device in use fails in a state.
    pub(super) fn loss_after_failure(&self, state: State, left_h: f64) -> f64 {
        let next = State { failed: state.failed + 1, ..state };
        self.at_entry(next, self.loss(next, left_h))
    }

    /// Adds the probability of a loss by a latent error on the transition to a state without redundancy.
    fn at_entry(&self, state: State, loss: f64) -> f64 {
        if state.failed == self.parity {
            self.latent + (1.0 - self.latent) * loss
        } else {
            loss
        }
    }

    /// Makes one implicit step of the chain's backward equations. The result is positive, and stable for steps of any length.
    ///
    /// Only a visit leads to a state with more spares, and always to the initial state. With the probability of the initial state
    /// as an unknown, each state follows from those before it; the initial state then gives the unknown.
    fn step(&self, enclosure: &Enclosure, now: &[f64], step_h: f64) -> Vec<f64> {
        let mut next = vec![Linear { constant: 0.0, slope: 0.0 }; now.len()];
        for spares in 0..=self.spares {
            for failed in (0..=self.parity).rev() {
                let state = State { failed, spares };
                let here = self.index(state);
                let (mut constant, mut slope, mut out) = (now[here] / step_h, 0.0, 1.0 / step_h);
                let mut add_transition = |rate: f64, to: Linear| {
                    constant += rate * to.constant;
                    slope += rate * to.slope;
                    out += rate;
                };
                let known = |failed: u32, spares: u32| next[self.index(State { failed, spares })];
                let failures = f64::from(in_use(enclosure, state)) * self.failure_rate;
                add_transition(failures, self.after_failure(state, &next));
                if failed == self.parity {
                    add_transition(latent_rate(enclosure, state), Linear::LOSS);
                }
                if spares > 0 {
                    let rebuilds = f64::from(failed.min(spares).min(enclosure.rebuild.at_once));
                    let mean_h = enclosure.rebuild.time_with(enclosure, spares).mean_h;
                    if failed > 0 {
                        add_transition(rebuilds / mean_h, known(failed - 1, spares - 1));
                    }
                    if enclosure.spares_fail && enclosure.sparing == Sparing::Dedicated {
                        add_transition(f64::from(spares) * self.failure_rate, known(failed, spares - 1));
                    }
                }
                add_transition(visit_rate(enclosure, state), Linear::INITIAL_STATE);
                next[here] = Linear { constant: constant / out, slope: slope / out };
            }
        }
        let Linear { constant, slope } = next[self.index(State { failed: 0, spares: self.spares })];
        let initial = constant / (1.0 - slope);
        next.into_iter().map(|Linear { constant, slope }| constant + slope * initial).collect()
    }

    /// Returns the probability of a loss after a failure in a state.
    fn after_failure(&self, state: State, next: &[Linear]) -> Linear {
        if state.failed == self.parity {
            return Linear::LOSS;
        }
        let after = State { failed: state.failed + 1, ..state };
        let Linear { constant, slope } = next[self.index(after)];
        let latent = self.at_entry(after, 0.0);
        Linear { constant: self.at_entry(after, constant), slope: self.at_entry(after, slope) - latent }
    }
}

/// A probability `constant` + `slope` · p, where p is the probability of a loss from the initial state.
#[derive(Clone, Copy, Debug)]
struct Linear {
    constant: f64,
    slope: f64,
}

impl Linear {
    const LOSS: Self = Self { constant: 1.0, slope: 0.0 };
    const INITIAL_STATE: Self = Self { constant: 0.0, slope: 1.0 };
}

/// Rate of visits in a state, per h.
fn visit_rate(enclosure: &Enclosure, state: State) -> f64 {
    let delay = match (state.spares, state.failed) {
        (0, 1..) => enclosure.repair.mandatory,
        (0, 0) if enclosure.spares > 0 => enclosure.repair.preventive,
        _ => None,
    };
    delay.map_or(0.0, |delay| 1.0 / delay.mean_h)
}

/// Rate of latent errors of all devices in use, per h.
fn latent_rate(enclosure: &Enclosure, state: State) -> f64 {
    let errors = enclosure.device.latent_errors;
    errors.map_or(0.0, |errors| f64::from(in_use(enclosure, state)) / errors.every_h)
}

/// Probability that one of the remaining devices has a latent error. Each has been exposed for half a scrub interval on average.
fn latent_at_loss_of_redundancy(enclosure: &Enclosure, horizon_h: f64) -> f64 {
    let Some(errors) = enclosure.device.latent_errors else { return 0.0 };
    let exposed_h = 0.5 * errors.scrub_h.unwrap_or(horizon_h).min(horizon_h);
    let state = State { failed: enclosure.parity, spares: enclosure.spares };
    -libm::expm1(-latent_rate(enclosure, state) * exposed_h)
}

/// Mean hazard of a device from new to the horizon, per h.
fn mean_hazard(enclosure: &Enclosure, horizon_h: f64) -> f64 {
    let life = &enclosure.device;
    let mut rate = Law::new(life.mttf_h, life.lifetime).hazard_over(0.0, horizon_h) / horizon_h;
    if let Some(infants) = &life.infant_mortality {
        rate += infants.share * (1.0 / infants.mttf_h - rate);
    }
    if let Some(batches) = &life.batches {
        rate += batches.share * (1.0 / batches.mttf_h - rate);
    }
    rate
}
