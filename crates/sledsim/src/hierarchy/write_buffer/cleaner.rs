//! Cleaning: blocks of the oldest logs that are still valid are written to the disk.

use super::children::{Children, Job};
use super::counts::Counts;
use super::log::{Log, LogBlock};
use super::spec::WriteBufferSpec;
use crate::convert::{to_u32, trunc_to_u32};
use crate::engine::{Completion, Context, Memory, Payload, Status};
use crate::request::Op;
use crate::time::{s_to_ns, Time};

/// When to clean logs, and the current pass.
#[derive(Clone, Debug)]
pub(super) struct Cleaner {
    block_bytes: u32,
    /// Number of filled logs from which on logs are cleaned while the disk is idle.
    high_water: u32,
    /// Number of filled logs down to which logs are cleaned then.
    low_water: u32,
    /// Number of filled logs from which on logs are cleaned though the disk is busy.
    urgent: u32,
    idle_ns: u64,
    /// Number of logs that are cleaned in one pass.
    logs_per_pass: u32,
    max_write_blocks: u64,
    /// Limit of writes to the disk under way.
    outstanding: u32,
    /// True from when `high_water` logs are filled until only `low_water` are.
    is_wanted: bool,
    pass: Option<Pass>,
    timer_is_set: bool,
    /// Host reads of the disk under way.
    disk_reads: u32,
    /// The end of the last host read of the disk.
    idle_since: Time,
    /// The status of an access that failed. Nothing is cleaned any more then: a log with blocks that could not be read or written
    /// must not be freed.
    pub failure: Option<Status>,
}

/// Logs that are being cleaned together.
#[derive(Clone, Debug, Default)]
struct Pass {
    /// First blocks of the logs, which are pinned until the pass ends.
    logs: Vec<u32>,
    /// Number of logs that have been read or need not be.
    logs_read: usize,
    is_reading: bool,
    /// The valid blocks of the logs, in order of their disk blocks once all logs are read.
    blocks: Vec<LogBlock>,
    is_sorted: bool,
    /// Index of the next block to write.
    next: usize,
    /// Writes to the disk under way.
    writes: u32,
    /// The data by block of the log, in runs that hold data.
    data: Memory,
}

/// The result of a step of cleaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CleanStep {
    /// Nothing can be done now.
    Waits,
    BeganPass,
    /// A pass ended. Logs may be free now.
    EndedPass,
}

impl Cleaner {
    /// Cleans `logs` logs of blocks of `block_bytes`.
    pub fn new(spec: &WriteBufferSpec, logs: u32, block_bytes: u32) -> Self {
        let clean = &spec.clean;
        let of_logs = |share: f64| share * f64::from(logs);
        Self {
            block_bytes,
            high_water: trunc_to_u32(of_logs(clean.high_water).ceil()),
            // When all logs are filled, at least one is cleaned.
            low_water: trunc_to_u32(of_logs(clean.low_water).floor()).min(logs - 1),
            urgent: trunc_to_u32(of_logs(clean.urgent).ceil()),
            idle_ns: s_to_ns(clean.idle_ms * 1e-3),
            logs_per_pass: u32::try_from(spec.buffer_bytes / spec.log_bytes).unwrap_or(u32::MAX),
            max_write_blocks: clean.most_write_bytes / u64::from(block_bytes),
            outstanding: clean.outstanding,
            is_wanted: false,
            pass: None,
            timer_is_set: false,
            disk_reads: 0,
            idle_since: Time::ZERO,
            failure: None,
        }
    }

    /// Drops the current pass and the timer.
    pub fn clear(&mut self, now: Time) {
        (self.is_wanted, self.pass, self.timer_is_set, self.failure) = (false, None, false, None);
        (self.disk_reads, self.idle_since) = (0, now);
    }

    /// Records that a host read of the disk begins.
    pub fn disk_read_began(&mut self) {
        self.disk_reads += 1;
    }

    /// Records that a host read of the disk has ended.
    pub fn disk_read_ended(&mut self, now: Time) {
        self.disk_reads -= 1;
        self.idle_since = now;
    }

    /// Records that the timer has fired.
    pub fn timer_fired(&mut self) {
        self.timer_is_set = false;
    }

    fn current_pass(&mut self) -> &mut Pass {
        self.pass.as_mut().expect("a pass ends after its last access")
    }

    /// Begins, continues or ends a pass.
    pub fn step(
        &mut self,
        log: &mut Log,
        children: &mut Children,
        counts: &mut Counts,
        context: &mut Context<'_>,
    ) -> CleanStep {
        let filled = log.filled();
        self.is_wanted = filled >= self.high_water || self.is_wanted && filled > self.low_water;
        match self.pass.take() {
            Some(pass) => self.continue_pass(pass, log, children, counts, context),
            None if self.is_wanted && self.failure.is_none() && self.begin_pass(log, context) => CleanStep::BeganPass,
            None => CleanStep::Waits,
        }
    }

    /// Returns true if a write to the disk may begin now. Sets the timer if only the idle time is missing.
    fn may_write(&mut self, log: &Log, context: &mut Context<'_>) -> bool {
        let idle_from = self.idle_since + self.idle_ns;
        if log.filled() >= self.urgent {
            return true;
        }
        if self.disk_reads > 0 {
            return false;
        }
        if idle_from > context.now() && !self.timer_is_set {
            self.timer_is_set = true;
            context.timer(idle_from, 0);
        }
        idle_from <= context.now()
    }

