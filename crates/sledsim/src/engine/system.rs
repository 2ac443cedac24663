//! A tree of components with its clock: passes requests down, completions up, and fires timers.

use std::collections::VecDeque;

use crate::engine::component::{Completion, Component, ComponentId};
use crate::engine::data::{DataPlane, Memory, Payload};
use crate::engine::queue::EventQueue;
use crate::engine::random::Stream;
use crate::power::{Meter, PeakOfSum, Timeline, TimelineSpec};
use crate::request::Request;
use crate::time::Time;

/// What passes between components. Completions are much larger than the rest and have a queue of their own.
#[derive(Debug)]
enum Message {
    Submit(ComponentId, Request),
    /// The next completion comes from there.
    Complete(ComponentId),
}

/// The components added before one, its children among them.
#[derive(Clone, Copy)]
pub struct Below<'a>(&'a [Box<dyn Component>]);

impl Below<'_> {
    /// See [`Component::reach_ns`] of a child.
    #[must_use]
    pub fn reach_ns(&self, child: ComponentId, now: Time, request: &Request) -> Option<u64> {
        self.0[child.0 as usize].reach_ns(now, request, self)
    }
}

/// What a component may do while it handles something.
pub struct Context<'a> {
    now: Time,
    me: ComponentId,
    is_root: bool,
    queue: &'a mut EventQueue,
    messages: &'a mut VecDeque<Message>,
    completions: &'a mut VecDeque<Completion>,
    /// Completions of the root.
    done: &'a mut Vec<Completion>,
    below: Below<'a>,
    data: Option<&'a mut DataPlane>,
}

impl Context<'_> {
    /// The current time.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Sends a request down to a child. Ids rise from one to the next, and no two under way are the same.
    #[inline]
    pub fn submit(&mut self, child: ComponentId, request: Request) {
        self.submit_with(child, request, Payload::NONE);
    }

    /// The same with the data of a write.
    #[inline]
    pub fn submit_with(&mut self, child: ComponentId, request: Request, payload: Payload) {
        if let Some(data) = &mut self.data {
            data.submitted(child, &request, payload);
        }
        self.messages.push_back(Message::Submit(child, request));
    }

    /// Whether this run checks data: then writes carry bytes, and reads bring them.
    #[inline]
    #[must_use]
    pub fn checks_data(&self) -> bool {
        self.data.is_some()
    }

    /// In [`Component::submit`]: what came with the request.
    #[must_use]
    pub fn payload(&mut self, request: &Request) -> Payload {
        let me = self.me;
        self.data.as_mut().map_or(Payload::NONE, |data| data.take(me, request.id))
    }

    /// In [`Component::completed`]: what a read of a child brought.
    #[must_use]
    pub fn answer(&mut self, child: ComponentId, completion: &Completion) -> Payload {
        self.data.as_mut().map_or(Payload::NONE, |data| data.take(child, completion.request.id))
    }

    /// See [`Component::reach_ns`] of a child.
    #[must_use]
    pub fn reach_ns(&self, child: ComponentId, request: &Request) -> Option<u64> {
        self.below.reach_ns(child, self.now, request)
    }

    /// Sends a completion up to the parent.
    #[inline]
    pub fn complete(&mut self, completion: &Completion) {
        self.complete_with(completion, Payload::NONE);
    }

    /// The same with what was read.
    #[inline]
    pub fn complete_with(&mut self, completion: &Completion, payload: Payload) {
        if let Some(data) = &mut self.data {
            data.completed(self.me, completion, payload);
        }
        if self.is_root {
            self.done.push(*completion);
        } else {
            self.messages.push_back(Message::Complete(self.me));
            self.completions.push_back(*completion);
        }
    }

    /// Asks for [`Component::timer`] at `at` (not before now).
    #[inline]
    pub fn timer(&mut self, at: Time, tag: u64) {
        assert!(at >= self.now, "a timer in the past");
        self.queue.push(at, self.me, tag);
    }

    /// Takes back the timers it set with this tag.
    pub fn cancel(&mut self, tag: u64) {
        self.queue.cancel(self.me, tag);
    }
}

/// A tree of components with its clock.
#[derive(Default)]
pub struct System {
    components: Vec<Box<dyn Component>>,
    /// Parent of each component; the root has none.
    parents: Vec<Option<ComponentId>>,
    queue: EventQueue,
    messages: VecDeque<Message>,
    completions: VecDeque<Completion>,
    /// Completions of the root that nobody has heard of yet.
    done: Vec<Completion>,
    /// Requests that the root has not completed yet.
    in_flight: u64,
    /// Requests that each component has been sent since the start of the measurement window.
    sent: Vec<u64>,
    now: Time,
    /// The power of several mechanisms together, from the start of the measurement window; of one its own meter is enough.
    power: Option<PeakOfSum>,
    data: Option<Box<DataPlane>>,
}

