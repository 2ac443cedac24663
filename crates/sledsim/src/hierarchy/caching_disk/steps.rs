//! What follows when a child has done something: a transition or a destage goes on, and pieces that waited for it.

use super::destage::{Destage, Step};
use super::requests::Piece;
use super::table::{Slot, AT_REST};
use super::transit::Phase;
use super::CachingDisk;
use crate::convert::to_u32;
use crate::engine::{Completion, Context, Payload, Status};
use crate::request::{Op, Request};

impl CachingDisk {
    /// MEMS is done with the only piece of a request, which was in a slot and wrote data.
    pub(super) fn hit_done(
        &mut self,
        request: Request,
        (slot, data): (u32, Payload),
        completion: &Completion,
        answer: Payload,
        context: &mut Context<'_>,
    ) {
        if !self.losses.mems_failed {
            self.table.end(slot, request.op);
        }
        // What was written to a MEMS device that has failed is not there.
        if completion.is_served() && !(self.losses.mems_failed && request.op == Op::Write) {
            self.requests.served(request, completion, answer, context);
        } else {
            self.rescue_whole(&request, slot, data, completion, context);
        }
        self.access_over(slot, request.op, context);
    }

    /// A MEMS access of a piece in a slot is done; a write may have made its blocks valid.
    pub(super) fn accessed(
        &mut self,
        piece: Piece,
        (slot, validates): (u32, bool),
        completion: &Completion,
        answer: &Payload,
        context: &mut Context<'_>,
    ) {
        let Piece { whole, first, offset, blocks, op, .. } = piece;
        let mut left = Some(piece);
        if self.losses.mems_failed {
            if op == Op::Write || !completion.is_served() {
                self.reroute(left.take().into_iter().collect(), context);
            }
        } else {
            self.table.end(slot, op);
            if validates {
                if completion.is_served() {
                    self.table.fill(slot, offset, blocks);
                    self.journalise(slot, context);
                }
                self.journal.unclaim(self.table.slot(slot));
            }
            if !completion.is_served() {
                left = left.and_then(|piece| self.rescue(piece, slot, completion.status, context).err());
            }
        }
        if left.is_some() {
            self.requests.bring(whole, first, answer);
            self.requests.part(whole, completion, context);
        }
        self.access_over(slot, op, context);
    }

    /// What may follow an access of MEMS for a request from above.
    fn access_over(&mut self, slot: u32, op: Op, context: &mut Context<'_>) {
        if self.losses.mems_failed {
            return;
        }
        self.drained(slot, context);
        if op == Op::Write {
            self.flush_on(context);
        }
    }

    /// The journal says what the table says of a slot in use.
    fn journalise(&mut self, slot: u32, context: &Context<'_>) {
        let header = self.table.header(slot, self.table.segment(slot), context);
        self.journal.set(self.table.slot(slot), header);
    }

    /// The disk has served a piece, or could not.
    pub(super) fn direct_done(
        &mut self,
        (whole, first): (u64, u32),
        completion: &Completion,
        answer: &Payload,
        context: &mut Context<'_>,
    ) {
        let request = &completion.request;
        if request.op == Op::Write && completion.is_served() {
            self.losses.find(request.lbn, request.end_lbn());
        }
        let freed = self.direct.done(completion);
        self.requests.bring(whole, first, answer);
        self.requests.part(whole, completion, context);
        self.reroute(freed, context);
    }

    /// MEMS has a header.
    pub(super) fn header_written(&mut self, slot: u32, context: &mut Context<'_>) {
        self.journal.written(slot, &mut self.table);
        self.drained(slot, context);
    }

    /// Goes on with a transition that waited for writes of MEMS, if there are none any more.
    fn drained(&mut self, slot: u32, context: &mut Context<'_>) {
        let &Slot { transit: id, writes, .. } = self.table.slot(slot);
        if id == AT_REST || writes > 0 || self.transits.at(id).phase != Phase::Draining {
            return;
        }
        if self.transits.at(id).fresh {
            self.vacated(id, context);
        } else {
            // Those writes may have made valid what reads wait for.
            self.journal.unclaim(self.table.slot(slot));
            self.end_transit(id, context);
        }
    }

