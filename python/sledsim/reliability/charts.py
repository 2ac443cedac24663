"""Charts of enclosures: survival and loss, MTTF by maintenance, and failures of devices."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sledsim.show.naming import with_count
from sledsim.show.style import COLOURS, HEIGHT, altair_library, apply_style, probability_axis, values

if TYPE_CHECKING:
    import altair

    from sledsim.reliability.curves import Curve, SurvivalCurves
    from sledsim.reliability.failures import FailureCounts
    from sledsim.reliability.maintenance import MttfByMaintenance

__all__ = ["failure_lines", "maintenance_lines", "shades", "survival_lines"]

PANEL_WIDTH = 360
#: From light to dark, distinguishable with colour blindness and in print (viridis without its yellow end).
SHADES = ("#7ad151", "#22a884", "#2a788e", "#414487", "#440154")
DISK_COLOUR, DISK_DASHES = "#777777", ([6, 3], [2, 2])
#: The logarithmic axis covers the probabilities of loss from this share of the time axis on.
SHOWN_FROM = 0.1


def shades(count: int) -> list[str]:
    """Return a number of colours from light to dark.

    Parameters
    ----------
    count
        At least 1.
    """
    places = [i * (len(SHADES) - 1) / max(count - 1, 1) for i in range(count)]
    return [_mix_colours(SHADES[math.floor(place)], SHADES[math.ceil(place)], place % 1) for place in places]


def _mix_colours(one: str, other: str, share: float) -> str:
    parts = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in (one, other)]
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(*parts, strict=True))


def survival_lines(found: "SurvivalCurves") -> "altair.TopLevelMixin":
    """Draw survival over time, and beside it loss on a logarithmic axis.

    Parameters
    ----------
    found
        The curves.
    """
    alt = altair_library()
    curves = found.curves
    rows = [
        {"name": curve.name, "years": _short(years), "survival": _short(1 - loss, 8), "loss": _short(loss)}
        for curve in curves
        for years, loss in zip(curve.years, curve.loss, strict=True)
    ]
    tooltip = [
        alt.Tooltip("name:N", title="of"),
        alt.Tooltip("years:Q", title="Time (years)"),
        alt.Tooltip("survival:Q", title="Survival"),
        alt.Tooltip("loss:Q", title="Loss"),
    ]
    end = max(curve.years[-1] for curve in curves)
    base = (
        alt.Chart(values(rows))
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=_time_axis(alt, end),
            tooltip=tooltip,
            **_appearance(alt, curves, found.kind),
        )
    )
    survival = base.encode(
        y=alt.Y("survival:Q", title="Probability to survive", scale=alt.Scale(domain=_upper(curves), nice=False))
    )
    loss = base.transform_filter("datum.loss > 0").encode(y=_loss_axis(alt, curves, end))
    panels = [panel.properties(width=PANEL_WIDTH, height=HEIGHT) for panel in (survival, loss)]
    return apply_style(alt.hconcat(*panels, spacing=24), found.title, found.subtitle)


def _appearance(alt: Any, curves: Sequence["Curve"], kind: str) -> dict[str, Any]:
    """Return encodings of colour and dashes: shades for numbers of spares, else colours; grey dashes for disks."""
    names = [curve.name for curve in curves]
    own = sum(not curve.is_disk for curve in curves)
    colours = iter(shades(own) if kind == "spares" else [COLOURS[i % len(COLOURS)] for i in range(own)])
    dashes = iter(DISK_DASHES * len(curves))
    ranges = [(DISK_COLOUR, next(dashes)) if curve.is_disk else (next(colours), [1, 0]) for curve in curves]
    legend = alt.Legend(title=kind, orient="right", labelLimit=240, symbolStrokeWidth=2)
    if kind == "spares":
        legend = alt.Legend(title=None, orient="right", labelLimit=240, symbolStrokeWidth=2)
    return {
        "color": alt.Color(
            "name:N", sort=None, legend=legend, scale=alt.Scale(domain=names, range=[colour for colour, _ in ranges])
        ),
        "strokeDash": alt.StrokeDash(
            "name:N", sort=None, legend=legend, scale=alt.Scale(domain=names, range=[dash for _, dash in ranges])
        ),
    }


def _time_axis(alt: Any, end: float) -> Any:
    scale = alt.Scale(domain=[0, end], nice=False)
    return alt.X("years:Q", title="Time (years)", scale=scale, axis=alt.Axis(format=",.6~g"))


def _upper(curves: Sequence["Curve"]) -> list[float]:
    """Return the limits of the survival axis: from a round value below the lowest survival to 1."""
    least = min(1 - curve.loss[-1] for curve in curves)
    floor = next(each for each in (0.95, 0.9, 0.8, 0.6, 0.4, 0.2, 0.0) if each <= least or not each)
    return [floor, 1.0]


def _loss_axis(alt: Any, curves: Sequence["Curve"], end: float) -> Any:
    """Return a logarithmic axis that starts at the lowest probability of loss after a tenth of the time."""
    shown = [
        loss
        for curve in curves
        for years, loss in zip(curve.years, curve.loss, strict=True)
        if loss > 0 and years >= SHOWN_FROM * end
    ]
    return probability_axis(alt, alt.Y, "loss", min(shown, default=0.1))


def maintenance_lines(found: "MttfByMaintenance") -> "altair.TopLevelMixin":
    """Draw the MTTF against the mean time to a repair, for several numbers of spares and both strategies.

    Parameters
    ----------
    found
        The MTTFs.
    """
    alt = altair_library()
    repaired = [row for row in found.rows if row["repair_h"]]
    counts = sorted({row["spares"] for row in repaired})
    labels = {count: with_count(count, "spare") for count in counts}
    rows = [
        {
            "spares": labels[row["spares"]],
            "days": _short(row["repair_h"] / 24),
            "label": row["repair"],
            "mttf": _short(row["mttf_years"]),
            "strategy": row["strategy"],
        }
        for row in repaired
    ]
    x, y = _repair_axis(alt, repaired), _years_axis(alt, [row["mttf"] for row in rows])
    colour = alt.Color(
        "spares:N",
        sort=None,
        legend=alt.Legend(title=None, symbolStrokeWidth=2),
        scale=alt.Scale(domain=[labels[each] for each in counts], range=shades(len(counts))),
    )
    tooltip = [
        alt.Tooltip("strategy:N", title="repair"),
        alt.Tooltip("spares:N", title="spares"),
        alt.Tooltip("label:N", title="takes"),
        alt.Tooltip("mttf:Q", title="MTTF (years)"),
    ]
    panels = []
    for strategy in dict.fromkeys(row["strategy"] for row in rows):
        chosen = [row for row in rows if row["strategy"] == strategy]
        lines = (
            alt.Chart(values(chosen))
            .mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=36))
            .encode(x=x, y=y, color=colour, tooltip=tooltip)
        )
        heading = alt.TitleParams(f"{strategy} repair".capitalize(), anchor="middle", fontSize=12, fontWeight="normal")
        panels.append(lines.properties(width=PANEL_WIDTH, height=HEIGHT, title=heading))
    return apply_style(alt.hconcat(*panels, spacing=24), found.title, found.subtitle)


def _repair_axis(alt: Any, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return a logarithmic axis of days, with a tick at each computed time, labelled in the unit it was given in."""
    labels = {_short(row["repair_h"] / 24): row["repair"] for row in rows}
    days = sorted(labels)
    names = "{" + ", ".join(f"'{day:.10g}': '{labels[day]}'" for day in days) + "}"
    axis = alt.Axis(values=days, labelExpr=f"{names}[datum.value]", labelAngle=-30)
    scale = alt.Scale(type="log", domain=[days[0] * 0.85, days[-1] * 1.2], nice=False)
    return alt.X("days:Q", title="Mean time to a repair", axis=axis, scale=scale)


