"""Arguments of custom policies: a part of the stub of :mod:`sledsim._core`, which has these classes."""

from typing import final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Copies", "Modes", "Pending", "Request"]

@final
class Pending:
    """The pending requests in order of arrival: an array for each quantity, an entry for each request.

    The arrays are copies, made when they are read; the object is valid during the call only. Numbers are signed, so
    differences may be negative.
    """

    id: NDArray[np.int64]
    lbn: NDArray[np.int64]
    blocks: NDArray[np.int64]
    read: NDArray[np.bool_]
    age_ns: NDArray[np.int64]
    positioning_ns: NDArray[np.int64]
    """Times from a dispatch now until the first bit can be transferred, ns; empty with ``positioning = False``."""
    def __len__(self) -> int: ...

@final
class Request:
    """A request: id, first block, size, operation and time of arrival."""

    id: int
    lbn: int
    blocks: int
    read: bool
    arrival_ns: int

@final
class Copies:
    """The copies of a mirror that may serve a read, by rising numbers: an array for each quantity, an entry for each.

    The arrays are copies, made when they are read; the object is valid during the call only.
    """

    copy: NDArray[np.int64]
    """Numbers of the copies from 0, without those that have failed or lack the blocks."""
    member: NDArray[np.int64]
    """Numbers of the members that hold them; a spare has another number than its copy."""
    pending: NDArray[np.int64]
    """Outstanding accesses of each, including those of writes and rebuilds."""
    pending_blocks: NDArray[np.int64]
    """Blocks of those accesses."""
    next_lbn: NDArray[np.int64]
    """The block after the last access that was sent to each; 0 before the first."""
    positioning_ns: NDArray[np.int64]
    """Times until each could reach the first block, ns, from when it is free; -1 if unknown; may be empty."""
    def __len__(self) -> int: ...

@final
class Modes:
    """The idle modes of a device, the ready one first: an array for each quantity, an entry for each mode."""

    names: list[str]
    power_w: NDArray[np.float64]
    """Powers, W."""
    after_ns: NDArray[np.int64]
    """Idle times after which the device enters them without a policy, ns; -1 for never."""
    wake_ns: NDArray[np.int64]
    """Times to be ready again, ns."""
    wake_w: NDArray[np.float64]
    """Powers during those times, W."""
    def __len__(self) -> int: ...
