//! A drive: one device and the scheduler that holds its pending requests.
//!
//! `Drive` serves requests by events, and `lookahead` without events if arrivals are known ahead of time. Both use a `station`,
//! the queue and its mechanism. It keeps the statistics of the measurement `window`, may delay the start-up
//! (`delayed_startup`) or wait for sequential reads (`anticipation`), and serves requests together (`merging`). A device may bring a queue
//! of commands (`command_queue`) and a volatile write cache (`write_cache`).

mod anticipation;
mod command_queue;
mod defect_counters;
mod delayed_startup;
mod lookahead;
mod merging;
mod pending;
mod station;
mod window;
mod write_cache;

pub use anticipation::AnticipationSpec;
pub use delayed_startup::DelayedStartupSpec;
pub use merging::MergeSpec;

use std::collections::VecDeque;

use anticipation::Anticipation;
use command_queue::CommandQueue;
use delayed_startup::StartupDelay;
use lookahead::LookaheadState;
use merging::{GroupRule, Merging};
use station::{Dispatched, Station};
use write_cache::{Path, WriteCache};

use crate::convert::to_usize;
use crate::devices::{Mechanism, MechanismChecker};
use crate::engine::component::Measured;
use crate::engine::details::Details;
use crate::engine::{
    Completion, Component, ComponentId, Context, Descendants, Instrumentation, LookaheadService, PowerLoss, Status,
};
use crate::power::{ActuatorAccess, EnergyAccount, SharedSpindle};
use crate::request::{Op, Request};
use crate::schedulers::{self, Scheduler};
use crate::service::{Phases, Service};
use crate::time::{ms_to_ns, Time};

/// Timer tag: the oldest request in command processing is ready to be scheduled.
const READY: u64 = u64::MAX;
/// Timer tag: the mechanism is free.
const FREE: u64 = u64::MAX - 1;
/// Timer tag: the wait for the start-up or for an anticipated read ends.
const DEADLINE: u64 = u64::MAX - 2;
/// Timer tag: the mechanism has been idle so long that the write cache is written back.
const IDLE: u64 = u64::MAX - 3;

/// A queue and its mechanism.
///
/// A request passes command processing, in which requests overlap, then waits in the scheduler, and then is served.
#[derive(Clone)]
pub struct Drive {
    station: Station,
    lookahead: LookaheadState,
    under_service: UnderService,
    /// Flushes that wait for the mechanism. They overtake other requests, as they cover completed writes only.
    flushes: VecDeque<Request>,
    /// Time from the end of an access to the choice of the next command, ns.
    turnaround_ns: u64,
    /// When the next command is chosen, if that is later than the end of the access.
    choice_at: Option<Time>,
    /// The write cache, if the device has one.
    write_cache: Option<Box<WriteCache>>,
    has_ready_timer: bool,
    is_mechanism_busy: bool,
    /// True if a timer fires when the mechanism is free. It is not set before a request waits.
    has_free_timer: bool,
    has_idle_timer: bool,
    /// False if requests are always served by events.
    allows_lookahead: bool,
}

/// Requests under service; the timer tag of a completion is its index here.
#[derive(Clone, Default)]
struct UnderService(Vec<Option<Completion>>);

impl UnderService {
    #[inline]
    fn begin(&mut self, request: Request, service: &Service, status: Status, context: &mut Context<'_>) {
        let index = self.0.iter().position(Option::is_none).unwrap_or_else(|| {
            self.0.push(None);
            self.0.len() - 1
        });
        self.0[index] = Some(Completion { status, ..Completion::of(request, *service) });
        context.timer(service.end, index as u64);
    }

    #[inline]
    fn end(&mut self, tag: u64, context: &mut Context<'_>) {
        let slot = &mut self.0[to_usize(tag)];
        debug_assert!(slot.is_some(), "each service sets one timer, which a power cut removes");
        if let Some(completion) = slot {
            context.complete(completion);
        }
        *slot = None;
    }
}

impl Drive {
    /// A drive that dispatches at most `batch_max` requests together; 1 means no batches.
    #[must_use]
    pub fn new(device: Box<dyn Mechanism>, scheduler: Box<dyn Scheduler>, batch_max: usize) -> Self {
        let write_cache = device.write_caching().map(|caching| Box::new(WriteCache::new(caching.write_cache())));
        let queue = device.command_queue().filter(|queue| queue.depth > 1);
        let scheduler = match queue {
            Some(queue) => Box::new(CommandQueue::new(scheduler, queue)),
            None => scheduler,
        };
        let drive = Self {
            station: Station::new(device, scheduler),
            turnaround_ns: queue.map_or(0, |queue| ms_to_ns(queue.turnaround_ms)),
            choice_at: None,
            write_cache,
            lookahead: LookaheadState::default(),
            under_service: UnderService::default(),
            flushes: VecDeque::new(),
            has_ready_timer: false,
            is_mechanism_busy: false,
            has_free_timer: false,
            has_idle_timer: false,
            allows_lookahead: queue.is_none(),
        };
        if batch_max > 1 {
            drive.with_groups(GroupRule::Batch(batch_max))
        } else {
            drive
        }
    }

