//! Background work of a drive: read-ahead and write-behind.
//!
//! Background work has no events. A task holds the pass that is under way or comes next. On each call, the drive first completes
//! the passes that have ended by then.

use super::device::DiskDevice;
use super::layout::BlockRange;
use super::pass::{DataArrival, Pass, PassOptions};
use super::work_log::WorkLog;
use super::Arm;
use crate::request::Op;
use crate::time::Time;

/// A read-ahead or a write-behind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    /// Segment of the buffer that is filled or emptied.
    pub segment: usize,
    /// The pass under way, or the next one.
    pub pass: Pass,
    /// First block of the pass after this one.
    pub next: u64,
    /// End (exclusive) of the blocks to read or write.
    pub limit: u64,
    /// Read-ahead: a block that is not read yet.
    pub hold: Option<Hold>,
    /// Read-ahead: end (exclusive) of the blocks that are read before another request gets the arm.
    pub least: u64,
    /// Read-ahead on a single track: blocks of the track before the segment's, which pass after the end of the track, if the drive
    /// keeps them.
    pub free_blocks: Option<BlockRange>,
    /// True if the pass is over the free blocks.
    pub reads_free_blocks: bool,
    /// Options of the passes.
    pub options: PassOptions,
}

/// A block that is not read ahead before `until`: the segment has no room for it until a request has been transferred.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hold {
    pub until: Time,
    pub block: u64,
}

impl Task {
    /// Returns true for a write-behind.
    #[inline]
    pub(super) const fn writes(&self) -> bool {
        matches!(self.options.op, Op::Write)
    }
}

/// How far a drive reads ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadAheadRange {
    /// End (exclusive) of the read-ahead.
    pub limit: u64,
    /// End (exclusive) of the blocks that are read even if another request waits.
    pub least: u64,
}

impl PassOptions {
    /// Passes of a read-ahead.
    pub(super) const READ_AHEAD: Self =
        Self { op: Op::Read, any_order: false, least_seek_ns: 0, data: DataArrival::COMPLETE };
}

/// The arms at the instant at which the background task releases them.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReleasedArms {
    /// The instant.
    pub at: Time,
    /// Positions of the arms.
    pub arms: [Arm; 2],
    /// Index of the arm that moved last.
    pub arm: u32,
}

impl DiskDevice {
    /// Adds the work of the task until `now` to `log`, without a change to the drive.
    pub(super) fn add_task_work(&self, log: &mut WorkLog, now: Time) {
        let Some(mut task) = self.task else { return };
        let mut arms = self.arms;
        while task.pass.begin < now {
            log.pass(&task.pass, task.options.op, now);
            arms[task.pass.arm as usize] = task.pass.to;
            if !self.plan_next_pass(&mut task, &arms) {
                return;
            }
        }
    }

    /// Begins a read-ahead into a segment, from its end up to `range.limit`.
    #[inline]
    pub(super) fn read_ahead(&mut self, segment: usize, at: Time, range: ReadAheadRange) {
        let ReadAheadRange { limit, least } = range;
        let first = self.buffer.segment(segment).end;
        if first >= limit {
            return;
        }
        let options = PassOptions::READ_AHEAD;
        let begin = at.max(self.free);
        let pass = Pass::plan(&self.mechanics, begin, &self.arms, BlockRange { first, end: limit }, &options);
        self.task = Some(Task {
            segment,
            pass,
            limit,
            least,
            free_blocks: None,
            reads_free_blocks: false,
            next: pass.end_lbn(),
            hold: None,
            options,
        });
    }

    /// Keeps the read-ahead of a request processed from `at` on from evicting blocks of a segment from `first` on before `until`, when
    /// they have been transferred.
    pub(super) fn hold_read_ahead(&mut self, segment: usize, first: u64, at: Time, until: Time) {
        let block = first + self.buffer.segment_blocks();
        let Some(task) = self.task.as_mut().filter(|task| task.segment == segment && task.limit > block) else {
            return;
        };
        task.hold = Some(Hold { until, block });
        let pass = &mut task.pass;
        if !task.reads_free_blocks
            && pass.lbn < block
            && block < pass.end_lbn()
            && pass.block_end(block - pass.lbn) < until
        {
            // The block without room may be under the head.
            (pass.end, pass.blocks) = (pass.block_end(block - pass.lbn - 1).max(at), block - pass.lbn);
            task.next = block;
        }
    }