    /// A slot is free for its new segment.
    pub(super) fn vacated(&mut self, id: u64, context: &mut Context<'_>) {
        if self.losses.mems_failed {
            // All transitions ended then; it was the destage of the old segment that went on.
            return;
        }
        let transit = self.transits.at(id);
        let (slot, segment, blocks) = (transit.slot, transit.segment, self.layout.blocks(transit.segment));
        let first = transit.waiters.first().expect("a segment gets a slot for the sake of a piece");
        let (op, is_all) = (first.op, first.blocks == blocks);
        self.table.clear(slot);
        self.journal.set(self.table.slot(slot), None);
        if is_all && op == Op::Write {
            self.transits.place_written(id, &self.table, &mut self.children, context);
        } else if !is_all && self.table.comes_in_parts(op, segment) {
            self.journal.unclaim(self.table.slot(slot));
            self.end_transit(id, context);
        } else {
            self.fill(id, context);
        }
    }

    pub(super) fn fill(&mut self, id: u64, context: &mut Context<'_>) {
        self.transits.fill(id, &mut self.table, &mut self.buffer, &mut self.children, context);
    }

    /// The buffer has what the disk had of a segment.
    pub(super) fn filled(&mut self, id: u64, completion: &Completion, answer: &Payload, context: &mut Context<'_>) {
        let transit = self.transits.at(id);
        let held = transit.held();
        if !completion.is_served() {
            self.buffer.release(held);
            self.give_up(id, completion.status, context);
            return;
        }
        transit.phase = Phase::Placing;
        let first = completion.request.lbn - self.layout.disk_lbn(transit.segment);
        self.buffer.write(held, to_u32(first), answer);
        if self.shortcut {
            self.serve_waiters(id, held, completion, context);
        }
        self.transits.place(id, &self.table, &self.buffer, &mut self.children, context);
    }

    /// With shortcut, whoever waited for the disk is served from the buffer, in the order in which they came.
    fn serve_waiters(&mut self, id: u64, held: u32, completion: &Completion, context: &mut Context<'_>) {
        let transit = self.transits.at(id);
        // The disk's work is booked to the first.
        let mut first = Some(completion);
        for piece in std::mem::take(&mut transit.waiters) {
            // MEMS may have what a write to an old segment overwrites.
            if !piece.is_within(transit.window) || (piece.op == Op::Write && !transit.fresh) {
                transit.waiters.push(piece);
                continue;
            }
            if piece.op == Op::Write {
                self.buffer.held_mut(held).runs.push((piece.offset, piece.blocks));
                self.buffer.write(held, piece.offset, &piece.data);
            }
            let data = self.buffer.read(held, piece.offset, piece.blocks);
            self.requests.answer(&piece, &data, first.take(), context);
        }
    }

    /// A segment, or part of it, is on MEMS.
    pub(super) fn placed(&mut self, id: u64, completion: &Completion, context: &mut Context<'_>) {
        let Some(status) = self.transits.placed(id, completion) else {
            // The last of its writes goes on.
            return;
        };
        let transit = self.transits.at(id);
        let (slot, fresh, (from, to)) = (transit.slot, transit.fresh, transit.window);
        let (held, writer) = (transit.held.take(), transit.writer.take());
        if status != Status::Served {
            if let Some(piece) = writer {
                self.requests.part(piece.whole, completion, context);
            }
            if let Some(held) = held {
                self.destager.owe(held, &mut self.buffer);
            }
            self.give_up(id, status, context);
            return;
        }
        self.table.fill(slot, from, to - from);
        if fresh {
            // MEMS has the header now.
            self.journal.drop(slot, &mut self.table);
        } else {
            self.journalise(slot, context);
            self.journal.unclaim(self.table.slot(slot));
        }
        if let Some(held) = held {
            if !self.buffer.held(held).runs.is_empty() {
                self.table.set_dirty(slot, true);
            }
            self.buffer.release(held);
        }
        if let Some(piece) = writer {
            self.table.set_dirty(slot, true);
            self.requests.part(piece.whole, completion, context);
        }
        self.end_transit(id, context);
        self.flush_on(context);
    }

