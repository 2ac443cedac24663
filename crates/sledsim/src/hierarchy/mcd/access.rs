//! Requests from above, cut into pieces: hits, and what becomes of misses.

use super::header::Header;
use super::statistics::{READ_BUFFER, READ_HIT, READ_MISS, WRITE_HIT, WRITE_MISS, WRITE_PARTIAL};
use super::table::{Slot, AT_REST};
use super::transit::{Phase, Transit};
use super::{Job, Mcd};
use crate::engine::{Completion, Context, Payload, Status};
use crate::hierarchy::gather::{passed_on, Gather};
use crate::request::{Flags, Op, Request, Spare};
use crate::service::Service;

/// A request from above.
#[derive(Debug)]
pub(super) struct Whole {
    pub gather: Gather,
    /// The longest way that a piece took so far.
    path: u8,
}

/// What of a request lies in one segment, or a part of that.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub whole: u64,
    pub segment: u64,
    /// First of its blocks in the request.
    pub first: u32,
    /// First of its blocks in the segment.
    pub offset: u32,
    pub blocks: u32,
    pub op: Op,
    flags: Flags,
    origin: u32,
    spare: Spare,
    /// Whether the replacement policy has heard of it.
    noted: bool,
    /// What is written.
    pub data: Payload,
}

impl Piece {
    /// `blocks` of it from block `from` on.
    pub fn part(&self, from: u32, blocks: u32) -> Self {
        Self { first: self.first + from, offset: self.offset + from, blocks, spare: Spare::NONE, ..self.clone() }
    }
}

impl Mcd {
    /// Cuts a request at the borders of segments and sends its pieces on their ways.
    pub(super) fn accept(&mut self, request: Request, payload: &Payload, context: &mut Context<'_>) {
        let (size, block_bytes) = (u64::from(self.layout.segment_blocks), self.layout.block_bytes);
        let (segment, last) = (request.lbn / size, (request.end_lbn() - 1) / size);
        let is_one = segment == last;
        if is_one && self.hit_whole(&request, segment, payload, context) {
            self.busy(context);
            self.write_headers(context);
            self.write_deferred(context);
            return;
        }
        let mut gather = Gather::new(request);
        gather.expect((last - segment) as u32 + 1);
        let path = if request.op == Op::Read { READ_HIT } else { WRITE_HIT };
        let whole = self.wholes.issue(Whole { gather, path });
        let mut lbn = request.lbn;
        for segment in segment..=last {
            let end = request.end_lbn().min((segment + 1) * size);
            let (first, blocks) = (lbn - request.lbn, (end - lbn) as u32);
            let data = if is_one { payload.clone() } else { payload.slice(first, u64::from(blocks), block_bytes) };
            let piece = Piece {
                whole,
                segment,
                first: first as u32,
                offset: (lbn - segment * size) as u32,
                blocks,
                op: request.op,
                flags: request.flags,
                origin: request.origin,
                spare: if is_one { request.spare } else { Spare::NONE },
                noted: false,
                data,
            };
            lbn = end;
            if let Err(piece) = self.route(piece, context) {
                self.statistics.slot_stalls += 1;
                self.stalled.push_back(piece);
            }
        }
        self.busy(context);
        self.write_headers(context);
        self.write_deferred(context);
    }

    /// Sends a request for blocks of one segment to MEMS if they are all there and nothing is going on with it; says whether
    /// it did. This is what [`Mcd::route`] does with its only piece.
    #[inline]
    fn hit_whole(&mut self, request: &Request, segment: u64, payload: &Payload, context: &mut Context<'_>) -> bool {
        let Some(slot) = self.policy.find(segment) else { return false };
        let offset = (request.lbn - self.layout.disk_lbn(segment)) as u32;
        if self.table.slot(slot).transit != AT_REST || !self.table.holds(slot, offset, request.blocks) {
            return false;
        }
        self.policy.hit(slot);
        self.table.begin(slot, request.op);
        let flags = if request.op == Op::Read {
            self.statistics.read_hits += 1;
            request.flags
        } else {
            self.statistics.write_hits += 1;
            request.flags.with(Flags::DURABLE)
        };
        let id = self.jobs.issue(Job::Hit { request: *request, slot });
        let lbn = self.layout.header_lbn(self.table.slot(slot).frame) + 1 + u64::from(offset);
        let request = Request { id, arrival: context.now(), lbn, flags, ..*request };
        context.submit_with(self.mems, request, payload.clone());
        true
    }

    /// MEMS has served the only piece of a request.
    pub(super) fn hit_done(
        &mut self,
        request: Request,
        slot: u32,
        completion: &Completion,
        answer: Payload,
        context: &mut Context<'_>,
    ) {
        let now = context.now();
        let path = if request.op == Op::Read { READ_HIT } else { WRITE_HIT };
        self.table.end(slot, request.op);
        self.statistics.paths[usize::from(path)].record(now - request.arrival);
        context.complete_with(&passed_on(request, completion, now), answer);
        self.drained(slot, context);
        if request.op == Op::Write {
            self.flush_on(context);
        }
    }

