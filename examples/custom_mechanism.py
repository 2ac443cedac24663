"""Mechanisms written by hand: a device of the catalogue once more, and a sled with seeks at a constant acceleration.

    sledsim run first.toml --set device.python=custom_mechanism:Sled
    sledsim run first.toml --set device=custom_mechanism:Sled --set device.acceleration_m_s2=400 --set scheduler=sptf
    sledsim plugin-check custom_mechanism:Sled

The first takes as long as the built-in one, request by request.
"""

from math import sqrt
from typing import Annotated

from pydantic import Field

from sledsim.devices import Mechanism

Positive = Annotated[float, Field(gt=0)]


class Linear(Mechanism):
    """A device whose time is linear in the distance from the block after the last one served: simpledisk-linear."""

    capacity_blocks: Annotated[int, Field(ge=2)] = 6_750_000
    nearest_ms: Annotated[float, Field(ge=0)] = 0.1
    farthest_ms: Annotated[float, Field(ge=0)] = 2.0

    def __post_init__(self) -> None:
        if self.farthest_ms < self.nearest_ms:
            raise ValueError("farthest_ms is below nearest_ms")
        self.next_lbn = 0

    def positioning_ns(self, now_ns: int, lbn: int, read: bool) -> int:
        """Return a time that grows with the distance."""
        ns_per_block = (self.farthest_ms - self.nearest_ms) * 1e6 / self.capacity_blocks
        return round(self.nearest_ms * 1e6) + int(ns_per_block * abs(lbn - self.next_lbn) + 0.5)

    def serve(self, now_ns: int, lbn: int, blocks: int, read: bool) -> int:
        """Move on to the block after the request; that takes no time."""
        self.next_lbn = lbn + blocks
        return 0


class Sled(Mechanism):
    """A sled over fixed tips: columns of blocks side by side, each read down its length at a constant velocity.

    It gets to another column, and to another place along it, by a constant force that is reversed half-way; both at the
    same time. Along the columns it ends where the next block begins, across them it has to settle. Where a request does
    not fit into a column it goes on at the top of the next one, which is a seek of its own.
    """

    columns: Annotated[int, Field(ge=1)] = 2_500
    column_blocks: Annotated[int, Field(ge=1)] = 2_700
    width_um: Positive = 100.0
    """Across all columns."""
    length_um: Positive = 100.0
    """Along a column."""
    acceleration_m_s2: Positive = 800.0
    settle_ms: Annotated[float, Field(ge=0)] = 0.2
    block_us: Positive = 130.0
    """Time that a block takes to pass."""

    def __post_init__(self) -> None:
        self.column, self.place = 0, 0

    @property
    def capacity_blocks(self) -> int:
        """Blocks of all columns."""
        return self.columns * self.column_blocks

    def positioning_ns(self, now_ns: int, lbn: int, read: bool) -> float:
        """Return the longer of the ways across the columns and along them."""
        return self.seek_ns(*divmod(lbn, self.column_blocks))

    def seek_ns(self, column: int, place: int) -> float:
        """Return the time from where the sled stands to a place of a column."""
        across_m = abs(column - self.column) * self.width_um * 1e-6 / self.columns
        along_m = abs(place - self.place) * self.length_um * 1e-6 / self.column_blocks
        across_s = 2 * sqrt(across_m / self.acceleration_m_s2) + (self.settle_ms * 1e-3 if across_m else 0.0)
        return max(across_s, 2 * sqrt(along_m / self.acceleration_m_s2)) * 1e9

    def serve(self, now_ns: int, lbn: int, blocks: int, read: bool) -> float:
        """Pass over the blocks, column by column."""
        self.column, self.place = divmod(lbn, self.column_blocks)
        took_ns = 0.0
        while blocks:
            here = min(blocks, self.column_blocks - self.place)
            took_ns += here * self.block_us * 1e3
            self.place, blocks = self.place + here, blocks - here
            if blocks:
                took_ns += self.seek_ns(self.column + 1, 0)
                self.column, self.place = self.column + 1, 0
        return took_ns
