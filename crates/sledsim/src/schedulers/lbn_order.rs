//! Pending requests in the order of their first LBN, for policies that use LBNs only.

use std::collections::BTreeMap;

use super::arrival_list::{ArrivalList, Key};
use super::Scheduler;
use crate::devices::Mechanism;
use crate::request::Request;
use crate::time::Time;

/// The direction of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Ascending,
    Descending,
}

impl Direction {
    pub(super) const fn reversed(self) -> Self {
        match self {
            Self::Ascending => Self::Descending,
            Self::Descending => Self::Ascending,
        }
    }
}

/// A pending request, for a policy to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// First block.
    pub(super) lbn: u64,
    /// Order of arrival.
    pub(super) seq: u64,
    key: Key,
}

/// Pending requests by (first LBN, arrival), and the head: the block after the last request dispatched, at first 0.
#[derive(Clone)]
pub(super) struct LbnOrder {
    arrivals: ArrivalList<Request>,
    by_lbn: BTreeMap<(u64, u64), Key>,
    head_lbn: u64,
}

impl LbnOrder {
    /// Returns an order with nothing pending.
    const fn new() -> Self {
        Self { arrivals: ArrivalList::new(), by_lbn: BTreeMap::new(), head_lbn: 0 }
    }

    const fn len(&self) -> usize {
        self.arrivals.len()
    }

    fn push(&mut self, request: Request) {
        let key = self.arrivals.push(request);
        self.by_lbn.insert((request.lbn, self.arrivals.seq(key)), key);
    }

    /// Removes a candidate and moves the head to the block after it.
    fn dispatch(&mut self, candidate: Candidate) -> Request {
        let request = self.remove(candidate.key);
        self.head_lbn = request.end_lbn();
        request
    }

    fn remove(&mut self, key: Key) -> Request {
        self.by_lbn.remove(&(self.arrivals.get(key).lbn, self.arrivals.seq(key)));
        self.arrivals.remove(key)
    }

    /// See [`super::Scheduler::take`]; the head does not move.
    fn take(&mut self, request: &Request) -> bool {
        let mut at_lbn = self.by_lbn.range((request.lbn, 0)..=(request.lbn, u64::MAX));
        let key = at_lbn.find(|&(_, &key)| self.arrivals.get(key).id == request.id).map(|(_, &key)| key);
        key.map(|key| self.remove(key)).is_some()
    }

    /// Returns the distance in blocks between the head and a candidate.
    pub(super) const fn distance(&self, candidate: Candidate) -> u64 {
        self.head_lbn.abs_diff(candidate.lbn)
    }

    /// Returns the nearest request in `direction` from the head, including one exactly at the head.
    pub(super) fn ahead(&self, direction: Direction) -> Option<Candidate> {
        match direction {
            Direction::Ascending => self.at_or_above(self.head_lbn),
            Direction::Descending => self.below(self.head_lbn.saturating_add(1)),
        }
    }

    /// Returns the nearest request against `direction` from the head, excluding one exactly at the head.
    pub(super) fn behind(&self, direction: Direction) -> Option<Candidate> {
        match direction {
            Direction::Ascending => self.below(self.head_lbn),
            Direction::Descending => self.at_or_above(self.head_lbn.saturating_add(1)),
        }
    }

    /// Returns the request with the lowest LBN.
    pub(super) fn lowest(&self) -> Option<Candidate> {
        self.at_or_above(0)
    }

    /// Returns the oldest request at the lowest LBN from `lbn` on.
    fn at_or_above(&self, lbn: u64) -> Option<Candidate> {
        self.by_lbn.range((lbn, 0)..).next().map(|(&(lbn, seq), &key)| Candidate { lbn, seq, key })
    }

    /// Returns the oldest request at the highest LBN below `lbn`.
    fn below(&self, lbn: u64) -> Option<Candidate> {
        let (&(highest, _), _) = self.by_lbn.range(..(lbn, 0)).next_back()?;
        self.at_or_above(highest)
    }
}

/// A policy that picks among requests in LBN order.
pub(super) trait LbnPolicy: Clone + Send {
    /// Returns the request to dispatch; `None` if nothing is pending.
    fn pick(&mut self, pending: &LbnOrder) -> Option<Candidate>;
}

/// The scheduler of an [`LbnPolicy`].
#[derive(Clone)]
pub(super) struct ByLbn<P> {
    pending: LbnOrder,
    policy: P,
}

impl<P: LbnPolicy> ByLbn<P> {
    /// Returns a scheduler with nothing pending and the head at LBN 0.
    pub(super) const fn new(policy: P) -> Self {
        Self { pending: LbnOrder::new(), policy }
    }
}

impl<P: LbnPolicy> Scheduler for ByLbn<P> {
    fn push(&mut self, _ready: Time, request: Request, _device: &dyn Mechanism) {
        self.pending.push(request);
    }

    fn pop(&mut self, _now: Time, _device: &dyn Mechanism) -> Option<Request> {
        let next = self.policy.pick(&self.pending)?;
        Some(self.pending.dispatch(next))
    }

    fn take(&mut self, request: &Request, _device: &dyn Mechanism) -> bool {
        self.pending.take(request)
    }

    fn len(&self) -> usize {
        self.pending.len()
    }
}
