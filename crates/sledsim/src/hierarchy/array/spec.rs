//! What a scenario says of an array, besides its members.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which copy of a mirror serves a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadChoice {
    /// One after the other.
    RoundRobin,
    /// The one with the fewest blocks under way; one after the other among equals.
    #[default]
    ShortestQueue,
    /// The one whose mechanism would be there first, as it says itself. Where one can't tell, the one whose last request ended
    /// nearest.
    Nearest,
}

impl ReadChoice {
    /// Its name in a scenario.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round-robin",
            Self::ShortestQueue => "shortest-queue",
            Self::Nearest => "nearest",
        }
    }
}

/// How parity is brought up to date by a write that covers a part of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteMethod {
    /// Whichever of the two takes fewer accesses to members; of fewer blocks among equals.
    #[default]
    Cost,
    /// From the old data and the old parity, where they can be read.
    Rmw,
    /// From the data of the row that is not written, where it can be read.
    Reconstruct,
}

/// Where the contents of a failed member are rebuilt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "SparePlace")]
pub enum Sparing {
    /// On members that hold nothing else.
    #[default]
    Dedicated,
    /// In spare units that go round all members as parity does.
    Distributed,
}

/// How the contents of a failed member are rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RebuildSpec {
    /// Most bytes rebuilt in a second; no limit when absent.
    #[schemars(range(min = 0.000001, max = 1000000.0), extend("x-unit" = "MB/s"))]
    pub mb_per_s: Option<f64>,
    /// Stripe units of a member rebuilt in one step.
    #[schemars(range(min = 1, max = 4096))]
    pub rows: u32,
    /// Most steps under way at once.
    #[schemars(range(min = 1, max = 64))]
    pub outstanding: u32,
    /// Time from the discovery of a failure to the first step.
    #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "s"))]
    pub delay_s: f64,
}

/// What the journal holds of a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JournalHolds {
    /// The new data and the new parity: both are written again after a power cut.
    #[default]
    Data,
    /// Only where it goes: parity is made anew from the data after a power cut. Not safe while a member has failed.
    Intents,
}

/// A journal in non-volatile memory that closes the write hole of parity and copies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct JournalSpec {
    /// Its size.
    #[schemars(range(min = 512, max = 1099511627776_u64), extend("x-unit" = "B"))]
    pub size_bytes: u64,
    /// What it holds of a write.
    pub holds: JournalHolds,
    /// Time to enter a write.
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "us"))]
    pub access_us: f64,
}

/// What an array does besides laying data over members.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ArraySpec {
    /// Size of a stripe unit, bytes; 64 KiB when absent. Of a mirror only the steps of a rebuild depend on it.
    pub unit_bytes: Option<u64>,
    /// Which copy of a mirror serves a read.
    pub read: ReadChoice,
    /// How parity is brought up to date.
    pub write: WriteMethod,
    /// Where failed members are rebuilt.
    pub sparing: Sparing,
    /// Spare members: the last of those given when dedicated, as much space of all of them when distributed.
    pub spares: u32,
    /// How failed members are rebuilt.
    pub rebuild: RebuildSpec,
    /// The journal; a power cut may leave rows whose parity does not fit their data when absent.
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
