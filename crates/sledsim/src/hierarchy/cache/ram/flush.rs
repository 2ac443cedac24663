//! When a cache writes what is dirty, and in which order.

use super::lines::Lines;
use super::promises::Promise;
use super::spec::FlushSpec;
use crate::convert::trunc_to_u64;
use crate::time::{s_to_ns, Time};

/// When to write what is dirty: a sweep over the LBNs that begins again where it stopped.
#[derive(Clone, Debug)]
pub(super) struct Flush {
    idle_ns: Option<u64>,
    period_ns: Option<u64>,
    /// Dirty lines from which on it writes.
    high_lines: u64,
    /// Dirty lines down to which it then writes.
    low_lines: u64,
    outstanding: u32,
    most_blocks: u64,
    /// Where the sweep goes on.
    cursor: u64,
    /// Where a periodic pass over everything goes on; none is under way otherwise.
    pass: Option<u64>,
    is_high: bool,
    is_idle: bool,
    under_way: u32,
    idle_timer: bool,
    period_timer: bool,
    /// The last time at which a request came or went.
    quiet_since: Time,
}

impl Flush {
    /// For a cache of `slots` lines over blocks of `block_bytes`.
    pub fn new(spec: &FlushSpec, slots: u32, block_bytes: u32) -> Self {
        let high_lines = trunc_to_u64((spec.high_water * f64::from(slots)).ceil()).max(1);
        Self {
            idle_ns: spec.idle_ms.map(|idle_ms| s_to_ns(idle_ms * 1e-3)),
            period_ns: spec.period_s.map(s_to_ns),
            high_lines,
            low_lines: trunc_to_u64((spec.low_water * f64::from(slots)).floor()).min(high_lines - 1),
            outstanding: spec.outstanding,
            most_blocks: (spec.most_write_bytes / u64::from(block_bytes)).min(u64::from(u32::MAX)),
            cursor: 0,
            pass: None,
            is_high: false,
            is_idle: false,
            under_way: 0,
            idle_timer: false,
            period_timer: false,
            quiet_since: Time::ZERO,
        }
    }

    /// A request came.
    pub fn disturb(&mut self, now: Time) {
        self.is_idle = false;
        self.quiet_since = now;
    }

    /// A request went.
    pub fn quieten(&mut self, now: Time) {
        self.quiet_since = now;
    }

    /// What to write next, if anything: the first block, and how many. `is_stuck` says that somebody waits for a line that can
    /// be evicted. Flushes from above go first.
    pub fn next(&mut self, lines: &Lines, promises: &[Promise], is_stuck: bool) -> Option<(u64, u64)> {
        let dirty = lines.dirty_lines();
        self.is_high = dirty >= self.high_lines || self.is_high && dirty > self.low_lines;
        if dirty == 0 {
            self.pass = None;
        }
        if dirty == 0 || self.under_way >= self.outstanding {
            return None;
        }
        let mut run = promises.iter().find_map(|promise| promise.next(lines, self.most_blocks));
        if let (None, Some(at)) = (run, self.pass) {
            run = lines.dirty_run(at, self.most_blocks);
            self.pass = run.map(|(lbn, blocks)| lbn + blocks);
        }
        if run.is_none() && (self.is_high || self.is_idle || is_stuck) {
            run = lines.dirty_run(self.cursor, self.most_blocks).or_else(|| lines.dirty_run(0, self.most_blocks));
            self.cursor = run.map_or(0, |(lbn, blocks)| lbn + blocks);
        }
        self.under_way += u32::from(run.is_some());
        run
    }

    /// Writes under way.
    pub fn under_way(&self) -> u32 {
        self.under_way
    }

    /// A write is over.
    pub fn done(&mut self) {
        self.under_way -= 1;
    }

    /// When to look whether it is idle, where that is to be asked for now.
    pub fn idle_timer(&mut self) -> Option<Time> {
        let idle_ns = self.idle_ns.filter(|_| !self.idle_timer && !self.is_idle)?;
        self.idle_timer = true;
        Some(self.quiet_since + idle_ns)
    }

    /// The time has come to look whether it is idle; `is_quiet` says that no request is under way.
    pub fn look(&mut self, now: Time, is_quiet: bool) {
        self.idle_timer = false;
        self.is_idle = is_quiet && self.idle_ns.is_some_and(|idle_ns| now >= self.quiet_since + idle_ns);
    }

    /// When the next periodic pass begins, where that is to be asked for now.
    pub fn period_timer(&mut self, now: Time) -> Option<Time> {
        let period_ns = self.period_ns.filter(|_| !self.period_timer)?;
        self.period_timer = true;
        Some(now + period_ns)
    }

    /// A periodic pass begins.
    pub fn begin_pass(&mut self) {
        self.period_timer = false;
        self.pass = Some(0);
    }

    /// Power was cut.
    pub fn forget(&mut self, now: Time) {
        (self.pass, self.is_high, self.is_idle) = (None, false, false);
        (self.under_way, self.idle_timer, self.period_timer) = (0, false, false);
        self.quiet_since = now;
    }
}
