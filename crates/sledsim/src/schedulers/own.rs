//! A scheduler that asks a policy of one's own: it holds the pending requests for it and keeps to the contract of schedulers,
//! whatever the policy answers. A policy that can't go on ends the run: see [`Stop`].

use super::{build, Scheduler, SchedulerSpec};
use crate::devices::{Location, Mechanism};
use crate::engine::Stop;
use crate::fault::{Fault, Faults};
use crate::own::{told, Choice, Listed, OwnScheduler, Pending, Role};
use crate::request::{Op, Request};
use crate::time::Time;

/// One of the list, or one's own.
pub type SchedulerChoice = Choice<SchedulerSpec>;

impl Listed for SchedulerSpec {
    fn listed_name(&self) -> &'static str {
        self.name()
    }

    fn check(&self) -> Result<(), Faults> {
        self.validate()
    }
}

impl Choice<SchedulerSpec> {
    /// The scheduler, with nothing pending, for `device`.
    ///
    /// # Errors
    /// One's own can't be made.
    pub fn build(&self, device: &dyn Mechanism) -> Result<Box<dyn Scheduler>, Fault> {
        match self {
            Self::Own(own) => Ok(Box::new(Own::new(own.maker()?.scheduler()?))),
            Self::Listed(spec) => Ok(build(spec, device)),
        }
    }
}

/// A scheduler that asks a policy of one's own.
#[derive(Clone)]
pub struct Own {
    policy: Box<dyn OwnScheduler>,
    pending: Pending,
    requests: Vec<Request>,
    ready: Vec<Time>,
    /// Where each begins; none is looked up for a policy that does without positioning times.
    places: Vec<Location>,
    looks_at_positioning: bool,
    stop: Option<Stop>,
}

impl Own {
    /// Nothing pending.
    #[must_use]
    pub fn new(policy: Box<dyn OwnScheduler>) -> Self {
        Self {
            looks_at_positioning: policy.looks_at_positioning(),
            policy,
            pending: Pending::default(),
            requests: Vec::new(),
            ready: Vec::new(),
            places: Vec::new(),
            stop: None,
        }
    }

    fn remove(&mut self, row: usize) -> Request {
        let columns = &mut self.pending;
        columns.id.remove(row);
        columns.lbn.remove(row);
        columns.blocks.remove(row);
        columns.read.remove(row);
        self.ready.remove(row);
        if self.looks_at_positioning {
            self.places.remove(row);
        }
        self.requests.remove(row)
    }

    /// Brings what depends on the time up to `now`.
    fn refresh(&mut self, now: Time, device: &dyn Mechanism) {
        let Pending { age_ns, positioning_ns, .. } = &mut self.pending;
        age_ns.clear();
        age_ns.extend(self.ready.iter().map(|&ready| now - ready));
        positioning_ns.clear();
        positioning_ns.extend(self.places.iter().map(|&place| device.positioning_ns(now, place)));
    }

    /// Asks no more: what the policy is told or asked has failed.
    #[cold]
    fn give_up(&mut self, stop: Stop, now: Time, request: Option<Request>) {
        let what = with(request.as_ref(), self.requests.len());
        let stop = stop.at(Role::Scheduler, now, &what, request.map(|request| request.id));
        self.stop.get_or_insert(stop);
    }

    /// A row that is none.
    fn no_row(&self, row: usize) -> Stop {
        let says =
            format!("{} chose {row} of {} pending requests, counted from 0", self.policy.name(), self.pending.len());
        Stop::of_policy(says)
    }
}

/// With what it was.
fn with(request: Option<&Request>, pending: usize) -> String {
    match (request, pending) {
        (Some(request), 0 | 1) => told(request),
        (Some(request), _) => format!("{pending} requests pending, the oldest {}", told(request)),
        (None, _) => "no request".to_owned(),
    }
}

impl Scheduler for Own {
    fn push(&mut self, ready: Time, request: Request, device: &dyn Mechanism) {
        let columns = &mut self.pending;
        columns.id.push(request.id);
        columns.lbn.push(request.lbn);
        columns.blocks.push(request.blocks);
        columns.read.push(u8::from(request.op == Op::Read));
        self.ready.push(ready);
        self.requests.push(request);
        if self.looks_at_positioning {
            self.places.push(device.locate(&request));
        }
        if self.stop.is_none() {
            if let Err(stop) = self.policy.arrived(ready, &request) {
                self.give_up(stop, ready, Some(request));
            }
        }
    }

    fn pop(&mut self, now: Time, device: &dyn Mechanism) -> Option<Request> {
        if self.requests.is_empty() || self.stop.is_some() {
            return None;
        }
        self.refresh(now, device);
        let picked = self.policy.pick(now, &mut self.pending);
        match picked {
            Ok(row) if row < self.requests.len() => Some(self.remove(row)),
            Ok(row) => {
                self.give_up(self.no_row(row), now, self.requests.first().copied());
                None
            }
            Err(stop) => {
                self.give_up(stop, now, self.requests.first().copied());
                None
            }
        }
    }

    fn take(&mut self, request: &Request, _device: &dyn Mechanism) -> bool {
        // Numbers rise with submission.
        let row = self.pending.id.binary_search(&request.id);
        row.map(|row| self.remove(row)).is_ok()
    }

    fn len(&self) -> usize {
        self.requests.len()
    }

    fn completed(&mut self, now: Time, request: &Request) {
        if self.stop.is_none() {
            if let Err(stop) = self.policy.completed(now, request) {
                self.give_up(stop, now, Some(*request));
            }
        }
    }

    fn failure(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }
}
