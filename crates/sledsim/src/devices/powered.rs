//! What a device with known powers draws: while it works by operation and state, while it rests by idle mode.
//!
//! Times are whole nanoseconds and become joules only when asked for, so that nothing is lost however long a run is.

use crate::power::{PowerParameters, SpinDown, SpinDownSpec};
use crate::request::Op;
use crate::service::{EnergyLedger, RequestEnergy, State, MODES, STATES};
use crate::time::{ns_to_s, Time};

/// What the mechanism did, by operation and state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Busy {
    time_ns: [[u64; STATES.len()]; 2],
    /// How often a state was entered.
    entered: [u64; STATES.len()],
}

impl Busy {
    /// It was in a state for an operation, having entered it so many times.
    #[inline]
    pub(super) fn add(&mut self, op: Op, state: State, ns: u64, entered: u64) {
        self.time_ns[op as usize][state as usize] += ns;
        self.entered[state as usize] += entered;
    }

    /// Nanoseconds in a state, for either operation.
    #[inline]
    fn state_ns(&self, state: usize) -> u64 {
        self.time_ns[0][state] + self.time_ns[1][state]
    }

    /// The ledger of a device whose powers are not known, at `now`: what is left was spent idle.
    pub(super) fn ledger(&self, now: Time) -> EnergyLedger {
        let mut ledger = EnergyLedger { entered: self.entered, ..EnergyLedger::default() };
        ledger.time_ns = std::array::from_fn(|state| self.state_ns(state));
        ledger.time_ns[State::Idle as usize] = now.ns().saturating_sub(ledger.time_ns.iter().sum());
        ledger
    }
}

/// A return from an idle mode.
#[derive(Clone, Copy, Debug)]
struct Return {
    mode: usize,
    until: Time,
}

/// The powers of a device at work, and its idle periods.
///
/// While it serves a request but its mechanism stands still (commands, bus), it draws what it draws when ready.
#[derive(Clone, Debug)]
pub(super) struct Powered {
    active_w: [f64; 2],
    seek_w: [f64; 2],
    policy: SpinDown,
    /// Nanoseconds in each mode, in the idle periods that are over.
    modes_ns: [u64; MODES],
    entered: [u64; MODES],
    /// How often it went below the first mode.
    stops: u64,
    /// Nanoseconds of returns, by the mode that they led from, the last to its end.
    startup_ns: [u64; MODES],
    startups: u64,
    last_return: Option<Return>,
    regret_j: f64,
}

impl Powered {
    /// A device of those powers; it enters idle modes at their own times.
    ///
    /// # Errors
    /// Parameters that contradict each other: says which.
    pub(super) fn new(parameters: &PowerParameters) -> Result<Self, String> {
        let active_w = [parameters.active_read_w, parameters.active_write_w];
        Ok(Self {
            active_w,
            seek_w: parameters.seek_w.map_or(active_w, |seek_w| [seek_w; 2]),
            policy: SpinDown::new(None, parameters.ladder()?),
            modes_ns: [0; MODES],
            entered: [0; MODES],
            stops: 0,
            startup_ns: [0; MODES],
            startups: 0,
            last_return: None,
            regret_j: 0.0,
        })
    }

    /// From now on a policy says when it enters idle modes; their own times without one.
    pub(super) fn obey(&mut self, policy: Option<&SpinDownSpec>) {
        self.policy = SpinDown::new(policy, self.policy.ladder().clone());
    }

    /// How long a request waits that comes at `now`, the device having rested since then, if it does.
    #[inline]
    pub(super) fn wake_ns(&self, now: Time, since: Option<Time>) -> u64 {
        match idle_ns(now, since) {
            0 => 0,
            idle_ns => self.policy.ladder().modes()[self.policy.mode_at(idle_ns)].wake_ns,
        }
    }

