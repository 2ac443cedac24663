"""The tables of a scenario as typed classes: drive.

Written by tools/generate_scenario.py from the core's schema: change the definitions there, not here.
Ranges and defaults stand in the docstrings; the core checks the values.
"""

from typing import Any, Literal

from pydantic import ConfigDict

from sledsim.scenario.models.disk import DiskDevice, PowerParameters
from sledsim.scenario.models.model import Model
from sledsim.scenario.models.policy import CustomPolicy

__all__ = [
    "AdaptiveSpinDown",
    "Anticipation",
    "AsptfScheduler",
    "ClookScheduler",
    "CustomDevice",
    "DelayedStartup",
    "Device",
    "DriveSystem",
    "FcfsScheduler",
    "Idle",
    "IdleTips",
    "ImmediateSpinDown",
    "Layout",
    "LookScheduler",
    "MemsDevice",
    "Merge",
    "NeverSpinDown",
    "OfflineSpinDown",
    "RowDirection",
    "Scheduler",
    "SdfScheduler",
    "SeekModel",
    "SimplediskConstantDevice",
    "SimplediskLinearDevice",
    "SledLayout",
    "SpinDown",
    "SptfScheduler",
    "SstfLbnScheduler",
    "StopAt",
    "TimeoutSpinDown",
    "Transfer",
    "VscanScheduler",
    "WriteTransfer",
    "ZsptfScheduler",
]

# Order of rows along the tracks of a cylinder.
Layout = Literal["serpentine", "simple"]

# Direction of the passes over rows along Y.
RowDirection = Literal["alternating", "by-track"]

# How data are accessed.
Transfer = Literal["rows", "fluid", "points"]

# Model of the time of a Y seek.
SeekModel = Literal["first-order", "decomposed", "time-optimal"]

# When the data of a write cross the bus.
WriteTransfer = Literal["overlapped", "before"]

# Motion of an idle sled.
Idle = Literal["hold", "sweep"]

# Where the sled stops to save power, and starts again.
StopAt = Literal["centre", "in-place"]

# Tips that continue to read servo bursts while the sled is idle.
IdleTips = Literal["none", "last-access"]

# Distribution of LBNs over several sleds.
SledLayout = Literal["split", "striped", "mirrored", "parity"]


