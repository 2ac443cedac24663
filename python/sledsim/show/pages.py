"""Charts in pages: what a browser draws from disk, and a notebook shows, without a network."""

import json
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from sledsim.show.converting import converted_text
from sledsim.show.frames import need

if TYPE_CHECKING:
    import altair

__all__ = ["chart_page", "chart_text", "notebook_bundle", "title_of", "vega_library", "vega_lite_version"]

#: Digits of a chart's name in a page: of what it holds, so that two charts have two names.
NAME_DIGITS = 12


@cache
def vega_library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed, which draw charts in a browser, as one text of JavaScript."""
    text = converted_text("javascript_bundle", vl_version=vega_lite_version())
    # Its own names would clash with those of other scripts of a page; what it offers it gives to the window.
    return f"(() => {{\n{text}\n}})();\n"


def vega_lite_version() -> str:
    """Return the version of Vega-Lite that Altair writes, as the converter names it: ``v6_4``."""
    return "_".join(need("altair", "plots").SCHEMA_VERSION.split(".")[:2])


def chart_text(name: str) -> str:
    """Return what every page with charts holds: ``chart.css``, or ``draw.js``, which fits them to the page.

    Parameters
    ----------
    name
        Which of both.
    """
    return (files("sledsim.show") / "templates" / name).read_text(encoding="utf-8")


def title_of(definition: dict[str, Any]) -> tuple[str, list[str]]:
    """Return a chart's title and the lines of its subtitle.

    Parameters
    ----------
    definition
        The chart as Vega-Lite.
    """
    told = definition.get("title", "")
    if not isinstance(told, dict):
        return _joined(told), []
    below = told.get("subtitle", [])
    return _joined(told.get("text", "")), [below] if isinstance(below, str) else list(below)


def chart_page(chart: "altair.TopLevelMixin") -> str:
    """Return a page that shows a chart as wide as the window, in the reader's light or dark, from disk alone.

    Parameters
    ----------
    chart
        The chart.
    """
    definition = chart.to_dict()
    title, subtitle = title_of(definition)
    definition.pop("title", None)
    definition["config"] = {**definition.get("config", {}), "mark": {"tooltip": True}}
    heading = "".join(f"<p>{escape(line)}</p>" for line in subtitle)
    parts = {
        "TITLE": escape(title or "Chart"),
        "HEADING": f'<h1>{escape(title)}</h1><div class="chart-title">{heading}</div>' if title else "",
        "CHART": chart_text("chart.css"),
        "DRAW": chart_text("draw.js"),
        "DEFINITION": _json(definition),
        "LIBRARY": vega_library(),
    }
    page = chart_text("chart.html")
    # The library comes last: nothing is looked for in it.
    for name, text in parts.items():
        page = page.replace(f"@{name}@", text)
    return page


def notebook_bundle(definition: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Return what a notebook shows of a chart: a picture, and the definition for pages that draw it themselves.

    Parameters
    ----------
    definition
        The chart as Vega-Lite.
    """
    picture = converted_text("vegalite_to_svg", definition, vl_version=vega_lite_version())
    text = _json(definition)
    name = f"chart-{sha256(text.encode()).hexdigest()[:NAME_DIGITS]}"
    source = b64encode(picture.encode()).decode()
    title = escape(title_of(definition)[0] or "Chart", quote=True)
    shown = f'<img alt="{title}" style="max-width:100%" src="data:image/svg+xml;base64,{source}">'
    held = f'<script type="application/json" id="{name}">{text}</script>'
    return {"text/html": f'<div class="chart" data-definition="{name}">{shown}</div>{held}', "text/plain": f"<{title}>"}


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else " ".join(text)


def _json(definition: dict[str, Any]) -> str:
    """Write a definition for a script element, which nothing in it ends."""
    return json.dumps(definition).replace("<", "\\u003c")
