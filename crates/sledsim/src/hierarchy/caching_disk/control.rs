//! The control flow of a caching disk: host requests are split into pieces, and fills and destages proceed from one part of the
//! caching disk to the next.

use super::buffer::Waiter;
use super::children::Job;
use super::destage::{Destage, DestageStep};
use super::fill::Phase;
use super::flush::FlushUnderWay;
use super::layout::Run;
use super::recovery::Recovery;
use super::requests::Piece;
use super::statistics::RequestPath;
use super::table::{SegmentRun, Slot, UniformRun, NO_FILL};
use super::{CachingDisk, MAX_CHECKED_SLOTS};
use crate::convert::to_u32;
use crate::engine::{Completion, Context, Payload, Status};
use crate::hierarchy::cache::replacement::{Admission, PolicyFailure};
use crate::hierarchy::common::BlockRange;
use crate::request::{Op, Request};

/// Host requests and their pieces.
impl CachingDisk {
    /// Begins a host request.
    pub(super) fn accept(&mut self, request: &Request, payload: &Payload, context: &mut Context<'_>) {
        let (first, last) = (self.layout.segment(request.lbn), self.layout.segment(request.end_lbn() - 1));
        let bypasses = self.streams.as_mut().is_some_and(|streams| streams.record(request));
        if first < last || !self.try_single_hit(request, first, payload, context) {
            self.split(request, payload, bypasses, context);
        }
        if self.flush.record_request(context.now()) {
            self.start_due_flush(context);
        }
        self.journal.write_headers(&mut self.table, &mut self.children, context);
        self.destager.write_deferred(&self.buffer, &mut self.children, context);
    }

    /// Sends a request for blocks of one segment to MEMS if all of them are valid and the segment is not being filled. Returns
    /// false otherwise. [`CachingDisk::route`] would do the same with its only piece, in more time.
    #[inline]
    fn try_single_hit(
        &mut self,
        request: &Request,
        segment: u64,
        payload: &Payload,
        context: &mut Context<'_>,
    ) -> bool {
        let Some(slot) = self.table.find(segment) else { return false };
        let run = Run::new(to_u32(request.lbn - self.layout.disk_lbn(segment)), request.blocks);
        if self.table.slot(slot).fill != NO_FILL || !self.table.is_valid(slot, run) {
            return false;
        }
        self.table.hit(slot);
        self.table.record_access(slot, run);
        self.table.begin_access(slot, request.op);
        self.requests.counts.hits[request.op as usize] += 1;
        let job = Job::Hit { request: *request, slot, data: payload.clone() };
        let lbn = self.table.lbn(slot, run.first);
        self.children.pass(job, Request { lbn, ..*request }, payload.clone(), context);
        true
    }

    /// Splits a request at the borders of segments and routes its pieces. Adjacent pieces that go to the disk directly stay
    /// together.
    fn split(&mut self, request: &Request, payload: &Payload, bypasses: bool, context: &mut Context<'_>) {
        let block_bytes = self.layout.block_bytes;
        let (first, last) = (self.layout.segment(request.lbn), self.layout.segment(request.end_lbn() - 1));
        let request_id = self.requests.begin(request, to_u32(last - first) + 1);
        let mut direct: Option<Piece> = None;
        for segment in first..=last {
            let (begin, end) = (self.layout.disk_lbn(segment), self.layout.disk_lbn(segment + 1));
            let range = BlockRange::new(request.lbn.max(begin), request.end_lbn().min(end));
            let mut piece = Piece::new(request_id, request, range, segment, begin);
            if (bypasses || self.failures.mems_failed) && self.is_absent(segment) {
                match &mut direct {
                    Some(open) => {
                        open.blocks += piece.blocks;
                        self.requests.merge_piece(request_id);
                    }
                    None => direct = Some(piece),
                }
                continue;
            }
            if let Some(open) = direct.take() {
                self.send_past_mems(open, payload, bypasses, context);
            }
            piece.data = payload.slice(u64::from(piece.first), u64::from(piece.blocks), block_bytes);
            if let Err(piece) = self.route(piece, context) {
                self.statistics.slot_stalls += 1;
                self.stalled.push_back(piece);
            }
        }
        if let Some(open) = direct {
            self.send_past_mems(open, payload, bypasses, context);
        }
    }