def _years_axis(alt: Any, found: Sequence[float]) -> Any:
    """Return a logarithmic axis of years with a tick at every power of ten."""
    low, high = math.floor(math.log10(min(found))), math.ceil(math.log10(max(found)))
    step = math.ceil((high - low) / 8) or 1
    ticks = [10.0**power for power in range(low, high + 1, step)]
    scale = alt.Scale(type="log", domain=[10.0**low, 10.0 ** max(high, low + 1)], nice=False)
    return alt.Y("mttf:Q", title="MTTF (years)", scale=scale, axis=alt.Axis(values=ticks, format="~s"))


def failure_lines(found: "FailureCounts") -> "altair.TopLevelMixin":
    """Draw the probability of at most k device failures over time, for several k.

    Parameters
    ----------
    found
        The probabilities.
    """
    alt = altair_library()
    counts = sorted({row["failures"] for row in found.rows})
    labels = {count: "no failure" if not count else f"up to {count}" for count in counts}
    rows = [
        {
            "failures": labels[row["failures"]],
            "years": _short(row["years"]),
            "probability": _short(row["probability"], 6),
        }
        for row in found.rows
    ]
    end = max(row["years"] for row in found.rows)
    colour = alt.Color(
        "failures:N",
        sort=None,
        legend=alt.Legend(title="failures", symbolStrokeWidth=2),
        scale=alt.Scale(domain=[labels[each] for each in counts], range=shades(len(counts))),
    )
    lines = (
        alt.Chart(values(rows))
        .mark_line(strokeWidth=2)
        .encode(
            x=_time_axis(alt, end),
            y=alt.Y("probability:Q", title="Probability of no more failures", scale=alt.Scale(domain=[0, 1])),
            color=colour,
            tooltip=[
                alt.Tooltip("failures:N", title="failures"),
                alt.Tooltip("years:Q", title="Time (years)"),
                alt.Tooltip("probability:Q", title="Probability"),
            ],
        )
        .properties(width=PANEL_WIDTH + 120, height=HEIGHT)
    )
    return apply_style(alt.layer(lines), found.title, found.subtitle)


def _short(value: float, digits: int = 5) -> float:
    return float(f"{value:.{digits}g}")
