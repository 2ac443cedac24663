//! Requests under way at children, found again by their id without a search.

use crate::convert::to_u32;
use std::ops::{Index, IndexMut};

/// Bits of an id that say in which slot its ticket is: so many can be under way at once.
const SLOT_BITS: u32 = 24;

/// What a component has under way, each item with an id for its request.
///
/// Ids rise from one to the next, as schedulers want them, and are never used again.
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
    /// A new id, for `what`.
    ///
    /// # Panics
    /// With 2^24 under way, which no memory would hold the rest of, or after 2^40.
    pub fn insert(&mut self, what: T) -> u64 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            to_u32(self.slots.len() - 1)
        });
        assert!(slot >> SLOT_BITS == 0 && self.sequence >> (64 - SLOT_BITS) == 0, "ids have run out");
        let id = self.sequence << SLOT_BITS | u64::from(slot);
        self.sequence += 1;
        self.slots[slot as usize] = Some((id, what));
        id
    }

    /// Takes what an id was issued for, which is settled by that.
    ///
    /// # Panics
    /// If it was settled before, or issued by another.
    #[track_caller]
    pub fn take(&mut self, id: u64) -> T {
        self.remove(id).unwrap_or_else(|| panic!("{}", unknown(id)))
    }

    /// Takes what an id was issued for; `None` if it was settled before, or issued by another.
    pub fn remove(&mut self, id: u64) -> Option<T> {
        let slot = (id & ((1 << SLOT_BITS) - 1)) as u32;
        let held = self.slots.get_mut(slot as usize)?.take_if(|(held, _)| *held == id);
        held.map(|(_, what)| {
            self.free.push(slot);
            what
        })
    }

    /// Settles an id where nobody needs what it was issued for.
    pub fn discard(&mut self, id: u64) {
        let slot = (id & ((1 << SLOT_BITS) - 1)) as u32;
        if let Some(place) =
            self.slots.get_mut(slot as usize).filter(|place| place.as_ref().is_some_and(|it| it.0 == id))
        {
            *place = None;
            self.free.push(slot);
        }
    }

    /// What an id was issued for.
    fn get(&self, id: u64) -> Option<&T> {
        let slot = (id & ((1 << SLOT_BITS) - 1)) as usize;
        self.slots.get(slot)?.as_ref().filter(|(held, _)| *held == id).map(|(_, what)| what)
    }

    /// What an id was issued for.
    pub fn get_mut(&mut self, id: u64) -> Option<&mut T> {
        let slot = (id & ((1 << SLOT_BITS) - 1)) as usize;
        self.slots.get_mut(slot)?.as_mut().filter(|(held, _)| *held == id).map(|(_, what)| what)
    }

    /// The ids of what has a property.
    pub fn ids(&self, has: impl Fn(&T) -> bool) -> Vec<u64> {
        self.slots.iter().flatten().filter(|(_, what)| has(what)).map(|&(id, _)| id).collect()
    }

    /// How many are under way.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes all that are under way, in the order in which they were issued.
    pub fn drain(&mut self) -> Vec<T> {
        let mut held: Vec<(u64, T)> = self.slots.drain(..).flatten().collect();
        self.free.clear();
        held.sort_unstable_by_key(|&(id, _)| id);
        held.into_iter().map(|(_, what)| what).collect()
    }

    /// Forgets all that are under way; their ids stay used.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.free.clear();
    }
}

/// What an id was issued for and has not been settled.
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
    format!("nothing is under way as {} in slot {}", id >> SLOT_BITS, id & ((1 << SLOT_BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_rise_and_are_settled_once() {
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
