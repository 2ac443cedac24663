//! When requests arrive: open processes, and a closed loop of users.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::{above, within};
use super::{Distribution, Next, Sampler};
use crate::engine::random::Stream;
use crate::fault::{Fault, Kind};
use crate::time::Time;
use crate::units::NS_PER_MS;

/// Nanoseconds in a second.
const NS_PER_S: f64 = 1e9;
/// Arrivals beyond this instant (292 years) don't happen: it leaves room to add service times to every arrival.
pub(super) const LAST_ARRIVAL_NS: u64 = u64::MAX / 2;

/// When requests arrive.
///
/// All but `closed` are open: they don't wait for completions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ArrivalSpec {
    /// Independent arrivals: exponential interarrival times.
    Poisson {
        /// Mean number of requests per second.
        #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0))]
        rate_per_s: f64,
    },
    /// Evenly spaced arrivals, the first one interval after the start.
    Constant {
        /// Number of requests per second.
        #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0))]
        rate_per_s: f64,
    },
    /// Independent interarrival times of any distribution.
    Renewal {
        /// Interarrival time, ms. Its mean must be above 0.
        interarrival_ms: Distribution,
    },
    /// Poisson arrivals during bursts, none in the idle times between; the run starts with a burst.
    OnOff {
        /// Mean length of a burst, ms (exponential).
        #[schemars(range(max = 1e12), extend("exclusiveMinimum" = 0))]
        burst_ms: f64,
        /// Mean time between bursts, ms (exponential).
        #[schemars(range(min = 0, max = 1e12))]
        idle_ms: f64,
        /// Mean number of requests per second during a burst; at least 0.001 per burst.
        #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0))]
        rate_per_s: f64,
    },
    /// A fixed number of users: each sends a request at the start and another one a think time after each completion.
    Closed {
        /// Number of users: requests outstanding when nobody thinks.
        #[schemars(range(min = 1, max = 1_000_000))]
        outstanding: u32,
        /// Time from a completion until the user's next request, ms.
        #[serde(default = "no_time")]
        think_ms: Distribution,
    },
}

fn no_time() -> Distribution {
    Distribution::Fixed { value: 0.0 }
}

impl ArrivalSpec {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Names the key, its value and what is allowed.
    pub fn validate(&self) -> Result<(), Fault> {
        match *self {
            Self::Poisson { rate_per_s } | Self::Constant { rate_per_s } => above("rate_per_s", rate_per_s, 0.0, 1e9),
            Self::Renewal { ref interarrival_ms } => {
                interarrival_ms.validate().map_err(|fault| fault.within("interarrival_ms"))?;
                // A mean of 0 would keep the run at time 0 for ever.
                if interarrival_ms.mean() > 0.0 {
                    return Ok(());
                }
                Err(Fault::at(Kind::Conflict, "interarrival_ms").says(": its mean is 0, and has to be above"))
            }
            Self::OnOff { burst_ms, idle_ms, rate_per_s } => {
                above("burst_ms", burst_ms, 0.0, 1e12)?;
                within("idle_ms", idle_ms, 0.0, 1e12)?;
                above("rate_per_s", rate_per_s, 0.0, 1e9)?;
                // The next arrival is found burst by burst.
                let requests = rate_per_s * burst_ms * 1e-3;
                if (1e-3..=1e21).contains(&requests) {
                    return Ok(());
                }
                let says = format!(": {requests} requests in a burst, where 0.001 to 1e21 are allowed");
                Err(Fault::conflict("rate_per_s", rate_per_s).says(" and ").key_is("burst_ms", burst_ms).says(says))
            }
            Self::Closed { outstanding, ref think_ms } => {
                within("outstanding", f64::from(outstanding), 1.0, 1e6)?;
                think_ms.validate().map_err(|fault| fault.within("think_ms"))
            }
        }
    }

    /// Whether arrivals wait for completions.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        matches!(self, Self::Closed { .. })
    }
}

