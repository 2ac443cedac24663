//! What only tests reach: a look at what is stored, past all components.

use crate::engine::component::ComponentId;
use crate::engine::data::Memory;
use crate::engine::system::System;

impl System {
    /// What a component without children holds, in a run that holds data.
    #[must_use]
    pub fn medium(&self, leaf: ComponentId) -> Option<&Memory> {
        self.data.as_ref().and_then(|data| data.medium(leaf))
    }
}
