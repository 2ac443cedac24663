//! A queue with a mechanism behind it, without events: whoever drives it says when to look.

use std::collections::VecDeque;

use super::anticipation::{Anticipation, Turn};
use super::delayed_startup::Delay;
use super::flaws::Flaws;
use super::merging::Merging;
use super::window::Window;
use crate::devices::{self, Mechanism, MechanismChecker};
use crate::engine::component::Measured;
use crate::request::Request;
use crate::schedulers::Scheduler;
use crate::service::Service;
use crate::time::Time;

/// What a look at the queue led to.
#[allow(
    clippy::large_enum_variant,
    reason = "it is looked at where it is made, once for each request, and kept nowhere"
)]
pub(super) enum Look {
    /// Nobody is ready to be served, or whoever is waits for others.
    Nothing,
    /// A request is served alone.
    Alone(Request, Service),
    /// Requests are served together: those of [`Station::together`].
    Together,
}

/// A queue with a mechanism behind it.
#[derive(Clone)]
pub(super) struct Station {
    pub(super) device: Box<dyn Mechanism>,
    pub(super) scheduler: Box<dyn Scheduler>,
    pub(super) overhead_ns: u64,
    /// Which requests are served together, if any ever are.
    pub(super) merging: Option<Merging>,
    /// In command processing, with the time each is ready.
    pub(super) incoming: VecDeque<(Time, Request)>,
    /// What the stopped device waits for before it starts up.
    pub(super) delay: Option<Delay>,
    /// Which read those that wait make way for.
    pub(super) anticipation: Option<Anticipation>,
    /// What requests met on a device that is not as it should be.
    pub(super) flaws: Flaws,
    pub(super) window: Window,
    /// Checks the device, if the run checks the rules of the simulator.
    pub(super) checker: Option<Box<MechanismChecker>>,
}

impl Station {
    pub(super) fn new(device: Box<dyn Mechanism>, scheduler: Box<dyn Scheduler>) -> Self {
        Self {
            overhead_ns: device.dimensions().command_overhead_ns,
            flaws: Flaws::of(device.as_ref()),
            device,
            scheduler,
            merging: None,
            incoming: VecDeque::new(),
            delay: None,
            anticipation: None,
            window: Window::default(),
            checker: None,
        }
    }

    /// Moves what has passed command processing into the scheduler.
    #[inline]
    fn take_ready(&mut self, now: Time) {
        while let Some(&(ready, request)) = self.incoming.front() {
            if ready > now {
                break;
            }
            self.incoming.pop_front();
            // It has waited since it was ready, though it is moved only now that somebody looks.
            self.window.count_one(now - ready.max(self.window.start));
            self.push(ready, request);
        }
    }

