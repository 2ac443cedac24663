//! The parameters of a caching disk, and the sizes that follow from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{header, CachingDisk};
use crate::convert::to_u32;
use crate::engine::Component;
use crate::fault::{Fault, Faults, Kind};
use crate::hierarchy::cache::replacement::MAX_SLOTS;
use crate::hierarchy::common::Child;
use crate::hierarchy::kind::{ComponentKind, ComponentParameters, ComponentSpec, MEMS_AND_DISK, SURVIVES_POWER_CUT};
use crate::plugin::{PluginSpec, ReplacementChoice, Role};
use crate::units::shown_bytes;

/// Share of the buffer that holds headers: one part in 32.
const JOURNAL_PART: u64 = 32;
/// Bytes of a header in the journal besides the bits of valid blocks: slot, segment, state.
const ENTRY_BYTES: u64 = 16;
/// The smallest number of headers in the journal: one for a miss, one for a write, and two that are being written to MEMS.
const MIN_HEADERS: u64 = 4;

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
    /// Part of the MEMS device that it uses, from the first block on; all of it if absent.
    #[schemars(range(min = 1), extend("x-unit" = "B"))]
    pub mems_bytes: Option<u64>,
    /// Size of a segment, the unit in which data moves between disk and MEMS.
    #[schemars(range(min = 512, max = 67108864), extend("x-unit" = "B"))]
    pub segment_bytes: u64,
    /// Size of the non-volatile buffer between MEMS and disk. One part in 32 holds headers that are newer than those on MEMS; the
    /// rest holds segments.
    #[schemars(range(min = 1024), extend("x-unit" = "B"))]
    pub buffer_bytes: u64,
    /// Replacement policy of segments.
    pub policy: ReplacementChoice,
    /// If true, the buffer serves requests as soon as a segment has been read from the disk.
    pub shortcut: bool,
    /// If true, the slot of a changed segment is free as soon as the buffer holds the segment, not only when the disk does.
    pub immediate_report: bool,
    /// If true, parts of segments are written without reading the rest from the disk first.
    pub partial_write: bool,
    /// When changed segments are written to the disk before their eviction; never if absent.
    pub flush: Option<CachingDiskFlushSpec>,
    /// Length of a sequential stream of reads or writes from which on its requests go to the disk directly, as far as neither MEMS
    /// nor the buffer holds their segments; never if absent. Sixteen streams are tracked.
    #[schemars(range(min = 1), extend("x-unit" = "B"))]
    pub bypass_bytes: Option<u64>,
    /// Parts of segments that are read from the disk at once, by region of the disk; whole segments if absent. Requires
    /// `partial_write`.
    pub units: Option<CachingDiskUnitsSpec>,
}

/// When a caching disk writes changed segments to the disk before their eviction. They are written one after the other, in
/// eviction order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CachingDiskFlushSpec {
    /// Time without host requests after which flushes begin; no limit if absent.
    #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "ms"))]
    pub idle_ms: Option<f64>,
    /// Time after a change at which all changed segments are flushed; no limit if absent.
    #[schemars(range(min = 0.000001, max = 1e9), extend("x-unit" = "s"))]
    pub period_s: Option<f64>,
    /// Share of changed segments above which they are flushed during requests, too.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub high_water: f64,
    /// Share of changed segments at which these flushes end.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub low_water: f64,
}

/// Units in which segments are read from the disk. Each region of the disk has its own unit size, the smallest one times a power
/// of two up to a segment, which adapts to the use of the blocks read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CachingDiskUnitsSpec {
    /// Smallest unit: a half, a quarter and so on to a 64th of `segment_bytes`.
    #[schemars(range(min = 512, max = 33554432), extend("x-unit" = "B"))]
    pub least_bytes: u64,
    /// Size of a region: a multiple of `segment_bytes`.
    #[schemars(range(min = 512), extend("x-unit" = "B"))]
    pub region_bytes: u64,
}

/// Sizes in segments and blocks that follow from a specification.
pub(super) struct Sizes {
    pub segment_blocks: u32,
    /// Segments that fit on MEMS.
    pub slots: u32,
    /// Segments that fit in the buffer.
    pub buffer_segments: u32,
    /// Headers that fit in the journal.
    pub journal_headers: u32,
}

