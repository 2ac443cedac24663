"""Axes of a sweep: which values a parameter takes, and which parameters take theirs together."""

import hashlib
import json
import math
import random
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, WithJsonSchema, model_validator

from sledsim._core import Fault
from sledsim.scenario.documents import Table, Wrong, gathered, made, raised, settled
from sledsim.scenario.reading import plain_value

__all__ = [
    "Assignment",
    "Axes",
    "Range",
    "Sample",
    "axes_faults",
    "axis_values",
    "crossed",
    "derived_seed",
    "flat",
    "range_of",
    "zipped",
]

#: Values by parameter.
Assignment = dict[str, Any]

#: Values on one axis; more is most likely a slip of the pen.
MOST_VALUES = 1_000_000

#: Ends and steps of a range; twice as much is still a number.
LARGEST = 1e300

#: A number that stays whole where it is written so.
Number = Annotated[
    Annotated[int, Field(strict=True)] | Annotated[float, Field(strict=True, allow_inf_nan=False)],
    WithJsonSchema({"type": "number"}),
]

#: Axes by parameter, as a document has them: a path in quotes, or nested tables.
Axes = Annotated[
    Mapping[str, Any],
    WithJsonSchema({"type": "object", "additionalProperties": {"anyOf": [{"type": "array"}, {"type": "object"}]}}),
]

#: Digits that computed values keep: fewer than a double has, so that the last bit of a power, which is not the same on
#: every machine, does not make another run of the same point.
DIGITS = 12

#: How far beyond its end a range may reach for its last step, in steps: what sums of rounded steps may be off.
STEP_SLACK = 1e-9


class Range(Table):
    """Values from one number to another, both among them.

    Examples
    --------
    >>> Range(200, 1000, step=400).values()
    [200, 600, 1000]
    >>> Range(1, 1000, count=4, scale="log").values()
    [1, 10, 100, 1000]
    """

    model_config = ConfigDict(populate_by_name=True)

    if TYPE_CHECKING:
        # Values may go by their place.
        def __init__(self, *values: Any, **keys: Any) -> None: ...

    start: Annotated[Number, Field(alias="from")]
    """The first value."""
    stop: Annotated[Number, Field(alias="to")]
    """The last, unless a step does not hit it."""
    step: Number | None = None
    """Distance between neighbours; or else ``count``."""
    count: Annotated[int, Field(strict=True, ge=2, le=MOST_VALUES)] | None = None
    """How many values there are."""
    scale: Literal["linear", "log"] = "linear"
    """``log`` for equal ratios between neighbours, with a count; both ends above 0."""
    integer: Annotated[bool, Field(strict=True)] = False
    """Round to whole numbers, each once."""

    @model_validator(mode="after")
    def _leads_somewhere(self) -> Self:
        for key, value in (("from", self.start), ("to", self.stop), ("step", self.step)):
            if value is not None and abs(value) > LARGEST:
                says = f": expected a number from {-LARGEST:g} to {LARGEST:g}"
                raise Wrong(Fault("out-of-range", says, path=key))
        if self.scale == "log" and min(self.start, self.stop) <= 0:
            says = f": a log range from {self.start} to {self.stop}: both have to be above 0"
            raise Wrong(Fault("out-of-range", says, path="from" if self.start <= 0 else "to"))
        if self.scale == "log" and self.step is not None:
            raise Wrong(Fault("conflict", ": a log range has a count, not a step", path="step", value=self.step))
        return self

    def values(self) -> list[float]:
        """Return the values in order."""
        with raised("range"):
            return self._values()

    def _values(self) -> list[float]:
        if (self.step is None) == (self.count is None):
            says = ": expected either step or count, as in {from = 1, to = 9, count = 5}"
            raise Wrong(Fault("missing" if self.step is None else "conflict", says, path="count"))
        found = self._counted(self.count) if self.step is None and self.count else self._stepped(self.step or 0)
        return list(dict.fromkeys(found))

    def at(self, share: float) -> float:
        """Return the value at a share of the way, as it is written into a scenario.

        Parameters
        ----------
        share
            0 for the first value, 1 for the last.
        """
        if self.scale == "log":
            return self.written(math.exp(math.log(self.start) * (1 - share) + math.log(self.stop) * share))
        return self.written(self.start + (self.stop - self.start) * share)

    def written(self, value: float) -> float:
        """Round a value as far as it is worth writing; a whole one stays whole where both ends are."""
        if self.integer or isinstance(value, int):
            return round(value)
        short = float(f"{value:.{DIGITS}g}")
        whole = isinstance(self.start, int) and isinstance(self.stop, int) and short.is_integer()
        return int(short) if whole else short

    def _stepped(self, step: float) -> Iterable[float]:
        if step == 0 or (self.stop - self.start) / step < 0:
            says = f" does not lead from {self.start} to {self.stop}"
            raise Wrong(Fault("conflict", says, path="step", value=step))
        # Beyond that it is too many, however many.
        steps = math.floor(min((self.stop - self.start) / step, 1e15) + STEP_SLACK)
        _few(steps + 1, "step")
        return (self.written(self.start + i * step) for i in range(steps + 1))

    def _counted(self, count: int) -> Iterable[float]:
        # The ends are given, not computed: they keep all their digits.
        inner = (self.at(i / (count - 1)) for i in range(1, count - 1))
        ends = (round(end) if self.integer else end for end in (self.start, self.stop))
        return (next(ends), *inner, next(ends))


