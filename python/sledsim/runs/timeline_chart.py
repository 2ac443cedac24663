"""Chart of states and power over time."""

from typing import TYPE_CHECKING, Any

import numpy as np

from sledsim._core import SledsimError
from sledsim.runs.phases import state_word
from sledsim.show.faults import make_error
from sledsim.show.style import altair_library, apply_style, state_colours, values

if TYPE_CHECKING:
    import altair
    from numpy.typing import NDArray

    from sledsim.runs.timeline import Timeline

    Floats = NDArray[np.float64]

__all__ = ["mean_power_w", "timeline_chart"]

WIDTH = 760

# Maximum number of spans of a mechanism that are drawn separately. Otherwise the chart has shares of time in slots.
MOST_SPANS = 500
SLOTS = 190

# Maximum number of mechanisms with separate bars.
MOST_BARS = 16


def timeline_chart(timeline: "Timeline") -> "altair.TopLevelMixin":
    """Draw the states of each mechanism over time, above the total power.

    Parameters
    ----------
    timeline
        The timeline.
    """
    courses = [_Course(timeline, number) for number in np.unique(timeline["mechanism"])]
    if not courses:
        raise make_error(SledsimError, "missing", "there is no timeline to draw: it has no events")
    start_s, end_s = min(course.edges[0] for course in courses), max(course.edges[-1] for course in courses)
    exact = max(len(course.states) for course in courses) <= MOST_SPANS
    if exact:
        edges = np.unique(np.concatenate([course.edges for course in courses]))
        bars = [row for course in courses[:MOST_BARS] for row in course.spans()]
    else:
        edges = np.linspace(start_s, end_s, SLOTS + 1)
        bars = _shares(courses, timeline.states, edges)
    power_w = _mean_power_w(courses, edges)
    # The last value is repeated at the end, so that the step is drawn.
    line = [{"time": time, "power": power} for time, power in zip(edges, [*power_w, power_w[-1]], strict=True)]
    scale, unit = (1e3, "ms") if end_s < 1 else (1.0, "s")
    chart = _panels(_scaled(bars, scale), _scaled(line, scale), timeline.states, (start_s * scale, end_s * scale), unit)
    slot_s = None if exact else (end_s - start_s) / SLOTS
    return apply_style(chart, "States and power over time", _subtitle(timeline, len(courses), slot_s))


def mean_power_w(timeline: "Timeline", edges: "Floats") -> "Floats":
    """Return the mean total power between consecutive edges.

    Parameters
    ----------
    timeline
        The timeline.
    edges
        Times, in seconds from the start of the run.
    """
    return _mean_power_w([_Course(timeline, number) for number in np.unique(timeline["mechanism"])], edges)


def _mean_power_w(courses: "list[_Course]", edges: "Floats") -> "Floats":
    energy_j = np.sum([np.interp(edges, course.edges, course.energy_j) for course in courses], axis=0)
    found: Floats = np.diff(energy_j) / np.diff(edges)
    return found


class _Course:
    """The activity of one mechanism."""

    def __init__(self, timeline: "Timeline", number: int) -> None:
        chosen = timeline["mechanism"] == number
        start_s, end_s = (np.asarray(timeline[name][chosen], dtype=float) for name in ("start_s", "end_s"))
        self.name = f"mechanism {number}"
        self.states = timeline["state"][chosen]
        self.edges: Floats = np.append(start_s, end_s[-1])
        power_w = np.asarray(timeline["power_w"][chosen], dtype=float)
        self.energy_j: Floats = np.append(0.0, np.cumsum((end_s - start_s) * power_w))

    def spans(self) -> list[dict[str, Any]]:
        """Return a row for each span."""
        ends = zip(self.states, self.edges[:-1], self.edges[1:], strict=True)
        return [{"mechanism": self.name, "state": state, "time": start, "end": end} for state, start, end in ends]

    def spent_s(self, edges: "Floats", state: str) -> "Floats":
        """Return the time in a state between consecutive edges."""
        past_s = np.append(0.0, np.cumsum(np.diff(self.edges) * (self.states == state)))
        return np.diff(np.interp(edges, self.edges, past_s))


