//! A controller's cache in RAM, over any component.
//!
//! It consists of lines, each of which holds some or all of its blocks. What a read lacks is fetched; a write needs no fetch,
//! since each block is valid or not by itself. Written back, a write is complete when the cache has it, and its blocks are
//! dirty until they are flushed; written through, it is complete when the child has it. A child may do what is under way
//! there in any order: of two that overlap and one of which writes, the cache sends one only when the other is done.
//!
//! Power cuts: a volatile cache forgets all; it writes through what has to be durable, and for a flush what is dirty, then has the
//! child flush. One that keeps its tables and data has promised what it took; what it flushes has to be durable below.
//!
//! Memory for each line: what the replacement policy takes, [`CELL_BYTES`] for each 64 blocks, 4 bytes, and at most 24 more
//! while it is dirty.

mod cells;
mod counts;
mod flush;
mod lines;
mod promises;
mod read_ahead;
mod reading;
mod spec;
mod writing;

use std::collections::VecDeque;

use counts::{Counts, Way};
use flush::Flush;
use lines::{Lines, Piece};
use promises::Promise;
use read_ahead::Streams;
pub use spec::{FlushSpec, RamCacheSpec, ReadAheadSpec, WritePolicy, KIND};

use crate::convert::{to_u32, trunc_to_u64};
use crate::engine::{Completion, Component, ComponentId, Context, Details, Instrumentation, Payload, PowerLoss};
use crate::fault::Faults;
use crate::hierarchy::cache::replacement::Slot;
use crate::hierarchy::common::{Outstanding, SplitRequest};
use crate::limits::PARTS_OF_A_REQUEST;
use crate::request::{Flags, Op, Request};
use crate::service::Service;
use crate::time::{s_to_ns, Time};

/// Bytes for what is true of 64 blocks of a line.
pub const CELL_BYTES: usize = size_of::<cells::Cell>();

/// Tags of timers that are no job.
const IDLE: u64 = u64::MAX;
const PERIOD: u64 = u64::MAX - 1;

/// A request from above.
#[derive(Clone)]
struct Job {
    split: SplitRequest,
    /// What is to be written.
    payload: Payload,
    way: Way,
    arrived: Time,
    /// What it waits for: accesses of the child, lines, others.
    left: u32,
    /// Whether the child has served part of it.
    has_parts: bool,
    /// Whether it reads no more than it asks for, since more could not be read.
    is_narrow: bool,
    /// Whether no line comes in for it: it touches too many, or the policy wants one of them not.
    passes: bool,
}

/// Blocks of a job that can't be had yet.
#[derive(Clone, Copy, Debug)]
struct Held {
    job: u64,
    lbn: u64,
    end: u64,
    since: Time,
    /// Whether its lines have been counted as hits or misses.
    is_counted: bool,
}

/// An access of the child.
#[derive(Clone)]
enum Part {
    /// Blocks are read into lines, for a job or for nobody.
    Fill { job: Option<u64>, lbn: u64, end: u64 },
    /// Dirty blocks are written.
    Destage { lbn: u64, end: u64 },
    /// A job's write.
    Through { job: u64 },
    /// A read too large for the cache; the lines that it keeps from leaving.
    Around { job: u64, held: Vec<Slot> },
    /// A flush is kept by the child, too.
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
    access_ns: u64,
    ns_per_block: f64,
    /// Whether the rest of a line is read, too.
    fills_lines: bool,
    lines: Lines,
    flush: Flush,
    streams: Option<Streams>,
    jobs: Outstanding<Job>,
    /// Flushes under way.
    promises: Vec<Promise>,
    parts: Outstanding<Part>,
    /// Those that wait for a line that can be evicted.
    stalled: VecDeque<Held>,
    /// Those that wait for a line's blocks to be read or written.
    waiting: Vec<(u64, Held)>,
    /// Blocks that jobs are writing to the child without having all of their lines here: such a line can't come in.
    around: Vec<(u64, u64)>,
    counts: Counts,
}

