"""The tables of a scenario as typed classes: system.

Written by tools/generate_scenario.py from the core's schema: change the definitions there, not here.
Ranges and defaults stand in the docstrings; the core checks the values.
"""

from typing import Literal

from sledsim.scenario.models.array import ArrayRebuild, Journal, MemberFault, ReadChoice, SparePlace, WriteMethod
from sledsim.scenario.models.cache import (
    CacheReadAhead,
    CachingDiskFlush,
    CachingDiskUnits,
    Flush,
    Replacement,
    WriteBufferClean,
)
from sledsim.scenario.models.drive import DriveSystem
from sledsim.scenario.models.model import Model
from sledsim.scenario.models.tier import TierMigration, TierPlacement
from sledsim.scenario.models.volume import Move, Volume

__all__ = [
    "ConcatSystem",
    "Eviction",
    "McdSystem",
    "Member",
    "MirrorSystem",
    "MwbSystem",
    "OutOfOrder",
    "PartitionSystem",
    "Raid4System",
    "Raid5System",
    "Raid6System",
    "RamCacheSystem",
    "StripeSystem",
    "System",
    "TiersSystem",
    "VolumesSystem",
    "WritePolicy",
    "ZonedSystem",
]


class PartitionSystem(Model):
    """A range of blocks of another component.

    Attributes
    ----------
    name
        Name in reports.
    child
        The component below it.
    first_block
        Its first block on the child (at least 0; default 0).
    bytes
        Its size; a multiple of the block size (B; at least 1).
    """

    kind: Literal["partition"] = "partition"
    name: str | None = None
    child: "System"
    first_block: int | None = None
    bytes: int | str


class Member(Model):
    """Identical members. A component in place of this table is one member; its keys may also stand beside `count`.

    Attributes
    ----------
    count
        Number of members (at least 1, at most 1,024; default 1).
    system
        The component that each of them is.
    """

    count: int | None = None
    system: "System"


class VolumesSystem(Model):
    """Logical volumes, each a range of blocks on one of several components.

    Attributes
    ----------
    name
        Name in reports.
    members
        The components below it, in their order.
    volumes
        The volumes in the order of their addresses; if absent, each member is a volume (default []).
    by_origin
        If true, a request addresses blocks of the volume of its origin (a trace's device number); otherwise all
        volumes form one address space, one after the other (default false).
    moved
        Volumes that were moved before the run, by name: the number of the member of each. A volume takes the
        first free range there, and its old range is free (default {}).
    moves
        Moves of volumes during the run, one after the other in this order (default []).
    """

    kind: Literal["volumes"] = "volumes"
    name: str | None = None
    members: list[Member]
    volumes: list[Volume] | None = None
    by_origin: bool | None = None
    moved: dict[str, int] | None = None
    moves: list[Move] | None = None


class ConcatSystem(Model):
    """Members one after the other in one address space.

    Attributes
    ----------
    name
        Name in reports.
    members
        The components below it, in their order.
    """

    kind: Literal["concat"] = "concat"
    name: str | None = None
    members: list[Member]


class StripeSystem(Model):
    """Stripe units that are dealt to the members in turn.

    Attributes
    ----------
    name
        Name in reports.
    members
        The components below it, in their order.
    unit_bytes
        Size of a stripe unit: a multiple of the block size (B; at least 512, at most 1.07374e+09; default 65536).
    """

    kind: Literal["stripe"] = "stripe"
    name: str | None = None
    members: list[Member]
    unit_bytes: int | str | None = None


class MirrorSystem(Model):
    """Copies of the same on every member.

    Attributes
    ----------
    name
        Name in reports.
    members
        The components below it, in their order.
    read
        The rule that chooses the copy for a read (default "shortest-queue").
    spares
        Number of spare members besides `members`, identical to the first (at least 0, at most 64; default 0).
    rebuild
        The pace of rebuilds (default {"mb_per_s": null, "rows": 8, "outstanding": 1, "delay_s": 0.0}).
    journal
        A journal in non-volatile memory. Without it, a power cut can leave copies that differ.
    faults
        Failures of members (default []).
    """

    kind: Literal["mirror"] = "mirror"
    name: str | None = None
    members: list[Member]
    read: ReadChoice | None = None
    spares: int | None = None
    rebuild: ArrayRebuild | None = None
    journal: Journal | None = None
    faults: list[MemberFault] | None = None


