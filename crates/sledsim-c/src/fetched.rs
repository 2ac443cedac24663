//! The requests whose completions have been fetched.

use std::collections::VecDeque;

/// Fetched completions by request number. Stores only the requests from the first pending one on.
#[derive(Clone, Debug, Default)]
pub struct Fetched {
    /// All requests before this one have been fetched.
    first: u64,
    is_fetched: VecDeque<bool>,
}

impl Fetched {
    /// Adds the next request.
    #[inline]
    pub fn add(&mut self) {
        self.is_fetched.push_back(false);
    }

    /// Returns true if the request was submitted and its completion has not been fetched.
    pub fn is_pending(&self, id: u64) -> bool {
        self.index_of(id).is_some_and(|index| !self.is_fetched[index])
    }

    /// Marks the completion of a request as fetched.
    #[inline]
    pub fn mark(&mut self, id: u64) {
        if let Some(index) = self.index_of(id) {
            self.is_fetched[index] = true;
        }
        while self.is_fetched.front() == Some(&true) {
            self.is_fetched.pop_front();
            self.first += 1;
        }
    }
    #[inline]
    fn index_of(&self, id: u64) -> Option<usize> {
        let index = usize::try_from(id.checked_sub(self.first)?).ok()?;
        (index < self.is_fetched.len()).then_some(index)
    }
}
