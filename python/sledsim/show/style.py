"""The common style of all charts."""

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from sledsim.show.frames import need
from sledsim.show.pages import notebook_bundle

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import altair
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "COLOURS",
    "HEIGHT",
    "WIDTH",
    "altair_library",
    "apply_style",
    "decade_below",
    "probability_axis",
    "rows_of",
    "state_colours",
    "values",
]

WIDTH = 520
HEIGHT = 300

# Okabe and Ito's palette, distinguishable with colour blindness.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")

#: Colours of states in all charts: active states have colours, idle modes have greys, darker for lower power.
WORK_COLOURS = {
    "data": "#009E73",
    "servo": "#E69F00",
    "seek": "#0072B2",
    "rotation": "#56B4E9",
    "startup": "#D55E00",
}
REST_COLOURS = ("#cfcfcf", "#9c9c9c", "#7c7c7c", "#606060", "#484848", "#303030")

# Labels of a logarithmic axis of probabilities: 0.1, 0.01, 0.001, then 1e-4. More labels than this would overlap.
MOST_LABELS = 8
PROBABILITY_LABELS = "datum.value >= 0.001 ? format(datum.value, '~g') : format(datum.value, '.0e')"


def altair_library() -> Any:
    """Return the Altair module, or raise an error with the command that installs it."""
    return need("altair", "plots")


def state_colours(states: "Iterable[str]") -> dict[str, str]:
    """Return the colour of each state, the same in all charts.

    Parameters
    ----------
    states
        Keys of the summary, or names of idle modes in order of decreasing power.
    """
    rest = iter(REST_COLOURS)
    return {state: WORK_COLOURS.get(state) or next(rest) for state in states}


def decade_below(least: float) -> float:
    """Return the power of ten, at most 0.1, at or below the smallest value of an axis of probabilities.

    Parameters
    ----------
    least
        The smallest value, above 0.
    """
    return 10.0 ** min(math.floor(math.log10(least)), -1)


def probability_axis(alt: Any, channel: Any, field: str, least: float, start: float | None = None) -> Any:
    """Return a logarithmic axis of probabilities of loss, with labels at powers of ten, up to 1.

    Parameters
    ----------
    alt
        The Altair module.
    channel
        ``alt.X`` or ``alt.Y``.
    field
        The field of the data.
    least
        The smallest value, above 0.
    start
        Start of the axis; by default, the power of ten at or below the smallest value.
    """
    low = round(math.log10(decade_below(least)))
    ticks = [10.0**power for power in range(0, low - 1, -math.ceil(-low / MOST_LABELS))]
    scale = alt.Scale(type="log", domain=[decade_below(least) if start is None else start, 1.0], nice=False)
    axis = alt.Axis(values=ticks, labelExpr=PROBABILITY_LABELS)
    return channel(f"{field}:Q", title="Probability of loss", scale=scale, axis=axis)


def rows_of(columns: "Mapping[str, NDArray[np.generic]]", digits: int = 5) -> list[dict[str, Any]]:
    """Convert columns to rows of plain values, rounded for a chart.

    Parameters
    ----------
    columns
        NumPy arrays of the same length.
    digits
        Significant digits of fractions.
    """
    names = list(columns)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [{name: _short(value, digits) for name, value in zip(names, row, strict=True)} for row in rows]


def _short(value: Any, digits: int) -> Any:
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def values(rows: list[dict[str, Any]]) -> Any:
    """Return rows as the data of a chart."""
    return altair_library().InlineData(values=rows)


def apply_style(chart: Any, title: str, subtitle: str | list[str] = "") -> "altair.TopLevelMixin":
    """Give a chart its title, fonts and grid.

    Parameters
    ----------
    chart
        The chart.
    title
        The title.
    subtitle
        The conditions of the results, in one line or several.
    """
    alt = altair_library()
    heading = alt.TitleParams(title, anchor="start", fontSize=15, offset=12)
    if subtitle:
        heading = alt.TitleParams(
            title, subtitle=subtitle, anchor="start", fontSize=15, subtitleFontSize=12, subtitleColor="#555", offset=12
        )
    whole: altair.TopLevelMixin = (
        chart.properties(title=heading, background="white", padding=16)
        .configure_view(stroke="#ccc")
        .configure_axis(labelFontSize=11, titleFontSize=12, gridColor="#e8e8e8", titleFontWeight="normal")
        .configure_legend(labelFontSize=11, titleFontSize=12, titleFontWeight="normal")
    )
    chart_class: Any = type(whole)
    # Altair treats assigned attributes as properties of the chart, hence object.__setattr__.
    object.__setattr__(whole, "__class__", _self_contained(chart_class))
    return whole


@cache
def _self_contained(kind: Any) -> type:
    """Return a subclass of charts that notebooks display without a network, unless an Altair renderer is enabled."""

    def bundle(chart: Any, *args: Any, **options: Any) -> Any:
        if altair_library().renderers.active != "default":
            return kind._repr_mimebundle_(chart, *args, **options)
        return notebook_bundle(chart.to_dict())

    return type(kind.__name__, (kind,), {"_repr_mimebundle_": bundle})