    /// Makes the drive merge requests instead of forming batches.
    #[must_use]
    pub fn merging(self, merge: MergeSpec) -> Self {
        self.with_groups(GroupRule::Merge(merge))
    }

    fn with_groups(mut self, rule: GroupRule) -> Self {
        self.station.merging = Some(Merging::new(rule, self.station.is_in_order));
        self
    }

    /// Makes a stopped device delay its start-up.
    #[must_use]
    pub fn with_delayed_startup(mut self, spec: &DelayedStartupSpec) -> Self {
        self.station.delay = Some(StartupDelay::new(spec));
        self
    }

    /// Makes the drive wait for sequential reads.
    #[must_use]
    pub fn with_anticipation(mut self, spec: AnticipationSpec) -> Self {
        self.station.anticipation = Some(Anticipation::new(spec));
        self.station.is_in_order = false;
        self.station.merging.iter_mut().for_each(Merging::allow_reordering);
        self
    }

    /// Makes the drive check the contracts of its scheduler and device.
    #[must_use]
    pub fn checked(mut self) -> Self {
        self.station.scheduler = Box::new(schedulers::CheckedScheduler::new(self.station.scheduler));
        self.station.checker = Some(Box::new(MechanismChecker::default()));
        self
    }

    /// Makes the drive serve requests by events even if arrivals are known ahead of time: a custom policy or device is called in the
    /// order of events, and stops the run at the time of its failure.
    #[must_use]
    pub fn by_events(mut self) -> Self {
        self.allows_lookahead = false;
        self
    }

    /// Returns true if requests are served alone, in order of arrival and without delay, so that the outcome is known on arrival.
    #[inline]
    fn serves_directly(&self) -> bool {
        self.station.is_in_order && self.station.merging.is_none() && self.station.delay.is_none()
    }

    fn dispatch(&mut self, context: &mut Context<'_>) {
        if self.is_mechanism_busy {
            return;
        }
        if self.write_cache.is_some() {
            self.dispatch_or_write_back(context);
        } else {
            self.dispatch_requests(context);
        }
    }

    /// Dispatches pending requests, or writes back a part of the write cache.
    fn dispatch_or_write_back(&mut self, context: &mut Context<'_>) {
        let now = context.now();
        let Some(cache) = &mut self.write_cache else { return };
        cache.mechanism_is_free();
        self.admit_waiting(context);
        let Self { station, write_cache: Some(cache), .. } = self else { return };
        let has_requests = !(station.scheduler.is_empty() && station.incoming.is_empty());
        if cache.is_write_back_due(now, has_requests) {
            self.write_back(context);
        } else if has_requests {
            self.dispatch_requests(context);
            if let (true, Some(cache), Some(free)) =
                (self.is_mechanism_busy, &mut self.write_cache, self.station.window.busy_until())
            {
                cache.accessed(free);
            }
        } else if let Some(flush) = cache.ending_flush() {
            let transfer = station.device.write_caching().map(|caching| caching.host_transfer(Op::Flush));
            let command_ns = transfer.map_or(0, |times| times.command_ns + times.completion_ns);
            let phases = Phases { command_ns, ..Phases::default() };
            let service = Service { start: now, end: now + command_ns, free: now, phases, ..Service::default() };
            self.under_service.begin(flush, &service, Status::Served, context);
        } else if let (false, Some(at)) = (self.has_idle_timer, cache.idle_write_back()) {
            self.has_idle_timer = true;
            context.timer(at, IDLE);
        }
    }

    /// Writes back a part of the write cache.
    fn write_back(&mut self, context: &mut Context<'_>) {
        let now = context.now();
        let Self { station, write_cache: Some(cache), .. } = self else { return };
        station.end_initial_idle(now);
        let Some(service) = station.device.write_caching_mut().and_then(|device| cache.write_back(now, device)) else {
            return;
        };
        station.window.serve(now, service.free);
        if self.stop_on_device_failure(context) {
            return;
        }
        self.is_mechanism_busy = true;
        self.await_free(service.free, context);
    }

