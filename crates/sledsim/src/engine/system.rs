//! A tree of components with a clock: passes requests down and completions up, and fires timers.

use std::collections::VecDeque;
use std::ops::Range;

use crate::convert::to_u32;
use crate::engine::component::{Completion, Component, ComponentId, LookaheadService, Stop};
use crate::engine::context::{Context, Descendants, Message};
use crate::engine::data::{DataPlane, Memory, Payload};
use crate::engine::guards::{CallGuard, Livelock};
use crate::engine::invariants::InvariantChecker;
use crate::engine::outstanding::{OutstandingParts, Refusal};
use crate::engine::queue::EventQueue;
use crate::engine::random::Stream;
use crate::power::{EnergyAccount, PeakOfSum, SharedSpindle, Timeline, TimelineSpec};
use crate::request::Request;
use crate::time::Time;

/// A tree of components with a clock.
#[derive(Clone, Default)]
pub struct System {
    components: Vec<Box<dyn Component>>,
    /// Parent of each component; the root has none.
    parents: Vec<Option<ComponentId>>,
    /// [`PowerLoss::may_lose_writes`](crate::engine::PowerLoss::may_lose_writes) of each component.
    may_lose_writes: Vec<bool>,
    /// Indices of the components over the spindle of each component; none if its spindle is its own.
    spindles: Vec<Range<usize>>,
    queue: EventQueue,
    messages: VecDeque<Message>,
    completions: VecDeque<Completion>,
    /// Completions of the root in the current call.
    done: Vec<Completion>,
    /// Number of requests that the root has not completed.
    in_flight: u64,
    calls: CallGuard,
    /// Number of requests sent to each component in the measurement window.
    requests_to: Vec<u64>,
    now: Time,
    /// Peak power of several mechanisms together in the measurement window. A single mechanism's account has its own.
    power: Option<PeakOfSum>,
    data: Option<Box<DataPlane>>,
    /// Capacity of the root.
    capacity_blocks: u64,
    parts: OutstandingParts,
    /// Present in builds with debug assertions, and after [`System::enable_checks`].
    checker: Option<Box<InvariantChecker>>,
    /// The component that stopped the run, and why.
    stop: Option<Box<(ComponentId, Stop)>>,
}

/// The root of a system that serves open arrivals without events, see [`LookaheadService`].
pub struct Lookahead<'a> {
    root: &'a mut dyn LookaheadService,
    id: ComponentId,
    capacity_blocks: u64,
    parts: &'a OutstandingParts,
    checker: Option<&'a mut InvariantChecker>,
    /// True if the next call has the same arrival as the last one.
    is_repeated: bool,
}

impl Lookahead<'_> {
    /// Returns why a request would be refused, see [`System::refusal`].
    #[inline]
    pub fn refusal(&self, request: &Request) -> Option<Refusal> {
        self.parts.refusal(request, self.capacity_blocks)
    }

    /// Serves the next arrival, which is not refused, or ends the sequence with `None`; completions known by then go to `completed`.
    /// Returns false after a part of the work: call again with the same arrival.
    #[inline]
    pub fn serve(&mut self, next: Option<&Request>, completed: &mut dyn FnMut(&Completion)) -> bool {
        if self.checker.is_some() {
            return self.serve_checked(next, completed);
        }
        self.root.serve_next(next, completed)
    }

    fn serve_checked(&mut self, next: Option<&Request>, completed: &mut dyn FnMut(&Completion)) -> bool {
        let Some(checker) = &mut self.checker else { return true };
        if let (Some(request), false) = (next, self.is_repeated) {
            checker.submitted(self.id, request, self.capacity_blocks);
        }
        let is_done = self.root.serve_next(next, &mut |completion| {
            checker.completed(self.id, completion, completion.service.end);
            completed(completion);
        });
        self.is_repeated = !is_done;
        is_done
    }
}

impl System {
    /// Adds a component and returns its id. Its `children` must have been added before; the component added last is the root.
    ///
    /// # Panics
    /// A child was not added before, or already has a parent.
    pub fn add(&mut self, component: Box<dyn Component>, children: &[ComponentId]) -> ComponentId {
        if cfg!(debug_assertions) {
            self.enable_checks();
        }
        let id = ComponentId(to_u32(self.components.len()));
        let children_may = children.iter().any(|child| self.may_lose_writes[child.0 as usize]);
        for child in children {
            let parent = &mut self.parents[child.0 as usize];
            assert!(parent.is_none(), "component {child:?} has two parents");
            *parent = Some(id);
        }
        self.capacity_blocks = component.capacity_blocks();
        self.parts.add(component.as_ref());
        self.may_lose_writes.push(component.may_lose_writes(children_may));
        self.components.push(component);
        self.parents.push(None);
        self.requests_to.push(0);
        self.spindles.push(0..0);
        id
    }

