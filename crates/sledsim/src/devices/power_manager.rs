//! Idle modes of a device with known power, and the intervals that make up its energy account.

use crate::devices::EnergyLedger;
use crate::fault::Fault;
use crate::power::{Activity, EnergyAccount, Level, LevelPower, PowerParameters, PowerTable, SpinDown, SpinDownSpec};
use crate::request::Op;
use crate::service::{RequestEnergy, State, MODES, STATES};
use crate::time::{ns_to_s, Time};

/// An interval in one state, for one operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub op: Op,
    pub state: State,
    pub from: Time,
    pub to: Time,
}

/// Time of work, by operation and state.
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

    /// Returns the time of `work` between two instants.
    #[inline]
    pub(super) fn between(work: &[Work], from: Time, to: Time) -> Self {
        let mut busy = Self::default();
        for work in work {
            busy.add(&Work { from: work.from.max(from), ..*work }, to);
        }
        busy
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
    /// The work that the account may not include yet, in the order of time.
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

/// The idle periods and wake-ups of a device with known power, and its energy account.
///
/// While a request is served but the mechanism does not move (commands, bus), the device draws the power of the ready mode.
#[derive(Clone, Debug)]
pub(super) struct PowerManager {
    active_w: [f64; 2],
    seek_w: [f64; 2],
    spin_down: SpinDown,
    account: EnergyAccount,
    last_wake_up: Option<WakeUp>,
    /// Energy that an ideal policy would have saved in the idle periods before the last wake-up.
    regret_j: f64,
    /// False if another mechanism of the device counts start-ups and idle modes.
    is_counting: bool,
}

impl PowerManager {
    /// Returns the state of a device that has done nothing yet, and enters each idle mode after the time given with the mode.
    ///
    /// # Errors
    /// The parameters contradict each other.
    pub(super) fn new(parameters: &PowerParameters) -> Result<Self, Fault> {
        let active_w = [parameters.active_read_w, parameters.active_write_w];
        let seek_w = parameters.seek_w.map_or(active_w, |seek_w| [seek_w; 2]);
        let ladder = parameters.ladder()?;
        let mut powers = PowerTable::default();
        for (index, mode) in ladder.modes().iter().enumerate() {
            powers = powers
                .with(Level::idle(index), LevelPower::constant(mode.power_w))
                .with(Level::startup_from(index), LevelPower::constant(mode.wake_w));
        }
        for op in [Op::Read, Op::Write] {
            powers = powers
                .with(Level::work(Activity::SEEK, op), LevelPower::constant(seek_w[op as usize]))
                .with(Level::work(Activity::ROTATION, op), LevelPower::constant(active_w[op as usize]))
                .with(Level::work(Activity::DATA, op), LevelPower::constant(active_w[op as usize]));
        }
        Ok(Self {
            active_w,
            seek_w,
            spin_down: SpinDown::new(None, ladder),
            account: EnergyAccount::new(Activity::READY, powers),
            last_wake_up: None,
            regret_j: 0.0,
            is_counting: true,
        })
    }

    /// Sets whether start-ups and idle modes are counted here, rather than by another mechanism of the device.
    pub(super) fn set_counting(&mut self, is_counting: bool) {
        self.is_counting = is_counting;
    }

    /// Sets the policy that decides when the device enters idle modes; `None`: after the time given with each mode.
    pub(super) fn set_policy(&mut self, policy: Option<&SpinDownSpec>) {
        self.spin_down = SpinDown::new(policy, self.spin_down.ladder().clone());
    }

    /// Returns the policy that decides when the device enters idle modes.
    pub(super) fn spin_down(&self) -> &SpinDown {
        &self.spin_down
    }

    /// Returns [`PowerManager::spin_down`], to be changed.
    pub(super) fn spin_down_mut(&mut self) -> &mut SpinDown {
        &mut self.spin_down
    }

    /// Returns the wake-up time of a request dispatched at `now`, in an idle period that began at `idle_since`, if in any.
    #[inline]
    pub(super) fn wake_ns(&self, now: Time, idle_since: Option<Time>) -> u64 {
        match idle_since.map_or(0, |since| now.saturating_since(since)) {
            0 => self.rest_of_wake_up_ns(now),
            idle_ns => self.spin_down.ladder().modes()[self.spin_down.mode_at(idle_ns)].wake_ns,
        }
    }

    /// Returns the time until the end of a wake-up under way at `now`, for a request to another mechanism of the device.
    #[inline]
    fn rest_of_wake_up_ns(&self, now: Time) -> u64 {
        self.last_wake_up.map_or(0, |last| last.until.saturating_since(now))
    }

    /// Ends the idle period, if there is one, for a request dispatched now; returns the request's wake-up time.
    pub(super) fn wake(&mut self, activity: &ActivityUntil<'_>) -> u64 {
        let idle_ns = activity.idle_ns();
        let spent_ns = self.spin_down.spent_ns(idle_ns);
        add_activity(&mut self.account, self.last_wake_up, activity, Some(&spent_ns));
        if idle_ns == 0 {
            return self.rest_of_wake_up_ns(activity.now);
        }
        let mode = self.spin_down.mode_at(idle_ns);
        let wake_ns = self.spin_down.ladder().modes()[mode].wake_ns;
        self.regret_j += self.last_wake_up.take().map_or(0.0, |last| last.regret_j);
        let regret_j = self.spin_down.regret_j(idle_ns);
        self.spin_down.record_idle(idle_ns);
        self.last_wake_up = Some(WakeUp { mode, until: activity.now + wake_ns, regret_j });
        wake_ns
    }

    /// Returns the ledger at the end of `activity`, in an idle period that a request dispatched at `ended` ends, or
    /// that has not ended.
    pub(super) fn ledger(&self, activity: &ActivityUntil<'_>, ended: Option<Time>) -> EnergyLedger {
        let (now, idle_ns) = (activity.now, activity.idle_ns());
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
        if let Some(last) = self.last_wake_up {
            // The part of the wake-up that is still to come has not been spent, and an ideal policy would not save it.
            let ahead_ns = last.until.saturating_since(now);
            regret_j += (last.regret_j - self.spin_down.return_part_j(last.mode, ahead_ns)).max(0.0);
        }
        let mut account = self.account.clone();
        add_activity(&mut account, self.last_wake_up, activity, Some(&spent_ns));
        if account.at() > now {
            // The account includes more of the idle period.
            let added_ns = self.spin_down.open_ns(idle_ns + (account.at() - now));
            for (mode, (added_ns, spent_ns)) in added_ns.into_iter().zip(spent_ns).enumerate() {
                account.remove_time(Level::idle(mode), 0, added_ns - spent_ns);
            }
        }
        let mut ledger = EnergyLedger { regret_j: self.regret_j + regret_j, ..account.ledger() };
        if !self.is_counting {
            for state in [State::Startup, State::Inactive, State::Idle] {
                ledger.entered[state as usize] = 0;
            }
            ledger.modes.iter_mut().for_each(|mode| mode.entered = 0);
        }
        ledger
    }

    /// Returns the account at the end of `activity`; the current idle period counts as unfinished.
    pub(super) fn account(&self, activity: &ActivityUntil<'_>) -> EnergyAccount {
        let mut account = self.account.clone();
        add_activity(&mut account, self.last_wake_up, activity, Some(&self.spin_down.open_ns(activity.idle_ns())));
        account
    }

    /// Brings the account up to the end of `activity`, except for an idle period whose mode depends on its end, and
    /// returns it.
    pub(super) fn settle_account(&mut self, activity: &ActivityUntil<'_>) -> &mut EnergyAccount {
        let idle_ns = activity.idle_ns();
        let spent_ns = self.spin_down.open_ns(idle_ns);
        add_activity(
            &mut self.account,
            self.last_wake_up,
            activity,
            self.spin_down.is_decided(idle_ns).then_some(&spent_ns),
        );
        &mut self.account
    }

    /// Returns the energy of a service of `service_ns` from dispatch to completion: of a wake-up of `wake_ns`, of the work meanwhile,
    /// and of the remaining time in the ready mode.
    pub(super) fn service_energy(&self, service_ns: u64, wake_ns: u64, work: &BusyTime) -> RequestEnergy {
        let worked_ns: u64 = work.time_ns.iter().flatten().sum();
        let modes = self.spin_down.ladder().modes();
        let wake_w = self.last_wake_up.map_or(0.0, |last| modes[last.mode].wake_w);
        RequestEnergy {
            startup_j: ns_to_s(wake_ns) * wake_w,
            seek_j: self.work_j(work, State::Seek),
            rotation_j: self.work_j(work, State::Rotation),
            servo_j: self.work_j(work, State::Servo),
            data_j: self.work_j(work, State::Data),
            idle_j: ns_to_s(service_ns.saturating_sub(wake_ns + worked_ns)) * modes[0].power_w,
        }
    }

    /// Returns the energy of work in a state, in joules.
    fn work_j(&self, busy: &BusyTime, state: State) -> f64 {
        let powers_w = if state == State::Seek { &self.seek_w } else { &self.active_w };
        powers_w.iter().zip(&busy.time_ns).map(|(power_w, time_ns)| ns_to_s(time_ns[state as usize]) * power_w).sum()
    }
}

/// Adds the last wake-up, work and the idle period to an account, with the time in each mode; only up to the start of the idle
/// period if that time is not known.
fn add_activity(
    account: &mut EnergyAccount,
    last_wake_up: Option<WakeUp>,
    activity: &ActivityUntil<'_>,
    spent_ns: Option<&[u64; MODES]>,
) {
    let (now, ready) = (activity.now, Level::idle(0));
    if let Some(last) = last_wake_up {
        account.add(Level::startup_from(last.mode), 0, last.until.min(now));
    }
    for work in activity.work.iter().take_while(|work| work.from < now) {
        account.add(ready, 0, work.from);
        let kind = match work.state {
            State::Seek => Activity::SEEK,
            State::Rotation => Activity::ROTATION,
            _ => Activity::DATA,
        };
        account.add(Level::work(kind, work.op), 0, work.to.min(now));
    }
    let Some(mut until) = activity.idle_since else {
        account.add(ready, 0, now);
        return;
    };
    account.add(ready, 0, until);
    for (mode, spent_ns) in spent_ns.into_iter().flatten().enumerate() {
        until += *spent_ns;
        account.add(Level::idle(mode), 0, until);
    }
}
