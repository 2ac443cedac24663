//! The set of cylinders that have something pending.

/// Bits in a word, as a power of two.
const WORD_SHIFT: usize = 6;
const BIT_MASK: usize = (1 << WORD_SHIFT) - 1;

/// A set of integers below a fixed limit, as a hierarchical bit map: a bit of one level says whether a 64-bit word of
/// the level below has any bit set. A million cylinders take 130 KB and four levels; neighbours are found by looking
/// at no more than two words a level.
#[derive(Clone)]
pub(super) struct CylinderSet {
    /// Level 0 has one bit per cylinder; the last level is a single word.
    levels: Vec<Vec<u64>>,
}

impl CylinderSet {
    /// An empty set for cylinders below `limit`.
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

    pub(super) fn insert(&mut self, cylinder: u32) {
        let mut bit = cylinder as usize;
        for level in &mut self.levels {
            level[bit >> WORD_SHIFT] |= 1 << (bit & BIT_MASK);
            bit >>= WORD_SHIFT;
        }
    }

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

    /// The lowest member at or above `cylinder`.
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

    /// The highest member at or below `cylinder`, which is below the limit.
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

    /// From a set bit of level `depth` down to a cylinder, taking in each word the bit that `pick` names.
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
    fn finds_neighbours_across_a_million_cylinders() {
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
        fn agrees_with_an_ordered_set(
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
