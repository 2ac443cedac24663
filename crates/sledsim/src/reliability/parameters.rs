//! Description of an enclosure, its devices and its maintenance. Times are hours.

use serde::{Deserialize, Serialize};

use crate::convert::trunc_to_u64;
use crate::engine::random::Stream;
use crate::fault::{Fault, Kind};
use crate::limits::ENCLOSURE_DEVICES;

use super::error::{time_within, within};

/// Devices that a batch may hold, or that may be rebuilt at once.
const MOST_TOGETHER: u32 = 300_000;
/// Shortest and longest mean time, h: a few nanoseconds, and a hundred million years.
const TIMES_H: (f64, f64) = (1e-12, 1e12);
/// Tips that a device may have.
const MOST_TIPS: u32 = 10_000_000;

/// An enclosure: any `parity` of its `data` + `parity` devices may be missing without loss of data.
///
/// | name | Hong et al. 2006 |
/// | --- | --- |
/// | `data` + `parity` | N in equation 1 |
/// | `spares` | k |
/// | `device.mttf_h` | 1/λ |
/// | `rebuild.time.mean_h` | 1/μ |
/// | `repair.mandatory.mean_h` | 1/ρ0 |
/// | `repair.preventive.mean_h` | 1/ρ1 |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enclosure {
    /// Devices' worth of data, at least 1.
    pub data: u32,
    /// Devices that may be missing at once: 1 for RAID-5, 2 for RAID-6.
    pub parity: u32,
    /// Spares, or devices' worth of spare space.
    pub spares: u32,
    /// Where the spare space is.
    pub sparing: Sparing,
    /// Whether a dedicated spare ages and fails on its shelf.
    pub spares_fail: bool,
    /// Life of a device.
    pub device: DeviceLife,
    /// How a missing device's data is made whole again.
    pub rebuild: Rebuild,
    /// Visits that replace every missing device.
    pub repair: Repair,
}

/// Where the spare space of an enclosure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sparing {
    /// On devices of its own, which hold nothing until they take the place of another.
    Dedicated,
    /// Spread over all devices, all of which work and age.
    Distributed,
}

/// How devices live and what happens in them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceLife {
    /// Mean lifetime of a device that is neither weak from birth nor of a bad batch, h.
    pub mttf_h: f64,
    /// Distribution of its lifetime.
    pub lifetime: Lifetime,
    /// Devices that are weak from birth.
    pub infant_mortality: Option<InfantMortality>,
    /// Batches that devices come in.
    pub batches: Option<Batches>,
    /// Errors that nobody notices until the place is read.
    pub latent_errors: Option<LatentErrors>,
    /// Failures of single tips.
    pub tips: Option<Tips>,
}

/// Distribution of lifetimes about their mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Lifetime {
    /// No memory: a device is as good as new until it fails.
    Exponential,
    /// Weibull: fails less and less often for shapes below 1, wears out for shapes above 1.
    Weibull {
        /// Shape, 0.1 to 50.
        shape: f64,
    },
    /// Lognormal.
    Lognormal {
        /// Standard deviation of the lifetime's logarithm, 0.01 to 10.
        sigma: f64,
    },
}

/// Some devices are weak from birth and live exponentially.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InfantMortality {
    /// Share of the devices, 0 to 1.
    pub share: f64,
    /// Their mean lifetime, h.
    pub mttf_h: f64,
}

/// Devices of a batch are good or bad together. Those of a bad batch live exponentially.
///
/// The devices and spares that an enclosure starts with come from consecutive batches, and those of each visit from new
/// ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batches {
    /// Devices in a batch, at least 1.
    pub size: u32,
    /// Share of the batches that are bad, 0 to 1.
    pub share: f64,
    /// Mean lifetime of their devices, h.
    pub mttf_h: f64,
}

/// Latent sector errors, found and put right by scrubbing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatentErrors {
    /// Mean time between errors of one device, h.
    pub every_h: f64,
    /// Time from one scrub of the whole enclosure to the next, h; never when absent.
    pub scrub_h: Option<f64>,
}

/// Tips of a device, which fail one by one and are replaced by spare tips.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tips {
    /// Tips that hold data.
    pub count: u32,
    /// Mean lifetime of a tip in use, exponential, h.
    pub mttf_h: f64,
    /// Spare tips, which do not fail before they are used.
    pub spares: u32,
    /// Tips that may be missing at once without loss of the device: what its error correction makes good.
    pub tolerated: u32,
    /// From a tip's failure until a spare tip has taken its place, h; 0 is allowed.
    pub remap_h: f64,
}

/// Recovery of missing devices' data, each onto a spare of its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rebuild {
    /// Time to write one whole spare.
    pub time: Delay,
    /// Devices that are rebuilt at the same time, at least 1.
    pub at_once: u32,
    /// Whether distributed sparing shortens it: there is less data on each of n devices, and all others read and write, so
    /// that it takes (data + parity)(data + 1) / n(n - 1) of the time.
    pub spread: bool,
}

/// A time that something takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delay {
    /// Mean, h.
    pub mean_h: f64,
    /// Distribution about the mean.
    pub distribution: DelayDistribution,
}

/// Distribution of a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelayDistribution {
    /// What Markov chains assume.
    Exponential,
    /// Always the mean.
    Fixed,
}

