//! What a scenario says of arrays: which keys each kind has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hierarchy::array::{ArraySpec, JournalSpec, ReadPolicy, RebuildSpec, Sparing, WriteMethod};
use crate::hierarchy::faulty::FaultSpec;

/// Members one after the other: nothing more to say.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConcatSpec {}

/// Stripe units that go round members.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StripeSpec {
    /// Size of a stripe unit: a multiple of the block size.
    #[serde(default = "unit_bytes")]
    #[schemars(range(min = 512, max = 1073741824), extend("x-unit" = "B"))]
    pub unit_bytes: u64,
}

/// Copies of the same on every member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MirrorSpec {
    /// Which copy serves a read.
    #[serde(default)]
    pub read: ReadPolicy,
    /// Spare members beside `members`, built like the first of them.
    #[serde(default)]
    #[schemars(range(min = 0, max = 64))]
    pub spares: u32,
    /// How the contents of a failed member are rebuilt.
    #[serde(default)]
    pub rebuild: RebuildSpec,
    /// A journal in non-volatile memory; none when absent: then a power cut may leave copies that differ.
    #[serde(default)]
    pub journal: Option<JournalSpec>,
    /// What befalls members.
    #[serde(default)]
    pub faults: Vec<MemberFaultSpec>,
}

/// Stripe units with parity over the members of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParitySpec {
    /// Size of a stripe unit: a multiple of the block size.
    #[serde(default = "unit_bytes")]
    #[schemars(range(min = 512, max = 1073741824), extend("x-unit" = "B"))]
    pub unit_bytes: u64,
    /// How parity is brought up to date by a write that covers a part of a row.
    #[serde(default)]
    pub write: WriteMethod,
    /// Spare members beside `members`, built like the first of them.
    #[serde(default)]
    #[schemars(range(min = 0, max = 64))]
    pub spares: u32,
    /// Where the contents of a failed member are rebuilt. Only `raid5` and `raid6` distribute spare units.
    #[serde(default)]
    pub sparing: Sparing,
    /// How the contents of a failed member are rebuilt.
    #[serde(default)]
    pub rebuild: RebuildSpec,
    /// A journal in non-volatile memory; none when absent: then a power cut may leave rows whose parity does not fit their data.
    #[serde(default)]
    pub journal: Option<JournalSpec>,
    /// What befalls members.
    #[serde(default)]
    pub faults: Vec<MemberFaultSpec>,
}

/// What befalls a member of an array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct MemberFaultSpec {
    /// Its number, from 0; spares follow the members.
    #[schemars(range(min = 0))]
    pub member: u32,
    /// What befalls it.
    #[serde(flatten)]
    pub fault: FaultSpec,
}

impl MirrorSpec {
    pub(in crate::scenario) fn array(&self) -> ArraySpec {
        ArraySpec {
            read: self.read.listed().copied().unwrap_or_default(),
            spares: self.spares,
            rebuild: self.rebuild,
            journal: self.journal,
            ..ArraySpec::default()
        }
    }
}

impl ParitySpec {
    pub(in crate::scenario) fn array(&self) -> ArraySpec {
        ArraySpec {
            unit_bytes: Some(self.unit_bytes),
            write: self.write,
            sparing: self.sparing,
            spares: self.spares,
            rebuild: self.rebuild,
            journal: self.journal,
            ..ArraySpec::default()
        }
    }
}

const fn unit_bytes() -> u64 {
    1 << 16
}
