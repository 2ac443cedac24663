//! Failures forced into the windows in which they hurt.
//!
//! Between two instants at which something is due, devices fail with a known cumulative hazard, so the probability p that
//! something fails in this window is known. A forced life lets it happen with a larger probability q and keeps the
//! likelihood ratio: p / q where it happened, (1 - p) / (1 - q) where it did not (forcing: E. E. Lewis and F. Böhm, "Monte
//! Carlo simulation of Markov unreliability models", 1984; failure biasing: P. Shahabuddin, "Importance sampling for the
//! simulation of highly reliable Markovian systems", 1994). How large q is follows from the prospects of a loss with the
//! failure and without it, as for a zero-variance change of measure (P. L'Ecuyer and B. Tuffin, "Approximating zero-variance
//! importance sampling in a reliability setting", 2011). This asks for hazards only, so that it holds for devices that age
//! and for rebuilds of a fixed length.

use crate::engine::random::Stream;

use super::device::Role;
use super::enclosure::{in_use, Draw, Event, Life, State};
use super::lifetime::Law;
use super::parameters::Sparing;
use super::prospects::Prospects;

/// Largest probability with which a failure is forced while its absence may lead to a loss, too.
const MOST: f64 = 0.98;
/// Probability with which some device of a new enclosure is weak: what comes of it no prospect tells.
const WEAK: f64 = 0.2;
/// How close to the drawn hazard the time of a failure is found, relative: far below what any number of lives can show.
const HAZARD_TOLERANCE: f64 = 1e-9;
/// Steps to find it; halvings alone come so close in as many.
const MOST_STEPS: u32 = 60;
/// Factor between two times at which prospects are compared to see how fast they fall.
const APART: f64 = 0.9;

