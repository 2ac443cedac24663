//! Runs scenarios.

use super::assemble::{self, AssembledComponent, Assembly};
use super::precision::{self, Pilot};
use super::report::power_cuts::{self, PowerCutReport};
use super::report::precision::WarmupReport;
use super::report::summary::Report;
use super::specs::scenario::{Scenario, WarmupRule};
use crate::engine::guards::Livelock;
use crate::engine::random::Stream;
use crate::engine::{self, ComponentId, EndReason, Progress, RunLimits, Stop, System, Workload};
use crate::fault::{Fault, Faults, Kind, Path};
use crate::limits::LOG_ROWS;
use crate::metrics::log::LogSender;
use crate::metrics::precision::Monitor;
use crate::metrics::recorder::Recorder;
use crate::power::{Activity, Timeline, TimelineSpec};
use crate::request::Request;
use crate::service::Service;
use crate::workloads::WorkloadSpec;

/// A reason why a run ends with an error.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The system or the generator can't be built.
    #[error(transparent)]
    Scenario(Faults),
    /// The trace can't be read or does not fit.
    #[error(transparent)]
    Trace(Fault),
    /// An invariant of the simulator is broken, in a run that checks them, or time does not advance.
    #[error(transparent)]
    Rule(Fault),
    /// A custom policy failed.
    #[error("{}", .0.fault)]
    Policy(Box<Stopped>),
}

/// A run that ended because a custom policy failed.
#[derive(Debug)]
pub struct Stopped {
    /// The fault of the policy, with time and request.
    pub fault: Fault,
    /// The result up to the failure; none for a session, which still holds it.
    pub so_far: Option<RunOutput>,
}

/// A finished run.
#[derive(Debug)]
pub struct RunOutput {
    /// The report.
    pub report: Report,
    /// Distributions, and the log if requested.
    pub recorder: Recorder,
    /// The work of the mechanisms, if requested; empty if the device's powers are not known.
    pub timeline: Option<Timeline>,
    /// Activities of the mechanisms, by name.
    pub activities: Vec<(String, Activity)>,
}

/// Data that a run keeps in addition to its report, and its self-checks.
#[derive(Clone, Debug, Default)]
pub struct Keep {
    /// The log of requests, in memory.
    pub log: bool,
    /// Sends the log of a run to the writer of a file.
    pub log_sender: Option<LogSender>,
    /// The work of the mechanisms, in this period.
    pub timeline: Option<TimelineSpec>,
    /// True to check the protocol between components and the invariants of each during the run. Checks take time and do
    /// not change results.
    pub check: bool,
}

/// Runs a resolved scenario; keeps a log of requests if `log`. `keep_going` is called every few thousand events.
///
/// # Errors
/// The scenario has contradictions, or its trace is invalid.
pub fn run(
    scenario: &Scenario,
    citations: Vec<String>,
    log: bool,
    keep_going: &mut dyn FnMut(Progress) -> bool,
) -> Result<RunOutput, RunError> {
    run_keeping(scenario, citations, &Keep { log, ..Keep::default() }, keep_going)
}

/// As [`run`], with a choice of the data to keep.
///
/// # Errors
/// As for [`run`].
pub fn run_keeping(
    scenario: &Scenario,
    citations: Vec<String>,
    keep: &Keep,
    keep_going: &mut dyn FnMut(Progress) -> bool,
) -> Result<RunOutput, RunError> {
    run_on(system(scenario, keep.check)?, scenario, citations, keep, keep_going)
}

