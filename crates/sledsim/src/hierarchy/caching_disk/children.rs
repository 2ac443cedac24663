//! The two components below a caching disk, MEMS and the disk, and what each access of them is for.

use super::requests::Piece;
use crate::engine::{Completion, ComponentId, Context, Payload};
use crate::hierarchy::common::Outstanding;
use crate::request::{Flags, Op, Padding, Request};

/// What a request of its own to a child is for.
#[derive(Clone, Debug)]
pub(super) enum Job {
    /// MEMS access of a request from above whose blocks are all there, in one slot; what it writes.
    Hit { request: Request, slot: u32, data: Payload },
    /// MEMS access of a piece in a slot; whether its blocks become valid.
    Access { piece: Piece, slot: u32, validates: bool },
    /// Disk access for a request from above, from which of its blocks on.
    Direct { whole: u64, first: u32 },
    /// Disk read of a segment.
    Fill { transit: u64 },
    /// MEMS write of a segment, or of parts of it.
    Place { transit: u64 },
    /// MEMS read of a changed segment.
    Fetch { destage: u64 },
    /// Disk write of a part of it.
    Destage { destage: u64 },
    /// MEMS write of a header.
    Header { slot: u32 },
    /// MEMS read of headers, from that block on.
    Recover { lbn: u64 },
}

/// What was sent in the measurement window.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {
    pub fills: u64,
    pub filled_blocks: u64,
    pub destage_writes: u64,
    pub destaged_blocks: u64,
    pub header_writes: u64,
}

/// MEMS and the disk, and what is under way there.
#[derive(Clone, Debug)]
pub(super) struct Children {
    mems: ComponentId,
    disk: ComponentId,
    jobs: Outstanding<Job>,
    /// Accesses of the disk under way.
    disk_accesses: u32,
    pub sent: Sent,
}

impl Children {
    pub fn new(mems: ComponentId, disk: ComponentId) -> Self {
        Self { mems, disk, jobs: Outstanding::default(), disk_accesses: 0, sent: Sent::default() }
    }

    /// Sends a request that nobody above asked for as such.
    pub fn send(&mut self, job: Job, op: Op, place: (u64, u32), data: Payload, context: &mut Context<'_>) {
        let ((lbn, blocks), sent) = (place, &mut self.sent);
        match job {
            Job::Fill { .. } => {
                (sent.fills, sent.filled_blocks) = (sent.fills + 1, sent.filled_blocks + u64::from(blocks));
            }
            Job::Destage { .. } => {
                sent.destage_writes += 1;
                sent.destaged_blocks += u64::from(blocks);
            }
            Job::Header { .. } => sent.header_writes += 1,
            _ => {}
        }
        let (arrival, flags, padding) = (context.now(), Flags::NONE, Padding::NONE);
        self.pass(job, Request { id: 0, arrival, lbn, blocks, op, flags, origin: 0, padding }, data, context);
    }

    /// Sends a request on, now and with an id of its own. Whatever is written, something else is given up for it.
    #[inline]
    pub fn pass(&mut self, job: Job, request: Request, data: Payload, context: &mut Context<'_>) {
        let to = match job {
            Job::Direct { .. } | Job::Fill { .. } | Job::Destage { .. } => {
                self.disk_accesses += 1;
                self.disk
            }
            _ => self.mems,
        };
        let flags = if request.op == Op::Write { request.flags.with(Flags::DURABLE) } else { request.flags };
        let (id, arrival) = (self.jobs.insert(job), context.now());
        context.submit_with(to, Request { id, arrival, flags, ..request }, data);
    }

    /// What a request was for that has come back.
    #[inline]
    pub fn settle(&mut self, completion: &Completion) -> Job {
        let job = self.jobs.remove(completion.request.id).expect("what comes back was sent, and comes back once");
        if matches!(job, Job::Direct { .. } | Job::Fill { .. } | Job::Destage { .. }) {
            self.disk_accesses -= 1;
        }
        job
    }

    /// Whether a child is MEMS.
    #[inline]
    pub fn is_mems(&self, child: ComponentId) -> bool {
        child == self.mems
    }

    /// Whether the disk has nothing to do.
    pub const fn disk_is_idle(&self) -> bool {
        self.disk_accesses == 0
    }

    /// How many accesses are under way.
    pub fn under_way(&self) -> usize {
        self.jobs.len()
    }

    /// Nothing is under way any more.
    pub fn forget(&mut self) {
        self.jobs.clear();
        self.disk_accesses = 0;
    }
}
