"""Checks of file names and texts before a command runs."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim.cli.errors import name_and_form

if TYPE_CHECKING:
    from sledsim._core import Scenario

__all__ = ["check_chart", "check_target", "require_distinct", "require_not_read", "require_texts"]

#: Options that name files to write, without dashes.
OUTPUTS = ("log", "plot", "timeline", "out")
#: Parameters of type text that may name a file.
FILES = ("file", "files", "scenario", "system", "device", "role", "without", "image", "socket", *OUTPUTS)


def check_target(path: Path | None, suffixes: Iterable[str]) -> None:
    """Raise if a file cannot be written, before anything is run for it.

    Parameters
    ----------
    path
        The file; ``None`` if none was requested.
    suffixes
        Allowed endings of its name.
    """
    from sledsim._core import SledsimError
    from sledsim.show.faults import make_error, require_writable
    from sledsim.show.files import unwritable
    from sledsim.show.frames import COPY_OPTIONS, require_utf8

    if path is not None:
        require_writable(SledsimError, path, suffixes)
        folder = Path(os.path.realpath(path)).parent
        if suffixes is COPY_OPTIONS:
            require_utf8(SledsimError, folder, path)
        if reason := unwritable(folder, 1):
            raise make_error(SledsimError, "unreadable", f"cannot be written: {reason}", file=path)


def check_chart(path: Path | None) -> None:
    """Raise if a chart cannot be drawn or written, before anything is run for it.

    Parameters
    ----------
    path
        The file; ``None`` if none was requested.
    """
    from sledsim.show.saving import SUFFIXES, require_libraries

    check_target(path, SUFFIXES)
    if path is not None:
        require_libraries(path)


def _values(command: Any, given: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield name, form and value of each parameter; several values of one parameter separately."""
    for parameter in command.params:
        value = given.get(parameter.name)
        for each in value if isinstance(value, list | tuple) else [value]:
            yield *name_and_form(parameter), each


def require_distinct(command: Any, given: Mapping[str, Any]) -> None:
    """Raise if a file to write is also read by the command, by a document that it reads, or lies in a store.

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
        (name, form, value)
        for name, form, value in _values(command, given)
        if isinstance(value, Path) or (isinstance(value, str) and value and name in FILES)
    ]
    for i, (name, form, path) in enumerate(named):
        if name in OUTPUTS and form.startswith("--"):
            _require_outside_stores(name, Path(path))
            others = [(other, file) for _, other, file in named[:i] + named[i + 1 :] if str(file) != "-"]
            require_apart(SledsimError, name, path, others)
            for _, file in others:
                if is_document(file):
                    read = [(str(document), each) for document, each in files_named(Path(file))]
                    require_apart(SledsimError, name, path, read)


def _require_outside_stores(output: str, path: Path) -> None:
    """Raise if a file to write lies in a store of sweeps: it would be read as a part of the store."""
    from sledsim._core import SledsimError
    from sledsim.show.faults import make_error
    from sledsim.sweep.store import is_store

    for folder in Path(os.path.realpath(path)).parents:
        if is_store(folder):
            message: list[str | tuple[str]] = [(output,), f": {path} lies in the store {folder}: name a file elsewhere"]
            raise make_error(SledsimError, "conflict", message, path=output, value=str(path))


def require_texts(command: Any, given: Mapping[str, Any]) -> None:
    """Raise if a parameter that is not a file name contains bytes that are not text.

    Parameters
    ----------
    command
        The command.
    given
        Its parameters, by their names in Python.
    """
    from sledsim._core import SledsimError
    from sledsim.scenario.texts import no_text
    from sledsim.show.faults import make_error

    for name, _, value in _values(command, given):
        message = no_text(value) if isinstance(value, str) and name not in FILES else None
        if message:
            raise make_error(SledsimError, "notation", f": {message}", path=name)


def require_not_read(scenario: "Scenario", outputs: Mapping[str, Path | None]) -> None:
    """Raise if a file to write is one that a scenario reads, such as its trace.

    Parameters
    ----------
    scenario
        The scenario.
    outputs
        The files to write, by option.
    """
    from sledsim._core import SledsimError
    from sledsim.scenario.reading import files_of
    from sledsim.show.faults import require_apart

    written = {option: path for option, path in outputs.items() if path is not None}
    read = [("the scenario", path) for path in files_of(scenario)] if written else []
    for option, path in written.items():
        require_apart(SledsimError, option, path, read)