class Raid4System(Model):
    """Stripe units with their parity on the last member.

    Attributes
    ----------
    name
        Name in reports.
    members
        The components below it, in their order.
    unit_bytes
        Size of a stripe unit: a multiple of the block size (B; at least 512, at most 1.07374e+09; default 65536).
    write
        The parity update of a write to a part of a row (default "cost").
    spares
        Number of spare members besides `members`, identical to the first (at least 0, at most 64; default 0).
    sparing
        The place of rebuilt data. Only `raid5` and `raid6` can distribute spare units (default "dedicated").
    rebuild
        The pace of rebuilds (default {"mb_per_s": null, "rows": 8, "outstanding": 1, "delay_s": 0.0}).
    journal
        A journal in non-volatile memory. Without it, a power cut can leave rows whose parity does not match their
        data.
    faults
        Failures of members (default []).
    """

    kind: Literal["raid4"] = "raid4"
    name: str | None = None
    members: list[Member]
    unit_bytes: int | str | None = None
    write: WriteMethod | None = None
    spares: int | None = None
    sparing: SparePlace | None = None
    rebuild: ArrayRebuild | None = None
    journal: Journal | None = None
    faults: list[MemberFault] | None = None


class Raid5System(Model):
    """Stripe units with parity that goes round members, left-symmetric.

    Attributes
    ----------
    name
        Name in reports.
    members
        The components below it, in their order.
    unit_bytes
        Size of a stripe unit: a multiple of the block size (B; at least 512, at most 1.07374e+09; default 65536).
    write
        The parity update of a write to a part of a row (default "cost").
    spares
        Number of spare members besides `members`, identical to the first (at least 0, at most 64; default 0).
    sparing
        The place of rebuilt data. Only `raid5` and `raid6` can distribute spare units (default "dedicated").
    rebuild
        The pace of rebuilds (default {"mb_per_s": null, "rows": 8, "outstanding": 1, "delay_s": 0.0}).
    journal
        A journal in non-volatile memory. Without it, a power cut can leave rows whose parity does not match their
        data.
    faults
        Failures of members (default []).
    """

    kind: Literal["raid5"] = "raid5"
    name: str | None = None
    members: list[Member]
    unit_bytes: int | str | None = None
    write: WriteMethod | None = None
    spares: int | None = None
    sparing: SparePlace | None = None
    rebuild: ArrayRebuild | None = None
    journal: Journal | None = None
    faults: list[MemberFault] | None = None


class Raid6System(Model):
    """Stripe units with two kinds of parity that go round members: two members may fail.

    Attributes
    ----------
    name
        Name in reports.
    members
        The components below it, in their order.
    unit_bytes
        Size of a stripe unit: a multiple of the block size (B; at least 512, at most 1.07374e+09; default 65536).
    write
        The parity update of a write to a part of a row (default "cost").
    spares
        Number of spare members besides `members`, identical to the first (at least 0, at most 64; default 0).
    sparing
        The place of rebuilt data. Only `raid5` and `raid6` can distribute spare units (default "dedicated").
    rebuild
        The pace of rebuilds (default {"mb_per_s": null, "rows": 8, "outstanding": 1, "delay_s": 0.0}).
    journal
        A journal in non-volatile memory. Without it, a power cut can leave rows whose parity does not match their
        data.
    faults
        Failures of members (default []).
    """

    kind: Literal["raid6"] = "raid6"
    name: str | None = None
    members: list[Member]
    unit_bytes: int | str | None = None
    write: WriteMethod | None = None
    spares: int | None = None
    sparing: SparePlace | None = None
    rebuild: ArrayRebuild | None = None
    journal: Journal | None = None
    faults: list[MemberFault] | None = None


