//! A drive with known powers: since when it rests, and the return from an idle mode before a request.

use super::access::DiskDevice;
use super::books::Books;
use crate::devices::powered::{Busy, Powered};
use crate::devices::{EnergyLedger, Service};
use crate::power::SpinDownSpec;
use crate::request::Request;
use crate::time::Time;

/// What a drive keeps of its powers.
pub(super) struct Resting {
    pub powered: Powered,
    /// When the last service was over.
    served: Time,
}

impl Resting {
    pub(super) fn new(powered: Powered) -> Self {
        Self { powered, served: Time::ZERO }
    }
}

impl DiskDevice {
    /// The same drive under a policy that says when it enters idle modes; at their own times without one. Nothing changes
    /// where the powers are not known.
    #[must_use]
    pub fn with_spin_down(mut self, policy: Option<&SpinDownSpec>) -> Self {
        if let Some(resting) = &mut self.resting {
            resting.powered.obey(policy);
        }
        self
    }

    /// Since when the drive has had nothing to do at `now`, not even on its own account; `None` while it has.
    fn rests_since(&self, served: Time, now: Time) -> Option<Time> {
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
                let ready = now + resting.powered.wake_ns(now, self.rests_since(resting.served, now));
                self.ready.set(Some((now, ready)));
                ready
            }
        }
    }

    /// What the arms and heads will have done until `now`.
    pub(super) fn busy(&self, now: Time) -> Busy {
        let mut books: Books = self.books.clone();
        books.settle(now);
        self.book_ahead(&mut books, now);
        books.busy(now)
    }

    /// Serves a request once the drive has returned from the idle mode in which it is found: as if it came then.
    pub(super) fn serve_awake(&mut self, mut resting: Box<Resting>, now: Time, request: &Request) -> Service {
        let wake_ns = resting.powered.wake(now, self.rests_since(resting.served, now));
        let before = self.busy(now);
        let mut service = self.serve_ready(now + wake_ns, request);
        service.start = now;
        service.phases.startup_ns = wake_ns;
        resting.served = service.end;
        let after = self.busy(service.end);
        service.energy = resting.powered.service_energy(service.end - now, wake_ns, [&before, &after]);
        self.resting = Some(resting);
        service
    }

    /// The ledger at `now`.
    pub(super) fn ledger_at(&self, now: Time) -> EnergyLedger {
        let busy = self.busy(now);
        match &self.resting {
            None => busy.ledger(now),
            Some(resting) => resting.powered.ledger(now, self.rests_since(resting.served, now), None, &busy),
        }
    }

    /// The ledger at `then`, if a request dispatched at `now` ends the idle period in which that lies.
    pub(super) fn ledger_of_ended(&self, then: Time, now: Time) -> EnergyLedger {
        let busy = self.busy(then);
        match &self.resting {
            None => busy.ledger(then),
            Some(resting) => {
                let since = self.rests_since(resting.served, now).filter(|&since| since <= then);
                resting.powered.ledger(then, since, Some(now), &busy)
            }
        }
    }
}
