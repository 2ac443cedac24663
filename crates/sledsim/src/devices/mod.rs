//! Devices: one positioning mechanism each, behind the [`Mechanism`] trait.

pub mod disk;
pub mod mems;
pub mod own;
pub mod simple;

mod batch;
mod checker;
mod equal_cylinders;
mod history;
mod mechanism;
mod own_spin_down;
mod platter;
mod power_account;

pub use batch::{are_contiguous, merged_request, Estimate, MechanismState, Plan, Together};
use batch::{serve_in_turn, PlannedPass};
pub use checker::{service_error, MechanismChecker};
pub use mechanism::{
    BatchAccess, Condition, Coordinates, Defects, Dimensions, Location, Mechanism, Powered, Rotating, VolatileCache,
};
pub use own_spin_down::{OwnSpinDownDevice, SpinDownChoice};
pub use platter::Platter;

pub use crate::service::{EnergyLedger, Phases, RequestEnergy, Service, State, STATES};
