//! Sessions: systems that Python drives.

use std::sync::{Mutex, PoisonError};

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList};
use sledsim::engine::{Completion as CoreCompletion, Progress, Status};
use sledsim::fault::brief;
use sledsim::request::{Flags, Op, Request};
use sledsim::scenario::{self, Keep, RunError};
use sledsim::time::Time;

use crate::device::same_length;
use crate::errors;
use crate::run::{run_error, timeline_spec, RunOutput, Watch};
use crate::scenario::Scenario;
use crate::values::load_numpy;

/// A system with requests and a clock from Python.
#[pyclass(subclass, module = "sledsim._core")]
pub struct Session {
    // Never locked: access needs `&mut self`. The mutex makes the type `Sync`.
    session: Mutex<scenario::Session>,
    citations: Vec<String>,
}

/// The argument from which a session is made.
#[derive(FromPyObject)]
enum Origin<'py> {
    Session(PyRefMut<'py, Session>),
    Scenario(Bound<'py, Scenario>),
}

/// A completed request.
#[pyclass(frozen, module = "sledsim._core", get_all)]
pub struct Completion {
    /// Number of the request.
    id: u64,
    /// Time of arrival.
    arrival_ns: u64,
    /// Time of dispatch.
    start_ns: u64,
    /// Time of completion.
    end_ns: u64,
    /// Status: `served`, `refused`, `unreadable` or `failed`.
    status: &'static str,
    /// Energy, J.
    energy_j: f64,
}

#[pymethods]
impl Completion {
    /// Time from arrival to completion.
    #[getter]
    fn response_ns(&self) -> u64 {
        self.end_ns - self.arrival_ns
    }

    fn __repr__(&self) -> String {
        format!("<Completion {}: {}, {} ns to {} ns>", self.id, self.status, self.arrival_ns, self.end_ns)
    }
}

impl From<CoreCompletion> for Completion {
    fn from(CoreCompletion { request, service, status }: CoreCompletion) -> Self {
        Self {
            id: request.id,
            arrival_ns: request.arrival.ns(),
            start_ns: service.start.ns(),
            end_ns: service.end.ns(),
            status: status_name(status),
            energy_j: service.energy.total_j(),
        }
    }
}

const fn status_name(status: Status) -> &'static str {
    match status {
        Status::Served => "served",
        Status::Refused => "refused",
        Status::Unreadable => "unreadable",
        Status::Failed => "failed",
    }
}

/// Converts an argument to an integer from 0 to `most`.
fn integer(name: &str, value: &Bound<'_, PyAny>, most: u64) -> PyResult<u64> {
    let number = value.extract::<u64>().or_else(|error| match value.cast::<PyFloat>() {
        // A float without a fraction is accepted, as in arrays.
        Ok(float) if float.value() >= 0.0 && float.value().fract() == 0.0 => Ok(float.value() as u64),
        _ => Err(error),
    });
    match number {
        Ok(number) if number <= most => return Ok(number),
        // Exceptions of the value's own conversion are passed on.
        Err(error) if !is_conversion_error(&error, value.py()) => return Err(error),
        _ => {}
    }
    Err(unexpected(name, value, &format!("a whole number from 0 to {most}")))
}

/// Returns the error for an invalid argument.
fn unexpected(name: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let shown = value.repr().map_or_else(|_| "an integer with thousands of digits".to_owned(), |text| text.to_string());
    errors::invalid_argument(format!("{name} = {}: expected {expected}", brief(&shown)))
}

/// Converts an argument to a boolean: a boolean of Python or NumPy, or 1 or 0.
fn flag(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let number = || value.extract::<u8>().ok().filter(|number| *number < 2).map(|number| number == 1);
    value.extract::<bool>().ok().or_else(number).ok_or_else(|| unexpected(name, value, "true or false"))
}

/// Returns true if Python raised the error because a value is not a number, or is out of range.
fn is_conversion_error(error: &PyErr, python: Python<'_>) -> bool {
    error.is_instance_of::<PyOverflowError>(python) || error.is_instance_of::<PyTypeError>(python)
}

/// Returns an integer of Python from 0 to `most`; `None` for any other value.
fn plain_integer(value: &Bound<'_, PyAny>, most: u64) -> Option<u64> {
    value.cast_exact::<PyInt>().ok()?.extract().ok().filter(|&number| number <= most)
}

/// Returns a boolean of Python; `None` for any other value.
fn plain_flag(value: &Bound<'_, PyAny>) -> Option<bool> {
    value.cast_exact::<PyBool>().ok().map(|flag| flag.is_true())
}

