"""A custom scheduler for the bench: the lowest block first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sledsim.schedulers import Policy

if TYPE_CHECKING:
    from sledsim.schedulers import Pending


class LowestLbn(Policy):
    """The lowest block first."""

    positioning = False

    def pick(self, now_ns: int, pending: Pending) -> int:
        """Take the lowest LBN."""
        return int(pending.lbn.argmin())
