//! What a scenario says of a caching disk.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CachingDisk;
use crate::engine::Component;
use crate::fault::Faults;
use crate::hierarchy::common::Child;
use crate::hierarchy::kind::{ComponentKind, ComponentParameters, ComponentSpec, MEMS_AND_DISK, SURVIVES_POWER_CUT};
use crate::plugin::{PluginSpec, ReplacementChoice, Role};
use crate::units::shown_bytes;

/// The kind.
pub const KIND: ComponentKind = ComponentKind {
    name: "mcd",
    description: "A MEMS device as a fully associative write-back cache of a disk (hong2006, section 4.1.2).",
    children: MEMS_AND_DISK,
    parameters: ComponentParameters::of::<CachingDiskSpec>(),
};

/// MEMS as a fully associative write-back cache of a disk (MCD): Hong et al. 2006, sections 4.1.2 and 4.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CachingDiskSpec {
    /// How much of the MEMS device it uses, from its first block on: all of it if not given.
    #[schemars(range(min = 1), extend("x-unit" = "B"))]
    pub mems_bytes: Option<u64>,
    /// Size of a segment: what moves between disk and MEMS at once.
    #[schemars(range(min = 512, max = 67108864), extend("x-unit" = "B"))]
    pub segment_bytes: u64,
    /// Size of the non-volatile buffer between MEMS and disk. One part in 32 holds headers that are newer than those on MEMS,
    /// the rest segments.
    #[schemars(range(min = 1024), extend("x-unit" = "B"))]
    pub buffer_bytes: u64,
    /// Which segment leaves when another comes.
    pub policy: ReplacementChoice,
    /// Whether requests are served from the buffer as soon as a segment has come from the disk.
    pub shortcut: bool,
    /// Whether a changed segment makes room as soon as the buffer holds it, not only when the disk does.
    pub immediate_report: bool,
    /// Whether parts of segments are written without reading the rest from the disk first.
    pub partial_write: bool,
    /// When changed segments are written to the disk though they stay: never if not given.
    pub flush: Option<CachingDiskFlushSpec>,
    /// Length of a sequential stream from which on what continues it goes to the disk directly, as far as neither MEMS nor the
    /// buffer has anything of its segments; never if not given. Sixteen streams are told apart, of reads or of writes.
    #[schemars(range(min = 1), extend("x-unit" = "B"))]
    pub bypass_bytes: Option<u64>,
    /// How much of a segment comes from the disk at once, by region of the disk: always all of it if not given. Needs
    /// `partial_write`.
    pub units: Option<CachingDiskUnitsSpec>,
}

/// When a caching disk writes changed segments to the disk before they have to leave. They are written one after the other,
/// those first that would leave first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CachingDiskFlushSpec {
    /// Time without requests from above after which it begins: never for that reason if not given.
    #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "ms"))]
    pub idle_ms: Option<f64>,
    /// All that is changed, so long after something has changed: never for that reason if not given.
    #[schemars(range(min = 0.000001, max = 1e9), extend("x-unit" = "s"))]
    pub period_s: Option<f64>,
    /// Share of changed segments from which on it goes on beside requests.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub high_water: f64,
    /// Share of changed segments at which it stops doing so.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub low_water: f64,
}

/// Units in which segments come from the disk. Each region of the disk has a size of its own, from the least one by powers of two
/// to that of the segment, that follows what requests use of what comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CachingDiskUnitsSpec {
    /// Size of the least unit: a half, a quarter and so on to a 64th of `segment_bytes`.
    #[schemars(range(min = 512, max = 33554432), extend("x-unit" = "B"))]
    pub least_bytes: u64,
    /// Size of a region: a multiple of `segment_bytes`.
    #[schemars(range(min = 512), extend("x-unit" = "B"))]
    pub region_bytes: u64,
}

impl ComponentSpec for CachingDiskSpec {
    fn build(&self, children: &[Child]) -> Result<Box<dyn Component>, Faults> {
        Ok(Box::new(CachingDisk::new(self, children[0], children[1])?))
    }

    fn notes(&self, _members: u64) -> Vec<String> {
        let by = match self.shortcut {
            true => format!("mems or {} of non-volatile buffer have them", shown_bytes(self.buffer_bytes)),
            false => "mems has them".into(),
        };
        let mut notes = vec![format!("writes are acknowledged when {by}: {SURVIVES_POWER_CUT}")];
        if !self.immediate_report {
            notes.push("a changed segment has to reach the disk before another takes its place".into());
        }
        if !self.partial_write {
            notes.push("writes of a part of a segment wait until the disk has been read".into());
        }
        notes
    }

    fn custom(&self) -> Option<(&PluginSpec, Role)> {
        Some((self.policy.custom()?, Role::Replacement))
    }

    fn custom_mut(&mut self) -> Option<(&mut PluginSpec, Role)> {
        Some((self.policy.custom_mut()?, Role::Replacement))
    }
}

impl Default for CachingDiskSpec {
    fn default() -> Self {
        Self {
            mems_bytes: None,
            segment_bytes: 64 * 1024,
            buffer_bytes: 2 * 1024 * 1024,
            policy: ReplacementChoice::default(),
            shortcut: true,
            immediate_report: true,
            partial_write: true,
            flush: None,
            bypass_bytes: None,
            units: None,
        }
    }
}

impl Default for CachingDiskFlushSpec {
    fn default() -> Self {
        Self { idle_ms: None, period_s: None, high_water: 0.75, low_water: 0.5 }
    }
}

impl Default for CachingDiskUnitsSpec {
    fn default() -> Self {
        Self { least_bytes: 8 * 1024, region_bytes: 16 * 1024 * 1024 }
    }
}
