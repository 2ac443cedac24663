"""Where what runs find lies with a confidence of 95 %."""

from collections.abc import Callable, Iterable, Mapping
from math import hypot
from typing import TYPE_CHECKING, Any

from sledsim.confidence import mean_interval
from sledsim.papers.finding import Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["of_batches", "of_mean", "of_ratio", "of_replications"]

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


def of_replications(values: Iterable[float]) -> Interval:
    """Return where the mean of independent values lies, by Student's t.

    Parameters
    ----------
    values
        One of each replication, at least two.
    """
    found = mean_interval(values)
    return found.low, found.high


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