    /// Serves the writes that need not wait for the write cache any longer.
    fn admit_waiting(&mut self, context: &mut Context<'_>) {
        while let Some((request, path)) = self.write_cache.as_mut().and_then(|cache| cache.admit_waiting()) {
            self.station.set_held(context.now(), self.write_cache.as_ref().map_or(0, |cache| cache.held()));
            match path {
                Path::Medium => self.station.push(context.now(), request),
                Path::Cache | Path::Waits => self.transfer(&request, context),
            }
        }
    }

    /// Serves a request by a transfer between host and write cache.
    fn transfer(&mut self, request: &Request, context: &mut Context<'_>) {
        let Self { station, write_cache: Some(cache), .. } = self else { return };
        let Some(times) = station.device.write_caching().map(|caching| caching.host_transfer(request.op)) else {
            return;
        };
        let service = cache.transfer(context.now(), request, times);
        self.under_service.begin(*request, &service, Status::Served, context);
    }

    /// Accepts a request on a drive with a write cache. Returns true if the mechanism serves it.
    fn accept(&mut self, request: &Request, context: &mut Context<'_>) -> bool {
        let Some(cache) = &mut self.write_cache else { return true };
        let path = cache.accept(request);
        self.station.set_held(context.now(), cache.held());
        match path {
            Path::Medium => return true,
            Path::Cache => self.transfer(request, context),
            Path::Waits => {}
        }
        false
    }

    /// Accepts the requests behind a flush that has completed.
    fn accept_behind_flush(&mut self, context: &mut Context<'_>) {
        let behind = self.write_cache.as_mut().map_or_else(VecDeque::new, |cache| cache.take_behind_flush());
        for request in behind {
            if self.accept(&request, context) {
                self.station.integrate_queue(context.now());
                self.station.push(context.now(), request);
            }
        }
    }

    /// Dispatches pending requests and flushes.
    fn dispatch_requests(&mut self, context: &mut Context<'_>) {
        let now = context.now();
        while let Some(flush) = self.flushes.pop_front() {
            if self.station.device.volatile_cache().is_some_and(|cache| cache.is_dirty(now)) {
                let service = self.station.serve_flush(now, &flush);
                if self.stop_on_device_failure(context) {
                    return;
                }
                self.under_service.begin(flush, &service, Status::Served, context);
                self.occupy(service.free, service.end == service.free, context);
                return;
            }
            context.complete(&Completion::at_once(&flush, now));
        }
        let deadline = self.station.deadline();
        let dispatched = self.station.dispatch(now);
        if deadline != self.station.deadline() {
            // A timer without effect would still be an event of the run.
            if deadline.is_some() {
                context.cancel(DEADLINE);
            }
            if let Some(deadline) = self.station.deadline() {
                context.timer(deadline, DEADLINE);
            }
        }
        match dispatched {
            Dispatched::None => {
                self.await_ready(context);
                if let Some(stop) = self.station.scheduler.failure() {
                    context.stop(stop.clone());
                }
            }
            _ if self.stop_on_device_failure(context) => {}
            Dispatched::Single(request, service) => {
                let status = self.station.defects.status_of(&request, self.station.device.as_ref());
                self.under_service.begin(request, &service, status, context);
                self.occupy(service.free, service.end == service.free, context);
            }
            Dispatched::Group => {
                let mut free = now;
                let Station { merging, defects, device, .. } = &mut self.station;
                for (&request, service) in merging.iter().flat_map(Merging::served) {
                    let status = defects.status_of(&request, device.as_ref());
                    self.under_service.begin(request, service, status, context);
                    free = free.max(service.free);
                }
                let freed_by_completion = self.station.last_group().any(|(_, service)| service.end == free);
                self.occupy(free, freed_by_completion, context);
            }
        }
    }

    /// Stops the run if the device has failed, and returns true if so: its services have no meaning.
    #[inline]
    fn stop_on_device_failure(&self, context: &mut Context<'_>) -> bool {
        let failure = self.station.device.failure();
        let has_failed = failure.is_some();
        if let Some(stop) = failure {
            context.stop(stop);
        }
        has_failed
    }

    /// Marks the mechanism as busy until `free`. If `freed_by_completion`, the timer of a completion fires then, too.
    #[inline]
    fn occupy(&mut self, free: Time, freed_by_completion: bool, context: &mut Context<'_>) {
        self.is_mechanism_busy = true;
        self.has_free_timer = freed_by_completion;
        if !(freed_by_completion || self.station.scheduler.is_empty() && self.station.incoming.is_empty()) {
            self.await_free(free, context);
        }
    }

