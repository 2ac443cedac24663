//! Passes: a head positions itself and then accesses consecutive sectors of one track.

use super::layout::{BlockRange, Run};
use super::mechanics::{Arm, Mechanics};
use super::Angle;
use crate::convert::{mul_div, mul_div_ceil, to_u64};
use crate::request::Op;
use crate::time::Time;

/// A pass over the sectors of consecutive blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// First block.
    pub lbn: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Index of the block that is accessed first; above 0 only in a zero-latency access that begins in the middle.
    pub lead: u64,
    /// Start of the seek.
    pub begin: Time,
    /// End of the seek.
    pub on_track: Time,
    /// Start of the first sector.
    pub start: Time,
    /// End of the last sector.
    pub end: Time,
    /// Part of the time from `start` to `end` in which sectors of other blocks pass under the head.
    pub gap_ns: u64,
    /// Index of the arm.
    pub arm: u32,
    /// Position of that arm during the access.
    pub to: Arm,
}

/// How passes are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassOptions {
    /// Reads or writes.
    pub op: Op,
    /// True for zero-latency access, which begins with the first sector to come under the head.
    pub any_order: bool,
    /// Minimum seek time.
    pub least_seek_ns: u64,
    /// Arrival of the blocks of a write in the buffer.
    pub data: DataArrival,
}

/// Arrival of the blocks of a write in the buffer. Blocks before `first` are there; the others arrive at equal intervals.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DataArrival {
    /// First block that has not arrived yet.
    pub first: u64,
    /// End (exclusive) of the blocks that arrive.
    pub end: u64,
    /// Start of the transfer of `first`.
    pub from: Time,
    /// Transfer time of a block.
    pub block_ns: u64,
    /// Number of blocks that have to arrive before the first of them is written.
    pub stock: u64,
}

impl DataArrival {
    /// All blocks have arrived.
    pub(super) const COMPLETE: Self = Self { first: u64::MAX, end: u64::MAX, from: Time::ZERO, block_ns: 0, stock: 0 };

    /// Returns the time at which all blocks before `end` have arrived.
    #[inline]
    fn complete_at(&self, end: u64) -> Time {
        self.from + end.min(self.end).saturating_sub(self.first) * self.block_ns
    }

    /// Returns the earliest start of a pass that begins with `lbn`.
    #[inline]
    fn earliest_start(&self, lbn: u64) -> Time {
        self.complete_at((lbn + 1).max(self.first.saturating_add(self.stock)))
    }

    /// Returns how many of `blocks` blocks from `lbn` on arrive in time for a pass over them from `start` to `end`.
    fn blocks_in_time(&self, lbn: u64, blocks: u64, start: Time, end: Time) -> u64 {
        if self.first >= lbn + blocks {
            return blocks;
        }
        // Block j is written at start + j * span / blocks, and arrives at from + (j + 1 - skip) * block_ns.
        let span = i128::from(end.saturating_since(start));
        let (blocks_i, bus) = (i128::from(blocks), i128::from(self.block_ns));
        let skip = self.first.saturating_sub(lbn);
        let ahead = i128::from(lbn.saturating_sub(self.first)) - i128::from(skip);
        let base = i128::from(self.from.ns()) - i128::from(start.ns()) + (ahead + 1) * bus;
        // It is late if base + j * bus > j * span / blocks, for j from skip on.
        let is_late = |j: i128| (base + j * bus) * blocks_i > j * span;
        let first = i128::from(skip.max(u64::from(skip == 0)));
        if first >= blocks_i {
            return blocks;
        }
        if is_late(first) {
            return to_u64(first);
        }
        let gain = bus * blocks_i - span;
        if gain <= 0 || base * blocks_i + (blocks_i - 1) * gain <= 0 {
            return blocks;
        }
        // The first j with base * blocks + j * gain > 0.
        to_u64(((-base * blocks_i).div_euclid(gain) + 1).clamp(first, blocks_i))
    }
}

impl PassOptions {
    /// Returns the earliest start of a pass that begins with `lbn`. The minimum seek time of a write counts from the arrival of
    /// its data.
    #[inline]
    fn earliest_start(&self, lbn: u64) -> Time {
        match self.op {
            Op::Read => Time::ZERO,
            Op::Write | Op::Flush | Op::Reset if self.data.end <= lbn => Time::ZERO,
            Op::Write | Op::Flush | Op::Reset => self.data.earliest_start(lbn) + self.least_seek_ns,
        }
    }
}

/// A point on the platters that an arm positions to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// Cylinder and head.
    pub to: Arm,
    /// Angle at which the sector begins.
    pub angle: Angle,
}

/// Positioning of an arm to a sector.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArmMove {
    arm: u32,
    on_track: Time,
    /// Start of the sector.
    pub start: Time,
}

