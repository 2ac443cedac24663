//! The run loop: arrivals from a workload, timers of a system, limits, interruption.

use crate::engine::component::{Completion, Status, Stop};
use crate::engine::data::Payload;
use crate::engine::guards::{ArrivalGuard, Horizon};
use crate::engine::outstanding::Refusal;
use crate::engine::power_cuts::{PowerCut, PowerCutPlan, PowerCutRun};
use crate::engine::system::System;
use crate::engine::traffic::{Backlog, EarlyEnds, Overload, Traffic, TrafficCounter};
use crate::engine::work::Work;
use crate::engine::workload::{Next, Workload};
use crate::fault::{Fault, Kind};
use crate::limits::{Limit, DATA_HELD, DATA_UNDER_WAY, PARTS_UNDER_WAY};
use crate::request::Request;
use crate::service::Service;
use crate::time::{ns_to_s, Time};

/// When a run ends and what it discards first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunLimits {
    /// Submit at most this many requests, warm-up included, and wait for all of them.
    pub requests: Option<u64>,
    /// Stop at this simulated time, whatever is under way.
    pub until: Option<Time>,
    /// The measurement window opens at the arrival of the request that so many precede.
    pub warmup_requests: u64,
    /// The measurement window opens not before this time.
    pub warmup: Time,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The workload had no more requests and all have completed.
    WorkloadEnded,
    /// The request limit was reached and all have completed.
    Requests,
    /// The time limit was reached.
    Time,
    /// Somebody asked to stop.
    Interrupted,
    /// A component could not go on: [`System::halted`] says which, and why.
    Failed,
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Requests submitted so far.
    pub submitted: u64,
    /// Simulated time.
    pub now: Time,
    /// How much of the workload has been taken, from 0 to 1, where that can be told.
    pub fraction_taken: Option<f64>,
}

/// Counts of a finished run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Why it ended.
    pub end: EndReason,
    /// When it ended: at the time limit, or when the last request completed.
    pub finished: Time,
    /// Start of the measurement window; `finished` when the warm-up never ended.
    pub measured_from: Time,
    /// Requests handed to the system, warm-up included.
    pub submitted: u64,
    /// Requests served, warm-up included.
    pub completed: u64,
    /// Requests that the system could not serve.
    pub failed: u64,
    /// Those of them that would have fitted it: what they asked for was lost, or can't be read.
    pub lost: u64,
    /// Those of the failed ones that were under way when power failed.
    pub cut: u64,
    /// Those of the failed ones that fit, but have too many blocks or would have been cut into too many parts.
    pub oversized: u64,
    /// Of the submitted ones, how many fell into the warm-up.
    pub warmup: u64,
    /// Counts of the measurement window.
    pub traffic: Traffic,
    /// Offered and served load where open arrivals come faster than they are served.
    pub overload: Option<Overload>,
}

/// Hears the completions of requests that arrived in the measurement window, in order of completion.
pub trait Observer {
    /// `request` has been served.
    fn served(&mut self, request: &Request, service: &Service);

    /// `request`, which has just been served, took so long where the workload was recorded.
    fn recorded(&mut self, _request: &Request, _response_ns: u64) {}
}

/// Looks at the clock between two settlements of the power that several mechanisms draw: rare enough to cost nothing, often
/// enough for what is to be settled to stay small.
const SETTLE_EVERY: u64 = 256;

/// Runs `workload` on `system` until a limit is reached, the workload ends or `keep_going` answers false.
///
/// # Errors
/// What the workload reports; everything completed until then has been given to `observer`. A broken rule.
pub fn run(
    system: &mut System,
    workload: &mut dyn Workload,
    limits: &RunLimits,
    observer: &mut impl Observer,
    keep_going: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, Fault> {
    Run { system, workload, limits, observer, state: &mut RunState::default(), power_cuts: None }.go(keep_going)
}

/// The same for a system that holds data, with power cuts; tells what each of them did.
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
    let (state, cuts_of_run) = (&mut RunState::default(), Some(&mut power_cuts));
    let outcome = Run { system, workload, limits, observer, state, power_cuts: cuts_of_run }.go(keep_going)?;
    Ok((outcome, power_cuts.cuts))
}

#[derive(Clone, Default)]
struct Counts {
    submitted: u64,
    completed: u64,
    failed: u64,
    lost: u64,
    cut: u64,
    oversized: u64,
    warmup: u64,
    traffic: TrafficCounter,
    /// Whether the workload knows what requests took where it was recorded.
    has_responses: bool,
}

