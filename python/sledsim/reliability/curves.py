"""Survival over time, for several enclosures or several numbers of spares."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sledsim.reliability.description import Description, ReliabilityError
from sledsim.reliability.duration import LONGEST_H, YEAR_H
from sledsim.reliability.models import MarkovModel
from sledsim.reliability.reading import DescriptionLike, Sets, load
from sledsim.reliability.shown import Shown
from sledsim.reliability.wording import device_count_text, duration_text, survival_text, years_text
from sledsim.show.arguments import require_number, require_several
from sledsim.show.faults import by_arguments, make_error
from sledsim.show.naming import with_count
from sledsim.show.tables import Table

if TYPE_CHECKING:
    import altair
    from numpy.typing import NDArray

__all__ = [
    "Curve",
    "SurvivalCurves",
    "curve_of",
    "disk_curve",
    "require_times",
    "require_years",
    "spare_counts",
    "spares_of",
    "spread",
    "survival_by_spares",
    "times_of",
    "whole_years",
]

#: Minimum number of steps of a curve.
STEPS = 100
#: Points within the first step, as shares of it: the logarithm of the probability changes most there.
EARLY = (0.02, 0.1, 0.4)
#: MTTFs of the disks of hong2006: commodity disks and better ones.
DISKS_H = (100_000.0, 200_000.0)
#: Maximum number of curves that are distinguishable in a chart.
MOST_CURVES = 7


@dataclass(frozen=True)
class Curve:
    """The probability of loss of an enclosure or disk over time.

    Parameters
    ----------
    name
        Name of the enclosure or disk.
    years
        Times, increasing.
    loss
        Probability of loss up to each time.
    is_disk
        True if it is a single disk, drawn for comparison.
    survival
        Probability of survival up to each time, if computed directly; otherwise 1 - loss, which is inexact for small
        values.
    """

    name: str
    years: Sequence[float]
    loss: Sequence[float]
    is_disk: bool = False
    survival: Sequence[float] = ()

    def __post_init__(self) -> None:
        if not self.survival:
            object.__setattr__(self, "survival", [1 - loss for loss in self.loss])

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as plain values."""
        return {
            "name": self.name,
            "is_disk": self.is_disk,
            "years": list(self.years),
            "survival": list(self.survival),
            "loss": list(self.loss),
        }


class SurvivalCurves(Shown):
    """Survival of several enclosures, or of one with different numbers of spares, R(t) of hong2006.

    Parameters
    ----------
    curves
        The curves, all with the same times.
    title, subtitle
        Title and subtitle of tables and charts.
    kind
        Difference between the curves: ``"spares"`` or ``"enclosure"``.
    """

    def __init__(self, curves: Sequence[Curve], title: str, subtitle: str, kind: str) -> None:
        self.curves = list(curves)
        self.title = title
        self.subtitle = subtitle
        self.kind = kind

    def tables(self) -> list[Table]:
        """Return a table of survival at whole years and at the last time."""
        times = self.curves[0].years
        marks = whole_years(times)
        rows = [
            [curve.name, *(survival_text(curve.loss[mark], curve.survival[mark]) for mark in marks)]
            for curve in self.curves
        ]
        headers = ["survival", *(years_text(round(times[mark], 3)) for mark in marks)]
        return [Table(headers, rows, title=f"{self.title} · {self.subtitle}")]

    def to_dict(self) -> dict[str, Any]:
        """Return the curves as plain values."""
        return {"title": self.title, "subtitle": self.subtitle, "curves": [curve.to_dict() for curve in self.curves]}

    def plot(self) -> "altair.TopLevelMixin":
        """Draw survival and, on a logarithmic axis, loss over time."""
        from sledsim.reliability.charts import survival_lines

        return survival_lines(self)


