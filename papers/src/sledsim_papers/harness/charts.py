"""Charts with the axes of a paper's figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sledsim.show import COLOURS, altair_library, apply_style, values

if TYPE_CHECKING:
    import altair

__all__ = ["Axis", "beside", "lines", "stated"]

#: Size of one panel.
WIDTH, HEIGHT = 360, 270
#: How the lines of a panel differ beside their colours, for prints in black and white.
DASHES = ([1, 0], [7, 3], [3, 2], [8, 3, 2, 3], [2, 4], [10, 2])


@dataclass(frozen=True)
class Axis:
    """An axis of a chart.

    Parameters
    ----------
    field
        Key of the rows.
    title
        With the unit.
    low, high
        Ends of the axis; those of the data if not given. Points beyond are cut off.
    log
        True for a logarithmic axis.
    """

    field: str
    title: str
    low: float | None = None
    high: float | None = None
    log: bool = False

    def channel(self, kind: Any) -> Any:
        """Return the axis as a channel of kind ``altair.X`` or ``altair.Y``."""
        alt = altair_library()
        given: dict[str, Any] = {"type": "log"} if self.log else {"zero": self.low is None or self.low == 0}
        if self.low is not None:
            given["domainMin"] = self.low
        if self.high is not None:
            given["domainMax"] = self.high
        plain = alt.Axis(format="~g", labelOverlap="greedy", labelSeparation=6) if self.log else alt.Axis()
        scale = alt.Scale(nice=self.high is None, **given)
        return kind(f"{self.field}:Q", title=self.title, scale=scale, axis=plain)


def lines(
    rows: Sequence[Mapping[str, Any]],
    x: Axis,
    y: Axis,
    series: str | None = None,
    *,
    title: str = "",
    points: bool = True,
    legend: str = "",
) -> Any:
    """Draw one panel of lines.

    Parameters
    ----------
    rows
        The data, in the order of the lines.
    x, y
        The axes.
    series
        Key of the rows that names the line.
    title
        Title of the panel, such as ``(a) mean response``.
    points
        True to mark the points.
    legend
        Title of the legend.
    """
    alt = altair_library()
    wanted = [x.field, y.field, *([series] if series else [])]
    data = values([{key: _short(row[key]) for key in wanted} for row in rows])
    own = {} if series else {"color": COLOURS[0]}
    marked = alt.OverlayMarkDef(size=28, filled=True, **own) if points else False
    chart = alt.Chart(data).mark_line(strokeWidth=2, point=marked, clip=True, **own)
    chart = chart.encode(x=x.channel(alt.X), y=y.channel(alt.Y), order=alt.Order(f"{x.field}:Q"))
    if series:
        names = list(dict.fromkeys(row[series] for row in rows))
        below = alt.Legend(
            title=legend or None,
            orient="bottom",
            direction="horizontal",
            columns=4,
            symbolType="stroke",
            symbolSize=400,
            symbolStrokeWidth=2,
        )
        colour = alt.Scale(domain=names, range=list(COLOURS[: len(names)]))
        dash = alt.Scale(domain=names, range=list(DASHES[: len(names)]))
        chart = chart.encode(
            color=alt.Color(f"{series}:N", title=legend or None, scale=colour, legend=below),
            strokeDash=alt.StrokeDash(f"{series}:N", title=legend or None, scale=dash, legend=below),
        )
    # A plain text would become the title of the whole chart when panels are concatenated.
    return chart.properties(width=WIDTH, height=HEIGHT, **({"title": alt.TitleParams(title)} if title else {}))


def stated(rows: Sequence[Mapping[str, Any]], x: str, y: str, *, mark: str = "point") -> Any:
    """Draw the published points, as a layer for a panel with the same axes.

    Parameters
    ----------
    rows
        The points: ``x``, ``y``, and in ``where`` the place in the paper.
    x, y
        Keys of the rows, with Altair's type letter if they are not quantities.
    mark
        ``"point"``, or ``"tick"`` for a mark across a bar.
    """
    alt = altair_library()
    data = values([{**{key: _short(value) for key, value in row.items()}, "of": "published"} for row in rows])
    below = alt.Legend(title=None, orient="bottom")
    shape = alt.Shape("of:N", scale=alt.Scale(domain=["published"], range=["diamond"]), legend=below)
    kind = alt.Chart(data).mark_point(size=120, stroke="black", strokeWidth=1.6, fill="white", opacity=1)
    if mark == "tick":
        kind = alt.Chart(data).mark_point(size=420, stroke="black", strokeWidth=2.2, opacity=1)
        shape = alt.Shape("of:N", scale=alt.Scale(domain=["published"], range=["stroke"]), legend=below)
    horizontal, vertical = (each if ":" in each else f"{each}:Q" for each in (x, y))
    tooltip = [alt.Tooltip("of:N", title="figure"), alt.Tooltip("where:N", title="stated in"), alt.Tooltip(vertical)]
    return kind.encode(x=alt.X(horizontal, sort=None), y=alt.Y(vertical), shape=shape, tooltip=tooltip)


def beside(panels: Sequence[Any], title: str, subtitle: str | list[str] = "") -> "altair.TopLevelMixin":
    """Set panels side by side under one title.

    Parameters
    ----------
    panels
        One or several, such as :func:`lines` draws.
    title
        Title of the chart.
    subtitle
        Subtitle, such as the load.
    """
    alt = altair_library()
    return apply_style(alt.hconcat(*panels, spacing=26), title, subtitle)


def _short(value: Any) -> Any:
    """Return a value rounded to five digits."""
    return float(f"{value:.5g}") if isinstance(value, float) else value
