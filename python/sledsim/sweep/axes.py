"""Axes of a sweep: the values of a parameter, and combinations of axes."""

import hashlib
import json
import math
import random
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from sledsim._core import Fault, quantity, split_quantity
from sledsim.scenario.reading import plain_value
from sledsim.scenario.tables import KeysError, Table, collect_faults, raise_as, validated

__all__ = [
    "Assignment",
    "Axes",
    "Range",
    "Sample",
    "axis_values",
    "cross_axes",
    "derived_seed",
    "flat",
    "path_faults",
    "plain_value_of",
    "range_of",
    "zip_axes",
]

#: Values by parameter.
Assignment = dict[str, Any]

#: Maximum number of values on an axis.
MOST_VALUES = 100_000

#: Integers up to this are exact as doubles.
LARGEST_WHOLE = 2**53

#: Largest ends and steps of a range; the difference of two ends stays finite.
LARGEST = 1e300

#: A number that keeps its type, integer or float.
Number = Annotated[
    Annotated[int, Field(strict=True)] | Annotated[float, Field(strict=True, allow_inf_nan=False)],
    WithJsonSchema({"type": "number"}),
]

#: Axes by the path of a parameter. Documents may write a path as nested tables.
Axes = Annotated[
    Mapping[str, Any],
    AfterValidator(lambda axes: flat(axes)),
    WithJsonSchema({"type": "object", "additionalProperties": {"anyOf": [{"type": "array"}, {"type": "object"}]}}),
]

#: Significant digits of computed values: fewer than a double has, as the last bit of a power differs between machines
#: and would give the same point another run.
DIGITS = 12

#: Tolerance at the end of a range, in steps, for rounding errors of the steps.
STEP_SLACK = 1e-9


def _not_too_large(number: float) -> float:
    if abs(number) > LARGEST:
        message = f": expected a number from {-LARGEST:g} to {LARGEST:g}"
        raise KeysError(Fault("out-of-range", message))
    return number


End = Annotated[Number, AfterValidator(_not_too_large)]


