//! Keys that were evicted and are remembered.

use super::entries::Entries;

/// `N` queues of at most `capacity` keys together: 32 bytes per key, and 1 more where there are several queues.
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

    /// The queue that `key` is in.
    #[inline]
    pub fn queue_of(&self, key: u64) -> Option<usize> {
        self.0.find(key).map(|slot| self.0.list_of(slot))
    }

    /// Forgets `key`; says whether it was remembered.
    #[inline]
    pub fn remove(&mut self, key: u64) -> bool {
        self.0.remove(key).is_some()
    }

    /// Forgets the oldest key of a queue.
    #[inline]
    pub fn forget_oldest(&mut self, queue: usize) {
        if let Some(slot) = self.0.back(queue) {
            self.0.remove(self.0.key(slot));
        }
    }

    /// Remembers `key`, which is in no queue. Where there is no room the oldest of the same queue is forgotten for it.
    #[inline]
    pub fn push(&mut self, queue: usize, key: u64) {
        if !self.0.is_full() {
            self.0.admit(queue, key, None);
        } else if let Some(oldest) = self.0.back(queue) {
            self.0.admit(queue, key, Some(oldest));
        }
    }
}
