//! What a drive does on its own account: it reads ahead and writes behind.
//!
//! Neither has events. A task knows the pass that is under way or comes next; the drive catches up with it when it is asked
//! something, and a pass that is over is followed by the next one.

use super::access::DiskDevice;
use super::pass::{Errand, Pass};
use super::Arm;
use crate::request::Op;
use crate::time::Time;

/// A task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    /// Segment of the buffer that is filled or emptied.
    pub segment: usize,
    /// The pass under way, or the next.
    pub pass: Pass,
    /// Block behind the last to read or write.
    pub limit: u64,
    /// Read-ahead: block behind the last that is read before anything else gets the arm.
    pub least: u64,
    /// What the passes are for.
    pub errand: Errand,
}

impl Task {
    /// Whether it writes.
    #[inline]
    pub(super) const fn writes(&self) -> bool {
        matches!(self.errand.op, Op::Write)
    }
}

/// The arms when the task lets go of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Freed {
    /// When.
    pub at: Time,
    /// Where they are.
    pub arms: [Arm; 2],
    /// Index of the one that moved last.
    pub arm: u32,
}

impl DiskDevice {
    /// Begins to read ahead into a segment, from its end up to `limit`.
    #[inline]
    pub(super) fn read_ahead(&mut self, segment: usize, at: Time, limit: u64, least: u64) {
        let from = self.buffer.segment(segment).end;
        if from >= limit {
            return;
        }
        let errand = self.reading_on();
        let pass = Pass::plan(&self.mechanics, at, &self.arms, from, limit, &errand);
        self.task = Some(Task { segment, pass, limit, least, errand });
    }

    /// The pass of the task is over: books it and goes on to the next. False where that was the last.
    fn next_pass(&mut self) -> bool {
        let Some(task) = self.task.as_mut() else { return false };
        let done = task.pass;
        if !task.writes() {
            self.buffer.extend(task.segment, done.end_lbn());
        }
        let (next, limit) = (done.end_lbn(), task.limit);
        self.passed(&done, done.end);
        if next < limit {
            let Some(task) = self.task.as_mut() else { return false };
            task.errand.least_seek_ns = 0;
            task.pass = Pass::plan(&self.mechanics, done.end, &self.arms, done.end_lbn(), task.limit, &task.errand);
            return true;
        }
        if let Some(task) = self.task.take() {
            self.buffer.settle(task.segment);
        }
        false
    }

    /// Catches up with the task as it stands at `now`.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Time) {
        while self.task.is_some_and(|task| task.pass.end <= now) {
            self.next_pass();
        }
        if let Some(task) = self.task.filter(|task| !task.writes()) {
            self.buffer.extend(task.segment, task.pass.lbn + task.pass.passed(now));
        }
    }

    /// Carries the task through up to block `end`, and says when that was read or written: `now` if it already was.
    pub(super) fn carry_on(&mut self, end: u64, now: Time) -> Time {
        let mut at = now;
        while let Some(task) = self.task {
            if task.pass.lbn >= end {
                break;
            }
            if end < task.pass.end_lbn() {
                let done = end - task.pass.lbn;
                let passed = task.pass.passed_at(done - 1);
                if !task.writes() {
                    self.buffer.extend(task.segment, end);
                }
                return at.max(passed);
            }
            at = at.max(task.pass.end);
            self.next_pass();
        }
        at
    }

    /// Breaks off reading ahead for a request that came at `now`, and says from when on it has the arm. A seek goes to its
    /// end, and so does a sector, unless the drive can stop within one.
    pub(super) fn break_off(&mut self, now: Time) -> Time {
        let Some(task) = self.task else { return now };
        // The least is read first.
        let now = if self.buffer.segment(task.segment).end < task.least {
            self.carry_on(task.least.min(task.limit), now)
        } else {
            now
        };
        let Some(task) = self.task.take() else { return now.max(self.free) };
        let pass = task.pass;
        let stop = if now <= pass.begin {
            // It has not set off.
            self.buffer.settle(task.segment);
            return now;
        } else if now < pass.on_track {
            pass.on_track
        } else if self.stop_in_sector || now < pass.start {
            now
        } else {
            pass.passed_at(pass.passed(now).min(pass.blocks - 1)).max(now)
        };
        self.passed(&pass, stop);
        self.buffer.settle(task.segment);
        stop
    }

    /// When the arm gets free of the task, and where the arms are then, as things stand at `now`: writing behind goes to its
    /// end, reading ahead to its least and to the end of a seek.
    pub(super) fn freed(&self, mut task: Task, now: Time) -> Freed {
        let mut freed = Freed { at: now, arms: self.arms, arm: self.arm };
        loop {
            let (pass, next) = (task.pass, task.pass.end_lbn());
            let stays = task.writes() || next < task.least.min(task.limit);
            if !stays && now <= pass.begin {
                return freed;
            }
            freed.arms[pass.arm as usize] = pass.to;
            freed.arm = pass.arm;
            freed.at = if stays || pass.end <= now { now.max(pass.end) } else { now.max(pass.on_track) };
            if next >= task.limit || !(stays || pass.end <= now) {
                return freed;
            }
            task.errand.least_seek_ns = 0;
            task.pass = Pass::plan(&self.mechanics, pass.end, &freed.arms, next, task.limit, &task.errand);
        }
    }
}
