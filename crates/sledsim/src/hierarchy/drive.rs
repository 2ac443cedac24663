//! A drive: one device and the scheduler that holds its pending requests.

use std::collections::VecDeque;

use super::company::{Company, Rule};
use super::merge::MergeSpec;
use crate::devices::Device;
use crate::engine::component::Measured;
use crate::engine::{Below, Completion, Component, ComponentId, Context};
use crate::hierarchy::delayed_startup::{Delay, DelayedStartupSpec};
use crate::hierarchy::in_order::Ahead;
use crate::power::Meter;
use crate::request::Request;
use crate::schedulers::{Checked, Scheduler};
use crate::service::{EnergyLedger, Service};
use crate::time::Time;

/// Timer tag: the oldest request in command processing is ready to be scheduled.
const READY: u64 = u64::MAX;
/// Timer tag: the mechanism is free again.
const FREE: u64 = u64::MAX - 1;
/// Timer tag: the stopped device has waited for company long enough.
const DEADLINE: u64 = u64::MAX - 2;

/// A queue with a mechanism behind it.
///
/// A request first passes command processing (requests overlap in it), then waits in the scheduler, then is served.
pub struct Drive {
    pub(super) device: Box<dyn Device>,
    pub(super) scheduler: Box<dyn Scheduler>,
    pub(super) overhead_ns: u64,
    /// Which requests are dispatched together, if any ever are.
    pub(super) company: Option<Company>,
    /// In command processing, with the time each is ready.
    pub(super) incoming: VecDeque<(Time, Request)>,
    ready_timer: bool,
    /// Under service; the timer tag of a completion is its index here.
    serving: Vec<Option<Completion>>,
    mechanism_busy: bool,
    /// Whether a timer fires when the mechanism gets free. Where nobody waits for that, none is set before somebody does.
    free_timer: bool,
    pub(super) batch: Vec<Request>,
    pub(super) services: Vec<Service>,
    pub(super) ahead: Ahead,
    /// What the stopped device waits for before it starts up.
    pub(super) delay: Option<Delay>,
    pub(super) window: Window,
}

/// What a look at the queue led to.
#[allow(
    clippy::large_enum_variant,
    reason = "it is looked at where it is made, once for each request, and kept nowhere"
)]
pub(super) enum Look {
    /// Nobody is ready to be served, or whoever is waits for company.
    Nothing,
    /// A request is served alone.
    Alone(Request, Service),
    /// Requests are served together: those of `batch`, as `services` say.
    Together,
}

/// Sums over the measurement window.
#[derive(Default)]
pub(super) struct Window {
    pub(super) start: Time,
    ledger_at_start: EnergyLedger,
    /// Busy time from the dispatches of the window, the last one perhaps reaching beyond now.
    pub(super) busy_ns: u64,
    pub(super) busy_until: Option<Time>,
    pub(super) queue_ns: u128,
    pub(super) queue_max: u64,
    queue_changed: Time,
    /// Requests served together with others, and in how many accesses.
    together_requests: u64,
    together_accesses: u64,
    /// Whether the window began in an idle period that is still under way: a policy with hindsight has yet to say what it was.
    began_idle: bool,
}

impl Window {
    /// The mechanism serves from `now` to `free`.
    #[inline]
    pub(super) fn serve(&mut self, now: Time, free: Time) {
        self.busy_ns += free - now;
        self.busy_until = Some(free);
    }
}

/// When the mechanism is free again that began these services at `now`.
pub(super) fn free_after(now: Time, services: &[Service]) -> Time {
    services.iter().map(|service| service.free).fold(now, Time::max)
}

impl Drive {
    /// A drive; `batch_max` requests at most are dispatched together (1: no batches).
    #[must_use]
    pub fn new(device: Box<dyn Device>, scheduler: Box<dyn Scheduler>, batch_max: usize) -> Self {
        let overhead_ns = device.command_overhead_ns();
        let company = (batch_max > 1).then(|| Company::new(Rule::Batch(batch_max), scheduler.in_order()));
        Self {
            device,
            scheduler,
            overhead_ns,
            company,
            incoming: VecDeque::new(),
            ready_timer: false,
            serving: Vec::new(),
            mechanism_busy: false,
            free_timer: false,
            batch: Vec::new(),
            services: Vec::new(),
            ahead: Ahead::default(),
            delay: None,
            window: Window::default(),
        }
    }

