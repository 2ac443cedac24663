//! Serving a system as a network block device.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sledsim::fault::{Fault, Kind};
use sledsim::scenario::Keep;
use sledsim_nbd::log::{Delivered, Verdict};
use sledsim_nbd::server::{serve, Options, ServeError, Served};
use sledsim_nbd::sockets::{Address, NoAddress};

use crate::errors;
use crate::run::{run_error, RunOutput};
use crate::scenario::Scenario;
use crate::watch::goes_on;

/// What can't be opened, by the argument that names it.
fn unreadable(argument: &str, says: &str) -> PyErr {
    errors::run(Fault::at(Kind::Unreadable, argument).says(format!(": {says}")))
}

/// How a device is served.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Wanted {
    socket: Option<PathBuf>,
    tcp: Option<String>,
    remote: bool,
    image: Option<PathBuf>,
    drop: bool,
    dilation: f64,
    log: Option<PathBuf>,
    once: bool,
}

/// Where clients connect.
fn address(socket: Option<PathBuf>, tcp: Option<String>, remote: bool) -> PyResult<Address> {
    match (socket, tcp) {
        (Some(path), None) => Ok(Address::Unix(path)),
        (None, Some(given)) => Address::tcp(&given, remote).map_err(|why| {
            errors::run(match why {
                NoAddress::Unreadable => {
                    let expected = "a port, or address and port: 127.0.0.1:10809; names are not looked up";
                    Fault::wrong_type("tcp", given, expected)
                }
                NoAddress::Remote => {
                    let fault = Fault::of(Kind::Conflict, "tcp", given);
                    fault.says(" is reached from other machines: ").set("remote", true).says(" lets them")
                }
            })
        }),
        _ => Err(errors::misuse("expected a socket or a TCP address, and not both")),
    }
}

/// Serves a scenario's system until Ctrl-C, or until its clients have gone where it is to end `once` they have; `ready` is told where
/// clients connect, the size of the device and how early answers leave, ns.
#[pyfunction]
pub fn serve_nbd<'py>(
    python: Python<'py>,
    scenario: &Bound<'py, Scenario>,
    options: Wanted,
    ready: &Bound<'py, PyAny>,
) -> PyResult<(RunOutput, Bound<'py, PyDict>)> {
    let Wanted { socket, tcp, remote, image, drop: dropped, dilation, log, once } = options;
    let resolved = &scenario.get().resolved;
    let address = address(socket, tcp, remote)?;
    let place = address.option();
    // Before a session is opened for nothing.
    address.is_free().map_err(|says| unreadable(place, &says))?;
    let keep = Keep::default();
    let session = python.detach(|| errors::guarded(|| resolved.session(&keep)))?;
    let session = session.map_err(run_error)?;
    let options = Options { address, dilation, image, drop: dropped, log, once };
    let ready = ready.clone().unbind();
    let failed = Mutex::new(None);
    let stopped = AtomicBool::new(false);
    // Ctrl-C ends it as well where it comes while `ready` is told.
    let hear = |ready: Option<&Py<PyAny>>, told: (String, u64, u64)| {
        let heard = Python::attach(|python| goes_on(python, ready, told));
        stopped.fetch_or(!matches!(heard, Ok(true)), Ordering::Relaxed);
        if let Err(error) = heard {
            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    };
    let served = python.detach(|| {
        let tell = |served: Served| {
            let told =
                (served.address.to_string(), served.size, u64::try_from(served.early.as_nanos()).unwrap_or(u64::MAX));
            hear(Some(&ready), told);
        };
        let is_ended = || {
            if !stopped.load(Ordering::Relaxed) {
                hear(None, Default::default());
            }
            stopped.load(Ordering::Relaxed)
        };
        errors::guarded(|| serve(session, &options, &tell, &is_ended))
    })?;
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let (session, verdict) = served.map_err(|error| match error {
        ServeError::Socket(says) => unreadable(place, &says),
        ServeError::Log(says) => unreadable("log", &says),
        ServeError::Store(says) => unreadable("image", &says),
        ServeError::Run(error) => run_error(error),
    })?;
    let output = session.result(resolved.citations().to_vec()).map_err(run_error)?;
    // Who asks for an end while it ends by itself has it.
    let _ = python.check_signals();
    Ok((output.into(), told(python, &verdict)?))
}

fn told<'py>(python: Python<'py>, verdict: &Verdict) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(python);
    values.set_item("reads", verdict.reads)?;
    values.set_item("writes", verdict.writes)?;
    values.set_item("flushes", verdict.flushes)?;
    let delivered = verdict.delivered.as_ref();
    values.set_item("on_time", delivered.map(|found| found.on_time))?;
    values.set_item("median_error_us", delivered.map(|found| found.median_error_us))?;
    values.set_item("p99_error_us", delivered.map(|found| found.p99_error_us))?;
    values.set_item("trusted", delivered.map(Delivered::is_trusted))?;
    values.set_item("log_fault", verdict.log_fault.as_deref())?;
    Ok(values)
}
