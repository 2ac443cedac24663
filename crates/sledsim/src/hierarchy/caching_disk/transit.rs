//! Transitions: a slot gets another segment, or a segment the blocks that it lacks, from the disk or as they are written.

use super::buffer::{Awaiting, Buffer};
use super::children::{Children, Job};
use super::destage::span;
use super::header::{self, Header};
use super::requests::Piece;
use super::table::{Table, AT_REST};
use super::Layout;
use crate::convert::to_u32;
use crate::engine::{Completion, Context, Payload, Status};
use crate::hierarchy::common::Outstanding;
use crate::request::Op;

/// What a transition is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It waits for writes of MEMS under way in the slot.
    Draining,
    /// The segment that was in the slot has to reach the buffer or the disk first.
    Evicting,
    /// It waits for room in the buffer, or for the disk.
    Reading,
    /// MEMS is being written.
    Placing,
}

/// A segment in transition.
#[derive(Clone, Debug)]
pub(super) struct Transit {
    pub slot: u32,
    pub segment: u64,
    /// Whether the segment is new in the slot.
    pub fresh: bool,
    pub phase: Phase,
    /// The blocks that it brings, from one to before another.
    pub window: (u32, u32),
    /// Its place in the buffer.
    pub held: Option<u32>,
    /// Writes of MEMS under way.
    left: u32,
    /// What one of them came back with that was not served.
    failed: Option<Status>,
    /// A write of the whole segment, that is being placed.
    pub writer: Option<Piece>,
    /// Pieces that wait for it to end or, with shortcut, for the disk.
    pub waiters: Vec<Piece>,
}

impl Transit {
    /// Its place in the buffer, which it has from when the disk is asked.
    pub fn held(&self) -> u32 {
        self.held.expect("what comes from the disk has room in the buffer")
    }

    /// From the first block to the last that reads wait for; all of `blocks` if none do.
    fn waited_for(&self, blocks: u32) -> (u32, u32) {
        let reads = || self.waiters.iter().filter(|piece| piece.op == Op::Read);
        let from = reads().map(|piece| piece.offset).min().unwrap_or(0);
        let to = reads().map(|piece| piece.offset + piece.blocks).max().unwrap_or(blocks);
        (from, to)
    }
}

/// Every transition under way.
#[derive(Clone, Debug)]
pub(super) struct Transits {
    layout: Layout,
    transits: Outstanding<Transit>,
}

impl Transits {
    pub fn new(layout: Layout) -> Self {
        Self { layout, transits: Outstanding::default() }
    }

    pub fn len(&self) -> usize {
        self.transits.len()
    }

    /// Nothing is under way any more.
    pub fn forget(&mut self) {
        self.transits.clear();
    }

    /// Ends all of them, in the order in which they began.
    pub fn drain(&mut self) -> Vec<Transit> {
        self.transits.drain()
    }

    /// A transition of a slot begins; there is a claim on its entry in the journal already.
    pub fn begin(&mut self, slot: u32, segment: u64, fresh: bool, table: &mut Table) -> u64 {
        let id = self.transits.insert(Transit {
            slot,
            segment,
            fresh,
            phase: Phase::Draining,
            window: (0, self.layout.blocks(segment)),
            held: None,
            left: 0,
            failed: None,
            writer: None,
            waiters: Vec::new(),
        });
        table.set_transit(slot, id);
        id
    }

    /// One that is under way.
    pub fn at(&mut self, id: u64) -> &mut Transit {
        self.transits.get_mut(id).expect("a transition ends when nothing of it is under way, or all do when MEMS fails")
    }

    /// Whether a slot waits for a new segment; `id` is its transition or [`AT_REST`].
    pub fn is_fresh(&mut self, id: u64) -> bool {
        id != AT_REST && self.at(id).fresh
    }

