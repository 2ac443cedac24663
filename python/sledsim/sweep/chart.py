"""Charts of sweeps."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sledsim._core import SledsimError
from sledsim.show.faults import make_error
from sledsim.show.style import COLOURS, HEIGHT, WIDTH, altair_library, apply_style, values
from sledsim.sweep.result_set import Results, common_values, metric_label, require_axis

if TYPE_CHECKING:
    import altair

__all__ = ["sweep_chart"]

#: Panels in a row, and their size relative to a single chart.
COLUMNS, PANEL_SHARE = 3, 0.55

#: Maximum number of values with distinct colours; more values get a continuous colour scheme.
MOST_COLOURS = len(COLOURS)

#: An axis is logarithmic if the ratios of consecutive values exceed this and are similar.
LOG_RATIO = 1.5


def sweep_chart(
    results: Results,
    metric: str,
    *,
    x: str | None = None,
    colour: str | None = None,
    facet: str | None = None,
    log_scale: bool = False,
) -> "altair.TopLevelMixin":
    """Draw a metric of a sweep over an axis, with a band for the 95 % confidence interval over replications.

    Parameters
    ----------
    results
        The sweep.
    metric
        Path of the metric in the summary.
    x
        The horizontal axis; by default, the first numeric one.
    colour
        The axis shown by colours; by default, the next one.
    facet
        The axis with a panel for each value; by default, the next one.
    log_scale
        True for a logarithmic axis of the metric.
    """
    x, colour, facet = _roles(results, x, colour, facet)
    rows = _rows(results, metric, x, colour, facet)
    if not rows:
        message = f"no run of {results.definition.sweep} has {metric}"
        raise make_error(SledsimError, "missing", message, path="metric", value=metric, file=results.store.path)
    alt = altair_library()
    numeric = x is not None and results.is_numeric(x)
    # Points of a sample differ in all axes, so that a line between them has no meaning.
    joined = numeric and not any(
        _follows(results, name, [x]) for name in _varied_parameters(results) if x not in (None, name)
    )
    encoded = {
        "x": _x_axis(alt, results, x, rows, numeric=numeric),
        "y": _y_axis(alt, metric, rows, log_scale=log_scale),
    }
    if colour is not None:
        order = list(dict.fromkeys(row["colour"] for row in rows))
        scale = {"domain": order, "range": list(COLOURS)} if len(order) <= MOST_COLOURS else {"scheme": "viridis"}
        encoded["color"] = alt.Color(
            "colour:N", title=_short(colour), sort=order, scale=alt.Scale(**scale), legend=alt.Legend(symbolOpacity=1)
        )
    base = alt.Chart(values(rows)).encode(**encoded)
    layers = [base.mark_point(filled=True, size=40, opacity=1).encode(tooltip=_tooltip(alt, metric, x, colour))]
    if joined:
        layers.insert(0, base.mark_line(strokeWidth=1.5))
    if any(row["low"] is not None for row in rows):
        band = base.mark_area(opacity=0.2) if joined else base.mark_rule(strokeWidth=1.5)
        layers.insert(0, band.encode(y=alt.Y("low:Q", title=metric_label(metric)), y2="high:Q"))
    share = 1.0 if facet is None else PANEL_SHARE
    chart = alt.layer(*layers).properties(width=share * WIDTH, height=share * HEIGHT)
    if facet is not None:
        order = list(dict.fromkeys(row["facet"] for row in rows))
        chart = chart.facet(facet=alt.Facet("facet:N", title=_short(facet), sort=order), columns=COLUMNS)
    return apply_style(chart, f"{_capital(metric_label(metric))}", _subtitle(results, rows))


def _roles(
    results: Results, x: str | None, colour: str | None, facet: str | None
) -> tuple[str | None, str | None, str | None]:
    """Choose the horizontal axis (the first numeric one), the axis of colours and the axis of panels."""
    for name, given in (("x", x), ("colour", colour), ("facet", facet)):
        if given is not None:
            require_axis(results.parameters, given, name)
    free = [name for name in _varied_parameters(results) if name not in (x, colour, facet)]
    if x is None and (free or results.parameters):
        x = next((name for name in free if results.is_numeric(name)), (free or results.parameters)[0])
        free = [name for name in free if name != x]
    # An axis determined by a drawn one needs no separate dimension.
    free = [name for name in free if not _follows(results, name, [x, colour, facet])]
    if colour is None and free:
        colour = free.pop(0)
        free = [name for name in free if not _follows(results, name, [x, colour, facet])]
    if facet is None and free:
        facet = free.pop(0)
    if free:
        message = (
            f"a chart shows at most three axes; {', '.join(free)} would overlap: choose a sweep with fewer axes, or "
            "export it"
        )
        raise make_error(SledsimError, "unsupported", message, value=free)
    return x, colour, facet


def _varied_parameters(results: Results) -> list[str]:
    """Return the axes with more than one value."""
    return [name for name in results.parameters if len({values.get(name) for values in results.points.values()}) > 1]


def _follows(results: Results, name: str, others: Sequence[str | None]) -> bool:
    """Return true if the values of other axes determine the value of an axis."""
    drawn = [other for other in others if other is not None]
    seen: dict[tuple[str, ...], str] = {}
    places = ((common_values(values, drawn), values.get(name, "")) for values in results.points.values())
    return all(seen.setdefault(place, value) == value for place, value in places)


def _rows(results: Results, metric: str, x: str | None, colour: str | None, facet: str | None) -> list[dict[str, Any]]:
    rows = []
    is_numeric = x is not None and results.is_numeric(x)
    for point, found in sorted(results.estimates(metric).items()):
        axis_values = results.points[point]
        place = axis_values[x] if x else results.definition.sweep
        number = results.number(x, place) if x and is_numeric else None
        row: dict[str, Any] = {"x": place if number is None else number, "mean": found.mean, "runs": found.count}
        row |= {"low": found.low, "high": found.high}
        row |= {role: axis_values[name] for role, name in (("colour", colour), ("facet", facet)) if name}
        rows.append(row)
    return rows


def _x_axis(alt: Any, results: Results, x: str | None, rows: list[dict[str, Any]], *, numeric: bool) -> Any:
    if x is None:
        return alt.X("x:N", title=None)
    if not numeric:
        return alt.X(
            "x:N", title=_short(x), sort=list(dict.fromkeys(row["x"] for row in rows)), axis=alt.Axis(labelAngle=0)
        )
    places = sorted({row["x"] for row in rows})
    # Geometric values, such as those of a log range, would crowd at the left of a linear axis.
    ratios = [after / before for before, after in pairwise(places)] if places[0] > 0 else []
    grows = len(ratios) > 1 and min(ratios) > LOG_RATIO and max(ratios) < LOG_RATIO * min(ratios)
    scale = alt.Scale(type="log", nice=False) if grows else alt.Scale(zero=False, nice=False, padding=12)
    axis = alt.Axis(values=places, format="~g") if grows else alt.Axis()
    return alt.X("x:Q", title=_short(x), scale=scale, axis=axis)


def _y_axis(alt: Any, metric: str, rows: list[dict[str, Any]], *, log_scale: bool) -> Any:
    if not log_scale:
        return alt.Y("mean:Q", title=metric_label(metric), scale=alt.Scale(zero=False))
    least = min(row["mean"] for row in rows)
    if least <= 0:
        message = f"{metric} has values of {least:g}, which a logarithmic axis cannot show; use a linear one"
        raise make_error(SledsimError, "out-of-range", message, path=metric, value=least, allowed={"above": 0})
    for row in rows:
        # An interval that extends below 0 is cut off at the lower end of the axis.
        row["low"] = row["low"] and max(row["low"], least / 10)
    return alt.Y("mean:Q", title=metric_label(metric), scale=alt.Scale(type="log", nice=False, padding=12))


def _tooltip(alt: Any, metric: str, x: str | None, colour: str | None) -> list[Any]:
    shown = [alt.Tooltip("x:N", title=_short(x))] if x else []
    shown += [alt.Tooltip("colour:N", title=_short(colour))] if colour else []
    shown.append(alt.Tooltip("mean:Q", title=metric_label(metric), format=".5g"))
    shown += [alt.Tooltip(f"{end}:Q", title=f"95 % {end}", format=".5g") for end in ("low", "high")]
    return [*shown, alt.Tooltip("runs:Q", title="runs")]


def _subtitle(results: Results, rows: list[dict[str, Any]]) -> str:
    text = f"{results.definition.sweep}: {len(results.keys):,} runs"
    if any(row["low"] is not None for row in rows):
        text += ", 95 % confidence intervals over replications"
    missing = results.definition.runs - len(results.keys)
    return text + (f"; INCOMPLETE, {missing:,} are missing" if missing > 0 else "")


def _short(parameter: str) -> str:
    """Return the label of an axis: its path without the prefix ``system.``."""
    return parameter.removeprefix("system.")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
