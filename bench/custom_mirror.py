"""A custom policy for the reads of a mirror for the bench: the fewest blocks under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sledsim.mirrors import CopyChoice

if TYPE_CHECKING:
    from sledsim.mirrors import Copies, Request


class Fewest(CopyChoice):
    """The copy with the fewest blocks under way."""

    positioning = False

    def pick(self, now_ns: int, request: Request, copies: Copies) -> int:
        """Take the first of the least."""
        return int(copies.pending_blocks.argmin())
