//! A controller's cache in RAM, over any component.
//!
//! It consists of lines, each of which holds some or all of its blocks. Blocks that a read lacks are read from the child. A write
//! needs no read of the child, because each block is valid or not by itself. With write-back, a write completes when the cache has
//! it, and its blocks are dirty until they are destaged; with write-through, it completes when the child has it. The child may
//! reorder accesses, so the cache does not send an access that overlaps one under way if either is a write.
//!
//! Power cuts: a volatile cache loses all lines. It writes durable requests through, and for a host flush it destages the dirty
//! blocks and then flushes the child. A non-volatile cache keeps its tables and data; its destages are durable.
//!
//! Memory for each line: that of the replacement policy, [`BITS_BYTES`] for each 64 blocks, 4 bytes, and at most 24 more while it
//! is dirty.

mod block_bits;
mod counts;
mod destage_policy;
mod host_flush;
mod lines;
mod read_ahead;
mod reads;
mod spec;
mod writes;

use std::collections::VecDeque;

use counts::{Counts, RequestPath};
use destage_policy::DestagePolicy;
use host_flush::HostFlush;
use lines::{AdmittedLine, Lines, Piece};
use read_ahead::Streams;
pub use spec::{Eviction, FlushSpec, RamCacheSpec, ReadAheadSpec, WritePolicy, KIND};

use crate::convert::{to_u32, trunc_to_u64};
use crate::engine::{Completion, Component, ComponentId, Context, Details, Instrumentation, Payload, PowerLoss};
use crate::fault::Faults;
use crate::hierarchy::cache::replacement::Slot;
use crate::hierarchy::common::{BlockRange, Outstanding, SplitRequest};
use crate::limits::PARTS_OF_A_REQUEST;
use crate::request::{Flags, Op, Request};
use crate::service::Service;
use crate::time::{s_to_ns, Time};

/// Bytes for the properties of 64 blocks of a line.
pub const BITS_BYTES: usize = size_of::<block_bits::Bits>();

/// Timer tag: the time without host requests may be long enough. Other tags are jobs.
const IDLE: u64 = u64::MAX;
/// Timer tag: all dirty blocks have to be destaged.
const PERIOD: u64 = u64::MAX - 1;

/// A host request under way.
#[derive(Clone)]
struct Job {
    split: SplitRequest,
    /// The data to write.
    payload: Payload,
    path: RequestPath,
    arrived: Time,
    /// Number of accesses and lines that it waits for, plus one while it is being served.
    waits: u32,
    /// True if the child has served a part of it.
    used_child: bool,
    /// True if it reads only requested blocks, because a read of more failed.
    reads_exactly: bool,
    /// True if it adds no line: it has too many, or the policy does not admit one of them.
    bypasses: bool,
}

/// Blocks of a job that are to be served.
#[derive(Clone, Copy, Debug)]
struct JobBlocks {
    job: u64,
    range: BlockRange,
    /// The start of their wait.
    since: Time,
    /// True if their lines have been counted as hits or misses.
    is_counted: bool,
}

/// A job that waits for accesses of a line to end.
#[derive(Clone, Copy, Debug)]
struct LineWait {
    line: u64,
    blocks: JobBlocks,
    /// True if the job waits for the line to be evicted, so that all of its blocks have to be written.
    is_eviction: bool,
}

/// The purpose of an access of the child.
#[derive(Clone)]
enum Part {
    /// Read of blocks into lines, for a job or ahead.
    Fill { job: Option<u64>, range: BlockRange },
    /// Write of dirty blocks.
    Destage { range: BlockRange },
    /// Write-through of a job.
    WriteThrough { job: u64 },
    /// Read of a job past the cache, and the lines that it has pinned.
    ReadAround { job: u64, pinned: Vec<Slot> },
    /// Flush for a host flush.
    Flush,
}

/// A cache in RAM.
#[derive(Clone)]
pub struct RamCache {
    child: ComponentId,
    capacity_blocks: u64,
    block_bytes: u32,
    writes_through: bool,
    is_volatile: bool,
    /// True if a job waits for the dirty line that the policy evicts next.
    waits_for_victim: bool,
    access_ns: u64,
    ns_per_block: f64,
    /// True if the rest of a line is read with the requested blocks.
    fills_lines: bool,
    lines: Lines,
    destage_policy: DestagePolicy,
    streams: Option<Streams>,
    jobs: Outstanding<Job>,
    /// Host flushes under way.
    host_flushes: Vec<HostFlush>,
    /// Accesses of the child under way.
    parts: Outstanding<Part>,
    /// Jobs that wait for a line that can be evicted.
    stalled: VecDeque<JobBlocks>,
    /// Jobs that wait for blocks of a line to be read or written.
    waiting: Vec<LineWait>,
    /// Write-throughs under way some of whose lines are not in the cache. Such lines cannot be admitted.
    writes_around: Vec<BlockRange>,
    counts: Counts,
}

