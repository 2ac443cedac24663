//! The past services of a device that works on one request after the other, and their energy where its power is known.

use crate::devices::power_manager::{ActivityUntil, BusyTime, PowerManager, Work};
use crate::devices::{EnergyLedger, Powered};
use crate::fault::Fault;
use crate::power::{EnergyAccount, PowerParameters, SpinDown, SpinDownSpec};
use crate::service::RequestEnergy;
use crate::time::Time;

/// The history of a device; each service is a sequence of `KINDS` kinds of work.
#[derive(Clone, Debug)]
pub(crate) enum ActivityHistory<const KINDS: usize> {
    /// The power is not known.
    Unpowered(Services<KINDS>),
    Powered(Box<PoweredServices<KINDS>>),
}

/// All services of a device.
#[derive(Clone, Debug)]
pub(crate) struct Services<const KINDS: usize> {
    /// All services before the last one.
    busy: BusyTime,
    /// The last service, from when the device was ready; one kind of work after the other.
    last: [Work; KINDS],
}

/// The last service of a device with known power; the services before are in its energy account.
#[derive(Clone, Debug)]
pub(crate) struct PoweredServices<const KINDS: usize> {
    last: [Work; KINDS],
    manager: PowerManager,
}

impl<const KINDS: usize> Services<KINDS> {
    /// Returns the work of all services up to `now`.
    #[inline]
    fn busy(&self, now: Time) -> BusyTime {
        let mut busy = self.busy;
        self.last.iter().for_each(|work| busy.add(work, now));
        busy
    }
}

impl<const KINDS: usize> PoweredServices<KINDS> {
    /// Returns the start of the idle period at `now`; `None` while the device works.
    #[inline]
    fn idle_since(&self, now: Time) -> Option<Time> {
        Some(self.last[KINDS - 1].to).filter(|&end| end <= now)
    }

    #[inline]
    fn activity(&self, now: Time) -> ActivityUntil<'_> {
        ActivityUntil { now, idle_since: self.idle_since(now), work: &self.last }
    }
}

impl<const KINDS: usize> ActivityHistory<KINDS> {
    /// Returns the history of a device that has served nothing; `kinds` are the kinds of work, with no duration.
    ///
    /// # Errors
    /// The power parameters contradict each other.
    pub(crate) fn new(kinds: [Work; KINDS], power: Option<&PowerParameters>) -> Result<Self, Fault> {
        Ok(match power {
            None => Self::Unpowered(Services { busy: BusyTime::default(), last: kinds }),
            Some(power) => Self::Powered(Box::new(PoweredServices { last: kinds, manager: PowerManager::new(power)? })),
        })
    }

    /// Sets the policy that decides when the device enters idle modes; `None`: after the time given with each mode. No effect
    /// if the power is not known.
    pub(crate) fn set_policy(&mut self, policy: Option<&SpinDownSpec>) {
        if let Self::Powered(powered) = self {
            powered.manager.set_policy(policy);
        }
    }

    /// Returns the end of the last service.
    #[inline]
    pub(crate) fn end(&self) -> Time {
        let last = match self {
            Self::Unpowered(services) => &services.last,
            Self::Powered(powered) => &powered.last,
        };
        last[KINDS - 1].to
    }

    /// Returns the wake-up time of a request dispatched at `now`.
    #[inline]
    pub(crate) fn wake_ns(&self, now: Time) -> u64 {
        match self {
            Self::Unpowered(_) => 0,
            Self::Powered(powered) => powered.wake_ns(now),
        }
    }

    /// Ends the idle period, if there is one, for a request dispatched at `now`; returns the request's wake-up time.
    #[inline]
    pub(crate) fn wake(&mut self, now: Time) -> u64 {
        match self {
            Self::Unpowered(_) => 0,
            Self::Powered(powered) => {
                let idle_since = powered.idle_since(now);
                powered.manager.wake(&ActivityUntil { now, idle_since, work: &powered.last })
            }
        }
    }

    /// Adds a service of a request dispatched at `start` that waited `wake_ns` for the device; returns the request's energy.
    #[inline]
    pub(crate) fn add(&mut self, work: [Work; KINDS], start: Time, wake_ns: u64) -> RequestEnergy {
        match self {
            Self::Unpowered(services) => {
                services.busy = services.busy(services.last[KINDS - 1].to);
                services.last = work;
                RequestEnergy::default()
            }
            Self::Powered(powered) => {
                powered.last = work;
                let end = work[KINDS - 1].to;
                powered.manager.service_energy(end - start, wake_ns, &BusyTime::between(&work, start, end))
            }
        }
    }

    /// See [`crate::devices::Mechanism::ledger`].
    pub(crate) fn ledger(&self, now: Time) -> EnergyLedger {
        match self {
            Self::Unpowered(services) => services.busy(now).ledger(now),
            Self::Powered(powered) => powered.manager.ledger(&powered.activity(now), None),
        }
    }

    /// See [`crate::devices::Mechanism::powered`].
    pub(crate) fn powered(&self) -> Option<&dyn Powered> {
        match self {
            Self::Unpowered(_) => None,
            Self::Powered(powered) => Some(powered.as_ref()),
        }
    }

    /// See [`crate::devices::Mechanism::powered_mut`].
    pub(crate) fn powered_mut(&mut self) -> Option<&mut dyn Powered> {
        match self {
            Self::Unpowered(_) => None,
            Self::Powered(powered) => Some(powered.as_mut()),
        }
    }
}

impl<const KINDS: usize> Powered for PoweredServices<KINDS> {
    #[inline]
    fn wake_ns(&self, now: Time) -> u64 {
        self.manager.wake_ns(now, self.idle_since(now))
    }

    fn idle_ns(&self, now: Time) -> u64 {
        self.idle_since(now).map_or(0, |since| now - since)
    }

    fn spin_down(&self) -> &SpinDown {
        self.manager.spin_down()
    }

    fn spin_down_mut(&mut self) -> &mut SpinDown {
        self.manager.spin_down_mut()
    }

    fn ledger_before(&self, then: Time, now: Time) -> EnergyLedger {
        self.manager.ledger(&self.activity(then), Some(now))
    }

    fn energy_account(&self, now: Time) -> EnergyAccount {
        self.manager.account(&self.activity(now))
    }

    fn settle_energy_account(&mut self, now: Time) -> &mut EnergyAccount {
        let idle_since = self.idle_since(now);
        self.manager.settle_account(&ActivityUntil { now, idle_since, work: &self.last })
    }
}