    /// A drive that merges requests instead of forming batches.
    #[must_use]
    pub fn merging(mut self, merge: MergeSpec) -> Self {
        self.company = Some(Company::new(Rule::Merge(merge), self.scheduler.in_order()));
        self
    }

    /// The same drive whose device, when it is stopped, waits for company before it starts up.
    #[must_use]
    pub fn with_delayed_startup(self, spec: &DelayedStartupSpec) -> Self {
        Self { delay: Some(Delay::new(spec)), ..self }
    }

    /// The same drive, whose scheduler is watched.
    #[must_use]
    pub fn checked(self) -> Self {
        Self { scheduler: Box::new(Checked::new(self.scheduler)), ..self }
    }

    /// Brings the queue's time integral up to `now`.
    #[inline]
    fn count_queue(&mut self, now: Time) {
        let waiting = self.scheduler.len() as u64;
        if waiting > 0 {
            self.window.queue_ns += u128::from(waiting) * u128::from(now - self.window.queue_changed);
        }
        self.window.queue_changed = now;
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
            self.window.queue_ns += u128::from(now - ready.max(self.window.start));
            self.push(ready, request);
        }
    }

    #[inline]
    fn push(&mut self, ready: Time, request: Request) {
        self.scheduler.push(ready, request, self.device.as_ref());
        if let Some(company) = &mut self.company {
            company.arrived(request);
        }
    }

    fn dispatch(&mut self, context: &mut Context<'_>) {
        if self.mechanism_busy {
            return;
        }
        let now = context.now();
        let deadline = self.deadline();
        let look = self.look(now);
        if deadline != self.deadline() {
            // A timer that nobody waits for any more would still be an event of the run.
            if deadline.is_some() {
                context.cancel(DEADLINE);
            }
            if let Some(deadline) = self.deadline() {
                context.timer(deadline, DEADLINE);
            }
        }
        match look {
            Look::Nothing => self.await_ready(context),
            Look::Alone(request, service) => {
                self.begin(request, &service, context);
                self.occupy(now, service.free, service.end == service.free, context);
            }
            Look::Together => {
                let (batch, services) = (std::mem::take(&mut self.batch), std::mem::take(&mut self.services));
                for (&request, service) in batch.iter().zip(&services) {
                    self.begin(request, service, context);
                }
                let free = free_after(now, &services);
                let freed_by_completion = services.iter().any(|service| service.end == free);
                self.occupy(now, free, freed_by_completion, context);
                (self.batch, self.services) = (batch, services);
            }
        }
    }

    /// Looks at the queue of a mechanism with nothing to do at `now`, and serves what is to be served then.
    #[inline]
    pub(super) fn look(&mut self, now: Time) -> Look {
        self.count_queue(now);
        self.take_ready(now);
        if self.window.busy_until == Some(now) {
            // All of these waited for the mechanism; one that finds it idle does not.
            self.watch_queue();
        }
        if self.delay.is_some() && self.waits_for_company(now) {
            self.watch_queue();
            return Look::Nothing;
        }
        let Some(request) = self.scheduler.pop(now, self.device.as_ref()) else { return Look::Nothing };
        self.watch_queue();
        if self.window.began_idle {
            self.settle_beginning(now);
        }
        let mut way = 0;
        if let Some(company) = &mut self.company {
            way = company.gather(now, request, self.scheduler.as_mut(), self.device.as_ref(), &mut self.batch);
        }
        if self.batch.len() > 1 {
            self.serve_together(now, way);
            Look::Together
        } else {
            Look::Alone(request, self.device.serve(now, &request))
        }
    }

    /// Until when pending requests wait for a stopped device to start up, if they do.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.delay.as_ref().and_then(Delay::deadline)
    }

    /// Whether what is pending waits on, because the device is stopped and neither enough requests are pending nor the oldest
    /// has waited long enough.
    fn waits_for_company(&mut self, now: Time) -> bool {
        let Some(delay) = &mut self.delay else { return false };
        delay.waits(now, self.scheduler.len(), || self.device.wake_ns(now) > 0)
    }

    /// What the ledger was when the window began is known now that a request dispatched at `now` ends the idle period in
    /// which it did.
    #[cold]
    fn settle_beginning(&mut self, now: Time) {
        self.window.began_idle = false;
        self.window.ledger_at_start = self.device.ledger_before(self.window.start, now);
    }

    #[inline]
    fn watch_queue(&mut self) {
        self.window.queue_max = self.window.queue_max.max(self.scheduler.len() as u64);
    }

    /// Serves those that have been gathered.
    fn serve_together(&mut self, now: Time, way: usize) {
        self.services.clear();
        match self.company {
            Some(Company { rule: Rule::Merge(_), .. }) => {
                self.device.serve_merged(now, &self.batch, way, &mut self.services);
            }
            _ => self.device.serve_batch(now, &self.batch, &mut self.services),
        }
        self.window.together_requests += self.batch.len() as u64;
        self.window.together_accesses += 1;
    }

    #[inline]
    fn begin(&mut self, request: Request, service: &Service, context: &mut Context<'_>) {
        let index = self.serving.iter().position(Option::is_none).unwrap_or_else(|| {
            self.serving.push(None);
            self.serving.len() - 1
        });
        self.serving[index] = Some(Completion::of(request, *service));
        context.timer(service.end, index as u64);
    }

    /// Keeps the mechanism until `free`; where a completion's timer fires then too, it does for both.
    #[inline]
    fn occupy(&mut self, now: Time, free: Time, freed_by_completion: bool, context: &mut Context<'_>) {
        self.mechanism_busy = true;
        self.window.serve(now, free);
        self.free_timer = freed_by_completion;
        if !(freed_by_completion || self.scheduler.is_empty() && self.incoming.is_empty()) {
            self.await_free(free, context);
        }
    }

    fn await_free(&mut self, free: Time, context: &mut Context<'_>) {
        self.free_timer = true;
        context.timer(free, FREE);
    }

    /// Sees to it that a request that comes now is served when the mechanism gets free, or at once where it is.
    #[inline]
    fn look_at_mechanism(&mut self, now: Time, context: &mut Context<'_>) {
        if self.mechanism_busy && !self.free_timer {
            match self.window.busy_until {
                Some(free) if free > now => self.await_free(free, context),
                _ => self.mechanism_busy = false,
            }
        }
    }

    /// Gives the mechanism back if its service is over. Of several timers at the end of a service the first may have begun
    /// the next one.
    #[inline]
    fn release(&mut self, now: Time) {
        if self.window.busy_until <= Some(now) {
            self.mechanism_busy = false;
        }
    }

    /// Nanoseconds of the service under way that lie after `now`.
    fn busy_after(&self, now: Time) -> u64 {
        self.window.busy_until.map_or(0, |until| until.saturating_since(now))
    }

    /// Sees to it that a timer fires when the next request in command processing is ready.
    #[inline]
    fn await_ready(&mut self, context: &mut Context<'_>) {
        if let (false, Some(&(ready, _))) = (self.ready_timer, self.incoming.front()) {
            self.ready_timer = true;
            context.timer(ready, READY);
        }
    }
}

