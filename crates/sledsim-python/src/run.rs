//! Runs of scenarios, and their results.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sledsim::engine::Progress;
use sledsim::fault::{unread, Fault, Kind};
use sledsim::metrics::interval::{self, Interval};
use sledsim::metrics::log::{self, LogFile, LogFormat, LogValues};
use sledsim::metrics::precision;
use sledsim::metrics::recorder::{Quantity, Recorder, Selection};
use sledsim::plugin::Role;
use sledsim::power::{Activity, Span, Timeline, TimelineSpec};
use sledsim::scenario::{self, Keep, Report};
use sledsim::schedulers::POLICIES;
use sledsim::service::{PhaseFacts, PHASES};
use sledsim::time::{ns_to_s, s_to_ns, Time};
use sledsim::units::ns_to_ms;

use crate::errors;
use crate::plugin::rust;
use crate::scenario::Scenario;
use crate::values::{load_numpy, parameters_of, to_python, to_value};
use crate::watch::keep_going;

/// Interval between two checks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// Bins of an exported histogram in each octave.
const BINS_PER_OCTAVE: u32 = 16;

/// The path of a file for a log, its name in messages, its format (`parquet`, `csv` or `json`), and the metadata of a Parquet file.
type LogTarget = (PathBuf, String, String, Vec<(String, String)>);

/// Runs a resolved scenario.
///
/// The GIL is released while it runs. Ctrl-C ends the run with the results so far. `log_file` gets the log.
#[pyfunction]
#[pyo3(signature = (scenario, *, log = false, log_file = None, timeline = None, progress = None, check = false))]
pub fn run(
    python: Python<'_>,
    scenario: &Scenario,
    log: bool,
    log_file: Option<LogTarget>,
    timeline: Option<(f64, f64)>,
    progress: Option<Py<PyAny>>,
    check: bool,
) -> PyResult<RunOutput> {
    let resolved = &scenario.resolved;
    let scenario = resolved.scenario();
    let mut keep = Keep { log, log_sender: None, timeline: timeline.map(timeline_spec).transpose()?, check };
    let mut file = None;
    if let Some((path, name, format, metadata)) = log_file {
        let created = LogFile::create(&path, log_format(&format)?, metadata, scenario.system.has_powers());
        let (opened, sender) = created.map_err(|error| unwritable(&error, &name))?;
        keep.log_sender = Some(sender);
        file = Some((opened, name));
    }
    let mut watch = Watch::new(progress, scenario.run.requests, scenario.run.time_s);
    let outcome = python.detach(|| {
        let outcome = errors::catch_panic(|| {
            resolved.run(&keep, &mut |now| {
                !file.as_ref().is_some_and(|(file, _)| file.has_failed()) && watch.keep_going(now)
            })
        });
        // The file ends when its sender is dropped.
        drop(keep);
        let written = file.map_or(Ok(()), |(file, name)| file.finish().map_err(|error| unwritable(&error, &name)));
        written.and(outcome)
    })?;
    if let Some(error) = watch.error {
        return Err(error);
    }
    Ok(outcome.map_err(run_error)?.into())
}

fn log_format(name: &str) -> PyResult<LogFormat> {
    match name {
        "parquet" => Ok(LogFormat::Parquet),
        "csv" => Ok(LogFormat::Csv),
        "json" => Ok(LogFormat::Json),
        other => Err(errors::run(Fault::unknown_name("log_file", other, ["parquet", "csv", "json"]))),
    }
}

/// Returns the error of a log that cannot be written.
fn unwritable(error: &io::Error, file: &str) -> PyErr {
    errors::run(Fault::new(Kind::Unreadable).says(format!("cannot be written: {}", unread(error))).in_file(file))
}

/// Converts an error of a run or a session.
pub fn run_error(error: scenario::RunError) -> PyErr {
    match error {
        scenario::RunError::Scenario(faults) => errors::run(faults),
        scenario::RunError::Rule(fault) => errors::run(fault),
        scenario::RunError::Trace(fault) => errors::trace(fault),
        scenario::RunError::Policy(stopped) => policy_error(*stopped),
    }
}

