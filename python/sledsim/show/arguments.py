"""What people pass to functions: checked, and refused by the name of the argument."""

import math
import os
from collections.abc import Iterable
from contextlib import suppress
from operator import index
from pathlib import Path
from typing import Any, SupportsIndex, TypeVar

from sledsim._core import SledsimError
from sledsim.show.faults import brief, make_error, require_whole

__all__ = [
    "require_flag",
    "require_kind",
    "require_number",
    "require_path",
    "require_several",
    "require_word",
    "whole_number",
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
    """Return what is of a type, and refuse what is not.

    Parameters
    ----------
    error
        The error to raise.
    path
        What it is.
    value
        What was given.
    kind
        The type.
    expected
        What was expected, in words.
    """
    if not isinstance(value, kind):
        raise _refuse(error, path, value, expected, kind="wrong-type")
    return value


def require_flag(error: type[SledsimError], path: str, value: object) -> bool:
    """Return what is true or false, and refuse what is neither; arguments as for :func:`require_kind`."""
    return require_kind(error, path, value, bool, "true or false")


def require_path(error: type[SledsimError], path: str, value: object) -> Path:
    """Return the path of a file, and refuse what is none; arguments as for :func:`require_kind`."""
    if isinstance(value, str) or (isinstance(value, os.PathLike) and isinstance(os.fspath(value), str)):
        return Path(value)
    raise _refuse(error, path, value, "the path of a file", kind="wrong-type")


def require_word(error: type[SledsimError], path: str, value: object, known: Iterable[str]) -> str:
    """Return one of some words, and refuse everything else.

    Parameters
    ----------
    error
        The error to raise.
    path
        What it is.
    value
        What was given.
    known
        The words.
    """
    words = list(known)
    if not isinstance(value, str):
        raise _refuse(error, path, value, f"one of {', '.join(words)}", kind="wrong-type", allowed=words)
    if value not in words:
        raise make_error(error, "unknown-name", path=path, value=value, known=words)
    return value


def require_several(error: type[SledsimError], path: str, value: object, expected: str) -> list[Any]:
    """Return what several things were given, such as numbers; a text is none of them.

    Parameters
    ----------
    error
        The error to raise.
    path
        What they are.
    value
        What was given.
    expected
        What was expected, in words.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise _refuse(error, path, value, expected, kind="wrong-type")
    try:
        return list(value)
    except TypeError:
        # An array without dimensions says that it can be gone through, and can't.
        raise _refuse(error, path, value, expected, kind="wrong-type") from None


def whole_number(error: type[SledsimError], path: str, value: object, least: int, most: int) -> int:
    """Return a whole number within bounds, one of NumPy's too, and refuse everything else.

    Parameters
    ----------
    error
        The error to raise.
    path
        What it is.
    value
        What was given.
    least, most
        Its bounds.
    """
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        # An array of several says that it is one, too.
        with suppress(TypeError):
            value = index(value)
    require_whole(error, path, value, least, most)
    return int(value)  # type: ignore[call-overload, no-any-return]


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
    """Return a number within bounds, one of NumPy's too, and refuse everything else.

    Parameters
    ----------
    error
        The error to raise.
    path
        What it is.
    value
        What was given.
    least, above
        Its bound below, which it may be or not.
    most
        Its bound above.
    unit
        The unit that it is in.
    """
    try:
        # A text is a number to `float`, and an array of one too.
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
