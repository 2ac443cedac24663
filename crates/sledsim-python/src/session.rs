//! Sessions: a system driven from Python.

use std::sync::{Mutex, PoisonError};

use numpy::{Element, IntoPyArray, PyReadonlyArray1};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyList};
use sledsim::engine::{Completion as Done, Progress, Status};
use sledsim::fault::brief;
use sledsim::request::{Flags, Op, Request};
use sledsim::scenario::{self, Keep, RunError};
use sledsim::time::Time;

use crate::device::same_length;
use crate::errors;
use crate::run::{run_error, stretch, RunOutput, Watch};
use crate::scenario::Scenario;
use crate::values::arrays_ready;

/// A system whose requests and whose clock come from Python.
#[pyclass(subclass, module = "sledsim._core")]
pub struct Session {
    // Never locked: only who has the object to itself drives it.
    session: Mutex<scenario::Session>,
    citations: Vec<String>,
}

/// What a session may be made of.
#[derive(FromPyObject)]
enum Origin<'py> {
    Session(PyRefMut<'py, Session>),
    Scenario(Bound<'py, Scenario>),
}

/// A request that has come back.
#[pyclass(frozen, module = "sledsim._core", get_all)]
pub struct Completion {
    /// Its number.
    id: u64,
    /// When it arrived.
    arrival_ns: u64,
    /// When it was dispatched.
    start_ns: u64,
    /// When it came back.
    end_ns: u64,
    /// What came of it.
    status: &'static str,
    /// Joules spent on it.
    energy_j: f64,
}

#[pymethods]
impl Completion {
    /// From arrival to completion.
    #[getter]
    fn response_ns(&self) -> u64 {
        self.end_ns - self.arrival_ns
    }

    fn __repr__(&self) -> String {
        format!("<Completion {}: {}, {} ns to {} ns>", self.id, self.status, self.arrival_ns, self.end_ns)
    }
}

impl From<Done> for Completion {
    fn from(done: Done) -> Self {
        let Done { request, service, status } = done;
        Self {
            id: request.id,
            arrival_ns: request.arrival.ns(),
            start_ns: service.start.ns(),
            end_ns: service.end.ns(),
            status: name(status),
            energy_j: service.energy.total_j(),
        }
    }
}

const fn name(status: Status) -> &'static str {
    match status {
        Status::Served => "served",
        Status::Refused => "refused",
        Status::Unreadable => "unreadable",
        Status::Failed => "failed",
    }
}

/// A whole number that an argument has; `most` is what its type holds.
fn whole(name: &str, value: &Bound<'_, PyAny>, most: u64) -> PyResult<u64> {
    let number = value.extract::<u64>().or_else(|error| match value.cast::<PyFloat>() {
        // As in arrays: a float that is whole is one.
        Ok(float) if float.value() >= 0.0 && float.value().fract() == 0.0 => Ok(float.value() as u64),
        _ => Err(error),
    });
    match number {
        Ok(number) if number <= most => return Ok(number),
        // Whatever its own conversion raises is its own.
        Err(error) if !is_no_number(&error, value.py()) => return Err(error),
        _ => {}
    }
    Err(no_such(name, value, &format!("a whole number from 0 to {most}")))
}

/// An argument that is not what was expected.
fn no_such(name: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let shown = value.repr().map_or_else(|_| "a number of thousands of digits".to_owned(), |text| text.to_string());
    errors::misuse(format!("{name} = {}: expected {expected}", brief(&shown)))
}

/// True or false, of Python or NumPy, or 1 or 0, which stand for them in arrays too.
fn flag(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let number = || value.extract::<u8>().ok().filter(|number| *number < 2).map(|number| number == 1);
    value.extract::<bool>().ok().or_else(number).ok_or_else(|| no_such(name, value, "true or false"))
}

/// A column of numbers, of NumPy's type `kind`.
fn column<'py, T: Element>(name: &str, kind: &str, value: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArray1<'py, T>> {
    let expected =
        || no_such(name, value, &format!("one row of a NumPy array of {kind}; the method serve takes others"));
    value.extract().map_err(|_| expected())
}

/// Whether Python says that a value is no number, or none of this size.
fn is_no_number(error: &PyErr, python: Python<'_>) -> bool {
    error.is_instance_of::<PyOverflowError>(python) || error.is_instance_of::<PyTypeError>(python)
}

fn lbn_of(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    whole("lbn", value, i64::MAX as u64)
}

fn blocks_of(value: &Bound<'_, PyAny>) -> PyResult<u32> {
    whole("blocks", value, u32::MAX.into()).map(|blocks| blocks as u32)
}

fn at_ns_of(value: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    (!value.is_none()).then(|| whole("at_ns", value, i64::MAX as u64)).transpose()
}

