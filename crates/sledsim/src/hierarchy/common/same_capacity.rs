//! Lists whose allocated bytes somebody counts.

use std::collections::BinaryHeap;
use std::ops::{Deref, DerefMut};

/// A list whose clone has as much room as it has: where the bytes that are allocated are reported, a snapshot reports the same.
#[derive(Debug, Default)]
pub(in crate::hierarchy) struct SameCapacity<L>(pub L);

impl<L> Deref for SameCapacity<L> {
    type Target = L;

    #[inline]
    fn deref(&self) -> &L {
        &self.0
    }
}

impl<L> DerefMut for SameCapacity<L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut L {
        &mut self.0
    }
}

fn with_room<T: Clone>(values: &[T], room: usize) -> Vec<T> {
    let mut copy = Vec::new();
    copy.reserve_exact(room);
    copy.extend_from_slice(values);
    copy
}

impl<T: Clone> Clone for SameCapacity<Vec<T>> {
    fn clone(&self) -> Self {
        Self(with_room(&self.0, self.0.capacity()))
    }
}

impl<T: Clone + Ord> Clone for SameCapacity<BinaryHeap<T>> {
    fn clone(&self) -> Self {
        Self(with_room(self.0.as_slice(), self.0.capacity()).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_has_the_same_room() {
        for room in [0, 1, 5, 100] {
            let mut list = SameCapacity(Vec::new());
            list.reserve_exact(room);
            list.extend((0..room as u64).take(3));
            let mut heap = SameCapacity(BinaryHeap::with_capacity(room));
            heap.extend((0..room as u64).take(3));
            assert_eq!((list.clone().capacity(), list.clone().0), (list.capacity(), list.0.clone()));
            assert_eq!(
                (heap.clone().capacity(), heap.clone().0.into_vec()),
                (heap.capacity(), heap.0.clone().into_vec())
            );
        }
    }
}
