//! The set of cylinders with pending requests.

use crate::convert::to_u32;

/// Binary logarithm of the bits in a word.
const WORD_SHIFT: usize = 6;
const BIT_MASK: usize = (1 << WORD_SHIFT) - 1;

/// A set of integers below a fixed limit, as a hierarchical bit map: a bit of one level is set if any bit of a 64-bit word of the level
/// below is. A million cylinders take 130 KB and four levels. A search for a neighbour reads at most two words of each level.
#[derive(Clone)]
pub(super) struct CylinderSet {
    /// Level 0 has one bit per cylinder; the last level is a single word.
    levels: Vec<Vec<u64>>,
}

impl CylinderSet {
    /// Returns an empty set for cylinders below `limit`.
    pub(super) fn new(limit: u32) -> Self {
        let mut levels = Vec::new();
        let mut words = limit as usize;
        loop {
            words = words.div_ceil(1 << WORD_SHIFT).max(1);
            levels.push(vec![0; words]);
            // There is a level of words.
            if words == 1 && levels.len() > 1 {
                return Self { levels };
            }
        }
    }

    /// Adds a cylinder.
    pub(super) fn insert(&mut self, cylinder: u32) {
        let mut bit = cylinder as usize;
        for level in &mut self.levels {
            level[bit >> WORD_SHIFT] |= 1 << (bit & BIT_MASK);
            bit >>= WORD_SHIFT;
        }
    }

    /// Removes a cylinder that is in the set.
    pub(super) fn remove(&mut self, cylinder: u32) {
        let mut bit = cylinder as usize;
        for level in &mut self.levels {
            let word = &mut level[bit >> WORD_SHIFT];
            *word &= !(1 << (bit & BIT_MASK));
            if *word != 0 {
                return;
            }
            bit >>= WORD_SHIFT;
        }
    }

    /// Returns the lowest member at or above `cylinder`.
    #[expect(clippy::cast_possible_truncation, reason = "a member is below the limit, which has 32 bits")]
    pub(super) fn at_or_above(&self, cylinder: u32) -> Option<u32> {
        Self::above(&self.levels, cylinder as usize).map(|found| found as u32)
    }

    /// Returns the highest member at or below `cylinder`, which is below the limit.
    #[expect(clippy::cast_possible_truncation, reason = "a member is below the limit, which has 32 bits")]
    pub(super) fn at_or_below(&self, cylinder: u32) -> Option<u32> {
        Self::below(&self.levels, cylinder as usize).map(|found| found as u32)
    }

    /// Returns the index of the first word from `word` on that has members.
    pub(super) fn word_at_or_above(&self, word: usize) -> Option<usize> {
        Self::above(&self.levels[1..], word)
    }

    /// Returns the index of the last word up to `word` that has members.
    pub(super) fn word_at_or_below(&self, word: usize) -> Option<usize> {
        Self::below(&self.levels[1..], word)
    }

    /// Returns the members among the cylinders of a word, in rising order.
    pub(super) fn members(&self, word: usize) -> impl Iterator<Item = u32> {
        let first = first_of(word);
        let mut bits = self.levels[0][word];
        std::iter::from_fn(move || {
            let next = (bits != 0).then(|| bits.trailing_zeros());
            bits &= bits.wrapping_sub(1);
            next.map(|bit| first + bit)
        })
    }

    /// Returns the lowest set bit at or above `bit` of the first of `levels`.
    fn above(levels: &[Vec<u64>], mut bit: usize) -> Option<usize> {
        for (depth, level) in levels.iter().enumerate() {
            let word = bit >> WORD_SHIFT;
            let bits = level.get(word)? & (u64::MAX << (bit & BIT_MASK));
            if bits != 0 {
                let found = word << WORD_SHIFT | bits.trailing_zeros() as usize;
                return Some(Self::descend(&levels[..depth], found, |bits| bits.trailing_zeros()));
            }
            bit = word + 1;
        }
        None
    }

    /// Returns the highest set bit of `levels[0]` at or below `bit`, which must be in range.
    fn below(levels: &[Vec<u64>], mut bit: usize) -> Option<usize> {
        for (depth, level) in levels.iter().enumerate() {
            let word = bit >> WORD_SHIFT;
            let bits = level[word] & (u64::MAX >> (BIT_MASK - (bit & BIT_MASK)));
            if bits != 0 {
                let found = word << WORD_SHIFT | (bits.ilog2() as usize);
                return Some(Self::descend(&levels[..depth], found, u64::ilog2));
            }
            bit = word.checked_sub(1)?;
        }
        None
    }

    /// Returns the bit of the first of `levels` below a set bit of the level after them; in each word, `pick` chooses the bit.
    fn descend(levels: &[Vec<u64>], mut bit: usize, pick: impl Fn(u64) -> u32) -> usize {
        for level in levels.iter().rev() {
            bit = bit << WORD_SHIFT | pick(level[bit]) as usize;
        }
        bit
    }
}

/// Returns the index of the word that holds a cylinder.
#[inline]
pub(super) const fn word_of(cylinder: u32) -> usize {
    cylinder as usize >> WORD_SHIFT
}

/// Returns the first cylinder of a word.
#[inline]
pub(super) fn first_of(word: usize) -> u32 {
    to_u32(word << WORD_SHIFT)
}

/// Returns the last cylinder of a word.
#[inline]
pub(super) fn last_of(word: usize) -> u32 {
    to_u32(word << WORD_SHIFT | BIT_MASK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn neighbours_across_a_million_cylinders() {
        let mut set = CylinderSet::new(1_000_000);
        assert_eq!((set.at_or_above(0), set.at_or_below(999_999)), (None, None));
        set.insert(3);
        set.insert(999_999);
        assert_eq!((set.at_or_above(0), set.at_or_above(3), set.at_or_above(4)), (Some(3), Some(3), Some(999_999)));
        assert_eq!((set.at_or_below(2), set.at_or_below(999_998)), (None, Some(3)));
        assert_eq!((set.at_or_above(1_000_000), set.levels.len()), (None, 4));
        set.remove(3);
        assert_eq!((set.at_or_above(0), set.at_or_below(999_998)), (Some(999_999), None));
    }

    proptest! {
        #[test]
        fn equals_an_ordered_set(
            limit in 1_u32..10_000,
            steps in prop::collection::vec((any::<bool>(), any::<u32>(), any::<u32>()), 1..200),
        ) {
            let mut set = CylinderSet::new(limit);
            let mut reference = BTreeSet::new();
            for (insert, cylinder, probe) in steps {
                let (cylinder, probe) = (cylinder % limit, probe % limit);
                if insert {
                    set.insert(cylinder);
                    reference.insert(cylinder);
                } else if let Some(&member) = reference.range(cylinder..).next() {
                    set.remove(member);
                    reference.remove(&member);
                }
                prop_assert_eq!(set.at_or_above(probe), reference.range(probe..).next().copied());
                prop_assert_eq!(set.at_or_below(probe), reference.range(..=probe).next_back().copied());
            }
        }
    }
}
