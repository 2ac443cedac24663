//! The set of cylinders with pending requests.

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
            if words == 1 {
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
    pub(super) fn at_or_above(&self, cylinder: u32) -> Option<u32> {
        let mut bit = cylinder as usize;
        for (depth, level) in self.levels.iter().enumerate() {
            let word = bit >> WORD_SHIFT;
            let bits = level.get(word)? & (u64::MAX << (bit & BIT_MASK));
            if bits != 0 {
                let found = word << WORD_SHIFT | bits.trailing_zeros() as usize;
                return Some(self.descend(depth, found, |bits| bits.trailing_zeros()));
            }
            bit = word + 1;
        }
        None
    }

    /// Returns the highest member at or below `cylinder`, which is below the limit.
    pub(super) fn at_or_below(&self, cylinder: u32) -> Option<u32> {
        let mut bit = cylinder as usize;
        for (depth, level) in self.levels.iter().enumerate() {
            let word = bit >> WORD_SHIFT;
            let bits = level[word] & (u64::MAX >> (BIT_MASK - (bit & BIT_MASK)));
            if bits != 0 {
                let found = word << WORD_SHIFT | (bits.ilog2() as usize);
                return Some(self.descend(depth, found, u64::ilog2));
            }
            bit = word.checked_sub(1)?;
        }
        None
    }

    /// Returns the cylinder below a set bit of level `depth`; in each word, `pick` chooses the bit.
    #[expect(clippy::cast_possible_truncation, reason = "a member is below the limit, which has 32 bits")]
    fn descend(&self, depth: usize, mut bit: usize, pick: impl Fn(u64) -> u32) -> u32 {
        for level in self.levels[..depth].iter().rev() {
            bit = bit << WORD_SHIFT | pick(level[bit]) as usize;
        }
        bit as u32
    }
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
