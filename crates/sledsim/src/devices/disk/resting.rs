//! A drive with known powers: since when it rests, and the return from an idle mode before a request.

use super::access::DiskDevice;
use super::books::Books;
use crate::devices::powered::{Deeds, Powered};
use crate::devices::{EnergyLedger, Service};
use crate::power::{Meter, SpinDownSpec};
use crate::request::Request;
use crate::time::Time;

/// What a drive keeps of its powers.
#[derive(Clone)]
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
                let ready = now + resting.powered.wake_ns(now, self.rests_since(resting.served, now));
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
    fn deeds(books: &Books, now: Time, since: Option<Time>) -> Deeds<'_> {
        Deeds { now, since, busy: books.busy(now), work: books.untold() }
    }

    /// Serves a request once the drive has returned from the idle mode in which it is found: as if it came then.
    pub(super) fn serve_awake(&mut self, mut resting: Box<Resting>, now: Time, request: &Request) -> Service {
        let (books, since) = (self.books_at(now), self.rests_since(resting.served, now));
        let deeds = Self::deeds(&books, now, since);
        let wake_ns = resting.powered.wake(&deeds);
        self.books.told(now);
        let mut service = self.serve_ready(now + wake_ns, request);
        service.start = now;
        service.phases.startup_ns = wake_ns;
        resting.served = service.end;
        let after = self.books_at(service.end).busy(service.end);
        service.energy = resting.powered.service_energy(service.end - now, wake_ns, [&deeds.busy, &after]);
        self.resting = Some(resting);
        service
    }

    /// The ledger at `now`.
    pub(super) fn ledger_at(&self, now: Time) -> EnergyLedger {
        let books = self.books_at(now);
        match &self.resting {
            None => books.busy(now).ledger(now),
            Some(resting) => {
                let since = self.rests_since(resting.served, now);
                resting.powered.ledger(&Self::deeds(&books, now, since), None)
            }
        }
    }

    /// The ledger at `then`, if a request dispatched at `now` ends the idle period in which that lies.
    pub(super) fn ledger_of_ended(&self, then: Time, now: Time) -> EnergyLedger {
        let Some(resting) = &self.resting else { return self.ledger_at(then) };
        let since = self.rests_since(resting.served, now).filter(|&since| since <= then);
        resting.powered.ledger(&Self::deeds(&self.books_at(then), then, since), Some(now))
    }

    /// The power meter, told of everything until `now`.
    pub(super) fn meter_at(&self, now: Time) -> Option<Meter> {
        let resting = self.resting.as_ref()?;
        let since = self.rests_since(resting.served, now);
        Some(resting.powered.meter(&Self::deeds(&self.books_at(now), now, since)))
    }

    /// The power meter, told of what is decided until `now`.
    pub(super) fn settled_meter(&mut self, now: Time) -> Option<&mut Meter> {
        let books = self.books_at(now);
        let since = self.resting.as_ref().and_then(|resting| self.rests_since(resting.served, now));
        let resting = self.resting.as_mut()?;
        self.books.told(now);
        Some(resting.powered.settle_meter(&Self::deeds(&books, now, since)))
    }
}
