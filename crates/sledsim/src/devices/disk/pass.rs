//! Passes: consecutive sectors of one track that go by under a head, and what leads up to them.

use super::mechanics::{Arm, Mechanics};
use super::{Angle, Run};
use crate::convert::to_u64;
use crate::request::Op;
use crate::time::Time;

/// One pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// First block, in the order of LBNs.
    pub lbn: u64,
    /// Blocks.
    pub blocks: u64,
    /// Index of the block that passes first: 0, but where a pass begins in the middle and comes round to its beginning.
    pub lead: u64,
    /// When the arm sets off.
    pub begin: Time,
    /// When it is on track.
    pub on_track: Time,
    /// When the first sector is there.
    pub start: Time,
    /// When the last has gone by.
    pub end: Time,
    /// Of the time between those, what goes by between its end and its beginning: sectors of others.
    pub gap_ns: u64,
    /// Index of the arm.
    pub arm: u32,
    /// Where that arm stands then.
    pub to: Arm,
}

/// What a pass is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Errand {
    /// Reading or writing.
    pub op: Op,
    /// Whether it may begin with whatever sector of it comes first.
    pub any_order: bool,
    /// Least time of the seek.
    pub least_seek_ns: u64,
    /// Data to be written: when it is there.
    pub supply: Supply,
}

/// When the blocks of a write are in the buffer: those before `lbn` are, the others come evenly.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Supply {
    /// First block that is still to come.
    pub lbn: u64,
    /// Block behind the last that comes.
    pub end: u64,
    /// When it begins to come.
    pub from: Time,
    /// Time of a block.
    pub block_ns: u64,
    /// Blocks that must be there before the first of them is written.
    pub stock: u64,
}

impl Supply {
    /// Everything is there.
    pub(super) const READY: Self = Self { lbn: u64::MAX, end: u64::MAX, from: Time::ZERO, block_ns: 0, stock: 0 };

    /// When all blocks before `end` are there.
    #[inline]
    fn ready(&self, end: u64) -> Time {
        self.from + end.min(self.end).saturating_sub(self.lbn) * self.block_ns
    }

    /// When a pass that begins with `lbn` may start.
    #[inline]
    fn may_start(&self, lbn: u64) -> Time {
        self.ready((lbn + 1).max(self.lbn.saturating_add(self.stock)))
    }

