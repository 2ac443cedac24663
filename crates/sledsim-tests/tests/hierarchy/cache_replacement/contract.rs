//! The contract of all registered policies under random operations.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use sledsim::hierarchy::cache::replacement::{
    build, s3_fifo, slru, two_q, w_tiny_lfu, Replacement, ReplacementSpec, Slot, POLICIES,
};

use sledsim_testing::replacement::reference;
use sledsim_testing::tiers::{cases, size};

/// A key never used by [`ops`], and those after it.
const FRESH: u64 = 1 << 40;

/// An operation on a cache.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// Reference the key; if it is missing, admit it and evict an unpinned slot.
    Reference(u64),
    /// Admit a key never seen before.
    Fresh,
    /// Remove the key.
    Remove(u64),
    /// Pin or unpin the slot of the key.
    Pin(u64),
    /// Unpin everything.
    Unpin,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    // Few keys, of several scales, so that references repeat and tables have clusters.
    let key = prop_oneof![0_u64..12, (0_u64..6).prop_map(|k| k << 33), 100_u64..140];
    let op = prop_oneof![
        12 => key.clone().prop_map(Op::Reference),
        3 => Just(Op::Fresh),
        2 => key.clone().prop_map(Op::Remove),
        2 => key.prop_map(Op::Pin),
        1 => Just(Op::Unpin),
    ];
    prop::collection::vec(op, 1..300)
}

/// The policies with published parameters, and those that have any with extreme ones.
fn specs() -> Vec<ReplacementSpec> {
    let mut specs: Vec<ReplacementSpec> = POLICIES.iter().map(|policy| policy.default).collect();
    for share in [0.0, 1.0] {
        specs.push(ReplacementSpec::TwoQ(two_q::Spec { in_share: share, out_share: 1.0 - share }));
        specs.push(ReplacementSpec::Slru(slru::Spec { protected_share: share }));
        for window_share in [0.0, 0.3, 1.0] {
            specs.push(ReplacementSpec::WTinyLfu(w_tiny_lfu::Spec { window_share, protected_share: share }));
        }
        for (ghost_ratio, promotion_references) in [(1.0, 1), (0.0, 3)] {
            specs.push(ReplacementSpec::S3Fifo(s3_fifo::Spec {
                small_share: share,
                ghost_ratio,
                promotion_references,
            }));
        }
    }
    specs
}

/// A cache, the expected keys, and the pinned slots.
struct Checked {
    spec: ReplacementSpec,
    cache: Box<dyn Replacement>,
    model: BTreeMap<u64, Slot>,
    pinned: BTreeSet<Slot>,
    fresh: u64,
}

impl Checked {
    fn new(spec: &ReplacementSpec, capacity: u32) -> Self {
        Self {
            spec: *spec,
            cache: build(spec, capacity),
            model: BTreeMap::new(),
            pinned: BTreeSet::new(),
            fresh: FRESH,
        }
    }

    fn order(&self) -> Vec<Slot> {
        let mut order = Vec::new();
        self.cache.in_eviction_order(&mut |slot| {
            order.push(slot);
            true
        });
        order
    }

    fn admit(&mut self, key: u64) {
        let is_full = self.model.len() == self.cache.capacity() as usize;
        let next = self.order().first().copied();
        let pinned = self.pinned.clone();
        let Some(admission) = self.cache.admit(key, &mut |slot| !pinned.contains(&slot)) else {
            assert!(is_full && self.pinned.len() == self.model.len(), "refused although a slot could be evicted");
            return;
        };
        assert_eq!(admission.evicted.is_some(), is_full, "evicts if and only if it is full");
        if let Some(evicted) = admission.evicted {
            assert_eq!(self.model.remove(&evicted), Some(admission.slot), "evicts the key of the slot");
            assert!(!self.pinned.contains(&admission.slot), "a pinned slot was taken");
            // Admitting a remembered (ghost) key may change the eviction order.
            if key >= FRESH && self.pinned.is_empty() {
                assert_eq!(Some(admission.slot), next, "{:?}: does not follow its eviction order", self.spec);
            }
        }
        assert!(admission.slot < self.cache.capacity());
        assert!(self.model.values().all(|&slot| slot != admission.slot), "two keys in one slot");
        self.model.insert(key, admission.slot);
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Reference(key) => match self.cache.find(key) {
                Some(slot) => self.cache.hit(slot),
                None => self.admit(key),
            },
            Op::Fresh => {
                self.fresh += 1;
                self.admit(self.fresh);
            }
            Op::Remove(key) => {
                let slot = self.model.remove(&key);
                assert_eq!(self.cache.remove(key), slot);
                slot.map(|slot| self.pinned.remove(&slot));
            }
            Op::Pin(key) => {
                if let Some(&slot) = self.model.get(&key) {
                    if !self.pinned.insert(slot) {
                        self.pinned.remove(&slot);
                    }
                }
            }
            Op::Unpin => self.pinned.clear(),
        }
    }

    fn check(&self) {
        assert_eq!(self.cache.len() as usize, self.model.len());
        assert!(self.cache.len() <= self.cache.capacity());
        for (&key, &slot) in &self.model {
            assert_eq!((self.cache.find(key), self.cache.key(slot)), (Some(slot), key));
        }
        for key in (0..12).chain((0..6).map(|k| k << 33)).chain(100..140) {
            assert_eq!(self.cache.find(key), self.model.get(&key).copied());
        }
        let mut order = self.order();
        order.sort_unstable();
        let mut slots: Vec<Slot> = self.model.values().copied().collect();
        slots.sort_unstable();
        assert_eq!(order, slots, "each slot in use, once");
    }
}