fn until_ns_of(value: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    (!value.is_none()).then(|| whole("until_ns", value, i64::MAX as u64)).transpose()
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

/// A read or a write, which may have to be on the medium when it completes (forced unit access).
fn request(lbn: u64, blocks: u32, (read, fua): (bool, bool), at: Time) -> PyResult<Request> {
    if read && fua {
        return Err(errors::misuse(
            "fua = True is for writes, which have read = False; a read has nothing to force".to_owned(),
        ));
    }
    let (op, flags) = (if read { Op::Read } else { Op::Write }, if fua { Flags::DURABLE } else { Flags::NONE });
    Ok(Request { arrival: at, op, flags, ..Request::read(lbn, blocks) })
}

/// A request of a kind by its number: a read (0), a write (1), a flush (2) or a forced write (3).
fn by_number(op: u8, lbn: u64, blocks: u32, at: Time) -> PyResult<Request> {
    match op {
        2 => Ok(Request { arrival: at, ..Request::flush() }),
        0 | 1 | 3 => request(lbn, blocks, (op == 0, op == 3), at),
        _ => Err(errors::misuse(format!("ops has {op}: expected 0, 1, 2 or 3"))),
    }
}

/// Completions by column.
fn columns<'py>(python: Python<'py>, back: &[Done]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(python);
    macro_rules! column {
        ($name:literal, $value:expr) => {{
            let value: fn(&Done) -> _ = $value;
            columns.set_item($name, back.iter().map(value).collect::<Vec<_>>().into_pyarray(python))?;
        }};
    }
    column!("id", |done| done.request.id);
    column!("arrival_ns", |done| done.request.arrival.ns());
    column!("start_ns", |done| done.service.start.ns());
    column!("end_ns", |done| done.service.end.ns());
    column!("served", |done| done.served());
    column!("energy_j", |done| done.service.energy.total_j());
    Ok(columns)
}

