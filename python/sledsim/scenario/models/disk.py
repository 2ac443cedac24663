"""The tables of a scenario as typed classes: disk.

Written by tools/generate_scenario.py from the core's schema: change the definitions there, not here.
Ranges and defaults stand in the docstrings; the core checks the values.
"""

from typing import Literal

from sledsim.scenario.models.model import Model
from sledsim.scenario.models.seek import SeekCurve

__all__ = [
    "CommandQueue",
    "DiskDevice",
    "DriveWriteCache",
    "FastWrite",
    "IdleModeParameters",
    "LbnMapping",
    "PowerParameters",
    "ReadAhead",
    "ReadRetries",
    "RotationModel",
    "SpareSectors",
    "Zone",
]


class Zone(Model):
    """A zone: consecutive cylinders with the same number of sectors on each track.

    Attributes
    ----------
    first_cylinder
        First cylinder (at least 0, at most 1e+08).
    last_cylinder
        Last cylinder (at least 0, at most 1e+08).
    sectors_per_track
        Number of sectors on a track (at least 1, at most 1,000,000).
    first_sector_offset
        Angle from the index mark to the zone's first sector, in sectors (at least 0, at most 1,000,000; default
        0.0).
    empty_sectors
        Number of sectors without LBNs at the front of the zone (at least 0, at most 1e+09; default 0).
    track_skew_sectors
        Angle between the first sectors of consecutive tracks of a cylinder, in sectors. With a seek-first
        mapping: of consecutive tracks of a surface (at least 0, at most 1,000,000).
    cylinder_skew_sectors
        Angle between the first sectors of the last track of a cylinder and the first track of the next, in
        sectors. With a seek-first mapping: of the tracks before and after a change of surface (at least 0, at
        most 1,000,000).
    spares
        Number of spare sectors (or tracks) in each unit of the sparing scheme (at least 0, at most 1e+09; default
        0).
    slips
        Slipped defects: sectors, counted from the zone's first (default []).
    remaps
        Remapped defects: pairs of a defective sector and its spare, both counted from the zone's first (default
        []).
    """

    first_cylinder: int
    last_cylinder: int
    sectors_per_track: int
    first_sector_offset: float | str | None = None
    empty_sectors: int | None = None
    track_skew_sectors: float | str
    cylinder_skew_sectors: float | str
    spares: int | None = None
    slips: list[int] | None = None
    remaps: list[tuple[int, int]] | None = None


# Order of LBNs over the surfaces of a cylinder.
LbnMapping = Literal["cylinder", "serpentine-by-zone", "serpentine", "seek-first-serpentine"]

# Position of spare sectors, and handling of defective ones.
SpareSectors = Literal[
    "none",
    "tracks-per-zone",
    "sectors-per-track",
    "sectors-per-cylinder",
    "sectors-per-cylinder-slip-to-end",
    "sectors-at-cylinder-front",
    "sectors-at-cylinder-front-slip-to-end",
    "sectors-per-range",
    "sectors-per-zone",
    "sectors-per-zone-slip-to-end",
    "sectors-at-disk-end",
]

# Model of rotational latency.
RotationModel = Literal["phase", "average"]

# How far a drive reads ahead after a request.
ReadAhead = Literal["none", "track", "cylinder", "segment", "next-track"]

# When a write completes.
FastWrite = Literal["none", "sequential", "full"]


class ReadRetries(Model):
    """Retries of reads.

    The first attempt of a command to read from the medium fails with a probability, independently of its position
    and size; the head then stays on the track and reads again once a revolution. The number of extra revolutions
    has a geometric distribution. Read-ahead, buffer hits and writes are not retried.

    Attributes
    ----------
    probability
        Probability that a command's first access to the medium fails (at least 0, at most 1).
    mean_revolutions
        Mean number of extra revolutions of a command whose first access fails (at least 1, at most 1,000).
    """

    probability: float | str
    mean_revolutions: float | str


