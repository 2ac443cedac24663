//! Lists whose clones keep their capacity, so that the reported memory use of a snapshot is that of the original.

use std::collections::BinaryHeap;
use std::ops::{Deref, DerefMut};

/// A list whose clone has the same capacity.
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

fn with_capacity<T: Clone>(values: &[T], capacity: usize) -> Vec<T> {
    let mut copy = Vec::new();
    copy.reserve_exact(capacity);
    copy.extend_from_slice(values);
    copy
}

impl<T: Clone> Clone for SameCapacity<Vec<T>> {
    fn clone(&self) -> Self {
        Self(with_capacity(&self.0, self.0.capacity()))
    }
}

impl<T: Clone + Ord> Clone for SameCapacity<BinaryHeap<T>> {
    fn clone(&self) -> Self {
        Self(with_capacity(self.0.as_slice(), self.0.capacity()).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_have_the_same_capacity() {
        for capacity in [0, 1, 5, 100] {
            let mut list = SameCapacity(Vec::new());
            list.reserve_exact(capacity);
            list.extend((0..capacity as u64).take(3));
            let mut heap = SameCapacity(BinaryHeap::with_capacity(capacity));
            heap.extend((0..capacity as u64).take(3));
            assert_eq!((list.clone().capacity(), list.clone().0), (list.capacity(), list.0.clone()));
            assert_eq!(
                (heap.clone().capacity(), heap.clone().0.into_vec()),
                (heap.capacity(), heap.0.clone().into_vec())
            );
        }
    }
}