    /// Replaces the pass of a task by its next one, given the arms at the end of the pass under way. Returns false if that was the last.
    pub(super) fn plan_next_pass(&self, task: &mut Task, arms: &[Arm; 2]) -> bool {
        task.options.least_seek_ns = 0;
        let mut at = task.pass.end;
        if task.next < task.limit {
            let mut end = task.limit;
            if let Some(hold) = task.hold.filter(|hold| at < hold.until) {
                if task.next >= hold.block {
                    at = hold.until;
                } else {
                    end = end.min(hold.block);
                }
            }
            let blocks = BlockRange { first: task.next, end };
            task.pass = Pass::plan(&self.mechanics, at, arms, blocks, &task.options);
            (task.next, task.reads_free_blocks) = (task.pass.end_lbn(), false);
            return true;
        }
        let Some(free_blocks) = task.free_blocks.take() else { return false };
        task.pass = Pass::plan(&self.mechanics, at, arms, free_blocks, &task.options);
        task.reads_free_blocks = true;
        true
    }

    /// Completes the pass of the task, which has ended, and plans the next one.
    pub(super) fn complete_pass(&mut self) {
        let Some(mut task) = self.task else { return };
        let done = task.pass;
        self.record_pass(&done, task.options.op, done.end);
        if task.reads_free_blocks {
            self.buffer.extend_front(task.segment, done.lbn);
        } else if !task.writes() {
            self.buffer.extend(task.segment, done.end_lbn());
        }
        if self.plan_next_pass(&mut task, &self.arms) {
            self.task = Some(task);
        } else {
            self.task = None;
            self.buffer.discard_uncached(task.segment);
        }
    }

    /// Completes the passes that have ended at `now`, and updates the segment that the task reads into.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Time) {
        while self.task.as_ref().is_some_and(|task| task.pass.end <= now) {
            self.complete_pass();
        }
        if let Some(task) = self.task.as_ref().filter(|task| !task.writes() && !task.reads_free_blocks) {
            self.buffer.extend(task.segment, task.pass.lbn + task.pass.blocks_done(now));
        }
    }

    /// Continues the task until all blocks before `end` are read or written; returns the time at which they are, at least `now`.
    pub(super) fn run_task_until(&mut self, end: u64, now: Time) -> Time {
        let mut at = now;
        while let Some(task) = &self.task {
            // A pass over free blocks comes after the requested blocks, unless the limit has grown since.
            let first = if task.reads_free_blocks { task.next } else { task.pass.lbn };
            if first >= end {
                break;
            }
            if !task.reads_free_blocks && end < task.pass.end_lbn() {
                let done = end - task.pass.lbn;
                let done_at = task.pass.block_end(done - 1);
                if !task.writes() {
                    self.buffer.extend(task.segment, end);
                }
                return at.max(done_at);
            }
            at = at.max(task.pass.end);
            self.complete_pass();
        }
        at
    }

    /// Stops the task for a request that arrived at `now`; returns the time at which the request gets the arm. The minimum read-ahead
    /// and a seek under way are completed, and so is a sector, unless the drive can stop within one.
    pub(super) fn stop_task(&mut self, now: Time) -> Time {
        let Some(task) = &self.task else { return now.max(self.free) };
        let now = if self.buffer.segment(task.segment).end < task.least {
            self.run_task_until(task.least.min(task.limit), now)
        } else {
            now
        };
        let Some(task) = self.task.take() else { return now.max(self.free) };
        let pass = task.pass;
        let stop = if now <= pass.begin {
            // The pass has not begun.
            self.buffer.discard_uncached(task.segment);
            return now.max(self.free);
        } else if now < pass.on_track {
            pass.on_track
        } else if self.stops_in_sector || now < pass.start {
            now
        } else {
            pass.block_end(pass.blocks_done(now).min(pass.blocks - 1)).max(now)
        };
        self.record_pass(&pass, task.options.op, stop);
        self.buffer.discard_uncached(task.segment);
        stop
    }

    /// Returns the arms as a request dispatched at `now` gets them from the task: a write-behind is completed, and of a read-ahead
    /// the minimum and a seek under way.
    pub(super) fn arms_after_task(&self, mut task: Task, now: Time) -> ReleasedArms {
        let mut released = ReleasedArms { at: now.max(self.free), arms: self.arms, arm: self.arm };
        loop {
            let pass = &task.pass;
            let must_finish = task.writes() || task.next < task.least.min(task.limit);
            if !must_finish && now <= pass.begin {
                return released;
            }
            let is_complete = must_finish || pass.end <= now;
            (released.arms[pass.arm as usize], released.arm) = (pass.to, pass.arm);
            released.at = now.max(if is_complete { pass.end } else { pass.on_track });
            if !(is_complete && self.plan_next_pass(&mut task, &released.arms)) {
                return released;
            }
        }
    }
}
