//! Units: the part of a segment that a fill reads from the disk. Each region of the disk has its own unit size.
//!
//! Slots and headers are still those of whole segments; the bits of valid blocks record the units that are present. A unit is
//! the smallest unit times a power of two, at most a segment. Nothing depends on earlier unit sizes of a region. Unit sizes
//! survive power cuts, the record of accesses does not.
//!
//! The unit size of a region follows votes. A fill votes for a larger unit if its neighbour, the other half of a unit of twice
//! the size, was accessed while the segment was cached: the larger unit would have brought it. When a segment is evicted, each
//! unit that was read and of which one half was never accessed votes for a smaller unit. A lead of four votes doubles or halves
//! the unit.

use super::layout::Run;
use super::spec::CachingDiskUnitsSpec;
use crate::convert::{to_u32, to_usize};
use crate::fault::Fault;

/// The lead of votes that changes the unit size.
const VOTES: i8 = 4;
/// The largest number of smallest units in a segment: their bits fit in a word.
const MAX_UNITS: u64 = 64;

/// A region of the disk.
#[derive(Clone, Copy, Debug)]
struct Region {
    /// The unit is 2^`exponent` smallest units.
    exponent: u8,
    /// Votes for a larger unit minus votes for a smaller one.
    votes: i8,
}

/// The history of the smallest units of a slot, a bit each.
#[derive(Clone, Copy, Debug, Default)]
struct UnitHistory {
    /// Units that a fill read.
    filled: u64,
    /// Units that host requests accessed.
    accessed: u64,
}

/// The unit sizes of all regions.
#[derive(Clone, Debug)]
pub(super) struct Units {
    /// The smallest unit, blocks.
    smallest_blocks: u32,
    /// The exponent of a whole segment.
    max_exponent: u8,
    region_segments: u64,
    regions: Vec<Region>,
    /// By slot.
    history: Vec<UnitHistory>,
    /// Number of changes of the unit of a region, in the measurement window.
    pub changes: u64,
}

/// The bits from `from` up to but not including `to`, at least one, below 64.
const fn bits(from: u32, to: u32) -> u64 {
    (u64::MAX >> (64 - (to - from))) << from
}

impl Units {
    /// Units of `slots` segments of `segment_bytes`, of a disk of `capacity_bytes`. Each region begins with whole segments.
    ///
    /// # Errors
    /// A size does not divide the next larger one.
    pub fn new(
        spec: &CachingDiskUnitsSpec,
        block_bytes: u32,
        segment_bytes: u64,
        slots: u32,
        capacity_bytes: u64,
    ) -> Result<Self, Fault> {
        let CachingDiskUnitsSpec { least_bytes, region_bytes } = *spec;
        let count = segment_bytes.checked_div(least_bytes).unwrap_or(0);
        let fits = least_bytes.is_multiple_of(u64::from(block_bytes)) && count * least_bytes == segment_bytes;
        if !fits || !count.is_power_of_two() || !(2..=MAX_UNITS).contains(&count) {
            return Err(Fault::misfit("units.least_bytes", least_bytes)
                .says(format!(" must be a half, a quarter and so on to a {MAX_UNITS}th of "))
                .key_is("segment_bytes", segment_bytes)
                .says(format!(", in whole blocks of {block_bytes} B")));
        }
        if region_bytes == 0 || !region_bytes.is_multiple_of(segment_bytes) {
            return Err(Fault::misfit("units.region_bytes", region_bytes)
                .says(" must be a multiple of ")
                .key_is("segment_bytes", segment_bytes));
        }
        let max_exponent = u8::try_from(count.trailing_zeros()).expect("a number has at most 64 bits");
        Ok(Self {
            smallest_blocks: to_u32(least_bytes / u64::from(block_bytes)),
            max_exponent,
            region_segments: region_bytes / segment_bytes,
            regions: vec![Region { exponent: max_exponent, votes: 0 }; to_usize(capacity_bytes.div_ceil(region_bytes))],
            history: vec![UnitHistory::default(); slots as usize],
            changes: 0,
        })
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        self.regions.capacity() * size_of::<Region>() + self.history.capacity() * size_of::<UnitHistory>()
    }

    /// Removes the history of all slots.
    pub fn clear_slots(&mut self) {
        self.history.fill(UnitHistory::default());
    }

    fn region_index(&self, segment: u64) -> usize {
        to_usize(segment / self.region_segments)
    }

    fn exponent(&self, segment: u64) -> u8 {
        self.regions[self.region_index(segment)].exponent
    }

    /// Returns true if the unit of a segment is smaller than the segment.
    pub fn is_part(&self, segment: u64) -> bool {
        self.exponent(segment) < self.max_exponent
    }

    /// The whole units of a segment that contain the blocks `needed`. They may reach over the end of the last segment.
    pub fn fill_run(&self, segment: u64, needed: Run) -> Run {
        round_out(needed, self.smallest_blocks << self.exponent(segment))
    }

    /// The bits of the smallest units that contain blocks of a run.
    fn unit_bits(&self, run: Run) -> u64 {
        bits(run.first / self.smallest_blocks, run.end().div_ceil(self.smallest_blocks))
    }

    /// Records that a host request accesses blocks of a slot.
    #[inline]
    pub fn record_access(&mut self, slot: u32, run: Run) {
        let accessed = self.unit_bits(run);
        self.history[slot as usize].accessed |= accessed;
    }

