"""Saving of charts to files."""

from pathlib import Path
from typing import TYPE_CHECKING

from sledsim._core import SledsimError
from sledsim.show.arguments import require_path
from sledsim.show.converting import converted
from sledsim.show.faults import make_error, unknown_kind
from sledsim.show.files import atomic_write
from sledsim.show.frames import need
from sledsim.show.pages import chart_page, vega_lite_version

if TYPE_CHECKING:
    import altair

__all__ = ["SUFFIXES", "require_libraries", "save"]

SUFFIXES = (".html", ".png", ".svg", ".json")
#: Dots per inch of a PNG.
PPI = 144


def require_libraries(path: Path) -> None:
    """Raise if a library needed to save a chart is missing; called before a run.

    Parameters
    ----------
    path
        The file of the chart.
    """
    need("altair", "plots")
    kind = path.suffix.lower()
    if kind == ".html":
        need("jinja2", "plots")
    if kind != ".json":
        need("vl_convert", "plots")


def save(chart: "altair.TopLevelMixin", path: str | Path) -> None:
    """Save a chart to a file; its suffix selects the format.

    Parameters
    ----------
    chart
        The chart.
    path
        The file, with suffix ``.html`` (self-contained, interactive), ``.png``, ``.svg`` or ``.json`` (Vega-Lite).
    """
    target = require_path(SledsimError, "path", path)
    kind = target.suffix.lower()
    if kind not in SUFFIXES:
        raise unknown_kind(SledsimError, target, SUFFIXES, "picture")
    require_libraries(target)
    try:
        with atomic_write(target) as unfinished:
            if kind == ".html":
                unfinished.write_text(chart_page(chart), encoding="utf-8")
            elif kind == ".json":
                chart.save(str(unfinished), format="json")
            else:
                options = {"vl_version": vega_lite_version()} | ({"ppi": PPI} if kind == ".png" else {})
                unfinished.write_bytes(converted(f"vegalite_to_{kind[1:]}", chart.to_dict(), **options))
    except OSError as error:
        raise make_error(SledsimError, "unreadable", f"cannot be written: {error.strerror}", file=target) from None
