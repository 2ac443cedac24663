//! Renewal processes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Gaps, Open, Process, ProcessSpec};
use crate::engine::random::Stream;
use crate::fault::{Fault, Faults, Kind};
use crate::units::NS_PER_MS;
use crate::workloads::{Distribution, Sampler};

/// Independent interarrival times of any distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Interarrival time, ms. Its mean must be above 0.
    pub interarrival_ms: Distribution,
}

impl ProcessSpec for Spec {
    fn validate(&self) -> Result<(), Faults> {
        self.interarrival_ms.validate().map_err(|fault| fault.within("interarrival_ms"))?;
        // With a mean of 0 the time would not advance.
        if self.interarrival_ms.mean() > 0.0 {
            return Ok(());
        }
        Err(Fault::at(Kind::Conflict, "interarrival_ms").says(": its mean is 0 and must be above 0").into())
    }

    fn start(&self, time_scale: f64, stream: Stream) -> Result<Box<dyn Process>, Fault> {
        Ok(Open::boxed(Renewal { interarrival_ms: self.interarrival_ms.sampler()? }, time_scale, stream))
    }
}

#[derive(Debug)]
struct Renewal {
    interarrival_ms: Sampler,
}

impl Gaps for Renewal {
    #[inline]
    fn draw_ns(&mut self, stream: &mut Stream) -> f64 {
        self.interarrival_ms.sample(stream) * NS_PER_MS
    }
}
