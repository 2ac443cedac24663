//! What only tests reach: what was written, and that a block found after a cut stays as it is.

use super::Oracle;

impl Oracle {
    /// Every block that was ever written.
    #[must_use]
    pub fn blocks(&self) -> Vec<u64> {
        self.blocks.keys().copied().collect()
    }

    /// A block was found to hold a write after a cut: so it stays.
    pub fn settle(&mut self, block: u64, id: u64) {
        let tick = self.tick();
        let writes = self.writes(block);
        writes.retain(|write| write.id == id);
        writes.iter_mut().for_each(|write| (write.acknowledged, write.promised) = (Some(tick), Some(tick)));
    }
}
