"""Distribution of times over the requests of a run."""

from typing import TYPE_CHECKING, Any

import numpy as np

from sledsim.runs.labels import label_of_run
from sledsim.show.style import COLOURS, WIDTH, altair_library, apply_style, values

if TYPE_CHECKING:
    import altair
    from numpy.typing import NDArray

    from sledsim.runs.result import Result

__all__ = ["OP_COLOURS", "distribution_chart", "distribution_panels", "share_up_to"]

#: Number of bins.
BINS = 60
#: The time axis is logarithmic if the largest time is at least this multiple of the smallest.
LOG_SPREAD = 10.0
# Ticks of a logarithmic axis within each decade.
TICKS = (1.0, 2.0, 3.0, 5.0)
OPS = ("reads", "writes")
OP_COLOURS = dict(zip(OPS, COLOURS, strict=False))


def share_up_to(
    times_ms: "NDArray[np.float64]", edges_ms: "NDArray[np.float64]", counts: "NDArray[np.uint64]"
) -> "NDArray[np.float64]":
    """Return the cumulative share of requests at given times, with requests evenly distributed within each bin.

    Parameters
    ----------
    times_ms
        The times.
    edges_ms, counts
        The histogram.
    """
    total = counts.sum(dtype=np.float64)
    reached = np.append(0.0, np.cumsum(counts, dtype=np.float64)) / total
    share: NDArray[np.float64] = np.interp(times_ms, edges_ms, reached, left=0.0, right=1.0)
    return share


def distribution_chart(result: "Result", quantity: str) -> "altair.TopLevelMixin":
    """Draw the histogram and the cumulative distribution of times.

    Parameters
    ----------
    result
        The run.
    quantity
        ``"response"``, ``"wait"`` or ``"service"``.
    """
    present = [op for op in OPS if result[op] is not None]
    stats = {op: result[op][quantity] for op in present}
    subtitle = f"{label_of_run(result.summary)}: " + "; ".join(
        f"{op} mean {stats[op]['mean_ms']:.3g} ms, p99 {stats[op]['p99_ms']:.3g} ms"
        for op in present
        if stats[op]["mean_ms"] is not None
    )
    chart = altair_library().vconcat(*distribution_panels(result, quantity, WIDTH), spacing=18)
    return apply_style(chart, f"Distribution of {quantity} times", subtitle)


def distribution_panels(result: "Result", quantity: str, width: int) -> list[Any]:
    """Return two charts: the histogram and the cumulative distribution of times.

    Parameters
    ----------
    result, quantity
        As for :func:`distribution_chart`.
    width
        Width of the charts, pixels.
    """
    alt = altair_library()
    present = [op for op in OPS if result[op] is not None]
    rows = _rows(result, quantity, present)
    colour = alt.Color(
        "op:N",
        title="Requests",
        scale=alt.Scale(domain=present, range=[OP_COLOURS[op] for op in present]),
        legend=alt.Legend(orient="bottom", direction="horizontal"),
    )
    axis = _time_axis(rows, f"{quantity.capitalize()} time (ms)")
    tooltip = [
        alt.Tooltip("op:N", title="requests"),
        alt.Tooltip("low_ms:Q", title="from (ms)", format=".4g"),
        alt.Tooltip("high_ms:Q", title="to (ms)", format=".4g"),
        alt.Tooltip("share:Q", title="share", format=".2%"),
        alt.Tooltip("up_to:Q", title="no longer", format=".2%"),
    ]
    base = alt.Chart(values(rows)).encode(color=colour, tooltip=tooltip)
    bars = base.mark_rect(opacity=0.55).encode(
        x=alt.X("low_ms:Q", **axis),
        x2="high_ms:Q",
        y=alt.Y("share:Q", title="Share of requests", axis=alt.Axis(format="~%")),
        y2=alt.value(220),
    )
    curve = base.mark_line(interpolate="linear", strokeWidth=2).encode(
        x=alt.X("high_ms:Q", **axis),
        y=alt.Y("up_to:Q", title="Share no longer", axis=alt.Axis(format="~%"), scale=alt.Scale(domain=[0, 1])),
    )
    return [bars.properties(width=width, height=220), curve.properties(width=width, height=160)]


def _rows(result: "Result", quantity: str, present: list[str]) -> list[dict[str, Any]]:
    """Return the bins of reads and writes, with common edges."""
    histograms = {op: result.histogram(quantity, op) for op in present}
    if not histograms:
        return []
    low = min(float(edges_ms[0]) for edges_ms, _ in histograms.values())
    high = max(float(edges_ms[-1]) for edges_ms, _ in histograms.values())
    spread = np.geomspace if _is_logarithmic(low, high) else np.linspace
    edges = spread(low, high, BINS + 1)
    rows = []
    for op, histogram in histograms.items():
        up_to = share_up_to(edges, *histogram)
        for i, share in enumerate(np.diff(up_to).tolist()):
            rows.append(
                {
                    "op": op,
                    "low_ms": _short(edges[i]),
                    "high_ms": _short(edges[i + 1]),
                    "share": _short(share),
                    "up_to": _short(up_to[i + 1]),
                }
            )
    return rows


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def _is_logarithmic(low: float, high: float) -> bool:
    return low > 0 and high / low >= LOG_SPREAD


def _time_axis(rows: list[dict[str, Any]], title: str) -> dict[str, Any]:
    """Return the options of the time axis, which is logarithmic for a spread of at least ``LOG_SPREAD``."""
    alt = altair_library()
    low = min((row["low_ms"] for row in rows), default=0.0)
    high = max((row["high_ms"] for row in rows), default=1.0)
    if not _is_logarithmic(low, high):
        return {"title": title, "scale": alt.Scale(domain=[low, high], nice=False, zero=False)}
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [step * 10.0**decade for decade in decades for step in TICKS]
    marks = [float(f"{tick:.6g}") for tick in ticks if low <= tick <= high]
    return {
        "title": title,
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "axis": alt.Axis(values=marks, format="~g"),
    }
