//! FCFS: first come, first served.

use std::collections::VecDeque;

use super::{Policy, PolicySpec, Scheduler, SchedulerSpec};
use crate::devices::Mechanism;
use crate::registry::no_parameters;
use crate::request::Request;
use crate::time::Time;

/// FCFS in the list of policies.
pub const POLICY: Policy = Policy {
    name: "fcfs",
    title: "FCFS",
    description: "First come, first served: in the order of arrival.",
    source: "Denning, Effects of scheduling on file memory operations, AFIPS Spring Joint Computer Conference 1967",
    default: SchedulerSpec::Fcfs(Spec {}),
};

no_parameters! {
    /// First come, first served.
    PolicySpec: fn build(&self, _device: &dyn Mechanism) -> Box<dyn Scheduler> {
        Box::new(Fcfs::new())
    }
}

/// First come, first served.
#[derive(Clone)]
pub struct Fcfs {
    pending: VecDeque<Request>,
}

impl Fcfs {
    /// Returns a queue with nothing pending.
    const fn new() -> Self {
        Self { pending: VecDeque::new() }
    }
}

impl Scheduler for Fcfs {
    fn push(&mut self, _now: Time, request: Request, _device: &dyn Mechanism) {
        self.pending.push_back(request);
    }

    fn pop(&mut self, _now: Time, _device: &dyn Mechanism) -> Option<Request> {
        self.pending.pop_front()
    }

    fn take(&mut self, request: &Request, _device: &dyn Mechanism) -> bool {
        // Ids rise in the order of submission.
        let place = self.pending.binary_search_by_key(&request.id, |it| it.id);
        place.ok().and_then(|place| self.pending.remove(place)).is_some()
    }

    fn in_order(&self) -> bool {
        true
    }

    fn len(&self) -> usize {
        self.pending.len()
    }
}
