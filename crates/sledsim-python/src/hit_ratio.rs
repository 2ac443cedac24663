//! Hit ratios of caches, and the registry of their replacement policies.

use std::path::PathBuf;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use sledsim::hierarchy::cache::hit_ratio::{self, CacheSpec, HitRatioError};
use sledsim::hierarchy::cache::replacement::POLICIES;
use sledsim::scenario;

use crate::errors;
use crate::trace::{failed, options, watched, Columns};

/// The registry of replacement policies as JSON.
#[pyfunction]
pub fn cache_policies() -> PyResult<String> {
    let schema = scenario::replacement_schema();
    let options = schema["oneOf"].as_array().cloned().unwrap_or_default();
    let list: Vec<serde_json::Value> = POLICIES
        .iter()
        .map(|policy| {
            let option = options.iter().find(|option| option["properties"]["name"]["const"] == policy.name);
            let mut parameters = option.map(|option| option["properties"].clone()).unwrap_or_default();
            if let Some(parameters) = parameters.as_object_mut() {
                parameters.shift_remove("name");
            }
            serde_json::json!({
                "name": policy.name, "title": policy.title, "description": policy.description,
                "source": policy.source, "bytes_per_slot": policy.bytes_per_slot, "parameters": parameters,
            })
        })
        .collect();
    serde_json::to_string(&list).map_err(errors::run)
}

/// The caches that a JSON list of pairs describes: a policy, and a number of pages.
fn caches(text: &str) -> PyResult<Vec<CacheSpec>> {
    let pairs: Vec<(serde_json::Value, u64)> = serde_json::from_str(text).map_err(errors::scenario)?;
    let cache = |(policy, pages)| scenario::replacement(policy).map(|policy| CacheSpec { policy, pages });
    pairs.into_iter().map(cache).collect::<Result<_, _>>().map_err(|faults| errors::scenario(faults.within("policy")))
}

/// Sends a trace through caches; returns what they did as JSON.
#[pyfunction]
#[pyo3(signature = (
    path, *, caches, page_bytes, progress = None, format = None, skip_bad = 0, sector_bytes = None, columns = None
))]
#[allow(clippy::too_many_arguments)] // Keyword arguments of a Python function.
pub fn hit_ratios(
    python: Python<'_>,
    path: PathBuf,
    caches: &str,
    page_bytes: u64,
    progress: Option<Py<PyAny>>,
    format: Option<String>,
    skip_bad: u64,
    sector_bytes: Option<u32>,
    columns: Option<Columns>,
) -> PyResult<String> {
    let (options, caches) = (options(format, skip_bad, sector_bytes, columns)?, self::caches(caches)?);
    let mut stopped = None;
    let mut keep_going = |requests: u64, fraction: Option<f64>| {
        Python::attach(|python| {
            let told = python.check_signals().and_then(|()| {
                let Some(progress) = &progress else { return Ok(()) };
                let total = fraction.filter(|&fraction| fraction > 0.0).map(|share| (requests as f64 / share) as u64);
                progress.call1(python, (requests, total, 0.0, None::<f64>)).map(|_| ())
            });
            stopped = told.err();
            stopped.is_none()
        })
    };
    let found = python.detach(|| {
        errors::guarded(|| {
            let mut reader = watched(&path, &options)?;
            hit_ratio::hit_ratios(&mut reader, page_bytes, &caches, &mut keep_going)
        })
    })?;
    let found = found.map_err(|error| match error {
        HitRatioError::Trace(error) => failed(error),
        HitRatioError::Interrupted => stopped.unwrap_or_else(|| PyKeyboardInterrupt::new_err(())),
        HitRatioError::Cache(fault) => errors::scenario(fault),
    })?;
    serde_json::to_string(&found).map_err(errors::run)
}
