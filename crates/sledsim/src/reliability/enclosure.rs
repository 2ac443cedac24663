//! Simulation of one enclosure from event to event.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::engine::random::Stream;

use super::device::{Bay, DeviceSupply, Role};
use super::lifetime::Law;
use super::loss_probabilities::LossProbabilities;
use super::parameters::{DelayDistribution, Enclosure, LatentErrors, Sparing};
use super::tally::Visits;

/// Device steps between two checks of the stop flag: about 1 ms.
const STOP_CHECK_STEPS: u64 = 1 << 18;
/// Cost of an event of a forced life, relative to one of a plain life: it needs the hazards of all devices several times.
const FORCED_EVENT_COST: u64 = 32;

/// Share of the lives of a forced experiment that are not forced.
///
/// With this mixture, no weight exceeds the inverse of this share: the variance of the estimate is bounded, and an experiment
/// without losses still gives an upper bound (defensive importance sampling: T. Hesterberg, "Weighted average importance sampling
/// and defensive mixture distributions", 1995).
pub(super) const UNFORCED_SHARE: f64 = 0.1;

/// Method by which failures are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) enum Draw<'a> {
    /// The lifetime of each device, when it begins to age.
    Lifetimes,
    /// Failures in the window before each scheduled event. The likelihood ratio is kept.
    InWindows {
        /// Probabilities according to which failures are forced.
        losses: &'a LossProbabilities,
        /// True if failures are forced.
        forced: bool,
    },
}

/// State of an enclosure in the Markov model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// Missing devices whose data has not been rebuilt, f.
    pub(super) failed: u32,
    /// Remaining spares, s.
    pub(super) spares: u32,
}

/// Returns the number of devices in use in a state.
pub(super) fn in_use(enclosure: &Enclosure, state: State) -> u32 {
    match enclosure.sparing {
        Sparing::Dedicated => enclosure.width() - state.failed,
        Sparing::Distributed => enclosure.width() + state.spares - state.failed,
    }
}

/// An event in the life of an enclosure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Failure { bay: usize },
    LatentError,
    Rebuilt { rebuild: usize },
    Visit,
    Horizon,
}

/// An event and its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Due {
    pub(super) at_h: f64,
    pub(super) event: Event,
}

/// The end of a life.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LifeEnd {
    /// Time at which data was lost, h; `None` if there was no loss before the horizon.
    pub(super) lost_h: Option<f64>,
    /// Likelihood ratio: probability of this life divided by the probability with which it was drawn.
    pub(super) weight: f64,
}

/// The reason why a life was not simulated to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfinished {
    /// It was stopped.
    Stopped,
    /// It exceeded its number of device steps.
    TooLong,
}

/// A rebuild in progress.
#[derive(Clone, Copy, Debug)]
struct ActiveRebuild {
    done_h: f64,
    /// The bay of the dedicated spare that it writes.
    onto: Option<usize>,
}

/// An enclosure and the state of its life.
pub(super) struct Life<'a> {
    pub(super) enclosure: &'a Enclosure,
    supply: DeviceSupply<'a>,
    pub(super) draw: Draw<'a>,
    pub(super) horizon_h: f64,
    pub(super) bays: Vec<Bay>,
    pub(super) now_h: f64,
    /// Missing devices whose data has not been rebuilt, f.
    failed: u32,
    /// Remaining spares, s.
    spares: u32,
    rebuilds: Vec<ActiveRebuild>,
    visit_h: f64,
    /// True if the scheduled visit is that after a loss of redundancy.
    visit_is_mandatory: bool,
    latent_h: f64,
    /// Last time at which no device in use had a latent error, h.
    clean_h: f64,
    first_scrub_h: f64,
    /// Probability of the life so far, divided by its probability under forcing.
    pub(super) ratio: f64,
    /// Remaining device steps of all lives together.
    steps_left: u64,
    /// Cost of a new device, in device steps.
    steps_per_device: u64,
    /// Set to stop the simulation.
    stop: &'a AtomicBool,
}

