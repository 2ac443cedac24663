//! A session: the engine driven from outside.
//!
//! Whoever drives it owns the clock. Requests are handed in with their arrivals, in their order; nothing happens until time is
//! let pass, and then everything that is due happens as in a run: a session takes the run loop in steps, and how it is cut into
//! them changes nothing. A clone is a snapshot: it goes on as the session itself would.

use std::collections::VecDeque;

use crate::engine::component::Completion;
use crate::engine::guards::Horizon;
use crate::engine::run::{EndReason, Observer, Outcome, Progress, Run, RunLimits, RunState};
use crate::engine::system::System;
use crate::engine::workload::{Next, Workload};
use crate::fault::{Fault, Kind};
use crate::request::Request;
use crate::time::Time;

/// A system whose requests and whose clock come from outside.
///
/// ```
/// use sledsim::engine::{RunLimits, Observer, Session, System};
/// use sledsim::request::Request;
/// use sledsim::service::Service;
///
/// struct Nobody;
/// impl Observer for Nobody {
///     fn served(&mut self, _request: &Request, _service: &Service) {}
/// }
///
/// fn response_ns(system: System, request: Request) -> Option<u64> {
///     let mut session = Session::new(system, &RunLimits::default(), Nobody);
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

/// Where requests are handed in and completions fetched.
#[derive(Clone, Default)]
struct SessionQueue {
    /// Handed in, and not arrived yet.
    ahead: VecDeque<Request>,
    /// Come back, and not fetched yet.
    back: VecDeque<Completion>,
    /// How many have been handed in.
    taken: u64,
    /// The latest arrival.
    latest: Time,
    /// Whether nothing more comes than has been handed in.
    is_closed: bool,
}

impl Workload for SessionQueue {
    #[inline]
    fn peek(&mut self) -> Result<Next, Fault> {
        Ok(match self.ahead.front() {
            Some(request) => Next::At(request.arrival),
            None if self.is_closed => Next::Ended,
            None => Next::Waiting,
        })
    }

    #[inline]
    fn take(&mut self) -> Request {
        self.ahead.pop_front().expect("it has been asked for")
    }

    #[inline]
    fn completed(&mut self, completion: &Completion) {
        self.back.push_back(*completion);
    }
}

impl<O: Observer> Session<O> {
    /// A system to which nothing has happened yet. Of `limits` the warm-up counts: when it is over, whoever drives it decides.
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

    /// Hands in a request, which arrives at its `arrival`; gives the number by which its completion is known, from 0 on in the
    /// order of handing in, whatever its `id`. One that the system does not take comes back refused.
    ///
    /// # Errors
    /// It arrives before now, or before one that was handed in already.
    pub fn submit(&mut self, request: Request) -> Result<u64, Fault> {
        let earliest = self.queue.latest.max(self.system.now());
        if request.arrival < earliest {
            return Err(runs_back("a request arrives", request.arrival, earliest));
        }
        let id = self.queue.taken;
        self.queue.taken += 1;
        self.queue.latest = request.arrival;
        self.queue.ahead.push_back(Request { id, ..request });
        Ok(id)
    }

