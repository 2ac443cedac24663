"""What every chart has in common."""

from typing import TYPE_CHECKING, Any

from sledsim.frames import need

if TYPE_CHECKING:
    from collections.abc import Mapping

    import altair
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["COLOURS", "HEIGHT", "WIDTH", "altair_library", "rows_of", "styled", "values"]

WIDTH = 520
HEIGHT = 300

# Okabe and Ito's palette: told apart by every eye.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")


def altair_library() -> Any:
    """Return the Altair module, or say how to get it."""
    return need("altair", "plots")


def rows_of(columns: "Mapping[str, NDArray[np.generic]]", digits: int = 5) -> list[dict[str, Any]]:
    """Turn columns into rows of plain values, with no more digits than a picture shows.

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


def styled(chart: Any, title: str, subtitle: str | list[str] = "") -> "altair.TopLevelMixin":
    """Give a chart its title, fonts and grid.

    Parameters
    ----------
    chart
        The chart.
    title
        What it shows.
    subtitle
        Under which circumstances, in one line or several.
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
    return whole
