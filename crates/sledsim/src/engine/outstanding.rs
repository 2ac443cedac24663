//! How many parts requests may be cut into, and are under way: that bounds what a run holds.

use crate::engine::component::Component;
use crate::limits::{BLOCKS_OF_A_REQUEST, PARTS_OF_A_REQUEST, PARTS_UNDER_WAY};
use crate::request::Request;

/// Bytes of a request that count as a part where a run holds the data of all that is under way.
pub(crate) const DATA_BYTES: u64 = 256;

/// Why a system does not take a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It has no blocks, or reaches beyond those of the root.
    OutOfRange,
    /// It is more than [`BLOCKS_OF_A_REQUEST`] or [`PARTS_OF_A_REQUEST`].
    TooLarge,
}

/// The parts of requests under way, as many as they would be if all were cut into the smallest that a component makes; a request
/// that goes on whole is one.
#[derive(Clone, Debug, Default)]
pub(super) struct OutstandingParts {
    /// Size of the smallest; none where requests go on whole.
    part_bytes: Option<u64>,
    /// Size of the root's blocks.
    block_bytes: u64,
    under_way: u64,
}

impl OutstandingParts {
    /// A component is added, the root so far.
    pub(super) fn add(&mut self, component: &dyn Component) {
        self.block_bytes = u64::from(component.block_bytes());
        let own = component.part_blocks().map(|blocks| blocks.saturating_mul(self.block_bytes).max(1));
        self.part_bytes = self.part_bytes.into_iter().chain(own).min();
    }

    /// Requests carry bytes from now on.
    pub(super) fn hold_data(&mut self) {
        self.part_bytes = self.part_bytes.into_iter().chain([DATA_BYTES]).min();
    }

    #[inline]
    fn of(&self, request: &Request) -> u64 {
        self.of_bytes(u64::from(request.blocks).saturating_mul(self.block_bytes))
    }

    /// Those of so many bytes. A flush has none, and is under way all the same.
    #[inline]
    pub(super) fn of_bytes(&self, bytes: u64) -> u64 {
        self.part_bytes.map_or(1, |part_bytes| bytes.div_ceil(part_bytes).max(1))
    }

    /// Why a root of so many blocks does not take a request, if it does not.
    #[inline]
    pub(super) fn refusal(&self, request: &Request, capacity_blocks: u64) -> Option<Refusal> {
        if !request.fits(capacity_blocks) {
            return Some(Refusal::OutOfRange);
        }
        let many_blocks = u64::from(request.blocks) > BLOCKS_OF_A_REQUEST.most;
        (many_blocks || self.of(request) > PARTS_OF_A_REQUEST.most).then_some(Refusal::TooLarge)
    }

    /// A request that is taken begins.
    #[inline]
    pub(super) fn begin(&mut self, request: &Request) {
        self.under_way += self.of(request);
    }

    /// A request is over, which has begun if it was taken.
    #[inline]
    pub(super) fn end(&mut self, request: &Request, capacity_blocks: u64) {
        if self.refusal(request, capacity_blocks).is_none() {
            self.under_way -= self.of(request);
        }
    }

    /// Nothing is under way any more.
    pub(super) fn forget(&mut self) {
        self.under_way = 0;
    }

    /// Whether more are under way than is allowed.
    #[inline]
    pub(super) fn are_too_many(&self) -> bool {
        self.under_way > PARTS_UNDER_WAY.most
    }
}