/// A running arrival process.
#[derive(Debug)]
pub(super) struct Arrivals {
    stream: Stream,
    process: Process,
    next: Next,
    /// The next arrival of an open process is at `at_ns + fraction_ns`. Carrying the fraction keeps the rate exact in
    /// the long run: neither rounding to whole nanoseconds nor the growing sum takes anything away.
    at_ns: u64,
    fraction_ns: f64,
    /// Factor on all times.
    time_scale: f64,
}

#[derive(Debug)]
enum Process {
    Poisson { mean_ns: f64 },
    Constant { interval_ns: f64 },
    Renewal { interarrival_ms: Sampler },
    OnOff { mean_ns: f64, burst_ns: f64, idle_ns: f64, left_ns: f64 },
    Closed { unsent: u32, think_ms: Sampler, returns: BinaryHeap<Reverse<Time>> },
}

impl Arrivals {
    /// The process of `spec` with all its times multiplied by `time_scale`, its first arrival drawn.
    pub(super) fn new(spec: &ArrivalSpec, time_scale: f64, mut stream: Stream) -> Result<Self, Fault> {
        spec.validate()?;
        let process = match *spec {
            ArrivalSpec::Poisson { rate_per_s } => Process::Poisson { mean_ns: NS_PER_S / rate_per_s },
            ArrivalSpec::Constant { rate_per_s } => Process::Constant { interval_ns: NS_PER_S / rate_per_s },
            ArrivalSpec::Renewal { ref interarrival_ms } => {
                Process::Renewal { interarrival_ms: interarrival_ms.sampler()? }
            }
            ArrivalSpec::OnOff { burst_ms, idle_ms, rate_per_s } => {
                let burst_ns = burst_ms * NS_PER_MS;
                let left_ns = burst_ns * stream.exponential();
                Process::OnOff { mean_ns: NS_PER_S / rate_per_s, burst_ns, idle_ns: idle_ms * NS_PER_MS, left_ns }
            }
            ArrivalSpec::Closed { outstanding, ref think_ms } => {
                Process::Closed { unsent: outstanding, think_ms: think_ms.sampler()?, returns: BinaryHeap::new() }
            }
        };
        let mut arrivals = Self { stream, process, next: Next::At(Time::ZERO), at_ns: 0, fraction_ns: 0.0, time_scale };
        if !spec.is_closed() {
            arrivals.advance();
        }
        Ok(arrivals)
    }

    /// When the next request comes.
    #[inline]
    pub(super) const fn next(&self) -> Next {
        self.next
    }

    /// Takes the next arrival. Without one, the answer means nothing.
    #[inline]
    pub(super) fn take(&mut self) -> Time {
        let Next::At(now) = self.next else { return Time::MAX };
        self.advance();
        now
    }

    /// Whether they come without regard to completions.
    pub(super) fn are_open(&self) -> bool {
        !matches!(self.process, Process::Closed { .. })
    }

    /// Hears of a completion at `end`.
    pub(super) fn completed(&mut self, end: Time) {
        if let Process::Closed { unsent, think_ms, returns } = &mut self.process {
            let think_ns = (think_ms.sample(&mut self.stream) * self.time_scale * NS_PER_MS + 0.5) as u64;
            // Even a user who thinks for centuries returns, and not before the completion.
            let return_ns = end.ns().saturating_add(think_ns).min(LAST_ARRIVAL_NS.max(end.ns()));
            returns.push(Reverse(Time::from_ns(return_ns)));
            if *unsent == 0 {
                self.next = first_of(returns);
            }
        }
    }