impl ArmMove {
    /// Returns the quickest move from `arms` at `begin` to a sector that may not be accessed before `earliest`; that of the first
    /// arm if both take as long.
    #[inline]
    pub(super) fn quickest(
        mechanics: &Mechanics,
        begin: Time,
        earliest: Time,
        arms: &[Arm; 2],
        target: Target,
        options: &PassOptions,
    ) -> Self {
        let has_one_arm = mechanics.actuators() == 1;
        let move_of = |arm: u32| {
            let seek_ns = mechanics.seek_ns(arms[arm as usize], target.to, options.op).max(options.least_seek_ns);
            let on_track = begin + seek_ns;
            let from = on_track.max(earliest);
            // With one arm, a zero-latency access does not need the wait for the first sector.
            let wait_ns = if has_one_arm && options.any_order { 0 } else { mechanics.wait_ns(from, arm, target.angle) };
            Self { arm, on_track, start: from + wait_ns }
        };
        let first = move_of(0);
        if has_one_arm {
            return first;
        }
        let second = move_of(1);
        if second.start < first.start {
            second
        } else {
            first
        }
    }
}

impl Pass {
    /// Returns the pass over the first of `blocks`, as far as they lie on one track, if an arm may leave at `begin`.
    #[inline]
    pub(super) fn plan(
        mechanics: &Mechanics,
        begin: Time,
        arms: &[Arm; 2],
        blocks: BlockRange,
        options: &PassOptions,
    ) -> Self {
        let lbn = blocks.first;
        let mut run = mechanics.layout().run(lbn);
        run.blocks = run.blocks.min(blocks.count());
        let to = Arm { cylinder: run.place.cylinder, head: run.place.head };
        let angle = mechanics.angle_in(run.zone as usize, run.place);
        let earliest = options.earliest_start(lbn);
        let arm_move = ArmMove::quickest(mechanics, begin, earliest, arms, Target { to, angle }, options);
        let mut pass = Self {
            lbn,
            blocks: run.blocks,
            lead: 0,
            begin,
            on_track: arm_move.on_track,
            start: arm_move.start,
            end: arm_move.start,
            gap_ns: 0,
            arm: arm_move.arm,
            to,
        };
        let writes = options.op == Op::Write;
        if options.any_order {
            let on_track = arm_move.on_track;
            let from = if writes { on_track.max(options.data.complete_at(lbn + run.blocks)) } else { on_track };
            pass.access_in_any_order(mechanics, from, &run, angle);
            return pass;
        }
        let sectors_angle = |sectors| mechanics.sectors_angle(run.zone as usize, sectors);
        pass.end = pass.start + mechanics.pass_ns(pass.start, pass.arm, angle, sectors_angle(run.blocks));
        if writes && options.data.end > lbn {
            let in_time = options.data.blocks_in_time(lbn, run.blocks, pass.start, pass.end);
            if in_time < run.blocks {
                pass.blocks = in_time;
                pass.end = pass.start + mechanics.pass_ns(pass.start, pass.arm, angle, sectors_angle(in_time));
            }
        }
        pass
    }

    /// Returns the pass over the same sectors after a delay of whole revolutions, in which the head stays on the track.
    pub(super) fn repeated_after(&self, delay_ns: u64) -> Self {
        // A pass over a whole track takes a revolution, up to rounding.
        let start = (self.start + delay_ns).max(self.end);
        Self { begin: self.end, on_track: self.end, start, end: start + (self.end - self.start), ..*self }
    }

    fn access_in_any_order(&mut self, mechanics: &Mechanics, from: Time, run: &Run, angle: Angle) {
        let order = mechanics.pass_any_from(from, self.arm, run, angle);
        self.lead = order.first;
        self.start = from + order.wait_ns;
        self.end = from + order.end_ns;
        if order.first > 0 {
            let data_ns = mechanics.spindle().time_ns(mechanics.sectors_angle(run.zone as usize, run.blocks));
            self.gap_ns = (self.end - self.start).saturating_sub(data_ns);
        }
    }

    /// Returns the block after the last one.
    #[inline]
    pub(super) const fn end_lbn(&self) -> u64 {
        self.lbn + self.blocks
    }

    /// Returns the end of block `index` of the pass.
    #[inline]
    pub(super) fn block_end(&self, index: u64) -> Time {
        if self.lead > 0 {
            // A zero-latency access from the middle: the blocks before `lead` come last.
            let back = if index < self.lead { self.lead - 1 - index } else { 0 };
            let block_ns = self.data_ns() / self.blocks;
            return Time::from_ns(self.end.ns() - back * block_ns);
        }
        if index + 1 == self.blocks {
            return self.end;
        }
        self.start + mul_div_ceil(self.end - self.start, index + 1, self.blocks)
    }

    /// Returns how many of its first blocks have been accessed at `now`.
    #[inline]
    pub(super) fn blocks_done(&self, now: Time) -> u64 {
        if now >= self.end {
            self.blocks
        } else if now <= self.start || self.lead > 0 {
            0
        } else {
            mul_div(now - self.start, self.blocks, self.end - self.start)
        }
    }

    /// Returns the time in which its own blocks are under the head.
    #[inline]
    pub(super) fn data_ns(&self) -> u64 {
        self.end - self.start - self.gap_ns
    }
}
