//! Locks on ranges of blocks, shared or exclusive.

use std::collections::{BTreeMap, VecDeque};

use super::{BlockRange, Outstanding};

/// A lock, or the wait for one.
#[derive(Clone, Copy, Debug)]
struct Claim {
    owner: u64,
    range: BlockRange,
    is_exclusive: bool,
    is_granted: bool,
}

impl Claim {
    /// Returns true if `other` must wait for this claim: the ranges overlap, one of them is exclusive, and this one is granted or
    /// older.
    fn delays(&self, other: &Self) -> bool {
        let overlaps =
            self.range.from < other.range.to && other.range.from < self.range.to && self.owner != other.owner;
        overlaps && (self.is_exclusive || other.is_exclusive) && (self.is_granted || self.owner < other.owner)
    }
}

/// Locks on ranges. Conflicting locks are granted in the order of their owners, whose numbers rise.
#[derive(Clone, Debug, Default)]
pub struct RangeLocks {
    /// By first block and owner.
    claims: BTreeMap<(u64, u64), Claim>,
    /// Length of the longest range so far.
    longest_blocks: u64,
}

impl RangeLocks {
    /// The claims that may overlap a range.
    fn near(&self, range: BlockRange) -> impl Iterator<Item = &Claim> {
        let first = range.from.saturating_sub(self.longest_blocks);
        self.claims.range((first, 0)..(range.to, 0)).map(|(_, claim)| claim)
    }

    /// Locks a range for an owner, which must be later than all before it. Returns false if the owner has to wait until
    /// [`RangeLocks::release`] grants the lock.
    pub fn lock(&mut self, owner: u64, range: BlockRange, is_exclusive: bool) -> bool {
        let mut claim = Claim { owner, range, is_exclusive, is_granted: false };
        claim.is_granted = !self.near(range).any(|other| other.delays(&claim));
        self.longest_blocks = self.longest_blocks.max(range.blocks());
        self.claims.insert((range.from, owner), claim);
        claim.is_granted
    }

    /// Releases a lock, or ends the wait for it. Adds the owners whose locks are granted by it to `granted`.
    pub fn release(&mut self, owner: u64, range: BlockRange, granted: &mut VecDeque<u64>) {
        let released = self.claims.remove(&(range.from, owner));
        debug_assert!(released.is_some(), "owner {owner} releases a range that it has not locked");
        let waiting = self
            .near(range)
            .filter(|claim| !claim.is_granted && claim.range.from < range.to && range.from < claim.range.to);
        let mut waiting: Vec<Claim> = waiting.copied().collect();
        waiting.sort_unstable_by_key(|claim| claim.owner);
        for claim in waiting {
            if !self.near(claim.range).any(|other| other.delays(&claim)) {
                self.claims.insert((claim.range.from, claim.owner), Claim { is_granted: true, ..claim });
                granted.push_back(claim.owner);
            }
        }
    }

    /// The end of the part of a range, from its first block on, that has neither locks nor waiting owners.
    pub fn free_to(&self, range: BlockRange) -> u64 {
        let claimed = self.near(range).filter(|claim| claim.range.to > range.from);
        claimed.map(|claim| claim.range.from.max(range.from)).min().unwrap_or(range.to)
    }

    /// Returns true if there are no locks and no waiting owners.
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    /// Removes all locks and waiting owners.
    pub fn clear(&mut self) {
        self.claims.clear();
    }
}

/// Locks on ranges that store the action to take once each lock is granted.
#[derive(Clone, Debug)]
pub struct LockQueue<A> {
    locks: RangeLocks,
    /// The actions of locks that wait, or that have been granted and not been taken.
    actions: Outstanding<A>,
    granted: VecDeque<u64>,
}

impl<A> Default for LockQueue<A> {
    fn default() -> Self {
        Self { locks: RangeLocks::default(), actions: Outstanding::default(), granted: VecDeque::new() }
    }
}

/// A lock of a [`LockQueue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lock {
    /// Its number.
    pub id: u64,
    /// The locked blocks.
    pub range: BlockRange,
}

/// A lock that was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockRequest {
    /// The lock.
    pub lock: Lock,
    /// True if it was granted at once.
    pub is_granted: bool,
}

impl<A> LockQueue<A> {
    /// Requests a lock. [`LockQueue::next_granted`] returns its action once it is granted.
    pub fn lock(&mut self, action: A, range: BlockRange, is_exclusive: bool) -> LockRequest {
        let id = self.actions.insert(action);
        let is_granted = self.locks.lock(id, range, is_exclusive);
        if is_granted {
            self.granted.push_back(id);
        }
        LockRequest { lock: Lock { id, range }, is_granted }
    }