/// Returns a time, or the absence of one; `None` for any other value.
fn optional_integer(value: &Bound<'_, PyAny>) -> Option<Option<u64>> {
    if value.is_none() {
        return Some(None);
    }
    plain_integer(value, i64::MAX as u64).map(Some)
}

fn lbn_of(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    integer("lbn", value, i64::MAX as u64)
}

fn blocks_of(value: &Bound<'_, PyAny>) -> PyResult<u32> {
    integer("blocks", value, u32::MAX.into()).map(|blocks| blocks as u32)
}

fn at_ns_of(value: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    (!value.is_none()).then(|| integer("at_ns", value, i64::MAX as u64)).transpose()
}

fn until_ns_of(value: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    (!value.is_none()).then(|| integer("until_ns", value, i64::MAX as u64)).transpose()
}

fn read_of(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    flag("read", value)
}

fn fua_of(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    flag("fua", value)
}

fn log_of(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    flag("log", value)
}

fn check_of(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    flag("check", value)
}

/// Operation of a read or a write.
#[derive(Clone, Copy)]
struct RequestOp {
    read: bool,
    /// Forced unit access.
    fua: bool,
}

/// Returns a read or a write. `fua` is forced unit access: a write that completes when it is on the medium.
fn request(op: RequestOp, lbn: u64, blocks: u32, at: Time) -> PyResult<Request> {
    let RequestOp { read, fua } = op;
    if read && fua {
        return Err(errors::invalid_argument(
            "fua = True needs read = False: only writes have forced unit access".to_owned(),
        ));
    }
    let (op, flags) = (if read { Op::Read } else { Op::Write }, if fua { Flags::DURABLE } else { Flags::NONE });
    Ok(Request { arrival: at, op, flags, ..Request::read(lbn, blocks) })
}

/// Returns a request by operation code: read (0), write (1), flush (2) or write with forced unit access (3).
fn request_by_code(op: u8, lbn: u64, blocks: u32, at: Time) -> PyResult<Request> {
    match op {
        2 => Ok(Request { arrival: at, ..Request::flush() }),
        0 | 1 | 3 => request(RequestOp { read: op == 0, fua: op == 3 }, lbn, blocks, at),
        _ => Err(errors::invalid_argument(format!("ops has {op}: expected 0, 1, 2 or 3"))),
    }
}

/// Returns completions as columns.
fn columns<'py>(python: Python<'py>, completions: &[CoreCompletion]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(python);
    macro_rules! column {
        ($name:literal, $value:expr) => {{
            let value: fn(&CoreCompletion) -> _ = $value;
            columns.set_item($name, completions.iter().map(value).collect::<Vec<_>>().into_pyarray(python))?;
        }};
    }
    column!("id", |done| done.request.id);
    column!("arrival_ns", |done| done.request.arrival.ns());
    column!("start_ns", |done| done.service.start.ns());
    column!("end_ns", |done| done.service.end.ns());
    column!("served", |done| done.is_served());
    column!("energy_j", |done| done.service.energy.total_j());
    Ok(columns)
}

#[pymethods]
impl Session {
    /// Opens a session with the system of a scenario, or a copy of another session.
    #[new]
    #[pyo3(signature = (of, *, log = false, timeline = None, check = false))]
    fn new(
        python: Python<'_>,
        of: Origin<'_>,
        #[pyo3(from_py_with = log_of)] log: bool,
        timeline: Option<(f64, f64)>,
        #[pyo3(from_py_with = check_of)] check: bool,
    ) -> PyResult<Self> {
        let scenario = match of {
            Origin::Session(mut other) => return Ok(other.snapshot()),
            Origin::Scenario(scenario) => scenario,
        };
        let keep = Keep { log, timeline: timeline.map(timeline_spec).transpose()?, check, ..Keep::default() };
        let resolved = &scenario.get().resolved;
        let made = python.detach(|| errors::catch_panic(|| resolved.session(&keep)))?;
        Ok(Self { session: Mutex::new(made.map_err(run_error)?), citations: resolved.citations().to_vec() })
    }

    /// Number of blocks of the system.
    #[getter]
    fn capacity_blocks(&mut self) -> u64 {
        self.inner().capacity_blocks()
    }

    /// Size of a block, bytes.
    #[getter]
    fn block_bytes(&mut self) -> u32 {
        self.inner().block_bytes()
    }

    /// The current time.
    #[getter]
    fn now_ns(&mut self) -> u64 {
        self.inner().now().ns()
    }

    /// Number of outstanding requests.
    #[getter]
    fn under_way(&mut self) -> u64 {
        self.inner().under_way()
    }

