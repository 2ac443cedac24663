//! Devices: one positioning mechanism each, behind the [`Mechanism`] trait.

pub mod disk;
pub mod mems;
pub mod simple;

mod batch;
mod checker;
pub(crate) mod equal_cylinders;
pub(crate) mod history;
mod mechanism;
mod motion_log;
mod platter;
pub(crate) mod power_manager;

pub use batch::{are_contiguous, merged_request, Estimate, MechanismState, Plan, Together};
use batch::{serve_in_turn, PlannedPass};
pub use checker::{service_error, MechanismChecker};
pub use mechanism::{
    BatchAccess, Condition, Coordinates, Defects, Dimensions, HostTransfer, Location, Mechanism, Powered, Rotating,
    VolatileCache, WriteCaching,
};
pub use motion_log::{Arc, AxisMotion, MotionLog, Movement, RecordedArc};
pub use platter::{CylinderBounds, Platter};

pub use crate::service::{EnergyLedger, Phases, RequestEnergy, Service, State, STATES};
