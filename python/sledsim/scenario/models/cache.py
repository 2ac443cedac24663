"""The tables of a scenario as typed classes: cache.

Written by tools/generate_scenario.py from the core's schema: change the definitions there, not here.
Ranges and defaults stand in the docstrings; the core checks the values.
"""

from typing import Literal

from sledsim.scenario.models.model import Model
from sledsim.scenario.models.policy import CustomPolicy

__all__ = [
    "ArcReplacement",
    "CacheReadAhead",
    "CachingDiskFlush",
    "CachingDiskUnits",
    "ClockReplacement",
    "FifoReplacement",
    "Flush",
    "LfudaReplacement",
    "LineCacheReadAhead",
    "LruReplacement",
    "NoneCacheReadAhead",
    "Replacement",
    "S3FifoReplacement",
    "SequentialCacheReadAhead",
    "SieveReplacement",
    "SlruReplacement",
    "TwoQReplacement",
    "WTinylfuReplacement",
    "WriteBufferClean",
]


class LruReplacement(Model):
    """Least recently used."""

    name: Literal["lru"] = "lru"


class FifoReplacement(Model):
    """First in, first out."""

    name: Literal["fifo"] = "fifo"


class ClockReplacement(Model):
    """Second chance."""

    name: Literal["clock"] = "clock"


class LfudaReplacement(Model):
    """Least frequently used with dynamic aging."""

    name: Literal["lfuda"] = "lfuda"


class ArcReplacement(Model):
    """Adaptive replacement cache."""

    name: Literal["arc"] = "arc"


class TwoQReplacement(Model):
    """2Q, full version.

    Attributes
    ----------
    in_share
        Kin: share of the cache above which the entrance queue (A1in) gives up entries (at least 0, at most 1;
        default 0.25).
    out_share
        Kout: keys remembered after they left the entrance queue (A1out), as a share of the cache's entries (at
        least 0, at most 1; default 0.5).
    """

    name: Literal["2q"] = "2q"
    in_share: float | str | None = None
    out_share: float | str | None = None


class SlruReplacement(Model):
    """Segmented LRU.

    Attributes
    ----------
    protected_share
        Share of the cache that the protected segment may take; 0 is LRU (at least 0, at most 1; default 0.8).
    """

    name: Literal["slru"] = "slru"
    protected_share: float | str | None = None


class S3FifoReplacement(Model):
    """S3-FIFO.

    Attributes
    ----------
    small_share
        Share of the cache for the small queue (at least 0, at most 1; default 0.1).
    ghost_ratio
        Keys remembered after they left the small queue, per entry that the main queue may have (at least 0, at
        most 1; default 1.0).
    promotion_references
        References in the small queue that take an entry to the main one instead of out (at least 1, at most 3;
        default 2).
    """

    name: Literal["s3-fifo"] = "s3-fifo"
    small_share: float | str | None = None
    ghost_ratio: float | str | None = None
    promotion_references: int | None = None


class SieveReplacement(Model):
    """SIEVE."""

    name: Literal["sieve"] = "sieve"


class WTinylfuReplacement(Model):
    """W-TinyLFU.

    Attributes
    ----------
    window_share
        Share of the cache for the window, which has at least one entry (at least 0, at most 1; default 0.01).
    protected_share
        Share of the main cache that the protected segment may take (at least 0, at most 1; default 0.8).
    """

    name: Literal["w-tinylfu"] = "w-tinylfu"
    window_share: float | str | None = None
    protected_share: float | str | None = None


# A policy and its parameters.
Replacement = (
    LruReplacement
    | FifoReplacement
    | ClockReplacement
    | LfudaReplacement
    | ArcReplacement
    | TwoQReplacement
    | SlruReplacement
    | S3FifoReplacement
    | SieveReplacement
    | WTinylfuReplacement
    | CustomPolicy
    | str
)


class NoneCacheReadAhead(Model):
    """None."""

    kind: Literal["none"] = "none"


class LineCacheReadAhead(Model):
    """The rest of each line with missing blocks, in the same access."""

    kind: Literal["line"] = "line"


