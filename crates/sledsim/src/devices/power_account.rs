//! Energy of a device with known power: by operation and state while it works, by idle mode while it is idle.
//!
//! Times are whole nanoseconds and are converted to joules only when they are read, so no precision is lost in a long run.

use crate::fault::Fault;
use crate::power::{Activity, Meter, PowerParameters, SpinDown, SpinDownSpec};
use crate::request::Op;
use crate::service::{EnergyLedger, RequestEnergy, State, MODES, STATES};
use crate::time::{ns_to_s, Time};

/// An interval in one state, for one operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub op: Op,
    pub state: State,
    pub from: Time,
    pub to: Time,
}

/// Time that the mechanism worked, by operation and state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BusyTime {
    time_ns: [[u64; STATES.len()]; 2],
}

impl BusyTime {
    /// Adds the part of `work` before `until`.
    #[inline]
    pub(super) fn add(&mut self, work: &Work, until: Time) {
        self.time_ns[work.op as usize][work.state as usize] += work.to.min(until).saturating_since(work.from);
    }

    /// Returns the time in a state, for both operations.
    #[inline]
    fn state_ns(&self, state: usize) -> u64 {
        self.time_ns[0][state] + self.time_ns[1][state]
    }

    /// Returns the ledger at `now` of a device whose power is not known; the rest of the time is idle.
    pub(super) fn ledger(&self, now: Time) -> EnergyLedger {
        let mut time_ns = std::array::from_fn(|state| self.state_ns(state));
        time_ns[State::Idle as usize] = now.ns().saturating_sub(time_ns.iter().sum());
        EnergyLedger { time_ns, ..EnergyLedger::default() }
    }
}

/// The activity of a mechanism until an instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct ActivityUntil<'a> {
    /// The instant.
    pub now: Time,
    /// Start of the idle period at `now`; `None` if the mechanism works.
    pub idle_since: Option<Time>,
    /// All its work.
    pub busy: BusyTime,
    /// The work that the meter does not include yet, in the order of time.
    pub work: &'a [Work],
}

impl ActivityUntil<'_> {
    /// Returns the length of the idle period so far.
    #[inline]
    fn idle_ns(&self) -> u64 {
        self.idle_since.map_or(0, |since| self.now.saturating_since(since))
    }
}

/// A return from an idle mode to the ready mode.
#[derive(Clone, Copy, Debug)]
struct WakeUp {
    mode: usize,
    until: Time,
    /// Energy that an ideal policy would have saved in the idle period before, including the wake-up.
    regret_j: f64,
}

/// The energy account of a device with known power: work, idle periods and wake-ups.
///
/// While a request is served but the mechanism does not move (commands, bus), the device draws the power of the ready mode.
#[derive(Clone, Debug)]
pub(super) struct PowerAccount {
    active_w: [f64; 2],
    seek_w: [f64; 2],
    spin_down: SpinDown,
    meter: Meter,
    /// Time in each mode, in the idle periods that are over.
    modes_ns: [u64; MODES],
    /// Time of wake-ups, including all of the last, by the mode that they start from.
    startup_ns: [u64; MODES],
    last_wake_up: Option<WakeUp>,
    /// Energy that an ideal policy would have saved in the idle periods before the last wake-up.
    regret_j: f64,
}

impl PowerAccount {
    /// Returns the account of a device that has done nothing yet, and enters each idle mode after the time given with the mode.
    ///
    /// # Errors
    /// The parameters contradict each other.
    pub(super) fn new(parameters: &PowerParameters) -> Result<Self, Fault> {
        let active_w = [parameters.active_read_w, parameters.active_write_w];
        Ok(Self {
            active_w,
            seek_w: parameters.seek_w.map_or(active_w, |seek_w| [seek_w; 2]),
            spin_down: SpinDown::new(None, parameters.ladder()?),
            meter: Meter::new(Activity::READY),
            modes_ns: [0; MODES],
            startup_ns: [0; MODES],
            last_wake_up: None,
            regret_j: 0.0,
        })
    }

    /// Sets the policy that decides when the device enters idle modes; `None`: after the time given with each mode.
    pub(super) fn set_policy(&mut self, policy: Option<&SpinDownSpec>) {
        self.spin_down = SpinDown::new(policy, self.spin_down.ladder().clone());
    }

    /// Returns the policy that decides when the device enters idle modes.
    pub(super) fn spin_down(&self) -> &SpinDown {
        &self.spin_down
    }

