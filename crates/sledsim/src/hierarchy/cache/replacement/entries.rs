//! The keys of a cache in doubly linked lists of slots.

use super::index::NIL;
use super::refusals::Refusals;
use super::slots::{resize_within, Slots};
use super::{Admission, Slot};
use crate::hierarchy::common::SameCapacity;

/// The neighbours of a slot in its list, towards the front and towards the back.
#[derive(Clone, Copy)]
struct Links {
    ahead: Slot,
    behind: Slot,
}

const UNLINKED: Links = Links { ahead: NIL, behind: NIL };

/// The ends of a list.
#[derive(Clone, Copy)]
struct Ends {
    front: Slot,
    back: Slot,
    len: u32,
}

/// Keys in slots, each slot in one of `N` lists: 32 bytes per slot, and 1 more where there are several lists.
#[derive(Clone)]
pub(super) struct Entries<const N: usize> {
    slots: Slots<Links>,
    /// The list of each slot; empty if there is only one list.
    list: SameCapacity<Vec<u8>>,
    ends: [Ends; N],
    /// True if the owner reports when refused slots can be evicted again.
    expects_releases: bool,
    /// The refused slots, from the first refusal on.
    refusals: Option<Box<Refusals<N>>>,
}

impl<const N: usize> Entries<N> {
    /// `capacity` empty slots.
    pub fn new(capacity: u32) -> Self {
        let ends = [Ends { front: NIL, back: NIL, len: 0 }; N];
        Self {
            slots: Slots::new(capacity),
            list: SameCapacity::default(),
            ends,
            expects_releases: false,
            refusals: None,
        }
    }

    /// Number of slots.
    pub const fn capacity(&self) -> u32 {
        self.slots.capacity()
    }

    /// Number of keys.
    pub const fn len(&self) -> u32 {
        self.slots.len()
    }

    /// Returns true if every slot has a key.
    pub const fn is_full(&self) -> bool {
        self.slots.is_full()
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        let refusals = self.refusals.as_ref().map_or(0, |refusals| refusals.memory_bytes());
        self.slots.memory_bytes() + self.list.capacity() + refusals
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

    /// Number of slots in a list.
    #[inline]
    pub const fn len_of(&self, list: usize) -> u32 {
        self.ends[list].len
    }

    /// The list of `slot`.
    #[inline]
    pub fn list_of(&self, slot: Slot) -> usize {
        if N == 1 {
            0
        } else {
            usize::from(self.list[slot as usize])
        }
    }

    /// The slot at the back of a list: the one that was moved to its front longest ago.
    #[inline]
    pub fn back(&self, list: usize) -> Option<Slot> {
        let back = self.ends[list].back;
        (back != NIL).then_some(back)
    }

    /// The next slot towards the front.
    #[inline]
    pub fn ahead(&self, slot: Slot) -> Option<Slot> {
        let ahead = self.slots.value(slot).ahead;
        (ahead != NIL).then_some(ahead)
    }

    /// The slots of a list, from its back to its front.
    pub fn back_to_front(&self, list: usize) -> impl Iterator<Item = Slot> + '_ {
        std::iter::successors(self.back(list), |&slot| self.ahead(slot))
    }

    /// Skips refused slots until they are [`Entries::released`]. Earlier refusals do not count.
    pub fn expect_releases(&mut self) {
        (self.expects_releases, self.refusals) = (true, None);
    }

    /// Records that a slot can be evicted again.
    #[inline]
    pub fn released(&mut self, slot: Slot) {
        let list = self.list_of(slot);
        if let Some(refusals) = &mut self.refusals {
            refusals.release(list, slot, self.ends[list].len);
        }
    }

