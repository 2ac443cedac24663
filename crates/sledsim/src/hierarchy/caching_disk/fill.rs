//! Fills: a slot gets a new segment, or its segment the blocks that it lacks, from the disk or from a write of all of it.

use super::buffer::{Buffer, Waiter};
use super::children::{Children, Job};
use super::header::{self, Header};
use super::layout::{Layout, Run};
use super::requests::Piece;
use super::table::{Table, NO_FILL};
use crate::convert::to_u32;
use crate::engine::{Completion, Context, Payload, Status};
use crate::hierarchy::common::{BlockRange, Outstanding};
use crate::request::Op;

/// The progress of a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Waits for writes of MEMS under way in the slot.
    Draining,
    /// Waits until the old segment of the slot is in the buffer or on the disk.
    Evicting,
    /// Waits for space in the buffer, or for the disk.
    Reading,
    /// Writes to MEMS.
    Writing,
}

/// A fill under way.
#[derive(Clone, Debug)]
pub(super) struct Fill {
    pub slot: u32,
    pub segment: u64,
    /// True if the slot gets a new segment.
    pub is_new_segment: bool,
    pub phase: Phase,
    /// The blocks to bring to MEMS.
    pub run: Run,
    /// The index of the segment in the buffer.
    buffer_index: Option<u32>,
    /// Writes of MEMS under way.
    writes: u32,
    /// The status of a write of MEMS that failed.
    failure: Option<Status>,
    /// The write of the whole segment that this fill brings to MEMS.
    pub write: Option<Piece>,
    /// Pieces that wait for the end of the fill or, with shortcut, for the disk.
    pub waiting: Vec<Piece>,
}

impl Fill {
    /// The index of the segment in the buffer, from the disk read on.
    pub fn buffered(&self) -> u32 {
        self.buffer_index.expect("a fill from the disk has space in the buffer")
    }

    /// Takes the index of the segment in the buffer.
    pub fn take_buffered(&mut self) -> Option<u32> {
        self.buffer_index.take()
    }

    /// The index in the buffer of a segment that has come from the disk and is being written to MEMS.
    pub fn readable_in_buffer(&self) -> Option<u32> {
        self.buffer_index.filter(|_| self.phase == Phase::Writing)
    }

    /// From the first block that a read waits for to the last; all of `blocks` if no read waits.
    fn needed(&self, blocks: u32) -> Run {
        let reads = || self.waiting.iter().filter(|piece| piece.op == Op::Read).map(Piece::run);
        let first = reads().map(|run| run.first).min().unwrap_or(0);
        let end = reads().map(Run::end).max().unwrap_or(blocks);
        Run::between(first, end)
    }
}

/// All fills under way.
#[derive(Clone, Debug)]
pub(super) struct Fills {
    layout: Layout,
    fills: Outstanding<Fill>,
}

impl Fills {
    pub fn new(layout: Layout) -> Self {
        Self { layout, fills: Outstanding::default() }
    }

    /// Number of fills under way.
    pub fn len(&self) -> usize {
        self.fills.len()
    }

    /// Drops all fills.
    pub fn clear(&mut self) {
        self.fills.clear();
    }

    /// Removes all fills, in the order in which they began.
    pub fn drain(&mut self) -> Vec<Fill> {
        self.fills.drain()
    }

    /// Begins a fill and returns its id. The slot has a claim on its journal entry already.
    pub fn begin(&mut self, slot: u32, segment: u64, is_new_segment: bool, table: &mut Table) -> u64 {
        let id = self.fills.insert(Fill {
            slot,
            segment,
            is_new_segment,
            phase: Phase::Draining,
            run: Run::new(0, self.layout.blocks(segment)),
            buffer_index: None,
            writes: 0,
            failure: None,
            write: None,
            waiting: Vec::new(),
        });
        table.set_fill(slot, id);
        id
    }

    /// A fill under way.
    pub fn get(&self, id: u64) -> &Fill {
        &self.fills[id]
    }

    /// A fill under way.
    pub fn get_mut(&mut self, id: u64) -> &mut Fill {
        &mut self.fills[id]
    }

    /// Returns true if `id`, a fill or [`NO_FILL`], brings a new segment.
    pub fn is_new_segment(&self, id: u64) -> bool {
        id != NO_FILL && self.fills[id].is_new_segment
    }

