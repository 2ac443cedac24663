"""Chart of a run over time: response times, queue and power, above the distribution of response times."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from sledsim._core import RunError, SledsimError
from sledsim.runs.distribution_chart import OP_COLOURS, distribution_panels
from sledsim.runs.labels import label_of_run
from sledsim.runs.timeline_chart import mean_power_w
from sledsim.show.faults import make_error
from sledsim.show.style import COLOURS, altair_library, apply_style, rows_of, values

if TYPE_CHECKING:
    import altair
    from numpy.typing import NDArray

    from sledsim.runs.result import Result

    Floats = NDArray[np.float64]

__all__ = ["course_chart"]

WIDTH = 760
#: Up to this number of requests, each is a point; above it, lines show statistics over time slots.
MOST_REQUESTS = 3000
#: Maximum number of time slots: enough for zooming, and few enough for a page of some hundred kilobytes.
MOST_SLOTS = 1200
#: Minimum mean number of requests per slot.
PER_SLOT = 10
PERCENTILE = 99
#: Statistics of the requests of a slot, with the colours of their lines.
MEAN, TAIL, MOST = "mean", f"p{PERCENTILE}", "max"
LINES = {MEAN: COLOURS[0], TAIL: COLOURS[1], MOST: "#bbbbbb"}


def course_chart(result: "Result") -> "altair.TopLevelMixin":
    """Draw response times, queue and power over time, above the distribution of response times.

    Parameters
    ----------
    result
        A run with a log; the power is drawn if it has a timeline, too.
    """
    alt = altair_library()
    # Flushes transfer no data, so that they are left out.
    transfers = ~np.asarray(result.log["flush"], dtype=np.bool_)
    log = {name: column[transfers] for name, column in result.log.items()}
    if not len(log["end_ns"]):
        raise make_error(SledsimError, "missing", "there is nothing to draw: no request was completed")
    arrival_s, end_s = (np.asarray(log[name], dtype=np.float64) * 1e-9 for name in ("arrival_ns", "end_ns"))
    first, last = float(arrival_s.min()), float(end_s.max())
    edges = np.linspace(first, last, min(MOST_SLOTS, max(1, len(end_s) // PER_SLOT)) + 1)
    scale, unit = (1e3, "ms") if last < 1 else (1.0, "s")
    # All panels share one time axis, so that zooming and panning apply to all.
    zoom = alt.selection_interval(bind="scales", encodings=["x"], name="zoom")
    axis = alt.Scale(domain=[first * scale, last * scale], nice=False)
    response_ms = np.asarray(log["response_ns"], dtype=np.float64) * 1e-6
    responses = (
        _points(alt, end_s * scale, response_ms, log["read"])
        if len(end_s) <= MOST_REQUESTS
        else _lines(alt, _slot_statistics(edges, end_s, response_ms), edges, scale, "Response time (ms)")
    )
    queue = _lines(alt, _queue(edges, arrival_s, end_s), edges, scale, "Requests in the system")
    panels = [responses.properties(height=200), queue.properties(height=130)]
    power_w = _power_w(result, edges)
    if power_w is not None:
        panels.append(_lines(alt, {MEAN: power_w}, edges, scale, "Power (W)").properties(height=130))
    titles = [None] * (len(panels) - 1) + [f"Time ({unit})"]
    placed = [
        panel.encode(x=alt.X("time:Q", title=title, scale=axis)).properties(width=WIDTH)
        for panel, title in zip(panels, titles, strict=True)
    ]
    with warnings.catch_warnings():
        # The panels share one selection on purpose.
        warnings.filterwarnings("ignore", "Automatically deduplicated selection parameter")
        along = alt.vconcat(*placed, spacing=8).add_params(zoom)
        below = alt.vconcat(*distribution_panels(result, "response", WIDTH), spacing=8)
        chart = alt.vconcat(along, below, spacing=30).resolve_scale(color="independent")
    return apply_style(chart, "The run over time", [label_of_run(result.summary), _note(edges, len(end_s))])


def _note(edges: "Floats", requests: int) -> str:
    width_s = float(edges[1] - edges[0])
    slot = f"{width_s:.3g} s" if width_s >= 1 else f"{width_s * 1e3:.3g} ms"
    what = "queue and power" if requests <= MOST_REQUESTS else f"{requests:,} requests, queue and power"
    return f"{what} in slots of {slot}; in a page, drag to pan, scroll to zoom, double-click to reset"


def _points(alt: Any, time: "Floats", response_ms: "Floats", read: Any) -> Any:
    columns = {"time": time, "response": response_ms, "op": np.where(read, "reads", "writes")}
    colour = alt.Scale(domain=list(OP_COLOURS), range=list(OP_COLOURS.values()))
    return (
        alt.Chart(values(rows_of(columns, 7)))
        .mark_circle(size=14, opacity=0.6, clip=True)
        .encode(
            y=alt.Y("response:Q", title="Response time (ms)"),
            color=alt.Color("op:N", title=None, scale=colour),
            tooltip=[alt.Tooltip("time:Q", format=".6g"), alt.Tooltip("response:Q", format=".4g"), alt.Tooltip("op:N")],
        )
    )


def _lines(alt: Any, columns: "dict[str, Floats]", edges: "Floats", scale: float, title: str) -> Any:
    """Draw lines over slots; slots without values are gaps."""
    middles = (edges[:-1] + edges[1:]) / 2 * scale
    rows = [
        {"time": float(f"{time:.7g}"), "line": name, "value": float(f"{value:.5g}")}
        for name, column in columns.items()
        for time, value in zip(middles.tolist(), column.tolist(), strict=True)
        if np.isfinite(value)
    ]
    # Larger values are drawn behind smaller ones.
    names = [name for name in reversed(LINES) if name in columns]
    colour = alt.Scale(domain=names, range=[LINES[name] for name in names])
    layers = [
        alt.Chart(values([row for row in rows if row["line"] == name]))
        .mark_line(strokeWidth=1.2, clip=True)
        .encode(
            y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=True)),
            color=alt.Color("line:N", title=None, scale=colour, legend=alt.Legend() if len(names) > 1 else None),
            tooltip=[alt.Tooltip("time:Q", format=".6g"), alt.Tooltip("line:N"), alt.Tooltip("value:Q", format=".4g")],
        )
        for name in names
    ]
    return alt.layer(*layers)


def _slot_statistics(edges: "Floats", time_s: "Floats", value: "Floats") -> "dict[str, Floats]":
    """Return mean, percentile and maximum of the values in each slot; NaN for slots without values."""
    order = np.argsort(time_s, kind="stable")
    ends = np.searchsorted(time_s[order], edges[1:], side="left")
    # The last instant belongs to the last slot.
    ends[-1] = len(order)
    found = {name: np.full(len(ends), np.nan) for name in (MEAN, TAIL, MOST)}
    for slot, part in enumerate(np.split(value[order], ends[:-1])):
        if len(part):
            found[MEAN][slot], found[MOST][slot] = part.mean(), part.max()
            found[TAIL][slot] = np.percentile(part, PERCENTILE, method="inverted_cdf")
    return found


def _queue(edges: "Floats", arrival_s: "Floats", end_s: "Floats") -> "dict[str, Floats]":
    """Return the mean and the maximum number of requests in the system in each slot."""
    waited = _time_after(edges, arrival_s) - _time_after(edges, end_s)
    times = np.concatenate([arrival_s, end_s])
    steps = np.concatenate([np.ones(len(arrival_s)), -np.ones(len(end_s))])
    # At equal times, completions precede arrivals.
    order = np.lexsort((steps, times))
    counts = np.cumsum(steps[order])
    starts = np.searchsorted(times[order], edges[:-1], side="right")
    before = np.append(0.0, counts)[starts]
    most = [max(first, *part, 0.0) for first, part in zip(before, np.split(counts, starts[1:]), strict=True)]
    return {MEAN: np.diff(waited) / np.diff(edges), MOST: np.array(most)}


def _time_after(edges: "Floats", times_s: "Floats") -> "Floats":
    """Return for each edge the sum of the times passed since all earlier times."""
    ordered = np.sort(times_s)
    count = np.searchsorted(ordered, edges, side="right")
    passed: Floats = edges * count - np.append(0.0, np.cumsum(ordered))[count]
    return passed


def _power_w(result: "Result", edges: "Floats") -> "Floats | None":
    """Return the mean power of all mechanisms in each slot; ``None`` without a timeline."""
    try:
        timeline = result.timeline
    except RunError:
        return None
    return mean_power_w(timeline, edges)
