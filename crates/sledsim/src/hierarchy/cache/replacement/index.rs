//! A hash table from keys to slots: buckets of six, as in Folly's F14.

use super::Slot;
use crate::convert::{to_usize, wide_product};

/// The value for no slot.
pub(super) const NIL: Slot = Slot::MAX;
/// Number of buckets of the smallest table that is not empty.
const MIN_BUCKETS: usize = 4;
/// Places of a bucket.
const PLACES: usize = 6;
/// Keys per bucket, on average, above which the table grows.
const MEAN_KEYS: usize = 2;
/// One bit of the overflow count.
const OVERFLOW_ONE: u64 = 1 << (8 * PLACES);
/// The top bit of each tag.
const TOP_BITS: u64 = 0x0000_8080_8080_8080;
const LOW_BITS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
const EACH_TAG: u64 = 0x0000_0101_0101_0101;

/// Six places in half a cache line.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Bucket {
    /// In the low six bytes, the tag of each place: 8 bits of the key's hash, or 0 if the place is free. In the high two bytes, the number
    /// of keys in later buckets whose search begins at or passes this one; at its largest value it stays.
    tags: u64,
    slots: [Slot; PLACES],
}

const EMPTY: Bucket = Bucket { tags: 0, slots: [NIL; PLACES] };

impl Bucket {
    /// The places with this tag: the top bit of the byte of each.
    #[inline]
    const fn places(&self, tag: u64) -> u64 {
        let differing = self.tags ^ (tag * EACH_TAG);
        !(((differing & LOW_BITS) + LOW_BITS) | differing) & TOP_BITS
    }

    /// Returns true if a search that passed here goes on in the next bucket.
    #[inline]
    const fn overflows(&self) -> bool {
        self.tags >= OVERFLOW_ONE
    }

    #[inline]
    fn count_overflow(&mut self) {
        if self.tags >> (8 * PLACES) < u64::from(u16::MAX) {
            self.tags += OVERFLOW_ONE;
        }
    }

    #[inline]
    fn discount_overflow(&mut self) {
        if self.tags >> (8 * PLACES) < u64::from(u16::MAX) {
            self.tags -= OVERFLOW_ONE;
        }
    }
}

/// The places of a mask that [`Bucket::places`] returned.
#[inline]
fn each_place(mask: u64) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let place = (rest != 0).then(|| (rest.trailing_zeros() / 8) as usize);
        rest &= rest.wrapping_sub(1);
        place
    })
}

/// The hash of a key: the two halves of a product, folded as in wyhash.
#[derive(Clone, Copy)]
struct Hash(u64);

impl Hash {
    #[inline]
    fn of(key: u64) -> Self {
        let (high, low) = wide_product(key ^ 0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db);
        Self(high ^ low)
    }

    /// The low bits, which a bucket's number depends on least; not 0.
    #[inline]
    fn tag(self) -> u64 {
        (self.0 & 0xff).max(1)
    }
}

/// Slots by key. The keys themselves are kept by the owner.
///
/// A full table has two keys for a bucket of six: 16 bytes per key. Nearly all searches end in the first bucket, and compare
/// the tags of its six places at once.
#[derive(Clone)]
pub(super) struct Index {
    buckets: Vec<Bucket>,
    used: usize,
    max_buckets: usize,
}

impl Index {
    /// An empty table for at most `max_keys` keys.
    pub fn new(max_keys: u32) -> Self {
        Self { buckets: Vec::new(), used: 0, max_buckets: (max_keys as usize).div_ceil(MEAN_KEYS).max(MIN_BUCKETS) }
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        self.buckets.capacity() * size_of::<Bucket>()
    }

    /// The bucket at which a search begins.
    #[inline]
    fn home(&self, hash: Hash) -> usize {
        to_usize(wide_product(hash.0, self.buckets.len() as u64).0)
    }

    #[inline]
    fn after(&self, bucket: usize) -> usize {
        if bucket + 1 == self.buckets.len() {
            0
        } else {
            bucket + 1
        }
    }

    /// The slot of `key`, for which `holds` returns true.
    #[inline]
    pub fn find(&self, key: u64, holds: impl Fn(Slot) -> bool) -> Option<Slot> {
        if self.buckets.is_empty() {
            return None;
        }
        let hash = Hash::of(key);
        let mut at = self.home(hash);
        loop {
            let bucket = &self.buckets[at];
            for place in each_place(bucket.places(hash.tag())) {
                let slot = bucket.slots[place];
                if holds(slot) {
                    return Some(slot);
                }
            }
            if !bucket.overflows() {
                return None;
            }
            at = self.after(at);
        }
    }

    /// Adds `key`, which is not in the table, with `slot`. `key_of` returns the key of any other slot in the table.
    #[inline]
    pub fn insert(&mut self, key: u64, slot: Slot, key_of: impl Fn(Slot) -> u64) {
        if self.used == self.buckets.len() * MEAN_KEYS {
            self.grow(key_of);
        }
        self.place(Hash::of(key), slot);
        self.used += 1;
    }

    #[inline]
    fn place(&mut self, hash: Hash, slot: Slot) {
        let mut at = self.home(hash);
        loop {
            let bucket = &mut self.buckets[at];
            if let Some(place) = each_place(bucket.places(0)).next() {
                bucket.tags |= hash.tag() << (8 * place);
                bucket.slots[place] = slot;
                return;
            }
            bucket.count_overflow();
            at = self.after(at);
        }
    }

    #[cold]
    fn grow(&mut self, key_of: impl Fn(Slot) -> u64) {
        let wanted = (self.buckets.len() * 2).clamp(MIN_BUCKETS, self.max_buckets);
        let mut larger = Vec::new();
        larger.reserve_exact(wanted);
        larger.resize(wanted, EMPTY);
        for bucket in std::mem::replace(&mut self.buckets, larger) {
            for place in each_place(!bucket.places(0) & TOP_BITS) {
                let slot = bucket.slots[place];
                self.place(Hash::of(key_of(slot)), slot);
            }
        }
    }

    /// Removes `key`, whose slot is `slot`.
    #[inline]
    pub fn remove(&mut self, key: u64, slot: Slot) {
        let hash = Hash::of(key);
        self.used -= 1;
        let mut at = self.home(hash);
        loop {
            let bucket = &mut self.buckets[at];
            if let Some(place) = each_place(bucket.places(hash.tag())).find(|&place| bucket.slots[place] == slot) {
                bucket.tags &= !(0xff << (8 * place));
                return;
            }
            bucket.discount_overflow();
            at = self.after(at);
        }
    }
}
