//! Schedulers: one policy, one file, one line in the list.
//!
//! Policies that know only LBNs ([`fcfs`], [`look`], [`clook`], [`vscan`], [`sstf_lbn`]) measure from the block after
//! the last request they dispatched; policies that know the mechanism ([`sptf`], [`asptf`], [`sdf`], [`zsptf`]) ask the
//! [`Mechanism`]. Every policy decides ties by arrival.

mod arrival_list;
mod checked;
mod cylinder_index;
mod cylinder_set;
mod lbn_order;
mod own;

pub use checked::Checked;
pub use own::{Own, SchedulerChoice};

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

/// A policy as its file declares it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Key in scenarios.
    pub name: &'static str,
    /// Name in the literature.
    pub title: &'static str,
    /// What it does, in a sentence.
    pub description: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// The policy with its default parameters.
    pub default: SchedulerSpec,
}

/// Parameters of a policy.
trait PolicySpec {
    /// The scheduler that valid ones describe, with nothing pending, for `device`.
    fn build(&self, device: &dyn Mechanism) -> Box<dyn Scheduler>;
}

/// The scheduler that a valid `spec` describes, with nothing pending, for `device`.
#[must_use]
pub fn build(spec: &SchedulerSpec, device: &dyn Mechanism) -> Box<dyn Scheduler> {
    spec.parameters().build(device)
}

/// What policies hand on to their pending requests, which are held by LBN or by cylinder.
macro_rules! keeps_pending {
    (by_lbn) => {
        $crate::schedulers::keeps_pending! { _ready, request, _device => push(request) take(request) }
    };
    (by_cylinder) => {
        $crate::schedulers::keeps_pending! { ready, request, device => push(ready, request, device) take(request, device) }
    };
    ($ready:ident, $request:ident, $device:ident => push($($pushed:tt)+) take($($taken:tt)+)) => {
        fn push(
            &mut self,
            $ready: $crate::time::Time,
            $request: $crate::request::Request,
            $device: &dyn $crate::devices::Mechanism,
        ) {
            self.pending.push($($pushed)+);
        }

        fn take(&mut self, $request: &$crate::request::Request, $device: &dyn $crate::devices::Mechanism) -> bool {
            self.pending.take($($taken)+)
        }

        fn len(&self) -> usize {
            self.pending.len()
        }
    };
}
use keeps_pending;

/// Holds the pending requests of one device and picks the next. A clone of it goes on as it does.
pub trait Scheduler: DynClone + Send {
    /// Takes a request that became ready at `ready`, which may lie some time back.
    fn push(&mut self, ready: Time, request: Request, device: &dyn Mechanism);

    /// Removes and returns the request to serve next, `None` when nothing is pending.
    fn pop(&mut self, now: Time, device: &dyn Mechanism) -> Option<Request>;

    /// Removes a pending request, which is served together with one that was picked: says whether it was there. What the
    /// policy remembers of its last dispatch stays as it is.
    fn take(&mut self, request: &Request, device: &dyn Mechanism) -> bool;

    /// Number of pending requests.
    fn len(&self) -> usize;

    /// Whether requests always come out in the order they went in.
    fn in_order(&self) -> bool {
        false
    }

    /// Takes note that a request which [`Scheduler::pop`] returned has been served.
    fn completed(&mut self, now: Time, request: &Request) {
        let _ = (now, request);
    }

    /// Returns why the run has to stop, if a custom policy failed. [`Scheduler::pop`] returns nothing after that, though requests
    /// are pending.
    fn failure(&self) -> Option<&Stop> {
        None
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

dyn_clone::clone_trait_object!(Scheduler);
