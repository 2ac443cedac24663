"""Charts as files, and as Vega-Lite definitions for pages."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim.show.converting import converted, converted_text
from sledsim.show.files import write_atomically
from sledsim.show.pages import title_of, vega_library, vega_lite_version
from sledsim.show.saving import PPI

if TYPE_CHECKING:
    import altair

__all__ = ["caption_of", "definition_of", "write_chart", "write_library"]


def write_chart(chart: "altair.TopLevelMixin", stem: Path) -> None:
    """Write a chart as SVG and as PNG.

    Parameters
    ----------
    chart
        The chart.
    stem
        Path of the files without suffix.
    """
    picture = converted_text("vegalite_to_svg", chart.to_dict(), vl_version=vega_lite_version())
    write_atomically(stem.with_suffix(".svg"), picture)
    write_atomically(stem.with_suffix(".png"), converted("svg_to_png", picture, ppi=PPI))


def write_library(path: Path) -> None:
    """Write Vega, Vega-Lite and Vega-Embed, which draw charts in a browser, to one JavaScript file.

    Parameters
    ----------
    path
        The file.
    """
    write_atomically(path, vega_library())


def definition_of(chart: "altair.TopLevelMixin", description: str) -> dict[str, Any]:
    """Return a chart's definition for a page, without title (the page writes it, wrapped) and with tooltips.

    Parameters
    ----------
    chart
        The chart.
    description
        Alternative text for screen readers.
    """
    definition: dict[str, Any] = chart.to_dict()
    definition.pop("title", None)
    config = definition.get("config", {})
    marks = {"tooltip": True, **config.get("mark", {})}
    return {**definition, "config": {**config, "mark": marks}, "description": description, "padding": 4}


def caption_of(chart: "altair.TopLevelMixin") -> list[str]:
    """Return the lines of a chart's subtitle, which state the conditions of the results.

    Parameters
    ----------
    chart
        The chart.
    """
    return title_of(chart.to_dict())[1]
