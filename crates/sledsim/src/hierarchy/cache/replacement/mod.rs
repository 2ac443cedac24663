//! Replacement policies: one policy, one file, one line in the list.
//!
//! A policy has a fixed number of slots and says which key (the number of a block, page or segment) is in which of them;
//! what else belongs to an entry its owner keeps in arrays indexed by slot. A key stays in its slot until it is evicted
//! or removed. Lists of keys that were evicted (ghosts) are the policy's own affair.
//!
//! Memory grows with what is in the cache, not with its capacity, and never exceeds what a full cache takes:
//! [`ReplacementPolicy::bytes_per_slot`]. Every operation but a walk over entries that may not be evicted takes constant
//! time (amortised), with LFUDA logarithmic. Where a policy is told when entries that may not be evicted may again, FIFO, LRU,
//! SLRU, 2Q and ARC don't walk over them either: they take at most 40 bytes more for each slot then, and logarithmic time.

mod entries;
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

/// Slots that a cache may have at most.
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
    /// What it does, in a sentence.
    pub description: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// Bytes of memory per slot of a full cache, ghosts included, with default parameters.
    pub bytes_per_slot: f64,
    /// The policy with its default parameters.
    pub default: ReplacementSpec,
}

/// Parameters of a policy.
trait PolicySpec {
    /// The policy that valid ones describe, empty and with `capacity` slots.
    fn build(&self, capacity: u32) -> Box<dyn Replacement>;
}

/// The policy that a valid `spec` describes, empty and with `capacity` slots, 1 to [`MAX_SLOTS`].
#[must_use]
pub fn build(spec: &ReplacementSpec, capacity: u32) -> Box<dyn Replacement> {
    assert!((1..=MAX_SLOTS).contains(&capacity), "a cache has from 1 to {MAX_SLOTS} slots");
    spec.parameters().build(capacity)
}

/// The place of an entry, from 0 to the capacity less 1.
pub type Slot = u32;

/// Where a key was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The slot that the key has now.
    pub slot: Slot,
    /// The key that had it before, if one had to leave.
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

    /// Whether no key is in the cache.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The slot of `key`, if it is in the cache. Changes nothing.
    fn find(&self, key: u64) -> Option<Slot>;

    /// The key in `slot`, which must hold one.
    fn key(&self, slot: Slot) -> u64;

    /// Sets the time and the request, if any, that the next calls belong to. Only a custom policy uses it.
    fn set_context(&mut self, now: Time, request: Option<u64>) {
        let _ = (now, request);
    }

    /// Takes note of a reference to the key in `slot`.
    fn hit(&mut self, slot: Slot);

    /// Whether it is asked which keys come in at all.
    fn chooses_admissions(&self) -> bool {
        false
    }

    /// Whether `key`, which is referenced and not there, is to come in; to be asked once for each such reference.
    fn admits(&mut self, key: u64) -> bool {
        let _ = key;
        true
    }

    /// Brings in `key`, which must not be in the cache. Where the cache is full, the policy's choice among the entries
    /// that `may_evict` lets go leaves; `None`, and nothing is changed, where it lets none go. What `may_evict` says of a
    /// slot must not change within a call.
    fn admit(&mut self, key: u64, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Admission>;

    /// From now on [`Replacement::released`] is called, so that a policy need not ask again for slots that `may_evict` refused.
    /// Slots that were refused before count as released.
    fn expect_releases(&mut self) {}

    /// A slot that `may_evict` may have refused may leave again.
    fn released(&mut self, slot: Slot) {
        let _ = slot;
    }

    /// Drops `key` and returns the slot that it had, if it was in the cache. No ghost list hears of it.
    fn remove(&mut self, key: u64) -> Option<Slot>;

    /// Shows every slot in use, from that of the next victim on, in the order in which the policy would give them up if
    /// nothing was pinned or referenced any more; `visit` answers whether to go on.
    fn in_eviction_order(&self, visit: &mut dyn FnMut(Slot) -> bool);

    /// Bytes that its tables and lists have allocated.
    fn memory_bytes(&self) -> usize;

    /// Returns why the run has to stop, if a custom policy failed. Nothing is admitted after that.
    fn failure(&self) -> Option<&PolicyFailure> {
        None
    }

    /// References `key` in a cache without pinned entries: says whether it was there, and admits it if not.
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

    /// References each of `keys` in turn, as [`Replacement::reference`]; returns how many were there. One call of a policy whose
    /// type is not known serves them all: nothing stands between the loop and the policy.
    fn references(&mut self, keys: &[u64]) -> u64 {
        keys.iter().map(|&key| u64::from(self.reference(key))).sum()
    }
}

dyn_clone::clone_trait_object!(Replacement);

/// A share of `capacity` in slots, rounded down.
fn share_of(capacity: u32, share: f64) -> u32 {
    // A millionth of a slot makes up for binary fractions: 0.29 of 100 is 29.
    trunc_to_u32((f64::from(capacity) * share + 1e-6).floor())
}
