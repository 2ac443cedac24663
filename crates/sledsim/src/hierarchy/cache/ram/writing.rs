//! Writes into a cache, and from it to the child.

use super::lines::pieces;
use super::{Held, Part, RamCache};
use crate::convert::to_u32;
use crate::engine::{Completion, Context, Payload};
use crate::request::{Flags, Op, Padding, Request};

impl RamCache {
    /// Takes blocks, which are dirty then; waits where no line can be evicted for them.
    pub(super) fn write(&mut self, held: Held, context: &mut Context<'_>) {
        for piece in pieces(held.lbn, held.end, self.lines.line_blocks) {
            let rest = Held { lbn: piece.lbn, ..held };
            let found = self.lines.find(piece.line);
            // What is left of it waits for room, and comes again.
            let Some(slot) = found.or_else(|| self.admit(&piece, &rest, context)) else { return };
            if found.is_some() {
                self.lines.hit(slot);
            }
            self.count_write(found.is_some());
            let job = &self.jobs[held.job];
            let data = job.payload.slice(piece.lbn - job.split.request.lbn, piece.blocks(), self.block_bytes);
            self.counts.ahead_wasted_blocks += self.lines.ask(slot, &piece);
            self.lines.write(slot, &piece, &data);
        }
    }

    fn count_write(&mut self, is_hit: bool) {
        self.counts.write_hits += u64::from(is_hit);
        self.counts.write_misses += u64::from(!is_hit);
    }

    /// Has the child do a write, once nothing else writes those blocks there. The cache takes it, too, as far as it has the
    /// lines or room for them.
    pub(super) fn write_through(&mut self, id: u64, context: &mut Context<'_>) {
        let job = &self.jobs[id];
        let (whole, payload) = (job.split.request, job.payload.clone());
        let held = Held { job: id, lbn: whole.lbn, end: whole.end_lbn(), since: context.now(), is_counted: true };
        if let Some(line) = self.writer_of(held.lbn, held.end) {
            self.wait(line, held, context);
            return;
        }
        let admits = !job.passes && self.stalled.is_empty();
        let mut has_all = true;
        for piece in pieces(held.lbn, held.end, self.lines.line_blocks) {
            let found = self.lines.find(piece.line);
            self.count_write(found.is_some());
            let slot = match found {
                Some(slot) => {
                    self.lines.hit(slot);
                    slot
                }
                None => match if admits { self.lines.admit(piece.line) } else { None } {
                    Some((slot, wasted)) => {
                        self.counts.ahead_wasted_blocks += wasted;
                        slot
                    }
                    None => {
                        has_all = false;
                        continue;
                    }
                },
            };
            let data = payload.slice(piece.lbn - whole.lbn, piece.blocks(), self.block_bytes);
            self.counts.ahead_wasted_blocks += self.lines.ask(slot, &piece);
            self.lines.write_through(slot, &piece, &data);
        }
        if !has_all {
            self.around.push((whole.lbn, whole.end_lbn()));
        }
        let flags = whole.flags.with(self.lasting());
        let part = self.send(id, Part::Through { job: id }, Request { flags, ..whole }, payload, context);
        self.being_written(whole.lbn, whole.end_lbn(), part);
    }

    /// What has to be said of a write to the child: once it is complete, a non-volatile cache gives up its own copy.
    fn lasting(&self) -> Flags {
        if self.is_volatile {
            Flags::NONE
        } else {
            Flags::DURABLE
        }
    }

    /// A line of blocks `lbn` to `end` some of which are being written to the child.
    fn writer_of(&self, lbn: u64, end: u64) -> Option<u64> {
        let line_blocks = self.lines.line_blocks;
        pieces(lbn, end, line_blocks)
            .find(|piece| {
                let slot = self.lines.find(piece.line);
                let start = piece.line * line_blocks;
                slot.is_some_and(|slot| self.lines.count(slot, piece, |cell| cell.cleaning) > 0)
                    || self.is_being_written(start, start + line_blocks)
            })
            .map(|piece| piece.line)
    }

    /// The child has done a write, or could not.
    pub(super) fn written_through(&mut self, id: u64, completion: &Completion, context: &mut Context<'_>) {
        self.take_part(id, completion);
        let whole = self.jobs[id].split.request;
        let range = (whole.lbn, whole.end_lbn());
        if let Some(place) = self.around.iter().position(|&around| around == range) {
            self.around.swap_remove(place);
        }
        // Lines that were absent when it began are absent still.
        for piece in pieces(range.0, range.1, self.lines.line_blocks) {
            if let Some(slot) = self.lines.find(piece.line) {
                self.lines.cleaned(slot, &piece, completion.is_served());
            }
        }
        self.release(id, context);
        self.wake(range.0, range.1, context);
    }

    /// Writes dirty blocks to the child.
    pub(super) fn destage(&mut self, lbn: u64, blocks: u64, context: &mut Context<'_>) {
        let end = lbn + blocks;
        for piece in pieces(lbn, end, self.lines.line_blocks) {
            self.lines.clean(self.lines.held(piece.line), &piece);
        }
        self.counts.destages += 1;
        self.counts.destaged_blocks += blocks;
        let id = self.parts.insert(Part::Destage { lbn, end });
        self.being_written(lbn, end, id);
        let request = Request {
            id,
            arrival: context.now(),
            lbn,
            blocks: to_u32(blocks),
            op: Op::Write,
            flags: Flags::BACKGROUND.with(self.lasting()),
            origin: 0,
            padding: Padding::NONE,
        };
        let data = if context.holds_data() { self.lines.data(lbn, blocks) } else { Payload::NONE };
        context.submit_with(self.child, request, data);
    }

    /// Dirty blocks have been written, or could not be.
    pub(super) fn cleaned(&mut self, lbn: u64, end: u64, completion: &Completion, context: &mut Context<'_>) {
        for piece in pieces(lbn, end, self.lines.line_blocks) {
            let slot = self.lines.held(piece.line);
            self.counts.lost_blocks += self.lines.cleaned(slot, &piece, completion.is_served());
        }
        self.wake(lbn, end, context);
    }
}