# When a write completes.
WritePolicy = Literal["back", "through"]

# Eviction of dirty lines.
Eviction = Literal["skip", "wait"]


class RamCacheSystem(Model):
    """A controller's cache in RAM.

    Attributes
    ----------
    name
        Name in reports.
    child
        The component below it.
    bytes
        Size of the cache, rounded down to whole lines (B; at least 512, at most 1e+15).
    line_bytes
        Size of a line, which is admitted and evicted as a whole; each of its blocks is valid or not, and dirty or
        not. A multiple of the block size (B; at least 512, at most 6.71089e+07; default 4096).
    policy
        Replacement policy of lines (default {"name": "lru"}).
    write
        When a write completes (default "back").
    volatile
        If true, a power cut empties the cache, and durable writes go through to the child (default true).
    access_us
        Time from the moment the cache has the blocks of a request until the request completes (us; at least 0, at
        most 1,000,000; default 1.0).
    mb_per_s
        Transfer rate to and from the host, after the access time; no limit if absent (MB/s; at least 0.001, at
        most 1e+09).
    read_ahead
        Blocks that are read in addition to requested blocks (default {"kind": "none"}).
    eviction
        Eviction of dirty lines (default "skip").
    flush
        When dirty blocks are written to the child (default {"demand_only": false, "idle_ms": 50.0, "high_water":
        0.75, "low_water": 0.5, "period_s": null, "outstanding": 1, "most_write_bytes": 1048576}).
    """

    kind: Literal["ram-cache"] = "ram-cache"
    name: str | None = None
    child: "System"
    bytes: int | str
    line_bytes: int | str | None = None
    policy: Replacement | None = None
    write: WritePolicy | None = None
    volatile: bool | None = None
    access_us: float | str | None = None
    mb_per_s: float | str | None = None
    read_ahead: CacheReadAhead | None = None
    eviction: Eviction | None = None
    flush: Flush | None = None


class MwbSystem(Model):
    """A MEMS device as a write buffer of a disk (hong2006, section 4.1.1).

    Attributes
    ----------
    name
        Name in reports.
    mems
        The MEMS device, or another component in its place.
    disk
        The disk, or another component in its place, where all data are stored in the end.
    mems_bytes
        Part of the MEMS device that holds the log, from the first block on; all of it if absent. 256 MiB in the
        paper (section 4.2) (B; at least 1).
    log_bytes
        Size of one log (128 KiB in the paper, section 4.3) (B; at least 4,096, at most 6.71089e+07; default
        131072).
    buffer_bytes
        Size of the buffer between the MEMS device and the disk (2 MiB in the paper, section 4.2). Logs that fit
        into it together are cleaned together (B; at least 4,096, at most 1.07374e+09; default 2097152).
    clean
        When and how logs are cleaned (default {"high_water": 0.8, "low_water": 0.7, "urgent": 0.95, "idle_ms":
        10.0, "most_write_bytes": 1048576, "outstanding": 1}).
    """

    kind: Literal["mwb"] = "mwb"
    name: str | None = None
    mems: "System"
    disk: "System"
    mems_bytes: int | str | None = None
    log_bytes: int | str | None = None
    buffer_bytes: int | str | None = None
    clean: WriteBufferClean | None = None


