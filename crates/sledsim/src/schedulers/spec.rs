//! The registry of policies, and their parameters as a scenario states them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{asptf, clook, fcfs, look, sdf, sptf, sstf_lbn, vscan, zsptf, Scheduler};
use crate::devices::Device;

/// A policy as the registry lists it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Key in scenarios.
    pub name: &'static str,
    /// Name in the literature.
    pub title: &'static str,
    /// What it does, in a sentence.
    pub description: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// The policy with its default parameters.
    pub default: SchedulerSpec,
}

/// Every policy.
pub const POLICIES: &[Policy] = &[
    fcfs::POLICY,
    look::POLICY,
    clook::POLICY,
    vscan::POLICY,
    sstf_lbn::POLICY,
    sptf::POLICY,
    asptf::POLICY,
    sdf::POLICY,
    zsptf::POLICY,
];

/// A policy and its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "snake_case", deny_unknown_fields)]
// Without parameters, too, the variants have braces: serde denies unknown fields only there.
pub enum SchedulerSpec {
    /// First come, first served.
    Fcfs {},
    /// Elevator over LBNs.
    Look {},
    /// Cyclical LOOK: ascending LBNs, then again from the lowest.
    Clook {},
    /// VSCAN(R): shortest LBN distance, with a penalty for turning round.
    Vscan {
        /// Penalty for turning round, as a fraction of the device's capacity: 0 is SSTF, 1 is LOOK.
        #[serde(default = "vscan::default_r")]
        #[schemars(range(min = 0.0, max = 1.0))]
        r: f64,
    },
    /// Shortest seek time first, by LBN distance.
    SstfLbn {},
    /// Shortest positioning time first.
    Sptf {},
    /// Aged SPTF: positioning time less `weight` times waiting time.
    Asptf {
        /// Nanoseconds of positioning that a nanosecond of waiting makes up for: 0 is SPTF, a large one FCFS.
        #[serde(default = "asptf::default_weight")]
        #[schemars(range(min = 0.0))]
        weight: f64,
    },
    /// Shortest Euclidean distance first.
    Sdf {},
    /// Zone-based SPTF: zones in cyclic order, SPTF within the zone.
    Zsptf {
        /// Number of zones along X: 1 is SPTF.
        #[serde(default = "zsptf::default_zones")]
        #[schemars(range(min = 1))]
        zones: u32,
    },
}

/// A parameter outside its range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("scheduler {scheduler}: {parameter} is {value}, but must be {allowed}")]
pub struct SpecError {
    /// The policy's name.
    pub scheduler: &'static str,
    /// The parameter's name.
    pub parameter: &'static str,
    /// What was given.
    pub value: f64,
    /// What is allowed.
    pub allowed: &'static str,
}

impl SchedulerSpec {
    /// The policy's name: its key in scenarios.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fcfs {} => fcfs::POLICY.name,
            Self::Look {} => look::POLICY.name,
            Self::Clook {} => clook::POLICY.name,
            Self::Vscan { .. } => vscan::POLICY.name,
            Self::SstfLbn {} => sstf_lbn::POLICY.name,
            Self::Sptf {} => sptf::POLICY.name,
            Self::Asptf { .. } => asptf::POLICY.name,
            Self::Sdf {} => sdf::POLICY.name,
            Self::Zsptf { .. } => zsptf::POLICY.name,
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// The first parameter outside its range.
    pub fn validate(&self) -> Result<(), SpecError> {
        let error = |parameter, value, allowed| Err(SpecError { scheduler: self.name(), parameter, value, allowed });
        match *self {
            Self::Vscan { r } if !(0.0..=1.0).contains(&r) => error("r", r, "from 0 to 1"),
            Self::Asptf { weight } if !(weight >= 0.0 && weight.is_finite()) => {
                error("weight", weight, "at least 0 and finite")
            }
            Self::Zsptf { zones: 0 } => error("zones", 0.0, "at least 1"),
            _ => Ok(()),
        }
    }
}

/// The scheduler that a valid `spec` describes, with nothing pending, for `device`.
#[must_use]
pub fn build(spec: &SchedulerSpec, device: &dyn Device) -> Box<dyn Scheduler> {
    match *spec {
        SchedulerSpec::Fcfs {} => Box::new(fcfs::Fcfs::new()),
        SchedulerSpec::Look {} => Box::new(look::Look::new()),
        SchedulerSpec::Clook {} => Box::new(clook::Clook::new()),
        SchedulerSpec::Vscan { r } => Box::new(vscan::Vscan::new(r, device.capacity_blocks())),
        SchedulerSpec::SstfLbn {} => Box::new(sstf_lbn::SstfLbn::new()),
        SchedulerSpec::Sptf {} => Box::new(sptf::Sptf::new(device.cylinders())),
        SchedulerSpec::Asptf { weight } => Box::new(asptf::Asptf::new(weight, device.cylinders())),
        SchedulerSpec::Sdf {} => Box::new(sdf::Sdf::new(device)),
        SchedulerSpec::Zsptf { zones } => Box::new(zsptf::Zsptf::new(zones, device.cylinders())),
    }
}