impl RamCache {
    /// A cache over `child`, which has `capacity_blocks` blocks of `block_bytes`.
    ///
    /// # Errors
    /// All values that contradict each other, see [`RamCacheSpec::validate`].
    pub fn new(
        spec: &RamCacheSpec,
        child: ComponentId,
        capacity_blocks: u64,
        block_bytes: u32,
    ) -> Result<Self, Faults> {
        spec.validate(capacity_blocks, block_bytes)?;
        let line_blocks = spec.line_bytes / u64::from(block_bytes);
        // Validated: at most 2^31 - 1.
        let slots = to_u32(spec.bytes / spec.line_bytes);
        let half_blocks = u64::from(slots / 2) * line_blocks;
        let streams = match spec.read_ahead {
            ReadAheadSpec::Sequential { most_bytes } => {
                Some(Streams::new(line_blocks, (most_bytes / u64::from(block_bytes)).min(half_blocks)))
            }
            _ => None,
        };
        Ok(Self {
            child,
            capacity_blocks,
            block_bytes,
            writes_through: spec.write == WritePolicy::Through,
            is_volatile: spec.volatile,
            waits_for_victim: spec.eviction == Eviction::Wait,
            access_ns: s_to_ns(spec.access_us * 1e-6),
            ns_per_block: spec.mb_per_s.map_or(0.0, |rate| f64::from(block_bytes) * 1e3 / rate),
            fills_lines: matches!(spec.read_ahead, ReadAheadSpec::Line {}),
            lines: Lines::new(&spec.policy, slots, line_blocks, block_bytes),
            destage_policy: DestagePolicy::new(&spec.flush, slots, block_bytes),
            streams,
            jobs: Outstanding::default(),
            host_flushes: Vec::new(),
            parts: Outstanding::default(),
            stalled: VecDeque::new(),
            waiting: Vec::new(),
            writes_around: Vec::new(),
            counts: Counts::default(),
        })
    }

    /// Returns true if a request has blocks of more lines than half the cache.
    fn is_too_large(&self, request: &Request) -> bool {
        let blocks = self.lines.line_blocks;
        request.end_lbn().div_ceil(blocks) - request.lbn / blocks > u64::from(self.lines.capacity() / 2)
    }

    /// The first path of a request, which adds no lines if `bypasses`.
    fn path_of(&self, request: &Request, bypasses: bool) -> RequestPath {
        let must_be_durable = self.is_volatile && request.flags.contains(Flags::DURABLE);
        match (request.op, bypasses) {
            (Op::Read, false) => RequestPath::ReadHit,
            (Op::Read, true) => RequestPath::ReadAround,
            (Op::Write, false) if !self.writes_through && !must_be_durable => RequestPath::Write,
            (Op::Write | Op::Flush | Op::Reset, _) => RequestPath::WriteThrough,
        }
    }

    /// Serves blocks of a job, or queues it for a line.
    fn serve(&mut self, blocks: JobBlocks, context: &mut Context<'_>) {
        self.lines.set_context(context.now(), Some(self.jobs[blocks.job].split.request.id));
        match self.jobs[blocks.job].path {
            RequestPath::ReadHit | RequestPath::ReadMiss => self.read(blocks, context),
            RequestPath::Write | RequestPath::WriteStalled => self.write(blocks, context),
            RequestPath::WriteThrough => self.write_through(blocks.job, context),
            RequestPath::ReadAround => self.read_around(blocks.job, context),
        }
        self.end_wait(blocks.job, context);
    }

