//! A drive with known powers: since when it rests, and the return from an idle mode before a request.

use super::access::DiskDevice;
use super::work_log::WorkLog;
use crate::devices::power_manager::{ActivityUntil, BusyTime, PowerManager};
use crate::devices::{EnergyLedger, Powered, Service};
use crate::power::{EnergyAccount, SpinDown, SpinDownSpec};
use crate::request::Request;
use crate::time::Time;

/// What a drive keeps of its powers.
#[derive(Clone)]
pub(super) struct Resting {
    pub manager: PowerManager,
    /// When the last service was over.
    served: Time,
}

impl Resting {
    pub(super) fn new(manager: PowerManager) -> Self {
        Self { manager, served: Time::ZERO }
    }
}

impl DiskDevice {
    /// The same drive under a policy that says when it enters idle modes; at their own times without one. Nothing changes
    /// where the powers are not known.
    #[must_use]
    pub fn with_spin_down(mut self, policy: Option<&SpinDownSpec>) -> Self {
        if let Some(resting) = &mut self.resting {
            resting.manager.set_policy(policy);
        }
        self
    }

    /// Since when the drive has had nothing to do at `now`, not even on its own account; `None` while it has.
    pub(super) fn rests_since(&self, served: Time, now: Time) -> Option<Time> {
        let mut since = served.max(self.free);
        let (mut task, mut arms) = (self.task, self.arms);
        while let Some(under_way) = task {
            let pass = &under_way.pass;
            if pass.end > now {
                return None;
            }
            since = since.max(pass.end);
            arms[pass.arm as usize] = pass.to;
            task = self.following(under_way, &arms);
        }
        (since <= now).then_some(since)
    }

    /// When a request dispatched at `now` finds the drive ready.
    #[inline]
    pub(super) fn ready_at(&self, now: Time) -> Time {
        let Some(resting) = &self.resting else { return now };
        match self.ready.get() {
            Some((asked, ready)) if asked == now => ready,
            _ => {
                let ready = now + resting.manager.wake_ns(now, self.rests_since(resting.served, now));
                self.ready.set(Some((now, ready)));
                ready
            }
        }
    }

    /// Returns the work log as it will be at `now`.
    fn work_log_at(&self, now: Time) -> WorkLog {
        let mut log = self.work_log.clone();
        log.settle(now);
        self.plan_work(&mut log, now);
        log
    }

    /// Serves a request once the drive has returned from its idle mode, as if the request arrived then.
    pub(super) fn serve_awake(&mut self, mut resting: Box<Resting>, now: Time, request: &Request) -> Service {
        let idle_since = self.rests_since(resting.served, now);
        let wake_ns = resting.manager.wake(&ActivityUntil { now, idle_since, work: self.work_log_at(now).work() });
        self.work_log.forget(now);
        let mut service = self.serve_ready(now + wake_ns, request);
        service.start = now;
        service.phases.startup_ns = wake_ns;
        resting.served = service.end;
        let work = BusyTime::between(self.work_log_at(service.end).work(), now, service.end);
        service.energy = resting.manager.service_energy(service.end - now, wake_ns, &work);
        self.resting = Some(resting);
        service
    }

    /// See [`crate::devices::Mechanism::ledger`].
    pub(super) fn ledger_at(&self, now: Time) -> EnergyLedger {
        let log = self.work_log_at(now);
        match &self.resting {
            None => log.busy(now).ledger(now),
            Some(resting) => {
                let idle_since = self.rests_since(resting.served, now);
                resting.manager.ledger(&ActivityUntil { now, idle_since, work: log.work() }, None)
            }
        }
    }

    fn resting(&self) -> &Resting {
        self.resting.as_deref().expect("used as a powered device only if its power is known")
    }
}

impl Powered for DiskDevice {
    fn wake_ns(&self, now: Time) -> u64 {
        self.ready_at(now) - now
    }

    fn idle_ns(&self, now: Time) -> u64 {
        self.rests_since(self.resting().served, now).map_or(0, |since| now - since)
    }

    fn spin_down(&self) -> &SpinDown {
        self.resting().manager.spin_down()
    }

    fn spin_down_mut(&mut self) -> &mut SpinDown {
        self.resting.as_deref_mut().expect("as above").manager.spin_down_mut()
    }

    fn ledger_before(&self, then: Time, now: Time) -> EnergyLedger {
        let resting = self.resting();
        let idle_since = self.rests_since(resting.served, now).filter(|&since| since <= then);
        let log = self.work_log_at(then);
        resting.manager.ledger(&ActivityUntil { now: then, idle_since, work: log.work() }, Some(now))
    }

    fn energy_account(&self, now: Time) -> EnergyAccount {
        let resting = self.resting();
        let idle_since = self.rests_since(resting.served, now);
        resting.manager.account(&ActivityUntil { now, idle_since, work: self.work_log_at(now).work() })
    }

    fn settle_energy_account(&mut self, now: Time) -> &mut EnergyAccount {
        let log = self.work_log_at(now);
        let idle_since = self.rests_since(self.resting().served, now);
        self.work_log.forget(now);
        let manager = &mut self.resting.as_deref_mut().expect("as above").manager;
        manager.settle_account(&ActivityUntil { now, idle_since, work: log.work() })
    }
}
