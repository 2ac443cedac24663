//! Scenarios and runs.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sledsim::engine::Progress;
use sledsim::fault::Fault;
use sledsim::metrics::interval::{self, Interval};
use sledsim::metrics::recorder::{Log, Quantity, Recorder, Which};
use sledsim::own::Role;
use sledsim::power::{Activity, Span, Timeline, TimelineSpec};
use sledsim::request::{Flags, Op};
use sledsim::scenario::{self, Keep, Report};
use sledsim::schedulers::POLICIES;
use sledsim::service::{PhaseFacts, PHASES};
use sledsim::time::{ns_to_s, s_to_ns, Time};
use sledsim::units::ns_to_ms;

use crate::errors;
use crate::parts;
use crate::scenario::Scenario;
use crate::values::{arrays_ready, held, parameters_of, to_python};
use crate::watch::goes_on;

/// How often a run looks whether a signal came.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// Buckets of an exported histogram in each doubling of the value.
const BINS_PER_OCTAVE: u32 = 16;

/// Runs a resolved scenario.
///
/// The GIL is released while it runs. Ctrl-C ends the run with the results so far.
#[pyfunction]
#[pyo3(signature = (scenario, *, log = false, timeline = None, progress = None, check = false))]
pub fn run(
    python: Python<'_>,
    scenario: &Scenario,
    log: bool,
    timeline: Option<(f64, f64)>,
    progress: Option<Py<PyAny>>,
    check: bool,
) -> PyResult<RunOutput> {
    let resolved = &scenario.resolved;
    let scenario = resolved.scenario();
    let keep = Keep { log, timeline: timeline.map(stretch).transpose()?, check };
    let mut watch = Watch::new(progress, scenario.run.requests, scenario.run.time_s);
    let outcome = python.detach(|| errors::guarded(|| resolved.run(&keep, &mut |now| watch.keep_going(now))))?;
    if let Some(error) = watch.error {
        return Err(error);
    }
    Ok(outcome.map_err(run_error)?.into())
}

/// What stops a run, or a session.
pub fn run_error(error: scenario::RunError) -> PyErr {
    match error {
        scenario::RunError::Scenario(faults) => errors::run(faults),
        scenario::RunError::Rule(fault) => errors::run(fault),
        scenario::RunError::Trace(fault) => errors::trace(fault),
        scenario::RunError::Policy(stopped) => stopped_by_policy(*stopped),
    }
}

/// What a policy of one's own did, with what had been found until then.
fn stopped_by_policy(stopped: scenario::Stopped) -> PyErr {
    let error = errors::run(stopped.fault);
    let Some(so_far) = stopped.so_far.map(RunOutput::from) else { return error };
    Python::attach(|python| {
        let kept = error.value(python).setattr("result", so_far);
        kept.map_or_else(|failed| failed, |()| error)
    })
}

/// The stretch of a run, in seconds from its start, that a timeline is to cover.
pub fn stretch((start_s, end_s): (f64, f64)) -> PyResult<TimelineSpec> {
    // Beyond the clock's end, as infinity is, there is nothing.
    const LAST_S: f64 = 9e9;
    if !(start_s >= 0.0 && start_s < end_s) {
        return Err(errors::misuse(format!(
            "timeline = ({start_s}, {end_s}): expected two times in seconds, the first not negative and below the second"
        )));
    }
    let at = |seconds: f64| if seconds < LAST_S { Time::from_ns(s_to_ns(seconds)) } else { Time::MAX };
    Ok(TimelineSpec { from: at(start_s), to: at(end_s), ..TimelineSpec::default() })
}

/// Looks after signals and progress while a run goes on without the GIL.
pub struct Watch {
    progress: Option<Py<PyAny>>,
    total: Option<u64>,
    end_s: Option<f64>,
    looked: Instant,
    pub error: Option<PyErr>,
}

impl Watch {
    /// Tells of so many requests, and until when, if that is known.
    pub fn new(progress: Option<Py<PyAny>>, total: Option<u64>, end_s: Option<f64>) -> Self {
        Self { progress, total, end_s, looked: Instant::now(), error: None }
    }

