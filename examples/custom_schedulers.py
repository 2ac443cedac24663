"""Built-in schedulers as custom policies: they decide the same, request by request.

Name one in a scenario, from this folder: ``sledsim run quick.toml --set scheduler.python=custom_schedulers:Sptf``.
"""

import numpy as np

from sledsim.schedulers import Pending, Policy


class Fcfs(Policy):
    """First come, first served."""

    positioning = False

    def pick(self, now_ns: int, pending: Pending) -> int:
        """Take the oldest."""
        return 0


class Clook(Policy):
    """Ascending LBNs from the block after the last dispatch on, then again from the lowest."""

    positioning = False
    head_lbn = 0

    def pick(self, now_ns: int, pending: Pending) -> int:
        """Take the lowest LBN ahead, or the lowest of all; of several there the oldest."""
        lbn = pending.lbn
        behind = lbn < self.head_lbn
        if not behind.all():
            lbn = np.where(behind, np.iinfo(lbn.dtype).max, lbn)
        row = int(lbn.argmin())
        self.head_lbn = int(lbn[row] + pending.blocks[row])
        return row


class Sptf(Policy):
    """Shortest positioning time first."""

    def pick(self, now_ns: int, pending: Pending) -> int:
        """Take the least positioning time; of equal ones the oldest."""
        return int(pending.positioning_ns.argmin())


class AgedSptf(Policy):
    """Shortest positioning time first, less a share of the time waited."""

    weight: float = 0.006

    def pick(self, now_ns: int, pending: Pending) -> int:
        """Take the least of positioning time less weight times age."""
        return int((pending.positioning_ns - self.weight * pending.age_ns).argmin())
