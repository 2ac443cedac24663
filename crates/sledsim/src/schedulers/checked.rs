//! A policy that is watched: it gives back what it was given, once.

use std::collections::HashMap;

use super::Scheduler;
use crate::devices::Device;
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
    fn push(&mut self, ready: Time, request: Request, device: &dyn Device) {
        let other = self.pending.insert(request.id, request);
        self.expect(other.is_none(), || format!("the scheduler is given {request:?} beside {other:?}"));
        self.policy.push(ready, request, device);
    }

    fn pop(&mut self, now: Time, device: &dyn Device) -> Option<Request> {
        let picked = self.policy.pop(now, device);
        let pending = self.pending.len();
        match picked {
            Some(request) => {
                let given = self.pending.remove(&request.id);
                self.expect(given == Some(request), || {
                    format!("the scheduler picks {request:?}, but was given {given:?}")
                });
            }
            None => self.expect(pending == 0, || format!("the scheduler picks none of {pending} pending requests")),
        }
        picked
    }

    fn take(&mut self, request: &Request, device: &dyn Device) -> bool {
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

    fn check(&self) -> Result<(), String> {
        let (says, holds) = (self.policy.len(), self.pending.len());
        let miscounts = (says != holds).then(|| format!("the scheduler says that {says} are pending, but {holds} are"));
        self.broken.clone().or(miscounts).map_or(Ok(()), Err)
    }
}
