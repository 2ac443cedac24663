"""The disks of Schlosser et al. 2000 (Table 3), the same in all claims and figures."""

from collections.abc import Mapping
from typing import Any

__all__ = ["BUS_MS_PER_BLOCK", "DISKS", "NO_BUFFER"]

#: Time of a block on the bus of the Atlas 10K, ms. Table 3 has a bandwidth of 25 MB/s, for which a block may take
#: 0.02048 ms at most; DiskSim's parameter file of the drive has 0.099 ms, which lets 5 MB/s through.
BUS_MS_PER_BLOCK = 0.01024

#: The disks by name, their buffers as they come.
DISKS: Mapping[str, Mapping[str, Any]] = {
    "superdisk": {"name": "superdisk"},
    "atlas10k": {"name": "atlas10k", "bus_ms_per_block": BUS_MS_PER_BLOCK},
}

#: Values that switch a drive's buffer off.
NO_BUFFER: Mapping[str, Any] = {"buffer_caching": False, "read_ahead": "none", "fast_write": "none"}