impl CachingDiskSpec {
    /// The sizes on these children, whose blocks are equal.
    ///
    /// # Errors
    /// All keys that contradict each other or the sizes of the children.
    pub(super) fn sizes(&self, mems: Child, disk: Child) -> Result<Sizes, Faults> {
        let mems_bytes = self.mems_bytes.unwrap_or_else(|| mems.bytes());
        let (slots, buffer_segments) = (self.slots(mems_bytes, disk.block_bytes), self.buffer_segments());
        let journal_headers = self.journal_headers(disk.block_bytes);
        // Without space for two segments the number of headers is not reported.
        let buffer = buffer_segments.as_ref().and(journal_headers.as_ref());
        Faults::of_all([
            check_mems_bytes(mems_bytes, mems, disk).map_err(Faults::from),
            slots.as_ref().map(drop).map_err(|fault| fault.clone().into()),
            buffer.map(drop).map_err(|fault| fault.clone().into()),
            self.policy.validate().map_err(|faults| faults.within("policy")),
            self.check_units().map_err(Faults::from),
        ])?;
        let segment_blocks = to_u32(self.segment_bytes / u64::from(disk.block_bytes));
        let (buffer_segments, journal_headers) = (buffer_segments?, journal_headers?);
        Ok(Sizes { segment_blocks, slots: slots?, buffer_segments, journal_headers })
    }

    fn buffer_segments(&self) -> Result<u32, Fault> {
        let bytes = self.buffer_bytes - self.buffer_bytes / JOURNAL_PART;
        // Empty segments are rejected with the number of slots.
        match bytes / self.segment_bytes.max(1) {
            segments @ 2.. => Ok(to_u32(segments.min(1 << 20))),
            _ => Err(Fault::misfit("segment_bytes", self.segment_bytes)
                .says(format!(" exceeds half of the {bytes} B that "))
                .key_is("buffer_bytes", self.buffer_bytes)
                .says(" leaves for segments: the buffer must hold two, one coming and one leaving")),
        }
    }

    fn journal_headers(&self, block_bytes: u32) -> Result<u32, Fault> {
        let entry_bytes = ENTRY_BYTES + (self.segment_bytes / u64::from(block_bytes)).div_ceil(8);
        match self.buffer_bytes / JOURNAL_PART / entry_bytes {
            headers @ MIN_HEADERS.. => Ok(to_u32(headers.min(1 << 20))),
            headers => Err(Fault::misfit("buffer_bytes", self.buffer_bytes)
                .says(format!(" has room for {headers} headers of {entry_bytes} B, but {MIN_HEADERS} are needed: "))
                .set("buffer_bytes", MIN_HEADERS * entry_bytes * JOURNAL_PART)),
        }
    }

    fn slots(&self, mems_bytes: u64, block_bytes: u32) -> Result<u32, Fault> {
        let (segment_bytes, block_bytes_wide) = (self.segment_bytes, u64::from(block_bytes));
        let segment_blocks = segment_bytes / block_bytes_wide;
        if segment_blocks == 0 || !segment_bytes.is_multiple_of(block_bytes_wide) {
            return Err(Fault::misfit("segment_bytes", segment_bytes)
                .says(format!(" is no multiple of the {block_bytes} B blocks of "))
                .key("disk"));
        }
        let max_blocks = header::max_blocks(block_bytes);
        if segment_blocks > max_blocks {
            return Err(Fault::misfit("segment_bytes", segment_bytes)
                .says(format!(" exceeds {} B: its header must fit a block", max_blocks * block_bytes_wide)));
        }
        let slots = mems_bytes / block_bytes_wide / (segment_blocks + 1);
        if !(2..=u64::from(MAX_SLOTS)).contains(&slots) {
            return Err(Fault::misfit("mems_bytes", mems_bytes)
                .says(format!(" holds {slots} segments of "))
                .key_is("segment_bytes", segment_bytes)
                .says(format!(" and a header, but must hold from 2 to {MAX_SLOTS}")));
        }
        Ok(to_u32(slots))
    }

    fn check_units(&self) -> Result<(), Fault> {
        if self.units.is_some() && !self.partial_write {
            return Err(Fault::at(Kind::Conflict, "units")
                .says(" needs ")
                .set("partial_write", true)
                .says(": units fill segments in parts"));
        }
        Ok(())
    }
}

/// Checks that `mems_bytes` do not exceed the MEMS device and are fewer than those of the disk.
fn check_mems_bytes(mems_bytes: u64, mems: Child, disk: Child) -> Result<(), Fault> {
    if mems_bytes > mems.bytes() {
        let exceeds = format!(" exceeds the {} B of ", mems.bytes());
        return Err(Fault::misfit("mems_bytes", mems_bytes).says(exceeds).key("mems"));
    }
    if mems_bytes >= disk.bytes() {
        return Err(Fault::misfit("mems_bytes", mems_bytes)
            .says(" of ")
            .key("mems")
            .says(" are used, and ")
            .key("disk")
            .says(format!(" has only {} B: a cache must be smaller than what it caches", disk.bytes())));
    }
    Ok(())
}

impl ComponentSpec for CachingDiskSpec {
    fn build(&self, children: &[Child]) -> Result<Box<dyn Component>, Faults> {
        Ok(Box::new(CachingDisk::new(self, children[0], children[1])?))
    }

    fn issues_own_writes(&self) -> bool {
        true
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
