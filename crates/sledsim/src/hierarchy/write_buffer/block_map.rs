//! The map between disk blocks and the blocks of the log that hold their newest copies.

use crate::convert::{to_u32, to_usize, wide_product};
use crate::fault::{Fault, Kind};

/// Number of consecutive disk blocks whose entries in the index are adjacent.
const GROUP: u64 = 8;

/// Golden ratio of 2^64: the multiplier of a Fibonacci hash.
const SCATTER: u64 = 0x9E37_79B9_7F4A_7C15;

/// A map between disk blocks and log blocks, in both directions. It takes 16 bytes for each block of the log: two entries of 4
/// bytes in an open-addressed index by disk block, and 8 bytes for the disk block that the log block holds.
#[derive(Clone, Debug)]
pub(super) struct BlockMap {
    /// Log blocks plus one; 0 for empty entries, which are at least half of them.
    index: Vec<u32>,
    /// By log block, the disk block of which it holds the newest copy, plus one; 0 if it holds none.
    disk_blocks: Vec<u64>,
}

impl BlockMap {
    /// An empty map for a log of `log_blocks` blocks.
    ///
    /// # Errors
    /// The log has more blocks than 32 bits can number.
    pub fn new(log_blocks: u64) -> Result<Self, Fault> {
        if log_blocks >= u64::from(u32::MAX) {
            let says = format!(" = {log_blocks} blocks: at most {} can be numbered", u32::MAX - 1);
            return Err(Fault::at(Kind::Misfit, "log_bytes").says(says));
        }
        let entries = (2 * log_blocks).next_multiple_of(GROUP);
        Ok(Self { index: vec![0; to_usize(entries)], disk_blocks: vec![0; to_usize(log_blocks)] })
    }

    /// Bytes allocated.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        std::mem::size_of_val(&*self.index) + std::mem::size_of_val(&*self.disk_blocks)
    }

    /// The first entry of the index that is tried for a disk block.
    fn home(&self, lbn: u64) -> usize {
        let groups = self.index.len() as u64 / GROUP;
        let scattered = (lbn / GROUP).wrapping_mul(SCATTER);
        let group = wide_product(scattered, groups).0;
        to_usize(group * GROUP + lbn % GROUP)
    }

    /// The entry of a disk block in the index, or the empty entry at which it would be inserted.
    fn entry(&self, lbn: u64) -> usize {
        let mut entry = self.home(lbn);
        loop {
            match self.index[entry] {
                0 => return entry,
                at if self.disk_blocks[at as usize - 1] == lbn + 1 => return entry,
                _ => entry = self.next(entry),
            }
        }
    }

    fn next(&self, entry: usize) -> usize {
        if entry + 1 == self.index.len() {
            0
        } else {
            entry + 1
        }
    }

    /// The log block that holds the newest copy of a disk block.
    pub fn find(&self, lbn: u64) -> Option<u32> {
        self.index[self.entry(lbn)].checked_sub(1)
    }

    /// The disk block of which a log block holds the newest copy.
    pub fn disk_block(&self, at: u32) -> Option<u64> {
        self.disk_blocks[at as usize].checked_sub(1)
    }

    /// Records that log block `at`, which was free, holds the newest copy of a disk block. Returns the log block that held it before.
    pub fn insert(&mut self, lbn: u64, at: u32) -> Option<u32> {
        let entry = self.entry(lbn);
        let before = self.index[entry].checked_sub(1);
        if let Some(before) = before {
            self.disk_blocks[before as usize] = 0;
        }
        self.index[entry] = at + 1;
        self.disk_blocks[at as usize] = lbn + 1;
        before
    }

    /// Records that log block `at` is free. Returns false if it was free already, because a newer copy has outdated it.
    pub fn remove(&mut self, at: u32) -> bool {
        let Some(lbn) = self.disk_block(at) else { return false };
        let entries = self.index.len();
        let distance = |from: usize, to: usize| (to + entries - from) % entries;
        let mut hole = self.entry(lbn);
        let mut entry = self.next(hole);
        // Entries that were displaced by the removed one move up.
        while let Some(other) = self.index[entry].checked_sub(1) {
            let home = self.home(self.disk_blocks[other as usize] - 1);
            if distance(home, entry) >= distance(hole, entry) {
                self.index[hole] = self.index[entry];
                hole = entry;
            }
            entry = self.next(entry);
        }
        self.index[hole] = 0;
        self.disk_blocks[at as usize] = 0;
        true
    }

    /// Number of blocks of the log.
    pub fn len(&self) -> u32 {
        to_u32(self.disk_blocks.len())
    }

    /// Returns true if both directions agree.
    pub fn is_consistent(&self) -> bool {
        let found = (0..self.len()).all(|at| self.disk_block(at).is_none_or(|lbn| self.find(lbn) == Some(at)));
        let mapped = self.disk_blocks.iter().filter(|&&lbn| lbn > 0).count();
        found && self.index.iter().filter(|&&at| at > 0).count() == mapped
    }

    /// Removes all blocks.
    pub fn clear(&mut self) {
        self.index.fill(0);
        self.disk_blocks.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::Stream;
    use std::collections::HashMap;

    #[test]
    fn the_map_agrees_with_two_hash_maps() {
        let mut random = Stream::new(3, "table");
        let mut map = BlockMap::new(500).unwrap();
        let (mut by_lbn, mut by_block): (HashMap<u64, u32>, HashMap<u32, u64>) = Default::default();
        for _ in 0..200_000 {
            let lbn = random.below(60) * [1, 8, 1_000_003][random.below(3) as usize];
            let at = random.below(500) as u32;
            if random.chance(0.6) && !by_block.contains_key(&at) {
                let before = by_lbn.insert(lbn, at);
                before.into_iter().for_each(|before| {
                    by_block.remove(&before);
                });
                by_block.insert(at, lbn);
                assert_eq!(map.insert(lbn, at), before);
            } else if random.chance(0.5) {
                let held = by_block.remove(&at);
                held.into_iter().for_each(|lbn| {
                    by_lbn.remove(&lbn);
                });
                assert_eq!(map.remove(at), held.is_some());
            }
            assert_eq!((map.find(lbn), map.disk_block(at)), (by_lbn.get(&lbn).copied(), by_block.get(&at).copied()));
        }
        assert!(by_lbn.len() > 20 && by_lbn.iter().all(|(&lbn, &at)| map.find(lbn) == Some(at)));
        map.clear();
        assert!((0..500).all(|at| map.disk_block(at).is_none()) && by_lbn.keys().all(|&lbn| map.find(lbn).is_none()));
    }

    #[test]
    fn a_log_block_takes_16_bytes_and_all_blocks_can_be_mapped() {
        let mut map = BlockMap::new(4096).unwrap();
        assert_eq!(map.bytes(), 16 * 4096);
        (0..4096).for_each(|at| assert_eq!(map.insert(u64::from(at) * 8, at), None));
        (0..4096).for_each(|at| assert_eq!(map.find(u64::from(at) * 8), Some(at)));
        assert_eq!(map.find(1), None);
        assert!(BlockMap::new(1 << 32).unwrap_err().to_string().contains("4294967296 blocks"));
    }
}