    /// Adds the line of a piece; `None` if the job has to wait with `rest`.
    fn admit(&mut self, piece: &Piece, rest: JobBlocks, context: &mut Context<'_>) -> Option<Slot> {
        if self.is_written_around(piece.line) {
            self.wait_for_line(piece.line, rest, context);
            return None;
        }
        if let Some(victim) = self.dirty_victim(1) {
            self.wait_for_victim(victim, rest, context);
            return None;
        }
        let Some(AdmittedLine { slot, wasted_blocks }) = self.lines.admit(piece.line) else {
            self.stall(rest, context);
            return None;
        };
        self.counts.ahead_wasted_blocks += wasted_blocks;
        Some(slot)
    }

    /// The first dirty line that has to be written before `admitted` lines can be admitted, if any.
    fn dirty_victim(&self, admitted: u32) -> Option<u64> {
        if self.waits_for_victim {
            self.lines.dirty_victim(admitted)
        } else {
            None
        }
    }

    /// Returns true if a write-through that has no lines for all of its blocks writes blocks of a line.
    fn is_written_around(&self, line: u64) -> bool {
        let (from, to) = (line * self.lines.line_blocks, (line + 1) * self.lines.line_blocks);
        self.writes_around.iter().any(|write| write.from < to && from < write.to)
    }

    /// Queues blocks of a job until accesses of a line have ended.
    fn wait_for_line(&mut self, line: u64, blocks: JobBlocks, context: &Context<'_>) {
        self.jobs[blocks.job].waits += 1;
        let blocks = JobBlocks { since: context.now(), ..blocks };
        self.waiting.push(LineWait { line, blocks, is_eviction: false });
    }

    /// Destages the dirty blocks of a line, with those that follow them, and queues blocks of a job until they are written.
    fn wait_for_victim(&mut self, line: u64, blocks: JobBlocks, context: &mut Context<'_>) {
        let blocks = self.begin_stall(blocks, context);
        self.waiting.push(LineWait { line, blocks, is_eviction: true });
        let (mut from, end) = (line * self.lines.line_blocks, (line + 1) * self.lines.line_blocks);
        while let Some(run) = self.destage_policy.next_of_victim(&self.lines, from, end) {
            self.destage(run, context);
            from = run.to;
        }
    }

    /// Queues blocks of a job until a line can be evicted.
    fn stall(&mut self, blocks: JobBlocks, context: &Context<'_>) {
        let blocks = self.begin_stall(blocks, context);
        self.stalled.push_back(blocks);
    }

    /// Counts a wait for a line that can be evicted, from now on.
    fn begin_stall(&mut self, blocks: JobBlocks, context: &Context<'_>) -> JobBlocks {
        self.counts.stalls += 1;
        let job = &mut self.jobs[blocks.job];
        job.waits += 1;
        if job.path == RequestPath::Write {
            job.path = RequestPath::WriteStalled;
        }
        JobBlocks { since: context.now(), ..blocks }
    }

    /// Ends one of the waits of a job, and completes it after the last.
    fn end_wait(&mut self, id: u64, context: &mut Context<'_>) {
        self.lines.stop_if_policy_failed(Some(&self.jobs[id].split.request), context);
        let job = &mut self.jobs[id];
        job.waits -= 1;
        if job.waits > 0 {
            return;
        }
        let now = context.now();
        if !job.used_child {
            let service = Service { start: now, end: now, free: now, ..Service::default() };
            job.split.add_parts(1);
            job.split.complete_part(&Completion::of(job.split.request, service));
        }
        let (path, blocks) = (job.path, job.split.request.blocks);
        let delay_ns = self.cache_ns(path, blocks);
        if delay_ns == 0 {
            self.complete(id, context);
        } else {
            context.timer(now + delay_ns, id);
        }
    }

    /// Time of the cache itself for a request, ns.
    fn cache_ns(&self, path: RequestPath, blocks: u32) -> u64 {
        match path {
            RequestPath::WriteThrough | RequestPath::ReadAround => 0,
            _ => self.access_ns + trunc_to_u64(self.ns_per_block * f64::from(blocks) + 0.5),
        }
    }

    fn complete(&mut self, id: u64, context: &mut Context<'_>) {
        let job = self.jobs.take(id);
        let now = context.now();
        let (mut completion, payload) = job.split.finish(now);
        // The background phase is the wait, plus the time of the cache itself at the end.
        let phases = &mut completion.service.phases;
        let cache_ns = self.cache_ns(job.path, completion.request.blocks).min(phases.background_ns);
        phases.background_ns -= cache_ns;
        phases.command_ns += cache_ns;
        self.counts.record(job.path, now - job.arrived);
        self.destage_policy.request_ended(now);
        context.complete_with(&completion, payload);
    }

