//! Schedulers: one policy per file, and one line in the registry.
//!
//! A policy that uses LBNs, such as [`look`], is an `LbnPolicy`; distances count from the block after the last dispatched request. A
//! policy that uses the [`Mechanism`], such as [`sptf`], is a `CylinderPolicy`. [`fcfs`] has its own queue. Every policy breaks ties by
//! arrival.

mod arrival_list;
mod checked;
mod cylinder_index;
mod cylinder_set;
mod lbn_order;

pub use checked::CheckedScheduler;

use dyn_clone::DynClone;

use crate::devices::Mechanism;
use crate::engine::Stop;
use crate::registry::registry;
use crate::request::Request;
use crate::time::Time;

registry! {
    /// A policy and its parameters.
    #[derive(Copy)]
    #[serde(tag = "name", rename_all = "snake_case")]
    pub enum SchedulerSpec: PolicySpec {
        Fcfs => fcfs,
        Look => look,
        Clook => clook,
        Vscan => vscan,
        SstfLbn => sstf_lbn,
        Sptf => sptf,
        Asptf => asptf,
        Sdf => sdf,
        Zsptf => zsptf,
    }

    /// Every policy.
    pub const POLICIES: [Policy];
}

/// The declaration of a policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Key in scenarios.
    pub name: &'static str,
    /// Name in the literature.
    pub title: &'static str,
    /// The rule of the policy, in a sentence.
    pub description: &'static str,
    /// Publications that define it.
    pub source: &'static str,
    /// The policy with its default parameters.
    pub default: SchedulerSpec,
}

/// Parameters of a policy.
trait PolicySpec {
    /// Returns a scheduler for `device` with these valid parameters and nothing pending.
    fn build(&self, device: &dyn Mechanism) -> Box<dyn Scheduler>;
}

/// Returns a scheduler for `device` by a valid `spec`, with nothing pending.
#[must_use]
pub fn build(spec: &SchedulerSpec, device: &dyn Mechanism) -> Box<dyn Scheduler> {
    spec.parameters().build(device)
}

/// Holds the pending requests of one device and picks the next. A clone continues independently from the same state.
///
/// ```
/// use sledsim::devices::simple::{ConstantParameters, SimpleDevice};
/// use sledsim::request::Request;
/// use sledsim::schedulers::{build, POLICIES};
/// use sledsim::time::Time;
///
/// let device = SimpleDevice::constant(&ConstantParameters {
///     name: "constant".into(),
///     block_bytes: 512,
///     capacity_blocks: 1000,
///     access_ms: 1.0,
///     power: None,
/// })?;
/// let policy = POLICIES.iter().find(|policy| policy.name == "sstf_lbn").expect("a listed policy");
/// let mut scheduler = build(&policy.default, &device);
/// for (id, lbn) in [(0, 500), (1, 20)] {
///     scheduler.push(Time::ZERO, Request { id, ..Request::read(lbn, 8) }, &device);
/// }
/// // The head starts at LBN 0, so the request at LBN 20 is nearer.
/// assert_eq!(scheduler.pop(Time::ZERO, &device).map(|request| request.id), Some(1));
/// # Ok::<(), sledsim::fault::Fault>(())
/// ```
pub trait Scheduler: DynClone + Send {
    /// Adds a request that became ready at `ready`, now or earlier.
    fn push(&mut self, ready: Time, request: Request, device: &dyn Mechanism);

    /// Removes and returns the request to serve next; `None` if nothing is pending.
    fn pop(&mut self, now: Time, device: &dyn Mechanism) -> Option<Request>;

    /// Removes a pending request that is served together with the one picked last; returns false if it is not pending. The
    /// policy's record of its last dispatch does not change.
    fn take(&mut self, request: &Request, device: &dyn Mechanism) -> bool;

    /// Returns the number of pending requests.
    fn len(&self) -> usize;

    /// Returns true if requests always leave in the order of arrival.
    fn in_order(&self) -> bool {
        false
    }

    /// Called when a request that [`Scheduler::pop`] returned has been served.
    fn completed(&mut self, now: Time, request: &Request) {
        let _ = (now, request);
    }

    /// Returns why the run has to stop, if a custom policy failed. [`Scheduler::pop`] returns nothing after that, though requests
    /// are pending.
    fn failure(&self) -> Option<&Stop> {
        None
    }

    /// Checks the contract, if the scheduler is a [`CheckedScheduler`].
    ///
    /// # Errors
    /// The first violation.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Returns true if nothing is pending.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

dyn_clone::clone_trait_object!(Scheduler);
