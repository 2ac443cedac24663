//! Actuators over one spindle, whose idle modes are common to all of them.

use crate::time::Time;

/// An access of an actuator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActuatorAccess {
    /// When it was dispatched.
    pub start: Time,
    /// When the actuator is idle again, reading ahead and writing behind included, if it gets no further request.
    pub end: Time,
}

/// One of several actuators over a spindle. The drive is idle while all of them are, and a request for any of them makes the whole drive
/// leave its idle mode. Each actuator accounts for an equal part of the power; the first one counts changes of mode.
pub trait SharedSpindle {
    /// Makes this the actuator `index` of `count`, before the first access.
    fn join(&mut self, index: usize, count: usize);

    /// Returns the access that began since the last call, if one did.
    fn take_access(&mut self) -> Option<ActuatorAccess>;

    /// Notes the access of another actuator, when it begins.
    fn other_access(&mut self, index: usize, access: ActuatorAccess);
}
