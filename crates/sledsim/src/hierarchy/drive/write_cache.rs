//! The volatile write cache of a drive: its content, and the rules by which it is written back.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use crate::devices::disk::WriteCache as Parameters;
use crate::devices::{HostTransfer, Phases, Service, WriteCaching};
use crate::engine::details::Count;
use crate::request::{Flags, Op, Request};
use crate::time::{ms_to_ns, Time};

/// Blocks that are not on the medium.
#[derive(Clone, Copy)]
struct Extent {
    end: u64,
    /// Order of arrival of its oldest blocks.
    age: u64,
}

/// A transfer between host and cache.
#[derive(Clone)]
struct Transfer {
    id: u64,
    /// The blocks of a write; none of a read.
    written: Range<u64>,
}

/// How the drive serves a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// By a transfer between host and cache.
    Cache,
    /// By the mechanism.
    Medium,
    /// Later: the cache is full, an older write of the same blocks is not in it yet, or a flush is under way.
    Waits,
}

/// Numbers of events over the measurement window.
#[derive(Clone, Copy, Default)]
struct Counters {
    cached_writes: u64,
    delayed_writes: u64,
    cached_reads: u64,
    write_backs: u64,
    flushes: u64,
}

/// A write cache, and the requests that wait for it.
#[derive(Clone)]
pub(super) struct WriteCache {
    parameters: Parameters,
    idle_ns: u64,
    /// By first block; extents neither overlap nor touch.
    dirty: BTreeMap<u64, Extent>,
    /// First blocks by age.
    by_age: BTreeMap<u64, u64>,
    dirty_blocks: u64,
    next_age: u64,
    /// Blocks that are being written back.
    writing: Range<u64>,
    /// Transfers under way.
    transfers: Vec<Transfer>,
    /// Writes for which the cache has no room, and writes to the medium that overlap older ones which are not in the cache yet; in the
    /// order of arrival.
    waiting: VecDeque<Request>,
    /// The flush under way, and the requests behind it.
    flush: Option<Request>,
    behind_flush: VecDeque<Request>,
    /// True if all is on the medium and the flush is about to complete.
    is_flush_ending: bool,
    /// When the link to the host is free.
    link_free: Time,
    /// End of the last access for a request.
    last_access: Time,
    /// True if the last access was for a request, so that a write-back may be next although requests wait.
    is_write_back_turn: bool,
    counters: Counters,
}

