//! The part of a report on each component of the system.

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::component::Measured;
use crate::engine::details::Details;
use crate::engine::{Count, ServicePath};
use crate::scenario::assemble::{AssembledComponent, Assembly};
use crate::time::{ns_to_s, Time};
use crate::units::ns_to_ms;

/// The work of a component in the measurement window.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ComponentReport {
    /// Its path in the scenario, such as `system.members[2]`; identical members are counted individually.
    pub path: String,
    /// Path of its parent; none for the whole system.
    pub parent: Option<String>,
    /// Its kind.
    pub kind: String,
    /// Its name in the scenario; for a drive without a name, that of its device.
    pub name: Option<String>,
    /// Number of its blocks.
    pub capacity_blocks: u64,
    /// Size of a block, bytes.
    pub block_bytes: u32,
    /// Requests sent to it, including internal requests of components above it.
    pub requests: u64,
    /// Its counts.
    pub counts: Vec<CountReport>,
    /// The paths of its completed requests, including requests that arrived during the warm-up.
    pub paths: Vec<PathReport>,
    /// The work of its mechanisms; none for a component without its own mechanisms.
    pub mechanisms: Option<MechanismsReport>,
}

/// A count of a component.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CountReport {
    /// Its name.
    pub name: String,
    /// Its unit; empty for numbers of things.
    pub unit: String,
    /// The amount.
    pub value: f64,
}

/// A path of requests through a component.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PathReport {
    /// Its name.
    pub name: String,
    /// Number of requests on this path.
    pub requests: u64,
    /// Mean time from submission to the component to completion, ms; none without requests.
    pub mean_ms: Option<f64>,
    /// The longest such time, ms.
    pub max_ms: f64,
}

/// The work of the mechanisms of a drive.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MechanismsReport {
    /// Busy share of the measurement window, averaged over mechanisms.
    pub utilisation: f64,
    /// Mean number of requests waiting for dispatch, summed over mechanisms.
    pub queue_mean: f64,
    /// Maximum number of waiting requests at one mechanism.
    pub queue_max: u64,
    /// Energy of the mechanisms, J; none if the powers are unknown.
    pub energy_j: Option<f64>,
}

impl ComponentReport {
    /// Returns the reports of all components, parents first; empty for a single drive without counts or paths.
    pub(in crate::scenario) fn all(assembly: &Assembly, finished: Time, window_s: f64) -> Vec<Self> {
        match assembly.components.as_slice() {
            [drive] if details_of(drive, assembly, finished).counts.is_empty() => Vec::new(),
            all => all.iter().map(|each| Self::of(each, assembly, finished, window_s)).collect(),
        }
    }

    fn of(of: &AssembledComponent, assembly: &Assembly, finished: Time, window_s: f64) -> Self {
        let component = assembly.system.component(of.id());
        let details = details_of(of, assembly, finished);
        let names = of.path_names.iter().cloned().map(Some).chain(std::iter::repeat(None));
        Self {
            path: of.path.clone(),
            parent: of.parent.map(|parent| assembly.components[parent].path.clone()),
            kind: of.kind.to_owned(),
            name: of.name.clone(),
            capacity_blocks: component.capacity_blocks(),
            block_bytes: component.block_bytes(),
            requests: assembly.system.requests_to(of.id()),
            counts: details.counts.iter().map(CountReport::of).collect(),
            paths: details.paths.iter().zip(names).map(|(path, name)| PathReport::of(path, name)).collect(),
            mechanisms: of.has_powers.map(|has_powers| {
                let mut measured = Measured::default();
                of.ids.iter().for_each(|&id| measured.add(&assembly.system.component(id).measured(finished)));
                MechanismsReport::of(&measured, has_powers, window_s)
            }),
        }
    }
}

/// Returns the counts and paths of a component; for a drive those of its mechanisms together and of the component over
/// them.
fn details_of(of: &AssembledComponent, assembly: &Assembly, finished: Time) -> Details {
    let mut all = Details::default();
    let parts = of.ids.iter().rev().filter_map(|&id| assembly.system.component(id).details(finished));
    for details in parts {
        for count in details.counts {
            match all.counts.iter_mut().find(|known| known.name == count.name) {
                Some(known) => known.value += count.value,
                None => all.counts.push(count),
            }
        }
        if all.kind.is_empty() {
            (all.kind, all.paths) = (details.kind, details.paths);
        }
    }
    all
}

impl CountReport {
    fn of(count: &Count) -> Self {
        Self { name: count.name.to_owned(), unit: count.unit.to_owned(), value: count.value }
    }
}

impl PathReport {
    fn of(path: &ServicePath, name: Option<String>) -> Self {
        Self {
            name: name.unwrap_or_else(|| path.name.to_owned()),
            requests: path.count,
            mean_ms: (path.count > 0).then(|| ns_to_ms(path.sum_ns as f64 / path.count as f64)),
            max_ms: ns_to_ms(path.max_ns as f64),
        }
    }
}

impl MechanismsReport {
    fn of(measured: &Measured, has_powers: bool, window_s: f64) -> Self {
        let over_window = |amount: f64| if window_s > 0.0 { amount / window_s } else { 0.0 };
        Self {
            utilisation: over_window(ns_to_s(measured.busy_ns) / f64::from(measured.mechanisms.max(1))),
            queue_mean: over_window(measured.queue_ns as f64 * 1e-9),
            queue_max: measured.queue_max,
            energy_j: has_powers.then(|| measured.ledger.energy_j.iter().sum()),
        }
    }
}
