//! Parameters of a disk drive.
//!
//! They correspond one to one to the parameters of DiskSim 4.0's disk module and disk model, under other names. DiskSim has no seek-first
//! mapping, physical sectors, read retries, command queue or write cache.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SeekCurve;
use crate::fault::{Fault, Range};
use crate::power::PowerParameters;

/// Order of LBNs over the surfaces of a cylinder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mapping {
    /// Every cylinder begins on surface 0.
    #[default]
    Cylinder,
    /// Every second cylinder of a zone has its surfaces in reverse order.
    SerpentineByZone,
    /// Every odd cylinder has its surfaces in reverse order.
    Serpentine,
    /// Seek first: LBNs run along a surface over a group of cylinders, then back along the next surface. A group has
    /// `mapping_group_cylinders` cylinders; the last of a zone may have fewer.
    SeekFirstSerpentine,
}

/// Position of spare sectors, and handling of defective ones.
///
/// A slipped defect is skipped: the LBNs after it move by a sector, up to the spare that holds the last of them. The LBN of a remapped
/// defect moves to its spare.
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

/// Model of rotational latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RotationModel {
    /// A sector is accessed when it comes under the head; angles follow from the absolute time.
    #[default]
    Phase,
    /// Every access waits half a revolution.
    Average,
}

/// A zone: consecutive cylinders with the same number of sectors on each track.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// First cylinder.
    #[schemars(range(min = 0, max = 100000000))]
    pub first_cylinder: u32,
    /// Last cylinder.
    #[schemars(range(min = 0, max = 100000000))]
    pub last_cylinder: u32,
    /// Number of sectors on a track.
    #[schemars(range(min = 1, max = 1000000))]
    pub sectors_per_track: u32,
    /// Angle from the index mark to the zone's first sector, in sectors.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub first_sector_offset: f64,
    /// Number of sectors without LBNs at the front of the zone.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000000000))]
    pub empty_sectors: u32,
    /// Angle between the first sectors of consecutive tracks of a cylinder, in sectors. With a seek-first mapping: of consecutive tracks of a
    /// surface.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub track_skew_sectors: f64,
    /// Angle between the first sectors of the last track of a cylinder and the first track of the next, in sectors. With a seek-first
    /// mapping: of the tracks before and after a change of surface.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub cylinder_skew_sectors: f64,
    /// Number of spare sectors (or tracks) in each unit of the sparing scheme.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000000000))]
    pub spares: u32,
    /// Slipped defects: sectors, counted from the zone's first.
    #[serde(default)]
    pub slips: Vec<u64>,
    /// Remapped defects: pairs of a defective sector and its spare, both counted from the zone's first.
    #[serde(default)]
    pub remaps: Vec<[u64; 2]>,
}

/// How far a drive reads ahead after a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAhead {
    /// No read-ahead.
    #[default]
    None,
    /// To the end of the track.
    Track,
    /// To the end of the cylinder.
    Cylinder,
    /// Until the segment is full or the maximum is reached, across tracks and cylinders.
    Segment,
    /// To the end of the track after the request's, if an earlier read in the same segment was on an earlier track: one track ahead of a
    /// sequential stream. Otherwise to the end of the request's track.
    NextTrack,
}

/// When a write completes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FastWrite {
    /// When it is on the medium (write-through).
    #[default]
    None,
    /// When it is in the buffer, as with `full`. A write that continues a stream whose data is already on the medium has the overhead of
    /// a miss.
    Sequential,
    /// When it is in the buffer (write-behind); other requests wait until it is on the medium.
    Full,
}

/// A queue of commands in the drive, such as that of Native Command Queuing. It serves the command with the shortest positioning time
/// first; ties go by arrival. Commands beyond its depth wait at the host, in the order of the host's scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandQueue {
    /// Number of commands that the drive holds, including the one under service: 32 with SATA. 1 means no queue.
    #[serde(default = "queue_depth")]
    #[schemars(range(min = 1, max = 65536))]
    pub depth: u32,
    /// Number of oldest commands that the drive chooses among; all when absent.
    #[serde(default)]
    #[schemars(range(min = 1, max = 65536))]
    pub window: Option<u32>,
    /// Time in the drive after which the oldest command is served next; no limit when absent.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "ms"))]
    pub age_limit_ms: Option<f64>,
    /// Time from the end of an access to the choice of the next command. Commands that arrive meanwhile are among the choices.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub turnaround_ms: f64,
}