impl<'a> Life<'a> {
    /// Returns an enclosure whose lives may take `steps` device steps together.
    pub(super) fn new(enclosure: &'a Enclosure, horizon_h: f64, steps: u64, stop: &'a AtomicBool) -> Self {
        Self {
            enclosure,
            supply: DeviceSupply::new(&enclosure.device),
            draw: Draw::Lifetimes,
            horizon_h,
            bays: Vec::with_capacity(enclosure.devices() as usize),
            now_h: 0.0,
            failed: 0,
            spares: 0,
            rebuilds: Vec::new(),
            visit_h: f64::INFINITY,
            visit_is_mandatory: false,
            latent_h: f64::INFINITY,
            clean_h: 0.0,
            first_scrub_h: 0.0,
            ratio: 1.0,
            steps_left: steps,
            steps_per_device: enclosure.device.draws(horizon_h),
            stop,
        }
    }

    /// Simulates a new enclosure to the loss of data or to the horizon.
    ///
    /// # Errors
    /// The simulation was stopped, or exceeded its device steps.
    pub(super) fn run(
        &mut self,
        draw: Draw<'a>,
        stream: &mut Stream,
        visits: &mut Visits,
    ) -> Result<LifeEnd, Unfinished> {
        self.reset(draw, stream);
        let event_steps = self.bays.len() as u64 * if matches!(draw, Draw::Lifetimes) { 1 } else { FORCED_EVENT_COST };
        let mut since_check = 0;
        loop {
            since_check += event_steps;
            if since_check >= STOP_CHECK_STEPS {
                since_check = 0;
                if self.stop.load(Ordering::Relaxed) {
                    return Err(Unfinished::Stopped);
                }
            }
            self.steps_left = self.steps_left.checked_sub(event_steps).ok_or(Unfinished::TooLong)?;
            let Due { at_h, event } = self.next(stream);
            self.now_h = at_h;
            let lost = match event {
                Event::Failure { bay } => self.fail(bay, stream),
                Event::LatentError => true,
                Event::Rebuilt { rebuild } => {
                    self.finish_rebuild(rebuild, stream);
                    false
                }
                Event::Visit => {
                    let replaced = self.replace_missing(stream);
                    self.steps_left = self.steps_left.saturating_sub(u64::from(replaced) * self.steps_per_device);
                    visits.record(at_h, replaced);
                    false
                }
                Event::Horizon => return Ok(LifeEnd { lost_h: None, weight: self.weight() }),
            };
            if lost {
                return Ok(LifeEnd { lost_h: Some(at_h), weight: self.weight() });
            }
            self.schedule_maintenance(stream);
        }
    }

    /// Returns the weight of a life: its probability divided by its probability under the mixture of forced and plain lives.
    fn weight(&self) -> f64 {
        match self.draw {
            Draw::Lifetimes => 1.0,
            Draw::InWindows { .. } => 1.0 / (UNFORCED_SHARE + (1.0 - UNFORCED_SHARE) / self.ratio),
        }
    }

    /// Starts a new enclosure at time 0.
    fn reset(&mut self, draw: Draw<'a>, stream: &mut Stream) {
        self.draw = draw;
        self.now_h = 0.0;
        self.failed = 0;
        self.spares = self.enclosure.spares;
        self.rebuilds.clear();
        self.visit_h = f64::INFINITY;
        self.visit_is_mandatory = false;
        self.latent_h = f64::INFINITY;
        self.clean_h = 0.0;
        self.ratio = 1.0;
        self.supply.new_batch();
        self.bays.clear();
        for bay in 0..self.enclosure.devices() {
            let idle = bay >= self.enclosure.width() && self.enclosure.sparing == Sparing::Dedicated;
            let role = if idle { Role::Spare } else { Role::InUse };
            let new = self.new_device(role, stream);
            self.bays.push(new);
        }
        if let Some(errors) = self.enclosure.device.latent_errors {
            self.first_scrub_h = errors.scrub_h.map_or(f64::INFINITY, |scrub_h| scrub_h * stream.positive_unit());
            if self.failed == self.enclosure.parity {
                self.await_latent_error(&errors, stream);
            }
        }
    }

