"""What the commands print, and where."""

import json
import logging
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import typer

from sledsim.cli.streams import say

if TYPE_CHECKING:
    from sledsim._core import Fault, Scenario, SledsimError
    from sledsim.show.faults import Words
    from sledsim.show.tables import Table

    class Found(Protocol):
        def to_json(self, *args: Any) -> str: ...
        def tables(self, *args: Any) -> list[Table]: ...


__all__ = [
    "PrintedWarnings",
    "check_picture",
    "check_target",
    "complain",
    "in_options",
    "not_drawn",
    "print_found",
    "print_json",
    "print_tables",
    "print_text",
    "require_distinct",
    "require_kept",
    "require_texts",
    "suggest",
    "words_of",
]

#: What errors call the argument that ``--set`` gives.
OVERRIDES = {"set", "overrides"}


def complain(message: str) -> None:
    """Print an error, folded to the width of a terminal."""
    print_text(f"error: {message}", err=True)


class PrintedWarnings(logging.Handler):
    """Prints the package's warnings on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a warning, folded to the width of a terminal."""
        print_text(f"warning: {record.getMessage()}", err=True)


def suggest(typed: Sequence[str], options: Iterable[str]) -> None:
    """Print what would go on from an error, as commands to be pasted.

    Parameters
    ----------
    typed
        What was typed after the program's name.
    options
        What would do if it stood behind that.
    """
    found = [
        f"  {shlex.join(['sledsim', *_without(option.split()[0], typed)])} {option}"
        for option in options
        if option.startswith("--")
    ]
    # What was read from standard input is gone.
    if found and "-" not in typed:
        say("\n".join([f"to go on, {'one of' if len(found) > 1 else 'with'}:", *found]), err=True)


def _without(option: str, typed: Sequence[str]) -> list[str]:
    """Leave out what was typed of an option that is given anew; ``--set`` and ``--column`` may come more than once."""
    if option in ("--set", "--column"):
        return list(typed)
    kept, is_value = list[str](), False
    for word in typed:
        if not is_value and word != option and not word.startswith(f"{option}="):
            kept.append(word)
        is_value = word == option and not is_value
    return kept


def words_of(command: Any) -> "Words":
    """Return how keys are given on the command line: by an option of the command, else by ``--set``.

    Parameters
    ----------
    command
        The command that was called.
    """
    options = {name: option for name, option in _names(command).items() if option.startswith("--")}

    def words(path: str, value: Any) -> str:
        text = "" if value is None else shlex.quote(value if isinstance(value, str) else json.dumps(value))
        name = path.removeprefix("workload.")
        if name in options and value is True:
            return options[name]
        if name in options and path not in OVERRIDES:
            # Options take lists of numbers as people write them.
            listed = ",".join(map(str, value)) if isinstance(value, list) else text
            return f"{options[name]} {listed}".rstrip()
        table, _, key = name.rpartition(".")
        if table == "columns" and table in options:
            return f"{options[table]} {key}={text or 'VALUE'}"
        if path in OVERRIDES and "set" in options:
            return f"--set {text}".rstrip()
        if "set" in options and text and "." in path:
            return f"--set {path}={text}"
        return f"{path} = {text}" if text else path

    return words


def in_options(error: "SledsimError", command: Any) -> "SledsimError":
    """Return an error of which each fault that an option or argument of a command has is told of that.

    Parameters
    ----------
    error
        What is wrong.
    command
        The command that was called.
    """
    from sledsim._core import error_of
    from sledsim.show.faults import replaced, wrong

    names = _names(command)

    def option_of(path: str) -> str | None:
        steps = path.split(".")
        # Where a command is given a system, an option for devices stands in its place, as a setting.
        while len(steps) > 1 and steps[-1] in ("name", "device") and ("system" in names or steps[-1] not in names):
            steps.pop()
        # One of several numbers that an option was given.
        if len(steps) > 1 and steps[-1].isdigit():
            steps.pop()
        outer = set(steps[:-1]) - {"workload", "system", "device", "child"}
        # What a scenario counts in bytes an option may call a size.
        name = next((each for each in (steps[-1], steps[-1].replace("_bytes", "_size")) if each in names), None)
        return None if name is None or outer else names[name]

    def typed(fault: "Fault") -> "Fault":
        # What a file says is wrong in that file, and what `--set` says there.
        if fault.path is None:
            return fault
        if fault.setting is None and fault.file not in (None, "scenario"):
            # What reads a trace has no file but that: how it is read the options say.
            option = option_of(fault.path) if "columns" in names else None
            return replaced(fault, path=[option]) if option else fault
        key = fault.path if fault.setting is None else fault.setting.partition("=")[0]
        if fault.setting is not None and command.name != "replay":
            return fault
        outer, _, last = fault.path.rpartition(".")
        if fault.kind == "unknown-key" and (option := option_of(outer)):
            # An option that takes pairs: the first of one is not known.
            says = f": {json.dumps(last)} is not known"
            [fault] = wrong(type(error), "unknown-name", says, path=option, value=last, known=fault.allowed).faults
            return fault
        option = option_of(key)
        return fault if option is None else _in_words(fault.of_option(option), option_of)

    return error_of(type(error), [typed(fault) for fault in error.faults]) if error.faults else error


def _in_words(fault: "Fault", option_of: "Callable[[str], str | None]") -> "Fault":
    """Return a fault that calls other keys by their options, too."""
    from sledsim.show.faults import facts_of, replaced

    def said(word: dict[str, Any]) -> dict[str, Any]:
        path, value = word.get("key", ([], None))
        option = option_of(".".join(path)) if path else None
        return {"text": f"{option} {value:g}" if isinstance(value, float) else f"{option} {value}"} if option else word

    return replaced(fault, words=[said(word) for word in facts_of(fault)["words"]])


