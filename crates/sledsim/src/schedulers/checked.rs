//! A scheduler that checks the contract of another one.

use std::collections::HashMap;

use super::Scheduler;
use crate::devices::Mechanism;
use crate::engine::Stop;
use crate::request::Request;
use crate::time::Time;

/// Checks that a scheduler returns each request once, as it was pushed.
#[derive(Clone)]
pub struct CheckedScheduler {
    policy: Box<dyn Scheduler>,
    /// Requests that the policy should hold, by id.
    pending: HashMap<u64, Request>,
    violation: Option<String>,
}

impl CheckedScheduler {
    /// Checks a policy that holds no request yet.
    #[must_use]
    pub fn new(policy: Box<dyn Scheduler>) -> Self {
        Self { policy, pending: HashMap::new(), violation: None }
    }

    fn expect(&mut self, holds: bool, rule: impl FnOnce() -> String) {
        if !holds {
            let rule = rule();
            debug_assert!(false, "{rule}");
            self.violation.get_or_insert(rule);
        }
    }
}

impl Scheduler for CheckedScheduler {
    fn push(&mut self, ready: Time, request: Request, device: &dyn Mechanism) {
        let other = self.pending.insert(request.id, request);
        self.expect(other.is_none(), || format!("{request:?} has the id of the pending {other:?}"));
        self.policy.push(ready, request, device);
    }

    fn pop(&mut self, now: Time, device: &dyn Mechanism) -> Option<Request> {
        let picked = self.policy.pop(now, device);
        let pending = self.pending.len();
        match picked {
            Some(request) => {
                let given = self.pending.remove(&request.id);
                self.expect(given == Some(request), || {
                    format!("the scheduler picks {request:?}, but {given:?} was pushed")
                });
            }
            None if self.policy.failure().is_some() => {}
            None => self.expect(pending == 0, || format!("the scheduler picks none of {pending} pending requests")),
        }
        picked
    }

    fn take(&mut self, request: &Request, device: &dyn Mechanism) -> bool {
        let is_taken = self.policy.take(request, device);
        let given = self.pending.remove(&request.id);
        self.expect(is_taken == given.is_some(), || {
            format!("taking {request:?} from the scheduler returns {is_taken}, but {given:?} is pending")
        });
        is_taken
    }

    fn len(&self) -> usize {
        self.policy.len()
    }

    fn in_order(&self) -> bool {
        self.policy.in_order()
    }

    fn completed(&mut self, now: Time, request: &Request) {
        self.policy.completed(now, request);
    }

    fn failure(&self) -> Option<&Stop> {
        self.policy.failure()
    }

    fn check(&self) -> Result<(), String> {
        let (reported, pending) = (self.policy.len(), self.pending.len());
        let miscount = (reported != pending)
            .then(|| format!("the scheduler reports {reported} pending requests, but there are {pending}"));
        self.violation.clone().or(miscount).map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::simple::{ConstantParameters, SimpleDevice};

    /// A policy with replaceable answers.
    #[derive(Clone)]
    struct Faulty {
        pending: Vec<Request>,
        picks: fn(&mut Vec<Request>) -> Option<Request>,
        counts: fn(usize) -> usize,
    }

    impl Scheduler for Faulty {
        fn push(&mut self, _ready: Time, request: Request, _device: &dyn Mechanism) {
            self.pending.push(request);
        }

        fn pop(&mut self, _now: Time, _device: &dyn Mechanism) -> Option<Request> {
            (self.picks)(&mut self.pending)
        }

        fn take(&mut self, _request: &Request, _device: &dyn Mechanism) -> bool {
            true
        }

        fn len(&self) -> usize {
            (self.counts)(self.pending.len())
        }
    }

    /// Each violation and a part of its message. With debug assertions the check itself panics, with the same message.
    #[test]
    fn each_violation_is_found() {
        let lifo = Faulty { pending: Vec::new(), picks: Vec::pop, counts: |pending| pending };
        let other = |pending: &mut Vec<Request>| pending.pop().map(|request| Request { lbn: 7, ..request });
        type Act = fn(&mut CheckedScheduler, &dyn Mechanism);
        let violations: [(&str, Faulty, Act); 5] = [
            ("has the id of the pending", lifo.clone(), |policy, device| {
                (0..2).for_each(|_| policy.push(Time::ZERO, Request::read(3, 2), device));
            }),
            ("was pushed", Faulty { picks: other, ..lifo.clone() }, |policy, device| {
                policy.push(Time::ZERO, Request::read(3, 2), device);
                policy.pop(Time::ZERO, device);
            }),
            ("the scheduler picks none of", Faulty { picks: |_| None, ..lifo.clone() }, |policy, device| {
                policy.push(Time::ZERO, Request::read(3, 2), device);
                policy.pop(Time::ZERO, device);
            }),
            ("from the scheduler returns true", lifo.clone(), |policy, device| {
                policy.take(&Request::read(3, 2), device);
            }),
            ("pending requests, but there are", Faulty { counts: |pending| pending + 1, ..lifo }, |_, _| {}),
        ];
        let parameters = ConstantParameters {
            name: String::new(),
            block_bytes: 512,
            capacity_blocks: 100,
            access_ms: 1.0,
            power: None,
        };
        for (words, policy, act) in violations {
            let found = std::panic::catch_unwind(|| {
                let device = SimpleDevice::constant(&parameters).expect("valid parameters");
                let mut policy = CheckedScheduler::new(Box::new(policy.clone()));
                act(&mut policy, &device);
                policy.check().err()
            });
            let found = found.unwrap_or_else(|panic| panic.downcast_ref::<String>().cloned());
            assert!(found.as_ref().is_some_and(|found| found.contains(words)), "{words}: {found:?}");
        }
    }
}
