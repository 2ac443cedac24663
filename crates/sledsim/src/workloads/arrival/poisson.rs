//! Poisson arrivals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Gaps, Open, Process, ProcessSpec, NS_PER_S};
use crate::engine::random::Stream;
use crate::fault::Fault;
use crate::workloads::distribution::above;

/// Independent arrivals: exponential interarrival times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Mean number of requests per second.
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0))]
    pub rate_per_s: f64,
}

impl ProcessSpec for Spec {
    fn validate(&self) -> Result<(), Fault> {
        above("rate_per_s", self.rate_per_s, 0.0, 1e9)
    }

    fn start(&self, time_scale: f64, stream: Stream) -> Result<Box<dyn Process>, Fault> {
        Ok(Open::boxed(Poisson { mean_ns: NS_PER_S / self.rate_per_s }, time_scale, stream))
    }
}

#[derive(Debug)]
struct Poisson {
    mean_ns: f64,
}

impl Gaps for Poisson {
    #[inline]
    fn draw_ns(&mut self, stream: &mut Stream) -> f64 {
        self.mean_ns * stream.exponential()
    }
}
