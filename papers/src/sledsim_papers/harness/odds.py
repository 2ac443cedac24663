"""Where a paper is at odds with itself: what either side says, and the arithmetic of each."""

from collections.abc import Mapping
from dataclasses import dataclass

from sledsim_papers.harness.ledger import PAPERS, claims
from sledsim_papers.harness.registry import experiments

__all__ = ["Side", "at_odds", "odds"]

#: Figures from here on are written whole.
WHOLE = 1000.0


@dataclass(frozen=True)
class Side:
    """What a place of a paper says, or what follows from it.

    Parameters
    ----------
    where
        The place.
    arithmetic
        How the figure comes about, from figures that the paper prints there; the figure itself where it is printed.
    figures
        What that makes, in ``unit``.
    unit
        Unit of the figures; empty for a number without one.
    """

    where: str
    arithmetic: str
    figures: tuple[float, ...]
    unit: str = ""

    @property
    def makes(self) -> str:
        """The figures in four digits, with their unit."""
        written = (f"{each:,.0f}" if each >= WHOLE else f"{each:.4g}" for each in self.figures)
        return f"{', '.join(written)} {self.unit}".rstrip()


_odds: dict[str, tuple[Side, ...]] = {}


def at_odds(name: str, *sides: Side) -> None:
    """Register what a paper says in several places of the same.

    Parameters
    ----------
    name
        Full name of the claim that one of them is.
    *sides
        Two or more.
    """
    if name not in claims() or name in _odds or len(sides) < 2:
        raise ValueError(f"{name} is no claim, has its sides already, or there are not two of them")
    _odds[name] = sides


def odds() -> Mapping[str, tuple[Side, ...]]:
    """Return the sides by the full names of claims, in the order of the papers, whichever was imported first."""
    experiments()
    return {name: _odds[name] for name in sorted(_odds, key=lambda name: PAPERS.index(claims()[name].paper))}