    fn await_free(&mut self, free: Time, context: &mut Context<'_>) {
        self.has_free_timer = true;
        context.timer(free, FREE);
    }

    /// Prepares for a request that arrives now: sets the timer for the time when the mechanism is free, or marks it as free.
    #[inline]
    fn update_mechanism(&mut self, now: Time, context: &mut Context<'_>) {
        if self.is_mechanism_busy && !self.has_free_timer {
            match self.station.window.busy_until() {
                Some(free) if free > now => self.await_free(free, context),
                _ => self.is_mechanism_busy = false,
            }
        }
    }

    /// Marks the mechanism as free if its access has ended. After the first of several timers at the end of an access, the next one
    /// may have begun.
    #[inline]
    fn release(&mut self, now: Time) {
        if self.station.window.busy_until() <= Some(now) && self.choice_at.is_none_or(|at| at <= now) {
            self.is_mechanism_busy = false;
        }
    }

    /// Lets pending commands wait until the next one is chosen.
    fn await_choice(&mut self, context: &mut Context<'_>) {
        if !self.station.scheduler.is_empty() {
            let at = context.now() + self.turnaround_ns;
            self.choice_at = Some(at);
            self.is_mechanism_busy = true;
            self.await_free(at, context);
        }
    }

    /// Sets the timer for the time when the next request in command processing is ready.
    #[inline]
    fn await_ready(&mut self, context: &mut Context<'_>) {
        if let (false, Some(&(ready, _))) = (self.has_ready_timer, self.station.incoming.front()) {
            self.has_ready_timer = true;
            context.timer(ready, READY);
        }
    }
}

impl Component for Drive {
    fn capacity_blocks(&self) -> u64 {
        self.station.device.dimensions().capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        self.station.device.dimensions().block_bytes
    }

    fn lookahead(&mut self) -> Option<&mut dyn LookaheadService> {
        let applies = self.allows_lookahead && self.write_cache.is_none() && !self.station.defects.has_defects();
        applies.then_some(self as &mut dyn LookaheadService)
    }

    #[inline]
    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let now = context.now();
        self.update_mechanism(now, context);
        if self.write_cache.is_some() && !self.accept(&request, context) {
            self.dispatch(context);
            return;
        }
        if request.is_flush() {
            self.flushes.push_back(request);
            self.dispatch(context);
        } else if self.station.overhead_ns > 0 {
            self.station.incoming.push_back((now + self.station.overhead_ns, request));
            if !self.is_mechanism_busy {
                self.await_ready(context);
            }
        } else {
            self.station.integrate_queue(now);
            self.station.push(now, request);
            self.dispatch(context);
        }
    }

    fn completed(&mut self, _child: ComponentId, _completion: &Completion, _context: &mut Context<'_>) {
        debug_assert!(false, "a drive has no children");
    }

    #[inline]
    fn timer(&mut self, tag: u64, context: &mut Context<'_>) {
        match tag {
            READY => self.has_ready_timer = false,
            FREE => self.release(context.now()),
            DEADLINE => {}
            IDLE => self.has_idle_timer = false,
            tag => {
                if let Some(Some(done)) = self.under_service.0.get(to_usize(tag)) {
                    let is_cached = self.write_cache.as_mut().is_some_and(|cache| cache.end(&done.request));
                    if !(is_cached || done.request.is_flush()) {
                        self.station.scheduler.completed(context.now(), &done.request);
                    }
                }
                self.under_service.end(tag, context);
                if self.write_cache.is_some() {
                    self.accept_behind_flush(context);
                }
                let was_busy = self.is_mechanism_busy;
                self.release(context.now());
                if self.turnaround_ns > 0 && was_busy && !self.is_mechanism_busy {
                    self.await_choice(context);
                }
            }
        }
        self.dispatch(context);
    }

    fn shared_spindle(&mut self) -> Option<&mut dyn SharedSpindle> {
        self.station.device.shared_spindle().is_some().then_some(self as &mut dyn SharedSpindle)
    }

    fn reach_ns(&self, now: Time, request: &Request, _below: &Descendants<'_>) -> Option<u64> {
        let at = self.station.window.busy_until().map_or(now, |free| free.max(now));
        Some(self.station.device.positioning_ns(at, self.station.device.locate(request)))
    }
}

impl SharedSpindle for Drive {
    fn join(&mut self, index: usize, count: usize) {
        if let Some(share) = self.station.device.shared_spindle() {
            share.join(index, count);
        }
    }

    fn take_access(&mut self) -> Option<ActuatorAccess> {
        self.station.device.shared_spindle().and_then(SharedSpindle::take_access)
    }