    /// Returns true if a segment has no slot and is not being destaged.
    fn is_absent(&self, segment: u64) -> bool {
        self.table.find(segment).is_none() && self.destager.find(segment).is_none()
    }

    /// Sends a piece of a request that writes `payload` to the disk directly. It may reach over several segments.
    fn send_past_mems(&mut self, mut piece: Piece, payload: &Payload, bypasses: bool, context: &mut Context<'_>) {
        piece.data = payload.slice(u64::from(piece.first), u64::from(piece.blocks), self.layout.block_bytes);
        if bypasses {
            self.bypass(piece, context);
        } else {
            self.detour(piece, context);
        }
    }

    /// Sends a piece to the disk whose segment is not to be cached.
    fn bypass(&mut self, piece: Piece, context: &mut Context<'_>) {
        self.statistics.bypasses += 1;
        self.statistics.bypassed_blocks += u64::from(piece.blocks);
        self.requests.set_path(piece.request_id, RequestPath::bypass(piece.op));
        self.send_direct(piece, context);
    }

    /// Sends a piece to the disk that MEMS cannot serve.
    fn detour(&mut self, mut piece: Piece, context: &mut Context<'_>) {
        self.statistics.detours += 1;
        self.requests.count_miss(&mut piece);
        self.send_direct(piece, context);
    }

    /// Sends a piece to the disk; a read of lost blocks fails.
    fn send_direct(&mut self, piece: Piece, context: &mut Context<'_>) {
        if piece.op == Op::Read && self.is_lost(&piece) {
            self.requests.complete_now(&piece, Status::Unreadable, context);
        } else {
            self.direct.send(piece, &mut self.children, context);
        }
    }

    /// Returns true if any block of a piece is lost.
    fn is_lost(&self, piece: &Piece) -> bool {
        self.failures.any_lost(self.layout.disk_range(piece.segment, piece.run()))
    }

    /// Routes pieces that have waited.
    fn reroute(&mut self, pieces: Vec<Piece>, context: &mut Context<'_>) {
        for piece in pieces {
            if let Err(piece) = self.route(piece, context) {
                self.stalled.push_back(piece);
            }
        }
    }

    /// Routes a piece; returns it if no slot or no journal entry is free for it.
    fn route(&mut self, piece: Piece, context: &mut Context<'_>) -> Result<(), Piece> {
        let request = self.requests.request(piece.request_id);
        self.table.set_context(context.now(), Some(request.id));
        let routed = match self.table.find(piece.segment) {
            Some(slot) => self.route_present(slot, piece, context),
            None => self.route_absent(piece, context),
        };
        self.stop_if_policy_failed(Some(&request), context);
        routed
    }

    /// Routes a piece of a segment with a slot.
    fn route_present(&mut self, slot: u32, mut piece: Piece, context: &mut Context<'_>) -> Result<(), Piece> {
        if self.requests.count_hit(&mut piece) {
            self.table.hit(slot);
        }
        self.table.record_access(slot, piece.run());
        match (piece.op, self.table.slot(slot).fill) {
            (_, NO_FILL) if self.table.is_valid(slot, piece.run()) => {
                self.access_mems(slot, piece, false, context);
                Ok(())
            }
            (Op::Write, NO_FILL) => self.write_partially(slot, piece, context),
            (Op::Read, NO_FILL) => self.fill_gaps(slot, piece, context),
            (_, fill) => {
                self.join_fill(fill, piece, context);
                Ok(())
            }
        }
    }

