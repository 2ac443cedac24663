"""Heat map of the sensitivities of a design."""

from typing import TYPE_CHECKING

from sledsim.show.style import altair_library, apply_style, values
from sledsim.show.tables import number

if TYPE_CHECKING:
    import altair

    from sledsim.studies.sled_design.sensitivity import Sensitivity

__all__ = ["sensitivity_map"]

#: Size of a cell.
CELL_WIDTH, CELL_HEIGHT = 62, 20


def sensitivity_map(found: "Sensitivity") -> "altair.TopLevelMixin":
    """Draw a heat map of the changes of figures (columns) with values of the drawing (rows), in percent.

    Parameters
    ----------
    found
        The sensitivities.
    """
    alt = altair_library()
    rows = [
        {**row, "figure": found.labels[row["figure"]], "percent": float(f"{row['percent']:.3g}")}
        for row in found.rows()
    ]
    most = max(abs(row["percent"]) for row in rows)
    x = alt.X("figure:N", sort=[*found.labels.values()], title=None, axis=alt.Axis(orient="top", labelAngle=-40))
    y = alt.Y("value:N", sort=[*found.moves], title=None)
    scale = alt.Scale(scheme="redblue", domain=[-most, most], reverse=True)
    cells = alt.Chart(values(rows)).encode(x=x, y=y)
    shaded = cells.mark_rect().encode(
        color=alt.Color("percent:Q", scale=scale, title="%"),
        tooltip=["value:N", "figure:N", alt.Tooltip("percent:Q", title="moves by (%)")],
    )
    light = alt.condition(f"abs(datum.percent) > {0.6 * most}", alt.value("white"), alt.value("black"))
    labels = cells.mark_text(fontSize=10).encode(text=alt.Text("percent:Q", format="+.2~f"), color=light)
    down = len({row["value"] for row in rows})
    chart = alt.layer(shaded, labels).properties(width=CELL_WIDTH * len(found.labels), height=CELL_HEIGHT * down)
    subtitle = f"change of each figure, in %, when a value is {number(100 * found.step)} % larger"
    return apply_style(chart, f"Sensitivities of {found.name}", [subtitle])