    /// Finds the arrival after the one in `next`.
    #[inline]
    fn advance(&mut self) {
        let gap_ns = match &mut self.process {
            Process::Poisson { mean_ns } => *mean_ns * self.stream.exponential(),
            Process::Constant { interval_ns } => *interval_ns,
            Process::Renewal { interarrival_ms } => interarrival_ms.sample(&mut self.stream) * NS_PER_MS,
            Process::OnOff { mean_ns, burst_ns, idle_ns, left_ns } => {
                let mut busy_ns = *mean_ns * self.stream.exponential();
                let mut gap_ns = busy_ns;
                while busy_ns > *left_ns {
                    busy_ns -= *left_ns;
                    gap_ns += *idle_ns * self.stream.exponential();
                    *left_ns = *burst_ns * self.stream.exponential();
                }
                *left_ns -= busy_ns;
                gap_ns
            }
            Process::Closed { unsent, returns, .. } => {
                if *unsent > 0 {
                    *unsent -= 1;
                } else {
                    returns.pop();
                }
                if *unsent == 0 {
                    self.next = first_of(returns);
                }
                return;
            }
        };
        let until_ns = self.fraction_ns + gap_ns * self.time_scale;
        // Truncates; saturates for gaps beyond 584 years.
        let whole_ns = until_ns as u64;
        self.fraction_ns = until_ns - whole_ns as f64;
        self.at_ns = self.at_ns.saturating_add(whole_ns);
        self.next = if self.at_ns <= LAST_ARRIVAL_NS { Next::At(Time::from_ns(self.at_ns)) } else { Next::Ended };
    }
}

/// The earliest return of a user, if any is thinking.
fn first_of(returns: &BinaryHeap<Reverse<Time>>) -> Next {
    returns.peek().map_or(Next::Waiting, |&Reverse(at)| Next::At(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(spec: &ArrivalSpec) -> Arrivals {
        Arrivals::new(spec, 1.0, Stream::new(1, "arrivals")).expect("the arrivals are valid")
    }

    #[test]
    fn a_constant_rate_does_not_drift() {
        // Intervals of 3333.3 ns: rounding each would lose a millisecond.
        let mut constant = arrivals(&ArrivalSpec::Constant { rate_per_s: 3e5 });
        let mut last = Time::ZERO;
        for _ in 0..3_000_000 {
            last = constant.take();
        }
        let error_ns = last.ns().abs_diff(10_000_000_000);
        assert!(error_ns <= 1, "{error_ns} ns off after 10 s");
    }

    #[test]
    fn users_return_in_the_order_of_their_times() {
        let think_ms = Distribution::Uniform { min: 0.0, max: 10.0 };
        let mut closed = arrivals(&ArrivalSpec::Closed { outstanding: 3, think_ms });
        for _ in 0..3 {
            assert_eq!(closed.next(), Next::At(Time::ZERO));
            closed.take();
        }
        assert_eq!(closed.next(), Next::Waiting);
        (0..3).for_each(|i| closed.completed(Time::from_ns(i)));
        let times = [closed.take(), closed.take(), closed.take()];
        assert!(times.is_sorted());
        assert_eq!(closed.next(), Next::Waiting);
    }

    #[test]
    fn endless_gaps_end_the_workload_instead_of_overflowing() {
        let mut renewal = arrivals(&ArrivalSpec::Renewal { interarrival_ms: Distribution::Fixed { value: 1e12 } });
        let taken = (0..100_000).take_while(|_| matches!(renewal.next(), Next::At(_)) && renewal.take() > Time::ZERO);
        assert_eq!(taken.count() as u64, LAST_ARRIVAL_NS / 1_000_000_000_000_000_000);
        assert_eq!(renewal.next(), Next::Ended);
    }

    #[test]
    fn arrivals_that_never_get_anywhere_are_refused() {
        let refused = [
            ArrivalSpec::Poisson { rate_per_s: 0.0 },
            ArrivalSpec::Constant { rate_per_s: f64::NAN },
            ArrivalSpec::Renewal { interarrival_ms: no_time() },
            ArrivalSpec::OnOff { burst_ms: 1e-6, idle_ms: 0.0, rate_per_s: 1.0 },
            ArrivalSpec::OnOff { burst_ms: 1.0, idle_ms: -1.0, rate_per_s: 1e3 },
            ArrivalSpec::Closed { outstanding: 0, think_ms: no_time() },
        ];
        for spec in refused {
            assert!(spec.validate().is_err(), "{spec:?}");
        }
    }
}
