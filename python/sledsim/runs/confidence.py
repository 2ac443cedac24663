"""Where a mean, or what is made of means, lies: confidence intervals from independent values or from one sequence."""

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

#: Batches into which one long sequence is cut: enough for Student's t to be near its limit, few enough to be long.
BATCHES = 30


@dataclass(frozen=True)
class Interval:
    """A mean, and where it lies with a confidence, 95 % by default.

    Parameters
    ----------
    mean
        The mean.
    low, high
        Ends of the interval; both are the mean where it is exact.
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
        At least two, such as the means of replications with seeds of their own.
    confidence
        The share of such intervals that hold what the mean tends to, above 0 and below 1.

    Raises
    ------
    SledsimError
        Where there are fewer than two, or the confidence is none.

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
    """Return the mean of one sequence, whose neighbours may resemble each other, with its 95 % confidence interval.

    The interval is that of the means of 30 batches, as long as each other or by one; of the values themselves where
    there are fewer than 60. The mean is that of all values.

    Parameters
    ----------
    values
        In order; at least two.
    figure
        Another figure of the sequence and of each batch in place of the mean, such as its deviation.

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
    """Return the estimate from means of paired values, with its 95 % confidence interval by the jackknife.

    For a ratio of means, such as what one system takes of another's time: Student's t on pseudo-values, each of which
    comes from leaving one replication out (A. M. Law, *Simulation Modeling and Analysis*, section 9.5.2).

    Parameters
    ----------
    estimate
        Makes the figure from one mean for each column.
    *columns
        A value for every replication; those at the same place are of the same one. At least two.

    Raises
    ------
    SledsimError
        Where columns are not of the same number, or shorter than two.

    Examples
    --------
    >>> found = jackknife_interval(lambda one, other: one / other, [2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    >>> round(found.mean, 6), round(found.high - found.low, 6)
    (2.0, 0.0)
    """
    counts = {len(require_several(SledsimError, "values", column, "a sequence of numbers")) for column in columns}
    if len(counts) != 1:
        says = f"values can't be paired: there are {' and '.join(map(str, sorted(counts)))}"
        raise make_error(SledsimError, "misfit", says, path="values", value=sorted(counts))
    count = _require_two(columns[0])
    sums = [sum(column) for column in columns]
    whole = estimate(*(total / count for total in sums))
    left_out = [
        estimate(*((total - column[i]) / (count - 1) for total, column in zip(sums, columns, strict=True)))
        for i in range(count)
    ]
    around = mean_interval(count * whole - (count - 1) * each for each in left_out)
    return Interval(whole, whole + around.low - around.mean, whole + around.high - around.mean)


def _require_two(values: Sequence[Any]) -> int:
    """Return how many values there are, at least two."""
    count = len(values)
    if count < 2:
        says = f"a confidence interval takes at least 2 values; there are {count}"
        raise make_error(SledsimError, "out-of-range", says, path="values", value=count, allowed={"least": 2})
    return count
