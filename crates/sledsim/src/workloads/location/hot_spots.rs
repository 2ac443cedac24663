//! Hot spots.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Choice, ChoiceSpec, Extent, Ground};
use crate::engine::random::Stream;
use crate::fault::{Fault, Faults, Kind};
use crate::workloads::alias::AliasTable;
use crate::workloads::distribution::{above, within};

/// Hot spots with given probabilities; the remaining requests go anywhere in the range, the spots included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// The spots. Their probabilities add up to at most 1.
    #[schemars(length(min = 1))]
    pub spots: Vec<HotSpot>,
    /// As for `zipf`.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align_bytes: Option<u64>,
}

/// A part of the range that gets additional requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HotSpot {
    /// Start, as a fraction of the range.
    #[schemars(range(min = 0, max = 1))]
    pub start_fraction: f64,
    /// End, as a fraction of the range; above the start.
    #[schemars(range(min = 0, max = 1))]
    pub end_fraction: f64,
    /// Probability that a request is drawn from this spot.
    #[schemars(range(min = 0, max = 1))]
    pub probability: f64,
}

impl Spec {
    fn check_sum(&self) -> Result<(), Fault> {
        let sum: f64 = self.spots.iter().map(|spot| spot.probability).sum();
        // Decimal fractions such as 0.7 + 0.2 + 0.1 may add up to a little more than 1.
        if sum <= 1.0 + 1e-9 {
            return Ok(());
        }
        Err(Fault::at(Kind::Conflict, "spots").says(format!(": the sum of the probabilities is {sum}, above 1")))
    }
}

impl ChoiceSpec for Spec {
    fn validate(&self) -> Result<(), Faults> {
        if self.spots.is_empty() {
            return Err(Fault::missing("spots.0").says(": at least one is needed").into());
        }
        let spots = self.spots.iter().enumerate().map(|(entry, spot)| {
            let key = |name: &str| format!("spots.{entry}.{name}");
            Faults::of_all([
                within(&key("start_fraction"), spot.start_fraction, 0.0, 1.0)
                    .and_then(|()| above(&key("end_fraction"), spot.end_fraction, spot.start_fraction, 1.0)),
                within(&key("probability"), spot.probability, 0.0, 1.0),
            ])
        });
        Faults::of_all(spots.chain([self.check_sum().map_err(Faults::from)]))
    }

    fn align_bytes(&self) -> Option<u64> {
        self.align_bytes
    }

    fn start(&self, ground: &Ground, _shuffle: Stream) -> Result<Box<dyn Choice>, Fault> {
        let mut extents = Vec::with_capacity(self.spots.len() + 1);
        for (entry, spot) in self.spots.iter().enumerate() {
            let part = ground.extent.part(spot.start_fraction, spot.end_fraction);
            extents.push(part.map_err(|fault| fault.within(format!("spots.{entry}")))?);
        }
        let mut weights: Vec<f64> = self.spots.iter().map(|spot| spot.probability).collect();
        weights.push((1.0 - weights.iter().sum::<f64>()).max(0.0));
        extents.push(ground.extent);
        Ok(Box::new(HotSpots { choice: AliasTable::new(&weights)?, extents }))
    }
}

#[derive(Debug)]
struct HotSpots {
    choice: AliasTable,
    extents: Vec<Extent>,
}

impl Choice for HotSpots {
    #[inline]
    fn place(&self, blocks: u64, _previous_end: u64, ground: &Ground, stream: &mut Stream) -> u64 {
        ground.draw_within(self.extents[self.choice.sample(stream)], blocks, stream)
    }
}
