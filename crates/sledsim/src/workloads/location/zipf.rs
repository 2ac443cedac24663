//! Zipf-distributed regions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Choice, ChoiceSpec, Extent, Ground};
use crate::engine::random::Stream;
use crate::fault::{Fault, Faults};
use crate::workloads::alias::AliasTable;
use crate::workloads::distribution::within;

/// The most regions.
const MAX_REGIONS: u32 = 1 << 20;

/// Equal regions, the k-th most popular with a probability proportional to k to the power of minus `exponent`. Positions
/// within a region are uniform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Skew: 0 is uniform.
    #[schemars(range(min = 0, max = 10))]
    pub exponent: f64,
    /// Number of regions.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub regions: u32,
    /// True for regions in random order (a permutation drawn from the seed), false for regions by popularity from the start.
    #[serde(default)]
    pub shuffle: bool,
    /// Offsets are multiples of this, itself a multiple of the block size: drawn positions are rounded down to one. Any block
    /// when absent.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align_bytes: Option<u64>,
}

impl ChoiceSpec for Spec {
    fn validate(&self) -> Result<(), Faults> {
        Faults::of_all([
            within("exponent", self.exponent, 0.0, 10.0),
            within("regions", f64::from(self.regions), 1.0, f64::from(MAX_REGIONS)),
        ])
    }

    fn align_bytes(&self) -> Option<u64> {
        self.align_bytes
    }

    fn start(&self, ground: &Ground, mut shuffle: Stream) -> Result<Box<dyn Choice>, Fault> {
        let (regions, extent) = (self.regions, ground.extent);
        if u64::from(regions) > extent.blocks() {
            let says = format!(": the range in use has only {} blocks", extent.blocks());
            return Err(Fault::misfit("regions", regions).says(says));
        }
        let weights: Vec<f64> = (1..=regions).map(|rank| libm::pow(f64::from(rank), -self.exponent)).collect();
        let mut order: Vec<u32> = (0..regions).collect();
        if self.shuffle {
            shuffle.shuffle(&mut order);
        }
        Ok(Box::new(Zipf { ranks: AliasTable::new(&weights)?, regions: Regions::new(extent, order) }))
    }
}

#[derive(Debug)]
struct Zipf {
    ranks: AliasTable,
    regions: Regions,
}

impl Choice for Zipf {
    #[inline]
    fn place(&self, blocks: u64, _previous_end: u64, ground: &Ground, stream: &mut Stream) -> u64 {
        ground.draw_within(self.regions.of_rank(self.ranks.sample(stream)), blocks, stream)
    }
}

/// An extent divided into equal regions; the first `rest` have one block more.
#[derive(Debug)]
struct Regions {
    first: u64,
    size: u64,
    rest: u64,
    /// Region of each rank of popularity.
    order: Vec<u32>,
}

impl Regions {
    fn new(extent: Extent, order: Vec<u32>) -> Self {
        let count = order.len() as u64;
        Self { first: extent.first, size: extent.blocks() / count, rest: extent.blocks() % count, order }
    }

    #[inline]
    fn of_rank(&self, rank: usize) -> Extent {
        let start_of = |region: u64| self.first + region * self.size + region.min(self.rest);
        let region = u64::from(self.order[rank]);
        Extent { first: start_of(region), end: start_of(region + 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_tile_the_range() {
        let extent = Extent { first: 100, end: 1123 };
        let mut expected = extent.first;
        let regions = Regions::new(extent, (0..10).collect());
        for rank in 0..10 {
            let region = regions.of_rank(rank);
            assert_eq!(region.first, expected);
            assert!(region.blocks() == 102 || region.blocks() == 103);
            expected = region.end;
        }
        assert_eq!(expected, extent.end);
    }
}