/// Returns the error of a custom policy, with the results up to then.
fn policy_error(stopped: scenario::Stopped) -> PyErr {
    let error = errors::run(stopped.fault);
    let Some(so_far) = stopped.so_far.map(RunOutput::from) else { return error };
    Python::attach(|python| {
        let kept = error.value(python).setattr("result", so_far);
        kept.map_or_else(|failed| failed, |()| error)
    })
}

/// Converts the interval of a timeline, in seconds from the start of the run.
pub fn timeline_spec((start_s, end_s): (f64, f64)) -> PyResult<TimelineSpec> {
    // Later times, such as infinity, are after the end of every run.
    const LAST_S: f64 = 9e9;
    if !(start_s >= 0.0 && start_s < end_s) {
        return Err(errors::invalid_argument(format!(
            "timeline = ({start_s}, {end_s}): expected a start of at least 0 s and a later end, in seconds"
        )));
    }
    let at = |seconds: f64| if seconds < LAST_S { Time::from_ns(s_to_ns(seconds)) } else { Time::MAX };
    Ok(TimelineSpec { from: at(start_s), to: at(end_s), ..TimelineSpec::default() })
}

/// Checks for signals and reports progress while a run has no GIL.
pub struct Watch {
    progress: Option<Py<PyAny>>,
    total: Option<u64>,
    end_s: Option<f64>,
    last_check: Instant,
    pub error: Option<PyErr>,
}

impl Watch {
    /// Returns a watch that reports progress of `total` requests up to `end_s`, where they are known.
    pub fn new(progress: Option<Py<PyAny>>, total: Option<u64>, end_s: Option<f64>) -> Self {
        Self { progress, total, end_s, last_check: Instant::now(), error: None }
    }