impl RamCache {
    /// A cache over `child`, which has `capacity_blocks` blocks of `block_bytes`.
    ///
    /// # Errors
    /// All values that do not fit each other, see [`RamCacheSpec::validate`].
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
            access_ns: s_to_ns(spec.access_us * 1e-6),
            ns_per_block: spec.mb_per_s.map_or(0.0, |rate| f64::from(block_bytes) * 1e3 / rate),
            fills_lines: matches!(spec.read_ahead, ReadAheadSpec::Line {}),
            lines: Lines::new(&spec.policy, slots, line_blocks, block_bytes),
            flush: Flush::new(&spec.flush, slots, block_bytes),
            streams,
            jobs: Outstanding::default(),
            promises: Vec::new(),
            parts: Outstanding::default(),
            stalled: VecDeque::new(),
            waiting: Vec::new(),
            around: Vec::new(),
            counts: Counts::default(),
        })
    }

    /// Whether a request touches more than half the lines.
    fn is_too_large(&self, request: &Request) -> bool {
        let blocks = self.lines.line_blocks;
        request.end_lbn().div_ceil(blocks) - request.lbn / blocks > u64::from(self.lines.capacity() / 2)
    }

    /// The way of a request that the cache may take in, or that it `passes` on.
    fn way_of(&self, request: &Request, passes: bool) -> Way {
        let must_last = self.is_volatile && request.flags.contains(Flags::DURABLE);
        match (request.op, passes) {
            (Op::Read, false) => Way::ReadHit,
            (Op::Read, true) => Way::ReadAround,
            (Op::Write, false) if !self.writes_through && !must_last => Way::Write,
            (Op::Write | Op::Flush, _) => Way::WriteThrough,
        }
    }

    /// Goes on with blocks of a job.
    fn pursue(&mut self, held: Held, context: &mut Context<'_>) {
        self.lines.at(context.now(), Some(self.jobs[held.job].split.request.id));
        match self.jobs[held.job].way {
            Way::ReadHit | Way::ReadMiss => self.read(held, context),
            Way::Write | Way::WriteStalled => self.write(held, context),
            Way::WriteThrough => self.write_through(held.job, context),
            Way::ReadAround => self.read_around(held.job, context),
        }
        self.release(held.job, context);
    }

    /// A slot for a line that is not there; `None` where the job has to wait.
    fn admit(&mut self, piece: &Piece, held: &Held, context: &Context<'_>) -> Option<Slot> {
        let (start, end) = (piece.line * self.lines.line_blocks, (piece.line + 1) * self.lines.line_blocks);
        if self.is_being_written(start, end) {
            self.wait(piece.line, *held, context);
            return None;
        }
        let Some((slot, wasted)) = self.lines.admit(piece.line) else {
            self.stall(*held, context);
            return None;
        };
        self.counts.ahead_wasted_blocks += wasted;
        Some(slot)
    }

    /// Whether somebody is writing some of those blocks to the child without having them here.
    fn is_being_written(&self, lbn: u64, end: u64) -> bool {
        self.around.iter().any(|&(first, last)| first < end && lbn < last)
    }

    /// A job waits for what is under way with a line.
    fn wait(&mut self, line: u64, held: Held, context: &Context<'_>) {
        self.hold(held.job);
        self.waiting.push((line, Held { since: context.now(), ..held }));
    }

    /// A job waits for a line that can be evicted.
    fn stall(&mut self, held: Held, context: &Context<'_>) {
        self.hold(held.job);
        self.counts.stalls += 1;
        let job = &mut self.jobs[held.job];
        if job.way == Way::Write {
            job.way = Way::WriteStalled;
        }
        self.stalled.push_back(Held { since: context.now(), ..held });
    }

    fn hold(&mut self, job: u64) {
        self.jobs[job].left += 1;
    }

    /// Something that a job waited for is there; answers when that was all.
    fn release(&mut self, id: u64, context: &mut Context<'_>) {
        self.lines.halts(Some(&self.jobs[id].split.request), context);
        let job = &mut self.jobs[id];
        job.left -= 1;
        if job.left > 0 {
            return;
        }
        let now = context.now();
        if !job.has_parts {
            let service = Service { start: now, end: now, free: now, ..Service::default() };
            job.split.add_parts(1);
            job.split.complete_part(&Completion::of(job.split.request, service));
        }
        let (way, blocks) = (job.way, job.split.request.blocks);
        let delay_ns = self.own_ns(way, blocks);
        if delay_ns == 0 {
            self.answer(id, context);
        } else {
            context.timer(now + delay_ns, id);
        }
    }

    /// From when the cache has what a request needs until it answers, ns.
    fn own_ns(&self, way: Way, blocks: u32) -> u64 {
        match way {
            Way::WriteThrough | Way::ReadAround => 0,
            _ => self.access_ns + trunc_to_u64(self.ns_per_block * f64::from(blocks) + 0.5),
        }
    }

    fn answer(&mut self, id: u64, context: &mut Context<'_>) {
        let job = self.jobs.take(id);
        let now = context.now();
        let (mut completion, payload) = job.split.finish(now);
        // What the child's phases leave is waiting, and the cache's own time at the end.
        let phases = &mut completion.service.phases;
        let own_ns = self.own_ns(job.way, completion.request.blocks).min(phases.background_ns);
        phases.background_ns -= own_ns;
        phases.command_ns += own_ns;
        self.counts.record(job.way, now - job.arrived);
        self.flush.quieten(now);
        context.complete_with(&completion, payload);
    }

    /// Wakes those that wait for lines of blocks `lbn` to `end`.
    fn wake(&mut self, lbn: u64, end: u64, context: &mut Context<'_>) {
        if self.waiting.is_empty() {
            return;
        }
        let blocks = self.lines.line_blocks;
        let lines = lbn / blocks..end.div_ceil(blocks);
        let (woken, left) = std::mem::take(&mut self.waiting).into_iter().partition(|(line, _)| lines.contains(line));
        self.waiting = left;
        let woken: Vec<(u64, Held)> = woken;
        woken.into_iter().for_each(|(_, held)| self.pursue(held, context));
    }

    /// What comes after everything, a request that has just come among it: stalled jobs go on, what is dirty is written, timers are set.
    fn attend(&mut self, request: Option<&Request>, context: &mut Context<'_>) {
        let now = context.now();
        if self.lines.halts(request, context) {
            return;
        }
        while self.lines.has_room() {
            let Some(held) = self.stalled.pop_front() else { break };
            self.counts.stall_ns += u128::from(now - held.since);
            let others = self.stalled.len();
            self.pursue(held, context);
            if self.stalled.len() > others {
                // It waits for more room, and keeps its place.
                self.stalled.rotate_right(1);
                break;
            }
        }
        while let Some((lbn, blocks)) = self.flush.next(&self.lines, &self.promises, !self.stalled.is_empty()) {
            self.destage(lbn, blocks, context);
        }
        if self.lines.dirty_lines() > 0 {
            if let Some(at) = self.flush.period_timer(now) {
                context.timer(at, PERIOD);
            }
            if self.is_quiet() {
                if let Some(at) = self.flush.idle_timer() {
                    context.timer(at.max(now), IDLE);
                }
            }
        }
        self.counts.dirty.set(now, self.lines.dirty_lines());
    }

    /// Whether no request from above is under way.
    fn is_quiet(&self) -> bool {
        self.jobs.is_empty() && self.promises.is_empty()
    }

    /// Bytes of blocks of a job, in runs that hold data.
    fn bring(&mut self, job: u64, lbn: u64, end: u64, context: &Context<'_>) {
        if !context.holds_data() {
            return;
        }
        let split = &mut self.jobs[job].split;
        let (from, to) = (lbn.max(split.request.lbn), end.min(split.request.end_lbn()));
        if from < to {
            let first = from - split.request.lbn;
            split.store_read(first, &self.lines.data(from, to - from), self.block_bytes);
        }
    }

    /// A job hears of an access that was its own.
    fn take_part(&mut self, job: u64, completion: &Completion) {
        let job = &mut self.jobs[job];
        job.has_parts = true;
        job.split.complete_part(completion);
    }

    /// Sends a job's own access to the child; gives its id there.
    fn send(&mut self, job: u64, part: Part, request: Request, payload: Payload, context: &mut Context<'_>) -> u64 {
        self.hold(job);
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
        self.flush.disturb(now);
        if request.is_flush() {
            self.promise(request, context);
            self.attend(Some(&request), context);
            return;
        }
        let passes = self.is_too_large(&request) || !self.lines.takes(&request, now);
        let (way, split) = (self.way_of(&request, passes), SplitRequest::new(request));
        let job = Job { split, payload, way, arrived: now, left: 1, has_parts: false, is_narrow: false, passes };
        let (job, end) = (self.jobs.insert(job), request.end_lbn());
        let held = Held { job, lbn: request.lbn, end, since: now, is_counted: false };
        self.pursue(held, context);
        if way == Way::ReadHit {
            self.read_ahead(request.lbn, request.end_lbn(), context);
        }
        self.attend(Some(&request), context);
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let data = context.read_payload(child, completion);
        match self.parts.take(completion.request.id) {
            Part::Fill { job, lbn, end } => self.filled(job, lbn, end, completion, &data, context),
            Part::Destage { lbn, end } => {
                self.flush.done();
                self.cleaned(lbn, end, completion, context);
                self.write_over(completion, context);
            }
            Part::Through { job } => {
                self.written_through(job, completion, context);
                self.write_over(completion, context);
            }
            Part::Flush => self.flushed(completion, context),
            Part::Around { job, held } => self.read_by_child(job, &held, completion, &data, context),
        }
        self.attend(None, context);
    }

    fn timer(&mut self, tag: u64, context: &mut Context<'_>) {
        match tag {
            PERIOD => self.flush.begin_pass(),
            IDLE => self.flush.look(context.now(), self.is_quiet()),
            job => self.answer(job, context),
        }
        self.attend(None, context);
    }

    fn part_blocks(&self) -> Option<u64> {
        // What touches more than half the lines goes around them whole.
        let most_parts = u64::from(self.lines.capacity() / 2);
        (most_parts > PARTS_OF_A_REQUEST.most).then_some(self.lines.line_blocks)
    }
}

