//! Destages: changed segments go from MEMS through the buffer to the disk, because they have to leave or to be ready for that.

use std::collections::{BTreeMap, VecDeque};

use super::buffer::{Awaiting, Buffer, Held};
use super::children::{Children, Job};
use super::requests::Piece;
use super::table::Table;
use super::Layout;
use crate::convert::to_u32;
use crate::engine::{Completion, Context, Payload, Status};
use crate::hierarchy::common::{BlockSet, Outstanding};
use crate::request::{Op, Request};

/// A segment on its way to the disk.
#[derive(Clone, Debug, Default)]
pub(super) struct Destage {
    pub segment: u64,
    /// First block and number of blocks of what goes to the disk.
    runs: Vec<(u32, u32)>,
    /// Where MEMS has its first block.
    lbn: u64,
    /// Blocks of it that MEMS could not read, or the disk not take.
    pub lost: Vec<(u32, u32)>,
    /// The transition of its slot that waits for it.
    pub transit: Option<u64>,
    /// Its place in the buffer.
    held: Option<u32>,
    /// Reads of MEMS under way, then writes of the disk.
    left: u32,
    /// Its slot, if it stays there.
    pub stays_in: Option<u32>,
    /// Pieces of it that wait until the disk has it.
    pub waiters: Vec<Piece>,
}

impl Destage {
    fn held(&self) -> u32 {
        self.held.expect("what is read from MEMS or written to the disk has room in the buffer")
    }
}

/// What comes of a step of a destage.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// It waits, or something of it is under way.
    GoesOn,
    /// It goes on, and the slot is free for this transition already.
    Vacates(u64),
    /// The disk has the segment, or never will: see [`Destager::end`].
    Ends,
}

/// Every destage under way.
#[derive(Clone, Debug)]
pub(super) struct Destager {
    layout: Layout,
    /// Whether a slot is free as soon as the buffer has its segment.
    immediate_report: bool,
    destages: Outstanding<Destage>,
    /// Segments that have no slot any more, or never got one, and that the disk does not have yet, with their destages.
    leaving: BTreeMap<u64, u64>,
    /// Destages that wait for the disk to have nothing else to do.
    deferred: VecDeque<u64>,
}

impl Destager {
    pub fn new(layout: Layout, immediate_report: bool) -> Self {
        let (destages, leaving, deferred) = (Outstanding::default(), BTreeMap::new(), VecDeque::new());
        Self { layout, immediate_report, destages, leaving, deferred }
    }

    /// Nothing is under way any more.
    pub fn forget(&mut self) {
        self.destages.clear();
        self.leaving.clear();
        self.deferred.clear();
    }

    pub fn len(&self) -> usize {
        self.destages.len()
    }

    /// The destage of a segment that MEMS does not have any more.
    #[inline]
    pub fn find(&self, segment: u64) -> Option<u64> {
        self.leaving.get(&segment).copied()
    }

    fn at(&mut self, id: u64) -> &mut Destage {
        self.destages.get_mut(id).expect("a destage ends when nothing of it is under way or waits")
    }

    /// All that is valid of a segment in a slot is to go to the disk: it leaves for the sake of a transition, or stays.
    pub fn begin(&mut self, segment: u64, slot: u32, transit: Option<u64>, table: &Table) -> u64 {
        let stays_in = transit.is_none().then_some(slot);
        let (runs, lbn) = (table.runs(slot, segment), table.lbn(slot, 0));
        let id = self.destages.insert(Destage { segment, runs, lbn, transit, stays_in, ..Destage::default() });
        if stays_in.is_none() {
            self.leaving.insert(segment, id);
        }
        id
    }

    /// A segment in the buffer will not get to MEMS: the disk has to get what was acknowledged of it.
    pub fn owe(&mut self, held: u32, buffer: &mut Buffer) {
        let Held { segment, ref runs, .. } = *buffer.held(held);
        if runs.is_empty() {
            buffer.release(held);
            return;
        }
        let runs = runs.clone();
        let id = self.destages.insert(Destage { segment, runs, held: Some(held), ..Destage::default() });
        self.leaving.insert(segment, id);
        self.deferred.push_back(id);
    }

    /// A segment that was to stay in its slot does not.
    pub fn leave(&mut self, id: u64) {
        let destage = self.at(id);
        destage.stays_in = None;
        let segment = destage.segment;
        self.leaving.insert(segment, id);
    }

    /// MEMS has failed before it was read.
    pub fn lose(&mut self, id: u64) -> Step {
        let destage = self.at(id);
        destage.lost = std::mem::take(&mut destage.runs);
        Step::Ends
    }

    /// Reads a segment from MEMS, when the buffer has room for it.
    pub fn fetch(&mut self, id: u64, buffer: &mut Buffer, children: &mut Children, context: &mut Context<'_>) -> Step {
        let destage = self.at(id);
        let (first, blocks) = span(&destage.runs);
        if blocks == 0 {
            // A write that failed changed it.
            return Step::Ends;
        }
        if let Some(held) = buffer.take(destage.segment, Awaiting::Destage(id)) {
            (destage.held, destage.left) = (Some(held), 1);
            let place = (destage.lbn + u64::from(first), blocks);
            children.send(Job::Fetch { destage: id }, Op::Read, place, Payload::NONE, context);
        }
        Step::GoesOn
    }