def survival_by_spares(
    source: DescriptionLike,
    *,
    spares: Sequence[int] | None = None,
    years: float = 5.0,
    disks_h: Sequence[float] = DISKS_H,
    overrides: Sets = (),
) -> SurvivalCurves:
    """Compute the survival of an enclosure without repairs for several numbers of spares: Figure 3 of hong2006.

    Parameters
    ----------
    source
        As for :func:`sledsim.reliability.load`; its repairs are ignored.
    spares
        Numbers of spares; by default, 0 to 5, or to the number of spares of the enclosure if that is larger.
    years
        Length of the curves, above 0.
    disks_h
        MTTFs (h) of single disks drawn for comparison.
    overrides
        Values that replace those of the description.

    Examples
    --------
    >>> enclosure = {
    ...     "enclosure": {"data": 19, "parity": 1},
    ...     "device": {"mttf": "200000 h"},
    ...     "rebuild": {"time": "15 min"},
    ... }
    >>> curves = survival_by_spares(enclosure, years=3.0).curves
    >>> curves[5].name, round(curves[5].loss[-1], 4)
    ('5 spares', 0.0175)
    """
    description = load(source, overrides=overrides).replace(repair=None)
    lives_h = [
        require_number(ReliabilityError, "disks_h", mttf_h, above=0, most=LONGEST_H, unit="hours")
        for mttf_h in require_several(ReliabilityError, "disks_h", disks_h, "hours above 0, such as [100_000]")
    ]
    counts = spare_counts(description) if spares is None else spares_of(spares)
    curves = [
        curve_of(description.replace(enclosure={"spares": count}), with_count(count, "spare"), years)
        for count in counts
    ]
    curves += [disk_curve(mttf_h, years) for mttf_h in lives_h]
    subtitle = (
        f"{device_count_text(description)}, MTTF of a device {duration_text(description.device.mttf)}, "
        f"{description.enclosure.sparing} spares"
    )
    return SurvivalCurves(curves, "Survival without repairs", subtitle, "spares")


def times_of(years: float) -> "NDArray[np.float64]":
    """Return times from 0 to ``years``, with some close to 0; if ``years`` is whole, all whole years are included."""
    years = require_years(years)
    steps = STEPS if years % 1 or years > STEPS else int(years) * -(-STEPS // int(years))
    even = np.linspace(0, years, steps + 1)
    return np.concatenate([even[:1], even[1] * np.array(EARLY), even[1:]])


def require_years(years: object) -> float:
    """Return a time in years, and raise if it is invalid."""
    return require_number(ReliabilityError, "years", years, above=0, most=LONGEST_H / YEAR_H)


def require_times(years: object) -> list[float]:
    """Return a list of times in years, and raise if it is empty or invalid."""
    several = require_several(ReliabilityError, "years", years, "times above 0, such as [1, 3, 5]")
    times = [require_years(each) for each in several]
    if not times:
        message = "years: expected times above 0, such as [1, 3, 5] (got none)"
        raise make_error(ReliabilityError, "missing", message, path="years", allowed={"above": 0})
    return times


def spare_counts(description: Description) -> list[int]:
    """Return the default numbers of spares: 0 to 5, or to the number of spares of the enclosure if larger."""
    return spread(max(5, description.enclosure.spares))


def spares_of(spares: object) -> list[int]:
    """Return the given numbers of spares as a list; :class:`Description` checks their range."""
    return require_several(ReliabilityError, "spares", spares, "numbers of spares, such as [0, 1, 2]")


def curve_of(description: Description, name: str, years: float) -> Curve:
    """Compute the probability of loss of an enclosure over time, from 0 to ``years``."""
    times = times_of(years)
    model = MarkovModel(description)
    with by_arguments({"time": "years"}):
        loss, survival = model.loss_probability(times * YEAR_H), model.survival(times * YEAR_H)
    return Curve(name, times.tolist(), loss.tolist(), survival=survival.tolist())


def disk_curve(mttf_h: float, years: float, what: str = "disk") -> Curve:
    """Compute the probability that a disk with an exponential lifetime has failed, from 0 to ``years``."""
    times = times_of(years)
    with np.errstate(over="ignore"):
        expected = times * YEAR_H / mttf_h
    loss, survival = -np.expm1(-expected), np.exp(-expected)
    return Curve(f"{what}, MTTF {mttf_h:,.0f} h", times.tolist(), loss.tolist(), True, survival.tolist())


def spread(most: int) -> list[int]:
    """Return evenly spaced whole numbers from 0 to ``most``, few enough for one chart."""
    step = -(-(most + 1) // MOST_CURVES)
    return sorted({most - i * step for i in range(MOST_CURVES) if i * step <= most} | {0})


def whole_years(times: Sequence[float]) -> list[int]:
    """Return the indices of the times closest to whole years, and of the last time."""
    end = times[-1]
    years = range(1, int(end) + 1, max(1, -(-int(end) // MOST_CURVES)))
    return sorted({*(int(np.argmin(np.abs(np.asarray(times) - float(year)))) for year in years), len(times) - 1})
