"""Chart of the energy of idle periods, by mode."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sledsim._core import SledsimError
from sledsim.show.faults import make_error
from sledsim.show.style import HEIGHT, WIDTH, altair_library, apply_style, state_colours, values

if TYPE_CHECKING:
    import altair

    from sledsim.devices.break_even import BreakEven

__all__ = ["break_even_lines"]

#: Number of points of a line, and factor by which the time axis extends beyond the break-even times.
POINTS, REACH = 121, 10.0


def break_even_lines(found: "BreakEven") -> "altair.TopLevelMixin":
    """Draw the energy of an idle period, including the return, against its length, for each mode.

    Parameters
    ----------
    found
        The break-even times.
    """
    alt = altair_library()
    modes = found.modes
    times = [mode["idle_s"] for mode in modes if mode["idle_s"]]
    if not times:
        message = f"there is nothing to draw: {found.device} has no idle mode that pays for its return after a while"
        raise make_error(SledsimError, "missing", message, path="device", value=found.device)
    start, end = min(times) / REACH, max(times) * REACH
    lengths = [start * (end / start) ** (i / (POINTS - 1)) for i in range(POINTS)]
    # Sleds need units a thousand times smaller than disks.
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
    # Modes are in order of decreasing power.
    colours = list(state_colours(mode["mode"] for mode in modes).values())
    colour = alt.Color("mode:N", sort=None, scale=alt.Scale(range=colours), legend=alt.Legend(title="idle mode"))
    tooltip = [
        alt.Tooltip("mode:N", title="idle mode"),
        alt.Tooltip("length:Q", title=f"Idle time ({time})"),
        alt.Tooltip("energy:Q", title=f"Energy ({energy})"),
    ]
    lines = alt.Chart(values(rows)).mark_line(strokeWidth=3).encode(x=x, y=y, color=colour, tooltip=tooltip)
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
    return apply_style(chart, title, "Dashed: a lower mode uses as much energy as the ready mode")


def _decades(alt: Any, channel: Any, field: str, title: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return a logarithmic axis that fits its values, with a tick at every power of ten."""
    found = [row[field] for row in rows]
    low, high = min(found), max(found)
    ticks = [10.0**power for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    return channel(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(values=ticks, format="~g"))


def _short(value: float) -> float:
    return float(f"{value:.5g}")
