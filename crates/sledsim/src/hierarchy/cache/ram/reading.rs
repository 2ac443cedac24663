//! Reads through a cache.

use super::lines::{pieces, Piece};
use super::{Held, Part, RamCache, Way};
use crate::convert::to_u32;
use crate::engine::{Completion, Context, Payload};
use crate::hierarchy::cache::replacement::Slot;
use crate::request::{Flags, Op, Padding, Request};

/// Blocks to be fetched, or none: from and to where.
type Run = Option<(u64, u64)>;

impl RamCache {
    /// Takes what is there of blocks, fetches what is missing, and waits for what is on its way.
    pub(super) fn read(&mut self, held: Held, context: &mut Context<'_>) {
        if self.jobs[held.job].split.has_failed() {
            // It asks for no more: two that wait for each other's blocks would ask for ever.
            return;
        }
        let (fills_lines, line_blocks) = (self.fills_lines && !self.jobs[held.job].is_narrow, self.lines.line_blocks);
        let mut run: Run = None;
        for piece in pieces(held.lbn, held.end, line_blocks) {
            let rest = Held { lbn: piece.lbn, ..held };
            let found = self.lines.find(piece.line);
            // What is left of it waits for room, and comes again.
            let Some(slot) = found.or_else(|| self.admit(&piece, &rest, context)) else { break };
            if found.is_some() {
                self.lines.hit(slot);
            }
            self.counts.ahead_used_blocks += self.lines.ask(slot, &piece);
            self.bring(held.job, piece.lbn, piece.lbn + piece.blocks(), context);
            if self.lines.count(slot, &piece, |cell| !cell.valid) == 0 {
                self.counts.read_hits += u64::from(!held.is_counted);
                continue;
            }
            self.counts.read_misses += u64::from(!held.is_counted);
            self.jobs[held.job].way = Way::ReadMiss;
            if self.lines.count(slot, &piece, |cell| cell.filling & !cell.valid) > 0 {
                let rest = Held { lbn: piece.lbn, end: piece.lbn + piece.blocks(), is_counted: true, ..held };
                self.wait(piece.line, rest, context);
            }
            if let Some(missing) = self.lines.missing(slot, piece.from, piece.to) {
                let whole_blocks = line_blocks.min(self.capacity_blocks - piece.line * line_blocks);
                let wider = if fills_lines { self.lines.missing(slot, 0, whole_blocks) } else { None };
                let missing = self.fill(slot, piece.line, wider.unwrap_or(missing));
                self.extend(&mut run, missing, Some(held.job), context);
            }
        }
        self.fetch(run, Some(held.job), context);
    }

    /// Notes that blocks of a line are on their way, and says which ones they are.
    fn fill(&mut self, slot: Slot, line: u64, (from, to): (u64, u64)) -> (u64, u64) {
        let start = line * self.lines.line_blocks;
        self.lines.fill(slot, &Piece { line, from, to, lbn: start + from });
        (start + from, start + to)
    }

    /// Adds blocks to a run that they continue, or fetches the run and begins another.
    fn extend(&mut self, run: &mut Run, (lbn, end): (u64, u64), job: Option<u64>, context: &mut Context<'_>) {
        match run {
            Some((first, last)) if *last == lbn && end - *first <= u64::from(u32::MAX) => *last = end,
            _ => {
                self.fetch(run.take(), job, context);
                *run = Some((lbn, end));
            }
        }
    }

