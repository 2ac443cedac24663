"""Labels of runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sledsim.devices.headings import device_heading
from sledsim.show.naming import label_of

__all__ = ["device_of_run", "label_of_run", "workload_of_run"]


def label_of_run(summary: Mapping[str, Any]) -> str:
    """Return the name of a run in headings: device, scheduler, and the stand-in workload if there is one.

    Parameters
    ----------
    summary
        The summary of the run.
    """
    parts = [device_of_run(summary), summary["scheduler"]]
    if summary["stand_in"]:
        parts.append(f"{label_of(summary['stand_in'])} (stand-in)")
    return ", ".join(parts)


def device_of_run(summary: Mapping[str, Any]) -> str:
    """Return the name of a run's device in headings, with its changed values.

    Parameters
    ----------
    summary
        The summary of the run.
    """
    system = summary["scenario"]["system"]
    return device_heading(system["device"]) if system["kind"] == "drive" else label_of(summary["device"]["name"])


def workload_of_run(summary: Mapping[str, Any]) -> str:
    """Return the name of a run's workload: a trace, a stand-in, or a kind of arrivals.

    Parameters
    ----------
    summary
        The summary of the run.
    """
    workload = summary["scenario"]["workload"]
    if workload["kind"] == "trace":
        return f"trace {Path(workload['path']).name}"
    if summary["stand_in"]:
        return f"{label_of(summary['stand_in'])} (stand-in)"
    arrival = workload.get("arrival")
    return f"{arrival['kind']} arrivals" if arrival else str(workload["kind"])
