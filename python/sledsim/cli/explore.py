"""The command that writes the explorer, a page that runs scenarios in a browser: explore."""

import json
import tempfile
import webbrowser
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from sledsim.cli.checks import check_target
from sledsim.cli.options import Sets
from sledsim.cli.output import print_text

__all__ = ["register"]

EXAMPLES = """\b
Examples:
  sledsim explore
  sledsim explore scenario.toml
  sledsim explore scenario.toml --set device=g3 --out g3.html
"""
#: The page in the package `sledsim.show`, which `make explorer` builds.
PAGE = "templates/explorer.html"
#: The element of the page that holds the scenario.
NO_SCENARIO = '<script type="application/json" id="scenario">null</script>'


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explore", epilog=EXAMPLES, rich_help_panel="Simulate")(explore)


def explore(
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE|-]", help="Scenario that the page begins with (default: the page's own example)."
        ),
    ] = None,
    sets: Sets = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the page to this .html file.")
    ] = None,
) -> None:
    """Open a page that simulates and draws a device in the browser.

    The page is one file that works without a network. With --out, it is written and not opened.
    """
    from sledsim.show.files import write_atomically

    check_target(out, [".html"])
    page = _page(_document(scenario, sets or []))
    target = out or Path(tempfile.mkdtemp(prefix="sledsim-")) / "explorer.html"
    write_atomically(target, page)
    if out is not None or not webbrowser.open(target.resolve().as_uri()):
        print_text(f"written: {target}", err=True)


def _page(document: dict[str, Any] | None) -> str:
    """Return the page with a scenario."""
    from sledsim._core import SledsimError
    from sledsim.show.faults import make_error

    built = files("sledsim.show") / PAGE
    if not built.is_file():
        message = "the page is not built: run `make explorer` in a checkout of Sledsim, which needs Node.js"
        raise make_error(SledsimError, "unsupported", message)
    # A closing tag in a string would end the element.
    text = json.dumps(document).replace("<", "\\u003c")
    return built.read_text(encoding="utf-8").replace(NO_SCENARIO, NO_SCENARIO.replace("null", text), 1)


def _document(scenario: str | None, sets: list[str]) -> dict[str, Any] | None:
    """Return the complete scenario of a file, without absent values."""
    from sledsim.scenario.reading import from_argument, resolve

    if scenario is None:
        if sets:
            raise typer.BadParameter("needs a scenario: name its file first", param_hint="--set")
        return None
    document: dict[str, Any] = resolve(from_argument(scenario), sets).values
    if document["workload"]["kind"] == "trace":
        message = "is a trace: the page cannot read files; explore a synthetic workload, or use `sledsim replay --plot`"
        raise typer.BadParameter(message, param_hint=scenario)
    present: dict[str, Any] = _present(document)
    return present


def _present(value: Any) -> Any:
    """Return a value without absent keys."""
    if isinstance(value, dict):
        return {key: _present(inner) for key, inner in value.items() if inner is not None}
    return [_present(inner) for inner in value] if isinstance(value, list) else value
