//! The requests that wait at a drive, in order of arrival and by where they lie: what is looked at when some of them are to be
//! served together.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use crate::devices::{Estimate, MechanismState};
use crate::request::{Op, Request};

/// A request, and what is known of its turn.
#[derive(Clone)]
pub(super) struct Slot {
    pub(super) request: Request,
    /// Whether it is waiting no longer.
    pub(super) gone: bool,
    /// What serving it takes when all are served in turn: from where, and the outcome.
    pub(super) turn: Option<(MechanismState, Estimate)>,
}

/// The requests that wait at a drive. Their numbers rise with their arrival.
#[derive(Clone)]
pub(super) struct Waiting {
    /// In order of arrival, those that are gone between the others.
    slots: VecDeque<Slot>,
    len: usize,
    /// Where they lie, but for the last `fresh`; none where nobody asks.
    places: Option<Places>,
    fresh: usize,
}

/// So few are looked through one by one, which is quicker than to find them by place.
const FEW: usize = 8;

/// Whether the order of two requests matters: they overlap, and one of them is a write.
pub(super) fn conflict(one: &Request, other: &Request) -> bool {
    (one.op == Op::Write || other.op == Op::Write) && one.lbn < other.end_lbn() && other.lbn < one.end_lbn()
}

impl Waiting {
    /// Nothing waits; with `by_place` requests can be found by where they lie.
    pub(super) fn new(by_place: bool) -> Self {
        Self { slots: VecDeque::new(), len: 0, places: by_place.then(Places::default), fresh: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn push(&mut self, request: Request) {
        debug_assert!(self.slots.back().is_none_or(|last| last.request.id < request.id), "numbers rise with arrival");
        self.slots.push_back(Slot { request, gone: false, turn: None });
        self.len += 1;
        self.fresh += 1;
    }

    /// Sees to it that those which arrived since are found by place, unless they are few.
    pub(super) fn index(&mut self) {
        if self.slots.len() <= FEW && self.fresh == self.slots.len() {
            return;
        }
        let first = self.slots.len() - self.fresh;
        if let Some(places) = &mut self.places {
            for slot in self.slots.range(first..).filter(|slot| !slot.gone) {
                places.insert(&slot.request);
            }
        }
        self.fresh = 0;
    }

    /// Forgets a request that waits.
    #[inline]
    pub(super) fn remove(&mut self, id: u64) {
        debug_assert!(self.get(id).is_some(), "whoever leaves has come, and leaves once: {id}");
        if self.len == 1 && self.fresh == 1 && self.slots.len() == 1 {
            // The common case: a request that finds nobody waiting.
            self.slots.clear();
            (self.len, self.fresh) = (0, 0);
            return;
        }
        let index = self.index_from(id);
        if index < self.slots.len() - self.fresh {
            if let Some(places) = &mut self.places {
                places.remove(&self.slots[index].request);
            }
        }
        self.slots[index].gone = true;
        self.len -= 1;
        while self.slots.front().is_some_and(|slot| slot.gone) {
            self.slots.pop_front();
        }
        self.fresh = self.fresh.min(self.slots.len());
        if self.slots.len() > 2 * self.len + 64 {
            let kept = self.slots.len() - self.fresh;
            let fresh = self.slots.range(kept..).filter(|slot| !slot.gone).count();
            self.slots.retain(|slot| !slot.gone);
            self.fresh = fresh;
        }
    }

    /// Index of the first slot whose request arrived with or after `id`.
    pub(super) fn index_from(&self, id: u64) -> usize {
        self.slots.partition_point(|slot| slot.request.id < id)
    }

    /// A request, if it waits.
    pub(super) fn get(&self, id: u64) -> Option<&Request> {
        let slot = self.slots.get(self.index_from(id))?;
        (slot.request.id == id && !slot.gone).then_some(&slot.request)
    }

    /// All slots, also of those that are gone.
    pub(super) fn slots(&self) -> &VecDeque<Slot> {
        &self.slots
    }

    pub(super) fn slot_mut(&mut self, index: usize) -> &mut Slot {
        &mut self.slots[index]
    }

    /// The request next behind (`later`) or before a place among the slots.
    pub(super) fn neighbour(&self, index: usize, later: bool) -> Option<(usize, &Request)> {
        let found = if later {
            self.slots.range(index..).position(|slot| !slot.gone).map(|ahead| index + ahead)
        } else {
            self.slots.range(..index).rposition(|slot| !slot.gone)
        };
        found.map(|index| (index, &self.slots[index].request))
    }

    /// Where they lie, if they are to be found by that.
    fn by_place(&self) -> Option<&Places> {
        self.places.as_ref().filter(|_| self.fresh < self.slots.len())
    }

    /// Those that wait.
    fn requests(&self) -> impl Iterator<Item = &Request> {
        self.slots.iter().filter(|slot| !slot.gone).map(|slot| &slot.request)
    }

    /// Whether a request that waits arrived before `request`, and their order matters.
    pub(super) fn holds_back(&self, request: &Request) -> bool {
        let Some(places) = self.by_place() else {
            return self.requests().take_while(|older| older.id < request.id).any(|older| conflict(older, request));
        };
        let blocks = request.lbn..request.end_lbn();
        let older = |op: Op| places.overlapping(op, &blocks).any(|id| id < request.id);
        older(Op::Write) || request.op == Op::Write && older(Op::Read)
    }

    /// The requests of a kind that begin at `lbn`, oldest first; none where nobody asks for places.
    pub(super) fn beginning_at(&self, op: Op, lbn: u64, out: &mut Vec<u64>) {
        if let Some(places) = self.by_place() {
            for starts in &places.starts[op as usize] {
                out.extend(starts.range((lbn, 0)..=(lbn, u64::MAX)).map(|(&(_, id), _)| id));
            }
            out.sort_unstable();
        } else {
            out.extend(self.requests().filter(|it| it.op == op && it.lbn == lbn).map(|it| it.id));
        }
    }

    /// The requests of a kind that end before `lbn`, with the block in front of it, oldest first.
    pub(super) fn ending_at(&self, op: Op, lbn: u64, out: &mut Vec<u64>) {
        if let Some(places) = self.by_place() {
            out.extend(places.ends[op as usize].range((lbn, 0)..=(lbn, u64::MAX)).map(|&(_, id)| id));
        } else {
            out.extend(self.requests().filter(|it| it.op == op && it.end_lbn() == lbn).map(|it| it.id));
        }
    }

    /// The requests of a kind that have some of those blocks.
    pub(super) fn overlapping(&self, op: Op, blocks: &Range<u64>, out: &mut BTreeSet<u64>) {
        if let Some(places) = self.by_place() {
            out.extend(places.overlapping(op, blocks));
        } else {
            let overlaps = |it: &&Request| it.op == op && it.lbn < blocks.end && blocks.start < it.end_lbn();
            out.extend(self.requests().filter(overlaps).map(|it| it.id));
        }
    }
}

/// Requests by where they lie, reads and writes apart.
#[derive(Clone, Default)]
struct Places {
    /// By first block and number, with their lengths. Those of `2^k` blocks to less than twice as many are together, so that
    /// what overlaps a range is found without looking far before it.
    starts: [Vec<BTreeMap<(u64, u64), u32>>; 2],
    /// By the block behind the last one, and number.
    ends: [BTreeSet<(u64, u64)>; 2],
}

impl Places {
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

    /// Numbers of the requests of a kind that have some of those blocks.
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
