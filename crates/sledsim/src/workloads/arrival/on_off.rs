//! Bursts of Poisson arrivals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Gaps, Open, Process, ProcessSpec, NS_PER_S};
use crate::engine::random::Stream;
use crate::fault::{Fault, Faults};
use crate::units::NS_PER_MS;
use crate::workloads::distribution::{above, within};

/// Poisson arrivals during bursts, none in the idle times between; the run starts with a burst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Mean length of a burst, ms (exponential).
    #[schemars(range(max = 1e12), extend("exclusiveMinimum" = 0))]
    pub burst_ms: f64,
    /// Mean time between bursts, ms (exponential).
    #[schemars(range(min = 0, max = 1e12))]
    pub idle_ms: f64,
    /// Mean number of requests per second during a burst; at least 0.001 per burst.
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0))]
    pub rate_per_s: f64,
}

impl ProcessSpec for Spec {
    fn validate(&self) -> Result<(), Faults> {
        let Self { burst_ms, idle_ms, rate_per_s } = *self;
        Faults::of_all([
            above("burst_ms", burst_ms, 0.0, 1e12),
            within("idle_ms", idle_ms, 0.0, 1e12),
            above("rate_per_s", rate_per_s, 0.0, 1e9),
        ])?;
        // The search for the next arrival goes from burst to burst.
        let requests = rate_per_s * burst_ms * 1e-3;
        if (1e-3..=1e21).contains(&requests) {
            return Ok(());
        }
        let says = format!(": {requests} requests in a burst, where 0.001 to 1e21 are allowed");
        Err(Fault::conflict("rate_per_s", rate_per_s).says(" and ").key_is("burst_ms", burst_ms).says(says).into())
    }

    fn start(&self, time_scale: f64, mut stream: Stream) -> Result<Box<dyn Process>, Fault> {
        let burst_ns = self.burst_ms * NS_PER_MS;
        let left_ns = burst_ns * stream.exponential();
        let (mean_ns, idle_ns) = (NS_PER_S / self.rate_per_s, self.idle_ms * NS_PER_MS);
        Ok(Open::boxed(OnOff { mean_ns, burst_ns, idle_ns, left_ns }, time_scale, stream))
    }
}

#[derive(Debug)]
struct OnOff {
    mean_ns: f64,
    burst_ns: f64,
    idle_ns: f64,
    /// Time left in the burst.
    left_ns: f64,
}

impl Gaps for OnOff {
    #[inline]
    fn draw_ns(&mut self, stream: &mut Stream) -> f64 {
        let mut busy_ns = self.mean_ns * stream.exponential();
        let mut gap_ns = busy_ns;
        while busy_ns > self.left_ns {
            busy_ns -= self.left_ns;
            gap_ns += self.idle_ns * stream.exponential();
            self.left_ns = self.burst_ns * stream.exponential();
        }
        self.left_ns -= busy_ns;
        gap_ns
    }
}