    pub fn keep_going(&mut self, now: Progress) -> bool {
        if self.looked.elapsed() < SIGNAL_INTERVAL {
            return true;
        }
        self.looked = Instant::now();
        Python::attach(|python| {
            // Without a limit, what is left of a trace is known by how far its file has been read.
            let of_trace = now.fraction_taken.filter(|&fraction| fraction > 0.0);
            let total = self.total.or(of_trace.map(|fraction| (now.submitted as f64 / fraction) as u64));
            let told = (now.submitted, total, now.now.seconds(), self.end_s);
            goes_on(python, self.progress.as_ref(), told).unwrap_or_else(|error| {
                self.error = Some(error);
                false
            })
        })
    }
}

/// A finished run.
#[pyclass(frozen, module = "sledsim._core")]
pub struct RunOutput {
    report: Report,
    recorder: Recorder,
    timeline: Timeline,
    activities: Vec<(String, Activity)>,
}

impl From<scenario::RunOutput> for RunOutput {
    fn from(output: scenario::RunOutput) -> Self {
        let (timeline, activities) = (output.timeline.unwrap_or_default(), output.activities);
        Self { report: output.report, recorder: output.recorder, timeline, activities }
    }
}

#[pymethods]
impl RunOutput {
    /// The summary.
    fn summary<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(python, &held(&self.report))
    }

    /// Every number of the summary by its path, such as `response.mean_ms`.
    fn numbers<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        // Finding them takes longer than handing them over; other threads run meanwhile.
        let found = python.detach(|| self.report.numbers());
        let numbers = PyDict::new(python);
        for (path, number) in found {
            numbers.set_item(path, number)?;
        }
        Ok(numbers)
    }

    /// The summary's histograms by quantity: lower edges of the bins that are not empty, upper ones, in ms, and requests.
    fn histograms<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        arrays_ready(python)?;
        let histograms = PyDict::new(python);
        let of = &self.report.histogram;
        for (quantity, histogram) in [("response", &of.response), ("wait", &of.wait), ("service", &of.service)] {
            let edges = histogram.edges_ms.windows(2);
            let bins = edges.zip(&histogram.counts).filter(|&(_, &count)| count > 0);
            let (edges_ms, counts): (Vec<(f64, f64)>, Vec<u64>) =
                bins.map(|(edges, &count)| ((edges[0], edges[1]), count)).unzip();
            let (low_ms, high_ms): (Vec<f64>, Vec<f64>) = edges_ms.into_iter().unzip();
            let arrays = (low_ms.into_pyarray(python), high_ms.into_pyarray(python), counts.into_pyarray(python));
            histograms.set_item(quantity, arrays)?;
        }
        Ok(histograms)
    }

    /// Distribution of `response`, `wait` or `service` over `all`, `reads` or `writes`: edges in ms, and counts.
    fn histogram<'py>(&self, python: Python<'py>, quantity: &str, op: &str) -> PyResult<Histogram<'py>> {
        let quantity = match quantity {
            "response" => Quantity::Response,
            "wait" => Quantity::Wait,
            "service" => Quantity::Service,
            other => return Err(errors::run(Fault::unknown_name("quantity", other, ["response", "wait", "service"]))),
        };
        let which = match op {
            "all" => Which::All,
            "reads" => Which::Reads,
            "writes" => Which::Writes,
            other => return Err(errors::run(Fault::unknown_name("op", other, ["all", "reads", "writes"]))),
        };
        arrays_ready(python)?;
        let bins = self.recorder.histogram(quantity, which).bins(BINS_PER_OCTAVE);
        let edges_ms: Vec<f64> = bins.edges_ns.iter().map(|&ns| ns_to_ms(ns as f64)).collect();
        Ok((edges_ms.into_pyarray(python), bins.counts.into_pyarray(python)))
    }

    /// What mechanisms did by column, those of one mechanism after those of another; empty unless it was asked for.
    fn timeline<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        arrays_ready(python)?;
        let columns = PyDict::new(python);
        let all = || self.timeline.spans.iter().flatten();
        let numbers = self.timeline.spans.iter().zip(0_u32..).flat_map(|(spans, n)| spans.iter().map(move |_| n));
        let state = |span: &Span| self.activities.iter().position(|(_, activity)| *activity == span.activity);
        columns.set_item("mechanism", numbers.collect::<Vec<_>>().into_pyarray(python))?;
        columns.set_item("start_s", all().map(|span| span.from.seconds()).collect::<Vec<_>>().into_pyarray(python))?;
        columns.set_item("end_s", all().map(|span| span.to.seconds()).collect::<Vec<_>>().into_pyarray(python))?;
        let states = all().map(|span| state(span).unwrap_or_default() as u32);
        columns.set_item("state", states.collect::<Vec<_>>().into_pyarray(python))?;
        columns.set_item("power_w", all().map(|span| span.power_w).collect::<Vec<_>>().into_pyarray(python))?;
        Ok(columns)
    }

    /// Names of the states that the timeline gives by number.
    fn timeline_states(&self) -> Vec<String> {
        self.activities.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Width of the slots that the timeline is in, s; none where it has every span.
    fn timeline_slot_s(&self) -> Option<f64> {
        self.timeline.slot_ns.map(ns_to_s)
    }

    /// The request log by column; empty unless it was asked for.
    fn log<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        arrays_ready(python)?;
        let columns = PyDict::new(python);
        if let Some(log) = self.recorder.log() {
            fill_log(&columns, log, &self.recorder, self.report.energy.is_some())?;
        }
        Ok(columns)
    }
}

