//! Failures: blocks of MEMS that can't be read, and a MEMS device that fails altogether.
//!
//! What the disk has, too, it serves. What only MEMS had is lost: it is remembered, power cuts included, and reads of it fail
//! until it has been written again. Segments with such blocks do not come to MEMS.

use super::access::{Piece, Whole};
use super::destage::Destage;
use super::nonvolatile::Journal;
use super::table::Table;
use super::transit::Transit;
use super::units::Units;
use super::Mcd;
use crate::engine::{Completion, Context, Payload, Status};
use crate::hierarchy::cache::replacement::build;
use crate::hierarchy::parts::{BlockSet, Gather};
use crate::request::{Op, Request};

impl Mcd {
    /// MEMS has failed: what only it had is lost, and from now on everything goes to the disk.
    pub(super) fn give_up_mems(&mut self, context: &mut Context<'_>) {
        self.mems_failed = true;
        if self.recovery.is_some() {
            // Nobody knows what was there.
            self.lose_all();
        }
        // What is being flushed is left to the disk, once it has it.
        if let Some(id) = self.flush.destage.take() {
            if let Some(segment) = self.destages.get_mut(id).and_then(Destage::leave) {
                self.leaving.insert(segment, id);
            }
        }
        self.lose_changed();
        let mut pieces: Vec<Piece> = self.stalled.drain(..).collect();
        for Transit { segment, held, writer, waiters, .. } in self.transits.drain() {
            if let Some(held) = held {
                if self.buffer.held(held).runs.is_empty() {
                    self.buffer.release(held);
                } else {
                    self.owe(segment, held);
                }
            }
            pieces.extend(writer);
            pieces.extend(waiters);
        }
        let slots = self.table.len();
        self.policy = build(&self.spec.policy, slots);
        self.table = Table::new(slots, self.layout.segment_blocks, self.spec.partial_write);
        self.journal = Journal::new(self.journal.capacity());
        self.flush.forget();
        self.units.iter_mut().for_each(Units::forget);
        self.reroute(pieces, context);
        self.recovered(context);
    }

    /// All that is valid of changed segments is lost. One that is just being written for the first time counts as changed.
    fn lose_changed(&mut self) {
        let (policy, table, layout, transits) = (&self.policy, &self.table, &self.layout, &mut self.transits);
        let mut found = Vec::new();
        policy.in_eviction_order(&mut |slot| {
            // What was in the slot of a new segment has its destage.
            let is_fresh = transits.get_mut(table.slot(slot).transit).is_some_and(|transit| transit.fresh);
            if table.slot(slot).dirty && !is_fresh {
                let segment = policy.key(slot);
                let runs = table.runs(slot, layout.blocks(segment), true);
                found.extend(runs.into_iter().map(|(first, blocks)| (segment, first, blocks)));
            }
            true
        });
        for (segment, first, blocks) in found {
            self.lose(segment, first, blocks);
        }
    }

    /// All of the disk counts as lost, but for what is in the buffer: nobody knows what was on MEMS.
    pub(super) fn lose_all(&mut self) {
        self.lost.insert(0, self.layout.capacity_blocks);
        for held in self.buffer.in_use() {
            let from = self.layout.disk_lbn(held.segment);
            for &(first, blocks) in &held.runs {
                self.lost.remove(from + u64::from(first), from + u64::from(first + blocks));
            }
        }
    }

    /// Blocks of a segment are lost.
    pub(super) fn lose(&mut self, segment: u64, first: u32, blocks: u32) {
        let from = self.layout.disk_lbn(segment) + u64::from(first);
        self.statistics.lost_blocks += self.lost.insert(from, from + u64::from(blocks));
    }

    /// What becomes of a piece that MEMS has not served: it goes to the disk if that has what is asked for; given back if not.
    pub(super) fn rescue(
        &mut self,
        piece: Piece,
        slot: u32,
        status: Status,
        context: &mut Context<'_>,
    ) -> Result<(), Piece> {
        if self.mems_failed {
            self.reroute(vec![piece], context);
            return Ok(());
        }
        let disk_has_it = || !self.table.slot(slot).dirty && self.flush.slot() != Some(slot);
        if piece.op == Op::Read && status == Status::Unreadable && disk_has_it() {
            self.detour(piece, context);
            return Ok(());
        }
        Err(piece)
    }

    /// A request that went straight to MEMS, which has not served it.
    pub(super) fn rescue_whole(
        &mut self,
        request: Request,
        slot: u32,
        data: Payload,
        completion: &Completion,
        context: &mut Context<'_>,
    ) {
        let mut gather = Gather::new(request);
        gather.expect(1);
        let whole = self.wholes.issue(Whole::new(gather));
        let segment = request.lbn / u64::from(self.layout.segment_blocks);
        let range = (request.lbn, request.end_lbn());
        let piece = Piece::of(whole, segment, &request, range, self.layout.disk_lbn(segment));
        let piece = Piece { noted: true, data, ..piece };
        if self.rescue(piece, slot, completion.status, context).is_err() {
            self.part(whole, completion, context);
        }
    }
}

/// What is left of runs of blocks without others.
pub(super) fn without(runs: &[(u32, u32)], others: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut set = BlockSet::default();
    for &(first, blocks) in runs {
        set.insert(u64::from(first), u64::from(first + blocks));
    }
    for &(first, blocks) in others {
        set.remove(u64::from(first), u64::from(first + blocks));
    }
    set.ranges().map(|(from, to)| (from as u32, (to - from) as u32)).collect()
}
