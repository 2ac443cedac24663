//! Disk drives: platters that turn, arms that seek, a buffer between them and the bus.

mod access;
mod parameters;

pub use access::DiskDevice;
pub use parameters::{DiskParameters, FastWrite, Mapping, ReadAhead, RotationModel, SeekCurve, Sparing, Zone};
