//! A service station: a queue and its mechanism. The caller decides when to dispatch.

use std::collections::VecDeque;

use super::anticipation::{Anticipation, Decision};
use super::defect_counters::DefectCounters;
use super::delayed_startup::StartupDelay;
use super::merging::Merging;
use super::window::MeasurementWindow;
use crate::devices::{self, Mechanism, MechanismChecker, Powered};
use crate::engine::component::Measured;
use crate::request::Request;
use crate::schedulers::Scheduler;
use crate::service::Service;
use crate::time::Time;

/// The result of a dispatch.
#[allow(clippy::large_enum_variant, reason = "the caller takes it apart at once, and it is stored nowhere")]
pub(super) enum Dispatched {
    /// No request is ready, or the ready requests wait for others.
    None,
    /// One request.
    Single(Request, Service),
    /// The requests of [`Station::last_group`].
    Group,
}

/// A queue and its mechanism.
#[derive(Clone)]
pub(super) struct Station {
    pub(super) device: Box<dyn Mechanism>,
    pub(super) scheduler: Box<dyn Scheduler>,
    /// Number of requests that wait outside the scheduler, for a write cache.
    held: usize,
    /// True if requests are always served in order of arrival.
    pub(super) is_in_order: bool,
    pub(super) overhead_ns: u64,
    pub(super) merging: Option<Merging>,
    /// Requests in command processing, each with the time at which it is ready.
    pub(super) incoming: VecDeque<(Time, Request)>,
    pub(super) delay: Option<StartupDelay>,
    /// If start-ups are delayed: pending reads that the stopped device serves from its buffer. They go first.
    buffered: VecDeque<Request>,
    pub(super) anticipation: Option<Anticipation>,
    pub(super) defects: DefectCounters,
    pub(super) window: MeasurementWindow,
    /// Checks the device, if the run checks invariants.
    pub(super) checker: Option<Box<MechanismChecker>>,
}

impl Station {
    pub(super) fn new(device: Box<dyn Mechanism>, scheduler: Box<dyn Scheduler>) -> Self {
        Self {
            overhead_ns: device.dimensions().command_overhead_ns,
            defects: DefectCounters::of(device.as_ref()),
            device,
            is_in_order: scheduler.in_order(),
            scheduler,
            held: 0,
            merging: None,
            incoming: VecDeque::new(),
            delay: None,
            buffered: VecDeque::new(),
            anticipation: None,
            window: MeasurementWindow::default(),
            checker: None,
        }
    }

    /// Moves requests that have passed command processing to the scheduler.
    #[inline]
    fn take_ready(&mut self, now: Time) {
        while let Some(&(ready, request)) = self.incoming.front() {
            if ready > now {
                break;
            }
            self.incoming.pop_front();
            // It has waited since it was ready, not since now.
            self.window.add_wait(now - ready.max(self.window.start));
            self.push(ready, request);
        }
    }

    /// Adds a ready request to the queue.
    #[inline]
    pub(super) fn push(&mut self, ready: Time, request: Request) {
        if self.delay.is_some() && self.is_buffered(ready, &request) {
            self.buffered.push_back(request);
        }
        self.scheduler.push(ready, request, self.device.as_ref());
        if let Some(merging) = &mut self.merging {
            merging.arrived(request);
        }
        if let Some(anticipation) = &mut self.anticipation {
            anticipation.arrived(request);
        }
    }

    /// Brings the queue's time integral up to `now`.
    #[inline]
    pub(super) fn integrate_queue(&mut self, now: Time) {
        self.window.integrate_queue(now, self.waiting());
    }

    /// Number of requests that wait for dispatch or for the write cache.
    #[inline]
    fn waiting(&self) -> usize {
        self.scheduler.len() + self.held
    }

    /// Sets the number of requests that wait for the write cache.
    pub(super) fn set_held(&mut self, now: Time, held: usize) {
        self.integrate_queue(now);
        self.held = held;
        self.update_max_queue();
    }

    #[inline]
    fn update_max_queue(&mut self) {
        self.window.update_max_queue(self.waiting());
    }