class Sample(Table):
    """Points drawn at random, all axes of the sample together."""

    if TYPE_CHECKING:
        # Values may go by their place.
        def __init__(self, *values: Any, **keys: Any) -> None: ...

    axes: Axes
    """By parameter: a range without step and count to draw from evenly, or a list to choose from."""
    count: Annotated[int, Field(strict=True, ge=1, le=MOST_VALUES)]
    """How many points."""
    method: Literal["random", "latin-hypercube"] = "random"
    """``latin-hypercube``: each axis is cut into as many slices as there are points, and every slice is hit once."""

    @model_validator(mode="after")
    def _can_be_drawn(self) -> Self:
        found: list[Fault] = []
        if not self.axes:
            found.append(Fault("out-of-range", ": names no axes", path="axes"))
        for path, axis in flat(self.axes).items():
            with gathered(found, f"axes.{path}"):
                _drawn(axis, [])
        settled(found)
        return self

    def assignments(self, seed: int) -> list[Assignment]:
        """Draw the points: the same for the same seed on every machine, each axis by a random stream of its own.

        Parameters
        ----------
        seed
            The sweep's.
        """
        columns = {path: _drawn(axis, self._shares(path, self.count, seed)) for path, axis in flat(self.axes).items()}
        return [{path: column[i] for path, column in columns.items()} for i in range(self.count)]

    def _shares(self, path: str, count: int, seed: int) -> list[float]:
        """Draw where on an axis the points lie, from 0 up to 1."""
        stream = random.Random(derived_seed(seed, "sample", self.method, path))
        if self.method == "random":
            return [stream.random() for _ in range(count)]
        slices = list(range(count))
        # Fisher and Yates, from random() alone: Python promises its numbers for every version.
        for i in range(count - 1, 0, -1):
            j = int(stream.random() * (i + 1))
            slices[i], slices[j] = slices[j], slices[i]
        return [(each + stream.random()) / count for each in slices]