class Range(Table):
    """Values from one number to another, both included.

    Examples
    --------
    >>> Range(200, 1000, step=400).values()
    [200, 600, 1000]
    >>> Range(1, 1000, count=4, scale="log").values()
    [1, 10, 100, 1000]
    """

    model_config = ConfigDict(populate_by_name=True)

    if TYPE_CHECKING:
        # Values can be positional.
        def __init__(self, *values: Any, **keys: Any) -> None: ...

    start: Annotated[End, Field(alias="from")]
    """The first value."""
    stop: Annotated[End, Field(alias="to")]
    """The last value, if a step reaches it."""
    step: End | None = None
    """Difference between consecutive values; alternatively ``count``."""
    count: Annotated[int, Field(strict=True, ge=2, le=MOST_VALUES)] | None = None
    """Number of values."""
    scale: Literal["linear", "log"] = "linear"
    """``log`` for equal ratios of consecutive values; requires a count, and both ends above 0."""
    integer: Annotated[bool, Field(strict=True)] = False
    """Round to integers without duplicates."""
    unit: Annotated[str, Field(strict=True)] = ""
    """The unit of all values, if it differs from that in the parameter's name; an end may include it: ``"4 KB"``."""

    @model_validator(mode="before")
    @classmethod
    def _in_one_unit(cls, keys: Any) -> Any:
        return _numbers_of(keys) if isinstance(keys, dict) else keys

    @field_validator("scale")
    @classmethod
    def _log_fits(cls, scale: str, info: ValidationInfo) -> str:
        keys, faults = info.data, list[Fault]()
        if scale == "log" and {"start", "stop"} <= keys.keys() and min(keys["start"], keys["stop"]) <= 0:
            message = f": a log range from {keys['start']} to {keys['stop']}: both have to be above 0"
            faults.append(Fault("out-of-range", message, path="from" if keys["start"] <= 0 else "to"))
        if scale == "log" and keys.get("step") is not None:
            faults.append(Fault("conflict", ": a log range has a count, not a step", path="step", value=keys["step"]))
        if faults:
            raise KeysError(*faults, beside=True)
        return scale

    def values(self) -> list[Any]:
        """Return the values in order: numbers, or strings with the unit of the range."""
        with raise_as():
            return axis_values(self)

    def _values(self) -> list[Any]:
        found = self._counted(self.count) if self.step is None and self.count else self._stepped(self.step or 0)
        return [self._with_unit(value) for value in dict.fromkeys(found)]

    def at(self, share: float) -> Any:
        """Return the value at a relative position in the range, as it is written into a scenario.

        Parameters
        ----------
        share
            Relative position: 0 for the first value, 1 for the last.
        """
        return self._with_unit(self._number_at(share))

    def written(self, value: float) -> Any:
        """Return a value rounded to ``DIGITS``, with its unit; it is an integer if it is whole and both ends are."""
        return self._with_unit(self._rounded(value))

    def _with_unit(self, value: float) -> Any:
        return f"{value} {self.unit}" if self.unit else value

    def _number_at(self, share: float) -> float:
        if self.scale == "log":
            return self._rounded(math.exp(math.log(self.start) * (1 - share) + math.log(self.stop) * share))
        return self._rounded(self.start + (self.stop - self.start) * share)

    def _rounded(self, value: float) -> float:
        if self.integer or isinstance(value, int):
            return round(value)
        short = float(f"{value:.{DIGITS}g}")
        whole = isinstance(self.start, int) and isinstance(self.stop, int) and short.is_integer()
        return int(short) if whole else short

    def _stepped(self, step: float) -> Iterable[float]:
        # The limit avoids an overflow; such a number of steps is rejected below.
        steps = math.floor(min((self.stop - self.start) / step, 1e15) + STEP_SLACK)
        _few(steps + 1, "step")
        return (self._rounded(self.start + i * step) for i in range(steps + 1))

    def _counted(self, count: int) -> Iterable[float]:
        # The ends are given rather than computed, so that they keep all their digits.
        inner = (self._number_at(i / (count - 1)) for i in range(1, count - 1))
        ends = (round(end) if self.integer else end for end in (self.start, self.stop))
        return (next(ends), *inner, next(ends))