impl Counts {
    /// Books one completion. Requests are numbered from 0 in order of submission, so the warm-up's are the lowest ids.
    #[inline]
    fn book(&mut self, completion: &Completion, observer: &mut impl Observer) {
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
        }
    }
}

/// How far a run has come: what it keeps where it pauses.
#[derive(Clone, Default)]
pub(super) struct RunState {
    counts: Counts,
    measured_from: Option<Time>,
    work: Work,
    /// Whether nothing has happened since somebody looked whether it is due: where the loop pauses, it is not counted twice.
    has_looked: bool,
    /// How often it was due.
    looks: u64,
    /// Of a run that only a time ends.
    arrivals: Option<ArrivalGuard>,
    /// Of a run whose arrivals do not depend on completions.
    backlog: Option<Backlog>,
}

impl RunState {
    /// Requests submitted so far.
    pub(super) fn submitted(&self) -> u64 {
        self.counts.submitted
    }
}

/// The one run loop, which a [`Session`](crate::engine::Session) takes in steps.
pub(super) struct Run<'a, O> {
    pub(super) system: &'a mut System,
    pub(super) workload: &'a mut dyn Workload,
    pub(super) limits: &'a RunLimits,
    pub(super) observer: &'a mut O,
    pub(super) state: &'a mut RunState,
    /// Power cuts.
    pub(super) power_cuts: Option<&'a mut PowerCutRun>,
}

