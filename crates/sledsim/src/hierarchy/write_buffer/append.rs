//! Writes: appended to the log, as many together as have come.

use super::counts::Way;
use super::header::{encode, most_runs, Run};
use super::{Job, WriteBuffer};
use crate::engine::{Completion, Context, Payload};
use crate::hierarchy::common::{Outstanding, SplitRequest};
use crate::request::{Flags, Op, Padding, Request};

/// A write under way.
#[derive(Clone, Debug)]
pub(super) struct Write {
    split: SplitRequest,
    /// Its blocks that are in records, the one under way included.
    placed: u32,
    way: Way,
    payload: Payload,
}

/// The record under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    runs: Vec<Run>,
    /// The write of each run.
    writes: Vec<u64>,
}

impl Record {
    pub(super) fn clear(&mut self) {
        self.runs.clear();
        self.writes.clear();
    }
}

impl WriteBuffer {
    /// Takes a write.
    pub(super) fn write(&mut self, request: Request, payload: Payload, context: &mut Context<'_>) {
        let stalls = self.counts.stalled_since.is_some();
        self.counts.stalls += u64::from(stalls);
        let way = if stalls { Way::WriteStalled } else { Way::Write };
        let id = self.writes.insert(Write { split: SplitRequest::new(request), placed: 0, way, payload });
        self.pending.push_back(id);
        self.append(context);
        self.clean(context);
    }

    /// Appends what is pending, if no record is under way and a log is free.
    pub(super) fn append(&mut self, context: &mut Context<'_>) {
        let Some(&oldest) = self.pending.front().filter(|_| self.record.runs.is_empty()) else {
            // Nothing is to be appended, or what is goes into the next record, when this one has come back.
            return;
        };
        let room = self.ring.room();
        if room == 0 {
            self.stall(context);
            return;
        }
        self.counts.flows(context.now());
        let data = self.fill(room, context.holds_data());
        let blocks: u32 = 1 + self.record.runs.iter().map(|run| run.blocks).sum::<u32>();
        let Write { split, .. } = at(&mut self.writes, oldest);
        // A record is asked for as the oldest write in it was, but for keeping it: that is what the buffer promises.
        let flags = split.request.flags.with(Flags::DURABLE);
        let (origin, lbn) = (split.request.origin, u64::from(self.ring.head()));
        let request = Request {
            id: self.jobs.insert(Job::Append),
            arrival: context.now(),
            lbn,
            blocks,
            op: Op::Write,
            flags,
            origin,
            padding: Padding::NONE,
        };
        context.submit_with(self.mems.id, request, self.with_header(&data));
    }

    /// Puts writes into the record, whole ones but for the first, which may be longer than the room left; returns their data.
    fn fill(&mut self, room: u32, keep: bool) -> Vec<Payload> {
        let block_bytes = self.disk.block_bytes;
        let mut data = Vec::new();
        let mut left = room;
        while let Some(&id) = self.pending.front() {
            let write = at(&mut self.writes, id);
            let rest = write.split.request.blocks - write.placed;
            let first = self.record.runs.is_empty();
            if left == 0 || self.record.runs.len() == most_runs(block_bytes) || rest > left && !first {
                break;
            }
            let blocks = rest.min(left);
            self.record.runs.push(Run { lbn: write.split.request.lbn + u64::from(write.placed), blocks });
            self.record.writes.push(id);
            if keep {
                data.push(write.payload.slice(u64::from(write.placed), u64::from(blocks), block_bytes));
            }
            write.split.add_parts(1);
            write.placed += blocks;
            left -= blocks;
            if blocks == rest {
                self.pending.pop_front();
            }
        }
        data
    }

    /// The record's bytes, header first; nothing in runs that hold no data.
    fn with_header(&self, data: &[Payload]) -> Payload {
        let data = Payload::join(data);
        // Joining nothing gives no bytes, which is what a run without data joins.
        let Some(bytes) = data.bytes().filter(|bytes| !bytes.is_empty()) else { return Payload::NONE };
        let header = encode(self.mems.id.0, self.sequence, &self.record.runs, bytes, self.mems.block_bytes);
        Payload::join(&[Payload::of(&header), data])
    }

    /// Everything that is pending waits for a free log, or comes back where there will never be one.
    fn stall(&mut self, context: &mut Context<'_>) {
        let now = context.now();
        if self.counts.stalled_since.is_none() {
            self.counts.stalled_since = Some(now);
            for &id in &self.pending {
                // Those that stalled before stalled once.
                let write = at(&mut self.writes, id);
                self.counts.stalls += u64::from(write.way == Way::Write);
                write.way = Way::WriteStalled;
            }
        }
        let Some(status) = self.cleaner.stuck else {
            // It goes on when the cleaner has freed a log.
            return;
        };
        for id in std::mem::take(&mut self.pending) {
            at(&mut self.writes, id).split.set_failed(status);
            self.finish_write(id, context);
        }
        self.counts.flows(now);
    }

    /// A write is complete, or will never be.
    fn finish_write(&mut self, id: u64, context: &mut Context<'_>) {
        let now = context.now();
        let Write { split, way, .. } = at(&mut self.writes, id);
        self.counts.record(*way, now - split.request.arrival);
        context.complete(&split.finish(now).0);
        self.writes.discard(id);
    }

    /// The record under way has come back.
    pub(super) fn appended(&mut self, completion: &Completion, context: &mut Context<'_>) {
        let mut record = std::mem::take(&mut self.record);
        let blocks: u32 = record.runs.iter().map(|run| run.blocks).sum();
        self.sequence += 1;
        if completion.is_served() {
            self.counts.records += 1;
            self.counts.appended_blocks += u64::from(blocks);
            self.counts.overwritten_blocks += self.ring.append(&record.runs);
            self.ring.free();
        }
        for (run, &id) in record.runs.iter().zip(&record.writes) {
            let write = at(&mut self.writes, id);
            let mut part = *completion;
            // The energy of the record is shared by the blocks that are in it.
            part.service.energy = part.service.energy.share(f64::from(run.blocks) / f64::from(blocks));
            let none_under_way = write.split.complete_part(&part);
            if none_under_way && write.placed == write.split.request.blocks {
                self.finish_write(id, context);
            }
        }
        record.clear();
        self.record = record;
        self.append(context);
        self.clean(context);
    }
}

/// A write under way.
fn at(writes: &mut Outstanding<Write>, id: u64) -> &mut Write {
    writes.get_mut(id).expect("a write is under way until all of it is in the log, or no log will ever be free")
}
