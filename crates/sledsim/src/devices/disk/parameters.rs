//! Parameters of a disk drive, in the units people read.
//!
//! They are those that DiskSim 4.0's disk module and its disk model define, under names of their own: what a drive's
//! parameter file says carries over value by value.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SeekCurve;
use crate::power::PowerParameters;

/// How LBNs go round the surfaces of a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mapping {
    /// Every cylinder begins at surface 0.
    #[default]
    Cylinder,
    /// Every other cylinder of a zone, counted from its first, runs its surfaces backwards.
    SerpentineByZone,
    /// Every odd cylinder runs its surfaces backwards.
    Serpentine,
}

/// Where spare sectors lie, and what becomes of a defective one.
///
/// A slipped defect is skipped and everything behind it moves on by a sector, up to the spare that takes up the slack; a
/// remapped one lives on in its spare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "SpareSectors")]
pub enum Sparing {
    /// No spares.
    #[default]
    None,
    /// Whole tracks at the end of a zone.
    TracksPerZone,
    /// Sectors at the end of each track.
    SectorsPerTrack,
    /// Sectors at the end of each cylinder, which its slips use.
    SectorsPerCylinder,
    /// Sectors at the end of each cylinder, which slips do not use: those move LBNs up to the end of the disk.
    SectorsPerCylinderSlipToEnd,
    /// Sectors at the front of each cylinder, which its slips use.
    SectorsAtCylinderFront,
    /// Sectors at the front of each cylinder, which slips do not use: those move LBNs up to the end of the disk.
    SectorsAtCylinderFrontSlipToEnd,
    /// Sectors at the end of each range of cylinders.
    SectorsPerRange,
    /// Sectors at the end of each zone, which its slips use.
    SectorsPerZone,
    /// Sectors at the end of each zone, which slips do not use: those move LBNs up to the end of the disk.
    SectorsPerZoneSlipToEnd,
    /// Sectors at the end of the disk.
    SectorsAtDiskEnd,
}

/// How the platters' rotation enters a service time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RotationModel {
    /// A sector is read when it comes round; its angle follows from the absolute time.
    #[default]
    Phase,
    /// Every access waits for half a revolution.
    Average,
}

/// A zone: neighbouring cylinders with as many sectors on every track.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// First cylinder.
    #[schemars(range(min = 0, max = 100000000))]
    pub first_cylinder: u32,
    /// Last cylinder.
    #[schemars(range(min = 0, max = 100000000))]
    pub last_cylinder: u32,
    /// Sectors on a track.
    #[schemars(range(min = 1, max = 1000000))]
    pub sectors_per_track: u32,
    /// Angle of the zone's first sector from the index mark, in sectors.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub first_sector_offset: f64,
    /// Sectors left empty at the front of the zone.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000000000))]
    pub empty_sectors: u32,
    /// Angle between the first sectors of neighbouring tracks of a cylinder, in sectors.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub track_skew_sectors: f64,
    /// Angle between the last track of a cylinder and the first of the next, in sectors.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub cylinder_skew_sectors: f64,
    /// Spare sectors (or tracks) in the unit that the sparing scheme names.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000000000))]
    pub spares: u32,
    /// Slipped defects: sectors counted from the zone's first.
    #[serde(default)]
    pub slips: Vec<u64>,
    /// Remapped defects: pairs of a defective sector and its spare, both counted from the zone's first.
    #[serde(default)]
    pub remaps: Vec<[u64; 2]>,
}

/// How far a drive reads ahead of a request on its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAhead {
    /// Not at all.
    #[default]
    None,
    /// To the end of the track.
    Track,
    /// To the end of the cylinder.
    Cylinder,
    /// Until the segment is full or the maximum is reached, across tracks and cylinders.
    Segment,
    /// To the end of the track behind the request's, if an earlier read in the same segment lay on the track before it: one
    /// track ahead of a sequential stream. To the end of the request's own track otherwise.
    NextTrack,
}

/// When a write counts as complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FastWrite {
    /// Once it is on the medium.
    #[default]
    None,
    /// Once it is in the buffer, as with `full`; but a stream of writes whose data is on the medium already costs a miss.
    Sequential,
    /// Once it is in the buffer; other requests wait until the medium has it.
    Full,
}

