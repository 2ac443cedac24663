//! One enclosure, followed from failure to failure.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::engine::random::Stream;

use super::device::{Delivery, Place, Role};
use super::lifetime::Law;
use super::parameters::{DelayDistribution, Enclosure, LatentErrors, Sparing};
use super::prospects::Prospects;
use super::tally::Visits;

/// Looks at devices after which a life sees whether it is to stop: a thousandth of a second, or so.
const UNHEARD: u64 = 1 << 18;
/// What an event takes where losses are forced, over one of plain lives: the hazards of all devices, several times over.
const FORCING: u64 = 32;

/// Share of the lives of a forced experiment that are not forced.
///
/// Against the mixture of both, no likelihood ratio exceeds the inverse of this share: the estimate's variance is bounded,
/// and an experiment in which nothing is lost still gives an upper bound (defensive importance sampling: T. Hesterberg,
/// "Weighted average importance sampling and defensive mixture distributions", 1995).
pub(super) const UNFORCED_SHARE: f64 = 0.1;

/// How failures are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) enum Draw<'a> {
    /// Each device's lifetime when it begins to age.
    AtBirth,
    /// From window to window, forced into those that hurt or as they come; either way the likelihood ratio is kept.
    InWindows {
        /// What tells where they hurt.
        prospects: &'a Prospects,
        /// Whether they are forced.
        forced: bool,
    },
}

/// What counts of an enclosure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// Devices missing whose data has not been rebuilt, f.
    pub(super) failed: u32,
    /// Spares left, s.
    pub(super) spares: u32,
}

/// Devices in use in a state.
pub(super) fn in_use(enclosure: &Enclosure, state: State) -> u32 {
    match enclosure.sparing {
        Sparing::Dedicated => enclosure.width() - state.failed,
        Sparing::Distributed => enclosure.width() + state.spares - state.failed,
    }
}

/// What comes next in an enclosure's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Failure { place: usize },
    LatentError,
    Rebuilt { rebuild: usize },
    Visit,
    Horizon,
}

/// How a life ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fate {
    /// When data was lost, h; none where it was not until the horizon.
    pub(super) lost_h: Option<f64>,
    /// Probability of this course over that with which it was drawn.
    pub(super) weight: f64,
}

/// Why a life was not followed to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfinished {
    /// It was stopped.
    Stopped,
    /// It took more looks at devices than it may.
    TooLong,
    /// There was no thread to follow it in.
    NoThread,
}

/// A rebuild under way.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    done_h: f64,
    /// The place of the dedicated spare that it writes.
    onto: Option<usize>,
}

/// An enclosure and where its life stands.
pub(super) struct Life<'a> {
    pub(super) enclosure: &'a Enclosure,
    delivery: Delivery<'a>,
    pub(super) draw: Draw<'a>,
    pub(super) horizon_h: f64,
    pub(super) places: Vec<Place>,
    pub(super) now_h: f64,
    /// Devices missing whose data has not been rebuilt, f.
    failed: u32,
    /// Spares left, s.
    spares: u32,
    rebuilds: Vec<Recovery>,
    visit_h: f64,
    /// Whether the visit called for is that of the degraded mode.
    called_degraded: bool,
    latent_h: f64,
    /// When all devices in use were last known to have no latent error, h.
    clean_h: f64,
    first_scrub_h: f64,
    /// Probability of the life so far over that with which a forced one takes this course.
    pub(super) ratio: f64,
    /// Looks at devices that all its lives may yet take.
    looks_left: u64,
    /// What a new device takes, in looks.
    draws: u64,
    /// Whether nobody waits for it any more.
    stop: &'a AtomicBool,
}

impl<'a> Life<'a> {
    /// An enclosure whose lives take so many looks at devices at most, all together, until they are stopped.
    pub(super) fn new(enclosure: &'a Enclosure, horizon_h: f64, looks: u64, stop: &'a AtomicBool) -> Self {
        Self {
            enclosure,
            delivery: Delivery::new(&enclosure.device),
            draw: Draw::AtBirth,
            horizon_h,
            places: Vec::with_capacity(enclosure.devices() as usize),
            now_h: 0.0,
            failed: 0,
            spares: 0,
            rebuilds: Vec::new(),
            visit_h: f64::INFINITY,
            called_degraded: false,
            latent_h: f64::INFINITY,
            clean_h: 0.0,
            first_scrub_h: 0.0,
            ratio: 1.0,
            looks_left: looks,
            draws: enclosure.device.draws(horizon_h),
            stop,
        }
    }

