//! The pending requests of a drive, in order of arrival and by LBN, for merging and anticipation.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use crate::devices::{Estimate, MechanismState};
use crate::request::{Op, Request};

/// A pending request.
#[derive(Clone)]
pub(super) struct Slot {
    pub(super) request: Request,
    /// True if the request is not pending any more.
    pub(super) is_removed: bool,
    /// Its cost if all requests are served in order of arrival, once computed.
    pub(super) cost: Option<InOrderCost>,
}

/// The cost of a request, with the mechanism in state `from` before it.
#[derive(Clone, Copy)]
pub(super) struct InOrderCost {
    pub(super) from: MechanismState,
    pub(super) estimate: Estimate,
}

/// The pending requests of a drive. Their ids rise in order of arrival.
#[derive(Clone)]
pub(super) struct PendingRequests {
    /// In order of arrival, including some removed requests.
    slots: VecDeque<Slot>,
    len: usize,
    /// All but the last `unindexed` requests by LBN, if an index is kept.
    by_lbn: Option<LbnIndex>,
    unindexed: usize,
}

/// Up to this number of requests a linear search is faster than the index.
const FEW: usize = 8;

/// Returns true if the order of two requests matters: they overlap, and one of them is a write.
pub(super) fn conflict(one: &Request, other: &Request) -> bool {
    (one.op == Op::Write || other.op == Op::Write) && one.lbn < other.end_lbn() && other.lbn < one.end_lbn()
}

