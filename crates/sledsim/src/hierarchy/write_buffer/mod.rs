//! A MEMS device as a write buffer of a disk: hong2006, section 4.1.1.
//!
//! Writes are appended to a log on the MEMS device, one access at a time: whatever comes while one is under way goes into the
//! next record together. A record is one contiguous write of a header, see [`header`], and the data. It never reaches beyond
//! the end of a log, so that a write longer than the rest of a log takes two accesses or more.
//!
//! A write is in the table, and complete, when its last record is on the MEMS device; until then reads find what was there
//! before. A read is cut where the newest copies of its blocks lie: blocks in the log are read there, records that follow each
//! other with the header between them in one access; of the disk one access reads from the first to the last block that the log
//! has not.
//!
//! The logs are a ring. A log is used again only when all its blocks have been written to the disk or outdated by newer copies,
//! and only after all older ones, so that what is in the log is newer than what is on the disk, and what is newer than something
//! in the log is in the log too. That is why the table can be made from the headers alone after a power cut, and why no pointer
//! to the head has to be kept: the head is where the sequence numbers end.
//!
//! It takes 16 bytes for each block of the log, see [`table`], and 8 for each log.

mod append;
mod clean;
mod counts;
mod header;
mod read;
mod recover;
mod ring;
mod spec;
mod table;

use std::collections::VecDeque;

use self::append::{Record, Write};
use self::clean::Cleaner;
use self::counts::Counts;
use self::read::{Part, Piece, Read};
use self::recover::Recovery;
use self::ring::Ring;
use super::common::{Child, Outstanding};
use crate::engine::{
    Completion, Component, ComponentId, Context, Details, Instrumentation, Payload, PowerLoss, Status,
};
use crate::fault::{Fault, Kind};
use crate::request::{Flags, Op, Padding, Request};
use crate::service::Service;
use crate::time::Time;

pub use header::MAGIC;
pub use spec::{WriteBufferCleanSpec, WriteBufferSpec, KIND};

/// Most blocks of a log of which it is checked after every completion that its table is right.
const MOST_CHECKED: u32 = 256;

/// What a request to a child is for.
#[derive(Clone, Debug)]
enum Job {
    /// Part of a read; `pin` is a block of the log that is read.
    Read { read: u64, pieces: Vec<Piece>, pin: Option<u32> },
    /// The record under way.
    Append,
    /// Valid blocks of a log that is cleaned.
    CleanRead,
    /// Blocks of the pass under way, from one to another.
    CleanWrite { from: usize, to: usize },
    /// A whole log, after a power cut.
    Recover,
}

/// A MEMS device before a disk, as a write buffer. It offers the blocks of the disk.
#[derive(Clone, Debug)]
pub struct WriteBuffer {
    mems: Child,
    disk: Child,
    ring: Ring,
    /// Number of the next record.
    sequence: u64,
    jobs: Outstanding<Job>,
    reads: Outstanding<Read>,
    writes: Outstanding<Write>,
    /// Writes of which something is still to be appended, oldest first.
    pending: VecDeque<u64>,
    record: Record,
    cleaner: Cleaner,
    recovery: Option<Recovery>,
    /// Requests that wait until it has recovered.
    waiting: Vec<(Request, Payload)>,
    /// Why nothing can be served: the log could not be read back.
    lost: Option<Status>,
    counts: Counts,
    /// Parts of the read that is being cut; kept for its room.
    parts: Vec<Part>,
}

impl WriteBuffer {
    /// A write buffer for `disk` on `mems`.
    ///
    /// # Errors
    /// Sizes that do not fit each other: names both.
    pub fn new(spec: &WriteBufferSpec, mems: Child, disk: Child) -> Result<Self, Fault> {
        if mems.block_bytes != disk.block_bytes {
            let (ours, theirs) = (mems.block_bytes, disk.block_bytes);
            return Err(Fault::at(Kind::Misfit, "mems")
                .says(format!(" has blocks of {ours} B, "))
                .key("disk")
                .says(format!(" of {theirs} B: they must be equal")));
        }
        if header::most_runs(mems.block_bytes) == 0 {
            let few = format!(" has blocks of {} B, too few for a header", mems.block_bytes);
            return Err(Fault::at(Kind::Misfit, "mems").says(few));
        }
        let (logs, log_blocks) = spec.logs(mems.bytes(), disk.bytes(), mems.block_bytes)?;
        Ok(Self {
            mems,
            disk,
            ring: Ring::new(logs, log_blocks)?,
            sequence: 0,
            jobs: Outstanding::default(),
            reads: Outstanding::default(),
            writes: Outstanding::default(),
            pending: VecDeque::new(),
            record: Record::default(),
            cleaner: Cleaner::new(spec, logs, mems.block_bytes),
            recovery: None,
            waiting: Vec::new(),
            lost: None,
            counts: Counts::default(),
            parts: Vec::new(),
        })
    }

    /// A request on its own account.
    fn own(&mut self, job: Job, op: Op, lbn: u64, blocks: u32, now: Time) -> Request {
        let flags = if op == Op::Write { Flags::BACKGROUND.with(Flags::DURABLE) } else { Flags::BACKGROUND };
        Request { id: self.jobs.insert(job), arrival: now, lbn, blocks, op, flags, origin: 0, padding: Padding::NONE }
    }