    /// Returns [`PowerAccount::spin_down`], to be changed.
    pub(super) fn spin_down_mut(&mut self) -> &mut SpinDown {
        &mut self.spin_down
    }

    /// Returns the wake-up time of a request dispatched at `now`, in an idle period that began at `idle_since`, if in any.
    #[inline]
    pub(super) fn wake_ns(&self, now: Time, idle_since: Option<Time>) -> u64 {
        match idle_since.map_or(0, |since| now.saturating_since(since)) {
            0 => 0,
            idle_ns => self.spin_down.ladder().modes()[self.spin_down.mode_at(idle_ns)].wake_ns,
        }
    }

    /// Ends the idle period, if there is one, for a request dispatched now; returns the request's wake-up time.
    pub(super) fn wake(&mut self, activity: &ActivityUntil<'_>) -> u64 {
        let idle_ns = activity.idle_ns();
        let spent_ns = self.spin_down.spent_ns(idle_ns);
        self.settle(activity, Some(&spent_ns));
        if idle_ns == 0 {
            return 0;
        }
        self.modes_ns.iter_mut().zip(spent_ns).for_each(|(mode_ns, spent_ns)| *mode_ns += spent_ns);
        let mode = self.spin_down.mode_at(idle_ns);
        let wake_ns = self.spin_down.ladder().modes()[mode].wake_ns;
        self.regret_j += self.last_wake_up.take().map_or(0.0, |last| last.regret_j);
        let regret_j = self.spin_down.regret_j(idle_ns);
        self.spin_down.ended(idle_ns);
        self.startup_ns[mode] += wake_ns;
        self.last_wake_up = Some(WakeUp { mode, until: activity.now + wake_ns, regret_j });
        wake_ns
    }

    /// Returns the ledger at the end of `activity`, in an idle period that a request dispatched at `ended` ends, or that goes on.
    pub(super) fn ledger(&self, activity: &ActivityUntil<'_>, ended: Option<Time>) -> EnergyLedger {
        let (now, busy, idle_ns) = (activity.now, &activity.busy, activity.idle_ns());
        let (spent_ns, mut regret_j) = match ended {
            None => (self.spin_down.open_ns(idle_ns), self.spin_down.waste_j(idle_ns)),
            Some(ended) => {
                let whole_ns = idle_ns + (ended - now);
                (self.spin_down.part_ns(idle_ns, whole_ns), self.spin_down.part_regret_j(idle_ns, whole_ns))
            }
        };
        if activity.idle_since.is_none() {
            regret_j = 0.0;
        }
        let mut modes_ns: [u64; MODES] = std::array::from_fn(|mode| self.modes_ns[mode] + spent_ns[mode]);
        let mut startup_ns = self.startup_ns;
        if let Some(last) = self.last_wake_up {
            // The part of the wake-up that is still to come has not been spent, and an ideal policy would not save it.
            let ahead_ns = last.until.saturating_since(now);
            startup_ns[last.mode] -= ahead_ns;
            regret_j += (last.regret_j - self.spin_down.ahead_j(last.mode, ahead_ns)).max(0.0);
        }
        let mut ledger = EnergyLedger { regret_j: self.regret_j + regret_j, ..EnergyLedger::default() };
        for state in [State::Seek, State::Rotation, State::Servo, State::Data] {
            ledger.time_ns[state as usize] = busy.state_ns(state as usize);
            ledger.energy_j[state as usize] = self.work_j(busy, state);
        }
        ledger.time_ns[State::Inactive as usize] = modes_ns[1..].iter().sum();
        ledger.time_ns[State::Startup as usize] = startup_ns.iter().sum();
        // The rest, including waits for commands and the bus, is spent in the ready mode.
        modes_ns[0] = now.ns().saturating_sub(ledger.time_ns.iter().sum());
        ledger.time_ns[State::Idle as usize] = modes_ns[0];
        for (index, mode) in self.spin_down.ladder().modes().iter().enumerate() {
            ledger.modes[index].time_ns = modes_ns[index];
            ledger.modes[index].energy_j = ns_to_s(modes_ns[index]) * mode.power_w;
            ledger.energy_j[State::Startup as usize] += ns_to_s(startup_ns[index]) * mode.wake_w;
        }
        ledger.energy_j[State::Idle as usize] = ledger.modes[0].energy_j;
        ledger.energy_j[State::Inactive as usize] = ledger.modes[1..].iter().map(|mode| mode.energy_j).sum();
        let mut meter = self.meter.clone();
        self.update(&mut meter, activity, Some(&spent_ns));
        meter.book_entries(&mut ledger);
        ledger
    }