/// A volatile write cache. A write completes when it is in the cache, unless it is durable (FUA). The drive writes the content back while
/// it is idle, alternately with commands when the cache fills up, and completely for a flush. A flush is not queued: later commands wait
/// for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DriveWriteCache")]
pub struct WriteCache {
    /// Capacity in blocks for data that is not yet on the medium; 0 switches the cache off. A write that is larger than the cache goes to
    /// the medium at once.
    #[schemars(range(min = 0, max = 1000000000))]
    pub blocks: u64,
    /// Maximum number of ranges of contiguous blocks in the cache; no limit when absent.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000000))]
    pub extents: Option<u32>,
    /// Number of oldest ranges that the drive chooses among; all when absent. It writes back the one with the shortest positioning time.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000000))]
    pub window: Option<u32>,
    /// Idle time of the arm after which the drive writes back.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "ms"))]
    pub idle_ms: f64,
    /// Share of the capacity (of blocks or of ranges) that is in use when the drive begins to write back one track after each command.
    #[serde(default = "forced_share")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub forced_share: f64,
}

/// Retries of reads. The first attempt of a command to read from the medium fails with a probability, independently of its position and size; the
/// head then stays on the track and reads again once a revolution. The number of extra revolutions has a geometric distribution. Read-ahead,
/// buffer hits and writes are not retried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadRetries {
    /// Probability that a command's first access to the medium fails.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: f64,
    /// Mean number of extra revolutions of a command whose first access fails.
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub mean_revolutions: f64,
}