    /// Releases a granted lock.
    pub fn release(&mut self, lock: Lock) {
        self.locks.release(lock.id, lock.range, &mut self.granted);
    }

    /// Releases a lock that may not have been granted, and drops its action.
    pub fn cancel(&mut self, lock: Lock) {
        self.actions.remove(lock.id);
        self.release(lock);
    }

    /// Returns id and action of the next granted lock that was not cancelled.
    pub fn next_granted(&mut self) -> Option<(u64, A)> {
        while let Some(id) = self.granted.pop_front() {
            if let Some(action) = self.actions.remove(id) {
                return Some((id, action));
            }
        }
        None
    }

    /// Returns true if a granted lock was not returned by [`LockQueue::next_granted`] yet.
    pub fn any_granted(&self) -> bool {
        !self.granted.is_empty()
    }

    /// Returns true if there are no locks and no waiting owners.
    pub fn is_empty(&self) -> bool {
        self.locks.is_empty()
    }

    /// Removes all locks and actions.
    pub fn clear(&mut self) {
        self.locks.clear();
        self.actions.clear();
        self.granted.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(from: u64, to: u64) -> BlockRange {
        BlockRange::new(from, to)
    }

    #[test]
    fn conflicting_locks_are_granted_in_order() {
        let mut locks = RangeLocks::default();
        assert!(locks.lock(1, range(0, 8), false) && locks.lock(2, range(4, 12), false), "shared locks overlap");
        assert!(locks.lock(3, range(12, 16), true));
        assert!(!locks.lock(4, range(7, 13), true));
        // A shared lock waits behind an exclusive one that waits, or that might wait for ever.
        assert!(!locks.lock(5, range(8, 9), false));
        let mut granted = VecDeque::new();
        for (owner, released, expected) in [
            (1, range(0, 8), vec![]),
            (3, range(12, 16), vec![]),
            (2, range(4, 12), vec![4]),
            (4, range(7, 13), vec![5]),
        ] {
            locks.release(owner, released, &mut granted);
            assert_eq!(granted.drain(..).collect::<Vec<_>>(), expected, "after {owner}");
        }
    }

    #[test]
    fn cancelled_locks_are_not_returned() {
        let mut queue = LockQueue::default();
        let requests = ["a", "b", "c"].map(|name| queue.lock(name, range(0, 4), true));
        assert_eq!(requests.map(|request| request.is_granted), [true, false, false]);
        let [a, b, c] = requests.map(|request| request.lock);
        assert!(queue.any_granted());
        assert_eq!(queue.next_granted(), Some((a.id, "a")));
        assert_eq!(queue.next_granted(), None);
        queue.cancel(b);
        queue.release(a);
        assert_eq!(queue.next_granted(), Some((c.id, "c")));
        assert!(!queue.is_empty());
        queue.release(c);
        assert!(queue.is_empty() && !queue.any_granted());
    }

    proptest! {
        /// No two conflicting locks are granted at once, and every lock is granted in the end.
        #[test]
        fn locks_exclude_each_other_and_are_granted(
            claims in prop::collection::vec((0..40_u64, 1..12_u64, any::<bool>()), 1..40), picks in any::<u64>(),
        ) {
            let mut locks = RangeLocks::default();
            let mut held: Vec<u64> = Vec::new();
            let range_of = |owner: u64| {
                let (from, blocks, _) = claims[owner as usize];
                range(from, from + blocks)
            };
            let mut released = 0;
            let mut pick = picks;
            let check = |held: &[u64]| held.iter().all(|&a| held.iter().all(|&b| {
                let (left, right) = (range_of(a), range_of(b));
                a == b || left.to <= right.from || right.to <= left.from || !(claims[a as usize].2 || claims[b as usize].2)
            }));
            for (owner, &(_, _, is_exclusive)) in claims.iter().enumerate() {
                if locks.lock(owner as u64, range_of(owner as u64), is_exclusive) {
                    held.push(owner as u64);
                }
                prop_assert!(check(&held));
            }
            while !held.is_empty() {
                pick = pick.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let owner = held.swap_remove((pick >> 33) as usize % held.len());
                let mut granted = VecDeque::new();
                locks.release(owner, range_of(owner), &mut granted);
                held.extend(granted);
                released += 1;
                prop_assert!(check(&held));
            }
            prop_assert_eq!(released, claims.len());
        }
    }
}
