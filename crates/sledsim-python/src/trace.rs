//! Trace readers.

use std::collections::{BTreeMap, HashMap};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use sledsim::request::{Flags, Op};
use sledsim::traces::{
    self, BlkparseEvent, Column, Outcome, Table, TimeUnit, TraceError, TraceFormat, TraceInfo, TraceOptions,
    TraceRecord,
};
use sledsim::workloads::trace::{self, TraceSpec};

use crate::errors;
use crate::values::{load_numpy, to_python, to_value};

/// Names of columns by their meaning.
pub type Columns = BTreeMap<String, String>;

/// Returns the options of a reader from the arguments of a function.
pub fn options(
    format: Option<String>,
    skip_bad: u64,
    sort: bool,
    sector_bytes: Option<u32>,
    columns: Option<Columns>,
    [event, time_unit]: [Option<String>; 2],
) -> PyResult<TraceOptions> {
    let event = event.map_or_else(|| Ok(BlkparseEvent::default()), |event| event.parse());
    let time_unit = time_unit.map(|unit| unit.parse::<TimeUnit>()).transpose();
    let spec = TraceSpec {
        event: event.map_err(errors::trace)?,
        time_unit: time_unit.map_err(errors::trace)?,
        format: format.unwrap_or_else(|| "auto".into()),
        skip_bad,
        sort,
        sector_bytes,
        columns,
        ..TraceSpec::default()
    };
    trace::options(&spec).map_err(errors::trace)
}

/// Traces in memory by name, as long as there is a [`TraceTable`] or a scenario of each.
static TABLES: LazyLock<Mutex<HashMap<String, Weak<Table>>>> = LazyLock::new(Mutex::default);

/// Returns the trace in memory with a name, if it still exists.
pub fn table_named(name: &str) -> Option<Arc<Table>> {
    TABLES.lock().unwrap_or_else(PoisonError::into_inner).get(name).and_then(Weak::upgrade)
}

