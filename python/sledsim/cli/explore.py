"""The command that writes the explorer, a page that runs scenarios and lessons in a browser: explore."""

import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from sledsim.cli.checks import check_target
from sledsim.cli.options import Sets
from sledsim.cli.output import print_tables, print_written

__all__ = ["register"]

EXAMPLES = """\b
Examples:
  sledsim explore
  sledsim explore scenario.toml
  sledsim explore scenario.toml --set device=g3 --out g3.html
  sledsim explore --lesson scheduling
  sledsim explore --lesson my-lesson.toml --answers
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explore", epilog=EXAMPLES, rich_help_panel="Simulate")(explore)


def explore(
    scenario: Annotated[
        str | None,
        typer.Argument(metavar="FILE|-", help="Scenario that the page opens with (default: the page's own example)."),
    ] = None,
    sets: Sets = None,
    lesson: Annotated[
        str | None,
        typer.Option(
            "--lesson",
            "-l",
            metavar="NAME|FILE",
            help="Open with a lesson: seeking, scheduling, stopping, caching, or a file.",
        ),
    ] = None,
    answers: Annotated[
        bool,
        typer.Option("--answers", help="Print the answers to the questions of the lesson, and do not open the page."),
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the page to this .html file.")
    ] = None,
) -> None:
    """Open a page that simulates and draws a device in the browser, or a lesson about it.

    The page is one file that works without a network. With --out, the page is written but not opened.
    """
    from sledsim.explorer.answers import answer_tables
    from sledsim.explorer.html_page import page
    from sledsim.explorer.lesson import load_lesson
    from sledsim.scenario.reading import from_argument
    from sledsim.show.files import write_atomically

    check_target(out, [".html"])
    if scenario is None and sets:
        raise typer.BadParameter("needs a scenario: name its file first", param_hint="--set")
    if answers and lesson is None:
        raise typer.BadParameter("needs a lesson: add --lesson NAME", param_hint="--answers")
    if scenario is not None and lesson is not None:
        raise typer.BadParameter("has a scenario of its own: name either a scenario or a lesson", param_hint="--lesson")
    opened = None if lesson is None else load_lesson(lesson)
    if opened is not None and answers:
        print_tables(answer_tables(opened))
        if out is None:
            return
    text = page(None if scenario is None else from_argument(scenario), sets or [], lesson=opened)
    target = out or Path(tempfile.mkdtemp(prefix="sledsim-")) / "explorer.html"
    write_atomically(target, text)
    if out is not None or not webbrowser.open(target.resolve().as_uri()):
        print_written(target)
