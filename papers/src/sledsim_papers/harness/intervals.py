"""Confidence intervals (95 %) of figures."""

from collections.abc import Callable, Mapping, Sequence
from math import hypot
from typing import TYPE_CHECKING, Any

from sledsim.runs import mean_interval
from sledsim_papers.harness.finding import Interval

if TYPE_CHECKING:
    from sledsim_papers.harness.study import Study

__all__ = ["of_mean", "of_ratio", "over_seeds"]


def over_seeds(
    study: "Study", figures: "Callable[[Study], Sequence[float]]"
) -> tuple[tuple[float, ...], tuple[Interval, ...]]:
    """Return the means of figures over a study's seeds, and their intervals; with one seed the intervals are points.

    Parameters
    ----------
    study
        The study.
    figures
        Returns the figures of a study with one seed.
    """
    found = [tuple(figures(each)) for each in study.by_seed()]
    if len(found) == 1:
        return found[0], tuple((each, each) for each in found[0])
    means = [mean_interval(each) for each in zip(*found, strict=True)]
    return tuple(each.mean for each in means), tuple(each.ends for each in means)


def of_mean(times: Mapping[str, Any]) -> tuple[Interval, ...]:
    """Return the interval of the mean in a section of a result; empty if the run is too short.

    Parameters
    ----------
    times
        Such as ``result.response``.
    """
    low, high = times["ci95_low_ms"], times["ci95_high_ms"]
    return () if low is None else ((float(low), float(high)),)


def of_ratio(above: Mapping[str, Any], below: Mapping[str, Any]) -> tuple[Interval, ...]:
    """Return the interval of the ratio of the means of two independent runs, by first-order error propagation.

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
