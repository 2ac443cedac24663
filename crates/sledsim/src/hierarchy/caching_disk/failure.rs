//! Failures: blocks of MEMS that can't be read, and a MEMS device that fails altogether.
//!
//! What the disk has, too, it serves. What only MEMS had is lost: it is remembered, power cuts included, and reads of it fail
//! until it has been written again. Segments with such blocks do not come to MEMS.

use super::buffer::Buffer;
use super::journal::Journal;
use super::requests::Piece;
use super::{CachingDisk, Layout};
use crate::engine::{Completion, Context, Payload, Status};
use crate::hierarchy::common::BlockSet;
use crate::request::{Op, Request};

/// What is lost. The controller does not forget that.
#[derive(Clone, Debug)]
pub(super) struct Losses {
    layout: Layout,
    /// Whether MEMS has failed.
    pub mems_failed: bool,
    /// Blocks of the disk whose newest content is lost.
    lost: BlockSet,
    /// Blocks that were lost in the measurement window.
    pub lost_blocks: u64,
}

impl Losses {
    pub fn new(layout: Layout) -> Self {
        Self { layout, mems_failed: false, lost: BlockSet::default(), lost_blocks: 0 }
    }

    /// Whether any of these blocks of the disk is lost.
    pub fn touches(&self, from: u64, to: u64) -> bool {
        self.lost.touches(from, to)
    }

    /// Whether a segment that is absent may not come to MEMS.
    pub fn bars(&self, segment: u64) -> bool {
        let from = self.layout.disk_lbn(segment);
        let is_lost = || self.lost.touches(from, from + u64::from(self.layout.blocks(segment)));
        self.mems_failed || (!self.lost.is_empty() && is_lost())
    }

    /// Blocks of a segment are lost.
    pub fn lose(&mut self, segment: u64, first: u32, blocks: u32) {
        let from = self.layout.disk_lbn(segment) + u64::from(first);
        self.lost_blocks += self.lost.insert(from, from + u64::from(blocks));
    }

    /// Blocks of the disk are not lost.
    pub fn find(&mut self, from: u64, to: u64) {
        self.lost.remove(from, to);
    }

    /// All of the disk counts as lost, but for what is in the buffer: nobody knows what was on MEMS.
    pub fn lose_all(&mut self, buffer: &Buffer) {
        self.lost.insert(0, self.layout.capacity_blocks);
        for held in buffer.in_use() {
            let from = self.layout.disk_lbn(held.segment);
            for &(first, blocks) in &held.runs {
                self.lost.remove(from + u64::from(first), from + u64::from(first + blocks));
            }
        }
    }
}

impl CachingDisk {
    /// MEMS has failed: what only it had is lost, and from now on everything goes to the disk.
    pub(super) fn give_up_mems(&mut self, context: &mut Context<'_>) {
        self.losses.mems_failed = true;
        if let Some(recovery) = &mut self.recovery {
            // Nobody knows what was there, and nobody can read what was found there.
            self.losses.lose_all(&self.buffer);
            recovery.forget();
        }
        // What is being flushed is left to the disk, once it has it.
        if let Some((_, destage)) = self.flush.under_way {
            self.destager.leave(destage);
        }
        // One that is just being written for the first time counts as changed. What was in the slot of a new segment has its
        // destage.
        for (segment, first, blocks) in self.table.changed(|transit| self.transits.is_fresh(transit)) {
            self.losses.lose(segment, first, blocks);
        }
        let mut pieces: Vec<Piece> = self.stalled.drain(..).collect();
        for transit in self.transits.drain() {
            if let Some(held) = transit.held {
                self.destager.owe(held, &mut self.buffer);
            }
            pieces.extend(transit.writer);
            pieces.extend(transit.waiters);
        }
        self.buffer.forget_fills();
        self.table.forget();
        self.journal = Journal::new(self.layout, self.journal.capacity());
        self.flush.forget();
        self.reroute(pieces, context);
        if self.recovery.is_some() {
            self.recovered(context);
        }
    }

    /// What becomes of a piece that MEMS has not served: it goes to the disk if that has what is asked for; given back if not.
    pub(super) fn rescue(
        &mut self,
        piece: Piece,
        slot: u32,
        status: Status,
        context: &mut Context<'_>,
    ) -> Result<(), Piece> {
        if self.losses.mems_failed {
            self.reroute(vec![piece], context);
            return Ok(());
        }
        let is_flushed = self.flush.under_way.is_some_and(|(flushed, _)| flushed == slot);
        let disk_has_it = !self.table.slot(slot).dirty && !is_flushed;
        if piece.op == Op::Read && status == Status::Unreadable && disk_has_it {
            self.detour(piece, context);
            return Ok(());
        }
        Err(piece)
    }

    /// A request that went straight to MEMS, which has not served it.
    pub(super) fn rescue_whole(
        &mut self,
        request: &Request,
        slot: u32,
        data: Payload,
        completion: &Completion,
        context: &mut Context<'_>,
    ) {
        let whole = self.requests.begin(request, 1);
        let segment = self.layout.segment(request.lbn);
        let range = (request.lbn, request.end_lbn());
        let piece = Piece::of(whole, segment, request, range, self.layout.disk_lbn(segment));
        let piece = Piece { noted: true, data, ..piece };
        if self.rescue(piece, slot, completion.status, context).is_err() {
            self.requests.part(whole, completion, context);
        }
    }
}
