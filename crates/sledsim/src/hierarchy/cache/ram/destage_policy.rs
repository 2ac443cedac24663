//! When dirty blocks are destaged, and in which order.

use super::host_flush::HostFlush;
use super::lines::Lines;
use super::spec::FlushSpec;
use crate::convert::trunc_to_u64;
use crate::hierarchy::common::BlockRange;
use crate::time::{s_to_ns, Time};

/// When to destage. Destages sweep over the LBNs and continue where they stopped.
#[derive(Clone, Debug)]
pub(super) struct DestagePolicy {
    idle_ns: Option<u64>,
    period_ns: Option<u64>,
    /// Number of dirty lines from which on destages begin; the maximum if never.
    high_lines: u64,
    /// Number of dirty lines down to which they continue then.
    low_lines: u64,
    /// Limit of destages under way.
    outstanding: u32,
    /// Limit of blocks in one destage.
    max_blocks: u64,
    /// The block at which the sweep continues.
    cursor: u64,
    /// The block at which the current periodic pass over all blocks continues.
    pass: Option<u64>,
    /// True from `high_lines` dirty lines until `low_lines`.
    is_above: bool,
    is_idle: bool,
    /// Destages under way.
    under_way: u32,
    idle_timer_is_set: bool,
    period_timer_is_set: bool,
    /// Time of the last arrival or completion of a host request.
    last_request: Time,
}

impl DestagePolicy {
    /// The policy of a cache of `slots` lines with blocks of `block_bytes`.
    pub fn new(spec: &FlushSpec, slots: u32, block_bytes: u32) -> Self {
        let high_lines =
            if spec.demand_only { u64::MAX } else { trunc_to_u64((spec.high_water * f64::from(slots)).ceil()).max(1) };
        Self {
            idle_ns: spec.idle_ms.map(|idle_ms| s_to_ns(idle_ms * 1e-3)),
            period_ns: spec.period_s.map(s_to_ns),
            high_lines,
            low_lines: trunc_to_u64((spec.low_water * f64::from(slots)).floor()).min(high_lines - 1),
            outstanding: spec.outstanding,
            max_blocks: (spec.most_write_bytes / u64::from(block_bytes)).min(u64::from(u32::MAX)),
            cursor: 0,
            pass: None,
            is_above: false,
            is_idle: false,
            under_way: 0,
            idle_timer_is_set: false,
            period_timer_is_set: false,
            last_request: Time::ZERO,
        }
    }

    /// Records the arrival of a host request.
    pub fn request_arrived(&mut self, now: Time) {
        self.is_idle = false;
        self.last_request = now;
    }

    /// Records the completion of a host request.
    pub fn request_ended(&mut self, now: Time) {
        self.last_request = now;
    }

    /// The blocks to destage now, if any; host flushes go first. `is_stalled` is true if a request waits for a line that can be evicted.
    pub fn next(&mut self, lines: &Lines, host_flushes: &[HostFlush], is_stalled: bool) -> Option<BlockRange> {
        let dirty = lines.dirty_lines();
        self.is_above = dirty >= self.high_lines || self.is_above && dirty > self.low_lines;
        if dirty == 0 {
            self.pass = None;
        }
        if dirty == 0 || self.under_way >= self.outstanding {
            return None;
        }
        let mut run = host_flushes.iter().find_map(|flush| flush.next_run(lines, self.max_blocks));
        if let (None, Some(at)) = (run, self.pass) {
            run = lines.dirty_run(at, self.max_blocks);
            self.pass = run.map(|run| run.to);
        }
        if run.is_none() && (self.is_above || self.is_idle || is_stalled) {
            run = lines.dirty_run(self.cursor, self.max_blocks).or_else(|| lines.dirty_run(0, self.max_blocks));
            self.cursor = run.map_or(0, |run| run.to);
        }
        self.under_way += u32::from(run.is_some());
        run
    }

    /// The first dirty blocks from `lbn` up to `end`, with those that follow, to destage for a request that waits for their line. The
    /// limit of destages under way does not apply.
    pub fn next_of_victim(&mut self, lines: &Lines, lbn: u64, end: u64) -> Option<BlockRange> {
        let run = lines.dirty_run(lbn, self.max_blocks).filter(|run| run.from < end)?;
        self.under_way += 1;
        Some(run)
    }

    /// Number of destages under way.
    pub fn under_way(&self) -> u32 {
        self.under_way
    }

    /// Records the end of a destage.
    pub fn destage_ended(&mut self) {
        self.under_way -= 1;
    }

    /// Sets the idle timer if it is needed, and returns its time.
    pub fn set_idle_timer(&mut self) -> Option<Time> {
        let idle_ns = self.idle_ns.filter(|_| !self.idle_timer_is_set && !self.is_idle)?;
        self.idle_timer_is_set = true;
        Some(self.last_request + idle_ns)
    }

    /// Handles the idle timer. `no_requests` is true if no host request is under way.
    pub fn idle_timer_fired(&mut self, now: Time, no_requests: bool) {
        self.idle_timer_is_set = false;
        self.is_idle = no_requests && self.idle_ns.is_some_and(|idle_ns| now >= self.last_request + idle_ns);
    }

    /// Sets the timer of the next periodic pass if it is needed, and returns its time.
    pub fn set_period_timer(&mut self, now: Time) -> Option<Time> {
        let period_ns = self.period_ns.filter(|_| !self.period_timer_is_set)?;
        self.period_timer_is_set = true;
        Some(now + period_ns)
    }

    /// Begins a periodic pass.
    pub fn begin_pass(&mut self) {
        self.period_timer_is_set = false;
        self.pass = Some(0);
    }

    /// Drops destages, passes and timers after a power cut.
    pub fn power_cut(&mut self, now: Time) {
        (self.pass, self.is_above, self.is_idle) = (None, false, false);
        (self.under_way, self.idle_timer_is_set, self.period_timer_is_set) = (0, false, false);
        self.last_request = now;
    }
}
