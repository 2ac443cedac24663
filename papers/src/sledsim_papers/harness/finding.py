"""What an experiment finds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

__all__ = ["ALL_THE_SAME", "COMPUTED", "Finding", "Interval", "Ours", "Probe", "order", "trend"]

#: Figures in the claim's unit, names best first, or the sign of a trend: ``+``, ``-``, ``~``; ``?`` for none of them.
Ours = float | tuple[float, ...] | tuple[str, ...] | str

#: Where a figure lies with a confidence of 95 %.
Interval = tuple[float, float]

#: A trend that turns back by more than this has no sign.
TURNS_BACK = 0.005

#: Names are about level where the longer is longer by no more than this.
LEVEL = 0.10

#: The order of what is all the same: that of no claim.
ALL_THE_SAME = ("all the same",)

#: How far a quantity may move that is computed rather than sampled, and still is said to hardly move.
COMPUTED = 1e-6


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
    shape_holds
        Of a stand-in: whether our figures show the order or trend of the claim's ``shape``; computed, like the figures.
    assumes
        What the model assumes that has the claim's own sign: agreement is then by construction.
    """

    ours: Ours
    how: str
    decimals: int = 3
    intervals: tuple[Interval, ...] = ()
    scenarios: tuple[Mapping[str, Any], ...] = ()
    curve: tuple[Mapping[str, Any], ...] = ()
    cause: str = ""
    probes: tuple[Probe, ...] = ()
    shape_holds: bool = False
    assumes: str = ""

    @property
    def simulates(self) -> bool:
        """Whether a workload was simulated for it, rather than a formula or a chain evaluated."""
        return any("workload" in scenario for scenario in self.scenarios)

    def __post_init__(self) -> None:
        several = len(self.ours) if isinstance(self.ours, tuple) else 1
        if self.intervals and len(self.intervals) != several:
            raise ValueError(f"{len(self.intervals)} intervals for {several} figures: {self.ours!r}")


def trend(values: Sequence[float], hardly_moves: float = 0.05) -> str:
    """Tell how a quantity goes as a parameter rises.

    Parameters
    ----------
    values
        The quantity at rising values of the parameter, above 0.
    hardly_moves
        How far it may go from where it starts, relative to that, and still is said to hardly move: 5 % of what is
        sampled from a run, :data:`COMPUTED` for what has no noise, or as far as a claim allows.

    Returns
    -------
    str
        ``~`` where it stays within that, ``+`` or ``-`` where it never goes the other way by more than 0.5 %, ``?``
        otherwise.
    """
    steps = [after / before for before, after in pairwise(values)]
    if all(abs(value - values[0]) <= hardly_moves * abs(values[0]) for value in values):
        return "~"
    if values[-1] > values[0] and all(step >= 1 - TURNS_BACK for step in steps):
        return "+"
    return "-" if values[-1] < values[0] and all(step <= 1 + TURNS_BACK for step in steps) else "?"


def order(
    quantities: Mapping[str, float], *, level: Sequence[str] = (), saturated: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return names by rising quantity; :data:`ALL_THE_SAME` where nothing tells them apart.

    Parameters
    ----------
    quantities
        A quantity for each name; less is better.
    level
        Names joined with ``~`` where they are next to each other and within 10 %.
    saturated
        Names of what can't carry the load: they come last, as one.
    """
    if len(quantities) > 1 and not saturated and len({*quantities.values()}) == 1:
        return ALL_THE_SAME
    carried = sorted((name for name in quantities if name not in saturated), key=lambda name: quantities[name])
    places = sorted(carried.index(name) for name in level if name in carried)
    near = len(places) > 1 and quantities[carried[places[-1]]] <= (1 + LEVEL) * quantities[carried[places[0]]]
    if near and places[-1] - places[0] == len(places) - 1:
        carried[places[0] : places[-1] + 1] = ["~".join(level)]
    return (*carried, "saturated:" + "+".join(saturated)) if saturated else tuple(carried)
