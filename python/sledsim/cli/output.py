"""Printing: tables, JSON, messages, and the names of written files."""

import json
import logging
import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import typer

from sledsim.cli.streams import INTERRUPTED, write

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sledsim.show.tables import Table

    class Printable(Protocol):
        def to_json(self, *args: Any) -> str: ...
        def tables(self, *args: Any) -> list[Table]: ...

    class Drawable(Protocol):
        @property
        def complete(self) -> bool: ...
        def save_plot(self, path: Path, *figure: str) -> Any: ...


__all__ = [
    "PrintedWarnings",
    "draw_if_complete",
    "not_drawn",
    "print_document",
    "print_error",
    "print_json",
    "print_result",
    "print_tables",
    "print_text",
    "print_written",
]


def print_error(message: str) -> None:
    """Print an error on standard error, wrapped to the terminal."""
    print_text(f"error: {message}", err=True)


class PrintedWarnings(logging.Handler):
    """Prints the package's warnings on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a warning, wrapped to the terminal."""
        print_text(f"warning: {record.getMessage()}", err=True)


def print_json(value: Any) -> None:
    """Print a value as JSON, or a text that is JSON already."""
    from sledsim.show.fitting import visible_in_strings
    from sledsim.show.shown import json_text

    text = visible_in_strings(value if isinstance(value, str) else json_text(value))
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        # Only strings contain characters beyond ASCII, so JSON escapes are valid for them.
        text = re.sub(r"[^\x00-\x7f]+", lambda found: json.dumps(found[0])[1:-1], text)
    write(text)


def print_document(text: str) -> None:
    """Print a TOML document, with control characters in its strings escaped."""
    from sledsim.show.fitting import visible_in_strings

    write(visible_in_strings(text), end="")


def print_result(result: "Printable", *part: Any, as_json: bool) -> None:
    """Print a result as JSON or as tables.

    Parameters
    ----------
    result
        The result.
    *part
        Arguments that select a part of it.
    as_json
        Print JSON only.
    """
    if as_json:
        print_json(result.to_json(*part))
    else:
        print_tables(result.tables(*part))


def print_tables(tables: "Iterable[Table]") -> None:
    """Print tables: fitted to the width of the output if it has one, and styled on a terminal."""
    from sledsim.show.fitting import terminal_width

    width = terminal_width(sys.stdout)
    if width is None:
        write("\n\n".join(str(table) for table in tables))
        return
    for i, table in enumerate(tables):
        lines = [typer.style(line.text, **_style(line.kind)) for line in table.lines(width)]
        write("\n".join(["", *lines] if i else lines), styled=True)


def _style(kind: str) -> dict[str, bool]:
    """Return the style of a line of a table; none with ``NO_COLOR`` or on a terminal without styles."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return {"reset": False}
    return {"title": {"bold": True}, "head": {"bold": True}, "rule": {"dim": True}}.get(kind, {"reset": False})


def print_text(text: str, *, err: bool = False) -> None:
    """Print a text, wrapped to the terminal.

    Parameters
    ----------
    text
        The text, of one line or several.
    err
        Print to standard error.
    """
    from sledsim.show.fitting import terminal_width, wrap_text

    width = terminal_width(sys.stderr if err else sys.stdout)
    write("\n".join(wrap_text(text, width)), err=err)


#: Prints a table from a file; DuckDB is installed with Sledsim.
SHOW_TABLE = """python -c "import duckdb; duckdb.sql('FROM {}').show()\""""


def print_written(path: Path | str | None, *command: object, note: str = "") -> None:
    """Print the name of a written file on standard error, and the next command.

    Parameters
    ----------
    path
        The file; ``None`` prints nothing.
    *command
        Words of the next command after ``sledsim``. Without it, the command follows from the file's kind.
    note
        Text after the name.
    """
    if path is None:
        return
    text, suffix = str(path), Path(path).suffix.lower()
    in_browser = not command and suffix == ".html"
    write(f"wrote {text}{note}{': open it in a browser' if in_browser else ''}", err=True)
    if command:
        write(f"next: {shlex.join(['sledsim', *map(str, command)])}", err=True)
    elif suffix in (".csv", ".parquet") and re.fullmatch(r"[\w./-]+", text):
        write("next: " + SHOW_TABLE.format(json.dumps(text).replace('"', '\\"')), err=True)


def draw_if_complete(
    found: "Drawable",
    plot: Path | None,
    *figure: str,
    interrupted: str = "interrupted: the results are those so far",
) -> None:
    """Write the requested chart of a printed result; end the command if the result was interrupted.

    Parameters
    ----------
    found
        The result.
    plot
        The file of the chart; ``None`` draws nothing.
    *figure
        The name of the figure, if the result has several.
    interrupted
        The message about an interrupted result.

    Raises
    ------
    typer.Exit
        If the result was interrupted.
    """
    if not found.complete:
        print_error(f"{interrupted}{not_drawn(plot)}")
        raise typer.Exit(INTERRUPTED)
    if plot:
        found.save_plot(plot, *figure)
        print_written(plot)


def not_drawn(plot: Path | None) -> str:
    """Return the note of an interrupted run that its chart was not drawn; empty if none was requested."""
    return f"; not drawn: {plot}" if plot is not None else ""
