//! Destages: changed segments go from MEMS through the buffer to the disk, because they are evicted or flushed.

use std::collections::{BTreeMap, VecDeque};

use super::buffer::{Buffer, BufferedSegment, Waiter};
use super::children::{Children, Job};
use super::layout::{Layout, Run};
use super::requests::Piece;
use super::table::Table;
use crate::convert::to_u32;
use crate::engine::{Completion, Context, Payload, Status};
use crate::hierarchy::common::{BlockRange, BlockSet, Outstanding};
use crate::request::{Op, Request};

/// A segment on its way to the disk.
#[derive(Clone, Debug, Default)]
pub(super) struct Destage {
    pub segment: u64,
    /// The blocks that go to the disk.
    dirty: Vec<Run>,
    /// Address on MEMS of the first block of the segment.
    mems_lbn: u64,
    /// Blocks that MEMS could not read or the disk not write.
    pub lost: Vec<Run>,
    /// The fill of its slot that waits for it.
    pub fill: Option<u64>,
    /// The index of the segment in the buffer.
    buffer_index: Option<u32>,
    /// Reads of MEMS under way, then writes of the disk.
    accesses: u32,
    /// The slot that keeps the segment, if it is flushed and not evicted.
    pub flushed_slot: Option<u32>,
    /// Pieces that wait until the disk has the segment.
    pub waiting: Vec<Piece>,
}

impl Destage {
    fn buffered(&self) -> u32 {
        self.buffer_index.expect("a segment that is read from MEMS or written to the disk has space in the buffer")
    }
}

/// The result of a step of a destage.
#[derive(Clone, Copy, Debug)]
pub(super) enum DestageStep {
    /// It waits, or an access is under way.
    Continues,
    /// It continues, but the slot is free for this fill already.
    FreesSlot(u64),
    /// All accesses have ended: the caller must call [`Destager::end`].
    Ends,
}

/// All destages under way.
#[derive(Clone, Debug)]
pub(super) struct Destager {
    layout: Layout,
    /// True if a slot is free as soon as the buffer has its segment.
    immediate_report: bool,
    destages: Outstanding<Destage>,
    /// The destages of segments without a slot, by segment.
    evicted: BTreeMap<u64, u64>,
    /// Destages that wait for an idle disk, oldest first.
    deferred: VecDeque<u64>,
}

impl Destager {
    pub fn new(layout: Layout, immediate_report: bool) -> Self {
        let (destages, evicted, deferred) = (Outstanding::default(), BTreeMap::new(), VecDeque::new());
        Self { layout, immediate_report, destages, evicted, deferred }
    }

    /// Drops all destages.
    pub fn clear(&mut self) {
        self.destages.clear();
        self.evicted.clear();
        self.deferred.clear();
    }

    /// Number of destages under way.
    pub fn len(&self) -> usize {
        self.destages.len()
    }

    /// The destage of a segment without a slot.
    #[inline]
    pub fn find(&self, segment: u64) -> Option<u64> {
        self.evicted.get(&segment).copied()
    }

    /// Begins to destage the valid blocks of a segment in a slot, and returns the id. The segment is evicted for `fill`, or
    /// flushed.
    pub fn begin(&mut self, segment: u64, slot: u32, fill: Option<u64>, table: &Table) -> u64 {
        let flushed_slot = fill.is_none().then_some(slot);
        let (dirty, mems_lbn) = (table.valid_runs(slot, segment), table.lbn(slot, 0));
        let id = self.destages.insert(Destage { segment, dirty, mems_lbn, fill, flushed_slot, ..Destage::default() });
        if flushed_slot.is_none() {
            self.evicted.insert(segment, id);
        }
        id
    }

    /// Destages the dirty blocks of a segment in the buffer that will not be written to MEMS; drops it if it has none.
    pub fn destage_buffered(&mut self, index: u32, buffer: &mut Buffer) {
        let BufferedSegment { segment, ref dirty, .. } = *buffer.get(index);
        if dirty.is_empty() {
            buffer.release(index);
            return;
        }
        let dirty = dirty.clone();
        let id = self.destages.insert(Destage { segment, dirty, buffer_index: Some(index), ..Destage::default() });
        self.evicted.insert(segment, id);
        self.deferred.push_back(id);
    }

    /// Turns the destage of a flush into that of a segment without a slot.
    pub fn lose_slot(&mut self, id: u64) {
        let destage = &mut self.destages[id];
        destage.flushed_slot = None;
        self.evicted.insert(destage.segment, id);
    }

    /// Ends a destage that has not been read from a MEMS device that has failed: all its blocks are lost.
    pub fn lose_all(&mut self, id: u64) -> DestageStep {
        let destage = &mut self.destages[id];
        destage.lost = std::mem::take(&mut destage.dirty);
        DestageStep::Ends
    }

    /// Reads a segment from MEMS, or queues the destage for space in the buffer.
    pub fn read_mems(
        &mut self,
        id: u64,
        buffer: &mut Buffer,
        children: &mut Children,
        context: &mut Context<'_>,
    ) -> DestageStep {
        let destage = &mut self.destages[id];
        let read = Run::spanning(&destage.dirty);
        if read.blocks == 0 {
            // The slot became dirty by a write that failed.
            return DestageStep::Ends;
        }
        if let Some(index) = buffer.allocate(destage.segment, Waiter::Destage(id)) {
            (destage.buffer_index, destage.accesses) = (Some(index), 1);
            let range = read.at(destage.mems_lbn);
            children.send(Job::DestageRead { destage: id }, Op::Read, range, Payload::NONE, context);
        }
        DestageStep::Continues
    }

