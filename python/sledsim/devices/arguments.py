"""What people pass to a device's methods: checked, and made into arrays of what the core takes."""

import math
from typing import TYPE_CHECKING, Any, TypeVar

from sledsim._core import SledsimError
from sledsim.show.faults import brief, make_error

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["MOST_POINTS", "count", "flags", "numbers", "refuse", "shaped", "single", "together", "whole"]

_Array = TypeVar("_Array", bound="NDArray[np.generic]")

#: Most points of a curve.
MOST_POINTS = 10_000
#: Most values of an argument, and of what arguments make together: 128 MiB of numbers.
MOST_VALUES = 1 << 24
#: What whole numbers are made into: the core's widest.
WIDEST = 2**63 - 1


def refuse(
    name: str,
    value: Any,
    expected: str,
    bounds: dict[str, object] | None = None,
    index: tuple[int, ...] = (),
) -> SledsimError:
    """Make the error of an argument that is not what was expected.

    Parameters
    ----------
    name
        The argument.
    value
        The wrong value.
    expected
        What was expected, in words.
    bounds
        Bounds of a number.
    index
        Place of the value in an array.
    """
    shown, is_whole = brief(value)
    place = f"[{', '.join(map(str, index))}]" if index else ""
    says = f"{name}{place} = {shown}: expected {expected}"
    held = value if is_whole else shown
    path = ".".join((name, *map(str, index)))
    return make_error(SledsimError, "out-of-range", says, path=path, value=held, allowed=bounds or expected)


def whole(name: str, value: Any, least: int, most: int) -> "NDArray[np.int64]":
    """Return whole numbers from one bound to the other as an array, of the shape in which they came."""
    import numpy as np

    expected = f"whole numbers from {least} to {most}"
    given = _array(name, value, expected)
    bounds: dict[str, object] = {"least": least, "most": min(most, WIDEST), "whole": True}
    if given.dtype.kind == "f":
        # A bound such as 2^63 - 1 is no float, but the number after it is.
        _require_all(name, given, (given == np.floor(given)) & (given >= least) & (given < most + 1), expected, bounds)
    else:
        _require_all(name, given, (given >= least) & (given <= most), expected, bounds)
    return given.astype(np.int64)


def numbers(name: str, value: Any, least: float, most: float, unit: str) -> "NDArray[np.float64]":
    """Return numbers from one bound to the other as an array, of the shape in which they came."""
    import numpy as np

    expected = f"numbers from {least:.10g} to {most:.10g} {unit}"
    given = _array(name, value, expected)
    bounds: dict[str, object] = {"least": least, "most": most, "unit": unit}
    _require_all(name, given, (given >= least) & (given <= most), expected, bounds)
    return given.astype(np.float64)


def flags(name: str, value: Any) -> "NDArray[np.bool_]":
    """Return truth values as an array, of the shape in which they came."""
    import numpy as np

    expected = "true or false"
    given = _array(name, value, expected, "biu")
    _require_all(name, given, np.isin(given, (0, 1)), expected)
    return given.astype(np.bool_)


def single(name: str, given: "NDArray[Any]") -> Any:
    """Return the only one of an argument that can't be several."""
    if given.ndim:
        raise refuse(name, given.tolist(), "one, not an array")
    return given.item()


def count(name: str, value: Any, least: int, most: int) -> int:
    """Return one whole number from one bound to the other."""
    number: int = single(name, whole(name, value, least, most))
    return number


def together(**arrays: "NDArray[Any]") -> "list[NDArray[Any]]":
    """Return arrays in the shape that all of them can take; names are those of the arguments."""
    import numpy as np

    name, first = next(iter(arrays.items()))
    try:
        made = np.broadcast_arrays(*arrays.values())
    except ValueError:
        others = ", ".join(f"{other} {array.shape}" for other, array in list(arrays.items())[1:])
        expected = f"a shape that goes with {others}"
        raise refuse(f"{name}.shape", first.shape, expected) from None
    if made[0].size > MOST_VALUES:
        raise refuse(f"{name}.shape", first.shape, f"no more than {MOST_VALUES} values together with the others")
    return [np.ascontiguousarray(each).reshape(each.shape) for each in made]


def shaped(times: _Array, shape: tuple[int, ...]) -> Any:
    """Return what was found in the shape of what was asked: a number for numbers."""
    return times.reshape(shape)[()]


def _few(name: str, value: Any) -> None:
    """Raise for what is too long, before it is made into an array."""
    try:
        length = len(value)
    except TypeError:
        return
    except OverflowError:
        length = WIDEST
    _fits(name, (length,))


def _fits(name: str, shape: tuple[int, ...]) -> None:
    if math.prod(shape) > MOST_VALUES:
        raise refuse(f"{name}.shape", shape, f"no more than {MOST_VALUES} values")


def _array(name: str, value: Any, expected: str, kinds: str = "iuf") -> "NDArray[Any]":
    """Return numbers, or what holds some, as an array of one of these kinds of NumPy's types."""
    import numpy as np

    _few(name, value)
    try:
        given = np.asarray(value)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise refuse(name, value, expected) from None
    _fits(name, given.shape)
    if given.dtype.kind == "O" and given.ndim:
        # A Series whose values may be missing is an array of objects.
        plain = np.array([np.asarray(each).dtype.kind in kinds and np.ndim(each) == 0 for each in given.ravel()], bool)
        _require_all(name, given, plain.reshape(given.shape), expected)
        given = np.asarray(given.tolist())
    if given.dtype.kind not in kinds:
        raise refuse(name, value, expected)
    return given


def _require_all(
    name: str,
    given: "NDArray[Any]",
    valid: "NDArray[np.bool_]",
    expected: str,
    bounds: dict[str, object] | None = None,
) -> None:
    """Refuse an array by its first value that is not valid."""
    import numpy as np

    if not valid.all():
        index = tuple(int(place) for place in np.argwhere(~valid)[0])
        value = given[index]
        raise refuse(name, value.item() if isinstance(value, np.generic) else value, expected, bounds, index)