impl System {
    /// Adds a component whose `children` were added before; returns its id. The one added last is the root.
    ///
    /// # Panics
    /// If a child was not added before or already has a parent.
    pub fn add(&mut self, component: Box<dyn Component>, children: &[ComponentId]) -> ComponentId {
        let id = ComponentId(self.components.len() as u32);
        for child in children {
            let parent = &mut self.parents[child.0 as usize];
            assert!(parent.is_none(), "component {child:?} has two parents");
            *parent = Some(id);
        }
        self.components.push(component);
        self.parents.push(None);
        self.sent.push(0);
        id
    }

    /// The component requests enter by.
    #[must_use]
    pub fn root(&self) -> ComponentId {
        ComponentId(self.components.len() as u32 - 1)
    }

    /// The children of a component, in the order in which they were added.
    pub fn children(&self, id: ComponentId) -> impl Iterator<Item = ComponentId> + '_ {
        let has_parent = move |&(_, parent): &(usize, &Option<ComponentId>)| *parent == Some(id);
        self.parents.iter().enumerate().filter(has_parent).map(|(child, _)| ComponentId(child as u32))
    }

    /// From now on every component without children holds real bytes, see [`crate::engine::data`]; `stream` decides what a
    /// power cut leaves. To be called before the first request.
    pub fn hold_data(&mut self, stream: Stream) {
        let ids = (0..self.components.len() as u32).map(ComponentId);
        let leaf = |id: ComponentId| {
            let component = self.component(id);
            self.children(id).next().is_none().then(|| (component.block_bytes(), component.may_lose_writes()))
        };
        self.data = Some(Box::new(DataPlane::new(ids.map(leaf), stream)));
    }

    /// What a component without children holds, in a run that checks data.
    #[must_use]
    pub fn medium(&self, leaf: ComponentId) -> Option<&Memory> {
        self.data.as_ref().and_then(|data| data.medium(leaf))
    }

    /// What a read that the root has completed brought, in a run that checks data.
    #[must_use]
    pub fn take_answer(&mut self, id: u64) -> Payload {
        let root = self.root();
        self.data.as_mut().map_or(Payload::NONE, |data| data.take(root, id))
    }

    /// Cuts power after so many more calls of components, in a run that checks data. Nothing happens from then on until
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
        self.queue = EventQueue::default();
        self.messages.clear();
        self.completions.clear();
        self.components.iter_mut().for_each(|component| component.power_cut(now));
        if let Some(data) = &mut self.data {
            data.lose_power();
        }
        for id in (0..self.components.len() as u32).map(ComponentId) {
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

    /// Lets time pass to `at`, which is not beyond the next timer.
    #[inline]
    pub fn advance(&mut self, at: Time) {
        assert!(at >= self.now, "time runs back");
        self.now = at;
    }

    /// The component requests enter by, if it can serve open arrivals ahead of time.
    pub fn in_order_root(&mut self) -> Option<&mut dyn Component> {
        let root = self.components.last_mut()?;
        if root.in_order() {
            Some(root.as_mut())
        } else {
            None
        }
    }

    /// Hands a request to the root at `request.arrival`; completions at that instant go to `completed`.
    #[inline]
    pub fn submit(&mut self, request: Request, completed: &mut impl FnMut(&Completion)) {
        self.submit_with(request, Payload::NONE, completed);
    }

    /// The same with the data of a write.
    #[inline]
    pub fn submit_with(&mut self, request: Request, payload: Payload, completed: &mut impl FnMut(&Completion)) {
        self.advance(request.arrival);
        self.in_flight += 1;
        let root = self.root();
        self.sent[root.0 as usize] += 1;
        if let Some(data) = &mut self.data {
            data.submitted(root, &request, payload);
        }
        self.handle(root, |component, context| component.submit(request, context));
        self.deliver(completed);
    }

    /// Fires the next timer, if any; completions go to `completed`.
    #[inline]
    pub fn step(&mut self, completed: &mut impl FnMut(&Completion)) {
        if let Some(event) = self.queue.pop() {
            self.advance(event.time);
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

    #[inline]
    fn handle(&mut self, id: ComponentId, act: impl FnOnce(&mut dyn Component, &mut Context<'_>)) {
        if self.data.is_some() && self.is_cut() {
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
            data: self.data.as_deref_mut(),
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
                    self.handle(child, |c, context| c.submit(request, context));
                }
                Message::Complete(from) => {
                    // Only components with a parent send these.
                    if let (Some(parent), Some(completion)) =
                        (self.parents[from.0 as usize], self.completions.pop_front())
                    {
                        self.handle(parent, |c, context| c.completed(from, &completion, context));
                    }
                }
            }
        }
        if !self.done.is_empty() {
            self.in_flight -= self.done.len() as u64;
            self.done.iter().for_each(&mut *completed);
            self.done.clear();
        }
    }
}