    /// A transition is over, whatever came of it: its slot is at rest.
    pub fn end(&mut self, id: u64, table: &mut Table) -> Transit {
        let transit = self.transits.remove(id).expect("a transition ends once");
        debug_assert_eq!(table.slot(transit.slot).transit, id, "a slot is in one transition at a time");
        table.set_transit(transit.slot, AT_REST);
        transit
    }

    /// Reads from the disk what a slot lacks of its segment, when the buffer has room for it.
    pub fn fill(
        &mut self,
        id: u64,
        table: &mut Table,
        buffer: &mut Buffer,
        children: &mut Children,
        context: &mut Context<'_>,
    ) {
        let layout = self.layout;
        let transit = self.at(id);
        transit.phase = Phase::Reading;
        let (slot, segment, all) = (transit.slot, transit.segment, layout.blocks(transit.segment));
        let Some(held) = buffer.take(segment, Awaiting::Fill(id)) else {
            // It comes back here when there is room.
            return;
        };
        transit.held = Some(held);
        let mut span_blocks = (0, all);
        if !transit.fresh {
            transit.window = table.window(segment, transit.waited_for(all));
            span_blocks = span(&table.gaps(slot, transit.window));
        }
        table.bring(slot, segment, transit.window);
        let place = (layout.disk_lbn(segment) + u64::from(span_blocks.0), span_blocks.1);
        children.send(Job::Fill { transit: id }, Op::Read, place, Payload::NONE, context);
    }

    /// Writes to MEMS what the buffer has from the disk and the slot still lacks.
    pub fn place(
        &mut self,
        id: u64,
        table: &Table,
        buffer: &Buffer,
        children: &mut Children,
        context: &mut Context<'_>,
    ) {
        let layout = self.layout;
        let transit = self.at(id);
        let held = transit.held();
        if transit.fresh {
            let data = buffer.read(held, 0, layout.blocks(transit.segment));
            self.place_whole(id, &data, table, children, context);
            return;
        }
        let gaps = table.gaps(transit.slot, transit.window);
        debug_assert!(!gaps.is_empty(), "nobody writes to a slot in transition, so that it still lacks what it lacked");
        transit.left = to_u32(gaps.len());
        for (first, blocks) in gaps {
            let (lbn, data) = (table.lbn(transit.slot, first), buffer.read(held, first, blocks));
            children.send(Job::Place { transit: id }, Op::Write, (lbn, blocks), data, context);
        }
    }

    /// Writes a whole segment to MEMS as its first piece brings it.
    pub fn place_written(&mut self, id: u64, table: &Table, children: &mut Children, context: &mut Context<'_>) {
        let transit = self.at(id);
        let piece = transit.waiters.remove(0);
        let data = piece.data.clone();
        (transit.phase, transit.writer) = (Phase::Placing, Some(piece));
        self.place_whole(id, &data, table, children, context);
    }

    /// Writes a header and the whole segment behind it to MEMS.
    fn place_whole(
        &mut self,
        id: u64,
        data: &Payload,
        table: &Table,
        children: &mut Children,
        context: &mut Context<'_>,
    ) {
        let layout = self.layout;
        let transit = self.at(id);
        transit.left = 1;
        let blocks = layout.blocks(transit.segment);
        let data = if data.is_some() {
            let header = Header::whole(transit.segment, blocks);
            Payload::join(&[header::block(Some(&header), layout.block_bytes), data.clone()])
        } else {
            Payload::NONE
        };
        let place = (table.header_lbn(transit.slot), blocks + 1);
        children.send(Job::Place { transit: id }, Op::Write, place, data, context);
    }

    /// MEMS has been written for a transition: when that was the last of its writes, how they went together.
    pub fn placed(&mut self, id: u64, completion: &Completion) -> Option<Status> {
        let transit = self.at(id);
        transit.left -= 1;
        if !completion.is_served() {
            transit.failed = Some(completion.status);
        }
        (transit.left == 0).then(|| transit.failed.unwrap_or(Status::Served))
    }
}