/// The constructor of an unpickled table, and its arguments: name and columns.
type Reduced<'py> = (Bound<'py, PyAny>, (String, Bound<'py, PyList>));

/// A trace in memory.
#[pyclass(frozen, module = "sledsim._core")]
pub struct TraceTable {
    pub table: Arc<Table>,
}

/// A column from Python: an array of numbers, or texts with the index of each row's text.
#[derive(FromPyObject)]
enum GivenColumn<'py> {
    Unsigned(PyReadonlyArray1<'py, u64>),
    Signed(PyReadonlyArray1<'py, i64>),
    Float(PyReadonlyArray1<'py, f64>),
    Text(Vec<String>, PyReadonlyArray1<'py, u32>),
}

impl From<GivenColumn<'_>> for Column {
    fn from(given: GivenColumn<'_>) -> Self {
        match given {
            GivenColumn::Unsigned(numbers) => Self::Unsigned(numbers.as_array().to_vec()),
            GivenColumn::Signed(numbers) => Self::Signed(numbers.as_array().to_vec()),
            GivenColumn::Float(numbers) => Self::Float(numbers.as_array().to_vec()),
            GivenColumn::Text(words, codes) => Self::Text { words, codes: codes.as_array().to_vec() },
        }
    }
}

#[pymethods]
impl TraceTable {
    /// Copies columns, each with its name. A table with the name of one that exists is that one.
    #[new]
    fn new(name: String, columns: Vec<(String, GivenColumn<'_>)>) -> PyResult<Self> {
        if let Some(table) = table_named(&name) {
            return Ok(Self { table });
        }
        let columns = columns.into_iter().map(|(name, column)| (name, column.into())).collect();
        let table = Arc::new(Table::new(name, columns).map_err(errors::trace)?);
        if traces::is_in_memory(table.name()) {
            let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
            tables.retain(|_, table| table.strong_count() > 0);
            tables.insert(table.name().to_owned(), Arc::downgrade(&table));
        }
        Ok(Self { table })
    }

    /// Its name, which a scenario has in place of a path.
    #[getter]
    fn name(&self) -> &str {
        self.table.name()
    }

    /// Number of records.
    fn __len__(&self) -> usize {
        self.table.rows()
    }

    /// Pickles the columns.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let python = slf.py();
        let table = &slf.get().table;
        let columns = PyList::empty(python);
        for (name, column) in table.columns() {
            match column.clone() {
                Column::Unsigned(numbers) => columns.append((name, numbers.into_pyarray(python)))?,
                Column::Signed(numbers) => columns.append((name, numbers.into_pyarray(python)))?,
                Column::Float(numbers) => columns.append((name, numbers.into_pyarray(python)))?,
                Column::Text { words, codes } => columns.append((name, (words, codes.into_pyarray(python))))?,
            }
        }
        Ok((slf.get_type().into_any(), (table.name().to_owned(), columns)))
    }
}

/// Returns the names of the columns that a trace in memory is read from. `name` is its name in messages.
#[pyfunction]
#[pyo3(signature = (name, names, columns = None))]
pub fn used_columns(name: &str, names: Vec<String>, columns: Option<Columns>) -> PyResult<Vec<String>> {
    let options = options(None, 0, false, None, columns, [None, None])?;
    Table::used(name, &names, &options.columns.unwrap_or_default()).map_err(errors::trace)
}

/// A trace: in memory, or a file.
#[derive(FromPyObject)]
pub enum Source {
    Table(Py<TraceTable>),
    File(PathBuf),
}

/// Opens a reader that stops after a signal.
pub fn watched(source: &Source, options: &TraceOptions) -> Result<traces::TraceReader, TraceError> {
    let mut reader = match source {
        Source::Table(table) => traces::TraceReader::of_table(&table.get().table, options)?,
        Source::File(path) => traces::TraceReader::open(path, options)?,
    };
    reader.set_watch(Box::new(|| Python::attach(|python| python.check_signals().is_ok())));
    Ok(reader)
}

/// Converts an error of a watched reader. After a signal it is `KeyboardInterrupt`.
pub fn read_error(error: TraceError) -> PyErr {
    match &error {
        TraceError::Io { source, .. } if source.kind() == ErrorKind::Interrupted => PyKeyboardInterrupt::new_err(()),
        _ => errors::trace(error),
    }
}

/// Reads a trace in batches.
#[pyclass(frozen, module = "sledsim._core")]
pub struct TraceReader {
    reader: Mutex<traces::TraceReader>,
}

impl TraceReader {
    /// Locks the reader, also after a panic of another thread.
    fn lock(&self) -> MutexGuard<'_, traces::TraceReader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl TraceReader {
    #[new]
    #[allow(clippy::too_many_arguments)] // Keyword arguments of a Python function.
    #[pyo3(signature = (source, *, format = None, skip_bad = 0, sort = false, sector_bytes = None, columns = None, event = None, time_unit = None))]
    fn new(
        source: Source,
        format: Option<String>,
        skip_bad: u64,
        sort: bool,
        sector_bytes: Option<u32>,
        columns: Option<Columns>,
        event: Option<String>,
        time_unit: Option<String>,
    ) -> PyResult<Self> {
        let options = options(format, skip_bad, sort, sector_bytes, columns, [event, time_unit])?;
        let reader = errors::catch_panic(|| watched(&source, &options))?.map_err(read_error)?;
        Ok(Self { reader: Mutex::new(reader) })
    }

    #[getter]
    fn format(&self) -> &'static str {
        self.lock().format().name()
    }

    #[getter]
    fn skipped(&self) -> u64 {
        self.lock().skipped()
    }

    #[getter]
    fn records(&self) -> u64 {
        self.lock().records()
    }

    #[getter]
    fn has_responses(&self) -> bool {
        self.lock().has_responses()
    }

    /// Returns the next `n` records as columns; empty at the end.
    fn read<'py>(&self, python: Python<'py>, n: usize) -> PyResult<Bound<'py, PyDict>> {
        load_numpy(python)?;
        let mut records = Vec::new();
        python.detach(|| errors::catch_panic(|| self.lock().read_batch(n, &mut records)))?.map_err(read_error)?;
        let (format, has_responses) = {
            let reader = self.lock();
            (reader.format(), reader.has_responses())
        };
        let columns = PyDict::new(python);
        macro_rules! column {
            ($name:literal, $value:expr) => {{
                let value: fn(&TraceRecord) -> _ = $value;
                let values: Vec<_> = records.iter().map(value).collect();
                columns.set_item($name, values.into_pyarray(python))?;
            }};
        }
        column!("time_ns", |r| r.time.ns());
        column!("device", |r| r.device);
        column!("offset_bytes", |r| r.offset_bytes);
        column!("bytes", |r| r.bytes);
        column!("read", |r| r.op == Op::Read);
        column!("flush", |r| r.op == Op::Flush);
        column!("fua", |r| r.flags.contains(Flags::DURABLE));
        if format.is_closed_loop() {
            column!("service_ns", |r| r.response_ns.unwrap_or_default());
            column!("gap_ns", |r| r.gap_ns.unwrap_or_default());
            let outcomes: Vec<_> = records.iter().map(|r| r.outcome.map_or("", Outcome::name)).collect();
            columns.set_item("outcome", python.import("numpy")?.call_method1("array", (outcomes, "U4"))?)?;
        }
        if has_responses && !format.is_closed_loop() {
            column!("response_ns", |r| r.response_ns.unwrap_or_default());
        }
        Ok(columns)
    }
}