    /// Makes the mechanisms of components, which were added one after the other, share a spindle: idle modes are common to them, see
    /// [`SharedSpindle`]. Components whose power is not known are left as they are.
    pub fn share_spindle(&mut self, ids: &[ComponentId]) {
        let index = |id: Option<&ComponentId>| id.map_or(0, |id| id.0 as usize);
        let group = index(ids.first())..index(ids.last()) + 1;
        debug_assert_eq!(group.len(), ids.len(), "{ids:?} were added one after the other");
        for (index, component) in self.components[group.clone()].iter_mut().enumerate() {
            let Some(share) = component.shared_spindle() else { return };
            share.join(index, ids.len());
        }
        self.spindles[group.clone()].fill(group);
    }

    /// Notes an access that a component has begun at the others over its spindle.
    #[inline(never)]
    fn note_access(&mut self, from: usize) {
        let group = self.spindles[from].clone();
        let Some(access) = self.components[from].shared_spindle().and_then(SharedSpindle::take_access) else { return };
        for other in group.clone().filter(|&other| other != from) {
            if let Some(share) = self.components[other].shared_spindle() {
                share.other_access(from - group.start, access);
            }
        }
    }

    /// Largest number of parts into which the components added so far may cut a request of so many bytes.
    pub(crate) fn parts_of_bytes(&self, bytes: u64) -> u64 {
        self.parts.parts_of_bytes(bytes)
    }

    /// Returns true if writes that the root has completed may be lost in a power cut.
    #[must_use]
    pub fn may_lose_writes(&self) -> bool {
        self.may_lose_writes[self.root().0 as usize]
    }

    /// Number of components.
    #[must_use]
    pub fn components(&self) -> u64 {
        self.components.len() as u64
    }

    /// The component that requests enter by: the last one added.
    ///
    /// # Panics
    /// The system has no components.
    #[must_use]
    pub fn root(&self) -> ComponentId {
        self.ids().next_back().expect("the system has a component")
    }

    fn ids(&self) -> impl DoubleEndedIterator<Item = ComponentId> + use<> {
        (0..to_u32(self.components.len())).map(ComponentId)
    }

    /// The children of a component, in the order in which they were added.
    pub fn children(&self, id: ComponentId) -> impl Iterator<Item = ComponentId> + '_ {
        let has_parent = move |&(_, parent): &(ComponentId, &Option<ComponentId>)| *parent == Some(id);
        self.ids().zip(&self.parents).filter(has_parent).map(|(child, _)| child)
    }

    /// A component.
    #[must_use]
    pub fn component(&self, id: ComponentId) -> &dyn Component {
        self.components[id.0 as usize].as_ref()
    }

    /// The current time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The time of the next timer.
    #[inline]
    #[must_use]
    pub fn next_time(&self) -> Option<Time> {
        self.queue.next_time()
    }

    /// Number of requests submitted, in this run or an earlier one, and not completed.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Returns true if no request is outstanding and no timer is set.
    #[inline]
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.in_flight == 0 && self.queue.next_time().is_none()
    }

    /// Number of requests sent to a component by events in the measurement window. Runs without events are not counted.
    #[must_use]
    pub fn requests_to(&self, id: ComponentId) -> u64 {
        self.requests_to[id.0 as usize]
    }

    /// Returns why a request would be refused: it does not fit the root or is too large. `None` if it would be accepted.
    #[inline]
    #[must_use]
    pub fn refusal(&self, request: &Request) -> Option<Refusal> {
        self.parts.refusal(request, self.capacity_blocks)
    }

    /// Returns true if more parts of requests are outstanding than allowed.
    #[inline]
    #[must_use]
    pub fn is_overfull(&self) -> bool {
        self.parts.are_too_many()
    }

    /// Ends runs after `most` calls in one instant instead of [`CALLS_AT_ONCE`](crate::limits::CALLS_AT_ONCE).
    pub fn limit_calls_at_once(&mut self, most: u64) {
        self.calls.limit(most);
    }

    /// The component that is called without end in this instant, if there is one. Then no component is called any more.
    #[inline]
    #[must_use]
    pub fn livelock(&self) -> Option<Livelock> {
        self.calls.livelock()
    }

    /// The component that ended the run by [`Context::stop`], and why.
    #[inline]
    #[must_use]
    pub fn stopped(&self) -> Option<&(ComponentId, Stop)> {
        self.stop.as_deref()
    }

    /// The root, if it can serve open arrivals without events.
    pub fn lookahead_root(&mut self) -> Option<Lookahead<'_>> {
        let (id, capacity_blocks) = (self.root(), self.capacity_blocks);
        let root = self.components.last_mut()?.lookahead()?;
        Some(Lookahead {
            root,
            id,
            capacity_blocks,
            parts: &self.parts,
            checker: self.checker.as_deref_mut(),
            is_repeated: false,
        })
    }
}

