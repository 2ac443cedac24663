//! How much is done between two looks at the clock and the caller.

use crate::request::Request;

/// Work between two looks: an event counts as 1, and so do so many blocks of a request.
const CHECK_EVERY: u64 = 64;
const BLOCKS_PER_STEP: u32 = 256;

/// Counts work, and says when it is time to look up.
#[derive(Clone, Default)]
pub(super) struct Work {
    steps: u64,
}

impl Work {
    #[inline]
    pub(super) fn is_due(&mut self) -> bool {
        self.steps += 1;
        if self.steps < CHECK_EVERY {
            return false;
        }
        self.steps = 0;
        true
    }

    /// What was done may have taken long: it is time to look up.
    #[inline]
    pub(super) fn was_long(&mut self) {
        self.steps = CHECK_EVERY;
    }

    /// A large request is a lot of work at once.
    #[inline]
    pub(super) fn charge(&mut self, request: &Request) {
        self.steps += u64::from(request.blocks / BLOCKS_PER_STEP);
    }
}
