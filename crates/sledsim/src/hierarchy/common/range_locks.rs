//! Who may work on which LBNs at once.

use std::collections::{BTreeMap, VecDeque};

/// LBNs that an operation works on, or wants to.
#[derive(Clone, Copy, Debug)]
struct Claim {
    operation: u64,
    from: u64,
    to: u64,
    exclusive: bool,
    held: bool,
}

impl Claim {
    /// Whether it keeps another one waiting: it overlaps it, one of them is exclusive, and it has its lock or came first.
    fn delays(&self, other: &Self) -> bool {
        let overlaps = self.from < other.to && other.from < self.to && self.operation != other.operation;
        overlaps && (self.exclusive || other.exclusive) && (self.held || self.operation < other.operation)
    }
}

/// RangeLocks on ranges of LBNs, given in the order of operations among those that exclude each other.
#[derive(Clone, Debug, Default)]
pub struct RangeLocks {
    /// By where they begin, and operation.
    claims: BTreeMap<(u64, u64), Claim>,
    /// Length of the longest claim there has been.
    longest_blocks: u64,
}

impl RangeLocks {
    /// LockQueue that may overlap a range.
    fn near(&self, (from, to): (u64, u64)) -> impl Iterator<Item = &Claim> {
        self.claims.range((from.saturating_sub(self.longest_blocks), 0)..(to, 0)).map(|(_, claim)| claim)
    }

    /// RangeLocks a range; `false` if the operation, the latest so far, has to wait until [`RangeLocks::release`] names it.
    pub fn claim(&mut self, operation: u64, range @ (from, to): (u64, u64), exclusive: bool) -> bool {
        let mut claim = Claim { operation, from, to, exclusive, held: false };
        claim.held = !self.near(range).any(|other| other.delays(&claim));
        self.longest_blocks = self.longest_blocks.max(to - from);
        self.claims.insert((from, operation), claim);
        claim.held
    }

    /// Gives up the lock of an operation on a range, or its wait for it; adds to `granted` who has got one by it.
    pub fn release(&mut self, operation: u64, range: (u64, u64), granted: &mut VecDeque<u64>) {
        let given_up = self.claims.remove(&(range.0, operation));
        debug_assert!(given_up.is_some(), "operation {operation} gives up what it has not claimed");
        let waiting = self.near(range).filter(|claim| !claim.held && claim.from < range.1 && range.0 < claim.to);
        let mut waiting: Vec<Claim> = waiting.copied().collect();
        waiting.sort_unstable_by_key(|claim| claim.operation);
        for claim in waiting {
            if !self.near((claim.from, claim.to)).any(|other| other.delays(&claim)) {
                self.claims.insert((claim.from, claim.operation), Claim { held: true, ..claim });
                granted.push_back(claim.operation);
            }
        }
    }

    /// Up to which LBN of a range nobody has or wants a lock.
    pub fn free_to(&self, range @ (from, to): (u64, u64)) -> u64 {
        let claimed = self.near(range).filter(|claim| claim.to > from).map(|claim| claim.from.max(from));
        claimed.min().unwrap_or(to)
    }

    /// Whether nobody has or wants a lock.
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    /// Nobody has or wants a lock any more.
    pub fn clear(&mut self) {
        self.claims.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn those_that_exclude_each_other_follow_in_order() {
        let mut locks = RangeLocks::default();
        assert!(locks.claim(1, (0, 8), false) && locks.claim(2, (4, 12), false), "readers share");
        assert!(locks.claim(3, (12, 16), true));
        assert!(!locks.claim(4, (7, 13), true));
        // A reader waits behind the writer that waits, or the writer might wait for ever.
        assert!(!locks.claim(5, (8, 9), false));
        let mut granted = VecDeque::new();
        for (released, range, expected) in
            [(1, (0, 8), vec![]), (3, (12, 16), vec![]), (2, (4, 12), vec![4]), (4, (7, 13), vec![5])]
        {
            locks.release(released, range, &mut granted);
            assert_eq!(granted.drain(..).collect::<Vec<_>>(), expected, "after {released}");
        }
    }

    proptest! {
        /// Against every pair: nobody holds what another excludes, and everybody gets a lock in the end.
        #[test]
        fn locks_exclude_and_are_granted(
            claims in prop::collection::vec((0..40_u64, 1..12_u64, any::<bool>()), 1..40), picks in any::<u64>(),
        ) {
            let mut locks = RangeLocks::default();
            let mut held: Vec<u64> = Vec::new();
            let range = |operation: u64| {
                let (from, blocks, _) = claims[operation as usize];
                (from, from + blocks)
            };
            let mut over = 0;
            let mut pick = picks;
            let check = |held: &[u64]| held.iter().all(|&a| held.iter().all(|&b| {
                let (left, right) = (range(a), range(b));
                a == b || left.1 <= right.0 || right.1 <= left.0 || !(claims[a as usize].2 || claims[b as usize].2)
            }));
            for (operation, &(_, _, exclusive)) in claims.iter().enumerate() {
                if locks.claim(operation as u64, range(operation as u64), exclusive) {
                    held.push(operation as u64);
                }
                prop_assert!(check(&held));
            }
            while !held.is_empty() {
                pick = pick.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let released = held.swap_remove((pick >> 33) as usize % held.len());
                let mut granted = VecDeque::new();
                locks.release(released, range(released), &mut granted);
                held.extend(granted);
                over += 1;
                prop_assert!(check(&held));
            }
            prop_assert_eq!(over, claims.len());
        }
    }
}
