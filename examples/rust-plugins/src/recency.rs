//! Things in the order of their last use.

use std::collections::{BTreeMap, HashMap};

/// Slots or keys, the one used longest ago first.
#[derive(Clone, Debug, Default)]
pub struct Recency {
    used: BTreeMap<u64, u64>,
    times: HashMap<u64, u64>,
    now: u64,
}

impl Recency {
    /// Puts a thing to the end, whether it is there or not.
    pub fn touch(&mut self, thing: u64) {
        self.remove(thing);
        self.now += 1;
        self.used.insert(self.now, thing);
        self.times.insert(thing, self.now);
    }

    /// Takes a thing out; says whether it was there.
    pub fn remove(&mut self, thing: u64) -> bool {
        let time = self.times.remove(&thing);
        time.is_some_and(|time| self.used.remove(&time).is_some())
    }

    /// Takes the first out.
    pub fn remove_oldest(&mut self) {
        if let Some((_, thing)) = self.used.pop_first() {
            self.times.remove(&thing);
        }
    }

    /// Whether a thing is there.
    pub fn has(&self, thing: u64) -> bool {
        self.times.contains_key(&thing)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.used.len()
    }

    /// The first of them, or the one that comes after another.
    pub fn after(&self, thing: Option<u64>) -> Option<u64> {
        let from = thing.and_then(|thing| self.times.get(&thing)).map_or(0, |time| time + 1);
        self.used.range(from..).next().map(|(_, &next)| next)
    }
}
