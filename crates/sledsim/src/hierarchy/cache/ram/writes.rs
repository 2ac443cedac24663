//! Writes of a RAM cache, and destages.

use super::lines::pieces;
use super::{AdmittedLine, JobBlocks, Part, RamCache};
use crate::convert::to_u32;
use crate::engine::{Completion, Context, Payload};
use crate::hierarchy::common::BlockRange;
use crate::request::{Flags, Op, Padding, Request};

impl RamCache {
    /// Writes blocks into lines and marks them as dirty. Waits if no line can be evicted.
    pub(super) fn write(&mut self, blocks: JobBlocks, context: &mut Context<'_>) {
        for piece in pieces(blocks.range, self.lines.line_blocks) {
            let rest = JobBlocks { range: BlockRange::new(piece.lbn, blocks.range.to), ..blocks };
            let found = self.lines.find(piece.line);
            let Some(slot) = found.or_else(|| self.admit(&piece, rest, context)) else { return };
            if found.is_some() {
                self.lines.hit(slot);
            }
            self.count_write(found.is_some());
            let job = &self.jobs[blocks.job];
            let data = job.payload.slice(piece.lbn - job.split.request.lbn, piece.blocks(), self.block_bytes);
            self.counts.ahead_wasted_blocks += self.lines.record_use(slot, &piece);
            self.lines.write(slot, &piece, &data);
        }
    }

    fn count_write(&mut self, is_hit: bool) {
        self.counts.write_hits += u64::from(is_hit);
        self.counts.write_misses += u64::from(!is_hit);
    }

    /// Sends a write to the child once no other write of its blocks is under way. Its blocks are written into lines, too, as far as the
    /// lines are in the cache or can be admitted.
    pub(super) fn write_through(&mut self, id: u64, context: &mut Context<'_>) {
        let job = &self.jobs[id];
        let (request, payload) = (job.split.request, job.payload.clone());
        let range = BlockRange::new(request.lbn, request.end_lbn());
        if let Some(line) = self.line_being_written(range) {
            let blocks = JobBlocks { job: id, range, since: context.now(), is_counted: true };
            self.wait_for_line(line, blocks, context);
            return;
        }
        let admits = !job.bypasses && self.stalled.is_empty();
        if let (true, Some(victim)) = (admits, self.dirty_victim_of_write(range)) {
            let blocks = JobBlocks { job: id, range, since: context.now(), is_counted: true };
            self.wait_for_victim(victim, blocks, context);
            return;
        }
        let mut has_all_lines = true;
        for piece in pieces(range, self.lines.line_blocks) {
            let found = self.lines.find(piece.line);
            self.count_write(found.is_some());
            let slot = match found {
                Some(slot) => {
                    self.lines.hit(slot);
                    slot
                }
                None => match if admits { self.lines.admit(piece.line) } else { None } {
                    Some(AdmittedLine { slot, wasted_blocks }) => {
                        self.counts.ahead_wasted_blocks += wasted_blocks;
                        slot
                    }
                    None => {
                        has_all_lines = false;
                        continue;
                    }
                },
            };
            let data = payload.slice(piece.lbn - request.lbn, piece.blocks(), self.block_bytes);
            self.counts.ahead_wasted_blocks += self.lines.record_use(slot, &piece);
            self.lines.write_through(slot, &piece, &data);
        }
        if !has_all_lines {
            self.writes_around.push(range);
        }
        let flags = request.flags.with(self.durability());
        let part = self.send(id, Part::WriteThrough { job: id }, Request { flags, ..request }, payload, context);
        self.write_began(range, part);
    }

    /// The first dirty line that has to be written before the missing lines of a range can be admitted, if any.
    fn dirty_victim_of_write(&self, range: BlockRange) -> Option<u64> {
        if !self.waits_for_victim {
            return None;
        }
        let missing = pieces(range, self.lines.line_blocks).filter(|piece| self.lines.find(piece.line).is_none());
        self.dirty_victim(to_u32(missing.count() as u64))
    }

    /// The flags of writes to the child. Those of a non-volatile cache are durable, because it may evict its copy afterwards.
    fn durability(&self) -> Flags {
        if self.is_volatile {
            Flags::NONE
        } else {
            Flags::DURABLE
        }
    }

    /// The first line of a range with blocks that are being written to the child.
    fn line_being_written(&self, range: BlockRange) -> Option<u64> {
        pieces(range, self.lines.line_blocks)
            .find(|piece| {
                let slot = self.lines.find(piece.line);
                slot.is_some_and(|slot| self.lines.count(slot, piece, |word| word.cleaning) > 0)
                    || self.is_written_around(piece.line)
            })
            .map(|piece| piece.line)
    }

    /// Handles a completed write-through.
    pub(super) fn write_through_completed(&mut self, id: u64, completion: &Completion, context: &mut Context<'_>) {
        self.complete_part(id, completion);
        let request = self.jobs[id].split.request;
        let range = BlockRange::new(request.lbn, request.end_lbn());
        if let Some(index) = self.writes_around.iter().position(|&write| write == range) {
            self.writes_around.swap_remove(index);
        }
        // Lines that were not in the cache when it began have not been admitted since.
        for piece in pieces(range, self.lines.line_blocks) {
            if let Some(slot) = self.lines.find(piece.line) {
                self.lines.end_write(slot, &piece, completion.is_served());
            }
        }
        self.end_wait(id, context);
        self.resume(range, context);
    }

    /// Writes dirty blocks to the child.
    pub(super) fn destage(&mut self, range: BlockRange, context: &mut Context<'_>) {
        let (lbn, blocks) = (range.from, range.blocks());
        for piece in pieces(range, self.lines.line_blocks) {
            self.lines.begin_write(self.lines.pinned_slot(piece.line), &piece);
        }
        self.counts.destages += 1;
        self.counts.destaged_blocks += blocks;
        let id = self.parts.insert(Part::Destage { range });
        self.write_began(range, id);
        let request = Request {
            id,
            arrival: context.now(),
            lbn,
            blocks: to_u32(blocks),
            op: Op::Write,
            flags: Flags::BACKGROUND.with(self.durability()),
            origin: 0,
            padding: Padding::NONE,
        };
        let data = if context.holds_data() { self.lines.data(lbn, blocks) } else { Payload::NONE };
        context.submit_with(self.child, request, data);
    }

    /// Handles a completed destage.
    pub(super) fn destage_completed(&mut self, range: BlockRange, completion: &Completion, context: &mut Context<'_>) {
        for piece in pieces(range, self.lines.line_blocks) {
            let slot = self.lines.pinned_slot(piece.line);
            self.counts.lost_blocks += self.lines.end_write(slot, &piece, completion.is_served());
        }
        self.resume(range, context);
    }
}
