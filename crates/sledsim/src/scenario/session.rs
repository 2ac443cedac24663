//! A session with the system of a scenario.

use std::sync::Arc;

use super::assemble::{self, AssembledComponent, Assembly};
use super::report::summary::Report;
use super::run::{self, from_plugin, placed, Keep, RunError, RunOutput, Stopped};
use super::specs::scenario::{DeviceSpec, RunSpec, Scenario, WarmupRule};
use crate::engine::{self, Completion, EndReason, Progress};
use crate::fault::{Fault, Kind};
use crate::metrics::recorder::Recorder;
use crate::request::Request;
use crate::time::{s_to_ns, Time};

/// A session with the system of a scenario: the caller submits requests and advances the time, see [`engine::Session`]. The
/// workload of the scenario is ignored, and its `run` except for the warm-up. A clone is a snapshot.
///
/// ```
/// use std::path::Path;
///
/// use sledsim::request::Request;
/// use sledsim::scenario::{resolve, Catalog, Keep, Notation, Session};
///
/// let text = r#"
///     [workload]
///     kind = "session"
///     [system.device]
///     mechanism = "simpledisk-constant"
///     name = "constant"
///     capacity_blocks = 1000
///     access_ms = 1
/// "#;
/// let resolved = resolve(text, Notation::Toml, "example", &[], &Catalog::default(), Path::new("."))?;
/// let mut session = Session::new(resolved.scenario(), &Keep::default())?;
/// session.submit(Request::read(0, 8))?;
/// session.drain(&mut |_| true)?;
/// let completion = session.completion().expect("the request has completed");
/// assert_eq!(completion.service.end.ns(), 1_000_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Session {
    scenario: Scenario,
    engine: engine::Session<Recorder>,
    components: Arc<[AssembledComponent]>,
    overhead_ns: u64,
    has_timeline: bool,
    capacity_blocks: u64,
    block_bytes: u32,
}

impl Session {
    /// Opens a session with a new system.
    ///
    /// # Errors
    /// The scenario has contradictions or power cuts.
    pub fn new(scenario: &Scenario, keep: &Keep) -> Result<Self, RunError> {
        Self::require_plain(scenario)?;
        Ok(Self::on(run::system(scenario, keep.check)?, scenario, keep))
    }

    /// Rejects a scenario with power cuts, a precision or a warm-up to be detected.
    pub(super) fn require_plain(scenario: &Scenario) -> Result<(), RunError> {
        let RunSpec { precision, warmup, power_cuts, .. } = &scenario.run;
        if precision.is_some() || *warmup == Some(WarmupRule::Auto) {
            let key = if precision.is_some() { "run.precision" } else { "run.warmup" };
            let says = " needs generated requests, and a session has none: leave it out, or run the scenario";
            return Err(RunError::Scenario(Fault::at(Kind::Unsupported, key).says(says).into()));
        }
        if power_cuts.is_none() {
            return Ok(());
        }
        let fault = Fault::at(Kind::Unsupported, "run.power_cuts").says(
            ": what a cut took is found by running the workload again, and a session has none: leave it out, or run the \
             scenario",
        );
        Err(RunError::Scenario(fault.into()))
    }

    /// A session with the system of a scenario.
    pub(super) fn on(assembly: Assembly, scenario: &Scenario, keep: &Keep) -> Self {
        let Assembly { mut system, components, overhead_ns, capacity_blocks, block_bytes } = assembly;
        if let Some(timeline) = keep.timeline {
            system.record_power(timeline);
        }
        let recorder = Recorder::new(overhead_ns, block_bytes, keep.log);
        Self {
            engine: engine::Session::new(system, &assemble::limits(scenario), recorder),
            scenario: scenario.clone(),
            components: components.into(),
            overhead_ns,
            has_timeline: keep.timeline.is_some(),
            capacity_blocks,
            block_bytes,
        }
    }

    /// Sets the state to that of another session of the same system.
    ///
    /// # Errors
    /// The other session has a different system; the state is unchanged.
    pub fn restore(&mut self, snapshot: Self) -> Result<(), RunError> {
        if self.scenario.system != snapshot.scenario.system {
            let says = "the snapshot is of another system than the session: restore one that this session, or one with the same \
                        system, was copied to";
            return Err(RunError::Rule(Fault::new(Kind::Misfit).says(says)));
        }
        *self = snapshot;
        Ok(())
    }

