//! Runs whose warm-up is detected, and runs that end at a precision.

use super::assemble::Assembly;
use super::specs::scenario::{PrecisionSpec, Scenario};
use crate::engine::ComponentId;
use crate::metrics::controls::Controls;
use crate::metrics::precision::{Monitor, PrecisionRule, Sampled};
use crate::metrics::recorder::Quantity;
use crate::units::NS_PER_MS;
use crate::workloads::{ArrivalSpec, Distribution, LocationSpec, SyntheticSpec, WorkloadSpec};

/// Requests of the first pilot run.
pub(super) const FIRST_PILOT: u64 = 1000;
/// Factor from one pilot run to the next, which repeats it.
pub(super) const PILOT_GROWTH: u64 = 4;
/// A pilot run has at most this share of the requests of the run.
pub(super) const PILOT_SHARE: u64 = 4;

/// The beginning of a run, simulated to find its warm-up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pilot {
    /// Requests of all pilot runs.
    pub requests: u64,
    /// The warm-up by MSER-5.
    pub warmup_requests: u64,
    /// True if the pilot run was long enough to find the warm-up; otherwise the warm-up is the whole pilot run.
    pub is_found: bool,
    /// Mean service time, ns.
    pub service_ns: f64,
}

impl Pilot {
    /// Returns the result of a pilot run of `length` requests; `None` if a longer one is needed and allowed.
    pub(super) fn of(monitor: &Monitor, length: u64, total: u64, most: u64) -> Option<Self> {
        let warmup = monitor.start_up().warmup();
        if warmup.is_none() && length * PILOT_GROWTH <= most / PILOT_SHARE {
            return None;
        }
        let service_ns =
            monitor.recorder().summary(Quantity::Service).map_or(0.0, |service| service.mean_ms * NS_PER_MS);
        Some(Self {
            requests: total,
            warmup_requests: warmup.unwrap_or(length),
            is_found: warmup.is_some(),
            service_ns,
        })
    }
}

/// Returns the rule that ends a run, after a warm-up.
pub(super) fn rule(
    scenario: &Scenario,
    spec: &PrecisionSpec,
    assembly: &Assembly,
    warmup_requests: u64,
    service_ns: Option<f64>,
) -> PrecisionRule {
    let targets = spec.targets().into_iter().map(|(_, target)| target).collect();
    let components = assembly.components.iter().flat_map(|component| component.ids.iter().copied()).collect();
    let sampled = Sampled { components, cache: cache_of(assembly) };
    let controls = service_ns.and_then(|service_ns| {
        let (workload, rate_per_ns) = controlled_workload(scenario, assembly)?;
        Controls::new(rate_per_ns, service_ns, mean_blocks(workload, assembly), warmup_requests)
    });
    PrecisionRule::new(targets, warmup_requests, controls, sampled)
}

/// Returns true if control variates need the mean service time of a pilot run.
pub(super) fn needs_pilot(scenario: &Scenario, assembly: &Assembly) -> bool {
    controlled_workload(scenario, assembly).is_some()
}

/// Returns the topmost cache with a hit ratio.
pub(super) fn cache_of(assembly: &Assembly) -> Option<ComponentId> {
    let now = assembly.system.now();
    let has_ratio = |id: &ComponentId| {
        let details = assembly.system.component(*id).details(now);
        details.is_some_and(|details| details.counts.iter().any(|count| count.name == "hit_ratio"))
    };
    assembly.components.iter().map(super::assemble::AssembledComponent::id).find(has_ratio)
}

/// Returns the workload and its arrivals per nanosecond if control variates are wanted and apply: for Poisson arrivals at a single
/// drive.
fn controlled_workload<'s>(scenario: &'s Scenario, assembly: &Assembly) -> Option<(&'s SyntheticSpec, f64)> {
    let WorkloadSpec::Synthetic(workload) = &scenario.workload else { return None };
    let ArrivalSpec::Poisson(arrival) = &workload.arrival else { return None };
    let is_wanted = scenario.run.precision.as_ref().is_some_and(|spec| spec.control_variates);
    (is_wanted && assembly.components.len() == 1).then(|| (workload, arrival.rate_per_s / workload.time_scale * 1e-9))
}

/// Smallest part of the device that uniform locations must cover so that no size is cut, as a multiple of the mean size: a larger
/// exponential size has a probability of 1e-17.
const UNCUT: f64 = 40.0;

/// Returns the exact mean number of blocks of a request; `None` if sizes are fixed, or their mean is not known exactly.
fn mean_blocks(workload: &SyntheticSpec, assembly: &Assembly) -> Option<f64> {
    let Distribution::Exponential { mean } = workload.size_bytes else { return None };
    let block_bytes = f64::from(assembly.block_bytes);
    let range = workload.range.end_fraction - workload.range.start_fraction;
    let is_uncut = matches!(workload.location, LocationSpec::Uniform(_))
        && assembly.capacity_blocks as f64 * range * block_bytes > UNCUT * mean;
    // Rounded up to blocks, the size has a geometric distribution.
    is_uncut.then(|| -1.0 / libm::expm1(-block_bytes / mean))
}
