//! Components: anything that accepts requests and completes them. They nest: requests go down, completions come up, timers fire;
//! nothing else passes between them.

use dyn_clone::DynClone;

use crate::engine::context::{Context, Descendants};
use crate::engine::details::Details;
use crate::fault::Fault;
use crate::power::{EnergyAccount, SharedSpindle};
use crate::request::Request;
use crate::service::{EnergyLedger, Service};
use crate::time::Time;

/// The index of a component in its [`System`](crate::engine::System).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ComponentId(pub u32);

/// A completed request.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// The request as it was submitted.
    pub request: Request,
    /// When and how it was served.
    pub service: Service,
    /// Success or the kind of failure.
    pub status: Status,
}

/// The outcome of a request. Later variants are worse: a request in parts has the worst status of its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// The request was served.
    #[default]
    Served,
    /// The request does not fit the component.
    Refused,
    /// Some of the blocks cannot be read.
    Unreadable,
    /// The component has failed.
    Failed,
}

impl Completion {
    /// A completion with status [`Status::Served`].
    #[inline]
    #[must_use]
    pub fn of(request: Request, service: Service) -> Self {
        Self { request, service, status: Status::Served }
    }

    /// Returns true if the status is [`Status::Served`].
    #[inline]
    #[must_use]
    pub fn is_served(&self) -> bool {
        self.status == Status::Served
    }

    /// A completion of a request that is served at `now` and takes no time.
    #[must_use]
    pub fn at_once(request: &Request, now: Time) -> Self {
        Self::of(*request, Service { start: now, end: now, free: now, ..Service::default() })
    }

    /// A completion of a request that is refused at `now`.
    #[must_use]
    pub fn refused(request: &Request, now: Time) -> Self {
        Self { status: Status::Refused, ..Self::at_once(request, now) }
    }
}

/// The reason why a component ends the run.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// The user interrupted the run.
    Interrupted,
    /// The component cannot continue.
    Failed(Fault),
}

/// A node of the [`System`](crate::engine::System): it accepts requests, may send parts of them to its children, and completes each
/// request once. A clone continues exactly like the original.
///
/// Only [`Component::submit`] and [`Component::completed`] do work; everything else has a default. The supertraits group what a
/// component does besides serving requests: [`PowerLoss`] and [`Instrumentation`].
pub trait Component: PowerLoss + Instrumentation + DynClone + Send {
    /// Number of addressable blocks.
    fn capacity_blocks(&self) -> u64;

    /// Size of a block in bytes.
    fn block_bytes(&self) -> u32;

    /// Accepts a request from the parent, which fits the capacity. Flushes arrive only if [`PowerLoss::may_lose_writes`]: the
    /// component then writes back its own volatile data, sends the flush to each child that holds some of it, and completes the
    /// flush with the last of these.
    fn submit(&mut self, request: Request, context: &mut Context<'_>);

    /// Handles the completion of a request that was submitted to `child`.
    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>);

    /// Handles a timer set by [`Context::timer`]. Required only for components that set timers.
    fn timer(&mut self, tag: u64, context: &mut Context<'_>) {
        let _ = (tag, context);
        debug_assert!(false, "this component sets no timer");
    }

    /// Size in blocks of the smallest part that requests may be cut into; `None` if requests are passed on whole, or in at most
    /// one part for each child.
    fn part_blocks(&self) -> Option<u64> {
        None
    }

    /// Returns true if the component accepts [`Op::Reset`](crate::request::Op::Reset).
    fn resets_zones(&self) -> bool {
        false
    }

    /// Returns the estimated time until the first block of `request` could be reached, from the end of the current
    /// access and with an empty queue; `None` if unknown. Parents use it to choose between children. A component that
    /// passes on requests returns the estimate of the child that would serve this one.
    fn reach_ns(&self, now: Time, request: &Request, below: &Descendants<'_>) -> Option<u64> {
        let _ = (now, request, below);
        None
    }

    /// The component as one of several whose mechanisms share a spindle, if its mechanism can. Required only for components in
    /// [`System::share_spindle`](crate::engine::System::share_spindle).
    fn shared_spindle(&mut self) -> Option<&mut dyn SharedSpindle> {
        None
    }

