//! Cleaning: what is still valid in the oldest logs goes to the disk.

use super::spec::WriteBufferSpec;
use super::{Job, WriteBuffer};
use crate::convert::{to_u32, trunc_to_u32};
use crate::engine::{Completion, Context, Memory, Payload, Status};
use crate::request::Op;
use crate::time::{s_to_ns, Time};

/// When logs are cleaned, and what is under way.
#[derive(Clone, Debug)]
pub(super) struct Cleaner {
    /// Logs in use from which on, down to which, and from which on at any cost.
    high: u32,
    low: u32,
    urgent: u32,
    idle_ns: u64,
    /// Logs that are cleaned together.
    together: u32,
    most_write_blocks: u64,
    outstanding: u32,
    /// Whether more logs have been in use than `high`, and not yet as few as `low`.
    wanted: bool,
    pass: Option<Pass>,
    /// Whether a timer will fire.
    pub(super) timer: bool,
    /// Reads of requests under way at the disk, and since when there have been none.
    pub(super) host_reads: u32,
    idle_since: Time,
    /// Why nothing can be cleaned any more: a child has failed.
    pub(super) stuck: Option<Status>,
}

/// Logs that are being cleaned together.
#[derive(Clone, Debug, Default)]
struct Pass {
    /// First blocks of the logs, all kept as they are until the pass ends.
    logs: Vec<u32>,
    /// How many of them have been looked at, and whether one is being read.
    looked_at: usize,
    reading: bool,
    /// Their valid blocks as blocks of the disk and of the log; in order of the disk once all are read.
    blocks: Vec<(u64, u32)>,
    is_sorted: bool,
    /// How many of those have been seen to, and how many writes are under way.
    next: usize,
    writing: u32,
    /// By block of the log, in runs that hold data.
    bytes: Memory,
}

impl Cleaner {
    pub(super) fn new(spec: &WriteBufferSpec, logs: u32, block_bytes: u32) -> Self {
        let clean = &spec.clean;
        let of_logs = |share: f64| share * f64::from(logs);
        Self {
            high: trunc_to_u32(of_logs(clean.high_water).ceil()),
            // A full ring has always something to clean.
            low: trunc_to_u32(of_logs(clean.low_water).floor()).min(logs - 1),
            urgent: trunc_to_u32(of_logs(clean.urgent).ceil()),
            idle_ns: s_to_ns(clean.idle_ms * 1e-3),
            together: u32::try_from(spec.buffer_bytes / spec.log_bytes).unwrap_or(u32::MAX),
            most_write_blocks: clean.most_write_bytes / u64::from(block_bytes),
            outstanding: clean.outstanding,
            wanted: false,
            pass: None,
            timer: false,
            host_reads: 0,
            idle_since: Time::ZERO,
            stuck: None,
        }
    }

    /// Forgets what is under way.
    pub(super) fn forget(&mut self, now: Time) {
        (self.wanted, self.pass, self.timer, self.stuck) = (false, None, false, None);
        (self.host_reads, self.idle_since) = (0, now);
    }

    fn under_way(&mut self) -> &mut Pass {
        self.pass.as_mut().expect("a pass ends when nothing of it is being read or written")
    }

    /// A read of a request has come back from the disk.
    pub(super) fn host_read_done(&mut self, now: Time) {
        self.host_reads -= 1;
        self.idle_since = now;
    }
}

