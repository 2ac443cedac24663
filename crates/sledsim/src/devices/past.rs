//! What a device that does one thing after another has done, and what it drew for that where its powers are known.

use crate::devices::powered::{Busy, Deeds, Powered, Work};
use crate::devices::{EnergyLedger, IdlePolicy};
use crate::fault::Fault;
use crate::power::{Meter, PowerParameters, SpinDownSpec};
use crate::service::RequestEnergy;
use crate::time::Time;

/// All services of a device, of so many kinds of work each.
#[derive(Clone, Debug)]
pub(super) struct Past<const KINDS: usize> {
    /// All services before the last one.
    busy: Busy,
    /// The last one, from when it found the device ready; one kind of work after the other.
    last: [Work; KINDS],
    powered: Option<Box<Powered>>,
}

impl<const KINDS: usize> Past<KINDS> {
    /// Nothing was done yet; the kinds of work, which took no time.
    ///
    /// # Errors
    /// Powers that contradict each other: says which.
    pub(super) fn new(kinds: [Work; KINDS], power: Option<&PowerParameters>) -> Result<Self, Fault> {
        Ok(Self { busy: Busy::default(), last: kinds, powered: power.map(Powered::new).transpose()?.map(Box::new) })
    }

    /// From now on a policy says when it enters idle modes; at their own times without one. Nothing changes where the powers are
    /// not known.
    pub(super) fn obey(&mut self, policy: Option<&SpinDownSpec>) {
        if let Some(powered) = &mut self.powered {
            powered.obey(policy);
        }
    }

    /// What decides when it enters idle modes.
    pub(super) fn idle_policy(&mut self) -> Option<&mut IdlePolicy> {
        self.powered.as_mut().map(|powered| powered.policy_mut())
    }

    /// When it is done with all that it was given.
    #[inline]
    pub(super) fn end(&self) -> Time {
        self.last[KINDS - 1].to
    }

    /// Since when it has had nothing to do at `now`; `None` while it has.
    #[inline]
    fn rests_since(&self, now: Time) -> Option<Time> {
        Some(self.end()).filter(|&end| end <= now)
    }

    /// All services, as far as they had got at `now`.
    #[inline]
    fn busy(&self, now: Time) -> Busy {
        let mut busy = self.busy;
        self.last.iter().for_each(|work| busy.add(work, now));
        busy
    }

    fn deeds(&self, now: Time) -> Deeds<'_> {
        Deeds { now, since: self.rests_since(now), busy: self.busy(now), work: &self.last }
    }

    /// How long a request waits that comes at `now`.
    #[inline]
    pub(super) fn wake_ns(&self, now: Time) -> u64 {
        self.powered.as_ref().map_or(0, |powered| powered.wake_ns(now, self.rests_since(now)))
    }

    /// Ends the idle period, if there is one, for a request that comes now, and says how long that waits.
    #[inline]
    pub(super) fn wake(&mut self, now: Time) -> u64 {
        let Some(mut powered) = self.powered.take() else { return 0 };
        let wake_ns = powered.wake(&self.deeds(now));
        self.powered = Some(powered);
        wake_ns
    }

    /// It does this next, for a request dispatched at `start` that waited for it to get ready; what the request took, J.
    #[inline]
    pub(super) fn does(&mut self, work: [Work; KINDS], start: Time, wake_ns: u64) -> RequestEnergy {
        self.busy = self.busy(self.end());
        self.last = work;
        let Some(powered) = &self.powered else { return RequestEnergy::default() };
        powered.service_energy(self.end() - start, wake_ns, [&self.busy, &self.busy(self.end())])
    }

    /// See [`crate::devices::Mechanism::ledger`].
    pub(super) fn ledger(&self, now: Time) -> EnergyLedger {
        match &self.powered {
            None => self.busy(now).ledger(now),
            Some(powered) => powered.ledger(&self.deeds(now), None),
        }
    }

    /// See [`crate::devices::Mechanism::ledger_before`].
    pub(super) fn ledger_before(&self, then: Time, now: Time) -> EnergyLedger {
        match &self.powered {
            None => self.ledger(then),
            Some(powered) => powered.ledger(&self.deeds(then), Some(now)),
        }
    }

    /// See [`crate::devices::Mechanism::meter`].
    pub(super) fn meter(&self, now: Time) -> Option<Meter> {
        self.powered.as_ref().map(|powered| powered.meter(&self.deeds(now)))
    }

    /// See [`crate::devices::Mechanism::settle_meter`].
    pub(super) fn settle_meter(&mut self, now: Time) -> Option<&mut Meter> {
        let mut powered = self.powered.take()?;
        powered.settle_meter(&self.deeds(now));
        Some(self.powered.insert(powered).meter_mut())
    }
}

/// What a device that only says when blocks pass hands on to its [`Past`].
macro_rules! has_past {
    () => {
        #[inline]
        fn wake_ns(&self, now: Time) -> u64 {
            self.past.wake_ns(now)
        }

        fn ledger(&self, now: Time) -> EnergyLedger {
            self.past.ledger(now)
        }

        fn ledger_before(&self, then: Time, now: Time) -> EnergyLedger {
            self.past.ledger_before(then, now)
        }

        fn meter(&self, now: Time) -> Option<Meter> {
            self.past.meter(now)
        }

        fn settle_meter(&mut self, now: Time) -> Option<&mut Meter> {
            self.past.settle_meter(now)
        }

        fn idle_policy(&mut self) -> Option<&mut IdlePolicy> {
            self.past.idle_policy()
        }
    };
}
pub(super) use has_past;
