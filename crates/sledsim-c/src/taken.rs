//! Which requests have had their completions fetched.

use std::collections::VecDeque;

/// Requests by number, from 0 on, and whether the completion of each has been fetched. It takes room for those from the first
/// that has not on.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// Of all before, it has.
    first: u64,
    rest: VecDeque<bool>,
}

impl Taken {
    /// A request more.
    #[inline]
    pub fn add(&mut self) {
        self.rest.push_back(false);
    }

    /// Whether a request is one whose completion is still to be fetched.
    pub fn is_due(&self, id: u64) -> bool {
        let place = id.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        place.and_then(|place| self.rest.get(place)).is_some_and(|taken| !taken)
    }

    /// Its completion is fetched.
    #[inline]
    pub fn take(&mut self, id: u64) {
        let place = id.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        if let Some(taken) = place.and_then(|place| self.rest.get_mut(place)) {
            *taken = true;
        }
        while self.rest.front() == Some(&true) {
            self.rest.pop_front();
            self.first += 1;
        }
    }
}