    fn other_access(&mut self, index: usize, access: ActuatorAccess) {
        self.station.end_initial_idle(access.start);
        if let Some(share) = self.station.device.shared_spindle() {
            share.other_access(index, access);
        }
    }
}

impl LookaheadService for Drive {
    #[inline]
    fn serve_next(&mut self, next: Option<&Request>, completed: &mut dyn FnMut(&Completion)) -> bool {
        if !self.serves_directly() {
            if !self.lookahead.serve_ahead(&mut self.station, next, completed) {
                return false;
            }
        } else if let Some(request) = next.filter(|request| !request.is_flush()) {
            self.lookahead.serve_directly(&mut self.station, request, completed);
        }
        if let Some(flush) = next.filter(|request| request.is_flush()) {
            // There is nothing to write back.
            completed(&Completion::at_once(flush, flush.arrival));
        }
        true
    }
}

impl PowerLoss for Drive {
    fn may_lose_writes(&self, _children: bool) -> bool {
        self.write_cache.is_some() || self.station.device.volatile_cache().is_some()
    }

    /// The mechanism completes its current access, but the request does not complete.
    fn power_cut(&mut self, now: Time) {
        self.station.power_cut(now);
        self.under_service.0.clear();
        self.flushes.clear();
        self.write_cache.iter_mut().for_each(|cache| cache.power_cut());
        self.station.set_held(now, 0);
        self.choice_at = None;
        (self.has_ready_timer, self.has_free_timer, self.has_idle_timer) = (false, false, false);
    }
}

impl Instrumentation for Drive {
    fn check_invariants(&self, at_rest: bool) -> Result<(), String> {
        let cached = self.write_cache.as_ref().map_or(0, |cache| cache.outstanding());
        let pending = self.station.scheduler.len() + self.flushes.len() + cached;
        let ready = self.station.incoming.len();
        let serving = self.under_service.0.iter().flatten().count();
        if at_rest && pending + ready + serving > 0 {
            return Err(format!(
                "at rest with {pending} pending, {ready} in command processing, {serving} under service"
            ));
        }
        self.write_cache.as_ref().map_or(Ok(()), |cache| cache.check())?;
        self.station.check_invariants()
    }

    fn start_measuring(&mut self, now: Time) {
        self.station.defects.start_measuring();
        self.write_cache.iter_mut().for_each(|cache| cache.start_measuring());
        self.station.start_measuring(now);
    }

    fn details(&self, _now: Time) -> Option<Details> {
        let mut counts = self.station.device.defects().map_or_else(Vec::new, |defects| defects.counts());
        counts.extend(self.station.defects.counts());
        counts.extend(self.write_cache.iter().flat_map(|cache| cache.counts()));
        (!counts.is_empty()).then(|| Details { kind: "drive", counts, paths: Vec::new() })
    }

    fn measured(&self, now: Time) -> Measured {
        self.station.measured(now)
    }

    fn energy_account(&self, now: Time) -> Option<EnergyAccount> {
        self.station.device.powered().map(|powered| powered.energy_account(now))
    }

    fn settle_energy_account(&mut self, now: Time) -> Option<&mut EnergyAccount> {
        self.station.device.powered_mut().map(|powered| powered.settle_energy_account(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::simple::{ConstantParameters, SimpleDevice};
    use crate::schedulers::SchedulerSpec;

    #[test]
    fn every_broken_invariant_is_reported() {
        type Act = fn(&mut Drive);
        let acts: [(&str, Act); 3] = [
            ("at rest with 0 pending, 1 in command processing", |drive| {
                drive.station.incoming.push_back((Time::ZERO, Request::read(3, 2)));
            }),
            ("1 requests are pending for merging, and 0 in the scheduler", |drive| {
                drive.station.merging.iter_mut().for_each(|merging| merging.arrived(Request::read(3, 2)));
            }),
            ("at rest with 1 pending", |drive| drive.station.push(Time::ZERO, Request::read(3, 2))),
        ];
        let parameters = ConstantParameters {
            name: String::new(),
            block_bytes: 512,
            capacity_blocks: 100,
            access_ms: 1.0,
            power: None,
        };
        for (expected, act) in acts {
            let device = SimpleDevice::constant(&parameters).expect("they are valid");
            let scheduler = schedulers::build(&SchedulerSpec::default(), &device);
            let mut drive = Drive::new(Box::new(device), scheduler, 2).checked();
            assert_eq!(drive.check_invariants(true), Ok(()));
            act(&mut drive);
            let message = drive.check_invariants(true).expect_err(expected);
            assert!(message.contains(expected), "{expected}: {message}");
        }
    }
}
