//! A random walk.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Choice, ChoiceSpec, Ground};
use crate::convert::trunc_to_u64;
use crate::engine::random::Stream;
use crate::fault::{Fault, Faults};
use crate::workloads::distribution::within;

/// A random walk: each request starts a random distance, up or down, from the end of the previous one. Steps beyond
/// the ends of the range are reflected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Mean distance (exponential), bytes.
    #[schemars(range(min = 0, max = 1e15))]
    pub scale_bytes: f64,
}

impl ChoiceSpec for Spec {
    fn validate(&self) -> Result<(), Faults> {
        Ok(within("scale_bytes", self.scale_bytes, 0.0, 1e15)?)
    }

    fn starts_anywhere(&self) -> bool {
        true
    }

    fn start(&self, ground: &Ground, _shuffle: Stream) -> Result<Box<dyn Choice>, Fault> {
        Ok(Box::new(LocalWalk { scale_blocks: self.scale_bytes / f64::from(ground.block_bytes) }))
    }
}

#[derive(Debug)]
struct LocalWalk {
    scale_blocks: f64,
}

impl Choice for LocalWalk {
    #[inline]
    fn place(&self, blocks: u64, previous_end: u64, ground: &Ground, stream: &mut Stream) -> u64 {
        let distance = trunc_to_u64(self.scale_blocks * stream.exponential() + 0.5);
        let last = ground.extent.blocks() - blocks;
        let from = previous_end - ground.extent.first;
        ground.extent.first + reflected_step(from, distance.min(FARTHEST), stream.chance(0.5), last)
    }
}

/// Longest step of a walk, blocks: more than the largest device, and far from overflow.
const FARTHEST: u64 = 1 << 61;

/// The position a `distance` up or down from `from`, reflected at 0 and at `last` as often as needed.
#[inline]
fn reflected_step(from: u64, distance: u64, down: bool, last: u64) -> u64 {
    let unfolded = match (down, from >= distance) {
        (true, true) => from - distance,
        (true, false) => distance - from,
        (false, _) => from + distance,
    };
    if unfolded <= last {
        return unfolded;
    }
    if last == 0 {
        return 0;
    }
    let folded = unfolded % (2 * last);
    folded.min(2 * last - folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_fold_back_into_the_range() {
        for last in 0..12_u64 {
            for from in 0..=last {
                let (mut at, mut rising) = (from, true);
                for distance in 0..50 {
                    assert_eq!(reflected_step(from, distance, false, last), at, "{from} up {distance} in 0..={last}");
                    let mirrored = last - reflected_step(last - from, distance, true, last);
                    assert_eq!(mirrored, at, "the same, mirrored");
                    rising = if at == last {
                        false
                    } else if at == 0 {
                        true
                    } else {
                        rising
                    };
                    at = if last == 0 {
                        0
                    } else if rising {
                        at + 1
                    } else {
                        at - 1
                    };
                }
            }
        }
    }
}