    /// Returns the current state.
    pub(super) const fn state(&self) -> State {
        State { failed: self.failed, spares: self.spares }
    }

    /// Returns the next event: the first scheduled one, or an earlier failure.
    fn next(&mut self, stream: &mut Stream) -> Due {
        let mut due = Due { at_h: self.horizon_h, event: Event::Horizon };
        for (rebuild, active) in self.rebuilds.iter().enumerate() {
            if active.done_h < due.at_h {
                due = Due { at_h: active.done_h, event: Event::Rebuilt { rebuild } };
            }
        }
        if self.visit_h < due.at_h {
            due = Due { at_h: self.visit_h, event: Event::Visit };
        }
        if self.latent_h < due.at_h {
            due = Due { at_h: self.latent_h, event: Event::LatentError };
        }
        for (index, bay) in self.bays.iter().enumerate() {
            if bay.fails_h < due.at_h {
                due = Due { at_h: bay.fails_h, event: Event::Failure { bay: index } };
            }
        }
        match self.draw {
            Draw::Lifetimes => due,
            Draw::InWindows { losses, forced } => self.failure_before(due, losses, forced, stream).unwrap_or(due),
        }
    }

    /// Removes a failed device. Returns true if data is lost.
    fn fail(&mut self, bay: usize, stream: &mut Stream) -> bool {
        let role = self.bays[bay].role;
        self.bays[bay].role = Role::Missing;
        self.bays[bay].fails_h = f64::INFINITY;
        if role == Role::Spare {
            self.spares -= 1;
            self.rebuilds.retain(|active| active.onto != Some(bay));
            return false;
        }
        self.failed += 1;
        self.failed > self.enclosure.parity
            || self.failed == self.enclosure.parity && self.loses_to_latent_errors(stream)
    }