    /// Sends a piece on its way; gives it back if there is no room for its segment.
    pub(super) fn route(&mut self, mut piece: Piece, context: &mut Context<'_>) -> Result<(), Piece> {
        let Some(slot) = self.policy.find(piece.segment) else {
            if let Some(&destage) = self.leaving.get(&piece.segment) {
                self.join_leaving(destage, piece, context);
                return Ok(());
            }
            return self.miss(piece, context);
        };
        if !piece.noted {
            piece.noted = true;
            self.policy.hit(slot);
            match piece.op {
                Op::Read => self.statistics.read_hits += 1,
                Op::Write => self.statistics.write_hits += 1,
            }
        }
        let transit = self.table.slot(slot).transit;
        match (piece.op, transit) {
            (_, AT_REST) if self.table.holds(slot, piece.offset, piece.blocks) => {
                self.access(slot, piece, false, context);
                Ok(())
            }
            (Op::Write, AT_REST) => self.write_part(slot, piece, context),
            (Op::Read, AT_REST) => self.read_parts(slot, piece, context),
            (_, transit) => {
                self.join(transit, piece, context);
                Ok(())
            }
        }
    }

    /// A miss that the policy has heard of.
    pub(super) fn note_miss(&mut self, piece: &mut Piece) {
        if !piece.noted {
            piece.noted = true;
            match piece.op {
                Op::Read => self.statistics.read_misses += 1,
                Op::Write => self.statistics.write_misses += 1,
            }
        }
        self.takes(piece.whole, if piece.op == Op::Read { READ_MISS } else { WRITE_MISS });
    }

    /// Makes sure of an entry in the journal for a slot that has this header now; false if there is no room.
    pub(super) fn claim(&mut self, slot: u32, header: Option<Header>) -> bool {
        let (entry, frame) = (self.table.slot(slot).entry, self.table.slot(slot).frame);
        if self.journal.claim(entry) {
            return true;
        }
        if self.journal.is_full() {
            return false;
        }
        self.table.set_entry(slot, self.journal.enter(frame, slot, header));
        true
    }

    /// What the header of a slot in use says, in a run that checks data.
    pub(super) fn header(&self, slot: u32, segment: u64, context: &Context<'_>) -> Option<Header> {
        let valid = || self.table.valid(slot, self.layout.blocks(segment));
        context.checks_data().then(|| Header { segment, valid: valid() })
    }

    /// Writes a part of a segment whose other blocks stay as they are, valid or not.
    fn write_part(&mut self, slot: u32, piece: Piece, context: &mut Context<'_>) -> Result<(), Piece> {
        let header = self.header(slot, piece.segment, context);
        if !self.claim(slot, header) {
            return Err(piece);
        }
        self.statistics.partial_writes += 1;
        self.takes(piece.whole, WRITE_PARTIAL);
        self.access(slot, piece, true, context);
        Ok(())
    }

    /// Reads what is valid, and lets the rest wait for the disk.
    fn read_parts(&mut self, slot: u32, piece: Piece, context: &mut Context<'_>) -> Result<(), Piece> {
        let header = self.header(slot, piece.segment, context);
        if !self.claim(slot, header) {
            return Err(piece);
        }
        self.takes(piece.whole, READ_MISS);
        let transit = self.begin_transit(slot, piece.segment, false);
        self.join(transit, piece, context);
        if self.table.slot(slot).writes == 0 {
            self.fill(transit, context);
        }
        Ok(())
    }

    /// A piece of a segment that is in transition.
    pub(super) fn join(&mut self, id: u64, piece: Piece, context: &mut Context<'_>) {
        let shortcut = self.spec.shortcut;
        let Some(transit) = self.transits.get_mut(id) else { return };
        let slot = transit.slot;
        let in_buffer = shortcut && transit.phase == Phase::Placing && transit.held.is_some();
        if piece.op == Op::Write || (transit.fresh && !in_buffer) {
            transit.waiters.push(piece);
            return;
        }
        let (held, fresh) = (transit.held, transit.fresh);
        let mut at = 0;
        let mut parts = Vec::new();
        while at < piece.blocks {
            let (valid, blocks) = match fresh {
                true => (false, piece.blocks),
                false => self.table.run(slot, piece.offset + at, piece.offset + piece.blocks),
            };
            parts.push((valid, piece.part(at, blocks)));
            at += blocks;
        }
        if let Some(whole) = self.wholes.get_mut(piece.whole) {
            whole.gather.expect(parts.len() as u32 - 1);
        }
        for (valid, part) in parts {
            match (valid, held) {
                (true, _) => self.access(slot, part, false, context),
                (false, Some(held)) if in_buffer => self.answer(held, &part, None, context),
                (false, _) => {
                    if let Some(transit) = self.transits.get_mut(id) {
                        transit.waiters.push(part);
                    }
                }
            }
        }
    }

