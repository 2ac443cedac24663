//! Hit ratios of caches, and the registry of replacement policies.

use std::path::Path;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use sledsim::fault::Fault;
use sledsim::hierarchy::cache::hit_ratio::{self, CacheSpec, HitRatioError};
use sledsim::hierarchy::cache::replacement::POLICIES;
use sledsim::plugin::Role;
use sledsim::scenario;
use sledsim::traces::TraceOptions;

use crate::errors;
use crate::plugin::{rust, PythonLoader};
use crate::trace::{options, read_error, watched, Columns, Source};
use crate::values::{document_of, parameters_of, to_python, to_value};

/// Returns the registry of replacement policies.
#[pyfunction]
pub fn cache_policies(python: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let schema = scenario::replacement_schema();
    let list: serde_json::Value = POLICIES
        .iter()
        .map(|policy| {
            serde_json::json!({
                "name": policy.name, "title": policy.title, "description": policy.description, "source": policy.source,
                "bytes_per_slot": policy.bytes_per_slot, "parameters": parameters_of(&schema, policy.name),
            })
        })
        .chain(rust::listed(Role::Replacement))
        .collect();
    to_python(python, &list)
}

/// A policy, and a number of pages.
type Cache<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

fn cache((policy, pages): &Cache<'_>, loader: &PythonLoader) -> PyResult<CacheSpec> {
    let policy = scenario::replacement(document_of(policy, "policy")?, Some(loader), Path::new(""));
    let policy = policy.map_err(|faults| errors::scenario(faults.within("policy")))?;
    let pages = document_of(pages, "pages")?;
    match pages.as_u64() {
        Some(pages) => Ok(CacheSpec { policy, pages }),
        None => Err(errors::scenario(Fault::wrong_type("pages", pages, "a whole number"))),
    }
}

/// Replays a trace on caches and returns their counts.
#[pyfunction]
#[pyo3(signature = (
    source, *, caches, policies, page_bytes = None, progress = None, format = None, skip_bad = 0, sort = false, sector_bytes = None,
    columns = None, event = None, time_unit = None
))]
#[allow(clippy::too_many_arguments)] // Keyword arguments of a Python function.
pub fn hit_ratios<'py>(
    python: Python<'py>,
    source: Source,
    caches: Vec<Cache<'py>>,
    policies: Py<PyAny>,
    page_bytes: Option<u64>,
    progress: Option<Py<PyAny>>,
    format: Option<String>,
    skip_bad: u64,
    sort: bool,
    sector_bytes: Option<u32>,
    columns: Option<Columns>,
    event: Option<String>,
    time_unit: Option<String>,
) -> PyResult<Bound<'py, PyAny>> {
    // Requests are replayed in the order of the trace, regardless of their times, unless it is sorted.
    let options = TraceOptions {
        ignore_times: true,
        ..options(format, skip_bad, sort, sector_bytes, columns, [event, time_unit])?
    };
    let loader = PythonLoader::new(policies, None);
    let caches = caches.iter().map(|each| cache(each, &loader)).collect::<PyResult<Vec<_>>>()?;
    let mut stopped = None;
    let mut keep_going = |requests: u64, fraction: Option<f64>| {
        Python::attach(|python| {
            let watched = python.check_signals().and_then(|()| {
                let Some(progress) = &progress else { return Ok(()) };
                let total = fraction.filter(|&fraction| fraction > 0.0).map(|share| (requests as f64 / share) as u64);
                progress.call1(python, (requests, total, 0.0, None::<f64>)).map(|_| ())
            });
            stopped = watched.err();
            stopped.is_none()
        })
    };
    let found = python.detach(|| {
        errors::catch_panic(|| {
            let mut reader = watched(&source, &options)?;
            hit_ratio::hit_ratios(&mut reader, page_bytes, &caches, &mut keep_going)
        })
    })?;
    let found = found.map_err(|error| match error {
        HitRatioError::Trace(error) => read_error(error),
        HitRatioError::Interrupted => stopped.unwrap_or_else(|| PyKeyboardInterrupt::new_err(())),
        HitRatioError::Cache(faults) => errors::scenario(faults),
        HitRatioError::Policy(fault) => errors::run(fault),
    })?;
    to_python(python, &to_value(&found))
}