def _numbers_of(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a range with its ends and step converted to one unit, the first one given."""
    unit, found = keys.get("unit", ""), dict(keys)
    for key in ("from", "start", "to", "stop", "step"):
        try:
            parts = split_quantity(keys[key]) if isinstance(keys.get(key), str) else None
        except UnicodeEncodeError:
            # A text with an unpaired surrogate is not a quantity; the schema reports its type.
            parts = None
        if parts is None:
            continue
        number, given = parts
        unit = unit or given
        try:
            number = quantity(keys[key], unit) if given != unit else number
        except ValueError as error:
            raise KeysError(Fault("wrong-type", f": {error}", path=key, value=keys[key])) from None
        found[key] = int(number) if number.is_integer() and abs(number) < LARGEST_WHOLE else number
    return found | ({"unit": unit} if unit else {})


class _SteppedRange(Range):
    """A range on an axis, with a step or a count."""

    @field_validator("step")
    @classmethod
    def _step_leads_to_the_end(cls, step: float | None, info: ValidationInfo) -> float | None:
        start, stop = info.data.get("start"), info.data.get("stop")
        if step is not None and start is not None and stop is not None and (step == 0 or (stop - start) / step < 0):
            raise KeysError(Fault("conflict", f" does not lead from {start} to {stop}", value=step))
        return step

    @field_validator("count")
    @classmethod
    def _step_or_count(cls, count: int | None, info: ValidationInfo) -> int | None:
        if "step" in info.data and (info.data["step"] is None) == (count is None):
            message = ": expected either step or count, as in {from = 1, to = 9, count = 5}"
            raise KeysError(Fault("missing" if count is None else "conflict", message))
        return count


class _DrawnRange(Range):
    """A range to sample from."""

    @field_validator("step", "count")
    @classmethod
    def _is_left_out(cls, value: float | None) -> float | None:
        if value is not None:
            message = ": a range to draw from has neither step nor count; a list has fixed values"
            raise KeysError(Fault("conflict", message, value=value))
        return value


class Sample(Table):
    """Points drawn at random over several axes together."""

    if TYPE_CHECKING:
        # Values can be positional.
        def __init__(self, *values: Any, **keys: Any) -> None: ...

    axes: Axes
    """By parameter: a range without step and count, drawn uniformly (in the logarithm for ``scale = "log"``), or a list
    of choices."""
    count: Annotated[int, Field(strict=True, ge=1, le=MOST_VALUES)]
    """Number of points."""
    method: Literal["random", "latin-hypercube"] = "random"
    """``latin-hypercube`` divides each axis into as many intervals as points, and draws one value in each interval."""

    @field_validator("axes")
    @classmethod
    def _can_be_drawn(cls, axes: Mapping[str, Any]) -> Mapping[str, Any]:
        faults = path_faults(axes) if axes else [Fault("out-of-range", ": names no axes")]
        for path, axis in axes.items():
            with collect_faults(faults, path):
                _drawn(axis, [])
        if faults:
            raise KeysError(*faults)
        return axes

    def assignments(self, seed: int) -> list[Assignment]:
        """Draw the points, with a separate random stream for each axis; they depend only on the seed.

        Parameters
        ----------
        seed
            Seed of the sweep.
        """
        columns = {path: _drawn(axis, self._shares(path, self.count, seed)) for path, axis in self.axes.items()}
        return [{path: column[i] for path, column in columns.items()} for i in range(self.count)]

    def _shares(self, path: str, count: int, seed: int) -> list[float]:
        """Draw the relative positions of the points on an axis, from 0 to 1."""
        stream = random.Random(derived_seed(seed, "sample", self.method, path))
        if self.method == "random":
            return [stream.random() for _ in range(count)]
        slices = list(range(count))
        # Fisher-Yates shuffle with random() only, whose numbers are the same in every version of Python.
        for i in range(count - 1, 0, -1):
            j = int(stream.random() * (i + 1))
            slices[i], slices[j] = slices[j], slices[i]
        return [(each + stream.random()) / count for each in slices]


def derived_seed(seed: int, *of: object) -> int:
    """Derive a seed from another: the first 53 bits of the SHA-256 of ``seed/of/…``, which are exact in JSON.

    Parameters
    ----------
    seed
        The other seed.
    of
        The purpose of the seed.
    """
    text = "/".join(map(str, (seed, *of)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 11


def flat(axes: Mapping[str, Any]) -> dict[str, Any]:
    """Return axes by path, with nested tables flattened.

    Parameters
    ----------
    axes
        The axes.
    """
    range_keys = {field.alias or name for name, field in Range.model_fields.items()}
    found: dict[str, Any] = {}
    for key, value in axes.items():
        within = isinstance(value, Mapping) and any(isinstance(each, Mapping | list) for each in value.values())
        # A table that is neither a range nor part of a path is read as a range, which gives a better error message.
        if isinstance(value, Mapping) and (within or not value.keys() & range_keys):
            found |= {f"{key}.{path}": axis for path, axis in flat(value).items()}
        else:
            found[key] = value
    return found


def path_faults(paths: Iterable[str]) -> list[Fault]:
    """Return a fault for each invalid path of a parameter.

    Parameters
    ----------
    paths
        The paths.
    """
    expected = "is not the path of a parameter, such as workload.arrival.rate_per_s"
    wrong = [path for path in paths if not all(key.strip() for key in path.split("."))]
    return [Fault("notation", f": {json.dumps(path)} {expected}", value=path) for path in wrong]


def axis_values(axis: Any) -> list[Any]:
    """Return the values of an axis.

    Parameters
    ----------
    axis
        A list, a :class:`Range`, or a range as in a file: ``{"from": 1, "to": 9, "count": 5}``.

    Raises
    ------
    KeysError
        If the axis is invalid or has no values.
    """
    if isinstance(axis, Mapping | Range):
        return range_of(axis, _SteppedRange)._values()
    values = _list(axis)
    first: dict[str, int] = {}
    places = [first.setdefault(json.dumps(value, sort_keys=True), i) for i, value in enumerate(values)]
    again = [i for i, place in enumerate(places) if place != i]
    if again:
        raise KeysError(*(Fault("conflict", ": is repeated", path=str(i), value=values[i]) for i in again))
    return values


def _list(axis: Any) -> list[Any]:
    """Return the values of a list in the form of a scenario."""
    if hasattr(axis, "tolist"):
        axis = axis.tolist()
    if isinstance(axis, str) or not isinstance(axis, Iterable):
        expected = "a list of values, or a range such as {from = 1, to = 9, count = 5}"
        raise KeysError(Fault("wrong-type", value=_format_value(axis), allowed=expected))
    axis = list(axis)
    _few(len(axis), "")
    values: list[Any] = []
    faults: list[Fault] = []
    for i, value in enumerate(axis):
        with collect_faults(faults):
            values.append(plain_value_of(value, str(i)))
    if not values and not faults:
        faults.append(Fault("out-of-range", ": has no values"))
    if faults:
        raise KeysError(*faults)
    return values


R = TypeVar("R", bound=Range)


def range_of(axis: "Mapping[str, Any] | Range", kind: type[R]) -> R:
    """Return a range as an instance of a stricter class.

    Parameters
    ----------
    axis
        The range, or its keys.
    kind
        The class.

    Raises
    ------
    KeysError
        If its keys are invalid for the class.
    """
    return validated(kind, axis.to_dict() if isinstance(axis, Range) else _numbers_of(axis))


def cross_axes(axes: Mapping[str, Any]) -> list[list[Assignment]]:
    """Return a group of assignments for each axis; the groups are combined as a full factorial.

    Parameters
    ----------
    axes
        Axes by parameter.
    """
    return [[{path: value} for value in axis_values(axis)] for path, axis in axes.items()]


def zip_axes(axes: Mapping[str, Any]) -> list[Assignment]:
    """Return one group of assignments for axes whose values are paired in order.

    Parameters
    ----------
    axes
        Axes by parameter, all with the same number of values.
    """
    if not axes:
        raise KeysError(Fault("out-of-range", ": names no axes"))
    columns = {}
    faults = path_faults(axes)
    for path, axis in axes.items():
        with collect_faults(faults, path):
            # Zipped axes may repeat a value.
            columns[path] = axis_values(axis) if isinstance(axis, Mapping | Range) else _list(axis)
    if faults:
        raise KeysError(*faults)
    lengths = {path: len(column) for path, column in columns.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{path} has {length}" for path, length in lengths.items())
        message = f": zipped axes need equal numbers of values: {counts}"
        raise KeysError(Fault("conflict", message, path=next(iter(axes))))
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _drawn(axis: Any, shares: list[float]) -> list[Any]:
    """Return the values of an axis at relative positions."""
    if isinstance(axis, Mapping | Range):
        ranged = range_of(axis, _DrawnRange)
        return [ranged.at(share) for share in shares]
    values = axis_values(axis)
    return [values[int(share * len(values))] for share in shares]


def plain_value_of(value: Any, place: str = "") -> Any:
    """Return a value in the form in which it is read from a scenario file.

    Parameters
    ----------
    value
        The given value.
    place
        Path of the value.
    """
    try:
        plain = json.loads(json.dumps(value, default=plain_value, allow_nan=False))
    except ValueError:
        raise KeysError(
            Fault("wrong-type", path=place, value=_format_value(value), allowed="a finite number")
        ) from None
    except (TypeError, RecursionError) as error:
        raise KeysError(Fault("wrong-type", f": {error}", path=place, value=_format_value(value))) from None
    if plain is None:
        raise KeysError(Fault("wrong-type", ": has no value", path=place))
    return plain


def _few(count: int, place: str) -> None:
    if count > MOST_VALUES:
        raise KeysError(Fault("out-of-range", f": {count:,} values; an axis may have {MOST_VALUES:,}", path=place))


def _format_value(value: Any) -> str:
    """Return the text of a value for a message, or its type if it cannot be written."""
    try:
        return repr(value)
    except (ValueError, RecursionError):
        return type(value).__name__