    /// A transition fails: pieces that wait for it do, too, or go to the disk one by one where it is just some block that can't
    /// be read; and a new segment gives its slot back.
    fn give_up(&mut self, id: u64, status: Status, context: &mut Context<'_>) {
        let transit = self.transits.end(id, &mut self.table);
        self.journal.unclaim(self.table.slot(transit.slot));
        if transit.fresh {
            let first = transit.waiters.first().map(|piece| self.requests.request(piece.whole));
            self.table.at(context.now(), first.map(|request| request.id));
            self.table.remove(transit.segment);
            self.halts(first.as_ref(), context);
        }
        let mut hopeful = Vec::new();
        for piece in transit.waiters {
            match (piece.op, status) {
                // Writes can do without what an old segment still lacks.
                (Op::Write, _) if !transit.fresh => hopeful.push(piece),
                // Each of them may be for blocks that can be read.
                (_, Status::Unreadable) if self.destager.find(piece.segment).is_some() => hopeful.push(piece),
                (_, Status::Unreadable) => self.detour(piece, context),
                _ => self.requests.finish(&piece, status, context),
            }
        }
        self.reroute(hopeful, context);
    }

    /// A transition is over: pieces that waited for it go on.
    fn end_transit(&mut self, id: u64, context: &mut Context<'_>) {
        let transit = self.transits.end(id, &mut self.table);
        self.reroute(transit.waiters, context);
    }

    /// Reads a changed segment from MEMS, when the buffer has room for it.
    pub(super) fn fetch(&mut self, id: u64, context: &mut Context<'_>) {
        let step = match self.losses.mems_failed {
            true => self.destager.lose(id),
            false => self.destager.fetch(id, &mut self.buffer, &mut self.children, context),
        };
        self.destage_on(id, step, context);
    }

    /// Goes on after a step of a destage.
    pub(super) fn destage_on(&mut self, id: u64, step: Step, context: &mut Context<'_>) {
        match step {
            Step::GoesOn => {}
            Step::Vacates(transit) => {
                self.statistics.immediate_frees += 1;
                self.vacated(transit, context);
            }
            Step::Ends => self.end_destage(id, context),
        }
    }

    /// The disk has a segment, or never will.
    fn end_destage(&mut self, id: u64, context: &mut Context<'_>) {
        let Destage { segment, stays_in, lost, transit, waiters, .. } = self.destager.end(id, &mut self.buffer);
        if let Some(slot) = stays_in {
            self.table.end(slot, Op::Read);
            if !lost.is_empty() {
                self.table.set_damaged(slot);
            }
            self.flush.under_way = None;
            self.flush_on(context);
            return;
        }
        for (first, blocks) in lost {
            self.losses.lose(segment, first, blocks);
        }
        if let Some(transit) = transit {
            self.vacated(transit, context);
        }
        self.reroute(waiters, context);
    }

    /// Begins to write a changed segment to the disk if that is due.
    pub(super) fn flush_on(&mut self, context: &mut Context<'_>) {
        if let Some(slot) = self.flush.due(&self.table, context) {
            self.statistics.flushes += 1;
            self.table.set_dirty(slot, false);
            self.table.begin(slot, Op::Read);
            let destage = self.destager.begin(self.table.segment(slot), slot, None, &self.table);
            self.flush.under_way = Some((slot, destage));
            self.fetch(destage, context);
        }
    }
}
