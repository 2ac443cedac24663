//! Sessions: systems driven by a caller instead of a workload.
//!
//! The caller submits requests in order of arrival and advances the clock; due events are processed as in a run. A session calls
//! the run loop in steps, and the size of the steps does not change the results. A clone is a snapshot: it continues exactly like
//! the original.

use std::collections::VecDeque;

use crate::engine::component::Completion;
use crate::engine::guards::Horizon;
use crate::engine::run::{EndReason, Observer, Outcome, Progress, Run, RunLimits, RunState};
use crate::engine::system::System;
use crate::engine::workload::{Next, Workload};
use crate::fault::{Fault, Kind};
use crate::request::Request;
use crate::time::Time;

/// A system whose requests and clock are controlled by the caller.
///
/// ```
/// use sledsim::engine::{RunLimits, Observer, Session, System};
/// use sledsim::request::Request;
/// use sledsim::service::Service;
///
/// struct NoObserver;
/// impl Observer for NoObserver {
///     fn served(&mut self, _request: &Request, _service: &Service) {}
/// }
///
/// fn response_ns(system: System, request: Request) -> Option<u64> {
///     let mut session = Session::new(system, &RunLimits::default(), NoObserver);
///     session.submit(request).ok()?;
///     while let Some(next) = session.next_event() {
///         session.advance(next).ok()?;
///         if let Some(completion) = session.completion() {
///             return Some(completion.service.end - completion.request.arrival);
///         }
///     }
///     None
/// }
/// ```
#[derive(Clone)]
pub struct Session<O> {
    system: System,
    observer: O,
    warmup: RunLimits,
    state: RunState,
    queue: SessionQueue,
    horizon: Horizon,
}

/// The workload of a session: submitted requests, and completions.
#[derive(Clone, Default)]
struct SessionQueue {
    /// Submitted requests that have not arrived yet.
    future: VecDeque<Request>,
    /// Completions that have not been taken yet.
    completions: VecDeque<Completion>,
    /// Number of submitted requests.
    submitted: u64,
    /// The latest arrival.
    latest: Time,
    /// True while no more requests can be submitted.
    is_closed: bool,
}

impl Workload for SessionQueue {
    #[inline]
    fn peek(&mut self) -> Result<Next, Fault> {
        Ok(match self.future.front() {
            Some(request) => Next::At(request.arrival),
            None if self.is_closed => Next::Ended,
            None => Next::Waiting,
        })
    }

    #[inline]
    fn take(&mut self) -> Request {
        self.future.pop_front().expect("`peek` has returned its arrival")
    }

    #[inline]
    fn completed(&mut self, completion: &Completion) {
        self.completions.push_back(*completion);
    }
}

impl<O: Observer> Session<O> {
    /// A session of a new system. Only the warm-up of `limits` is used.
    #[must_use]
    pub fn new(system: System, limits: &RunLimits, observer: O) -> Self {
        let warmup = RunLimits { requests: None, until: None, ..*limits };
        let horizon = Horizon::of(system.root());
        let (state, queue) = (RunState::default(), SessionQueue::default());
        let mut session = Self { system, observer, warmup, state, queue, horizon };
        session.run(&warmup).begin();
        session
    }

    fn run<'a>(&'a mut self, limits: &'a RunLimits) -> Run<'a, O> {
        let Self { system, observer, state, queue, .. } = self;
        Run { system, workload: queue, limits, observer, state, power_cuts: None }
    }

    /// Submits a request, which arrives at its `arrival`. Returns the id of its completion: ids count from 0 in order of
    /// submission, and the request's own `id` is ignored. A request that the system refuses completes as refused.
    ///
    /// # Errors
    /// The request arrives before the current time, or before another submitted request.
    pub fn submit(&mut self, request: Request) -> Result<u64, Fault> {
        let earliest = self.queue.latest.max(self.system.now());
        if request.arrival < earliest {
            return Err(in_the_past("a request arrives", request.arrival, earliest));
        }
        let id = self.queue.submitted;
        self.queue.submitted += 1;
        self.queue.latest = request.arrival;
        self.queue.future.push_back(Request { id, ..request });
        Ok(id)
    }

