"""Faults: what is wrong, as data, in the words of whoever reads of it."""

from collections.abc import Callable
from typing import Any, TypeVar

from sledsim import _core

__all__ = ["about", "spoken", "ways_out"]

Error = TypeVar("Error", bound=_core.SledsimError)

#: How a reader gives a key: by its path, with a value if there is one to give.
Words = Callable[[str, Any], str]


def about(error: Error, what: str, *, instead: bool = False) -> Error:
    """Return the same error, of which it is said what it is about.

    Parameters
    ----------
    error
        What is wrong.
    what
        What it is about: an axis, a cache that is tried.
    instead
        Whether that stands for the setting that it comes from.
    """
    if not error.faults:
        return type(error)(f"{what}: {error}")
    return _core.error_of(type(error), [fault.about(what, instead=instead) for fault in error.faults])


def spoken(error: _core.SledsimError, words: Words) -> str:
    """Return what an error says, in the words of a reader.

    Parameters
    ----------
    error
        What is wrong.
    words
        How the reader gives a key.
    """
    return "\n".join(fault.text(words) for fault in error.faults) or str(error)


def ways_out(error: _core.SledsimError) -> list[tuple[str, Any]]:
    """Return the settings that an error offers, each of which would do: key and value.

    Parameters
    ----------
    error
        What is wrong.
    """
    offered: list[tuple[str, Any]] = []

    def noted(path: str, value: Any) -> str:
        # What was set, and is wrong, is told in the same way; a key without a value is left to the reader.
        if value is not None and path != "set":
            offered.append((path, value))
        return ""

    for fault in error.faults:
        fault.text(noted)
    return offered
