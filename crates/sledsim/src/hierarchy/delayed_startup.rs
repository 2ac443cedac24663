//! Delayed start-up: a stopped device waits for company before it starts up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Time;
use crate::units::NS_PER_MS;

/// What a stopped device waits for before it starts up again (Lin et al. 2002, section 7): so many requests, or the longest
/// wait of one, whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayedStartupSpec {
    /// Pending requests that start it up.
    #[schemars(range(min = 1, max = 1000000))]
    pub requests: u32,
    /// Longest that a request waits for the start-up to begin.
    #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "ms"))]
    pub wait_ms: f64,
}

/// A delay of start-ups at work.
#[derive(Clone, Copy, Debug)]
pub struct Delay {
    requests: usize,
    wait_ns: u64,
    /// Since when requests have been waiting for the device to start up.
    since: Option<Time>,
}

/// What becomes of pending requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// They are dispatched: they need not wait.
    No,
    /// They begin to wait, until this time at most.
    Begin(Time),
    /// They wait on.
    On,
    /// They have waited, and are dispatched now.
    End,
}

impl Delay {
    /// A delay that nobody waits for yet.
    #[must_use]
    pub fn new(spec: &DelayedStartupSpec) -> Self {
        Self { requests: spec.requests as usize, wait_ns: (spec.wait_ms * NS_PER_MS).round() as u64, since: None }
    }

    /// What becomes of `pending` requests at `now`, when the device has nothing to do; `is_stopped` says whether it would
    /// have to start up. To be asked whenever a request becomes ready, so that the first that waits is the oldest.
    pub fn waits(&mut self, now: Time, pending: usize, is_stopped: impl FnOnce() -> bool) -> Waits {
        if pending == 0 || (self.since.is_none() && !is_stopped()) {
            return Waits::No;
        }
        let deadline = self.since.unwrap_or(now) + self.wait_ns;
        let enough = pending >= self.requests || now >= deadline;
        match (self.since, enough) {
            (None, true) => Waits::No,
            (None, false) => {
                self.since = Some(now);
                Waits::Begin(deadline)
            }
            (Some(_), false) => Waits::On,
            (Some(_), true) => {
                self.since = None;
                Waits::End
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_wait_for_company_or_the_deadline() {
        let mut delay = Delay::new(&DelayedStartupSpec { requests: 3, wait_ms: 2.0 });
        let at = Time::from_ns;
        assert_eq!(delay.waits(at(5), 0, || true), Waits::No);
        assert_eq!(delay.waits(at(7), 1, || false), Waits::No);
        assert_eq!(delay.waits(at(10), 1, || true), Waits::Begin(at(2_000_010)));
        assert_eq!(delay.waits(at(20), 2, || true), Waits::On);
        assert_eq!(delay.waits(at(30), 3, || true), Waits::End);
        assert_eq!(delay.waits(at(40), 3, || true), Waits::No);
        assert_eq!(delay.waits(at(50), 2, || true), Waits::Begin(at(2_000_050)));
        assert_eq!(delay.waits(at(2_000_049), 2, || true), Waits::On);
        assert_eq!(delay.waits(at(2_000_050), 2, || true), Waits::End);
    }
}