    /// Records that a fill reads blocks of a segment into a slot.
    pub fn record_fill(&mut self, slot: u32, segment: u64, run: Run) {
        let filled = self.unit_bits(run);
        let history = &mut self.history[slot as usize];
        history.filled |= filled;
        let accessed = history.accessed;
        let exponent = self.exponent(segment);
        if exponent < self.max_exponent {
            let unit = self.smallest_blocks << exponent;
            let doubled = self.unit_bits(round_out(run, 2 * unit));
            let neighbours = doubled & !self.unit_bits(round_out(run, unit));
            if accessed & neighbours != 0 {
                self.vote(segment, 1);
            }
        }
    }

    /// Records that a segment is evicted from its slot.
    pub fn record_eviction(&mut self, slot: u32, segment: u64) {
        let UnitHistory { filled, accessed } = std::mem::take(&mut self.history[slot as usize]);
        let exponent = self.exponent(segment);
        if exponent == 0 {
            return;
        }
        let (unit, half) = (1 << exponent, 1 << (exponent - 1));
        for first in (0..1 << self.max_exponent).step_by(unit) {
            let halves = [bits(first, first + half), bits(first + half, first + 2 * half)];
            let is_filled = filled & (halves[0] | halves[1]) == halves[0] | halves[1];
            if is_filled && halves.iter().any(|half| accessed & half == 0) {
                self.vote(segment, -1);
            }
        }
    }

    fn vote(&mut self, segment: u64, vote: i8) {
        let index = self.region_index(segment);
        let region = &mut self.regions[index];
        region.votes += vote;
        let exponent = match region.votes {
            VOTES.. => (region.exponent + 1).min(self.max_exponent),
            votes if votes <= -VOTES => region.exponent.saturating_sub(1),
            _ => return,
        };
        let has_changed = exponent != region.exponent;
        *region = Region { exponent, votes: 0 };
        self.changes += u64::from(has_changed);
    }
}

/// The smallest run of whole units of `unit` blocks that contains a run.
fn round_out(run: Run, unit: u32) -> Run {
    Run::between(run.first / unit * unit, run.end().div_ceil(unit) * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of 8 smallest units of 2 blocks, two segments to a region.
    fn units() -> Units {
        let spec = CachingDiskUnitsSpec { least_bytes: 1024, region_bytes: 16_384 };
        Units::new(&spec, 512, 8192, 4, 100_000).expect("it fits")
    }

    fn fill_run(units: &Units, segment: u64, first: u32, end: u32) -> (u32, u32) {
        let run = units.fill_run(segment, Run::between(first, end));
        (run.first, run.end())
    }

    #[test]
    fn unused_halves_of_units_halve_the_unit_of_their_region() {
        let mut units = units();
        assert_eq!((fill_run(&units, 0, 5, 6), units.is_part(0)), ((0, 16), false));
        for _ in 0..4 {
            units.record_fill(1, 0, Run::between(0, 16));
            units.record_access(1, Run::new(3, 1));
            units.record_eviction(1, 0);
        }
        assert_eq!([0, 1, 2].map(|segment| fill_run(&units, segment, 5, 6)), [(0, 8), (0, 8), (0, 16)]);
        // Both halves of each fill are accessed: the unit does not change.
        for _ in 0..100 {
            units.record_fill(1, 0, Run::between(0, 8));
            units.record_access(1, Run::new(3, 2));
            units.record_eviction(1, 0);
        }
        assert_eq!((fill_run(&units, 0, 5, 12), units.changes), ((0, 16), 1));
        // Accesses before a power cut do not count after it.
        for _ in 0..4 {
            units.record_access(1, Run::new(3, 2));
            units.clear_slots();
            units.record_fill(1, 0, Run::between(0, 8));
            units.record_eviction(1, 0);
        }
        assert_eq!(fill_run(&units, 0, 5, 6), (4, 8));
    }

    #[test]
    fn accessed_neighbours_double_the_unit() {
        let mut units = units();
        // The first four votes halve the unit, then two fills with two votes each halve it again.
        for _ in 0..6 {
            units.record_fill(0, 0, Run::between(0, 16));
            units.record_eviction(0, 0);
        }
        assert_eq!(fill_run(&units, 0, 5, 6), (4, 8));
        for fill in 0..4 {
            assert_eq!(fill_run(&units, 0, 9, 10), (8, 12), "{fill}");
            units.record_access(0, Run::new(9, 1));
            units.record_fill(0, 0, Run::between(8, 12));
            // The neighbour is 12 to 16; other blocks do not count.
            units.record_access(0, Run::new(4, 1));
            units.record_fill(0, 0, Run::between(4, 8));
            units.record_access(0, Run::new(12, 1));
            units.record_fill(0, 0, Run::between(12, 16));
            units.record_eviction(0, 1 << 1);
        }
        assert_eq!(fill_run(&units, 0, 5, 6), (0, 8));
    }

    #[test]
    fn sizes_that_do_not_divide_each_other_are_rejected() {
        let new = |least_bytes, region_bytes| {
            let spec = CachingDiskUnitsSpec { least_bytes, region_bytes };
            Units::new(&spec, 512, 65_536, 4, 1 << 30).err()
        };
        assert_eq!(new(4096, 1 << 24), None);
        for least_bytes in [0, 65_536, 512, 24_576, 1000, 1 << 20] {
            let error = new(least_bytes, 1 << 24).expect("it does not fit").to_string();
            assert!(error.contains("units.least_bytes") && error.contains("65536"), "{error}");
        }
        assert!(new(4096, 0).is_some());
        assert!(new(4096, 100_000).is_some_and(|error| error.to_string().contains("units.region_bytes = 100000 ")));
    }
}
