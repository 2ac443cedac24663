//! What a device with known powers draws: while it works by operation and state, while it rests by idle mode.
//!
//! Times are whole nanoseconds and become joules only when asked for, so that nothing is lost however long a run is.

use crate::devices::IdlePolicy;
use crate::fault::Fault;
use crate::power::{Activity, Meter, PowerParameters, SpinDownSpec};
use crate::request::Op;
use crate::service::{EnergyLedger, RequestEnergy, State, MODES, STATES};
use crate::time::{ns_to_s, Time};

/// A stretch of time in one state, for one operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub op: Op,
    pub state: State,
    pub from: Time,
    pub to: Time,
}

/// How long the mechanism worked, by operation and state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Busy {
    time_ns: [[u64; STATES.len()]; 2],
}

impl Busy {
    /// It worked, but not beyond `until`.
    #[inline]
    pub(super) fn add(&mut self, work: &Work, until: Time) {
        self.time_ns[work.op as usize][work.state as usize] += work.to.min(until).saturating_since(work.from);
    }

    /// Nanoseconds in a state, for either operation.
    #[inline]
    fn state_ns(&self, state: usize) -> u64 {
        self.time_ns[0][state] + self.time_ns[1][state]
    }

    /// The ledger at `now` of a device whose powers are not known: what is left was spent idle.
    pub(super) fn ledger(&self, now: Time) -> EnergyLedger {
        let mut time_ns = std::array::from_fn(|state| self.state_ns(state));
        time_ns[State::Idle as usize] = now.ns().saturating_sub(time_ns.iter().sum());
        EnergyLedger { time_ns, ..EnergyLedger::default() }
    }
}

/// What a mechanism did until an instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deeds<'a> {
    /// The instant.
    pub now: Time,
    /// Since when it has had nothing to do then; `None` while it has.
    pub since: Option<Time>,
    /// All its work.
    pub busy: Busy,
    /// The work that its meter has not heard of, in the order of time.
    pub work: &'a [Work],
}

impl Deeds<'_> {
    /// How long it has had nothing to do.
    #[inline]
    fn idle_ns(&self) -> u64 {
        self.since.map_or(0, |since| self.now.saturating_since(since))
    }
}

/// A return from an idle mode.
#[derive(Clone, Copy, Debug)]
struct Return {
    mode: usize,
    until: Time,
    /// What hindsight would have saved in the idle period that it ended, the return included.
    regret_j: f64,
}

/// The powers of a device at work, and its idle periods.
///
/// While it serves a request but its mechanism stands still (commands, bus), it draws what it draws when ready.
#[derive(Clone, Debug)]
pub(super) struct Powered {
    active_w: [f64; 2],
    seek_w: [f64; 2],
    policy: IdlePolicy,
    meter: Meter,
    /// Nanoseconds in each mode, in the idle periods that are over.
    modes_ns: [u64; MODES],
    /// Nanoseconds of returns, by the mode that they led from, the last to its end.
    startup_ns: [u64; MODES],
    last_return: Option<Return>,
    /// What hindsight would have saved in the idle periods before the last return.
    regret_j: f64,
}

impl Powered {
    /// A device of those powers; it enters idle modes at their own times.
    ///
    /// # Errors
    /// Parameters that contradict each other: says which.
    pub(super) fn new(parameters: &PowerParameters) -> Result<Self, Fault> {
        let active_w = [parameters.active_read_w, parameters.active_write_w];
        Ok(Self {
            active_w,
            seek_w: parameters.seek_w.map_or(active_w, |seek_w| [seek_w; 2]),
            policy: IdlePolicy::new(None, parameters.ladder()?),
            meter: Meter::new(Activity::READY),
            modes_ns: [0; MODES],
            startup_ns: [0; MODES],
            last_return: None,
            regret_j: 0.0,
        })
    }

    /// From now on a policy says when it enters idle modes; their own times without one.
    pub(super) fn obey(&mut self, policy: Option<&SpinDownSpec>) {
        self.policy = IdlePolicy::new(policy, self.policy.ladder().clone());
    }

    /// What decides when it enters idle modes.
    pub(super) fn policy_mut(&mut self) -> &mut IdlePolicy {
        &mut self.policy
    }

