//! Ghosts: evicted keys that a policy remembers.

use super::entries::Entries;

/// `N` queues of at most `capacity` keys together: 32 bytes per key, and 1 more if there are several queues.
#[derive(Clone)]
pub(super) struct Ghosts<const N: usize>(Entries<N>);

impl<const N: usize> Ghosts<N> {
    /// Empty queues.
    pub fn new(capacity: u32) -> Self {
        Self(Entries::new(capacity))
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        self.0.memory_bytes()
    }

    /// Number of keys in a queue.
    pub const fn len(&self, queue: usize) -> u32 {
        self.0.len_of(queue)
    }

    /// The queue of `key`.
    #[inline]
    pub fn queue_of(&self, key: u64) -> Option<usize> {
        self.0.find(key).map(|slot| self.0.list_of(slot))
    }

    /// Removes `key`. Returns true if it was in a queue.
    #[inline]
    pub fn remove(&mut self, key: u64) -> bool {
        self.0.remove(key).is_some()
    }

    /// Removes the oldest key of a queue.
    #[inline]
    pub fn remove_oldest(&mut self, queue: usize) {
        if let Some(slot) = self.0.back(queue) {
            self.0.remove(self.0.key(slot));
        }
    }

    /// Adds `key`, which is in no queue. If all places are taken, it replaces the oldest key of the same queue.
    #[inline]
    pub fn push(&mut self, queue: usize, key: u64) {
        if !self.0.is_full() {
            self.0.admit(queue, key, None);
        } else if let Some(oldest) = self.0.back(queue) {
            self.0.admit(queue, key, Some(oldest));
        }
    }
}