def _names(command: Any) -> dict[str, str]:
    """Return what a command calls its options and arguments, by name."""
    names: dict[str, str] = {}
    for each in command.params:
        name, typed = _named(each)
        # As it is typed, and as Python calls it.
        names |= dict.fromkeys((each.name, name), typed)
    return names


def _named(option: Any) -> tuple[str, str]:
    """Return the name of an option or argument, and how it is typed."""
    longest = max(option.opts, key=len)
    return longest.lstrip("-").replace("-", "_"), longest if longest.startswith("--") else longest.upper()


def print_json(value: Any) -> None:
    """Print a value as JSON, or a text that is JSON already."""
    from sledsim.show.fitting import visible_in_strings
    from sledsim.show.shown import json_text

    text = visible_in_strings(value if isinstance(value, str) else json_text(value))
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        # Beyond ASCII there are only letters of texts.
        text = re.sub(r"[^\x00-\x7f]+", lambda found: json.dumps(found[0])[1:-1], text)
    say(text)


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
        say("\n\n".join(str(table) for table in tables))
        return
    for i, table in enumerate(tables):
        lines = [typer.style(line.text, **_style(line.kind)) for line in table.lines(width)]
        say("\n".join(["", *lines] if i else lines), styled=True)


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
    say("\n".join(folded(text, width)), err=err)


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
    from sledsim.show.faults import require_writable, wrong
    from sledsim.show.files import unwritable
    from sledsim.show.frames import COPY_OPTIONS, require_utf8

    if path is not None:
        require_writable(SledsimError, path, suffixes)
        folder = Path(os.path.realpath(path)).parent
        if suffixes is COPY_OPTIONS:
            require_utf8(SledsimError, folder, path)
        if reason := unwritable(folder, 1):
            raise wrong(SledsimError, "unreadable", f"cannot be written: {reason}", file=path)


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


#: Options that name files to be written, by their names without dashes.
OUTPUTS = ("log", "plot", "timeline", "out")
#: What may name a file by a word.
FILES = ("file", "files", "scenario", "system", "device", "role", "without", "image", "socket", *OUTPUTS)


def _values(command: Any, given: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield each value that a command was given, several of an option one by one, behind the option's names."""
    for each in command.params:
        value = given.get(each.name)
        for one in value if isinstance(value, list | tuple) else [value]:
            yield *_named(each), one


def require_distinct(command: Any, given: Mapping[str, Any]) -> None:
    """Refuse a file to be written that a command reads or that belongs to a store, before anything is done.

    It reads what its other options and arguments name, and what the documents among these name.

    Parameters
    ----------
    command
        The command.
    given
        Its parameters, by their names in Python.
    """
    from sledsim._core import SledsimError
    from sledsim.scenario.references import files_named
    from sledsim.scenario.texts import is_document
    from sledsim.show.faults import require_apart

    named = [
        (key, word, one)
        for key, word, one in _values(command, given)
        if isinstance(one, Path) or (isinstance(one, str) and one and key in FILES)
    ]
    for at, (key, word, path) in enumerate(named):
        if key in OUTPUTS and word.startswith("--"):
            _require_no_store(key, Path(path))
            others = [(other, taken) for _, other, taken in named[:at] + named[at + 1 :] if str(taken) != "-"]
            require_apart(SledsimError, key, path, others)
            for _, taken in others:
                if is_document(taken):
                    read = [(str(by), file) for by, file in files_named(Path(taken))]
                    require_apart(SledsimError, key, path, read)


def _require_no_store(output: str, path: Path) -> None:
    """Refuse a file to be written into a store of sweeps: whoever reads the store would take it for a part."""
    from sledsim._core import SledsimError
    from sledsim.show.faults import wrong
    from sledsim.sweep.store import is_store

    for folder in Path(os.path.realpath(path)).parents:
        if is_store(folder):
            says: list[str | tuple[str]] = [(output,), f": {path} lies in the store {folder}: name a file elsewhere"]
            raise wrong(SledsimError, "conflict", says, path=output, value=str(path))


def require_texts(command: Any, given: Mapping[str, Any]) -> None:
    """Refuse bytes that are no text, but in names of files: those may have any.

    Parameters
    ----------
    command
        The command.
    given
        Its parameters, by their names in Python.
    """
    from sledsim._core import SledsimError
    from sledsim.scenario.texts import no_text
    from sledsim.show.faults import wrong

    for key, _, one in _values(command, given):
        says = no_text(one) if isinstance(one, str) and key not in FILES else None
        if says:
            raise wrong(SledsimError, "notation", f": {says}", path=key)


def require_kept(scenario: "Scenario", outputs: Mapping[str, Path | None]) -> None:
    """Refuse a file to be written that a scenario names, such as its trace.

    Parameters
    ----------
    scenario
        The scenario.
    outputs
        The files, by the options that name them.
    """
    from sledsim._core import SledsimError
    from sledsim.scenario.reading import files_of
    from sledsim.show.faults import require_apart

    written = {option: path for option, path in outputs.items() if path is not None}
    read = [("the scenario", path) for path in files_of(scenario)] if written else []
    for option, path in written.items():
        require_apart(SledsimError, option, path, read)


def not_drawn(*pictures: Path | None) -> str:
    """Say which pictures an interrupted run leaves out: drawing takes seconds, and what is not whole may mislead.

    Parameters
    ----------
    pictures
        Those that were asked for.
    """
    paths = [str(path) for path in pictures if path is not None]
    return f"; not drawn: {', '.join(paths)}" if paths else ""
