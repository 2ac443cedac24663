//! Keys in numbered slots.

use super::index::{Index, NIL};
use super::Slot;
use crate::convert::to_u32;
use crate::hierarchy::common::SameCapacity;

/// The key and the value of a slot, side by side in memory because they are used together.
#[derive(Clone, Copy)]
struct Node<T> {
    /// The key of the slot; the number of the next free slot if this one is free.
    key: u64,
    value: T,
}

/// Keys in numbered slots, with a value for each: 24 bytes per slot when full, and the value. Freed slots are reused first.
#[derive(Clone)]
pub(crate) struct Slots<T> {
    index: Index,
    nodes: SameCapacity<Vec<Node<T>>>,
    free: Slot,
    len: u32,
    capacity: u32,
}

impl<T: Copy> Slots<T> {
    /// `capacity` empty slots.
    pub fn new(capacity: u32) -> Self {
        Self { index: Index::new(capacity), nodes: SameCapacity(Vec::new()), free: NIL, len: 0, capacity }
    }

    /// Number of slots.
    pub const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Number of keys.
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// The number of slots that have ever been used.
    pub fn used_slots(&self) -> Slot {
        to_u32(self.nodes.len())
    }

    /// Returns true if every slot has a key.
    pub const fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        self.index.memory_bytes() + self.nodes.capacity() * size_of::<Node<T>>()
    }

    /// The slot of `key`.
    #[inline]
    pub fn find(&self, key: u64) -> Option<Slot> {
        self.index.find(key, |slot| self.nodes[slot as usize].key == key)
    }

    /// The key in `slot`.
    #[inline]
    pub fn key(&self, slot: Slot) -> u64 {
        self.nodes[slot as usize].key
    }

    /// The value of `slot`.
    #[inline]
    pub fn value(&self, slot: Slot) -> &T {
        &self.nodes[slot as usize].value
    }

    /// The value of `slot`.
    #[inline]
    pub fn value_mut(&mut self, slot: Slot) -> &mut T {
        &mut self.nodes[slot as usize].value
    }

    /// Adds `key`, which must be missing, to a free slot, of which there must be one.
    #[inline]
    pub fn insert(&mut self, key: u64, value: T) -> Slot {
        debug_assert!(!self.is_full(), "a slot is free");
        let node = Node { key, value };
        let slot = if self.free == NIL {
            let slot = to_u32(self.nodes.len());
            resize_within(&mut self.nodes, slot, node, self.capacity);
            slot
        } else {
            let slot = self.free;
            self.free = to_u32(self.key(slot));
            self.nodes[slot as usize] = node;
            slot
        };
        self.index.insert(key, slot, |slot| self.nodes[slot as usize].key);
        self.len += 1;
        slot
    }

    /// Replaces the key of `slot` by `key`, which must be missing. Returns the old key.
    #[inline]
    pub fn replace(&mut self, slot: Slot, key: u64) -> u64 {
        let evicted = std::mem::replace(&mut self.nodes[slot as usize].key, key);
        self.index.remove(evicted, slot);
        self.index.insert(key, slot, |slot| self.nodes[slot as usize].key);
        evicted
    }

    /// Removes `key` and frees its slot.
    #[inline]
    pub fn remove(&mut self, key: u64) -> Option<Slot> {
        let slot = self.find(key)?;
        self.index.remove(key, slot);
        self.nodes[slot as usize].key = u64::from(self.free);
        self.free = slot;
        self.len -= 1;
        Some(slot)
    }
}

/// Grows `values` to contain `slot`, doubling the allocation up to `capacity`.
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

/// Methods of a policy whose keys are in the field `$keys`.
macro_rules! keeps_keys {
    ($keys:ident) => {
        fn capacity(&self) -> u32 {
            self.$keys.capacity()
        }

        fn len(&self) -> u32 {
            self.$keys.len()
        }

        #[inline]
        fn find(&self, key: u64) -> Option<Slot> {
            self.$keys.find(key)
        }

        #[inline]
        fn key(&self, slot: Slot) -> u64 {
            self.$keys.key(slot)
        }
    };
}
pub(super) use keeps_keys;
