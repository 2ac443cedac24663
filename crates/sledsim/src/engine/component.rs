//! Components: anything that accepts requests and completes them. They nest: submit goes down, completion comes up,
//! timers fire; nothing else passes between them.

use dyn_clone::DynClone;

use crate::engine::context::{Below, Context};
use crate::engine::details::Details;
use crate::fault::Fault;
use crate::power::Meter;
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
    /// What came of it.
    pub status: Status,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It was served.
    #[default]
    Served,
    /// It does not fit the component.
    Refused,
    /// Some of its blocks can't be read.
    Unreadable,
    /// Whoever should have served it has failed.
    Failed,
}

impl Completion {
    /// A request that was served.
    #[inline]
    #[must_use]
    pub fn of(request: Request, service: Service) -> Self {
        Self { request, service, status: Status::Served }
    }

    /// Whether it was served.
    #[inline]
    #[must_use]
    pub fn served(&self) -> bool {
        self.status == Status::Served
    }

    /// A request that is served at `now`, and takes no time.
    #[must_use]
    pub fn at_once(request: &Request, now: Time) -> Self {
        Self::of(*request, Service { start: now, end: now, free: now, ..Service::default() })
    }

    /// A request that comes back at `now` as it went, not served.
    #[must_use]
    pub fn refused(request: &Request, now: Time) -> Self {
        Self { status: Status::Refused, ..Self::at_once(request, now) }
    }
}

/// Why a component ends the run.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// Somebody asked for it.
    Interrupted,
    /// It can't go on.
    Failed(Fault),
}

/// Anything that accepts requests and completes each of them once. A clone of it goes on as it does.
pub trait Component: DynClone + Send {
    /// Number of addressable blocks.
    fn capacity_blocks(&self) -> u64;

    /// Size of a block in bytes.
    fn block_bytes(&self) -> u32;

    /// Accepts a request from above, which fits it. A flush it is only given if it [may lose
    /// writes](Component::may_lose_writes): it writes back what it may lose of its own, then sends the flush to each child that
    /// has something of it, and completes with the last of these.
    fn submit(&mut self, request: Request, context: &mut Context<'_>);

    /// Hears that a request it submitted to `child` has completed.
    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>);

    /// Hears a timer it set.
    fn timer(&mut self, tag: u64, context: &mut Context<'_>) {
        let _ = (tag, context);
        debug_assert!(false, "it sets no timer");
    }

    /// Whether open arrivals can be served by [`Component::serve_in_order`] in place of being submitted one by one.
    fn in_order(&self) -> bool {
        false
    }

    /// Hears of the next arrival ahead of time, or that there is none, and gives `completed` the outcomes that follow from what
    /// it has heard so far, in the order in which submitting requests at their arrivals would have completed them. To be called
    /// in order of arrival and once at the end, on a component that is not submitted to, and only if it is
    /// [`Component::in_order`].
    fn serve_in_order(&mut self, next: Option<&Request>, completed: &mut dyn FnMut(&Completion)) {
        let _ = (next, completed);
        debug_assert!(false, "it serves no arrivals ahead of time");
    }

    /// Time until the first block of `request` could be reached if nothing else waited for the mechanism, from when it has
    /// done what it is doing; `None` where that can't be told. A parent may ask it to choose between children; one that passes
    /// requests on asks the child that would get this one.
    fn reach_ns(&self, now: Time, request: &Request, below: &Below<'_>) -> Option<u64> {
        let _ = (now, request, below);
        None
    }

    /// Whether writes that it completed may be lost when power fails, unless they are
    /// [`Flags::DURABLE`](crate::request::Flags::DURABLE) or followed by a flush: here, or below where it hands them on as they
    /// are. Always the same; where not, a flush completes as soon as it comes.
    fn may_lose_writes(&self, below: &Below<'_>) -> bool {
        let _ = below;
        false
    }

    /// The place of a request's first block among all that it has: the LBN, unless that means different blocks to requests of
    /// different origins.
    fn place(&self, request: &Request) -> u64 {
        request.lbn
    }

    /// Power is gone at `now`: forgets everything that does not outlive that, requests under way included.
    fn power_cut(&mut self, now: Time) {
        let _ = now;
    }

    /// Power is back, and its children have been restarted before it. It may read from them what it needs; until it has that,
    /// requests from above wait.
    fn restart(&mut self, context: &mut Context<'_>) {
        let _ = context;
    }

    /// Blocks of the smallest parts that it may cut requests into; none where they go on whole, or in as many parts as it has
    /// children.
    fn part_blocks(&self) -> Option<u64> {
        None
    }

    /// Whether it is still at what it began in [`Component::restart`].
    fn is_recovering(&self) -> bool {
        false
    }

    /// From now on it begins no more steps of work that takes as long as it is large and that nobody waits for: a rebuild.
    fn pause(&mut self) {}

    /// Whether its own books agree, and where nothing is under way between components, whether it has forgotten nobody.
    ///
    /// # Errors
    /// What does not hold.
    fn check(&self, at_rest: bool) -> Result<(), String> {
        let _ = at_rest;
        Ok(())
    }

    /// What it says of itself; `None` from one that has nothing to add to [`Component::measured`].
    fn details(&self, now: Time) -> Option<Details> {
        let _ = now;
        None
    }

    /// Opens the measurement window at `now`: time averages and maxima start afresh.
    fn start_measuring(&mut self, now: Time) {
        let _ = now;
    }

    /// What it measured from the start of the window until `now`; nothing where its children report for themselves.
    fn measured(&self, now: Time) -> Measured {
        let _ = now;
        Measured::default()
    }

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

dyn_clone::clone_trait_object!(Component);

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
