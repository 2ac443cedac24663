//! The way of a request: it is cut into pieces, and each goes to MEMS, to the buffer, to the disk, or waits for one of them.

use super::children::Job;
use super::requests::Piece;
use super::statistics::{BYPASS, MISS, WRITE_PARTIAL};
use super::table::AT_REST;
use super::transit::Phase;
use super::CachingDisk;
use crate::convert::to_u32;
use crate::engine::{Context, Payload, Status};
use crate::hierarchy::cache::replacement::Admission;
use crate::request::{Op, Request};

impl CachingDisk {
    /// Sends a request from above on its way.
    pub(super) fn accept(&mut self, request: &Request, payload: &Payload, context: &mut Context<'_>) {
        let (first, last) = (self.layout.segment(request.lbn), self.layout.segment(request.end_lbn() - 1));
        let bypasses = self.streams.as_mut().is_some_and(|streams| streams.follow(request));
        if first < last || !self.hit_whole(request, first, payload, context) {
            self.cut(request, payload, bypasses, context);
        }
        if self.flush.hear(context.now()) {
            self.flush_on(context);
        }
        self.journal.write(&mut self.table, &mut self.children, context);
        self.destager.write_deferred(&self.buffer, &mut self.children, context);
    }

    /// Sends a request for blocks of one segment to MEMS if they are all there and nothing is going on with it; says whether
    /// it did. This is what [`CachingDisk::route`] does with its only piece.
    #[inline]
    fn hit_whole(&mut self, request: &Request, segment: u64, payload: &Payload, context: &mut Context<'_>) -> bool {
        let Some(slot) = self.table.find(segment) else { return false };
        let offset = to_u32(request.lbn - self.layout.disk_lbn(segment));
        if self.table.slot(slot).transit != AT_REST || !self.table.holds(slot, offset, request.blocks) {
            return false;
        }
        self.table.hit(slot);
        self.table.ask(slot, offset, request.blocks);
        self.table.begin(slot, request.op);
        self.requests.met.hits[request.op as usize] += 1;
        let job = Job::Hit { request: *request, slot, data: payload.clone() };
        let lbn = self.table.lbn(slot, offset);
        self.children.pass(job, Request { lbn, ..*request }, payload.clone(), context);
        true
    }

