//! Uniform locations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Choice, ChoiceSpec, Ground};
use crate::engine::random::Stream;
use crate::fault::Fault;

/// Every position with equal probability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Offsets are multiples of this, itself a multiple of the block size; any block when absent.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align_bytes: Option<u64>,
}

impl ChoiceSpec for Spec {
    fn align_bytes(&self) -> Option<u64> {
        self.align_bytes
    }

    fn start(&self, _ground: &Ground, _shuffle: Stream) -> Result<Box<dyn Choice>, Fault> {
        Ok(Box::new(Uniform))
    }
}

#[derive(Debug)]
struct Uniform;

impl Choice for Uniform {
    #[inline]
    fn place(&self, blocks: u64, _previous_end: u64, ground: &Ground, stream: &mut Stream) -> u64 {
        match ground.slots {
            Some(slots) => slots.draw(blocks, ground.extent.end, stream),
            None => ground.extent.draw(blocks, ground.extent.end, stream),
        }
    }
}
