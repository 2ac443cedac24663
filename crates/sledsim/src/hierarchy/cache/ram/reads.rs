//! Reads of a RAM cache.

use super::lines::{pieces, Piece};
use super::{AdmittedLine, JobBlocks, Part, RamCache, RequestPath};
use crate::convert::to_u32;
use crate::engine::{Completion, Context, Payload};
use crate::hierarchy::cache::replacement::Slot;
use crate::hierarchy::common::BlockRange;
use crate::request::{Flags, Op, Padding, Request};

impl RamCache {
    /// Reads the blocks that the cache has, fetches missing blocks, and waits for blocks that are being fetched.
    pub(super) fn read(&mut self, blocks: JobBlocks, context: &mut Context<'_>) {
        let JobBlocks { job, range, is_counted, .. } = blocks;
        if self.jobs[job].split.has_failed() {
            // Two failed reads that wait for each other's blocks would otherwise fetch them forever.
            return;
        }
        let (fills_lines, line_blocks) = (self.fills_lines && !self.jobs[job].reads_exactly, self.lines.line_blocks);
        let mut run: Option<BlockRange> = None;
        for piece in pieces(range, line_blocks) {
            let rest = JobBlocks { range: BlockRange::new(piece.lbn, range.to), ..blocks };
            let found = self.lines.find(piece.line);
            let Some(slot) = found.or_else(|| self.admit(&piece, rest, context)) else { break };
            if found.is_some() {
                self.lines.hit(slot);
            }
            self.counts.ahead_used_blocks += self.lines.record_use(slot, &piece);
            self.copy_data(job, piece.range(), context);
            if self.lines.count(slot, &piece, |word| !word.valid) == 0 {
                self.counts.read_hits += u64::from(!is_counted);
                continue;
            }
            self.counts.read_misses += u64::from(!is_counted);
            self.jobs[job].path = RequestPath::ReadMiss;
            if self.lines.count(slot, &piece, |word| word.filling & !word.valid) > 0 {
                let rest = JobBlocks { range: piece.range(), is_counted: true, ..blocks };
                self.wait_for_line(piece.line, rest, context);
            }
            if let Some(missing) = self.lines.missing(slot, piece.from, piece.to) {
                let blocks = line_blocks.min(self.capacity_blocks - piece.line * line_blocks);
                let wider = if fills_lines { self.lines.missing(slot, 0, blocks) } else { None };
                let missing = self.begin_fill(slot, piece.line, wider.unwrap_or(missing));
                self.extend(&mut run, missing, Some(job), context);
            }
        }
        self.fetch(run, Some(job), context);
    }

    /// Marks the blocks `missing` of a line as being fetched. Returns their addresses.
    fn begin_fill(&mut self, slot: Slot, line: u64, missing: BlockRange) -> BlockRange {
        let BlockRange { from, to } = missing;
        let piece = Piece { line, from, to, lbn: line * self.lines.line_blocks + from };
        self.lines.begin_fill(slot, &piece);
        piece.range()
    }

    /// Adds blocks to the run that they continue, or fetches the run and begins another.
    fn extend(
        &mut self,
        run: &mut Option<BlockRange>,
        blocks: BlockRange,
        job: Option<u64>,
        context: &mut Context<'_>,
    ) {
        match run {
            Some(run) if run.to == blocks.from && blocks.to - run.from <= u64::from(u32::MAX) => run.to = blocks.to,
            _ => {
                self.fetch(run.take(), job, context);
                *run = Some(blocks);
            }
        }
    }

    /// Reads a run of blocks, if there is one, from the child: for a job, or ahead.
    fn fetch(&mut self, run: Option<BlockRange>, job: Option<u64>, context: &mut Context<'_>) {
        let Some(range) = run else { return };
        self.counts.fetches += 1;
        self.counts.fetched_blocks += range.blocks();
        let part = Part::Fill { job, range };
        let host = job.map(|job| self.jobs[job].split.request);
        let (flags, origin) = host.map_or((Flags::BACKGROUND, 0), |request| (request.flags, request.origin));
        let (lbn, blocks) = (range.from, to_u32(range.blocks()));
        let arrival = context.now();
        let request = Request { id: 0, arrival, lbn, blocks, op: Op::Read, flags, origin, padding: Padding::NONE };
        match job {
            Some(job) => {
                self.send(job, part, request, Payload::NONE, context);
            }
            None => {
                let id = self.parts.insert(part);
                context.submit(self.child, Request { id, ..request });
            }
        }
    }