class CommandQueue(Model):
    """A queue of commands in the drive, such as that of Native Command Queuing.

    It serves the command with the shortest positioning time first; ties go by arrival. Commands beyond its depth
    wait at the host, in the order of the host's scheduler.

    Attributes
    ----------
    depth
        Number of commands that the drive holds, including the one under service: 32 with SATA. 1 means no queue
        (at least 1, at most 65,536; default 32).
    window
        Number of oldest commands that the drive chooses among; all when absent (at least 1, at most 65,536).
    age_limit_ms
        Time in the drive after which the oldest command is served next; no limit when absent (ms; at least 0, at
        most 1,000,000).
    turnaround_ms
        Time from the end of an access to the choice of the next command. Commands that arrive meanwhile are among
        the choices (ms; at least 0, at most 1,000; default 0.0).
    """

    depth: int | None = None
    window: int | None = None
    age_limit_ms: float | str | None = None
    turnaround_ms: float | str | None = None


class DriveWriteCache(Model):
    """A volatile write cache.

    A write completes when it is in the cache, unless it is durable (FUA). The drive writes the content back while
    it is idle, alternately with commands when the cache fills up, and completely for a flush. A flush is not
    queued: later commands wait for it.

    Attributes
    ----------
    blocks
        Capacity in blocks for data that is not yet on the medium; 0 switches the cache off. A write that is
        larger than the cache goes to the medium at once (at least 0, at most 1e+09).
    extents
        Maximum number of ranges of contiguous blocks in the cache; no limit when absent (at least 1, at most
        1,000,000).
    window
        Number of oldest ranges that the drive chooses among; all when absent. It writes back the one with the
        shortest positioning time (at least 1, at most 1,000,000).
    idle_ms
        Idle time of the arm after which the drive writes back (ms; at least 0, at most 1,000,000; default 0.0).
    forced_share
        Share of the capacity (of blocks or of ranges) that is in use when the drive begins to write back one
        track after each command (at least 0, at most 1; default 0.75).
    """

    blocks: int
    extents: int | None = None
    window: int | None = None
    idle_ms: float | str | None = None
    forced_share: float | str | None = None


class IdleModeParameters(Model):
    """An idle mode of a device.

    Attributes
    ----------
    name
        Its name in reports.
    power_w
        Power, at most that of the mode above it (W; at least 0, at most 1,000,000).
    after_s
        Idle time, from the end of the last activity, after which the device enters it without a policy; never if
        absent. The first mode begins at once (s; at least 0, at most 1e+09).
    wake_ms
        Time of the return to the ready mode, for which a request waits; 0 for the first mode (ms; at least 0, at
        most 1,000,000; default 0.0).
    wake_w
        Power during the return, at least that of the last mode; by default that of the first mode (W; at least 0,
        at most 1,000,000).
    """

    name: str
    power_w: float | str
    after_s: float | str | None = None
    wake_ms: float | str | None = None
    wake_w: float | str | None = None


class PowerParameters(Model):
    """The power of a device at work, and its idle modes.

    Attributes
    ----------
    active_read_w
        Power during reads (W; at least 0, at most 1,000,000).
    active_write_w
        Power during writes (W; at least 0, at most 1,000,000).
    seek_w
        Power during seeks; by default that of the operation (W; at least 0, at most 1,000,000).
    idle_modes
        Idle modes, from the ready mode to the one with the least power.
    """

    active_read_w: float | str
    active_write_w: float | str
    seek_w: float | str | None = None
    idle_modes: list[IdleModeParameters]


