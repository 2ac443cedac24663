//! Serves a system as a network block device.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sledsim::fault::{Fault, Kind};
use sledsim::scenario::Keep;
use sledsim_nbd::log::{Accuracy, Summary};
use sledsim_nbd::server::{serve, Options, Ready, ServeError};
use sledsim_nbd::sockets::{Address, AddressError};

use crate::errors;
use crate::run::{run_error, RunOutput};
use crate::scenario::Scenario;
use crate::watch::keep_going;

/// Returns the error for an argument that names something that can't be opened.
fn unreadable(argument: &str, says: &str) -> PyErr {
    errors::run(Fault::at(Kind::Unreadable, argument).says(format!(": {says}")))
}

/// Options of a server.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ServerOptions {
    socket: Option<PathBuf>,
    tcp: Option<String>,
    remote: bool,
    image: Option<PathBuf>,
    drop: bool,
    dilation: f64,
    log: Option<PathBuf>,
    once: bool,
}

/// Returns the address where clients connect.
fn address(socket: Option<PathBuf>, tcp: Option<String>, remote: bool) -> PyResult<Address> {
    match (socket, tcp) {
        (Some(path), None) => Ok(Address::Unix(path)),
        (None, Some(given)) => Address::tcp(&given, remote).map_err(|why| {
            errors::run(match why {
                AddressError::Unreadable => {
                    let expected =
                        "a port, or an address and a port, such as 127.0.0.1:10809; host names are not resolved";
                    Fault::wrong_type("tcp", given, expected)
                }
                AddressError::Remote => {
                    let fault = Fault::of(Kind::Conflict, "tcp", given);
                    fault.says(" accepts connections from other machines: allow them with ").set("remote", true)
                }
            })
        }),
        _ => Err(errors::invalid_argument("expected either a socket or a TCP address")),
    }
}

/// Serves the system of a scenario until Ctrl-C, or with `once`, until all clients have disconnected. `ready` is called with the address,
/// the size of the device, and the lead time of replies, ns.
#[pyfunction]
pub fn serve_nbd<'py>(
    python: Python<'py>,
    scenario: &Bound<'py, Scenario>,
    options: ServerOptions,
    ready: &Bound<'py, PyAny>,
) -> PyResult<(RunOutput, Bound<'py, PyDict>)> {
    let ServerOptions { socket, tcp, remote, image, drop: dropped, dilation, log, once } = options;
    let resolved = &scenario.get().resolved;
    let address = address(socket, tcp, remote)?;
    let place = address.option();
    // Checked before the session is opened, which may take long.
    address.require_free().map_err(|says| unreadable(place, &says))?;
    let keep = Keep::default();
    let session = python.detach(|| errors::catch_panic(|| resolved.session(&keep)))?;
    let session = session.map_err(run_error)?;
    let options = Options { address, dilation, image, drop: dropped, log, once };
    let ready = ready.clone().unbind();
    let failed = Mutex::new(None);
    let stopped = AtomicBool::new(false);
    // Ctrl-C during `ready` also stops the server.
    let call = |ready: Option<&Py<PyAny>>, arguments: (String, u64, u64)| {
        let called = Python::attach(|python| keep_going(python, ready, arguments));
        stopped.fetch_or(!matches!(called, Ok(true)), Ordering::Relaxed);
        if let Err(error) = called {
            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    };
    let served = python.detach(|| {
        let report_ready = |served: Ready| {
            let arguments =
                (served.address.to_string(), served.size, u64::try_from(served.early.as_nanos()).unwrap_or(u64::MAX));
            call(Some(&ready), arguments);
        };
        let is_ended = || {
            if !stopped.load(Ordering::Relaxed) {
                call(None, Default::default());
            }
            stopped.load(Ordering::Relaxed)
        };
        errors::catch_panic(|| serve(session, &options, &report_ready, &is_ended))
    })?;
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let (session, summary) = served.map_err(|error| match error {
        ServeError::Socket(says) => unreadable(place, &says),
        ServeError::Log(says) => unreadable("log", &says),
        ServeError::Store(says) => unreadable("image", &says),
        ServeError::Run(error) => run_error(error),
    })?;
    let output = session.result(resolved.citations().to_vec()).map_err(run_error)?;
    // Ctrl-C while the server stops has no further effect.
    let _ = python.check_signals();
    Ok((output.into(), values_of(python, &summary)?))
}

fn values_of<'py>(python: Python<'py>, summary: &Summary) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(python);
    values.set_item("reads", summary.reads)?;
    values.set_item("writes", summary.writes)?;
    values.set_item("flushes", summary.flushes)?;
    let accuracy = summary.accuracy.as_ref();
    values.set_item("on_time", accuracy.map(|found| found.on_time))?;
    values.set_item("median_error_us", accuracy.map(|found| found.median_error_us))?;
    values.set_item("p99_error_us", accuracy.map(|found| found.p99_error_us))?;
    values.set_item("trusted", accuracy.map(Accuracy::is_trusted))?;
    values.set_item("log_fault", summary.log_fault.as_deref())?;
    Ok(values)
}