    /// Serves jobs that wait for lines of a range.
    fn resume(&mut self, range: BlockRange, context: &mut Context<'_>) {
        if self.waiting.is_empty() {
            return;
        }
        let blocks = self.lines.line_blocks;
        let lines = range.from / blocks..range.to.div_ceil(blocks);
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let (resumed, waiting): (Vec<LineWait>, _) = waiting.partition(|wait| {
            lines.contains(&wait.line) && !(wait.is_eviction && self.lines.is_being_written(wait.line))
        });
        self.waiting = waiting;
        for LineWait { blocks, is_eviction, .. } in resumed {
            if is_eviction {
                self.counts.stall_ns += u128::from(context.now() - blocks.since);
            }
            self.serve(blocks, context);
        }
    }

    /// Serves stalled jobs, destages dirty blocks and sets timers, as far as possible after an event. `request` is set if the event is
    /// its arrival.
    fn after_event(&mut self, request: Option<&Request>, context: &mut Context<'_>) {
        let now = context.now();
        if self.lines.stop_if_policy_failed(request, context) {
            return;
        }
        while !self.stalled.is_empty() && (self.lines.can_admit() || self.dirty_victim(1).is_some()) {
            let Some(blocks) = self.stalled.pop_front() else { break };
            self.counts.stall_ns += u128::from(now - blocks.since);
            let others = self.stalled.len();
            self.serve(blocks, context);
            if self.stalled.len() > others {
                // It is stalled again and keeps its place.
                self.stalled.rotate_right(1);
                break;
            }
        }
        while let Some(run) = self.destage_policy.next(&self.lines, &self.host_flushes, !self.stalled.is_empty()) {
            self.destage(run, context);
        }
        if self.lines.dirty_lines() > 0 {
            if let Some(at) = self.destage_policy.set_period_timer(now) {
                context.timer(at, PERIOD);
            }
            if self.has_no_requests() {
                if let Some(at) = self.destage_policy.set_idle_timer() {
                    context.timer(at.max(now), IDLE);
                }
            }
        }
        self.counts.dirty.set(now, self.lines.dirty_lines());
    }

    /// Returns true if no host request is under way.
    fn has_no_requests(&self) -> bool {
        self.jobs.is_empty() && self.host_flushes.is_empty()
    }

    /// Copies the data of blocks in the cache to a read, in runs that hold data.
    fn copy_data(&mut self, job: u64, range: BlockRange, context: &Context<'_>) {
        if !context.holds_data() {
            return;
        }
        let split = &mut self.jobs[job].split;
        let (from, to) = (range.from.max(split.request.lbn), range.to.min(split.request.end_lbn()));
        if from < to {
            let first = from - split.request.lbn;
            split.store_read(first, &self.lines.data(from, to - from), self.block_bytes);
        }
    }

    /// Adds the outcome of an access for a job.
    fn complete_part(&mut self, job: u64, completion: &Completion) {
        let job = &mut self.jobs[job];
        job.used_child = true;
        job.split.complete_part(completion);
    }

    /// Sends an access for a job to the child and returns its id.
    fn send(&mut self, job: u64, part: Part, request: Request, payload: Payload, context: &mut Context<'_>) -> u64 {
        self.jobs[job].waits += 1;
        self.jobs[job].split.add_parts(1);
        let id = self.parts.insert(part);
        context.submit_with(self.child, Request { id, arrival: context.now(), ..request }, payload);
        id
    }
}

