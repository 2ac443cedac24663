//! What a spin-down policy of one's own is asked and told: when a device without work enters its lower modes.

use dyn_clone::DynClone;

use crate::engine::Stop;
use crate::power::Mode;
use crate::request::Request;
use crate::time::Time;

/// A spin-down policy that is no part of the simulator. A clone of it goes on as it does.
///
/// It is asked before the run, and again whenever the device has been given a request: of each mode below the ready one, from the
/// upper ones down, how long the device is idle before it enters it, if nothing comes until then. A mode that would be entered
/// later than one below it is passed over.
pub trait OwnSpinDown: DynClone + Send {
    /// What messages call it.
    fn name(&self) -> &str;

    /// Idle time, ns, beyond which the device is in mode number `mode` of `modes`, from 1, in an idle period that begins at `now` or
    /// later; `None` for never. What the modes say of themselves are the times at which the device enters them without a policy.
    ///
    /// # Errors
    /// It can't go on.
    fn after_ns(&mut self, now: Time, mode: usize, modes: &[Mode]) -> Result<Option<u64>, Stop>;

    /// A request that is dispatched at `now` ended an idle period of so many nanoseconds, at least one.
    ///
    /// # Errors
    /// It can't go on.
    fn ended(&mut self, now: Time, idle_ns: u64, modes: &[Mode]) -> Result<(), Stop> {
        let _ = (now, idle_ns, modes);
        Ok(())
    }

    /// The device will have served a request when it is free, at `now`; it is asked for times just after that.
    ///
    /// # Errors
    /// It can't go on.
    fn served(&mut self, now: Time, request: &Request) -> Result<(), Stop> {
        let _ = (now, request);
        Ok(())
    }
}

dyn_clone::clone_trait_object!(OwnSpinDown);
