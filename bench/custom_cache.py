"""A custom replacement policy for the bench: LRU."""

from __future__ import annotations

from collections import OrderedDict

from sledsim.caches import Replacement


class Lru(Replacement):
    """The slot that was used longest ago."""

    def __post_init__(self) -> None:
        """Begin with an empty cache."""
        self.used: OrderedDict[int, None] = OrderedDict()

    def victim(self, key: int, after: int | None) -> int:
        """Take the oldest: none is kept from leaving here."""
        return next(iter(self.used))

    def admitted(self, slot: int, key: int, evicted: int | None) -> None:
        """Make it the newest."""
        self.hit(slot, key)

    def hit(self, slot: int, key: int) -> None:
        """Make it the newest."""
        self.used[slot] = None
        self.used.move_to_end(slot)