class SequentialCacheReadAhead(Model):
    """Blocks behind a read that continues an earlier one, in a separate access.

    One line at first, and twice as many with each further read. Sixteen streams are tracked.

    Attributes
    ----------
    most_bytes
        Largest read-ahead of a stream, rounded down to whole lines, and at most half the cache (B; at least 512,
        at most 1.07374e+09; default 131072).
    """

    kind: Literal["sequential"] = "sequential"
    most_bytes: int | str | None = None


# Blocks that are read in addition to requested blocks.
CacheReadAhead = NoneCacheReadAhead | LineCacheReadAhead | SequentialCacheReadAhead


class Flush(Model):
    """When dirty blocks are written to the child. They are also written when no other line can be evicted.

    Attributes
    ----------
    demand_only
        If true, dirty blocks are written only when a line has to be evicted or the host flushes (DiskSim 4.0's
        `Flush policy = 0`). `idle_ms` and `period_s` must then be absent, and `high_water` and `low_water` have
        no effect (default false).
    idle_ms
        Time without a request after which dirty blocks are written until the next request; never if absent. 50 ms
        if `flush` is absent (ms; at least 0, at most 1e+09).
    high_water
        Share of dirty lines from which on they are written (at least 0, at most 1; default 0.75).
    low_water
        Share of dirty lines at which this ends; at most `high_water` (at least 0, at most 1; default 0.5).
    period_s
        Time after a block became dirty at which all dirty blocks are written; never if absent (s; at least 1e-06,
        at most 1e+09).
    outstanding
        Largest number of background writes under way at once (at least 1, at most 1,024; default 1).
    most_write_bytes
        Largest write into which dirty blocks of consecutive lines are joined (B; at least 512, at most
        1.07374e+09; default 1048576).
    """

    demand_only: bool | None = None
    idle_ms: float | str | None = None
    high_water: float | str | None = None
    low_water: float | str | None = None
    period_s: float | str | None = None
    outstanding: int | None = None
    most_write_bytes: int | str | None = None


class WriteBufferClean(Model):
    """When and how logs are cleaned.

    The paper says only "in background when the MEMS space is heavily utilized" and "to disk idle periods".

    Attributes
    ----------
    high_water
        Share of logs in use from which on logs are cleaned while the disk is idle (at least 0, at most 1; default
        0.8).
    low_water
        Share of logs in use at which this cleaning ends (at least 0, at most 1; default 0.7).
    urgent
        Share of logs in use from which on logs are cleaned even if the disk is busy (at least 0, at most 1;
        default 0.95).
    idle_ms
        Time without a read of the disk after which it counts as idle (ms; at least 0, at most 1,000,000; default
        10.0).
    most_write_bytes
        Largest write to the disk into which blocks of several logs are joined (B; at least 1, at most
        1.07374e+09; default 1048576).
    outstanding
        Largest number of writes to the disk under way at once (at least 1, at most 64; default 1).
    """

    high_water: float | str | None = None
    low_water: float | str | None = None
    urgent: float | str | None = None
    idle_ms: float | str | None = None
    most_write_bytes: int | str | None = None
    outstanding: int | None = None


class CachingDiskFlush(Model):
    """When a caching disk writes changed segments to the disk before their eviction.

    They are written one after the other, in eviction order.

    Attributes
    ----------
    idle_ms
        Time without host requests after which flushes begin; no limit if absent (ms; at least 0, at most 1e+09).
    period_s
        Time after a change at which all changed segments are flushed; no limit if absent (s; at least 1e-06, at
        most 1e+09).
    high_water
        Share of changed segments above which they are flushed during requests, too (at least 0, at most 1;
        default 0.75).
    low_water
        Share of changed segments at which these flushes end (at least 0, at most 1; default 0.5).
    """

    idle_ms: float | str | None = None
    period_s: float | str | None = None
    high_water: float | str | None = None
    low_water: float | str | None = None


class CachingDiskUnits(Model):
    """Units in which segments are read from the disk.

    Each region of the disk has its own unit size, the smallest one times a power of two up to a segment, which
    adapts to the use of the blocks read.

    Attributes
    ----------
    least_bytes
        Smallest unit: a half, a quarter and so on to a 64th of `segment_bytes` (B; at least 512, at most
        3.35544e+07; default 8192).
    region_bytes
        Size of a region: a multiple of `segment_bytes` (B; at least 512; default 16777216).
    """

    least_bytes: int | str | None = None
    region_bytes: int | str | None = None
