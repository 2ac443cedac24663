//! Disk drives: layout, mechanics, segmented buffer and bus.

mod background;
mod buffer;
mod bus;
mod characteristics;
mod command;
mod device;
mod divisor;
mod layout;
mod mechanics;
mod parameters;
mod pass;
mod power;
mod reading;
mod retries;
mod rotation;
mod seek;
mod sparing;
mod work_log;
mod write_back;
mod writing;

pub use characteristics::{Characteristics, ZoneFigures};
pub use device::DiskDevice;
pub use layout::{BlockRange, Layout, Place, Run};
pub use mechanics::{AnyOrder, Arm, Mechanics};
pub use parameters::{
    CommandQueue, DiskParameters, FastWrite, Mapping, ReadAhead, ReadRetries, RotationModel, Sparing, WriteCache, Zone,
};
pub use rotation::{Angle, Spindle};
pub use seek::{Seek, SeekCurve};
