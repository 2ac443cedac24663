//! Sequential runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Choice, ChoiceSpec, Ground};
use crate::engine::random::Stream;
use crate::fault::{Fault, Faults};
use crate::workloads::distribution::within;

/// Each request starts where the previous one ended, and after the end of the range at its start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Mean number of requests (geometric) until a new run starts at a random position; one endless run from the start of the
    /// range when absent.
    #[schemars(range(min = 1, max = 1e12))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_requests: Option<f64>,
}

impl ChoiceSpec for Spec {
    fn validate(&self) -> Result<(), Faults> {
        Ok(self.run_requests.map_or(Ok(()), |mean| within("run_requests", mean, 1.0, 1e12))?)
    }

    fn starts_anywhere(&self) -> bool {
        self.run_requests.is_some()
    }

    fn start(&self, _ground: &Ground, _shuffle: Stream) -> Result<Box<dyn Choice>, Fault> {
        Ok(Box::new(Sequential { new_run: self.run_requests.map_or(0.0, |mean| 1.0 / mean) }))
    }
}

#[derive(Debug)]
struct Sequential {
    /// Probability that a request starts a new run.
    new_run: f64,
}

impl Choice for Sequential {
    #[inline]
    fn place(&self, blocks: u64, previous_end: u64, ground: &Ground, stream: &mut Stream) -> u64 {
        let extent = ground.extent;
        if self.new_run > 0.0 && stream.chance(self.new_run) {
            extent.draw(blocks, extent.end, stream)
        } else if previous_end + blocks <= extent.end {
            previous_end
        } else {
            extent.first
        }
    }
}
