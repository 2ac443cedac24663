//! W-TinyLFU: entries come into a small LRU window; an entry that leaves it enters a segmented LRU main cache only if it was
//! referenced more often, recently, than the entry that would leave there.
//!
//! | here | Einziger, Friedman and Manes |
//! | --- | --- |
//! | `WINDOW`, `window_slots` | window cache, 1 % of the slots |
//! | `PROBATION`, `PROTECTED` | the segments A1 and A2 of the main cache, 20 % and 80 % |
//! | `sketch` | TinyLFU: approximation sketch with doorkeeper and reset operation |
//!
//! The paper leaves open the sizes of sketch and doorkeeper. The sketch is the one of Caffeine, the authors' library: four rows
//! of 4-bit counters, 16 counters for each slot, halved after 10 references for each slot. The doorkeeper, which Caffeine does
//! not use by default, has 64 bits for each slot and four hash functions: 5 % false positives if all references of a sample are
//! to different keys. Unlike in Caffeine there is no random admission, and the window's share is constant. Until the cache is
//! half full, references are counted exactly, so that memory grows with the number of entries.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entries::{keeps_entries, remembers_refusals, Entries};
use super::frequency_sketch::{ExactCounts, FrequencySketch};
use super::{share_of, Admission, PolicySpec, Replacement, ReplacementPolicy, ReplacementSpec, Slot};

/// W-TinyLFU in the list of policies.
pub const POLICY: ReplacementPolicy = ReplacementPolicy {
    name: "w-tinylfu",
    title: "W-TinyLFU",
    description: "Entries come into a small LRU window; one that leaves it enters the main cache, a segmented LRU, if it was \
        referenced more often, recently, than the entry that would leave there; otherwise it leaves. A sketch counts references.",
    source: "Einziger, Friedman and Manes, TinyLFU: a highly efficient cache admission policy, ACM Transactions on \
        Storage 13(4), 2017, section 4",
    bytes_per_slot: 49.0,
    default: ReplacementSpec::WTinyLfu(Spec {
        window_share: default_window_share(),
        protected_share: default_protected_share(),
    }),
};

/// Share of the window: 1 % (section 4).
const fn default_window_share() -> f64 {
    0.01
}

/// Share of the main cache that is protected: 80 % (section 4).
const fn default_protected_share() -> f64 {
    0.8
}

/// W-TinyLFU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Share of the cache for the window, which has at least one entry.
    #[serde(default = "default_window_share")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub window_share: f64,
    /// Share of the main cache that the protected segment may take.
    #[serde(default = "default_protected_share")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub protected_share: f64,
}

impl PolicySpec for Spec {
    fn build(&self, capacity: u32) -> Box<dyn Replacement> {
        Box::new(WTinyLfu::new(capacity, self.window_share, self.protected_share))
    }
}

const WINDOW: usize = 0;
const PROBATION: usize = 1;
const PROTECTED: usize = 2;

/// Recent references.
#[derive(Clone)]
enum Counts {
    /// Before the cache was first half full.
    Exact(ExactCounts),
    Sketch(FrequencySketch),
}

/// W-TinyLFU.
#[derive(Clone)]
pub struct WTinyLfu {
    entries: Entries<3>,
    counts: Counts,
    window_slots: u32,
    protected_slots: u32,
}

impl WTinyLfu {
    /// An empty cache of `capacity` slots: `window_share` (0 to 1) of them, but at least one, for the window, and
    /// `protected_share` (0 to 1) of the others for the protected segment.
    fn new(capacity: u32, window_share: f64, protected_share: f64) -> Self {
        let window_slots = share_of(capacity, window_share).max(1);
        let protected_slots = share_of(capacity - window_slots, protected_share);
        let counts = Counts::Exact(ExactCounts::default());
        Self { entries: Entries::new(capacity), counts, window_slots, protected_slots }
    }

