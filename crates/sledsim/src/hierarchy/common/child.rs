//! The properties of a child that its parent needs.

use crate::engine::{ComponentId, System};

/// A child's id and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// Id in the system.
    pub id: ComponentId,
    /// Number of addressable blocks.
    pub capacity_blocks: u64,
    /// Size of a block, bytes.
    pub block_bytes: u32,
}

impl Child {
    /// The properties of a component of a system.
    #[must_use]
    pub fn of(system: &System, id: ComponentId) -> Self {
        let component = system.component(id);
        Self { id, capacity_blocks: component.capacity_blocks(), block_bytes: component.block_bytes() }
    }

    /// Capacity in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.capacity_blocks.saturating_mul(u64::from(self.block_bytes))
    }
}
