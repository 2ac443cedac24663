//! The catalogue: its entries, with the provenance of each value.

use std::path::PathBuf;
use std::sync::LazyLock;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sledsim::scenario::{Catalog, EntryCache, Subject};

use crate::errors;
use crate::values::to_python;

/// Returns the catalogue of some folders. All catalogues of the process share the entries that they have read.
pub fn catalog_of(folders: Vec<PathBuf>) -> Catalog {
    static ENTRIES: LazyLock<EntryCache> = LazyLock::new(EntryCache::default);
    Catalog::new(folders).with_cache(ENTRIES.clone())
}

/// Returns the file of each entry of a kind, by name.
#[pyfunction]
#[pyo3(signature = (kind, *, catalog))]
pub fn catalog_names<'py>(python: Python<'py>, kind: &str, catalog: Vec<PathBuf>) -> PyResult<Bound<'py, PyDict>> {
    let names = PyDict::new(python);
    for (name, path) in catalog_of(catalog).names(Subject::named(kind).map_err(errors::scenario)?) {
        names.set_item(name, path.to_string_lossy())?;
    }
    Ok(names)
}

/// Returns an entry of the catalogue, or a file with the values of its base: its description, and each value with its provenance.
#[pyfunction]
#[pyo3(signature = (kind, name, *, catalog, base_dir))]
pub fn catalog_entry<'py>(
    python: Python<'py>,
    kind: &str,
    name: &str,
    catalog: Vec<PathBuf>,
    base_dir: PathBuf,
) -> PyResult<Bound<'py, PyAny>> {
    let subject = Subject::named(kind).map_err(errors::scenario)?;
    let read = || catalog_of(catalog).entry(subject, name, &base_dir);
    let entry = errors::catch_panic(read)?.map_err(errors::scenario)?;
    to_python(python, &entry.to_value())
}
