//! Host writes, appended to the log. All writes that are waiting go into the next record together.

use std::collections::VecDeque;

use super::children::{Children, Job};
use super::counts::{Counts, RequestPath};
use super::header::{encode, max_runs, Run};
use super::log::Log;
use crate::engine::{Completion, Context, Payload, Status};
use crate::hierarchy::common::{Outstanding, SplitRequest};
use crate::request::{Flags, Op, Padding, Request};

/// A write under way.
#[derive(Clone, Debug)]
struct Write {
    split: SplitRequest,
    /// Number of its blocks that are in records, including the current one.
    placed: u32,
    path: RequestPath,
    payload: Payload,
}

/// The record that is being written.
#[derive(Clone, Debug, Default)]
struct Record {
    runs: Vec<Run>,
    /// The write of each run.
    writes: Vec<u64>,
}

impl Record {
    /// Number of data blocks.
    fn blocks(&self) -> u32 {
        self.runs.iter().map(|run| run.blocks).sum()
    }

    fn clear(&mut self) {
        self.runs.clear();
        self.writes.clear();
    }
}

/// Host writes under way and the current record.
#[derive(Clone, Debug, Default)]
pub(super) struct Appender {
    /// Sequence number of the next record.
    pub sequence: u64,
    writes: Outstanding<Write>,
    /// Writes with blocks that are in no record yet, oldest first.
    pending: VecDeque<u64>,
    record: Record,
}

impl Appender {
    /// Number of writes under way.
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Number of writes with blocks that are in no record yet.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Drops all writes and the current record.
    pub fn clear(&mut self) {
        self.writes.clear();
        self.pending.clear();
        self.record.clear();
    }

    /// Adds a pending write that does not exist.
    #[cfg(test)]
    pub fn insert_pending(&mut self, id: u64) {
        self.pending.push_back(id);
    }

    /// Adds a write.
    pub fn add(&mut self, request: Request, payload: Payload, counts: &mut Counts) {
        let is_stalled = counts.stalled_since.is_some();
        counts.stalls += u64::from(is_stalled);
        let path = if is_stalled { RequestPath::WriteStalled } else { RequestPath::Write };
        let id = self.writes.insert(Write { split: SplitRequest::new(request), placed: 0, path, payload });
        self.pending.push_back(id);
    }

    /// Appends the pending writes if no record is being written and a log is free. Without a free log they wait, or fail with the
    /// status of a cleaner that has stopped.
    pub fn append(
        &mut self,
        log: &mut Log,
        children: &mut Children,
        cleaner_failure: Option<Status>,
        counts: &mut Counts,
        context: &mut Context<'_>,
    ) {
        let Some(&oldest) = self.pending.front().filter(|_| self.record.runs.is_empty()) else { return };
        let free_blocks = log.free_blocks();
        if free_blocks == 0 {
            self.stall(cleaner_failure, counts, context);
            return;
        }
        counts.end_stall(context.now());
        let block_bytes = children.disk.block_bytes;
        let data = self.fill_record(free_blocks, block_bytes, context.holds_data());
        let data = self.record_bytes(children.mems.id.0, block_bytes, &data);
        // The record has the flags of its oldest write, and is durable.
        let Request { flags, origin, .. } = self.writes[oldest].split.request;
        let request = Request {
            id: 0,
            arrival: context.now(),
            lbn: u64::from(log.head()),
            blocks: 1 + self.record.blocks(),
            op: Op::Write,
            flags: flags.with(Flags::DURABLE),
            origin,
            padding: Padding::NONE,
        };
        children.pass(Job::Append, request, data, context);
    }

    /// Puts pending writes into the record and returns their data if `keep_data`. Only the first write is divided, if it does not
    /// fit into the free blocks.
    fn fill_record(&mut self, free_blocks: u32, block_bytes: u32, keep_data: bool) -> Vec<Payload> {
        let mut data = Vec::new();
        let mut left = free_blocks;
        while let Some(&id) = self.pending.front() {
            let write = &mut self.writes[id];
            let rest = write.split.request.blocks - write.placed;
            let is_first = self.record.runs.is_empty();
            if left == 0 || self.record.runs.len() == max_runs(block_bytes) || rest > left && !is_first {
                break;
            }
            let blocks = rest.min(left);
            self.record.runs.push(Run { lbn: write.split.request.lbn + u64::from(write.placed), blocks });
            self.record.writes.push(id);
            if keep_data {
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

    /// The bytes of the record with its header; [`Payload::NONE`] in runs without data.
    fn record_bytes(&self, volume: u32, block_bytes: u32, data: &[Payload]) -> Payload {
        let data = Payload::join(data);
        let Some(bytes) = data.bytes().filter(|bytes| !bytes.is_empty()) else { return Payload::NONE };
        let header = encode(volume, self.sequence, &self.record.runs, bytes, block_bytes);
        Payload::join(&[Payload::of(&header), data])
    }

    /// Marks all pending writes as stalled, and fails them if the cleaner has stopped.
    fn stall(&mut self, cleaner_failure: Option<Status>, counts: &mut Counts, context: &mut Context<'_>) {
        let now = context.now();
        if counts.stalled_since.is_none() {
            counts.stalled_since = Some(now);
            for &id in &self.pending {
                let write = &mut self.writes[id];
                // A write counts as stalled once.
                counts.stalls += u64::from(write.path == RequestPath::Write);
                write.path = RequestPath::WriteStalled;
            }
        }
        let Some(status) = cleaner_failure else { return };
        for id in std::mem::take(&mut self.pending) {
            self.writes[id].split.set_failed(status);
            self.complete(id, counts, context);
        }
        counts.end_stall(now);
    }

    /// Completes a write that was served or failed.
    fn complete(&mut self, id: u64, counts: &mut Counts, context: &mut Context<'_>) {
        let now = context.now();
        let Write { split, path, .. } = &self.writes[id];
        counts.record(*path, now - split.request.arrival);
        context.complete(&split.finish(now).0);
        self.writes.discard(id);
    }

    /// Handles the completed write of the current record.
    pub fn record_written(
        &mut self,
        completion: &Completion,
        log: &mut Log,
        counts: &mut Counts,
        context: &mut Context<'_>,
    ) {
        let mut record = std::mem::take(&mut self.record);
        let blocks = record.blocks();
        self.sequence += 1;
        if completion.is_served() {
            counts.records += 1;
            counts.appended_blocks += u64::from(blocks);
            counts.overwritten_blocks += log.append(&record.runs);
            log.free_oldest();
        }
        for (run, &id) in record.runs.iter().zip(&record.writes) {
            let write = &mut self.writes[id];
            let mut part = *completion;
            // The energy of the record is divided among its data blocks.
            part.service.energy = part.service.energy.share(f64::from(run.blocks) / f64::from(blocks));
            let none_under_way = write.split.complete_part(&part);
            if none_under_way && write.placed == write.split.request.blocks {
                self.complete(id, counts, context);
            }
        }
        record.clear();
        self.record = record;
    }
}
