//! Outstanding items of a component, found by request id in constant time.

use std::ops::{Index, IndexMut};

use crate::convert::to_u32;

/// Bits of an id that hold the slot: the limit of outstanding items.
const SLOT_BITS: u32 = 24;

/// Outstanding items of a component, each with an id for its request. All operations on one item take constant time.
///
/// Ids rise, as schedulers expect, and are never reused.
#[derive(Clone, Debug)]
pub struct Outstanding<T> {
    slots: Vec<Option<(u64, T)>>,
    free: Vec<u32>,
    sequence: u64,
}

impl<T> Default for Outstanding<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), sequence: 0 }
    }
}

impl<T> Outstanding<T> {
    /// Adds an item and returns its new id.
    ///
    /// # Panics
    /// 2^24 items are outstanding, or 2^40 have been added.
    pub fn insert(&mut self, item: T) -> u64 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            to_u32(self.slots.len() - 1)
        });
        assert!(slot >> SLOT_BITS == 0 && self.sequence >> (64 - SLOT_BITS) == 0, "ids have run out");
        let id = self.sequence << SLOT_BITS | u64::from(slot);
        self.sequence += 1;
        self.slots[slot as usize] = Some((id, item));
        id
    }

    /// Removes and returns an item.
    ///
    /// # Panics
    /// No item has this id.
    #[track_caller]
    pub fn take(&mut self, id: u64) -> T {
        self.remove(id).unwrap_or_else(|| panic!("{}", unknown(id)))
    }

    /// Removes and returns an item; `None` if no item has this id.
    pub fn remove(&mut self, id: u64) -> Option<T> {
        let slot = (id & ((1 << SLOT_BITS) - 1)) as u32;
        let held = self.slots.get_mut(slot as usize)?.take_if(|(held, _)| *held == id);
        held.map(|(_, item)| {
            self.free.push(slot);
            item
        })
    }

    /// Drops an item in place, without moving it.
    pub fn discard(&mut self, id: u64) {
        let slot = (id & ((1 << SLOT_BITS) - 1)) as u32;
        let held = self.slots.get_mut(slot as usize).filter(|held| held.as_ref().is_some_and(|it| it.0 == id));
        if let Some(held) = held {
            *held = None;
            self.free.push(slot);
        }
    }

    /// An item; `None` if no item has this id.
    fn get(&self, id: u64) -> Option<&T> {
        let slot = (id & ((1 << SLOT_BITS) - 1)) as usize;
        self.slots.get(slot)?.as_ref().filter(|(held, _)| *held == id).map(|(_, item)| item)
    }

    /// An item; `None` if no item has this id.
    pub fn get_mut(&mut self, id: u64) -> Option<&mut T> {
        let slot = (id & ((1 << SLOT_BITS) - 1)) as usize;
        self.slots.get_mut(slot)?.as_mut().filter(|(held, _)| *held == id).map(|(_, item)| item)
    }

    /// The ids of the items that match.
    pub fn ids(&self, matches: impl Fn(&T) -> bool) -> Vec<u64> {
        self.slots.iter().flatten().filter(|(_, item)| matches(item)).map(|&(id, _)| id).collect()
    }

    /// Number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Returns true if there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all items, in the order in which they were added.
    pub fn drain(&mut self) -> Vec<T> {
        let mut held: Vec<(u64, T)> = self.slots.drain(..).flatten().collect();
        self.free.clear();
        held.sort_unstable_by_key(|&(id, _)| id);
        held.into_iter().map(|(_, item)| item).collect()
    }

    /// Removes all items. Their ids are not reused.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.free.clear();
    }
}

impl<T> Index<u64> for Outstanding<T> {
    type Output = T;

    #[track_caller]
    fn index(&self, id: u64) -> &T {
        self.get(id).unwrap_or_else(|| panic!("{}", unknown(id)))
    }
}

impl<T> IndexMut<u64> for Outstanding<T> {
    #[track_caller]
    fn index_mut(&mut self, id: u64) -> &mut T {
        self.get_mut(id).unwrap_or_else(|| panic!("{}", unknown(id)))
    }
}

fn unknown(id: u64) -> String {
    format!("no item is outstanding with number {} in slot {}", id >> SLOT_BITS, id & ((1 << SLOT_BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_rise_and_items_are_removed_once() {
        let mut outstanding = Outstanding::default();
        let ids: Vec<u64> = (0..5).map(|item| outstanding.insert(item)).collect();
        assert_eq!((outstanding.remove(ids[2]), outstanding.remove(ids[2]), outstanding.len()), (Some(2), None, 4));
        let again = outstanding.insert(9);
        assert!(ids.iter().all(|&id| id < again), "a slot used again has a new id");
        assert_eq!((outstanding.get_mut(again).copied(), outstanding.get_mut(ids[2]).copied()), (Some(9), None));
        outstanding.clear();
        assert!(outstanding.is_empty() && outstanding.remove(again).is_none() && outstanding.insert(1) > again);
    }
}