    /// Time of the next event; `None` if there is none.
    #[getter]
    fn next_event_ns(&mut self) -> Option<u64> {
        self.inner().next_event().map(Time::ns)
    }

    /// Submits a request, which arrives now or at `at_ns`, and returns its number.
    #[pyo3(signature = (lbn, blocks = 1, *, read = true, fua = false, at_ns = None))]
    fn submit(
        &mut self,
        #[pyo3(from_py_with = lbn_of)] lbn: u64,
        #[pyo3(from_py_with = blocks_of)] blocks: u32,
        #[pyo3(from_py_with = read_of)] read: bool,
        #[pyo3(from_py_with = fua_of)] fua: bool,
        #[pyo3(from_py_with = at_ns_of)] at_ns: Option<u64>,
    ) -> PyResult<u64> {
        let session = self.inner();
        let at = at_ns.map_or(session.now(), Time::from_ns);
        session.submit(request(RequestOp { read, fua }, lbn, blocks, at)?).map_err(run_error)
    }

    /// Submits a flush, which arrives now or at `at_ns`, and returns its number.
    #[pyo3(signature = (*, at_ns = None))]
    fn flush(&mut self, #[pyo3(from_py_with = at_ns_of)] at_ns: Option<u64>) -> PyResult<u64> {
        let session = self.inner();
        let arrival = at_ns.map_or(session.now(), Time::from_ns);
        session.submit(Request { arrival, ..Request::flush() }).map_err(run_error)
    }

    /// Submits a reset of zones, which arrives now or at `at_ns`, and returns its number.
    #[pyo3(signature = (lbn, blocks, *, at_ns = None))]
    fn reset(
        &mut self,
        #[pyo3(from_py_with = lbn_of)] lbn: u64,
        #[pyo3(from_py_with = blocks_of)] blocks: u32,
        #[pyo3(from_py_with = at_ns_of)] at_ns: Option<u64>,
    ) -> PyResult<u64> {
        let session = self.inner();
        let arrival = at_ns.map_or(session.now(), Time::from_ns);
        session.submit(Request { arrival, ..Request::reset(lbn, blocks) }).map_err(run_error)
    }

    /// Submits requests in the order of their arrivals: reads (0), writes (1), flushes (2), writes with forced unit access (3).
    #[pyo3(name = "_submit_all")]
    fn submit_all(
        &mut self,
        lbns: PyReadonlyArray1<'_, u64>,
        blocks: PyReadonlyArray1<'_, u32>,
        ops: PyReadonlyArray1<'_, u8>,
        at_ns: PyReadonlyArray1<'_, u64>,
    ) -> PyResult<()> {
        let (lbns, blocks, ops, at_ns) = (lbns.as_array(), blocks.as_array(), ops.as_array(), at_ns.as_array());
        same_length(&[lbns.len(), blocks.len(), ops.len(), at_ns.len()])?;
        if let Some(place) = at_ns.windows(2).into_iter().position(|pair| pair[1] < pair[0]) {
            let (before, after) = (at_ns[place], at_ns[place + 1]);
            return Err(errors::invalid_argument(format!(
                "at_ns[{}] = {after} follows {before}: submit requests in the order of arrival",
                place + 1
            )));
        }
        let session = self.inner();
        for (((&lbn, &blocks), &op), &at) in lbns.iter().zip(blocks).zip(ops).zip(at_ns) {
            session.submit(request_by_code(op, lbn, blocks, Time::from_ns(at))?).map_err(run_error)?;
        }
        Ok(())
    }

