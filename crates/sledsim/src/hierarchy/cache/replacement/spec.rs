//! The registry of policies, and their parameters as a scenario states them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{arc, clock, fifo, lfuda, lru, s3_fifo, slru, two_q, Replacement};

/// Slots that a cache may have at most.
pub const MAX_SLOTS: u32 = i32::MAX as u32;

/// A policy as the registry lists it.
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

/// Every policy.
pub const POLICIES: &[ReplacementPolicy] = &[
    lru::POLICY,
    fifo::POLICY,
    clock::POLICY,
    lfuda::POLICY,
    arc::POLICY,
    two_q::POLICY,
    slru::POLICY,
    s3_fifo::POLICY,
];

/// A policy and its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
// Without parameters, too, the variants have braces: serde denies unknown fields only there.
pub enum ReplacementSpec {
    /// Least recently used.
    Lru {},
    /// First in, first out.
    Fifo {},
    /// Second chance.
    Clock {},
    /// Least frequently used with dynamic aging.
    Lfuda {},
    /// Adaptive replacement cache.
    Arc {},
    /// 2Q, full version.
    #[serde(rename = "2q")]
    TwoQ {
        /// Kin: share of the cache above which the entrance queue (A1in) gives up entries.
        #[serde(default = "two_q::default_in_share")]
        #[schemars(range(min = 0.0, max = 1.0))]
        in_share: f64,
        /// Kout: keys remembered after they left the entrance queue (A1out), as a share of the cache's entries.
        #[serde(default = "two_q::default_out_share")]
        #[schemars(range(min = 0.0, max = 1.0))]
        out_share: f64,
    },
    /// Segmented LRU.
    Slru {
        /// Share of the cache that the protected segment may take; 0 is LRU.
        #[serde(default = "slru::default_protected_share")]
        #[schemars(range(min = 0.0, max = 1.0))]
        protected_share: f64,
    },
    /// S3-FIFO.
    #[serde(rename = "s3-fifo")]
    S3Fifo {
        /// Share of the cache for the small queue.
        #[serde(default = "s3_fifo::default_small_share")]
        #[schemars(range(min = 0.0, max = 1.0))]
        small_share: f64,
        /// Keys remembered after they left the small queue, per entry that the main queue may have.
        #[serde(default = "s3_fifo::default_ghost_ratio")]
        #[schemars(range(min = 0.0, max = 1.0))]
        ghost_ratio: f64,
        /// References in the small queue that take an entry to the main one instead of out.
        #[serde(default = "s3_fifo::default_promotion_references")]
        #[schemars(range(min = 1, max = 3))]
        promotion_references: u8,
    },
}

/// A parameter outside its range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("replacement policy {policy}: {parameter} is {value}, but must be {allowed}")]
pub struct SpecError {
    /// The policy's name.
    pub policy: &'static str,
    /// The parameter's name.
    pub parameter: &'static str,
    /// What was given.
    pub value: f64,
    /// What is allowed.
    pub allowed: &'static str,
}

impl ReplacementSpec {
    /// The policy's name: its key in scenarios.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Lru {} => lru::POLICY.name,
            Self::Fifo {} => fifo::POLICY.name,
            Self::Clock {} => clock::POLICY.name,
            Self::Lfuda {} => lfuda::POLICY.name,
            Self::Arc {} => arc::POLICY.name,
            Self::TwoQ { .. } => two_q::POLICY.name,
            Self::Slru { .. } => slru::POLICY.name,
            Self::S3Fifo { .. } => s3_fifo::POLICY.name,
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// The first parameter outside its range.
    pub fn validate(&self) -> Result<(), SpecError> {
        let share = |parameter, value| {
            let is_share = (0.0..=1.0).contains(&value);
            let error = SpecError { policy: self.name(), parameter, value, allowed: "from 0 to 1" };
            if is_share {
                Ok(())
            } else {
                Err(error)
            }
        };
        match *self {
            Self::Lru {} | Self::Fifo {} | Self::Clock {} | Self::Lfuda {} | Self::Arc {} => Ok(()),
            Self::TwoQ { in_share, out_share } => share("in_share", in_share).and(share("out_share", out_share)),
            Self::Slru { protected_share } => share("protected_share", protected_share),
            Self::S3Fifo { small_share, ghost_ratio, promotion_references } => {
                share("small_share", small_share).and(share("ghost_ratio", ghost_ratio))?;
                if (1..=s3_fifo::MOST_REFERENCES).contains(&promotion_references) {
                    return Ok(());
                }
                let (parameter, value) = ("promotion_references", f64::from(promotion_references));
                Err(SpecError { policy: self.name(), parameter, value, allowed: "from 1 to 3" })
            }
        }
    }
}

/// Does something with a policy of any type, compiled for each of them.
pub trait PolicyUser {
    /// What it makes of the policy.
    type Output;

    /// Takes the policy.
    fn take<R: Replacement + 'static>(self, policy: R) -> Self::Output;
}

/// Hands the policy that a valid `spec` describes, empty and with `capacity` slots (1 to [`MAX_SLOTS`]), to `user`.
pub fn with_policy<U: PolicyUser>(spec: &ReplacementSpec, capacity: u32, user: U) -> U::Output {
    assert!((1..=MAX_SLOTS).contains(&capacity), "a cache has from 1 to {MAX_SLOTS} slots");
    match *spec {
        ReplacementSpec::Lru {} => user.take(lru::Lru::new(capacity)),
        ReplacementSpec::Fifo {} => user.take(fifo::Fifo::new(capacity)),
        ReplacementSpec::Clock {} => user.take(clock::Clock::new(capacity)),
        ReplacementSpec::Lfuda {} => user.take(lfuda::Lfuda::new(capacity)),
        ReplacementSpec::Arc {} => user.take(arc::Arc::new(capacity)),
        ReplacementSpec::TwoQ { in_share, out_share } => user.take(two_q::TwoQ::new(capacity, in_share, out_share)),
        ReplacementSpec::Slru { protected_share } => user.take(slru::Slru::new(capacity, protected_share)),
        ReplacementSpec::S3Fifo { small_share, ghost_ratio, promotion_references } => {
            user.take(s3_fifo::S3Fifo::new(capacity, small_share, ghost_ratio, promotion_references))
        }
    }
}

/// Boxes a policy.
struct Boxing;

impl PolicyUser for Boxing {
    type Output = Box<dyn Replacement>;

    fn take<R: Replacement + 'static>(self, policy: R) -> Self::Output {
        Box::new(policy)
    }
}

/// The policy that a valid `spec` describes, empty and with `capacity` slots, 1 to [`MAX_SLOTS`].
#[must_use]
pub fn build(spec: &ReplacementSpec, capacity: u32) -> Box<dyn Replacement> {
    with_policy(spec, capacity, Boxing)
}
