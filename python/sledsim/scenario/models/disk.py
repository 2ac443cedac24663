"""The tables of a scenario as typed classes: disk.

Written by tools/generate_scenario.py from the core's schema: change the definitions there, not here.
Ranges and defaults stand in the docstrings; the core checks the values.
"""

from typing import Literal

from sledsim.scenario.models.model import Model
from sledsim.scenario.models.seek import SeekCurve

__all__ = [
    "DiskDevice",
    "FastWrite",
    "IdleModeParameters",
    "LbnMapping",
    "PowerParameters",
    "ReadAhead",
    "RotationModel",
    "SpareSectors",
    "Zone",
]


class Zone(Model):
    """A zone: neighbouring cylinders with as many sectors on every track.

    Attributes
    ----------
    first_cylinder
        First cylinder (at least 0, at most 1e+08).
    last_cylinder
        Last cylinder (at least 0, at most 1e+08).
    sectors_per_track
        Sectors on a track (at least 1, at most 1,000,000).
    first_sector_offset
        Angle of the zone's first sector from the index mark, in sectors (at least 0, at most 1,000,000; default
        0.0).
    empty_sectors
        Sectors left empty at the front of the zone (at least 0, at most 1e+09; default 0).
    track_skew_sectors
        Angle between the first sectors of neighbouring tracks of a cylinder, in sectors (at least 0, at most
        1,000,000).
    cylinder_skew_sectors
        Angle between the last track of a cylinder and the first of the next, in sectors (at least 0, at most
        1,000,000).
    spares
        Spare sectors (or tracks) in the unit that the sparing scheme names (at least 0, at most 1e+09; default
        0).
    slips
        Slipped defects: sectors counted from the zone's first (default []).
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


# How LBNs go round the surfaces of a zone.
LbnMapping = Literal["cylinder", "serpentine-by-zone", "serpentine"]

# Where spare sectors lie, and what becomes of a defective one.
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

# How the platters' rotation enters a service time.
RotationModel = Literal["phase", "average"]

# How far a drive reads ahead of a request on its own.
ReadAhead = Literal["none", "track", "cylinder", "segment", "next-track"]

# When a write counts as complete.
FastWrite = Literal["none", "sequential", "full"]


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
        Size of a sector: a logical block (B; at least 1, at most 1,048,576; default 512).
    capacity_blocks
        Blocks the drive offers, if fewer than its zones hold (at least 1).
    surfaces
        Data surfaces: heads of an arm (at least 1, at most 1,000).
    cylinders
        Cylinders (at least 1, at most 1e+08).
    zones
        Zones, from the outermost cylinder in; they do not overlap.
    mapping
        How LBNs go round the surfaces (default "cylinder").
    sparing
        Where spare sectors lie, and what becomes of defective ones (default "none").
    sparing_range_cylinders
        Cylinders in a range, where spares belong to ranges (at least 1, at most 1e+08; default 1).
    rotation_rpm
        Revolutions in a minute, as the drive is specified (at least 1, at most 1,000,000).
    rotation_error_percent
        By how much the true speed exceeds the specified one, percent (at least -50, at most 50; default 0.0).
    rotation
        How the rotation enters a service time (default "phase").
    seek
        Time of a seek by its distance.
    head_switch_ms
        Time to change to another head of the same cylinder (ms; at least 0, at most 1,000).
    write_settle_ms
        Time that the head settles longer for a write than for a read, after a seek or a head switch. If negative,
        `seek` and `head_switch_ms` are the times of writes, and reads take so much less (ms; at least -1,000, at
        most 1,000; default 0.0).
    actuators
        Independent arms over the same platters, evenly spaced around them; an access takes the one that is there
        first (at least 1, at most 2; default 1).
    bus_ms_per_block
        Time of a block on the bus (ms; at least 0, at most 1,000).
    bus_write_ms_per_block
        Time of a block on the bus when it is written; as when it is read where absent (ms; at least 0, at most
        1,000).
    overhead_scale
        Factor on all overheads of commands (at least 0, at most 1,000; default 1.0).
    request_overhead_ms
        Overhead of every request, besides those by its kind (ms; at least 0, at most 1,000; default 0.0).
    read_hit_after_read_ms
        Command overhead of a read found in the buffer, after a read (ms; at least 0, at most 1,000; default 0.0).
    read_hit_after_write_ms
        Command overhead of a read found in the buffer, after a write (ms; at least 0, at most 1,000; default
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
        write, the part beyond `write_miss_after_write_ms` overlaps the seek, unless the drive holds the bus (ms;
        at least 0, at most 1,000; default 0.0).
    write_miss_after_write_ms
        Command overhead of a write to the medium, after a write that it continues. Without fast write, at least
        `read_miss_after_write_ms` counts (ms; at least 0, at most 1,000; default 0.0).
    read_completion_ms
        Time to report a read complete (ms; at least 0, at most 1,000; default 0.0).
    write_completion_ms
        Time to report a write complete (ms; at least 0, at most 1,000; default 0.0).
    data_preparation_ms
        Time to prepare a transfer of data, at its start and at every reconnection (ms; at least 0, at most 1,000;
        default 0.0).
    first_reselect_ms
        Time of a request's first reconnection to the bus (ms; at least 0, at most 1,000; default 0.0).
    other_reselect_ms
        Time of a reconnection after the first, where a write has disconnected twice (ms; at least 0, at most
        1,000; default 0.0).
    read_disconnect_after_read_ms
        Time of the disconnection of a read, after a read (ms; at least 0, at most 1,000; default 0.0).
    read_disconnect_after_write_ms
        Time of the disconnection of a read, after a write (ms; at least 0, at most 1,000; default 0.0).
    write_disconnect_ms
        Time of the disconnection of a write (ms; at least 0, at most 1,000; default 0.0).
    extra_write_disconnect
        Whether a write that does not continue the one before disconnects once before its data and once after; the
        five times that follow apply then (default false).
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
        Delay of the seek beyond the command overhead, where a write disconnects twice (ms; at least 0, at most
        1,000; default 0.0).
    least_seek_ms
        Least time of the seek of a write that does not continue the one before, and from when its data is in the
        buffer to the medium (ms; at least 0, at most 1,000; default 0.0).
    least_read_seek_ms
        Least time in which a head settles on a track for a new read, even one it is on already; the shorter of
        the track skew and the single-cylinder seek when absent (ms; at least 0, at most 1,000).
    hold_bus_reading
        Whether the drive keeps the bus for the whole of a read once it has begun to transfer (default false).
    never_disconnect
        Whether the drive keeps the bus from the command to the completion (default false).
    buffer_caching
        Whether the buffer keeps data beyond the request that brought it (default true).
    buffer_segments
        Segments of the buffer (at least 1, at most 100,000; default 1).
    segment_blocks
        Size of a segment (at least 1, at most 1e+08; default 256).
    separate_write_segment
        Whether writes have a segment of their own, which reads leave alone (default false).
    read_watermark
        Share of a read's data that must be in the buffer when the drive reconnects to hand it over (at least 0,
        at most 1; default 0.0).
    watermark_of_request
        Whether watermarks are shares of the request; of the segment otherwise (default true).
    read_ahead
        How far the drive reads ahead (default "none").
    read_ahead_least_blocks
        Least number of blocks read ahead, even with another request waiting (at least 0, at most 1e+08; default
        0).
    read_ahead_most_blocks
        Most blocks read ahead; a segment's size when absent (at least 0, at most 1e+08).
    read_ahead_over_requested
        How requested data weighs against data read ahead when a segment is full: 1 keeps reading ahead over it, 0
        keeps it, -1 drops it as soon as it has been handed over (at least -1, at most 1; default 0).
    read_ahead_on_idle_hit
        Whether a read found whole in the buffer of an idle drive resumes reading ahead (default false).
    zero_latency_reads
        Whether a read begins with whatever requested block passes first: zero-latency access. A drive that keeps
        the bus then hands over the blocks of a track once all of them are there (default false).
    zero_latency_writes
        Whether a write begins with whatever requested block passes first (default false).
    read_free_blocks
        Whether blocks of the track that pass before the first requested one are read too: free blocks. A read
        begins with whatever requested block passes first then, too (default false).
    fast_write
        When a write counts as complete (default "none").
    whole_hits_beside_writes
        Whether a read found whole in the buffer is served while the medium is still being written (default
        false).
    partial_hits_beside_writes
        Whether the part of a read that is in the buffer is handed over while the medium is still being written
        (default false).
    combine_writes
        Whether sequential writes in the buffer reach the medium as one (default false).
    stop_read_ahead_in_sector
        Whether reading ahead can be broken off in the middle of a sector (default false).
    transfer_partial_hits
        Whether the part of a read that is in the buffer is handed over at once (default false).
    almost_read_hits
        Whether a read whose first block is just being read ahead counts as found in part (default false).
    read_hits_on_writes
        Whether reads find written data in the buffer (default true).
    power
        What the drive draws; not known when absent.
    """

    mechanism: Literal["disk"] = "disk"
    name: str
    block_bytes: int | str | None = None
    capacity_blocks: int | None = None
    surfaces: int | None = None
    cylinders: int | None = None
    zones: list[Zone] | None = None
    mapping: LbnMapping | None = None
    sparing: SpareSectors | None = None
    sparing_range_cylinders: int | None = None
    rotation_rpm: float | str | None = None
    rotation_error_percent: float | str | None = None
    rotation: RotationModel | None = None
    seek: SeekCurve | None = None
    head_switch_ms: float | str | None = None
    write_settle_ms: float | str | None = None
    actuators: int | None = None
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
    power: PowerParameters | None = None
