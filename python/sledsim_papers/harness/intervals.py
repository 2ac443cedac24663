"""Where a figure lies with a confidence of 95 %."""

from collections.abc import Callable, Iterable, Mapping
from math import hypot
from typing import TYPE_CHECKING, Any

from sledsim.runs import mean_interval
from sledsim_papers.harness.finding import Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SEEDS", "batched", "of_mean", "of_ratio", "over_seeds"]

#: Seeds of runs that are made several times.
SEEDS = (1, 2, 3)

#: Batches that a long series is cut into.
BATCHES = 30


def over_seeds(figures: Iterable[float]) -> Interval:
    """Return the interval of the mean of a figure that was found with each of several seeds, by Student's t.

    Parameters
    ----------
    figures
        One for each seed, at least two.
    """
    found = mean_interval(figures)
    return found.low, found.high


def batched(sample: "NDArray[np.float64]", figure: "Callable[[NDArray[np.float64]], float] | None" = None) -> Interval:
    """Return the interval of a figure of a series, by that figure of batches of it.

    Parameters
    ----------
    sample
        One quantity of many requests, in the order in which they were served.
    figure
        Computes it; the mean if not given.
    """
    import numpy as np

    batches = np.array_split(sample, BATCHES)
    return over_seeds(figure(batch) if figure else float(batch.mean()) for batch in batches)


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