    /// Routes a piece of a segment without a slot.
    fn route_absent(&mut self, piece: Piece, context: &mut Context<'_>) -> Result<(), Piece> {
        if let Some(destage) = self.destager.find(piece.segment) {
            self.join_destage(destage, piece, context);
            return Ok(());
        }
        if self.failures.forbid_caching(piece.segment) {
            self.detour(piece, context);
            return Ok(());
        }
        match self.direct.wait_for_writes(piece) {
            Ok(()) => Ok(()),
            Err(piece) => self.miss(piece, context),
        }
    }

    /// Serves a piece of a segment that is being evicted from the buffer, or queues it until the disk has the segment.
    fn join_destage(&mut self, destage: u64, piece: Piece, context: &mut Context<'_>) {
        if piece.op == Op::Read && self.is_lost(&piece) {
            // The buffer may hold an older version.
            self.requests.complete_now(&piece, Status::Unreadable, context);
            return;
        }
        let buffered = self.destager.readable_in_buffer(destage, &piece, &self.buffer);
        match buffered.filter(|_| self.shortcut && piece.op == Op::Read) {
            Some(index) => self.serve_from_buffer(index, &piece, context),
            None => self.destager.wait(destage, piece),
        }
    }

    /// Serves a read from a segment in the buffer.
    fn serve_from_buffer(&mut self, index: u32, piece: &Piece, context: &mut Context<'_>) {
        let data = self.buffer.read(index, piece.run());
        self.requests.complete_from_buffer(piece, &data, None, context);
    }

    /// Writes blocks of a segment that is not valid as a whole.
    fn write_partially(&mut self, slot: u32, piece: Piece, context: &mut Context<'_>) -> Result<(), Piece> {
        let header = self.table.header(slot, piece.segment, context);
        if !self.journal.claim(slot, header, &mut self.table) {
            return Err(piece);
        }
        self.statistics.partial_writes += 1;
        self.requests.set_path(piece.request_id, RequestPath::WritePartial);
        self.access_mems(slot, piece, true, context);
        Ok(())
    }

    /// Reads the valid blocks of a piece, and begins a fill for the others.
    fn fill_gaps(&mut self, slot: u32, piece: Piece, context: &mut Context<'_>) -> Result<(), Piece> {
        let header = self.table.header(slot, piece.segment, context);
        if !self.journal.claim(slot, header, &mut self.table) {
            return Err(piece);
        }
        self.requests.set_path(piece.request_id, RequestPath::miss(piece.op));
        let fill = self.fills.begin(slot, piece.segment, false, &mut self.table);
        self.join_fill(fill, piece, context);
        if self.table.slot(slot).writes == 0 {
            self.read_fill(fill, context);
        }
        Ok(())
    }

    /// Sends a piece to MEMS. A write makes its blocks valid if `validates`, and has a claim on the journal entry then.
    fn access_mems(&mut self, slot: u32, piece: Piece, validates: bool, context: &mut Context<'_>) {
        self.table.begin_access(slot, piece.op);
        let request = piece.child_request(self.table.lbn(slot, piece.offset), context);
        let data = piece.data.clone();
        self.children.pass(Job::Access { piece, slot, validates }, request, data, context);
    }

    /// Serves or queues a piece of a segment that is being filled. A read is split: valid blocks are read from MEMS, blocks in the
    /// buffer from there with shortcut, and the rest waits.
    fn join_fill(&mut self, id: u64, piece: Piece, context: &mut Context<'_>) {
        let fill = self.fills.get_mut(id);
        let (slot, is_new_segment, filled) = (fill.slot, fill.is_new_segment, fill.run);
        let buffered = fill.readable_in_buffer().filter(|_| self.shortcut);
        if piece.op == Op::Write || (is_new_segment && buffered.is_none()) {
            fill.waiting.push(piece);
            return;
        }
        let mut at = 0;
        let mut parts = Vec::new();
        while at < piece.blocks {
            let UniformRun { is_valid, blocks } = match is_new_segment {
                true => UniformRun { is_valid: false, blocks: piece.blocks },
                false => self.table.uniform_run(slot, piece.offset + at, piece.offset + piece.blocks),
            };
            parts.push((is_valid, piece.part(at, blocks)));
            at += blocks;
        }
        self.requests.split_piece(piece.request_id, parts.len());
        for (is_valid, part) in parts {
            match buffered {
                _ if is_valid => self.access_mems(slot, part, false, context),
                Some(index) if filled.contains(part.run()) => self.serve_from_buffer(index, &part, context),
                _ => self.fills.get_mut(id).waiting.push(part),
            }
        }
    }