    /// Handles a read of MEMS: `data` is a segment or a part of it. An unreadable part is read again in halves, until the
    /// unreadable blocks are found.
    pub fn mems_read(
        &mut self,
        id: u64,
        completion: &Completion,
        data: &Payload,
        buffer: &mut Buffer,
        children: &mut Children,
        context: &mut Context<'_>,
    ) -> DestageStep {
        let destage = &mut self.destages[id];
        let &Request { lbn, blocks, .. } = &completion.request;
        let run = Run::new(to_u32(lbn - destage.mems_lbn), blocks);
        if completion.status == Status::Unreadable && blocks > 1 {
            destage.accesses += 1;
            let (middle, end) = (lbn + u64::from(blocks / 2), lbn + u64::from(blocks));
            for range in [BlockRange::new(lbn, middle), BlockRange::new(middle, end)] {
                children.send(Job::DestageRead { destage: id }, Op::Read, range, Payload::NONE, context);
            }
            return DestageStep::Continues;
        }
        if completion.is_served() {
            buffer.write(destage.buffered(), run.first, data);
        } else {
            destage.lost.push(run);
        }
        destage.accesses -= 1;
        if destage.accesses > 0 {
            return DestageStep::Continues;
        }
        if !destage.lost.is_empty() {
            // Blocks between valid runs were read too, but cannot be lost.
            let readable = subtract(&destage.dirty, &destage.lost);
            destage.lost = subtract(&destage.dirty, &readable);
            destage.dirty = readable;
        }
        buffer.get_mut(destage.buffered()).dirty.clone_from(&destage.dirty);
        if destage.dirty.is_empty() {
            return DestageStep::Ends;
        }
        if destage.fill.is_some() && !self.immediate_report {
            // A fill waits until the disk has it.
            self.write_disk(id, buffer, children, context);
            return DestageStep::Continues;
        }
        let step = destage.fill.take().map_or(DestageStep::Continues, DestageStep::FreesSlot);
        self.deferred.push_back(id);
        step
    }

    /// Writes segments to the disk that no fill waits for, while the disk is idle or more than half of the buffer is in use.
    #[inline]
    pub fn write_deferred(&mut self, buffer: &Buffer, children: &mut Children, context: &mut Context<'_>) {
        while let Some(&id) = self.deferred.front() {
            if !children.disk_is_idle() && buffer.space() * 2 >= buffer.capacity() {
                return;
            }
            self.deferred.pop_front();
            self.write_disk(id, buffer, children, context);
        }
    }

    /// Writes the dirty blocks of a segment from the buffer to the disk.
    fn write_disk(&mut self, id: u64, buffer: &Buffer, children: &mut Children, context: &mut Context<'_>) {
        let destage = &mut self.destages[id];
        let index = destage.buffered();
        let dirty = &buffer.get(index).dirty;
        debug_assert_eq!(*dirty, destage.dirty, "the buffer keeps the blocks that the disk has to get");
        destage.accesses = to_u32(dirty.len());
        for &run in dirty {
            let (range, data) = (self.layout.disk_range(destage.segment, run), buffer.read(index, run));
            children.send(Job::DestageWrite { destage: id }, Op::Write, range, data, context);
        }
    }

    /// Handles a write of the disk.
    pub fn disk_written(&mut self, id: u64, completion: &Completion) -> DestageStep {
        let destage = &mut self.destages[id];
        if !completion.is_served() {
            let first = to_u32(completion.request.lbn - self.layout.disk_lbn(destage.segment));
            destage.lost.push(Run::new(first, completion.request.blocks));
        }
        destage.accesses -= 1;
        if destage.accesses == 0 {
            DestageStep::Ends
        } else {
            DestageStep::Continues
        }
    }

    /// Removes a destage and its segment in the buffer, and returns it.
    pub fn end(&mut self, id: u64, buffer: &mut Buffer) -> Destage {
        let destage = self.destages.take(id);
        if let Some(index) = destage.buffer_index {
            buffer.release(index);
        }
        if destage.flushed_slot.is_none() {
            let evicted = self.evicted.remove(&destage.segment);
            debug_assert_eq!(evicted, Some(id), "a segment without a slot has one destage");
        }
        destage
    }

    /// Returns the index in the buffer of the segment of a destage if it holds all blocks of a piece.
    pub fn readable_in_buffer(&self, id: u64, piece: &Piece, buffer: &Buffer) -> Option<u32> {
        let holds = |&index: &u32| buffer.get(index).dirty.iter().any(|run| run.contains(piece.run()));
        self.destages[id].buffer_index.filter(holds)
    }

    /// Queues a piece until the disk has the segment of a destage.
    pub fn wait(&mut self, id: u64, piece: Piece) {
        self.destages[id].waiting.push(piece);
    }

    /// Returns true if every destage is listed as evicted, except `flushes` flushes.
    pub fn is_consistent(&self, flushes: usize) -> bool {
        self.destages.len() == self.evicted.len() + flushes && self.deferred.len() <= self.destages.len()
    }
}

/// The blocks of `runs` that are not in `removed`.
fn subtract(runs: &[Run], removed: &[Run]) -> Vec<Run> {
    let mut set = BlockSet::default();
    for run in runs {
        set.insert(u64::from(run.first), u64::from(run.end()));
    }
    for run in removed {
        set.remove(u64::from(run.first), u64::from(run.end()));
    }
    set.ranges().map(|(from, to)| Run::between(to_u32(from), to_u32(to))).collect()
}