class MemsDevice(Model):
    """MEMS (probe) storage.

    Attributes
    ----------
    name
        Catalogue entry, or path of a device file, that the values not given here come from.
    x_range_um
        Travel of the sled along X: the width of a tip's region (um; at least 1, at most 10,000).
    y_range_um
        Travel of the sled along Y: the height of a tip's region (um; at least 1, at most 10,000).
    bit_nm
        Width of a bit, which is square (nm; at least 1, at most 10,000).
    tips
        Number of probe tips over one sled (at least 1, at most 1e+07).
    spare_tips
        Number of the tips, the last ones, that are spares. A spare replaces a failed tip at the same position of
        its region (schlosser2000, section 2.3) (at least 0, at most 1e+07; default 0).
    parity_tips
        Number of tips of a block that hold an erasure code over its data tips: that many of a block's tips may
        fail (schlosser2000, section 2.4). They are active in writes, and in reads only instead of failed tips (at
        least 0, at most 1,000; default 0).
    failed_tips
        Tips that have failed since the data were written: their number, or a list of tips, counted from 0. Each
        gets a spare tip, in the order in which they failed, as long as there are working spares (at least 0, at
        most 1e+07; default 0).
    read_error_rate
        Probability that a tip sector can't be read in a pass, independently in each pass. Another pass reads the
        blocks that failed, with their parity tips on (at least 0, at most 0.5; default 0.0).
    tip_seed
        Seed of the choice of failed tips and of read errors (at least 0; default 1).
    active_tips
        Number of tips that can be active at the same time (at least 1, at most 1e+07).
    block_bytes
        Size of a logical block (B; at least 1, at most 1,048,576).
    tip_sector_bytes
        Data bytes in a tip sector, between two servo bursts. A block is striped over `block_bytes /
        tip_sector_bytes` tips, or with `transfer = "points"` over one tip per bit (B; at least 1, at most 4,096).
    encoded_bits_per_byte
        Bits on the media for each byte of data, including error correction (bit; at least 8, at most 64).
    servo_bits
        Bits of a servo burst, before each tip sector and after the last (bit; at least 0, at most 10,000).
    layout
        Order of rows along the tracks of a cylinder (default "serpentine").
    bidirectional
        If true, data can be accessed while the sled moves in either direction along Y; otherwise only while it
        moves upward.
    row_direction
        Direction of the passes over rows, if data can be accessed in both directions (default "alternating").
    acceleration_x_m_s2
        Acceleration of the sled's actuator along X (m/s2; at least 0.1, at most 1,000,000).
    acceleration_y_m_s2
        Acceleration of the sled's actuator along Y (m/s2; at least 0.1, at most 1,000,000).
    spring_factor
        Spring force at full displacement as a fraction of the actuator's force (at least 0, at most 0.99).
    finger_gap_um
        Distance beyond the travel along Y at which the fingers of the actuator touch. It limits the access speed:
        actuator and springs must be able to stop the sled within this distance (schlosser2000, section 2.3). No
        limit if absent (um; at least 0.001, at most 10,000).
    resonance_hz
        Resonant frequency of the sled, which sets the settling time constant (Hz; at least 1, at most 1,000,000).
    settle_constants
        Number of time constants of settling after a move along X (at least 0, at most 100).
    tip_deflection_nm
        Distance along X that tips bend. Columns within it are reached without a move along X and settling; the
        sled follows the tips during the access. 0: tips do not bend (griffin1999, section 4.1, names bending tips
        as an optimisation of cylinder switches) (nm; at least 0, at most 1,000,000; default 0.0).
    bit_rate_kbit_s
        Rate at which bits pass under each tip. The access speed is this rate times the bit width (kbit/s; at
        least 0.1, at most 1,000,000).
    transfer
        How data are accessed: by row, as a stream at the rate of all tips, or by point along either axis (default
        "rows").
    seek_model
        Model of seek times (default "time-optimal").
    overhead_ms
        Command processing, from arrival until the request may be scheduled; requests overlap in it (ms; at least
        0, at most 1,000).
    bus_ms_per_block
        Bus time of a block (ms; at least 0, at most 1,000).
    write_transfer
        When the data of a write cross the bus (default "overlapped").
    buffer_rows
        Number of rows in the read buffer, which replaces the least recently used row; 0 for no buffer. With a
        buffer, reads activate the tips of all blocks of a row, which takes energy but no additional time, and a
        read of buffered rows takes bus time only. Writes go to the media. Batches and merged requests bypass the
        buffer (at least 0, at most 1,000,000; default 0).
    idle
        Motion of an idle sled (default "hold").
    inactive_after_ms
        Idle time after which the sled stops, or "never". The device starts the run stopped, at the centre (ms; at
        least 0, at most 1e+09; default "never").
    stop_at
        Where the sled stops and starts again: at the centre, or where it is (default "centre").
    startup_ms
        Delay of the first request after a stop (ms; at least 0, at most 10,000).
    sled_mw
        Power of the moving sled: seeking, accessing, idle (mW; at least 0, at most 1,000,000).
    tip_mw
        Power of each tip while servo or data bits pass under it (mW; at least 0, at most 1,000).
    inactive_mw
        Power of the stopped device (mW; at least 0, at most 1,000,000).
    startup_mw
        Power during start-up (mW; at least 0, at most 1,000,000).
    idle_tips
        Tips that continue to read servo bursts while the sled is idle (default "none").
    sleds
        Number of independent sleds (at least 1, at most 1,024; default 1).
    sled_layout
        Distribution of LBNs over several sleds (default "split").
    failed_sleds
        Sleds that have failed, counted from 0 (default []).
    stripe_blocks
        Size of a stripe unit, if sleds are striped, with or without parity (at least 1, at most 1e+09; default
        64).
    drawing
        In the place of the name, the drawing that the device is made from, and the values not given here come
        from: its name in the catalogue, its file, or a table with `drawing`, either of them, and values that
        differ.
    """

    mechanism: Literal["mems"] = "mems"
    name: str | None = None
    x_range_um: float | str | None = None
    y_range_um: float | str | None = None
    bit_nm: float | str | None = None
    tips: int | None = None
    spare_tips: int | None = None
    parity_tips: int | None = None
    failed_tips: int | list[int] | None = None
    read_error_rate: float | str | None = None
    tip_seed: int | None = None
    active_tips: int | None = None
    block_bytes: int | str | None = None
    tip_sector_bytes: int | str | None = None
    encoded_bits_per_byte: int | str | None = None
    servo_bits: int | str | None = None
    layout: Layout | None = None
    bidirectional: bool | None = None
    row_direction: RowDirection | None = None
    acceleration_x_m_s2: float | str | None = None
    acceleration_y_m_s2: float | str | None = None
    spring_factor: float | str | None = None
    finger_gap_um: float | str | None = None
    resonance_hz: float | str | None = None
    settle_constants: float | str | None = None
    tip_deflection_nm: float | str | None = None
    bit_rate_kbit_s: float | str | None = None
    transfer: Transfer | None = None
    seek_model: SeekModel | None = None
    overhead_ms: float | str | None = None
    bus_ms_per_block: float | str | None = None
    write_transfer: WriteTransfer | None = None
    buffer_rows: int | None = None
    idle: Idle | None = None
    inactive_after_ms: float | str | Literal["never"] | None = None
    stop_at: StopAt | None = None
    startup_ms: float | str | None = None
    sled_mw: float | str | None = None
    tip_mw: float | str | None = None
    inactive_mw: float | str | None = None
    startup_mw: float | str | None = None
    idle_tips: IdleTips | None = None
    sleds: int | None = None
    sled_layout: SledLayout | None = None
    failed_sleds: list[int] | None = None
    stripe_blocks: int | None = None
    drawing: str | dict[str, Any] | None = None


