"""Confidence intervals of means and functions of means, from independent values or from one correlated sequence."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum
from numbers import Real
from typing import TYPE_CHECKING, Any

from sledsim import _core
from sledsim._core import SledsimError
from sledsim.show.arguments import require_kind, require_several
from sledsim.show.faults import make_error

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Interval", "batched_interval", "jackknife_interval", "mean_interval"]

#: Number of batches of a long sequence: enough for Student's t to be close to its limit, and few enough to be long.
BATCHES = 30


@dataclass(frozen=True)
class Interval:
    """A mean with its confidence interval, 95 % by default.

    Parameters
    ----------
    mean
        The mean.
    low, high
        Ends of the interval; both equal the mean if it is exact.
    """

    mean: float
    low: float
    high: float

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends, the lower first."""
        return self.low, self.high

    def __str__(self) -> str:
        return f"{self.mean:.4g} ({self.low:.4g} to {self.high:.4g})"


def mean_interval(values: Iterable[float], *, confidence: float = 0.95) -> Interval:
    """Return the mean of independent values with its confidence interval by Student's t.

    Parameters
    ----------
    values
        At least two values, such as the means of replications with different seeds.
    confidence
        The confidence level, above 0 and below 1.

    Raises
    ------
    SledsimError
        If there are fewer than two values, or the confidence level is out of range.

    Examples
    --------
    >>> found = mean_interval([1.0, 2.0, 3.0])
    >>> round(found.mean, 3), round(found.low, 3), round(found.high, 3)
    (2.0, -0.484, 4.484)
    """
    numbers = require_several(SledsimError, "values", values, "a sequence of numbers")
    for each in numbers:
        require_kind(SledsimError, "values", each, Real, "a sequence of numbers")  # type: ignore[type-abstract]
    count = _require_two(numbers)
    if not 0 < confidence < 1:
        raise make_error(
            SledsimError, "out-of-range", path="confidence", value=confidence, allowed={"above": 0, "below": 1}
        )
    mean = fsum(numbers) / count
    variance = fsum((each - mean) ** 2 for each in numbers) / (count - 1)
    return Interval(mean, *_core.mean_interval(count, mean, variance, confidence=confidence))


def batched_interval(
    values: "Sequence[float] | NDArray[np.float64]", figure: Callable[..., float] | None = None
) -> Interval:
    """Return the mean of one correlated sequence with its 95 % confidence interval, by the method of batch means.

    There are 30 batches, whose lengths differ by at most one; a sequence of fewer than 60 values has a batch per value.
    The mean is that of all values.

    Parameters
    ----------
    values
        At least two values, in order.
    figure
        A statistic of the sequence and of each batch to use instead of the mean, such as the standard deviation.

    Raises
    ------
    SledsimError
        If there are fewer than two values.
    """
    _require_two(require_several(SledsimError, "values", values, "a sequence of numbers"))
    figure = figure or (lambda part: sum(part) / len(part))
    batches = BATCHES if len(values) >= 2 * BATCHES else len(values)
    starts = [i * (len(values) // batches) + min(i, len(values) % batches) for i in range(batches + 1)]
    around = mean_interval(float(figure(values[start:end])) for start, end in pairwise(starts))
    return Interval(float(figure(values)), *around.ends)


def jackknife_interval(estimate: Callable[..., float], *columns: Sequence[float]) -> Interval:
    """Return a function of the means of paired values, with its 95 % confidence interval by the jackknife.

    Use it for a ratio of means, such as the relative times of two systems. The interval is Student's t on
    pseudo-values, each of which leaves one replication out (A. M. Law, *Simulation Modeling and Analysis*, section
    9.5.2).

    Parameters
    ----------
    estimate
        A function of one mean for each column.
    *columns
        Columns with a value for each replication, in the same order; at least two replications.

    Raises
    ------
    SledsimError
        If the columns differ in length, or have fewer than two values.

    Examples
    --------
    >>> found = jackknife_interval(lambda one, other: one / other, [2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    >>> round(found.mean, 6), round(found.high - found.low, 6)
    (2.0, 0.0)
    """
    counts = {len(require_several(SledsimError, "values", column, "a sequence of numbers")) for column in columns}
    if len(counts) != 1:
        message = f"values can't be paired: there are {' and '.join(map(str, sorted(counts)))}"
        raise make_error(SledsimError, "misfit", message, path="values", value=sorted(counts))
    count = _require_two(columns[0])
    sums = [sum(column) for column in columns]
    full = estimate(*(total / count for total in sums))
    left_out = [
        estimate(*((total - column[i]) / (count - 1) for total, column in zip(sums, columns, strict=True)))
        for i in range(count)
    ]
    around = mean_interval(count * full - (count - 1) * each for each in left_out)
    return Interval(full, full + around.low - around.mean, full + around.high - around.mean)


def _require_two(values: Sequence[Any]) -> int:
    """Return the number of values, and raise if there are fewer than two."""
    count = len(values)
    if count < 2:
        message = f"a confidence interval needs at least 2 values; there are {count}"
        raise make_error(SledsimError, "out-of-range", message, path="values", value=count, allowed={"least": 2})
    return count