/// Returns statistics of a trace.
#[pyfunction]
#[pyo3(signature = (source, *, format = None, skip_bad = 0, sort = false, sector_bytes = None, columns = None, event = None, time_unit = None))]
#[allow(clippy::too_many_arguments)] // Keyword arguments of a Python function.
pub fn trace_info<'py>(
    python: Python<'py>,
    source: Source,
    format: Option<String>,
    skip_bad: u64,
    sort: bool,
    sector_bytes: Option<u32>,
    columns: Option<Columns>,
    event: Option<String>,
    time_unit: Option<String>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = options(format, skip_bad, sort, sector_bytes, columns, [event, time_unit])?;
    let options = TraceOptions { resets: true, ..options };
    let info =
        python.detach(|| errors::catch_panic(|| TraceInfo::of(watched(&source, &options)?)))?.map_err(read_error)?;
    to_python(python, &to_value(&info))
}

/// Writes a trace in another format, and returns the number of records.
#[pyfunction]
#[pyo3(signature = (src, dst, *, to, format = None, skip_bad = 0, sort = false, sector_bytes = None, columns = None, event = None, time_unit = None))]
#[allow(clippy::too_many_arguments)] // Keyword arguments of a Python function.
pub fn trace_convert(
    python: Python<'_>,
    src: Source,
    dst: PathBuf,
    to: &str,
    format: Option<String>,
    skip_bad: u64,
    sort: bool,
    sector_bytes: Option<u32>,
    columns: Option<Columns>,
    event: Option<String>,
    time_unit: Option<String>,
) -> PyResult<u64> {
    let options = options(format, skip_bad, sort, sector_bytes, columns, [event, time_unit])?;
    let to: TraceFormat = to.parse().map_err(errors::trace)?;
    let options = TraceOptions { resets: to.has_flushes(), ..options };
    python.detach(|| errors::catch_panic(|| traces::convert(watched(&src, &options)?, &dst, to)))?.map_err(read_error)
}

/// Returns the known formats.
#[pyfunction]
pub fn trace_formats(python: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let list: serde_json::Value = TraceFormat::ALL
        .iter()
        .map(|format| {
            serde_json::json!({
                "name": format.name(), "description": format.description(), "has_times": format.has_times(),
                "lists_objects": format.lists_objects(),
                "written": format.written().is_some(), "suffix": format.written().flatten(),
            })
        })
        .collect();
    to_python(python, &list)
}
