//! Counts of the measurement window: arrivals, completions, the time-average number of requests in the system, overload.
//!
//! A window is an observation period in the sense of operational analysis (P. J. Denning and J. P. Buzen, "The
//! operational analysis of queueing network models", ACM Computing Surveys 10(3), 1978): throughput is the number of
//! completions in it divided by its length, regardless of the arrivals of these requests, and the time in the system is
//! the request-seconds spent in it per completion. Little's law then holds exactly in every window, even with requests
//! in the system at its start or end.

use std::collections::VecDeque;

use crate::request::Request;
use crate::time::{ns_to_s, Time};

/// Reads and writes in the system during the measurement window; flushes are not counted.
///
/// `at_start + arrived = completed + failed + at_end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests in the system at the start of the window.
    pub at_start: u64,
    /// Requests that arrived in the window.
    pub arrived: u64,
    /// Requests served in the window, regardless of their arrival.
    pub completed: u64,
    /// Requests that failed in the window.
    pub failed: u64,
    /// Requests in the system at the end of the window.
    pub at_end: u64,
    /// Blocks of the completed requests.
    pub completed_blocks: u64,
    /// Integral over the window of the number of requests in the system, in request-nanoseconds.
    pub in_system_ns: u128,
}

/// Open arrivals that exceed the service rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overload {
    /// Requests that arrived per second.
    pub offered_per_s: f64,
    /// Requests completed per second of the measurement window.
    pub served_per_s: f64,
}

/// Counts [`Traffic`].
///
/// The integral is kept as sums of arrival and departure times, so requests may be counted in any order.
#[derive(Clone, Default)]
pub(super) struct TrafficCounter {
    in_system: u64,
    window: Traffic,
    start: Time,
    arrivals_ns: u128,
    departures_ns: u128,
}

impl TrafficCounter {
    /// Starts with the given number of requests in the system.
    pub(super) fn begin(&mut self, in_system: u64) {
        self.in_system = in_system;
    }

    /// Number of requests in the system.
    #[inline]
    pub(super) fn in_system(&self) -> u64 {
        self.in_system
    }

    /// Opens the measurement window.
    pub(super) fn start_measuring(&mut self, now: Time) {
        let in_system = self.in_system;
        *self = Self { in_system, start: now, ..Self::default() };
        self.window.at_start = in_system;
    }

    #[inline]
    pub(super) fn arrive(&mut self, request: &Request) {
        if !request.transfers_data() {
            return;
        }
        self.in_system += 1;
        self.window.arrived += 1;
        self.arrivals_ns += u128::from(request.arrival.ns());
    }

    /// Counts a request that leaves the system at `end`, served or failed.
    #[inline]
    pub(super) fn leave(&mut self, request: &Request, end: Time, is_served: bool) {
        if !request.transfers_data() {
            return;
        }
        self.in_system -= 1;
        self.departures_ns += u128::from(end.ns());
        if is_served {
            self.window.completed += 1;
            self.window.completed_blocks += u64::from(request.blocks);
        } else {
            self.window.failed += 1;
        }
    }

    /// Returns the counts of a window that ends now.
    pub(super) fn window(&self, now: Time) -> Traffic {
        let [at_start, at_end] = [self.window.at_start, self.in_system];
        let left = self.departures_ns + u128::from(at_end) * u128::from(now.ns());
        let entered = self.arrivals_ns + u128::from(at_start) * u128::from(self.start.ns());
        Traffic { at_end, in_system_ns: left - entered, ..self.window }
    }
}

/// Maximum number of samples; when it is reached, every other sample is dropped.
const MAX_SAMPLES: usize = 128;
/// Minimum number of arrivals for the detection of overload: as many as for a confidence interval of the mean.
const MIN_ARRIVALS: u64 = 320;
/// Standard errors by which the number in the system must grow in each half of the arrivals.
const GROWTH_ERRORS: f64 = 2.6;

/// Detects overload by the number of requests in the system at open arrivals.
///
/// The number is sampled at regular intervals of arrivals. A system is overloaded if the mean increment between samples
/// is above zero by [`GROWTH_ERRORS`] standard errors in both halves of the arrivals. In a stable system, increments
/// cancel out, however short the run and however bursty the arrivals. At a load of exactly 100 %, where the number is a
/// random walk, the probability of a false detection is about 10⁻⁴.
#[derive(Clone)]
pub(super) struct Backlog {
    samples: Vec<u64>,
    /// Arrivals from one sample to the next.
    stride: u64,
    until_next: u64,
    arrivals: u64,
    first: Time,
    last: Time,
}

impl Default for Backlog {
    fn default() -> Self {
        let samples = Vec::with_capacity(MAX_SAMPLES);
        Self { samples, stride: 1, until_next: 0, arrivals: 0, first: Time::ZERO, last: Time::ZERO }
    }
}

impl Backlog {
    /// Counts an arrival that finds the given number of requests in the system.
    #[inline]
    pub(super) fn arrive(&mut self, at: Time, in_system: u64) {
        self.last = at;
        self.arrivals += 1;
        if self.until_next == 0 {
            self.sample(at, in_system);
        }
        self.until_next -= 1;
    }

    fn sample(&mut self, at: Time, in_system: u64) {
        if self.samples.is_empty() {
            self.first = at;
        }
        if self.samples.len() == MAX_SAMPLES {
            let mut place = 0;
            self.samples.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.stride *= 2;
        }
        self.samples.push(in_system);
        self.until_next = self.stride;
    }

