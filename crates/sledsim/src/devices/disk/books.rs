//! Where a drive's time went: by state for the ledger, by phase for a request.

use super::pass::Pass;
use crate::devices::power_account::{BusyTime, Work};
use crate::devices::{Phases, State};
use crate::request::Op;
use crate::time::Time;

/// What the arms and heads did. What is in no span was spent idle.
#[derive(Clone, Debug, Default)]
pub(super) struct Books {
    /// Spans that are over and done with.
    settled: BusyTime,
    /// Until when everything is settled: no one asks for an instant before.
    settled_until: Time,
    /// Spans that may not be over.
    spans: Vec<Work>,
    /// Where a meter wants to hear of them: spans that it hasn't heard of, in the order of time.
    untold: Option<Vec<Work>>,
}

impl Books {
    /// Books that remember what happened until it has been [`Books::told`].
    pub(super) fn remembering() -> Self {
        Self { untold: Some(Vec::new()), ..Self::default() }
    }

    /// Forgets what happened until `now`.
    pub(super) fn told(&mut self, now: Time) {
        if let Some(untold) = &mut self.untold {
            untold.retain(|work| work.to > now);
        }
    }

    /// What has happened since it was last [`Books::told`].
    pub(super) fn untold(&self) -> &[Work] {
        self.untold.as_deref().unwrap_or_default()
    }

    /// Books everything that is over at `now`. What a drive broke off for a request that it then found in its buffer may not
    /// be: an arm goes to the end of its seek.
    #[inline]
    pub(super) fn settle(&mut self, now: Time) {
        self.settled_until = self.settled_until.max(now);
        let settled = &mut self.settled;
        self.spans.retain(|span| {
            let over = span.to <= now;
            if over {
                settled.add(span, now);
            }
            !over
        });
    }

    #[inline]
    fn add(&mut self, op: Op, state: State, from: Time, to: Time) {
        if from >= to {
            return;
        }
        let span = Work { op, state, from, to };
        if to <= self.settled_until {
            self.settled.add(&span, to);
        } else {
            self.spans.push(span);
        }
        if let Some(untold) = &mut self.untold {
            untold.push(span);
        }
    }

    /// A pass for an operation, as far as it gets until `until`.
    #[inline]
    pub(super) fn pass(&mut self, pass: &Pass, op: Op, until: Time) {
        self.add(op, State::Seek, pass.begin.min(until), pass.on_track.min(until));
        self.add(op, State::Rotation, pass.on_track.min(until), pass.start.min(until));
        if pass.gap_ns == 0 {
            self.add(op, State::Data, pass.start.min(until), pass.end.min(until));
        } else {
            // From the middle to the end, past what lies beyond, and from the beginning to the middle.
            let tail_ns = pass.data_ns() / pass.blocks * (pass.blocks - pass.lead);
            let gap = pass.start + tail_ns;
            self.add(op, State::Data, pass.start.min(until), gap.min(until));
            self.add(op, State::Rotation, gap.min(until), (gap + pass.gap_ns).min(until));
            self.add(op, State::Data, (gap + pass.gap_ns).min(until), pass.end.min(until));
        }
    }

    /// What the arms and heads did until `now`.
    pub(super) fn busy(&self, now: Time) -> BusyTime {
        let mut busy = self.settled;
        for span in &self.spans {
            busy.add(span, now);
        }
        busy
    }
}

/// The phases of a request, told in the order of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Story {
    phases: Phases,
    told: Time,
    positioned: bool,
}

impl Story {
    /// A request that begins at `start`.
    pub(super) fn new(start: Time) -> Self {
        Self { phases: Phases::default(), told: start, positioned: false }
    }

    /// From where the story stands up to `to`, if that is later.
    #[inline]
    fn take(&mut self, to: Time) -> u64 {
        let ns = to.saturating_since(self.told);
        self.told += ns;
        ns
    }

    /// The electronics were busy up to `to`.
    #[inline]
    pub(super) fn command(&mut self, to: Time) {
        self.phases.command_ns += self.take(to);
    }

    /// The drive did something on its own account up to `to`.
    #[inline]
    pub(super) fn background(&mut self, to: Time) {
        self.phases.background_ns += self.take(to);
    }

    /// A pass of the request.
    #[inline]
    pub(super) fn pass(&mut self, pass: &Pass) {
        // An arm that sets off later than it might waits for the electronics.
        self.command(pass.begin);
        let (seek_ns, wait_ns) = (self.take(pass.on_track), self.take(pass.start));
        if self.positioned {
            self.phases.turnaround_ns += seek_ns + wait_ns;
        } else {
            self.positioned = true;
            self.phases.seek_ns += seek_ns;
            self.phases.seek_x_ns += seek_ns;
            self.phases.rotation_ns += wait_ns;
        }
        let passed_ns = self.take(pass.end);
        let gap_ns = pass.gap_ns.min(passed_ns);
        self.phases.rotation_ns += gap_ns;
        self.phases.transfer_ns += passed_ns - gap_ns;
    }

    /// Data came in by itself up to `to`.
    #[inline]
    pub(super) fn transfer(&mut self, to: Time) {
        self.phases.transfer_ns += self.take(to);
    }

    /// The bus was busy up to `to`.
    #[inline]
    pub(super) fn bus(&mut self, to: Time) {
        self.phases.bus_ns += self.take(to);
    }

    /// The end.
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
    fn what_is_over_takes_no_room() {
        let mut books = Books::default();
        books.settle(Time::from_ns(10_000));
        for begin_ns in (0..10_000).step_by(10) {
            books.pass(&pass(begin_ns), Op::Read, Time::from_ns(begin_ns + 9));
        }
        assert!(books.spans.is_empty());
        books.pass(&pass(9_999), Op::Read, Time::from_ns(10_008));
        assert_eq!(books.spans.len(), 3);
        let ledger = books.busy(Time::from_ns(10_003)).ledger(Time::from_ns(10_003));
        let states =
            [State::Seek, State::Rotation, State::Data, State::Idle].map(|state| ledger.time_ns[state as usize]);
        // A thousand passes of 2, 3 and 4 ns, and the first 4 ns of one more.
        assert_eq!(states, [2_002, 3_002, 4_000, 999]);
    }
}
