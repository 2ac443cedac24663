//! Description of an enclosure, its devices and its maintenance. Times are hours.

use serde::{Deserialize, Serialize};

use crate::convert::trunc_to_u64;
use crate::engine::random::Stream;
use crate::fault::{Fault, Kind, Range};
use crate::limits::ENCLOSURE_DEVICES;

/// Most devices of a batch, and most concurrent rebuilds.
const MAX_TOGETHER: u32 = 300_000;
/// Shortest and longest mean time, h: 3.6 ns and 100 million years.
const TIMES_H: (f64, f64) = (1e-12, 1e12);
/// Most tips of a device.
const MAX_TIPS: u32 = 10_000_000;

/// An enclosure. It tolerates the loss of any `parity` of its `data` + `parity` devices.
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
    /// Data, in units of a device's capacity, at least 1.
    pub data: u32,
    /// Number of failed devices that the redundancy tolerates: 1 for RAID-5, 2 for RAID-6.
    pub parity: u32,
    /// Dedicated spares, or spare space in units of a device's capacity.
    pub spares: u32,
    /// Location of the spare space.
    pub sparing: Sparing,
    /// If true, dedicated spares age and fail while idle.
    pub spares_fail: bool,
    /// Lifetime and faults of a device.
    pub device: DeviceLife,
    /// Rebuild of the data of failed devices.
    pub rebuild: Rebuild,
    /// Visits, each of which replaces every missing device.
    pub repair: Repair,
}

/// Location of the spare space of an enclosure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sparing {
    /// On dedicated devices, which hold no data until they replace a failed device.
    Dedicated,
    /// Distributed over all devices, which are all in use and age.
    Distributed,
}

/// Lifetime and faults of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceLife {
    /// Mean lifetime of a device without infant mortality and of a good batch, h.
    pub mttf_h: f64,
    /// Distribution of its lifetime.
    pub lifetime: Lifetime,
    /// Devices with infant mortality.
    pub infant_mortality: Option<InfantMortality>,
    /// Batches of devices.
    pub batches: Option<Batches>,
    /// Latent sector errors.
    pub latent_errors: Option<LatentErrors>,
    /// Failures of single tips.
    pub tips: Option<Tips>,
}

/// Distribution of lifetimes with a given mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Lifetime {
    /// Exponential: the hazard does not depend on the age.
    Exponential,
    /// Weibull: the hazard falls with the age for shapes below 1 and rises for shapes above 1.
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

/// Infant mortality: a share of the devices has a shorter, exponential lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InfantMortality {
    /// Share of the devices, 0 to 1.
    pub share: f64,
    /// Their mean lifetime, h.
    pub mttf_h: f64,
}

/// Batches of devices. All devices of a bad batch have a shorter, exponential lifetime.
///
/// The initial devices and spares of an enclosure come from consecutive batches. Each visit starts a new batch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batches {
    /// Devices in a batch, at least 1.
    pub size: u32,
    /// Share of the batches that are bad, 0 to 1.
    pub share: f64,
    /// Mean lifetime of the devices of a bad batch, h.
    pub mttf_h: f64,
}

/// Latent sector errors, which scrubbing finds and repairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatentErrors {
    /// Mean time between errors of one device, h.
    pub every_h: f64,
    /// Interval between scrubs of the whole enclosure, h; no scrubbing if absent.
    pub scrub_h: Option<f64>,
}

/// Tips of a device. They fail independently, and spare tips replace them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tips {
    /// Number of tips in use.
    pub count: u32,
    /// Mean lifetime of a tip in use, exponential, h.
    pub mttf_h: f64,
    /// Number of spare tips, which do not fail before they are used.
    pub spares: u32,
    /// Number of missing tips that the error correction tolerates.
    pub tolerated: u32,
    /// Time from the failure of a tip until a spare tip replaces it, h; may be 0.
    pub remap_h: f64,
}

/// Rebuild of the data of failed devices, each onto one spare.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rebuild {
    /// Time to rebuild one device.
    pub time: Delay,
    /// Most concurrent rebuilds, at least 1.
    pub at_once: u32,
    /// If true, distributed sparing shortens the rebuild. Each of n devices then holds less data, and all others read and write:
    /// the time is multiplied by (data + parity)(data + 1) / n(n - 1).
    pub spread: bool,
}

/// A random or fixed duration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delay {
    /// Mean, h.
    pub mean_h: f64,
    /// Distribution with this mean.
    pub distribution: DelayDistribution,
}

/// Distribution of a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelayDistribution {
    /// Exponential, as in Markov chains.
    Exponential,
    /// Equal to the mean.
    Fixed,
}

/// Service visits.
///
/// A visit is scheduled when no spare is left and a device is missing. It replaces all missing devices and restores all spares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repair {
    /// Time to a visit while all data has full redundancy; no such visit if absent. Requires `mandatory`.
    pub preventive: Option<Delay>,
    /// Time to a visit after redundancy is lost; no such visit if absent. An exponential time is drawn again when
    /// redundancy is lost. Of two fixed times, the earlier visit takes place.
    pub mandatory: Option<Delay>,
}

