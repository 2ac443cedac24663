//! Where on the device requests go.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::alias::AliasTable;
use super::distribution::{above, within};
use crate::engine::random::Stream;
use crate::fault::{Fault, Kind, Range};

/// Most regions of a `zipf` location.
const MAX_REGIONS: u32 = 1 << 20;

/// Where requests go, within the range of the device in use. Each request lies inside that range as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LocationSpec {
    /// Anywhere, with equal probability.
    Uniform {
        /// First bytes are multiples of this, itself a multiple of the block size; any block when absent.
        #[schemars(range(min = 1))]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        align_bytes: Option<u64>,
    },
    /// Each request starts where the previous one ended, from the last block of the range on to the first.
    Sequential {
        /// Mean number of requests (geometric) until a new run starts anywhere; one endless run from the start of the
        /// range when absent.
        #[schemars(range(min = 1, max = 1e12))]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run_requests: Option<f64>,
    },
    /// A random walk: each request starts a random distance, up or down, from the end of the previous one. Steps beyond
    /// the ends of the range are reflected.
    LocalWalk {
        /// Mean distance (exponential), bytes.
        #[schemars(range(min = 0, max = 1e15))]
        scale_bytes: f64,
    },
    /// Equal regions, the k-th most popular with a probability proportional to k to the power of minus `exponent`;
    /// anywhere within a region.
    Zipf {
        /// Skew: 0 is uniform.
        #[schemars(range(min = 0, max = 10))]
        exponent: f64,
        /// Number of regions.
        #[schemars(range(min = 1, max = 1_048_576))]
        regions: u32,
        /// Whether popular regions lie anywhere (a permutation drawn from the seed) or in order from the start.
        #[serde(default)]
        shuffle: bool,
        /// First bytes are multiples of this, itself a multiple of the block size: the one at or below what is drawn; any
        /// block when absent.
        #[schemars(range(min = 1))]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        align_bytes: Option<u64>,
    },
    /// Hot spots with given probabilities; the remaining requests go anywhere in the range, the spots included.
    HotSpots {
        /// The spots. Their probabilities add up to at most 1.
        #[schemars(length(min = 1))]
        spots: Vec<HotSpot>,
        /// As with `zipf`.
        #[schemars(range(min = 1))]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        align_bytes: Option<u64>,
    },
}

impl Default for LocationSpec {
    fn default() -> Self {
        Self::Uniform { align_bytes: None }
    }
}

/// A part of the range that draws more than its share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HotSpot {
    /// Start, as a fraction of the range.
    #[schemars(range(min = 0, max = 1))]
    pub start_fraction: f64,
    /// End, as a fraction of the range; above the start.
    #[schemars(range(min = 0, max = 1))]
    pub end_fraction: f64,
    /// Probability that a request starts here on purpose.
    #[schemars(range(min = 0, max = 1))]
    pub probability: f64,
}

impl LocationSpec {
    /// What first bytes are multiples of, if of anything.
    const fn align_bytes(&self) -> Option<u64> {
        match *self {
            Self::Uniform { align_bytes } | Self::Zipf { align_bytes, .. } | Self::HotSpots { align_bytes, .. } => {
                align_bytes
            }
            Self::Sequential { .. } | Self::LocalWalk { .. } => None,
        }
    }

    /// Checks the parameters, as far as that is possible without the device.
    ///
    /// # Errors
    /// Names the key, its value and what is allowed.
    pub fn validate(&self) -> Result<(), Fault> {
        match *self {
            Self::Uniform { align_bytes: Some(0) }
            | Self::Zipf { align_bytes: Some(0), .. }
            | Self::HotSpots { align_bytes: Some(0), .. } => {
                Err(Fault::out_of_range("align_bytes", 0, Range::at_least(1.0)))
            }
            Self::Uniform { .. } | Self::Sequential { run_requests: None } => Ok(()),
            Self::Sequential { run_requests: Some(mean) } => within("run_requests", mean, 1.0, 1e12),
            Self::LocalWalk { scale_bytes } => within("scale_bytes", scale_bytes, 0.0, 1e15),
            Self::Zipf { exponent, regions, .. } => {
                within("exponent", exponent, 0.0, 10.0)?;
                within("regions", f64::from(regions), 1.0, f64::from(MAX_REGIONS))
            }
            Self::HotSpots { ref spots, .. } => {
                if spots.is_empty() {
                    return Err(Fault::missing("spots.0").says(": at least one is needed"));
                }
                for (entry, spot) in spots.iter().enumerate() {
                    let key = |name: &str| format!("spots.{entry}.{name}");
                    within(&key("start_fraction"), spot.start_fraction, 0.0, 1.0)?;
                    above(&key("end_fraction"), spot.end_fraction, spot.start_fraction, 1.0)?;
                    within(&key("probability"), spot.probability, 0.0, 1.0)?;
                }
                let sum: f64 = spots.iter().map(|spot| spot.probability).sum();
                // Decimal fractions such as 0.7 + 0.2 + 0.1 may add up to a little more than 1.
                if sum <= 1.0 + 1e-9 {
                    return Ok(());
                }
                Err(Fault::at(Kind::Conflict, "spots")
                    .says(format!(": the sum of the probabilities is {sum}, above 1")))
            }
        }
    }
}

