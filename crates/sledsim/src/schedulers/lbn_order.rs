//! Pending requests in the order of their first LBN: what the policies that know only LBNs share.

use std::collections::BTreeMap;

use super::arrival_list::{ArrivalList, Key};
use crate::request::Request;

/// Sense in which a sweep crosses the LBNs.
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

/// A pending request as the policies see it.
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
    pub(super) const fn new() -> Self {
        Self { arrivals: ArrivalList::new(), by_lbn: BTreeMap::new(), head_lbn: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.arrivals.len()
    }

    pub(super) fn push(&mut self, request: Request) {
        let key = self.arrivals.push(request);
        self.by_lbn.insert((request.lbn, self.arrivals.seq(key)), key);
    }

    /// Removes a candidate and moves the head behind it.
    pub(super) fn dispatch(&mut self, candidate: Candidate) -> Request {
        let request = self.remove(candidate.key);
        self.head_lbn = request.end_lbn();
        request
    }

    fn remove(&mut self, key: Key) -> Request {
        self.by_lbn.remove(&(self.arrivals.get(key).lbn, self.arrivals.seq(key)));
        self.arrivals.remove(key)
    }

    /// See [`super::Scheduler::take`]; the head stays where it is.
    pub(super) fn take(&mut self, request: &Request) -> bool {
        let mut there = self.by_lbn.range((request.lbn, 0)..=(request.lbn, u64::MAX));
        let key = there.find(|&(_, &key)| self.arrivals.get(key).id == request.id).map(|(_, &key)| key);
        key.map(|key| self.remove(key)).is_some()
    }

    /// Blocks between the head and a candidate.
    pub(super) const fn distance(&self, candidate: Candidate) -> u64 {
        self.head_lbn.abs_diff(candidate.lbn)
    }

    /// The nearest request in `direction` from the head, one exactly at the head included.
    pub(super) fn ahead(&self, direction: Direction) -> Option<Candidate> {
        match direction {
            Direction::Ascending => self.at_or_above(self.head_lbn),
            Direction::Descending => self.below(self.head_lbn.saturating_add(1)),
        }
    }

    /// The nearest request against `direction` from the head, one exactly at the head left out.
    pub(super) fn behind(&self, direction: Direction) -> Option<Candidate> {
        match direction {
            Direction::Ascending => self.below(self.head_lbn),
            Direction::Descending => self.at_or_above(self.head_lbn.saturating_add(1)),
        }
    }

    /// The request with the lowest LBN.
    pub(super) fn lowest(&self) -> Option<Candidate> {
        self.at_or_above(0)
    }

    /// The lowest LBN from `lbn` on; of several requests there, the oldest.
    fn at_or_above(&self, lbn: u64) -> Option<Candidate> {
        self.by_lbn.range((lbn, 0)..).next().map(|(&(lbn, seq), &key)| Candidate { lbn, seq, key })
    }

    /// The highest LBN below `lbn`; of several requests there, the oldest.
    fn below(&self, lbn: u64) -> Option<Candidate> {
        let (&(highest, _), _) = self.by_lbn.range(..(lbn, 0)).next_back()?;
        self.at_or_above(highest)
    }
}
