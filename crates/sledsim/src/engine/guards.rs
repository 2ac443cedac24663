//! Guards against runs that never end: limits on the events of one instant, and a last instant.

use crate::engine::component::ComponentId;
use crate::fault::{Fault, Kind};
use crate::limits::{ARRIVALS_AT_ONCE, CALLS_AT_ONCE, COMPONENT_YEARS};
use crate::time::{Time, NS_PER_S};

/// Number of the last calls before the limit that are searched for the outermost component.
const SEARCHED_CALLS: u64 = 1024;
const NS_PER_YEAR: u64 = 365 * 86_400 * NS_PER_S;

/// A component that is called without end in one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Livelock {
    /// The outermost component of the loop: its descendants only answer its calls.
    pub component: ComponentId,
    /// The instant.
    pub at: Time,
    /// The exceeded limit of calls.
    pub most: u64,
}

impl Livelock {
    /// The error message. The caller may replace the component's number by its path.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::at(Kind::Endless, format!("component {}", self.component.0)).says(format!(
            " holds the run at {} s: more than {} calls of components in that instant without an arrival or a completion. \
             What goes on in the background takes no time where devices take none: let them take some, or let a rebuild or a \
             move go in larger steps (`rows`, `chunk_bytes`). If they do take time, this is a defect of the simulator: please \
             report the scenario",
            self.at.seconds(),
            self.most
        ))
    }
}

/// Counts the calls of components since time advanced, a request arrived or a request completed.
#[derive(Clone, Debug)]
pub(super) struct CallGuard {
    count: u64,
    most: u64,
    outermost: u32,
    livelock: Option<Livelock>,
}

impl Default for CallGuard {
    fn default() -> Self {
        Self { count: 0, most: CALLS_AT_ONCE.most, outermost: 0, livelock: None }
    }
}

impl CallGuard {
    /// Sets the limit of calls.
    pub(super) fn limit(&mut self, most: u64) {
        self.most = most;
    }

    /// Starts counting again, after progress.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.count = 0;
    }

    /// Counts a call at `now`. Returns false once there are too many: then nothing may be called any more.
    #[inline]
    pub(super) fn allow_call(&mut self, id: ComponentId, now: Time) -> bool {
        self.count += 1;
        self.count + SEARCHED_CALLS < self.most || self.search(id, now)
    }

    #[cold]
    fn search(&mut self, id: ComponentId, now: Time) -> bool {
        if self.count + SEARCHED_CALLS == self.most {
            self.outermost = 0;
        }
        self.outermost = self.outermost.max(id.0);
        if self.count > self.most {
            let component = ComponentId(self.outermost);
            self.livelock.get_or_insert(Livelock { component, at: now, most: self.most });
        }
        self.livelock.is_none()
    }

    /// The livelock, if one was found.
    #[inline]
    pub(super) fn livelock(&self) -> Option<Livelock> {
        self.livelock
    }
}

/// Counts the arrivals of one instant.
#[derive(Clone, Debug, Default)]
pub(super) struct ArrivalGuard {
    count: u64,
    at: Time,
}

impl ArrivalGuard {
    /// Counts an arrival.
    ///
    /// # Errors
    /// More than [`ARRIVALS_AT_ONCE`] requests arrive in this instant.
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

/// The last instant of a run: up to it, sums of time over all components do not overflow.
#[derive(Clone, Copy)]
pub(super) struct Horizon {
    components: u64,
    last: Time,
}

impl Horizon {
    /// The last instant of a system with this root.
    pub(super) fn of(root: ComponentId) -> Self {
        let components = u64::from(root.0) + 1;
        Self { components, last: Time::from_ns(COMPONENT_YEARS.most * NS_PER_YEAR / components) }
    }

    /// Checks a time.
    ///
    /// # Errors
    /// The time is after the last instant.
    #[inline]
    pub(super) fn check(self, at: Time) -> Result<(), Fault> {
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
