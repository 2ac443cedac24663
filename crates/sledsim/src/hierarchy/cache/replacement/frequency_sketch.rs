//! How often keys were referenced recently: a count-min sketch of 4-bit counters behind a Bloom filter, and exact counts for the
//! time in which such a sketch would take more memory than the keys.

use super::slots::resize_within;
use super::Slot;
use crate::convert::{to_usize, wide_product};
use crate::hierarchy::common::SameCapacity;

/// Rows of the sketch, and bits of a key in the filter.
const ROWS: u64 = 4;
/// Counters of a row per slot of the cache.
const COUNTERS_PER_SLOT: u64 = 4;
/// Bits of the filter per slot of the cache.
const FILTER_BITS_PER_SLOT: u64 = 64;
/// References per slot of the cache after which the counters are halved.
const SAMPLE_PER_SLOT: u64 = 10;
const COUNTERS_OF_A_WORD: u64 = 16;
const MAX_COUNT: u64 = 15;

/// Reference counts of keys, aged by halving: 16 bytes per slot of the cache.
///
/// The first reference of a key since the last halving sets its bits in the filter; others count in the sketch.
#[derive(Clone)]
pub(super) struct FrequencySketch {
    slots: u64,
    /// 16 counters to a word; row after row.
    counters: SameCapacity<Vec<u64>>,
    filter: SameCapacity<Vec<u64>>,
    /// References since the start, halved with the counters.
    references: u64,
}

/// A hash of a key, from which [`Hash::nth`] makes any number of hashes.
#[derive(Clone, Copy)]
struct Hash {
    first: u64,
    step: u64,
}

impl Hash {
    #[inline]
    fn of(key: u64) -> Self {
        let folded = |(high, low): (u64, u64)| high ^ low;
        let first = folded(wide_product(key ^ 0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db));
        let step = folded(wide_product(first ^ 0x8ebc_6af0_9c88_c6e3, 0x5899_65cc_7537_4cc3));
        Self { first, step }
    }

    /// The n-th hash, scaled to 0 to `below` - 1.
    #[inline]
    fn nth(self, n: u64, below: u64) -> u64 {
        wide_product(self.first.wrapping_add(self.step.wrapping_mul(n)), below).0
    }
}

impl FrequencySketch {
    /// An empty sketch for a cache of `capacity` slots.
    pub fn new(capacity: u32) -> Self {
        let slots = u64::from(capacity);
        let words = to_usize(slots * ROWS * COUNTERS_PER_SLOT / COUNTERS_OF_A_WORD);
        let bits = to_usize(slots * FILTER_BITS_PER_SLOT / u64::from(u64::BITS));
        Self { slots, counters: SameCapacity(vec![0; words]), filter: SameCapacity(vec![0; bits]), references: 0 }
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        (self.counters.capacity() + self.filter.capacity()) * size_of::<u64>()
    }

    /// The word and the shift of the counter of a key in a row.
    #[inline]
    fn counter(&self, hash: Hash, row: u64) -> (usize, u64) {
        let width = self.slots * COUNTERS_PER_SLOT;
        let counter = row * width + hash.nth(row, width);
        (to_usize(counter / COUNTERS_OF_A_WORD), counter % COUNTERS_OF_A_WORD * 4)
    }

    /// The word and the mask of a bit of a key in the filter.
    #[inline]
    fn bit(&self, hash: Hash, n: u64) -> (usize, u64) {
        let bit = hash.nth(ROWS + n, self.slots * FILTER_BITS_PER_SLOT);
        (to_usize(bit / 64), 1 << (bit % 64))
    }

    /// Returns true if the filter has a key.
    #[inline]
    fn is_in_filter(&self, hash: Hash) -> bool {
        (0..ROWS).all(|n| {
            let (word, mask) = self.bit(hash, n);
            self.filter[word] & mask != 0
        })
    }

    /// The estimated number of references to `key`, at most 16.
    pub fn estimate(&self, key: u64) -> u64 {
        let hash = Hash::of(key);
        let count = |row| {
            let (word, shift) = self.counter(hash, row);
            self.counters[word] >> shift & MAX_COUNT
        };
        (0..ROWS).map(count).min().unwrap_or(0) + u64::from(self.is_in_filter(hash))
    }

    /// Adds the references to `key` that were counted exactly.
    fn add(&mut self, key: u64, exact: ExactCount) {
        let hash = Hash::of(key);
        for row in 0..ROWS {
            let (word, shift) = self.counter(hash, row);
            let room = MAX_COUNT - (self.counters[word] >> shift & MAX_COUNT);
            self.counters[word] += u64::from(exact.count).min(room) << shift;
        }
        if exact.is_in_filter {
            self.set_bits(hash);
        }
    }

    /// Sets the bits of a key in the filter.
    #[inline]
    fn set_bits(&mut self, hash: Hash) {
        for n in 0..ROWS {
            let (word, mask) = self.bit(hash, n);
            self.filter[word] |= mask;
        }
    }

    /// Counts a reference to `key`.
    pub fn record(&mut self, key: u64) {
        let hash = Hash::of(key);
        if self.is_in_filter(hash) {
            for row in 0..ROWS {
                let (word, shift) = self.counter(hash, row);
                if self.counters[word] >> shift & MAX_COUNT < MAX_COUNT {
                    self.counters[word] += 1 << shift;
                }
            }
        } else {
            self.set_bits(hash);
        }
        self.references += 1;
        if self.references == self.slots * SAMPLE_PER_SLOT {
            self.halve();
        }
    }

    /// Halves all counts and empties the filter.
    #[cold]
    fn halve(&mut self) {
        for word in self.counters.iter_mut() {
            *word = *word >> 1 & 0x7777_7777_7777_7777;
        }
        self.filter.fill(0);
        self.references /= 2;
    }
}

/// The references to the key of a slot, as a sketch without collisions would count them.
#[derive(Clone, Copy, Default)]
struct ExactCount {
    count: u8,
    is_in_filter: bool,
}

/// Reference counts of the keys in a cache, 2 bytes each.
#[derive(Clone, Default)]
pub(super) struct ExactCounts {
    counts: SameCapacity<Vec<ExactCount>>,
    references: u64,
}

impl ExactCounts {
    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        self.counts.capacity() * size_of::<ExactCount>()
    }

    /// Counts a reference to the key in `slot`, one of `capacity`; the first one if the key `is_new`.
    pub fn record(&mut self, slot: Slot, is_new: bool, capacity: u32) {
        resize_within(&mut self.counts, slot, ExactCount::default(), capacity);
        let exact = &mut self.counts[slot as usize];
        if is_new {
            *exact = ExactCount::default();
        }
        if exact.is_in_filter {
            exact.count = (exact.count + 1).min(15);
        }
        exact.is_in_filter = true;
        self.references += 1;
        if self.references == u64::from(capacity) * SAMPLE_PER_SLOT {
            self.references /= 2;
            for exact in self.counts.iter_mut() {
                *exact = ExactCount { count: exact.count / 2, is_in_filter: false };
            }
        }
    }

    /// A sketch for a cache of `capacity` slots with these counts. `keys` are the slots in use and their keys.
    pub fn sketch(&self, capacity: u32, keys: impl Iterator<Item = (Slot, u64)>) -> FrequencySketch {
        let mut sketch = FrequencySketch::new(capacity);
        sketch.references = self.references;
        keys.for_each(|(slot, key)| sketch.add(key, self.counts[slot as usize]));
        sketch
    }
}