    /// How long a request waits that comes at `now`, the device having had nothing to do since then, if it hasn't.
    #[inline]
    pub(super) fn wake_ns(&self, now: Time, since: Option<Time>) -> u64 {
        match since.map_or(0, |since| now.saturating_since(since)) {
            0 => 0,
            idle_ns => self.policy.ladder().modes()[self.policy.mode_at(idle_ns)].wake_ns,
        }
    }

    /// Ends the idle period, if there is one, for a request that comes now, and says how long that waits.
    pub(super) fn wake(&mut self, deeds: &Deeds<'_>) -> u64 {
        let idle_ns = deeds.idle_ns();
        let spent_ns = self.policy.spent_ns(idle_ns);
        self.settle(deeds, Some(&spent_ns));
        if idle_ns == 0 {
            return 0;
        }
        self.modes_ns.iter_mut().zip(spent_ns).for_each(|(mode_ns, spent_ns)| *mode_ns += spent_ns);
        let mode = self.policy.mode_at(idle_ns);
        let wake_ns = self.policy.ladder().modes()[mode].wake_ns;
        self.regret_j += self.last_return.take().map_or(0.0, |last| last.regret_j);
        let regret_j = self.policy.regret_j(idle_ns);
        self.policy.ended(deeds.now, idle_ns);
        self.startup_ns[mode] += wake_ns;
        self.last_return = Some(Return { mode, until: deeds.now + wake_ns, regret_j });
        wake_ns
    }

    /// The ledger after that. No request has ended the idle period yet, or the one dispatched at `ended` does.
    pub(super) fn ledger(&self, deeds: &Deeds<'_>, ended: Option<Time>) -> EnergyLedger {
        let (now, busy, idle_ns) = (deeds.now, &deeds.busy, deeds.idle_ns());
        let (spent_ns, mut regret_j) = match ended {
            None => (self.policy.open_ns(idle_ns), self.policy.waste_j(idle_ns)),
            Some(ended) => {
                let whole_ns = idle_ns + (ended - now);
                (self.policy.part_ns(idle_ns, whole_ns), self.policy.part_regret_j(idle_ns, whole_ns))
            }
        };
        if deeds.since.is_none() {
            regret_j = 0.0;
        }
        let mut modes_ns: [u64; MODES] = std::array::from_fn(|mode| self.modes_ns[mode] + spent_ns[mode]);
        let mut startup_ns = self.startup_ns;
        if let Some(last) = self.last_return {
            // What of the return is still to come has not been spent yet, and would not be saved.
            let ahead_ns = last.until.saturating_since(now);
            startup_ns[last.mode] -= ahead_ns;
            regret_j += (last.regret_j - self.policy.ahead_j(last.mode, ahead_ns)).max(0.0);
        }
        let mut ledger = EnergyLedger { regret_j: self.regret_j + regret_j, ..EnergyLedger::default() };
        for state in [State::Seek, State::Rotation, State::Servo, State::Data] {
            ledger.time_ns[state as usize] = busy.state_ns(state as usize);
            ledger.energy_j[state as usize] = self.work_j(busy, state);
        }
        ledger.time_ns[State::Inactive as usize] = modes_ns[1..].iter().sum();
        ledger.time_ns[State::Startup as usize] = startup_ns.iter().sum();
        // What is left is the first mode's: there it waits for commands and the bus, too.
        modes_ns[0] = now.ns().saturating_sub(ledger.time_ns.iter().sum());
        ledger.time_ns[State::Idle as usize] = modes_ns[0];
        for (index, mode) in self.policy.ladder().modes().iter().enumerate() {
            ledger.modes[index].time_ns = modes_ns[index];
            ledger.modes[index].energy_j = ns_to_s(modes_ns[index]) * mode.power_w;
            ledger.energy_j[State::Startup as usize] += ns_to_s(startup_ns[index]) * mode.wake_w;
        }
        ledger.energy_j[State::Idle as usize] = ledger.modes[0].energy_j;
        ledger.energy_j[State::Inactive as usize] = ledger.modes[1..].iter().map(|spell| spell.energy_j).sum();
        let mut meter = self.meter.clone();
        self.tell(&mut meter, deeds, Some(&spent_ns));
        meter.book_entries(&mut ledger);
        ledger
    }