    /// Returns the meter at the end of `activity`; the idle period under way counts as one that goes on.
    pub(super) fn meter(&self, activity: &ActivityUntil<'_>) -> Meter {
        let mut meter = self.meter.clone();
        self.update(&mut meter, activity, Some(&self.spin_down.open_ns(activity.idle_ns())));
        meter
    }

    /// Brings the meter up to the end of `activity`, but for an idle period whose mode depends on its end, and returns it.
    pub(super) fn settle_meter(&mut self, activity: &ActivityUntil<'_>) -> &mut Meter {
        let idle_ns = activity.idle_ns();
        let spent_ns = self.spin_down.open_ns(idle_ns);
        self.settle(activity, self.spin_down.decided(idle_ns).then_some(&spent_ns));
        &mut self.meter
    }

    fn settle(&mut self, activity: &ActivityUntil<'_>, spent_ns: Option<&[u64; MODES]>) {
        let mut meter = std::mem::replace(&mut self.meter, Meter::new(Activity::READY));
        self.update(&mut meter, activity, spent_ns);
        self.meter = meter;
    }

    /// Adds the last wake-up, work and the idle period to a meter, with the time in each mode; only the start of the idle period
    /// if that time is not known.
    fn update(&self, meter: &mut Meter, activity: &ActivityUntil<'_>, spent_ns: Option<&[u64; MODES]>) {
        let (now, modes) = (activity.now, self.spin_down.ladder().modes());
        let ready_w = modes[0].power_w;
        if let Some(last) = self.last_wake_up {
            meter.span(Activity::STARTUP, last.until.min(now), modes[last.mode].wake_w);
        }
        for work in activity.work.iter().take_while(|work| work.from < now) {
            meter.span(Activity::READY, work.from, ready_w);
            let (activity, powers_w) = match work.state {
                State::Seek => (Activity::SEEK, &self.seek_w),
                State::Rotation => (Activity::ROTATION, &self.active_w),
                _ => (Activity::DATA, &self.active_w),
            };
            meter.span(activity, work.to.min(now), powers_w[work.op as usize]);
        }
        let Some(mut until) = activity.idle_since else {
            meter.span(Activity::READY, now, ready_w);
            return;
        };
        meter.span(Activity::READY, until, ready_w);
        for (index, (mode, spent_ns)) in modes.iter().zip(spent_ns.into_iter().flatten()).enumerate() {
            until += *spent_ns;
            meter.span(Activity::idle(index), until, mode.power_w);
        }
    }

    /// Returns the energy of a service of `service_ns` from dispatch to completion: of a wake-up of `wake_ns`, of the work between
    /// the two busy times `before` and `after`, and of the remaining time in the ready mode.
    pub(super) fn service_energy(
        &self,
        service_ns: u64,
        wake_ns: u64,
        [before, after]: [&BusyTime; 2],
    ) -> RequestEnergy {
        let mut work = *after;
        for (times_ns, then_ns) in work.time_ns.iter_mut().zip(&before.time_ns) {
            times_ns.iter_mut().zip(then_ns).for_each(|(ns, then_ns)| *ns -= then_ns);
        }
        let worked_ns: u64 = work.time_ns.iter().flatten().sum();
        let modes = self.spin_down.ladder().modes();
        let wake_w = self.last_wake_up.map_or(0.0, |last| modes[last.mode].wake_w);
        RequestEnergy {
            startup_j: ns_to_s(wake_ns) * wake_w,
            seek_j: self.work_j(&work, State::Seek),
            rotation_j: self.work_j(&work, State::Rotation),
            servo_j: self.work_j(&work, State::Servo),
            data_j: self.work_j(&work, State::Data),
            idle_j: ns_to_s(service_ns.saturating_sub(wake_ns + worked_ns)) * modes[0].power_w,
        }
    }

    /// Returns the energy of work in a state, in joules.
    fn work_j(&self, busy: &BusyTime, state: State) -> f64 {
        let powers_w = if state == State::Seek { &self.seek_w } else { &self.active_w };
        powers_w.iter().zip(&busy.time_ns).map(|(power_w, time_ns)| ns_to_s(time_ns[state as usize]) * power_w).sum()
    }
}