/// A disk drive: platters, one or two arms, a bus and a segmented buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskParameters {
    /// Catalogue entry, or path of a device file, that the values not given here come from.
    pub name: String,
    /// Size of a sector: a logical block.
    #[serde(default = "sector")]
    #[schemars(range(min = 1, max = 1048576), extend("x-unit" = "B"))]
    pub block_bytes: u32,
    /// Blocks the drive offers, if fewer than its zones hold.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub capacity_blocks: Option<u64>,
    /// Data surfaces: heads of an arm.
    #[schemars(range(min = 1, max = 1000))]
    pub surfaces: u32,
    /// Cylinders.
    #[schemars(range(min = 1, max = 100000000))]
    pub cylinders: u32,
    /// Zones, from the outermost cylinder in; they do not overlap.
    #[schemars(length(min = 1))]
    pub zones: Vec<Zone>,
    /// How LBNs go round the surfaces.
    #[serde(default)]
    pub mapping: Mapping,
    /// Where spare sectors lie, and what becomes of defective ones.
    #[serde(default)]
    pub sparing: Sparing,
    /// Cylinders in a range, where spares belong to ranges.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100000000))]
    pub sparing_range_cylinders: u32,
    /// Revolutions in a minute, as the drive is specified.
    #[schemars(range(min = 1.0, max = 1000000.0))]
    pub rotation_rpm: f64,
    /// By how much the true speed exceeds the specified one, percent.
    #[serde(default)]
    #[schemars(range(min = -50.0, max = 50.0))]
    pub rotation_error_percent: f64,
    /// How the rotation enters a service time.
    #[serde(default)]
    pub rotation: RotationModel,
    /// Time of a seek by its distance.
    pub seek: SeekCurve,
    /// Time to change to another head of the same cylinder.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub head_switch_ms: f64,
    /// Time that the head settles longer for a write than for a read, after a seek or a head switch. If negative, `seek` and
    /// `head_switch_ms` are the times of writes, and reads take so much less.
    #[serde(default)]
    #[schemars(range(min = -1000.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub write_settle_ms: f64,
    /// Independent arms over the same platters, evenly spaced around them; an access takes the one that is there first.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 2))]
    pub actuators: u32,
    /// Time of a block on the bus.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub bus_ms_per_block: f64,
    /// Time of a block on the bus when it is written; as when it is read where absent.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub bus_write_ms_per_block: Option<f64>,
    /// Factor on all overheads of commands.
    #[serde(default = "unity")]
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub overhead_scale: f64,
    /// Overhead of every request, besides those by its kind.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub request_overhead_ms: f64,
    /// Command overhead of a read found in the buffer, after a read.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub read_hit_after_read_ms: f64,
    /// Command overhead of a read found in the buffer, after a write.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub read_hit_after_write_ms: f64,
    /// Command overhead of a read from the medium, after a read.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub read_miss_after_read_ms: f64,
    /// Command overhead of a read from the medium, after a write.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub read_miss_after_write_ms: f64,
    /// Command overhead of a write into the buffer (fast write), after a read.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub write_hit_after_read_ms: f64,
    /// Command overhead of a write into the buffer (fast write), after a write.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub write_hit_after_write_ms: f64,
    /// Command overhead of a write to the medium, after a read or a write that it does not continue. Without fast write, the
    /// part beyond `write_miss_after_write_ms` overlaps the seek, unless the drive holds the bus.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub write_miss_after_read_ms: f64,
    /// Command overhead of a write to the medium, after a write that it continues. Without fast write, at least
    /// `read_miss_after_write_ms` counts.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub write_miss_after_write_ms: f64,
    /// Time to report a read complete.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub read_completion_ms: f64,
    /// Time to report a write complete.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub write_completion_ms: f64,
    /// Time to prepare a transfer of data, at its start and at every reconnection.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub data_preparation_ms: f64,
    /// Time of a request's first reconnection to the bus.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub first_reselect_ms: f64,
    /// Time of a reconnection after the first, where a write has disconnected twice.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub other_reselect_ms: f64,
    /// Time of the disconnection of a read, after a read.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub read_disconnect_after_read_ms: f64,
    /// Time of the disconnection of a read, after a write.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub read_disconnect_after_write_ms: f64,
    /// Time of the disconnection of a write.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub write_disconnect_ms: f64,
    /// Whether a write that does not continue the one before disconnects once before its data and once after; the five times
    /// that follow apply then.
    #[serde(default)]
    pub extra_write_disconnect: bool,
    /// Command overhead before the first of two disconnections.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub extra_command_ms: f64,
    /// Time of the first of two disconnections.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub extra_disconnect_ms: f64,
    /// Time between the first disconnection and the reconnection for the data.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub extra_gap_ms: f64,
    /// Time of the second of two disconnections.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub extra_second_disconnect_ms: f64,
    /// Delay of the seek beyond the command overhead, where a write disconnects twice.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub extra_seek_delay_ms: f64,
    /// Least time of the seek of a write that does not continue the one before, and from when its data is in the buffer to
    /// the medium.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub least_seek_ms: f64,
    /// Least time in which a head settles on a track for a new read, even one it is on already; the shorter of the track skew and
    /// the single-cylinder seek when absent.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub least_read_seek_ms: Option<f64>,
    /// Whether the drive keeps the bus for the whole of a read once it has begun to transfer.
    #[serde(default)]
    pub hold_bus_reading: bool,
    /// Whether the drive keeps the bus from the command to the completion.
    #[serde(default)]
    pub never_disconnect: bool,
    /// Whether the buffer keeps data beyond the request that brought it.
    #[serde(default = "yes")]
    pub buffer_caching: bool,
    /// Segments of the buffer.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100000))]
    pub buffer_segments: u32,
    /// Size of a segment.
    #[serde(default = "segment")]
    #[schemars(range(min = 1, max = 100000000))]
    pub segment_blocks: u32,
    /// Whether writes have a segment of their own, which reads leave alone.
    #[serde(default)]
    pub separate_write_segment: bool,
    /// Share of a read's data that must be in the buffer when the drive reconnects to hand it over.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub read_watermark: f64,
    /// Whether watermarks are shares of the request; of the segment otherwise.
    #[serde(default = "yes")]
    pub watermark_of_request: bool,
    /// How far the drive reads ahead.
    #[serde(default)]
    pub read_ahead: ReadAhead,
    /// Least number of blocks read ahead, even with another request waiting.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100000000))]
    pub read_ahead_least_blocks: u32,
    /// Most blocks read ahead; a segment's size when absent.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100000000))]
    pub read_ahead_most_blocks: Option<u32>,
    /// How requested data weighs against data read ahead when a segment is full: 1 keeps reading ahead over it, 0 keeps it, -1
    /// drops it as soon as it has been handed over.
    #[serde(default)]
    #[schemars(range(min = -1, max = 1))]
    pub read_ahead_over_requested: i32,
    /// Whether a read found whole in the buffer of an idle drive resumes reading ahead.
    #[serde(default)]
    pub read_ahead_on_idle_hit: bool,
    /// Whether a read begins with whatever requested block passes first: zero-latency access. A drive that keeps the bus then
    /// hands over the blocks of a track once all of them are there.
    #[serde(default)]
    pub zero_latency_reads: bool,
    /// Whether a write begins with whatever requested block passes first.
    #[serde(default)]
    pub zero_latency_writes: bool,
    /// Whether blocks of the track that pass before the first requested one are read too: free blocks. A read begins with
    /// whatever requested block passes first then, too.
    #[serde(default)]
    pub read_free_blocks: bool,
    /// When a write counts as complete.
    #[serde(default)]
    pub fast_write: FastWrite,
    /// Whether a read found whole in the buffer is served while the medium is still being written.
    #[serde(default)]
    pub whole_hits_beside_writes: bool,
    /// Whether the part of a read that is in the buffer is handed over while the medium is still being written.
    #[serde(default)]
    pub partial_hits_beside_writes: bool,
    /// Whether sequential writes in the buffer reach the medium as one.
    #[serde(default)]
    pub combine_writes: bool,
    /// Whether reading ahead can be broken off in the middle of a sector.
    #[serde(default)]
    pub stop_read_ahead_in_sector: bool,
    /// Whether the part of a read that is in the buffer is handed over at once.
    #[serde(default)]
    pub transfer_partial_hits: bool,
    /// Whether a read whose first block is just being read ahead counts as found in part.
    #[serde(default)]
    pub almost_read_hits: bool,
    /// Whether reads find written data in the buffer.
    #[serde(default = "yes")]
    pub read_hits_on_writes: bool,
    /// What the drive draws; not known when absent.
    #[serde(default)]
    pub power: Option<PowerParameters>,
}

const fn sector() -> u32 {
    512
}

const fn one() -> u32 {
    1
}

const fn unity() -> f64 {
    1.0
}

const fn segment() -> u32 {
    256
}

const fn yes() -> bool {
    true
}