    /// Follows the enclosure from new to the loss of data or to the horizon, unless it is stopped or takes too long.
    pub(super) fn live(
        &mut self,
        draw: Draw<'a>,
        stream: &mut Stream,
        visits: &mut Visits,
    ) -> Result<Fate, Unfinished> {
        self.begin(draw, stream);
        let event_looks = self.places.len() as u64 * if matches!(draw, Draw::AtBirth) { 1 } else { FORCING };
        let mut unheard = 0;
        loop {
            unheard += event_looks;
            if unheard >= UNHEARD {
                unheard = 0;
                if self.stop.load(Ordering::Relaxed) {
                    return Err(Unfinished::Stopped);
                }
            }
            self.looks_left = self.looks_left.checked_sub(event_looks).ok_or(Unfinished::TooLong)?;
            let (at_h, event) = self.next(stream);
            self.now_h = at_h;
            let lost = match event {
                Event::Failure { place } => self.fail(place, stream),
                Event::LatentError => true,
                Event::Rebuilt { rebuild } => {
                    self.finish(rebuild, stream);
                    false
                }
                Event::Visit => {
                    let replaced = self.replace_missing(stream);
                    self.looks_left = self.looks_left.saturating_sub(u64::from(replaced) * self.draws);
                    visits.record(at_h, replaced);
                    false
                }
                Event::Horizon => return Ok(Fate { lost_h: None, weight: self.weight() }),
            };
            if lost {
                return Ok(Fate { lost_h: Some(at_h), weight: self.weight() });
            }
            self.plan(stream);
        }
    }

    /// The weight of a life: its probability over that with which forced and other lives together have drawn it.
    fn weight(&self) -> f64 {
        match self.draw {
            Draw::AtBirth => 1.0,
            Draw::InWindows { .. } => 1.0 / (UNFORCED_SHARE + (1.0 - UNFORCED_SHARE) / self.ratio),
        }
    }

    /// A new enclosure at time 0.
    fn begin(&mut self, draw: Draw<'a>, stream: &mut Stream) {
        self.draw = draw;
        self.now_h = 0.0;
        self.failed = 0;
        self.spares = self.enclosure.spares;
        self.rebuilds.clear();
        self.visit_h = f64::INFINITY;
        self.called_degraded = false;
        self.latent_h = f64::INFINITY;
        self.clean_h = 0.0;
        self.ratio = 1.0;
        self.delivery.new_batch();
        self.places.clear();
        for place in 0..self.enclosure.devices() {
            let idle = place >= self.enclosure.width() && self.enclosure.sparing == Sparing::Dedicated;
            let role = if idle { Role::Spare } else { Role::InUse };
            let new = self.new_device(role, stream);
            self.places.push(new);
        }
        if let Some(errors) = self.enclosure.device.latent_errors {
            self.first_scrub_h = errors.scrub_h.map_or(f64::INFINITY, |scrub_h| scrub_h * stream.positive_unit());
            if self.failed == self.enclosure.parity {
                self.await_latent_error(&errors, stream);
            }
        }
    }

    /// The state that it is in.
    pub(super) const fn state(&self) -> State {
        State { failed: self.failed, spares: self.spares }
    }

    /// The next event and its time: the first of what is due, unless something fails before it.
    fn next(&mut self, stream: &mut Stream) -> (f64, Event) {
        let mut due = (self.horizon_h, Event::Horizon);
        for (rebuild, recovery) in self.rebuilds.iter().enumerate() {
            if recovery.done_h < due.0 {
                due = (recovery.done_h, Event::Rebuilt { rebuild });
            }
        }
        if self.visit_h < due.0 {
            due = (self.visit_h, Event::Visit);
        }
        if self.latent_h < due.0 {
            due = (self.latent_h, Event::LatentError);
        }
        for (place, device) in self.places.iter().enumerate() {
            if device.fails_h < due.0 {
                due = (device.fails_h, Event::Failure { place });
            }
        }
        match self.draw {
            Draw::AtBirth => due,
            Draw::InWindows { prospects, forced } => self.failure_before(due, prospects, forced, stream).unwrap_or(due),
        }
    }

    /// Takes out a device that has failed; whether data is lost.
    fn fail(&mut self, place: usize, stream: &mut Stream) -> bool {
        let role = self.places[place].role;
        self.places[place].role = Role::Missing;
        self.places[place].fails_h = f64::INFINITY;
        if role == Role::Spare {
            self.spares -= 1;
            self.rebuilds.retain(|recovery| recovery.onto != Some(place));
            return false;
        }
        self.failed += 1;
        self.failed > self.enclosure.parity
            || self.failed == self.enclosure.parity && self.loses_to_latent_errors(stream)
    }

    /// Whether a latent error stands where redundancy has just gone; where none does, one may come.
    fn loses_to_latent_errors(&mut self, stream: &mut Stream) -> bool {
        let Some(errors) = self.enclosure.device.latent_errors else { return false };
        let clean_h = self.clean_h.max(self.last_scrub_h(&errors));
        let in_use = self.places.iter().filter(|device| device.role == Role::InUse);
        let exposed_h: f64 = in_use.map(|device| self.now_h - device.data_since_h.max(clean_h)).sum();
        if self.strikes(-libm::expm1(-exposed_h / errors.every_h), stream) {
            return true;
        }
        self.clean_h = self.now_h;
        self.await_latent_error(&errors, stream);
        false
    }

    fn last_scrub_h(&self, errors: &LatentErrors) -> f64 {
        match errors.scrub_h {
            Some(scrub_h) if self.now_h >= self.first_scrub_h => {
                self.first_scrub_h + ((self.now_h - self.first_scrub_h) / scrub_h).floor() * scrub_h
            }
            _ => 0.0,
        }
    }