    /// How many blocks from `lbn` on, of `blocks`, are there in time for a pass from `start` to `end` over them.
    fn in_time(&self, lbn: u64, blocks: u64, start: Time, end: Time) -> u64 {
        if self.lbn >= lbn + blocks {
            return blocks;
        }
        // The medium takes block j at start + j * span / blocks; it is there at from + (j + 1 - skip) * block_ns.
        let span = i128::from(end.saturating_since(start));
        let (blocks_i, bus) = (i128::from(blocks), i128::from(self.block_ns));
        let skip = self.lbn.saturating_sub(lbn);
        let ahead = i128::from(lbn.saturating_sub(self.lbn)) - i128::from(skip);
        let base = i128::from(self.from.ns()) - i128::from(start.ns()) + (ahead + 1) * bus;
        // Late where base + j * bus > j * span / blocks, from j = skip on.
        let late = |j: i128| (base + j * bus) * blocks_i > j * span;
        let first = i128::from(skip.max(u64::from(skip == 0)));
        if first >= blocks_i {
            return blocks;
        }
        if late(first) {
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

impl Errand {
    /// When the first sector of a pass over `lbn` may come by at the earliest. A least seek time of a write counts from when its
    /// data is there.
    #[inline]
    fn may_start(&self, lbn: u64) -> Time {
        match self.op {
            Op::Read => Time::ZERO,
            Op::Write | Op::Flush if self.supply.end <= lbn => Time::ZERO,
            Op::Write | Op::Flush => self.supply.may_start(lbn) + self.least_seek_ns,
        }
    }
}

/// The way of an arm to a sector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    arm: u32,
    on_track: Time,
    /// When the sector is there.
    pub start: Time,
}

impl Way {
    /// The quickest way, from where the arms are at `begin`, to a sector that begins at `angle` and may not pass before
    /// `ready`; that of the first arm where both are as quick.
    #[inline]
    pub(super) fn find(
        mechanics: &Mechanics,
        begin: Time,
        ready: Time,
        arms: &[Arm; 2],
        to: Arm,
        angle: Angle,
        errand: &Errand,
    ) -> Self {
        let alone = mechanics.actuators() == 1;
        let by = |arm: u32| {
            let seek_ns = mechanics.seek_ns(arms[arm as usize], to, errand.op).max(errand.least_seek_ns);
            let on_track = begin + seek_ns;
            let from = on_track.max(ready);
            // With one arm, and any sector welcome, it is not the first that counts.
            let wait_ns = if alone && errand.any_order { 0 } else { mechanics.wait_ns(from, arm, angle) };
            Self { arm, on_track, start: from + wait_ns }
        };
        let first = by(0);
        if alone {
            return first;
        }
        let second = by(1);
        if second.start < first.start {
            second
        } else {
            first
        }
    }
}

impl Pass {
    /// The pass that begins with `lbn` and goes on as far as its track, or up to `limit`, once an arm sets off at `begin`.
    #[inline]
    pub(super) fn plan(
        mechanics: &Mechanics,
        begin: Time,
        arms: &[Arm; 2],
        lbn: u64,
        limit: u64,
        errand: &Errand,
    ) -> Self {
        let mut run = mechanics.layout().run(lbn);
        run.blocks = run.blocks.min(limit - lbn);
        let to = Arm { cylinder: run.place.cylinder, head: run.place.head };
        let angle = mechanics.angle_in(run.zone as usize, run.place);
        let ready = errand.may_start(lbn);
        let way = Way::find(mechanics, begin, ready, arms, to, angle, errand);
        let mut pass = Self {
            lbn,
            blocks: run.blocks,
            lead: 0,
            begin,
            on_track: way.on_track,
            start: way.start,
            end: way.start,
            gap_ns: 0,
            arm: way.arm,
            to,
        };
        let writing = errand.op == Op::Write;
        if errand.any_order {
            let from = if writing { way.on_track.max(errand.supply.ready(lbn + run.blocks)) } else { way.on_track };
            pass.take_any_order(mechanics, from, &run);
            return pass;
        }
        let turn = |blocks| mechanics.turn(run.zone as usize, blocks);
        pass.end = pass.start + mechanics.pass_ns(pass.start, way.arm, angle, turn(run.blocks));
        if writing && errand.supply.end > lbn {
            let blocks = errand.supply.in_time(lbn, run.blocks, pass.start, pass.end);
            if blocks < run.blocks {
                pass.blocks = blocks;
                pass.end = pass.start + mechanics.pass_ns(pass.start, way.arm, angle, turn(blocks));
            }
        }
        pass
    }

    fn take_any_order(&mut self, mechanics: &Mechanics, from: Time, run: &Run) {
        let order = mechanics.pass_any(from, self.arm, run);
        self.lead = order.first;
        self.start = from + order.wait_ns;
        self.end = from + order.end_ns;
        if order.first > 0 {
            let data_ns = mechanics.spindle().time_ns(mechanics.turn(run.zone as usize, run.blocks));
            self.gap_ns = (self.end - self.start).saturating_sub(data_ns);
        }
    }

    /// Block behind the last.
    #[inline]
    pub(super) const fn end_lbn(&self) -> u64 {
        self.lbn + self.blocks
    }

    /// When block `index` of it has gone by.
    #[inline]
    pub(super) fn passed_at(&self, index: u64) -> Time {
        if self.lead > 0 {
            // Round from the middle: the blocks before it come last.
            let back = if index < self.lead { self.lead - 1 - index } else { 0 };
            let block_ns = self.data_ns() / self.blocks;
            return Time::from_ns(self.end.ns() - back * block_ns);
        }
        let span = u128::from(self.end - self.start) * u128::from(index + 1);
        self.start + to_u64(span.div_ceil(u128::from(self.blocks)))
    }

    /// How many of its blocks, in the order of LBNs, have gone by at `now`.
    #[inline]
    pub(super) fn passed(&self, now: Time) -> u64 {
        if now >= self.end {
            self.blocks
        } else if now <= self.start || self.lead > 0 {
            0
        } else {
            to_u64(u128::from(now - self.start) * u128::from(self.blocks) / u128::from(self.end - self.start))
        }
    }

    /// Time that its blocks are under the head.
    #[inline]
    pub(super) fn data_ns(&self) -> u64 {
        self.end - self.start - self.gap_ns
    }
}
