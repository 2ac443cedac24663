//! Replacement policies: one policy, one file, one line in the list.
//!
//! A policy maps keys (numbers of blocks, pages or segments) to a fixed number of slots. Its owner keeps other data of entries in
//! arrays indexed by slot. A key stays in its slot until it is evicted or removed. Lists of evicted keys (ghosts) are internal to
//! a policy.
//!
//! Memory grows with the number of entries and never exceeds that of a full cache, [`ReplacementPolicy::bytes_per_slot`]. Every
//! operation takes amortised constant time, with LFUDA logarithmic time, except for the search past entries that cannot be evicted.
//! If the owner reports when such entries can be evicted again, FIFO, LRU, SLRU, 2Q and ARC need no search: they take up to 40
//! bytes more for each slot then, and logarithmic time.

mod entries;
mod frequency_sketch;
mod ghosts;
mod index;
mod queue;
mod refusals;
mod second_chance;
pub(crate) mod slots;

use dyn_clone::DynClone;

use crate::convert::trunc_to_u32;
use crate::engine::Stop;
use crate::registry::registry;
use crate::time::Time;

/// The largest number of slots of a cache.
pub const MAX_SLOTS: u32 = i32::MAX as u32;

registry! {
    /// A policy and its parameters.
    #[derive(Copy)]
    #[serde(tag = "name", rename_all = "kebab-case")]
    pub enum ReplacementSpec: PolicySpec {
        Lru => lru,
        Fifo => fifo,
        Clock => clock,
        Lfuda => lfuda,
        Arc => arc,
        #[serde(rename = "2q")] TwoQ => two_q,
        Slru => slru,
        S3Fifo => s3_fifo,
        Sieve => sieve,
        #[serde(rename = "w-tinylfu")] WTinyLfu => w_tiny_lfu,
    }

    /// Every policy.
    pub const POLICIES: [ReplacementPolicy];
}

/// A policy as its file declares it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplacementPolicy {
    /// Key in scenarios.
    pub name: &'static str,
    /// Name in the literature.
    pub title: &'static str,
    /// A one-sentence description.
    pub description: &'static str,
    /// The publication that defines it.
    pub source: &'static str,
    /// Bytes of memory per slot of a full cache, ghosts included, with default parameters.
    pub bytes_per_slot: f64,
    /// The policy with its default parameters.
    pub default: ReplacementSpec,
}

/// Parameters of a policy.
trait PolicySpec {
    /// Builds the policy, empty and with `capacity` slots. The parameters are valid.
    fn build(&self, capacity: u32) -> Box<dyn Replacement>;
}

/// Builds the policy of a valid `spec`, empty and with `capacity` slots, 1 to [`MAX_SLOTS`].
#[must_use]
pub fn build(spec: &ReplacementSpec, capacity: u32) -> Box<dyn Replacement> {
    assert!((1..=MAX_SLOTS).contains(&capacity), "a cache has from 1 to {MAX_SLOTS} slots");
    spec.parameters().build(capacity)
}

/// Index of an entry, below the capacity.
pub type Slot = u32;

/// The result of an admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The slot of the key.
    pub slot: Slot,
    /// The key that was evicted from this slot.
    pub evicted: Option<u64>,
}

/// The failure of a custom policy.
#[derive(Clone, Debug)]
pub struct PolicyFailure {
    /// The error.
    pub stop: Stop,
    /// The key of the failed call; `None` if the policy could not be made.
    pub key: Option<u64>,
}

/// Decides which keys are cached. A clone continues independently from the same state.
pub trait Replacement: DynClone + Send {
    /// Number of slots.
    fn capacity(&self) -> u32;

    /// Number of keys in the cache.
    fn len(&self) -> u32;

    /// Returns true if no key is in the cache.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The slot of `key`; `None` if it is not in the cache. This is no reference.
    fn find(&self, key: u64) -> Option<Slot>;

    /// The key in `slot`, which must not be empty.
    fn key(&self, slot: Slot) -> u64;

    /// Sets the time and the request, if any, that the next calls belong to. Only a custom policy uses it.
    fn set_context(&mut self, now: Time, request: Option<u64>) {
        let _ = (now, request);
    }

    /// Records a reference to the key in `slot`.
    fn hit(&mut self, slot: Slot);

    /// Returns true if [`Replacement::admits`] may return false.
    fn chooses_admissions(&self) -> bool {
        false
    }

    /// Returns true if `key`, which is referenced and not in the cache, is to be admitted. Called once for each such reference.
    fn admits(&mut self, key: u64) -> bool {
        let _ = key;
        true
    }

    /// Admits `key`, which must not be in the cache. In a full cache, the policy evicts one of the entries for which `may_evict`
    /// returns true. Returns `None` and changes nothing if there is none. The result of `may_evict` for a slot must not change
    /// within a call.
    fn admit(&mut self, key: u64, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Admission>;

    /// States that the owner calls [`Replacement::released`], so that the policy can skip slots that `may_evict` has refused.
    /// Slots that were refused before count as released.
    fn expect_releases(&mut self) {}

    /// Records that `may_evict` returns true again for a slot.
    fn released(&mut self, slot: Slot) {
        let _ = slot;
    }

    /// Removes `key`, without adding it to a ghost list. Returns its slot; `None` if it was not in the cache.
    fn remove(&mut self, key: u64) -> Option<Slot>;

    /// Visits the slots in use in eviction order: the order in which the policy would evict them without further references or
    /// pins. Stops when `visit` returns false.
    fn in_eviction_order(&self, visit: &mut dyn FnMut(Slot) -> bool);

    /// Bytes allocated for tables and lists.
    fn memory_bytes(&self) -> usize;

    /// Returns why the run has to stop, if a custom policy failed. Nothing is admitted after that.
    fn failure(&self) -> Option<&PolicyFailure> {
        None
    }

    /// References `key` in a cache without pinned entries, and admits it if it is missing. Returns true if it was in the cache.
    #[inline]
    fn reference(&mut self, key: u64) -> bool {
        if let Some(slot) = self.find(key) {
            self.hit(slot);
            return true;
        }
        if self.admits(key) {
            self.admit(key, &mut |_| true);
        }
        false
    }

    /// References each of `keys` in turn, as [`Replacement::reference`] does. Returns the number of hits. A single dynamic call
    /// serves them all.
    fn references(&mut self, keys: &[u64]) -> u64 {
        keys.iter().map(|&key| u64::from(self.reference(key))).sum()
    }
}

dyn_clone::clone_trait_object!(Replacement);

/// A share of `capacity`, rounded down.
fn share_of(capacity: u32, share: f64) -> u32 {
    // A millionth of a slot compensates rounding errors: 0.29 of 100 is 29.
    trunc_to_u32((f64::from(capacity) * share + 1e-6).floor())
}
