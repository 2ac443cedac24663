//! A MEMS device as a write buffer of a disk: hong2006, section 4.1.1.
//!
//! Writes are appended to a log on the MEMS device, one access at a time: all writes that arrive during an access go into the
//! next record together. A record is one contiguous write of a header, see `header`, and the data. It never reaches beyond the
//! end of a log, so that a write longer than the rest of a log takes two accesses or more.
//!
//! A write is in the map, and complete, when its last record is on the MEMS device; until then reads find the older blocks. A
//! read is split by the places of the newest copies of its blocks. Blocks in the log are read there; records that follow each
//! other with only a header between them are read in one access. One access of the disk reads from the first to the last block
//! that is not in the log.
//!
//! The logs form a ring. A log is reused when all its blocks have been written to the disk or outdated by newer copies, and only
//! after all older logs. So blocks in the log are newer than those on the disk, and blocks newer than one in the log are in the
//! log, too. Therefore the map can be rebuilt from the headers alone after a power cut, and no pointer to the head has to be kept:
//! the head is where the sequence numbers end.
//!
//! Memory: 16 bytes for each block of the log, see `block_map`, and 8 for each log.

mod appender;
mod block_map;
mod children;
mod cleaner;
mod counts;
mod header;
mod log;
mod reads;
mod recovery;
mod spec;

use self::appender::Appender;
use self::children::{Children, Job};
use self::cleaner::{CleanStep, Cleaner};
use self::counts::Counts;
use self::log::Log;
use self::reads::Reads;
use self::recovery::Recovery;
use self::spec::LogSizes;
use super::common::Child;
use crate::engine::{
    Completion, Component, ComponentId, Context, Details, Instrumentation, Payload, PowerLoss, Status,
};
use crate::fault::{Fault, Kind};
use crate::request::{Op, Request};
use crate::service::Service;
use crate::time::Time;

pub use header::MAGIC;
pub use spec::{WriteBufferCleanSpec, WriteBufferSpec, KIND};

/// The consistency of the log is checked after every completion in debug builds, up to this number of blocks.
const MAX_CHECKED_BLOCKS: u32 = 256;

/// A MEMS device that buffers the writes of a disk. It has the blocks of the disk.
#[derive(Clone, Debug)]
pub struct WriteBuffer {
    children: Children,
    log: Log,
    reads: Reads,
    appender: Appender,
    cleaner: Cleaner,
    recovery: Option<Recovery>,
    /// The status of all requests, if the log could not be read back.
    lost: Option<Status>,
    counts: Counts,
}

impl WriteBuffer {
    /// A write buffer for `disk` on `mems`.
    ///
    /// # Errors
    /// Sizes that contradict each other.
    pub fn new(spec: &WriteBufferSpec, mems: Child, disk: Child) -> Result<Self, Fault> {
        let block_bytes = mems.block_bytes;
        if block_bytes != disk.block_bytes {
            return Err(Fault::at(Kind::Misfit, "mems")
                .says(format!(" has blocks of {block_bytes} B, "))
                .key("disk")
                .says(format!(" of {} B: they must be equal", disk.block_bytes)));
        }
        if header::max_runs(block_bytes) == 0 {
            let few = format!(" has blocks of {block_bytes} B, too few for a header");
            return Err(Fault::at(Kind::Misfit, "mems").says(few));
        }
        let LogSizes { logs, log_blocks } = spec.logs(mems.bytes(), disk.bytes(), block_bytes)?;
        Ok(Self {
            children: Children::new(mems, disk),
            log: Log::new(logs, log_blocks)?,
            reads: Reads::new(block_bytes),
            appender: Appender::default(),
            cleaner: Cleaner::new(spec, logs, block_bytes),
            recovery: None,
            lost: None,
            counts: Counts::default(),
        })
    }

    /// Begins a host request.
    fn begin(&mut self, request: Request, payload: Payload, context: &mut Context<'_>) {
        match (self.lost, request.op) {
            (Some(status), _) => {
                let now = context.now();
                let service = Service { start: now, end: now, free: now, ..Service::default() };
                context.complete(&Completion { request, service, status });
            }
            (None, Op::Read) => {
                self.reads.begin(request, &mut self.log, &mut self.cleaner, &mut self.children, context);
            }
            (None, Op::Write | Op::Flush | Op::Reset) => {
                self.appender.add(request, payload, &mut self.counts);
                self.append(context);
                self.clean(context);
            }
        }
    }

    /// Appends pending writes to the log as far as possible.
    fn append(&mut self, context: &mut Context<'_>) {
        let failure = self.cleaner.failure;
        self.appender.append(&mut self.log, &mut self.children, failure, &mut self.counts, context);
    }

    /// Cleans logs as far as possible.
    fn clean(&mut self, context: &mut Context<'_>) {
        loop {
            match self.cleaner.step(&mut self.log, &mut self.children, &mut self.counts, context) {
                CleanStep::Waits => return,
                CleanStep::BeganPass => {}
                CleanStep::EndedPass => {
                    self.log.free_oldest();
                    self.append(context);
                }
            }
        }
    }

    /// Ends the recovery and begins the requests that have waited. `completion` is its last read.
    fn end_recovery(&mut self, completion: &Completion, context: &mut Context<'_>) {
        let recovery = self.recovery.take().expect("a recovery is under way");
        self.lost = (!completion.is_served()).then_some(completion.status);
        if context.holds_data() {
            self.appender.sequence = recovery.next_sequence;
            recovery.replay(&mut self.log);
        }
        self.log.free_oldest();
        self.counts.recovery_ns += context.now() - recovery.began;
        for (request, payload) in recovery.waiting {
            self.begin(request, payload, context);
        }
        self.clean(context);
    }
}

