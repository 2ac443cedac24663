//! Delayed start-up: a stopped device does not start up before several requests are pending.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::{ms_to_ns, Time};

/// The condition for the start-up of a stopped device (Lin et al. 2002, section 7): a number of pending requests, or the longest
/// wait of a request, whichever is met first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayedStartupSpec {
    /// Number of pending requests at which it starts up.
    #[schemars(range(min = 1, max = 1000000))]
    pub requests: u32,
    /// Longest wait of a request for the begin of the start-up.
    #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "ms"))]
    pub wait_ms: f64,
}

/// The state of delayed start-up.
#[derive(Clone, Copy, Debug)]
pub struct StartupDelay {
    requests: usize,
    wait_ns: u64,
    /// The time since which requests have waited for the start-up.
    since: Option<Time>,
}

impl StartupDelay {
    /// The state before the first request.
    #[must_use]
    pub fn new(spec: &DelayedStartupSpec) -> Self {
        Self { requests: spec.requests as usize, wait_ns: ms_to_ns(spec.wait_ms), since: None }
    }

    /// Ends the current wait.
    pub fn forget(&mut self) {
        self.since = None;
    }

    /// The end of the current wait.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.since.map(|since| since + self.wait_ns)
    }

    /// Returns true if `pending` requests keep waiting at `now`, when the device is idle. Must be called whenever a request becomes
    /// ready, so that the wait begins with the oldest request.
    pub fn must_wait(&mut self, now: Time, pending: usize, is_stopped: impl FnOnce() -> bool) -> bool {
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
    fn startup_waits_for_enough_requests_or_the_deadline() {
        let mut delay = StartupDelay::new(&DelayedStartupSpec { requests: 3, wait_ms: 2.0 });
        let at = Time::from_ns;
        let mut asked = |ns, pending, stopped| (delay.must_wait(at(ns), pending, || stopped), delay.deadline());
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
