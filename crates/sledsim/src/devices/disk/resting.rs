//! A drive with known powers: since when it rests, and the return from an idle mode before a request.

use super::access::DiskDevice;
use super::books::Books;
use crate::devices::power_account::{ActivityUntil, PowerAccount};
use crate::devices::{EnergyLedger, Powered, Service};
use crate::power::{Meter, SpinDown, SpinDownSpec};
use crate::request::Request;
use crate::time::Time;

/// What a drive keeps of its powers.
#[derive(Clone)]
pub(super) struct Resting {
    pub account: PowerAccount,
    /// When the last service was over.
    served: Time,
}

impl Resting {
    pub(super) fn new(account: PowerAccount) -> Self {
        Self { account, served: Time::ZERO }
    }
}

impl DiskDevice {
    /// The same drive under a policy that says when it enters idle modes; at their own times without one. Nothing changes
    /// where the powers are not known.
    #[must_use]
    pub fn with_spin_down(mut self, policy: Option<&SpinDownSpec>) -> Self {
        if let Some(resting) = &mut self.resting {
            resting.account.set_policy(policy);
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
                let ready = now + resting.account.wake_ns(now, self.rests_since(resting.served, now));
                self.ready.set(Some((now, ready)));
                ready
            }
        }
    }

    /// The books as they will be at `now`.
    fn books_at(&self, now: Time) -> Books {
        let mut books = self.books.clone();
        books.settle(now);
        self.book_ahead(&mut books, now);
        books
    }

    /// What those say, the drive having had nothing to do since then, if it hasn't.
    fn activity(books: &Books, now: Time, since: Option<Time>) -> ActivityUntil<'_> {
        ActivityUntil { now, idle_since: since, busy: books.busy(now), work: books.untold() }
    }

    /// Serves a request once the drive has returned from the idle mode in which it is found: as if it came then.
    pub(super) fn serve_awake(&mut self, mut resting: Box<Resting>, now: Time, request: &Request) -> Service {
        let (books, since) = (self.books_at(now), self.rests_since(resting.served, now));
        let activity = Self::activity(&books, now, since);
        let wake_ns = resting.account.wake(&activity);
        self.books.told(now);
        let mut service = self.serve_ready(now + wake_ns, request);
        service.start = now;
        service.phases.startup_ns = wake_ns;
        resting.served = service.end;
        let after = self.books_at(service.end).busy(service.end);
        service.energy = resting.account.service_energy(service.end - now, wake_ns, [&activity.busy, &after]);
        self.resting = Some(resting);
        service
    }

    /// See [`crate::devices::Mechanism::ledger`].
    pub(super) fn ledger_at(&self, now: Time) -> EnergyLedger {
        let books = self.books_at(now);
        match &self.resting {
            None => books.busy(now).ledger(now),
            Some(resting) => {
                let since = self.rests_since(resting.served, now);
                resting.account.ledger(&Self::activity(&books, now, since), None)
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
        self.resting().account.spin_down()
    }

    fn spin_down_mut(&mut self) -> &mut SpinDown {
        self.resting.as_deref_mut().expect("as above").account.spin_down_mut()
    }

    fn ledger_before(&self, then: Time, now: Time) -> EnergyLedger {
        let resting = self.resting();
        let since = self.rests_since(resting.served, now).filter(|&since| since <= then);
        resting.account.ledger(&Self::activity(&self.books_at(then), then, since), Some(now))
    }

    fn meter(&self, now: Time) -> Meter {
        let resting = self.resting();
        let since = self.rests_since(resting.served, now);
        resting.account.meter(&Self::activity(&self.books_at(now), now, since))
    }

    fn settle_meter(&mut self, now: Time) -> &mut Meter {
        let books = self.books_at(now);
        let since = self.rests_since(self.resting().served, now);
        self.books.told(now);
        let account = &mut self.resting.as_deref_mut().expect("as above").account;
        account.settle_meter(&Self::activity(&books, now, since))
    }
}
