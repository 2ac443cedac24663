//! What only tests reach: how much there is of what a caching disk is made of.

use super::CachingDisk;

impl CachingDisk {
    /// Segments that MEMS has room for.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.table.len()
    }

    /// Segments and headers that the buffer has room for.
    #[must_use]
    pub fn buffer_room(&self) -> (u32, u32) {
        (self.buffer.capacity(), self.journal.capacity())
    }

    /// Bytes that its tables have allocated.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.table.memory_bytes()
    }
}
