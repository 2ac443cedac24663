"""What the commands print, and where."""

import json
import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import typer

if TYPE_CHECKING:
    from sledsim.show.faults import Words
    from sledsim.show.tables import Table

    class Found(Protocol):
        def to_json(self, *args: Any) -> str: ...
        def tables(self, *args: Any) -> list[Table]: ...


__all__ = [
    "check_picture",
    "check_target",
    "complain",
    "not_drawn",
    "print_found",
    "print_json",
    "print_tables",
    "print_text",
    "suggest",
    "words_of",
]


#: What stands around a text in a setting.
QUOTE = '"'


def complain(message: str) -> None:
    """Print an error, folded to the width of a terminal."""
    print_text(f"error: {message}", err=True)


def suggest(typed: Sequence[str], options: Iterable[str]) -> None:
    """Print what would go on from an error, as commands to be pasted.

    Parameters
    ----------
    typed
        What was typed after the program's name.
    options
        What would do if it stood behind that.
    """
    command = shlex.join(["sledsim", *typed])
    found = [f"  {command} {option}" for option in options if option.startswith("--")]
    # What was read from standard input is gone.
    if found and "-" not in typed:
        typer.echo("\n".join([f"to go on, {'one of' if len(found) > 1 else 'with'}:", *found]), err=True)


def words_of(command: Any) -> "Words":
    """Return how keys are given on the command line: by an option of the command, else by ``--set``.

    Parameters
    ----------
    command
        The command that was called.
    """
    longest: list[str] = [max(each.opts, key=len) for each in command.params]
    options = {option.lstrip("-").replace("-", "_"): option for option in longest if option.startswith("--")}

    def words(path: str, value: Any) -> str:
        if path == "set" and command.name == "replay":
            # Its options are settings of the trace's scenario.
            key, _, given = str(value).partition("=")
            name = key.removeprefix("workload.").removeprefix("device.")
            if name in options:
                return f"{options[name]} {given.strip('[]').replace(' ', '').strip(QUOTE)}"
        text = "" if value is None else shlex.quote(value if isinstance(value, str) else json.dumps(value))
        name = path.removeprefix("workload.")
        if name in options and value is True:
            return options[name]
        if name in options:
            # Options take lists of numbers as people write them.
            listed = ",".join(map(str, value)) if isinstance(value, list) else text
            return f"{options[name]} {listed}".rstrip()
        if "set" in options and text and "." in path:
            return f"--set {path}={text}"
        return f"{path} = {text}" if text else path

    return words


def print_json(value: Any) -> None:
    """Print a value, or a text that is JSON already, and nothing else."""
    typer.echo(value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False))


def print_found(found: "Found", *what: Any, as_json: bool) -> None:
    """Print what was found, as JSON and nothing else or as tables.

    Parameters
    ----------
    found
        What has both.
    *what
        Which part of it.
    as_json
        Whether JSON was asked for.
    """
    if as_json:
        print_json(found.to_json(*what))
    else:
        print_tables(found.tables(*what))


def print_tables(tables: "Iterable[Table]") -> None:
    """Print tables: in the width and the styles of a terminal, as wide as they are and plain otherwise."""
    from sledsim.show.fitting import terminal_width

    width = terminal_width(sys.stdout)
    if width is None:
        typer.echo("\n\n".join(str(table) for table in tables))
        return
    for i, table in enumerate(tables):
        lines = [typer.style(line.text, **_style(line.kind)) for line in table.lines(width)]
        typer.echo("\n".join(["", *lines] if i else lines))


def _style(kind: str) -> dict[str, bool]:
    """Return how a line of a table is printed; with ``NO_COLOR``, and on terminals that know no styles, as it is."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return {"reset": False}
    return {"title": {"bold": True}, "head": {"bold": True}, "rule": {"dim": True}}.get(kind, {"reset": False})


def print_text(text: str, *, err: bool = False) -> None:
    """Print a sentence or a paragraph, folded to the width of a terminal.

    Parameters
    ----------
    text
        The text, of one line or several.
    err
        To standard error.
    """
    from sledsim.show.fitting import folded, terminal_width

    width = terminal_width(sys.stderr if err else sys.stdout)
    typer.echo("\n".join(folded(text, width)), err=err)


def check_target(path: Path | None, suffixes: Iterable[str]) -> None:
    """Refuse a file that could not be written before anything is run for it.

    Parameters
    ----------
    path
        The file, if one was asked for.
    suffixes
        Endings that its name may have.
    """
    from sledsim._core import SledsimError

    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        raise SledsimError(f"{path}: unknown kind of file {path.suffix!r}; expected {', '.join(suffixes)}")
    if not path.parent.is_dir():
        raise SledsimError(f"{path}: no folder {path.parent}")


def check_picture(path: Path | None) -> None:
    """Refuse a picture that could not be drawn before anything is run for it.

    Parameters
    ----------
    path
        The file, if one was asked for.
    """
    from sledsim.show.saving import SUFFIXES, require_libraries

    check_target(path, SUFFIXES)
    if path is not None:
        require_libraries(path)


def not_drawn(*pictures: Path | None) -> str:
    """Say which pictures an interrupted run leaves out: drawing takes seconds, and what is not whole may mislead.

    Parameters
    ----------
    pictures
        Those that were asked for.
    """
    paths = [str(path) for path in pictures if path is not None]
    return f"; not drawn: {', '.join(paths)}" if paths else ""
