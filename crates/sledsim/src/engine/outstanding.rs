//! Limits on the size of a request and on the outstanding requests, both counted in parts: these bound the memory of a run.

use crate::engine::component::Component;
use crate::limits::{BLOCKS_OF_A_REQUEST, PARTS_OF_A_REQUEST, PARTS_UNDER_WAY};
use crate::request::{Op, Request};

/// Bytes of a request that count as a part in runs that hold data.
pub(crate) const DATA_BYTES: u64 = 256;

/// The reason why a system refuses a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The request has no blocks or reaches beyond those of the root.
    OutOfRange,
    /// The request has more than [`BLOCKS_OF_A_REQUEST`] blocks or [`PARTS_OF_A_REQUEST`] parts, and is no reset.
    TooLarge,
    /// The request resets zones, and the root has none.
    NoZones,
}

/// Number of outstanding parts, if every request were cut into the smallest parts that any component makes. A request that is
/// never cut is one part.
#[derive(Clone, Debug, Default)]
pub(super) struct OutstandingParts {
    /// Size of the smallest part; `None` if requests are never cut.
    part_bytes: Option<u64>,
    /// Block size of the root.
    block_bytes: u64,
    outstanding: u64,
    /// True if the root has zones that can be reset.
    resets_zones: bool,
}

impl OutstandingParts {
    /// Adds a component, the new root.
    pub(super) fn add(&mut self, component: &dyn Component) {
        self.block_bytes = u64::from(component.block_bytes());
        self.resets_zones = component.resets_zones();
        let parts = component.part_blocks().map(|blocks| blocks.saturating_mul(self.block_bytes).max(1));
        self.part_bytes = self.part_bytes.into_iter().chain(parts).min();
    }

    /// Counts data in parts of [`DATA_BYTES`], too.
    pub(super) fn hold_data(&mut self) {
        self.part_bytes = self.part_bytes.into_iter().chain([DATA_BYTES]).min();
    }

    /// Number of parts of a request; a reset is never cut.
    #[inline]
    fn parts_of(&self, request: &Request) -> u64 {
        if request.op == Op::Reset {
            return 1;
        }
        self.parts_of_bytes(u64::from(request.blocks).saturating_mul(self.block_bytes))
    }

    /// Number of parts of so many bytes, at least 1: a flush has no bytes and counts, too.
    #[inline]
    pub(super) fn parts_of_bytes(&self, bytes: u64) -> u64 {
        self.part_bytes.map_or(1, |part_bytes| bytes.div_ceil(part_bytes).max(1))
    }

    /// Returns why a root with `capacity_blocks` refuses a request, or `None` if it accepts it.
    #[inline]
    pub(super) fn refusal(&self, request: &Request, capacity_blocks: u64) -> Option<Refusal> {
        if !request.fits(capacity_blocks) {
            return Some(Refusal::OutOfRange);
        }
        if request.op == Op::Reset {
            return (!self.resets_zones).then_some(Refusal::NoZones);
        }
        let many_blocks = u64::from(request.blocks) > BLOCKS_OF_A_REQUEST.most;
        (many_blocks || self.parts_of(request) > PARTS_OF_A_REQUEST.most).then_some(Refusal::TooLarge)
    }

    /// Counts the parts of an accepted request.
    #[inline]
    pub(super) fn begin(&mut self, request: &Request) {
        self.outstanding += self.parts_of(request);
    }

    /// Removes the parts of a completed request, unless it was refused.
    #[inline]
    pub(super) fn end(&mut self, request: &Request, capacity_blocks: u64) {
        if self.refusal(request, capacity_blocks).is_none() {
            self.outstanding -= self.parts_of(request);
        }
    }

    /// Removes all parts.
    pub(super) fn clear(&mut self) {
        self.outstanding = 0;
    }

    /// Returns true if more than [`PARTS_UNDER_WAY`] parts are outstanding.
    #[inline]
    pub(super) fn are_too_many(&self) -> bool {
        self.outstanding > PARTS_UNDER_WAY.most
    }
}
