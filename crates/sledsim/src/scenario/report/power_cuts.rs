//! Power cuts of a run: their times, and the report on each cut.

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::random::Stream;
use crate::engine::{CutAfterRequest, Losses, PowerCut, PowerCutPlan, ServicePath, DATA_BYTES};
use crate::fault::{self, Fault};
use crate::hierarchy::ComponentSpec;
use crate::limits::PARTS_OF_A_REQUEST;
use crate::scenario::specs::scenario::{PowerCutsSpec, RunSpec, Scenario};
use crate::scenario::specs::system::SystemSpec;
use crate::time::{ns_to_s, s_to_ns, Time};
use crate::units::ns_to_ms;

/// Random cuts follow a random request after fewer than this many calls of components. A request takes about ten calls
/// on a deep system.
const MOST_CALLS: u64 = 30;

/// The effects of a power cut: lost data, recovery time, and service after it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PowerCutReport {
    /// Time at which power failed and returned, s.
    pub at_s: f64,
    /// Requests that were outstanding at that time. They fail; writes may have been executed completely or in part.
    pub under_way: u64,
    /// Blocks that were written before; this and the following counts are none if the run was interrupted.
    pub written_blocks: Option<u64>,
    /// Of these, blocks with older data than an acknowledged write that was not durable, for example in a volatile
    /// cache or buffer.
    pub lost_blocks: Option<u64>,
    /// Of these, blocks with neither the data of their latest durable write nor newer data. This is above 0 only if the
    /// system does not guarantee durability, such as a degraded array without a journal.
    pub lost_durable_blocks: Option<u64>,
    /// Of these, blocks that can't be read because of failed members or latent errors.
    pub unreadable_blocks: Option<u64>,
    /// Recovery time, s; none if the next power cut or the end of the run came first.
    pub recovery_s: Option<f64>,
    /// Requests that arrived during recovery.
    pub during_recovery: ServiceAfter,
    /// Requests that arrived after recovery, before the next cut or the end of the run.
    pub after: ServiceAfter,
}

/// Requests served after a power cut, including those of the warm-up.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ServiceAfter {
    /// Their number.
    pub requests: u64,
    /// Mean response, ms; none without requests.
    pub mean_ms: Option<f64>,
    /// Longest response, ms; none without requests.
    pub max_ms: Option<f64>,
}

impl ServiceAfter {
    fn of(path: &ServicePath) -> Self {
        let is_any = path.count > 0;
        Self {
            requests: path.count,
            mean_ms: is_any.then(|| ns_to_ms(path.sum_ns as f64 / path.count as f64)),
            max_ms: is_any.then(|| ns_to_ms(path.max_ns as f64)),
        }
    }
}

impl PowerCutReport {
    pub(in crate::scenario) fn new(cut: &PowerCut, losses: Option<Losses>) -> Self {
        Self {
            at_s: cut.at.seconds(),
            under_way: cut.outstanding,
            written_blocks: losses.map(|losses| losses.written),
            lost_blocks: losses.map(|losses| losses.lost),
            lost_durable_blocks: losses.map(|losses| losses.broken),
            unreadable_blocks: losses.map(|losses| losses.unreadable),
            recovery_s: cut.recovered.map(|recovered| ns_to_s(recovered - cut.at)),
            during_recovery: ServiceAfter::of(&cut.during_recovery),
            after: ServiceAfter::of(&cut.after),
        }
    }
}

/// Returns the fault of random cuts in a run of unknown length.
pub(in crate::scenario) fn check(run: &RunSpec) -> Option<Fault> {
    let random = run.power_cuts.as_ref().map_or(0, |cuts| cuts.random);
    (random > 0 && run.requests.is_none() && run.time_s.is_none()).then(|| {
        Fault::conflict("run.power_cuts.random", random)
            .says(" needs ")
            .key("run.requests")
            .says(" or ")
            .key("run.time_s")
            .says(": without them the length of a trace is not known in advance")
    })
}

/// Returns the fault of tiers whose extents are too large for a run with power cuts, which holds all outstanding data.
pub(in crate::scenario) fn check_copies(system: &SystemSpec, at: &fault::Path, run: &RunSpec) -> Vec<Fault> {
    let mut found = Vec::new();
    if cuts(run).is_none() {
        return found;
    }
    let most = PARTS_OF_A_REQUEST.most * DATA_BYTES;
    system.visit(at, &mut |component, path| {
        let copy = component.composite().and_then(ComponentSpec::largest_copy);
        if let Some((key, bytes)) = copy.filter(|&(_, bytes)| bytes > most) {
            let fault = Fault::conflict(path.step(key), bytes)
                .says(format!(
                    ": with power cuts an extent that moves has {most} B at most; take smaller ones, or leave out "
                ))
                .key("run.power_cuts");
            found.push(fault);
        }
    });
    found
}

fn cuts(run: &RunSpec) -> Option<&PowerCutsSpec> {
    run.power_cuts.as_ref().filter(|cuts| !cuts.times_s.is_empty() || cuts.random > 0)
}

/// Returns the times of power cuts in the run of a scenario; `None` without cuts.
pub(in crate::scenario) fn plan(scenario: &Scenario) -> Option<PowerCutPlan> {
    let cuts = cuts(&scenario.run)?;
    let mut stream = Stream::new(scenario.seed, "power cuts");
    let mut plan = PowerCutPlan::default();
    plan.times.extend(cuts.times_s.iter().map(|&at_s| Time::from_ns(s_to_ns(at_s))));
    for _ in 0..cuts.random {
        match (scenario.run.requests, scenario.run.time_s) {
            (Some(requests), _) => {
                let requests = 1 + stream.below(requests);
                plan.after_requests.push(CutAfterRequest { requests, calls: stream.below(MOST_CALLS) });
            }
            (None, time_s) => plan.times.push(Time::from_ns(s_to_ns(stream.unit() * time_s.unwrap_or(0.0)))),
        }
    }
    plan.times.sort_unstable();
    plan.after_requests.sort_unstable();
    Some(plan)
}
