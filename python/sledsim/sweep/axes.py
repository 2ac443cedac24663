"""Axes of a sweep: which values a parameter takes, and which parameters take theirs together."""

import hashlib
import json
import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sledsim._core import ScenarioError
from sledsim.scenario.reading import plain_value
from sledsim.show.naming import did_you_mean

__all__ = ["Assignment", "Range", "Sample", "crossed", "derived_seed", "zipped"]

#: Values by parameter.
Assignment = dict[str, Any]

#: What a range in a file may say.
RANGE_KEYS = ("from", "to", "step", "count", "scale", "integer")
SCALES = ("linear", "log")
METHODS = ("random", "latin-hypercube")

#: Digits that computed values keep: fewer than a double has, so that the last bit of a power, which is not the same on
#: every machine, does not make another run of the same point.
DIGITS = 12

#: How far beyond its end a range may reach for its last step, in steps: what sums of rounded steps may be off.
STEP_SLACK = 1e-9

#: Values on one axis; more is most likely a slip of the pen.
MOST_VALUES = 1_000_000


@dataclass(frozen=True)
class Range:
    """Values from one number to another, both among them.

    Parameters
    ----------
    start
        The first value.
    stop
        The last, unless a step does not hit it.
    step
        Distance between neighbours; or else
    count
        how many values there are.
    scale
        ``"linear"``, or ``"log"`` for equal ratios between neighbours (with a count; both ends above 0).
    integer
        Round to whole numbers, each once.

    Examples
    --------
    >>> Range(200, 1000, step=400).values()
    [200, 600, 1000]
    >>> Range(1, 1000, count=4, scale="log").values()
    [1, 10, 100, 1000]
    """

    start: float
    stop: float
    step: float | None = None
    count: int | None = None
    scale: str = "linear"
    integer: bool = False

    def values(self, place: str = "range") -> list[float]:
        """Return the values in order.

        Parameters
        ----------
        place
            What messages call the range.
        """
        self.check_ends(place)
        if (self.step is None) == (self.count is None):
            raise ScenarioError(f"{place}: expected either step or count, as in {{from = 1, to = 9, count = 5}}")
        found = self._stepped(place) if self.step is not None else self._counted(place)
        return list(dict.fromkeys(found))

    def check_ends(self, place: str) -> None:
        """Refuse a range that leads nowhere.

        Parameters
        ----------
        place
            What messages call it.
        """
        for key, value in (("from", self.start), ("to", self.stop)):
            _finite(value, f"{place}.{key}")
        if self.scale not in SCALES:
            raise ScenarioError(f"{place}.scale = {self.scale!r} is not known{did_you_mean(self.scale, SCALES)}")
        if not isinstance(self.integer, bool):
            raise ScenarioError(f"{place}.integer = {self.integer!r}: expected true or false")
        if self.scale == "log" and min(self.start, self.stop) <= 0:
            raise ScenarioError(f"{place}: a log range from {self.start} to {self.stop}: both have to be above 0")

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

    def _stepped(self, place: str) -> Iterable[float]:
        step = _finite(self.step, f"{place}.step")
        if self.scale == "log":
            raise ScenarioError(f"{place}: a log range has a count, not a step")
        if step == 0 or (self.stop - self.start) / step < 0:
            raise ScenarioError(f"{place}.step = {step} does not lead from {self.start} to {self.stop}")
        steps = math.floor((self.stop - self.start) / step + STEP_SLACK)
        _few(steps + 1, place)
        return (self.written(self.start + i * step) for i in range(steps + 1))

    def _counted(self, place: str) -> Iterable[float]:
        count = _count(self.count, f"{place}.count", least=2)
        _few(count, place)
        # The ends are given, not computed: they keep all their digits.
        inner = (self.at(i / (count - 1)) for i in range(1, count - 1))
        ends = (round(end) if self.integer else end for end in (self.start, self.stop))
        return (next(ends), *inner, next(ends))


@dataclass(frozen=True)
class Sample:
    """Points drawn at random, all axes of the sample together.

    Parameters
    ----------
    axes
        By parameter: a :class:`Range` without step and count to draw from evenly, or a list to choose from.
    count
        How many points.
    method
        ``"random"``, or ``"latin-hypercube"``: each axis is cut into as many slices as there are points, and every
        slice is hit once.
    """

    axes: Mapping[str, Any]
    count: int
    method: str = "random"

    def assignments(self, seed: int, place: str = "sample") -> list[Assignment]:
        """Draw the points: the same for the same seed on every machine, each axis by a random stream of its own.

        Parameters
        ----------
        seed
            The sweep's.
        place
            What messages call the sample.
        """
        count = _count(self.count, f"{place}.count", least=1)
        _few(count, place)
        if self.method not in METHODS:
            raise ScenarioError(f"{place}.method = {self.method!r} is not known{did_you_mean(self.method, METHODS)}")
        if not self.axes:
            raise ScenarioError(f"{place}: names no axes")
        columns = {
            path: _drawn(axis, self._shares(path, count, seed), f"{place}.axes.{path}")
            for path, axis in self.axes.items()
        }
        return [{path: column[i] for path, column in columns.items()} for i in range(count)]

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