impl PendingRequests {
    /// An empty set, with an index by LBN if `is_indexed`.
    pub(super) fn new(is_indexed: bool) -> Self {
        Self { slots: VecDeque::new(), len: 0, by_lbn: is_indexed.then(LbnIndex::default), unindexed: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn push(&mut self, request: Request) {
        debug_assert!(self.slots.back().is_none_or(|last| last.request.id < request.id), "ids rise with arrival");
        self.slots.push_back(Slot { request, is_removed: false, cost: None });
        self.len += 1;
        self.unindexed += 1;
    }

    /// Adds new requests to the index, unless there are few.
    pub(super) fn index(&mut self) {
        if self.slots.len() <= FEW && self.unindexed == self.slots.len() {
            return;
        }
        let first = self.slots.len() - self.unindexed;
        if let Some(by_lbn) = &mut self.by_lbn {
            for slot in self.slots.range(first..).filter(|slot| !slot.is_removed) {
                by_lbn.insert(&slot.request);
            }
        }
        self.unindexed = 0;
    }

    /// Removes a pending request.
    #[inline]
    pub(super) fn remove(&mut self, id: u64) {
        debug_assert!(self.get(id).is_some(), "request {id} is not pending");
        if self.len == 1 && self.unindexed == 1 && self.slots.len() == 1 {
            // The common case: the request is the only one.
            self.slots.clear();
            (self.len, self.unindexed) = (0, 0);
            return;
        }
        let index = self.index_from(id);
        if index < self.slots.len() - self.unindexed {
            if let Some(by_lbn) = &mut self.by_lbn {
                by_lbn.remove(&self.slots[index].request);
            }
        }
        self.slots[index].is_removed = true;
        self.len -= 1;
        while self.slots.front().is_some_and(|slot| slot.is_removed) {
            self.slots.pop_front();
        }
        self.unindexed = self.unindexed.min(self.slots.len());
        if self.slots.len() > 2 * self.len + 64 {
            let kept = self.slots.len() - self.unindexed;
            let unindexed = self.slots.range(kept..).filter(|slot| !slot.is_removed).count();
            self.slots.retain(|slot| !slot.is_removed);
            self.unindexed = unindexed;
        }
    }

    /// Index of the first slot with an id of at least `id`.
    pub(super) fn index_from(&self, id: u64) -> usize {
        self.slots.partition_point(|slot| slot.request.id < id)
    }

    /// A request; `None` if it is not pending.
    pub(super) fn get(&self, id: u64) -> Option<&Request> {
        let slot = self.slots.get(self.index_from(id))?;
        (slot.request.id == id && !slot.is_removed).then_some(&slot.request)
    }

    /// All slots, including those of removed requests.
    pub(super) fn slots(&self) -> &VecDeque<Slot> {
        &self.slots
    }

    pub(super) fn slot_mut(&mut self, index: usize) -> &mut Slot {
        &mut self.slots[index]
    }

    /// Index and request of the nearest pending request before a slot, or from that slot on if `is_later`.
    pub(super) fn neighbour(&self, index: usize, is_later: bool) -> Option<(usize, &Request)> {
        let found = if is_later {
            self.slots.range(index..).position(|slot| !slot.is_removed).map(|ahead| index + ahead)
        } else {
            self.slots.range(..index).rposition(|slot| !slot.is_removed)
        };
        found.map(|index| (index, &self.slots[index].request))
    }

    /// The index, if there is one and it is up to date.
    fn index_by_lbn(&self) -> Option<&LbnIndex> {
        self.by_lbn.as_ref().filter(|_| self.unindexed < self.slots.len())
    }

    /// The pending requests in order of arrival.
    fn requests(&self) -> impl Iterator<Item = &Request> {
        self.slots.iter().filter(|slot| !slot.is_removed).map(|slot| &slot.request)
    }

    /// Returns true if an older pending request must be served before `request`.
    pub(super) fn has_older_conflict(&self, request: &Request) -> bool {
        let Some(by_lbn) = self.index_by_lbn() else {
            return self.requests().take_while(|older| older.id < request.id).any(|older| conflict(older, request));
        };
        let blocks = request.lbn..request.end_lbn();
        let older = |op: Op| by_lbn.overlapping(op, &blocks).any(|id| id < request.id);
        older(Op::Write) || request.op == Op::Write && older(Op::Read)
    }

    /// Adds the ids of the requests of a kind that begin at `lbn`, oldest first.
    pub(super) fn beginning_at(&self, op: Op, lbn: u64, out: &mut Vec<u64>) {
        if let Some(by_lbn) = self.index_by_lbn() {
            for starts in &by_lbn.starts[op as usize] {
                out.extend(starts.range((lbn, 0)..=(lbn, u64::MAX)).map(|(&(_, id), _)| id));
            }
            out.sort_unstable();
        } else {
            out.extend(self.requests().filter(|it| it.op == op && it.lbn == lbn).map(|it| it.id));
        }
    }

    /// Adds the ids of the requests of a kind that end just before `lbn`, oldest first.
    pub(super) fn ending_at(&self, op: Op, lbn: u64, out: &mut Vec<u64>) {
        if let Some(by_lbn) = self.index_by_lbn() {
            out.extend(by_lbn.ends[op as usize].range((lbn, 0)..=(lbn, u64::MAX)).map(|&(_, id)| id));
        } else {
            out.extend(self.requests().filter(|it| it.op == op && it.end_lbn() == lbn).map(|it| it.id));
        }
    }

    /// Adds the ids of the requests of a kind that overlap a range of blocks.
    pub(super) fn overlapping(&self, op: Op, blocks: &Range<u64>, out: &mut BTreeSet<u64>) {
        if let Some(by_lbn) = self.index_by_lbn() {
            out.extend(by_lbn.overlapping(op, blocks));
        } else {
            let overlaps = |it: &&Request| it.op == op && it.lbn < blocks.end && blocks.start < it.end_lbn();
            out.extend(self.requests().filter(overlaps).map(|it| it.id));
        }
    }
}

/// Requests by LBN, with separate indices for reads and writes.
#[derive(Clone, Default)]
struct LbnIndex {
    /// Lengths by first block and id, with a map for each power of two of the length: this bounds the search for overlaps.
    starts: [Vec<BTreeMap<(u64, u64), u32>>; 2],
    /// By end and id.
    ends: [BTreeSet<(u64, u64)>; 2],
}

impl LbnIndex {
    fn insert(&mut self, request: &Request) {
        let (op, size) = (request.op as usize, request.blocks.ilog2() as usize);
        let starts = &mut self.starts[op];
        if starts.len() <= size {
            starts.resize_with(size + 1, BTreeMap::new);
        }
        starts[size].insert((request.lbn, request.id), request.blocks);
        self.ends[op].insert((request.end_lbn(), request.id));
    }

    fn remove(&mut self, request: &Request) {
        let (op, size) = (request.op as usize, request.blocks.ilog2() as usize);
        self.starts[op][size].remove(&(request.lbn, request.id));
        self.ends[op].remove(&(request.end_lbn(), request.id));
    }

    /// The ids of the requests of a kind that overlap a range of blocks.
    fn overlapping<'a>(&'a self, op: Op, blocks: &Range<u64>) -> impl Iterator<Item = u64> + 'a {
        let Range { start, end } = *blocks;
        let sizes = self.starts[op as usize].iter().enumerate();
        sizes.flat_map(move |(size, starts)| {
            let longest = (2_u64 << size) - 1;
            let near = starts.range((start.saturating_sub(longest), 0)..(end, 0));
            near.filter(move |&(&(lbn, _), &blocks)| lbn + u64::from(blocks) > start).map(|(&(_, id), _)| id)
        })
    }
}
