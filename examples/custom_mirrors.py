"""Choices of a mirror's copy written by hand: those that are built in, as classes.

    sledsim run mirror.toml --set system.read=custom_mirrors:Nearest
    sledsim plugin-check custom_mirrors:Nearest

They decide as the built-in ones do, read by read.
"""

import numpy as np
from numpy.typing import NDArray

from sledsim.mirrors import Copies, CopyChoice, Request


class RoundRobin(CopyChoice):
    """One copy after the other."""

    positioning = False

    def __post_init__(self) -> None:
        # The copy after the one that served the last read.
        self.turn = 0

    def cost(self, request: Request, copies: Copies) -> NDArray[np.int64]:
        """Return what speaks against each copy: nothing."""
        return np.zeros(len(copies), dtype=np.int64)

    def pick(self, now_ns: int, request: Request, copies: Copies) -> int:
        """Take the least cost; among equals the next in turn."""
        numbers = copies.copy
        row = int(np.lexsort((numbers, numbers < self.turn, self.cost(request, copies)))[0])
        self.turn = int(numbers[row]) + 1
        return row


class ShortestQueue(RoundRobin):
    """The copy with the fewest blocks under way; one after the other among equals."""

    def cost(self, request: Request, copies: Copies) -> NDArray[np.int64]:
        """Return the blocks under way."""
        return copies.pending_blocks


class Nearest(RoundRobin):
    """The copy whose mechanism would be there first; where it can't tell, whose last access ended nearest."""

    positioning = True

    def cost(self, request: Request, copies: Copies) -> NDArray[np.int64]:
        """Return times, or distances in blocks."""
        times_ns = copies.positioning_ns
        return np.where(times_ns < 0, abs(copies.next_lbn - request.lbn), times_ns)