impl WriteBuffer {
    /// Goes on with cleaning as far as can be.
    pub(super) fn clean(&mut self, context: &mut Context<'_>) {
        loop {
            let filled = self.ring.filled();
            let cleaner = &mut self.cleaner;
            cleaner.wanted = filled >= cleaner.high || cleaner.wanted && filled > cleaner.low;
            let goes_on = match self.cleaner.pass.take() {
                Some(pass) => self.go_on(pass, context),
                None => self.cleaner.wanted && self.cleaner.stuck.is_none() && self.begin_pass(context),
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Whether something may be written to the disk now; if that only takes time, a timer fires then.
    fn may_write(&mut self, context: &mut Context<'_>) -> bool {
        let idle_from = self.cleaner.idle_since + self.cleaner.idle_ns;
        if self.ring.filled() >= self.cleaner.urgent {
            return true;
        }
        if self.cleaner.host_reads > 0 {
            return false;
        }
        if idle_from > context.now() && !self.cleaner.timer {
            self.cleaner.timer = true;
            context.timer(idle_from, 0);
        }
        idle_from <= context.now()
    }

    /// Takes the oldest logs; false if that is to wait, or if all they wait for is that somebody has read them.
    fn begin_pass(&mut self, context: &mut Context<'_>) -> bool {
        let too_many = self.ring.filled().saturating_sub(self.cleaner.low);
        let logs: Vec<u32> = self.ring.oldest(too_many.min(self.cleaner.together)).collect();
        if logs.iter().all(|&at| self.ring.valid_blocks(at) == 0) || !self.may_write(context) {
            return false;
        }
        logs.iter().for_each(|&at| self.ring.pin(at));
        self.cleaner.pass = Some(Pass { logs, ..Pass::default() });
        true
    }

    /// The next step of a pass; true when it has ended.
    fn go_on(&mut self, mut pass: Pass, context: &mut Context<'_>) -> bool {
        if self.cleaner.stuck.is_none() {
            self.read_next(&mut pass, context);
            if pass.looked_at == pass.logs.len() && !pass.reading {
                if !pass.is_sorted {
                    pass.blocks.sort_unstable();
                    pass.is_sorted = true;
                }
                self.write_next(&mut pass, context);
            }
        }
        let all_done = pass.next == pass.blocks.len() && pass.looked_at == pass.logs.len();
        if pass.reading || pass.writing > 0 || !all_done && self.cleaner.stuck.is_none() {
            self.cleaner.pass = Some(pass);
            return false;
        }
        pass.logs.iter().for_each(|&at| self.ring.unpin(at));
        self.counts.cleaned_logs += if all_done { pass.logs.len() as u64 } else { 0 };
        self.ring.free();
        self.append(context);
        true
    }

    /// Reads the next log that has something valid: from its first valid block to its last.
    fn read_next(&mut self, pass: &mut Pass, context: &mut Context<'_>) {
        while let (false, Some(&at)) = (pass.reading, pass.logs.get(pass.looked_at)) {
            pass.looked_at += 1;
            let before = pass.blocks.len();
            pass.blocks.extend(self.ring.valid(at));
            // A log of which nothing is valid any more is not read.
            let (Some(&(_, first)), Some(&(_, last))) = (pass.blocks.get(before), pass.blocks.last()) else { continue };
            let blocks = last - first + 1;
            let request = self.own(Job::CleanRead, Op::Read, u64::from(first), blocks, context.now());
            context.submit(self.mems.id, request);
            self.counts.log_reads += 1;
            pass.reading = true;
        }
    }

    /// Writes what is still valid, contiguous blocks together.
    fn write_next(&mut self, pass: &mut Pass, context: &mut Context<'_>) {
        while pass.writing < self.cleaner.outstanding {
            let valid = |&(lbn, at): &(u64, u32)| self.ring.table.holds(at) == Some(lbn);
            let ahead = &pass.blocks[pass.next..];
            let skipped = ahead.iter().take_while(|block| !valid(block)).count();
            let ahead = &ahead[skipped..];
            let joined = ahead.iter().zip(0..self.cleaner.most_write_blocks);
            let joined = joined.take_while(|&(block, index)| block.0 == ahead[0].0 + index && valid(block)).count();
            pass.next += skipped;
            if joined == 0 || !self.may_write(context) {
                return;
            }
            let (from, to) = (pass.next, pass.next + joined);
            let lbn = pass.blocks[from].0;
            let request = self.own(Job::CleanWrite { from, to }, Op::Write, lbn, to_u32(joined), context.now());
            let payload = if context.holds_data() { self.gathered(pass, from, to) } else { Payload::NONE };
            context.submit_with(self.disk.id, request, payload);
            self.counts.disk_writes += 1;
            self.counts.disk_blocks += joined as u64;
            pass.writing += 1;
            pass.next = to;
        }
    }

    fn gathered(&self, pass: &Pass, from: usize, to: usize) -> Payload {
        let read = |&(_, at): &(u64, u32)| pass.bytes.read(u64::from(at), 1, self.mems.block_bytes);
        Payload::join(&pass.blocks[from..to].iter().map(read).collect::<Vec<_>>())
    }

    /// A log that is cleaned has been read.
    pub(super) fn log_read(&mut self, completion: &Completion, answer: &Payload, context: &mut Context<'_>) {
        let pass = self.cleaner.under_way();
        pass.reading = false;
        pass.bytes.write(completion.request.lbn, answer, self.mems.block_bytes);
        self.heard(completion, context);
    }

    /// Blocks of the pass are on the disk.
    pub(super) fn written_back(&mut self, from: usize, to: usize, completion: &Completion, context: &mut Context<'_>) {
        let pass = self.cleaner.under_way();
        pass.writing -= 1;
        // A newer copy may have outdated some meanwhile.
        let here = pass.blocks[from..to].iter().filter(|_| completion.is_served());
        here.for_each(|&(_, at)| self.ring.release(at));
        self.heard(completion, context);
    }

    /// Goes on after a child has answered; cleans no more once one has failed, for what it lost is not to be freed.
    fn heard(&mut self, completion: &Completion, context: &mut Context<'_>) {
        if !completion.is_served() {
            self.cleaner.stuck = Some(completion.status);
        }
        self.clean(context);
        self.append(context);
    }
}
