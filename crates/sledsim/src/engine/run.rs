//! The run loop: takes arrivals from a workload, fires the timers of a system, and ends at limits or on interruption.

use std::collections::VecDeque;

use crate::engine::component::{Completion, Status, Stop};
use crate::engine::data::Payload;
use crate::engine::guards::{ArrivalGuard, Horizon};
use crate::engine::outstanding::Refusal;
use crate::engine::power_cuts::{PowerCut, PowerCutPlan, PowerCutRun};
use crate::engine::system::System;
use crate::engine::traffic::{Backlog, KnownEnds, Overload, Traffic, TrafficCounter};
use crate::engine::workload::{Next, Workload};
use crate::fault::{Fault, Kind};
use crate::limits::{Limit, DATA_HELD, DATA_UNDER_WAY, PARTS_UNDER_WAY};
use crate::request::Request;
use crate::service::Service;
use crate::time::{ns_to_s, Time};

/// Events between two checks of the limits on memory and of interruption.
const EVENTS_PER_CHECK: u64 = 64;
/// Blocks of a request that count as one more event.
const BLOCKS_PER_EVENT: u32 = 256;

/// Counts work until the next check.
#[derive(Clone, Default)]
struct CheckCounter {
    events: u64,
}

impl CheckCounter {
    /// Counts an event. Returns true if a check is due.
    #[inline]
    fn is_due(&mut self) -> bool {
        self.events += 1;
        if self.events < EVENTS_PER_CHECK {
            return false;
        }
        self.events = 0;
        true
    }

    /// Makes a check due at the next event, after work of unknown length.
    #[inline]
    fn make_due(&mut self) {
        self.events = EVENTS_PER_CHECK;
    }

    /// Counts the blocks of a large request.
    #[inline]
    fn count_blocks(&mut self, request: &Request) {
        self.events += u64::from(request.blocks / BLOCKS_PER_EVENT);
    }
}

/// The end of a run, and its warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunLimits {
    /// Submit at most this many requests, warm-up included, and wait for all of them.
    pub requests: Option<u64>,
    /// Stop at this simulated time, even if requests are outstanding.
    pub until: Option<Time>,
    /// The measurement window opens at the first arrival after this many requests.
    pub warmup_requests: u64,
    /// The measurement window opens at this time or later.
    pub warmup: Time,
}

/// The reason for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The workload had no more requests and all have completed.
    WorkloadEnded,
    /// The request limit was reached and all have completed.
    Requests,
    /// The time limit was reached.
    Time,
    /// The caller or a component interrupted the run.
    Interrupted,
    /// A component could not continue, see [`System::stopped`].
    Failed,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Requests submitted so far.
    pub submitted: u64,
    /// Simulated time.
    pub now: Time,
    /// Fraction of the workload taken so far, from 0 to 1; `None` if unknown.
    pub fraction_taken: Option<f64>,
}

/// Counts of a finished run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The reason for its end.
    pub end: EndReason,
    /// The time limit, or the time of the last completion.
    pub finished: Time,
    /// Start of the measurement window; `finished` if the warm-up did not end.
    pub measured_from: Time,
    /// Requests submitted, including the warm-up.
    pub submitted: u64,
    /// Requests served, including the warm-up.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Failed requests that were not refused: their data is lost or unreadable.
    pub lost: u64,
    /// Of `lost`, requests with unreadable blocks on a device that has not failed.
    pub unreadable: u64,
    /// Failed requests that were outstanding in a power cut.
    pub cut: u64,
    /// Failed requests that were refused as they are empty or reach beyond the system.
    pub out_of_range: u64,
    /// Failed requests that were refused as they have too many blocks or parts.
    pub oversized: u64,
    /// Requests submitted during the warm-up.
    pub warmup: u64,
    /// Counts of the measurement window.
    pub traffic: Traffic,
    /// Offered and served load if open arrivals exceed the service rate.
    pub overload: Option<Overload>,
}

/// Receives the completions of requests that arrived in the measurement window, in order of completion.
pub trait Observer {
    /// Handles a served request.
    fn served(&mut self, request: &Request, service: &Service);

    /// Handles the recorded response time of a request, just after [`Observer::served`].
    fn recorded(&mut self, _request: &Request, _response_ns: u64) {}

    /// Handles a submitted request, in order of arrival, the warm-up included.
    #[inline]
    fn submitted(&mut self, _request: &Request) {}