/// A disk drive with one or two arms, a bus and a segmented buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskParameters {
    /// Catalogue entry, or path of a device file, that the values not given here come from.
    pub name: String,
    /// Size of a sector, which is a logical block.
    #[serde(default = "sector")]
    #[schemars(range(min = 1, max = 1048576), extend("x-unit" = "B"))]
    pub block_bytes: u32,
    /// Number of blocks; all that the zones hold when absent.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub capacity_blocks: Option<u64>,
    /// Number of data surfaces, which is that of the heads of an arm.
    #[schemars(range(min = 1, max = 1000))]
    pub surfaces: u32,
    /// Number of cylinders.
    #[schemars(range(min = 1, max = 100000000))]
    pub cylinders: u32,
    /// Zones, from the outermost cylinder in; they do not overlap.
    #[schemars(length(min = 1))]
    pub zones: Vec<Zone>,
    /// Order of LBNs over the surfaces of a cylinder.
    #[serde(default)]
    pub mapping: Mapping,
    /// Number of cylinders of a group, for a seek-first mapping.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100000000))]
    pub mapping_group_cylinders: u32,
    /// Position of spare sectors, and handling of defective ones.
    #[serde(default)]
    pub sparing: Sparing,
    /// Number of cylinders of a range, for spares per range.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100000000))]
    pub sparing_range_cylinders: u32,
    /// Nominal rotational speed, in revolutions per minute.
    #[schemars(range(min = 1.0, max = 1000000.0))]
    pub rotation_rpm: f64,
    /// Excess of the true rotational speed over the nominal one, in percent.
    #[serde(default)]
    #[schemars(range(min = -50.0, max = 50.0))]
    pub rotation_error_percent: f64,
    /// Model of rotational latency.
    #[serde(default)]
    pub rotation: RotationModel,
    /// Seek time as a function of the distance.
    pub seek: SeekCurve,
    /// Time to switch to another head of the same cylinder.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub head_switch_ms: f64,
    /// Additional settling time of a write over that of a read, after a seek or a head switch. If negative, `seek` and `head_switch_ms` are
    /// times of writes, and reads take that much less.
    #[serde(default)]
    #[schemars(range(min = -1000.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub write_settle_ms: f64,
    /// Number of arms that reach every track, evenly spaced around the platters; an access uses the one that reaches the sector first. For
    /// actuators that are tied to ranges of LBNs, see `actuator_ranges`.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 2))]
    pub actuators: u32,
    /// Number of equal, consecutive ranges of LBNs that each have an actuator of their own (independent access ranges). The actuators move
    /// and transfer at the same time over one spindle. Each has an equal share of `surfaces`, and a queue, a buffer and a write cache of
    /// the sizes given here.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 4))]
    pub actuator_ranges: u32,
    /// Bus time of a block.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub bus_ms_per_block: f64,
    /// Bus time of a block that is written; `bus_ms_per_block` when absent.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub bus_write_ms_per_block: Option<f64>,
    /// Factor on all command overheads.
    #[serde(default = "unity")]
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub overhead_scale: f64,
    /// Overhead of every request, in addition to those that depend on its kind.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub request_overhead_ms: f64,
    /// Command overhead of a read that hits the buffer, after a read.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub read_hit_after_read_ms: f64,
    /// Command overhead of a read that hits the buffer, after a write.
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
    /// Command overhead of a write to the medium, after a read or a write that it does not continue. Without fast write, the part above
    /// `write_miss_after_write_ms` overlaps the seek, unless the drive holds the bus.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub write_miss_after_read_ms: f64,
    /// Command overhead of a write to the medium, after a write that it continues. Without fast write, it is at least
    /// `read_miss_after_write_ms`.
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
    /// Time to prepare a data transfer, at its start and at every reconnection.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub data_preparation_ms: f64,
    /// Time of a request's first reconnection to the bus.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub first_reselect_ms: f64,
    /// Time of the second reconnection of a write that disconnects twice.
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
    /// If true, a write that does not continue the one before disconnects once before its data and once after; the following five times
    /// apply then.
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
    /// Delay of the seek after the command overhead, for a write that disconnects twice.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub extra_seek_delay_ms: f64,
    /// Minimum seek time of a write that does not continue the one before, and minimum time from the arrival of its data in the buffer to
    /// its start on the medium.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub least_seek_ms: f64,
    /// Minimum time in which a head settles on a track for a new read, even if it is on that track; the shorter of the track skew and the
    /// single-cylinder seek when absent.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub least_read_seek_ms: Option<f64>,
    /// If true, the drive holds the bus for the rest of a read once it has begun to transfer.
    #[serde(default)]
    pub hold_bus_reading: bool,
    /// If true, the drive holds the bus from the command to the completion.
    #[serde(default)]
    pub never_disconnect: bool,
    /// If true, the buffer keeps the data of completed requests.
    #[serde(default = "yes")]
    pub buffer_caching: bool,
    /// Number of segments of the buffer.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100000))]
    pub buffer_segments: u32,
    /// Size of a segment.
    #[serde(default = "segment")]
    #[schemars(range(min = 1, max = 100000000))]
    pub segment_blocks: u32,
    /// If true, one segment is for writes only.
    #[serde(default)]
    pub separate_write_segment: bool,
    /// Share of a read's data that has to be in the buffer before the drive reconnects to transfer it.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub read_watermark: f64,
    /// If true, the watermark is a share of the request; otherwise of the segment.
    #[serde(default = "yes")]
    pub watermark_of_request: bool,
    /// How far the drive reads ahead.
    #[serde(default)]
    pub read_ahead: ReadAhead,
    /// Minimum number of blocks read ahead, even if another request waits.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100000000))]
    pub read_ahead_least_blocks: u32,
    /// Maximum number of blocks read ahead; the size of a segment when absent.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100000000))]
    pub read_ahead_most_blocks: Option<u32>,
    /// Requested data in a full segment: 1 lets the read-ahead evict it, 0 keeps it, -1 drops it as soon as it has been transferred.
    #[serde(default)]
    #[schemars(range(min = -1, max = 1))]
    pub read_ahead_over_requested: i32,
    /// If true, a read that hits the buffer of an idle drive resumes the read-ahead.
    #[serde(default)]
    pub read_ahead_on_idle_hit: bool,
    /// If true, a read begins with the first requested block to pass under the head (zero-latency access). A drive that holds the bus then
    /// transfers the blocks of a track once all of them have arrived.
    #[serde(default)]
    pub zero_latency_reads: bool,
    /// If true, a write begins with the first requested block to pass under the head.
    #[serde(default)]
    pub zero_latency_writes: bool,
    /// If true, blocks of the track that pass before the first requested one are read, too (free blocks). A read then begins with the
    /// first requested block to pass, as with `zero_latency_reads`.
    #[serde(default)]
    pub read_free_blocks: bool,
    /// When a write completes.
    #[serde(default)]
    pub fast_write: FastWrite,
    /// If true, a read that hits the buffer is served during a write-behind.
    #[serde(default)]
    pub whole_hits_beside_writes: bool,
    /// If true, the part of a read that is in the buffer is transferred during a write-behind.
    #[serde(default)]
    pub partial_hits_beside_writes: bool,
    /// If true, sequential writes in the buffer are written to the medium as one.
    #[serde(default)]
    pub combine_writes: bool,
    /// If true, a read-ahead can stop in the middle of a sector.
    #[serde(default)]
    pub stop_read_ahead_in_sector: bool,
    /// If true, the part of a read that is in the buffer is transferred at once.
    #[serde(default)]
    pub transfer_partial_hits: bool,
    /// If true, a read whose first block is the next to be read ahead is a partial hit.
    #[serde(default)]
    pub almost_read_hits: bool,
    /// If true, reads can hit written data in the buffer.
    #[serde(default = "yes")]
    pub read_hits_on_writes: bool,
    /// Number of blocks of a physical sector. A write of part of a physical sector reads it first and writes it a revolution later
    /// (512-byte emulation: 8 blocks of 512 B).
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1024))]
    pub physical_sector_blocks: u32,
    /// Random retries of reads, by the seed of the scenario; no retries when absent.
    #[serde(default)]
    pub read_retries: Option<ReadRetries>,
    /// Queue of commands in the drive; without one the drive accepts one command at a time.
    #[serde(default)]
    pub command_queue: Option<CommandQueue>,
    /// Volatile write cache, which the drive writes back in an order of its own. It cannot be combined with `fast_write`.
    #[serde(default)]
    pub write_cache: Option<WriteCache>,
    /// Power of the drive; unknown when absent.
    #[serde(default)]
    pub power: Option<PowerParameters>,
}

