"""Chart of response times over a trace, with a line per device and scheduler."""

from typing import TYPE_CHECKING

import numpy as np

from sledsim._core import SledsimError
from sledsim.show.faults import make_error
from sledsim.show.style import COLOURS, altair_library, apply_style, values

if TYPE_CHECKING:
    import altair

    from sledsim.runs.result import Result
    from sledsim.runs.trace_comparison import TraceComparison

__all__ = ["response_lines"]

WIDTH = 760
#: Maximum number of time intervals, each with a point per line.
MOST_SLOTS = 200
#: Minimum mean number of requests per interval.
PER_SLOT = 20


def response_lines(comparison: "TraceComparison") -> "altair.TopLevelMixin":
    """Draw the mean response time of the requests that arrive in each interval of time.

    Parameters
    ----------
    comparison
        The comparison, whose results have logs.
    """
    alt = altair_library()
    served = [(each.name, each.result) for each in comparison.combinations if each.result is not None]
    rows = [row for name, result in served for row in _rows(name, result)]
    if not rows:
        raise make_error(SledsimError, "missing", "there is nothing to draw: no request was completed")
    names = [name for name, _ in served]
    chart = (
        alt.Chart(values(rows))
        .mark_line(strokeWidth=1.4)
        .encode(
            x=alt.X("time:Q", title="Arrival (s)"),
            y=alt.Y("response:Q", title="Mean response time (ms)", scale=alt.Scale(type="log")),
            color=alt.Color("name:N", title=None, sort=names, scale=alt.Scale(domain=names, range=list(COLOURS))),
            tooltip=[
                alt.Tooltip("name:N", title="device, scheduler"),
                alt.Tooltip("time:Q", format=".5g", title="arrival (s)"),
                alt.Tooltip("response:Q", format=".4g", title="mean response (ms)"),
            ],
        )
        .properties(width=WIDTH, height=320)
    )
    return apply_style(chart, "Response time along the trace", [line for line in (comparison.verdict(),) if line])


def _rows(name: str, result: "Result") -> "list[dict[str, float | str]]":
    """Return the points of one line, without intervals that have no requests."""
    log = result.log
    transfers = ~np.asarray(log["flush"], dtype=np.bool_)
    arrival_s = np.asarray(log["arrival_ns"], dtype=np.float64)[transfers] * 1e-9
    response_ms = np.asarray(log["response_ns"], dtype=np.float64)[transfers] * 1e-6
    if not len(arrival_s):
        return []
    slots = min(MOST_SLOTS, max(1, len(arrival_s) // PER_SLOT))
    edges = np.linspace(arrival_s.min(), arrival_s.max(), slots + 1)
    slot = np.clip(np.searchsorted(edges, arrival_s, side="right") - 1, 0, slots - 1)
    counts = np.bincount(slot, minlength=slots)
    sums = np.bincount(slot, weights=response_ms, minlength=slots)
    middles = (edges[:-1] + edges[1:]) / 2
    return [
        {"name": name, "time": float(f"{middles[i]:.7g}"), "response": float(f"{sums[i] / counts[i]:.5g}")}
        for i in np.flatnonzero(counts)
    ]
