//! Which block of the log holds the newest copy of which block of the disk.

use crate::convert::{to_u32, to_usize, wide_product};
use crate::fault::{Fault, Kind};

/// Disk blocks that follow each other and have their places in the index side by side.
const GROUP: u64 = 8;

/// Golden ratio of 2^64: neighbours come far apart.
const SCATTER: u64 = 0x9E37_79B9_7F4A_7C15;

/// A map both ways between blocks of the disk and blocks of the log. It takes 16 bytes for each block of the log: two places of
/// 4 bytes in an open-addressed index by disk block, and 8 bytes for the disk block that it holds.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// A log block, and one more; 0 where there is none. At least half of the places are empty.
    index: Vec<u32>,
    /// By log block, the disk block of which it holds the newest copy, and one more; 0 where it holds none.
    held: Vec<u64>,
}

impl Table {
    /// For a log of so many blocks.
    ///
    /// # Errors
    /// More than 32 bits can number.
    pub(super) fn new(log_blocks: u64) -> Result<Self, Fault> {
        if log_blocks >= u64::from(u32::MAX) {
            let says = format!(" = {log_blocks} blocks: at most {} can be numbered", u32::MAX - 1);
            return Err(Fault::at(Kind::Misfit, "log_bytes").says(says));
        }
        let places = (2 * log_blocks).next_multiple_of(GROUP);
        Ok(Self { index: vec![0; to_usize(places)], held: vec![0; to_usize(log_blocks)] })
    }

    /// Bytes that it takes.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        std::mem::size_of_val(&*self.index) + std::mem::size_of_val(&*self.held)
    }

    fn home(&self, lbn: u64) -> usize {
        let groups = self.index.len() as u64 / GROUP;
        let scattered = (lbn / GROUP).wrapping_mul(SCATTER);
        let group = wide_product(scattered, groups).0;
        to_usize(group * GROUP + lbn % GROUP)
    }

    /// The place of a disk block in the index, or the empty one where it would stand.
    fn place(&self, lbn: u64) -> usize {
        let mut place = self.home(lbn);
        loop {
            match self.index[place] {
                0 => return place,
                entry if self.held[entry as usize - 1] == lbn + 1 => return place,
                _ => place = self.next(place),
            }
        }
    }

    fn next(&self, place: usize) -> usize {
        if place + 1 == self.index.len() {
            0
        } else {
            place + 1
        }
    }

    /// The log block that holds the newest copy of a disk block, if any.
    pub(super) fn find(&self, lbn: u64) -> Option<u32> {
        self.index[self.place(lbn)].checked_sub(1)
    }

    /// The disk block of which a log block holds the newest copy, if any.
    pub(super) fn holds(&self, at: u32) -> Option<u64> {
        self.held[at as usize].checked_sub(1)
    }

    /// From now on log block `at`, which holds nothing, holds the newest copy of a disk block; returns which one did before.
    pub(super) fn put(&mut self, lbn: u64, at: u32) -> Option<u32> {
        let place = self.place(lbn);
        let before = self.index[place].checked_sub(1);
        if let Some(before) = before {
            self.held[before as usize] = 0;
        }
        self.index[place] = at + 1;
        self.held[at as usize] = lbn + 1;
        before
    }

    /// Log block `at` holds nothing any more; returns whether it held something.
    pub(super) fn remove(&mut self, at: u32) -> bool {
        let Some(lbn) = self.holds(at) else {
            // A newer copy has outdated it.
            return false;
        };
        let places = self.index.len();
        let distance = |from: usize, to: usize| (to + places - from) % places;
        let mut hole = self.place(lbn);
        let mut place = self.next(hole);
        // Whoever was pushed on by the one that goes moves up.
        while let Some(other) = self.index[place].checked_sub(1) {
            let home = self.home(self.held[other as usize] - 1);
            if distance(home, place) >= distance(hole, place) {
                self.index[hole] = self.index[place];
                hole = place;
            }
            place = self.next(place);
        }
        self.index[hole] = 0;
        self.held[at as usize] = 0;
        true
    }

    /// Log blocks of which it knows.
    pub(super) fn len(&self) -> u32 {
        to_u32(self.held.len())
    }

    /// Whether disk blocks and the log blocks that hold them name each other, and nothing else is in the index.
    pub(super) fn is_sound(&self) -> bool {
        let found = (0..self.len()).all(|at| self.holds(at).is_none_or(|lbn| self.find(lbn) == Some(at)));
        let held = self.held.iter().filter(|&&lbn| lbn > 0).count();
        found && self.index.iter().filter(|&&at| at > 0).count() == held
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.index.fill(0);
        self.held.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::Stream;
    use std::collections::HashMap;

    #[test]
    fn it_maps_as_two_maps_do() {
        let mut random = Stream::new(3, "table");
        let mut table = Table::new(500).unwrap();
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
                assert_eq!(table.put(lbn, at), before);
            } else if random.chance(0.5) {
                let held = by_block.remove(&at);
                held.into_iter().for_each(|lbn| {
                    by_lbn.remove(&lbn);
                });
                assert_eq!(table.remove(at), held.is_some());
            }
            assert_eq!((table.find(lbn), table.holds(at)), (by_lbn.get(&lbn).copied(), by_block.get(&at).copied()));
        }
        assert!(by_lbn.len() > 20 && by_lbn.iter().all(|(&lbn, &at)| table.find(lbn) == Some(at)));
        table.clear();
        assert!((0..500).all(|at| table.holds(at).is_none()) && by_lbn.keys().all(|&lbn| table.find(lbn).is_none()));
    }

    #[test]
    fn a_log_block_takes_16_bytes_and_a_full_log_fits() {
        let mut table = Table::new(4096).unwrap();
        assert_eq!(table.bytes(), 16 * 4096);
        (0..4096).for_each(|at| assert_eq!(table.put(u64::from(at) * 8, at), None));
        (0..4096).for_each(|at| assert_eq!(table.find(u64::from(at) * 8), Some(at)));
        assert_eq!(table.find(1), None);
        assert!(Table::new(1 << 32).unwrap_err().to_string().contains("4294967296 blocks"));
    }
}
