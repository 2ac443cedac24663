"""What to call runs."""

from collections.abc import Mapping
from typing import Any

from sledsim.show.naming import label_of

__all__ = ["label_of_run"]


def label_of_run(summary: Mapping[str, Any]) -> str:
    """Return what a heading calls a run: its device and scheduler, and the stand-in that made its requests, if one did.

    Parameters
    ----------
    summary
        What the run reports.
    """
    parts = [label_of(summary["device"]["name"]), summary["scheduler"]]
    if summary["stand_in"]:
        parts.append(f"{label_of(summary['stand_in'])} (stand-in)")
    return ", ".join(parts)
