//! Importance sampling: forced failures.
//!
//! Between two scheduled events, devices fail with a known cumulative hazard, so the probability p of a failure in this window is
//! known. A forced life draws the failure with a larger probability q, and multiplies its likelihood ratio by p / q if the failure
//! occurs, and by (1 - p) / (1 - q) if not (forcing: E. E. Lewis and F. Böhm, "Monte Carlo simulation of Markov unreliability
//! models", 1984; failure biasing: P. Shahabuddin, "Importance sampling for the simulation of highly reliable Markovian systems",
//! 1994). q follows from the probabilities of a loss with and without the failure, as for a zero-variance change of measure
//! (P. L'Ecuyer and B. Tuffin, "Approximating zero-variance importance sampling in a reliability setting", 2011). The method needs
//! hazards only, so it also applies to devices that age and to rebuilds of fixed length.

use crate::engine::random::Stream;

use super::device::Role;
use super::enclosure::{in_use, Draw, Due, Event, Life, State};
use super::lifetime::Law;
use super::loss_probabilities::LossProbabilities;
use super::parameters::Sparing;

/// Largest probability of a forced failure if data can also be lost without it.
const MAX_FORCED: f64 = 0.98;
/// Probability of any weak device in a new enclosure of a forced life. [`LossProbabilities`] has no state for weak devices.
const FORCED_WEAK: f64 = 0.2;
/// Relative tolerance of the hazard at the time of a failure; far below the statistical error of any experiment.
const HAZARD_TOLERANCE: f64 = 1e-9;
/// Most steps to find the time of a failure; bisection reaches the tolerance in as many.
const MAX_STEPS: u32 = 60;
/// Ratio of the two remaining times from which the decrease of the loss probability is estimated.
const TIME_RATIO: f64 = 0.9;