def _shares(courses: "list[_Course]", states: list[str], edges: "Floats") -> list[dict[str, Any]]:
    """Return the shares of time in each state over all mechanisms, stacked in each slot."""
    rows = []
    low = np.zeros(len(edges) - 1)
    for state in states:
        spent_s = np.sum([course.spent_s(edges, state) for course in courses], axis=0)
        high = low + spent_s / np.diff(edges) / len(courses)
        rows += [
            {"state": state, "time": edges[i], "end": edges[i + 1], "low": round(low[i], 4), "high": round(high[i], 4)}
            for i in np.flatnonzero(spent_s)
        ]
        low = high
    return rows


def _scaled(rows: list[dict[str, Any]], scale: float) -> list[dict[str, Any]]:
    """Convert times to the unit of the axis, and round values for the chart."""
    for row in rows:
        for key in ("time", "end"):
            if key in row:
                row[key] = float(f"{row[key] * scale:.7g}")
        if "power" in row:
            row["power"] = float(f"{row['power']:.4g}")
    return rows


def _panels(
    bars: list[dict[str, Any]], line: list[dict[str, Any]], states: list[str], domain: tuple[float, float], unit: str
) -> Any:
    alt = altair_library()
    # Both panels have the same time axis, without a margin.
    scale = alt.Scale(domain=list(domain), nice=False)
    colours = state_colours(states)
    words = [state_word(state) for state in states]
    bars = [{**row, "state": state_word(row["state"])} for row in bars]
    shares = "high" in bars[0]
    several = not shares and len({row["mechanism"] for row in bars}) > 1
    if shares:
        share = alt.Y("low:Q", title="Share of time", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))
        where, height = {"y": share, "y2": "high:Q"}, 100
    else:
        axis = alt.Axis() if several else None
        where = {"y": alt.Y("mechanism:N", title=None, sort=None, axis=axis)}
        height = alt.Step(22) if several else 36
    above = (
        alt.Chart(values(bars))
        .mark_bar()
        .encode(
            x=alt.X("time:Q", title=None, scale=scale, axis=alt.Axis(labels=False, ticks=False)),
            x2="end:Q",
            color=alt.Color(
                "state:N",
                title="State",
                sort=words,
                scale=alt.Scale(domain=words, range=[colours[state] for state in states]),
                legend=alt.Legend(orient="right"),
            ),
            tooltip=[
                alt.Tooltip("state:N"),
                alt.Tooltip("time:Q", title=f"from ({unit})", format=".6g"),
                alt.Tooltip("end:Q", title=f"to ({unit})", format=".6g"),
            ],
        )
        .encode(**where)
        .properties(width=WIDTH, height=height)
    )
    below = (
        alt.Chart(values(line))
        .mark_line(interpolate="step-after", strokeWidth=1.3, color="#222")
        .encode(
            x=alt.X("time:Q", title=f"Time ({unit})", scale=scale),
            y=alt.Y("power:Q", title="Power (W)", scale=alt.Scale(zero=True)),
        )
        .properties(width=WIDTH, height=200)
    )
    return alt.vconcat(above, below, spacing=8)


def _subtitle(timeline: "Timeline", mechanisms: int, slot_s: float | None) -> list[str]:
    notes = []
    if slot_s is not None:
        of = f" of {mechanisms} mechanisms" if mechanisms > 1 else ""
        slot = f"{slot_s:.3g} s" if slot_s >= 1 else f"{slot_s * 1e3:.3g} ms"
        notes.append(f"in slots of {slot}: time by state{of}, and mean power")
    elif mechanisms > MOST_BARS:
        notes.append(f"bars of the first {MOST_BARS} of {mechanisms} mechanisms, power of all")
    return [timeline.label, *notes] if timeline.label else notes
