//! The keys of a cache, in lists.

use super::lists::Lists;
use super::slots::Slots;
use super::{Admission, Slot};

/// Keys in slots, each slot in one of `N` lists: 32 bytes per slot, and 1 more where there are several lists.
pub(super) struct Entries<const N: usize> {
    slots: Slots,
    lists: Lists<N>,
}

impl<const N: usize> Entries<N> {
    /// `capacity` empty slots.
    pub fn new(capacity: u32) -> Self {
        Self { slots: Slots::new(capacity), lists: Lists::new(capacity) }
    }

    /// Number of slots.
    pub const fn capacity(&self) -> u32 {
        self.slots.capacity()
    }

    /// Number of keys.
    pub const fn len(&self) -> u32 {
        self.slots.len()
    }

    /// Whether every slot holds a key.
    pub const fn is_full(&self) -> bool {
        self.slots.is_full()
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        self.slots.memory_bytes() + self.lists.memory_bytes()
    }

    /// The slot of `key`.
    #[inline]
    pub fn find(&self, key: u64) -> Option<Slot> {
        self.slots.find(key)
    }

    /// The key in `slot`.
    #[inline]
    pub fn key(&self, slot: Slot) -> u64 {
        self.slots.key(slot)
    }

    /// Which slot is where in its list.
    pub const fn lists(&self) -> &Lists<N> {
        &self.lists
    }

    /// Moves `slot` to the front of a list.
    #[inline]
    pub fn move_front(&mut self, list: usize, slot: Slot) {
        self.lists.move_front(list, slot);
    }

    /// Puts `key`, which is in no slot, at the front of a list: into an empty slot, or into that of `victim`.
    #[inline]
    pub fn admit(&mut self, list: usize, key: u64, victim: Option<Slot>) -> Admission {
        if let Some(slot) = victim {
            self.lists.move_front(list, slot);
            return Admission { slot, evicted: Some(self.slots.replace(slot, key)) };
        }
        let slot = self.slots.insert(key);
        self.lists.push_front(list, slot);
        Admission { slot, evicted: None }
    }

    /// Drops `key`.
    #[inline]
    pub fn remove(&mut self, key: u64) -> Option<Slot> {
        let slot = self.slots.remove(key)?;
        self.lists.unlink(slot);
        Some(slot)
    }
}

/// What every policy whose keys are in `self.entries` does alike.
macro_rules! keeps_entries {
    () => {
        fn capacity(&self) -> u32 {
            self.entries.capacity()
        }

        fn len(&self) -> u32 {
            self.entries.len()
        }

        #[inline]
        fn find(&self, key: u64) -> Option<Slot> {
            self.entries.find(key)
        }

        #[inline]
        fn key(&self, slot: Slot) -> u64 {
            self.entries.key(slot)
        }

        fn remove(&mut self, key: u64) -> Option<Slot> {
            self.entries.remove(key)
        }
    };
}
pub(super) use keeps_entries;
