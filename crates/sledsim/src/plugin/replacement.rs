//! The adaptor of custom replacement policies.

use std::cell::RefCell;
use std::collections::HashSet;

use super::contract::CustomReplacement;
use super::{BuiltIn, Choice};
use crate::engine::Stop;
use crate::fault::{Fault, Faults};
use crate::hierarchy::cache::replacement::slots::Slots;
use crate::hierarchy::cache::replacement::{build, Admission, PolicyFailure, Replacement, ReplacementSpec, Slot};
use crate::time::Time;

/// A built-in or custom replacement policy.
pub type ReplacementChoice = Choice<ReplacementSpec>;

impl BuiltIn for ReplacementSpec {
    fn policy_name(&self) -> &'static str {
        self.name()
    }

    fn check(&self) -> Result<(), Faults> {
        self.validate()
    }
}

impl Choice<ReplacementSpec> {
    /// Returns the policy for an empty cache of `capacity` slots. If a custom policy can't be made, [`Replacement::failure`]
    /// returns the error.
    #[must_use]
    pub fn build(&self, capacity: u32) -> Box<dyn Replacement> {
        match self {
            Self::BuiltIn(spec) => build(spec, capacity),
            Self::Custom(custom) => {
                let policy = custom.factory().and_then(|factory| factory.replacement(capacity));
                Box::new(ReplacementAdaptor::new(policy, capacity))
            }
        }
    }
}

/// A key that is never in a cache: for questions about the eviction order without a key to admit.
const NO_KEY: u64 = u64::MAX;

/// A custom replacement policy, and the keys in their slots. After a failure of the policy nothing is admitted.
#[derive(Clone)]
pub struct ReplacementAdaptor {
    /// `None` if it could not be made. [`Replacement::in_eviction_order`] calls it through `&self`.
    policy: Option<RefCell<Box<dyn CustomReplacement>>>,
    slots: Slots<()>,
    chooses_admissions: bool,
    failure: Option<PolicyFailure>,
}

impl ReplacementAdaptor {
    fn new(policy: Result<Box<dyn CustomReplacement>, Fault>, capacity: u32) -> Self {
        let chooses_admissions = policy.as_ref().is_ok_and(|policy| policy.chooses_admissions());
        let (policy, failure) = match policy {
            Ok(policy) => (Some(RefCell::new(policy)), None),
            Err(fault) => (None, Some(PolicyFailure { stop: Stop::Failed(fault), key: None })),
        };
        Self { policy, slots: Slots::new(capacity), chooses_admissions, failure }
    }

    /// Calls the policy about `key`; returns `None` after a failure.
    #[inline]
    fn call<T>(&mut self, key: u64, call: impl FnOnce(&mut dyn CustomReplacement) -> Result<T, Stop>) -> Option<T> {
        if self.failure.is_some() {
            return None;
        }
        match call(self.policy.as_mut()?.get_mut().as_mut()) {
            Ok(answer) => Some(answer),
            Err(stop) => {
                self.failure = Some(PolicyFailure { stop, key: Some(key) });
                None
            }
        }
    }

    /// Returns true if a slot holds a key.
    fn is_used(&self, slot: Slot) -> bool {
        slot < self.slots.used_slots() && self.slots.find(self.slots.key(slot)) == Some(slot)
    }

    /// Returns the policy's first choice of a slot for `key` that may be evicted; `None` if none may.
    fn victim(&mut self, key: u64, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let mut refused = HashSet::new();
        let mut after = None;
        while refused.len() < self.slots.len() as usize {
            let slot = self.call(key, |policy| policy.victim(key, after))?;
            let error = match (self.is_used(slot), refused.contains(&slot)) {
                (true, false) => None,
                (true, true) => Some("can't be evicted, a second time"),
                (false, _) => Some("has no key"),
            };
            if let Some(error) = error {
                let name = self.policy.as_mut()?.get_mut().name();
                let message = format!("{name} chose slot {slot} of {}, which {error}", self.slots.capacity());
                self.failure = Some(PolicyFailure { stop: Stop::from_plugin(message), key: Some(key) });
                return None;
            }
            if may_evict(slot) {
                return Some(slot);
            }
            refused.insert(slot);
            after = Some(slot);
        }
        None
    }
}

impl Replacement for ReplacementAdaptor {
    fn capacity(&self) -> u32 {
        self.slots.capacity()
    }

    fn len(&self) -> u32 {
        self.slots.len()
    }

    #[inline]
    fn find(&self, key: u64) -> Option<Slot> {
        self.slots.find(key)
    }

    #[inline]
    fn key(&self, slot: Slot) -> u64 {
        self.slots.key(slot)
    }

    #[inline]
    fn set_context(&mut self, now: Time, request: Option<u64>) {
        if let Some(policy) = &mut self.policy {
            policy.get_mut().set_context(now, request);
        }
    }

    #[inline]
    fn hit(&mut self, slot: Slot) {
        let key = self.slots.key(slot);
        self.call(key, |policy| policy.hit(slot, key));
    }

    #[inline]
    fn admits(&mut self, key: u64) -> bool {
        !self.chooses_admissions || self.call(key, |policy| policy.admits(key)) == Some(true)
    }

    #[inline]
    fn chooses_admissions(&self) -> bool {
        self.chooses_admissions
    }

    fn admit(&mut self, key: u64, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Admission> {
        if self.failure.is_some() {
            return None;
        }
        let (slot, evicted) = if self.slots.is_full() {
            let slot = self.victim(key, may_evict)?;
            (slot, Some(self.slots.replace(slot, key)))
        } else {
            (self.slots.insert(key, ()), None)
        };
        self.call(key, |policy| policy.admitted(slot, key, evicted));
        Some(Admission { slot, evicted })
    }

    fn remove(&mut self, key: u64) -> Option<Slot> {
        let slot = self.slots.remove(key)?;
        self.call(key, |policy| policy.removed(slot, key));
        Some(slot)
    }

    /// Visits the slots in the order of the policy's choices, each as if those before could not be evicted; then the slots that it
    /// does not choose.
    fn in_eviction_order(&self, visit: &mut dyn FnMut(Slot) -> bool) {
        let mut visited = vec![false; self.slots.used_slots() as usize];
        let policy = self.policy.as_ref().filter(|_| self.failure.is_none());
        let mut after = None;
        while let Some(Ok(slot)) = policy.map(|policy| policy.borrow_mut().victim(NO_KEY, after)) {
            if !self.is_used(slot) || std::mem::replace(&mut visited[slot as usize], true) {
                // The next admission that needs a slot reports this as a failure.
                break;
            }
            if !visit(slot) {
                return;
            }
            after = Some(slot);
        }
        let rest = (0..self.slots.used_slots()).filter(|&slot| !visited[slot as usize] && self.is_used(slot));
        rest.into_iter().all(visit);
    }

    fn memory_bytes(&self) -> usize {
        self.slots.memory_bytes()
    }

    fn failure(&self) -> Option<&PolicyFailure> {
        self.failure.as_ref()
    }
}
