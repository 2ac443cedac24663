//! Adaptive replacement: Megiddo and Modha, FAST 2003, Figure 4, with the names of the paper.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sledsim::engine::Stop;
use sledsim::fault::{Fault, Kind};
use sledsim::plugin::{CustomReplacement, Factory, Parameters, Role, RustPlugin};

use crate::recency::Recency;

/// ARC in the list.
pub const PLUGIN: RustPlugin = RustPlugin {
    role: Role::Replacement,
    name: "mine-arc",
    title: "ARC",
    description:
        "Adaptive replacement: keys referenced once, keys referenced again, and what left either of them lately.",
    source: "Megiddo and Modha, ARC: a self-tuning, low overhead replacement cache, FAST 2003, Figure 4",
    text: include_str!("arc.rs"),
    parameters: Parameters::of::<Spec>(),
};

/// It has no parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {}

impl Factory for Spec {
    fn replacement(&self, slots: u32) -> Result<Box<dyn CustomReplacement>, Fault> {
        Ok(Box::new(Arc { c: slots as usize, ..Arc::default() }))
    }
}

/// Slots of keys referenced once, and again; keys that left either.
#[derive(Clone, Default)]
struct Arc {
    c: usize,
    p: f64,
    t1: Recency,
    t2: Recency,
    b1: Recency,
    b2: Recency,
}

impl Arc {
    /// What p is after a reference to a key that is in neither T1 nor T2 (cases II and III).
    fn adapted(&self, key: u64) -> f64 {
        let (b1, b2) = (self.b1.len() as f64, self.b2.len() as f64);
        if self.b1.has(key) {
            (self.p + (b2 / b1).max(1.0)).min(self.c as f64)
        } else if self.b2.has(key) {
            (self.p - (b1 / b2).max(1.0)).max(0.0)
        } else {
            self.p
        }
    }

    /// Makes room in the directory for a new key (case IV); says whether a key that leaves the cache has a place there.
    fn make_room(&mut self) -> bool {
        let recent = self.t1.len() + self.b1.len();
        if recent == self.c {
            let has_ghosts = self.b1.len() > 0;
            self.b1.remove_oldest();
            return has_ghosts;
        }
        if recent + self.t2.len() + self.b2.len() == 2 * self.c {
            self.b2.remove_oldest();
        }
        true
    }

    fn forget(&mut self, slot: u64) -> bool {
        let was_recent = self.t1.remove(slot);
        self.t2.remove(slot);
        was_recent
    }
}

impl CustomReplacement for Arc {
    fn name(&self) -> &str {
        PLUGIN.name
    }

    /// REPLACE, and what follows if that slot may not be given away.
    fn victim(&mut self, key: u64, after: Option<u32>) -> Result<u32, Stop> {
        let (p, t1) = (self.adapted(key), self.t1.len() as f64);
        let takes_recent = t1 > p || (self.b2.has(key) && t1 == p);
        let [first, second] = if takes_recent { [&self.t1, &self.t2] } else { [&self.t2, &self.t1] };
        let next = match after.map(u64::from) {
            Some(slot) if second.has(slot) => second.after(Some(slot)),
            after => first.after(after).or_else(|| second.after(None)),
        };
        let slot = next.and_then(|slot| u32::try_from(slot).ok());
        slot.ok_or_else(|| Stop::Failed(Fault::new(Kind::Policy).says("no slot comes after the last one")))
    }

    fn admitted(&mut self, slot: u32, key: u64, evicted: Option<u64>) -> Result<(), Stop> {
        self.p = self.adapted(key);
        let was_there = self.b1.remove(key) | self.b2.remove(key);
        let remembers = was_there || self.make_room();
        if let Some(evicted) = evicted {
            let was_recent = self.forget(slot.into());
            let ghosts = if was_recent { &mut self.b1 } else { &mut self.b2 };
            if remembers {
                ghosts.touch(evicted);
            }
        }
        let into = if was_there { &mut self.t2 } else { &mut self.t1 };
        into.touch(slot.into());
        Ok(())
    }

    fn hit(&mut self, slot: u32, _key: u64) -> Result<(), Stop> {
        self.forget(slot.into());
        self.t2.touch(slot.into());
        Ok(())
    }

    fn removed(&mut self, slot: u32, _key: u64) -> Result<(), Stop> {
        self.forget(slot.into());
        Ok(())
    }
}
