//! RangeLocks, and who has one or waits for it.

use std::collections::VecDeque;

use super::{Outstanding, RangeLocks};

/// RangeLocks on ranges, each with whom it is for: those who have to wait are handed out when their turn comes.
#[derive(Clone, Debug)]
pub struct LockQueue<H> {
    locks: RangeLocks,
    /// Who has been given a lock, or waits for one, and has not been handed out.
    holders: Outstanding<H>,
    granted: VecDeque<u64>,
}

impl<H> Default for LockQueue<H> {
    fn default() -> Self {
        Self { locks: RangeLocks::default(), holders: Outstanding::default(), granted: VecDeque::new() }
    }
}

impl<H> LockQueue<H> {
    /// Asks for a lock, which [`LockQueue::next_granted`] gives; its id, and whether it need not be waited for.
    pub fn claim(&mut self, holder: H, range: (u64, u64), exclusive: bool) -> (u64, bool) {
        let id = self.holders.insert(holder);
        let at_once = self.locks.claim(id, range, exclusive);
        if at_once {
            self.granted.push_back(id);
        }
        (id, at_once)
    }

    /// Gives a lock up.
    pub fn release(&mut self, id: u64, range: (u64, u64)) {
        self.locks.release(id, range, &mut self.granted);
    }

    /// Gives a lock up, or the wait for it.
    pub fn withdraw(&mut self, id: u64, range: (u64, u64)) {
        self.holders.remove(id);
        self.release(id, range);
    }

    /// The next who has been given a lock, with the id of that; nobody who has withdrawn.
    pub fn next_granted(&mut self) -> Option<(u64, H)> {
        while let Some(id) = self.granted.pop_front() {
            if let Some(holder) = self.holders.remove(id) {
                return Some((id, holder));
            }
        }
        None
    }

    /// Whether somebody has been given a lock and not been handed out.
    pub fn any_granted(&self) -> bool {
        !self.granted.is_empty()
    }

    /// Whether nobody has or wants a lock.
    pub fn is_empty(&self) -> bool {
        self.locks.is_empty()
    }

    /// Nobody has or wants a lock any more.
    pub fn clear(&mut self) {
        self.locks.clear();
        self.holders.clear();
        self.granted.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_handed_out_in_turn_and_who_withdraws_is_not() {
        let mut claims = LockQueue::default();
        let ids = ["a", "b", "c"].map(|name| claims.claim(name, (0, 4), true));
        assert_eq!(ids.map(|(_, at_once)| at_once), [true, false, false]);
        assert!(claims.any_granted());
        assert_eq!(claims.next_granted(), Some((ids[0].0, "a")));
        assert_eq!(claims.next_granted(), None);
        claims.withdraw(ids[1].0, (0, 4));
        claims.release(ids[0].0, (0, 4));
        assert_eq!(claims.next_granted(), Some((ids[2].0, "c")));
        assert!(!claims.is_empty());
        claims.release(ids[2].0, (0, 4));
        assert!(claims.is_empty() && !claims.any_granted());
    }
}