    /// Returns true if there is a latent error at the loss of redundancy. If not, draws the time of the next one.
    fn loses_to_latent_errors(&mut self, stream: &mut Stream) -> bool {
        let Some(errors) = self.enclosure.device.latent_errors else { return false };
        let clean_h = self.clean_h.max(self.last_scrub_h(&errors));
        let in_use = self.bays.iter().filter(|device| device.role == Role::InUse);
        let exposed_h: f64 = in_use.map(|device| self.now_h - device.data_since_h.max(clean_h)).sum();
        if self.has_latent_error(-libm::expm1(-exposed_h / errors.every_h), stream) {
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

    /// Draws the time of the first latent error without redundancy. With draws in windows it is part of the hazard instead.
    fn await_latent_error(&mut self, errors: &LatentErrors, stream: &mut Stream) {
        if matches!(self.draw, Draw::Lifetimes) {
            self.latent_h =
                self.now_h + errors.every_h / f64::from(in_use(self.enclosure, self.state())) * stream.exponential();
        }
    }

    /// Returns the rate of latent errors that lose data, per h: those of all devices in use while there is no redundancy.
    pub(super) fn latent_rate(&self) -> f64 {
        match self.enclosure.device.latent_errors {
            Some(errors) if self.failed == self.enclosure.parity => {
                f64::from(in_use(self.enclosure, self.state())) / errors.every_h
            }
            _ => 0.0,
        }
    }

    /// Completes a rebuild, which uses up the spare.
    fn finish_rebuild(&mut self, rebuild: usize, stream: &mut Stream) {
        let done = self.rebuilds.swap_remove(rebuild);
        self.regain_redundancy();
        self.failed -= 1;
        self.spares -= 1;
        if let Some(bay) = done.onto {
            self.bays[bay].role = Role::InUse;
            self.bays[bay].data_since_h = self.now_h;
            if !self.enclosure.spares_fail {
                self.bays[bay].since_h = self.now_h;
                self.bays[bay].fails_h = self.known_failure_h(self.bays[bay].law, stream);
            }
        } else if self.enclosure.rebuild.time.distribution == DelayDistribution::Exponential {
            // With fewer spares, the speed of the other rebuilds changes. Exponential times can be drawn again.
            self.rebuilds.clear();
        }
    }

    /// Replaces all missing devices, and returns their number.
    fn replace_missing(&mut self, stream: &mut Stream) -> u32 {
        self.regain_redundancy();
        self.supply.new_batch();
        let mut replaced = 0;
        for bay in 0..self.bays.len() {
            if self.bays[bay].role == Role::Missing {
                let in_use = replaced < self.failed || self.enclosure.sparing == Sparing::Distributed;
                self.bays[bay] = self.new_device(if in_use { Role::InUse } else { Role::Spare }, stream);
                replaced += 1;
            }
        }
        self.failed = 0;
        self.spares = self.enclosure.spares;
        self.rebuilds.clear();
        self.visit_h = f64::INFINITY;
        self.visit_is_mandatory = false;
        replaced
    }

    /// Ends the interval in which a latent error loses data.
    fn regain_redundancy(&mut self) {
        if self.failed == self.enclosure.parity && self.failed > 0 {
            self.clean_h = self.now_h;
            self.latent_h = f64::INFINITY;
        }
    }

    /// Returns a bay with a new device.
    fn new_device(&mut self, role: Role, stream: &mut Stream) -> Bay {
        let mut supply = self.supply;
        let law = supply.next_law(|probability, devices| self.is_weak(probability, devices, stream));
        self.supply = supply;
        let ages = role == Role::InUse || self.enclosure.spares_fail;
        let fails_h = if ages { self.known_failure_h(law, stream) } else { f64::INFINITY };
        Bay { role, law, since_h: self.now_h, data_since_h: self.now_h, fails_h }
    }

    /// Returns the time of failure of a device that begins to age now, h, if it is drawn in advance; infinity
    /// otherwise.
    fn known_failure_h(&self, law: Law, stream: &mut Stream) -> f64 {
        let mut age_h = if matches!(self.draw, Draw::Lifetimes) { law.sample_h(stream) } else { f64::INFINITY };
        if let Some(tips) = &self.enclosure.device.tips {
            age_h = age_h.min(tips.sample_h(age_h.min(self.horizon_h - self.now_h), stream, self.stop));
        }
        self.now_h + age_h
    }

    /// Starts rebuilds and schedules a visit, as required by the state.
    fn schedule_maintenance(&mut self, stream: &mut Stream) {
        let rebuild = &self.enclosure.rebuild;
        let wanted = self.failed.min(self.spares).min(rebuild.at_once) as usize;
        while self.rebuilds.len() < wanted {
            let done_h = self.now_h + rebuild.time_with(self.enclosure, self.spares).sample_h(stream);
            let is_free = |bay: &usize| {
                self.bays[*bay].role == Role::Spare && self.rebuilds.iter().all(|active| active.onto != Some(*bay))
            };
            let onto = (0..self.bays.len()).rev().find(is_free);
            self.rebuilds.push(ActiveRebuild { done_h, onto });
        }
        if self.spares == 0 {
            self.schedule_visit(stream);
        }
    }

    /// Schedules a visit when no spare is left.
    fn schedule_visit(&mut self, stream: &mut Stream) {
        let repair = &self.enclosure.repair;
        if self.failed > 0 {
            if let (Some(delay), false) = (repair.mandatory, self.visit_is_mandatory) {
                let due_h = self.now_h + delay.sample_h(stream);
                let is_memoryless = delay.distribution == DelayDistribution::Exponential;
                self.visit_h = if is_memoryless { due_h } else { due_h.min(self.visit_h) };
                self.visit_is_mandatory = true;
            }
        } else if let (Some(delay), true) = (repair.preventive, self.visit_h.is_infinite()) {
            if self.enclosure.spares > 0 {
                self.visit_h = self.now_h + delay.sample_h(stream);
            }
        }
    }
}
