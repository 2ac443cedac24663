"""Contradictions within a paper: its statements about one quantity, and how each figure is derived."""

from collections.abc import Mapping
from dataclasses import dataclass

from sledsim_papers.harness.claim import PAPERS, claims
from sledsim_papers.harness.registry import experiments

__all__ = ["Statement", "contradiction", "contradictions"]

#: Figures from this value on are written without decimals.
NO_DECIMALS_FROM = 1000.0


@dataclass(frozen=True)
class Statement:
    """One statement of a paper about a quantity.

    Parameters
    ----------
    where
        Section, figure or table of the paper.
    arithmetic
        How the figures follow from figures printed there, or ``printed``.
    figures
        The figures, in ``unit``.
    unit
        Unit of the figures; empty if they have none.
    """

    where: str
    arithmetic: str
    figures: tuple[float, ...]
    unit: str = ""

    @property
    def text(self) -> str:
        """The figures with four digits and their unit."""
        written = (f"{each:,.0f}" if each >= NO_DECIMALS_FROM else f"{each:.4g}" for each in self.figures)
        return f"{', '.join(written)} {self.unit}".rstrip()


_contradictions: dict[str, tuple[Statement, ...]] = {}


def contradiction(name: str, *statements: Statement) -> None:
    """Register the statements of a paper that contradict each other.

    Parameters
    ----------
    name
        Full name of the claim that is one of the statements.
    *statements
        Two or more.

    Raises
    ------
    ValueError
        If there is no such claim, it was registered before, or fewer than two statements are given.
    """
    if name not in claims() or name in _contradictions or len(statements) < 2:
        raise ValueError(f"{name}: not a claim, registered before, or fewer than two statements")
    _contradictions[name] = statements


def contradictions() -> Mapping[str, tuple[Statement, ...]]:
    """Return contradicting statements by full names of claims, in the order of the papers."""
    # Importing the experiments registers them.
    experiments()
    return {
        name: _contradictions[name]
        for name in sorted(_contradictions, key=lambda name: PAPERS.index(claims()[name].paper))
    }
