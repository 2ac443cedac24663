//! The description of a run: workload, system and length.
//!
//! The parameters of devices, schedulers and generators are defined in their own modules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::system::SystemSpec;
use crate::devices::disk::DiskParameters;
use crate::devices::mems::MemsParameters;
use crate::devices::simple::{ConstantParameters, LinearParameters};
use crate::fault::Faults;
use crate::hierarchy::{AnticipationSpec, DelayedStartupSpec, MergeSpec};
use crate::metrics::precision::{Precise, Target};
use crate::plugin::{CustomDeviceParameters, PluginSpec, SchedulerChoice, SpinDownChoice};
use crate::scenario::document::check::check;
use crate::scenario::document::entry::device_properties;
use crate::workloads::WorkloadSpec;

/// A scenario with every key: workload, system, and length of the run.
///
/// ```
/// use std::path::Path;
///
/// use sledsim::scenario::{resolve, run, Catalog, Notation};
///
/// let text = r#"
///     [workload]
///     arrival = { kind = "poisson", rate_per_s = 100 }
///     [system.device]
///     mechanism = "simpledisk-constant"
///     name = "constant"
///     capacity_blocks = 1000000
///     access_ms = 1
///     [run]
///     requests = 1000
/// "#;
/// let resolved = resolve(text, Notation::Toml, "example", &[], &Catalog::default(), Path::new("."))?;
/// assert_eq!(resolved.scenario().seed, 1);
/// let output = run(resolved.scenario(), Vec::new(), false, &mut |_| true)?;
/// assert_eq!(output.report.requests.completed, 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(description = "A scenario with every key: workload, system, and length of the run.")]
pub struct Scenario {
    /// Heading for the result.
    #[serde(default)]
    pub title: Option<String>,
    /// Seed of every random stream of the run.
    #[serde(default = "one_u64")]
    #[schemars(range(min = 0))]
    pub seed: u64,
    /// The requests.
    pub workload: WorkloadSpec,
    /// The system: components and devices.
    pub system: SystemSpec,
    /// The length of the run and its warm-up.
    #[serde(default)]
    pub run: RunSpec,
    /// Features of the imported description that affect results and are not supported. A run needs `accept_missing`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// True to run although features are `missing`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub accept_missing: bool,
}

/// One device and the scheduler that holds its pending requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriveSpec {
    /// The device.
    pub device: DeviceSpec,
    /// The scheduler.
    #[serde(default)]
    pub scheduler: SchedulerChoice,
    /// Largest number of requests in a batch: pending requests at the sled positions of the next request are served with it. 1
    /// for no batches.
    #[serde(default = "one_u32")]
    #[schemars(range(min = 1, max = 100000))]
    pub batch_max: u32,
    /// The rule by which pending requests are merged; none when absent. An empty table is the rule of lin2002.
    #[serde(default)]
    pub merge: Option<MergeSpec>,
    /// The spin-down policy; the timeouts of the device when absent.
    #[serde(default)]
    pub spin_down: Option<SpinDownChoice>,
    /// The rule that delays the start-up of a stopped device; none when absent.
    #[serde(default)]
    pub delayed_startup: Option<DelayedStartupSpec>,
    /// The time that requests wait for a sequential read; none when absent.
    #[serde(default)]
    pub anticipation: Option<AnticipationSpec>,
    /// True to switch on only the tips that hold needed bytes, which the workload gives. Otherwise whole blocks are accessed.
    #[serde(default)]
    pub subsector: bool,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "mechanism", rename_all = "kebab-case")]
pub enum DeviceSpec {
    /// MEMS (probe) storage.
    Mems(Box<MemsParameters>),
    /// A disk drive.
    Disk(Box<DiskParameters>),
    /// A device with a constant service time.
    SimplediskConstant(ConstantParameters),
    /// A device with a service time that is linear in the LBN distance between requests.
    SimplediskLinear(LinearParameters),
    /// A device with a custom mechanism, which returns positioning and transfer times.
    Custom(Box<CustomDeviceParameters>),
}

impl DeviceSpec {
    /// Returns the device that `document` describes: a table of `mechanism`, `name` and all values of that kind of device.
    ///
    /// # Errors
    /// The faults: each with its key, value and allowed values.
    pub fn of(mut document: Value) -> Result<Self, Faults> {
        check(&mut document, &serde_json::to_value(schemars::schema_for!(Self)).unwrap_or_default())?;
        Ok(serde_json::from_value(document)?)
    }