/// When somebody comes.
///
/// A visit is called for when no spare is left and a device is missing. It puts new devices in the place of all missing
/// ones, and the enclosure is then as at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repair {
    /// Time to a visit while all data still has its redundancy; nobody comes then when absent. Asks for `mandatory`.
    pub preventive: Option<Delay>,
    /// Time to a visit once redundancy is missing, too; nobody comes then when absent. An exponential time begins anew in
    /// this mode; of two fixed times the visit that is due first takes place.
    pub mandatory: Option<Delay>,
}

impl Enclosure {
    /// Devices that are needed: `data` + `parity`.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.data.saturating_add(self.parity)
    }

    /// Devices in all, spares among them.
    #[must_use]
    pub fn devices(&self) -> u32 {
        self.width().saturating_add(self.spares)
    }

    /// All that is wrong with it: fields that cannot be used, and what is allowed.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let mut found = Vec::new();
        if self.data == 0 {
            let says = ": 0 devices hold no data: at least 1 is needed";
            found.push(Fault::at(Kind::OutOfRange, "enclosure.data").says(says));
        }
        if u64::from(self.devices()) > ENCLOSURE_DEVICES.most {
            let says = format!(": {} devices and spares are more than {}", self.devices(), ENCLOSURE_DEVICES.most);
            found.push(Fault::at(Kind::OutOfRange, "enclosure.data").says(says));
        }
        found.extend(self.device.faults());
        found.extend(self.rebuild.time.fault("rebuild.time"));
        found.extend(within("rebuild.at_once", f64::from(self.rebuild.at_once), 1.0, f64::from(MOST_TOGETHER)));
        if let Some(delay) = &self.repair.preventive {
            found.extend(delay.fault("repair.preventive"));
            if self.repair.mandatory.is_none() {
                let says = ": who comes before redundancy is gone comes after that, too";
                found.push(Fault::missing("repair.mandatory").says(says));
            }
        }
        found.extend(self.repair.mandatory.and_then(|delay| delay.fault("repair.mandatory")));
        found
    }
}

impl Rebuild {
    /// Time of the next rebuild in an enclosure that has so many spares left.
    pub(super) fn time_with(&self, enclosure: &Enclosure, spares: u32) -> Delay {
        if enclosure.sparing == Sparing::Dedicated || !self.spread {
            return self.time;
        }
        let (width, n) = (f64::from(enclosure.width()), f64::from(enclosure.width() + spares));
        let share = width * (f64::from(enclosure.data) + 1.0) / (n * (n - 1.0));
        Delay { mean_h: self.time.mean_h * share, ..self.time }
    }
}

impl DeviceLife {
    /// What drawing one such life within a time, h, takes: one, and the failures of tips to be expected until the device has
    /// failed otherwise, or has none left to lose.
    pub(super) fn draws(&self, within_h: f64) -> u64 {
        let Some(tips) = &self.tips else { return 1 };
        let most = f64::from(tips.spares) + f64::from(tips.tolerated) + 1.0;
        let expected = f64::from(tips.count) * (within_h.min(self.mttf_h) / tips.mttf_h);
        1 + trunc_to_u64(expected.min(most))
    }

    fn faults(&self) -> Vec<Fault> {
        let mut found = Vec::new();
        found.extend(time("device.mttf", self.mttf_h));
        found.extend(match self.lifetime {
            Lifetime::Exponential => None,
            Lifetime::Weibull { shape } => within("device.lifetime.shape", shape, 0.1, 50.0),
            Lifetime::Lognormal { sigma } => within("device.lifetime.sigma", sigma, 0.01, 10.0),
        });
        if let Some(infants) = &self.infant_mortality {
            found.extend(within("device.infant_mortality.share", infants.share, 0.0, 1.0));
            found.extend(time("device.infant_mortality.mttf", infants.mttf_h));
        }
        if let Some(batches) = &self.batches {
            found.extend(within("device.batches.size", f64::from(batches.size), 1.0, f64::from(MOST_TOGETHER)));
            found.extend(within("device.batches.share", batches.share, 0.0, 1.0));
            found.extend(time("device.batches.mttf", batches.mttf_h));
        }
        if let Some(errors) = &self.latent_errors {
            found.extend(time("device.latent_errors.every", errors.every_h));
            found.extend(errors.scrub_h.and_then(|scrub_h| time("device.latent_errors.scrub", scrub_h)));
        }
        found.extend(self.tips.iter().flat_map(Tips::faults));
        found
    }
}

impl Tips {
    fn faults(&self) -> Vec<Fault> {
        let found = [
            within("device.tips.count", f64::from(self.count), 1.0, f64::from(MOST_TIPS)),
            within("device.tips.spares", f64::from(self.spares), 0.0, f64::from(MOST_TIPS)),
            // One tip more than is tolerated has to be there to fail.
            within("device.tips.tolerated", f64::from(self.tolerated), 0.0, f64::from(self.count) - 1.0),
            time("device.tips.mttf", self.mttf_h),
            time_within("device.tips.remap", self.remap_h, (0.0, TIMES_H.1)),
        ];
        found.into_iter().flatten().collect()
    }
}

impl Delay {
    /// Draws the time, h.
    pub(super) fn sample_h(&self, stream: &mut Stream) -> f64 {
        match self.distribution {
            DelayDistribution::Exponential => self.mean_h * stream.exponential(),
            DelayDistribution::Fixed => self.mean_h,
        }
    }

    fn fault(&self, field: &str) -> Option<Fault> {
        time(field, self.mean_h)
    }
}

fn time(field: &str, time_h: f64) -> Option<Fault> {
    time_within(field, time_h, TIMES_H)
}