/// Runs a scenario on its system.
pub(super) fn run_on(
    mut assembly: Assembly,
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
    let mut limits = assemble::limits(scenario);
    let mut has_ended = false;
    let mut pilot = None;
    let is_detected = scenario.run.warmup == Some(WarmupRule::Auto);
    if is_detected {
        let found = run_pilot(scenario, keep, &mut |progress| {
            has_ended = !keep_going(progress);
            !has_ended
        })?;
        limits.warmup_requests = found.warmup_requests;
        pilot = Some(found);
    }
    let mut workload = start(&mut assembly, scenario, plan.is_some())?;
    let mut recorder = Recorder::new(assembly.overhead_ns, assembly.block_bytes, keep.log);
    if let Some(sender) = &keep.log_sender {
        recorder.send_log(sender.clone());
    }
    if let Some(timeline) = keep.timeline {
        assembly.system.record_power(timeline);
    }
    let mut rule = None;
    let mut keep_going = |progress: Progress| !has_ended && keep_going(progress);
    let keep_going: &mut dyn FnMut(Progress) -> bool = &mut keep_going;
    let mut controls = precision::controls(scenario, &assembly, limits.warmup_requests);
    let ran = match &plan {
        Some(plan) => {
            engine::run_with_cuts(&mut assembly.system, workload.as_mut(), &limits, &mut recorder, plan, keep_going)
        }
        None if controls.is_none() && scenario.run.precision.is_none() => {
            engine::run(&mut assembly.system, workload.as_mut(), &limits, &mut recorder, keep_going)
                .map(|outcome| (outcome, Vec::new()))
        }
        None => {
            let precision = scenario.run.precision.as_ref();
            rule = precision.map(|spec| precision::rule(spec, &assembly, limits.warmup_requests));
            let mut monitor = Monitor::of_run(recorder, controls, rule);
            let ran = engine::run(&mut assembly.system, workload.as_mut(), &limits, &mut monitor, keep_going);
            (recorder, controls, rule) = monitor.into_parts();
            ran.map(|outcome| (outcome, Vec::new()))
        }
    };
    let (outcome, cuts) = ran.map_err(|fault| stopped(scenario, fault, livelock_in(&assembly)))?;
    recorder.settle();
    recorder.end_log();
    let mut report = Report::new(scenario, &assembly, &outcome, &recorder, workload.skipped(), citations);
    report.replay = workload.replayed().map(Into::into);
    report.warmup = pilot.as_ref().map(WarmupReport::of);
    report.set_controlled(&recorder, controls.as_ref());
    if let Some(mut rule) = rule {
        rule.finish(&recorder, controls.as_ref());
        let pilot_requests = pilot.map_or(0, |pilot| pilot.requests);
        report.set_precision(scenario, &rule, &outcome, pilot_requests);
    }
    // Progress is not reported, because the search repeats the same requests.
    let done = Progress { submitted: outcome.submitted, now: outcome.finished, fraction_taken: Some(1.0) };
    let mut goes_on = !matches!(outcome.end, EndReason::Interrupted | EndReason::Failed);
    for (index, cut) in cuts.iter().enumerate() {
        // A new system is built for each cut, unless the run was interrupted.
        let losses = match &plan {
            Some(plan) if goes_on => {
                let mut assembly = system(scenario, keep.check)?;
                let mut workload = start(&mut assembly, scenario, true)?;
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
            let fault = from_plugin(fault.clone(), *who, &assembly.components);
            Err(RunError::Policy(Box::new(Stopped { fault, so_far: Some(output) })))
        }
        _ => Ok(output),
    }
}

/// Returns the fault of a component's policy, at the path of the policy.
pub(super) fn from_plugin(mut fault: Fault, component: ComponentId, components: &[AssembledComponent]) -> Fault {
    if let Some(found) = components.iter().find(|each| each.ids.contains(&component)) {
        fault = fault.within(Path::from(found.path.as_str()));
    }
    fault
}

/// Checks that a log can have this many rows.
fn logged(rows: u64) -> Result<(), RunError> {
    if rows <= LOG_ROWS.most {
        return Ok(());
    }
    let row_bytes = size_of::<(Request, Service)>();
    let says = format!(
        "the log has more than {} rows, of {row_bytes} bytes of memory each: make run.requests fewer, or write the log to a file",
        LOG_ROWS.most
    );
    Err(RunError::Scenario(Fault::new(Kind::Unsupported).says(says).into()))
}

/// Returns the system of a scenario, with or without checks.
pub(super) fn system(scenario: &Scenario, checks_rules: bool) -> Result<Assembly, RunError> {
    let mut empty = System::default();
    if checks_rules {
        empty.enable_checks();
    }
    assemble::system(empty, &scenario.system, scenario.seed).map_err(RunError::Scenario)
}

/// Simulates the beginning of a run, on systems of its own, until its warm-up is found.
fn run_pilot(
    scenario: &Scenario,
    keep: &Keep,
    keep_going: &mut dyn FnMut(Progress) -> bool,
) -> Result<Pilot, RunError> {
    let most = scenario.run.requests.unwrap_or(u64::MAX);
    let (mut length, mut total) = (precision::FIRST_PILOT.min(most), 0);
    loop {
        let mut assembly = system(scenario, keep.check)?;
        let mut workload = start(&mut assembly, scenario, false)?;
        let mut monitor = Monitor::of_pilot(Recorder::new(assembly.overhead_ns, assembly.block_bytes, false));
        let limits = RunLimits { requests: Some(length), ..RunLimits::default() };
        let outcome = engine::run(&mut assembly.system, workload.as_mut(), &limits, &mut monitor, keep_going)
            .map_err(|fault| stopped(scenario, fault, livelock_in(&assembly)))?;
        total += outcome.submitted;
        // The backlog of an overloaded system never becomes steady.
        let most = if outcome.end == EndReason::Requests && outcome.overload.is_none() { most } else { 0 };
        if let Some(pilot) = Pilot::of(&monitor, length, total, most) {
            return Ok(pilot);
        }
        length *= precision::PILOT_GROWTH;
    }
}

/// Returns the workload of a scenario on its system, whose runs may hold data.
fn start(assembly: &mut Assembly, scenario: &Scenario, holds_data: bool) -> Result<Box<dyn Workload>, RunError> {
    if holds_data {
        assembly.system.hold_data(Stream::new(scenario.seed, "media at power cuts"));
    }
    assemble::workload(scenario, assembly).map_err(|fault| stopped(scenario, fault, None))
}

fn livelock_in(assembly: &Assembly) -> Option<(Livelock, &[AssembledComponent])> {
    Some((assembly.system.livelock()?, &assembly.components))
}

/// Returns a fault that names the component that does not advance, if there is one.
pub(super) fn placed(mut fault: Fault, livelock: Option<(Livelock, &[AssembledComponent])>) -> Fault {
    if let Some((livelock, components)) = livelock {
        let whose = components.iter().find(|each| each.ids.contains(&livelock.component));
        fault.location.path = whose.map_or(fault.location.path.clone(), |each| each.path.as_str().into());
    }
    fault
}

/// Returns the error of a run by the location of the fault: the simulator, a trace, or the scenario.
fn stopped(scenario: &Scenario, fault: Fault, livelock: Option<(Livelock, &[AssembledComponent])>) -> RunError {
    let fault = placed(fault, livelock);
    match (fault.kind, &scenario.workload) {
        (Kind::Rule | Kind::Endless, _) => RunError::Rule(fault),
        (_, WorkloadSpec::Trace(_)) => RunError::Trace(fault.within("workload")),
        _ => RunError::Scenario(fault.within("workload").into()),
    }
}