impl Life<'_> {
    /// The failure or latent error before `event` is due at `due_h`, if there is one.
    pub(super) fn failure_before(
        &mut self,
        (due_h, event): (f64, Event),
        prospects: &Prospects,
        forced: bool,
        stream: &mut Stream,
    ) -> Option<(f64, Event)> {
        let (window_h, left_h) = (due_h - self.now_h, self.horizon_h - self.now_h);
        let hazard = self.hazard_over(window_h);
        let probability = -libm::expm1(-hazard);
        let failing = self.loss_after_failure(prospects, left_h);
        let passing = self.loss_after(event, prospects, left_h - window_h);
        let wanted = wanted(probability, failing, passing);
        if !self.happens(probability, wanted, forced, stream) {
            return None;
        }
        // A failure late in the window leaves less time for others: the hazard is drawn as if it were `tilt` times as large.
        let later = self.loss_after_failure(prospects, APART * left_h);
        let fall = libm::log(failing / later) / -libm::log(APART);
        let tilt = if fall > 0.0 && fall.is_finite() { 1.0 + fall * (window_h / left_h) / hazard } else { 1.0 };
        let pace = if forced { tilt } else { 1.0 };
        // An exponential variable, given that it is below the hazard of the window.
        let reached = (-libm::log1p(libm::expm1(-pace * hazard) * stream.positive_unit()) / pace).min(hazard);
        self.ratio *= libm::exp((tilt - 1.0) * reached) * -libm::expm1(-tilt * hazard) / (tilt * probability);
        let after_h = self.time_of(reached, hazard, window_h);
        Some((self.now_h + after_h, self.culprit(after_h, stream)))
    }

    /// Whether a latent error that is there with this probability is there.
    pub(super) fn strikes(&mut self, probability: f64, stream: &mut Stream) -> bool {
        let Draw::InWindows { prospects, forced } = self.draw else { return stream.chance(probability) };
        let passing = prospects.loss(self.state(), self.horizon_h - self.now_h);
        self.happens(probability, wanted(probability, 1.0, passing), forced, stream)
    }

    /// Whether new devices, of which so many are weak together or not at all, are weak.
    pub(super) fn is_weak(&mut self, probability: f64, together: u32, stream: &mut Stream) -> bool {
        let Draw::InWindows { forced, .. } = self.draw else { return stream.chance(probability) };
        let draws = self.enclosure.devices().div_ceil(together);
        self.happens(probability, WEAK / f64::from(draws), forced, stream)
    }

    /// Draws whether something of this probability happens, where a forced life lets it happen with that of `wanted`.
    fn happens(&mut self, probability: f64, wanted: f64, forced: bool, stream: &mut Stream) -> bool {
        if probability <= 0.0 || probability >= wanted {
            return stream.chance(probability);
        }
        let happens = stream.chance(if forced { wanted } else { probability });
        self.ratio *= if happens { probability / wanted } else { (1.0 - probability) / (1.0 - wanted) };
        happens
    }

    /// Prospect of a loss if something fails now: the mean over what may fail.
    fn loss_after_failure(&self, prospects: &Prospects, left_h: f64) -> f64 {
        let state = self.state();
        let (rate, latent_rate) = (prospects.failure_rate(), self.latent_rate());
        let in_use = f64::from(in_use(self.enclosure, state)) * rate;
        let on_shelf = if self.spares_age() { f64::from(state.spares) * rate } else { 0.0 };
        let mut loss = in_use * prospects.loss_after_failure(state, left_h) + latent_rate;
        if on_shelf > 0.0 {
            loss += on_shelf * prospects.loss(State { spares: state.spares - 1, ..state }, left_h);
        }
        loss / (in_use + on_shelf + latent_rate)
    }

    /// Prospect of a loss after what is due.
    fn loss_after(&self, event: Event, prospects: &Prospects, left_h: f64) -> f64 {
        let State { failed, spares } = self.state();
        match event {
            Event::Horizon => 0.0,
            Event::LatentError => 1.0,
            Event::Failure { .. } => self.loss_after_failure(prospects, left_h),
            Event::Rebuilt { .. } => prospects.loss(State { failed: failed - 1, spares: spares - 1 }, left_h),
            Event::Visit => prospects.loss(State { failed: 0, spares: self.enclosure.spares }, left_h),
        }
    }

    fn spares_age(&self) -> bool {
        self.enclosure.spares_fail && self.enclosure.sparing == Sparing::Dedicated
    }

    /// Hazard of everything that can fail, from now over a time in h.
    fn hazard_over(&self, time_h: f64) -> f64 {
        let devices: f64 = self.ageing().map(|(_, age_h, law)| law.hazard_over(age_h, time_h)).sum();
        devices + self.latent_rate() * time_h
    }

    /// Places, ages now in h, and laws of the devices that age.
    fn ageing(&self) -> impl Iterator<Item = (usize, f64, Law)> + '_ {
        let ages = |role| role == Role::InUse || role == Role::Spare && self.enclosure.spares_fail;
        let places = self.places.iter().enumerate().filter(move |(_, place)| ages(place.role));
        places.map(|(index, place)| (index, self.now_h - place.since_h, place.law))
    }

    /// The time from now, in h, at which the hazard reaches a value: Newton's steps, or halvings where those lead astray.
    fn time_of(&self, reached: f64, hazard: f64, window_h: f64) -> f64 {
        let (mut low_h, mut high_h) = (0.0, window_h);
        let mut time_h = window_h * (reached / hazard);
        for _ in 0..MOST_STEPS {
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
        self.ageing().map(|(_, age_h, law)| law.hazard_rate(age_h + time_h)).sum::<f64>() + self.latent_rate()
    }

    /// What fails at a time from now, in h, if something does: each as likely as its hazard is large.
    fn culprit(&self, time_h: f64, stream: &mut Stream) -> Event {
        let mut left = stream.unit() * self.hazard_rate(time_h);
        let mut last = Event::LatentError;
        for (place, age_h, law) in self.ageing() {
            last = Event::Failure { place };
            left -= law.hazard_rate(age_h + time_h);
            if left < 0.0 {
                return last;
            }
        }
        // What the devices leave is the latent errors'; without any, it is rounding.
        if self.latent_rate() > 0.0 {
            Event::LatentError
        } else {
            last
        }
    }
}

/// The probability with which something is to happen that happens with `probability`, from the prospects of a loss if it does
/// and if it does not: so much of the whole prospect as goes through it. Where that is too small to be told from 0, nothing.
fn wanted(probability: f64, failing: f64, passing: f64) -> f64 {
    let through = probability * failing;
    if through <= 0.0 {
        return 0.0;
    }
    let share = through / (through + (1.0 - probability) * passing);
    if passing > 0.0 {
        share.min(MOST)
    } else {
        share
    }
}
