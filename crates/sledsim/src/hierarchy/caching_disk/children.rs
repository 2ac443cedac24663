//! The children of a caching disk, MEMS and the disk, and the accesses of them under way.

use super::requests::Piece;
use crate::convert::to_u32;
use crate::engine::{Completion, ComponentId, Context, Payload};
use crate::hierarchy::common::{BlockRange, Outstanding};
use crate::request::{Flags, Op, Padding, Request};

/// The purpose of an access of a child.
#[derive(Clone, Debug)]
pub(super) enum Job {
    /// MEMS access of a host request whose blocks are all valid in one slot; `data` is written.
    Hit { request: Request, slot: u32, data: Payload },
    /// MEMS access of a piece in a slot. A write makes its blocks valid if `validates`.
    Access { piece: Piece, slot: u32, validates: bool },
    /// Disk access for a host request, from its block `first` on.
    Direct { request_id: u64, first: u32 },
    /// Disk read of a segment that is filled.
    FillRead { fill: u64 },
    /// MEMS write of a segment that is filled, or of parts of it.
    FillWrite { fill: u64 },
    /// MEMS read of a changed segment.
    DestageRead { destage: u64 },
    /// Disk write of a part of a changed segment.
    DestageWrite { destage: u64 },
    /// MEMS write of a header.
    Header { slot: u32 },
    /// MEMS read of headers, from block `lbn` on.
    Recover { lbn: u64 },
}

impl Job {
    /// Returns true if the access goes to the disk, not to MEMS.
    #[inline]
    const fn is_on_disk(&self) -> bool {
        matches!(self, Self::Direct { .. } | Self::FillRead { .. } | Self::DestageWrite { .. })
    }
}

/// Accesses of the children in the measurement window.
#[derive(Clone, Debug, Default)]
pub(super) struct AccessCounts {
    pub fills: u64,
    pub filled_blocks: u64,
    pub destage_writes: u64,
    pub destaged_blocks: u64,
    pub header_writes: u64,
}

/// MEMS, the disk, and the accesses under way.
#[derive(Clone, Debug)]
pub(super) struct Children {
    mems: ComponentId,
    disk: ComponentId,
    jobs: Outstanding<Job>,
    /// Accesses of the disk under way.
    disk_accesses: u32,
    pub counts: AccessCounts,
}

impl Children {
    pub fn new(mems: ComponentId, disk: ComponentId) -> Self {
        Self { mems, disk, jobs: Outstanding::default(), disk_accesses: 0, counts: AccessCounts::default() }
    }

    /// Sends an access that is not part of a single host request.
    pub fn send(&mut self, job: Job, op: Op, range: BlockRange, data: Payload, context: &mut Context<'_>) {
        let (counts, blocks) = (&mut self.counts, range.blocks());
        match job {
            Job::FillRead { .. } => {
                counts.fills += 1;
                counts.filled_blocks += blocks;
            }
            Job::DestageWrite { .. } => {
                counts.destage_writes += 1;
                counts.destaged_blocks += blocks;
            }
            Job::Header { .. } => counts.header_writes += 1,
            _ => {}
        }
        let (arrival, flags, padding) = (context.now(), Flags::NONE, Padding::NONE);
        let (lbn, blocks) = (range.from, to_u32(blocks));
        self.pass(job, Request { id: 0, arrival, lbn, blocks, op, flags, origin: 0, padding }, data, context);
    }

    /// Sends a request now and with a new id. Writes are durable, because another copy is given up once they complete.
    #[inline]
    pub fn pass(&mut self, job: Job, request: Request, data: Payload, context: &mut Context<'_>) {
        let to = if job.is_on_disk() {
            self.disk_accesses += 1;
            self.disk
        } else {
            self.mems
        };
        let flags = if request.op == Op::Write { request.flags.with(Flags::DURABLE) } else { request.flags };
        let (id, arrival) = (self.jobs.insert(job), context.now());
        context.submit_with(to, Request { id, arrival, flags, ..request }, data);
    }

    /// Removes a completed access and returns its purpose.
    #[inline]
    pub fn complete(&mut self, completion: &Completion) -> Job {
        let job = self.jobs.take(completion.request.id);
        self.disk_accesses -= u32::from(job.is_on_disk());
        job
    }

    /// Returns true if a child is MEMS.
    #[inline]
    pub fn is_mems(&self, child: ComponentId) -> bool {
        child == self.mems
    }

    /// Returns true if no access of the disk is under way.
    pub const fn disk_is_idle(&self) -> bool {
        self.disk_accesses == 0
    }

    /// Number of accesses under way.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Drops all accesses under way.
    pub fn clear(&mut self) {
        self.jobs.clear();
        self.disk_accesses = 0;
    }
}