    /// Number of submitted requests at the first [`Observer::check`].
    fn first_check(&self) -> u64 {
        u64::MAX
    }

    /// Returns true if checks need the system at the time of the last arrival.
    fn needs_system(&self) -> bool {
        false
    }

    /// Checks the results so far. Returns the number of submitted requests at the next check, or `None` to submit no more
    /// requests: then the results are those of a run with as many requests as have been submitted.
    fn check(&mut self, _at: &Checkpoint<'_>) -> Option<u64> {
        Some(u64::MAX)
    }
}

/// The state of a run after a number of submitted requests.
pub struct Checkpoint<'a> {
    /// Requests submitted so far.
    pub submitted: u64,
    /// Number of other requests in the system at the last arrival; flushes are not counted.
    pub in_system: u64,
    /// The system at the last arrival; `None` in a run without events, which computes completions ahead of the clock.
    pub system: Option<&'a System>,
}

/// Checks between two accumulations of the power of several mechanisms: rare enough to cost no time, and frequent enough to need
/// little memory.
const CHECKS_PER_ACCUMULATION: u64 = 256;

/// Runs `workload` on `system` until a limit is reached, the workload ends or `keep_going` returns false.
///
/// # Errors
/// An error of the workload, or a broken invariant. Everything completed until then has been given to `observer`.
pub fn run(
    system: &mut System,
    workload: &mut dyn Workload,
    limits: &RunLimits,
    observer: &mut impl Observer,
    keep_going: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, Fault> {
    Run { system, workload, limits, observer, state: &mut RunState::default(), power_cuts: None }.run_to_end(keep_going)
}

/// As [`run`], for a system that holds data, with power cuts. Returns the effect of each cut.
///
/// # Errors
/// As for [`run`].
pub fn run_with_cuts(
    system: &mut System,
    workload: &mut dyn Workload,
    limits: &RunLimits,
    observer: &mut impl Observer,
    plan: &PowerCutPlan,
    keep_going: &mut dyn FnMut(Progress) -> bool,
) -> Result<(Outcome, Vec<PowerCut>), Fault> {
    let mut power_cuts = PowerCutRun::new(plan, system);
    let state = &mut RunState::default();
    let run = Run { system, workload, limits, observer, state, power_cuts: Some(&mut power_cuts) };
    let outcome = run.run_to_end(keep_going)?;
    Ok((outcome, power_cuts.cuts))
}

/// See [`Outcome`].
#[derive(Clone, Default)]
struct RequestCounts {
    submitted: u64,
    completed: u64,
    failed: u64,
    lost: u64,
    unreadable: u64,
    cut: u64,
    out_of_range: u64,
    oversized: u64,
    warmup: u64,
    traffic: TrafficCounter,
    /// True if the workload has recorded response times.
    has_responses: bool,
}

impl RequestCounts {
    /// Counts a completion. Ids rise from 0 in order of submission, so the warm-up has the lowest ids.
    #[inline]
    fn count(&mut self, completion: &Completion, observer: &mut impl Observer) {
        let is_served = completion.is_served();
        self.traffic.leave(&completion.request, completion.service.end, is_served);
        if is_served {
            self.completed += 1;
            if completion.request.id >= self.warmup {
                observer.served(&completion.request, &completion.service);
            }
        } else {
            self.failed += 1;
            self.lost += u64::from(completion.status != Status::Refused);
            self.unreadable += u64::from(completion.status == Status::Unreadable);
        }
    }

    /// Counts the reason of a request that the root refuses.
    #[cold]
    fn count_refusal(&mut self, refusal: Refusal) {
        match refusal {
            Refusal::OutOfRange => self.out_of_range += 1,
            Refusal::TooLarge => self.oversized += 1,
            // Counted with those that a component refuses.
            Refusal::NoZones => {}
        }
    }
}

/// The state of a run between two calls of its loop.
#[derive(Clone, Default)]
pub(super) struct RunState {
    counts: RequestCounts,
    /// Start of the measurement window; `None` during the warm-up.
    measured_from: Option<Time>,
    check_counter: CheckCounter,
    /// True if no event was processed since the last due check, so that pauses of the loop do not count as events.
    is_checked: bool,
    /// Number of checks.
    checks: u64,
    /// Number of submitted requests at the next check of the observer.
    next_check: u64,
    /// True if the observer needs no more requests.
    is_satisfied: bool,
    /// Present if only a time limit ends the run.
    arrivals: Option<ArrivalGuard>,
    /// Present if arrivals do not depend on completions.
    backlog: Option<Backlog>,
}

impl RunState {
    /// Number of requests submitted so far.
    pub(super) fn submitted(&self) -> u64 {
        self.counts.submitted
    }
}

/// The run loop. A [`Session`](crate::engine::Session) calls it in steps.
pub(super) struct Run<'a, O> {
    pub(super) system: &'a mut System,
    pub(super) workload: &'a mut dyn Workload,
    pub(super) limits: &'a RunLimits,
    pub(super) observer: &'a mut O,
    pub(super) state: &'a mut RunState,
    pub(super) power_cuts: Option<&'a mut PowerCutRun>,
}

