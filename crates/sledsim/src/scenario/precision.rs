//! Runs whose warm-up is detected, runs that end at a precision, and control variates.

use super::assemble::Assembly;
use super::specs::scenario::{PrecisionSpec, Scenario};
use crate::engine::ComponentId;
use crate::metrics::controls::{Controls, ExactMeans};
use crate::metrics::precision::{Monitor, PrecisionRule, Sampled};
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
}

impl Pilot {
    /// Returns the result of a pilot run of `length` requests; `None` if a longer one is needed and allowed.
    pub(super) fn of(monitor: &Monitor, length: u64, total: u64, most: u64) -> Option<Self> {
        let warmup = monitor.warmup();
        if warmup.is_none() && length * PILOT_GROWTH <= most / PILOT_SHARE {
            return None;
        }
        Some(Self { requests: total, warmup_requests: warmup.unwrap_or(length), is_found: warmup.is_some() })
    }
}

/// Returns the rule that ends a run, after a warm-up.
pub(super) fn rule(spec: &PrecisionSpec, assembly: &Assembly, warmup_requests: u64) -> PrecisionRule {
    let targets = spec.targets().into_iter().map(|(_, target)| target).collect();
    let components = assembly.components.iter().flat_map(|component| component.ids.iter().copied()).collect();
    PrecisionRule::new(targets, warmup_requests, Sampled { components, cache: cache_of(assembly) })
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

/// Returns the control variates of a run if they apply: for Poisson arrivals at a single drive, in a run without a time limit, a timed
/// warm-up or power cuts.
pub(super) fn controls(scenario: &Scenario, assembly: &Assembly, warmup_requests: u64) -> Option<Controls> {
    let WorkloadSpec::Synthetic(workload) = &scenario.workload else { return None };
    let ArrivalSpec::Poisson(arrival) = &workload.arrival else { return None };
    let run = &scenario.run;
    let is_wanted = run.precision.as_ref().is_none_or(|spec| spec.control_variates);
    let is_counted_in_requests = run.time_s.is_none() && run.warmup_s == 0.0 && run.power_cuts.is_none();
    (is_wanted && is_counted_in_requests && assembly.components.len() == 1).then(|| {
        let rate_per_ns = arrival.rate_per_s / workload.time_scale * 1e-9;
        Controls::new(rate_per_ns, exact_means(workload, assembly), warmup_requests)
    })
}

/// Smallest part of the device that random locations must cover, as a multiple of the mean size. Then no size is cut (a larger
/// exponential size has a probability of 1e-434), and variances of sizes change the mean distance by less than a millionth.
const UNCUT: f64 = 1000.0;

/// Returns the means of the properties of the requests that are known exactly: those of random locations.
fn exact_means(workload: &SyntheticSpec, assembly: &Assembly) -> ExactMeans {
    let LocationSpec::Uniform(uniform) = &workload.location else { return ExactMeans::default() };
    let block_bytes = f64::from(assembly.block_bytes);
    let at = |fraction: f64| (fraction * assembly.capacity_blocks as f64).floor();
    let range_blocks = at(workload.range.end_fraction) - at(workload.range.start_fraction);
    if workload.metadata.is_some() || range_blocks * block_bytes < UNCUT * workload.size_bytes.mean() {
        return ExactMeans::default();
    }
    let (blocks, varies) = match workload.size_bytes {
        Distribution::Fixed { value } => ((value / block_bytes).ceil().max(1.0), false),
        // Rounded up to blocks, the size has a geometric distribution.
        Distribution::Exponential { mean } => (-1.0 / libm::expm1(-block_bytes / mean), true),
        _ => return ExactMeans::default(),
    };
    // Numbers from 1 to n, drawn independently, differ by (n² − 1) / 3n on average.
    let starts = range_blocks - blocks + 1.0;
    let is_independent = workload.continuation.is_none();
    let is_mixed = workload.read_fraction > 0.0 && workload.read_fraction < 1.0;
    ExactMeans {
        blocks: varies.then_some(blocks),
        distance_blocks: (is_independent && uniform.align_bytes.is_none())
            .then_some((starts * starts - 1.0) / (3.0 * starts)),
        writes: (is_independent && is_mixed).then_some(1.0 - workload.read_fraction),
    }
}