impl Enclosure {
    /// Returns `data` + `parity`.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.data.saturating_add(self.parity)
    }

    /// Returns the number of devices, including spares.
    #[must_use]
    pub fn devices(&self) -> u32 {
        self.width().saturating_add(self.spares)
    }

    /// Returns a fault for each invalid field.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let mut found = Vec::new();
        if self.data == 0 {
            let says = " = 0: at least 1 device is needed for data";
            found.push(Fault::at(Kind::OutOfRange, "enclosure.data").says(says));
        }
        if u64::from(self.devices()) > ENCLOSURE_DEVICES.most {
            let says = format!(": {} devices and spares are more than {}", self.devices(), ENCLOSURE_DEVICES.most);
            found.push(Fault::at(Kind::OutOfRange, "enclosure.data").says(says));
        }
        found.extend(self.device.faults());
        found.extend(self.rebuild.time.fault("rebuild.time"));
        found.extend(range_fault("rebuild.at_once", f64::from(self.rebuild.at_once), 1.0, f64::from(MAX_TOGETHER)));
        if let Some(delay) = &self.repair.preventive {
            found.extend(delay.fault("repair.preventive"));
            if self.repair.mandatory.is_none() {
                let says = ": a preventive visit requires a mandatory one";
                found.push(Fault::missing("repair.mandatory").says(says));
            }
        }
        found.extend(self.repair.mandatory.and_then(|delay| delay.fault("repair.mandatory")));
        found
    }
}

impl Rebuild {
    /// Returns the duration of the next rebuild while `spares` spares are left.
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
    /// Returns the expected number of random draws for one lifetime up to `within_h`: one, and one for each failure of a tip until
    /// the device fails.
    pub(super) fn draws(&self, within_h: f64) -> u64 {
        let Some(tips) = &self.tips else { return 1 };
        let most = f64::from(tips.spares) + f64::from(tips.tolerated) + 1.0;
        let expected = f64::from(tips.count) * (within_h.min(self.mttf_h) / tips.mttf_h);
        1 + trunc_to_u64(expected.min(most))
    }

    fn faults(&self) -> Vec<Fault> {
        let mut found = Vec::new();
        found.extend(time_fault("device.mttf", self.mttf_h));
        found.extend(match self.lifetime {
            Lifetime::Exponential => None,
            Lifetime::Weibull { shape } => range_fault("device.lifetime.shape", shape, 0.1, 50.0),
            Lifetime::Lognormal { sigma } => range_fault("device.lifetime.sigma", sigma, 0.01, 10.0),
        });
        if let Some(infants) = &self.infant_mortality {
            found.extend(range_fault("device.infant_mortality.share", infants.share, 0.0, 1.0));
            found.extend(time_fault("device.infant_mortality.mttf", infants.mttf_h));
        }
        if let Some(batches) = &self.batches {
            found.extend(range_fault("device.batches.size", f64::from(batches.size), 1.0, f64::from(MAX_TOGETHER)));
            found.extend(range_fault("device.batches.share", batches.share, 0.0, 1.0));
            found.extend(time_fault("device.batches.mttf", batches.mttf_h));
        }
        if let Some(errors) = &self.latent_errors {
            found.extend(time_fault("device.latent_errors.every", errors.every_h));
            found.extend(errors.scrub_h.and_then(|scrub_h| time_fault("device.latent_errors.scrub", scrub_h)));
        }
        found.extend(self.tips.iter().flat_map(Tips::faults));
        found
    }
}

impl Tips {
    fn faults(&self) -> Vec<Fault> {
        let found = [
            range_fault("device.tips.count", f64::from(self.count), 1.0, f64::from(MAX_TIPS)),
            range_fault("device.tips.spares", f64::from(self.spares), 0.0, f64::from(MAX_TIPS)),
            // The device must have enough tips to fail by them.
            range_fault("device.tips.tolerated", f64::from(self.tolerated), 0.0, f64::from(self.count) - 1.0),
            time_fault("device.tips.mttf", self.mttf_h),
            time_range_fault("device.tips.remap", self.remap_h, 0.0),
        ];
        found.into_iter().flatten().collect()
    }
}

impl Delay {
    /// Draws a duration, h.
    pub(super) fn sample_h(&self, stream: &mut Stream) -> f64 {
        match self.distribution {
            DelayDistribution::Exponential => self.mean_h * stream.exponential(),
            DelayDistribution::Fixed => self.mean_h,
        }
    }

    fn fault(&self, field: &str) -> Option<Fault> {
        time_fault(field, self.mean_h)
    }
}

fn time_fault(field: &str, time_h: f64) -> Option<Fault> {
    time_range_fault(field, time_h, TIMES_H.0)
}

/// Returns a fault if `time_h` is below `shortest_h` or above the longest time.
fn time_range_fault(field: &str, time_h: f64, shortest_h: f64) -> Option<Fault> {
    let range = Range { unit: "h".into(), ..Range::from_to(shortest_h, TIMES_H.1) };
    (!(shortest_h..=TIMES_H.1).contains(&time_h)).then(|| Fault::out_of_range(field, time_h, range))
}

/// Returns a fault if `value` is outside `low` to `high`, which are both allowed.
pub(super) fn range_fault(field: &str, value: f64, low: f64, high: f64) -> Option<Fault> {
    (!(low..=high).contains(&value)).then(|| Fault::out_of_range(field, value, Range::from_to(low, high)))
}
