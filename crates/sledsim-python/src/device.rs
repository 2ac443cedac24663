//! A device outside a run: properties of all mechanisms.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sledsim::devices;
use sledsim::engine::Stop;
use sledsim::limits::{BATCH_BLOCKS, BLOCKS_OF_A_REQUEST};
use sledsim::request::{Op, Request};
use sledsim::scenario::{self, DeviceSpec, Draft};
use sledsim::service::{Service, PHASES};
use sledsim::time::Time;
use sledsim::units::ns_to_ms;

use crate::catalog::catalog_of;
use crate::errors;
use crate::plugin::PythonLoader;
use crate::values::{document_of, to_python, to_value};

/// One mechanism of a device.
#[pyclass(module = "sledsim._core", frozen)]
pub struct Device {
    pub spec: DeviceSpec,
    // A mechanism caches results, so only one thread at a time can use it.
    device: Mutex<Box<dyn devices::Mechanism>>,
    capacity_blocks: u64,
}

#[pymethods]
impl Device {
    /// Returns a device from its name in the catalogue, its file or its parameters, with overrides.
    #[new]
    #[pyo3(signature = (given, *, sets = Vec::new(), catalog = Vec::new(), base_dir = PathBuf::new(), policies = None, drawings = None))]
    fn new(
        given: &Bound<'_, PyAny>,
        sets: Vec<String>,
        catalog: Vec<PathBuf>,
        base_dir: PathBuf,
        policies: Option<Py<PyAny>>,
        drawings: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let draft = Draft::of_device(document_of(given, "scenario")?, "scenario").set(&sets);
        let mut catalog = catalog_of(catalog);
        if let Some(load) = policies {
            catalog = catalog.with_loader(Arc::new(PythonLoader::new(load, drawings)));
        }
        let work = || draft.resolve_device(&catalog, &base_dir);
        let spec = given.py().detach(|| errors::catch_panic(work))?.map_err(errors::scenario)?;
        let device = built(&spec)?;
        let capacity_blocks = device.dimensions().capacity_blocks;
        Ok(Self { spec, device: Mutex::new(device), capacity_blocks })
    }

    /// All parameters, in the units of their names.
    #[getter]
    fn parameters<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(python, &to_value(&self.spec))
    }

    #[getter]
    fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    #[getter]
    fn block_bytes(&self) -> u32 {
        locked(&self.device).dimensions().block_bytes
    }

    #[getter]
    fn cylinders(&self) -> u32 {
        locked(&self.device).dimensions().cylinders
    }

    #[getter]
    fn has_powers(&self) -> bool {
        self.spec.has_powers()
    }

    /// Returns the break-even times of the idle modes; an empty list if the powers are unknown.
    fn break_even<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found = errors::catch_panic(|| self.spec.break_even())?.map_err(errors::scenario)?;
        to_python(python, &to_value(&found))
    }

    /// Returns the time from a dispatch at `now_ns` to the first bit of each request, ms, on a device in its initial state.
    fn positioning_ms<'py>(
        &self,
        python: Python<'py>,
        lbns: PyReadonlyArray1<'py, u64>,
        read: bool,
        now_ns: u64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let now = Time::from_ns(now_ns);
        let mut times = Vec::with_capacity(lbns.len()?);
        for &lbn in lbns.as_array() {
            let request = self.request(0, lbn, 1, read)?;
            let ns = errors::catch_panic(|| {
                let device = locked(&self.device);
                let ns = device.positioning_ns(now, device.locate(&request));
                goes_on(device.as_ref()).map(|()| ns)
            })??;
            times.push(ns_to_ms(ns as f64));
        }
        Ok(times.into_pyarray(python))
    }

    /// Serves requests in order from the initial state, each when it is due and the mechanism is free.
    fn serve<'py>(
        &self,
        python: Python<'py>,
        lbns: PyReadonlyArray1<'py, u64>,
        blocks: PyReadonlyArray1<'py, u32>,
        reads: PyReadonlyArray1<'py, bool>,
        due_ns: PyReadonlyArray1<'py, u64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (lbns, blocks, reads, due_ns) = (lbns.as_array(), blocks.as_array(), reads.as_array(), due_ns.as_array());
        same_length(&[lbns.len(), blocks.len(), reads.len(), due_ns.len()])?;
        let mut device = built(&self.spec)?;
        let mut services = Vec::with_capacity(lbns.len());
        let mut free = Time::ZERO;
        for i in 0..lbns.len() {
            let request = self.request(i, lbns[i], blocks[i], reads[i])?;
            let service = errors::catch_panic(|| device.serve(free.max(Time::from_ns(due_ns[i])), &request))?;
            goes_on(device.as_ref())?;
            free = service.free;
            services.push(service);
        }
        self.columns(python, &services)
    }

    /// Serves several requests together from the initial state.
    #[pyo3(signature = (lbns, blocks, read = true))]
    fn serve_batch<'py>(
        &self,
        python: Python<'py>,
        lbns: PyReadonlyArray1<'py, u64>,
        blocks: PyReadonlyArray1<'py, u32>,
        read: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let whole = [lbns.len()? as u64];
        self.batches(python, &lbns, &blocks, &whole, read)
    }

    /// Serves batches of these sizes in order, each when the previous one is complete.
    #[pyo3(signature = (lbns, blocks, sizes, read = true))]
    fn serve_batches<'py>(
        &self,
        python: Python<'py>,
        lbns: PyReadonlyArray1<'py, u64>,
        blocks: PyReadonlyArray1<'py, u32>,
        sizes: PyReadonlyArray1<'py, u64>,
        read: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.batches(python, &lbns, &blocks, sizes.as_slice()?, read)
    }
}

