//! Properties of disk drives only: zones, locations, seeks and rotation.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sledsim::devices::disk::{Arm, Characteristics, Mechanics, ZoneFigures};
use sledsim::request::Op;
use sledsim::scenario::DeviceSpec;
use sledsim::units::{ns_to_ms, BYTES_PER_MB};

use crate::device::{require_inside, Device};
use crate::errors;

/// Steps of an angle in a revolution, as Python gets it: 2^53.
const ANGLES: f64 = 9_007_199_254_740_992.0;
/// Bits of an angle that are dropped, because a float has 53. Rounding would make the last angle a whole revolution.
const FINER_BITS: u32 = 11;

/// The mechanics of a disk drive; of one of its actuators, if these are tied to ranges of LBNs.
#[pyclass(frozen, module = "sledsim._core")]
pub struct Disk {
    mechanics: Mechanics,
    figures: Characteristics,
}

#[pymethods]
impl Disk {
    #[new]
    fn new(device: &Device) -> PyResult<Self> {
        let DeviceSpec::Disk(parameters) = &device.spec else {
            return Err(errors::invalid_argument("this device has no platters: it is not a disk drive"));
        };
        let one = errors::catch_panic(|| parameters.of_one_actuator())?.map_err(errors::scenario)?;
        let mechanics = errors::catch_panic(|| Mechanics::new(&one))?.map_err(errors::scenario)?;
        let figures = errors::catch_panic(|| Characteristics::of(parameters))?.map_err(errors::scenario)?;
        Ok(Self { mechanics, figures })
    }

    #[getter]
    fn rotation_ms(&self) -> f64 {
        self.figures.rotation_s * 1e3
    }

    #[getter]
    fn mean_seek_ms(&self) -> f64 {
        self.figures.mean_seek_s * 1e3
    }

    #[getter]
    fn streaming_bandwidth_mb_s(&self) -> f64 {
        self.figures.streaming_bandwidth_bytes_s / BYTES_PER_MB
    }

    /// Returns the cylinder, head and sector of a block, and its start angle in revolutions.
    fn place(&self, lbn: u64) -> PyResult<(u32, u32, u32, f64)> {
        require_inside(self.mechanics.layout().capacity_blocks(), lbn, 1)?;
        let place = self.mechanics.layout().place(lbn);
        let angle = (self.mechanics.start_angle(place) >> FINER_BITS) as f64 / ANGLES;
        Ok((place.cylinder, place.head, place.sector, angle))
    }

    /// Returns the times of seeks over these distances in cylinders, ms.
    fn seek_ms<'py>(
        &self,
        python: Python<'py>,
        distances: PyReadonlyArray1<'py, u32>,
        read: bool,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let cylinders = self.mechanics.layout().cylinders();
        let op = if read { Op::Read } else { Op::Write };
        let mut times = Vec::with_capacity(distances.len()?);
        for &distance in distances.as_array() {
            if distance >= cylinders {
                return Err(errors::invalid_argument(format!(
                    "a seek over {distance} cylinders: the drive has {cylinders} cylinders"
                )));
            }
            let arms = [0, distance].map(|cylinder| Arm { cylinder, head: 0 });
            times.push(ns_to_ms(self.mechanics.seek_ns(arms[0], arms[1], op) as f64));
        }
        Ok(times.into_pyarray(python))
    }

    /// Returns a dictionary of columns with the properties of the zones.
    fn zones<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(python);
        macro_rules! column {
            ($name:literal, $value:expr) => {{
                let value: fn(&ZoneFigures) -> _ = $value;
                let values: Vec<_> = self.figures.zones.iter().map(value).collect();
                columns.set_item($name, values.into_pyarray(python))?;
            }};
        }
        column!("first_cylinder", |z| z.first_cylinder);
        column!("last_cylinder", |z| z.last_cylinder);
        column!("sectors_per_track", |z| z.sectors_per_track);
        column!("first_lbn", |z| z.first_lbn);
        column!("blocks", |z| z.blocks);
        column!("media_mb_s", |z| z.media_bytes_s / BYTES_PER_MB);
        column!("streaming_mb_s", |z| z.streaming_bytes_s / BYTES_PER_MB);
        Ok(columns)
    }
}