    /// When something happens next: the earliest arrival handed in, or a timer. `None` where nothing ever will.
    #[inline]
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        let arrival = self.queue.ahead.front().map(|request| request.arrival);
        arrival.into_iter().chain(self.system.next_time()).min()
    }

    /// Lets time pass to `until`, and everything happen that is due by then. Completions wait to be fetched.
    ///
    /// # Errors
    /// `until` lies before now; a rule of the simulator is broken, or it has fallen too far behind its load.
    pub fn advance(&mut self, until: Time) -> Result<(), Fault> {
        self.advance_watched(until, &mut |_| true).map(drop)
    }

    /// The same as long as `keep_going`, which is asked every few dozen events, answers true: says whether `until` was reached.
    ///
    /// # Errors
    /// As for [`Session::advance`].
    pub fn advance_watched(
        &mut self,
        until: Time,
        keep_going: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<bool, Fault> {
        if until < self.system.now() {
            return Err(runs_back("time is to pass until", until, self.system.now()));
        }
        self.horizon.check(until)?;
        let limits = RunLimits { until: Some(until), ..self.warmup };
        let is_due = self.next_event().is_some_and(|next| next <= until);
        let mut run = self.run(&limits);
        let end = if is_due { Some(run.go_on(keep_going)?) } else { None };
        if end == Some(EndReason::Interrupted) {
            return Ok(false);
        }
        run.halted()?;
        run.end_warmup_by(until);
        self.system.advance(until);
        Ok(true)
    }

    /// Lets time pass until all that has been handed in has come back, and no further; says whether `keep_going` let it.
    ///
    /// # Errors
    /// As for [`Session::advance`].
    pub fn drain(&mut self, keep_going: &mut dyn FnMut(Progress) -> bool) -> Result<bool, Fault> {
        let limits = self.warmup;
        self.queue.is_closed = true;
        let end = self.run(&limits).go_on(keep_going);
        self.queue.is_closed = false;
        let end = end?;
        self.run(&limits).halted()?;
        Ok(end != EndReason::Interrupted)
    }

    /// Hands in requests that arrive now, lets time pass until these have come back, and no further, and gives these, in that
    /// order. What else comes back meanwhile waits to be fetched. Nothing where `keep_going` ended it: then they are as any
    /// that were handed in.
    ///
    /// # Errors
    /// As for [`Session::submit`] and [`Session::advance`].
    pub fn serve_now(
        &mut self,
        requests: impl IntoIterator<Item = Request>,
        keep_going: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Option<Vec<Completion>>, Fault> {
        let (first, arrival) = (self.queue.taken, self.system.now());
        for request in requests {
            self.submit(Request { arrival, ..request })?;
        }
        let others = self.queue.back.len();
        let (mut missing, mut seen) = (self.queue.taken - first, others);
        while missing > 0 && self.under_way() > 0 {
            let goes_on = match self.next_event() {
                // Nobody else's are under way, so all may come back.
                _ if self.under_way() == missing => self.drain(keep_going)?,
                Some(next) => self.advance_watched(next, keep_going)?,
                None => break,
            };
            if !goes_on {
                return Ok(None);
            }
            let back = self.queue.back.range(seen..);
            missing -= back.filter(|completion| completion.request.id >= first).count() as u64;
            seen = self.queue.back.len();
        }
        let mut own = Vec::new();
        let mut place = others;
        while place < self.queue.back.len() {
            if self.queue.back[place].request.id < first {
                place += 1;
            } else {
                own.extend(self.queue.back.remove(place));
            }
        }
        Ok(Some(own))
    }

    /// Fetches the completion that came first, of those not fetched yet.
    #[inline]
    pub fn completion(&mut self) -> Option<Completion> {
        self.queue.back.pop_front()
    }

    /// The current time.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Time {
        self.system.now()
    }

    /// Requests handed in that have not come back.
    #[inline]
    #[must_use]
    pub fn under_way(&self) -> u64 {
        self.system.in_flight() + self.queue.ahead.len() as u64
    }

    /// Requests that have arrived so far.
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

    /// What a run that ended now would have come to.
    ///
    /// # Errors
    /// A rule of the simulator is broken, where it is checked.
    pub fn end(mut self, end: EndReason) -> Result<(Outcome, System, O), Fault> {
        let limits = self.warmup;
        let outcome = self.run(&limits).outcome(end)?;
        Ok((outcome, self.system, self.observer))
    }
}

/// Whoever owns the clock has turned it back.
fn runs_back(what: &str, at: Time, earliest: Time) -> Fault {
    Fault::new(Kind::Unsupported).says(format!(
        "time runs back: {what} at {} ns, but it is {} ns already; the clock of a session only goes on",
        at.ns(),
        earliest.ns()
    ))
}
