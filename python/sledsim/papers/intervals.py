"""Where what runs find lies with a confidence of 95 %."""

from collections.abc import Callable, Mapping, Sequence
from math import hypot, sqrt
from typing import TYPE_CHECKING, Any

from sledsim.papers.finding import Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["of_batches", "of_mean", "of_ratio", "of_replications"]

#: Student's t for 95 %, by the number of values.
STUDENT_T = {3: 4.303, 4: 3.182, 5: 2.776, 8: 2.365, 10: 2.262}
BATCHES = 10


def of_mean(times: Mapping[str, Any]) -> tuple[Interval, ...]:
    """Return where the mean of a section of a result lies; nothing where the run is too short to tell.

    Parameters
    ----------
    times
        Such as ``result.response``.
    """
    low, high = times["ci95_low_ms"], times["ci95_high_ms"]
    return () if low is None else ((float(low), float(high)),)


def of_ratio(above: Mapping[str, Any], below: Mapping[str, Any]) -> tuple[Interval, ...]:
    """Return where the ratio of the means of two independent runs lies, by the first order of the errors.

    Parameters
    ----------
    above, below
        Sections of two results.
    """
    if not (of_mean(above) and of_mean(below)):
        return ()
    shares = [(part["ci95_high_ms"] - part["ci95_low_ms"]) / 2 / part["mean_ms"] for part in (above, below)]
    ratio, share = float(above["mean_ms"] / below["mean_ms"]), hypot(*shares)
    return ((ratio * (1 - share), ratio * (1 + share)),)


def of_replications(values: Sequence[float]) -> Interval:
    """Return where the mean of independent values lies, by Student's t.

    Parameters
    ----------
    values
        One of each replication, 3, 4, 5, 8 or 10 of them.
    """
    count = len(values)
    mean = sum(values) / count
    half = STUDENT_T[count] * sqrt(sum((each - mean) ** 2 for each in values) / (count - 1) / count)
    return mean - half, mean + half


def of_batches(sample: "NDArray[np.float64]", figure: "Callable[[NDArray[np.float64]], float]") -> Interval:
    """Return where a figure of a long series lies, by that figure of ten batches of it.

    Parameters
    ----------
    sample
        One quantity of many requests, in the order in which they came.
    figure
        Computes it.
    """
    import numpy as np

    return of_replications([figure(batch) for batch in np.array_split(sample, BATCHES)])
