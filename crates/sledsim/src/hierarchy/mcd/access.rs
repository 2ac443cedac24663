//! Requests from above, cut into pieces: hits, and what becomes of misses.

use super::header::Header;
use super::statistics::{READ_BUFFER, READ_HIT, READ_MISS, WRITE_HIT, WRITE_MISS, WRITE_PARTIAL};
use super::table::{Slot, AT_REST};
use super::transit::{Phase, Transit};
use super::{Job, Mcd};
use crate::engine::{Completion, Context, Payload, Status};
use crate::hierarchy::parts::{passed_on, Gather};
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
    pub flags: Flags,
    pub origin: u32,
    pub spare: Spare,
    /// Whether the replacement policy has heard of it.
    pub noted: bool,
    /// What is written.
    pub data: Payload,
}

impl Whole {
    pub fn new(gather: Gather) -> Self {
        let path = if gather.whole.op == Op::Read { READ_HIT } else { WRITE_HIT };
        Self { gather, path }
    }
}

impl Piece {
    /// Blocks `from` to `to` of a request, in a segment that begins at block `start` of the disk; without what they write.
    pub fn of(whole: u64, segment: u64, request: &Request, (from, to): (u64, u64), start: u64) -> Self {
        let is_all = from == request.lbn && to == request.end_lbn();
        Self {
            whole,
            segment,
            first: (from - request.lbn) as u32,
            offset: (from - start) as u32,
            blocks: (to - from) as u32,
            op: request.op,
            flags: request.flags,
            origin: request.origin,
            spare: if is_all { request.spare } else { Spare::NONE },
            noted: false,
            data: Payload::NONE,
        }
    }

    /// Whether it asks for nothing but blocks of its segment from one to before another.
    pub const fn is_within(&self, (from, to): (u32, u32)) -> bool {
        from <= self.offset && self.offset + self.blocks <= to
    }

    /// `blocks` of it from block `from` on.
    pub fn part(&self, from: u32, blocks: u32) -> Self {
        Self { first: self.first + from, offset: self.offset + from, blocks, spare: Spare::NONE, ..self.clone() }
    }
}

impl Mcd {
    /// Sends a request from above on its way.
    pub(super) fn accept(&mut self, request: Request, payload: &Payload, context: &mut Context<'_>) {
        let size = u64::from(self.layout.segment_blocks);
        let (first, last) = (request.lbn / size, (request.end_lbn() - 1) / size);
        let bypasses = self.streams.as_mut().is_some_and(|streams| streams.follow(&request));
        if first < last || !self.hit_whole(&request, first, payload, context) {
            self.cut(&request, payload, bypasses, context);
        }
        self.busy(context);
        self.write_headers(context);
        self.write_deferred(context);
    }

    /// Cuts a request at the borders of segments and sends its pieces on their ways. Those that go to the disk directly stay
    /// together.
    fn cut(&mut self, request: &Request, payload: &Payload, bypasses: bool, context: &mut Context<'_>) {
        let (size, block_bytes) = (u64::from(self.layout.segment_blocks), self.layout.block_bytes);
        let (segment, last) = (request.lbn / size, (request.end_lbn() - 1) / size);
        let mut gather = Gather::new(*request);
        gather.expect((last - segment) as u32 + 1);
        let whole = self.wholes.issue(Whole::new(gather));
        let mut together: Option<Piece> = None;
        for segment in segment..=last {
            let (from, to) = (request.lbn.max(segment * size), request.end_lbn().min((segment + 1) * size));
            let mut piece = Piece::of(whole, segment, request, (from, to), segment * size);
            if (bypasses || self.mems_failed) && self.is_absent(segment) {
                match &mut together {
                    Some(open) => {
                        open.blocks += piece.blocks;
                        self.wholes.get_mut(whole).into_iter().for_each(|whole| whole.gather.expect_less());
                    }
                    None => together = Some(piece),
                }
                continue;
            }
            if let Some(open) = together.take() {
                self.pass_by(open, payload, bypasses, context);
            }
            piece.data = payload.slice(u64::from(piece.first), u64::from(piece.blocks), block_bytes);
            if let Err(piece) = self.route(piece, context) {
                self.statistics.slot_stalls += 1;
                self.stalled.push_back(piece);
            }
        }
        if let Some(open) = together {
            self.pass_by(open, payload, bypasses, context);
        }
    }

