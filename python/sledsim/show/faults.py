"""Faults: what is wrong, as data, in the words of whoever reads of it."""

import json
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sledsim import _core
from sledsim.show.fitting import visible

__all__ = [
    "MOST",
    "CanFail",
    "Sentence",
    "brief",
    "by_arguments",
    "convert_error",
    "facts_of",
    "fault_of",
    "format_error",
    "is_file_name",
    "is_one_of",
    "is_same_file",
    "is_there",
    "make_error",
    "missing_file",
    "most_of",
    "nearest_file",
    "require_apart",
    "require_place",
    "require_plain",
    "require_whole",
    "require_writable",
    "suggested_settings",
    "unknown_kind",
    "with_facts",
    "with_faults",
]

Error = TypeVar("Error", bound=_core.SledsimError)

#: Longest text in which an error shows what was given.
LONGEST = 60
#: The greatest number that the core counts with.
MOST = (1 << 63) - 1

#: How a reader gives a key: by its path, with a value if there is one to give.
Words = Callable[[str, Any], str]
#: What is said of a fault: a text, or parts of it; tuples hold keys, which each reader has an own way to give.
Sentence = str | Sequence[str | tuple[str]]


class CanFail:
    """What ``faults`` says of why it failed, as data; there are none where it did not."""

    __slots__ = ()
    faults: tuple[_core.Fault, ...]

    @property
    def error(self) -> str | None:
        """Why it failed, in words; ``None`` where it did not."""
        return "\n".join(map(str, self.faults)) or None


def brief(value: object) -> tuple[str, bool]:
    """Return what was given as errors have room for it, and whether that is all of it.

    Parameters
    ----------
    value
        Whatever was given.
    """
    try:
        shown = repr(value)
    except (ValueError, RecursionError):
        # A number of thousands of digits, or lists within lists without an end.
        return f"a {type(value).__name__} that can't be shown", False
    return (shown, True) if len(shown) <= LONGEST else (f"{shown[: LONGEST - 3]}...", False)


def is_one_of(value: object, known: Container[str]) -> bool:
    """Tell whether something, which may be no text at all, is one of some words.

    Parameters
    ----------
    value
        Whatever was given.
    known
        The words.
    """
    return isinstance(value, str) and value in known


def is_there(path: Path) -> bool:
    """Tell whether there is such a file or folder; a name that no file can have is of none.

    Parameters
    ----------
    path
        Its path.
    """
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_file_name(path: Path) -> bool:
    """Tell whether a word can only mean a file or folder, there or not: it has an ending, or a folder before it.

    Parameters
    ----------
    path
        The word.
    """
    return bool(path.suffix) or path.parent != Path()


def is_same_file(one: Path | str, other: Path | str) -> bool:
    """Tell whether two names are of one file, which need not be there; a device, a pipe or a folder is none.

    Parameters
    ----------
    one, other
        Their paths.
    """
    try:
        return Path(one).samefile(other) and Path(one).is_file()
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)
    except ValueError:
        # A name that no file can have.
        return False


def require_apart(
    error: type[_core.SledsimError], output: str, path: Path | str, others: Iterable[tuple[str, Path | str]]
) -> None:
    """Refuse a file to be written that is something else, too: it would be lost.

    Parameters
    ----------
    error
        The type of what is raised.
    output
        The argument that names it.
    path
        The file.
    others
        What else there is, by what names it: other arguments.
    """
    for other, taken in others:
        if is_same_file(path, taken):
            says: list[str | tuple[str]] = [(output,), f": {path} is what ", (other,), " names, too: name another file"]
            raise make_error(error, "conflict", says, path=output, value=str(path))


def most_of(limit: str) -> int:
    """Return how much a limit allows.

    Parameters
    ----------
    limit
        Its name, as docs/reference/scenario.md has it.
    """
    return next(most for name, most, *_ in _core.limits() if name == limit)