/// Running.
impl System {
    /// Advances the clock to `at`, which must not be after the next timer.
    ///
    /// # Panics
    /// `at` is in the past.
    #[inline]
    pub fn advance(&mut self, at: Time) {
        assert!(at >= self.now, "time runs back");
        if at > self.now {
            self.calls.reset();
        }
        self.now = at;
    }

    /// Submits a request to the root at `request.arrival`; completions in that instant go to `completed`. A request that does not
    /// fit completes at once as refused, so that components get only requests that fit.
    #[inline]
    pub fn submit(&mut self, request: Request, completed: &mut impl FnMut(&Completion)) {
        self.submit_with(request, Payload::NONE, completed);
    }

    /// As [`System::submit`], with the data of a write.
    #[inline]
    pub fn submit_with(&mut self, request: Request, payload: Payload, completed: &mut impl FnMut(&Completion)) {
        self.advance(request.arrival);
        self.calls.reset();
        self.in_flight += 1;
        let root = self.root();
        self.requests_to[root.0 as usize] += 1;
        if self.refusal(&request).is_none() {
            self.parts.begin(&request);
            if let Some(checker) = &mut self.checker {
                checker.submitted(root, &request, self.capacity_blocks);
            }
            if let Some(data) = &mut self.data {
                data.submitted(root, &request, payload);
            }
            self.give(root, request);
        } else {
            self.done.push(Completion::refused(&request, self.now));
        }
        self.deliver(completed);
    }

    /// Fires the next timer, if there is one; completions go to `completed`.
    #[inline]
    pub fn step(&mut self, completed: &mut impl FnMut(&Completion)) {
        if let Some(event) = self.queue.pop() {
            self.advance(event.time);
            if let Some(checker) = &mut self.checker {
                checker.timer_fired(&event);
            }
            self.call(event.target, |component, context| component.timer(event.tag, context));
            self.deliver(completed);
        }
    }

    /// Gives a request to a component. A flush of a component that has nothing to lose completes at once.
    #[inline]
    fn give(&mut self, id: ComponentId, request: Request) {
        if request.is_flush() && !self.may_lose_writes[id.0 as usize] {
            self.call(id, |_, context| context.complete(&Completion::at_once(&request, context.now())));
        } else {
            self.call(id, |component, context| component.submit(request, context));
        }
    }

    /// Calls a component, unless power is off or the call guard forbids it.
    #[inline]
    fn call(&mut self, id: ComponentId, act: impl FnOnce(&mut dyn Component, &mut Context<'_>)) {
        if self.data.is_some() && self.is_power_off() || !self.calls.allow_call(id, self.now) {
            return;
        }
        let index = id.0 as usize;
        let is_root = index + 1 == self.components.len();
        // Children are added before their parents.
        let (below, rest) = self.components.split_at_mut(index);
        let mut context = Context {
            now: self.now,
            me: id,
            is_root,
            queue: &mut self.queue,
            messages: &mut self.messages,
            completions: &mut self.completions,
            done: &mut self.done,
            below: Descendants(below),
            stop: &mut self.stop,
            data: self.data.as_deref_mut(),
            checker: self.checker.as_deref_mut(),
        };
        act(rest[0].as_mut(), &mut context);
        if let Some(data) = &mut self.data {
            data.count_call();
        }
        if !self.spindles[index].is_empty() {
            self.note_access(index);
        }
    }

    /// Delivers messages between components until none is left, then the root's completions to `completed`.
    #[inline]
    fn deliver(&mut self, completed: &mut impl FnMut(&Completion)) {
        while let Some(message) = self.messages.pop_front() {
            match message {
                Message::Submit(child, request) => {
                    self.requests_to[child.0 as usize] += 1;
                    self.give(child, request);
                }
                Message::Complete(from) => {
                    // Only components with a parent send these, each with a completion.
                    let (parent, completion) = (self.parents[from.0 as usize], self.completions.pop_front());
                    debug_assert!(parent.is_some() && completion.is_some(), "a completion from {from:?}");
                    if let (Some(parent), Some(completion)) = (parent, completion) {
                        self.call(parent, |component, context| component.completed(from, &completion, context));
                    }
                }
            }
        }
        if !self.done.is_empty() {
            self.calls.reset();
            self.in_flight -= self.done.len() as u64;
            let Self { done, parts, capacity_blocks, .. } = &mut *self;
            done.iter().for_each(|completion| parts.end(&completion.request, *capacity_blocks));
            self.done.iter().for_each(&mut *completed);
            self.done.clear();
        }
    }
}

/// Checks.
impl System {
    /// Enables the checks of the protocol between components and of each component's invariants. Must be called before the first
    /// request. Builds with debug assertions check from the start, and panic on a violation.
    pub fn enable_checks(&mut self) {
        self.checker.get_or_insert_default();
    }

