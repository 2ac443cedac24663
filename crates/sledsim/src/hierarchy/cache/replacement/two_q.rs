//! 2Q, full version: a page enters the main queue if it is referenced after it has left the entrance queue.
//!
//! | here | Johnson and Shasha, Figure 2 |
//! | --- | --- |
//! | `IN`, `in_slots` | A1in, Kin |
//! | `out` | A1out, of Kout keys |
//! | `MAIN` | Am |
//!
//! The figure does not say when a page that is admitted again leaves A1out. Here it does so before another enters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entries::{keeps_entries, remembers_refusals, Entries};
use super::ghosts::Ghosts;
use super::{share_of, Admission, PolicySpec, Replacement, ReplacementPolicy, ReplacementSpec, Slot};

/// 2Q in the list of policies.
pub const POLICY: ReplacementPolicy = ReplacementPolicy {
    name: "2q",
    title: "2Q",
    description: "Full version: entries come into a FIFO queue; those that leave it are remembered for a while, and \
        come back into an LRU queue if they are referenced in that time.",
    source:
        "Johnson and Shasha, 2Q: a low overhead high performance buffer management replacement algorithm, VLDB 1994",
    bytes_per_slot: 49.0,
    default: ReplacementSpec::TwoQ(Spec { in_share: default_in_share(), out_share: default_out_share() }),
};

/// Kin as a share of the slots: 25 % (section 3).
const fn default_in_share() -> f64 {
    0.25
}

/// Kout as a share of the slots: 50 % (section 3).
const fn default_out_share() -> f64 {
    0.5
}

/// 2Q, full version.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Kin: share of the cache above which the entrance queue (A1in) gives up entries.
    #[serde(default = "default_in_share")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub in_share: f64,
    /// Kout: keys remembered after they left the entrance queue (A1out), as a share of the cache's entries.
    #[serde(default = "default_out_share")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub out_share: f64,
}

impl PolicySpec for Spec {
    fn build(&self, capacity: u32) -> Box<dyn Replacement> {
        Box::new(TwoQ::new(capacity, self.in_share, self.out_share))
    }
}

const IN: usize = 0;
const MAIN: usize = 1;
const OUT: usize = 0;

/// 2Q.
#[derive(Clone)]
pub struct TwoQ {
    entries: Entries<2>,
    out: Ghosts<1>,
    in_slots: u32,
}

impl TwoQ {
    /// An empty cache of `capacity` slots, with Kin and Kout as shares of them: 0 to 1.
    fn new(capacity: u32, in_share: f64, out_share: f64) -> Self {
        Self {
            entries: Entries::new(capacity),
            out: Ghosts::new(share_of(capacity, out_share)),
            in_slots: share_of(capacity, in_share),
        }
    }

    /// The queues in the order in which `reclaimfor` takes from them when A1in has `in_len` entries.
    const fn order(&self, in_len: u32) -> [usize; 2] {
        if in_len > self.in_slots {
            [IN, MAIN]
        } else {
            [MAIN, IN]
        }
    }

    /// The slot that `reclaimfor` evicts.
    fn victim(&mut self, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let [first, second] = self.order(self.entries.len_of(IN));
        let entries = &mut self.entries;
        entries.victim(first, may_evict).or_else(|| entries.victim(second, may_evict))
    }
}

impl Replacement for TwoQ {
    keeps_entries!();
    remembers_refusals!();

    #[inline]
    fn hit(&mut self, slot: Slot) {
        if self.entries.list_of(slot) == MAIN {
            self.entries.move_front(MAIN, slot);
        }
    }

    #[inline]
    fn admit(&mut self, key: u64, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Admission> {
        let victim = if self.entries.is_full() { Some(self.victim(may_evict)?) } else { None };
        let list = if self.out.remove(key) { MAIN } else { IN };
        if let Some(slot) = victim {
            if self.entries.list_of(slot) == IN {
                self.out.push(OUT, self.entries.key(slot));
            }
        }
        Some(self.entries.admit(list, key, victim))
    }

    fn in_eviction_order(&self, visit: &mut dyn FnMut(Slot) -> bool) {
        let entries = &self.entries;
        let beyond = entries.len_of(IN).saturating_sub(self.in_slots) as usize;
        let (first, rest) = (entries.back_to_front(IN).take(beyond), entries.back_to_front(IN).skip(beyond));
        first.chain(entries.back_to_front(MAIN)).chain(rest).all(visit);
    }

    fn memory_bytes(&self) -> usize {
        self.entries.memory_bytes() + self.out.memory_bytes()
    }
}