impl Component for Drive {
    fn capacity_blocks(&self) -> u64 {
        self.device.capacity_blocks()
    }

    fn block_bytes(&self) -> u32 {
        self.device.block_bytes()
    }

    fn in_order(&self) -> bool {
        self.scheduler.in_order()
    }

    #[inline]
    fn serve_in_order(&mut self, next: Option<&Request>, completed: &mut dyn FnMut(&Completion)) {
        if self.company.is_some() || self.delay.is_some() {
            self.serve_ahead(next, completed);
        } else if let Some(request) = next {
            self.serve_at_once(request, completed);
        }
    }

    #[inline]
    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let now = context.now();
        self.look_at_mechanism(now, context);
        if self.overhead_ns > 0 {
            self.incoming.push_back((now + self.overhead_ns, request));
            if !self.mechanism_busy {
                self.await_ready(context);
            }
        } else {
            self.count_queue(now);
            self.push(now, request);
            self.dispatch(context);
        }
    }

    fn completed(&mut self, _child: ComponentId, _completion: &Completion, _context: &mut Context<'_>) {
        // A drive has no children.
    }

    #[inline]
    fn timer(&mut self, tag: u64, context: &mut Context<'_>) {
        match tag {
            READY => self.ready_timer = false,
            FREE => self.release(context.now()),
            DEADLINE => {}
            index => {
                if let Some(slot) = usize::try_from(index).ok().and_then(|index| self.serving.get_mut(index)) {
                    if let Some(completion) = slot {
                        context.complete(completion);
                    }
                    *slot = None;
                }
                self.release(context.now());
            }
        }
        self.dispatch(context);
    }

    fn reach_ns(&self, now: Time, request: &Request, _below: &Below<'_>) -> Option<u64> {
        let at = self.window.busy_until.map_or(now, |free| free.max(now));
        Some(self.device.positioning_ns(at, self.device.locate(request)))
    }

    fn may_lose_writes(&self, _below: &Below<'_>) -> bool {
        self.device.may_lose_writes()
    }

    /// The mechanism ends what it is doing; nobody hears of it.
    fn power_cut(&mut self, now: Time) {
        self.count_queue(now);
        while self.scheduler.pop(now, self.device.as_ref()).is_some() {}
        self.incoming.clear();
        self.serving.clear();
        self.company = self.company.as_ref().map(|company| Company::new(company.rule, self.scheduler.in_order()));
        self.delay.iter_mut().for_each(Delay::forget);
        (self.ready_timer, self.free_timer) = (false, false);
    }

    fn check(&self, at_rest: bool) -> Result<(), String> {
        let (pending, ready) = (self.scheduler.len(), self.incoming.len());
        let serving = self.serving.iter().flatten().count();
        if at_rest && pending + ready + serving > 0 {
            return Err(format!(
                "at rest with {pending} pending, {ready} in command processing, {serving} under service"
            ));
        }
        self.scheduler.check()
    }

    fn start_measuring(&mut self, now: Time) {
        if let Some(meter) = self.device.settle_meter(now) {
            meter.start(now);
        }
        self.window = Window {
            start: now,
            ledger_at_start: self.device.ledger(now),
            busy_ns: self.busy_after(now),
            busy_until: self.window.busy_until,
            queue_ns: 0,
            queue_max: self.scheduler.len() as u64,
            queue_changed: now,
            together_requests: 0,
            together_accesses: 0,
            // A device that has not run yet has spent nothing.
            began_idle: now > Time::ZERO && self.busy_after(now) == 0,
        };
    }

    fn measured(&self, now: Time) -> Measured {
        let window = &self.window;
        let waiting = self.scheduler.len() as u128 * u128::from(now - window.queue_changed);
        // The queue is watched at dispatches; since the last one it has only grown.
        let grown = self.scheduler.len() + self.incoming.iter().filter(|&&(ready, _)| ready <= now).count();
        let unseen: u64 = self.incoming.iter().map(|&(ready, _)| now.saturating_since(ready.max(window.start))).sum();
        Measured {
            mechanisms: 1,
            busy_ns: window.busy_ns - self.busy_after(now),
            queue_ns: window.queue_ns + waiting + u128::from(unseen),
            queue_max: window.queue_max.max(grown as u64),
            ledger: &self.device.ledger(now) - &window.ledger_at_start,
            together_requests: window.together_requests,
            together_accesses: window.together_accesses,
        }
    }

    fn meter(&self, now: Time) -> Option<Meter> {
        self.device.meter(now)
    }

    fn settle_meter(&mut self, now: Time) -> Option<&mut Meter> {
        self.device.settle_meter(now)
    }
}
