"""Checks of arguments: each returns the value, or raises an error that names the argument."""

import math
import os
from collections.abc import Iterable
from contextlib import suppress
from operator import index
from pathlib import Path
from typing import Any, SupportsIndex, TypeVar

from sledsim._core import SledsimError
from sledsim.show.faults import MOST, Sentence, brief, make_error

__all__ = [
    "require_flag",
    "require_integer",
    "require_kind",
    "require_number",
    "require_path",
    "require_several",
    "require_word",
]

Kind = TypeVar("Kind")


def _refuse(
    error: type[SledsimError], path: str, value: object, expected: str, *, kind: str, allowed: Any = None
) -> SledsimError:
    shown, is_whole = brief(value)
    says = f": expected {expected} (got {shown})"
    held = value if is_whole and isinstance(value, str | int | float) else shown
    return make_error(error, kind, says, path=path, value=held, allowed=allowed or expected)


def require_kind(error: type[SledsimError], path: str, value: object, kind: type[Kind], expected: str) -> Kind:
    """Return a value of a type, and raise for any other value.

    Parameters
    ----------
    error
        The type of the error.
    path
        The argument.
    value
        Its value.
    kind
        The type.
    expected
        The expected value, in words.
    """
    if not isinstance(value, kind):
        raise _refuse(error, path, value, expected, kind="wrong-type")
    return value


def require_flag(error: type[SledsimError], path: str, value: object) -> bool:
    """Return a boolean, and raise for any other value; arguments as for :func:`require_kind`."""
    return require_kind(error, path, value, bool, "true or false")


def require_path(error: type[SledsimError], path: str, value: object) -> Path:
    """Return a path, and raise for any other value; arguments as for :func:`require_kind`."""
    if isinstance(value, str) or (isinstance(value, os.PathLike) and isinstance(os.fspath(value), str)):
        return Path(value)
    raise _refuse(error, path, value, "the path of a file", kind="wrong-type")


def require_word(error: type[SledsimError], path: str, value: object, known: Iterable[str]) -> str:
    """Return one of the known words, and raise for any other value.

    Parameters
    ----------
    error
        The type of the error.
    path
        The argument.
    value
        Its value.
    known
        The known words.
    """
    words = list(known)
    if not isinstance(value, str):
        raise _refuse(error, path, value, f"one of {', '.join(words)}", kind="wrong-type", allowed=words)
    if value not in words:
        raise make_error(error, "unknown-name", path=path, value=value, known=words)
    return value


def require_several(error: type[SledsimError], path: str, value: object, expected: str) -> list[Any]:
    """Return the elements of an iterable as a list, and raise for a text or any other value.

    Parameters
    ----------
    error
        The type of the error.
    path
        The argument.
    value
        Its value.
    expected
        The expected value, in words.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise _refuse(error, path, value, expected, kind="wrong-type")
    try:
        return list(value)
    except TypeError:
        # An array without dimensions has `__iter__`, which raises.
        raise _refuse(error, path, value, expected, kind="wrong-type") from None


def require_integer(error: type[SledsimError], path: str, value: object, least: int = 0, most: int = MOST) -> int:
    """Return an integer within bounds, NumPy's types included, and raise for any other value.

    Parameters
    ----------
    error
        The type of the error.
    path
        The argument.
    value
        Its value.
    least, most
        Its bounds, inclusive.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        # An array with several elements has `__index__` too.
        with suppress(TypeError):
            number = index(value)
            if least <= number <= most:
                return number
            value, is_number = number, True
    shown, is_whole = brief(value)
    bounds = f"from {least:,} " + ("on" if most == MOST else f"to {most:,}")
    says: Sentence = [(path,), f" = {shown} is not a whole number {bounds}"]
    allowed: dict[str, object] = {"least": least, "whole": True}
    if most != MOST:
        allowed["most"] = most
    kind = "out-of-range" if is_number else "wrong-type"
    raise make_error(error, kind, says, path=path, value=value if is_whole else shown, allowed=allowed)


def require_number(
    error: type[SledsimError],
    path: str,
    value: object,
    *,
    least: float = 0.0,
    above: float | None = None,
    most: float,
    unit: str = "",
) -> float:
    """Return a number within bounds, NumPy's types included, and raise for any other value.

    Parameters
    ----------
    error
        The type of the error.
    path
        The argument.
    value
        Its value.
    least, above
        The lower bound: inclusive, or exclusive.
    most
        The upper bound, inclusive.
    unit
        The unit.
    """
    try:
        # `float` takes texts and arrays with one element, too.
        is_none = isinstance(value, str | bytes | bool) or hasattr(value, "__len__")
        number = math.nan if is_none else float(value)  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError, ArithmeticError):
        number = math.nan
    if number <= most and (number > above if above is not None else number >= least):
        return number
    bounds: dict[str, object] = {"least": least} if above is None else {"above": above}
    low = f"from {least:g} up" if above is None else f"above {above:g}"
    expected = f"{unit or 'a number'} {low}" + (f", at most {most:g}" if number > most else "")
    allowed = bounds | {"most": most} | ({"unit": unit} if unit else {})
    raise _refuse(error, path, value, expected, kind="out-of-range", allowed=allowed)
