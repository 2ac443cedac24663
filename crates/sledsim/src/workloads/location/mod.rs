//! Where on the device requests go; one choice, one file, one line in the list.

use std::fmt::Debug;

use crate::convert::trunc_to_u64;
use crate::engine::random::Stream;
use crate::fault::{Fault, Faults, Range};
use crate::registry::registry;

registry! {
    /// Where requests go, within the range of the device in use. Each request lies inside that range as a whole.
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

/// Parameters of a choice.
trait ChoiceSpec {
    /// Checks them, as far as that is possible without the device: an error names every key that is wrong, its value and what is
    /// allowed.
    fn validate(&self) -> Result<(), Faults> {
        Ok(())
    }

    /// What first bytes are multiples of, if of anything.
    fn align_bytes(&self) -> Option<u64> {
        None
    }

    /// Whether the first request follows one that might have ended anywhere, and not at the beginning of the range.
    fn follows_any(&self) -> bool {
        false
    }

    /// The choice that valid ones describe; `shuffle` orders what is to lie in no order.
    fn start(&self, ground: &Ground, shuffle: Stream) -> Result<Box<dyn Choice>, Fault>;
}

/// A running choice.
trait Choice: Debug + Send {
    /// First block of the next request, of `blocks` blocks, after one that ended at `previous_end`.
    fn place(&self, blocks: u64, previous_end: u64, ground: &Ground, stream: &mut Stream) -> u64;
}

impl LocationSpec {
    /// Checks the parameters, as far as that is possible without the device.
    ///
    /// # Errors
    /// Names every key that is wrong, its value and what is allowed.
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

    /// The part between two fractions, to whole blocks.
    ///
    /// # Errors
    /// When no block is left.
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

/// What there is to choose from.
#[derive(Clone, Copy, Debug)]
struct Ground {
    extent: Extent,
    /// Where requests may start; anywhere when absent.
    slots: Option<Slots>,
    block_bytes: u32,
}

impl Ground {
    /// A position anywhere in `part` so that `blocks` end within the range, at or below which a request may start.
    #[inline]
    fn draw_within(&self, part: Extent, blocks: u64, stream: &mut Stream) -> u64 {
        let lbn = part.draw(blocks, self.extent.end, stream);
        self.slots.map_or(lbn, |slots| slots.at_or_below(lbn))
    }
}

/// A running choice of locations.
#[derive(Debug)]
pub(super) struct Locations {
    stream: Stream,
    ground: Ground,
    choice: Box<dyn Choice>,
    /// End of the previous request.
    previous_end: u64,
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
        spec.validate().map_err(Faults::first)?;
        let spec = spec.parameters();
        let slots = spec.align_bytes().map(|bytes| Slots::new(bytes, block_bytes, extent)).transpose()?;
        let ground = Ground { extent, slots, block_bytes };
        let previous_end = if spec.follows_any() { extent.draw(1, extent.end, &mut stream) } else { extent.first };
        Ok(Self { stream, ground, choice: spec.start(&ground, shuffle)?, previous_end })
    }

    /// Most blocks of a request that still fits everywhere it may have to.
    pub(super) fn max_blocks(&self) -> u64 {
        let Ground { extent, slots, .. } = self.ground;
        extent.end - slots.map_or(extent.first, Slots::first)
    }

    /// First block of a request of `blocks` blocks that begins where the previous one ends, if it fits there.
    #[inline]
    pub(super) fn go_on(&mut self, blocks: u32) -> Option<u64> {
        let (lbn, end) = (self.previous_end, self.previous_end + u64::from(blocks));
        (end <= self.ground.extent.end).then(|| {
            self.previous_end = end;
            lbn
        })
    }

    /// First block of the next request, of `blocks` blocks (at least 1, at most [`Locations::max_blocks`]).
    #[inline]
    pub(super) fn place(&mut self, blocks: u32) -> u64 {
        let blocks = u64::from(blocks);
        let lbn = self.choice.place(blocks, self.previous_end, &self.ground, &mut self.stream);
        self.previous_end = lbn + blocks;
        lbn
    }
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

#[cfg(test)]
mod tests {
    use super::hot_spots::HotSpot;
    use super::*;

    #[test]
    fn what_does_not_suit_the_device_is_refused() {
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
