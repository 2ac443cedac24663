//! A hash table from keys to slots: open addressing with linear probing.

use super::Slot;
use crate::convert::wide_product;

/// The value for no slot.
pub(super) const NIL: Slot = Slot::MAX;
/// Number of buckets of the smallest table that is not empty.
const MIN_BUCKETS: usize = 16;

/// The hash of a key and its slot; [`NIL`] in an empty bucket.
#[derive(Clone, Copy)]
struct Bucket {
    hash: u32,
    slot: Slot,
}

const EMPTY: Bucket = Bucket { hash: 0, slot: NIL };

/// Slots by key. The keys themselves are kept by the owner.
///
/// At most half of the buckets are used: 16 bytes per key at the largest size, and searches of two or three buckets. The position
/// of a bucket depends on the hash alone, so growing and deleting need no keys.
#[derive(Clone)]
pub(super) struct Index {
    buckets: Vec<Bucket>,
    used: usize,
    max_buckets: usize,
}

/// A 32-bit hash: the two halves of a product, folded as in wyhash.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low half is the hash")]
fn hash_of(key: u64) -> u32 {
    let (high, low) = wide_product(key ^ 0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db);
    let folded = high ^ low;
    (folded ^ (folded >> 32)) as u32
}

impl Index {
    /// An empty table for at most `max_keys` keys.
    pub fn new(max_keys: u32) -> Self {
        Self { buckets: Vec::new(), used: 0, max_buckets: max_keys as usize * 2 }
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        self.buckets.capacity() * size_of::<Bucket>()
    }

    /// The bucket at which a search for `hash` begins. The product fits in 64 bits, because there are fewer than 2^32 buckets.
    #[inline]
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.buckets.len() as u64) >> 32) as usize
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
        let hash = hash_of(key);
        let mut at = self.home(hash);
        loop {
            let Bucket { hash: other, slot } = self.buckets[at];
            if slot == NIL {
                return None;
            }
            if other == hash && holds(slot) {
                return Some(slot);
            }
            at = self.after(at);
        }
    }

    /// Adds `key`, which is not in the table, with `slot`.
    #[inline]
    pub fn insert(&mut self, key: u64, slot: Slot) {
        if (self.used + 1) * 2 > self.buckets.len() {
            self.grow();
        }
        self.place(Bucket { hash: hash_of(key), slot });
        self.used += 1;
    }

    #[inline]
    fn place(&mut self, bucket: Bucket) {
        let mut at = self.home(bucket.hash);
        while self.buckets[at].slot != NIL {
            at = self.after(at);
        }
        self.buckets[at] = bucket;
    }

    #[cold]
    fn grow(&mut self) {
        let wanted = (self.buckets.len() * 2).clamp(MIN_BUCKETS, self.max_buckets.max(MIN_BUCKETS));
        let mut larger = Vec::new();
        larger.reserve_exact(wanted);
        larger.resize(wanted, EMPTY);
        for bucket in std::mem::replace(&mut self.buckets, larger) {
            if bucket.slot != NIL {
                self.place(bucket);
            }
        }
    }

    /// Removes `key`, whose slot is `slot`.
    #[inline]
    pub fn remove(&mut self, key: u64, slot: Slot) {
        let mut hole = self.home(hash_of(key));
        while self.buckets[hole].slot != slot {
            hole = self.after(hole);
        }
        self.used -= 1;
        // Later buckets whose search passes the hole move into it, so that searches still end at the first empty bucket (Knuth, The Art of Computer Programming 3, section 6.4, algorithm R).
        let mut at = hole;
        loop {
            at = self.after(at);
            let bucket = self.buckets[at];
            if bucket.slot == NIL {
                break;
            }
            let home = self.home(bucket.hash);
            let reachable = if hole < at { hole < home && home <= at } else { hole < home || home <= at };
            if !reachable {
                self.buckets[hole] = bucket;
                hole = at;
            }
        }
        self.buckets[hole] = EMPTY;
    }
}