type Histogram<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<u64>>);

/// Fills in the columns of the log; energies only where the device's powers are known.
fn fill_log(columns: &Bound<'_, PyDict>, log: &Log, recorder: &Recorder, has_energy: bool) -> PyResult<()> {
    let python = columns.py();
    macro_rules! column {
        ($name:expr, $entry:pat => $value:expr) => {{
            let values: Vec<_> = log.entries.iter().map(|$entry| $value).collect();
            columns.set_item($name, values.into_pyarray(python))?;
            // All columns of millions of requests take seconds.
            python.check_signals()?;
        }};
    }
    column!("id", (r, _) => r.id);
    column!("origin", (r, _) => r.origin);
    column!("arrival_ns", (r, _) => r.arrival.ns());
    column!("start_ns", (_, s) => s.start.ns());
    column!("end_ns", (_, s) => s.end.ns());
    column!("lbn", (r, _) => r.lbn);
    column!("blocks", (r, _) => r.blocks);
    column!("read", (r, _) => r.op == Op::Read);
    column!("metadata", (r, _) => r.flags.contains(Flags::METADATA));
    column!("flush", (r, _) => r.is_flush());
    column!("fua", (r, _) => r.flags.contains(Flags::DURABLE));
    column!("needed_bytes", (r, _) => recorder.needed_bytes(r));
    column!("response_ns", (r, s) => s.end - r.arrival);
    column!("wait_ns", (r, s) => recorder.wait_ns(r, s));
    column!("service_ns", (_, s) => s.end - s.start);
    for (place, phase) in PHASES.iter().enumerate() {
        column!(format!("{}_ns", phase.name), (_, s) => s.phases.values_ns()[place]);
    }
    if !has_energy {
        return Ok(());
    }
    column!("energy_j", (_, s) => s.energy.total_j());
    column!("energy_startup_j", (_, s) => s.energy.startup_j);
    column!("energy_seek_j", (_, s) => s.energy.seek_j);
    column!("energy_rotation_j", (_, s) => s.energy.rotation_j);
    column!("energy_servo_j", (_, s) => s.energy.servo_j);
    column!("energy_data_j", (_, s) => s.energy.data_j);
    column!("energy_idle_j", (_, s) => s.energy.idle_j);
    Ok(())
}

/// The phases of a service: key, label, the phase that each is a part of, and what the mechanisms that always show it call it.
#[pyfunction]
pub fn phases() -> Vec<(&'static str, &'static str, &'static str, HashMap<&'static str, &'static str>)> {
    let facts =
        |phase: &PhaseFacts| (phase.name, phase.label, phase.within, phase.mechanisms.iter().copied().collect());
    PHASES.iter().map(facts).collect()
}

/// Ends of the two-sided confidence interval of the mean of so many independent values with this variance: Student's t.
#[pyfunction]
#[pyo3(signature = (count, mean, variance, *, confidence = 0.95))]
pub fn mean_interval(count: u64, mean: f64, variance: f64, confidence: f64) -> (f64, f64) {
    let Interval { low, high } = interval::mean_interval(count, mean, variance, confidence);
    (low, high)
}

/// The registry of schedulers.
#[pyfunction]
pub fn schedulers(python: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let schema = scenario::schema();
    let schema = &schema["$defs"]["SchedulerSpec"];
    let list: serde_json::Value = POLICIES
        .iter()
        .map(|policy| {
            serde_json::json!({
                "name": policy.name, "title": policy.title, "description": policy.description, "source": policy.source,
                "parameters": parameters_of(schema, policy.name),
            })
        })
        .chain(parts::listed(Role::Scheduler))
        .collect();
    to_python(python, &list)
}