    /// Returns the value of `mechanism`.
    #[must_use]
    pub const fn mechanism(&self) -> &'static str {
        match self {
            Self::Mems(_) => "mems",
            Self::Disk(_) => "disk",
            Self::SimplediskConstant(_) => "simpledisk-constant",
            Self::SimplediskLinear(_) => "simpledisk-linear",
            Self::Custom(_) => "custom",
        }
    }

    /// Returns the unit of a key of this kind of device: empty for none, `None` if there is no such key.
    #[must_use]
    pub fn unit(&self, key: &str) -> Option<&'static str> {
        let property = device_properties(self.mechanism())?.get(key)?;
        Some(property.get("x-unit").and_then(Value::as_str).unwrap_or_default())
    }

    /// Returns the name of the catalogue entry.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Mems(parameters) => &parameters.name,
            Self::Disk(parameters) => &parameters.name,
            Self::SimplediskConstant(parameters) => &parameters.name,
            Self::SimplediskLinear(parameters) => &parameters.name,
            Self::Custom(parameters) => &parameters.name,
        }
    }

    /// Returns its custom mechanism, if it has one.
    #[must_use]
    pub fn custom(&self) -> Option<&PluginSpec> {
        match self {
            Self::Custom(parameters) => Some(&parameters.plugin),
            _ => None,
        }
    }

    /// Returns the custom mechanism for changes.
    pub(in crate::scenario) fn custom_mut(&mut self) -> Option<&mut PluginSpec> {
        match self {
            Self::Custom(parameters) => Some(&mut parameters.plugin),
            _ => None,
        }
    }

    /// Returns the number of mechanisms that work independently: the sleds of a MEMS device, or the actuators of a disk that are tied
    /// to ranges of LBNs.
    #[must_use]
    pub fn mechanisms(&self) -> u32 {
        match self {
            Self::Mems(parameters) => parameters.sleds,
            Self::Disk(parameters) => parameters.actuator_ranges,
            _ => 1,
        }
    }

    /// Returns true if the power that the device draws is known.
    #[must_use]
    pub const fn has_powers(&self) -> bool {
        match self {
            Self::Mems(_) => true,
            Self::Disk(parameters) => parameters.power.is_some(),
            Self::SimplediskConstant(parameters) => parameters.power.is_some(),
            Self::SimplediskLinear(parameters) => parameters.power.is_some(),
            Self::Custom(parameters) => parameters.power.is_some(),
        }
    }

    /// Returns the names of the idle modes of a mechanism. In the first mode it is ready.
    #[must_use]
    pub fn idle_modes(&self) -> Vec<String> {
        let power = match self {
            Self::Mems(_) => None,
            Self::Disk(parameters) => parameters.power.as_ref(),
            Self::SimplediskConstant(parameters) => parameters.power.as_ref(),
            Self::SimplediskLinear(parameters) => parameters.power.as_ref(),
            Self::Custom(parameters) => parameters.power.as_ref(),
        };
        match power {
            Some(power) => power.idle_modes.iter().map(|mode| mode.name.clone()).collect(),
            None => vec!["idle".into(), "inactive".into()],
        }
    }
}

/// The length of a run and its warm-up. Without a limit, a trace runs to its end and a generator for 100,000 requests; with `precision`, a
/// generator runs until its results are precise enough.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunSpec {
    /// Submit this many requests, warm-up included, and wait for all of them. With `precision` this is the maximum, by default 10,000,000.
    #[schemars(range(min = 1))]
    pub requests: Option<u64>,
    /// Stop at this simulated time.
    #[schemars(range(min = 0.0, max = 1e10), extend("x-unit" = "s"))]
    pub time_s: Option<f64>,
    /// Start measuring at the arrival that follows this many requests.
    #[schemars(range(min = 0))]
    pub warmup_requests: u64,
    /// Start measuring at this time; with `warmup_requests` too, at the first arrival that meets both.
    #[schemars(range(min = 0.0, max = 1e10), extend("x-unit" = "s"))]
    pub warmup_s: f64,
    /// The rule that sets the warm-up. By default `fixed`, but `auto` if `precision` is given without `warmup_requests` and `warmup_s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup: Option<WarmupRule>,
    /// The precision at which a run of generated requests ends; absent for a run of a fixed length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<PrecisionSpec>,
    /// The power failures; none when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_cuts: Option<PowerCutsSpec>,
}

