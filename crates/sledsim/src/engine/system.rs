//! A tree of components with its clock: passes requests down, completions up, and fires timers.

use std::collections::VecDeque;

use crate::convert::to_u32;
use crate::engine::component::{Completion, Component, ComponentId, InOrderService, Stop};
use crate::engine::context::{Below, Context, Message};
use crate::engine::data::{DataPlane, Payload};
use crate::engine::instant::{Calls, Stuck};
use crate::engine::ledger::Kept;
use crate::engine::parts::{Parts, Refusal};
use crate::engine::queue::EventQueue;
use crate::engine::random::Stream;
use crate::power::{Meter, PeakOfSum, Timeline, TimelineSpec};
use crate::request::Request;
use crate::time::Time;

/// A tree of components with its clock.
#[derive(Clone, Default)]
pub struct System {
    components: Vec<Box<dyn Component>>,
    /// Parent of each component; the root has none.
    parents: Vec<Option<ComponentId>>,
    /// Of each component, [`PowerLoss::may_lose_writes`](crate::engine::PowerLoss::may_lose_writes).
    may_lose_writes: Vec<bool>,
    queue: EventQueue,
    messages: VecDeque<Message>,
    completions: VecDeque<Completion>,
    /// Completions of the root that nobody has heard of yet.
    done: Vec<Completion>,
    /// Requests that the root has not completed yet.
    in_flight: u64,
    calls: Calls,
    /// Requests that each component has been sent since the start of the measurement window.
    sent: Vec<u64>,
    now: Time,
    /// The power of several mechanisms together, from the start of the measurement window; of one its own meter is enough.
    power: Option<PeakOfSum>,
    pub(super) data: Option<Box<DataPlane>>,
    /// Blocks of the root.
    capacity_blocks: u64,
    parts: Parts,
    ledger: Kept,
    /// Who has ended the run.
    halt: Option<Box<(ComponentId, Stop)>>,
}

/// The root of a system that serves open arrivals in order without events, see [`InOrderService`].
pub struct InOrder<'a> {
    root: &'a mut dyn InOrderService,
    id: ComponentId,
    capacity_blocks: u64,
    parts: &'a Parts,
    ledger: &'a mut Kept,
}

impl InOrder<'_> {
    /// Hears of the next arrival, or that there is none; what has come of arrivals by then goes to `completed`. One that the
    /// system does not take comes back at once, and why.
    #[inline]
    pub fn serve(&mut self, next: Option<&Request>, completed: &mut dyn FnMut(&Completion)) -> Option<Refusal> {
        let refused = next.and_then(|request| Some((request, self.parts.refusal(request, self.capacity_blocks)?)));
        match refused {
            Some((request, _)) => completed(&Completion::refused(request, request.arrival)),
            None if self.ledger.0.is_some() => self.serve_checked(next, completed),
            None => self.root.serve_in_order(next, completed),
        }
        refused.map(|(_, refusal)| refusal)
    }

    fn serve_checked(&mut self, next: Option<&Request>, completed: &mut dyn FnMut(&Completion)) {
        let Some(ledger) = &mut self.ledger.0 else { return };
        if let Some(request) = next {
            ledger.submitted(self.id, request, self.capacity_blocks);
        }
        self.root.serve_in_order(next, &mut |completion| {
            ledger.completed(self.id, completion, completion.service.end);
            completed(completion);
        });
    }
}

impl System {
    /// Adds a component whose `children` were added before; returns its id. The one added last is the root.
    ///
    /// # Panics
    /// If a child was not added before or already has a parent.
    pub fn add(&mut self, component: Box<dyn Component>, children: &[ComponentId]) -> ComponentId {
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
        self.sent.push(0);
        id
    }

    /// Parts that the components added so far may cut so many bytes into.
    pub(crate) fn parts_of_bytes(&self, bytes: u64) -> u64 {
        self.parts.of_bytes(bytes)
    }

    /// Returns true if writes that the root has completed may be lost in a power cut.
    #[must_use]
    pub fn may_lose_writes(&self) -> bool {
        self.may_lose_writes[self.root().0 as usize]
    }