    /// Finds a slot for the segment of a piece and begins its fill; returns the piece if no slot or no journal entry is free.
    fn miss(&mut self, mut piece: Piece, context: &mut Context<'_>) -> Result<(), Piece> {
        if !piece.is_admitted && !self.table.admits(piece.segment) {
            self.bypass(piece, context);
            return Ok(());
        }
        piece.is_admitted = true;
        // The slot, and so its journal entry, is not known before the segment is admitted.
        if self.journal.is_full() {
            return Err(piece);
        }
        let Some(Admission { slot, evicted }) = self.table.admit(&piece) else { return Err(piece) };
        self.requests.count_miss(&mut piece);
        let header = evicted.and_then(|old| self.table.header(slot, old, context));
        let has_entry = self.journal.claim(slot, header, &mut self.table);
        debug_assert!(has_entry, "the journal is not full");
        let fill = self.fills.begin(slot, piece.segment, true, &mut self.table);
        self.fills.get_mut(fill).waiting.push(piece);
        self.statistics.evictions += u64::from(evicted.is_some());
        match evicted {
            Some(old) if self.table.slot(slot).dirty => {
                self.statistics.dirty_evictions += 1;
                self.fills.get_mut(fill).phase = Phase::Evicting;
                let destage = self.destager.begin(old, slot, Some(fill), &self.table);
                self.read_destage(destage, context);
            }
            // The header of the free slot may still be under way to MEMS.
            _ if self.table.slot(slot).writes == 0 => self.slot_freed(fill, context),
            _ => {}
        }
        Ok(())
    }

    /// Handles the end of the only MEMS access of a request, which wrote `data`.
    pub(super) fn hit_completed(
        &mut self,
        request: Request,
        slot: u32,
        data: Payload,
        completion: &Completion,
        answer: Payload,
        context: &mut Context<'_>,
    ) {
        if !self.failures.mems_failed {
            self.table.end_access(slot, request.op);
        }
        // Data that was written to a MEMS device that has failed since is lost.
        if completion.is_served() && !(self.failures.mems_failed && request.op == Op::Write) {
            self.requests.complete_hit(request, completion, answer, context);
        } else {
            let id = self.requests.begin(&request, 1);
            let segment = self.layout.segment(request.lbn);
            let range = BlockRange::new(request.lbn, request.end_lbn());
            let piece = Piece::new(id, &request, range, segment, self.layout.disk_lbn(segment));
            let piece = Piece { is_counted: true, data, ..piece };
            if self.retry_on_disk(piece, slot, completion.status, context).is_err() {
                self.requests.complete_piece(id, completion, context);
            }
        }
        self.access_ended(slot, request.op, context);
    }

