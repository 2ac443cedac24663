"""Labels of runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sledsim.show.naming import label_of

__all__ = ["label_of_run", "workload_of_run"]


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


def workload_of_run(summary: Mapping[str, Any]) -> str:
    """Return where the requests of a run came from: a trace and what became of its addresses, a stand-in, a generator.

    Parameters
    ----------
    summary
        What the run reports.
    """
    workload = summary["scenario"]["workload"]
    if workload["kind"] == "trace":
        return f"trace {Path(workload['path']).name}"
    if summary["stand_in"]:
        return f"{label_of(summary['stand_in'])} (stand-in)"
    arrival = workload.get("arrival")
    return f"{arrival['kind']} arrivals" if arrival else str(workload["kind"])