    /// Returns true if checks are enabled.
    #[must_use]
    pub fn has_checks(&self) -> bool {
        self.checker.is_some()
    }

    /// Checks all invariants and returns the first violation so far, if checks are enabled.
    ///
    /// # Panics
    /// There is a violation, and debug assertions are on.
    pub fn broken_invariant(&mut self) -> Option<&str> {
        let root = self.root();
        let checker = self.checker.as_mut()?;
        let outstanding = checker.outstanding_at(root);
        if outstanding != self.in_flight {
            checker.report(format!("{} requests are counted as outstanding, but {outstanding} are", self.in_flight));
        }
        if outstanding > 0 && self.queue.next_time().is_none() {
            checker.report(format!("{outstanding} requests are outstanding, but no timer is set"));
        }
        let at_rest = checker.is_at_rest();
        for (id, component) in self.components.iter().enumerate() {
            if let Err(violation) = component.check_invariants(at_rest) {
                checker.report(format!("component {id}: {violation}"));
            }
        }
        checker.violation()
    }
}

/// Data and power cuts.
impl System {
    /// Gives every component without children a medium with real bytes, see [`crate::engine::data`]; `stream` decides what power
    /// cuts leave. Must be called before the first request.
    pub fn hold_data(&mut self, stream: Stream) {
        let medium = |id: ComponentId| {
            let is_leaf = self.children(id).next().is_none();
            (self.component(id).block_bytes(), is_leaf.then(|| self.may_lose_writes[id.0 as usize]))
        };
        self.data = Some(Box::new(DataPlane::new(self.ids().map(medium), stream)));
        self.parts.hold_data();
    }

    /// Size of the data stored on all media, bytes; 0 in a run that holds no data.
    pub(super) fn held_bytes(&self) -> u64 {
        self.data.as_ref().map_or(0, |data| data.held_bytes())
    }

    /// Size of all outstanding requests at all components, bytes; 0 in a run that holds no data.
    pub(super) fn outstanding_bytes(&self) -> u64 {
        self.data.as_ref().map_or(0, |data| data.outstanding_bytes())
    }

    /// Takes the data of a read that the root has completed, in a run that holds data.
    #[must_use]
    pub fn take_read_payload(&mut self, id: u64) -> Payload {
        let root = self.root();
        self.data.as_mut().map_or(Payload::NONE, |data| data.take(root, id))
    }

    /// The medium of a component without children, in a run that holds data.
    #[must_use]
    pub fn medium(&self, leaf: ComponentId) -> Option<&Memory> {
        self.data.as_ref().and_then(|data| data.medium(leaf))
    }

    /// Cuts power after `calls` more calls of components, in a run that holds data. No component is called from then on until
    /// [`System::restore_power`].
    pub fn cut_power_after(&mut self, calls: u64) {
        if let Some(data) = &mut self.data {
            data.cut_power_after(calls);
        }
    }

    /// Returns true between a power cut and [`System::restore_power`].
    #[must_use]
    pub fn is_power_off(&self) -> bool {
        self.data.as_ref().is_some_and(|data| data.is_power_off())
    }

    /// Applies the losses of a power cut and restarts all components. Outstanding requests never complete.
    pub fn restore_power(&mut self, completed: &mut impl FnMut(&Completion)) {
        let now = self.now;
        self.in_flight = 0;
        self.calls.reset();
        self.parts.clear();
        self.queue = EventQueue::default();
        self.messages.clear();
        self.completions.clear();
        self.components.iter_mut().for_each(|component| component.power_cut(now));
        if let Some(checker) = &mut self.checker {
            checker.lose_power();
        }
        if let Some(data) = &mut self.data {
            data.lose_power();
        }
        for id in self.ids() {
            self.call(id, |component, context| component.restart(context));
        }
        self.deliver(completed);
    }

