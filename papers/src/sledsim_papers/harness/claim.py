"""The claims of the papers, and how a verdict is computed."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict

from sledsim_papers.harness.motion import Motion

if TYPE_CHECKING:
    from sledsim_papers.harness.finding import Finding

__all__ = ["PAPERS", "VERDICTS", "Claim", "Verdict", "claims", "figures_of", "motion", "set_ups", "title"]

#: The papers by year of publication; each has a folder with a ``claims.toml``.
PAPERS = ("griffin1999", "schlosser2000", "lin2002", "schlosser2004", "hong2006")

#: ``by construction``: the figure agrees because it is made from the paper's own results or assumes the claim, so it is
#: no evidence. ``paper inconsistent``: the figure does not agree, but agrees with another statement of the same paper.
#: ``shape only`` (stand-ins): the order or trend holds, and the figures differ by less than a factor of 3.
Verdict = Literal["by construction", "reproduced", "paper inconsistent", "shape only", "differs", "not done"]

#: Every verdict, in the order in which they are computed.
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

#: Largest factor between the figures for ``shape only``.
SHAPE_FACTOR = 3.0

#: Default relative change up to which a quantity hardly moves.
HARDLY_MOVES = 0.05


class Claim(BaseModel):
    """A statement of a paper that can be checked.

    Parameters
    ----------
    paper, id
        Its full name is ``<paper>.<id>``.
    where
        Table, figure or section.
    what
        The quantity and its set-up.
    kind
        ``value``, ``range``, ``order`` or ``trend``.
    unit
        Unit of the figures; empty for a number without one.
    published
        The paper's figure or figures (``value``), names best first (``order``), or ``+``, ``-``, ``~`` (``trend``).
        In an order ``a+b`` are not ranked against each other, ``a~b`` are level, and ``saturated:a+b`` cannot carry the
        load.
    tol
        Relative tolerance of a ``value``; for ``~``, the relative change up to which a quantity hardly moves.
    low, high
        Ends of a ``range``.
    data
        ``model``, ``trace:NAME`` or ``stand-in``.
    inputs_from
        Results or reasons of the paper that determine the figure, so that agreement is by construction.
    contradicts
        Two statements of the paper that contradict each other, one of them the claim, with the arithmetic.
    other, other_tol
        The figure or figures of the other statement, with their relative tolerance.
    other_low, other_high
        Or the range of the other statement.
    set_up
        Names of :func:`set_ups` that apply to the claim.
    shape
        For a stand-in, the order or trend required for ``shape only``.
    note
        Remark for readers of the verdict.
    motion
        The model of motion of sleds if it is not that of the paper.
    why
        Why our figure does not agree, in one sentence; empty if it agrees.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    paper: str
    id: str
    where: str
    what: str
    kind: Literal["value", "range", "order", "trend"]
    unit: str = ""
    published: float | str | tuple[float, ...] | tuple[str, ...] | None = None
    tol: float | None = None
    low: float | None = None
    high: float | None = None
    data: str
    inputs_from: tuple[str, ...] = ()
    contradicts: str = ""
    other: float | tuple[float, ...] | None = None
    other_tol: float | None = None
    other_low: float | None = None
    other_high: float | None = None
    shape: str = ""
    set_up: tuple[str, ...] = ()
    note: str = ""
    motion: Motion | None = None
    why: str = ""

    @property
    def name(self) -> str:
        """The full name."""
        return f"{self.paper}.{self.id}"

    @property
    def stand_in(self) -> bool:
        """Whether a generator stands in for the paper's trace."""
        return self.data == "stand-in"

    @property
    def hardly_moves(self) -> float:
        """How far a quantity that hardly moves may move, relative to where it starts."""
        return HARDLY_MOVES if self.tol is None else self.tol

    def verdict(self, finding: "Finding") -> Verdict:
        """Compare what we find with what was published.

        Parameters
        ----------
        finding
            What we find.

        Raises
        ------
        TypeError
            Where it is not of the claim's kind, or has not as many figures.
        """
        if self._holds(finding.ours):
            return "by construction" if self.inputs_from or finding.assumes else "reproduced"
        if self.contradicts and self._agrees_with_other(finding.ours):
            return "paper inconsistent"
        shaped = self.stand_in and not self.inputs_from and bool(self.shape) and finding.shape_holds
        return "shape only" if shaped and self._near(finding.ours) else "differs"

    def joined(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Write an order in the groups of the published one: names that it does not rank as one, if next to each other.

        Parameters
        ----------
        names
            Names best first.
        """
        written, published = list(names), self.published if isinstance(self.published, tuple) else ()
        for group in map(str, published):
            members = group.split("+")
            places = [place for place in range(len(written)) if {*written[place : place + len(members)]} == {*members}]
            if len(members) > 1 and places:
                written[places[0] : places[0] + len(members)] = [group]
        return tuple(written)

    def _agrees_with_other(self, ours: Any) -> bool:
        """Return true if every figure agrees with the other statement of a contradiction."""
        figures, others = figures_of(ours) or (), figures_of(self.other)
        if others is None:
            low, high = self.other_low, self.other_high
            return low is not None and high is not None and all(low <= mine <= high for mine in figures)
        if len(others) == 1:
            others *= len(figures)
        tol = self.other_tol or 0.0
        return all(abs(mine - its) <= tol * abs(its) for mine, its in zip(figures, others, strict=True))

    def _near(self, ours: Any) -> bool:
        """Whether figures are within a factor of three of the published ones, or of the nearer end of a range."""
        figures = figures_of(ours) or ()
        if self.kind == "range":
            ends = [(self.low or 0.0, self.high or 0.0)] * len(figures)
        else:
            ends = [(each, each) for each in figures_of(self.published) or ()]
        return bool(figures) and all(
            min(low / SHAPE_FACTOR, low * SHAPE_FACTOR) <= mine <= max(high / SHAPE_FACTOR, high * SHAPE_FACTOR)
            for mine, (low, high) in zip(figures, ends, strict=True)
        )

    def _holds(self, ours: Any) -> bool:
        figures = figures_of(ours)
        if self.kind == "value" and figures is not None:
            published = figures_of(self.published) or ()
            if len(figures) == len(published):
                tol = self.tol or 0.0
                return all(abs(mine - its) <= tol * abs(its) for mine, its in zip(figures, published, strict=True))
        elif self.kind == "range" and figures and self.low is not None and self.high is not None:
            return all(self.low <= mine <= self.high for mine in figures)
        elif self.kind == "order" and figures is None and isinstance(ours, tuple):
            return bool(self.joined(ours) == self.published)
        elif self.kind == "trend" and isinstance(ours, str):
            return bool(ours == self.published)
        raise TypeError(
            f"{self.name} is of kind {self.kind}, with {self.published!r}: {ours!r} can't be compared with it"
        )


def figures_of(value: Any) -> tuple[float, ...] | None:
    """Return published or computed figures as a tuple.

    Parameters
    ----------
    value
        A figure or several, or names, or the sign of a trend.

    Returns
    -------
    tuple of float, or None
        ``None`` where it is not figures.
    """
    several = value if isinstance(value, tuple) else (value,)
    if all(isinstance(each, Real) and not isinstance(each, bool) for each in several):
        return tuple(float(each) for each in several)
    return None


@cache
def _document(paper: str) -> Mapping[str, Any]:
    return tomllib.loads(files(f"sledsim_papers.{paper}").joinpath("claims.toml").read_text(encoding="utf-8"))


def title(paper: str) -> str:
    """Return a paper's title with its authors.

    Parameters
    ----------
    paper
        One of :data:`PAPERS`.
    """
    return str(_document(paper)["title"])


def motion(paper: str) -> Motion:
    """Return the model of motion of sleds for a paper: that of its own equations or simulator.

    Parameters
    ----------
    paper
        One of :data:`PAPERS`.
    """
    chosen: Motion = _document(paper)["motion"]
    return chosen


def set_ups(paper: str) -> Mapping[str, str]:
    """Return the set-ups that claims of a paper share, by name.

    Parameters
    ----------
    paper
        One of :data:`PAPERS`.
    """
    found: Mapping[str, str] = _document(paper).get("set_ups", {})
    return found


@cache
def claims(paper: str | None = None) -> Mapping[str, Claim]:
    """Return claims by their full names, in the order of the papers.

    Parameters
    ----------
    paper
        One of :data:`PAPERS`; all of them if not given.
    """
    papers = [each for each in PAPERS if paper in (None, each)]
    found = [Claim(paper=each, **claim) for each in papers for claim in _document(each)["claim"]]
    return {claim.name: claim for claim in found}
