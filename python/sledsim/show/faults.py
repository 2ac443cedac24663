"""Errors as data: faults with kind, location, value and message, and checks of files to write."""

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
    "require_writable",
    "suggested_settings",
    "unknown_kind",
    "with_facts",
    "with_faults",
]

Error = TypeVar("Error", bound=_core.SledsimError)

#: Maximum length of a value quoted in an error, in characters.
LONGEST = 60
#: The greatest integer of the core.
MOST = (1 << 63) - 1

#: Formats a key, given its path and its value or ``None``: as an argument, or as an option of the command line.
Words = Callable[[str, Any], str]
#: A message: a text, or parts of it. A part ``(key,)`` is a key, formatted by :data:`Words`.
Sentence = str | Sequence[str | tuple[str]]


class CanFail:
    """A result that may have failed: ``faults`` has the reasons, and is empty if it did not fail."""

    __slots__ = ()
    faults: tuple[_core.Fault, ...]

    @property
    def error(self) -> str | None:
        """The messages of the faults; ``None`` if there are none."""
        return "\n".join(map(str, self.faults)) or None


def brief(value: object) -> tuple[str, bool]:
    """Return the text of a value, shortened for an error, and true if it is not shortened.

    Parameters
    ----------
    value
        Any value.
    """
    try:
        shown = repr(value)
    except (ValueError, RecursionError):
        # An integer of thousands of digits, or a list that contains itself.
        return f"a {type(value).__name__} that can't be shown", False
    return (shown, True) if len(shown) <= LONGEST else (f"{shown[: LONGEST - 3]}...", False)


def is_one_of(value: object, known: Container[str]) -> bool:
    """Return true if a value is a text and one of the known words.

    Parameters
    ----------
    value
        Any value.
    known
        The words.
    """
    return isinstance(value, str) and value in known


def is_there(path: Path) -> bool:
    """Return true if a file or folder exists; false for a name that no file can have.

    Parameters
    ----------
    path
        The path.
    """
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_file_name(path: Path) -> bool:
    """Return true if a word has a suffix or a folder, so that it can only be a path.

    Parameters
    ----------
    path
        The word.
    """
    return bool(path.suffix) or path.parent != Path()


