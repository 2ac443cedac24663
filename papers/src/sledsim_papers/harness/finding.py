"""The result of an experiment, and helpers that compute trends and orders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

__all__ = ["ALL_THE_SAME", "COMPUTED", "Finding", "Interval", "Ours", "Probe", "join_level", "order", "trend"]

#: Figures in the claim's unit, names best first, or the sign of a trend: ``+``, ``-``, ``~``; ``?`` for none of them.
Ours = float | tuple[float, ...] | tuple[str, ...] | str

#: Confidence interval (95 %) of a figure.
Interval = tuple[float, float]

#: A trend that reverses by more than this has no sign.
TURNS_BACK = 0.005

#: Quantities within this relative difference are level.
LEVEL = 0.10

#: The order of equal quantities, which no claim has.
ALL_THE_SAME = ("all the same",)

#: Relative change below which a computed (not sampled) quantity hardly moves.
COMPUTED = 1e-6


@dataclass(frozen=True)
class Probe:
    """A change of the model that tests the cause of a difference, and its figures.

    Parameters
    ----------
    change
        The change, such as ``no command overhead``.
    ours
        The figures with it, like :attr:`Finding.ours`.
    """

    change: str
    ours: Ours


@dataclass(frozen=True)
class Finding:
    """The result of an experiment for a claim.

    Parameters
    ----------
    ours
        Figures in the claim's unit, names best first, or the sign of a trend.
    how
        Method in a sentence or two: devices, load, number of requests, included times.
    decimals
        Digits after the point to print.
    intervals
        Confidence interval (95 %) of each figure; empty for exact figures.
    scenarios
        The scenarios that were run; the report shows them.
    curve
        Rows behind the figures, for a table of the report.
    cause
        Why the figures differ, if they do, in a few sentences.
    probes
        Changes of the model with their figures: the evidence for the cause.
    shape_holds
        For a stand-in, true if the figures show the order or trend of the claim's ``shape``.
    assumes
        Assumption of the model that has the claim's sign, so that agreement is by construction.
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
        """True if a workload was simulated, rather than a formula or a Markov chain evaluated."""
        return any("workload" in scenario for scenario in self.scenarios)

    def __post_init__(self) -> None:
        several = len(self.ours) if isinstance(self.ours, tuple) else 1
        if self.intervals and len(self.intervals) != several:
            raise ValueError(f"{len(self.intervals)} intervals for {several} figures: {self.ours!r}")


def trend(values: Sequence[float], hardly_moves: float = 0.05) -> str:
    """Return the sign of the change of a quantity as a parameter rises.

    Parameters
    ----------
    values
        The quantity at rising values of the parameter, above 0.
    hardly_moves
        Relative change from the first value up to which the quantity hardly moves: 5 % for sampled quantities,
        :data:`COMPUTED` for exact ones, or the tolerance of the claim.

    Returns
    -------
    str
        ``~`` if it hardly moves, ``+`` or ``-`` if it never reverses by more than 0.5 %, else ``?``.
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
    """Return names by rising quantity; :data:`ALL_THE_SAME` if all quantities are equal.

    Parameters
    ----------
    quantities
        A quantity for each name; less is better.
    level
        Names to join with ``~`` if they are adjacent and within 10 %.
    saturated
        Names that cannot carry the load; they come last, joined.
    """
    if len(quantities) > 1 and not saturated and len({*quantities.values()}) == 1:
        return ALL_THE_SAME
    carried = sorted((name for name in quantities if name not in saturated), key=lambda name: quantities[name])
    places = sorted(carried.index(name) for name in level if name in carried)
    near = len(places) > 1 and quantities[carried[places[-1]]] <= (1 + LEVEL) * quantities[carried[places[0]]]
    if near and places[-1] - places[0] == len(places) - 1:
        carried[places[0] : places[-1] + 1] = ["~".join(level)]
    return (*carried, "saturated:" + "+".join(saturated)) if saturated else tuple(carried)


def join_level(groups: Sequence[str], quantities: Mapping[str, float]) -> tuple[str, ...]:
    """Return the groups of an order with neighbours joined by ``~`` if they are within 10 % of each other.

    Parameters
    ----------
    groups
        Best first; ``a+b`` are not ranked against each other.
    quantities
        A quantity for each name; less is better.
    """
    joined: list[str] = []
    slowest = 0.0
    for group in groups:
        of_group = [quantities[name] for name in group.split("+")]
        if joined and min(of_group) <= (1 + LEVEL) * slowest:
            joined[-1] += f"~{group}"
        else:
            joined.append(group)
        slowest = max(of_group)
    return tuple(joined)