    /// A MEMS access of a piece; a write may make its blocks valid, and has a claim on the journal then.
    pub(super) fn access(&mut self, slot: u32, piece: Piece, validates: bool, context: &mut Context<'_>) {
        let write = piece.op == Op::Write;
        let lbn = self.layout.header_lbn(self.table.slot(slot).frame) + 1 + u64::from(piece.offset);
        let flags = if write { piece.flags.with(Flags::DURABLE) } else { piece.flags };
        self.table.begin(slot, piece.op);
        let Piece { whole, first, offset, blocks, op, origin, spare, data, .. } = piece;
        let id = self.jobs.issue(Job::Access { whole, first, slot, offset, blocks, write, validates });
        let request = Request { id, arrival: context.now(), lbn, blocks, op, flags, origin, spare };
        context.submit_with(self.mems, request, data);
    }

    /// A MEMS access of a piece is done.
    pub(super) fn accessed(&mut self, job: Job, completion: &Completion, answer: &Payload, context: &mut Context<'_>) {
        let Job::Access { whole, first, slot, offset, blocks, write, validates } = job else { return };
        self.table.end(slot, if write { Op::Write } else { Op::Read });
        if validates {
            if completion.served() {
                self.table.fill(slot, offset, blocks);
                self.journalise(slot, context);
            }
            self.unclaim(slot);
        }
        self.bring(whole, first, answer);
        self.part(whole, completion, context);
        self.drained(slot, context);
        if write {
            self.flush_on(context);
        }
    }

    /// The journal says what the table says of a slot in use.
    pub(super) fn journalise(&mut self, slot: u32, context: &Context<'_>) {
        let header = self.header(slot, self.policy.key(slot), context);
        self.journal.set(self.table.slot(slot).entry, header);
    }

    /// Gives up a claim on the journal.
    pub(super) fn unclaim(&mut self, slot: u32) {
        self.journal.unclaim(self.table.slot(slot).entry);
    }

    /// Goes on with a transition that waited for writes of MEMS, if there are none any more.
    pub(super) fn drained(&mut self, slot: u32, context: &mut Context<'_>) {
        let &Slot { transit: id, writes, .. } = self.table.slot(slot);
        if id == AT_REST || writes > 0 {
            return;
        }
        if let Some(&mut Transit { phase: Phase::Draining, fresh, .. }) = self.transits.get_mut(id) {
            if fresh {
                self.vacated(id, context);
            } else {
                // Those writes may have made valid what reads wait for.
                self.unclaim(slot);
                self.end_transit(id, context);
            }
        }
    }

    /// Serves a piece from the buffer: `from` is what brought it there, if the piece waited for that.
    pub(super) fn answer(&mut self, held: u32, piece: &Piece, from: Option<&Completion>, context: &mut Context<'_>) {
        self.statistics.shortcut_answers += 1;
        let held = self.buffer.held(held);
        if piece.op == Op::Read && context.checks_data() {
            let size = self.layout.block_bytes as usize;
            let bytes = &held.bytes[piece.offset as usize * size..][..piece.blocks as usize * size];
            self.bring(piece.whole, piece.first, &Payload::of(bytes));
        }
        if piece.op == Op::Read {
            self.takes(piece.whole, READ_BUFFER);
        }
        match from {
            Some(completion) => self.part(piece.whole, completion, context),
            None => self.finish_part(piece, Status::Served, context),
        }
    }

    /// A piece is done now, with nothing having been done for it alone.
    pub(super) fn finish_part(&mut self, piece: &Piece, status: Status, context: &mut Context<'_>) {
        let now = context.now();
        let Some(whole) = self.wholes.get_mut(piece.whole) else { return };
        let service = Service { start: now, end: now, free: now, ..Service::default() };
        let completion = Completion { request: whole.gather.whole, service, status };
        self.part(piece.whole, &completion, context);
    }

    /// A request goes at least this way.
    pub(super) fn takes(&mut self, whole: u64, path: u8) {
        if let Some(whole) = self.wholes.get_mut(whole) {
            whole.path = whole.path.max(path);
        }
    }

    fn bring(&mut self, whole: u64, first: u32, data: &Payload) {
        if let (true, Some(whole)) = (data.is_some(), self.wholes.get_mut(whole)) {
            whole.gather.bring(u64::from(first), data, self.layout.block_bytes);
        }
    }

    /// A part of a request is done; with the last one the request is.
    pub(super) fn part(&mut self, id: u64, completion: &Completion, context: &mut Context<'_>) {
        let Some(whole) = self.wholes.get_mut(id) else { return };
        if !whole.gather.part(completion) {
            return;
        }
        let now = context.now();
        self.statistics.paths[usize::from(whole.path)].record(now - whole.gather.whole.arrival);
        let (completion, payload) = whole.gather.finish(now);
        context.complete_with(&completion, payload);
        self.wholes.forget(id);
    }
}
