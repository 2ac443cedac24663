"""Where a mean lies: intervals of confidence from independent values, from one sequence, and of paired differences."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

from sledsim._core import SledsimError, students_t_95

__all__ = ["Interval", "batched_interval", "mean_interval", "paired_difference"]

#: Batches into which one long sequence is cut: enough for Student's t to be near its limit, few enough to be long.
BATCHES = 30


@dataclass(frozen=True)
class Interval:
    """A mean, and where it lies with a confidence of 95 %.

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

    def __str__(self) -> str:
        return f"{self.mean:.4g} ({self.low:.4g} to {self.high:.4g})"


def mean_interval(values: Iterable[float]) -> Interval:
    """Return the mean of independent values with its 95 % confidence interval by Student's t.

    Parameters
    ----------
    values
        At least two, such as the means of replications with seeds of their own.

    Raises
    ------
    SledsimError
        Where there are fewer than two.

    Examples
    --------
    >>> found = mean_interval([1.0, 2.0, 3.0])
    >>> round(found.mean, 3), round(found.low, 3), round(found.high, 3)
    (2.0, -0.484, 4.484)
    """
    numbers = list(values)
    count = len(numbers)
    if count < 2:
        raise SledsimError(f"a confidence interval takes at least 2 values; there are {count}")
    mean = sum(numbers) / count
    variance = sum((each - mean) ** 2 for each in numbers) / (count - 1)
    half_width = students_t_95(count - 1) * sqrt(variance / count)
    return Interval(mean, mean - half_width, mean + half_width)


def batched_interval(values: Sequence[float]) -> Interval:
    """Return the mean of one sequence, whose neighbours may resemble each other, with its 95 % confidence interval.

    The interval is that of the means of 30 batches of equal length; of the values themselves where there are fewer than
    60. The mean is that of all values.

    Parameters
    ----------
    values
        In order; at least two.
    """
    numbers = [float(each) for each in values]
    length = len(numbers) // BATCHES
    if length < 2:
        return mean_interval(numbers)
    means = [sum(numbers[i * length : (i + 1) * length]) / length for i in range(BATCHES)]
    around = mean_interval(means)
    mean = sum(numbers) / len(numbers)
    return Interval(mean, mean + around.low - around.mean, mean + around.high - around.mean)


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Interval:
    """Return the mean of the differences between paired values with its 95 % confidence interval.

    What two systems find with the same random numbers goes up and down together, so that the differences vary less than
    the values (A. M. Law, *Simulation Modeling and Analysis*, section 10.2.1).

    Parameters
    ----------
    first, second
        A value of each for every replication; the differences are first less second.

    Raises
    ------
    SledsimError
        Where they are not of the same number, or fewer than two.
    """
    if len(first) != len(second):
        raise SledsimError(f"values can't be paired: there are {len(first)} and {len(second)}")
    return mean_interval([one - other for one, other in zip(first, second, strict=True)])
