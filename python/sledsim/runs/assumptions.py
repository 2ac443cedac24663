"""The assumptions of a replay, in one line."""

from collections.abc import Mapping
from typing import Any

from sledsim.show.naming import counted

__all__ = ["replay_assumptions"]

#: The treatment of addresses, by the key ``fit``.
FITS = {"error": "addresses unchanged", "wrap": "addresses wrapped", "scale": "addresses scaled"}


#: Keys of units that a user can set, and their names.
UNITS = {"sector_bytes": "bytes of a sector", "time_unit": "time unit"}


def replay_assumptions(summary: Mapping[str, Any]) -> str:
    """Return the assumptions that change the result of a replay.

    Parameters
    ----------
    summary
        The summary of a run of a trace.
    """
    workload = summary["scenario"]["workload"]
    replay = summary["replay"]
    units = [workload[key] and f"{name} {workload[key]}" for key, name in UNITS.items()]
    scale = workload["time_scale"]
    arrivals = {
        "open": "open: arrivals as recorded" + (f", times × {scale:g}" if scale != 1 else ""),
        "closed": "closed: gaps as recorded",
        "outstanding": f"closed: {counted(workload['outstanding'], 'request')} outstanding",
    }
    parts = [f"format {replay['format']} ({replay['detected_by']})", *units, FITS[workload["fit"]]]
    return ", ".join([*filter(None, parts), arrivals[replay["mode"]]])
