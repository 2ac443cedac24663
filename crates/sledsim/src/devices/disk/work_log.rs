//! The time of a drive: the work of its arms and heads by state, and the service of a request by phase.

use super::pass::Pass;
use crate::devices::power_manager::{BusyTime, Work};
use crate::devices::{Phases, State};
use crate::request::Op;
use crate::time::Time;

/// The work of the arms and heads; the rest of the time they are idle.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkLog {
    /// True if the drive has an energy account, which then includes the past work; `busy` does otherwise.
    has_account: bool,
    busy: BusyTime,
    /// No earlier instant is queried.
    settled_until: Time,
    /// Work that may not have ended, or that the account may not include, in the order of time.
    work: Vec<Work>,
}

impl WorkLog {
    /// Returns the log of a drive that has done nothing.
    pub(super) fn new(has_account: bool) -> Self {
        Self { has_account, ..Self::default() }
    }

    /// Forgets the work until `now`, which the energy account includes.
    pub(super) fn forget(&mut self, now: Time) {
        self.work.retain(|work| work.to > now);
    }

    /// Returns the work since [`WorkLog::forget`], in the order of time.
    pub(super) fn work(&self) -> &[Work] {
        &self.work
    }

    /// Without an energy account, sums up the work that has ended at `now`. Work that was stopped for a request which the buffer
    /// then served may not have ended: an arm completes its seek.
    #[inline]
    pub(super) fn settle(&mut self, now: Time) {
        if self.has_account {
            return;
        }
        self.settled_until = self.settled_until.max(now);
        let busy = &mut self.busy;
        if self.work.iter().all(|work| work.to <= now) {
            self.work.iter().for_each(|work| busy.add(work, now));
            self.work.clear();
            return;
        }
        self.work.retain(|work| {
            let has_ended = work.to <= now;
            if has_ended {
                busy.add(work, now);
            }
            !has_ended
        });
    }

    #[inline]
    fn add(&mut self, op: Op, state: State, from: Time, to: Time) {
        if from >= to {
            return;
        }
        let work = Work { op, state, from, to };
        if !self.has_account && to <= self.settled_until {
            self.busy.add(&work, to);
        } else {
            self.work.push(work);
        }
    }

    /// Adds a pass for an operation, up to `until`.
    #[inline]
    pub(super) fn pass(&mut self, pass: &Pass, op: Op, until: Time) {
        self.add(op, State::Seek, pass.begin.min(until), pass.on_track.min(until));
        self.add(op, State::Rotation, pass.on_track.min(until), pass.start.min(until));
        if pass.gap_ns == 0 {
            self.add(op, State::Data, pass.start.min(until), pass.end.min(until));
        } else {
            // The blocks from `lead` on, the gap, and the blocks before `lead`.
            let tail_ns = pass.data_ns() / pass.blocks * (pass.blocks - pass.lead);
            let gap = pass.start + tail_ns;
            self.add(op, State::Data, pass.start.min(until), gap.min(until));
            self.add(op, State::Rotation, gap.min(until), (gap + pass.gap_ns).min(until));
            self.add(op, State::Data, (gap + pass.gap_ns).min(until), pass.end.min(until));
        }
    }

    /// Returns the time of all work until `now`, without an energy account.
    pub(super) fn busy(&self, now: Time) -> BusyTime {
        let mut busy = self.busy;
        self.work.iter().for_each(|work| busy.add(work, now));
        busy
    }
}

/// The phases of a request, added in the order of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct PhaseTimeline {
    phases: Phases,
    until: Time,
    positioned: bool,
}

impl PhaseTimeline {
    /// Returns the phases of a request that begins at `start`.
    pub(super) fn new(start: Time) -> Self {
        Self { phases: Phases::default(), until: start, positioned: false }
    }

    /// Moves on to `to`, if that is later; returns the time in between.
    #[inline]
    fn advance(&mut self, to: Time) -> u64 {
        let ns = to.saturating_since(self.until);
        self.until += ns;
        ns
    }

    /// Adds work of the electronics up to `to`.
    #[inline]
    pub(super) fn command(&mut self, to: Time) {
        self.phases.command_ns += self.advance(to);
    }

    /// Adds background work of the drive up to `to`.
    #[inline]
    pub(super) fn background(&mut self, to: Time) {
        self.phases.background_ns += self.advance(to);
    }

    /// Adds a pass of the request.
    #[inline]
    pub(super) fn pass(&mut self, pass: &Pass) {
        // The arm waits for the electronics.
        self.command(pass.begin);
        let (seek_ns, wait_ns) = (self.advance(pass.on_track), self.advance(pass.start));
        if self.positioned {
            self.phases.turnaround_ns += seek_ns + wait_ns;
        } else {
            self.positioned = true;
            self.phases.seek_ns += seek_ns;
            self.phases.seek_x_ns += seek_ns;
            self.phases.rotation_ns += wait_ns;
        }
        let passed_ns = self.advance(pass.end);
        let gap_ns = pass.gap_ns.min(passed_ns);
        self.phases.rotation_ns += gap_ns;
        self.phases.transfer_ns += passed_ns - gap_ns;
    }

    /// Adds the transfer of data from the medium up to `to`.
    #[inline]
    pub(super) fn transfer(&mut self, to: Time) {
        self.phases.transfer_ns += self.advance(to);
    }

    /// Adds work of the bus up to `to`.
    #[inline]
    pub(super) fn bus(&mut self, to: Time) {
        self.phases.bus_ns += self.advance(to);
    }

    /// Returns the phases of a request that ends at `to`.
    #[inline]
    pub(super) fn end(mut self, to: Time) -> Phases {
        self.command(to);
        self.phases
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::disk::Arm;

    fn pass(begin_ns: u64) -> Pass {
        let at = |ns| Time::from_ns(begin_ns + ns);
        let (begin, on_track, start, end) = (at(0), at(2), at(5), at(9));
        let (lbn, blocks, lead, gap_ns, arm, to) = (0, 4, 0, 0, 0, Arm::default());
        Pass { lbn, blocks, lead, begin, on_track, start, end, gap_ns, arm, to }
    }

    #[test]
    fn ended_work_takes_no_memory() {
        let mut log = WorkLog::new(false);
        log.settle(Time::from_ns(10_000));
        for begin_ns in (0..10_000).step_by(10) {
            log.pass(&pass(begin_ns), Op::Read, Time::from_ns(begin_ns + 9));
        }
        assert!(log.work.is_empty());
        log.pass(&pass(9_999), Op::Read, Time::from_ns(10_008));
        assert_eq!(log.work.len(), 3);
        let ledger = log.busy(Time::from_ns(10_003)).ledger(Time::from_ns(10_003));
        let states =
            [State::Seek, State::Rotation, State::Data, State::Idle].map(|state| ledger.time_ns[state as usize]);
        // A thousand passes of 2, 3 and 4 ns, and the first 4 ns of one more.
        assert_eq!(states, [2_002, 3_002, 4_000, 999]);
    }
}
