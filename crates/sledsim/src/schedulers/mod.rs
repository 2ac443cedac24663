//! Schedulers: one policy, one file, one line in the registry.
//!
//! Policies that know only LBNs ([`fcfs`], [`look`], [`clook`], [`vscan`], [`sstf_lbn`]) measure from the block after
//! the last request they dispatched; policies that know the mechanism ([`sptf`], [`asptf`], [`sdf`], [`zsptf`]) ask the
//! [`Device`]. Every policy decides ties by arrival.

pub mod asptf;
pub mod clook;
pub mod fcfs;
pub mod look;
pub mod sdf;
pub mod sptf;
pub mod sstf_lbn;
pub mod vscan;
pub mod zsptf;

mod arrival_list;
mod checked;
mod cylinder_index;
mod cylinder_set;
mod lbn_order;
mod spec;

pub use checked::Checked;
pub use spec::{build, Policy, SchedulerSpec, SpecError, POLICIES};

use crate::devices::Device;
use crate::request::Request;
use crate::time::Time;

/// Holds the pending requests of one device and picks the next.
pub trait Scheduler: Send {
    /// Takes a request that became ready at `ready`, which may lie some time back.
    fn push(&mut self, ready: Time, request: Request, device: &dyn Device);

    /// Removes and returns the request to serve next, `None` when nothing is pending.
    fn pop(&mut self, now: Time, device: &dyn Device) -> Option<Request>;

    /// Removes a pending request, which is served together with one that was picked: says whether it was there. What the
    /// policy remembers of its last dispatch stays as it is.
    fn take(&mut self, request: &Request, device: &dyn Device) -> bool;

    /// Number of pending requests.
    fn len(&self) -> usize;

    /// Whether requests always come out in the order they went in.
    fn in_order(&self) -> bool {
        false
    }

    /// Whether it has kept to this contract, as far as anybody watches.
    ///
    /// # Errors
    /// What it broke.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Whether nothing is pending.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