impl DiskParameters {
    /// Returns the parameters of one of the actuators: its share of surfaces, blocks and power.
    ///
    /// # Errors
    /// The surfaces or blocks cannot be shared equally, or each actuator has two arms.
    pub fn of_one_actuator(&self) -> Result<Cow<'_, Self>, Fault> {
        let count = self.actuator_ranges;
        if count == 1 {
            return Ok(Cow::Borrowed(self));
        }
        let conflict = || Fault::conflict("actuator_ranges", count);
        if count == 0 {
            return Err(Fault::out_of_range("actuator_ranges", count, Range::at_least(1.0)));
        }
        if self.actuators > 1 {
            return Err(conflict().says(": each of these actuators has one arm: write ").set("actuators", 1));
        }
        if !self.surfaces.is_multiple_of(count) {
            let says = format!(": the {} surfaces cannot be shared equally: change ", self.surfaces);
            return Err(conflict().says(says).key("surfaces"));
        }
        let capacity_blocks = match self.capacity_blocks {
            Some(blocks) if !blocks.is_multiple_of(count.into()) => {
                let says = format!(": the {blocks} blocks cannot be shared equally: change ");
                return Err(conflict().says(says).key("capacity_blocks"));
            }
            blocks => blocks.map(|blocks| blocks / u64::from(count)),
        };
        Ok(Cow::Owned(Self {
            actuator_ranges: 1,
            surfaces: self.surfaces / count,
            capacity_blocks,
            power: self.power.as_ref().map(|power| power.share_of(count)),
            ..self.clone()
        }))
    }
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

const fn queue_depth() -> u32 {
    32
}

const fn forced_share() -> f64 {
    0.75
}

const fn yes() -> bool {
    true
}
