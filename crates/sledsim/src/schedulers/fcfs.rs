//! FCFS: first come, first served.

use std::collections::VecDeque;

use super::{Policy, Scheduler, SchedulerSpec};
use crate::devices::Device;
use crate::request::Request;
use crate::time::Time;

/// Registry line.
pub const POLICY: Policy = Policy {
    name: "fcfs",
    title: "FCFS",
    description: "First come, first served: in the order of arrival.",
    source: "Denning, Effects of scheduling on file memory operations, AFIPS Spring Joint Computer Conference 1967",
    default: SchedulerSpec::Fcfs {},
};

/// First come, first served.
#[derive(Default)]
pub struct Fcfs {
    pending: VecDeque<Request>,
}

impl Fcfs {
    /// Nothing pending.
    #[must_use]
    pub const fn new() -> Self {
        Self { pending: VecDeque::new() }
    }
}

impl Scheduler for Fcfs {
    fn push(&mut self, _now: Time, request: Request, _device: &dyn Device) {
        self.pending.push_back(request);
    }

    fn pop(&mut self, _now: Time, _device: &dyn Device) -> Option<Request> {
        self.pending.pop_front()
    }

    fn take_matching(&mut self, limit: usize, wanted: &mut dyn FnMut(&Request) -> bool, out: &mut Vec<Request>) {
        let mut left = limit;
        self.pending.retain(|request| {
            let take = left > 0 && wanted(request);
            if take {
                out.push(*request);
                left -= 1;
            }
            !take
        });
    }

    fn in_order(&self) -> bool {
        true
    }

    fn len(&self) -> usize {
        self.pending.len()
    }
}