    /// Handles the end of a MEMS access of a piece, whose blocks a write makes valid if `validates`.
    pub(super) fn access_completed(
        &mut self,
        piece: Piece,
        slot: u32,
        validates: bool,
        completion: &Completion,
        answer: &Payload,
        context: &mut Context<'_>,
    ) {
        let (request_id, first, op, run) = (piece.request_id, piece.first, piece.op, piece.run());
        let mut left = Some(piece);
        if self.failures.mems_failed {
            if op == Op::Write || !completion.is_served() {
                self.reroute(left.take().into_iter().collect(), context);
            }
        } else {
            self.table.end_access(slot, op);
            if validates {
                if completion.is_served() {
                    self.table.set_valid(slot, run);
                    self.update_journal(slot, context);
                }
                self.journal.release(self.table.slot(slot));
            }
            if !completion.is_served() {
                left = left.and_then(|piece| self.retry_on_disk(piece, slot, completion.status, context).err());
            }
        }
        if left.is_some() {
            self.requests.store_read(request_id, first, answer);
            self.requests.complete_piece(request_id, completion, context);
        }
        self.access_ended(slot, op, context);
    }

    /// Continues a fill or a flush that may have waited for the end of a MEMS access.
    fn access_ended(&mut self, slot: u32, op: Op, context: &mut Context<'_>) {
        if self.failures.mems_failed {
            return;
        }
        self.continue_drained_fill(slot, context);
        if op == Op::Write {
            self.start_due_flush(context);
        }
    }

    /// Routes a piece to the disk that MEMS has not served, if the disk has the same content; returns it otherwise.
    fn retry_on_disk(
        &mut self,
        piece: Piece,
        slot: u32,
        status: Status,
        context: &mut Context<'_>,
    ) -> Result<(), Piece> {
        if self.failures.mems_failed {
            self.reroute(vec![piece], context);
            return Ok(());
        }
        let is_flushed = self.flush.under_way.is_some_and(|flush| flush.slot == slot);
        let disk_is_current = !self.table.slot(slot).dirty && !is_flushed;
        if piece.op == Op::Read && status == Status::Unreadable && disk_is_current {
            self.detour(piece, context);
            return Ok(());
        }
        Err(piece)
    }

    /// Handles the end of a disk access of a request, from its block `first` on.
    pub(super) fn direct_completed(
        &mut self,
        request_id: u64,
        first: u32,
        completion: &Completion,
        answer: &Payload,
        context: &mut Context<'_>,
    ) {
        let request = &completion.request;
        if request.op == Op::Write && completion.is_served() {
            self.failures.restore(BlockRange::new(request.lbn, request.end_lbn()));
        }
        let released = self.direct.complete(completion);
        self.requests.store_read(request_id, first, answer);
        self.requests.complete_piece(request_id, completion, context);
        self.reroute(released, context);
    }

    /// Stops the run if a custom policy failed, and returns true if so. `request` is the one that the policy was called for.
    pub(super) fn stop_if_policy_failed(&self, request: Option<&Request>, context: &mut Context<'_>) -> bool {
        let Some(PolicyFailure { stop, key }) = self.table.policy_failure() else { return false };
        context.stop(stop.located_at_key(context.now(), "segment", *key, request));
        true
    }
}

/// Fills.
impl CachingDisk {
    /// Copies the header of a slot in use from the table to the journal.
    fn update_journal(&mut self, slot: u32, context: &Context<'_>) {
        let header = self.table.header(slot, self.table.segment(slot), context);
        self.journal.set(self.table.slot(slot), header);
    }

    /// Handles the end of the write of a slot's header.
    pub(super) fn header_written(&mut self, slot: u32, context: &mut Context<'_>) {
        self.journal.header_written(slot, &mut self.table);
        self.continue_drained_fill(slot, context);
    }

    /// Continues the fill of a slot that waits for writes of MEMS, if there are none left.
    fn continue_drained_fill(&mut self, slot: u32, context: &mut Context<'_>) {
        let &Slot { fill: id, writes, .. } = self.table.slot(slot);
        if id == NO_FILL || writes > 0 || self.fills.get(id).phase != Phase::Draining {
            return;
        }
        if self.fills.get(id).is_new_segment {
            self.slot_freed(id, context);
        } else {
            // The writes may have made blocks valid that reads wait for.
            self.journal.release(self.table.slot(slot));
            self.end_fill(id, context);
        }
    }

