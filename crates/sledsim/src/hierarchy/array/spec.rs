//! The parameters of an array besides its members.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rule that chooses the copy of a mirror for a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadChoice {
    /// The copies in turn.
    RoundRobin,
    /// The copy with the fewest outstanding blocks; among equals in turn.
    #[default]
    ShortestQueue,
    /// The copy with the shortest estimated positioning time; if a device has no estimate, the one whose last request ended nearest.
    Nearest,
}

impl ReadChoice {
    /// Returns its name in a scenario.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round-robin",
            Self::ShortestQueue => "shortest-queue",
            Self::Nearest => "nearest",
        }
    }
}

/// The parity update of a write to a part of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteMethod {
    /// The one with fewer accesses to members, then fewer blocks.
    #[default]
    Cost,
    /// Read-modify-write: from the old data and the old parity, if they can be read.
    Rmw,
    /// Reconstruct-write: from the other data of the row, if they can be read.
    Reconstruct,
}

/// The place of rebuilt data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "SparePlace")]
pub enum Sparing {
    /// Spare members.
    #[default]
    Dedicated,
    /// Spare units that rotate over all members as parity does.
    Distributed,
}

/// The pace of rebuilds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RebuildSpec {
    /// Largest rebuild rate; no limit when absent.
    #[schemars(range(min = 0.000001, max = 1000000.0), extend("x-unit" = "MB/s"))]
    pub mb_per_s: Option<f64>,
    /// Stripe units of a member per step.
    #[schemars(range(min = 1, max = 4096))]
    pub rows: u32,
    /// Largest number of outstanding steps.
    #[schemars(range(min = 1, max = 64))]
    pub outstanding: u32,
    /// Time from the detection of a failure to the first step.
    #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "s"))]
    pub delay_s: f64,
}

/// The content of a journal entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JournalHolds {
    /// New data and new parity, which are written again after a power cut.
    #[default]
    Data,
    /// Only the location. After a power cut parity is computed from the data, which is unsafe after the failure of a member.
    Intents,
}

/// A journal in non-volatile memory that closes the write hole of parity and copies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct JournalSpec {
    /// Its size.
    #[schemars(range(min = 512, max = 1099511627776_u64), extend("x-unit" = "B"))]
    pub size_bytes: u64,
    /// The content of an entry.
    pub holds: JournalHolds,
    /// Time to enter a write.
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "us"))]
    pub access_us: f64,
}

/// The behaviour of an array besides its layout.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ArraySpec {
    /// Size of a stripe unit, bytes; 64 KiB when absent. Of a mirror only the steps of a rebuild depend on it.
    pub unit_bytes: Option<u64>,
    /// The rule that chooses the copy of a mirror for a read.
    pub read: ReadChoice,
    /// The parity update.
    pub write: WriteMethod,
    /// The place of rebuilt data.
    pub sparing: Sparing,
    /// Number of spare members: the last members if dedicated, as much space of all members if distributed.
    pub spares: u32,
    /// The pace of rebuilds.
    pub rebuild: RebuildSpec,
    /// The journal. Without it, a power cut can leave rows whose parity does not match their data.
    pub journal: Option<JournalSpec>,
}

impl ArraySpec {
    /// Size of a stripe unit, bytes.
    #[must_use]
    pub fn unit_bytes(&self) -> u64 {
        self.unit_bytes.unwrap_or(1 << 16)
    }
}

impl Default for RebuildSpec {
    fn default() -> Self {
        Self { mb_per_s: None, rows: 8, outstanding: 1, delay_s: 0.0 }
    }
}

impl Default for JournalSpec {
    fn default() -> Self {
        Self { size_bytes: 1 << 20, holds: JournalHolds::Data, access_us: 1.0 }
    }
}