proptest! {
    #![proptest_config(cases(size(20, 256)))]

    #[test]
    fn keys_keep_their_slot_until_eviction(ops in ops(), capacity in 1_u32..24) {
        for spec in specs() {
            let mut checked = Checked::new(&spec, capacity);
            for &op in &ops {
                checked.apply(op);
                checked.check();
            }
        }
    }

    /// Lookups and refused admissions do not change later decisions.
    #[test]
    fn lookups_and_refused_admissions_change_nothing(ops in ops(), capacity in 1_u32..16) {
        for spec in specs() {
            let (mut plain, mut watched) = (Checked::new(&spec, capacity), Checked::new(&spec, capacity));
            for &op in &ops {
                plain.apply(op);
                watched.apply(op);
                assert_eq!(plain.model, watched.model, "{spec:?}");
                if watched.model.len() == capacity as usize {
                    for key in [0, 3, 101, FRESH] {
                        let refused = watched.cache.find(key).is_some() || watched.cache.admit(key, &mut |_| false).is_none();
                        assert!(refused, "{spec:?}: evicted a pinned slot");
                    }
                }
                let mut seen = 0;
                watched.cache.in_eviction_order(&mut |_| {
                    seen += 1;
                    seen < 2
                });
                assert_eq!(seen, watched.model.len().min(2), "the visit ends when the callback returns false");
            }
        }
    }

    /// Small caches apply every rule often.
    #[test]
    fn small_caches_match_the_reference_implementations(
        keys in prop::collection::vec(0_u64..60, 1..600), capacity in 1_u32..40
    ) {
        for policy in POLICIES {
            let mut ours = build(&policy.default, capacity);
            let mut theirs = reference(policy.name, capacity as usize);
            for (i, &key) in keys.iter().enumerate() {
                assert_eq!(ours.reference(key), theirs.reference(key), "{}: reference {i}: {key}", policy.name);
            }
        }
    }
}

#[test]
fn policies_round_trip_and_defaults_are_filled_in() {
    for policy in POLICIES {
        assert_eq!(policy.default.name(), policy.name);
        policy.default.validate().unwrap();
        let bare: ReplacementSpec = serde_json::from_value(serde_json::json!({ "name": policy.name })).unwrap();
        assert_eq!(bare, policy.default);
    }
}

#[test]
fn parameters_out_of_range_are_rejected_by_name() {
    let cases = [
        (ReplacementSpec::TwoQ(two_q::Spec { in_share: 1.5, out_share: 0.5 }), "in_share = 1.5"),
        (
            ReplacementSpec::TwoQ(two_q::Spec { in_share: 0.5, out_share: f64::NAN }),
            "out_share is out of range: expected a number from 0 to 1, not NaN",
        ),
        (ReplacementSpec::Slru(slru::Spec { protected_share: -0.1 }), "protected_share = -0.1"),
        (
            ReplacementSpec::S3Fifo(s3_fifo::Spec { small_share: 0.1, ghost_ratio: 1.0, promotion_references: 4 }),
            "promotion_references = 4",
        ),
    ];
    let both = ReplacementSpec::TwoQ(two_q::Spec { in_share: 1.5, out_share: -1.0 }).validate().unwrap_err();
    assert_eq!(both.iter().map(|fault| fault.location.path.to_string()).collect::<Vec<_>>(), ["in_share", "out_share"]);
    for (spec, said) in cases {
        let message = spec.validate().unwrap_err().to_string();
        assert!(message.contains(said) && message.contains("out of range: expected"), "{message}");
    }
}