def is_same_file(one: Path | str, other: Path | str) -> bool:
    """Return true if two paths name the same regular file, which need not exist.

    Parameters
    ----------
    one, other
        The paths.
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
    """Raise if a file to be written is also given for another purpose, and would be overwritten.

    Parameters
    ----------
    error
        The type of the error.
    output
        The argument with the file to be written.
    path
        The file.
    others
        The other arguments, each with its file.
    """
    for other, taken in others:
        if is_same_file(path, taken):
            message: list[str | tuple[str]] = [(output,), f": {path} is also used by ", (other,), ": name another file"]
            raise make_error(error, "conflict", message, path=output, value=str(path))


def most_of(limit: str) -> int:
    """Return the greatest value that a limit allows.

    Parameters
    ----------
    limit
        The name of the limit, as in docs/reference/scenario.md.
    """
    return next(most for name, most, *_ in _core.limits() if name == limit)


def _escape_surrogates(text: str) -> str:
    """Return a text with unpaired surrogates as escapes, so that UTF-8 can encode it."""
    return text.encode(errors="backslashreplace").decode()


def make_error(
    error: type[Error],
    kind: str,
    message: Sentence = "",
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
    """Return an error with one fault.

    Parameters
    ----------
    error
        The type of the error.
    kind
        The kind of the fault, see :attr:`sledsim.scenario.Fault.kind`.
    message
        The message. If empty, it is built from path, value and allowed values. Parts ``(key,)`` of a list are keys; the
        command line shows them as options. A message that starts with a colon is preceded by ``path``.
    path, value
        The wrong argument or key, and its value.
    known
        The known names: the message ends with the nearest of them, or with all if none is near.
    listed
        Replaces the list of all known names in the message, if that is too long.
    allowed, suggestion
        The allowed values, and the value that was probably meant.
    file, line
        The location to correct; the message starts with it.
    """
    names = None if known is None else list(known)
    if isinstance(message, str) and path and message.startswith(":"):
        message = [(path,), message]
    fault = _core.Fault(
        kind,
        _escape_surrogates(message)
        if isinstance(message, str)
        else [_escape_surrogates(part) if isinstance(part, str) else part for part in message],
        path=path,
        value=_escape_surrogates(value) if isinstance(value, str) else value,
        allowed=allowed if names is None else names,
        suggestion=suggestion,
        file=None if file is None else visible(str(file)),
        line=line,
        message_is_complete=bool(message),
    )
    if message and names is not None:
        nearest = f"; did you mean {fault.suggestion}?"
        end = nearest if fault.suggestion else f" ({listed or 'known: ' + ', '.join(names)})"
        parts = [message] if isinstance(message, str) else message
        return make_error(error, kind, [*parts, end], path=path, value=value, allowed=names, file=file, line=line)
    return _core.error_of(error, [fault])


def missing_file(error: type[Error], path: Path, what: str = "no such file", named: str | None = None) -> Error:
    """Return the error for a missing file, which suggests the file with the most similar name.

    Parameters
    ----------
    error
        The type of the error.
    path
        The missing file.
    what
        The start of the message.
    named
        The name of the file in the message; the path if not given.
    """
    if not path.parent.is_dir():
        message = f"{what}, and no folder {path.parent}"
        return make_error(error, "unreadable", message, value=str(path), file=named or path)
    meant = nearest_file(path)
    message = what + (f"; did you mean {meant}?" if meant else "")
    return make_error(error, "unreadable", message, value=str(path), suggestion=meant, file=named or path)


def nearest_file(path: Path) -> str | None:
    """Return the existing file whose name is most similar to that of a missing one, or ``None``.

    Parameters
    ----------
    path
        The missing file.
    """
    if not path.parent.is_dir():
        return None
    near = _core.nearest(visible(path.name), [visible(entry.name) for entry in path.parent.iterdir()])
    # Names with the same suffix are always similar, so the stems must be, too.
    is_near = near is not None and _core.nearest(visible(path.stem), [Path(near).stem]) is not None
    return str(path.parent / near) if near and is_near else None


def unknown_kind(error: type[Error], path: Path, kinds: Iterable[str], what: str = "file") -> Error:
    """Return the error for a file with an unknown suffix.

    Parameters
    ----------
    error
        The type of the error.
    path
        The file.
    kinds
        The known suffixes.
    what
        The noun of the message.
    """
    endings = list(kinds)
    message = f"unknown kind of {what} {path.suffix!r}; expected {', '.join(endings)}"
    return make_error(error, "unknown-format", message, value=path.suffix, allowed=endings, file=path)


def require_writable(error: type[_core.SledsimError], path: Path, kinds: Iterable[str]) -> None:
    """Raise if a file to be written has an unknown suffix, or cannot be written at its path.

    Parameters
    ----------
    error
        The type of the error.
    path
        The file.
    kinds
        The known suffixes.
    """
    endings = list(kinds)
    if path.suffix.lower() not in endings:
        raise unknown_kind(error, path, endings)
    require_place(error, path)


def require_place(error: type[_core.SledsimError], path: Path) -> None:
    """Raise if a file to be written is a folder, is in a missing folder, is write-protected or is not a regular file.

    Parameters
    ----------
    error
        The type of the error.
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
    """Raise if a file to be written is write-protected or not a regular file, as it would be replaced.

    Parameters
    ----------
    error
        The type of the error.
    path
        The file, or a link to it.
    """
    if is_there(path) and not (path.is_file() or path.is_dir()):
        message = "a device, a pipe or a socket, not a regular file: name a file"
        raise make_error(error, "unreadable", message, value=str(path), file=path)
    if is_there(path) and not os.access(path, os.W_OK):
        message = "is write-protected: name another file, or change its permissions"
        raise make_error(error, "unreadable", message, value=str(path), file=path)