impl Life<'_> {
    /// Draws a failure or latent error before the scheduled event `due`.
    pub(super) fn failure_before(
        &mut self,
        due: Due,
        losses: &LossProbabilities,
        forced: bool,
        stream: &mut Stream,
    ) -> Option<Due> {
        let (window_h, left_h) = (due.at_h - self.now_h, self.horizon_h - self.now_h);
        let hazard = self.hazard_over(window_h);
        let probability = -libm::expm1(-hazard);
        let failing = self.loss_after_failure(losses, left_h);
        let passing = self.loss_after(due.event, losses, left_h - window_h);
        let forced_probability = forced_probability(probability, failing, passing);
        if !self.draw_forced(probability, forced_probability, forced, stream) {
            return None;
        }
        // A failure late in the window leaves less time for further failures: the hazard is drawn as if it were `tilt` times as large.
        let later = self.loss_after_failure(losses, TIME_RATIO * left_h);
        let fall = libm::log(failing / later) / -libm::log(TIME_RATIO);
        let tilt = if fall > 0.0 && fall.is_finite() { 1.0 + fall * (window_h / left_h) / hazard } else { 1.0 };
        let pace = if forced { tilt } else { 1.0 };
        // An exponential variable, given that it is below the hazard of the window.
        let reached = (-libm::log1p(libm::expm1(-pace * hazard) * stream.positive_unit()) / pace).min(hazard);
        self.ratio *= libm::exp((tilt - 1.0) * reached) * -libm::expm1(-tilt * hazard) / (tilt * probability);
        let after_h = self.time_of(reached, hazard, window_h);
        Some(Due { at_h: self.now_h + after_h, event: self.failing_component(after_h, stream) })
    }

    /// Draws whether there is a latent error, which has this probability.
    pub(super) fn has_latent_error(&mut self, probability: f64, stream: &mut Stream) -> bool {
        let Draw::InWindows { losses, forced } = self.draw else { return stream.chance(probability) };
        let passing = losses.loss(self.state(), self.horizon_h - self.now_h);
        self.draw_forced(probability, forced_probability(probability, 1.0, passing), forced, stream)
    }

    /// Draws whether new devices are weak. `together` devices are weak with this probability, or all of them are not.
    pub(super) fn is_weak(&mut self, probability: f64, together: u32, stream: &mut Stream) -> bool {
        let Draw::InWindows { forced, .. } = self.draw else { return stream.chance(probability) };
        let draws = self.enclosure.devices().div_ceil(together);
        self.draw_forced(probability, FORCED_WEAK / f64::from(draws), forced, stream)
    }

    /// Draws an event of this probability. A forced life draws it with `forced_probability`.
    fn draw_forced(&mut self, probability: f64, forced_probability: f64, forced: bool, stream: &mut Stream) -> bool {
        if probability <= 0.0 || probability >= forced_probability {
            return stream.chance(probability);
        }
        let happens = stream.chance(if forced { forced_probability } else { probability });
        self.ratio *=
            if happens { probability / forced_probability } else { (1.0 - probability) / (1.0 - forced_probability) };
        happens
    }

    /// Returns the probability of a loss if something fails now: the mean over all that may fail.
    fn loss_after_failure(&self, losses: &LossProbabilities, left_h: f64) -> f64 {
        let state = self.state();
        let (rate, latent_rate) = (losses.failure_rate(), self.latent_rate());
        let in_use = f64::from(in_use(self.enclosure, state)) * rate;
        let idle_spares = if self.spares_age() { f64::from(state.spares) * rate } else { 0.0 };
        let mut loss = in_use * losses.loss_after_failure(state, left_h) + latent_rate;
        if idle_spares > 0.0 {
            loss += idle_spares * losses.loss(State { spares: state.spares - 1, ..state }, left_h);
        }
        loss / (in_use + idle_spares + latent_rate)
    }

    /// Returns the probability of a loss after an event.
    fn loss_after(&self, event: Event, losses: &LossProbabilities, left_h: f64) -> f64 {
        let State { failed, spares } = self.state();
        match event {
            Event::Horizon => 0.0,
            Event::LatentError => 1.0,
            Event::Failure { .. } => self.loss_after_failure(losses, left_h),
            Event::Rebuilt { .. } => losses.loss(State { failed: failed - 1, spares: spares - 1 }, left_h),
            Event::Visit => losses.loss(State { failed: 0, spares: self.enclosure.spares }, left_h),
        }
    }

    fn spares_age(&self) -> bool {
        self.enclosure.spares_fail && self.enclosure.sparing == Sparing::Dedicated
    }

    /// Returns the cumulative hazard of devices and latent errors from now over a time.
    fn hazard_over(&self, time_h: f64) -> f64 {
        let devices: f64 = self.ageing().map(|device| device.law.hazard_over(device.age_h, time_h)).sum();
        devices + self.latent_rate() * time_h
    }

    /// Returns the devices that age.
    fn ageing(&self) -> impl Iterator<Item = Ageing> + '_ {
        let ages = |role| role == Role::InUse || role == Role::Spare && self.enclosure.spares_fail;
        let bays = self.bays.iter().enumerate().filter(move |(_, bay)| ages(bay.role));
        bays.map(|(index, bay)| Ageing { bay: index, age_h: self.now_h - bay.since_h, law: bay.law })
    }

    /// Returns the time from now at which the cumulative hazard is `reached`, h: Newton's method with bisection as the fallback.
    fn time_of(&self, reached: f64, hazard: f64, window_h: f64) -> f64 {
        let (mut low_h, mut high_h) = (0.0, window_h);
        let mut time_h = window_h * (reached / hazard);
        for _ in 0..MAX_STEPS {
            let excess = self.hazard_over(time_h) - reached;
            if excess.abs() <= HAZARD_TOLERANCE * reached {
                break;
            }
            if excess > 0.0 {
                high_h = time_h;
            } else {
                low_h = time_h;
            }
            time_h -= excess / self.hazard_rate(time_h);
            if !(low_h < time_h && time_h < high_h) {
                time_h = 0.5 * (low_h + high_h);
            }
        }
        time_h
    }

    fn hazard_rate(&self, time_h: f64) -> f64 {
        self.ageing().map(|device| device.law.hazard_rate(device.age_h + time_h)).sum::<f64>() + self.latent_rate()
    }

    /// Draws what fails at a time from now, given that something fails: with probabilities proportional to the hazard rates.
    fn failing_component(&self, time_h: f64, stream: &mut Stream) -> Event {
        let mut left = stream.unit() * self.hazard_rate(time_h);
        let mut last = Event::LatentError;
        for Ageing { bay, age_h, law } in self.ageing() {
            last = Event::Failure { bay };
            left -= law.hazard_rate(age_h + time_h);
            if left < 0.0 {
                return last;
            }
        }
        // The rest belongs to latent errors; without latent errors it is a rounding error.
        if self.latent_rate() > 0.0 {
            Event::LatentError
        } else {
            last
        }
    }
}

/// A device that ages.
struct Ageing {
    bay: usize,
    age_h: f64,
    law: Law,
}

/// Returns the probability with which a forced life draws an event that has `probability`: the share of the total loss probability
/// that is due to it. `failing` and `passing` are the loss probabilities with and without the event. 0 if the share underflows.
fn forced_probability(probability: f64, failing: f64, passing: f64) -> f64 {
    let through = probability * failing;
    if through <= 0.0 {
        return 0.0;
    }
    let share = through / (through + (1.0 - probability) * passing);
    if passing > 0.0 {
        share.min(MAX_FORCED)
    } else {
        share
    }
}
