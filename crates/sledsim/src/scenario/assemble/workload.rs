//! The workload of a scenario and the limits of its run.

use super::Assembly;
use crate::engine::{RunLimits, Workload};
use crate::fault::Fault;
use crate::scenario::specs::scenario::Scenario;
use crate::time::{s_to_ns, Time};
use crate::workloads::WorkloadSpec;

/// Builds the workload of a scenario for a system of the given size.
pub(in crate::scenario) fn workload(scenario: &Scenario, assembly: &Assembly) -> Result<Box<dyn Workload>, Fault> {
    let mut workload = scenario.workload.clone();
    if let WorkloadSpec::Trace(spec) = &mut workload {
        let system = &assembly.system;
        spec.resets = system.component(system.root()).resets_zones();
    }
    workload.start(scenario.seed, assembly.capacity_blocks, assembly.block_bytes)
}

/// Returns the limits of a scenario's run.
pub(in crate::scenario) fn limits(scenario: &Scenario) -> RunLimits {
    RunLimits {
        requests: scenario.run.requests,
        until: scenario.run.time_s.map(|time_s| Time::from_ns(s_to_ns(time_s))),
        warmup_requests: scenario.run.warmup_requests,
        warmup: Time::from_ns(s_to_ns(scenario.run.warmup_s)),
    }
}
