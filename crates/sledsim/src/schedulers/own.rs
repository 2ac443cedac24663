//! A policy of one's own: a choice among columns of what is pending, made outside the simulator.
//!
//! Whoever brings one in implements [`OwnPolicy`]; [`Own`] holds the pending requests for it and keeps to the contract of
//! schedulers, whatever the policy answers. A policy that can't go on ends the run: see [`Stop`].

use dyn_clone::DynClone;

use super::Scheduler;
use crate::devices::{Device, Location};
use crate::engine::Stop;
use crate::fault::{Fault, Kind, Raised, Word};
use crate::request::{Op, Request};
use crate::time::Time;

/// What is pending, in the order of arrival: a column for each quantity, a row for each request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// Numbers of the requests; they rise.
    pub id: Vec<u64>,
    /// First blocks.
    pub lbn: Vec<u64>,
    /// Sizes, blocks.
    pub blocks: Vec<u32>,
    /// 1 for a read, 0 for a write.
    pub read: Vec<u8>,
    /// Times since the requests became ready, ns.
    pub age_ns: Vec<u64>,
    /// Times from a dispatch now until the first bit can be transferred, ns, as [`Device::positioning_ns`]; empty for a policy
    /// that does without.
    pub positioning_ns: Vec<u64>,
}

impl Pending {
    /// How many requests are pending.
    #[must_use]
    pub fn len(&self) -> usize {
        self.id.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.id.is_empty()
    }
}

/// A policy that is no part of the simulator. A clone of it goes on as it does.
pub trait OwnPolicy: DynClone + Send {
    /// What messages call it.
    fn name(&self) -> &str;

    /// Whether it looks at positioning times; finding them takes longer than all else.
    fn looks_at_positioning(&self) -> bool {
        true
    }

    /// Which row of `pending`, which is not empty, is dispatched at `now`. It may take the columns and has to put them back.
    ///
    /// # Errors
    /// It can't go on.
    fn pick(&mut self, now: Time, pending: &mut Pending) -> Result<usize, Stop>;

    /// A request became ready at `ready`, which may lie some time back.
    ///
    /// # Errors
    /// It can't go on.
    fn arrived(&mut self, ready: Time, request: &Request) -> Result<(), Stop> {
        let _ = (ready, request);
        Ok(())
    }

    /// A request has been served.
    ///
    /// # Errors
    /// It can't go on.
    fn completed(&mut self, now: Time, request: &Request) -> Result<(), Stop> {
        let _ = (now, request);
        Ok(())
    }
}

dyn_clone::clone_trait_object!(OwnPolicy);

/// A scheduler that asks a policy of one's own.
#[derive(Clone)]
pub struct Own {
    policy: Box<dyn OwnPolicy>,
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
    pub fn new(policy: Box<dyn OwnPolicy>) -> Self {
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
    fn refresh(&mut self, now: Time, device: &dyn Device) {
        let Pending { age_ns, positioning_ns, .. } = &mut self.pending;
        age_ns.clear();
        age_ns.extend(self.ready.iter().map(|&ready| now - ready));
        positioning_ns.clear();
        positioning_ns.extend(self.places.iter().map(|&place| device.positioning_ns(now, place)));
    }

    /// Asks no more: what the policy is told or asked has failed.
    #[cold]
    fn give_up(&mut self, stop: Stop, now: Time, request: Option<Request>) {
        let stop = match stop {
            Stop::Interrupted => Stop::Interrupted,
            Stop::Failed(fault) => Stop::Failed(located(fault, now, request, self.requests.len())),
        };
        self.stop.get_or_insert(stop);
    }

    /// A row that is none.
    fn no_row(&self, row: usize) -> Stop {
        let says =
            format!("{} chose {row} of {} pending requests, counted from 0", self.policy.name(), self.pending.len());
        Stop::Failed(Fault::new(Kind::Policy).says(says))
    }
}

/// Says of a fault when it was, and with which request.
fn located(mut fault: Fault, now: Time, request: Option<Request>, pending: usize) -> Fault {
    let which = match (&request, pending) {
        (Some(request), 0 | 1) => format!("with {}", told(request)),
        (Some(request), _) => format!("with {pending} requests pending, the oldest {}", told(request)),
        (None, _) => "with no request".to_owned(),
    };
    fault.words.insert(0, Word::Text(format!(" at {} s, {which}: ", now.seconds())));
    let raised = fault.raised.get_or_insert_default();
    *raised = Raised { at_ns: now.ns(), request: request.map(|request| request.id), ..std::mem::take(raised) };
    fault
}

fn told(request: &Request) -> String {
    let op = if request.op == Op::Read { "read" } else { "write" };
    format!("request {} ({op} of {} blocks from LBN {} on)", request.id, request.blocks, request.lbn)
}

impl Scheduler for Own {
    fn push(&mut self, ready: Time, request: Request, device: &dyn Device) {
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

    fn pop(&mut self, now: Time, device: &dyn Device) -> Option<Request> {
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

    fn take(&mut self, request: &Request, _device: &dyn Device) -> bool {
        // Numbers rise with submission.
        let row = self.pending.id.binary_search(&request.id);
        row.map(|row| self.remove(row)).is_ok()
    }

    fn len(&self) -> usize {
        self.requests.len()
    }

    fn is_own(&self) -> bool {
        true
    }

    fn completed(&mut self, now: Time, request: &Request) {
        if self.stop.is_none() {
            if let Err(stop) = self.policy.completed(now, request) {
                self.give_up(stop, now, Some(*request));
            }
        }
    }

    fn stop(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }
}