    /// Serves the next request or requests, if there are any. The mechanism must be idle.
    #[inline]
    pub(super) fn dispatch(&mut self, now: Time) -> Dispatched {
        self.integrate_queue(now);
        self.take_ready(now);
        if self.window.busy_until() == Some(now) {
            // The pending requests waited for the mechanism. A request that finds it idle does not count as waiting.
            self.update_max_queue();
        }
        let decision = self.anticipation.as_mut().map_or(Decision::Pick, |anticipation| anticipation.decide(now));
        let must_wait = matches!(decision, Decision::Wait);
        if must_wait {
            self.update_max_queue();
            return Dispatched::None;
        }
        let delays_startup = self.delay.is_some() && self.delays_startup(now);
        let decision = match self.buffered.pop_front() {
            Some(request) => Decision::Take(request),
            None if delays_startup => {
                self.update_max_queue();
                return Dispatched::None;
            }
            None => decision,
        };
        // The queue is empty if a service has ended, or no request is ready yet.
        let Some(picked) = self.pick(&decision, now) else { return Dispatched::None };
        self.update_max_queue();
        self.end_initial_idle(now);
        if self.merging.is_some() && self.serve_together(now, picked) {
            return Dispatched::Group;
        }
        let service = self.serve(now, &picked);
        self.served(now, &picked, &service);
        Dispatched::Single(picked, service)
    }

    /// Removes the next request from the queue: that of the decision, or the scheduler's choice.
    #[inline]
    fn pick(&mut self, decision: &Decision, now: Time) -> Option<Request> {
        let Decision::Take(request) = decision else { return self.scheduler.pop(now, self.device.as_ref()) };
        let is_pending = self.scheduler.take(request, self.device.as_ref());
        debug_assert!(is_pending, "{request:?} is to be served next, but not in the scheduler");
        Some(*request)
    }

    /// The end of the wait for the start-up or for an anticipated read.
    pub(super) fn deadline(&self) -> Option<Time> {
        let anticipated = self.anticipation.as_ref().and_then(Anticipation::deadline);
        self.delay.as_ref().and_then(StartupDelay::deadline).or(anticipated)
    }

    /// Returns true if the device is stopped and the pending requests do not start it up yet.
    fn delays_startup(&mut self, now: Time) -> bool {
        let (device, pending) = (&self.device, self.scheduler.len() - self.buffered.len());
        let is_stopped = || device.powered().is_some_and(|powered| powered.wake_ns(now) > 0);
        self.delay.as_mut().is_some_and(|delay| delay.must_wait(now, pending, is_stopped))
    }

    /// Returns true if the device is stopped and serves a request from its buffer. Requests that are served together bypass the buffer.
    fn is_buffered(&self, now: Time, request: &Request) -> bool {
        let is_stopped = |powered: &dyn Powered| powered.wake_ns(now) > 0 && !powered.wakes_for(now, request);
        self.merging.is_none() && self.device.powered().is_some_and(is_stopped)
    }

    /// Must be called at each dispatch: the first one ends the idle period in which the window started.
    #[inline]
    pub(super) fn end_initial_idle(&mut self, now: Time) {
        if self.window.starts_idle {
            self.set_ledger_at_start(now);
        }
    }

    /// Sets the energy at the start of the window, which is known only at the end of the idle period.
    #[cold]
    fn set_ledger_at_start(&mut self, now: Time) {
        self.window.starts_idle = false;
        let start = self.window.start;
        self.window.ledger_at_start = match self.device.powered() {
            Some(powered) => powered.ledger_before(start, now),
            None => self.device.ledger(start),
        };
    }

    /// Serves a flush of the device's volatile cache.
    pub(super) fn serve_flush(&mut self, now: Time, request: &Request) -> Service {
        self.end_initial_idle(now);
        let service = self.serve(now, request);
        self.served(now, request, &service);
        service
    }

    /// Serves a request alone.
    #[inline]
    pub(super) fn serve(&mut self, now: Time, request: &Request) -> Service {
        if self.checker.is_some() {
            return self.serve_checked(now, request);
        }
        self.device.serve(now, request)
    }

    #[cold]
    fn serve_checked(&mut self, now: Time, request: &Request) -> Service {
        let requests = std::slice::from_ref(request);
        self.checker.iter_mut().for_each(|checker| checker.before(self.device.as_ref(), now, requests));
        let service = self.device.serve(now, request);
        self.checker.iter_mut().for_each(|checker| checker.after(now, requests, std::slice::from_ref(&service)));
        service
    }

