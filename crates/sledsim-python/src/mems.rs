//! Properties of MEMS devices only: motion and geometry of a sled.

use std::sync::Mutex;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use sledsim::devices::mems::{Characteristics, MemsDevice, MemsParameters};
use sledsim::devices::Mechanism as _;
use sledsim::scenario::DeviceSpec;

use crate::device::{locked, require_inside, same_length, Device};
use crate::errors;

/// One sled of a MEMS device.
#[pyclass(module = "sledsim._core", frozen)]
pub struct Sled {
    parameters: MemsParameters,
    // The device caches seek times, so only one thread at a time can use it.
    device: Mutex<MemsDevice>,
    figures: Characteristics,
}

#[pymethods]
impl Sled {
    #[new]
    fn new(device: &Device) -> PyResult<Self> {
        let DeviceSpec::Mems(parameters) = &device.spec else {
            return Err(errors::invalid_argument("this device has no sled: it is not MEMS storage"));
        };
        let device = errors::catch_panic(|| MemsDevice::new(parameters))?.map_err(errors::scenario)?;
        let figures = errors::catch_panic(|| Characteristics::of(parameters))?.map_err(errors::scenario)?;
        Ok(Self { parameters: parameters.as_ref().clone(), device: Mutex::new(device), figures })
    }

    #[getter]
    fn rows(&self) -> u32 {
        locked(&self.device).geometry().rows
    }

    #[getter]
    fn tracks(&self) -> u32 {
        locked(&self.device).geometry().tracks
    }

    #[getter]
    fn blocks_per_row(&self) -> u32 {
        locked(&self.device).geometry().blocks_per_row
    }

    #[getter]
    fn settle_ms(&self) -> f64 {
        self.figures.settle_s * 1e3
    }

    #[getter]
    fn access_speed_m_s(&self) -> f64 {
        self.figures.access_speed_m_s
    }

    #[getter]
    fn access_speed_limit_m_s(&self) -> Option<f64> {
        self.figures.access_speed_limit_m_s
    }

    #[getter]
    fn peak_bandwidth_mb_s(&self) -> f64 {
        self.figures.peak_bandwidth_bytes_s / 1e6
    }

    #[getter]
    fn streaming_bandwidth_mb_s(&self) -> f64 {
        self.figures.streaming_bandwidth_bytes_s / 1e6
    }

    #[getter]
    fn raw_capacity_bytes(&self) -> f64 {
        self.figures.raw_capacity_bytes
    }

    #[getter]
    fn readable_bytes(&self) -> u64 {
        self.figures.readable_bytes
    }

    /// Returns the cylinder, track, row and slot of a block.
    fn place(&self, lbn: u64) -> PyResult<(u32, u32, u32, u32)> {
        let device = locked(&self.device);
        require_inside(device.dimensions().capacity_blocks, lbn, 1)?;
        let place = device.geometry().place(lbn);
        Ok((place.cylinder, place.track, place.row, place.slot))
    }

    /// Returns the blocks at the sled position of `lbn` under other tips.
    fn equivalent<'py>(&self, python: Python<'py>, lbn: u64) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let device = locked(&self.device);
        require_inside(device.dimensions().capacity_blocks, lbn, 1)?;
        Ok(device.equivalent(lbn).into_pyarray(python))
    }

    /// Returns the times of seeks along X with settling, ms. Positions are in um from the centre.
    fn seek_x_ms<'py>(
        &self,
        python: Python<'py>,
        from_um: PyReadonlyArray1<'py, f64>,
        to_um: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (from, to) = (from_um.as_array(), to_um.as_array());
        same_length(&[from.len(), to.len()])?;
        self.check_travel(from.iter().chain(to), self.parameters.x_range_um)?;
        let device = locked(&self.device);
        let times: Vec<f64> = from.iter().zip(to).map(|(x0, x1)| device.seek_x_s(x0 * 1e-6, x1 * 1e-6) * 1e3).collect();
        Ok(times.into_pyarray(python))
    }

    /// Returns the times of seeks along Y, ms. Positions are in um from the centre, directions +1, -1, or 0 for a start at rest.
    fn seek_y_ms<'py>(
        &self,
        python: Python<'py>,
        from_um: PyReadonlyArray1<'py, f64>,
        from_direction: PyReadonlyArray1<'py, i64>,
        to_um: PyReadonlyArray1<'py, f64>,
        to_direction: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (y0, y1) = (from_um.as_array(), to_um.as_array());
        let (d0, d1) = (from_direction.as_array(), to_direction.as_array());
        same_length(&[y0.len(), y1.len(), d0.len(), d1.len()])?;
        self.check_travel(y0.iter().chain(y1), self.parameters.y_range_um)?;
        if d1.iter().any(|&d| d == 0) {
            return Err(errors::invalid_argument("to_direction must be +1 or -1: a seek along Y ends in motion"));
        }
        let device = locked(&self.device);
        let times: Vec<f64> = (0..y0.len())
            .map(|i| {
                let (from, to) = (d0[i].signum() as f64, d1[i].signum() as f64);
                device.seek_y_s(y0[i] * 1e-6, from, y1[i] * 1e-6, to) * 1e3
            })
            .collect();
        Ok(times.into_pyarray(python))
    }
}

impl Sled {
    fn check_travel<'a>(&self, places_um: impl Iterator<Item = &'a f64>, range_um: f64) -> PyResult<()> {
        for place in places_um {
            if place.is_nan() || place.abs() > range_um / 2.0 {
                let half = range_um / 2.0;
                return Err(errors::invalid_argument(format!(
                    "{place} um is outside the travel: from -{half} to {half} um"
                )));
            }
        }
        Ok(())
    }
}
