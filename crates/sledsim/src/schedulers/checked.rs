//! A policy that is watched: it gives back what it was given, once.

use std::collections::HashMap;

use super::Scheduler;
use crate::devices::Mechanism;
use crate::engine::Stop;
use crate::request::Request;
use crate::time::Time;

/// A policy, and what it holds by somebody else's count.
#[derive(Clone)]
pub struct Checked {
    policy: Box<dyn Scheduler>,
    /// By id, which is unique within whoever submits.
    pending: HashMap<u64, Request>,
    broken: Option<String>,
}

impl Checked {
    /// Watches a policy that holds nothing yet.
    #[must_use]
    pub fn new(policy: Box<dyn Scheduler>) -> Self {
        Self { policy, pending: HashMap::new(), broken: None }
    }

    fn expect(&mut self, holds: bool, rule: impl FnOnce() -> String) {
        if !holds {
            let rule = rule();
            debug_assert!(false, "{rule}");
            self.broken.get_or_insert(rule);
        }
    }
}

impl Scheduler for Checked {
    fn push(&mut self, ready: Time, request: Request, device: &dyn Mechanism) {
        let other = self.pending.insert(request.id, request);
        self.expect(other.is_none(), || format!("the scheduler is given {request:?} beside {other:?}"));
        self.policy.push(ready, request, device);
    }

    fn pop(&mut self, now: Time, device: &dyn Mechanism) -> Option<Request> {
        let picked = self.policy.pop(now, device);
        let pending = self.pending.len();
        match picked {
            Some(request) => {
                let given = self.pending.remove(&request.id);
                self.expect(given == Some(request), || {
                    format!("the scheduler picks {request:?}, but was given {given:?}")
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
            format!("the scheduler is asked for {request:?} and has {given:?}")
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
        let (says, holds) = (self.policy.len(), self.pending.len());
        let miscounts = (says != holds).then(|| format!("the scheduler says that {says} are pending, but {holds} are"));
        self.broken.clone().or(miscounts).map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::simple::{ConstantParameters, SimpleDevice};

    /// A policy that gives out as it is told to.
    #[derive(Clone)]
    struct Bent {
        pending: Vec<Request>,
        picks: fn(&mut Vec<Request>) -> Option<Request>,
        counts: fn(usize) -> usize,
    }

    impl Scheduler for Bent {
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

    /// Each breach of a rule, and a word of what is said of it; with debug assertions the breach itself panics.
    #[test]
    fn every_breach_is_told() {
        let in_order = Bent { pending: Vec::new(), picks: Vec::pop, counts: |pending| pending };
        let other = |pending: &mut Vec<Request>| pending.pop().map(|request| Request { lbn: 7, ..request });
        type Act = fn(&mut Checked, &dyn Mechanism);
        let breaches: [(&str, Bent, Act); 5] = [
            ("the scheduler is given", in_order.clone(), |policy, device| {
                (0..2).for_each(|_| policy.push(Time::ZERO, Request::read(3, 2), device));
            }),
            ("but was given", Bent { picks: other, ..in_order.clone() }, |policy, device| {
                policy.push(Time::ZERO, Request::read(3, 2), device);
                policy.pop(Time::ZERO, device);
            }),
            ("the scheduler picks none of", Bent { picks: |_| None, ..in_order.clone() }, |policy, device| {
                policy.push(Time::ZERO, Request::read(3, 2), device);
                policy.pop(Time::ZERO, device);
            }),
            ("the scheduler is asked for", in_order.clone(), |policy, device| {
                policy.take(&Request::read(3, 2), device);
            }),
            ("are pending, but", Bent { counts: |pending| pending + 1, ..in_order }, |_, _| {}),
        ];
        let parameters = ConstantParameters {
            name: String::new(),
            block_bytes: 512,
            capacity_blocks: 100,
            access_ms: 1.0,
            power: None,
        };
        for (word, policy, act) in breaches {
            let told = std::panic::catch_unwind(|| {
                let device = SimpleDevice::constant(&parameters).expect("they are valid");
                let mut policy = Checked::new(Box::new(policy.clone()));
                act(&mut policy, &device);
                policy.check().err()
            });
            let told = told.unwrap_or_else(|panic| panic.downcast_ref::<String>().cloned());
            assert!(told.as_ref().is_some_and(|told| told.contains(word)), "{word}: {told:?}");
        }
    }
}
