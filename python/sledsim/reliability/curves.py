"""Survival along time, of several enclosures or with more and more spares."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sledsim.reliability.description import Description, ReliabilityError
from sledsim.reliability.duration import LONGEST_H, YEAR_H
from sledsim.reliability.models import MarkovModel
from sledsim.reliability.reading import DescriptionLike, Sets, load
from sledsim.reliability.shown import Shown
from sledsim.reliability.wording import duration_said, needed_said, survival_text, years_text
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

#: Steps of a curve, at least.
STEPS = 100
#: Points within the first step, as shares of it: there the logarithm of a probability changes most.
EARLY = (0.02, 0.1, 0.4)
#: MTTFs of the disks of hong2006: commodity disks, and better ones.
DISKS_H = (100_000.0, 200_000.0)
#: Most curves in a picture that the eye keeps apart.
MOST_CURVES = 7


@dataclass(frozen=True)
class Curve:
    """The probability of loss of one thing along time.

    Parameters
    ----------
    name
        What the thing is called.
    years
        Times, increasing.
    loss
        Probability of loss up to each.
    is_disk
        True if it is a single disk, drawn for comparison.
    survival
        Probability to survive up to each, where it is known by itself; 1 - loss otherwise, which loses the digits of
        what is small.
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
        """Return it as plain values."""
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
        They have the same times.
    title, subtitle
        What they show, and of what.
    kind
        What differs: ``"spares"`` or ``"enclosure"``.
    """

    def __init__(self, curves: Sequence[Curve], title: str, subtitle: str, kind: str) -> None:
        self.curves = list(curves)
        self.title = title
        self.subtitle = subtitle
        self.kind = kind

    def tables(self) -> list[Table]:
        """Return survival at whole years, or at the end where that is sooner."""
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
        """Draw survival and, on a logarithmic axis, loss along time."""
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
    """Follow the survival of an enclosure without repairs, with none to several spares: Figure 3 of hong2006.

    Parameters
    ----------
    source
        As for :func:`sledsim.reliability.load`; its repairs are left out.
    spares
        Numbers of spares; from none to five, or to those of the enclosure.
    years
        Length of the curves, above 0.
    disks_h
        MTTFs (h) of single disks to compare with.
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
        f"{needed_said(description)}, MTTF of a device {duration_said(description.device.mttf)}, "
        f"{description.enclosure.sparing} spares"
    )
    return SurvivalCurves(curves, "Survival without repairs", subtitle, "spares")


def times_of(years: float) -> "NDArray[np.float64]":
    """Return times (years) from 0 to so many, whole years among them where they end with one, and some close to 0."""
    years = require_years(years)
    steps = STEPS if years % 1 or years > STEPS else int(years) * -(-STEPS // int(years))
    even = np.linspace(0, years, steps + 1)
    return np.concatenate([even[:1], even[1] * np.array(EARLY), even[1:]])


def require_years(years: object) -> float:
    """Return a time in years, and raise for any other value."""
    return require_number(ReliabilityError, "years", years, above=0, most=LONGEST_H / YEAR_H)


def require_times(years: object) -> list[float]:
    """Return times in years, at least one, and raise for any other value."""
    several = require_several(ReliabilityError, "years", years, "times above 0, such as [1, 3, 5]")
    times = [require_years(each) for each in several]
    if not times:
        says = "years: expected times above 0, such as [1, 3, 5] (got none)"
        raise make_error(ReliabilityError, "missing", says, path="years", allowed={"above": 0})
    return times


def spare_counts(description: Description) -> list[int]:
    """Return the numbers of spares to compare: from none to five, or to those of the enclosure."""
    return spread(max(5, description.enclosure.spares))


def spares_of(spares: object) -> list[int]:
    """Return the numbers of spares that were requested; whether an enclosure can have them, its description says."""
    return require_several(ReliabilityError, "spares", spares, "numbers of spares, such as [0, 1, 2]")


def curve_of(description: Description, name: str, years: float) -> Curve:
    """Follow the probability of loss of an enclosure, from 0 to so many years."""
    times = times_of(years)
    model = MarkovModel(description)
    with by_arguments({"time": "years"}):
        loss, survival = model.loss_probability(times * YEAR_H), model.survival(times * YEAR_H)
    return Curve(name, times.tolist(), loss.tolist(), survival=survival.tolist())


def disk_curve(mttf_h: float, years: float, what: str = "disk") -> Curve:
    """Follow the probability that a disk of an exponential lifetime fails, from 0 to so many years."""
    times = times_of(years)
    with np.errstate(over="ignore"):
        expected = times * YEAR_H / mttf_h
    loss, survival = -np.expm1(-expected), np.exp(-expected)
    return Curve(f"{what}, MTTF {mttf_h:,.0f} h", times.tolist(), loss.tolist(), True, survival.tolist())


def spread(most: int) -> list[int]:
    """Return whole numbers from 0 to the most, as many as a picture can hold."""
    step = -(-(most + 1) // MOST_CURVES)
    return sorted({most - i * step for i in range(MOST_CURVES) if i * step <= most} | {0})


def whole_years(times: Sequence[float]) -> list[int]:
    """Return the places of whole years among times, and of the last."""
    end = times[-1]
    years = range(1, int(end) + 1, max(1, -(-int(end) // MOST_CURVES)))
    return sorted({*(int(np.argmin(np.abs(np.asarray(times) - float(year)))) for year in years), len(times) - 1})
