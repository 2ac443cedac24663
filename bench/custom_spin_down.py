"""A custom spin-down policy for the bench: a fixed timeout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sledsim.spin_down import SpinDown

if TYPE_CHECKING:
    from sledsim.spin_down import Modes


class Timeout(SpinDown):
    """Stops after 5 ms."""

    def after_ns(self, now_ns: int, mode: int, modes: Modes) -> int:
        """Wait for so long, whatever the mode."""
        return 5_000_000