def axis_values(axis: Any, place: str) -> list[Any]:
    """Return the values of an axis.

    Parameters
    ----------
    axis
        A list, a :class:`Range`, or a range as a file has it: ``{"from": 1, "to": 9, "count": 5}``.
    place
        What messages call it.
    """
    if isinstance(axis, Mapping):
        axis = range_of(axis, place)
    if isinstance(axis, Range):
        return list(axis.values(place))
    values = _list(axis, place)
    texts = [json.dumps(value, sort_keys=True) for value in values]
    if len(set(texts)) < len(texts):
        again = next(i for i, text in enumerate(texts) if text in texts[:i])
        raise ScenarioError(f"{place}[{again}] = {texts[again]}: stands there twice")
    return values


def _list(axis: Any, place: str) -> list[Any]:
    """Return the values of a list as a scenario would have them."""
    if hasattr(axis, "tolist"):
        axis = axis.tolist()
    if isinstance(axis, str) or not isinstance(axis, Iterable):
        raise ScenarioError(
            f"{place} = {axis!r}: expected a list of values, or a range such as {{from = 1, to = 9, count = 5}}"
        )
    values = [_plain(value, f"{place}[{i}]") for i, value in enumerate(axis)]
    if not values:
        raise ScenarioError(f"{place}: has no values")
    _few(len(values), place)
    return values


def range_of(table: Mapping[str, Any], place: str) -> Range:
    """Read a range as a file has it.

    Parameters
    ----------
    table
        Its keys: from, to, and step or count; scale, integer.
    place
        What messages call it.
    """
    for key in table:
        if key not in RANGE_KEYS:
            raise ScenarioError(f"{place}: unknown key {key!r} of a range{did_you_mean(str(key), RANGE_KEYS)}")
    for key in ("from", "to"):
        if key not in table:
            raise ScenarioError(f"{place}: a range needs {key}, as in {{from = 1, to = 9, count = 5}}")
    named = {key: value for key, value in table.items() if key not in ("from", "to")}
    return Range(table["from"], table["to"], **named)


def crossed(axes: Mapping[str, Any], place: str) -> list[list[Assignment]]:
    """Return a group for each axis: every value goes with every one of the other groups.

    Parameters
    ----------
    axes
        Axes by parameter.
    place
        What messages call them.
    """
    return [[{path: value} for value in axis_values(axis, f"{place}.{path}")] for path, axis in axes.items()]


def zipped(axes: Mapping[str, Any], place: str) -> list[Assignment]:
    """Return a group of axes that go forward together.

    Parameters
    ----------
    axes
        Axes by parameter, all with as many values.
    place
        What messages call them.
    """
    if not axes:
        raise ScenarioError(f"{place}: names no axes")
    # Here a value may stand twice: it goes with another one each time.
    columns = {
        path: axis_values(axis, f"{place}.{path}")
        if isinstance(axis, Mapping | Range)
        else _list(axis, f"{place}.{path}")
        for path, axis in axes.items()
    }
    lengths = {path: len(column) for path, column in columns.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{path} has {length}" for path, length in lengths.items())
        raise ScenarioError(f"{place}: axes that go together need as many values each: {counts}")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _drawn(axis: Any, shares: list[float], place: str) -> list[Any]:
    """Return the values of an axis at shares of its way."""
    if isinstance(axis, Mapping):
        axis = range_of(axis, place)
    if isinstance(axis, Range):
        axis.check_ends(place)
        if axis.step is not None or axis.count is not None:
            raise ScenarioError(f"{place}: a range to draw from has neither step nor count; a list has fixed values")
        return [axis.at(share) for share in shares]
    values = axis_values(axis, place)
    return [values[int(share * len(values))] for share in shares]


def _plain(value: Any, place: str) -> Any:
    """Return a value as it would come out of a scenario's file."""
    try:
        plain = json.loads(json.dumps(value, default=plain_value, allow_nan=False))
    except ValueError:
        raise ScenarioError(f"{place} = {value!r}: expected a finite number") from None
    except TypeError as error:
        raise ScenarioError(f"{place} = {value!r}: {error}") from None
    if plain is None:
        raise ScenarioError(f"{place}: has no value")
    return plain


def _finite(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ScenarioError(f"{place} = {value!r}: expected a number")
    if not math.isfinite(value):
        raise ScenarioError(f"{place} = {value!r}: expected a finite number")
    return value


def _count(value: Any, place: str, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ScenarioError(f"{place} = {value!r}: expected a whole number, at least {least}")
    return value


def _few(count: int, place: str) -> None:
    if count > MOST_VALUES:
        raise ScenarioError(f"{place}: {count:,} values; an axis may have {MOST_VALUES:,}")
