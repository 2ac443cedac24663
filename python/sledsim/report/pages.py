"""The environment of the page templates."""

from functools import cache
from typing import TYPE_CHECKING

from sledsim.show.frames import need

if TYPE_CHECKING:
    import jinja2
    import markupsafe

__all__ = ["page_environment"]


@cache
def page_environment(package: str) -> "jinja2.Environment":
    """Return what fills a package's templates, which may include ``style.css``, ``chart.css`` and ``draw.js``.

    Parameters
    ----------
    package
        Name of a package with a folder ``templates``.
    """
    library = need("jinja2", "plots")
    folders = [library.PackageLoader(each, "templates") for each in (package, "sledsim.report", "sledsim.show")]
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
    """Return text as HTML, what stands between backticks in code type."""
    markup: type[markupsafe.Markup] = need("markupsafe", "plots").Markup
    parts = [markup.escape(part) for part in text.split("`")]
    return markup().join(markup("<code>{}</code>").format(part) if i % 2 else part for i, part in enumerate(parts))