impl Device {
    /// Returns a request after a check of its range.
    fn request(&self, id: usize, lbn: u64, blocks: u32, read: bool) -> PyResult<Request> {
        require_inside(self.capacity_blocks, lbn, u64::from(blocks))?;
        let most = BLOCKS_OF_A_REQUEST.most;
        if u64::from(blocks) > most {
            return Err(errors::invalid_argument(format!("a request of {blocks} blocks: at most {most} are allowed")));
        }
        let op = if read { Op::Read } else { Op::Write };
        Ok(Request { id: id as u64, op, ..Request::read(lbn, blocks) })
    }

    /// Serves batches of these sizes in order, from the initial state.
    fn batches<'py>(
        &self,
        python: Python<'py>,
        lbns: &PyReadonlyArray1<'py, u64>,
        blocks: &PyReadonlyArray1<'py, u32>,
        sizes: &[u64],
        read: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (lbns, blocks) = (lbns.as_array(), blocks.as_array());
        same_length(&[lbns.len(), blocks.len()])?;
        let members: u128 = sizes.iter().map(|&size| u128::from(size)).sum();
        if members != lbns.len() as u128 {
            return Err(errors::invalid_argument(format!(
                "sizes add up to {members}, but there are {} requests",
                lbns.len()
            )));
        }
        let mut requests = Vec::with_capacity(lbns.len());
        for (id, (&lbn, &blocks)) in lbns.iter().zip(blocks).enumerate() {
            requests.push(self.request(id, lbn, blocks, read)?);
        }
        let mut device = built(&self.spec)?;
        let mut services = Vec::with_capacity(requests.len());
        let mut rest = requests.as_slice();
        let mut now = Time::ZERO;
        for &size in sizes {
            let blocks: u64 = rest[..size as usize].iter().map(|request| u64::from(request.blocks)).sum();
            if blocks > BATCH_BLOCKS.most {
                let most = BATCH_BLOCKS.most;
                return Err(errors::invalid_argument(format!(
                    "a batch of {blocks} blocks: at most {most} are allowed"
                )));
            }
            let (batch, after) = rest.split_at(size as usize);
            let before = services.len();
            errors::catch_panic(|| device.serve_together(now, batch, devices::Together::Batch, &mut services))?;
            goes_on(device.as_ref())?;
            now = services[before..].iter().map(|service| service.free.max(service.end)).fold(now, Time::max);
            rest = after;
        }
        self.columns(python, &services)
    }

    /// Returns the services as columns; energies if the powers are known.
    fn columns<'py>(&self, python: Python<'py>, services: &[Service]) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(python);
        let column = |name: &str, value: fn(&Service) -> u64| {
            let values: Vec<u64> = services.iter().map(value).collect();
            columns.set_item(name, values.into_pyarray(python))
        };
        column("start_ns", |s| s.start.ns())?;
        column("end_ns", |s| s.end.ns())?;
        column("free_ns", |s| s.free.ns())?;
        for (place, phase) in PHASES.iter().enumerate().filter(|(_, phase)| phase.within.is_empty()) {
            let values: Vec<u64> = services.iter().map(|service| service.phases.values_ns()[place]).collect();
            columns.set_item(format!("{}_ns", phase.name), values.into_pyarray(python))?;
        }
        if self.spec.has_powers() {
            let energy: Vec<f64> = services.iter().map(|s| s.energy.total_j()).collect();
            columns.set_item("energy_j", energy.into_pyarray(python))?;
        }
        Ok(columns)
    }
}

/// Locks a mutex, also after a panic of another thread, which only read the value.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the error of a device whose custom mechanism failed.
fn goes_on(device: &dyn devices::Mechanism) -> PyResult<()> {
    match device.failure() {
        None => Ok(()),
        Some(Stop::Interrupted) => Err(PyKeyboardInterrupt::new_err(())),
        Some(Stop::Failed(fault)) => Err(errors::scenario(fault)),
    }
}

fn built(spec: &DeviceSpec) -> PyResult<Box<dyn devices::Mechanism>> {
    errors::catch_panic(|| scenario::device(spec))?.map_err(errors::scenario)
}

/// Checks that a request lies inside a device.
pub fn require_inside(capacity_blocks: u64, lbn: u64, blocks: u64) -> PyResult<()> {
    if blocks == 0 {
        return Err(errors::invalid_argument(format!("a request at lbn {lbn} has 0 blocks: expected at least 1")));
    }
    match lbn.checked_add(blocks) {
        Some(end) if end <= capacity_blocks => Ok(()),
        _ => Err(errors::invalid_argument(format!(
            "{blocks} blocks from lbn {lbn} lie beyond the device: it has {capacity_blocks} blocks"
        ))),
    }
}

/// Checks that columns have the same length.
pub fn same_length(lengths: &[usize]) -> PyResult<()> {
    match lengths.iter().find(|&&length| length != lengths[0]) {
        Some(other) => {
            Err(errors::invalid_argument(format!("arrays of different lengths: {} and {other}", lengths[0])))
        }
        None => Ok(()),
    }
}
