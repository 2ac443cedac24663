//! Disk drives: platters that turn, arms that seek, a buffer between them and the bus.

mod access;
mod background;
mod buffer;
mod bus;
mod characteristics;
mod command;
mod divisor;
mod layout;
mod mechanics;
mod parameters;
mod pass;
mod reading;
mod resting;
mod rotation;
mod seek;
mod seek_curve;
mod sparing;
mod work_log;
mod writing;

pub use access::DiskDevice;
pub use characteristics::{Characteristics, ZoneFigures};
pub use layout::{Layout, Place, Run};
pub use mechanics::{AnyOrder, Arm, Mechanics};
pub use parameters::{DiskParameters, FastWrite, Mapping, ReadAhead, RotationModel, Sparing, Zone};
pub use rotation::{Angle, Spindle};
pub use seek::Seek;
pub use seek_curve::SeekCurve;