#[pymethods]
impl Session {
    /// Opens a session with the system of a scenario, or one that stands where another does now.
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
        let keep = Keep { log, timeline: timeline.map(stretch).transpose()?, check };
        let resolved = &scenario.get().resolved;
        let made = python.detach(|| errors::guarded(|| resolved.session(&keep)))?;
        Ok(Self { session: Mutex::new(made.map_err(run_error)?), citations: resolved.citations().to_vec() })
    }

    /// Number of blocks of the system.
    #[getter]
    fn capacity_blocks(&mut self) -> u64 {
        self.held().capacity_blocks()
    }

    /// Size of a block, bytes.
    #[getter]
    fn block_bytes(&mut self) -> u32 {
        self.held().block_bytes()
    }

    /// The current time.
    #[getter]
    fn now_ns(&mut self) -> u64 {
        self.held().now().ns()
    }

    /// Requests handed in that have not come back.
    #[getter]
    fn under_way(&mut self) -> u64 {
        self.held().under_way()
    }

    /// When something happens next; none where nothing ever will.
    #[getter]
    fn next_event_ns(&mut self) -> Option<u64> {
        self.held().next_event().map(Time::ns)
    }

    /// Hands in a request, which arrives now or at an instant to come; gives its number.
    #[pyo3(signature = (lbn, blocks = 1, *, read = true, fua = false, at_ns = None))]
    fn submit(
        &mut self,
        #[pyo3(from_py_with = lbn_of)] lbn: u64,
        #[pyo3(from_py_with = blocks_of)] blocks: u32,
        #[pyo3(from_py_with = read_of)] read: bool,
        #[pyo3(from_py_with = fua_of)] fua: bool,
        #[pyo3(from_py_with = at_ns_of)] at_ns: Option<u64>,
    ) -> PyResult<u64> {
        let session = self.held();
        let at = at_ns.map_or(session.now(), Time::from_ns);
        session.submit(request(lbn, blocks, (read, fua), at)?).map_err(run_error)
    }

    /// Hands in a flush, which arrives now or at an instant to come; gives its number.
    #[pyo3(signature = (*, at_ns = None))]
    fn flush(&mut self, #[pyo3(from_py_with = at_ns_of)] at_ns: Option<u64>) -> PyResult<u64> {
        let session = self.held();
        let arrival = at_ns.map_or(session.now(), Time::from_ns);
        session.submit(Request { arrival, ..Request::flush() }).map_err(run_error)
    }

    /// Hands in requests in the order of their arrivals: reads (0), writes (1), flushes (2), forced writes (3).
    fn submit_all(
        &mut self,
        lbns: &Bound<'_, PyAny>,
        blocks: &Bound<'_, PyAny>,
        ops: &Bound<'_, PyAny>,
        at_ns: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (lbns, blocks) = (column::<u64>("lbns", "uint64", lbns)?, column::<u32>("blocks", "uint32", blocks)?);
        let (ops, at_ns) = (column::<u8>("ops", "uint8", ops)?, column::<u64>("at_ns", "uint64", at_ns)?);
        let (lbns, blocks, ops, at_ns) = (lbns.as_array(), blocks.as_array(), ops.as_array(), at_ns.as_array());
        same_length(&[lbns.len(), blocks.len(), ops.len(), at_ns.len()])?;
        if let Some(place) = at_ns.windows(2).into_iter().position(|pair| pair[1] < pair[0]) {
            let (before, after) = (at_ns[place], at_ns[place + 1]);
            return Err(errors::misuse(format!(
                "at_ns runs back: {after} follows {before}; hand in requests as they arrive"
            )));
        }
        let session = self.held();
        for (((&lbn, &blocks), &op), &at) in lbns.iter().zip(blocks).zip(ops).zip(at_ns) {
            session.submit(by_number(op, lbn, blocks, Time::from_ns(at))?).map_err(run_error)?;
        }
        Ok(())
    }

    /// Hands in requests of one kind that arrive now, by first block and number of blocks, and lets time pass until these have
    /// come back, and no further; gives these. What else comes back meanwhile is there for who asks next.
    #[pyo3(name = "_serve_now")]
    fn serve_now<'py>(&mut self, python: Python<'py>, op: u8, pieces: Vec<(u64, u32)>) -> PyResult<Bound<'py, PyList>> {
        let session = self.held();
        let now = session.now();
        let requests: Vec<Request> =
            pieces.into_iter().map(|(lbn, blocks)| by_number(op, lbn, blocks, now)).collect::<PyResult<_>>()?;
        let mut own = Vec::new();
        watched(|keep_going| {
            let served = session.serve_now(requests, keep_going)?;
            let goes_on = served.is_some();
            own.extend(served.into_iter().flatten());
            Ok(goes_on)
        })?;
        listed(python, own)
    }

    /// Lets time pass until an instant, or else until the next event; gives what came back.
    #[pyo3(signature = (until_ns = None))]
    fn advance<'py>(
        &mut self,
        python: Python<'py>,
        #[pyo3(from_py_with = until_ns_of)] until_ns: Option<u64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let session = self.held();
        if let Some(until) = until_ns.map(Time::from_ns).or(session.next_event()) {
            watched(|keep_going| session.advance(until, keep_going))?;
        }
        fetched(python, session)
    }

    /// Lets time pass until all that has been handed in has come back, and no further; gives that.
    fn drain<'py>(&mut self, python: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let session = self.held();
        watched(|keep_going| session.drain(keep_going))?;
        fetched(python, session)
    }

    /// Lets time pass until an instant, or else until everything has come back; gives that by column. The GIL is released
    /// meanwhile.
    #[pyo3(signature = (until_ns = None))]
    fn advance_all<'py>(
        &mut self,
        python: Python<'py>,
        #[pyo3(from_py_with = until_ns_of)] until_ns: Option<u64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        arrays_ready(python)?;
        let session = self.held();
        let back = python.detach(|| {
            watched(|keep_going| match until_ns {
                Some(until_ns) => session.advance(Time::from_ns(until_ns), keep_going),
                None => session.drain(keep_going),
            })?;
            Ok::<_, PyErr>(std::iter::from_fn(|| session.completion()).collect::<Vec<Done>>())
        })?;
        columns(python, &back)
    }

    /// Goes back, or on, to where another session of this system stands.
    fn restore(&mut self, snapshot: &mut Self) -> PyResult<()> {
        self.held().restore(snapshot.held().clone()).map_err(run_error)
    }

    /// What a run that had gone like this, and ended now, would have found.
    fn output(&mut self) -> PyResult<RunOutput> {
        let citations = self.citations.clone();
        let session = self.held();
        let found = errors::guarded(|| session.result(citations))?;
        Ok(found.map_err(run_error)?.into())
    }
}

impl Session {
    /// The session as it is now: what becomes of the one does not touch the other.
    fn snapshot(&mut self) -> Self {
        Self { session: Mutex::new(self.held().clone()), citations: self.citations.clone() }
    }

    fn held(&mut self) -> &mut scenario::Session {
        self.session.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What has come back.
fn fetched<'py>(python: Python<'py>, session: &mut scenario::Session) -> PyResult<Bound<'py, PyList>> {
    listed(python, std::iter::from_fn(|| session.completion()))
}

/// Completions as Python has them.
fn listed(python: Python<'_>, back: impl IntoIterator<Item = Done>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(python);
    for done in back {
        list.append(Bound::new(python, Completion::from(done))?)?;
    }
    Ok(list)
}

/// Lets time pass, looking for signals: whatever a handler raises ends it, and so does Ctrl-C.
fn watched(act: impl FnOnce(&mut dyn FnMut(Progress) -> bool) -> Result<bool, RunError>) -> PyResult<()> {
    let mut watch = Watch::new(None, None, None);
    let done = errors::guarded(|| act(&mut |now| watch.keep_going(now)))?;
    watch.error.map_or(Ok(()), Err)?;
    match done.map_err(run_error)? {
        true => Ok(()),
        false => Err(PyKeyboardInterrupt::new_err(())),
    }
}