def derived_seed(seed: int, *of: object) -> int:
    """Derive a seed from another: the first 53 bits of the SHA-256 of ``seed/of/…``, a number that JSON keeps whole.

    Parameters
    ----------
    seed
        The other seed.
    of
        What the seed is for.
    """
    text = "/".join(map(str, (seed, *of)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 11


def flat(axes: Mapping[str, Any]) -> dict[str, Any]:
    """Return axes by path, whether the path was written in quotes or as nested tables.

    Parameters
    ----------
    axes
        As a document, or a program, has them.
    """
    ranged = {field.alias or name for name, field in Range.model_fields.items()}
    found: dict[str, Any] = {}
    for key, value in axes.items():
        within = isinstance(value, Mapping) and any(isinstance(each, Mapping | list) for each in value.values())
        # What is neither a range nor a path is left to be read as a range, which says what is wrong with it.
        if isinstance(value, Mapping) and (within or not set(value) & ranged):
            found |= {f"{key}.{path}": axis for path, axis in flat(value).items()}
        else:
            found[key] = value
    return found


def axes_faults(axes: Mapping[str, Any], place: str) -> list[Fault]:
    """Return what is wrong with axes.

    Parameters
    ----------
    axes
        By parameter.
    place
        Path of their table.
    """
    found: list[Fault] = []
    for path, axis in axes.items():
        with gathered(found, f"{place}.{path}"):
            axis_values(axis)
    return found


def axis_values(axis: Any) -> list[Any]:
    """Return the values of an axis.

    Parameters
    ----------
    axis
        A list, a :class:`Range`, or a range as a file has it: ``{"from": 1, "to": 9, "count": 5}``.

    Raises
    ------
    Wrong
        Where it has none.
    """
    if isinstance(axis, Mapping | Range):
        return list(range_of(axis)._values())
    values = _list(axis)
    texts = [json.dumps(value, sort_keys=True) for value in values]
    if len(set(texts)) < len(texts):
        again = next(i for i, text in enumerate(texts) if text in texts[:i])
        raise Wrong(Fault("conflict", ": stands there twice", path=str(again), value=values[again]))
    return values


def _list(axis: Any) -> list[Any]:
    """Return the values of a list as a scenario would have them."""
    if hasattr(axis, "tolist"):
        axis = axis.tolist()
    if isinstance(axis, str) or not isinstance(axis, Iterable):
        says = "expected a list of values, or a range such as {from = 1, to = 9, count = 5}"
        raise Wrong(Fault("wrong-type", f" = {axis!r}: {says}"))
    values = [_plain(value, str(i)) for i, value in enumerate(axis)]
    if not values:
        raise Wrong(Fault("out-of-range", ": has no values"))
    _few(len(values), "")
    return values


def range_of(axis: "Mapping[str, Any] | Range") -> Range:
    """Read a range as a file has it.

    Parameters
    ----------
    axis
        Its keys: from, to, and step or count; scale, integer.
    """
    return axis if isinstance(axis, Range) else made(Range, axis)


def crossed(axes: Mapping[str, Any]) -> list[list[Assignment]]:
    """Return a group for each axis: every value goes with every one of the other groups.

    Parameters
    ----------
    axes
        Axes by parameter.
    """
    return [[{path: value} for value in axis_values(axis)] for path, axis in axes.items()]


def zipped(axes: Mapping[str, Any]) -> list[Assignment]:
    """Return a group of axes that go forward together.

    Parameters
    ----------
    axes
        Axes by parameter, all with as many values.
    """
    if not axes:
        raise Wrong(Fault("out-of-range", ": names no axes"))
    columns = {}
    found: list[Fault] = []
    for path, axis in axes.items():
        with gathered(found, path):
            # Here a value may stand twice: it goes with another one each time.
            columns[path] = axis_values(axis) if isinstance(axis, Mapping | Range) else _list(axis)
    settled(found)
    lengths = {path: len(column) for path, column in columns.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{path} has {length}" for path, length in lengths.items())
        raise Wrong(
            Fault("conflict", f": axes that go together need as many values each: {counts}", path=next(iter(axes)))
        )
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _drawn(axis: Any, shares: list[float]) -> list[Any]:
    """Return the values of an axis at shares of its way."""
    if isinstance(axis, Mapping | Range):
        ranged = range_of(axis)
        for key in ("step", "count"):
            if getattr(ranged, key) is not None:
                says = ": a range to draw from has neither step nor count; a list has fixed values"
                raise Wrong(Fault("conflict", says, path=key, value=getattr(ranged, key)))
        return [ranged.at(share) for share in shares]
    values = axis_values(axis)
    return [values[int(share * len(values))] for share in shares]


def _plain(value: Any, place: str) -> Any:
    """Return a value as it would come out of a scenario's file."""
    try:
        plain = json.loads(json.dumps(value, default=plain_value, allow_nan=False))
    except ValueError:
        raise Wrong(Fault("wrong-type", f" = {_told(value)}: expected a finite number", path=place)) from None
    except (TypeError, RecursionError) as error:
        raise Wrong(Fault("wrong-type", f" = {_told(value)}: {error}", path=place)) from None
    if plain is None:
        raise Wrong(Fault("wrong-type", ": has no value", path=place))
    return plain


def _few(count: int, place: str) -> None:
    if count > MOST_VALUES:
        raise Wrong(Fault("out-of-range", f": {count:,} values; an axis may have {MOST_VALUES:,}", path=place))


def _told(value: Any) -> str:
    """Write a value for a message; of what is too long or too deep to be written, the type."""
    try:
        return repr(value)
    except (ValueError, RecursionError):
        return type(value).__name__
