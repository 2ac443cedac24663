//! Locations of requests on the device. Each kind is one file and one line in the list.

use std::fmt::Debug;

use crate::convert::trunc_to_u64;
use crate::engine::random::Stream;
use crate::fault::{Fault, Faults, Range};
use crate::registry::registry;

registry! {
    /// Location of requests, within the range of the device in use. Each request lies completely inside that range.
    #[serde(tag = "kind", rename_all = "kebab-case")]
    pub enum LocationSpec: ChoiceSpec {
        Uniform => uniform,
        Sequential => sequential,
        LocalWalk => local_walk,
        Zipf => zipf,
        HotSpots => hot_spots,
    }
}

impl Default for LocationSpec {
    fn default() -> Self {
        Self::Uniform(uniform::Spec { align_bytes: None })
    }
}

/// Parameters of a generator of locations.
trait ChoiceSpec {
    /// Checks them, as far as that is possible without the device. The error has every key that is wrong.
    fn validate(&self) -> Result<(), Faults> {
        Ok(())
    }

    /// The number of bytes that every offset is a multiple of, if there is one.
    fn align_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns true if the first request is placed as if one had ended at a random position, and false if at the start of the
    /// range.
    fn starts_anywhere(&self) -> bool {
        false
    }

    /// Starts the generator of valid parameters. `shuffle` is the random stream for permutations.
    fn start(&self, ground: &Ground, shuffle: Stream) -> Result<Box<dyn Choice>, Fault>;
}

/// A running generator of locations.
trait Choice: Debug + Send {
    /// Draws the first block of a request of `blocks` blocks that follows one which ended at `previous_end`.
    fn place(&self, blocks: u64, previous_end: u64, ground: &Ground, stream: &mut Stream) -> u64;
}

impl LocationSpec {
    /// Checks the parameters, as far as that is possible without the device.
    ///
    /// # Errors
    /// Every key that is wrong.
    pub fn validate(&self) -> Result<(), Faults> {
        let mut found = Vec::new();
        if self.parameters().align_bytes() == Some(0) {
            found.push(Fault::out_of_range("align_bytes", 0, Range::at_least(1.0).whole()));
        }
        found.extend(self.parameters().validate().err().into_iter().flatten());
        Faults::none_of(found)
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

    /// The part between two fractions, rounded down to whole blocks.
    ///
    /// # Errors
    /// The part is empty.
    pub(super) fn part(self, start_fraction: f64, end_fraction: f64) -> Result<Self, Fault> {
        let at = |fraction: f64| self.first + trunc_to_u64(fraction * self.blocks() as f64).min(self.blocks());
        let part = Self { first: at(start_fraction), end: at(end_fraction) };
        if part.first >= part.end {
            return Err(Fault::misfit("start_fraction", start_fraction)
                .says(" and ")
                .key_is("end_fraction", end_fraction)
                .says(": no block lies between them"));
        }
        Ok(part)
    }

    /// Draws a position in this extent from which `blocks` end before `limit`. If there is none in the extent, returns the last
    /// one before it, which must exist.
    #[inline]
    fn draw(self, blocks: u64, limit: u64, stream: &mut Stream) -> u64 {
        let last = limit - blocks;
        if last < self.first {
            return last;
        }
        self.first + stream.below(last.min(self.end - 1) - self.first + 1)
    }
}

/// The range in use and the positions in it.
#[derive(Clone, Copy, Debug)]
struct Ground {
    extent: Extent,
    /// Positions where requests may start; any if absent.
    slots: Option<Slots>,
    block_bytes: u32,
}

impl Ground {
    /// Draws a position in `part` from which `blocks` end within the range, rounded down to where a request may start.
    #[inline]
    fn draw_within(&self, part: Extent, blocks: u64, stream: &mut Stream) -> u64 {
        let lbn = part.draw(blocks, self.extent.end, stream);
        self.slots.map_or(lbn, |slots| slots.at_or_below(lbn))
    }
}

/// A generator of locations with its random stream and state.
#[derive(Debug)]
pub(super) struct Locations {
    stream: Stream,
    ground: Ground,
    choice: Box<dyn Choice>,
    /// End of the previous request.
    previous_end: u64,
}

impl Locations {
    /// Locations in `extent`. `shuffle` is the random stream for permutations.
    pub(super) fn new(
        spec: &LocationSpec,
        extent: Extent,
        block_bytes: u32,
        mut stream: Stream,
        shuffle: Stream,
    ) -> Result<Self, Fault> {
        spec.validate().map_err(Faults::first)?;
        let spec = spec.parameters();
        let slots = spec.align_bytes().map(|bytes| Slots::new(bytes, block_bytes, extent)).transpose()?;
        let ground = Ground { extent, slots, block_bytes };
        let previous_end = if spec.starts_anywhere() { extent.draw(1, extent.end, &mut stream) } else { extent.first };
        Ok(Self { stream, ground, choice: spec.start(&ground, shuffle)?, previous_end })
    }

