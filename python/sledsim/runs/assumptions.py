"""The assumptions of a replay, in one line."""

from collections.abc import Mapping
from typing import Any

from sledsim.runs.phases import mechanisms_of
from sledsim.show.naming import with_count

__all__ = ["replay_assumptions"]

#: The treatment of addresses, by the key ``fit``.
FITS = {"error": "addresses unchanged", "wrap": "addresses wrapped", "scale": "addresses scaled"}

#: The position of a device when a run begins, which is the first arrival, by its mechanism.
POSITIONS = {"mems": "sled at rest in the centre", "disk": "platter at angle 0"}


def replay_assumptions(summary: Mapping[str, Any], *others: Mapping[str, Any], with_scale: bool = True) -> str:
    """Return the assumptions that change the result of a replay.

    Parameters
    ----------
    summary
        The summary of a run of a trace.
    *others
        Summaries of runs of the same trace on other devices.
    with_scale
        True to include the time scale.
    """
    workload = summary["scenario"]["workload"]
    replay = summary["replay"]
    scale = workload["time_scale"]
    arrivals = {
        "open": "open: arrivals as recorded" + (f", times × {scale:g}" if scale != 1 and with_scale else ""),
        "closed": "closed: gaps as recorded",
        "outstanding": f"closed: {with_count(workload['outstanding'], 'request')} outstanding",
    }
    parts = [f"format {replay['format']} ({replay['detected_by']})", replay["units"], FITS[workload["fit"]]]
    parts += ["records sorted by time"] if workload["sort"] else []
    if resets := max(run["replay"].get("resets_left_out", 0) for run in (summary, *others)):
        parts.append(f"{with_count(resets, 'reset')} left out (no zones at the root)")
    mechanisms = dict.fromkeys(each for run in (summary, *others) for each in mechanisms_of(run))
    positions = [POSITIONS[each] for each in mechanisms if each in POSITIONS]
    if positions:
        arrivals[replay["mode"]] += f", {' and '.join(positions)} at the first arrival"
    return ", ".join([*filter(None, parts), arrivals[replay["mode"]]])
