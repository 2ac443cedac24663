//! A replacement policy of one's own: it chooses, and everything else is held to the contract of [`Replacement`] here.

use std::cell::RefCell;
use std::collections::HashSet;

use super::slots::{keeps_keys, Slots};
use super::{build, Admission, Replacement, ReplacementSpec, Slot};
use crate::engine::Stop;
use crate::fault::{Fault, Kind};
use crate::own::{Choice, Listed, OwnReplacement};
use crate::time::Time;

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
    /// None where it could not be made. It is asked in what order keys would leave, too, which changes nothing.
    policy: Option<RefCell<Box<dyn OwnReplacement>>>,
    slots: Slots<()>,
    chooses_admissions: bool,
    /// Why it can't go on, and the key with which that was found; none where it could not be made.
    stop: Option<(Stop, Option<u64>)>,
}

impl Own {
    fn new(made: Result<Box<dyn OwnReplacement>, Fault>, capacity: u32) -> Self {
        let chooses_admissions = made.as_ref().is_ok_and(|policy| policy.chooses_admissions());
        let (policy, stop) = match made {
            Ok(policy) => (Some(RefCell::new(policy)), None),
            Err(fault) => (None, Some((Stop::Failed(fault), None))),
        };
        Self { policy, slots: Slots::new(capacity), chooses_admissions, stop }
    }

    /// Asks or tells the policy; nothing once it can't go on.
    #[inline]
    fn with<T>(&mut self, key: u64, call: impl FnOnce(&mut dyn OwnReplacement) -> Result<T, Stop>) -> Option<T> {
        if self.stop.is_some() {
            return None;
        }
        match call(self.policy.as_mut()?.get_mut().as_mut()) {
            Ok(answer) => Some(answer),
            Err(stop) => {
                self.stop = Some((stop, Some(key)));
                None
            }
        }
    }

    /// Whether a slot has a key.
    fn is_used(&self, slot: Slot) -> bool {
        slot < self.slots.reach() && self.slots.find(self.slots.key(slot)) == Some(slot)
    }

    /// The slot that is given to `key`: the policy's first choice that may leave. None where none may.
    fn victim(&mut self, key: u64, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let mut refused = HashSet::new();
        let mut after = None;
        while refused.len() < self.slots.len() as usize {
            let slot = self.with(key, |policy| policy.victim(key, after))?;
            let wrong = match (self.is_used(slot), after.is_some() && refused.contains(&slot)) {
                (true, false) => None,
                (true, true) => Some("may not leave, a second time"),
                (false, _) => Some("has no key"),
            };
            if let Some(why) = wrong {
                let name = self.policy.as_mut()?.get_mut().name();
                let says = format!("{name} chose slot {slot} of {}, which {why}", self.slots.capacity());
                self.stop = Some((Stop::Failed(Fault::new(Kind::Policy).says(says)), Some(key)));
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

impl Replacement for Own {
    keeps_keys!(slots);

    #[inline]
    fn at(&mut self, now: Time, request: Option<u64>) {
        if let Some(policy) = &mut self.policy {
            policy.get_mut().at(now, request);
        }
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
        let asked = self.policy.as_ref().filter(|_| self.stop.is_none());
        let mut after = None;
        while let Some(Ok(slot)) = asked.map(|policy| policy.borrow_mut().victim(NOBODY, after)) {
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

    fn stop(&self) -> Option<(&Stop, Option<u64>)> {
        self.stop.as_ref().map(|(stop, key)| (stop, *key))
    }
}
