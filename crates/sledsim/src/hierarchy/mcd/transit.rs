//! Transitions: a slot gets another segment, or a segment the blocks that it lacks.

use super::access::Piece;
use super::header;
use super::nonvolatile::Entry;
use super::table::{AT_REST, NO_ENTRY};
use super::{Job, Mcd};
use crate::engine::{Completion, Context, Payload, Status};
use crate::request::Op;

/// Headers on their way to MEMS at once.
const MOST_HEADER_WRITES: u32 = 4;

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
#[derive(Debug)]
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
    pub left: u32,
    /// What one of them came back with that was not served.
    pub failed: Option<Status>,
    /// A write of the whole segment, that is being placed.
    pub writer: Option<Piece>,
    /// Pieces that wait for it to end or, with shortcut, for the disk.
    pub waiters: Vec<Piece>,
}

impl Mcd {
    /// A transition of a slot begins; there is a claim on its entry in the journal already.
    pub(super) fn begin_transit(&mut self, slot: u32, segment: u64, fresh: bool) -> u64 {
        let id = self.transits.issue(Transit {
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
        self.table.set_transit(slot, id);
        id
    }

    /// Finds a slot for the segment of a piece; gives the piece back if there is none yet.
    pub(super) fn miss(&mut self, mut piece: Piece, context: &mut Context<'_>) -> Result<(), Piece> {
        // Whose slot it will be is not known before, nor whether the journal has an entry for it.
        if self.journal.is_full() {
            return Err(piece);
        }
        let table = &self.table;
        let Some(admission) = self.policy.admit(piece.segment, &mut |slot| table.is_quiet(slot)) else {
            return Err(piece);
        };
        self.note_miss(&mut piece);
        let (slot, segment) = (admission.slot, piece.segment);
        if let Some(units) = &mut self.units {
            if let Some(old) = admission.evicted {
                units.leave(slot, old);
            }
            units.ask(slot, piece.offset, piece.blocks);
        }
        let header = admission.evicted.and_then(|old| self.header(slot, old, context));
        self.claim(slot, header);
        let id = self.begin_transit(slot, segment, true);
        if let Some(transit) = self.transits.get_mut(id) {
            transit.waiters.push(piece);
        }
        let dirty = self.table.slot(slot).dirty;
        self.statistics.evictions += u64::from(admission.evicted.is_some());
        match admission.evicted {
            Some(old) if dirty => {
                self.statistics.dirty_evictions += 1;
                self.set_phase(id, Phase::Evicting);
                self.evict(old, slot, id, context);
            }
            // The header of a free slot may be on its way to MEMS.
            _ if self.table.slot(slot).writes == 0 => self.vacated(id, context),
            _ => {}
        }
        Ok(())
    }

    pub(super) fn set_phase(&mut self, id: u64, phase: Phase) {
        if let Some(transit) = self.transits.get_mut(id) {
            transit.phase = phase;
        }
    }

    /// A slot is free for its new segment.
    pub(super) fn vacated(&mut self, id: u64, context: &mut Context<'_>) {
        let Some(transit) = self.transits.get_mut(id) else { return };
        let (slot, segment) = (transit.slot, transit.segment);
        self.table.clear(slot);
        self.table.set_dirty(slot, false);
        self.journal.set(self.table.slot(slot).entry, None);
        let blocks = self.layout.blocks(segment);
        let first = transit.waiters.first();
        match first.map(|piece| (piece.op, piece.blocks == blocks)) {
            Some((Op::Write, true)) => self.place_written(id, context),
            Some((op, false)) if self.comes_in_parts(op, segment) => {
                self.unclaim(slot);
                self.end_transit(id, context);
            }
            _ => self.fill(id, context),
        }
    }

    /// Whether a slot is taken for a segment before anything of it is there.
    fn comes_in_parts(&self, op: Op, segment: u64) -> bool {
        match op {
            Op::Write => self.spec.partial_write,
            Op::Read => self.units.as_ref().is_some_and(|units| units.is_part(segment)),
        }
    }

    /// Writes a whole segment to MEMS as it came.
    fn place_written(&mut self, id: u64, context: &mut Context<'_>) {
        let Some(transit) = self.transits.get_mut(id) else { return };
        let piece = transit.waiters.remove(0);
        let (slot, segment, data) = (transit.slot, transit.segment, piece.data.clone());
        (transit.phase, transit.left, transit.writer) = (Phase::Placing, 1, Some(piece));
        self.place_whole(id, slot, segment, &data, context);
    }

    /// A segment, or part of it, is on MEMS.
    pub(super) fn placed(&mut self, id: u64, completion: &Completion, context: &mut Context<'_>) {
        let Some(transit) = self.transits.get_mut(id) else { return };
        transit.left -= 1;
        if !completion.served() {
            transit.failed = Some(completion.status);
        }
        if transit.left > 0 {
            return;
        }
        if let Some(status) = transit.failed {
            self.not_placed(id, status, completion, context);
            return;
        }
        let (slot, fresh, (from, to)) = (transit.slot, transit.fresh, transit.window);
        let (held, writer) = (transit.held.take(), transit.writer.take());
        self.table.fill(slot, from, to - from);
        if fresh {
            // MEMS has the header now.
            self.journal.drop(self.table.set_entry(slot, NO_ENTRY));
        } else {
            self.journalise(slot, context);
            self.unclaim(slot);
        }
        if let Some(held) = held {
            if !self.buffer.held(held).runs.is_empty() {
                self.table.set_dirty(slot, true);
            }
            self.buffer.release(held);
        }
        if let Some(piece) = writer {
            self.table.set_dirty(slot, true);
            self.part(piece.whole, completion, context);
        }
        self.end_transit(id, context);
        self.flush_on(context);
    }

    /// MEMS did not take a segment. What was acknowledged of it goes to the disk.
    fn not_placed(&mut self, id: u64, status: Status, completion: &Completion, context: &mut Context<'_>) {
        let Some(transit) = self.transits.get_mut(id) else { return };
        let (segment, held, writer) = (transit.segment, transit.held.take(), transit.writer.take());
        if let Some(piece) = writer {
            self.part(piece.whole, completion, context);
        }
        if let Some(held) = held {
            if self.buffer.held(held).runs.is_empty() {
                self.buffer.release(held);
            } else {
                self.owe(segment, held);
            }
        }
        self.give_up(id, status, context);
    }

    /// A transition fails: pieces that wait for it do, too, or go to the disk one by one where it is just some block that can't
    /// be read; and a new segment gives its slot back.
    pub(super) fn give_up(&mut self, id: u64, status: Status, context: &mut Context<'_>) {
        let Some(transit) = self.transits.settle(id) else { return };
        self.table.set_transit(transit.slot, AT_REST);
        self.unclaim(transit.slot);
        if transit.fresh {
            self.policy.remove(transit.segment);
        }
        let mut hopeful = Vec::new();
        for piece in transit.waiters {
            match (piece.op, status) {
                // Writes can do without what an old segment still lacks.
                (Op::Write, _) if !transit.fresh => hopeful.push(piece),
                // Each of them may be for blocks that can be read.
                (_, Status::Unreadable) if self.leaving.contains_key(&piece.segment) => hopeful.push(piece),
                (_, Status::Unreadable) => self.detour(piece, context),
                _ => self.finish_part(&piece, status, context),
            }
        }
        self.reroute(hopeful, context);
    }

    /// A transition is over: pieces that waited for it go on.
    pub(super) fn end_transit(&mut self, id: u64, context: &mut Context<'_>) {
        let Some(transit) = self.transits.settle(id) else { return };
        self.table.set_transit(transit.slot, AT_REST);
        self.reroute(transit.waiters, context);
    }

    /// Pieces that waited go on.
    pub(super) fn reroute(&mut self, pieces: Vec<Piece>, context: &mut Context<'_>) {
        for piece in pieces {
            if let Err(piece) = self.route(piece, context) {
                self.stalled.push_back(piece);
            }
        }
    }

    /// Headers go from the journal to MEMS while it is crowded.
    pub(super) fn write_headers(&mut self, context: &mut Context<'_>) {
        while self.journal.is_crowded() && self.header_writes < MOST_HEADER_WRITES {
            let table = &self.table;
            let may_go = |entry: &Entry| {
                let slot = table.slot(entry.slot);
                slot.writes == 0 && slot.transit == AT_REST
            };
            let Some(index) = self.journal.next(may_go) else { return };
            let Some(entry) = self.journal.entry_mut(index) else { return };
            let (slot, lbn) = (entry.slot, self.layout.header_lbn(entry.frame));
            let data = match context.checks_data() {
                true => header::block(entry.header.as_ref(), self.layout.block_bytes),
                false => Payload::NONE,
            };
            self.table.write_header(slot, false);
            self.header_writes += 1;
            self.statistics.header_writes += 1;
            self.send(self.mems, Job::Header { slot }, Op::Write, (lbn, 1), data, context);
        }
    }

    /// MEMS has a header.
    pub(super) fn header_written(&mut self, slot: u32, context: &mut Context<'_>) {
        self.header_writes -= 1;
        if self.mems_failed {
            return;
        }
        self.table.write_header(slot, true);
        if self.journal.is_settled(self.table.slot(slot).entry) {
            self.journal.drop(self.table.set_entry(slot, NO_ENTRY));
        }
        self.drained(slot, context);
    }
}