    /// Sends a piece of a request that writes `payload` to the disk directly.
    fn pass_by(&mut self, mut piece: Piece, payload: &Payload, bypasses: bool, context: &mut Context<'_>) {
        piece.data = payload.slice(u64::from(piece.first), u64::from(piece.blocks), self.layout.block_bytes);
        if bypasses {
            self.bypass(piece, context);
        } else {
            self.note_miss(&mut piece);
            self.detour(piece, context);
        }
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
        if let Some(units) = &mut self.units {
            units.ask(slot, offset, request.blocks);
        }
        self.table.begin(slot, request.op);
        let flags = if request.op == Op::Read {
            self.statistics.read_hits += 1;
            request.flags
        } else {
            self.statistics.write_hits += 1;
            request.flags.with(Flags::DURABLE)
        };
        let id = self.jobs.issue(Job::Hit { request: *request, slot, data: payload.clone() });
        let lbn = self.layout.header_lbn(self.table.slot(slot).frame) + 1 + u64::from(offset);
        let request = Request { id, arrival: context.now(), lbn, flags, ..*request };
        context.submit_with(self.mems, request, payload.clone());
        true
    }

    /// MEMS is done with the only piece of a request, which was in a slot and wrote data.
    pub(super) fn hit_done(
        &mut self,
        request: Request,
        (slot, data): (u32, Payload),
        completion: &Completion,
        answer: Payload,
        context: &mut Context<'_>,
    ) {
        if !self.mems_failed {
            self.table.end(slot, request.op);
        }
        // What was written to a MEMS device that has failed is not there.
        if completion.served() && !(self.mems_failed && request.op == Op::Write) {
            let now = context.now();
            let path = if request.op == Op::Read { READ_HIT } else { WRITE_HIT };
            self.statistics.paths[usize::from(path)].record(now - request.arrival);
            context.complete_with(&passed_on(request, completion, now), answer);
        } else {
            self.rescue_whole(request, slot, data, completion, context);
        }
        if !self.mems_failed {
            self.drained(slot, context);
            if request.op == Op::Write {
                self.flush_on(context);
            }
        }
    }

    /// Sends a piece on its way; gives it back if there is no room for its segment.
    pub(super) fn route(&mut self, mut piece: Piece, context: &mut Context<'_>) -> Result<(), Piece> {
        let Some(slot) = self.policy.find(piece.segment) else {
            return self.route_absent(piece, context);
        };
        if !piece.noted {
            piece.noted = true;
            self.policy.hit(slot);
            match piece.op {
                Op::Read => self.statistics.read_hits += 1,
                Op::Write => self.statistics.write_hits += 1,
            }
        }
        if let Some(units) = &mut self.units {
            units.ask(slot, piece.offset, piece.blocks);
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

    /// Sends a piece of a segment without a slot on its way.
    fn route_absent(&mut self, mut piece: Piece, context: &mut Context<'_>) -> Result<(), Piece> {
        if let Some(&destage) = self.leaving.get(&piece.segment) {
            self.join_leaving(destage, piece, context);
            return Ok(());
        }
        if self.must_go_direct(piece.segment) {
            self.note_miss(&mut piece);
            self.detour(piece, context);
            return Ok(());
        }
        match self.join_writing(piece) {
            Ok(()) => Ok(()),
            Err(piece) => self.miss(piece, context),
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
        let (held, fresh, window) = (transit.held, transit.fresh, transit.window);
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
                (false, Some(held)) if in_buffer && part.is_within(window) => self.answer(held, &part, None, context),
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
        let Piece { blocks, op, origin, spare, .. } = piece;
        let data = piece.data.clone();
        let id = self.jobs.issue(Job::Access { piece, slot, validates });
        let request = Request { id, arrival: context.now(), lbn, blocks, op, flags, origin, spare };
        context.submit_with(self.mems, request, data);
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
        if self.mems_failed {
            if op == Op::Write || !completion.served() {
                self.reroute(left.take().into_iter().collect(), context);
            }
        } else {
            self.table.end(slot, op);
            if validates {
                if completion.served() {
                    self.table.fill(slot, offset, blocks);
                    self.journalise(slot, context);
                }
                self.unclaim(slot);
            }
            if !completion.served() {
                left = left.and_then(|piece| self.rescue(piece, slot, completion.status, context).err());
            }
        }
        if left.is_some() {
            self.bring(whole, first, answer);
            self.part(whole, completion, context);
        }
        if !self.mems_failed {
            self.drained(slot, context);
            if op == Op::Write {
                self.flush_on(context);
            }
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

    pub(super) fn bring(&mut self, whole: u64, first: u32, data: &Payload) {
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
