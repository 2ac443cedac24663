//! The key that was referenced longest ago leaves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sledsim::engine::Stop;
use sledsim::fault::{Fault, Kind};
use sledsim::plugin::{CustomReplacement, Factory, Parameters, Role, RustPlugin};

use crate::recency::Recency;

/// LRU in the list.
pub const PLUGIN: RustPlugin = RustPlugin {
    role: Role::Replacement,
    name: "mine-lru",
    title: "LRU",
    description: "Least recently used: the key that was referenced longest ago leaves.",
    source: "Mattson et al., Evaluation techniques for storage hierarchies, IBM Systems Journal 9(2), 1970",
    text: include_str!("lru.rs"),
    parameters: Parameters::of::<Spec>(),
};

/// It has no parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {}

impl Factory for Spec {
    fn replacement(&self, _slots: u32) -> Result<Box<dyn CustomReplacement>, Fault> {
        Ok(Box::new(Lru::default()))
    }
}

#[derive(Clone, Default)]
struct Lru {
    slots: Recency,
}

impl CustomReplacement for Lru {
    fn name(&self) -> &str {
        PLUGIN.name
    }

    fn victim(&mut self, _key: u64, after: Option<u32>) -> Result<u32, Stop> {
        let slot = self.slots.after(after.map(u64::from)).and_then(|slot| u32::try_from(slot).ok());
        slot.ok_or_else(|| Stop::Failed(Fault::new(Kind::Policy).says("no slot comes after the last one")))
    }

    fn admitted(&mut self, slot: u32, _key: u64, _evicted: Option<u64>) -> Result<(), Stop> {
        self.slots.touch(slot.into());
        Ok(())
    }

    fn hit(&mut self, slot: u32, _key: u64) -> Result<(), Stop> {
        self.slots.touch(slot.into());
        Ok(())
    }

    fn removed(&mut self, slot: u32, _key: u64) -> Result<(), Stop> {
        self.slots.remove(slot.into());
        Ok(())
    }
}
