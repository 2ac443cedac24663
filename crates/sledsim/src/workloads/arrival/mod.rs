//! Arrival processes: open ones, and a closed loop of users. Each process is one file and one line in the list.

use std::fmt::Debug;

use super::Next;
use crate::convert::trunc_to_u64;
use crate::engine::random::Stream;
use crate::fault::{Fault, Faults};
use crate::registry::registry;
use crate::time::Time;

/// Nanoseconds in a second.
const NS_PER_S: f64 = 1e9;
/// No request arrives after this time (292 years), so that service times can be added without overflow.
pub(super) const LAST_ARRIVAL_NS: u64 = u64::MAX / 2;

registry! {
    /// When requests arrive.
    ///
    /// All but `closed` are open: arrivals do not depend on completions.
    #[serde(tag = "kind", rename_all = "kebab-case")]
    pub enum ArrivalSpec: ProcessSpec {
        Poisson => poisson,
        Constant => constant,
        Renewal => renewal,
        OnOff => on_off,
        Closed => closed,
    }
}

/// Declares the `Spec` of an open process whose only parameter is a rate.
macro_rules! at_rate {
    ($(#[$about:meta])* $gaps:ident: $(#[$meaning:meta])* rate_per_s) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[schemars(inline)]
        pub struct Spec {
            $(#[$meaning])*
            #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0))]
            pub rate_per_s: f64,
        }

        impl super::ProcessSpec for Spec {
            fn validate(&self) -> Result<(), $crate::fault::Faults> {
                Ok($crate::workloads::distribution::above("rate_per_s", self.rate_per_s, 0.0, 1e9)?)
            }

            fn start(&self, time_scale: f64, stream: Stream) -> Result<Box<dyn super::Process>, $crate::fault::Fault> {
                Ok(super::Open::boxed($gaps { mean_ns: super::NS_PER_S / self.rate_per_s }, time_scale, stream))
            }
        }
    };
}
use at_rate;

/// Parameters of a process.
trait ProcessSpec {
    /// Checks them. The error has every key that is wrong.
    fn validate(&self) -> Result<(), Faults>;

    /// Starts the process of valid parameters, with all times multiplied by `time_scale`.
    fn start(&self, time_scale: f64, stream: Stream) -> Result<Box<dyn Process>, Fault>;
}

/// A running process.
trait Process: Debug + Send {
    /// The first arrival.
    fn first(&mut self) -> Next {
        self.advance()
    }

    /// The next arrival.
    fn advance(&mut self) -> Next;

    /// Returns true if arrivals do not depend on completions.
    fn is_open(&self) -> bool {
        true
    }

    /// Notes a completion at `end`. Returns the next arrival if that has changed.
    fn completed(&mut self, end: Time) -> Option<Next> {
        let _ = end;
        None
    }
}

impl ArrivalSpec {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Every key that is wrong.
    pub fn validate(&self) -> Result<(), Faults> {
        self.parameters().validate()
    }
}

/// A running arrival process and its next arrival.
#[derive(Debug)]
pub(super) struct Arrivals {
    process: Box<dyn Process>,
    next: Next,
}

impl Arrivals {
    /// Starts the process of `spec` with all times multiplied by `time_scale`, and draws the first arrival.
    pub(super) fn new(spec: &ArrivalSpec, time_scale: f64, stream: Stream) -> Result<Self, Fault> {
        spec.validate().map_err(Faults::first)?;
        let mut process = spec.parameters().start(time_scale, stream)?;
        let next = process.first();
        Ok(Self { process, next })
    }

    /// The next arrival.
    #[inline]
    pub(super) const fn next(&self) -> Next {
        self.next
    }

    /// Takes the next arrival. There must be one.
    #[inline]
    pub(super) fn take(&mut self) -> Time {
        let Next::At(now) = self.next else { return Time::MAX };
        self.next = self.process.advance();
        now
    }

    /// Returns true if arrivals do not depend on completions.
    pub(super) fn are_open(&self) -> bool {
        self.process.is_open()
    }

    /// Notes a completion at `end`.
    pub(super) fn completed(&mut self, end: Time) {
        if let Some(next) = self.process.completed(end) {
            self.next = next;
        }
    }
}

/// The gaps between the arrivals of an open process.
trait Gaps: Debug + Send {
    /// Draws the time from the last arrival, or from the start, to the next one.
    fn draw_ns(&mut self, stream: &mut Stream) -> f64;
}

/// An open process.
#[derive(Debug)]
struct Open<G> {
    gaps: G,
    stream: Stream,
    /// Factor on all times.
    time_scale: f64,
    /// The last arrival was at `at_ns + fraction_ns`. The fraction is kept so that neither rounding to nanoseconds nor a growing
    /// floating-point sum changes the rate in the long run.
    at_ns: u64,
    fraction_ns: f64,
}

impl<G: Gaps + 'static> Open<G> {
    fn boxed(gaps: G, time_scale: f64, stream: Stream) -> Box<dyn Process> {
        Box::new(Self { gaps, stream, time_scale, at_ns: 0, fraction_ns: 0.0 })
    }
}

impl<G: Gaps> Process for Open<G> {
    #[inline]
    fn advance(&mut self) -> Next {
        let until_ns = self.fraction_ns + self.gaps.draw_ns(&mut self.stream) * self.time_scale;
        // Saturates for gaps beyond 584 years.
        let whole_ns = trunc_to_u64(until_ns);
        self.fraction_ns = until_ns - whole_ns as f64;
        self.at_ns = self.at_ns.saturating_add(whole_ns);
        if self.at_ns <= LAST_ARRIVAL_NS {
            Next::At(Time::from_ns(self.at_ns))
        } else {
            Next::Ended
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Distribution;
    use super::*;

    fn arrivals(spec: &ArrivalSpec) -> Arrivals {
        Arrivals::new(spec, 1.0, Stream::new(1, "arrivals")).expect("the arrivals are valid")
    }

    fn fixed(value: f64) -> Distribution {
        Distribution::Fixed { value }
    }

    #[test]
    fn a_constant_rate_does_not_drift() {
        // Intervals of 3333.3 ns: rounding each would lose a millisecond.
        let mut constant = arrivals(&ArrivalSpec::Constant(constant::Spec { rate_per_s: 3e5 }));
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
        let mut closed = arrivals(&ArrivalSpec::Closed(closed::Spec { outstanding: 3, think_ms }));
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
    fn very_long_gaps_end_the_workload_without_overflow() {
        let mut renewal = arrivals(&ArrivalSpec::Renewal(renewal::Spec { interarrival_ms: fixed(1e12) }));
        let taken = (0..100_000).take_while(|_| matches!(renewal.next(), Next::At(_)) && renewal.take() > Time::ZERO);
        assert_eq!(taken.count() as u64, LAST_ARRIVAL_NS / 1_000_000_000_000_000_000);
        assert_eq!(renewal.next(), Next::Ended);
    }

    #[test]
    fn arrivals_that_never_advance_are_refused() {
        let refused = [
            ArrivalSpec::Poisson(poisson::Spec { rate_per_s: 0.0 }),
            ArrivalSpec::Constant(constant::Spec { rate_per_s: f64::NAN }),
            ArrivalSpec::Renewal(renewal::Spec { interarrival_ms: fixed(0.0) }),
            ArrivalSpec::OnOff(on_off::Spec { burst_ms: 1e-6, idle_ms: 0.0, rate_per_s: 1.0 }),
            ArrivalSpec::OnOff(on_off::Spec { burst_ms: 1.0, idle_ms: -1.0, rate_per_s: 1e3 }),
            ArrivalSpec::Closed(closed::Spec { outstanding: 0, think_ms: fixed(0.0) }),
        ];
        for spec in refused {
            assert!(spec.validate().is_err(), "{spec:?}");
        }
    }
}
