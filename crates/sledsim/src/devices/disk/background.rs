//! What a drive does on its own account: it reads ahead and writes behind.
//!
//! Neither has events. A task knows the pass that is under way or comes next; the drive catches up with it when it is asked
//! something, and a pass that is over is followed by the next one.

use super::access::DiskDevice;
use super::pass::{Errand, Pass};
use super::work_log::WorkLog;
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
    /// Block that the pass behind this one begins with.
    pub next: u64,
    /// Block behind the last to read or write.
    pub limit: u64,
    /// Read-ahead: an instant, and a block that is not read before it, as the segment has no room until a request has been handed
    /// over.
    pub hold: (Time, u64),
    /// Read-ahead: block behind the last that is read before anything else gets the arm.
    pub least: u64,
    /// Read-ahead on a single track: blocks before the segment's that pass when the track's last has, if the drive keeps them.
    pub free_blocks: Option<(u64, u64)>,
    /// Whether the pass is over those.
    pub returned: bool,
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
    /// Adds the work for the task until `now` to a copy of the work log.
    pub(super) fn plan_work(&self, log: &mut WorkLog, now: Time) {
        let (mut task, mut arms) = (self.task, self.arms);
        while let Some(under_way) = task.filter(|task| task.pass.begin < now) {
            log.pass(&under_way.pass, under_way.errand.op, now);
            arms[under_way.pass.arm as usize] = under_way.pass.to;
            task = self.following(under_way, &arms);
        }
    }

    /// Begins to read ahead into a segment, from its end up to `limit`.
    #[inline]
    pub(super) fn read_ahead(&mut self, segment: usize, at: Time, limit: u64, least: u64) {
        let from = self.buffer.segment(segment).end;
        if from >= limit {
            return;
        }
        let errand = self.reading_on();
        let begin = at.max(self.free);
        let pass = Pass::plan(&self.mechanics, begin, &self.arms, from, limit, &errand);
        self.task = Some(Task {
            segment,
            pass,
            limit,
            least,
            free_blocks: None,
            returned: false,
            next: pass.end_lbn(),
            hold: (Time::ZERO, u64::MAX),
            errand,
        });
    }

    /// Keeps reading ahead from pushing blocks from `first` on out of a segment before they have been handed over, at `until`, for a request
    /// looked at from `at` on.
    pub(super) fn hold_back(&mut self, segment: usize, first: u64, at: Time, until: Time) {
        let held = first + self.buffer.segment_blocks();
        let Some(task) = self.task.as_mut().filter(|task| task.segment == segment && task.limit > held) else { return };
        task.hold = (until, held);
        let pass = &mut task.pass;
        if !task.returned && pass.lbn < held && held < pass.end_lbn() && pass.passed_at(held - pass.lbn) < until {
            // It may be in the midst of the block that finds no room.
            (pass.end, pass.blocks) = (pass.passed_at(held - pass.lbn - 1).max(at), held - pass.lbn);
            task.next = held;
        }
    }

    /// The task with its next pass, once the one under way is over and has left the arms there.
    pub(super) fn following(&self, mut task: Task, arms: &[Arm; 2]) -> Option<Task> {
        task.errand.least_seek_ns = 0;
        let (until, held) = task.hold;
        let mut at = task.pass.end;
        if task.next < task.limit {
            let mut limit = task.limit;
            if at < until && task.next >= held {
                at = until;
            } else if at < until {
                limit = limit.min(held);
            }
            task.pass = Pass::plan(&self.mechanics, at, arms, task.next, limit, &task.errand);
            (task.next, task.returned) = (task.pass.end_lbn(), false);
            return Some(task);
        }
        let (first, end) = task.free_blocks.take()?;
        task.pass = Pass::plan(&self.mechanics, at, arms, first, end, &task.errand);
        task.returned = true;
        Some(task)
    }

    /// Adds the pass of the task, which has ended, to the work log, and goes on to the next, if there is one.
    pub(super) fn next_pass(&mut self) {
        let Some(task) = self.task else { return };
        let done = task.pass;
        self.passed(&done, task.errand.op, done.end);
        if task.returned {
            self.buffer.reach_back(task.segment, done.lbn);
        } else if !task.writes() {
            self.buffer.extend(task.segment, done.end_lbn());
        }
        self.task = self.following(task, &self.arms);
        if self.task.is_none() {
            self.buffer.settle(task.segment);
        }
    }

    /// Catches up with the task as it stands at `now`.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Time) {
        while self.task.is_some_and(|task| task.pass.end <= now) {
            self.next_pass();
        }
        if let Some(task) = self.task.filter(|task| !task.writes() && !task.returned) {
            self.buffer.extend(task.segment, task.pass.lbn + task.pass.passed(now));
        }
    }

    /// Carries the task through up to block `end`, and says when that was read or written: `now` if it already was.
    pub(super) fn carry_on(&mut self, end: u64, now: Time) -> Time {
        let mut at = now;
        while let Some(task) = self.task {
            // A pass over free blocks comes after what was asked for, unless that has grown since.
            let begins = if task.returned { task.next } else { task.pass.lbn };
            if begins >= end {
                break;
            }
            if !task.returned && end < task.pass.end_lbn() {
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
        let Some(task) = self.task else { return now.max(self.free) };
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
            return now.max(self.free);
        } else if now < pass.on_track {
            pass.on_track
        } else if self.stop_in_sector || now < pass.start {
            now
        } else {
            pass.passed_at(pass.passed(now).min(pass.blocks - 1)).max(now)
        };
        self.passed(&pass, task.errand.op, stop);
        self.buffer.settle(task.segment);
        stop
    }

    /// When the arm gets free of the task, and where the arms are then, as things stand at `now`: writing behind goes to its
    /// end, reading ahead to its least and to the end of a seek.
    pub(super) fn freed(&self, mut task: Task, now: Time) -> Freed {
        let mut freed = Freed { at: now.max(self.free), arms: self.arms, arm: self.arm };
        loop {
            let pass = task.pass;
            let stays = task.writes() || task.next < task.least.min(task.limit);
            if !stays && now <= pass.begin {
                return freed;
            }
            let over = stays || pass.end <= now;
            (freed.arms[pass.arm as usize], freed.arm) = (pass.to, pass.arm);
            freed.at = now.max(if over { pass.end } else { pass.on_track });
            match self.following(task, &freed.arms) {
                Some(following) if over => task = following,
                _ => return freed,
            }
        }
    }
}