impl PowerLoss for RamCache {
    fn may_lose_writes(&self, children: bool) -> bool {
        self.is_volatile && (!self.writes_through || children)
    }

    fn power_cut(&mut self, now: Time) {
        self.jobs.clear();
        self.promises.clear();
        self.parts.clear();
        self.stalled.clear();
        self.waiting.clear();
        self.around.clear();
        self.flush.forget(now);
        self.streams.iter_mut().for_each(Streams::forget);
        if self.is_volatile {
            self.lines.forget();
        } else {
            self.lines.survive(now);
        }
        self.counts.dirty.set(now, self.lines.dirty_lines());
    }

    /// What outlived the cut is there at once; what is dirty of it waits to be flushed as ever.
    fn restart(&mut self, context: &mut Context<'_>) {
        self.attend(None, context);
    }
}

impl Instrumentation for RamCache {
    fn check_invariants(&self, at_rest: bool) -> Result<(), String> {
        let (jobs, parts) = (self.jobs.len() + self.promises.len(), self.parts.len());
        let waiting = self.stalled.len() + self.waiting.len() + self.around.len();
        if at_rest && jobs + parts + waiting > 0 {
            return Err(format!("at rest with {jobs} requests, {parts} accesses, {waiting} waiting"));
        }
        if self.flush.under_way() as usize > parts {
            return Err(format!("{} flushes under way, but {parts} accesses", self.flush.under_way()));
        }
        self.lines.check(at_rest)
    }