/// Blocks `first..end`, not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) first: u64,
    pub(super) end: u64,
}

impl Extent {
    pub(super) const fn blocks(self) -> u64 {
        self.end - self.first
    }

    /// The part between two fractions, to whole blocks.
    ///
    /// # Errors
    /// When no block is left.
    pub(super) fn part(self, start_fraction: f64, end_fraction: f64) -> Result<Self, Fault> {
        let at = |fraction: f64| self.first + ((fraction * self.blocks() as f64) as u64).min(self.blocks());
        let part = Self { first: at(start_fraction), end: at(end_fraction) };
        if part.first >= part.end {
            return Err(Fault::misfit("start_fraction", start_fraction)
                .says(" and ")
                .key_is("end_fraction", end_fraction)
                .says(": no block lies between them"));
        }
        Ok(part)
    }

    /// A position anywhere in this extent, so that `blocks` end before `limit`; the last such position before the
    /// extent if there is none inside. There must be one.
    #[inline]
    fn draw(self, blocks: u64, limit: u64, stream: &mut Stream) -> u64 {
        let last = limit - blocks;
        if last < self.first {
            return last;
        }
        self.first + stream.below(last.min(self.end - 1) - self.first + 1)
    }
}

/// A running choice of locations.
#[derive(Debug)]
pub(super) struct Locations {
    stream: Stream,
    extent: Extent,
    policy: Policy,
    /// Where requests may start; anywhere when absent.
    slots: Option<Slots>,
    /// End of the previous request.
    previous_end: u64,
}

#[derive(Debug)]
enum Policy {
    Uniform,
    Slots(Slots),
    Sequential { new_run: f64 },
    LocalWalk { scale_blocks: f64 },
    Zipf { ranks: AliasTable, regions: Regions },
    HotSpots { choice: AliasTable, extents: Vec<Extent> },
}

impl Locations {
    /// Locations in `extent`; `shuffle` orders the regions of a shuffled `zipf`.
    pub(super) fn new(
        spec: &LocationSpec,
        extent: Extent,
        block_bytes: u32,
        mut stream: Stream,
        shuffle: Stream,
    ) -> Result<Self, Fault> {
        spec.validate()?;
        let slots = spec.align_bytes().map(|bytes| Slots::new(bytes, block_bytes, extent)).transpose()?;
        let mut previous_end = extent.first;
        let policy = match *spec {
            LocationSpec::Uniform { .. } => slots.map_or(Policy::Uniform, Policy::Slots),
            LocationSpec::Sequential { run_requests: None } => Policy::Sequential { new_run: 0.0 },
            LocationSpec::Sequential { run_requests: Some(mean) } => {
                previous_end = extent.draw(1, extent.end, &mut stream);
                Policy::Sequential { new_run: 1.0 / mean }
            }
            LocationSpec::LocalWalk { scale_bytes } => {
                previous_end = extent.draw(1, extent.end, &mut stream);
                Policy::LocalWalk { scale_blocks: scale_bytes / f64::from(block_bytes) }
            }
            LocationSpec::Zipf { exponent, regions, shuffle: shuffled, .. } => {
                zipf(exponent, regions, shuffled.then_some(shuffle), extent)?
            }
            LocationSpec::HotSpots { ref spots, .. } => hot_spots(spots, extent)?,
        };
        Ok(Self { stream, extent, policy, slots, previous_end })
    }

    /// Most blocks of a request that still fits everywhere it may have to.
    pub(super) fn max_blocks(&self) -> u64 {
        self.extent.end - self.slots.map_or(self.extent.first, Slots::first)
    }

    /// First block of a request of `blocks` blocks that begins where the previous one ends, if it fits there.
    #[inline]
    pub(super) fn go_on(&mut self, blocks: u32) -> Option<u64> {
        let (lbn, end) = (self.previous_end, self.previous_end + u64::from(blocks));
        (end <= self.extent.end).then(|| {
            self.previous_end = end;
            lbn
        })
    }

    /// First block of the next request, of `blocks` blocks (at least 1, at most [`Locations::max_blocks`]).
    #[inline]
    pub(super) fn place(&mut self, blocks: u32) -> u64 {
        let blocks = u64::from(blocks);
        let Self { stream, extent, slots, .. } = self;
        let lbn = match &self.policy {
            Policy::Uniform => extent.draw(blocks, extent.end, stream),
            Policy::Slots(slots) => slots.draw(blocks, extent.end, stream),
            &Policy::Sequential { new_run } => {
                if new_run > 0.0 && stream.chance(new_run) {
                    extent.draw(blocks, extent.end, stream)
                } else if self.previous_end + blocks <= extent.end {
                    self.previous_end
                } else {
                    extent.first
                }
            }
            &Policy::LocalWalk { scale_blocks } => {
                let distance = (scale_blocks * stream.exponential() + 0.5) as u64;
                let last = extent.blocks() - blocks;
                let from = self.previous_end - extent.first;
                extent.first + reflected_step(from, distance.min(FARTHEST), stream.chance(0.5), last)
            }
            Policy::Zipf { ranks, regions } => {
                let lbn = regions.of_rank(ranks.sample(stream)).draw(blocks, extent.end, stream);
                slots.map_or(lbn, |slots| slots.at_or_below(lbn))
            }
            Policy::HotSpots { choice, extents } => {
                let lbn = extents[choice.sample(stream)].draw(blocks, extent.end, stream);
                slots.map_or(lbn, |slots| slots.at_or_below(lbn))
            }
        };
        self.previous_end = lbn + blocks;
        lbn
    }
}