    /// How many components it has.
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

    /// From now on every component without children holds real bytes, see [`crate::engine::data`]; `stream` decides what a
    /// power cut leaves. To be called before the first request.
    pub fn hold_data(&mut self, stream: Stream) {
        let medium = |id: ComponentId| {
            let component = self.component(id);
            let is_leaf = self.children(id).next().is_none();
            (component.block_bytes(), is_leaf.then(|| self.may_lose_writes[id.0 as usize]))
        };
        self.data = Some(Box::new(DataPlane::new(self.ids().map(medium), stream)));
        self.parts.hold_data();
    }

    /// Bytes that it takes to hold what has been written, in a run that holds data.
    pub(super) fn held_bytes(&self) -> u64 {
        self.data.as_ref().map_or(0, |data| data.held_bytes())
    }

    /// Bytes of what is under way, in a run that holds data.
    pub(super) fn under_way_bytes(&self) -> u64 {
        self.data.as_ref().map_or(0, |data| data.under_way_bytes())
    }

    /// See [`PowerLoss::pause_background_work`](crate::engine::PowerLoss::pause_background_work).
    pub(super) fn pause_background_work(&mut self) {
        self.components.iter_mut().for_each(|component| component.pause_background_work());
    }

    /// What a read that the root has completed brought, in a run that holds data.
    #[must_use]
    pub fn take_answer(&mut self, id: u64) -> Payload {
        let root = self.root();
        self.data.as_mut().map_or(Payload::NONE, |data| data.take(root, id))
    }

    /// Cuts power after so many more calls of components, in a run that holds data. Nothing happens from then on until
    /// [`System::restore_power`].
    pub fn cut_after(&mut self, calls: u64) {
        if let Some(data) = &mut self.data {
            data.cut_after(calls);
        }
    }