    fn details(&self, now: Time) -> Option<Details> {
        Some(self.counts.details(now, &self.lines))
    }

    fn start_measuring(&mut self, now: Time) {
        self.counts.begin(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each part that goes wrong, and a word of what is said of it.
    #[test]
    fn whatever_is_not_in_order_is_told() {
        type Act = fn(&mut RamCache);
        let acts: [(&str, bool, Act); 3] = [
            ("at rest with 0 requests, 0 accesses, 1 waiting", true, |cache| cache.around.push((0, 8))),
            ("1 flushes under way, but 0 accesses", false, |cache| {
                let (slot, _) = cache.lines.admit(0).expect("there is room");
                cache.lines.write(slot, &Piece { line: 0, from: 0, to: 1, lbn: 0 }, &Payload::NONE);
                cache.flush.next(&cache.lines, &[], true).expect("there is something to write");
            }),
            ("at rest with 0 requests, 1 accesses", true, |cache| {
                cache.parts.insert(Part::Destage { lbn: 0, end: 8 });
            }),
        ];
        let spec: RamCacheSpec = serde_json::from_value(serde_json::json!({ "bytes": 1 << 20 })).expect("a spec");
        for (word, at_rest, act) in acts {
            let mut cache = RamCache::new(&spec, ComponentId(0), 100_000, 512).expect("they fit");
            assert_eq!(cache.check_invariants(at_rest), Ok(()));
            act(&mut cache);
            let told = cache.check_invariants(at_rest).expect_err(word);
            assert!(told.contains(word), "{word}: {told}");
        }
    }
}