    /// The slot nearest to the back of a list for which `may_evict` returns true. The caller then replaces its key.
    #[inline]
    pub fn victim(&mut self, list: usize, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let back = self.back(list)?;
        if self.refusals.is_none() {
            if may_evict(back) {
                return Some(back);
            }
            if !self.expects_releases {
                return self.back_to_front(list).skip(1).find(|&slot| may_evict(slot));
            }
            self.track_refusals();
        }
        let refusals = self.refusals.as_mut()?;
        while let Some(slot) = refusals.next_released(list) {
            if may_evict(slot) {
                return Some(slot);
            }
        }
        let passed = refusals.passed(list);
        let mut at = passed.map_or(Some(back), |slot| self.ahead(slot));
        while let Some(slot) = at {
            if may_evict(slot) {
                return Some(slot);
            }
            if let Some(refusals) = &mut self.refusals {
                refusals.pass(list, slot);
            }
            at = self.ahead(slot);
        }
        None
    }

    /// Begins to track refused slots.
    #[cold]
    fn track_refusals(&mut self) {
        let mut refusals = Refusals::new();
        for list in 0..N {
            self.back_to_front(list).for_each(|slot| refusals.listed(slot, self.slots.capacity()));
        }
        self.refusals = Some(Box::new(refusals));
    }

    /// Moves `slot` to the front of a list.
    #[inline]
    pub fn move_front(&mut self, list: usize, slot: Slot) {
        if self.ends[list].front != slot {
            self.unlink(slot);
            self.push_front(list, slot);
        }
    }

    /// Puts `slot`, which is in no list, at the front of one.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a policy has a few lists")]
    fn push_front(&mut self, list: usize, slot: Slot) {
        if N > 1 {
            resize_within(&mut self.list, slot, 0, self.slots.capacity());
            self.list[slot as usize] = list as u8;
        }
        let ends = &mut self.ends[list];
        *self.slots.value_mut(slot) = Links { ahead: NIL, behind: ends.front };
        if ends.front == NIL {
            ends.back = slot;
        } else {
            self.slots.value_mut(ends.front).ahead = slot;
        }
        ends.front = slot;
        ends.len += 1;
        if let Some(refusals) = &mut self.refusals {
            refusals.listed(slot, self.slots.capacity());
        }
    }

    /// Removes `slot` from its list.
    #[inline]
    fn unlink(&mut self, slot: Slot) {
        let Links { ahead, behind } = *self.slots.value(slot);
        let list = self.list_of(slot);
        let ends = &mut self.ends[list];
        if ahead == NIL {
            ends.front = behind;
        } else {
            self.slots.value_mut(ahead).behind = behind;
        }
        if behind == NIL {
            ends.back = ahead;
        } else {
            self.slots.value_mut(behind).ahead = ahead;
        }
        ends.len -= 1;
        if let Some(refusals) = &mut self.refusals {
            refusals.unlisted(list, slot, behind);
        }
    }

    /// Adds `key`, which must be missing, at the front of a list: to a free slot, or in place of `victim`.
    #[inline]
    pub fn admit(&mut self, list: usize, key: u64, victim: Option<Slot>) -> Admission {
        if let Some(slot) = victim {
            // Also at the front of the same list: a refusal of the old key does not apply to the new one.
            self.unlink(slot);
            self.push_front(list, slot);
            return Admission { slot, evicted: Some(self.slots.replace(slot, key)) };
        }
        let slot = self.slots.insert(key, UNLINKED);
        self.push_front(list, slot);
        Admission { slot, evicted: None }
    }

    /// Removes `key`.
    #[inline]
    pub fn remove(&mut self, key: u64) -> Option<Slot> {
        let slot = self.slots.remove(key)?;
        self.unlink(slot);
        Some(slot)
    }
}

/// Methods of a policy whose keys are in the field `entries`.
macro_rules! keeps_entries {
    () => {
        $crate::hierarchy::cache::replacement::slots::keeps_keys!(entries);

        fn remove(&mut self, key: u64) -> Option<Slot> {
            self.entries.remove(key)
        }
    };
}
pub(super) use keeps_entries;

/// Methods of such a policy whose victims all come from [`Entries::victim`].
macro_rules! remembers_refusals {
    () => {
        fn expect_releases(&mut self) {
            self.entries.expect_releases();
        }

        #[inline]
        fn released(&mut self, slot: Slot) {
            self.entries.released(slot);
        }
    };
}
pub(super) use remembers_refusals;