    /// Continues the fill of a new segment whose slot is free.
    fn slot_freed(&mut self, id: u64, context: &mut Context<'_>) {
        if self.failures.mems_failed {
            // The fill ended with the failure; only the destage of the old segment continued.
            return;
        }
        let fill = self.fills.get(id);
        let (slot, segment, blocks) = (fill.slot, fill.segment, self.layout.blocks(fill.segment));
        let first = fill.waiting.first().expect("the piece that needs the segment waits");
        let (op, is_all) = (first.op, first.blocks == blocks);
        self.table.clear_slot(slot);
        self.journal.set(self.table.slot(slot), None);
        if is_all && op == Op::Write {
            self.fills.write_mems_from_piece(id, &self.table, &mut self.children, context);
        } else if !is_all && self.table.fills_in_parts(op, segment) {
            self.journal.release(self.table.slot(slot));
            self.end_fill(id, context);
        } else {
            self.read_fill(id, context);
        }
    }

    /// Begins the disk read of a fill.
    fn read_fill(&mut self, id: u64, context: &mut Context<'_>) {
        self.fills.read_disk(id, &mut self.table, &mut self.buffer, &mut self.children, context);
    }

    /// Handles the end of the disk read of a fill.
    pub(super) fn fill_read(&mut self, id: u64, completion: &Completion, answer: &Payload, context: &mut Context<'_>) {
        let fill = self.fills.get_mut(id);
        let index = fill.buffered();
        if !completion.is_served() {
            self.buffer.release(index);
            self.fail_fill(id, completion.status, context);
            return;
        }
        fill.phase = Phase::Writing;
        let first = completion.request.lbn - self.layout.disk_lbn(fill.segment);
        self.buffer.write(index, to_u32(first), answer);
        if self.shortcut {
            self.serve_waiting_pieces(id, index, completion, context);
        }
        self.fills.write_mems(id, &self.table, &self.buffer, &mut self.children, context);
    }

    /// Serves pieces from the buffer that waited for the disk read of a fill, in the order of their arrival.
    fn serve_waiting_pieces(&mut self, id: u64, index: u32, completion: &Completion, context: &mut Context<'_>) {
        let fill = self.fills.get_mut(id);
        // The service of the disk read belongs to the first piece.
        let mut disk_read = Some(completion);
        for piece in std::mem::take(&mut fill.waiting) {
            // A write to an old segment waits: MEMS may hold newer blocks than the buffer.
            if !fill.run.contains(piece.run()) || (piece.op == Op::Write && !fill.is_new_segment) {
                fill.waiting.push(piece);
                continue;
            }
            if piece.op == Op::Write {
                self.buffer.get_mut(index).dirty.push(piece.run());
                self.buffer.write(index, piece.offset, &piece.data);
            }
            let data = self.buffer.read(index, piece.run());
            self.requests.complete_from_buffer(&piece, &data, disk_read.take(), context);
        }
    }

    /// Handles the end of a MEMS write of a fill.
    pub(super) fn fill_written(&mut self, id: u64, completion: &Completion, context: &mut Context<'_>) {
        let Some(status) = self.fills.mems_written(id, completion) else { return };
        let fill = self.fills.get_mut(id);
        let (slot, is_new_segment, run) = (fill.slot, fill.is_new_segment, fill.run);
        let (buffered, write) = (fill.take_buffered(), fill.write.take());
        if status != Status::Served {
            if let Some(piece) = write {
                self.requests.complete_piece(piece.request_id, completion, context);
            }
            if let Some(index) = buffered {
                self.destager.destage_buffered(index, &mut self.buffer);
            }
            self.fail_fill(id, status, context);
            return;
        }
        self.table.set_valid(slot, run);
        if is_new_segment {
            // The header was written with the segment.
            self.journal.remove(slot, &mut self.table);
        } else {
            self.update_journal(slot, context);
            self.journal.release(self.table.slot(slot));
        }
        if let Some(index) = buffered {
            if !self.buffer.get(index).dirty.is_empty() {
                self.table.set_dirty(slot, true);
            }
            self.buffer.release(index);
        }
        if let Some(piece) = write {
            self.table.set_dirty(slot, true);
            self.requests.complete_piece(piece.request_id, completion, context);
        }
        self.end_fill(id, context);
        self.start_due_flush(context);
    }