impl Component for WriteBuffer {
    fn capacity_blocks(&self) -> u64 {
        self.children.disk.capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        self.children.disk.block_bytes
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let payload = context.payload(&request);
        match &mut self.recovery {
            Some(recovery) => recovery.waiting.push((request, payload)),
            None => self.begin(request, payload, context),
        }
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let answer = context.read_payload(child, completion);
        match self.children.complete(completion) {
            Job::Read { read, pieces, pin } => {
                match pin {
                    Some(at) => {
                        self.log.unpin(at);
                        self.log.free_oldest();
                    }
                    None => self.cleaner.disk_read_ended(context.now()),
                }
                self.reads.part_completed(read, &pieces, completion, &answer, &mut self.counts, context);
                self.append(context);
                self.clean(context);
            }
            Job::Append => {
                self.appender.record_written(completion, &mut self.log, &mut self.counts, context);
                self.append(context);
                self.clean(context);
            }
            Job::CleanRead => {
                self.cleaner.log_read(completion, &answer);
                self.clean(context);
                self.append(context);
            }
            Job::CleanWrite { from, to } => {
                self.cleaner.blocks_written(from, to, completion, &mut self.log);
                self.clean(context);
                self.append(context);
            }
            Job::Recover => {
                let recovery = self.recovery.as_mut().expect("a recovery ends after its last read");
                if recovery.log_read(completion, &answer, &self.log, &mut self.children, context) {
                    self.end_recovery(completion, context);
                }
            }
        }
        debug_assert!(self.log.map.len() > MAX_CHECKED_BLOCKS || self.log.is_consistent(), "the log and its map agree");
    }

    fn timer(&mut self, _tag: u64, context: &mut Context<'_>) {
        self.cleaner.timer_fired();
        self.clean(context);
    }

    fn part_blocks(&self) -> Option<u64> {
        Some(u64::from(self.log.log_blocks))
    }
}

impl PowerLoss for WriteBuffer {
    /// All writes to the children are durable.
    fn may_lose_writes(&self, _children: bool) -> bool {
        false
    }

    fn power_cut(&mut self, now: Time) {
        self.children.clear();
        self.reads.clear();
        self.appender.clear();
        self.log.unpin_all();
        self.cleaner.clear(now);
        self.counts.end_stall(now);
        self.recovery = None;
        self.lost = None;
    }

    /// Begins to read the log. Runs without data keep the map, because nothing can be read back; the reads only take their time.
    fn restart(&mut self, context: &mut Context<'_>) {
        if context.holds_data() {
            self.log.restart(0, 1, 0);
            self.appender.sequence = 0;
        }
        self.recovery = Some(Recovery::begin(&self.log, &mut self.children, context));
    }

    fn is_recovering(&self) -> bool {
        self.recovery.is_some()
    }
}

impl Instrumentation for WriteBuffer {
    fn check_invariants(&self, at_rest: bool) -> Result<(), String> {
        let (reads, writes, accesses) = (self.reads.len(), self.appender.len(), self.children.len());
        let pending = self.appender.pending();
        let waiting = pending + self.recovery.as_ref().map_or(0, |recovery| recovery.waiting.len());
        if at_rest && reads + writes + accesses + waiting > 0 {
            return Err(format!("at rest with {reads} reads, {writes} writes, {accesses} accesses, {waiting} waiting"));
        }
        if pending > writes {
            return Err(format!("{pending} of {writes} writes are pending"));
        }
        // The map is empty until the recovery ends.
        if self.recovery.is_none() && !self.log.is_consistent() {
            return Err("inconsistent: the log, its map or their counts".to_owned());
        }
        Ok(())
    }

    fn details(&self, now: Time) -> Option<Details> {
        Some(self.counts.details(now, self.log.filled(), self.log.logs(), self.log.log_blocks))
    }

    fn start_measuring(&mut self, now: Time) {
        self.counts.restart(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inconsistent_parts_are_named() {
        type Damage = fn(&mut WriteBuffer);
        let cases: [(&str, bool, Damage); 5] = [
            ("the log, its map", true, |buffer| _ = buffer.log.map.insert(9, 5)),
            ("the log, its map", true, |buffer| buffer.log.pin(buffer.log.log_blocks * 2)),
            ("at rest with 0 reads, 0 writes, 1 accesses", true, |buffer| buffer.children.insert(Job::Append)),
            ("at rest with 0 reads, 0 writes, 0 accesses, 1 waiting", true, |buffer| buffer.appender.insert_pending(4)),
            ("1 of 0 writes are pending", false, |buffer| buffer.appender.insert_pending(4)),
        ];
        for (expected, at_rest, damage) in cases {
            let child = |id, capacity_blocks| Child { id: ComponentId(id), capacity_blocks, block_bytes: 512 };
            let mut buffer = WriteBuffer::new(&WriteBufferSpec::default(), child(0, 50_000), child(1, 1_000_000))
                .expect("the default fits");
            assert_eq!(buffer.check_invariants(true), Ok(()));
            damage(&mut buffer);
            let error = buffer.check_invariants(at_rest).expect_err(expected);
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }
}
