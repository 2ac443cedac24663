//! Guards against runs that never end: what happens in one instant is counted, and there is a last instant.

use crate::engine::component::ComponentId;
use crate::fault::{Fault, Kind};
use crate::limits::{ARRIVALS_AT_ONCE, CALLS_AT_ONCE, COMPONENT_YEARS};
use crate::time::{Time, NS_PER_S};

/// Of the last calls before there are too many, whoever is called tells who goes round.
const LOOKED_AT: u64 = 1024;
const NS_PER_YEAR: u64 = 365 * 86_400 * NS_PER_S;

/// A component that goes on in an instant, and when that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The outermost of the components that call each other: those below it only answer.
    pub component: ComponentId,
    /// The instant.
    pub at: Time,
}

impl Stuck {
    /// What is wrong; whoever knows the component puts its path in place of its number.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::at(Kind::Endless, format!("component {}", self.component.0)).says(format!(
            " holds the run at {} s: more than {} calls of components in that instant without an arrival or a completion. \
             What goes on in the background takes no time where devices take none: let them take some, or let a rebuild or a \
             move go in larger steps (`rows`, `chunk_bytes`). If they do take time, this is a defect of the simulator: please \
             report the scenario",
            self.at.seconds(),
            CALLS_AT_ONCE.most
        ))
    }
}

/// Calls of components since time went on, a request arrived or one was completed.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    count: u64,
    outermost: u32,
    stuck: Option<Stuck>,
}

impl Calls {
    /// Something has happened that a run can be waiting for.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.count = 0;
    }

    /// A component is called at `now`; `false` if that is not to be any more.
    #[inline]
    pub(super) fn is_allowed(&mut self, id: ComponentId, now: Time) -> bool {
        self.count += 1;
        self.count + LOOKED_AT < CALLS_AT_ONCE.most || self.look(id, now)
    }

    #[cold]
    fn look(&mut self, id: ComponentId, now: Time) -> bool {
        if self.count + LOOKED_AT == CALLS_AT_ONCE.most {
            self.outermost = 0;
        }
        self.outermost = self.outermost.max(id.0);
        if self.count > CALLS_AT_ONCE.most {
            self.stuck.get_or_insert(Stuck { component: ComponentId(self.outermost), at: now });
        }
        self.stuck.is_none()
    }

    /// Who goes on without an end, if somebody does.
    #[inline]
    pub(super) fn stuck(&self) -> Option<Stuck> {
        self.stuck
    }
}

/// Arrivals in one instant.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals {
    count: u64,
    at: Time,
}

impl Arrivals {
    /// A request arrives.
    ///
    /// # Errors
    /// Too many have in this instant.
    #[inline]
    pub(super) fn arrive(&mut self, at: Time) -> Result<(), Fault> {
        if at > self.at {
            *self = Self { count: 0, at };
        }
        self.count += 1;
        if self.count <= ARRIVALS_AT_ONCE.most {
            return Ok(());
        }
        Err(Fault::new(Kind::Endless)
            .says(format!(
                "more than {} requests arrive at {} s, and no time passes: limit ",
                ARRIVALS_AT_ONCE.most,
                at.seconds()
            ))
            .option("run.requests")
            .says(" too, or let requests arrive later; those that fail at once, as of an array that has lost all, need a think \
                   time, or faults that take `detect_ms` to be found"))
    }
}

/// Until when the times of all components of a system can be added up.
#[derive(Clone, Copy)]
pub(super) struct Horizon {
    components: u64,
    last: Time,
}

impl Horizon {
    /// That of a system, by its last component.
    pub(super) fn of(root: ComponentId) -> Self {
        let components = u64::from(root.0) + 1;
        Self { components, last: Time::from_ns(COMPONENT_YEARS.most * NS_PER_YEAR / components) }
    }

    /// Time goes on.
    ///
    /// # Errors
    /// It goes beyond.
    #[inline]
    pub(super) fn reaches(self, at: Time) -> Result<(), Fault> {
        if at <= self.last {
            return Ok(());
        }
        Err(Fault::new(Kind::Unsupported)
            .says(format!(
                "simulated time goes beyond {} s: the {} components of the system would have more than {} years together; end it before \
                 that with ",
                self.last.seconds(),
                self.components,
                COMPONENT_YEARS.most
            ))
            .option("run.time_s")
            .says(", or let less time pass between requests"))
    }
}