impl Component for RamCache {
    fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let now = context.now();
        let payload = context.payload(&request);
        self.destage_policy.request_arrived(now);
        if request.is_flush() {
            self.begin_flush(request, context);
            self.after_event(Some(&request), context);
            return;
        }
        let bypasses = self.is_too_large(&request) || !self.lines.admits_request(&request, now);
        let (path, split) = (self.path_of(&request, bypasses), SplitRequest::new(request));
        let (used_child, reads_exactly) = (false, false);
        let job = Job { split, payload, path, arrived: now, waits: 1, used_child, reads_exactly, bypasses };
        let (job, range) = (self.jobs.insert(job), BlockRange::new(request.lbn, request.end_lbn()));
        self.serve(JobBlocks { job, range, since: now, is_counted: false }, context);
        if path == RequestPath::ReadHit {
            self.read_ahead(range, context);
        }
        self.after_event(Some(&request), context);
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let data = context.read_payload(child, completion);
        match self.parts.take(completion.request.id) {
            Part::Fill { job, range } => self.fill_completed(job, range, completion, &data, context),
            Part::Destage { range } => {
                self.destage_policy.destage_ended();
                self.destage_completed(range, completion, context);
                self.write_ended(completion, context);
            }
            Part::WriteThrough { job } => {
                self.write_through_completed(job, completion, context);
                self.write_ended(completion, context);
            }
            Part::Flush => self.child_flushed(completion, context),
            Part::ReadAround { job, pinned } => {
                self.read_around_completed(job, &pinned, completion, &data, context);
            }
        }
        self.after_event(None, context);
    }

    fn timer(&mut self, tag: u64, context: &mut Context<'_>) {
        match tag {
            PERIOD => self.destage_policy.begin_pass(),
            IDLE => self.destage_policy.idle_timer_fired(context.now(), self.has_no_requests()),
            job => self.complete(job, context),
        }
        self.after_event(None, context);
    }

    fn part_blocks(&self) -> Option<u64> {
        // Requests with more lines than half the cache are not split.
        let max_parts = u64::from(self.lines.capacity() / 2);
        (max_parts > PARTS_OF_A_REQUEST.most).then_some(self.lines.line_blocks)
    }
}

impl PowerLoss for RamCache {
    fn may_lose_writes(&self, children: bool) -> bool {
        self.is_volatile && (!self.writes_through || children)
    }

    fn power_cut(&mut self, now: Time) {
        self.jobs.clear();
        self.host_flushes.clear();
        self.parts.clear();
        self.stalled.clear();
        self.waiting.clear();
        self.writes_around.clear();
        self.destage_policy.power_cut(now);
        self.streams.iter_mut().for_each(Streams::clear);
        if self.is_volatile {
            self.lines.clear();
        } else {
            self.lines.recover(now);
        }
        self.counts.dirty.set(now, self.lines.dirty_lines());
    }

    /// A non-volatile cache needs no recovery time. Its dirty blocks are destaged as usual.
    fn restart(&mut self, context: &mut Context<'_>) {
        self.after_event(None, context);
    }
}

impl Instrumentation for RamCache {
    fn check_invariants(&self, at_rest: bool) -> Result<(), String> {
        let (jobs, parts) = (self.jobs.len() + self.host_flushes.len(), self.parts.len());
        let waiting = self.stalled.len() + self.waiting.len() + self.writes_around.len();
        if at_rest && jobs + parts + waiting > 0 {
            return Err(format!("at rest with {jobs} requests, {parts} accesses, {waiting} waiting"));
        }
        let destages = self.destage_policy.under_way();
        if destages as usize > parts {
            return Err(format!("{destages} destages under way, but {parts} accesses"));
        }
        self.lines.check(at_rest)
    }

    fn details(&self, now: Time) -> Option<Details> {
        Some(self.counts.details(now, &self.lines))
    }

    fn start_measuring(&mut self, now: Time) {
        self.counts.restart(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inconsistencies_are_named() {
        type Damage = fn(&mut RamCache);
        let cases: [(&str, bool, Damage); 3] = [
            ("at rest with 0 requests, 0 accesses, 1 waiting", true, |cache| {
                cache.writes_around.push(BlockRange::new(0, 8))
            }),
            ("1 destages under way, but 0 accesses", false, |cache| {
                let AdmittedLine { slot, .. } = cache.lines.admit(0).expect("a slot is free");
                cache.lines.write(slot, &Piece { line: 0, from: 0, to: 1, lbn: 0 }, &Payload::NONE);
                cache.destage_policy.next(&cache.lines, &[], true).expect("there is something to write");
            }),
            ("at rest with 0 requests, 1 accesses", true, |cache| {
                cache.parts.insert(Part::Destage { range: BlockRange::new(0, 8) });
            }),
        ];
        let spec: RamCacheSpec = serde_json::from_value(serde_json::json!({ "bytes": 1 << 20 })).expect("a spec");
        for (expected, at_rest, damage) in cases {
            let mut cache = RamCache::new(&spec, ComponentId(0), 100_000, 512).expect("they fit");
            assert_eq!(cache.check_invariants(at_rest), Ok(()));
            damage(&mut cache);
            let error = cache.check_invariants(at_rest).expect_err(expected);
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }
}