/// The rule that sets the warm-up of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WarmupRule {
    /// The warm-up is `warmup_requests` and `warmup_s`.
    Fixed,
    /// The warm-up is detected: a pilot run of at least 1,000 requests finds the number of first requests whose response times depend on
    /// the initial state, by the rule MSER-5 (White, Cobb and Spratt, 2000).
    Auto,
}

/// The precision at which a run ends: the largest half-width of the 95 % confidence interval as a fraction of the result, such as "1%". The
/// run ends when each result given here has this precision, or after `requests`; a note then names the results that do not have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PrecisionSpec {
    /// Precision of the mean response time.
    #[schemars(range(min = 0.0001, max = 1.0), extend("x-unit" = "fraction"))]
    pub response: Option<f64>,
    /// Precision of the median of response times.
    #[schemars(range(min = 0.0001, max = 1.0), extend("x-unit" = "fraction"))]
    pub p50: Option<f64>,
    /// Precision of the 0.9-quantile of response times.
    #[schemars(range(min = 0.0001, max = 1.0), extend("x-unit" = "fraction"))]
    pub p90: Option<f64>,
    /// Precision of the 0.95-quantile of response times.
    #[schemars(range(min = 0.0001, max = 1.0), extend("x-unit" = "fraction"))]
    pub p95: Option<f64>,
    /// Precision of the 0.99-quantile of response times.
    #[schemars(range(min = 0.0001, max = 1.0), extend("x-unit" = "fraction"))]
    pub p99: Option<f64>,
    /// Precision of the 0.999-quantile of response times.
    #[schemars(range(min = 0.0001, max = 1.0), extend("x-unit" = "fraction"))]
    pub p99_9: Option<f64>,
    /// Precision of the energy per request.
    #[schemars(range(min = 0.0001, max = 1.0), extend("x-unit" = "fraction"))]
    pub energy: Option<f64>,
    /// Precision of the utilisation.
    #[schemars(range(min = 0.0001, max = 1.0), extend("x-unit" = "fraction"))]
    pub utilisation: Option<f64>,
    /// Precision of the hit ratio of the topmost cache.
    #[schemars(range(min = 0.0001, max = 1.0), extend("x-unit" = "fraction"))]
    pub hit_ratio: Option<f64>,
    /// True to estimate the mean response with control variates, where they apply: for Poisson arrivals at a single drive.
    pub control_variates: bool,
}

impl Default for PrecisionSpec {
    fn default() -> Self {
        let none = None;
        Self {
            response: none,
            p50: none,
            p90: none,
            p95: none,
            p99: none,
            p99_9: none,
            energy: none,
            utilisation: none,
            hit_ratio: none,
            control_variates: true,
        }
    }
}

impl PrecisionSpec {
    /// Returns the targets by the names of their keys, in the order in which they are reported.
    #[must_use]
    pub fn targets(&self) -> Vec<(&'static str, Target)> {
        let all = [
            ("response", Precise::Response, self.response),
            ("p50", Precise::Quantile(0.5), self.p50),
            ("p90", Precise::Quantile(0.9), self.p90),
            ("p95", Precise::Quantile(0.95), self.p95),
            ("p99", Precise::Quantile(0.99), self.p99),
            ("p99_9", Precise::Quantile(0.999), self.p99_9),
            ("energy", Precise::Energy, self.energy),
            ("utilisation", Precise::Utilisation, self.utilisation),
            ("hit_ratio", Precise::HitRatio, self.hit_ratio),
        ];
        let given = all.into_iter().filter_map(|(key, result, fraction)| Some((key, result, fraction?)));
        given.map(|(key, result, fraction)| (key, Target { result, fraction })).collect()
    }
}

/// Power failures. Power returns at once; requests in flight are lost, and the recovery takes time. The run keeps the content of
/// all written blocks. For each failure a further run ends there and reads all blocks, to find the lost writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PowerCutsSpec {
    /// At these times.
    #[schemars(inner(range(min = 0.0, max = 1e10)), length(max = 1000), extend("x-unit" = "s"))]
    pub times_s: Vec<f64>,
    /// Number of further failures at random moments: after a random one of `run.requests`, between two random events; or at
    /// random times before `run.time_s`. Those after the end of the run are left out.
    #[schemars(range(min = 0, max = 1000))]
    pub random: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // As serde calls it.
const fn is_false(flag: &bool) -> bool {
    !*flag
}

const fn one_u64() -> u64 {
    1
}

const fn one_u32() -> u32 {
    1
}
