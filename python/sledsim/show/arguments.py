"""Checks of arguments: each returns the value, or raises an error that names the argument."""

import math
import os
from collections.abc import Iterable
from contextlib import suppress
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

from sledsim._core import SledsimError
from sledsim.show.faults import MOST, Sentence, brief, make_error

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "argument_error",
    "broadcast_to_requests",
    "broadcast_together",
    "require_flag",
    "require_flags",
    "require_integer",
    "require_integers",
    "require_kind",
    "require_number",
    "require_numbers",
    "require_path",
    "require_several",
    "require_single",
    "require_single_integer",
    "require_word",
]

#: Maximum number of values of an argument, and of arguments that are broadcast together: 128 MiB of numbers.
MOST_VALUES = 1 << 24

Kind = TypeVar("Kind")


def _refuse(
    error: type[SledsimError], path: str, value: object, expected: str, *, kind: str, allowed: Any = None
) -> SledsimError:
    shown, is_whole = brief(value)
    message = f": expected {expected} (got {shown})"
    held = value if is_whole and isinstance(value, str | int | float) else shown
    return make_error(error, kind, message, path=path, value=held, allowed=allowed or expected)


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
    message: Sentence = [(path,), f" = {shown} is not a whole number {bounds}"]
    allowed: dict[str, object] = {"least": least, "whole": True}
    if most != MOST:
        allowed["most"] = most
    kind = "out-of-range" if is_number else "wrong-type"
    raise make_error(error, kind, message, path=path, value=value if is_whole else shown, allowed=allowed)


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
        # `float` accepts texts and arrays with one element, too.
        is_invalid = isinstance(value, str | bytes | bool) or hasattr(value, "__len__")
        number = math.nan if is_invalid else float(value)  # type: ignore[arg-type]
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


def argument_error(
    name: str,
    value: Any,
    expected: str,
    bounds: dict[str, object] | None = None,
    index: tuple[int, ...] = (),
) -> SledsimError:
    """Return the error for a wrong argument.

    Parameters
    ----------
    name
        The argument.
    value
        The wrong value.
    expected
        The expected value, in words.
    bounds
        Bounds of a number.
    index
        Index of the value in an array.
    """
    shown, is_whole = brief(value)
    place = f"[{', '.join(map(str, index))}]" if index else ""
    message = f"{name}{place} = {shown}: expected {expected}"
    held = value if is_whole else shown
    path = ".".join((name, *map(str, index)))
    return make_error(SledsimError, "out-of-range", message, path=path, value=held, allowed=bounds or expected)


def require_integers(name: str, value: Any, least: int, most: int) -> "NDArray[np.int64]":
    """Return integers within bounds as an array of the same shape, and raise for any other value.

    Parameters
    ----------
    name
        The argument.
    value
        A number, a list, an array or a Series; floats must be integers.
    least, most
        The bounds, inclusive.
    """
    import numpy as np

    expected = f"whole numbers from {least} to {most}"
    given = _array(name, value, expected)
    bounds: dict[str, object] = {"least": least, "most": min(most, MOST), "whole": True}
    if given.dtype.kind == "f":
        # A bound such as 2^63 - 1 has no float representation, but the integer after it has.
        _require_all(name, given, (given == np.floor(given)) & (given >= least) & (given < most + 1), expected, bounds)
    else:
        _require_all(name, given, (given >= least) & (given <= most), expected, bounds)
    return given.astype(np.int64)


def require_numbers(name: str, value: Any, least: float, most: float, unit: str) -> "NDArray[np.float64]":
    """Return numbers within inclusive bounds as an array of the same shape; arguments as :func:`require_integers`."""
    import numpy as np

    expected = f"numbers from {least:.10g} to {most:.10g} {unit}"
    given = _array(name, value, expected)
    bounds: dict[str, object] = {"least": least, "most": most, "unit": unit}
    _require_all(name, given, (given >= least) & (given <= most), expected, bounds)
    return given.astype(np.float64)


def require_flags(name: str, value: Any) -> "NDArray[np.bool_]":
    """Return booleans as an array of the same shape; arguments as :func:`require_integers`."""
    import numpy as np

    expected = "true or false"
    given = _array(name, value, expected, "biu")
    _require_all(name, given, np.isin(given, (0, 1)), expected)
    return given.astype(np.bool_)


def require_single(name: str, given: "NDArray[Any]") -> Any:
    """Return the value of an array without dimensions, and raise for any other array."""
    if given.ndim:
        raise argument_error(name, given.tolist(), "one, not an array")
    return given.item()


def require_single_integer(name: str, value: Any, least: int, most: int) -> int:
    """Return one integer within bounds; arguments as :func:`require_integers`."""
    number: int = require_single(name, require_integers(name, value, least, most))
    return number


def broadcast_together(**arrays: "NDArray[Any]") -> "list[NDArray[Any]]":
    """Return arrays in their common shape, and raise if they have none; the keywords are the arguments."""
    import numpy as np

    name, first = next(iter(arrays.items()))
    try:
        made = np.broadcast_arrays(*arrays.values())
    except ValueError:
        others = ", ".join(f"{other} {array.shape}" for other, array in list(arrays.items())[1:])
        expected = f"a shape that broadcasts with {others}"
        raise argument_error(f"{name}.shape", first.shape, expected) from None
    if made[0].size > MOST_VALUES:
        expected = f"no more than {MOST_VALUES} values together with the others"
        raise argument_error(f"{name}.shape", first.shape, expected)
    return [np.ascontiguousarray(each).reshape(each.shape) for each in made]


def broadcast_to_requests(name: str, array: "NDArray[Any]", requests: int) -> "NDArray[Any]":
    """Return an array with a value for each request; the given array has one value, or one for each request."""
    import numpy as np

    if array.shape not in {(), (1,), (requests,)}:
        raise argument_error(f"{name}.shape", array.shape, f"one, or one for each of {requests} requests")
    return np.ascontiguousarray(np.broadcast_to(array, (requests,)))


def _require_length(name: str, value: Any) -> None:
    """Raise if a value is too long, before it is converted to an array."""
    try:
        length = len(value)
    except TypeError:
        return
    except OverflowError:
        length = MOST
    _require_size(name, (length,))


def _require_size(name: str, shape: tuple[int, ...]) -> None:
    if math.prod(shape) > MOST_VALUES:
        raise argument_error(f"{name}.shape", shape, f"no more than {MOST_VALUES} values")


def _array(name: str, value: Any, expected: str, kinds: str = "iuf") -> "NDArray[Any]":
    """Return a value as an array, and raise if its NumPy kind is not one of the given ones."""
    import numpy as np

    _require_length(name, value)
    try:
        given = np.asarray(value)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise argument_error(name, value, expected) from None
    _require_size(name, given.shape)
    if given.dtype.kind == "O" and given.ndim:
        # A Series of a nullable type becomes an array of objects.
        plain = np.array([np.asarray(each).dtype.kind in kinds and np.ndim(each) == 0 for each in given.ravel()], bool)
        _require_all(name, given, plain.reshape(given.shape), expected)
        given = np.asarray(given.tolist())
    if given.dtype.kind not in kinds:
        raise argument_error(name, value, expected)
    return given


def _require_all(
    name: str,
    given: "NDArray[Any]",
    valid: "NDArray[np.bool_]",
    expected: str,
    bounds: dict[str, object] | None = None,
) -> None:
    """Raise for the first invalid value of an array."""
    import numpy as np

    if not valid.all():
        index = tuple(int(place) for place in np.argwhere(~valid)[0])
        value = given[index]
        raise argument_error(name, value.item() if isinstance(value, np.generic) else value, expected, bounds, index)
