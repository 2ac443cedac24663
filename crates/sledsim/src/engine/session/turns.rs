//! A session whose system serves each request alone and in the order of arrival: nothing has to wait in an event queue then.
//! Requests stay where they were handed in until it is their turn; what comes of each is known then, and comes back when it ends.
//! What happens, and when, is the same as by events, which also have instants in which nothing does.

use std::collections::VecDeque;

use super::{Desk, Session};
use crate::convert::to_usize;
use crate::engine::component::Completion;
use crate::engine::run::{fell_behind, Observer, Progress};
use crate::fault::Fault;
use crate::limits::PARTS_UNDER_WAY;
use crate::request::Request;
use crate::time::Time;

impl Desk {
    /// The number of the first request that has not had its turn; where there is none, of the next that is handed in.
    #[inline]
    fn first_ahead(&self) -> u64 {
        self.taken - self.ahead.len() as u64
    }

    /// When the next of those under service ends.
    #[inline]
    fn next_end(&self) -> Option<Time> {
        self.back.get(self.came_back).map(|completion| completion.service.end)
    }
}

/// A request comes back when it ends: after those that end with it, as they have had their turns before.
#[inline]
fn comes_back(back: &mut VecDeque<Completion>, completion: &Completion) {
    let end = completion.service.end;
    if back.back().is_none_or(|last| last.service.end <= end) {
        back.push_back(*completion);
    } else {
        let place = back.partition_point(|other| other.service.end <= end);
        back.insert(place, *completion);
    }
}

impl<O: Observer> Session<O> {
    /// Whether requests are served by turns, if they are not yet then from now on where nothing is in the way.
    #[inline]
    pub(super) fn goes_by_turns(&mut self) -> bool {
        if self.has_turns && !self.by_turns {
            let all_have_turns = self.desk.without_turn <= self.desk.first_ahead();
            self.by_turns = all_have_turns && self.standing.measured_from.is_some() && self.system.is_at_rest();
        }
        self.by_turns
    }

    /// Of the requests that have not had their turn, how many have arrived.
    #[inline]
    fn waiting(&self) -> usize {
        to_usize(self.standing.counts.submitted - self.desk.first_ahead())
    }

    /// The earliest of the next arrival, the next turn and the next end.
    pub(super) fn next_by_turns(&self) -> Option<Time> {
        let arrival = self.desk.ahead.get(self.waiting()).map(|request| request.arrival);
        let turn = self.desk.ahead.front().filter(|_| self.waiting() > 0).map(|request| self.system.turn(request));
        [arrival, turn, self.desk.next_end()].into_iter().flatten().min()
    }

    /// See [`Session::advance_watched`].
    #[inline]
    pub(super) fn advance_by_turns(
        &mut self,
        until: Time,
        keep_going: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<bool, Fault> {
        let goes_on = self.serve_until(until, keep_going)?;
        if goes_on {
            self.pass(until)?;
        }
        Ok(goes_on)
    }

    /// See [`Session::drain`].
    pub(super) fn drain_by_turns(&mut self, keep_going: &mut dyn FnMut(Progress) -> bool) -> Result<bool, Fault> {
        let last = self.horizon.last();
        if !self.serve_until(last, keep_going)? {
            return Ok(false);
        }
        let (now, desk) = (self.system.now(), &self.desk);
        let end = match desk.ahead.front() {
            None => desk.back.back().map_or(now, |completion| completion.service.end.max(now)),
            Some(request) if request.arrival > last => request.arrival,
            Some(request) => self.system.turn(request),
        };
        if end <= last {
            self.pass(end)?;
            return Ok(true);
        }
        let begun = self.desk.back.back().map_or(now, |completion| completion.service.start);
        let latest = self.come_and_go(last)?.max(begun);
        self.system.advance(latest);
        self.horizon.reaches(end)?;
        Ok(true)
    }

    /// Serves all whose turn comes by then.
    #[inline]
    fn serve_until(&mut self, until: Time, keep_going: &mut dyn FnMut(Progress) -> bool) -> Result<bool, Fault> {
        // Of one that arrives later nobody can say when its turn comes: there may be no such time.
        while let Some(request) = self.desk.ahead.front().filter(|request| request.arrival <= until) {
            let turn = self.system.turn(request);
            if turn > until {
                break;
            }
            let may_be_behind = self.under_way() > PARTS_UNDER_WAY.most;
            let is_due = self.standing.work.is_due();
            if is_due || may_be_behind {
                self.pass(turn)?;
            }
            if is_due {
                let progress = Progress { submitted: self.standing.counts.submitted, now: turn, fraction_taken: None };
                if !keep_going(progress) {
                    return Ok(false);
                }
            }
            self.serve_first();
        }
        Ok(true)
    }

    /// Serves the first whose turn it is, which has arrived.
    #[inline]
    fn serve_first(&mut self) {
        let counts = &mut self.standing.counts;
        counts.submitted = counts.submitted.max(self.desk.first_ahead() + 1);
        let Desk { ahead, back, .. } = &mut self.desk;
        if let Some(request) = ahead.front() {
            self.standing.work.charge(request);
            self.system.serve_at_turn(request, &mut |completion| comes_back(back, completion));
            ahead.pop_front();
        }
    }

    /// Time goes on to `until`, before which all have had their turns.
    #[inline]
    fn pass(&mut self, until: Time) -> Result<(), Fault> {
        self.come_and_go(until)?;
        self.system.advance(until);
        Ok(())
    }

    /// Requests arrive and come back in order; says when the last did.
    #[inline]
    fn come_and_go(&mut self, until: Time) -> Result<Time, Fault> {
        let mut latest = self.system.now();
        loop {
            let end = self.desk.next_end().filter(|&end| end <= until);
            let arrival = self.desk.ahead.get(self.waiting()).map(|request| request.arrival);
            match (end, arrival.filter(|&arrival| arrival <= until)) {
                // What comes back at an instant does so before others arrive.
                (Some(end), arrival) if arrival.is_none_or(|arrival| end <= arrival) => {
                    self.come_back();
                    latest = end;
                }
                (_, Some(arrival)) => {
                    self.arrive(arrival)?;
                    latest = arrival;
                }
                _ => return Ok(latest),
            }
        }
    }

    /// The first of those under service comes back.
    #[inline]
    fn come_back(&mut self) {
        let completion = &self.desk.back[self.desk.came_back];
        self.system.end_turn(completion);
        self.standing.counts.book(completion, &mut self.observer);
        self.desk.came_back += 1;
    }

    #[inline]
    fn arrive(&mut self, at: Time) -> Result<(), Fault> {
        self.standing.counts.submitted += 1;
        // Each is one part, as it goes on whole.
        if self.system.in_flight() + self.waiting() as u64 > PARTS_UNDER_WAY.most {
            self.system.advance(at);
            return Err(fell_behind(at));
        }
        Ok(())
    }

    /// From now on requests are served by events.
    pub(super) fn leave_turns(&mut self) {
        if !std::mem::replace(&mut self.by_turns, false) {
            return;
        }
        let under_service: Vec<Completion> = self.desk.back.split_off(self.desk.came_back).into();
        let waiting = self.waiting();
        let waiting: Vec<Request> = self.desk.ahead.drain(..waiting).collect();
        self.system.go_on_by_events(&under_service, &waiting);
    }
}