class SimplediskConstantDevice(Model):
    """A device with a constant service time.

    Attributes
    ----------
    name
        Catalogue entry, or path of a device file, that the values not given here come from.
    block_bytes
        Size of a logical block (B; at least 1, at most 1,048,576; default 512).
    capacity_blocks
        Number of blocks (at least 1, at most 1e+15).
    access_ms
        Service time of every request (ms; at least 0, at most 1,000,000).
    power
        Power of the device; unknown when absent.
    """

    mechanism: Literal["simpledisk-constant"] = "simpledisk-constant"
    name: str
    block_bytes: int | str | None = None
    capacity_blocks: int | None = None
    access_ms: float | str | None = None
    power: PowerParameters | None = None


class SimplediskLinearDevice(Model):
    """A device with a service time that is linear in the LBN distance between requests.

    Attributes
    ----------
    name
        Catalogue entry, or path of a device file, that the values not given here come from.
    block_bytes
        Size of a logical block (B; at least 1, at most 1,048,576; default 512).
    capacity_blocks
        Number of blocks (at least 2, at most 1e+15).
    nearest_ms
        Service time of a request that continues the previous one (ms; at least 0, at most 1,000,000).
    farthest_ms
        Service time of a request at a distance of `capacity_blocks` from the previous one; at least `nearest_ms`
        (ms; at least 0, at most 1,000,000).
    power
        Power of the device; unknown when absent.
    """

    mechanism: Literal["simpledisk-linear"] = "simpledisk-linear"
    name: str
    block_bytes: int | str | None = None
    capacity_blocks: int | None = None
    nearest_ms: float | str | None = None
    farthest_ms: float | str | None = None
    power: PowerParameters | None = None


class CustomDevice(Model):
    """A device with a custom mechanism, which returns positioning and transfer times.

    Attributes
    ----------
    name
        Its name in reports.
    python
        The class and its module: `my_module:MyPolicy`. The module is searched for in the folder of the scenario,
        the working folder and Python's path.
    library
        The path of a shared library, relative to the folder of the scenario or the working folder.
    address
        The address of a compiled function in this process, from `sledsim.schedulers.compiled` (at least 0).
    rust
        The name of a plugin in Rust that an installed crate provides.
    symbol
        The function of the library that makes the decision.
    arrived
        The function of the library that is called for arrivals; none when absent.
    completed
        The function of the library that is called for completions; none when absent.
    positioning
        True if a compiled function uses positioning times, which are expensive to compute; true when absent. A
        Python class declares this itself.
    state_bytes
        Size of a compiled function's state for each queue, cache, mirror or device; 0 when absent (at least 0, at
        most 1e+09).
    slot_bytes
        Size of a compiled replacement policy's additional state for each slot of its cache; 0 when absent (at
        least 0, at most 1,000,000).
    folder
        The folder in which it was found; none if Python's path was used.
    source
        SHA-256 of the file that it was loaded from. If given and different from the file's hash, the scenario is
        rejected.
    parameters
        Its parameters, including defaults (default {}).
    power
        Its power; not known when absent.
    """

    model_config = ConfigDict(extra="allow")

    mechanism: Literal["custom"] = "custom"
    name: str | None = None
    python: str | None = None
    library: str | None = None
    address: int | None = None
    rust: str | None = None
    symbol: str | None = None
    arrived: str | None = None
    completed: str | None = None
    positioning: bool | None = None
    state_bytes: int | None = None
    slot_bytes: int | None = None
    folder: str | None = None
    source: str | None = None
    parameters: dict[str, Any] | None = None
    power: PowerParameters | None = None


