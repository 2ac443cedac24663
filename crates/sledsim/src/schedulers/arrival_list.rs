//! A list of pending items in the order of arrival, with removal by key.

use crate::convert::to_u32;

/// Key of an item in an [`ArrivalList`]; reused after the item is removed.
///
/// 32 bits keep the links small; four billion pending requests would not fit in memory.
pub(super) type Key = u32;

/// The key of no item.
pub(super) const NONE: Key = Key::MAX;

/// A doubly linked list in a slab: push and removal take constant time, and iteration goes from the oldest item to the newest.
#[derive(Clone)]
pub(super) struct ArrivalList<T> {
    nodes: Vec<Node<T>>,
    /// First unused node; the others are linked through `newer`.
    free: Key,
    oldest: Key,
    newest: Key,
    len: usize,
    next_seq: u64,
}

#[derive(Clone)]
struct Node<T> {
    item: T,
    seq: u64,
    older: Key,
    newer: Key,
}

impl<T: Copy> ArrivalList<T> {
    /// Returns an empty list.
    pub(super) const fn new() -> Self {
        Self { nodes: Vec::new(), free: NONE, oldest: NONE, newest: NONE, len: 0, next_seq: 0 }
    }

    /// Returns the number of items.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Appends an item and returns its key.
    pub(super) fn push(&mut self, item: T) -> Key {
        let node = Node { item, seq: self.next_seq, older: self.newest, newer: NONE };
        self.next_seq += 1;
        let key = if self.free == NONE {
            self.nodes.push(node);
            to_u32(self.nodes.len() - 1)
        } else {
            let key = self.free;
            self.free = self.nodes[key as usize].newer;
            self.nodes[key as usize] = node;
            key
        };
        if self.newest == NONE {
            self.oldest = key;
        } else {
            self.nodes[self.newest as usize].newer = key;
        }
        self.newest = key;
        self.len += 1;
        key
    }

    /// Removes and returns the item of a key in the list.
    pub(super) fn remove(&mut self, key: Key) -> T {
        let Node { item, older, newer, .. } = self.nodes[key as usize];
        if older == NONE {
            self.oldest = newer;
        } else {
            self.nodes[older as usize].newer = newer;
        }
        if newer == NONE {
            self.newest = older;
        } else {
            self.nodes[newer as usize].older = older;
        }
        self.nodes[key as usize].newer = self.free;
        self.free = key;
        self.len -= 1;
        item
    }

    /// Returns the item of a key in the list.
    pub(super) fn get(&self, key: Key) -> &T {
        &self.nodes[key as usize].item
    }

    /// Returns the item of a key in the list, to be changed.
    pub(super) fn get_mut(&mut self, key: Key) -> &mut T {
        &mut self.nodes[key as usize].item
    }

    /// Returns the number of items that were pushed before the item of a key.
    pub(super) fn seq(&self, key: Key) -> u64 {
        self.nodes[key as usize].seq
    }

    /// Returns the key of the oldest item; [`NONE`] if the list is empty.
    pub(super) const fn oldest(&self) -> Key {
        self.oldest
    }

    /// Returns the key of the next newer item; [`NONE`] after the newest.
    pub(super) fn newer(&self, key: Key) -> Key {
        self.nodes[key as usize].newer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(list: &ArrivalList<char>) -> String {
        let mut text = String::new();
        let mut key = list.oldest();
        while key != NONE {
            text.push(*list.get(key));
            key = list.newer(key);
        }
        text
    }

    #[test]
    fn arrival_order_survives_removals_and_reuse_of_keys() {
        let mut list = ArrivalList::new();
        let keys: Vec<Key> = "abcd".chars().map(|c| list.push(c)).collect();
        assert_eq!(items(&list), "abcd");
        assert_eq!(list.remove(keys[1]), 'b');
        assert_eq!(list.remove(keys[3]), 'd');
        assert_eq!(items(&list), "ac");
        let e = list.push('e');
        assert_eq!(items(&list), "ace");
        assert_eq!(e, keys[3], "the last freed key is reused first");
        assert_eq!((list.seq(keys[0]), list.seq(keys[2]), list.seq(e)), (0, 2, 4));
        assert_eq!(list.remove(keys[0]), 'a');
        assert_eq!(list.remove(e), 'e');
        assert_eq!(list.remove(keys[2]), 'c');
        assert_eq!((items(&list), list.len(), list.oldest()), (String::new(), 0, NONE));
    }
}
