//! Arrivals at a constant rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Gaps, Open, Process, ProcessSpec, NS_PER_S};
use crate::engine::random::Stream;
use crate::fault::Fault;
use crate::workloads::distribution::above;

/// Evenly spaced arrivals, the first one interval after the start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Number of requests per second.
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0))]
    pub rate_per_s: f64,
}

impl ProcessSpec for Spec {
    fn validate(&self) -> Result<(), Fault> {
        above("rate_per_s", self.rate_per_s, 0.0, 1e9)
    }

    fn start(&self, time_scale: f64, stream: Stream) -> Result<Box<dyn Process>, Fault> {
        Ok(Open::boxed(Constant { interval_ns: NS_PER_S / self.rate_per_s }, time_scale, stream))
    }
}

#[derive(Debug)]
struct Constant {
    interval_ns: f64,
}

impl Gaps for Constant {
    #[inline]
    fn draw_ns(&mut self, _stream: &mut Stream) -> f64 {
        self.interval_ns
    }
}