    /// Draws when the first latent error comes while redundancy is missing; in windows it belongs to the hazard.
    fn await_latent_error(&mut self, errors: &LatentErrors, stream: &mut Stream) {
        if matches!(self.draw, Draw::AtBirth) {
            self.latent_h =
                self.now_h + errors.every_h / f64::from(in_use(self.enclosure, self.state())) * stream.exponential();
        }
    }

    /// Latent errors that lose data, per h: those of devices in use while redundancy is missing.
    pub(super) fn latent_rate(&self) -> f64 {
        match self.enclosure.device.latent_errors {
            Some(errors) if self.failed == self.enclosure.parity => {
                f64::from(in_use(self.enclosure, self.state())) / errors.every_h
            }
            _ => 0.0,
        }
    }

    /// The rebuild is done: the spare is used up.
    fn finish(&mut self, rebuild: usize, stream: &mut Stream) {
        let recovery = self.rebuilds.swap_remove(rebuild);
        self.regain_redundancy();
        self.failed -= 1;
        self.spares -= 1;
        if let Some(place) = recovery.onto {
            self.places[place].role = Role::InUse;
            self.places[place].data_since_h = self.now_h;
            if !self.enclosure.spares_fail {
                self.places[place].since_h = self.now_h;
                self.places[place].fails_h = self.known_failure_h(self.places[place].law, stream);
            }
        } else if self.enclosure.rebuild.time.distribution == DelayDistribution::Exponential {
            // With fewer spares the others go on at another speed; without memory they may as well begin anew.
            self.rebuilds.clear();
        }
    }

    /// Puts new devices in the place of those that are missing; returns how many.
    fn replace_missing(&mut self, stream: &mut Stream) -> u32 {
        self.regain_redundancy();
        self.delivery.new_batch();
        let mut replaced = 0;
        for place in 0..self.places.len() {
            if self.places[place].role == Role::Missing {
                let in_use = replaced < self.failed || self.enclosure.sparing == Sparing::Distributed;
                self.places[place] = self.new_device(if in_use { Role::InUse } else { Role::Spare }, stream);
                replaced += 1;
            }
        }
        self.failed = 0;
        self.spares = self.enclosure.spares;
        self.rebuilds.clear();
        self.visit_h = f64::INFINITY;
        self.called_degraded = false;
        replaced
    }

    /// Ends the time in which a latent error loses data.
    fn regain_redundancy(&mut self) {
        if self.failed == self.enclosure.parity && self.failed > 0 {
            self.clean_h = self.now_h;
            self.latent_h = f64::INFINITY;
        }
    }

    /// A device as it is delivered now.
    fn new_device(&mut self, role: Role, stream: &mut Stream) -> Place {
        let mut delivery = self.delivery;
        let law = delivery.next_law(|probability, devices| self.is_weak(probability, devices, stream));
        self.delivery = delivery;
        let ages = role == Role::InUse || self.enclosure.spares_fail;
        let fails_h = if ages { self.known_failure_h(law, stream) } else { f64::INFINITY };
        Place { role, law, since_h: self.now_h, data_since_h: self.now_h, fails_h }
    }

    /// When a device that begins to age now fails, as far as that is drawn at its birth.
    fn known_failure_h(&self, law: Law, stream: &mut Stream) -> f64 {
        let mut age_h = if matches!(self.draw, Draw::AtBirth) { law.sample_h(stream) } else { f64::INFINITY };
        if let Some(tips) = &self.enclosure.device.tips {
            age_h = age_h.min(tips.sample_h(age_h.min(self.horizon_h - self.now_h), stream, self.stop));
        }
        self.now_h + age_h
    }

    /// Begins the rebuilds and calls for the visit that the state asks for.
    fn plan(&mut self, stream: &mut Stream) {
        let rebuild = &self.enclosure.rebuild;
        let wanted = self.failed.min(self.spares).min(rebuild.at_once) as usize;
        while self.rebuilds.len() < wanted {
            let done_h = self.now_h + rebuild.time_with(self.enclosure, self.spares).sample_h(stream);
            let is_free = |place: &usize| {
                self.places[*place].role == Role::Spare && self.rebuilds.iter().all(|each| each.onto != Some(*place))
            };
            let onto = (0..self.places.len()).rev().find(is_free);
            self.rebuilds.push(Recovery { done_h, onto });
        }
        if self.spares == 0 {
            self.call(stream);
        }
    }

    /// Calls for a visit where no spare is left.
    fn call(&mut self, stream: &mut Stream) {
        let repair = &self.enclosure.repair;
        if self.failed > 0 {
            if let (Some(delay), false) = (repair.mandatory, self.called_degraded) {
                let due_h = self.now_h + delay.sample_h(stream);
                let begins_anew = delay.distribution == DelayDistribution::Exponential;
                self.visit_h = if begins_anew { due_h } else { due_h.min(self.visit_h) };
                self.called_degraded = true;
            }
        } else if let (Some(delay), true) = (repair.preventive, self.visit_h.is_infinite()) {
            if self.enclosure.spares > 0 {
                self.visit_h = self.now_h + delay.sample_h(stream);
            }
        }
    }
}