def convert_error(kind: type[Error], error: _core.SledsimError, within: str = "") -> Error:
    """Return an error of another type with the same faults.

    Parameters
    ----------
    kind
        The other type.
    error
        The error.
    within
        The key to which the paths of the faults are relative.
    """
    return _core.error_of(kind, [fault.about(within) if within else fault for fault in error.faults])


def facts_of(fault: _core.Fault) -> dict[str, Any]:
    """Return the fields of a fault as plain values."""
    _, (held,) = fault.__reduce__()
    facts: dict[str, Any] = json.loads(held)
    return facts


def fault_of(facts: Mapping[str, Any]) -> _core.Fault:
    """Return the fault with these fields; the inverse of :func:`facts_of`."""
    return _core.Fault._of(json.dumps(facts))


def with_facts(fault: _core.Fault, **facts: object) -> _core.Fault:
    """Return a fault with another ``message`` or location: ``path`` (a list of keys), ``file``, ``line``."""
    held = facts_of(fault)
    location = {name: value for name, value in facts.items() if name in held["location"]}
    others = {name: value for name, value in facts.items() if name not in location}
    return fault_of(held | others | {"location": held["location"] | location})


@contextmanager
def by_arguments(arguments: Mapping[str, str]) -> Iterator[None]:
    """Convert faults of a scenario that a function builds: they name the function's arguments.

    Faults of a file or an override of the caller stay unchanged.

    Parameters
    ----------
    arguments
        The argument for each path and the paths below it; ``""`` if the keys of a table are arguments themselves. The
        path ``""`` stands for all others.
    """
    try:
        yield
    except _core.SledsimError as error:
        converted = [_of_argument(fault, arguments) for fault in error.faults]
        if tuple(converted) == error.faults:
            raise
        raise with_faults(error, converted) from error.__cause__


def with_faults(error: Error, faults: Sequence[_core.Fault]) -> Error:
    """Return an error of the same type with other faults; the result of a failed run is kept.

    Parameters
    ----------
    error
        The error.
    faults
        The new faults.
    """
    converted = _core.error_of(type(error), list(faults))
    if isinstance(error, _core.RunError) and isinstance(converted, _core.RunError):
        converted.result = error.result
    return converted


#: The name of a scenario without a file in messages.
UNNAMED = "scenario"


def _of_argument(fault: _core.Fault, arguments: Mapping[str, str]) -> _core.Fault:
    """Return a fault of a scenario with the argument that caused it as its path."""
    if fault.setting is not None:
        return fault
    facts = facts_of(fault)

    def argument(path: list[str]) -> list[str]:
        for depth in range(len(path), -1, -1):
            name = arguments.get(".".join(path[:depth]))
            if name is not None:
                return [*filter(None, name.split(".")), *path[depth:]] or path[-1:]
        return path

    def converted(word: dict[str, Any]) -> dict[str, Any]:
        return {kind: each if kind == "text" else [argument(each[0]), each[1]] for kind, each in word.items()}

    location = facts["location"]
    changes: dict[str, Any] = {"message": [converted(word) for word in facts["message"]]}
    if location["used_by"] == UNNAMED:
        changes["used_by"] = None
    path = argument(location["path"])
    if location["file"] in (None, UNNAMED) and path != location["path"]:
        changes |= {"path": path, "file": None}
    return with_facts(fault, **changes)


def format_error(error: _core.SledsimError, words: Words) -> str:
    """Return the messages of an error.

    Parameters
    ----------
    error
        The error.
    words
        Formats the keys.
    """
    return "\n".join(fault.text(words) for fault in error.faults) or str(error)


def suggested_settings(error: _core.SledsimError) -> list[tuple[str, Any]]:
    """Return the settings that an error suggests as alternatives: key and value.

    Parameters
    ----------
    error
        The error.
    """
    suggested: list[tuple[str, Any]] = []

    def collect(path: str, value: Any) -> str:
        # A wrong override passes here too. A key without a value is no suggestion.
        if value is not None and path != "overrides":
            suggested.append((path, value))
        return ""

    for fault in error.faults:
        fault.text(collect)
    return suggested