    /// Ends the idle period for a request that comes at `now`, and says how long that waits.
    pub(super) fn wake(&mut self, now: Time, since: Option<Time>) -> u64 {
        let idle_ns = idle_ns(now, since);
        if idle_ns == 0 {
            return 0;
        }
        let mode = self.policy.mode_at(idle_ns);
        let wake_ns = self.policy.ladder().modes()[mode].wake_ns;
        let spent_ns = self.policy.spent_ns(idle_ns);
        count(&spent_ns, &mut self.modes_ns, &mut self.entered, &mut self.stops);
        self.regret_j += self.policy.regret_j(idle_ns);
        self.policy.ended(idle_ns);
        if wake_ns > 0 {
            self.startups += 1;
            self.startup_ns[mode] += wake_ns;
            self.last_return = Some(Return { mode, until: now + wake_ns });
        }
        wake_ns
    }

    /// The ledger at `now`, the device having rested since then, if it does: after what the mechanism did until `now`. No
    /// request has ended that idle period yet, or the one dispatched at `ended` does.
    pub(super) fn ledger(&self, now: Time, since: Option<Time>, ended: Option<Time>, busy: &Busy) -> EnergyLedger {
        let (mut modes_ns, mut entered, mut stops) = (self.modes_ns, self.entered, self.stops);
        let mut regret_j = self.regret_j;
        let idle_ns = idle_ns(now, since);
        if idle_ns > 0 {
            let (spent_ns, idle_regret_j) = match ended {
                None => (self.policy.open_ns(idle_ns), self.policy.waste_j(idle_ns)),
                Some(ended) => {
                    let whole_ns = idle_ns + (ended - now);
                    (self.policy.part_ns(idle_ns, whole_ns), self.policy.part_regret_j(idle_ns, whole_ns))
                }
            };
            count(&spent_ns, &mut modes_ns, &mut entered, &mut stops);
            regret_j += idle_regret_j;
        }
        let mut startup_ns = self.startup_ns;
        if let Some(last) = self.last_return {
            startup_ns[last.mode] -= last.until.saturating_since(now);
        }
        let mut ledger = EnergyLedger { entered: busy.entered, regret_j, ..EnergyLedger::default() };
        for state in [State::Seek, State::Rotation, State::Servo, State::Data] {
            ledger.time_ns[state as usize] = busy.state_ns(state as usize);
            ledger.energy_j[state as usize] = self.work_j(busy, state);
        }
        let lower_ns: u64 = modes_ns[1..].iter().sum();
        ledger.time_ns[State::Inactive as usize] = lower_ns;
        ledger.time_ns[State::Startup as usize] = startup_ns.iter().sum();
        // What is left is the first mode's: there it waits for commands and the bus, too.
        modes_ns[0] = now.ns().saturating_sub(ledger.time_ns.iter().sum());
        ledger.time_ns[State::Idle as usize] = modes_ns[0];
        for (index, mode) in self.policy.ladder().modes().iter().enumerate() {
            let spell = &mut ledger.modes[index];
            (spell.time_ns, spell.entered) = (modes_ns[index], entered[index]);
            spell.energy_j = ns_to_s(modes_ns[index]) * mode.power_w;
            ledger.energy_j[State::Startup as usize] += ns_to_s(startup_ns[index]) * mode.wake_w;
        }
        ledger.energy_j[State::Idle as usize] = ledger.modes[0].energy_j;
        ledger.energy_j[State::Inactive as usize] = ledger.modes[1..].iter().map(|spell| spell.energy_j).sum();
        ledger.entered[State::Idle as usize] = entered[0];
        ledger.entered[State::Inactive as usize] = stops;
        ledger.entered[State::Startup as usize] = self.startups;
        ledger
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
            startup_j: if wake_ns > 0 { ns_to_s(wake_ns) * wake_w } else { 0.0 },
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

/// How long a device that has rested since then has done so at `now`.
#[inline]
fn idle_ns(now: Time, since: Option<Time>) -> u64 {
    since.map_or(0, |since| now.saturating_since(since))
}

/// Counts an idle period.
fn count(spent_ns: &[u64; MODES], modes_ns: &mut [u64; MODES], entered: &mut [u64; MODES], stops: &mut u64) {
    for (mode, &ns) in spent_ns.iter().enumerate() {
        modes_ns[mode] += ns;
        entered[mode] += u64::from(ns > 0);
    }
    *stops += u64::from(spent_ns[1..].iter().any(|&ns| ns > 0));
}
