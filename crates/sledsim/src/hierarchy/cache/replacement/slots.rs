//! Which key is in which slot.

use super::index::{Index, NIL};
use super::Slot;
use crate::convert::to_u32;
use crate::hierarchy::common::SameCapacity;

/// What belongs to a slot, in one place of memory: whoever looks at the one soon needs the other.
#[derive(Clone, Copy)]
struct Node<T> {
    /// The key that it holds; of a slot that was given back, the number of the next such slot.
    key: u64,
    kept: T,
}

/// Keys in numbered slots, and something kept for each: 24 bytes per slot when full, and that. Slots are given out from
/// 0, those given back first.
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

    /// Slots below this one have held a key.
    pub fn reach(&self) -> Slot {
        to_u32(self.nodes.len())
    }

    /// Whether every slot holds a key.
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

    /// What is kept for `slot`.
    #[inline]
    pub fn kept(&self, slot: Slot) -> &T {
        &self.nodes[slot as usize].kept
    }

    /// What is kept for `slot`, to be changed.
    #[inline]
    pub fn kept_mut(&mut self, slot: Slot) -> &mut T {
        &mut self.nodes[slot as usize].kept
    }

    /// Puts `key`, which is in no slot, into an empty one, of which there must be one, and keeps `kept` for it.
    #[inline]
    pub fn insert(&mut self, key: u64, kept: T) -> Slot {
        debug_assert!(!self.is_full(), "a slot is free");
        let node = Node { key, kept };
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
        self.index.insert(key, slot);
        self.len += 1;
        slot
    }

    /// Gives `slot` to `key`, which is in no slot; returns the key that had it.
    #[inline]
    pub fn replace(&mut self, slot: Slot, key: u64) -> u64 {
        let evicted = std::mem::replace(&mut self.nodes[slot as usize].key, key);
        self.index.remove(evicted, slot);
        self.index.insert(key, slot);
        evicted
    }

    /// Takes out `key`; its slot can be given to another.
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

/// What every policy does alike whose field `$keys` knows which key is in which slot.
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