    /// Begins with a request that fits.
    fn begin(&mut self, request: Request, payload: Payload, context: &mut Context<'_>) {
        match (self.lost, request.op) {
            (Some(status), _) => context.complete(&unserved(request, status, context.now())),
            (None, Op::Read) => self.read(request, context),
            (None, Op::Write | Op::Flush) => self.write(request, payload, context),
        }
    }
}

/// A request that comes back at `now`, not served.
fn unserved(request: Request, status: Status, now: Time) -> Completion {
    let service = Service { start: now, end: now, free: now, ..Service::default() };
    Completion { request, service, status }
}

impl Component for WriteBuffer {
    fn capacity_blocks(&self) -> u64 {
        self.disk.capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        self.disk.block_bytes
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let payload = context.payload(&request);
        if self.recovery.is_some() {
            self.waiting.push((request, payload));
        } else {
            self.begin(request, payload, context);
        }
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let answer = context.read_payload(child, completion);
        match self.jobs.remove(completion.request.id).expect("what comes back was sent, and comes back once") {
            Job::Read { read, pieces, pin } => self.read_part(read, &pieces, pin, completion, &answer, context),
            Job::Append => self.appended(completion, context),
            Job::CleanRead => self.log_read(completion, &answer, context),
            Job::CleanWrite { from, to } => self.written_back(from, to, completion, context),
            Job::Recover => self.recovered(completion, &answer, context),
        }
        debug_assert!(self.ring.table.len() > MOST_CHECKED || self.ring.is_sound(), "the log and its table agree");
    }

    fn timer(&mut self, _tag: u64, context: &mut Context<'_>) {
        self.cleaner.timer = false;
        self.clean(context);
    }

    fn part_blocks(&self) -> Option<u64> {
        Some(u64::from(self.ring.slot_blocks))
    }
}

impl PowerLoss for WriteBuffer {
    /// All writes to the children are durable.
    fn may_lose_writes(&self, _children: bool) -> bool {
        false
    }

    fn power_cut(&mut self, now: Time) {
        self.jobs.clear();
        self.reads.clear();
        self.writes.clear();
        self.pending.clear();
        self.waiting.clear();
        self.record.clear();
        self.ring.unpin_all();
        self.cleaner.forget(now);
        self.counts.flows(now);
        self.recovery = None;
        self.lost = None;
    }

    fn restart(&mut self, context: &mut Context<'_>) {
        self.recover(context);
    }

    fn is_recovering(&self) -> bool {
        self.recovery.is_some()
    }
}

impl Instrumentation for WriteBuffer {
    fn check_invariants(&self, at_rest: bool) -> Result<(), String> {
        let (reads, writes, accesses) = (self.reads.len(), self.writes.len(), self.jobs.len());
        let waiting = self.pending.len() + self.waiting.len();
        if at_rest && reads + writes + accesses + waiting > 0 {
            return Err(format!("at rest with {reads} reads, {writes} writes, {accesses} accesses, {waiting} waiting"));
        }
        if self.pending.len() > writes {
            return Err(format!("{} of {writes} writes are still to be appended", self.pending.len()));
        }
        // The table is made anew from the log before it has recovered.
        if self.recovery.is_none() && !self.ring.is_sound() {
            return Err("the log, its table and what is counted of both do not agree".to_owned());
        }
        Ok(())
    }

    fn details(&self, now: Time) -> Option<Details> {
        let (filled, logs) = (self.ring.filled(), self.ring.slots());
        Some(self.counts.details(now, filled, logs, self.ring.slot_blocks))
    }

    fn start_measuring(&mut self, now: Time) {
        let stalled_since = self.counts.stalled_since.map(|_| now);
        self.counts = Counts { stalled_since, ..Counts::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each part that goes wrong, and a word of what is said of it.
    #[test]
    fn whatever_is_not_in_order_is_told() {
        type Act = fn(&mut WriteBuffer);
        let acts: [(&str, bool, Act); 5] = [
            ("the log, its table", true, |buffer| _ = buffer.ring.table.put(9, 5)),
            ("the log, its table", true, |buffer| buffer.ring.pin(buffer.ring.slot_blocks * 2)),
            ("at rest with 0 reads, 0 writes, 1 accesses", true, |buffer| _ = buffer.jobs.insert(Job::Append)),
            ("at rest with 0 reads, 0 writes, 0 accesses, 1 waiting", true, |buffer| buffer.pending.push_back(4)),
            ("1 of 0 writes are still to be appended", false, |buffer| buffer.pending.push_back(4)),
        ];
        for (word, at_rest, act) in acts {
            let child = |id, capacity_blocks| Child { id: ComponentId(id), capacity_blocks, block_bytes: 512 };
            let mut buffer =
                WriteBuffer::new(&WriteBufferSpec::default(), child(0, 50_000), child(1, 1_000_000)).expect("they fit");
            assert_eq!(buffer.check_invariants(true), Ok(()));
            act(&mut buffer);
            let told = buffer.check_invariants(at_rest).expect_err(word);
            assert!(told.contains(word), "{word}: {told}");
        }
    }
}