    /// Handles a completed read of blocks into lines; `data` was read.
    pub(super) fn fill_completed(
        &mut self,
        job: Option<u64>,
        range: BlockRange,
        completion: &Completion,
        data: &Payload,
        context: &mut Context<'_>,
    ) {
        let host = job.map(|job| self.jobs[job].split.request);
        let requested = host.map_or((range.from, range.from), |request| (request.lbn, request.end_lbn()));
        let requested = BlockRange::new(requested.0, requested.1);
        for piece in pieces(range, self.lines.line_blocks) {
            let part = if data.is_some() {
                data.slice(piece.lbn - range.from, piece.blocks(), self.block_bytes)
            } else {
                Payload::NONE
            };
            let slot = self.lines.pinned_slot(piece.line);
            self.counts.ahead_blocks += self.lines.end_fill(slot, &piece, requested, completion.is_served(), &part);
        }
        if let Some(job) = job {
            self.job_fill_completed(job, range, completion, context);
        }
        self.resume(range, context);
    }

    /// Handles a completed fetch of a job. If a fetch of more than the requested blocks failed, these are fetched alone.
    fn job_fill_completed(&mut self, id: u64, fetched: BlockRange, completion: &Completion, context: &mut Context<'_>) {
        let job = &mut self.jobs[id];
        let request = &job.split.request;
        let range = BlockRange::new(request.lbn.max(fetched.from), request.end_lbn().min(fetched.to));
        if !completion.is_served() && !job.reads_exactly && range != fetched {
            job.reads_exactly = true;
            self.lines.set_context(context.now(), Some(request.id));
            self.read(JobBlocks { job: id, range, since: context.now(), is_counted: true }, context);
        } else {
            self.complete_part(id, completion);
            if completion.is_served() {
                self.copy_data(id, range, context);
            }
        }
        self.end_wait(id, context);
    }

    /// Adds a read to its sequential stream, and reads ahead of the stream if that is due.
    pub(super) fn read_ahead(&mut self, read: BlockRange, context: &mut Context<'_>) {
        let Some(mut ahead) = self.streams.as_mut().and_then(|streams| streams.record(read)) else { return };
        ahead.to = ahead.to.min(self.capacity_blocks);
        if ahead.from >= ahead.to {
            return;
        }
        let mut run: Option<BlockRange> = None;
        for piece in pieces(ahead, self.lines.line_blocks) {
            let found = self.lines.find(piece.line);
            if found.is_none() && (!self.stalled.is_empty() || self.is_written_around(piece.line)) {
                break;
            }
            let slot = match found {
                Some(slot) => slot,
                None if !self.lines.admits(BlockRange::new(piece.lbn, piece.lbn + 1)) => break,
                None => match self.lines.admit(piece.line) {
                    Some(AdmittedLine { slot, wasted_blocks }) => {
                        self.counts.ahead_wasted_blocks += wasted_blocks;
                        slot
                    }
                    None => break,
                },
            };
            if let Some(missing) = self.lines.missing(slot, piece.from, piece.to) {
                let missing = self.begin_fill(slot, piece.line, missing);
                self.extend(&mut run, missing, None, context);
            }
        }
        self.fetch(run, None, context);
    }

    /// Sends a read past the cache to the child. Lines of it that are in the cache stay there until it completes, because the child may
    /// have older data.
    pub(super) fn read_around(&mut self, id: u64, context: &mut Context<'_>) {
        let request = self.jobs[id].split.request;
        let lines = pieces(BlockRange::new(request.lbn, request.end_lbn()), self.lines.line_blocks);
        let pinned: Vec<Slot> = lines.filter_map(|piece| self.lines.find(piece.line)).collect();
        pinned.iter().for_each(|&slot| self.lines.pin(slot));
        self.send(id, Part::ReadAround { job: id, pinned }, request, Payload::NONE, context);
    }

    /// Handles a completed read past the cache; `data` was read.
    pub(super) fn read_around_completed(
        &mut self,
        id: u64,
        pinned: &[Slot],
        completion: &Completion,
        data: &Payload,
        context: &mut Context<'_>,
    ) {
        pinned.iter().for_each(|&slot| self.lines.unpin(slot));
        self.complete_part(id, completion);
        let job = &mut self.jobs[id];
        let request = job.split.request;
        if completion.is_served() && data.is_some() {
            job.split.store_read(0, data, self.block_bytes);
            for piece in pieces(BlockRange::new(request.lbn, request.end_lbn()), self.lines.line_blocks) {
                if let Some(slot) = self.lines.find(piece.line) {
                    let first = piece.lbn - request.lbn;
                    let below = data.slice(first, piece.blocks(), self.block_bytes);
                    job.split.store_read(first, &self.lines.overlay(slot, &piece, &below), self.block_bytes);
                }
            }
        }
        self.end_wait(id, context);
    }
}