    /// A request that is ready joins the queue.
    #[inline]
    pub(super) fn push(&mut self, ready: Time, request: Request) {
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
    pub(super) fn count_queue(&mut self, now: Time) {
        self.window.count_queue(now, self.scheduler.len());
    }

    #[inline]
    fn watch_queue(&mut self) {
        self.window.watch_queue(self.scheduler.len());
    }

    /// Looks at the queue of a mechanism with nothing to do at `now`, and serves what is to be served then.
    #[inline]
    pub(super) fn look(&mut self, now: Time) -> Look {
        self.count_queue(now);
        self.take_ready(now);
        if self.window.busy_until() == Some(now) {
            // All of these waited for the mechanism; one that finds it idle does not.
            self.watch_queue();
        }
        let turn = self.anticipation.as_mut().map_or(Turn::Pick, |anticipation| anticipation.turn(now));
        let waits = matches!(turn, Turn::Wait);
        if waits || self.delay.is_some() && self.waits_for_others(now) {
            self.watch_queue();
            return Look::Nothing;
        }
        // An empty queue is looked at too: a service has ended, or nobody is ready yet.
        let Some(picked) = self.pick(turn, now) else { return Look::Nothing };
        self.watch_queue();
        self.settle_idle_beginning(now);
        if self.merging.is_some() && self.serve_together(now, picked) {
            return Look::Together;
        }
        let service = self.serve(now, &picked);
        self.served(now, &picked, &service);
        Look::Alone(picked, service)
    }

    /// The request that is served next, if there is one: whoever has the turn, or the scheduler's choice.
    #[inline]
    fn pick(&mut self, turn: Turn, now: Time) -> Option<Request> {
        let Turn::Take(request) = turn else { return self.scheduler.pop(now, self.device.as_ref()) };
        let was_there = self.scheduler.take(&request, self.device.as_ref());
        debug_assert!(was_there, "{request:?} waits to be anticipated and not in the scheduler");
        Some(request)
    }

    /// Until when pending requests wait for a stopped device to start up, or for one that is anticipated, if they do.
    pub(super) fn deadline(&self) -> Option<Time> {
        let anticipated = self.anticipation.as_ref().and_then(Anticipation::deadline);
        self.delay.as_ref().and_then(Delay::deadline).or(anticipated)
    }

    /// Whether what is pending waits on, because the device is stopped and neither enough requests are pending nor the oldest
    /// has waited long enough.
    fn waits_for_others(&mut self, now: Time) -> bool {
        let (device, pending) = (&self.device, self.scheduler.len());
        let is_stopped = || device.powered().is_some_and(|powered| powered.wake_ns(now) > 0);
        self.delay.as_mut().is_some_and(|delay| delay.waits(now, pending, is_stopped))
    }

    /// A request is dispatched at `now`, perhaps the first of a window that began in an idle period.
    #[inline]
    pub(super) fn settle_idle_beginning(&mut self, now: Time) {
        if self.window.began_idle {
            self.settle_beginning(now);
        }
    }

    /// What the ledger was when the window began is known now that a request dispatched at `now` ends the idle period in
    /// which it did.
    #[cold]
    fn settle_beginning(&mut self, now: Time) {
        self.window.began_idle = false;
        let start = self.window.start;
        self.window.ledger_at_start = match self.device.powered() {
            Some(powered) => powered.ledger_before(start, now),
            None => self.device.ledger(start),
        };
    }

    /// The device, free at `now`, serves a flush, as it owes writes to its medium.
    pub(super) fn serve_flush(&mut self, now: Time, request: &Request) -> Service {
        self.settle_idle_beginning(now);
        let service = self.serve(now, request);
        self.served(now, request, &service);
        service
    }

    /// Has the mechanism serve a request alone.
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

    /// The mechanism serves a request alone from `now` on.
    #[inline]
    pub(super) fn served(&mut self, now: Time, request: &Request, service: &Service) {
        self.check(now, request, service);
        self.window.serve(now, service.free);
        if let (Some(anticipation), false) = (&mut self.anticipation, request.is_flush()) {
            anticipation.served(request, service);
        }
    }

    /// Whether it serves what arrives in the order of arrival, whatever comes.
    pub(super) fn in_order(&self) -> bool {
        self.scheduler.in_order() && self.anticipation.is_none()
    }

    /// Serves the request that the scheduler picked with those that join it; `false` where nobody does, and none is served.
    fn serve_together(&mut self, now: Time, picked: Request) -> bool {
        let (scheduler, device) = (self.scheduler.as_mut(), self.device.as_mut());
        let Some(merging) = &mut self.merging else { return false };
        if !merging.serve(now, picked, scheduler, device, self.checker.as_deref_mut()) {
            return false;
        }
        let (mut free, mut members) = (now, 0);
        for (request, service) in self.together() {
            self.check(now, request, service);
            free = free.max(service.free);
            members += 1;
        }
        self.window.together_requests += members;
        self.window.together_accesses += 1;
        self.window.serve(now, free);
        if let Some(anticipation) = &mut self.anticipation {
            let mut members: Vec<_> = self.merging.iter().flat_map(Merging::served).collect();
            // Those that lie one behind the other are one read.
            members.sort_by_key(|(request, _)| request.lbn);
            members.into_iter().for_each(|(request, service)| anticipation.served(request, service));
        }
        true
    }

    /// The requests that were served together last.
    #[inline]
    pub(super) fn together(&self) -> impl Iterator<Item = (&Request, &Service)> {
        self.merging.iter().flat_map(Merging::served)
    }

    /// What a drive owes its device, and a device whoever it serves; where it is watched, that is found there.
    #[inline]
    fn check(&self, now: Time, request: &Request, service: &Service) {
        debug_assert!(
            request.fits(self.device.dimensions().capacity_blocks),
            "{request:?} reaches beyond {} blocks",
            self.device.dimensions().capacity_blocks
        );
        debug_assert_eq!(devices::service_error(now, request, service), None);
    }

    /// Whether the device and the queue have kept to their rules, as far as they are watched.
    pub(super) fn is_sound(&self) -> Result<(), String> {
        if let Some(violation) = self.checker.as_ref().and_then(|checker| checker.violation()) {
            return Err(violation.to_owned());
        }
        self.scheduler.check()?;
        let pending = self.scheduler.len();
        self.anticipation.as_ref().map_or(Ok(()), |anticipation| anticipation.check(pending))?;
        self.merging.as_ref().map_or(Ok(()), |merging| merging.check(pending))
    }

    /// Nobody waits any more; the mechanism ends what it is doing.
    pub(super) fn power_cut(&mut self, now: Time) {
        self.count_queue(now);
        self.watch_queue();
        while self.scheduler.pop(now, self.device.as_ref()).is_some() {}
        self.incoming.clear();
        self.merging.iter_mut().for_each(Merging::forget);
        self.delay.iter_mut().for_each(Delay::forget);
        self.anticipation.iter_mut().for_each(Anticipation::forget);
    }

    /// Opens the measurement window at `now`.
    pub(super) fn start_measuring(&mut self, now: Time) {
        if let Some(powered) = self.device.powered_mut() {
            powered.settle_meter(now).start(now);
        }
        self.window = self.window.next(now, self.scheduler.len(), self.device.ledger(now));
    }

    /// What it measured from the start of the window until `now`.
    pub(super) fn measured(&self, now: Time) -> Measured {
        let incoming = self.incoming.iter().map(|&(ready, _)| ready);
        let (queue_ns, queue_max) = self.window.queue(now, self.scheduler.len(), incoming);
        Measured {
            mechanisms: 1,
            busy_ns: self.window.busy_ns(now),
            queue_ns,
            queue_max,
            ledger: &self.device.ledger(now) - &self.window.ledger_at_start,
            together_requests: self.window.together_requests,
            together_accesses: self.window.together_accesses,
        }
    }
}