/// Longest step of a walk, blocks: more than the largest device, and far from overflow.
const FARTHEST: u64 = 1 << 61;

/// From `from` a `distance` up or down, reflected at 0 and at `last` as often as it takes.
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

/// The multiples of a number of blocks in an extent.
#[derive(Clone, Copy, Debug)]
struct Slots {
    blocks: u64,
    /// Number of the first.
    first: u64,
}

impl Slots {
    fn new(align_bytes: u64, block_bytes: u32, extent: Extent) -> Result<Self, Fault> {
        if !align_bytes.is_multiple_of(u64::from(block_bytes)) {
            let says = format!(": must be a multiple of the block size, {block_bytes} bytes");
            return Err(Fault::misfit("align_bytes", align_bytes).says(says));
        }
        let blocks = align_bytes / u64::from(block_bytes);
        let first = extent.first.div_ceil(blocks);
        if first > (extent.end - 1) / blocks {
            return Err(Fault::misfit("align_bytes", align_bytes).says(": no multiple of it lies in the range in use"));
        }
        Ok(Self { blocks, first })
    }

    /// The first of them.
    const fn first(self) -> u64 {
        self.blocks * self.first
    }

    /// Any of them, so that `blocks` end before `limit`; there must be one.
    #[inline]
    fn draw(self, blocks: u64, limit: u64, stream: &mut Stream) -> u64 {
        let last = (limit - blocks) / self.blocks;
        self.blocks * (self.first + stream.below(last - self.first + 1))
    }

    /// The last of them that is not above `lbn`, or else the first.
    #[inline]
    const fn at_or_below(self, lbn: u64) -> u64 {
        let slot = lbn / self.blocks;
        self.blocks * if slot < self.first { self.first } else { slot }
    }
}

fn zipf(exponent: f64, regions: u32, shuffle: Option<Stream>, extent: Extent) -> Result<Policy, Fault> {
    if u64::from(regions) > extent.blocks() {
        let says = format!(": the range in use has only {} blocks", extent.blocks());
        return Err(Fault::misfit("regions", regions).says(says));
    }
    let weights: Vec<f64> = (1..=regions).map(|rank| libm::pow(f64::from(rank), -exponent)).collect();
    let mut order: Vec<u32> = (0..regions).collect();
    if let Some(mut stream) = shuffle {
        stream.shuffle(&mut order);
    }
    Ok(Policy::Zipf { ranks: AliasTable::new(&weights)?, regions: Regions::new(extent, order) })
}

/// An extent cut into equal regions; the first `rest` have a block more where the division leaves a rest.
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

fn hot_spots(spots: &[HotSpot], extent: Extent) -> Result<Policy, Fault> {
    let mut extents = Vec::with_capacity(spots.len() + 1);
    for (entry, spot) in spots.iter().enumerate() {
        let part = extent.part(spot.start_fraction, spot.end_fraction);
        extents.push(part.map_err(|fault| fault.within(format!("spots.{entry}")))?);
    }
    let mut weights: Vec<f64> = spots.iter().map(|spot| spot.probability).collect();
    weights.push((1.0 - weights.iter().sum::<f64>()).max(0.0));
    extents.push(extent);
    Ok(Policy::HotSpots { choice: AliasTable::new(&weights)?, extents })
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
                    assert_eq!(mirrored, at, "the same, upside down");
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

    #[test]
    fn what_does_not_suit_the_device_is_refused() {
        let extent = Extent { first: 1, end: 8 };
        let build = |spec: LocationSpec| {
            Locations::new(&spec, extent, 512, Stream::new(1, "location"), Stream::new(1, "shuffle"))
        };
        assert!(build(LocationSpec::Uniform { align_bytes: Some(1000) }).is_err(), "not a multiple of a block");
        assert!(build(LocationSpec::Uniform { align_bytes: Some(4096) }).is_err(), "block 8 is outside");
        assert!(build(LocationSpec::Uniform { align_bytes: Some(2048) }).is_ok(), "block 4 is inside");
        assert!(
            build(LocationSpec::Zipf { exponent: 1.0, regions: 8, shuffle: false, align_bytes: None }).is_err(),
            "7 blocks"
        );
        let sliver = HotSpot { start_fraction: 0.5, end_fraction: 0.5001, probability: 0.5 };
        assert!(build(LocationSpec::HotSpots { spots: vec![sliver], align_bytes: None }).is_err(), "less than a block");
    }
}