    /// Reads a run of blocks from the child, for a job or for nobody.
    fn fetch(&mut self, run: Run, job: Option<u64>, context: &mut Context<'_>) {
        // Nothing is missing.
        let Some((lbn, end)) = run else { return };
        self.counts.fetches += 1;
        self.counts.fetched_blocks += end - lbn;
        let part = Part::Fill { job, lbn, end };
        let asking = job.map(|job| self.jobs[job].split.request);
        let (flags, origin) = asking.map_or((Flags::BACKGROUND, 0), |whole| (whole.flags, whole.origin));
        let blocks = to_u32(end - lbn);
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

    /// Blocks have come from the child, or could not be read.
    pub(super) fn filled(
        &mut self,
        job: Option<u64>,
        lbn: u64,
        end: u64,
        completion: &Completion,
        data: &Payload,
        context: &mut Context<'_>,
    ) {
        let whole = job.map(|job| self.jobs[job].split.request);
        let asked = whole.map_or((lbn, lbn), |whole| (whole.lbn, whole.end_lbn()));
        for piece in pieces(lbn, end, self.lines.line_blocks) {
            let part = if data.is_some() {
                data.slice(piece.lbn - lbn, piece.blocks(), self.block_bytes)
            } else {
                Payload::NONE
            };
            let slot = self.lines.held(piece.line);
            self.counts.ahead_blocks += self.lines.filled(slot, &piece, asked, completion.is_served(), &part);
        }
        if let Some(job) = job {
            self.hear(job, lbn, end, completion, context);
        }
        self.wake(lbn, end, context);
    }

    /// A job hears of its fetch. If that failed and was for more than it asked for, it asks for less.
    fn hear(&mut self, id: u64, lbn: u64, end: u64, completion: &Completion, context: &mut Context<'_>) {
        let job = &mut self.jobs[id];
        let (first, last) = (job.split.request.lbn.max(lbn), job.split.request.end_lbn().min(end));
        if !completion.is_served() && !job.is_narrow && (first, last) != (lbn, end) {
            job.is_narrow = true;
            self.lines.at(context.now(), Some(job.split.request.id));
            self.read(Held { job: id, lbn: first, end: last, since: context.now(), is_counted: true }, context);
        } else {
            self.take_part(id, completion);
            if completion.is_served() {
                self.bring(id, first, last, context);
            }
        }
        self.release(id, context);
    }

    /// Reads ahead of a stream of reads, one of which was of blocks `lbn` to `end`.
    pub(super) fn read_ahead(&mut self, lbn: u64, end: u64, context: &mut Context<'_>) {
        // It reads nothing ahead, or the stream has enough ahead of it.
        let Some((from, to)) = self.streams.as_mut().and_then(|streams| streams.follow(lbn, end)) else { return };
        let (to, line_blocks) = (to.min(self.capacity_blocks), self.lines.line_blocks);
        // Behind the device's last block, in the midst of a line, there is nothing: not even an empty piece.
        if from >= to {
            return;
        }
        let mut run: Run = None;
        for piece in pieces(from, to, line_blocks) {
            let start = piece.line * line_blocks;
            let found = self.lines.find(piece.line);
            if found.is_none() && (!self.stalled.is_empty() || self.is_being_written(start, start + line_blocks)) {
                break;
            }
            let slot = match found {
                Some(slot) => slot,
                None if !self.lines.admits(piece.lbn, piece.lbn + 1) => break,
                None => match self.lines.admit(piece.line) {
                    Some((slot, wasted)) => {
                        self.counts.ahead_wasted_blocks += wasted;
                        slot
                    }
                    None => break,
                },
            };
            if let Some(missing) = self.lines.missing(slot, piece.from, piece.to) {
                let missing = self.fill(slot, piece.line, missing);
                self.extend(&mut run, missing, None, context);
            }
        }
        self.fetch(run, None, context);
    }

    /// Has the child do a read that is too large for the cache. What the cache has of it, it keeps until then: the child may
    /// have older data.
    pub(super) fn read_around(&mut self, id: u64, context: &mut Context<'_>) {
        let whole = self.jobs[id].split.request;
        let lines = pieces(whole.lbn, whole.end_lbn(), self.lines.line_blocks);
        let held: Vec<Slot> = lines.filter_map(|piece| self.lines.find(piece.line)).collect();
        held.iter().for_each(|&slot| self.lines.pin(slot));
        self.send(id, Part::Around { job: id, held }, whole, Payload::NONE, context);
    }

    /// The child has done it.
    pub(super) fn read_by_child(
        &mut self,
        id: u64,
        held: &[Slot],
        completion: &Completion,
        data: &Payload,
        context: &mut Context<'_>,
    ) {
        held.iter().for_each(|&slot| self.lines.unpin(slot));
        self.take_part(id, completion);
        let job = &mut self.jobs[id];
        let whole = job.split.request;
        if completion.is_served() && data.is_some() {
            job.split.store_read(0, data, self.block_bytes);
            for piece in pieces(whole.lbn, whole.end_lbn(), self.lines.line_blocks) {
                if let Some(slot) = self.lines.find(piece.line) {
                    let first = piece.lbn - whole.lbn;
                    let below = data.slice(first, piece.blocks(), self.block_bytes);
                    job.split.store_read(first, &self.lines.overlay(slot, &piece, &below), self.block_bytes);
                }
            }
        }
        self.release(id, context);
    }
}