def require_whole(error: type[_core.SledsimError], path: str, value: object, least: int = 0, most: int = MOST) -> None:
    """Refuse what is no whole number within bounds.

    Parameters
    ----------
    error
        The error to raise.
    path
        What it is.
    value
        The number.
    least, most
        Its bounds.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and isinstance(value, int) and least <= value <= most:
        return
    shown, is_whole = brief(value)
    bounds = f"from {least:,} " + ("on" if most == MOST else f"to {most:,}")
    says: Sentence = [(path,), f" = {shown} is not a whole number {bounds}"]
    allowed: dict[str, object] = {"least": least, "whole": True}
    if most != MOST:
        allowed["most"] = most
    kind = "out-of-range" if is_number else "wrong-type"
    raise make_error(error, kind, says, path=path, value=value if is_whole else shown, allowed=allowed)


def _held(text: str) -> str:
    """Return a text as UTF-8 can hold it: halves of characters as escapes."""
    return text.encode(errors="backslashreplace").decode()


def make_error(
    error: type[Error],
    kind: str,
    says: Sentence = "",
    *,
    path: str | None = None,
    value: object = None,
    known: Iterable[str] | None = None,
    listed: str = "",
    allowed: str | Sequence[str] | dict[str, object] | None = None,
    suggestion: str | None = None,
    file: Path | str | None = None,
    line: int | None = None,
) -> Error:
    """Make an error of one fault.

    Parameters
    ----------
    error
        Its type.
    kind
        In what way it is wrong, as :attr:`sledsim.Fault.kind` has it.
    says
        The sentence; made of key, value and what is allowed where there is none. Parts ``(key,)`` of a list are keys,
        which each reader has an own way to give: ``--sweep``. What begins with a colon goes on after ``path``.
    path, value
        The argument or key that is wrong, and what it is.
    known
        The names there are: the sentence ends in the nearest of them, and in all.
    listed
        What is said of those there are, where the list of all would fill the screen.
    allowed, suggestion
        What it may be, and what was perhaps meant.
    file, line
        Where it is to be put right; the sentence begins with it.
    """
    names = None if known is None else list(known)
    if isinstance(says, str) and path and says.startswith(":"):
        says = [(path,), says]
    fault = _core.Fault(
        kind,
        _held(says) if isinstance(says, str) else [_held(part) if isinstance(part, str) else part for part in says],
        path=path,
        value=_held(value) if isinstance(value, str) else value,
        allowed=allowed if names is None else names,
        suggestion=suggestion,
        file=None if file is None else visible(str(file)),
        line=line,
        message_is_complete=bool(says),
    )
    if says and names is not None:
        near = f"; did you mean {fault.suggestion}?" if fault.suggestion else ""
        end = f"{near} ({listed or 'known: ' + ', '.join(names)})"
        parts = [says] if isinstance(says, str) else says
        return make_error(error, kind, [*parts, end], path=path, value=value, allowed=names, file=file, line=line)
    return _core.error_of(error, [fault])


def missing_file(error: type[Error], path: Path, what: str = "no such file", named: str | None = None) -> Error:
    """Make the error of a file that is not there, with the one whose name is most like it.

    Parameters
    ----------
    error
        Its type.
    path
        The file.
    what
        What is not there.
    named
        What messages call it, if not by its path.
    """
    if not path.parent.is_dir():
        says = f"{what}, and no folder {path.parent}"
        return make_error(error, "unreadable", says, value=str(path), file=named or path)
    meant = nearest_file(path)
    says = what + (f"; did you mean {meant}?" if meant else "")
    return make_error(error, "unreadable", says, value=str(path), suggestion=meant, file=named or path)


def nearest_file(path: Path) -> str | None:
    """Return the file whose name is most like that of one that is not there.

    Parameters
    ----------
    path
        The one that is not there.
    """
    if not path.parent.is_dir():
        return None
    near = _core.nearest(visible(path.name), [visible(entry.name) for entry in path.parent.iterdir()])
    return str(path.parent / near) if near else None


def unknown_kind(error: type[Error], path: Path, kinds: Iterable[str], what: str = "file") -> Error:
    """Make the error of a file of a kind that can't be written.

    Parameters
    ----------
    error
        Its type.
    path
        The file.
    kinds
        Endings that its name may have.
    what
        What it is to be.
    """
    endings = list(kinds)
    says = f"unknown kind of {what} {path.suffix!r}; expected {', '.join(endings)}"
    return make_error(error, "unknown-format", says, value=path.suffix, allowed=endings, file=path)


def require_writable(error: type[_core.SledsimError], path: Path, kinds: Iterable[str]) -> None:
    """Refuse a file of a kind that can't be written, or in a folder that is not there.

    Parameters
    ----------
    error
        The type of what is raised.
    path
        The file.
    kinds
        Endings that its name may have.
    """
    endings = list(kinds)
    if path.suffix.lower() not in endings:
        raise unknown_kind(error, path, endings)
    require_place(error, path)


def require_place(error: type[_core.SledsimError], path: Path) -> None:
    """Refuse a file to be written in a folder that is not there, or in the place of one.

    Parameters
    ----------
    error
        The type of what is raised.
    path
        The file.
    """
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise make_error(error, "unreadable", f"no folder {folder}", value=str(path), file=path)
    if path.is_dir():
        raise make_error(error, "unreadable", "a folder, not a file", value=str(path), file=path)
    require_plain(error, path)


def require_plain(error: type[_core.SledsimError], path: Path) -> None:
    """Refuse a file to be written that is protected, or is none, such as a pipe or a device: it would be replaced.

    Parameters
    ----------
    error
        The type of what is raised.
    path
        The file, or a link to it.
    """
    if is_there(path) and not (path.is_file() or path.is_dir()):
        says = "no plain file, but a device, a pipe or a socket: name a file"
        raise make_error(error, "unreadable", says, value=str(path), file=path)
    if is_there(path) and not os.access(path, os.W_OK):
        says = "is protected against writing: name another file, or let it be written"
        raise make_error(error, "unreadable", says, value=str(path), file=path)


def convert_error(kind: type[Error], error: _core.SledsimError, within: str = "") -> Error:
    """Return an error as one of another type, with all that it knows.

    Parameters
    ----------
    kind
        The other type.
    error
        What is wrong.
    within
        The key that it comes from.
    """
    return _core.error_of(kind, [fault.about(within) if within else fault for fault in error.faults])


def facts_of(fault: _core.Fault) -> dict[str, Any]:
    """Return what a fault holds, as JSON can hold it."""
    _, (held,) = fault.__reduce__()
    facts: dict[str, Any] = json.loads(held)
    return facts


def fault_of(facts: Mapping[str, Any]) -> _core.Fault:
    """Return the fault of which :func:`facts_of` says so."""
    return _core.Fault._of(json.dumps(facts))


def with_facts(fault: _core.Fault, **facts: object) -> _core.Fault:
    """Return a fault with another ``message`` or location: ``path`` (a list of keys), ``file``, ``line``."""
    held = facts_of(fault)
    location = {name: value for name, value in facts.items() if name in held["location"]}
    others = {name: value for name, value in facts.items() if name not in location}
    return fault_of(held | others | {"location": held["location"] | location})


@contextmanager
def by_arguments(arguments: Mapping[str, str]) -> Iterator[None]:
    """Tell what is wrong in a scenario that a function makes as wrong with the arguments that it is made of.

    What a setting or a file of the caller's says is wrong there.

    Parameters
    ----------
    arguments
        The argument that stands at a path, with all below it; ``""`` where keys of a table are arguments themselves.
        The path ``""`` is of all others.
    """
    try:
        yield
    except _core.SledsimError as error:
        told = [_of_argument(fault, arguments) for fault in error.faults]
        if tuple(told) == error.faults:
            raise
        raise with_faults(error, told) from error.__cause__


def with_faults(error: Error, told: Sequence[_core.Fault]) -> Error:
    """Return an error of the same type with other faults; a run's result stays with it.

    Parameters
    ----------
    error
        What is wrong.
    told
        The same, told otherwise.
    """
    again = _core.error_of(type(error), list(told))
    if isinstance(error, _core.RunError) and isinstance(again, _core.RunError):
        again.result = error.result
    return again


#: What messages call a scenario that is in no file.
UNNAMED = "scenario"


def _of_argument(fault: _core.Fault, arguments: Mapping[str, str]) -> _core.Fault:
    """Return a fault of a scenario as one of the arguments that it is made of."""
    if fault.setting is not None:
        return fault
    facts = facts_of(fault)

    def argument(path: list[str]) -> list[str]:
        for depth in range(len(path), -1, -1):
            name = arguments.get(".".join(path[:depth]))
            if name is not None:
                return [*filter(None, name.split(".")), *path[depth:]] or path[-1:]
        return path

    def said(word: dict[str, Any]) -> dict[str, Any]:
        return {kind: each if kind == "text" else [argument(each[0]), each[1]] for kind, each in word.items()}

    location = facts["location"]
    changes: dict[str, Any] = {"message": [said(word) for word in facts["message"]]}
    if location["used_by"] == UNNAMED:
        changes["used_by"] = None
    path = argument(location["path"])
    if location["file"] in (None, UNNAMED) and path != location["path"]:
        changes |= {"path": path, "file": None}
    return with_facts(fault, **changes)


def format_error(error: _core.SledsimError, words: Words) -> str:
    """Return what an error says, in the words of a reader.

    Parameters
    ----------
    error
        What is wrong.
    words
        How the reader gives a key.
    """
    return "\n".join(fault.text(words) for fault in error.faults) or str(error)


def suggested_settings(error: _core.SledsimError) -> list[tuple[str, Any]]:
    """Return the settings that an error offers, each of which would do: key and value.

    Parameters
    ----------
    error
        What is wrong.
    """
    offered: list[tuple[str, Any]] = []

    def noted(path: str, value: Any) -> str:
        # What was set, and is wrong, is told in the same way; a key without a value is left to the reader.
        if value is not None and path not in {"set", "overrides"}:
            offered.append((path, value))
        return ""

    for fault in error.faults:
        fault.text(noted)
    return offered
