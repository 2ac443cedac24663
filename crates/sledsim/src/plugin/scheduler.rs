//! The adaptor of custom scheduling policies.

use super::contract::{CustomScheduler, Pending};
use super::{describe_request, BuiltIn, Choice, Role};
use crate::devices::{Location, Mechanism};
use crate::engine::Stop;
use crate::fault::{Fault, Faults};
use crate::request::{Op, Request};
use crate::schedulers::{build, Scheduler, SchedulerSpec};
use crate::time::Time;

/// A built-in or custom scheduling policy.
pub type SchedulerChoice = Choice<SchedulerSpec>;

impl BuiltIn for SchedulerSpec {
    fn policy_name(&self) -> &'static str {
        self.name()
    }

    fn check(&self) -> Result<(), Faults> {
        self.validate()
    }
}

impl Choice<SchedulerSpec> {
    /// Returns a scheduler for `device` with nothing pending.
    ///
    /// # Errors
    /// A custom policy can't be made.
    pub fn build(&self, device: &dyn Mechanism) -> Result<Box<dyn Scheduler>, Fault> {
        match self {
            Self::Custom(custom) => Ok(Box::new(SchedulerAdaptor::new(custom.factory()?.scheduler()?))),
            Self::BuiltIn(spec) => Ok(build(spec, device)),
        }
    }
}

/// A scheduler that holds the pending requests of a custom policy. After a failure of the policy it returns no requests.
#[derive(Clone)]
pub struct SchedulerAdaptor {
    policy: Box<dyn CustomScheduler>,
    pending: Pending,
    requests: Vec<Request>,
    ready: Vec<Time>,
    /// Locations of the requests; empty if the policy does not use positioning times.
    locations: Vec<Location>,
    uses_positioning: bool,
    failure: Option<Stop>,
}

impl SchedulerAdaptor {
    /// Returns a scheduler with nothing pending.
    #[must_use]
    pub fn new(policy: Box<dyn CustomScheduler>) -> Self {
        Self {
            uses_positioning: policy.uses_positioning(),
            policy,
            pending: Pending::default(),
            requests: Vec::new(),
            ready: Vec::new(),
            locations: Vec::new(),
            failure: None,
        }
    }

    fn remove(&mut self, row: usize) -> Request {
        let columns = &mut self.pending;
        columns.id.remove(row);
        columns.lbn.remove(row);
        columns.blocks.remove(row);
        columns.read.remove(row);
        self.ready.remove(row);
        if self.uses_positioning {
            self.locations.remove(row);
        }
        self.requests.remove(row)
    }

    /// Computes the columns that depend on the time.
    fn update_columns(&mut self, now: Time, device: &dyn Mechanism) {
        let Pending { age_ns, positioning_ns, .. } = &mut self.pending;
        age_ns.clear();
        age_ns.extend(self.ready.iter().map(|&ready| now - ready));
        positioning_ns.clear();
        positioning_ns.extend(self.locations.iter().map(|&location| device.positioning_ns(now, location)));
    }

    #[cold]
    fn fail(&mut self, stop: &Stop, now: Time, request: Option<Request>) {
        let subject = match (&request, self.requests.len()) {
            (Some(request), 0 | 1) => describe_request(request),
            (Some(request), pending) => {
                format!("{pending} requests pending, the oldest {}", describe_request(request))
            }
            (None, _) => "no request".to_owned(),
        };
        let id = request.map(|request| request.id);
        self.failure.get_or_insert(stop.located(Role::Scheduler, now, &subject, id));
    }
}

impl Scheduler for SchedulerAdaptor {
    fn push(&mut self, ready: Time, request: Request, device: &dyn Mechanism) {
        let columns = &mut self.pending;
        columns.id.push(request.id);
        columns.lbn.push(request.lbn);
        columns.blocks.push(request.blocks);
        columns.read.push(u8::from(request.op == Op::Read));
        self.ready.push(ready);
        self.requests.push(request);
        if self.uses_positioning {
            self.locations.push(device.locate(&request));
        }
        if self.failure.is_none() {
            if let Err(stop) = self.policy.arrived(ready, &request) {
                self.fail(&stop, ready, Some(request));
            }
        }
    }

    fn pop(&mut self, now: Time, device: &dyn Mechanism) -> Option<Request> {
        if self.requests.is_empty() || self.failure.is_some() {
            return None;
        }
        self.update_columns(now, device);
        let picked = self.policy.pick(now, &mut self.pending).and_then(|row| {
            let (name, count) = (self.policy.name(), self.pending.len());
            let no_row =
                || Stop::from_plugin(format!("{name} chose {row} of {count} pending requests, counted from 0"));
            (row < self.requests.len()).then_some(row).ok_or_else(no_row)
        });
        match picked {
            Ok(row) => Some(self.remove(row)),
            Err(stop) => {
                self.fail(&stop, now, self.requests.first().copied());
                None
            }
        }
    }

    fn take(&mut self, request: &Request, _device: &dyn Mechanism) -> bool {
        // Ids rise with submission.
        let row = self.pending.id.binary_search(&request.id);
        row.map(|row| self.remove(row)).is_ok()
    }

    fn len(&self) -> usize {
        self.requests.len()
    }

    fn completed(&mut self, now: Time, request: &Request) {
        if self.failure.is_none() {
            if let Err(stop) = self.policy.completed(now, request) {
                self.fail(&stop, now, Some(*request));
            }
        }
    }

    fn failure(&self) -> Option<&Stop> {
        self.failure.as_ref()
    }
}