impl<O: Observer> Run<'_, O> {
    /// Runs until a limit is reached, the workload ends or `keep_going` returns false.
    pub(super) fn run_to_end(mut self, keep_going: &mut dyn FnMut(Progress) -> bool) -> Result<Outcome, Fault> {
        let is_endless = self.limits.requests.is_none() && self.workload.fraction_taken().is_none();
        self.state.arrivals = is_endless.then(ArrivalGuard::default);
        self.state.backlog = self.workload.is_open().then(Backlog::default);
        self.begin();
        let end = self.resume(keep_going)?;
        self.outcome(end)
    }

    /// Must be called once before the first [`Run::resume`].
    pub(super) fn begin(&mut self) {
        self.state.counts.has_responses = self.workload.has_responses();
        self.state.counts.traffic.begin(self.system.in_flight());
        self.state.next_check = self.observer.first_check();
        if self.limits.warmup_requests == 0 && self.limits.warmup == Time::ZERO {
            self.start_measuring();
        }
    }

    /// Returns true if the run needs no events: open arrivals at a lone drive, measured from the start, with no time limit and no
    /// power cuts.
    fn can_run_without_events(&mut self) -> bool {
        self.power_cuts.is_none()
            && self.limits.until.is_none()
            && self.state.measured_from.is_some()
            && self.workload.is_open()
            && !self.observer.needs_system()
            && self.system.is_at_rest()
            && self.system.lookahead_root().is_some()
            // A flush of a volatile cache overtakes requests that lookahead has served already.
            && !(self.workload.may_flush() && self.system.may_lose_writes())
    }

    /// Continues until a limit is reached, the workload ends, or no event is left.
    pub(super) fn resume(&mut self, keep_going: &mut dyn FnMut(Progress) -> bool) -> Result<EndReason, Fault> {
        if self.can_run_without_events() {
            return self.run_without_events(keep_going);
        }
        let until = self.limits.until.unwrap_or(Time::MAX);
        let last = self.limits.requests.unwrap_or(u64::MAX);
        let horizon = Horizon::of(self.system.root());
        loop {
            if !std::mem::replace(&mut self.state.is_checked, true) && self.state.check_counter.is_due() {
                if !keep_going(self.progress()) {
                    return Ok(EndReason::Interrupted);
                }
                self.check_limits()?;
            }
            let is_exhausted = self.state.counts.submitted >= last || self.state.is_satisfied;
            let (arrival, has_ended) = match if is_exhausted { Next::Ended } else { self.workload.peek()? } {
                Next::At(time) => (Some(time), false),
                Next::Busy => {
                    // The work of the source may have taken long.
                    if !keep_going(self.progress()) {
                        return Ok(EndReason::Interrupted);
                    }
                    self.state.is_checked = false;
                    continue;
                }
                Next::Waiting => (None, false),
                Next::Ended => (None, true),
            };
            let timer = self.system.next_time();
            // In one instant timers come before arrivals, which may depend on completions.
            let (at, is_arrival) = match (arrival, timer) {
                (Some(arrival), Some(timer)) if timer <= arrival => (timer, false),
                (Some(arrival), _) => (arrival, true),
                // Timers are fired as long as requests are outstanding.
                (None, Some(_)) if has_ended && self.system.in_flight() == 0 => {
                    return Ok(if is_exhausted { EndReason::Requests } else { EndReason::WorkloadEnded });
                }
                (None, Some(timer)) => (timer, false),
                (None, None) => return Ok(if is_exhausted { EndReason::Requests } else { EndReason::WorkloadEnded }),
            };
            let cut_at =
                self.power_cuts.as_ref().and_then(|power_cuts| power_cuts.next_time()).filter(|&cut| cut <= at);
            horizon.check(cut_at.unwrap_or(at).min(until))?;
            self.end_warmup_by(cut_at.unwrap_or(at).min(until));
            if cut_at.unwrap_or(at) > until {
                self.system.advance(until);
                return Ok(EndReason::Time);
            }
            match cut_at {
                Some(cut_at) => self.system.advance(cut_at),
                None if is_arrival => self.submit_next()?,
                None => self.fire_timer(),
            }
            self.state.is_checked = false;
            if let Some(livelock) = self.system.livelock() {
                return Err(livelock.fault());
            }
            if let Some((_, why)) = self.system.stopped() {
                return Ok(if *why == Stop::Interrupted { EndReason::Interrupted } else { EndReason::Failed });
            }
            if self.power_cuts.is_some() {
                self.check_data(self.system.outstanding_bytes(), DATA_UNDER_WAY, "are under way at")?;
                if !self.apply_power_cuts(cut_at.is_some()) {
                    return Ok(EndReason::Interrupted);
                }
            }
        }
    }

    /// Schedules the next power cut if it is due, and applies one that has happened. Returns false if the run ends with it.
    fn apply_power_cuts(&mut self, is_due: bool) -> bool {
        let Some(power_cuts) = &mut self.power_cuts else { return true };
        power_cuts.drop_read_data(self.system);
        if is_due || power_cuts.is_due(self.state.counts.submitted) {
            power_cuts.schedule(self.system, is_due);
        }
        if self.system.is_power_off() {
            let now = self.system.now();
            let lost = power_cuts.cut(now);
            let Self { system, workload, observer, state, .. } = self;
            let counts = &mut state.counts;
            system.restore_power(&mut |completion| {
                handle_completion(completion, &mut **workload, *observer, counts, Some(power_cuts))
            });
            let service = Service { start: now, end: now, free: now, ..Service::default() };
            lost.iter().for_each(|request| counts.traffic.leave(request, now, false));
            counts.failed += lost.len() as u64;
            counts.cut += lost.len() as u64;
            for request in lost {
                workload.completed(&Completion { request, service, status: Status::Failed });
            }
        }
        power_cuts.watch_recovery(self.system);
        !power_cuts.is_over()
    }

    /// Serves open arrivals without an event queue, with the same results.
    fn run_without_events(&mut self, keep_going: &mut dyn FnMut(Progress) -> bool) -> Result<EndReason, Fault> {
        let last = self.limits.requests.unwrap_or(u64::MAX);
        let mut finished = self.system.now();
        let Self { system, workload, observer, state, .. } = self;
        let RunState { counts, check_counter, backlog, next_check, .. } = &mut **state;
        let Some(mut root) = system.lookahead_root() else { return Ok(EndReason::WorkloadEnded) };
        let mut end = EndReason::Requests;
        let mut known_ends = KnownEnds::default();
        let mut in_system = 0;
        let may_flush = workload.may_flush();
        // Completions that are known, but come after the latest arrival: a flush may complete before them.
        let mut held: VecDeque<Completion> = VecDeque::new();
        let mut latest = finished;
        'arrivals: while counts.submitted < last {
            if check_counter.is_due() {
                let fraction_taken = workload.fraction_taken();
                if !keep_going(Progress { submitted: counts.submitted, now: finished, fraction_taken }) {
                    end = EndReason::Interrupted;
                    break;
                }
            }
            match workload.peek()? {
                Next::At(_) => {}
                Next::Busy => {
                    check_counter.make_due();
                    continue;
                }
                Next::Waiting | Next::Ended => {
                    end = EndReason::WorkloadEnded;
                    break;
                }
            }
            let request = workload.take();
            latest = request.arrival;
            let is_later = |completion: &Completion| completion.service.end > request.arrival;
            while held.front().is_some_and(|completion| !is_later(completion)) {
                let Some(completion) = held.pop_front() else { break };
                handle_completion(&completion, &mut **workload, *observer, counts, None);
            }
            check_counter.count_blocks(&request);
            counts.submitted += 1;
            observer.submitted(&request);
            counts.traffic.arrive(&request);
            let refusal = root.refusal(&request);
            let is_refused = refusal.is_some();
            if let Some(refusal) = refusal {
                counts.count_refusal(refusal);
                finished = finished.max(request.arrival);
                let refused = Completion::refused(&request, request.arrival);
                handle_completion(&refused, &mut **workload, *observer, counts, None);
                in_system = known_ends.outstanding(request.arrival);
            }
            let mut is_done = is_refused;
            while !is_done {
                is_done = root.serve(Some(&request), &mut |completion| {
                    finished = finished.max(completion.service.end);
                    if completion.request.transfers_data() {
                        known_ends.end(completion.service.end);
                    }
                    if may_flush && is_later(completion) {
                        held.push_back(*completion);
                    } else {
                        handle_completion(completion, &mut **workload, *observer, counts, None);
                    }
                });
                let progress = || Progress {
                    submitted: counts.submitted,
                    now: finished,
                    fraction_taken: workload.fraction_taken(),
                };
                if !is_done && !keep_going(progress()) {
                    end = EndReason::Interrupted;
                    break 'arrivals;
                }
            }
            if !is_refused && request.transfers_data() {
                in_system = known_ends.arrive(request.arrival);
                backlog.iter_mut().for_each(|backlog| backlog.arrive(request.arrival, in_system));
            }
            if counts.submitted - counts.completed - counts.failed > PARTS_UNDER_WAY.most {
                return Err(too_many_outstanding(request.arrival));
            }
            if counts.submitted >= *next_check {
                match observer.check(&Checkpoint { submitted: counts.submitted, in_system, system: None }) {
                    Some(next) => *next_check = next,
                    None => break,
                }
            }
        }
        for completion in held {
            handle_completion(&completion, &mut **workload, *observer, counts, None);
        }
        loop {
            let is_done = root.serve(None, &mut |completion| {
                finished = finished.max(completion.service.end);
                handle_completion(completion, &mut **workload, *observer, counts, None);
            });
            if is_done {
                break;
            }
            let progress = Progress { submitted: counts.submitted, now: finished, fraction_taken: Some(1.0) };
            if end == EndReason::Interrupted || !keep_going(progress) {
                // Some requests are still pending.
                end = EndReason::Interrupted;
                finished = finished.max(latest);
                break;
            }
        }
        system.advance(finished);
        Ok(end)
    }

    fn progress(&self) -> Progress {
        let fraction_taken = self.workload.fraction_taken();
        Progress { submitted: self.state.counts.submitted, now: self.system.now(), fraction_taken }
    }

    /// Checks the limits on memory and, more rarely, accumulates power and checks invariants.
    fn check_limits(&mut self) -> Result<(), Fault> {
        self.state.checks += 1;
        self.check_data(self.system.held_bytes(), DATA_HELD, "have been written by")?;
        if self.state.checks.is_multiple_of(CHECKS_PER_ACCUMULATION) {
            self.system.accumulate_power();
            self.check_invariants()?;
        }
        Ok(())
    }

    /// Checks the amount of data held in a run with power cuts.
    fn check_data(&self, bytes: u64, limit: Limit, what: &str) -> Result<(), Fault> {
        if bytes <= limit.most {
            return Ok(());
        }
        Err(Fault::new(Kind::Unsupported).says(format!(
            "more than {} bytes {what} {} s, which a run with power cuts holds: make requests fewer or smaller, and fewer rows \
             of a rebuild at once, or leave out run.power_cuts",
            limit.most,
            self.system.now().seconds()
        )))
    }

    fn check_invariants(&mut self) -> Result<(), Fault> {
        self.system.broken_invariant().map_or(Ok(()), |violation| {
            Err(Fault::new(Kind::Rule).says(format!("an invariant of the simulator is broken: {violation}")))
        })
    }

    fn start_measuring(&mut self) {
        self.state.measured_from = Some(self.system.now());
        self.state.counts.traffic.start_measuring(self.system.now());
        self.system.start_measuring();
    }

    /// Opens the measurement window if the warm-up is given by time alone and ends before the next event, at `at`.
    #[inline]
    pub(super) fn end_warmup_by(&mut self, at: Time) {
        let RunLimits { warmup, warmup_requests, .. } = *self.limits;
        if self.state.measured_from.is_none() && warmup_requests == 0 && at >= warmup {
            self.system.advance(warmup);
            self.start_measuring();
        }
    }

    #[inline]
    fn submit_next(&mut self) -> Result<(), Fault> {
        let request = self.workload.take();
        self.state.arrivals.as_mut().map_or(Ok(()), |arrivals| arrivals.arrive(request.arrival))?;
        self.state.check_counter.count_blocks(&request);
        if self.state.measured_from.is_none() {
            if self.state.counts.submitted >= self.limits.warmup_requests && request.arrival >= self.limits.warmup {
                self.system.advance(request.arrival);
                self.start_measuring();
            } else {
                self.state.counts.warmup += 1;
            }
        }
        self.state.counts.submitted += 1;
        self.observer.submitted(&request);
        let refusal = self.system.refusal(&request);
        if let Some(refusal) = refusal {
            self.state.counts.count_refusal(refusal);
        }
        let in_system = self.state.counts.traffic.in_system();
        if let (None, Some(_), Some(backlog)) = (refusal, self.state.measured_from, &mut self.state.backlog) {
            if request.transfers_data() {
                backlog.arrive(request.arrival, in_system);
            }
        }
        self.state.counts.traffic.arrive(&request);
        let Self { system, workload, observer, state, power_cuts, .. } = self;
        let counts = &mut state.counts;
        let payload = power_cuts.as_mut().map_or(Payload::NONE, |power_cuts| power_cuts.submitted(&request, system));
        system.submit_with(request, payload, &mut |completion| {
            handle_completion(completion, &mut **workload, *observer, counts, power_cuts.as_deref_mut());
        });
        if self.system.is_overfull() {
            return Err(too_many_outstanding(self.system.now()));
        }
        if self.state.counts.submitted >= self.state.next_check {
            let at = Checkpoint { submitted: self.state.counts.submitted, in_system, system: Some(&*self.system) };
            match self.observer.check(&at) {
                Some(next) => self.state.next_check = next,
                None => self.state.is_satisfied = true,
            }
        }
        Ok(())
    }

    #[inline]
    fn fire_timer(&mut self) {
        let Self { system, workload, observer, state, power_cuts, .. } = self;
        let counts = &mut state.counts;
        system.step(&mut |completion| {
            handle_completion(completion, &mut **workload, *observer, counts, power_cuts.as_deref_mut())
        });
    }

    /// Checks that no component has failed.
    ///
    /// # Errors
    /// The reason for the failure.
    pub(super) fn check_not_failed(&self) -> Result<(), Fault> {
        match self.system.stopped() {
            Some((_, Stop::Failed(fault))) => Err(fault.clone()),
            _ => Ok(()),
        }
    }

    pub(super) fn outcome(mut self, end: EndReason) -> Result<Outcome, Fault> {
        // After a component has stopped the run, others may be in an inconsistent state. An interrupted run without events leaves
        // requests pending without timers.
        if self.system.stopped().is_none() && end != EndReason::Interrupted {
            self.check_invariants()?;
        }
        if self.state.measured_from.is_none() {
            // The warm-up did not end, so the window is empty.
            self.start_measuring();
        }
        let finished = self.system.now();
        let measured_from = self.state.measured_from.unwrap_or(finished);
        let RequestCounts {
            submitted, completed, failed, lost, unreadable, cut, out_of_range, oversized, warmup, ..
        } = self.state.counts;
        let traffic = self.state.counts.traffic.window(finished);
        let window_ns = finished - measured_from;
        let offered_per_s = self.state.backlog.as_ref().and_then(Backlog::overload).filter(|_| window_ns > 0);
        let overload = offered_per_s.and_then(|offered_per_s| {
            let served_per_s = traffic.completed as f64 / ns_to_s(window_ns);
            (served_per_s < offered_per_s).then_some(Overload { offered_per_s, served_per_s })
        });
        Ok(Outcome {
            end,
            finished,
            measured_from,
            submitted,
            completed,
            failed,
            lost,
            unreadable,
            cut,
            out_of_range,
            oversized,
            warmup,
            traffic,
            overload,
        })
    }
}

/// The error of too many outstanding parts.
#[cold]
fn too_many_outstanding(at: Time) -> Fault {
    Fault::new(Kind::Unsupported).says(format!(
        "more than {} parts of requests are outstanding at {} s: the system has fallen far behind its load; make requests fewer, \
         smaller or later",
        PARTS_UNDER_WAY.most,
        at.seconds()
    ))
}

/// Counts a completion, and passes it to the observer and the workload.
#[inline]
fn handle_completion(
    completion: &Completion,
    workload: &mut dyn Workload,
    observer: &mut impl Observer,
    counts: &mut RequestCounts,
    power_cuts: Option<&mut PowerCutRun>,
) {
    if let Some(power_cuts) = power_cuts {
        power_cuts.completed(completion);
    }
    counts.count(completion, observer);
    if counts.has_responses && completion.is_served() && completion.request.id >= counts.warmup {
        if let Some(response_ns) = workload.response_ns(&completion.request) {
            observer.recorded(&completion.request, response_ns);
        }
    }
    workload.completed(completion);
}