impl WriteCache {
    pub(super) fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            idle_ns: ms_to_ns(parameters.idle_ms),
            dirty: BTreeMap::new(),
            by_age: BTreeMap::new(),
            dirty_blocks: 0,
            next_age: 0,
            writing: 0..0,
            transfers: Vec::new(),
            waiting: VecDeque::new(),
            flush: None,
            behind_flush: VecDeque::new(),
            is_flush_ending: false,
            link_free: Time::ZERO,
            last_access: Time::ZERO,
            is_write_back_turn: false,
            counters: Counters::default(),
        }
    }

    /// Number of requests that wait for room or behind a flush.
    pub(super) fn held(&self) -> usize {
        self.waiting.len() + self.behind_flush.len()
    }

    /// Number of requests that wait for the cache or are served by it, the flush under way included.
    pub(super) fn outstanding(&self) -> usize {
        self.held() + self.transfers.len() + usize::from(self.flush.is_some())
    }

    /// Accepts a request and returns how it is served. A waiting request stays here, as does a flush.
    pub(super) fn accept(&mut self, request: &Request) -> Path {
        if self.flush.is_some() {
            self.behind_flush.push_back(*request);
            return Path::Waits;
        }
        match request.op {
            Op::Reset => unreachable!("only zoned components accept resets"),
            Op::Flush => {
                self.counters.flushes += 1;
                self.flush = Some(*request);
                Path::Waits
            }
            Op::Read if self.holds(request) => {
                self.counters.cached_reads += 1;
                Path::Cache
            }
            Op::Read => Path::Medium,
            Op::Write if self.bypasses(request) => {
                let overlaps = |older: &Request| older.lbn < request.end_lbn() && request.lbn < older.end_lbn();
                if self.is_arriving(request) || self.waiting.iter().any(overlaps) {
                    self.waiting.push_back(*request);
                    return Path::Waits;
                }
                self.replace(request);
                Path::Medium
            }
            Op::Write if self.waiting.is_empty() && self.has_room(request) => {
                self.counters.cached_writes += 1;
                Path::Cache
            }
            Op::Write => {
                self.counters.delayed_writes += 1;
                self.waiting.push_back(*request);
                Path::Waits
            }
        }
    }

    /// The next waiting write and how it is served, if it need not wait any longer.
    pub(super) fn admit_waiting(&mut self) -> Option<(Request, Path)> {
        let next = *self.waiting.front()?;
        let path = if self.bypasses(&next) && !self.is_arriving(&next) {
            self.replace(&next);
            Path::Medium
        } else if !self.bypasses(&next) && self.has_room(&next) {
            self.counters.cached_writes += 1;
            Path::Cache
        } else {
            return None;
        };
        self.waiting.pop_front();
        Some((next, path))
    }

    /// Returns true if a write goes to the medium.
    fn bypasses(&self, write: &Request) -> bool {
        write.flags.contains(Flags::DURABLE) || u64::from(write.blocks) > self.parameters.blocks
    }

    /// Returns true if blocks of a request are being transferred to the cache.
    fn is_arriving(&self, request: &Request) -> bool {
        let overlaps = |blocks: &Range<u64>| blocks.start < request.end_lbn() && request.lbn < blocks.end;
        self.transfers.iter().any(|transfer| overlaps(&transfer.written))
    }

    /// Removes the data that a write to the medium replaces: it must not reach the medium after that write.
    fn replace(&mut self, write: &Request) {
        self.remove(write.lbn..write.end_lbn());
    }

    /// Returns true if all blocks of a read are in the cache.
    fn holds(&self, request: &Request) -> bool {
        let (first, end) = (request.lbn, request.end_lbn());
        if self.writing.start <= first && end <= self.writing.end {
            return true;
        }
        self.dirty.range(..=first).next_back().is_some_and(|(_, extent)| end <= extent.end)
    }

    fn used_blocks(&self) -> u64 {
        let arriving: u64 = self.transfers.iter().map(|it| it.written.end - it.written.start).sum();
        self.dirty_blocks + (self.writing.end - self.writing.start) + arriving
    }

    fn used_extents(&self) -> usize {
        let arriving = self.transfers.iter().filter(|it| !it.written.is_empty()).count();
        self.dirty.len() + usize::from(!self.writing.is_empty()) + arriving
    }

    fn has_room(&self, request: &Request) -> bool {
        self.used_blocks() + u64::from(request.blocks) <= self.parameters.blocks
            && self.parameters.extents.is_none_or(|most| self.used_extents() < most as usize)
    }

    /// Returns true if the cache is so full that it is written back in turn with requests.
    fn is_filling_up(&self) -> bool {
        let is_beyond = |used: u64, most: u64| used as f64 >= self.parameters.forced_share * most as f64;
        self.waiting.front().is_some_and(|next| !self.bypasses(next))
            || is_beyond(self.used_blocks(), self.parameters.blocks)
            || self.parameters.extents.is_some_and(|most| is_beyond(self.used_extents() as u64, most.into()))
    }

    /// Begins a transfer of a request at `now`; returns its service, at the end of which [`WriteCache::end`] must be called.
    pub(super) fn transfer(&mut self, now: Time, request: &Request, times: HostTransfer) -> Service {
        let written = if request.op == Op::Write { request.lbn..request.end_lbn() } else { 0..0 };
        self.transfers.push(Transfer { id: request.id, written });
        let begin = (now + times.command_ns).max(self.link_free);
        let bus_ns = u64::from(request.blocks) * times.block_ns;
        self.link_free = begin + bus_ns;
        let end = self.link_free + times.completion_ns;
        let phases = Phases { command_ns: (begin - now) + times.completion_ns, bus_ns, ..Phases::default() };
        Service { start: now, end, free: now, phases, ..Service::default() }
    }

    /// Ends a request that the cache served; returns false if it did not serve this one.
    pub(super) fn end(&mut self, request: &Request) -> bool {
        if request.is_flush() {
            (self.flush, self.is_flush_ending) = (None, false);
            return true;
        }
        let Some(index) = self.transfers.iter().position(|it| it.id == request.id) else { return false };
        let written = self.transfers.remove(index).written;
        if !written.is_empty() {
            self.insert(written);
        }
        true
    }

    /// Takes the requests behind a flush that is over.
    pub(super) fn take_behind_flush(&mut self) -> VecDeque<Request> {
        match self.flush {
            None => std::mem::take(&mut self.behind_flush),
            Some(_) => VecDeque::new(),
        }
    }

    /// Adds blocks and joins them with extents that they overlap or touch.
    fn insert(&mut self, blocks: Range<u64>) {
        let Range { mut start, mut end } = blocks;
        let mut age = self.next_age;
        self.next_age += 1;
        while let Some((&first, &extent)) = self.dirty.range(..=end).next_back().filter(|(_, it)| it.end >= start) {
            self.drop_extent(first, extent);
            (start, end, age) = (start.min(first), end.max(extent.end), age.min(extent.age));
        }
        self.add_extent(start, Extent { end, age });
    }

    /// Removes blocks; an extent around them becomes two.
    fn remove(&mut self, blocks: Range<u64>) {
        let overlapping = |it: &(&u64, &Extent)| it.1.end > blocks.start;
        while let Some((&first, &extent)) = self.dirty.range(..blocks.end).next_back().filter(overlapping) {
            self.drop_extent(first, extent);
            if extent.end > blocks.end {
                let age = self.next_age;
                self.next_age += 1;
                self.add_extent(blocks.end, Extent { end: extent.end, age });
            }
            if first < blocks.start {
                self.add_extent(first, Extent { end: blocks.start, age: extent.age });
            }
        }
    }

    fn add_extent(&mut self, first: u64, extent: Extent) {
        self.dirty_blocks += extent.end - first;
        self.by_age.insert(extent.age, first);
        self.dirty.insert(first, extent);
    }

    fn drop_extent(&mut self, first: u64, extent: Extent) {
        self.dirty_blocks -= extent.end - first;
        self.by_age.remove(&extent.age);
        self.dirty.remove(&first);
    }

    /// Returns true if the next access is a write-back.
    pub(super) fn is_write_back_due(&self, now: Time, has_requests: bool) -> bool {
        if self.dirty.is_empty() {
            return false;
        }
        if has_requests {
            return self.is_write_back_turn && self.is_filling_up();
        }
        self.flush.is_some() || self.is_filling_up() || self.idle_write_back() <= Some(now)
    }

    /// The time at which an idle drive writes back; `None` if there is nothing to write back.
    pub(super) fn idle_write_back(&self) -> Option<Time> {
        (!self.dirty.is_empty()).then(|| self.last_access + self.idle_ns)
    }

    /// Writes back a part of the extent that can begin first, among the oldest of the window.
    pub(super) fn write_back(&mut self, now: Time, device: &mut dyn WriteCaching) -> Option<Service> {
        let window = self.parameters.window.map_or(usize::MAX, |window| window as usize);
        // Of equal times `min_by_key` returns the first, which is the oldest.
        let first = *self.by_age.values().take(window).min_by_key(|&&first| device.write_back_ns(now, first))?;
        let extent = *self.dirty.get(&first)?;
        let (service, blocks) = device.write_back(now, first, extent.end - first);
        self.drop_extent(first, extent);
        if first + blocks < extent.end {
            self.add_extent(first + blocks, extent);
        }
        self.writing = first..first + blocks;
        self.is_write_back_turn = false;
        self.counters.write_backs += 1;
        Some(service)
    }

    /// Called when the mechanism is free: the blocks that it wrote back leave the cache.
    pub(super) fn mechanism_is_free(&mut self) {
        self.writing = 0..0;
    }

    /// Records an access for a request that ends at `free`.
    pub(super) fn accessed(&mut self, free: Time) {
        self.last_access = free;
        self.is_write_back_turn = true;
    }

    /// Returns the flush under way, once, if nothing is left to be done before it completes. The mechanism is free and no request is
    /// queued.
    pub(super) fn ending_flush(&mut self) -> Option<Request> {
        let is_done = self.dirty.is_empty() && self.transfers.is_empty() && self.waiting.is_empty();
        if !is_done || self.is_flush_ending {
            return None;
        }
        self.is_flush_ending = self.flush.is_some();
        self.flush
    }

    /// Forgets everything but statistics: power fails.
    pub(super) fn power_cut(&mut self) {
        *self = Self { counters: self.counters, ..Self::new(self.parameters) };
    }

    pub(super) fn start_measuring(&mut self) {
        self.counters = Counters::default();
    }

    pub(super) fn counts(&self) -> Vec<Count> {
        let Counters { cached_writes, delayed_writes, cached_reads, write_backs, flushes } = self.counters;
        vec![
            Count::of("cached_writes", cached_writes),
            Count::of("delayed_writes", delayed_writes),
            Count::of("cached_reads", cached_reads),
            Count::of("write_backs", write_backs),
            Count::of("flushes", flushes),
            Count::of("dirty_blocks", self.used_blocks()),
        ]
    }

    /// Checks the account of the content.
    pub(super) fn check(&self) -> Result<(), String> {
        let blocks: u64 = self.dirty.iter().map(|(first, extent)| extent.end - first).sum();
        let is_sorted = self.dirty.iter().zip(self.dirty.keys().skip(1)).all(|((_, extent), next)| extent.end < *next);
        let fits = self.used_blocks() <= self.parameters.blocks;
        if blocks == self.dirty_blocks && self.by_age.len() == self.dirty.len() && is_sorted && fits {
            return Ok(());
        }
        Err(format!(
            "the write cache counts {} blocks in {} ranges, but holds {blocks} in {}",
            self.dirty_blocks,
            self.by_age.len(),
            self.dirty.len()
        ))
    }
}
