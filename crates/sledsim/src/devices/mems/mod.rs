//! MEMS (probe) storage: a sled carries the media over fixed tips.
//!
//! | code | papers' symbol |
//! | --- | --- |
//! | `acceleration_*_m_s2` | a_x, a_y |
//! | access speed | v_access, v_0y |
//! | `settle_constants` | number of time constants |
//! | `resonance_hz` | f |
//! | `spring_factor` | spring factor |

mod batch;
mod buffer;
mod characteristics;
mod device;
mod energy;
pub mod geometry;
mod idle_modes;
pub mod motion;
mod parameters;
mod passes;
mod plans;
mod points;
mod positioning;
mod subsector;
mod tips;

pub use characteristics::Characteristics;
pub use device::MemsDevice;
pub use geometry::{Geometry, Place};
pub use idle_modes::{idle_tips, ladder};
pub use motion::SeekModel;
pub use parameters::{
    FailedTips, Idle, IdleTips, Layout, MemsParameters, RowDirection, SledLayout, StopAt, Timeout, Transfer,
    WriteTransfer,
};
