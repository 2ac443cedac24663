"""What policies of one's own see: a part of the stub of :mod:`sledsim._core`, where these classes are."""

from typing import final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Copies", "Modes", "Pending", "Request"]

@final
class Pending:
    """What is pending, in the order of arrival: an array for each quantity, an entry for each request.

    The arrays are copies, made when they are asked for, and there are none after the call that they were handed to.
    Numbers are signed, so differences may be negative.
    """

    id: NDArray[np.int64]
    lbn: NDArray[np.int64]
    blocks: NDArray[np.int64]
    read: NDArray[np.bool_]
    age_ns: NDArray[np.int64]
    positioning_ns: NDArray[np.int64]
    """Times from a dispatch now until the first bit can be transferred, ns, as the device reckons; may be left out."""
    def __len__(self) -> int: ...

@final
class Request:
    """A request, as a policy of one's own is told of it: a number, where it begins, its size, when it arrived."""

    id: int
    lbn: int
    blocks: int
    read: bool
    arrival_ns: int

@final
class Copies:
    """The copies of a mirror that may serve a read, by rising numbers: an array for each quantity, an entry for each.

    The arrays are copies, made when they are asked for, and there are none after the call that they were handed to.
    """

    copy: NDArray[np.int64]
    """Numbers of the copies, from 0; one that has failed, or does not have the blocks, is not among them."""
    member: NDArray[np.int64]
    """Numbers of the members that hold them: a spare has another than the copy that it stands in for."""
    pending: NDArray[np.int64]
    """Accesses under way at each, those of writes and rebuilds among them."""
    pending_blocks: NDArray[np.int64]
    """Their blocks."""
    next_lbn: NDArray[np.int64]
    """The block after the last access that was sent to each; 0 before the first."""
    positioning_ns: NDArray[np.int64]
    """Times until each could reach the first block, ns, from when it is free; -1 if unknown; may be left out."""
    def __len__(self) -> int: ...

@final
class Modes:
    """The idle modes of a device, the ready one first: an array for each quantity, an entry for each mode."""

    names: list[str]
    power_w: NDArray[np.float64]
    """Powers in them, W."""
    after_ns: NDArray[np.int64]
    """Idle times after which the device enters them without a policy, ns; -1 for never."""
    wake_ns: NDArray[np.int64]
    """Times to be ready again, ns."""
    wake_w: NDArray[np.float64]
    """Powers during those times, W."""
    def __len__(self) -> int: ...