# A device.
Device = MemsDevice | DiskDevice | SimplediskConstantDevice | SimplediskLinearDevice | CustomDevice | str


class FcfsScheduler(Model):
    """First come, first served."""

    name: Literal["fcfs"] = "fcfs"


class LookScheduler(Model):
    """Elevator over LBNs."""

    name: Literal["look"] = "look"


class ClookScheduler(Model):
    """Cyclical LOOK: ascending LBNs, then again from the lowest."""

    name: Literal["clook"] = "clook"


class VscanScheduler(Model):
    """VSCAN(R): shortest LBN distance, with a penalty for a reversal.

    Attributes
    ----------
    r
        Penalty for a reversal, as a fraction of the device's capacity: 0 is SSTF, 1 is LOOK (at least 0, at most
        1; default 0.2).
    """

    name: Literal["vscan"] = "vscan"
    r: float | str | None = None


class SstfLbnScheduler(Model):
    """Shortest seek time first, by LBN distance."""

    name: Literal["sstf_lbn"] = "sstf_lbn"


class SptfScheduler(Model):
    """Shortest positioning time first."""

    name: Literal["sptf"] = "sptf"


class AsptfScheduler(Model):
    """Aged SPTF: positioning time minus `weight` times waiting time.

    Attributes
    ----------
    weight
        Positioning time that is offset by one unit of waiting time: 0 is SPTF, a large weight is FCFS (at least
        0; default 0.006).
    """

    name: Literal["asptf"] = "asptf"
    weight: float | str | None = None


class SdfScheduler(Model):
    """Shortest Euclidean distance first."""

    name: Literal["sdf"] = "sdf"


class ZsptfScheduler(Model):
    """Zone-based SPTF: zones in cyclic order, SPTF within the zone.

    Attributes
    ----------
    zones
        Number of zones along X: 1 is SPTF (at least 1; default 25).
    """

    name: Literal["zsptf"] = "zsptf"
    zones: int | None = None


# A policy and its parameters.
Scheduler = (
    FcfsScheduler
    | LookScheduler
    | ClookScheduler
    | VscanScheduler
    | SstfLbnScheduler
    | SptfScheduler
    | AsptfScheduler
    | SdfScheduler
    | ZsptfScheduler
    | CustomPolicy
    | str
)


class Merge(Model):
    """The rule by which pending requests are merged and served as one.

    The defaults are the rule of Lin et al. 2002, section 5.2: two reads that are neighbours in the queue are
    merged if the second begins where the first ends. With every rule, no request passes an older one that
    overlaps it if one of them writes, and no merged access takes more servicing energy than its requests would
    take one by one. With FCFS, the servicing energy of a run never rises if the sled does not move between
    services. It can rise if the scheduler reorders requests or the sled moves while idle. The idle energy can
    rise, too: after a wider last pass more tips read servo bursts, and the idle periods change.

    Attributes
    ----------
    requests
        Largest number of merged requests (at least 2, at most 100,000; default 2).
    anywhere
        True to merge any pending requests, in any order, not only neighbours in the queue (default false).
    writes
        True to merge writes with writes, too (default false).
    rows
        True to merge requests of the same row whose blocks are not contiguous. It affects MEMS devices only
        (default false).
    mixed
        True to merge reads with writes, too (section 7). It affects only MEMS devices whose tips read and write
        in the same pass (default false).
    """

    requests: int | None = None
    anywhere: bool | None = None
    writes: bool | None = None
    rows: bool | None = None
    mixed: bool | None = None