impl<O: Observer> Run<'_, O> {
    pub(super) fn go(mut self, keep_going: &mut dyn FnMut(Progress) -> bool) -> Result<Outcome, Fault> {
        let is_endless = self.limits.requests.is_none() && self.workload.fraction_taken().is_none();
        self.state.arrivals = is_endless.then(ArrivalGuard::default);
        self.state.backlog = self.workload.is_open().then(Backlog::default);
        self.begin();
        let end = self.go_on(keep_going)?;
        self.outcome(end)
    }

    /// What comes before everything else, once.
    pub(super) fn begin(&mut self) {
        self.state.counts.has_responses = self.workload.has_responses();
        self.state.counts.traffic.begin(self.system.in_flight());
        if self.limits.warmup_requests == 0 && self.limits.warmup == Time::ZERO {
            self.start_measuring();
        }
    }

    /// Whether nobody needs to see the system before all that arrives has been served, and it can serve that in its order.
    fn goes_in_order(&mut self) -> bool {
        self.power_cuts.is_none()
            && self.limits.until.is_none()
            && self.state.measured_from.is_some()
            && self.workload.is_open()
            && self.system.is_at_rest()
            && self.system.in_order_root().is_some()
            // Flushes overtake requests.
            && !self.workload.may_flush()
    }

    /// Goes on from where it stands until a limit is reached, the workload ends, or there is nothing left to happen.
    pub(super) fn go_on(&mut self, keep_going: &mut dyn FnMut(Progress) -> bool) -> Result<EndReason, Fault> {
        if self.goes_in_order() {
            return self.go_in_order(keep_going);
        }
        let until = self.limits.until.unwrap_or(Time::MAX);
        let last = self.limits.requests.unwrap_or(u64::MAX);
        let horizon = Horizon::of(self.system.root());
        loop {
            if !std::mem::replace(&mut self.state.has_looked, true) && self.state.work.is_due() {
                if !keep_going(self.progress()) {
                    return Ok(EndReason::Interrupted);
                }
                self.look_up()?;
            }
            let exhausted = self.state.counts.submitted >= last;
            let (arrival, ended) = match if exhausted { Next::Ended } else { self.workload.peek()? } {
                Next::At(time) => (Some(time), false),
                Next::Busy => {
                    // What it looked through may have taken long, whatever else there is to do.
                    if !keep_going(self.progress()) {
                        return Ok(EndReason::Interrupted);
                    }
                    self.state.has_looked = false;
                    continue;
                }
                Next::Waiting => (None, false),
                Next::Ended => (None, true),
            };
            let timer = self.system.next_time();
            // A timer of the same instant comes first: what it completes may matter to the arrival.
            let (at, is_arrival) = match (arrival, timer) {
                (Some(arrival), Some(timer)) if timer <= arrival => (timer, false),
                (Some(arrival), _) => (arrival, true),
                // Timers go on for as long as somebody waits for them.
                (None, Some(_)) if ended && self.system.in_flight() == 0 => {
                    return Ok(if exhausted { EndReason::Requests } else { EndReason::WorkloadEnded });
                }
                (None, Some(timer)) => (timer, false),
                (None, None) => return Ok(if exhausted { EndReason::Requests } else { EndReason::WorkloadEnded }),
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
                None if is_arrival => self.arrive()?,
                None => self.fire(),
            }
            self.state.has_looked = false;
            if let Some(livelock) = self.system.livelock() {
                return Err(livelock.fault());
            }
            if let Some((_, why)) = self.system.stopped() {
                return Ok(if *why == Stop::Interrupted { EndReason::Interrupted } else { EndReason::Failed });
            }
            if self.power_cuts.is_some() {
                self.bound_data(self.system.outstanding_bytes(), DATA_UNDER_WAY, "are under way at")?;
                if !self.attend_power(cut_at.is_some()) {
                    return Ok(EndReason::Interrupted);
                }
            }
        }
    }

    /// Cuts power if it is time, and restores it; says whether to go on.
    fn attend_power(&mut self, is_due: bool) -> bool {
        let Some(power_cuts) = &mut self.power_cuts else { return true };
        power_cuts.drop_read_data(self.system);
        if is_due || power_cuts.is_due(self.state.counts.submitted) {
            power_cuts.schedule(self.system, is_due);
        }
        if self.system.is_power_off() {
            let now = self.system.now();
            let dead = power_cuts.cut(now);
            let Self { system, workload, observer, state, .. } = self;
            let counts = &mut state.counts;
            system.restore_power(&mut |completion| {
                settle(completion, &mut **workload, *observer, counts, Some(power_cuts))
            });
            let service = Service { start: now, end: now, free: now, ..Service::default() };
            dead.iter().for_each(|request| counts.traffic.leave(request, now, false));
            counts.failed += dead.len() as u64;
            counts.cut += dead.len() as u64;
            for request in dead {
                workload.completed(&Completion { request, service, status: Status::Failed });
            }
        }
        power_cuts.watch_recovery(self.system);
        !power_cuts.is_over()
    }

    /// The plain case: open arrivals, served in their order, measured from start to end. Nothing has to wait in an event
    /// queue then; results are the same.
    fn go_in_order(&mut self, keep_going: &mut dyn FnMut(Progress) -> bool) -> Result<EndReason, Fault> {
        let last = self.limits.requests.unwrap_or(u64::MAX);
        let mut finished = self.system.now();
        let Self { system, workload, observer, state, .. } = self;
        let RunState { counts, work, backlog, .. } = &mut **state;
        let mut end = EndReason::Requests;
        let mut early_ends = EarlyEnds::default();
        if let Some(mut root) = system.in_order_root() {
            while counts.submitted < last {
                if work.is_due() {
                    let fraction_taken = workload.fraction_taken();
                    if !keep_going(Progress { submitted: counts.submitted, now: finished, fraction_taken }) {
                        end = EndReason::Interrupted;
                        break;
                    }
                    if counts.submitted - counts.completed - counts.failed > PARTS_UNDER_WAY.most {
                        return Err(fell_behind(finished));
                    }
                }
                match workload.peek()? {
                    Next::At(_) => {}
                    Next::Busy => {
                        work.was_long();
                        continue;
                    }
                    Next::Waiting | Next::Ended => {
                        end = EndReason::WorkloadEnded;
                        break;
                    }
                }
                let request = workload.take();
                work.charge(&request);
                counts.submitted += 1;
                counts.traffic.arrive(&request);
                let refusal = root.serve(Some(&request), &mut |completion| {
                    finished = finished.max(completion.service.end);
                    if completion.status != Status::Refused {
                        early_ends.end(completion.service.end);
                    }
                    settle(completion, &mut **workload, *observer, counts, None);
                });
                counts.oversized += u64::from(refusal == Some(Refusal::TooLarge));
                if let (None, Some(backlog)) = (refusal, &mut *backlog) {
                    backlog.arrive(request.arrival, early_ends.arrive(request.arrival));
                }
            }
            root.serve(None, &mut |completion| {
                finished = finished.max(completion.service.end);
                settle(completion, &mut **workload, *observer, counts, None);
            });
        }
        system.advance(finished);
        Ok(end)
    }

    fn progress(&self) -> Progress {
        let fraction_taken = self.workload.fraction_taken();
        Progress { submitted: self.state.counts.submitted, now: self.system.now(), fraction_taken }
    }

    /// What is done now and then.
    fn look_up(&mut self) -> Result<(), Fault> {
        self.state.looks += 1;
        self.bound_data(self.system.held_bytes(), DATA_HELD, "have been written by")?;
        if self.state.looks.is_multiple_of(SETTLE_EVERY) {
            self.system.accumulate_power();
            self.check()?;
        }
        Ok(())
    }

    /// No more than the limit of bytes are held in a run with power cuts.
    fn bound_data(&self, bytes: u64, limit: Limit, what: &str) -> Result<(), Fault> {
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

    fn check(&mut self) -> Result<(), Fault> {
        self.system.broken_invariant().map_or(Ok(()), |rule| {
            Err(Fault::new(Kind::Rule).says(format!("a rule of the simulator is broken: {rule}")))
        })
    }

    fn start_measuring(&mut self) {
        self.state.measured_from = Some(self.system.now());
        self.state.counts.traffic.start_measuring(self.system.now());
        self.system.start_measuring();
    }

    /// Opens the measurement window where a warm-up by time alone ends before the next event, at `at`.
    #[inline]
    pub(super) fn end_warmup_by(&mut self, at: Time) {
        let RunLimits { warmup, warmup_requests, .. } = *self.limits;
        if self.state.measured_from.is_none() && warmup_requests == 0 && at >= warmup {
            self.system.advance(warmup);
            self.start_measuring();
        }
    }

    #[inline]
    fn arrive(&mut self) -> Result<(), Fault> {
        let request = self.workload.take();
        self.state.arrivals.as_mut().map_or(Ok(()), |arrivals| arrivals.arrive(request.arrival))?;
        self.state.work.charge(&request);
        if self.state.measured_from.is_none() {
            if self.state.counts.submitted >= self.limits.warmup_requests && request.arrival >= self.limits.warmup {
                self.system.advance(request.arrival);
                self.start_measuring();
            } else {
                self.state.counts.warmup += 1;
            }
        }
        self.state.counts.submitted += 1;
        let refusal = self.system.refusal(&request);
        self.state.counts.oversized += u64::from(refusal == Some(Refusal::TooLarge));
        if let (None, Some(_), Some(backlog)) = (refusal, self.state.measured_from, &mut self.state.backlog) {
            if !request.is_flush() {
                backlog.arrive(request.arrival, self.state.counts.traffic.in_system());
            }
        }
        self.state.counts.traffic.arrive(&request);
        let Self { system, workload, observer, state, power_cuts, .. } = self;
        let counts = &mut state.counts;
        let payload = power_cuts.as_mut().map_or(Payload::NONE, |power_cuts| power_cuts.submitted(&request, system));
        system.submit_with(request, payload, &mut |completion| {
            settle(completion, &mut **workload, *observer, counts, power_cuts.as_deref_mut());
        });
        if self.system.is_overfull() {
            return Err(fell_behind(self.system.now()));
        }
        Ok(())
    }

    #[inline]
    fn fire(&mut self) {
        let Self { system, workload, observer, state, power_cuts, .. } = self;
        let counts = &mut state.counts;
        system
            .step(&mut |completion| settle(completion, &mut **workload, *observer, counts, power_cuts.as_deref_mut()));
    }

    /// Whether every component can go on.
    ///
    /// # Errors
    /// What keeps one from it.
    pub(super) fn halted(&self) -> Result<(), Fault> {
        match self.system.stopped() {
            Some((_, Stop::Failed(fault))) => Err(fault.clone()),
            _ => Ok(()),
        }
    }

    pub(super) fn outcome(mut self, end: EndReason) -> Result<Outcome, Fault> {
        // What can't go on leaves the rest as it stood.
        if self.system.stopped().is_none() {
            self.check()?;
        }
        if self.state.measured_from.is_none() {
            // The warm-up never ended: the window is empty.
            self.start_measuring();
        }
        let finished = self.system.now();
        let measured_from = self.state.measured_from.unwrap_or(finished);
        let Counts { submitted, completed, failed, lost, cut, oversized, warmup, .. } = self.state.counts;
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
            cut,
            oversized,
            warmup,
            traffic,
            overload,
        })
    }
}

/// More is under way than is allowed.
#[cold]
fn fell_behind(at: Time) -> Fault {
    Fault::new(Kind::Unsupported).says(format!(
        "more than {} parts of requests are under way at {} s: the system has fallen far behind its load; make requests fewer, \
         smaller or later",
        PARTS_UNDER_WAY.most,
        at.seconds()
    ))
}

/// Books one completion and tells whoever asked.
#[inline]
fn settle(
    completion: &Completion,
    workload: &mut dyn Workload,
    observer: &mut impl Observer,
    counts: &mut Counts,
    power_cuts: Option<&mut PowerCutRun>,
) {
    if let Some(power_cuts) = power_cuts {
        power_cuts.completed(completion);
    }
    counts.book(completion, observer);
    if counts.has_responses && completion.is_served() && completion.request.id >= counts.warmup {
        if let Some(response_ns) = workload.response_ns(&completion.request) {
            observer.recorded(&completion.request, response_ns);
        }
    }
    workload.completed(completion);
}
