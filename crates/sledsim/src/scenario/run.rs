//! Running a scenario.

use super::assemble::{self, Assembly, Node};
use super::report::power_cuts::{self, PowerCutReport};
use super::report::summary::Report;
use super::specs::scenario::Scenario;
use crate::engine::guards::Livelock;
use crate::engine::random::Stream;
use crate::engine::{self, ComponentId, EndReason, Progress, Stop, System, Workload};
use crate::fault::{Fault, Faults, Kind, Path};
use crate::limits::LOG_ROWS;
use crate::metrics::recorder::Recorder;
use crate::power::{Activity, Timeline, TimelineSpec};
use crate::request::Request;
use crate::service::Service;
use crate::workloads::WorkloadSpec;

/// What stops a run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The system or the generator can't be built.
    #[error(transparent)]
    Scenario(Faults),
    /// The trace can't be read or does not fit.
    #[error(transparent)]
    Trace(Fault),
    /// The simulator broke a rule of its own, which is found where the run checks them; or time does not go on.
    #[error(transparent)]
    Rule(Fault),
    /// A custom policy failed.
    #[error("{}", .0.fault)]
    Policy(Box<Stopped>),
}

/// A run that stopped because a custom policy failed.
#[derive(Debug)]
pub struct Stopped {
    /// What is wrong with the policy: says when, and with which request.
    pub fault: Fault,
    /// What had been found until then; nothing from a session, which can still be asked.
    pub so_far: Option<RunOutput>,
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
    let asked = scenario.run.requests.filter(|_| keep.log);
    asked.map_or(Ok(()), logged)?;
    let mut is_logged = Ok(());
    let mut keep_going = |progress: Progress| {
        is_logged = if keep.log { logged(progress.submitted) } else { Ok(()) };
        is_logged.is_ok() && keep_going(progress)
    };
    let keep_going: &mut dyn FnMut(Progress) -> bool = &mut keep_going;
    let plan = power_cuts::plan(scenario);
    let (mut assembly, mut workload) = parts(scenario, keep.check, plan.is_some())?;
    let mut recorder = Recorder::new(assembly.overhead_ns, assembly.block_bytes, keep.log);
    if let Some(timeline) = keep.timeline {
        assembly.system.record_power(timeline);
    }
    let (limits, system) = (assemble::limits(scenario), &mut assembly.system);
    let ran = match &plan {
        None => engine::run(system, workload.as_mut(), &limits, &mut recorder, keep_going)
            .map(|outcome| (outcome, Vec::new())),
        Some(plan) => engine::run_with_cuts(system, workload.as_mut(), &limits, &mut recorder, plan, keep_going),
    };
    let (outcome, cuts) = ran.map_err(|fault| stopped(scenario, fault, livelock_in(&assembly)))?;
    let mut report = Report::new(scenario, &assembly, &outcome, &recorder, workload.skipped(), citations);
    // What is left to be done is not told: it is the same requests again.
    let done = Progress { submitted: outcome.submitted, now: outcome.finished, fraction_taken: Some(1.0) };
    let mut goes_on = !matches!(outcome.end, EndReason::Interrupted | EndReason::Failed);
    for (index, cut) in cuts.iter().enumerate() {
        // A system is made anew for each, which who has interrupted the run need not wait for.
        let losses = match &plan {
            Some(plan) if goes_on => {
                let (mut assembly, mut workload) = parts(scenario, keep.check, true)?;
                let mut keep_going = |_: Progress| {
                    goes_on = keep_going(done);
                    goes_on
                };
                let losses =
                    engine::find_losses(&mut assembly.system, workload.as_mut(), &limits, plan, index, &mut keep_going)
                        .map_err(|fault| stopped(scenario, fault, livelock_in(&assembly)))?;
                if !goes_on {
                    report.run.interrupt();
                }
                losses
            }
            _ => None,
        };
        report.power_cuts.push(PowerCutReport::new(cut, losses));
    }
    is_logged?;
    let timeline = keep.timeline.map(|_| assembly.system.timeline());
    let output = RunOutput { report, recorder, timeline, activities: scenario.system.activities() };
    match assembly.system.stopped() {
        Some((who, Stop::Failed(fault))) => {
            let fault = from_plugin(fault.clone(), *who, &assembly.nodes);
            Err(RunError::Policy(Box::new(Stopped { fault, so_far: Some(output) })))
        }
        _ => Ok(output),
    }
}

/// A fault of a component's policy, by the path of that.
pub(super) fn from_plugin(mut fault: Fault, component: ComponentId, nodes: &[Node<'_>]) -> Fault {
    if let Some(node) = nodes.iter().find(|node| node.ids.contains(&component)) {
        fault = fault.within(Path::from(node.path.as_str()));
    }
    fault
}

/// Whether a log can have so many rows.
fn logged(rows: u64) -> Result<(), RunError> {
    if rows <= LOG_ROWS.most {
        return Ok(());
    }
    let row_bytes = size_of::<(Request, Service)>();
    let says = format!(
        "the log has more than {} rows, of {row_bytes} bytes of memory each: make run.requests fewer, or run without the log",
        LOG_ROWS.most
    );
    Err(RunError::Scenario(Fault::new(Kind::Unsupported).says(says).into()))
}

/// The system and the workload of a scenario, which may check rules and hold the bytes of its blocks.
fn parts(scenario: &Scenario, checks: bool, holds_data: bool) -> Result<(Assembly<'_>, Box<dyn Workload>), RunError> {
    let mut assembly =
        assemble::system(checked(checks), &scenario.system, scenario.seed).map_err(RunError::Scenario)?;
    if holds_data {
        assembly.system.hold_data(Stream::new(scenario.seed, "media at power cuts"));
    }
    let workload = assemble::workload(scenario, &assembly).map_err(|fault| stopped(scenario, fault, None))?;
    Ok((assembly, workload))
}

/// An empty system that may check rules.
pub(super) fn checked(checks: bool) -> System {
    let mut empty = System::default();
    if checks {
        empty.enable_checks();
    }
    empty
}

fn livelock_in<'a, 'b>(assembly: &'a Assembly<'b>) -> Option<(Livelock, &'a [Node<'b>])> {
    Some((assembly.system.livelock()?, &assembly.nodes))
}

/// A fault that names a component by its path, if one holds the run.
pub(super) fn placed(mut fault: Fault, livelock: Option<(Livelock, &[Node<'_>])>) -> Fault {
    if let Some((livelock, nodes)) = livelock {
        let whose = nodes.iter().find(|node| node.ids.contains(&livelock.component));
        fault.path = whose.map_or(fault.path.clone(), |node| node.path.as_str().into());
    }
    fault
}

/// What stops a run, by where the fault is: in the simulator, a trace, or the scenario.
fn stopped(scenario: &Scenario, fault: Fault, livelock: Option<(Livelock, &[Node<'_>])>) -> RunError {
    let fault = placed(fault, livelock);
    match (fault.kind, &scenario.workload) {
        (Kind::Rule | Kind::Endless, _) => RunError::Rule(fault),
        (_, WorkloadSpec::Trace(_)) => RunError::Trace(fault.within("workload")),
        _ => RunError::Scenario(fault.within("workload").into()),
    }
}