    /// The shortcut that serves open arrivals without events, if this component has one.
    fn lookahead(&mut self) -> Option<&mut dyn LookaheadService> {
        None
    }
}

/// Serves open arrivals without events: each is known ahead of time.
pub trait LookaheadService {
    /// Takes the next arrival, or `None` after the last one, and gives `completed` the outcomes that are known by then, in the
    /// order in which events would have completed the requests. Arrivals come in order of time; nothing else is submitted
    /// meanwhile. A flush is passed only if no writes may be lost. Returns false after a part of the work, to let the run be
    /// interrupted: call again with the same arrival.
    fn serve_next(&mut self, next: Option<&Request>, completed: &mut dyn FnMut(&Completion)) -> bool;
}

/// Effects of power cuts on a component. The defaults suit a component that keeps no state between calls.
pub trait PowerLoss {
    /// Returns true if completed writes may be lost in a power cut unless they are
    /// [`Flags::DURABLE`](crate::request::Flags::DURABLE) or followed by a flush. `children` is true if this holds for any child.
    /// The answer never changes; where it is false, flushes complete at once.
    fn may_lose_writes(&self, children: bool) -> bool {
        children
    }

    /// The position of a request's first block among all blocks of the component. Differs from the LBN only where the same LBN
    /// means different blocks to requests of different origins.
    fn absolute_lbn(&self, request: &Request) -> u64 {
        request.lbn
    }

    /// Drops everything that does not survive a power cut at `now`, outstanding requests included.
    fn power_cut(&mut self, now: Time) {
        let _ = now;
    }

    /// Starts again after a power cut. The children have been restarted before. Recovery may read from them; requests from the
    /// parent wait until it is over.
    fn restart(&mut self, context: &mut Context<'_>) {
        let _ = context;
    }

    /// Returns true while the recovery begun by [`PowerLoss::restart`] is under way.
    fn is_recovering(&self) -> bool {
        false
    }

    /// Starts no further steps of long background work, such as a rebuild.
    fn pause_background_work(&mut self) {}
}

/// Statistics, energy and self-checks of a component.
pub trait Instrumentation {
    /// Checks the component's own invariants. `at_rest` is true if no request is outstanding anywhere, so nothing may be left
    /// over.
    ///
    /// # Errors
    /// A description of the broken invariant.
    fn check_invariants(&self, at_rest: bool) -> Result<(), String> {
        let _ = at_rest;
        Ok(())
    }

    /// Opens the measurement window at `now`: time averages and maxima start again.
    fn start_measuring(&mut self, now: Time) {
        let _ = now;
    }

    /// Counts and response times of the measurement window that only this kind of component has; `None` if there are none.
    fn details(&self, now: Time) -> Option<Details> {
        let _ = now;
        None
    }

    /// Busy time, queue and energy from the start of the measurement window until `now`; zero for components without a mechanism
    /// of their own.
    fn measured(&self, now: Time) -> Measured {
        let _ = now;
        Measured::default()
    }

    /// A copy of the mechanism's energy account, brought up to `now`; `None` without a mechanism or without known powers.
    fn energy_account(&self, now: Time) -> Option<EnergyAccount> {
        let _ = now;
        None
    }

    /// The mechanism's energy account, brought up to the last time until which its power is decided, at most `now`.
    fn settle_energy_account(&mut self, now: Time) -> Option<&mut EnergyAccount> {
        let _ = now;
        None
    }
}

dyn_clone::clone_trait_object!(Component);

/// Figures of a component's mechanisms over the measurement window. Figures of several components can be added up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Number of mechanisms.
    pub mechanisms: u32,
    /// Time during which a mechanism was serving, ns, over all mechanisms.
    pub busy_ns: u64,
    /// Integral over time of the number of requests waiting for dispatch, in request-nanoseconds.
    pub queue_ns: u128,
    /// Longest queue of one mechanism.
    pub queue_max: u64,
    /// Time and energy by state, over all mechanisms.
    pub ledger: EnergyLedger,
    /// Requests that a mechanism served together with others, batched or merged; each part of a request counts.
    pub together_requests: u64,
    /// Accesses that served several requests together.
    pub together_accesses: u64,
}

impl Measured {
    /// Adds the figures of another component.
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
