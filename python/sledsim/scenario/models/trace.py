"""The tables of a scenario as typed classes: trace.

Written by tools/generate_scenario.py from the core's schema: change the definitions there, not here.
Ranges and defaults stand in the docstrings; the core checks the values.
"""

from typing import Literal

from sledsim.scenario.models.model import Model, TracePath

__all__ = [
    "BlkparseEvent",
    "Fit",
    "LastBlock",
    "Metadata",
    "ReplayMode",
    "TimeUnit",
    "TraceWorkload",
]

# When the requests of a trace arrive.
ReplayMode = Literal["auto", "open", "closed", "outstanding"]

# Treatment of requests beyond the end of the device.
Fit = Literal["error", "wrap", "scale"]

# Which event of a blkparse trace is the arrival of a request.
BlkparseEvent = Literal["queued", "dispatched"]

# Unit of a time in a trace.
TimeUnit = Literal["ns", "filetime", "us", "ms", "s"]

# The bytes that a request needs in its last block.
LastBlock = Literal["whole", "uniform"]


class Metadata(Model):
    """Metadata requests, which need only a few bytes of one of their blocks (lin2002, section 6.3).

    The block and the place in it are drawn at random: all multiples of the number of bytes, rounded up to a power
    of two, are equally likely. If the bytes exceed a block, they begin at the start of a block. A request that is
    not longer than the bytes is needed whole.

    Attributes
    ----------
    share
        Share of the requests that are metadata, drawn at random, whether or not a trace marks metadata. When
        absent, the requests that the trace marks: only traces of format `blkparse` have marks, and other
        workloads need the share (at least 0, at most 1).
    read_bytes
        Bytes that a metadata read needs: an inode (B; at least 1, at most 1,048,576; default 128).
    write_bytes
        Bytes that a metadata write needs: 4 for an access time, 128 for an inode, 66 for the mean of both (B; at
        least 1, at most 1,048,576; default 66).
    """

    share: float | str | None = None
    read_bytes: int | str | None = None
    write_bytes: int | str | None = None


class TraceWorkload(Model):
    """Replay of a block trace.

    Attributes
    ----------
    path
        The trace file, plain or compressed; relative to the scenario file.
    format
        Format of the trace, `auto` to detect it; `sledsim list formats` lists them (default "auto").
    mode
        When requests arrive (default "auto").
    time_scale
        Factor on all times between requests: 0.5 is twice as fast (at least 0, at most 1e+09; default 1.0).
    outstanding
        Requests outstanding in mode `outstanding` (at least 1, at most 1,000,000; default 1).
    rebase
        True if the first request arrives at time 0. If false, it arrives at its time in the trace, which suits
        traces that count time from the start of a run (mode `open`) (default true).
    start_s
        Skip records before this time after the first record (s; at least 0, at most 1e+09; default 0.0).
    end_s
        Skip records from this time after the first record on (s; at least 0, at most 1e+09).
    first_record
        Skip this many records of the selected devices first (at least 0; default 0).
    records
        Replay at most this many records each time (at least 1).
    devices
        Devices of the trace to replay, merged into one stream; all when empty (default []).
    fit
        Treatment of requests beyond the end of the device (default "error").
    repeat
        Number of replays (at least 1; default 1).
    skip_bad
        Bad records that are skipped and counted; one more is an error (at least 0; default 0).
    sort
        Sort the records by time, in bounded memory; those of one time keep their order (default false).
    sector_bytes
        Bytes in a sector, for formats that count in sectors; that of the trace or its format when absent (B; at
        least 1, at most 1,048,576).
    columns
        Columns of a CSV trace: `time`, `device`, `offset`, `bytes` and `op`, each a column's name or number (from
        0); one that is absent is found by its name in the header. `time_unit` (`s`, `ms`, `us`, `ns`,
        `filetime`), `offset_unit` and `length_unit` (`bytes`, `sectors`) are needed where a column's name does
        not state its unit. `read` and `write` are the codes of `op`, separated by commas, where they are not `R`
        and `W`.
    event
        Which event of a blkparse or blktrace trace is the arrival of a request (default "queued").
    time_unit
        Unit of the timestamps of a fio iolog, version 3; `us` when absent, as fio writes them.
    last_block
        The bytes that a request needs in its last block (default "whole").
    metadata
        Metadata requests, which need only a few bytes; none when absent.
    """

    kind: Literal["trace"] = "trace"
    path: TracePath
    format: str | None = None
    mode: ReplayMode | None = None
    time_scale: float | str | None = None
    outstanding: int | None = None
    rebase: bool | None = None
    start_s: float | str | None = None
    end_s: float | str | None = None
    first_record: int | None = None
    records: int | None = None
    devices: list[int] | None = None
    fit: Fit | None = None
    repeat: int | None = None
    skip_bad: int | None = None
    sort: bool | None = None
    sector_bytes: int | str | None = None
    columns: dict[str, str] | None = None
    event: BlkparseEvent | None = None
    time_unit: TimeUnit | None = None
    last_block: LastBlock | None = None
    metadata: Metadata | None = None