    /// The estimated number of recent references to the key in `slot` of a cache that is or was full.
    fn estimate(&self, slot: Slot) -> u64 {
        match &self.counts {
            Counts::Exact(_) => 0,
            Counts::Sketch(sketch) => sketch.estimate(self.entries.key(slot)),
        }
    }

    /// Counts a reference to the key in `slot`; the first one if the key `is_new`.
    #[inline]
    fn record(&mut self, slot: Slot, is_new: bool) {
        let capacity = self.entries.capacity();
        match &mut self.counts {
            Counts::Sketch(sketch) => sketch.record(self.entries.key(slot)),
            Counts::Exact(counts) => {
                counts.record(slot, is_new, capacity);
                if self.entries.len() >= capacity.div_ceil(2) {
                    let entries = &self.entries;
                    let slots = [WINDOW, PROBATION, PROTECTED].into_iter().flat_map(|list| entries.back_to_front(list));
                    self.counts = Counts::Sketch(counts.sketch(capacity, slots.map(|slot| (slot, entries.key(slot)))));
                }
            }
        }
    }

    /// The entry that leaves: that of the window, or that of the main cache if it has fewer references.
    fn victim(&mut self, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let entries = &mut self.entries;
        let candidate = entries.victim(WINDOW, may_evict);
        let victim = entries.victim(PROBATION, may_evict).or_else(|| entries.victim(PROTECTED, may_evict));
        let (Some(candidate), Some(victim)) = (candidate, victim) else { return candidate.or(victim) };
        let candidate_leaves = self.estimate(candidate) <= self.estimate(victim);
        let (leaves, stays) = if candidate_leaves { (candidate, victim) } else { (victim, candidate) };
        // It was not refused: the next search must find it again.
        self.entries.released(stays);
        Some(leaves)
    }
}

impl Replacement for WTinyLfu {
    keeps_entries!();
    remembers_refusals!();

    #[inline]
    fn hit(&mut self, slot: Slot) {
        self.record(slot, false);
        let list = self.entries.list_of(slot);
        if list != PROBATION || self.protected_slots == 0 {
            self.entries.move_front(list, slot);
            return;
        }
        if self.entries.len_of(PROTECTED) == self.protected_slots {
            if let Some(least_recent) = self.entries.back(PROTECTED) {
                self.entries.move_front(PROBATION, least_recent);
            }
        }
        self.entries.move_front(PROTECTED, slot);
    }

    fn admit(&mut self, key: u64, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Admission> {
        let victim = if self.entries.is_full() { Some(self.victim(may_evict)?) } else { None };
        let admission = self.entries.admit(WINDOW, key, victim);
        if self.entries.len_of(WINDOW) > self.window_slots {
            if let Some(least_recent) = self.entries.back(WINDOW) {
                self.entries.move_front(PROBATION, least_recent);
            }
        }
        self.record(admission.slot, true);
        Some(admission)
    }

    fn in_eviction_order(&self, visit: &mut dyn FnMut(Slot) -> bool) {
        let (entries, window) = (&self.entries, self.entries.back_to_front(WINDOW));
        // Entries that leave the window for the main cache queue behind those on probation, ahead of the protected ones.
        let mut main: VecDeque<Slot> = entries.back_to_front(PROBATION).collect();
        let mut protected = entries.back_to_front(PROTECTED).peekable();
        for candidate in window {
            let victim = main.front().or_else(|| protected.peek()).copied();
            let leaves = match victim {
                Some(victim) if self.estimate(candidate) > self.estimate(victim) => {
                    if main.pop_front().is_none() {
                        protected.next();
                    }
                    main.push_back(candidate);
                    victim
                }
                _ => candidate,
            };
            if !visit(leaves) {
                return;
            }
        }
        main.into_iter().chain(protected).all(visit);
    }

    fn memory_bytes(&self) -> usize {
        let counts = match &self.counts {
            Counts::Exact(counts) => counts.memory_bytes(),
            Counts::Sketch(sketch) => sketch.memory_bytes(),
        };
        self.entries.memory_bytes() + counts
    }
}
