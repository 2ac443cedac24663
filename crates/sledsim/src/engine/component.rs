//! Components: anything that accepts requests and completes them. They nest: submit goes down, completion comes up,
//! timers fire; nothing else passes between them.

use std::collections::VecDeque;

use crate::engine::queue::EventQueue;
use crate::power::{Meter, PeakOfSum, Timeline, TimelineSpec};
use crate::request::Request;
use crate::service::{EnergyLedger, Service};
use crate::time::Time;

/// A component's place in its [`System`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ComponentId(pub u32);

/// A request that has come back.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// The request as it was submitted.
    pub request: Request,
    /// When and how it was served.
    pub service: Service,
    /// False when the component could not serve it.
    pub served: bool,
}

impl Completion {
    /// A request that comes back at `now` as it went, not served.
    #[must_use]
    pub fn refused(request: &Request, now: Time) -> Self {
        let service = Service { start: now, end: now, free: now, ..Service::default() };
        Self { request: *request, service, served: false }
    }
}

/// Anything that accepts requests and completes each of them once.
pub trait Component: Send {
    /// Number of addressable blocks.
    fn capacity_blocks(&self) -> u64;

    /// Size of a block in bytes.
    fn block_bytes(&self) -> u32;

    /// Accepts a request from above.
    fn submit(&mut self, request: Request, context: &mut Context<'_>);

    /// Hears that a request it submitted to `child` has completed.
    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>);

    /// Hears a timer it set.
    fn timer(&mut self, tag: u64, context: &mut Context<'_>);

    /// Whether open arrivals can be served by [`Component::serve_in_order`] in place of being submitted one by one.
    fn in_order(&self) -> bool {
        false
    }

    /// Hears of the next arrival ahead of time, or that there is none, and gives `completed` the outcomes that follow from what
    /// it has heard so far, in the order in which submitting requests at their arrivals would have completed them. To be called
    /// in order of arrival and once at the end, on a component that is not submitted to, and only if it is
    /// [`Component::in_order`].
    fn serve_in_order(&mut self, next: Option<&Request>, completed: &mut dyn FnMut(&Completion)) {
        if let Some(request) = next {
            completed(&Completion::refused(request, request.arrival));
        }
    }

    /// Opens the measurement window at `now`: time averages and maxima start afresh.
    fn start_measuring(&mut self, now: Time);

    /// What it measured from the start of the window until `now`.
    fn measured(&self, now: Time) -> Measured;

    /// The power meter of its mechanism, told of everything until `now`; `None` without a mechanism or known powers.
    fn meter(&self, now: Time) -> Option<Meter> {
        let _ = now;
        None
    }

    /// The power meter of its mechanism, told of what is decided of the time until `now`.
    fn settle_meter(&mut self, now: Time) -> Option<&mut Meter> {
        let _ = now;
        None
    }
}

/// What a component reports besides the requests it completed. Parts add up over components.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Mechanisms behind this component.
    pub mechanisms: u32,
    /// Nanoseconds in which a mechanism was serving, over all mechanisms.
    pub busy_ns: u64,
    /// Integral over time of the number of requests waiting to be dispatched, in request-nanoseconds.
    pub queue_ns: u128,
    /// Most requests that waited at once at one mechanism.
    pub queue_max: u64,
    /// Time and energy by state, over all mechanisms.
    pub ledger: EnergyLedger,
    /// Requests that a mechanism served together with others, as batches or merged; parts of a request count each.
    pub together_requests: u64,
    /// Accesses in which it did so.
    pub together_accesses: u64,
}

impl Measured {
    /// Takes in a sibling's figures.
    pub fn add(&mut self, other: &Self) {
        self.mechanisms += other.mechanisms;
        self.busy_ns += other.busy_ns;
        self.queue_ns += other.queue_ns;
        self.queue_max = self.queue_max.max(other.queue_max);
        self.ledger += &other.ledger;
        self.together_requests += other.together_requests;
        self.together_accesses += other.together_accesses;
    }
}

#[derive(Debug)]
enum Message {
    Submit(ComponentId, Request),
    Complete(ComponentId, Completion),
}

/// What a component may do while it handles something.
pub struct Context<'a> {
    now: Time,
    me: ComponentId,
    is_root: bool,
    queue: &'a mut EventQueue,
    messages: &'a mut VecDeque<Message>,
    /// Completions of the root.
    done: &'a mut Vec<Completion>,
}

impl Context<'_> {
    /// The current time.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Sends a request down to a child.
    pub fn submit(&mut self, child: ComponentId, request: Request) {
        self.messages.push_back(Message::Submit(child, request));
    }

    /// Sends a completion up to the parent.
    #[inline]
    pub fn complete(&mut self, completion: &Completion) {
        if self.is_root {
            self.done.push(*completion);
        } else {
            self.messages.push_back(Message::Complete(self.me, *completion));
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
    /// Completions of the root that nobody has heard of yet.
    done: Vec<Completion>,
    now: Time,
    /// The power of several mechanisms together, from the start of the measurement window; of one its own meter is enough.
    power: Option<PeakOfSum>,
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
        id
    }

    /// The component requests enter by.
    #[must_use]
    pub fn root(&self) -> ComponentId {
        ComponentId(self.components.len() as u32 - 1)
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
        self.advance(request.arrival);
        let root = self.root();
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

    /// Opens the measurement window of every component.
    pub fn start_measuring(&mut self) {
        let now = self.now;
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
        let mut context = Context {
            now: self.now,
            me: id,
            is_root: id == self.root(),
            queue: &mut self.queue,
            messages: &mut self.messages,
            done: &mut self.done,
        };
        act(self.components[id.0 as usize].as_mut(), &mut context);
    }

    #[inline]
    fn deliver(&mut self, completed: &mut impl FnMut(&Completion)) {
        while let Some(message) = self.messages.pop_front() {
            match message {
                Message::Submit(child, request) => self.handle(child, |c, context| c.submit(request, context)),
                Message::Complete(from, completion) => {
                    // Only components with a parent send these.
                    if let Some(parent) = self.parents[from.0 as usize] {
                        self.handle(parent, |c, context| c.completed(from, &completion, context));
                    }
                }
            }
        }
        if !self.done.is_empty() {
            self.done.iter().for_each(&mut *completed);
            self.done.clear();
        }
    }
}