    /// Returns the arrivals per second if the system is overloaded; `None` if it is not, or if there are too few
    /// arrivals.
    pub(super) fn overload(&self) -> Option<f64> {
        if self.arrivals < MIN_ARRIVALS || self.last == self.first {
            return None;
        }
        let increments: Vec<f64> = self.samples.windows(2).map(|pair| pair[1] as f64 - pair[0] as f64).collect();
        let (early, late) = increments.split_at(increments.len() / 2);
        (grows(early) && grows(late)).then(|| (self.arrivals - 1) as f64 / ns_to_s(self.last - self.first))
    }
}

/// Returns true if the mean of the increments is above zero by more than [`GROWTH_ERRORS`] standard errors.
fn grows(increments: &[f64]) -> bool {
    let count = increments.len() as f64;
    let mean = increments.iter().sum::<f64>() / count;
    let squares: f64 = increments.iter().map(|increment| (increment - mean).powi(2)).sum();
    mean > GROWTH_ERRORS * (squares / (count - 1.0) / count).sqrt()
}

/// Maximum number of stored ends.
const MAX_ENDS: usize = 1 << 16;

/// Number of requests in the system if ends are known ahead of the clock, as in a run without events.
#[derive(Default)]
pub(super) struct KnownEnds {
    arrived: u64,
    /// Requests that ended by the last arrival.
    left: u64,
    /// Later ends in rising order, each with its number of requests.
    ends: VecDeque<(Time, u64)>,
}

impl KnownEnds {
    /// Adds a request that ends at this time, which may be in the past.
    #[inline]
    pub(super) fn end(&mut self, at: Time) {
        self.ends.push_back((at, 1));
        if self.ends.len() == MAX_ENDS {
            self.coarsen();
        }
    }

    /// Merges neighbouring ends, which then count until the later one.
    #[cold]
    fn coarsen(&mut self) {
        let merged = self.ends.make_contiguous().chunks(2).map(|pair| {
            let requests = pair.iter().map(|(_, requests)| requests).sum();
            (pair[pair.len() - 1].0, requests)
        });
        self.ends = merged.collect();
    }

    /// Counts an arrival up to which all ends are known. Returns the number of other requests in the system.
    #[inline]
    pub(super) fn arrive(&mut self, now: Time) -> u64 {
        self.leave(now);
        self.arrived += 1;
        // The request itself may have ended, too.
        (self.arrived - self.left).saturating_sub(1)
    }

    /// Returns the number of requests in the system at a time up to which all ends are known.
    pub(super) fn outstanding(&mut self, now: Time) -> u64 {
        self.leave(now);
        self.arrived.saturating_sub(self.left)
    }

    /// Counts the requests that have ended by a time.
    #[inline]
    fn leave(&mut self, now: Time) {
        while let Some(&(_, requests)) = self.ends.front().filter(|(end, _)| *end <= now) {
            self.left += requests;
            self.ends.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backlog(arrivals: u64, in_system: impl Fn(u64) -> u64) -> Backlog {
        let mut backlog = Backlog::default();
        (0..arrivals).for_each(|arrival| backlog.arrive(Time::from_ns(arrival * 1_000_000), in_system(arrival)));
        backlog
    }

    #[test]
    fn window_counts_requests_that_span_its_ends() {
        let request = |id, arrival_ns| Request { id, arrival: Time::from_ns(arrival_ns), ..Request::read(0, 4) };
        let requests = [request(0, 0), request(1, 10), request(2, 130)];
        let mut counter = TrafficCounter::default();
        counter.arrive(&requests[0]);
        counter.arrive(&requests[1]);
        counter.leave(&requests[0], Time::from_ns(50), true);
        counter.start_measuring(Time::from_ns(100));
        counter.arrive(&requests[2]);
        counter.leave(&requests[1], Time::from_ns(160), true);
        let expected = Traffic {
            at_start: 1,
            arrived: 1,
            completed: 1,
            failed: 0,
            at_end: 1,
            completed_blocks: 4,
            in_system_ns: 60 + 70,
        };
        assert_eq!(counter.window(Time::from_ns(200)), expected);
    }

    #[test]
    fn steady_growth_is_overload() {
        let offered = backlog(10_000, |arrival| arrival / 3).overload().expect("it grows");
        assert!((offered - 1000.0).abs() < 1e-6, "{offered}");
        assert_eq!(backlog(MIN_ARRIVALS - 1, |arrival| arrival / 3).overload(), None);
    }

    #[test]
    fn a_bounded_or_passing_backlog_is_no_overload() {
        assert_eq!(backlog(10_000, |_| 0).overload(), None);
        assert_eq!(backlog(10_000, |arrival| arrival % 97).overload(), None);
        // Requests wait until a stopped device is ready, and are served after that.
        assert_eq!(backlog(10_000, |arrival| arrival.min(20_000_u64.saturating_sub(3 * arrival))).overload(), None);
        // All requests arrive at once.
        let mut burst = Backlog::default();
        (0..1000).for_each(|arrival| burst.arrive(Time::ZERO, arrival));
        assert_eq!(burst.overload(), None);
    }

    #[test]
    fn many_known_ends_are_merged() {
        let mut known = KnownEnds::default();
        let count = 5 * MAX_ENDS as u64;
        for end in 0..count {
            known.arrive(Time::ZERO);
            known.end(Time::from_ns(end + 1));
            assert!(known.ends.len() < MAX_ENDS);
        }
        let left = known.arrive(Time::from_ns(count / 2));
        assert!(left.abs_diff(count / 2) <= 16, "{left} of {count}");
        assert_eq!(known.arrive(Time::from_ns(count)), 1);
    }
}
