//! Which key is in which slot.

use super::index::{Index, NIL};
use super::Slot;

/// Keys in numbered slots: 24 bytes per slot when full. Slots are given out from 0, those given back first.
pub(super) struct Slots {
    index: Index,
    /// By slot; a slot that was given back holds the number of the next such slot.
    keys: Vec<u64>,
    free: Slot,
    len: u32,
    capacity: u32,
}

impl Slots {
    /// `capacity` empty slots.
    pub fn new(capacity: u32) -> Self {
        Self { index: Index::new(capacity), keys: Vec::new(), free: NIL, len: 0, capacity }
    }

    /// Number of slots.
    pub const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Number of keys.
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Whether every slot holds a key.
    pub const fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        self.index.memory_bytes() + self.keys.capacity() * size_of::<u64>()
    }

    /// The slot of `key`.
    #[inline]
    pub fn find(&self, key: u64) -> Option<Slot> {
        self.index.find(key, &self.keys)
    }

    /// The key in `slot`.
    #[inline]
    pub fn key(&self, slot: Slot) -> u64 {
        self.keys[slot as usize]
    }

    /// Puts `key`, which is in no slot, into an empty one, of which there must be one.
    #[inline]
    pub fn insert(&mut self, key: u64) -> Slot {
        debug_assert!(!self.is_full(), "a slot is free");
        let slot = if self.free == NIL {
            let slot = self.keys.len() as Slot;
            resize_within(&mut self.keys, slot, key, self.capacity);
            slot
        } else {
            let slot = self.free;
            self.free = self.keys[slot as usize] as Slot;
            self.keys[slot as usize] = key;
            slot
        };
        self.index.insert(key, slot);
        self.len += 1;
        slot
    }

    /// Gives `slot` to `key`, which is in no slot; returns the key that had it.
    #[inline]
    pub fn replace(&mut self, slot: Slot, key: u64) -> u64 {
        let evicted = self.keys[slot as usize];
        self.index.remove(evicted, slot);
        self.keys[slot as usize] = key;
        self.index.insert(key, slot);
        evicted
    }

    /// Takes out `key`; its slot can be given to another.
    #[inline]
    pub fn remove(&mut self, key: u64) -> Option<Slot> {
        let slot = self.find(key)?;
        self.index.remove(key, slot);
        self.keys[slot as usize] = u64::from(self.free);
        self.free = slot;
        self.len -= 1;
        Some(slot)
    }
}

/// Makes `values` reach to `slot`, where they do not yet; they double in length but never outgrow `capacity`.
#[inline]
pub(super) fn resize_within<T: Copy>(values: &mut Vec<T>, slot: Slot, value: T, capacity: u32) {
    let wanted = slot as usize + 1;
    if wanted <= values.len() {
        return;
    }
    if wanted > values.capacity() {
        let room = (values.len() * 2).max(16).min(capacity as usize).max(wanted);
        values.reserve_exact(room - values.len());
    }
    values.resize(wanted, value);
}