    /// The buffer has a segment from MEMS, or a part of it.
    pub fn fetched(
        &mut self,
        id: u64,
        (completion, answer): (&Completion, &Payload),
        buffer: &mut Buffer,
        children: &mut Children,
        context: &mut Context<'_>,
    ) -> Step {
        let destage = self.at(id);
        let &Request { lbn, blocks, .. } = &completion.request;
        let first = to_u32(lbn - destage.lbn);
        if completion.status == Status::Unreadable && blocks > 1 {
            // Halves, until what can't be read is alone.
            destage.left += 1;
            let half = blocks / 2;
            for place in [(lbn, half), (lbn + u64::from(half), blocks - half)] {
                children.send(Job::Fetch { destage: id }, Op::Read, place, Payload::NONE, context);
            }
            return Step::GoesOn;
        }
        if completion.is_served() {
            buffer.write(destage.held(), first, answer);
        } else {
            destage.lost.push((first, blocks));
        }
        destage.left -= 1;
        if destage.left > 0 {
            return Step::GoesOn;
        }
        self.fetched_all(id, buffer, children, context)
    }

    /// The buffer has what MEMS could read of a segment.
    fn fetched_all(
        &mut self,
        id: u64,
        buffer: &mut Buffer,
        children: &mut Children,
        context: &mut Context<'_>,
    ) -> Step {
        let immediate_report = self.immediate_report;
        let destage = self.at(id);
        if !destage.lost.is_empty() {
            // Of what was read only what is valid can be lost.
            let there = without(&destage.runs, &destage.lost);
            destage.lost = without(&destage.runs, &there);
            destage.runs = there;
        }
        buffer.held_mut(destage.held()).runs.clone_from(&destage.runs);
        if destage.runs.is_empty() {
            return Step::Ends;
        }
        if destage.transit.is_some() && !immediate_report {
            // Somebody waits for it.
            self.write_back(id, buffer, children, context);
            return Step::GoesOn;
        }
        let vacates = destage.transit.take().map_or(Step::GoesOn, Step::Vacates);
        self.deferred.push_back(id);
        vacates
    }

    /// Writes segments to the disk for which nobody waits: while it has nothing else to do, or half of the buffer is in use.
    #[inline]
    pub fn write_deferred(&mut self, buffer: &Buffer, children: &mut Children, context: &mut Context<'_>) {
        while let Some(&id) = self.deferred.front() {
            if !children.disk_is_idle() && buffer.room() * 2 >= buffer.capacity() {
                return;
            }
            self.deferred.pop_front();
            self.write_back(id, buffer, children, context);
        }
    }

    /// Writes a segment from the buffer to the disk.
    fn write_back(&mut self, id: u64, buffer: &Buffer, children: &mut Children, context: &mut Context<'_>) {
        let layout = self.layout;
        let destage = self.at(id);
        let lbn = layout.disk_lbn(destage.segment);
        let held = destage.held();
        let runs = &buffer.held(held).runs;
        debug_assert_eq!(*runs, destage.runs, "the buffer keeps what the disk has to get");
        destage.left = to_u32(runs.len());
        for &(first, blocks) in runs {
            let (place, data) = ((lbn + u64::from(first), blocks), buffer.read(held, first, blocks));
            children.send(Job::Destage { destage: id }, Op::Write, place, data, context);
        }
    }

    /// The disk has a part of a segment, or never will.
    pub fn destaged(&mut self, id: u64, completion: &Completion) -> Step {
        let layout = self.layout;
        let destage = self.at(id);
        let lbn = layout.disk_lbn(destage.segment);
        if !completion.is_served() {
            destage.lost.push((to_u32(completion.request.lbn - lbn), completion.request.blocks));
        }
        destage.left -= 1;
        if destage.left == 0 {
            Step::Ends
        } else {
            Step::GoesOn
        }
    }

    /// A destage is over: the buffer forgets its segment.
    pub fn end(&mut self, id: u64, buffer: &mut Buffer) -> Destage {
        let destage = self.destages.remove(id).expect("a destage ends once");
        if let Some(held) = destage.held {
            buffer.release(held);
        }
        if destage.stays_in.is_none() {
            let left = self.leaving.remove(&destage.segment);
            debug_assert_eq!(left, Some(id), "a segment does not leave again before it has left");
        }
        destage
    }

    /// Lets a piece of a segment wait until the disk has it; gives it back, with its place in the buffer, if that has what the
    /// piece reads and `may_answer`.
    pub fn join(&mut self, id: u64, piece: Piece, buffer: &Buffer, may_answer: bool) -> Option<(u32, Piece)> {
        let (first, end) = (piece.offset, piece.offset + piece.blocks);
        let holds = |held: &u32| {
            let runs = &buffer.held(*held).runs;
            runs.iter().any(|&(from, blocks)| from <= first && end <= from + blocks)
        };
        let destage = self.at(id);
        match destage.held.filter(holds) {
            Some(held) if may_answer && piece.op == Op::Read => Some((held, piece)),
            _ => {
                destage.waiters.push(piece);
                None
            }
        }
    }

    /// Whether every destage but those that stay, of which there are so many, is that of a segment that leaves.
    pub fn is_sound(&self, staying: usize) -> bool {
        self.destages.len() == self.leaving.len() + staying && self.deferred.len() <= self.destages.len()
    }
}

/// From the first block of the first run to the last block of the last.
pub(super) fn span(runs: &[(u32, u32)]) -> (u32, u32) {
    match (runs.first(), runs.last()) {
        (Some(&(first, _)), Some(&(last, blocks))) => (first, last + blocks - first),
        _ => (0, 0),
    }
}

/// What is left of runs of blocks without others.
fn without(runs: &[(u32, u32)], others: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut set = BlockSet::default();
    for &(first, blocks) in runs {
        set.insert(u64::from(first), u64::from(first + blocks));
    }
    for &(first, blocks) in others {
        set.remove(u64::from(first), u64::from(first + blocks));
    }
    set.ranges().map(|(from, to)| (to_u32(from), to_u32(to - from))).collect()
}
