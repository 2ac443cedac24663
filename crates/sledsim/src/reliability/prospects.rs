//! How likely an enclosure in each state loses data within a time: what forcing is steered by.
//!
//! The probabilities are those of the Markov chain with the same mean times, to a few per cent. They need not be better:
//! likelihood ratios make up for whatever they are, and lives forced by the exact ones would all weigh the same.

use super::enclosure::{in_use, State};
use super::lifetime::Law;
use super::parameters::{Enclosure, Sparing};
use crate::convert::trunc_to_usize;
use crate::fault::{Fault, Kind};
use crate::limits::FORCED_LOSSES;

/// Steps in time, each longer than the one before by the same factor.
const STEPS: usize = 240;
/// The whole time over the first step.
const SPAN: f64 = 1e5;

/// Whether losses of an enclosure can be forced without taking too long, see [`FORCED_LOSSES`].
#[must_use]
pub fn can_be_forced(enclosure: &Enclosure) -> bool {
    (u64::from(enclosure.parity) + 1) * u64::from(enclosure.devices()) <= FORCED_LOSSES.most
}

/// Probabilities of a loss, by time left and state.
#[derive(Clone, Debug)]
pub(super) struct Prospects {
    parity: u32,
    spares: u32,
    first_h: f64,
    /// Logarithm of the factor between steps.
    log_factor: f64,
    /// By step, then by spares, then by devices failed.
    losses: Vec<Vec<f64>>,
    /// Probability that a latent error stands where redundancy goes.
    latent: f64,
    /// Mean hazard of a device until the horizon, per h.
    failure_rate: f64,
}

impl Prospects {
    /// The prospects of an enclosure within times up to `horizon_h`.
    ///
    /// # Errors
    /// Where forcing losses would take too long, see [`FORCED_LOSSES`].
    pub(super) fn new(enclosure: &Enclosure, horizon_h: f64) -> Result<Self, Fault> {
        if !can_be_forced(enclosure) {
            let says = format!(
                ": one more, times {} devices and spares, is more than {}, so losses can't be forced: sample plainly",
                enclosure.devices(),
                FORCED_LOSSES.most,
            );
            return Err(Fault::of(Kind::OutOfRange, "enclosure.parity", enclosure.parity).says(says));
        }
        let states = (enclosure.parity as usize + 1) * (enclosure.spares as usize + 1);
        let mut prospects = Self {
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
            let next_h = prospects.first_h * libm::exp(step as f64 * prospects.log_factor);
            now = prospects.step(enclosure, &now, next_h - time_h);
            prospects.losses.push(now.clone());
            time_h = next_h;
        }
        Ok(prospects)
    }

    /// Mean hazard of a device until the horizon, per h.
    pub(super) const fn failure_rate(&self) -> f64 {
        self.failure_rate
    }

    fn index(&self, state: State) -> usize {
        state.spares as usize * (self.parity as usize + 1) + state.failed as usize
    }

    /// Probability of a loss within `left_h` from this state.
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

    /// Probability of a loss within `left_h` after a device in use fails in this state, at once or later.
    pub(super) fn loss_after_failure(&self, state: State, left_h: f64) -> f64 {
        let next = State { failed: state.failed + 1, ..state };
        self.at_entry(next, self.loss(next, left_h))
    }

    /// Adds the latent errors that are met when redundancy goes.
    fn at_entry(&self, state: State, loss: f64) -> f64 {
        if state.failed == self.parity {
            self.latent + (1.0 - self.latent) * loss
        } else {
            loss
        }
    }

    /// One implicit step of the chain's backward equations: positive throughout, and stable for steps of any length.
    ///
    /// Only a visit leads to a state with more spares, and always to the first one. So with that state's probability as an
    /// unknown each state follows from those before it, and the first one then gives the unknown.
    fn step(&self, enclosure: &Enclosure, now: &[f64], step_h: f64) -> Vec<f64> {
        // Probability = constant + slope · that of the first state.
        let mut next: Vec<(f64, f64)> = vec![(0.0, 0.0); now.len()];
        for spares in 0..=self.spares {
            for failed in (0..=self.parity).rev() {
                let state = State { failed, spares };
                let here = self.index(state);
                let (mut constant, mut slope, mut out) = (now[here] / step_h, 0.0, 1.0 / step_h);
                let mut goes = |rate: f64, to: (f64, f64)| {
                    constant += rate * to.0;
                    slope += rate * to.1;
                    out += rate;
                };
                let known = |failed: u32, spares: u32| next[self.index(State { failed, spares })];
                goes(f64::from(in_use(enclosure, state)) * self.failure_rate, self.worse(state, &next));
                if failed == self.parity {
                    goes(latent_rate(enclosure, state), (1.0, 0.0));
                }
                if spares > 0 {
                    let rebuilds = f64::from(failed.min(spares).min(enclosure.rebuild.at_once));
                    let mean_h = enclosure.rebuild.time_with(enclosure, spares).mean_h;
                    if failed > 0 {
                        goes(rebuilds / mean_h, known(failed - 1, spares - 1));
                    }
                    if enclosure.spares_fail && enclosure.sparing == Sparing::Dedicated {
                        goes(f64::from(spares) * self.failure_rate, known(failed, spares - 1));
                    }
                }
                goes(visit_rate(enclosure, state), (0.0, 1.0));
                next[here] = (constant / out, slope / out);
            }
        }
        let (constant, slope) = next[self.index(State { failed: 0, spares: self.spares })];
        let first = constant / (1.0 - slope);
        next.into_iter().map(|(constant, slope)| constant + slope * first).collect()
    }

    /// Where a failure in this state leads to.
    fn worse(&self, state: State, next: &[(f64, f64)]) -> (f64, f64) {
        if state.failed == self.parity {
            return (1.0, 0.0);
        }
        let after = State { failed: state.failed + 1, ..state };
        let (constant, slope) = next[self.index(after)];
        (self.at_entry(after, constant), self.at_entry(after, slope) - self.at_entry(after, 0.0))
    }
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

/// Latent errors of all devices in use, per h.
fn latent_rate(enclosure: &Enclosure, state: State) -> f64 {
    let errors = enclosure.device.latent_errors;
    errors.map_or(0.0, |errors| f64::from(in_use(enclosure, state)) / errors.every_h)
}

/// Probability that one of the devices left has a latent error: each has been exposed for half the time between scrubs.
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
