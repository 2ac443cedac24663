//! A replacement policy of one's own: it chooses, and everything else is held to the contract of [`Replacement`] here.

use super::slots::Slots;
use super::{build, Admission, Replacement, ReplacementSpec, Slot};
use crate::engine::Stop;
use crate::fault::{Fault, Kind};
use crate::own::{Choice, Listed, OwnReplacement};

/// One of the list, or one's own.
pub type ReplacementChoice = Choice<ReplacementSpec>;

impl Listed for ReplacementSpec {
    fn listed_name(&self) -> &'static str {
        self.name()
    }

    fn check(&self) -> Result<(), crate::fault::Faults> {
        self.validate()
    }
}

impl Choice<ReplacementSpec> {
    /// The policy, empty and with `capacity` slots. One's own that can't be made says so by [`Replacement::stop`].
    #[must_use]
    pub fn build(&self, capacity: u32) -> Box<dyn Replacement> {
        match self {
            Self::Listed(listed) => build(listed, capacity),
            Self::Own(own) => Box::new(Own::new(own.maker().and_then(|maker| maker.replacement(capacity)), capacity)),
        }
    }
}

/// Whose coming is asked for where none comes: a key that nobody has.
const NOBODY: u64 = u64::MAX;

/// Keys in slots by a policy of one's own. Once that can't go on, nothing comes in any more.
#[derive(Clone)]
pub struct Own {
    /// None where it could not be made.
    policy: Option<Box<dyn OwnReplacement>>,
    slots: Slots<()>,
    chooses_admissions: bool,
    /// Why it can't go on, and the key with which that was found.
    stop: Option<(Stop, u64)>,
}

impl Own {
    fn new(made: Result<Box<dyn OwnReplacement>, Fault>, capacity: u32) -> Self {
        let (policy, stop) = match made {
            Ok(policy) => (Some(policy), None),
            Err(fault) => (None, Some((Stop::Failed(fault), NOBODY))),
        };
        let chooses_admissions = policy.as_ref().is_some_and(|policy| policy.chooses_admissions());
        Self { policy, slots: Slots::new(capacity), chooses_admissions, stop }
    }

    /// Asks or tells the policy; nothing once it can't go on.
    #[inline]
    fn with<T>(&mut self, key: u64, call: impl FnOnce(&mut dyn OwnReplacement) -> Result<T, Stop>) -> Option<T> {
        if self.stop.is_some() {
            return None;
        }
        match call(self.policy.as_mut()?.as_mut()) {
            Ok(answer) => Some(answer),
            Err(stop) => {
                self.stop = Some((stop, key));
                None
            }
        }
    }

    /// Whether a slot has a key.
    fn is_used(&self, slot: Slot) -> bool {
        slot < self.slots.reach() && self.slots.find(self.slots.key(slot)) == Some(slot)
    }

    /// What is wrong with a choice, of which `refused` were before it.
    fn wrong_choice(&self, slot: Slot, refused: u32) -> Option<String> {
        if !self.is_used(slot) {
            return Some(format!("chose slot {slot} of {}, which has no key", self.slots.capacity()));
        }
        let again = || format!("chose slots that may not leave {refused} times, of {} in use", self.slots.len());
        (refused >= self.slots.len()).then(again)
    }

    /// The slot that is given to `key`: the policy's first choice that may leave.
    fn victim(&mut self, key: u64, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let mut after = None;
        for refused in 0.. {
            let slot = self.with(key, |policy| policy.victim(key, after))??;
            if let Some(says) = self.wrong_choice(slot, refused) {
                let name = self.policy.as_ref()?.name();
                self.stop = Some((Stop::Failed(Fault::new(Kind::Policy).says(format!("{name} {says}"))), key));
                return None;
            }
            if may_evict(slot) {
                return Some(slot);
            }
            after = Some(slot);
        }
        None
    }
}

impl Replacement for Own {
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

    fn key(&self, slot: Slot) -> u64 {
        self.slots.key(slot)
    }

    #[inline]
    fn hit(&mut self, slot: Slot) {
        let key = self.slots.key(slot);
        self.with(key, |policy| policy.hit(slot, key));
    }

    #[inline]
    fn admits(&mut self, key: u64) -> bool {
        !self.chooses_admissions || self.with(key, |policy| policy.admits(key)) == Some(true)
    }

    #[inline]
    fn chooses_admissions(&self) -> bool {
        self.chooses_admissions
    }

    fn admit(&mut self, key: u64, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Admission> {
        if self.stop.is_some() {
            return None;
        }
        let (slot, evicted) = if self.slots.is_full() {
            let slot = self.victim(key, may_evict)?;
            (slot, Some(self.slots.replace(slot, key)))
        } else {
            (self.slots.insert(key, ()), None)
        };
        self.with(key, |policy| policy.admitted(slot, key, evicted));
        Some(Admission { slot, evicted })
    }

    fn remove(&mut self, key: u64) -> Option<Slot> {
        let slot = self.slots.remove(key)?;
        self.with(key, |policy| policy.removed(slot, key));
        Some(slot)
    }

    /// As the policy would choose one after the other, if each might not leave; then those that it does not choose.
    fn in_eviction_order(&self, visit: &mut dyn FnMut(Slot) -> bool) {
        let mut shown = vec![false; self.slots.reach() as usize];
        let mut asked = self.policy.clone().filter(|_| self.stop.is_none());
        let mut after = None;
        while let Some(Ok(Some(slot))) = asked.as_mut().map(|policy| policy.victim(NOBODY, after)) {
            if !self.is_used(slot) || std::mem::replace(&mut shown[slot as usize], true) {
                // With the next request that needs a slot it is told.
                break;
            }
            if !visit(slot) {
                return;
            }
            after = Some(slot);
        }
        let rest = (0..self.slots.reach()).filter(|&slot| !shown[slot as usize] && self.is_used(slot));
        rest.into_iter().all(visit);
    }

    fn memory_bytes(&self) -> usize {
        self.slots.memory_bytes()
    }

    fn stop(&self) -> Option<(&Stop, u64)> {
        self.stop.as_ref().map(|(stop, key)| (stop, *key))
    }
}
