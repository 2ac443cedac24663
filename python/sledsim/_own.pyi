"""What policies of one's own see: a part of the stub of :mod:`sledsim._core`, where these classes are."""

from typing import final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pending", "Request"]

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
