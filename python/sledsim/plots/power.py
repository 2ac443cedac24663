"""Pictures of what saves power: runs side by side, and break-even times."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sledsim._core import SledsimError
from sledsim.phases import states_of
from sledsim.plots.style import COLOURS, HEIGHT, WIDTH, altair_library, styled, values
from sledsim.tables import number

if TYPE_CHECKING:
    import altair

    from sledsim.break_even import BreakEven
    from sledsim.power import PowerComparison

__all__ = ["break_even_lines", "power_bars"]

#: States from the left of a bar, what serves requests first; each has the same colour in every picture.
STATE_COLOURS = {
    "data": COLOURS[0],
    "servo": COLOURS[5],
    "seek": COLOURS[2],
    "rotation": COLOURS[3],
    "startup": COLOURS[1],
    "idle": COLOURS[4],
    "inactive": "#c8c8c8",
}
BAR_STEP = 38
ENERGY_WIDTH, SIDE_WIDTH = 400, 190
#: Lengths at which the energy of an idle period is drawn, and how far beyond the break-even times they reach.
POINTS, REACH = 121, 10.0


def power_bars(comparison: "PowerComparison") -> "altair.TopLevelMixin":
    """Draw the energy of runs by state, their mean response times and their throughput.

    Parameters
    ----------
    comparison
        The runs.
    """
    alt = altair_library()
    rows = comparison.rows()
    energy = _energy_panel(alt, comparison, rows)
    response = _side_panel(alt, rows, "response_mean_ms", "response_ratio", "Mean response (ms)")
    throughput = _side_panel(alt, rows, "throughput_per_s", "throughput_ratio", "Throughput (requests/s)")
    chart = alt.hconcat(energy, response, throughput, spacing=22).resolve_scale(color="independent")
    title = "Spin-down policies" if comparison.policies else "Power strategies, alone and together"
    return styled(chart, title, f"{comparison.subject}; × and % against the first")


def _energy_panel(alt: Any, comparison: "PowerComparison", rows: Sequence[Mapping[str, Any]]) -> Any:
    order = {key: place for place, key in enumerate(STATE_COLOURS)}
    labels: dict[str, str] = {}
    data = []
    for name, result in comparison.results.items():
        for part in states_of(result.summary):
            labels[part.key] = part.label
            joules = result["energy"][f"{part.key}_j"]
            data.append({"run": name, "state": part.label, "order": order[part.key], "value": joules})
    shown = sorted(labels, key=order.__getitem__)
    colour = alt.Color(
        "state:N",
        sort=None,
        scale=alt.Scale(domain=[labels[key] for key in shown], range=[STATE_COLOURS[key] for key in shown]),
        legend=alt.Legend(title=None, orient="bottom", columns=len(shown), symbolType="square"),
    )
    most = max(row["total_j"] for row in rows)
    x = alt.X("value:Q", title="Energy (J)", stack="zero", scale=_scale(alt, most), axis=_few(alt, 7, most))
    y = alt.Y("run:N", title=None, sort=None, axis=alt.Axis(labelLimit=160, labelFontSize=12))
    tooltip = [
        alt.Tooltip("run:N", title="run"),
        alt.Tooltip("state:N", title="state"),
        alt.Tooltip("value:Q", title="Energy (J)", format=".5g"),
    ]
    bars = (
        alt.Chart(values(data))
        .mark_bar(size=22)
        .encode(x=x, y=y, color=colour, order=alt.Order("order:Q"), tooltip=tooltip)
    )
    texts = [{"run": row["name"], "value": row["total_j"], "label": _saving(row)} for row in rows]
    ends = alt.Chart(values(texts)).mark_text(align="left", dx=5, fontSize=11)
    ends = ends.encode(x=alt.X("value:Q"), y=alt.Y("run:N", sort=None), text="label:N")
    return (bars + ends).properties(width=ENERGY_WIDTH, height=alt.Step(BAR_STEP))


def _side_panel(alt: Any, rows: Sequence[Mapping[str, Any]], key: str, ratio: str, title: str) -> Any:
    data = [{"run": row["name"], "value": row[key] or 0.0, "label": _with_ratio(row[key], row[ratio])} for row in rows]
    most = max(row["value"] for row in data)
    base = alt.Chart(values(data)).encode(
        x=alt.X("value:Q", title=title, scale=_scale(alt, most, room=1.9), axis=_few(alt, 4, most)),
        # The runs are named once, at the left.
        y=alt.Y("run:N", title=None, sort=None, axis=alt.Axis(labels=False, ticks=False)),
        tooltip=[alt.Tooltip("run:N", title="run"), alt.Tooltip("value:Q", title=title, format=".5g")],
    )
    labels = base.mark_text(align="left", dx=5, fontSize=11).encode(text="label:N")
    bars = base.mark_bar(size=22, color="#8a8a8a")
    return (bars + labels).properties(width=SIDE_WIDTH, height=alt.Step(BAR_STEP))


def _few(alt: Any, ticks: int, most: float) -> Any:
    """Return an axis of few ticks, whose labels are short enough not to touch."""
    # From 10,000 on 10k, 1.2M.
    return alt.Axis(tickCount=ticks, format="~s") if most >= 1e4 else alt.Axis(tickCount=ticks)


def _scale(alt: Any, most: float, room: float = 1.32) -> Any:
    """Return a scale that leaves room for the labels behind the bars."""
    return alt.Scale(domain=[0, room * most if most else 1.0], nice=False)


def _saving(row: Mapping[str, Any]) -> str:
    text = f"{number(row['total_j'])} J"
    if not row["complete"]:
        return f"{text} (incomplete)"
    share = row["saved_share"]
    if share is None:
        return text
    percent = round(-100 * share, 1)
    return f"{text} ({percent:+.1f} %)".replace("-", "−") if percent else f"{text} (±0 %)"


def _with_ratio(value: float | None, ratio: float | None) -> str:
    if value is None:
        return "–"
    text = number(value)
    return text if ratio is None else f"{text} (×{number(ratio, 3)})"


def break_even_lines(found: "BreakEven") -> "altair.TopLevelMixin":
    """Draw the energy of an idle period in each mode against its length, the return included.

    Parameters
    ----------
    found
        The break-even times.
    """
    alt = altair_library()
    modes = found.modes
    times = [mode["idle_s"] for mode in modes if mode["idle_s"]]
    if not times:
        raise SledsimError(
            f"there is nothing to draw: {found.device} has no idle mode that pays for its return after a while"
        )
    start, end = min(times) / REACH, max(times) * REACH
    lengths = [start * (end / start) ** (i / (POINTS - 1)) for i in range(POINTS)]
    # Units that keep numbers short: a sled's are a thousandth of a disk's.
    small = max(times) < 1
    time, energy, size = ("ms", "mJ", 1e-3) if small else ("s", "J", 1.0)
    rows = [
        {"mode": mode["mode"], "length": _short(length / size), "energy": _short(spent / size)}
        for mode in modes
        for length in lengths
        if (spent := mode["wake_j"] + mode["power_w"] * length) > 0
    ]
    x = _decades(alt, alt.X, "length", f"Idle time ({time})", rows)
    y = _decades(alt, alt.Y, "energy", f"Energy, return included ({energy})", rows)
    colour = alt.Color("mode:N", sort=None, scale=alt.Scale(range=list(COLOURS)), legend=alt.Legend(title="idle mode"))
    tooltip = [
        alt.Tooltip("mode:N", title="idle mode"),
        alt.Tooltip("length:Q", title=f"Idle time ({time})"),
        alt.Tooltip("energy:Q", title=f"Energy ({energy})"),
    ]
    lines = alt.Chart(values(rows)).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, tooltip=tooltip)
    marks = [
        {"length": _short(mode["idle_s"] / size), "label": f"{mode['idle_s'] / size:.3g} {time}"}
        for mode in modes
        if mode["idle_s"]
    ]
    rules = alt.Chart(values(marks)).mark_rule(strokeDash=[4, 3], color="#777").encode(x="length:Q")
    # Labels at different heights, as break-even times may lie close together.
    texts = [
        alt.Chart(values([mark]))
        .mark_text(align="left", dx=4, y=12 + 15 * place, fontSize=11, color="#444")
        .encode(x="length:Q", text="label:N")
        for place, mark in enumerate(marks)
    ]
    chart = alt.layer(lines, rules, *texts).properties(width=WIDTH, height=HEIGHT)
    tips = found.cases[0]["idle_tips"]
    title = f"Break-even of {found.device}" + (f", {tips:,} tips on while idle" if tips else "")
    return styled(chart, title, "Dashed: where a lower mode takes as much as staying ready")


def _decades(alt: Any, channel: Any, field: str, title: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return a logarithmic axis that fits its values, with a tick at every power of ten."""
    found = [row[field] for row in rows]
    low, high = min(found), max(found)
    ticks = [10.0**power for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    return channel(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(values=ticks, format="~g"))


def _short(value: float) -> float:
    return float(f"{value:.5g}")