    /// Number of blocks.
    #[must_use]
    pub fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    /// Size of a block, bytes.
    #[must_use]
    pub fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    /// Returns true if the system has a disk.
    #[must_use]
    pub fn is_rotational(&self) -> bool {
        self.scenario.system.drives().iter().any(|drive| matches!(drive.device, DeviceSpec::Disk(_)))
    }

    /// See [`engine::Session::submit`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn submit(&mut self, request: Request) -> Result<u64, RunError> {
        self.engine.submit(request).map_err(RunError::Rule)
    }

    /// See [`engine::Session::next_event`].
    #[inline]
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        self.engine.next_event()
    }

    /// See [`engine::Session::advance_watched`].
    ///
    /// # Errors
    /// As there; faults name components by their paths.
    #[inline]
    pub fn advance(&mut self, until: Time, keep_going: &mut dyn FnMut(Progress) -> bool) -> Result<bool, RunError> {
        let advanced = self.engine.advance_watched(until, keep_going);
        advanced.map_err(|fault| self.stopped(fault))
    }

    /// See [`engine::Session::drain`].
    ///
    /// # Errors
    /// As for [`Session::advance`].
    pub fn drain(&mut self, keep_going: &mut dyn FnMut(Progress) -> bool) -> Result<bool, RunError> {
        let drained = self.engine.drain(keep_going);
        drained.map_err(|fault| self.stopped(fault))
    }

    /// See [`engine::Session::serve_now`].
    ///
    /// # Errors
    /// As there; faults name components by their paths.
    pub fn serve_now(
        &mut self,
        requests: impl IntoIterator<Item = Request>,
        keep_going: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Option<Vec<Completion>>, RunError> {
        let served = self.engine.serve_now(requests, keep_going);
        served.map_err(|fault| self.stopped(fault))
    }

    /// See [`engine::Session::completion`].
    #[inline]
    pub fn completion(&mut self) -> Option<Completion> {
        self.engine.completion()
    }

    /// The current time.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Time {
        self.engine.now()
    }

    /// See [`engine::Session::under_way`].
    #[inline]
    #[must_use]
    pub fn under_way(&self) -> u64 {
        self.engine.under_way()
    }

    /// Returns the result of a run that ended now. The session can continue.
    ///
    /// # Errors
    /// An invariant of the simulator is broken, if checks are enabled.
    pub fn result(&self, citations: Vec<String>) -> Result<RunOutput, RunError> {
        let (outcome, system, mut recorder) =
            self.engine.clone().end(self.end()).map_err(|fault| self.stopped(fault))?;
        recorder.settle();
        let Self { ref components, overhead_ns, capacity_blocks, block_bytes, .. } = *self;
        let assembly = Assembly { system, components: components.to_vec(), overhead_ns, capacity_blocks, block_bytes };
        let report = Report::new(&self.scenario, &assembly, &outcome, &recorder, 0, citations);
        let timeline = self.has_timeline.then(|| assembly.system.timeline());
        Ok(RunOutput { report, recorder, timeline, activities: self.scenario.system.activities() })
    }

    /// Returns the reason for which an equal run would have ended.
    fn end(&self) -> EndReason {
        let run = &self.scenario.run;
        if self.under_way() == 0 && run.requests == Some(self.engine.submitted()) {
            EndReason::Requests
        } else if self.under_way() > 0 || run.time_s.is_some_and(|time_s| self.now().ns() == s_to_ns(time_s)) {
            EndReason::Time
        } else {
            EndReason::WorkloadEnded
        }
    }

    fn stopped(&self, fault: Fault) -> RunError {
        if let (Some((who, _)), Kind::Policy) = (self.engine.system().stopped(), fault.kind) {
            let fault = from_plugin(fault, *who, &self.components);
            return RunError::Policy(Box::new(Stopped { fault, so_far: None }));
        }
        let livelock = self.engine.system().livelock();
        RunError::Rule(placed(fault, livelock.map(|livelock| (livelock, &*self.components))))
    }
}
