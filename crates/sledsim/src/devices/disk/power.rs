//! Idle periods of a drive with known power, and wake-ups before requests.

use super::device::DiskDevice;
use super::work_log::WorkLog;
use crate::devices::power_manager::{ActivityUntil, BusyTime, PowerManager};
use crate::devices::{EnergyLedger, Powered, Service};
use crate::power::{ActuatorAccess, EnergyAccount, SharedSpindle, SpinDown, SpinDownSpec};
use crate::request::Request;
use crate::time::Time;

/// The state of a drive with known power.
#[derive(Clone)]
pub(super) struct PoweredState {
    pub manager: PowerManager,
    /// End of the last service.
    service_end: Time,
    /// Dispatch of the first service since the last call of [`SharedSpindle::take_access`].
    access_start: Option<Time>,
    /// When each actuator over the same spindle is idle again, this one left out; empty for a lone one.
    others_end: Vec<Time>,
}

/// [`Mechanism::powered`](crate::devices::Mechanism::powered) returns the drive only in this case.
const POWERED: &str = "the power is known";

impl PoweredState {
    pub(super) fn new(manager: PowerManager) -> Self {
        Self { manager, service_end: Time::ZERO, access_start: None, others_end: Vec::new() }
    }
}

impl DiskDevice {
    /// Sets the policy that decides when the drive enters idle modes; `None`: after the time given with each mode. No effect if the
    /// power is not known.
    #[must_use]
    pub fn with_spin_down(mut self, policy: Option<&SpinDownSpec>) -> Self {
        if let Some(state) = &mut self.powered_state {
            state.manager.set_policy(policy);
        }
        self
    }

    /// Returns the start of the idle period at `now`, given the end of the last service; `None` while the drive works, also in the
    /// background.
    pub(super) fn idle_since(&self, service_end: Time, now: Time) -> Option<Time> {
        let mut since = service_end.max(self.free);
        let Some(mut task) = self.task else { return (since <= now).then_some(since) };
        let mut arms = self.arms;
        loop {
            let pass = &task.pass;
            if pass.end > now {
                return None;
            }
            since = since.max(pass.end);
            arms[pass.arm as usize] = pass.to;
            if !self.plan_next_pass(&mut task, &arms) {
                return (since <= now).then_some(since);
            }
        }
    }

    /// Returns the start of the idle period of all actuators at `now`; `None` while one of them works.
    #[inline]
    fn drive_idle_since(&self, state: &PoweredState, now: Time) -> Option<Time> {
        let since = self.idle_since(state.service_end, now)?;
        let since = state.others_end.iter().fold(since, |since, &end| since.max(end));
        (since <= now).then_some(since)
    }

    /// Returns the time at which the drive is ready for a request dispatched at `now`.
    #[inline]
    pub(super) fn ready_at(&self, now: Time) -> Time {
        let Some(state) = &self.powered_state else { return now };
        match self.ready.get() {
            Some((at, ready)) if at == now => ready,
            _ => {
                let ready = now + state.manager.wake_ns(now, self.drive_idle_since(state, now));
                self.ready.set(Some((now, ready)));
                ready
            }
        }
    }

    /// Returns the work log as it will be at `now`.
    fn work_log_at(&self, now: Time) -> WorkLog {
        let mut log = self.work_log.clone();
        log.settle(now);
        self.add_task_work(&mut log, now);
        log
    }

    /// Serves a request after a return from an idle mode, if the drive is in one.
    pub(super) fn serve_with_wake_up(&mut self, mut state: Box<PoweredState>, now: Time, request: &Request) -> Service {
        let idle_since = self.drive_idle_since(&state, now);
        let wake_ns = state.manager.wake(&ActivityUntil { now, idle_since, work: self.work_log_at(now).work() });
        self.work_log.forget(now);
        let mut service = self.serve_ready(now + wake_ns, request);
        service.start = now;
        service.phases.startup_ns = wake_ns;
        state.service_end = service.end;
        state.access_start.get_or_insert(now);
        let work = BusyTime::between(self.work_log_at(service.end).work(), now, service.end);
        service.energy = state.manager.service_energy(service.end - now, wake_ns, &work);
        self.powered_state = Some(state);
        service
    }

    /// See [`crate::devices::Mechanism::ledger`].
    pub(super) fn ledger_at(&self, now: Time) -> EnergyLedger {
        let log = self.work_log_at(now);
        match &self.powered_state {
            None => log.busy(now).ledger(now),
            Some(state) => {
                let idle_since = self.drive_idle_since(state, now);
                state.manager.ledger(&ActivityUntil { now, idle_since, work: log.work() }, None)
            }
        }
    }

    fn powered_state(&self) -> &PoweredState {
        self.powered_state.as_deref().expect(POWERED)
    }
}

impl Powered for DiskDevice {
    fn wake_ns(&self, now: Time) -> u64 {
        self.ready_at(now) - now
    }

    fn idle_ns(&self, now: Time) -> u64 {
        self.drive_idle_since(self.powered_state(), now).map_or(0, |since| now - since)
    }

    fn spin_down(&self) -> &SpinDown {
        self.powered_state().manager.spin_down()
    }

    fn spin_down_mut(&mut self) -> &mut SpinDown {
        self.powered_state.as_deref_mut().expect(POWERED).manager.spin_down_mut()
    }

    fn ledger_before(&self, then: Time, now: Time) -> EnergyLedger {
        let state = self.powered_state();
        let idle_since = self.drive_idle_since(state, now).filter(|&since| since <= then);
        let log = self.work_log_at(then);
        state.manager.ledger(&ActivityUntil { now: then, idle_since, work: log.work() }, Some(now))
    }

    fn energy_account(&self, now: Time) -> EnergyAccount {
        let state = self.powered_state();
        let idle_since = self.drive_idle_since(state, now);
        state.manager.account(&ActivityUntil { now, idle_since, work: self.work_log_at(now).work() })
    }

    fn settle_energy_account(&mut self, now: Time) -> &mut EnergyAccount {
        let log = self.work_log_at(now);
        let idle_since = self.drive_idle_since(self.powered_state(), now);
        self.work_log.forget(now);
        let manager = &mut self.powered_state.as_deref_mut().expect(POWERED).manager;
        manager.settle_account(&ActivityUntil { now, idle_since, work: log.work() })
    }
}

impl SharedSpindle for DiskDevice {
    fn join(&mut self, index: usize, count: usize) {
        if let Some(state) = &mut self.powered_state {
            state.others_end = vec![Time::ZERO; count];
            state.manager.set_counting(index == 0);
        }
    }

    fn take_access(&mut self) -> Option<ActuatorAccess> {
        let state = self.powered_state.as_mut()?;
        let (start, service_end) = (state.access_start.take()?, state.service_end);
        let end = self.idle_since(service_end, Time::MAX).unwrap_or(service_end);
        Some(ActuatorAccess { start, end })
    }

    fn other_access(&mut self, index: usize, access: ActuatorAccess) {
        let Some(mut state) = self.powered_state.take() else { return };
        let now = access.start;
        let idle_since = self.drive_idle_since(&state, now);
        state.manager.wake(&ActivityUntil { now, idle_since, work: self.work_log_at(now).work() });
        self.work_log.forget(now);
        state.others_end[index] = access.end;
        self.powered_state = Some(state);
        self.forget_estimates();
    }
}