class DiskDevice(Model):
    """A disk drive.

    Attributes
    ----------
    name
        Catalogue entry, or path of a device file, that the values not given here come from.
    block_bytes
        Size of a sector, which is a logical block (B; at least 1, at most 1,048,576; default 512).
    capacity_blocks
        Number of blocks; all that the zones hold when absent (at least 1).
    surfaces
        Number of data surfaces, which is that of the heads of an arm (at least 1, at most 1,000).
    cylinders
        Number of cylinders (at least 1, at most 1e+08).
    zones
        Zones, from the outermost cylinder in; they do not overlap.
    mapping
        Order of LBNs over the surfaces of a cylinder (default "cylinder").
    mapping_group_cylinders
        Number of cylinders of a group, for a seek-first mapping (at least 1, at most 1e+08; default 1).
    sparing
        Position of spare sectors, and handling of defective ones (default "none").
    sparing_range_cylinders
        Number of cylinders of a range, for spares per range (at least 1, at most 1e+08; default 1).
    rotation_rpm
        Nominal rotational speed, in revolutions per minute (at least 1, at most 1,000,000).
    rotation_error_percent
        Excess of the true rotational speed over the nominal one, in percent (at least -50, at most 50; default
        0.0).
    rotation
        Model of rotational latency (default "phase").
    seek
        Seek time as a function of the distance.
    head_switch_ms
        Time to switch to another head of the same cylinder (ms; at least 0, at most 1,000).
    write_settle_ms
        Additional settling time of a write over that of a read, after a seek or a head switch. If negative,
        `seek` and `head_switch_ms` are times of writes, and reads take that much less (ms; at least -1,000, at
        most 1,000; default 0.0).
    actuators
        Number of arms that reach every track, evenly spaced around the platters; an access uses the one that
        reaches the sector first. For actuators that are tied to ranges of LBNs, see `actuator_ranges` (at least
        1, at most 2; default 1).
    actuator_ranges
        Number of equal, consecutive ranges of LBNs that each have an actuator of their own (independent access
        ranges). The actuators move and transfer at the same time over one spindle. Each has an equal share of
        `surfaces`, and a queue, a buffer and a write cache of the sizes given here (at least 1, at most 4;
        default 1).
    bus_ms_per_block
        Bus time of a block (ms; at least 0, at most 1,000).
    bus_write_ms_per_block
        Bus time of a block that is written; `bus_ms_per_block` when absent (ms; at least 0, at most 1,000).
    overhead_scale
        Factor on all command overheads (at least 0, at most 1,000; default 1.0).
    request_overhead_ms
        Overhead of every request, in addition to those that depend on its kind (ms; at least 0, at most 1,000;
        default 0.0).
    read_hit_after_read_ms
        Command overhead of a read that hits the buffer, after a read (ms; at least 0, at most 1,000; default
        0.0).
    read_hit_after_write_ms
        Command overhead of a read that hits the buffer, after a write (ms; at least 0, at most 1,000; default
        0.0).
    read_miss_after_read_ms
        Command overhead of a read from the medium, after a read (ms; at least 0, at most 1,000; default 0.0).
    read_miss_after_write_ms
        Command overhead of a read from the medium, after a write (ms; at least 0, at most 1,000; default 0.0).
    write_hit_after_read_ms
        Command overhead of a write into the buffer (fast write), after a read (ms; at least 0, at most 1,000;
        default 0.0).
    write_hit_after_write_ms
        Command overhead of a write into the buffer (fast write), after a write (ms; at least 0, at most 1,000;
        default 0.0).
    write_miss_after_read_ms
        Command overhead of a write to the medium, after a read or a write that it does not continue. Without fast
        write, the part above `write_miss_after_write_ms` overlaps the seek, unless the drive holds the bus (ms;
        at least 0, at most 1,000; default 0.0).
    write_miss_after_write_ms
        Command overhead of a write to the medium, after a write that it continues. Without fast write, it is at
        least `read_miss_after_write_ms` (ms; at least 0, at most 1,000; default 0.0).
    read_completion_ms
        Time to report a read complete (ms; at least 0, at most 1,000; default 0.0).
    write_completion_ms
        Time to report a write complete (ms; at least 0, at most 1,000; default 0.0).
    data_preparation_ms
        Time to prepare a data transfer, at its start and at every reconnection (ms; at least 0, at most 1,000;
        default 0.0).
    first_reselect_ms
        Time of a request's first reconnection to the bus (ms; at least 0, at most 1,000; default 0.0).
    other_reselect_ms
        Time of the second reconnection of a write that disconnects twice (ms; at least 0, at most 1,000; default
        0.0).
    read_disconnect_after_read_ms
        Time of the disconnection of a read, after a read (ms; at least 0, at most 1,000; default 0.0).
    read_disconnect_after_write_ms
        Time of the disconnection of a read, after a write (ms; at least 0, at most 1,000; default 0.0).
    write_disconnect_ms
        Time of the disconnection of a write (ms; at least 0, at most 1,000; default 0.0).
    extra_write_disconnect
        If true, a write that does not continue the one before disconnects once before its data and once after;
        the following five times apply then (default false).
    extra_command_ms
        Command overhead before the first of two disconnections (ms; at least 0, at most 1,000; default 0.0).
    extra_disconnect_ms
        Time of the first of two disconnections (ms; at least 0, at most 1,000; default 0.0).
    extra_gap_ms
        Time between the first disconnection and the reconnection for the data (ms; at least 0, at most 1,000;
        default 0.0).
    extra_second_disconnect_ms
        Time of the second of two disconnections (ms; at least 0, at most 1,000; default 0.0).
    extra_seek_delay_ms
        Delay of the seek after the command overhead, for a write that disconnects twice (ms; at least 0, at most
        1,000; default 0.0).
    least_seek_ms
        Minimum seek time of a write that does not continue the one before, and minimum time from the arrival of
        its data in the buffer to its start on the medium (ms; at least 0, at most 1,000; default 0.0).
    least_read_seek_ms
        Minimum time in which a head settles on a track for a new read, even if it is on that track; the shorter
        of the track skew and the single-cylinder seek when absent (ms; at least 0, at most 1,000).
    hold_bus_reading
        If true, the drive holds the bus for the rest of a read once it has begun to transfer (default false).
    never_disconnect
        If true, the drive holds the bus from the command to the completion (default false).
    buffer_caching
        If true, the buffer keeps the data of completed requests (default true).
    buffer_segments
        Number of segments of the buffer (at least 1, at most 100,000; default 1).
    segment_blocks
        Size of a segment (at least 1, at most 1e+08; default 256).
    separate_write_segment
        If true, one segment is for writes only (default false).
    read_watermark
        Share of a read's data that has to be in the buffer before the drive reconnects to transfer it (at least
        0, at most 1; default 0.0).
    watermark_of_request
        If true, the watermark is a share of the request; otherwise of the segment (default true).
    read_ahead
        How far the drive reads ahead (default "none").
    read_ahead_least_blocks
        Minimum number of blocks read ahead, even if another request waits (at least 0, at most 1e+08; default 0).
    read_ahead_most_blocks
        Maximum number of blocks read ahead; the size of a segment when absent (at least 0, at most 1e+08).
    read_ahead_over_requested
        Requested data in a full segment: 1 lets the read-ahead evict it, 0 keeps it, -1 drops it as soon as it
        has been transferred (at least -1, at most 1; default 0).
    read_ahead_on_idle_hit
        If true, a read that hits the buffer of an idle drive resumes the read-ahead (default false).
    zero_latency_reads
        If true, a read begins with the first requested block to pass under the head (zero-latency access). A
        drive that holds the bus then transfers the blocks of a track once all of them have arrived (default
        false).
    zero_latency_writes
        If true, a write begins with the first requested block to pass under the head (default false).
    read_free_blocks
        If true, blocks of the track that pass before the first requested one are read, too (free blocks). A read
        then begins with the first requested block to pass, as with `zero_latency_reads` (default false).
    fast_write
        When a write completes (default "none").
    whole_hits_beside_writes
        If true, a read that hits the buffer is served during a write-behind (default false).
    partial_hits_beside_writes
        If true, the part of a read that is in the buffer is transferred during a write-behind (default false).
    combine_writes
        If true, sequential writes in the buffer are written to the medium as one (default false).
    stop_read_ahead_in_sector
        If true, a read-ahead can stop in the middle of a sector (default false).
    transfer_partial_hits
        If true, the part of a read that is in the buffer is transferred at once (default false).
    almost_read_hits
        If true, a read whose first block is the next to be read ahead is a partial hit (default false).
    read_hits_on_writes
        If true, reads can hit written data in the buffer (default true).
    physical_sector_blocks
        Number of blocks of a physical sector. A write of part of a physical sector reads it first and writes it a
        revolution later (512-byte emulation: 8 blocks of 512 B) (at least 1, at most 1,024; default 1).
    read_retries
        Random retries of reads, by the seed of the scenario; no retries when absent.
    command_queue
        Queue of commands in the drive; without one the drive accepts one command at a time.
    write_cache
        Volatile write cache, which the drive writes back in an order of its own. It cannot be combined with
        `fast_write`.
    power
        Power of the drive; unknown when absent.
    """

    mechanism: Literal["disk"] = "disk"
    name: str
    block_bytes: int | str | None = None
    capacity_blocks: int | None = None
    surfaces: int | None = None
    cylinders: int | None = None
    zones: list[Zone] | None = None
    mapping: LbnMapping | None = None
    mapping_group_cylinders: int | None = None
    sparing: SpareSectors | None = None
    sparing_range_cylinders: int | None = None
    rotation_rpm: float | str | None = None
    rotation_error_percent: float | str | None = None
    rotation: RotationModel | None = None
    seek: SeekCurve | None = None
    head_switch_ms: float | str | None = None
    write_settle_ms: float | str | None = None
    actuators: int | None = None
    actuator_ranges: int | None = None
    bus_ms_per_block: float | str | None = None
    bus_write_ms_per_block: float | str | None = None
    overhead_scale: float | str | None = None
    request_overhead_ms: float | str | None = None
    read_hit_after_read_ms: float | str | None = None
    read_hit_after_write_ms: float | str | None = None
    read_miss_after_read_ms: float | str | None = None
    read_miss_after_write_ms: float | str | None = None
    write_hit_after_read_ms: float | str | None = None
    write_hit_after_write_ms: float | str | None = None
    write_miss_after_read_ms: float | str | None = None
    write_miss_after_write_ms: float | str | None = None
    read_completion_ms: float | str | None = None
    write_completion_ms: float | str | None = None
    data_preparation_ms: float | str | None = None
    first_reselect_ms: float | str | None = None
    other_reselect_ms: float | str | None = None
    read_disconnect_after_read_ms: float | str | None = None
    read_disconnect_after_write_ms: float | str | None = None
    write_disconnect_ms: float | str | None = None
    extra_write_disconnect: bool | None = None
    extra_command_ms: float | str | None = None
    extra_disconnect_ms: float | str | None = None
    extra_gap_ms: float | str | None = None
    extra_second_disconnect_ms: float | str | None = None
    extra_seek_delay_ms: float | str | None = None
    least_seek_ms: float | str | None = None
    least_read_seek_ms: float | str | None = None
    hold_bus_reading: bool | None = None
    never_disconnect: bool | None = None
    buffer_caching: bool | None = None
    buffer_segments: int | None = None
    segment_blocks: int | None = None
    separate_write_segment: bool | None = None
    read_watermark: float | str | None = None
    watermark_of_request: bool | None = None
    read_ahead: ReadAhead | None = None
    read_ahead_least_blocks: int | None = None
    read_ahead_most_blocks: int | None = None
    read_ahead_over_requested: int | None = None
    read_ahead_on_idle_hit: bool | None = None
    zero_latency_reads: bool | None = None
    zero_latency_writes: bool | None = None
    read_free_blocks: bool | None = None
    fast_write: FastWrite | None = None
    whole_hits_beside_writes: bool | None = None
    partial_hits_beside_writes: bool | None = None
    combine_writes: bool | None = None
    stop_read_ahead_in_sector: bool | None = None
    transfer_partial_hits: bool | None = None
    almost_read_hits: bool | None = None
    read_hits_on_writes: bool | None = None
    physical_sector_blocks: int | None = None
    read_retries: ReadRetries | None = None
    command_queue: CommandQueue | None = None
    write_cache: DriveWriteCache | None = None
    power: PowerParameters | None = None
