//! What a scenario says of a caching disk.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hierarchy::cache::replacement::ReplacementSpec;

/// MEMS as a fully associative write-back cache of a disk (MCD): Hong et al. 2006, sections 4.1.2 and 4.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McdSpec {
    /// How much of the MEMS device it uses, from its first block on: all of it if not given.
    #[serde(default)]
    #[schemars(range(min = 1), extend("x-unit" = "B"))]
    pub mems_bytes: Option<u64>,
    /// Size of a segment: what moves between disk and MEMS at once.
    #[serde(default = "default_segment_bytes")]
    #[schemars(range(min = 512, max = 67108864), extend("x-unit" = "B"))]
    pub segment_bytes: u64,
    /// Size of the non-volatile buffer between MEMS and disk. One part in 32 holds headers that are newer than those on MEMS,
    /// the rest segments.
    #[serde(default = "default_buffer_bytes")]
    #[schemars(range(min = 1024), extend("x-unit" = "B"))]
    pub buffer_bytes: u64,
    /// Which segment leaves when another comes.
    #[serde(default = "default_policy")]
    pub policy: ReplacementSpec,
    /// Whether requests are served from the buffer as soon as a segment has come from the disk.
    #[serde(default = "yes")]
    pub shortcut: bool,
    /// Whether a changed segment makes room as soon as the buffer holds it, not only when the disk does.
    #[serde(default = "yes")]
    pub immediate_report: bool,
    /// Whether parts of segments are written without reading the rest from the disk first.
    #[serde(default = "yes")]
    pub partial_write: bool,
    /// When changed segments are written to the disk though they stay: never if not given.
    #[serde(default)]
    pub flush: Option<McdFlushSpec>,
}

/// When a caching disk writes changed segments to the disk before they have to leave. They are written one after the other,
/// those first that would leave first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McdFlushSpec {
    /// Time without requests from above after which it begins: never for that reason if not given.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "ms"))]
    pub idle_ms: Option<f64>,
    /// Share of changed segments from which on it goes on beside requests.
    #[serde(default = "default_high_water")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub high_water: f64,
    /// Share of changed segments at which it stops doing so.
    #[serde(default = "default_low_water")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub low_water: f64,
}

const fn default_segment_bytes() -> u64 {
    64 * 1024
}

const fn default_buffer_bytes() -> u64 {
    2 * 1024 * 1024
}

const fn default_policy() -> ReplacementSpec {
    ReplacementSpec::Lru {}
}

const fn yes() -> bool {
    true
}

const fn default_high_water() -> f64 {
    0.75
}

const fn default_low_water() -> f64 {
    0.5
}

impl Default for McdSpec {
    fn default() -> Self {
        Self {
            mems_bytes: None,
            segment_bytes: default_segment_bytes(),
            buffer_bytes: default_buffer_bytes(),
            policy: default_policy(),
            shortcut: true,
            immediate_report: true,
            partial_write: true,
            flush: None,
        }
    }
}

impl Default for McdFlushSpec {
    fn default() -> Self {
        Self { idle_ms: None, high_water: default_high_water(), low_water: default_low_water() }
    }
}