class ImmediateSpinDown(Model):
    """As soon as no request is left (lin2002, section 5.1)."""

    name: Literal["immediate"] = "immediate"


class TimeoutSpinDown(Model):
    """After a fixed idle time.

    Attributes
    ----------
    after_ms
        The idle time (ms; at least 0, at most 1e+09).
    """

    name: Literal["timeout"] = "timeout"
    after_ms: float | str | None = None


class NeverSpinDown(Model):
    """Never: the device stays ready."""

    name: Literal["never"] = "never"


class AdaptiveSpinDown(Model):
    """After an idle time that adapts to past idle periods.

    The share algorithm of Helmbold, Long & Sherrod (MobiCom 1996).

    Attributes
    ----------
    experts
        Number of experts with fixed timeouts. One has no timeout; the timeouts of the others double up to the
        longest (at least 2, at most 64; default 12).
    longest_ms
        Longest timeout of an expert; by default twice the break-even time of the lowest mode (ms; at least 0, at
        most 1e+09).
    learning_rate
        Learning rate: the weight of an expert is multiplied by exp(-rate * loss) (at least 0, at most 1,000;
        default 4.0).
    sharing
        Fraction of its weight that an expert with the largest loss shares with all (at least 0, at most 0.999;
        default 0.08).
    """

    name: Literal["adaptive"] = "adaptive"
    experts: int | None = None
    longest_ms: float | str | None = None
    learning_rate: float | str | None = None
    sharing: float | str | None = None


class OfflineSpinDown(Model):
    """With hindsight: at once if the idle period will be long enough to save energy, else not at all.

    No real policy can do this; it is the lower bound for others.
    """

    name: Literal["offline"] = "offline"


# When an idle device enters the lowest of its idle modes to save power.
SpinDown = ImmediateSpinDown | TimeoutSpinDown | NeverSpinDown | AdaptiveSpinDown | OfflineSpinDown | CustomPolicy | str


class DelayedStartup(Model):
    """The condition for the start-up of a stopped device (Lin et al.

    2002, section 7): a number of pending requests, or the longest wait of a request, whichever is met first.

    Attributes
    ----------
    requests
        Number of pending requests at which it starts up (at least 1, at most 1,000,000).
    wait_ms
        Longest wait of a request for the begin of the start-up (ms; at least 0, at most 1e+09).
    """

    requests: int
    wait_ms: float | str


class Anticipation(Model):
    """The time that a device waits for the next sequential read before it serves other requests.

    A program that reads sequentially submits the next read after the completion of the last one. Without
    anticipation the device serves other requests in between. A read is sequential if it begins at the end of one
    of the last reads.

    Attributes
    ----------
    wait_ms
        Longest wait for the next sequential read, from the end of the last one (ms; at least 0, at most 1e+09).
    requests
        Reads in a row that are served before those that wait; then the scheduler picks (at least 1, at most
        1,000,000; default 16).
    """

    wait_ms: float | str
    requests: int | None = None


class DriveSystem(Model):
    """One device and the scheduler that holds its pending requests.

    Attributes
    ----------
    name
        Name in reports; the name of its device when absent.
    device
        The device.
    scheduler
        The scheduler (default {"name": "fcfs"}).
    batch_max
        Largest number of requests in a batch: pending requests at the sled positions of the next request are
        served with it. 1 for no batches (at least 1, at most 100,000; default 1).
    merge
        The rule by which pending requests are merged; none when absent. An empty table is the rule of lin2002.
    spin_down
        The spin-down policy; the timeouts of the device when absent.
    delayed_startup
        The rule that delays the start-up of a stopped device; none when absent.
    anticipation
        The time that requests wait for a sequential read; none when absent.
    subsector
        True to switch on only the tips that hold needed bytes, which the workload gives. Otherwise whole blocks
        are accessed (default false).
    """

    kind: Literal["drive"] = "drive"
    name: str | None = None
    device: Device
    scheduler: Scheduler | None = None
    batch_max: int | None = None
    merge: Merge | None = None
    spin_down: SpinDown | None = None
    delayed_startup: DelayedStartup | None = None
    anticipation: Anticipation | None = None
    subsector: bool | None = None