    /// The most blocks of a request that fits at every position where requests may start.
    pub(super) fn max_blocks(&self) -> u64 {
        let Ground { extent, slots, .. } = self.ground;
        extent.end - slots.map_or(extent.first, Slots::first)
    }

    /// The first block of a request of `blocks` blocks that starts where the previous one ends; `None` if it does not fit there.
    #[inline]
    pub(super) fn continue_with(&mut self, blocks: u32) -> Option<u64> {
        let (lbn, end) = (self.previous_end, self.previous_end + u64::from(blocks));
        (end <= self.ground.extent.end).then(|| {
            self.previous_end = end;
            lbn
        })
    }

    /// Draws the first block of the next request, of 1 to [`Locations::max_blocks`] blocks.
    #[inline]
    pub(super) fn place(&mut self, blocks: u32) -> u64 {
        let blocks = u64::from(blocks);
        let lbn = self.choice.place(blocks, self.previous_end, &self.ground, &mut self.stream);
        self.previous_end = lbn + blocks;
        lbn
    }
}

/// Multiples of a number of blocks in an extent.
#[derive(Clone, Copy, Debug)]
struct Slots {
    blocks: u64,
    /// Index of the first multiple.
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
            return Err(
                Fault::misfit("align_bytes", align_bytes).says(": there is no multiple of it in the range in use")
            );
        }
        Ok(Self { blocks, first })
    }

    /// The first multiple.
    const fn first(self) -> u64 {
        self.blocks * self.first
    }

    /// Draws a multiple from which `blocks` end before `limit`. There must be one.
    #[inline]
    fn draw(self, blocks: u64, limit: u64, stream: &mut Stream) -> u64 {
        let last = (limit - blocks) / self.blocks;
        self.blocks * (self.first + stream.below(last - self.first + 1))
    }

    /// The last multiple not above `lbn`, or else the first.
    #[inline]
    const fn at_or_below(self, lbn: u64) -> u64 {
        let slot = lbn / self.blocks;
        self.blocks * if slot < self.first { self.first } else { slot }
    }
}

#[cfg(test)]
mod tests {
    use super::hot_spots::HotSpot;
    use super::*;

    #[test]
    fn locations_that_do_not_suit_the_device_are_refused() {
        let extent = Extent { first: 1, end: 8 };
        let build = |spec: LocationSpec| {
            Locations::new(&spec, extent, 512, Stream::new(1, "location"), Stream::new(1, "shuffle"))
        };
        let aligned = |bytes| LocationSpec::Uniform(uniform::Spec { align_bytes: Some(bytes) });
        assert!(build(aligned(1000)).is_err(), "not a multiple of a block");
        assert!(build(aligned(4096)).is_err(), "block 8 is outside");
        assert!(build(aligned(2048)).is_ok(), "block 4 is inside");
        let eight = zipf::Spec { exponent: 1.0, regions: 8, shuffle: false, align_bytes: None };
        assert!(build(LocationSpec::Zipf(eight)).is_err(), "7 blocks");
        let sliver = HotSpot { start_fraction: 0.5, end_fraction: 0.5001, probability: 0.5 };
        assert!(
            build(LocationSpec::HotSpots(hot_spots::Spec { spots: vec![sliver], align_bytes: None })).is_err(),
            "less than a block"
        );
    }
}
