"""The table of a run's power cuts."""

from collections.abc import Mapping, Sequence
from typing import Any

from sledsim.show.tables import Table, number

__all__ = ["power_cut_table"]

HEADERS = [
    "power cut (s)",
    "under way",
    "lost, blocks",
    "lost, durable",
    "unreadable",
    "recovery (ms)",
    "mean until then (ms)",
    "mean after it (ms)",
]


def power_cut_table(cuts: Sequence[Mapping[str, Any]]) -> Table:
    """Return a table of power cuts: outstanding requests, lost blocks, recovery time, and response times.

    Parameters
    ----------
    cuts
        The key ``power_cuts`` of a summary.
    """
    rows = [
        [
            number(cut["at_s"]),
            number(cut["under_way"]),
            number(cut["lost_blocks"]),
            number(cut["lost_durable_blocks"]),
            number(cut["unreadable_blocks"]),
            _recovery(cut, last=cut is cuts[-1]),
            number(cut["during_recovery"]["mean_ms"]),
            number(cut["after"]["mean_ms"]),
        ]
        for cut in cuts
    ]
    return Table(HEADERS, rows)


def _recovery(cut: Mapping[str, Any], *, last: bool) -> str:
    if cut["recovery_s"] is None:
        return "not before the end" if last else "cut again before"
    return number(1e3 * cut["recovery_s"])
