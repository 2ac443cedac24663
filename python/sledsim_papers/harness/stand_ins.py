"""Stand-ins of the catalogue on other devices than the one that they were made for."""

from collections.abc import Mapping, Sequence
from typing import Any

from sledsim import Session
from sledsim.devices import DiskDrive
from sledsim.workloads import workload_entry

__all__ = ["in_bytes"]


def in_bytes(
    name: str, system: Mapping[str, Any], streams: Sequence[Mapping[str, Any]] | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Return what has a stand-in ask for as many bytes as on the disk that it was made for, of a system of any size.

    Its ranges are shares of a device, and the paper's database is as large wherever it lies.

    Parameters
    ----------
    name
        Entry of the catalogue, whose streams each have a range.
    system
        What it is run on.
    streams
        Its streams, where they are others than those of the entry.

    Returns
    -------
    dict
        ``streams``, a key of the workload; empty where what it is run on is as large as that disk.
    """
    entry, session = workload_entry(name), Session(dict(system))
    larger = DiskDrive(entry.measured_on).capacity_bytes / (session.capacity_blocks * session.block_bytes)
    if larger == 1:
        return {}
    ours = entry.values["streams"]["value"] if streams is None else streams
    return {
        "streams": [
            {**stream, "range": {end: min(1.0, larger * at) for end, at in stream["range"].items()}} for stream in ours
        ]
    }
