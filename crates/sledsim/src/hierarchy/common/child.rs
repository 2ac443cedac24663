//! What a component needs to know of a child to be built over it.

use crate::engine::{ComponentId, System};

/// A child: its place and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its place in the system.
    pub id: ComponentId,
    /// Blocks that it offers.
    pub capacity_blocks: u64,
    /// Size of a block, bytes.
    pub block_bytes: u32,
}

impl Child {
    /// A component of a system, to be asked before its parent is added.
    #[must_use]
    pub fn of(system: &System, id: ComponentId) -> Self {
        let component = system.component(id);
        Self { id, capacity_blocks: component.capacity_blocks(), block_bytes: component.block_bytes() }
    }

    /// Bytes that it offers.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.capacity_blocks.saturating_mul(u64::from(self.block_bytes))
    }
}