    /// Cuts a request at the borders of segments and sends its pieces on their ways. Those that go to the disk directly stay
    /// together.
    fn cut(&mut self, request: &Request, payload: &Payload, bypasses: bool, context: &mut Context<'_>) {
        let (size, block_bytes) = (u64::from(self.layout.segment_blocks), self.layout.block_bytes);
        let (segment, last) = (self.layout.segment(request.lbn), self.layout.segment(request.end_lbn() - 1));
        let whole = self.requests.begin(request, to_u32(last - segment) + 1);
        let mut together: Option<Piece> = None;
        for segment in segment..=last {
            let (from, to) = (request.lbn.max(segment * size), request.end_lbn().min((segment + 1) * size));
            let mut piece = Piece::of(whole, segment, request, (from, to), segment * size);
            if (bypasses || self.losses.mems_failed) && self.is_absent(segment) {
                match &mut together {
                    Some(open) => {
                        open.blocks += piece.blocks;
                        self.requests.join(whole);
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

    /// Whether neither MEMS nor the buffer has anything of a segment, and nothing is under way that will bring it there.
    fn is_absent(&self, segment: u64) -> bool {
        self.table.find(segment).is_none() && self.destager.find(segment).is_none()
    }

    /// Sends a piece of a request that writes `payload`, perhaps of several segments, to the disk directly.
    fn pass_by(&mut self, mut piece: Piece, payload: &Payload, bypasses: bool, context: &mut Context<'_>) {
        piece.data = payload.slice(u64::from(piece.first), u64::from(piece.blocks), self.layout.block_bytes);
        if bypasses {
            self.statistics.bypasses += 1;
            self.statistics.bypassed_blocks += u64::from(piece.blocks);
            self.requests.takes(piece.whole, BYPASS[piece.op as usize]);
            self.direct(piece, context);
        } else {
            self.detour(piece, context);
        }
    }

    /// A piece that can't go through MEMS goes to the disk.
    pub(super) fn detour(&mut self, mut piece: Piece, context: &mut Context<'_>) {
        self.statistics.detours += 1;
        self.requests.miss(&mut piece);
        self.direct(piece, context);
    }

    /// A piece goes to the disk; a read of what is lost fails.
    fn direct(&mut self, piece: Piece, context: &mut Context<'_>) {
        if piece.op == Op::Read && self.is_lost(&piece) {
            self.requests.finish(&piece, Status::Unreadable, context);
        } else {
            self.direct.send(piece, &mut self.children, context);
        }
    }

    /// Whether blocks that a piece asks for are lost.
    fn is_lost(&self, piece: &Piece) -> bool {
        let from = self.layout.disk_lbn(piece.segment) + u64::from(piece.offset);
        self.losses.touches(from, from + u64::from(piece.blocks))
    }

    /// Pieces that waited go on.
    pub(super) fn reroute(&mut self, pieces: Vec<Piece>, context: &mut Context<'_>) {
        for piece in pieces {
            if let Err(piece) = self.route(piece, context) {
                self.stalled.push_back(piece);
            }
        }
    }

    /// Sends a piece on its way; gives it back if there is no room for its segment.
    pub(super) fn route(&mut self, piece: Piece, context: &mut Context<'_>) -> Result<(), Piece> {
        let whole = self.requests.request(piece.whole);
        self.table.at(context.now(), Some(whole.id));
        let routed = match self.table.find(piece.segment) {
            Some(slot) => self.route_present(slot, piece, context),
            None => self.route_absent(piece, context),
        };
        self.halts(Some(&whole), context);
        routed
    }

    /// Sends a piece of a segment with a slot on its way.
    fn route_present(&mut self, slot: u32, mut piece: Piece, context: &mut Context<'_>) -> Result<(), Piece> {
        if self.requests.hit(&mut piece) {
            self.table.hit(slot);
        }
        self.table.ask(slot, piece.offset, piece.blocks);
        match (piece.op, self.table.slot(slot).transit) {
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
    fn route_absent(&mut self, piece: Piece, context: &mut Context<'_>) -> Result<(), Piece> {
        if let Some(destage) = self.destager.find(piece.segment) {
            self.join_leaving(destage, piece, context);
            return Ok(());
        }
        if self.losses.bars(piece.segment) {
            self.detour(piece, context);
            return Ok(());
        }
        match self.direct.join(piece) {
            Ok(()) => Ok(()),
            Err(piece) => self.miss(piece, context),
        }
    }

    /// A piece of a segment that the disk does not have yet, and MEMS no more.
    fn join_leaving(&mut self, destage: u64, piece: Piece, context: &mut Context<'_>) {
        if piece.op == Op::Read && self.is_lost(&piece) {
            // The buffer has an older one.
            self.requests.finish(&piece, Status::Unreadable, context);
        } else if let Some((held, piece)) = self.destager.join(destage, piece, &self.buffer, self.shortcut) {
            self.answer(held, &piece, context);
        }
    }

    /// The buffer serves a piece that need not wait for it.
    fn answer(&mut self, held: u32, piece: &Piece, context: &mut Context<'_>) {
        let data = self.buffer.read(held, piece.offset, piece.blocks);
        self.requests.answer(piece, &data, None, context);
    }

    /// Writes a part of a segment whose other blocks stay as they are, valid or not.
    fn write_part(&mut self, slot: u32, piece: Piece, context: &mut Context<'_>) -> Result<(), Piece> {
        let header = self.table.header(slot, piece.segment, context);
        if !self.journal.claim(slot, header, &mut self.table) {
            return Err(piece);
        }
        self.statistics.partial_writes += 1;
        self.requests.takes(piece.whole, WRITE_PARTIAL);
        self.access(slot, piece, true, context);
        Ok(())
    }

    /// Reads what is valid, and lets the rest wait for the disk.
    fn read_parts(&mut self, slot: u32, piece: Piece, context: &mut Context<'_>) -> Result<(), Piece> {
        let header = self.table.header(slot, piece.segment, context);
        if !self.journal.claim(slot, header, &mut self.table) {
            return Err(piece);
        }
        self.requests.takes(piece.whole, MISS[piece.op as usize]);
        let transit = self.transits.begin(slot, piece.segment, false, &mut self.table);
        self.join(transit, piece, context);
        if self.table.slot(slot).writes == 0 {
            self.fill(transit, context);
        }
        Ok(())
    }

    /// A MEMS access of a piece; a write may make its blocks valid, and has a claim on the journal then.
    fn access(&mut self, slot: u32, piece: Piece, validates: bool, context: &mut Context<'_>) {
        self.table.begin(slot, piece.op);
        let request = piece.request(self.table.lbn(slot, piece.offset), context);
        let data = piece.data.clone();
        self.children.pass(Job::Access { piece, slot, validates }, request, data, context);
    }

    /// A piece of a segment that is in transition.
    fn join(&mut self, id: u64, piece: Piece, context: &mut Context<'_>) {
        let transit = self.transits.at(id);
        let (slot, window) = (transit.slot, transit.window);
        let in_buffer = transit.held.filter(|_| self.shortcut && transit.phase == Phase::Placing);
        if piece.op == Op::Write || (transit.fresh && in_buffer.is_none()) {
            transit.waiters.push(piece);
            return;
        }
        let mut at = 0;
        let mut parts = Vec::new();
        while at < piece.blocks {
            let (valid, blocks) = match transit.fresh {
                true => (false, piece.blocks),
                false => self.table.run(slot, piece.offset + at, piece.offset + piece.blocks),
            };
            parts.push((valid, piece.part(at, blocks)));
            at += blocks;
        }
        self.requests.cut(piece.whole, parts.len());
        for (valid, part) in parts {
            match in_buffer {
                _ if valid => self.access(slot, part, false, context),
                Some(held) if part.is_within(window) => self.answer(held, &part, context),
                _ => self.transits.at(id).waiters.push(part),
            }
        }
    }

    /// Finds a slot for the segment of a piece; gives the piece back if there is none yet.
    fn miss(&mut self, mut piece: Piece, context: &mut Context<'_>) -> Result<(), Piece> {
        if !piece.wanted && !self.table.admits(piece.segment) {
            self.statistics.bypasses += 1;
            self.statistics.bypassed_blocks += u64::from(piece.blocks);
            self.requests.takes(piece.whole, BYPASS[piece.op as usize]);
            self.direct(piece, context);
            return Ok(());
        }
        piece.wanted = true;
        // Whose slot it will be is not known before, nor whether the journal has an entry for it.
        if self.journal.is_full() {
            return Err(piece);
        }
        let Some(Admission { slot, evicted }) = self.table.admit(&piece) else { return Err(piece) };
        self.requests.miss(&mut piece);
        let header = evicted.and_then(|old| self.table.header(slot, old, context));
        let has_entry = self.journal.claim(slot, header, &mut self.table);
        debug_assert!(has_entry, "the journal is not full");
        let id = self.transits.begin(slot, piece.segment, true, &mut self.table);
        self.transits.at(id).waiters.push(piece);
        self.statistics.evictions += u64::from(evicted.is_some());
        match evicted {
            Some(old) if self.table.slot(slot).dirty => {
                self.statistics.dirty_evictions += 1;
                self.transits.at(id).phase = Phase::Evicting;
                let destage = self.destager.begin(old, slot, Some(id), &self.table);
                self.fetch(destage, context);
            }
            // The header of a free slot may be on its way to MEMS.
            _ if self.table.slot(slot).writes == 0 => self.vacated(id, context),
            _ => {}
        }
        Ok(())
    }
}