    /// The time of the next event: an arrival or a timer. `None` if there is none.
    #[inline]
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        let arrival = self.queue.future.front().map(|request| request.arrival);
        arrival.into_iter().chain(self.system.next_time()).min()
    }

    /// Processes all events up to `until` and advances the clock to it. Completions are returned by [`Session::completion`].
    ///
    /// # Errors
    /// `until` is in the past, an invariant of the simulator is broken, or too many requests are outstanding.
    pub fn advance(&mut self, until: Time) -> Result<(), Fault> {
        self.advance_watched(until, &mut |_| true).map(drop)
    }

    /// As [`Session::advance`], but stops if `keep_going`, which is called every few dozen events, returns false. Returns true if
    /// `until` was reached.
    ///
    /// # Errors
    /// As for [`Session::advance`].
    pub fn advance_watched(
        &mut self,
        until: Time,
        keep_going: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<bool, Fault> {
        if until < self.system.now() {
            return Err(in_the_past("the clock is to be set", until, self.system.now()));
        }
        self.horizon.check(until)?;
        let limits = RunLimits { until: Some(until), ..self.warmup };
        let is_due = self.next_event().is_some_and(|next| next <= until);
        let mut run = self.run(&limits);
        let end = if is_due { Some(run.resume(keep_going)?) } else { None };
        if end == Some(EndReason::Interrupted) {
            return Ok(false);
        }
        run.check_not_failed()?;
        run.end_warmup_by(until);
        self.system.advance(until);
        Ok(true)
    }

    /// Advances until all submitted requests have completed. Returns false if `keep_going` stopped it.
    ///
    /// # Errors
    /// As for [`Session::advance`].
    pub fn drain(&mut self, keep_going: &mut dyn FnMut(Progress) -> bool) -> Result<bool, Fault> {
        let limits = self.warmup;
        self.queue.is_closed = true;
        let end = self.run(&limits).resume(keep_going);
        self.queue.is_closed = false;
        let end = end?;
        self.run(&limits).check_not_failed()?;
        Ok(end != EndReason::Interrupted)
    }

    /// Submits requests that arrive now, advances until they have completed, and returns their completions in order. Completions of
    /// other requests are left for [`Session::completion`]. Returns `None` if `keep_going` stopped it: then these requests are
    /// treated like all others.
    ///
    /// # Errors
    /// As for [`Session::submit`] and [`Session::advance`].
    pub fn serve_now(
        &mut self,
        requests: impl IntoIterator<Item = Request>,
        keep_going: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Option<Vec<Completion>>, Fault> {
        let (first, arrival) = (self.queue.submitted, self.system.now());
        for request in requests {
            self.submit(Request { arrival, ..request })?;
        }
        let others = self.queue.completions.len();
        let (mut missing, mut seen) = (self.queue.submitted - first, others);
        while missing > 0 && self.under_way() > 0 {
            let is_complete = match self.next_event() {
                // No other requests are outstanding.
                _ if self.under_way() == missing => self.drain(keep_going)?,
                Some(next) => self.advance_watched(next, keep_going)?,
                None => break,
            };
            if !is_complete {
                return Ok(None);
            }
            let new = self.queue.completions.range(seen..);
            missing -= new.filter(|completion| completion.request.id >= first).count() as u64;
            seen = self.queue.completions.len();
        }
        let mut own = Vec::new();
        let mut index = others;
        while index < self.queue.completions.len() {
            if self.queue.completions[index].request.id < first {
                index += 1;
            } else {
                own.extend(self.queue.completions.remove(index));
            }
        }
        Ok(Some(own))
    }

    /// Takes the oldest completion that has not been taken yet.
    #[inline]
    pub fn completion(&mut self) -> Option<Completion> {
        self.queue.completions.pop_front()
    }

    /// The current time.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Time {
        self.system.now()
    }

    /// Number of submitted requests that have not completed.
    #[inline]
    #[must_use]
    pub fn under_way(&self) -> u64 {
        self.system.in_flight() + self.queue.future.len() as u64
    }

    /// Number of requests that have arrived so far.
    #[inline]
    #[must_use]
    pub fn submitted(&self) -> u64 {
        self.state.submitted()
    }

    /// The system.
    #[must_use]
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Ends the session now and returns the outcome.
    ///
    /// # Errors
    /// An invariant of the simulator is broken, if checks are enabled.
    pub fn end(mut self, end: EndReason) -> Result<(Outcome, System, O), Fault> {
        let limits = self.warmup;
        let outcome = self.run(&limits).outcome(end)?;
        Ok((outcome, self.system, self.observer))
    }
}

/// The error of a time in the past.
fn in_the_past(what: &str, at: Time, earliest: Time) -> Fault {
    Fault::new(Kind::Unsupported).says(format!(
        "time runs backwards: {what} at {} ns, but the clock of the session is at {} ns",
        at.ns(),
        earliest.ns()
    ))
}
