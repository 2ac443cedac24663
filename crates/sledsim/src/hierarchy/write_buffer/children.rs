//! The children of a write buffer, the MEMS device and the disk, and the accesses of them under way.

use super::reads::Piece;
use crate::engine::{Completion, Context, Payload};
use crate::hierarchy::common::{Child, Outstanding};
use crate::request::{Flags, Op, Padding, Request};

/// The purpose of an access of a child.
#[derive(Clone, Debug)]
pub(super) enum Job {
    /// Part of a host read. `pin` is a block of the log that is read; `None` for a read of the disk.
    Read { read: u64, pieces: Vec<Piece>, pin: Option<u32> },
    /// Write of the current record.
    Append,
    /// Read of the valid blocks of a log that is cleaned.
    CleanRead,
    /// Write to the disk of the blocks `from` to `to` of the current cleaning pass.
    CleanWrite { from: usize, to: usize },
    /// Read of a whole log after a power cut.
    Recover,
}

/// The MEMS device, the disk, and the accesses under way.
#[derive(Clone, Debug)]
pub(super) struct Children {
    pub mems: Child,
    pub disk: Child,
    jobs: Outstanding<Job>,
}

impl Children {
    pub fn new(mems: Child, disk: Child) -> Self {
        Self { mems, disk, jobs: Outstanding::default() }
    }

    /// Sends an access in the background, for no single host request. Writes are durable.
    pub fn send(&mut self, job: Job, op: Op, lbn: u64, blocks: u32, data: Payload, context: &mut Context<'_>) {
        let flags = if op == Op::Write { Flags::BACKGROUND.with(Flags::DURABLE) } else { Flags::BACKGROUND };
        let (arrival, padding) = (context.now(), Padding::NONE);
        self.pass(job, Request { id: 0, arrival, lbn, blocks, op, flags, origin: 0, padding }, data, context);
    }

    /// Sends a request now and with a new id.
    pub fn pass(&mut self, job: Job, request: Request, data: Payload, context: &mut Context<'_>) {
        let child = match job {
            Job::Read { pin: None, .. } | Job::CleanWrite { .. } => self.disk.id,
            _ => self.mems.id,
        };
        let (id, arrival) = (self.jobs.insert(job), context.now());
        context.submit_with(child, Request { id, arrival, ..request }, data);
    }

    /// Removes a completed access and returns its purpose.
    pub fn complete(&mut self, completion: &Completion) -> Job {
        self.jobs.take(completion.request.id)
    }

    /// Number of accesses under way.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Drops all accesses under way.
    pub fn clear(&mut self) {
        self.jobs.clear();
    }

    /// Adds an access that was not sent.
    #[cfg(test)]
    pub fn insert(&mut self, job: Job) {
        self.jobs.insert(job);
    }
}
