"""What an experiment finds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

__all__ = ["Finding", "Interval", "Ours", "Probe", "order", "trend"]

#: Figures in the claim's unit, names best first, or the sign of a trend: ``+``, ``-``, ``~``; ``?`` for none of them.
Ours = float | tuple[float, ...] | tuple[str, ...] | str

#: Where a figure lies with a confidence of 95 %.
Interval = tuple[float, float]

#: A trend that stays within this share of its middle hardly moves; one that turns back by more than this has no sign.
HARDLY_MOVES, TURNS_BACK = 0.05, 0.005


@dataclass(frozen=True)
class Probe:
    """A change to the model that tests the cause of a difference, and what is found with it.

    Parameters
    ----------
    change
        What is changed, such as ``no command overhead``.
    ours
        What is found then; like :attr:`Finding.ours`.
    """

    change: str
    ours: Ours


@dataclass(frozen=True)
class Finding:
    """What we find for a claim.

    Parameters
    ----------
    ours
        Figures in the claim's unit, names best first, or the sign of a trend.
    how
        How it was found, in a sentence or two: devices, load, number of requests, what is included.
    decimals
        Digits after the point that are worth printing.
    intervals
        For each figure where it lies with a confidence of 95 %; none for what is exact.
    scenarios
        What was run, as settings or whole scenarios; the report shows their texts.
    curve
        The figures behind it, one row each, for the report's table.
    cause
        Why it differs, where it does; in a few sentences.
    probes
        The model changed accordingly, and what is found then: the evidence for the cause.
    shape
        For stand-ins: the order or the trend that the paper states of this quantity, in words.
    shape_holds
        Whether our figures show that order or trend; computed, like the figures.
    """

    ours: Ours
    how: str
    decimals: int = 3
    intervals: tuple[Interval, ...] = ()
    scenarios: tuple[Mapping[str, Any], ...] = ()
    curve: tuple[Mapping[str, Any], ...] = ()
    cause: str = ""
    probes: tuple[Probe, ...] = ()
    shape: str = ""
    shape_holds: bool = False

    def __post_init__(self) -> None:
        several = len(self.ours) if isinstance(self.ours, tuple) else 1
        if self.intervals and len(self.intervals) != several:
            raise ValueError(f"{len(self.intervals)} intervals for {several} figures: {self.ours!r}")


def trend(values: Sequence[float]) -> str:
    """Tell how a quantity goes as a parameter rises.

    Parameters
    ----------
    values
        The quantity at rising values of the parameter, above 0.

    Returns
    -------
    str
        ``~`` where it stays within 5 % of its middle, ``+`` or ``-`` where it never goes the other way by more than
        0.5 %, ``?`` otherwise.
    """
    low, high = min(values), max(values)
    steps = [after / before for before, after in pairwise(values)]
    if high - low <= HARDLY_MOVES * (high + low):
        return "~"
    if all(step >= 1 - TURNS_BACK for step in steps):
        return "+"
    return "-" if all(step <= 1 + TURNS_BACK for step in steps) else "?"


def order(quantities: Mapping[str, float]) -> tuple[str, ...]:
    """Return names by rising quantity.

    Parameters
    ----------
    quantities
        A quantity for each name; less is better.
    """
    return tuple(sorted(quantities, key=lambda name: quantities[name]))