    /// Whether power is gone.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.data.as_ref().is_some_and(|data| data.is_cut())
    }

    /// Loses all that does not outlive a power cut and starts again. Requests under way never complete.
    pub fn restore_power(&mut self, completed: &mut impl FnMut(&Completion)) {
        let now = self.now;
        self.in_flight = 0;
        self.calls.begin();
        self.parts.forget();
        self.queue = EventQueue::default();
        self.messages.clear();
        self.completions.clear();
        self.components.iter_mut().for_each(|component| component.power_cut(now));
        if let Some(ledger) = &mut self.ledger.0 {
            ledger.lose_power();
        }
        if let Some(data) = &mut self.data {
            data.lose_power();
        }
        for id in self.ids() {
            self.handle(id, |component, context| component.restart(context));
        }
        self.deliver(completed);
    }

    /// Whether some component is still recovering from a power cut.
    #[must_use]
    pub fn is_recovering(&self) -> bool {
        self.components.iter().any(|component| component.is_recovering())
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

    /// When the next timer fires.
    #[inline]
    #[must_use]
    pub fn next_time(&self) -> Option<Time> {
        self.queue.next_time()
    }

    /// Requests under way: submitted, here or in an earlier run, and not completed.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Whether nobody is under way, and nothing will happen of itself.
    #[inline]
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.in_flight == 0 && self.queue.next_time().is_none()
    }

    /// Lets time pass to `at`, which is not beyond the next timer.
    #[inline]
    pub fn advance(&mut self, at: Time) {
        assert!(at >= self.now, "time runs back");
        if at > self.now {
            self.calls.begin();
        }
        self.now = at;
    }

    /// The component that goes on in this instant without an end, if one does: then nothing more happens.
    #[inline]
    #[must_use]
    pub fn stuck(&self) -> Option<Stuck> {
        self.calls.stuck()
    }

    /// The component that has ended the run, and why, if one has: see [`Context::stop`].
    #[inline]
    #[must_use]
    pub fn halted(&self) -> Option<&(ComponentId, Stop)> {
        self.halt.as_deref()
    }

    /// The component requests enter by, if it can serve open arrivals ahead of time.
    pub fn in_order_root(&mut self) -> Option<InOrder<'_>> {
        let (id, capacity_blocks) = (self.root(), self.capacity_blocks);
        let root = self.components.last_mut()?.in_order()?;
        Some(InOrder { root, id, capacity_blocks, parts: &self.parts, ledger: &mut self.ledger })
    }

    /// From now on the rules between components are checked, and the books of each; for a system that has no components yet.
    /// With debug assertions they are from the start, and a breach panics.
    pub fn check_rules(&mut self) {
        self.ledger.0.get_or_insert_default();
    }

    /// Whether rules are checked.
    #[must_use]
    pub fn checks_rules(&self) -> bool {
        self.ledger.0.is_some()
    }

    /// The first rule that was broken, as far as they are checked.
    ///
    /// # Panics
    /// With debug assertions, if one was.
    pub fn broken_rule(&mut self) -> Option<&str> {
        let ledger = self.ledger.0.as_mut()?;
        let root = ComponentId(to_u32(self.components.len()) - 1);
        let under_way = ledger.under_way(root);
        if under_way != self.in_flight {
            ledger.broken(format!("{} requests are counted as under way, but {under_way} are", self.in_flight));
        }
        if under_way > 0 && self.queue.next_time().is_none() {
            ledger.broken(format!("{under_way} requests are under way, and nothing will happen any more"));
        }
        let at_rest = ledger.is_at_rest();
        for (id, component) in self.components.iter().enumerate() {
            if let Err(rule) = component.check_invariants(at_rest) {
                ledger.broken(format!("component {id}: {rule}"));
            }
        }
        ledger.first_broken()
    }

    /// Why a request is not taken, if it is not: it does not fit the root, or is too large.
    #[inline]
    #[must_use]
    pub fn refusal(&self, request: &Request) -> Option<Refusal> {
        self.parts.refusal(request, self.capacity_blocks)
    }

    /// Whether there are more parts of requests under way than is allowed.
    #[inline]
    #[must_use]
    pub fn is_overfull(&self) -> bool {
        self.parts.are_too_many()
    }

    /// Hands a request to the root at `request.arrival`; completions at that instant go to `completed`. One that the system
    /// does not take comes back refused: components are only sent what fits them.
    #[inline]
    pub fn submit(&mut self, request: Request, completed: &mut impl FnMut(&Completion)) {
        self.submit_with(request, Payload::NONE, completed);
    }

    /// The same with the data of a write.
    #[inline]
    pub fn submit_with(&mut self, request: Request, payload: Payload, completed: &mut impl FnMut(&Completion)) {
        self.advance(request.arrival);
        self.calls.begin();
        self.in_flight += 1;
        let root = self.root();
        self.sent[root.0 as usize] += 1;
        if self.refusal(&request).is_none() {
            self.parts.begin(&request);
            if let Some(ledger) = &mut self.ledger.0 {
                ledger.submitted(root, &request, self.capacity_blocks);
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

    /// Fires the next timer, if any; completions go to `completed`.
    #[inline]
    pub fn step(&mut self, completed: &mut impl FnMut(&Completion)) {
        if let Some(event) = self.queue.pop() {
            self.advance(event.time);
            if let Some(ledger) = &mut self.ledger.0 {
                ledger.fired(&event);
            }
            self.handle(event.target, |component, context| component.timer(event.tag, context));
            self.deliver(completed);
        }
    }

    /// Requests that a component was sent in the measurement window, by events: one that serves arrivals in their order is sent
    /// none.
    #[must_use]
    pub fn sent(&self, id: ComponentId) -> u64 {
        self.sent[id.0 as usize]
    }

    /// Opens the measurement window of every component.
    pub fn start_measuring(&mut self) {
        let now = self.now;
        self.sent.fill(0);
        let metered = self.components.iter().filter(|component| component.meter(now).is_some()).count();
        self.power = (metered > 1).then(|| PeakOfSum::new(metered));
        for component in &mut self.components {
            if let (true, Some(meter)) = (metered > 1, component.settle_meter(now)) {
                meter.keep_windows();
            }
            component.start_measuring(now);
        }
    }

    /// Adds up what the mechanisms have drawn so far, so that meters need not keep it.
    pub fn settle_power(&mut self) {
        let Some(power) = &mut self.power else { return };
        let now = self.now;
        let meters = self.components.iter_mut().filter_map(|component| component.settle_meter(now));
        for (mechanism, meter) in meters.enumerate() {
            power.take(mechanism, meter);
        }
        power.add_up();
    }

    /// Most power over a millisecond since the measurement window was opened, see [`crate::power::Peak`]; `None` where powers
    /// are not known.
    #[must_use]
    pub fn peak_power_w(&self) -> Option<f64> {
        let meters: Vec<Meter> = self.meters().collect();
        match &self.power {
            Some(power) => Some(power.power_w(meters)),
            None => meters.first().map(Meter::peak_w),
        }
    }

    /// Keeps what mechanisms do from now on, in equal shares.
    pub fn record_power(&mut self, spec: TimelineSpec) {
        let now = self.now;
        let mechanisms = self.meters().count().max(1);
        for component in &mut self.components {
            if let Some(meter) = component.settle_meter(now) {
                meter.record(TimelineSpec { spans: spec.spans / mechanisms, ..spec });
            }
        }
    }

    /// What was kept of what mechanisms did.
    #[must_use]
    pub fn timeline(&self) -> Timeline {
        Timeline::new(self.meters().map(Meter::into_recorded))
    }

    fn meters(&self) -> impl Iterator<Item = Meter> + '_ {
        self.components.iter().filter_map(|component| component.meter(self.now))
    }

    /// Gives a component a request; a flush only if it has something to lose.
    #[inline]
    fn give(&mut self, id: ComponentId, request: Request) {
        if request.is_flush() && !self.may_lose_writes[id.0 as usize] {
            self.handle(id, |_, context| context.complete(&Completion::at_once(&request, context.now())));
        } else {
            self.handle(id, |component, context| component.submit(request, context));
        }
    }

    #[inline]
    fn handle(&mut self, id: ComponentId, act: impl FnOnce(&mut dyn Component, &mut Context<'_>)) {
        if self.data.is_some() && self.is_cut() || !self.calls.is_allowed(id, self.now) {
            return;
        }
        let is_root = id == self.root();
        // Children are added before their parents.
        let (below, rest) = self.components.split_at_mut(id.0 as usize);
        let mut context = Context {
            now: self.now,
            me: id,
            is_root,
            queue: &mut self.queue,
            messages: &mut self.messages,
            completions: &mut self.completions,
            done: &mut self.done,
            below: Below(below),
            halt: &mut self.halt,
            data: self.data.as_deref_mut(),
            ledger: self.ledger.0.as_deref_mut(),
        };
        act(rest[0].as_mut(), &mut context);
        if let Some(data) = &mut self.data {
            data.called();
        }
    }

    #[inline]
    fn deliver(&mut self, completed: &mut impl FnMut(&Completion)) {
        while let Some(message) = self.messages.pop_front() {
            match message {
                Message::Submit(child, request) => {
                    self.sent[child.0 as usize] += 1;
                    self.give(child, request);
                }
                Message::Complete(from) => {
                    // Only components with a parent send these, each with a completion.
                    let (parent, completion) = (self.parents[from.0 as usize], self.completions.pop_front());
                    debug_assert!(parent.is_some() && completion.is_some(), "a completion from {from:?}");
                    if let (Some(parent), Some(completion)) = (parent, completion) {
                        self.handle(parent, |c, context| c.completed(from, &completion, context));
                    }
                }
            }
        }
        if !self.done.is_empty() {
            self.calls.begin();
            self.in_flight -= self.done.len() as u64;
            let Self { done, parts, capacity_blocks, .. } = &mut *self;
            done.iter().for_each(|completion| parts.end(&completion.request, *capacity_blocks));
            self.done.iter().for_each(&mut *completed);
            self.done.clear();
        }
    }
}

#[cfg(test)]
mod tests;