    /// Submits requests with one operation that arrive now, by first block and number of blocks. Advances the time until they have
    /// completed, and returns their completions. Other completions stay available.
    #[pyo3(name = "_serve_now")]
    fn serve_now<'py>(&mut self, python: Python<'py>, op: u8, pieces: Vec<(u64, u32)>) -> PyResult<Bound<'py, PyList>> {
        let session = self.inner();
        let now = session.now();
        let requests: Vec<Request> =
            pieces.into_iter().map(|(lbn, blocks)| request_by_code(op, lbn, blocks, now)).collect::<PyResult<_>>()?;
        let mut completions = Vec::new();
        watched(|keep_going| {
            let served = session.serve_now(requests, keep_going)?;
            let goes_on = served.is_some();
            completions.extend(served.into_iter().flatten());
            Ok(goes_on)
        })?;
        to_list(python, completions)
    }

    /// As `_submit_all` and `advance_all` for one request, in a fraction of the time. Returns nothing, and does nothing, if an argument
    /// is not a plain number or boolean of Python, or not valid.
    #[pyo3(name = "_serve_one")]
    #[allow(clippy::too_many_arguments, reason = "the arguments of `Session.serve`")]
    fn serve_one<'py>(
        &mut self,
        python: Python<'py>,
        lbn: &Bound<'py, PyAny>,
        blocks: &Bound<'py, PyAny>,
        read: &Bound<'py, PyAny>,
        fua: &Bound<'py, PyAny>,
        flush: &Bound<'py, PyAny>,
        at_ns: &Bound<'py, PyAny>,
        until_ns: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let session = self.inner();
        let (Some(lbn), Some(blocks), Some(read), Some(fua), Some(flush), Some(at), Some(until)) = (
            plain_integer(lbn, i64::MAX as u64),
            plain_integer(blocks, u32::MAX.into()),
            plain_flag(read),
            plain_flag(fua),
            plain_flag(flush),
            optional_integer(at_ns),
            optional_integer(until_ns),
        ) else {
            return Ok(None);
        };
        if read && fua && !flush {
            return Ok(None);
        }
        let arrival = at.map_or(session.now(), Time::from_ns);
        let request = if flush {
            Request { arrival, ..Request::flush() }
        } else {
            request(RequestOp { read, fua }, lbn, blocks as u32, arrival)?
        };
        session.submit(request).map_err(run_error)?;
        self.advance_all(python, until).map(Some)
    }

    /// Advances the time to `until_ns`, or to the next event, and returns the completions.
    #[pyo3(signature = (until_ns = None))]
    fn advance<'py>(
        &mut self,
        python: Python<'py>,
        #[pyo3(from_py_with = until_ns_of)] until_ns: Option<u64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let session = self.inner();
        if let Some(until) = until_ns.map(Time::from_ns).or(session.next_event()) {
            watched(|keep_going| session.advance(until, keep_going))?;
        }
        fetched(python, session)
    }

    /// Advances the time until all submitted requests have completed, and returns the completions.
    fn drain<'py>(&mut self, python: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let session = self.inner();
        watched(|keep_going| session.drain(keep_going))?;
        fetched(python, session)
    }

    /// Advances the time to `until_ns`, or until all requests have completed, and returns the completions as columns. The GIL is
    /// released meanwhile.
    #[pyo3(signature = (until_ns = None))]
    fn advance_all<'py>(
        &mut self,
        python: Python<'py>,
        #[pyo3(from_py_with = until_ns_of)] until_ns: Option<u64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        load_numpy(python)?;
        let session = self.inner();
        let completions = python.detach(|| {
            watched(|keep_going| match until_ns {
                Some(until_ns) => session.advance(Time::from_ns(until_ns), keep_going),
                None => session.drain(keep_going),
            })?;
            Ok::<_, PyErr>(std::iter::from_fn(|| session.completion()).collect::<Vec<CoreCompletion>>())
        })?;
        columns(python, &completions)
    }

    /// Sets the session to the state of another session of the same system.
    fn restore(&mut self, snapshot: &mut Self) -> PyResult<()> {
        self.inner().restore(snapshot.inner().clone()).map_err(run_error)
    }

    /// Returns the result of a run that ended now.
    fn output(&mut self) -> PyResult<RunOutput> {
        let citations = self.citations.clone();
        let session = self.inner();
        let found = errors::catch_panic(|| session.result(citations))?;
        Ok(found.map_err(run_error)?.into())
    }
}

impl Session {
    /// Returns an independent copy.
    fn snapshot(&mut self) -> Self {
        Self { session: Mutex::new(self.inner().clone()), citations: self.citations.clone() }
    }

    fn inner(&mut self) -> &mut scenario::Session {
        self.session.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the completions of a session.
fn fetched<'py>(python: Python<'py>, session: &mut scenario::Session) -> PyResult<Bound<'py, PyList>> {
    to_list(python, std::iter::from_fn(|| session.completion()))
}

/// Converts completions to a list.
fn to_list(python: Python<'_>, completions: impl IntoIterator<Item = CoreCompletion>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(python);
    for completion in completions {
        list.append(Bound::new(python, Completion::from(completion))?)?;
    }
    Ok(list)
}

/// Runs `work` on a session with checks for signals. Ctrl-C, or an exception of a signal handler, stops it.
fn watched(work: impl FnOnce(&mut dyn FnMut(Progress) -> bool) -> Result<bool, RunError>) -> PyResult<()> {
    let mut watch = Watch::new(None, None, None);
    let result = errors::catch_panic(|| work(&mut |now| watch.keep_going(now)))?;
    watch.error.map_or(Ok(()), Err)?;
    match result.map_err(run_error)? {
        true => Ok(()),
        false => Err(PyKeyboardInterrupt::new_err(())),
    }
}
