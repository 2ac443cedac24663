//! Doubly linked lists of slots, linked through arrays.

use super::index::NIL;
use super::slots::resize_within;
use super::Slot;

/// Neighbours of a slot in its list: towards the front, and towards the back.
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

/// `N` lists; a slot is in one of them or in none. 8 bytes per slot, and 1 more where there are several lists.
pub(super) struct Lists<const N: usize> {
    links: Vec<Links>,
    /// The list that a slot is in; empty where there is only one.
    list: Vec<u8>,
    ends: [Ends; N],
    capacity: u32,
}

impl<const N: usize> Lists<N> {
    /// Empty lists of slots below `capacity`.
    pub fn new(capacity: u32) -> Self {
        let ends = [Ends { front: NIL, back: NIL, len: 0 }; N];
        Self { links: Vec::new(), list: Vec::new(), ends, capacity }
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        self.links.capacity() * size_of::<Links>() + self.list.capacity()
    }

    /// Number of slots in a list.
    #[inline]
    pub const fn len(&self, list: usize) -> u32 {
        self.ends[list].len
    }

    /// The list that `slot` is in.
    #[inline]
    pub fn list_of(&self, slot: Slot) -> usize {
        if N == 1 {
            0
        } else {
            usize::from(self.list[slot as usize])
        }
    }

    /// The slot at the back of a list: the one that came to its front longest ago.
    #[inline]
    pub fn back(&self, list: usize) -> Option<Slot> {
        let back = self.ends[list].back;
        (back != NIL).then_some(back)
    }

    /// The next slot towards the front.
    #[inline]
    pub fn ahead(&self, slot: Slot) -> Option<Slot> {
        let ahead = self.links[slot as usize].ahead;
        (ahead != NIL).then_some(ahead)
    }

    /// The slots of a list, from its back to its front.
    pub fn back_to_front(&self, list: usize) -> impl Iterator<Item = Slot> + '_ {
        std::iter::successors(self.back(list), |&slot| self.ahead(slot))
    }

    /// The slot nearest to the back of a list that `may_evict` lets go.
    #[inline]
    pub fn victim(&self, list: usize, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let mut at = self.back(list);
        while let Some(slot) = at {
            if may_evict(slot) {
                return Some(slot);
            }
            at = self.ahead(slot);
        }
        None
    }

    /// Puts `slot`, which is in no list, at the front of one.
    #[inline]
    pub fn push_front(&mut self, list: usize, slot: Slot) {
        resize_within(&mut self.links, slot, UNLINKED, self.capacity);
        if N > 1 {
            resize_within(&mut self.list, slot, 0, self.capacity);
            self.list[slot as usize] = list as u8;
        }
        let ends = &mut self.ends[list];
        self.links[slot as usize] = Links { ahead: NIL, behind: ends.front };
        if ends.front == NIL {
            ends.back = slot;
        } else {
            self.links[ends.front as usize].ahead = slot;
        }
        ends.front = slot;
        ends.len += 1;
    }

    /// Takes `slot` out of the list that it is in.
    #[inline]
    pub fn unlink(&mut self, slot: Slot) {
        let list = self.list_of(slot);
        let Links { ahead, behind } = self.links[slot as usize];
        let ends = &mut self.ends[list];
        if ahead == NIL {
            ends.front = behind;
        } else {
            self.links[ahead as usize].behind = behind;
        }
        if behind == NIL {
            ends.back = ahead;
        } else {
            self.links[behind as usize].ahead = ahead;
        }
        ends.len -= 1;
    }

    /// Moves `slot` from the list that it is in to the front of one.
    #[inline]
    pub fn move_front(&mut self, list: usize, slot: Slot) {
        if self.ends[list].front != slot {
            self.unlink(slot);
            self.push_front(list, slot);
        }
    }
}
