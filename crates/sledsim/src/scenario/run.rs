//! Running a scenario.

use super::assemble;
use super::report::Report;
use super::spec::{Scenario, WorkloadSpec};
use crate::engine::{self, Progress, System};
use crate::fault::{Fault, Kind};
use crate::metrics::recorder::Recorder;
use crate::power::{Activity, Timeline, TimelineSpec};

/// What stops a run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The system or the generator can't be built.
    #[error(transparent)]
    Scenario(Fault),
    /// The trace can't be read or does not fit.
    #[error(transparent)]
    Trace(Fault),
    /// The simulator broke a rule of its own, which is found where the run checks them.
    #[error(transparent)]
    Rule(Fault),
}

/// A finished run.
#[derive(Debug)]
pub struct RunOutput {
    /// What it reports.
    pub report: Report,
    /// Distributions, and the log if asked for.
    pub recorder: Recorder,
    /// What the mechanisms did, if asked for; empty where the device's powers are not known.
    pub timeline: Option<Timeline>,
    /// What they can do, by name.
    pub activities: Vec<(String, Activity)>,
}

/// What a run keeps besides its report, and whether it is watched.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keep {
    /// The log of requests.
    pub log: bool,
    /// What the mechanisms did, in so far.
    pub timeline: Option<TimelineSpec>,
    /// Whether the rules between components and the books of each are checked on the way: that takes time and changes nothing.
    pub check: bool,
}

/// Runs a resolved scenario; keeps a log of requests if asked. `keep_going` is asked every few thousand events.
///
/// # Errors
/// The scenario does not fit together, or its trace is bad.
pub fn run(
    scenario: &Scenario,
    citations: Vec<String>,
    log: bool,
    keep_going: &mut dyn FnMut(Progress) -> bool,
) -> Result<RunOutput, RunError> {
    run_keeping(scenario, citations, &Keep { log, ..Keep::default() }, keep_going)
}

/// The same, with all that a run can keep.
///
/// # Errors
/// As for [`run`].
pub fn run_keeping(
    scenario: &Scenario,
    citations: Vec<String>,
    keep: &Keep,
    keep_going: &mut dyn FnMut(Progress) -> bool,
) -> Result<RunOutput, RunError> {
    let is_trace = matches!(scenario.workload, WorkloadSpec::Trace(_));
    let bad_workload = |fault: Fault| {
        let fault = fault.within("workload");
        match fault.kind {
            Kind::Rule => RunError::Rule(fault),
            _ if is_trace => RunError::Trace(fault),
            _ => RunError::Scenario(fault),
        }
    };
    let mut empty = System::default();
    if keep.check {
        empty.check_rules();
    }
    let mut assembly = assemble::system(empty, &scenario.system, scenario.seed).map_err(RunError::Scenario)?;
    let mut workload = assemble::workload(scenario, &assembly).map_err(bad_workload)?;
    let mut recorder = Recorder::new(assembly.overhead_ns, assembly.block_bytes, keep.log);
    if let Some(timeline) = keep.timeline {
        assembly.system.record_power(timeline);
    }
    let limits = assemble::limits(scenario);
    let outcome =
        engine::run(&mut assembly.system, &mut workload, &limits, &mut recorder, keep_going).map_err(bad_workload)?;
    let report = Report::new(scenario, &assembly, &outcome, &recorder, workload.skipped(), citations);
    let timeline = keep.timeline.map(|_| assembly.system.timeline());
    Ok(RunOutput { report, recorder, timeline, activities: scenario.system.activities() })
}