    /// Ends a fill that failed. A new segment frees its slot. Waiting pieces fail too, unless each may still succeed alone.
    fn fail_fill(&mut self, id: u64, status: Status, context: &mut Context<'_>) {
        let fill = self.fills.end(id, &mut self.table);
        self.journal.release(self.table.slot(fill.slot));
        if fill.is_new_segment {
            let first = fill.waiting.first().map(|piece| self.requests.request(piece.request_id));
            self.table.set_context(context.now(), first.map(|request| request.id));
            self.table.remove(fill.segment);
            self.stop_if_policy_failed(first.as_ref(), context);
        }
        let mut retried = Vec::new();
        for piece in fill.waiting {
            match (piece.op, status) {
                // A write to an old segment does not need the blocks that the segment lacks.
                (Op::Write, _) if !fill.is_new_segment => retried.push(piece),
                // The blocks of this piece may be readable.
                (_, Status::Unreadable) if self.destager.find(piece.segment).is_some() => retried.push(piece),
                (_, Status::Unreadable) => self.detour(piece, context),
                _ => self.requests.complete_now(&piece, status, context),
            }
        }
        self.reroute(retried, context);
    }

    /// Ends a fill and routes the pieces that waited for it.
    fn end_fill(&mut self, id: u64, context: &mut Context<'_>) {
        let fill = self.fills.end(id, &mut self.table);
        self.reroute(fill.waiting, context);
    }
}

/// Destages and flushes.
impl CachingDisk {
    /// Begins the MEMS read of a destage.
    fn read_destage(&mut self, id: u64, context: &mut Context<'_>) {
        let step = match self.failures.mems_failed {
            true => self.destager.lose_all(id),
            false => self.destager.read_mems(id, &mut self.buffer, &mut self.children, context),
        };
        self.continue_destage(id, step, context);
    }

    /// Continues after a step of a destage.
    pub(super) fn continue_destage(&mut self, id: u64, step: DestageStep, context: &mut Context<'_>) {
        match step {
            DestageStep::Continues => {}
            DestageStep::FreesSlot(fill) => {
                self.statistics.immediate_frees += 1;
                self.slot_freed(fill, context);
            }
            DestageStep::Ends => self.end_destage(id, context),
        }
    }

    fn end_destage(&mut self, id: u64, context: &mut Context<'_>) {
        let Destage { segment, flushed_slot, lost, fill, waiting, .. } = self.destager.end(id, &mut self.buffer);
        if let Some(slot) = flushed_slot {
            self.table.end_access(slot, Op::Read);
            if !lost.is_empty() {
                self.table.set_flush_failed(slot);
            }
            self.flush.under_way = None;
            self.start_due_flush(context);
            return;
        }
        for run in lost {
            self.failures.lose(segment, run);
        }
        if let Some(fill) = fill {
            self.slot_freed(fill, context);
        }
        self.reroute(waiting, context);
    }

    /// Begins to flush a segment if a flush is due.
    pub(super) fn start_due_flush(&mut self, context: &mut Context<'_>) {
        if let Some(slot) = self.flush.next_due(&self.table, context) {
            self.statistics.flushes += 1;
            self.table.set_dirty(slot, false);
            self.table.begin_access(slot, Op::Read);
            let destage = self.destager.begin(self.table.segment(slot), slot, None, &self.table);
            self.flush.under_way = Some(FlushUnderWay { slot, destage });
            self.read_destage(destage, context);
        }
    }