    pub fn keep_going(&mut self, now: Progress) -> bool {
        if self.last_check.elapsed() < SIGNAL_INTERVAL {
            return true;
        }
        self.last_check = Instant::now();
        Python::attach(|python| {
            // Without a limit, the position in a trace file gives an estimate of the number of requests.
            let of_trace = now.fraction_taken.filter(|&fraction| fraction > 0.0);
            let total = self.total.or(of_trace.map(|fraction| (now.submitted as f64 / fraction) as u64));
            let arguments = (now.submitted, total, now.now.seconds(), self.end_s);
            keep_going(python, self.progress.as_ref(), arguments).unwrap_or_else(|error| {
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
    /// Returns the summary.
    fn summary<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(python, &to_value(&self.report))
    }

    /// Returns all numbers of the summary by path, such as `response.mean_ms`.
    fn numbers<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        // Other threads can run during the collection, which takes longer than the conversion.
        let found = python.detach(|| self.report.numbers());
        let numbers = PyDict::new(python);
        for (path, number) in found {
            numbers.set_item(path, number)?;
        }
        Ok(numbers)
    }

    /// Returns the histograms of the summary by quantity: lower edges (ms), upper edges (ms) and counts of the bins that are not empty.
    fn histograms<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        load_numpy(python)?;
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

    /// Returns the distribution of `response`, `wait` or `service` over `all`, `reads` or `writes`: edges (ms) and counts.
    fn histogram<'py>(&self, python: Python<'py>, quantity: &str, op: &str) -> PyResult<Histogram<'py>> {
        let quantity = match quantity {
            "response" => Quantity::Response,
            "wait" => Quantity::Wait,
            "service" => Quantity::Service,
            other => return Err(errors::run(Fault::unknown_name("quantity", other, ["response", "wait", "service"]))),
        };
        let selection = match op {
            "all" => Selection::All,
            "reads" => Selection::Reads,
            "writes" => Selection::Writes,
            other => return Err(errors::run(Fault::unknown_name("op", other, ["all", "reads", "writes"]))),
        };
        load_numpy(python)?;
        let bins = self.recorder.histogram(quantity, selection).bins(BINS_PER_OCTAVE);
        let edges_ms: Vec<f64> = bins.edges_ns.iter().map(|&ns| ns_to_ms(ns as f64)).collect();
        Ok((edges_ms.into_pyarray(python), bins.counts.into_pyarray(python)))
    }

    /// Returns the mean difference of the response times from those of another run of the same requests, and its 95 % confidence
    /// interval, ms: `(mean, low, high)`. Both ends are `None` if there is no interval.
    ///
    /// Requests are paired by their order of completion. With `ended_when_precise`, the interval is that of a run that ends when it
    /// is narrow enough.
    #[pyo3(signature = (other, *, ended_when_precise = false))]
    fn response_difference(&self, other: &Self, ended_when_precise: bool) -> PyResult<(f64, Option<f64>, Option<f64>)> {
        let (own, other) = (self.recorder.responses(), other.recorder.responses());
        if own.count() != other.count() {
            return Err(errors::invalid_argument("the runs have different numbers of requests".to_owned()));
        }
        let mean_ms = ns_to_ms(own.mean_ns() - other.mean_ns());
        let interval =
            if ended_when_precise { precision::difference_at_check(&own, &other) } else { own.difference95_ns(&other) };
        let interval = interval.ok();
        Ok((mean_ms, interval.map(|found| ns_to_ms(found.low)), interval.map(|found| ns_to_ms(found.high))))
    }

    /// Returns the timeline of all mechanisms as columns, ordered by mechanism; empty if no timeline was kept.
    fn timeline<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        load_numpy(python)?;
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

    /// Returns the names of the states of the timeline, by number.
    fn timeline_states(&self) -> Vec<String> {
        self.activities.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Returns the width of the timeline's slots, s; `None` if the timeline has every interval.
    fn timeline_slot_s(&self) -> Option<f64> {
        self.timeline.slot_ns.map(ns_to_s)
    }

    /// Returns the request log as columns; empty if no log was kept.
    fn log<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        load_numpy(python)?;
        let columns = PyDict::new(python);
        if let Some(kept) = self.recorder.log() {
            for column in log::columns(self.report.energy.is_some()) {
                match column.values(self.recorder.log_facts(), &kept.entries) {
                    LogValues::Bool(values) => columns.set_item(column.name, values.into_pyarray(python))?,
                    LogValues::U32(values) => columns.set_item(column.name, values.into_pyarray(python))?,
                    LogValues::U64(values) => columns.set_item(column.name, values.into_pyarray(python))?,
                    LogValues::F64(values) => columns.set_item(column.name, values.into_pyarray(python))?,
                }
                // The columns of millions of requests take seconds.
                python.check_signals()?;
            }
        }
        Ok(columns)
    }
}

type Histogram<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<u64>>);

/// Returns the phases of a service: key, label, enclosing phase, and the label of each mechanism that always reports it.
#[pyfunction]
pub fn phases() -> Vec<(&'static str, &'static str, &'static str, HashMap<&'static str, &'static str>)> {
    let facts =
        |phase: &PhaseFacts| (phase.name, phase.label, phase.within, phase.mechanisms.iter().copied().collect());
    PHASES.iter().map(facts).collect()
}

/// Returns the two-sided confidence interval of the mean of `count` independent values with this variance, by Student's t.
#[pyfunction]
#[pyo3(signature = (count, mean, variance, *, confidence = 0.95))]
pub fn mean_interval(count: u64, mean: f64, variance: f64, confidence: f64) -> (f64, f64) {
    let Interval { low, high } = interval::mean_interval(count, mean, variance, confidence);
    (low, high)
}

/// Returns the registry of schedulers.
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
        .chain(rust::listed(Role::Scheduler))
        .collect();
    to_python(python, &list)
}