    /// Returns true if a component is recovering from a power cut.
    #[must_use]
    pub fn is_recovering(&self) -> bool {
        self.components.iter().any(|component| component.is_recovering())
    }

    /// See [`PowerLoss::pause_background_work`](crate::engine::PowerLoss::pause_background_work).
    pub(super) fn pause_background_work(&mut self) {
        self.components.iter_mut().for_each(|component| component.pause_background_work());
    }
}

/// Measurement.
impl System {
    /// Opens the measurement window of every component.
    pub fn start_measuring(&mut self) {
        let now = self.now;
        self.requests_to.fill(0);
        let powered = self.accounts().count();
        self.power = (powered > 1).then(|| PeakOfSum::new(powered));
        for component in &mut self.components {
            if let (true, Some(account)) = (powered > 1, component.settle_energy_account(now)) {
                account.keep_windows();
            }
            component.start_measuring(now);
        }
    }

    /// Adds up the power of several mechanisms so far, so that their accounts need not keep it.
    pub fn accumulate_power(&mut self) {
        let Some(power) = &mut self.power else { return };
        let now = self.now;
        let accounts = self.components.iter_mut().filter_map(|component| component.settle_energy_account(now));
        for (mechanism, account) in accounts.enumerate() {
            power.take(mechanism, account);
        }
        power.add_up();
    }

    /// Highest mean power over a millisecond in the measurement window, W, see [`crate::power::Peak`]; `None` if powers are
    /// unknown.
    #[must_use]
    pub fn peak_power_w(&self) -> Option<f64> {
        let accounts: Vec<EnergyAccount> = self.accounts().collect();
        match &self.power {
            Some(power) => Some(power.power_w(accounts)),
            None => accounts.first().map(EnergyAccount::peak_w),
        }
    }

    /// Records the power of all mechanisms from now on, with an equal share of `spec.spans` for each.
    pub fn record_power(&mut self, spec: TimelineSpec) {
        let now = self.now;
        let mechanisms = self.accounts().count().max(1);
        for component in &mut self.components {
            if let Some(account) = component.settle_energy_account(now) {
                account.record(TimelineSpec { spans: spec.spans / mechanisms, ..spec });
            }
        }
    }

    /// The recorded power of all mechanisms.
    #[must_use]
    pub fn timeline(&self) -> Timeline {
        Timeline::new(self.accounts().map(EnergyAccount::into_recorded))
    }

    fn accounts(&self) -> impl Iterator<Item = EnergyAccount> + '_ {
        self.components.iter().filter_map(|component| component.energy_account(self.now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::component::{Instrumentation, PowerLoss};

    /// A component that completes nothing.
    #[derive(Clone)]
    struct Swallows;

    impl Component for Swallows {
        fn capacity_blocks(&self) -> u64 {
            100
        }

        fn block_bytes(&self) -> u32 {
            512
        }

        fn submit(&mut self, _request: Request, _context: &mut Context<'_>) {}

        fn completed(&mut self, _child: ComponentId, _completion: &Completion, _context: &mut Context<'_>) {}
    }

    impl PowerLoss for Swallows {}

    impl Instrumentation for Swallows {
        fn check_invariants(&self, at_rest: bool) -> Result<(), String> {
            if at_rest {
                return Err("its own counts disagree".into());
            }
            Ok(())
        }
    }

    #[test]
    fn every_violation_is_reported() {
        type Act = fn(&mut System);
        let violations: [(&str, Act); 3] = [
            ("requests are counted as outstanding", |system| system.in_flight += 1),
            ("outstanding, but no timer is set", |system| system.submit(Request::read(3, 2), &mut |_| {})),
            ("component 0: its own counts disagree", |_| {}),
        ];
        for (expected, act) in violations {
            let message = std::panic::catch_unwind(|| {
                let mut system = System::default();
                system.enable_checks();
                system.add(Box::new(Swallows), &[]);
                act(&mut system);
                system.broken_invariant().map(str::to_owned)
            });
            // With debug assertions the violation panics with the same message.
            let message = message.unwrap_or_else(|panic| panic.downcast_ref::<String>().cloned());
            assert!(message.as_ref().is_some_and(|it| it.contains(expected)), "{expected}: {message:?}");
        }
    }
}