    /// Continues fills, destages and pieces for which space may have become free.
    pub(super) fn use_freed_space(&mut self, context: &mut Context<'_>) {
        if self.stop_if_policy_failed(None, context) {
            return;
        }
        if self.recovery.is_some() {
            // The slots of the journal's entries are not known yet.
            return;
        }
        while let Some(waiter) = self.buffer.next_waiter() {
            match waiter {
                Waiter::Fill(fill) => self.read_fill(fill, context),
                Waiter::Destage(destage) => self.read_destage(destage, context),
            }
        }
        while let Some(piece) = self.stalled.pop_front() {
            if let Err(piece) = self.route(piece, context) {
                self.stalled.push_front(piece);
                break;
            }
        }
        self.journal.write_headers(&mut self.table, &mut self.children, context);
        self.destager.write_deferred(&self.buffer, &mut self.children, context);
        debug_assert!(
            self.table.len() > MAX_CHECKED_SLOTS || self.inconsistent_part().is_none(),
            "{:?}",
            self.inconsistent_part()
        );
    }
}

/// Failure of the MEMS device, and recovery after a power cut.
impl CachingDisk {
    /// Handles the failure of the MEMS device: blocks that only it had are lost, and all requests go to the disk.
    pub(super) fn fail_mems(&mut self, context: &mut Context<'_>) {
        self.failures.mems_failed = true;
        if let Some(recovery) = &mut self.recovery {
            // The segments that MEMS held are not known yet.
            self.failures.lose_all(&self.buffer);
            recovery.clear_headers();
        }
        if let Some(flush) = self.flush.under_way {
            self.destager.lose_slot(flush.destage);
        }
        // A segment that is written for the first time is dirty already. The old segment of a slot that gets a new one is handled
        // by its destage.
        for SegmentRun { segment, run } in self.table.dirty_runs(|fill| self.fills.is_new_segment(fill)) {
            self.failures.lose(segment, run);
        }
        let mut pieces: Vec<Piece> = self.stalled.drain(..).collect();
        for mut fill in self.fills.drain() {
            if let Some(index) = fill.take_buffered() {
                self.destager.destage_buffered(index, &mut self.buffer);
            }
            pieces.extend(fill.write);
            pieces.extend(fill.waiting);
        }
        self.buffer.cancel_fills();
        self.table.clear();
        self.journal.clear();
        self.flush.clear();
        self.reroute(pieces, context);
        if self.recovery.is_some() {
            self.end_recovery(context);
        }
    }

    /// Begins to read the headers after a power cut.
    pub(super) fn recover(&mut self, context: &mut Context<'_>) {
        let recovery = self.recovery.insert(Recovery::new(self.layout, self.table.len(), context.now()));
        if self.failures.mems_failed {
            self.end_recovery(context);
            return;
        }
        recovery.start(&mut self.children, context);
    }

    /// Restores the table from the headers, and begins the requests that have waited.
    pub(super) fn end_recovery(&mut self, context: &mut Context<'_>) {
        let mut recovery = self.recovery.take().expect("a recovery is under way");
        recovery.apply_journal(&self.journal);
        if recovery.has_unreadable() {
            // Any segment that is not found may have been in those frames.
            self.failures.lose_all(&self.buffer);
        }
        for header in recovery.headers.iter().flatten() {
            self.failures.restore(self.layout.segment_range(header.segment));
        }
        let found = (0..).zip(recovery.headers).filter_map(|(frame, header)| Some((frame, header?)));
        self.table.restore(found);
        self.journal.restore(&mut self.table);
        for index in self.buffer.indices_in_use() {
            // MEMS has the same blocks of a segment with a slot, or newer ones.
            if self.table.find(self.buffer.get(index).segment).is_some() {
                self.buffer.release(index);
            } else {
                self.destager.destage_buffered(index, &mut self.buffer);
            }
        }
        self.statistics.recovery_ns += context.now() - recovery.began;
        for (request, payload) in recovery.waiting {
            self.accept(&request, &payload, context);
        }
    }
}