    /// Records that a request was served alone from `now` on.
    #[inline]
    pub(super) fn served(&mut self, now: Time, request: &Request, service: &Service) {
        self.check(now, request, service);
        self.window.serve(now, service.free);
        if let (Some(anticipation), false) = (&mut self.anticipation, request.is_flush()) {
            anticipation.served(request, service);
        }
    }

    /// Serves the request that the scheduler picked together with others. Returns false if none joins it; then it is not served.
    fn serve_together(&mut self, now: Time, picked: Request) -> bool {
        let (scheduler, device) = (self.scheduler.as_mut(), self.device.as_mut());
        let Some(merging) = &mut self.merging else { return false };
        if !merging.serve(now, picked, scheduler, device, self.checker.as_deref_mut()) {
            return false;
        }
        let (mut free, mut members) = (now, 0);
        for (request, service) in self.last_group() {
            self.check(now, request, service);
            free = free.max(service.free);
            members += 1;
        }
        self.window.together_requests += members;
        self.window.together_accesses += 1;
        self.window.serve(now, free);
        if let Some(anticipation) = &mut self.anticipation {
            let mut members: Vec<_> = self.merging.iter().flat_map(Merging::served).collect();
            // Contiguous reads are one sequential read.
            members.sort_by_key(|(request, _)| request.lbn);
            members.into_iter().for_each(|(request, service)| anticipation.served(request, service));
        }
        true
    }

    /// The requests that were served together last.
    #[inline]
    pub(super) fn last_group(&self) -> impl Iterator<Item = (&Request, &Service)> {
        self.merging.iter().flat_map(Merging::served)
    }

    /// Checks a request and its service, in builds with debug assertions.
    #[inline]
    fn check(&self, now: Time, request: &Request, service: &Service) {
        debug_assert!(
            request.fits(self.device.dimensions().capacity_blocks),
            "{request:?} reaches beyond {} blocks",
            self.device.dimensions().capacity_blocks
        );
        debug_assert_eq!(devices::service_error(now, request, service), None);
    }

    /// Checks the invariants of the device, the scheduler and the queue.
    pub(super) fn check_invariants(&self) -> Result<(), String> {
        if let Some(violation) = self.checker.as_ref().and_then(|checker| checker.violation()) {
            return Err(violation.to_owned());
        }
        self.scheduler.check()?;
        let pending = self.scheduler.len();
        self.anticipation.as_ref().map_or(Ok(()), |anticipation| anticipation.check(pending))?;
        self.merging.as_ref().map_or(Ok(()), |merging| merging.check(pending))
    }

    /// Removes all requests. The mechanism completes its current access.
    pub(super) fn power_cut(&mut self, now: Time) {
        self.integrate_queue(now);
        self.update_max_queue();
        while self.scheduler.pop(now, self.device.as_ref()).is_some() {}
        self.incoming.clear();
        self.merging.iter_mut().for_each(Merging::forget);
        self.delay.iter_mut().for_each(StartupDelay::forget);
        self.buffered.clear();
        self.device.power_cut(now);
        self.anticipation.iter_mut().for_each(Anticipation::forget);
    }

    /// Opens the measurement window at `now`.
    pub(super) fn start_measuring(&mut self, now: Time) {
        if let Some(powered) = self.device.powered_mut() {
            powered.settle_energy_account(now).start(now);
        }
        self.window = self.window.next(now, self.waiting(), self.device.ledger(now));
    }

    /// The statistics of the window until `now`.
    pub(super) fn measured(&self, now: Time) -> Measured {
        let incoming = self.incoming.iter().map(|&(ready, _)| ready);
        let queue = self.window.queue(now, self.waiting(), incoming);
        Measured {
            mechanisms: 1,
            busy_ns: self.window.busy_ns(now),
            queue_ns: queue.integral_ns,
            queue_max: queue.max_length,
            ledger: &self.device.ledger(now) - &self.window.ledger_at_start,
            together_requests: self.window.together_requests,
            together_accesses: self.window.together_accesses,
        }
    }
}