    /// Begins a pass over the oldest logs. Returns false if no write may begin, or if the logs have no valid blocks and only reads
    /// keep them in use.
    fn begin_pass(&mut self, log: &mut Log, context: &mut Context<'_>) -> bool {
        let excess = log.filled().saturating_sub(self.low_water);
        let logs: Vec<u32> = log.oldest_logs(excess.min(self.logs_per_pass)).collect();
        if logs.iter().all(|&at| log.valid_count(at) == 0) || !self.may_write(log, context) {
            return false;
        }
        logs.iter().for_each(|&at| log.pin(at));
        self.pass = Some(Pass { logs, ..Pass::default() });
        true
    }

    fn continue_pass(
        &mut self,
        mut pass: Pass,
        log: &mut Log,
        children: &mut Children,
        counts: &mut Counts,
        context: &mut Context<'_>,
    ) -> CleanStep {
        if self.failure.is_none() {
            pass.read_next(log, children, counts, context);
            if pass.logs_read == pass.logs.len() && !pass.is_reading {
                if !pass.is_sorted {
                    pass.blocks.sort_unstable();
                    pass.is_sorted = true;
                }
                self.write_next(&mut pass, log, children, counts, context);
            }
        }
        let all_written = pass.next == pass.blocks.len() && pass.logs_read == pass.logs.len();
        if pass.is_reading || pass.writes > 0 || !all_written && self.failure.is_none() {
            self.pass = Some(pass);
            return CleanStep::Waits;
        }
        pass.logs.iter().for_each(|&at| log.unpin(at));
        counts.cleaned_logs += if all_written { pass.logs.len() as u64 } else { 0 };
        CleanStep::EndedPass
    }

    /// Writes blocks that are still valid, consecutive ones together.
    fn write_next(
        &mut self,
        pass: &mut Pass,
        log: &Log,
        children: &mut Children,
        counts: &mut Counts,
        context: &mut Context<'_>,
    ) {
        while pass.writes < self.outstanding {
            let is_valid = |block: &LogBlock| log.map.disk_block(block.at) == Some(block.lbn);
            let ahead = &pass.blocks[pass.next..];
            let skipped = ahead.iter().take_while(|block| !is_valid(block)).count();
            let ahead = &ahead[skipped..];
            let joined = ahead.iter().zip(0..self.max_write_blocks);
            let joined = joined.take_while(|&(block, index)| block.lbn == ahead[0].lbn + index && is_valid(block));
            let joined = joined.count();
            pass.next += skipped;
            if joined == 0 || !self.may_write(log, context) {
                return;
            }
            let (from, to) = (pass.next, pass.next + joined);
            let data = if context.holds_data() { pass.data(from, to, self.block_bytes) } else { Payload::NONE };
            let (job, lbn) = (Job::CleanWrite { from, to }, pass.blocks[from].lbn);
            children.send(job, Op::Write, lbn, to_u32(joined), data, context);
            counts.disk_writes += 1;
            counts.disk_blocks += joined as u64;
            pass.writes += 1;
            pass.next = to;
        }
    }

    /// Handles a completed read of a log; `data` was read.
    pub fn log_read(&mut self, completion: &Completion, data: &Payload) {
        let block_bytes = self.block_bytes;
        let pass = self.current_pass();
        pass.is_reading = false;
        pass.data.write(completion.request.lbn, data, block_bytes);
        self.record_failure(completion);
    }

    /// Handles a completed write of the blocks `from` to `to` of the current pass.
    pub fn blocks_written(&mut self, from: usize, to: usize, completion: &Completion, log: &mut Log) {
        let pass = self.current_pass();
        pass.writes -= 1;
        if completion.is_served() {
            // Blocks that a newer copy has outdated meanwhile are invalid already.
            pass.blocks[from..to].iter().for_each(|block| log.invalidate(block.at));
        }
        self.record_failure(completion);
    }

    fn record_failure(&mut self, completion: &Completion) {
        if !completion.is_served() {
            self.failure = Some(completion.status);
        }
    }
}

impl Pass {
    /// Reads the next log with valid blocks, from its first valid block to its last.
    fn read_next(&mut self, log: &Log, children: &mut Children, counts: &mut Counts, context: &mut Context<'_>) {
        while let (false, Some(&at)) = (self.is_reading, self.logs.get(self.logs_read)) {
            self.logs_read += 1;
            let before = self.blocks.len();
            self.blocks.extend(log.valid_blocks(at));
            let (Some(first), Some(last)) = (self.blocks.get(before), self.blocks.last()) else { continue };
            let (lbn, blocks) = (u64::from(first.at), last.at - first.at + 1);
            children.send(Job::CleanRead, Op::Read, lbn, blocks, Payload::NONE, context);
            counts.log_reads += 1;
            self.is_reading = true;
        }
    }

    /// The data of the blocks `from` to `to` of the pass.
    fn data(&self, from: usize, to: usize, block_bytes: u32) -> Payload {
        let read = |block: &LogBlock| self.data.read(u64::from(block.at), 1, block_bytes);
        Payload::join(&self.blocks[from..to].iter().map(read).collect::<Vec<_>>())
    }
}
