//! Delayed start-up: a stopped device waits until more than one request is to be served.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::{ms_to_ns, Time};

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

impl Delay {
    /// A delay that nobody waits for yet.
    #[must_use]
    pub fn new(spec: &DelayedStartupSpec) -> Self {
        Self { requests: spec.requests as usize, wait_ns: ms_to_ns(spec.wait_ms), since: None }
    }

    /// Nobody waits any more.
    pub fn forget(&mut self) {
        self.since = None;
    }

    /// Until when requests wait for the device to start up, if they do.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.since.map(|since| since + self.wait_ns)
    }

    /// Whether `pending` requests wait on at `now`, when the device has nothing to do; `is_stopped` says whether it would have
    /// to start up. To be asked whenever a request becomes ready, so that the first that waits is the oldest.
    pub fn waits(&mut self, now: Time, pending: usize, is_stopped: impl FnOnce() -> bool) -> bool {
        if pending == 0 || (self.since.is_none() && !is_stopped()) {
            return false;
        }
        let since = self.since.unwrap_or(now);
        let waits = pending < self.requests && now < since + self.wait_ns;
        self.since = waits.then_some(since);
        waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_wait_for_others_or_the_deadline() {
        let mut delay = Delay::new(&DelayedStartupSpec { requests: 3, wait_ms: 2.0 });
        let at = Time::from_ns;
        let mut asked = |ns, pending, stopped| (delay.waits(at(ns), pending, || stopped), delay.deadline());
        assert_eq!(asked(5, 0, true), (false, None));
        assert_eq!(asked(7, 1, false), (false, None));
        assert_eq!(asked(10, 1, true), (true, Some(at(2_000_010))));
        assert_eq!(asked(20, 2, true), (true, Some(at(2_000_010))));
        assert_eq!(asked(30, 3, true), (false, None));
        assert_eq!(asked(40, 3, true), (false, None));
        assert_eq!(asked(50, 2, true), (true, Some(at(2_000_050))));
        assert_eq!(asked(2_000_049, 2, true), (true, Some(at(2_000_050))));
        assert_eq!(asked(2_000_050, 2, true), (false, None));
    }
}
