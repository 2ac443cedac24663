"""Charts in HTML pages and notebooks, without a network."""

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
    import jinja2
    import markupsafe

__all__ = [
    "chart_page",
    "chart_text",
    "notebook_bundle",
    "page_environment",
    "title_of",
    "vega_library",
    "vega_lite_version",
]

#: Hexadecimal digits of the hash of a chart's definition in its identifier.
NAME_DIGITS = 12


@cache
def vega_library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed, which draw charts in a browser, as one text of JavaScript."""
    text = converted_text("javascript_bundle", vl_version=vega_lite_version())
    # A function scope, so that its names do not clash with other scripts; its interface is in `window`.
    return f"(() => {{\n{text}\n}})();\n"


def vega_lite_version() -> str:
    """Return the version of Vega-Lite that Altair writes, in the notation of vl-convert: ``v6_4``."""
    return "_".join(need("altair", "plots").SCHEMA_VERSION.split(".")[:2])


def chart_text(name: str) -> str:
    """Return the text of a file that is included in every page with charts.

    Parameters
    ----------
    name
        ``chart.css``, or ``draw.js``, which fits charts to the page.
    """
    return (files("sledsim.show") / "templates" / name).read_text(encoding="utf-8")


def title_of(definition: dict[str, Any]) -> tuple[str, list[str]]:
    """Return a chart's title and the lines of its subtitle.

    Parameters
    ----------
    definition
        The chart as Vega-Lite.
    """
    title = definition.get("title", "")
    if not isinstance(title, dict):
        return _join_lines(title), []
    below = title.get("subtitle", [])
    return _join_lines(title.get("text", "")), [below] if isinstance(below, str) else list(below)


def chart_page(chart: "altair.TopLevelMixin") -> str:
    """Return a self-contained page with a chart as wide as the window, in the light or dark scheme of the reader.

    Parameters
    ----------
    chart
        The chart.
    """
    definition = chart.to_dict()
    title, subtitle = title_of(definition)
    definition.pop("title", None)
    definition["config"] = {**definition.get("config", {}), "mark": {"tooltip": True}}
    template = page_environment().get_template("chart.html.jinja")
    return template.render(title=title, subtitle=subtitle, definition=_json(definition), library=vega_library())


@cache
def page_environment(*packages: str) -> "jinja2.Environment":
    """Return the environment of templates, which can include ``chart.css`` and ``draw.js``.

    Parameters
    ----------
    *packages
        Packages with a folder ``templates``, searched in this order.
    """
    library = need("jinja2", "plots")
    folders = [library.PackageLoader(each, "templates") for each in (*packages, "sledsim.show")]
    environment: jinja2.Environment = library.Environment(
        loader=library.ChoiceLoader(folders),
        autoescape=True,
        undefined=library.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["with_code"] = _with_code
    return environment


def _with_code(text: str) -> "markupsafe.Markup":
    """Return text as HTML, with the parts between backticks as code."""
    markup: type[markupsafe.Markup] = need("markupsafe", "plots").Markup
    parts = [markup.escape(part) for part in text.split("`")]
    return markup().join(markup("<code>{}</code>").format(part) if i % 2 else part for i, part in enumerate(parts))


def notebook_bundle(definition: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Return a chart's MIME bundle for notebooks: an SVG image, and the definition for pages that draw it.

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


def _join_lines(text: str | list[str]) -> str:
    return text if isinstance(text, str) else " ".join(text)


def _json(definition: dict[str, Any]) -> str:
    """Return a definition as JSON for a script element, with ``<`` escaped."""
    return json.dumps(definition).replace("<", "\\u003c")
