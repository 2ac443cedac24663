//! The past services of a device that works on one request after the other, and their energy where its power is known.

use crate::devices::power_account::{ActivityUntil, BusyTime, PowerAccount, Work};
use crate::devices::{EnergyLedger, Powered};
use crate::fault::Fault;
use crate::power::{Meter, PowerParameters, SpinDown, SpinDownSpec};
use crate::service::RequestEnergy;
use crate::time::Time;

/// The history of a device; each service is a sequence of `KINDS` kinds of work.
#[derive(Clone, Debug)]
pub(super) enum ActivityHistory<const KINDS: usize> {
    /// The power is not known.
    Unpowered(Services<KINDS>),
    Powered(Box<PoweredServices<KINDS>>),
}

/// All services of a device.
#[derive(Clone, Debug)]
pub(super) struct Services<const KINDS: usize> {
    /// All services before the last one.
    busy: BusyTime,
    /// The last service, from when the device was ready; one kind of work after the other.
    last: [Work; KINDS],
}

/// All services of a device with known power.
#[derive(Clone, Debug)]
pub(super) struct PoweredServices<const KINDS: usize> {
    services: Services<KINDS>,
    account: PowerAccount,
}

impl<const KINDS: usize> Services<KINDS> {
    #[inline]
    fn end(&self) -> Time {
        self.last[KINDS - 1].to
    }

    /// Returns the start of the idle period at `now`; `None` while the device works.
    #[inline]
    fn idle_since(&self, now: Time) -> Option<Time> {
        Some(self.end()).filter(|&end| end <= now)
    }

    /// Returns the work of all services up to `now`.
    #[inline]
    fn busy(&self, now: Time) -> BusyTime {
        let mut busy = self.busy;
        self.last.iter().for_each(|work| busy.add(work, now));
        busy
    }

    #[inline]
    fn activity(&self, now: Time) -> ActivityUntil<'_> {
        ActivityUntil { now, idle_since: self.idle_since(now), busy: self.busy(now), work: &self.last }
    }

    #[inline]
    fn add(&mut self, work: [Work; KINDS]) {
        self.busy = self.busy(self.end());
        self.last = work;
    }
}

impl<const KINDS: usize> ActivityHistory<KINDS> {
    /// Returns the history of a device that has served nothing; `kinds` are the kinds of work, with no duration.
    ///
    /// # Errors
    /// The power parameters contradict each other.
    pub(super) fn new(kinds: [Work; KINDS], power: Option<&PowerParameters>) -> Result<Self, Fault> {
        let services = Services { busy: BusyTime::default(), last: kinds };
        Ok(match power {
            None => Self::Unpowered(services),
            Some(power) => Self::Powered(Box::new(PoweredServices { services, account: PowerAccount::new(power)? })),
        })
    }

    /// Sets the policy that decides when the device enters idle modes; `None`: after the time given with each mode. No effect
    /// if the power is not known.
    pub(super) fn set_policy(&mut self, policy: Option<&SpinDownSpec>) {
        if let Self::Powered(powered) = self {
            powered.account.set_policy(policy);
        }
    }

    #[inline]
    fn services(&self) -> &Services<KINDS> {
        match self {
            Self::Unpowered(services) => services,
            Self::Powered(powered) => &powered.services,
        }
    }

    /// Returns the end of the last service.
    #[inline]
    pub(super) fn end(&self) -> Time {
        self.services().end()
    }

    /// Returns the wake-up time of a request dispatched at `now`.
    #[inline]
    pub(super) fn wake_ns(&self, now: Time) -> u64 {
        match self {
            Self::Unpowered(_) => 0,
            Self::Powered(powered) => powered.wake_ns(now),
        }
    }

    /// Ends the idle period, if there is one, for a request dispatched at `now`; returns the request's wake-up time.
    #[inline]
    pub(super) fn wake(&mut self, now: Time) -> u64 {
        match self {
            Self::Unpowered(_) => 0,
            Self::Powered(powered) => powered.account.wake(&powered.services.activity(now)),
        }
    }

    /// Adds a service of a request dispatched at `start` that waited `wake_ns` for the device; returns the request's energy.
    #[inline]
    pub(super) fn add(&mut self, work: [Work; KINDS], start: Time, wake_ns: u64) -> RequestEnergy {
        match self {
            Self::Unpowered(services) => {
                services.add(work);
                RequestEnergy::default()
            }
            Self::Powered(powered) => {
                let PoweredServices { services, account } = powered.as_mut();
                services.add(work);
                let end = services.end();
                account.service_energy(end - start, wake_ns, [&services.busy, &services.busy(end)])
            }
        }
    }

    /// See [`crate::devices::Mechanism::ledger`].
    pub(super) fn ledger(&self, now: Time) -> EnergyLedger {
        match self {
            Self::Unpowered(services) => services.busy(now).ledger(now),
            Self::Powered(powered) => powered.account.ledger(&powered.services.activity(now), None),
        }
    }

    /// See [`crate::devices::Mechanism::powered`].
    pub(super) fn powered(&self) -> Option<&dyn Powered> {
        match self {
            Self::Unpowered(_) => None,
            Self::Powered(powered) => Some(powered.as_ref()),
        }
    }

    /// See [`crate::devices::Mechanism::powered_mut`].
    pub(super) fn powered_mut(&mut self) -> Option<&mut dyn Powered> {
        match self {
            Self::Unpowered(_) => None,
            Self::Powered(powered) => Some(powered.as_mut()),
        }
    }
}

impl<const KINDS: usize> Powered for PoweredServices<KINDS> {
    #[inline]
    fn wake_ns(&self, now: Time) -> u64 {
        self.account.wake_ns(now, self.services.idle_since(now))
    }

    fn idle_ns(&self, now: Time) -> u64 {
        self.services.idle_since(now).map_or(0, |since| now - since)
    }

    fn spin_down(&self) -> &SpinDown {
        self.account.spin_down()
    }

    fn spin_down_mut(&mut self) -> &mut SpinDown {
        self.account.spin_down_mut()
    }

    fn ledger_before(&self, then: Time, now: Time) -> EnergyLedger {
        self.account.ledger(&self.services.activity(then), Some(now))
    }

    fn meter(&self, now: Time) -> Meter {
        self.account.meter(&self.services.activity(now))
    }

    fn settle_meter(&mut self, now: Time) -> &mut Meter {
        self.account.settle_meter(&self.services.activity(now))
    }
}
