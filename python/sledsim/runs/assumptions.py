"""The assumptions of a replay, in one line."""

from collections.abc import Mapping
from typing import Any

__all__ = ["replay_assumptions"]

#: The treatment of addresses, by the key ``fit``.
FITS = {"error": "addresses unchanged", "wrap": "addresses wrapped", "scale": "addresses scaled"}


def replay_assumptions(summary: Mapping[str, Any]) -> str:
    """Return the assumptions that change the result of a replay.

    Parameters
    ----------
    summary
        The summary of a run of a trace.
    """
    workload = summary["scenario"]["workload"]
    trace = summary.get("trace") or {}
    parts = [trace[key] for key in ("format", "times", "addresses") if trace.get(key)]
    parts.append(FITS[workload["fit"]])
    scale = workload["time_scale"]
    modes = {
        "open": "arrivals as recorded" if scale == 1 else f"arrivals as recorded, times × {scale:g}",
        "closed": "closed loop with recorded gaps",
        "outstanding": f"{workload['outstanding']} outstanding",
        "auto": "arrivals as recorded" if scale == 1 else f"arrivals as recorded, times × {scale:g}",
    }
    parts.append(trace.get("mode") or modes[workload["mode"]])
    return "assumed: " + ", ".join(parts)