class McdSystem(Model):
    """A MEMS device as a fully associative write-back cache of a disk (hong2006, section 4.1.2).

    Attributes
    ----------
    name
        Name in reports.
    mems
        The MEMS device, or another component in its place.
    disk
        The disk, or another component in its place, where all data are stored in the end.
    mems_bytes
        Part of the MEMS device that it uses, from the first block on; all of it if absent (B; at least 1).
    segment_bytes
        Size of a segment, the unit in which data moves between disk and MEMS (B; at least 512, at most
        6.71089e+07; default 65536).
    buffer_bytes
        Size of the non-volatile buffer between MEMS and disk. One part in 32 holds headers that are newer than
        those on MEMS; the rest holds segments (B; at least 1,024; default 2097152).
    policy
        Replacement policy of segments (default {"name": "lru"}).
    shortcut
        If true, the buffer serves requests as soon as a segment has been read from the disk (default true).
    immediate_report
        If true, the slot of a changed segment is free as soon as the buffer holds the segment, not only when the
        disk does (default true).
    partial_write
        If true, parts of segments are written without reading the rest from the disk first (default true).
    flush
        When changed segments are written to the disk before their eviction; never if absent.
    bypass_bytes
        Length of a sequential stream of reads or writes from which on its requests go to the disk directly, as
        far as neither MEMS nor the buffer holds their segments; never if absent. Sixteen streams are tracked (B;
        at least 1).
    units
        Parts of segments that are read from the disk at once, by region of the disk; whole segments if absent.
        Requires `partial_write`.
    """

    kind: Literal["mcd"] = "mcd"
    name: str | None = None
    mems: "System"
    disk: "System"
    mems_bytes: int | str | None = None
    segment_bytes: int | str | None = None
    buffer_bytes: int | str | None = None
    policy: Replacement | None = None
    shortcut: bool | None = None
    immediate_report: bool | None = None
    partial_write: bool | None = None
    flush: CachingDiskFlush | None = None
    bypass_bytes: int | str | None = None
    units: CachingDiskUnits | None = None


class TiersSystem(Model):
    """A fast and a slow component as one, each extent of blocks on one of them (schlosser2004, section 5.1).

    Attributes
    ----------
    name
        Name in reports.
    fast
        The fast component, such as a MEMS device.
    slow
        The slow component, such as a disk.
    extent_bytes
        Size of an extent, which is placed and moved as a whole; a multiple of the block size (B; at least 1, at
        most 1.07374e+09; default 1048576).
    placement
        The component on which an extent is placed at its first access (default {"metadata": false, "small_bytes":
        null, "origins": [], "pinned": []}).
    migration
        When extents move between the components (default {"mb_per_s": 10.0, "period_s": 1.0, "half_life_s": 60.0,
        "factor": 2.0, "least_uses": 2.0}).
    """

    kind: Literal["tiers"] = "tiers"
    name: str | None = None
    fast: "System"
    slow: "System"
    extent_bytes: int | str | None = None
    placement: TierPlacement | None = None
    migration: TierMigration | None = None


# Treatment of a write that does not begin at the write pointer of its zone.
OutOfOrder = Literal["refuse", "rewrite"]


class ZonedSystem(Model):
    """Zones that are written in order (shingled magnetic recording).

    Attributes
    ----------
    name
        Name in reports.
    child
        The component below it.
    zone_bytes
        Size of a zone: a multiple of the block size. The last zone may be smaller (B; at least 1, at most
        4.29497e+09; default 268435456).
    conventional_zones
        Number of conventional zones, which are the first and may be written in any order (at least 0, at most
        1e+09; default 0).
    out_of_order
        Treatment of a write that does not begin at the write pointer (default "refuse").
    full
        True if all zones are full at the start; otherwise they are empty (default false).
    """

    kind: Literal["zoned"] = "zoned"
    name: str | None = None
    child: "System"
    zone_bytes: int | str | None = None
    conventional_zones: int | None = None
    out_of_order: OutOfOrder | None = None
    full: bool | None = None


# The system under test: a component, and those that it is made of. A device's name alone is a drive, and a name of
# `[components]` that component.
System = (
    DriveSystem
    | PartitionSystem
    | VolumesSystem
    | ConcatSystem
    | StripeSystem
    | MirrorSystem
    | Raid4System
    | Raid5System
    | Raid6System
    | RamCacheSystem
    | MwbSystem
    | McdSystem
    | TiersSystem
    | ZonedSystem
    | str
)