    /// The meter, told of everything until now: of the idle period under way as if no request ended it.
    pub(super) fn meter(&self, deeds: &Deeds<'_>) -> Meter {
        let mut meter = self.meter.clone();
        self.tell(&mut meter, deeds, Some(&self.policy.open_ns(deeds.idle_ns())));
        meter
    }

    /// The meter, as far as it has been told.
    pub(super) fn meter_mut(&mut self) -> &mut Meter {
        &mut self.meter
    }

    /// The meter, told of what is decided until now.
    pub(super) fn settle_meter(&mut self, deeds: &Deeds<'_>) -> &mut Meter {
        let idle_ns = deeds.idle_ns();
        let spent_ns = self.policy.open_ns(idle_ns);
        self.settle(deeds, self.policy.decided(idle_ns).then_some(&spent_ns));
        &mut self.meter
    }

    fn settle(&mut self, deeds: &Deeds<'_>, spent_ns: Option<&[u64; MODES]>) {
        let mut meter = std::mem::replace(&mut self.meter, Meter::new(Activity::READY));
        self.tell(&mut meter, deeds, spent_ns);
        self.meter = meter;
    }

    /// Tells a meter of a return, of work and of the idle period, so much of that in each mode; of the idle period's beginning
    /// alone where that is not known.
    fn tell(&self, meter: &mut Meter, deeds: &Deeds<'_>, spent_ns: Option<&[u64; MODES]>) {
        let (now, modes) = (deeds.now, self.policy.ladder().modes());
        let ready_w = modes[0].power_w;
        if let Some(last) = self.last_return {
            meter.span(Activity::STARTUP, last.until.min(now), modes[last.mode].wake_w);
        }
        for work in deeds.work.iter().take_while(|work| work.from < now) {
            meter.span(Activity::READY, work.from, ready_w);
            let (activity, powers_w) = match work.state {
                State::Seek => (Activity::SEEK, &self.seek_w),
                State::Rotation => (Activity::ROTATION, &self.active_w),
                _ => (Activity::DATA, &self.active_w),
            };
            meter.span(activity, work.to.min(now), powers_w[work.op as usize]);
        }
        let Some(mut until) = deeds.since else {
            meter.span(Activity::READY, now, ready_w);
            return;
        };
        meter.span(Activity::READY, until, ready_w);
        for (index, (mode, spent_ns)) in modes.iter().zip(spent_ns.into_iter().flatten()).enumerate() {
            until += *spent_ns;
            meter.span(Activity::idle(index), until, mode.power_w);
        }
    }

    /// Joules of a service from its dispatch to its completion, `service_ns` later: of a return of `wake_ns`, of what the
    /// mechanism did between the two, and of the rest.
    pub(super) fn service_energy(&self, service_ns: u64, wake_ns: u64, [before, after]: [&Busy; 2]) -> RequestEnergy {
        let mut did = *after;
        for (times_ns, then_ns) in did.time_ns.iter_mut().zip(&before.time_ns) {
            times_ns.iter_mut().zip(then_ns).for_each(|(ns, then_ns)| *ns -= then_ns);
        }
        let worked_ns: u64 = did.time_ns.iter().flatten().sum();
        let modes = self.policy.ladder().modes();
        let wake_w = self.last_return.map_or(0.0, |last| modes[last.mode].wake_w);
        RequestEnergy {
            startup_j: ns_to_s(wake_ns) * wake_w,
            seek_j: self.work_j(&did, State::Seek),
            rotation_j: self.work_j(&did, State::Rotation),
            servo_j: self.work_j(&did, State::Servo),
            data_j: self.work_j(&did, State::Data),
            idle_j: ns_to_s(service_ns.saturating_sub(wake_ns + worked_ns)) * modes[0].power_w,
        }
    }

    /// Joules of work in a state.
    fn work_j(&self, busy: &Busy, state: State) -> f64 {
        let powers_w = if state == State::Seek { &self.seek_w } else { &self.active_w };
        powers_w.iter().zip(&busy.time_ns).map(|(power_w, time_ns)| ns_to_s(time_ns[state as usize]) * power_w).sum()
    }
}