    /// Removes a fill from the list and from its slot, and returns it.
    pub fn end(&mut self, id: u64, table: &mut Table) -> Fill {
        let fill = self.fills.take(id);
        debug_assert_eq!(table.slot(fill.slot).fill, id, "a slot has one fill at a time");
        table.set_fill(fill.slot, NO_FILL);
        fill
    }

    /// Reads the blocks that a slot lacks from the disk, or queues the fill for space in the buffer.
    pub fn read_disk(
        &mut self,
        id: u64,
        table: &mut Table,
        buffer: &mut Buffer,
        children: &mut Children,
        context: &mut Context<'_>,
    ) {
        let layout = self.layout;
        let fill = &mut self.fills[id];
        fill.phase = Phase::Reading;
        let (slot, segment, blocks) = (fill.slot, fill.segment, layout.blocks(fill.segment));
        fill.buffer_index = buffer.allocate(segment, Waiter::Fill(id));
        if fill.buffer_index.is_none() {
            return;
        }
        let mut read = Run::new(0, blocks);
        if !fill.is_new_segment {
            fill.run = table.fill_run(segment, fill.needed(blocks));
            read = Run::spanning(&table.gaps(slot, fill.run));
        }
        table.record_fill(slot, segment, fill.run);
        let range = layout.disk_range(segment, read);
        children.send(Job::FillRead { fill: id }, Op::Read, range, Payload::NONE, context);
    }

    /// Writes the blocks that the slot lacks from the buffer to MEMS.
    pub fn write_mems(
        &mut self,
        id: u64,
        table: &Table,
        buffer: &Buffer,
        children: &mut Children,
        context: &mut Context<'_>,
    ) {
        let fill = &mut self.fills[id];
        let buffered = fill.buffered();
        if fill.is_new_segment {
            let data = buffer.read(buffered, Run::new(0, self.layout.blocks(fill.segment)));
            self.write_segment(id, &data, table, children, context);
            return;
        }
        let gaps = table.gaps(fill.slot, fill.run);
        debug_assert!(!gaps.is_empty(), "a slot that is filled is not written, so that its gaps remain");
        fill.writes = to_u32(gaps.len());
        for gap in gaps {
            let (range, data) = (gap.at(table.lbn(fill.slot, 0)), buffer.read(buffered, gap));
            children.send(Job::FillWrite { fill: id }, Op::Write, range, data, context);
        }
    }

    /// Writes a whole segment to MEMS with the data of the first waiting piece.
    pub fn write_mems_from_piece(
        &mut self,
        id: u64,
        table: &Table,
        children: &mut Children,
        context: &mut Context<'_>,
    ) {
        let fill = &mut self.fills[id];
        let piece = fill.waiting.remove(0);
        let data = piece.data.clone();
        (fill.phase, fill.write) = (Phase::Writing, Some(piece));
        self.write_segment(id, &data, table, children, context);
    }

    /// Writes a header and the whole segment behind it to MEMS.
    fn write_segment(
        &mut self,
        id: u64,
        data: &Payload,
        table: &Table,
        children: &mut Children,
        context: &mut Context<'_>,
    ) {
        let layout = self.layout;
        let fill = &mut self.fills[id];
        fill.writes = 1;
        let blocks = layout.blocks(fill.segment);
        let data = if data.is_some() {
            let header = Header::all_valid(fill.segment, blocks);
            Payload::join(&[header::encode(Some(&header), layout.block_bytes), data.clone()])
        } else {
            Payload::NONE
        };
        let lbn = table.header_lbn(fill.slot);
        let range = BlockRange::new(lbn, lbn + u64::from(blocks) + 1);
        children.send(Job::FillWrite { fill: id }, Op::Write, range, data, context);
    }

    /// Handles a write of MEMS for a fill. After the last one, returns the status of all of them together.
    pub fn mems_written(&mut self, id: u64, completion: &Completion) -> Option<Status> {
        let fill = &mut self.fills[id];
        fill.writes -= 1;
        if !completion.is_served() {
            fill.failure = Some(completion.status);
        }
        (fill.writes == 0).then(|| fill.failure.unwrap_or(Status::Served))
    }
}
