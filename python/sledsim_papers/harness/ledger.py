"""The claims of the papers, and the verdict on what we find."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from sledsim_papers.harness.finding import Finding

__all__ = ["PAPERS", "Claim", "Verdict", "claims", "figures_of", "title"]

#: The papers, by the year in which they came out; each has its folder with a ``claims.toml``.
PAPERS = ("griffin1999", "schlosser2000", "lin2002", "schlosser2004", "hong2006")

#: ``shape only`` is for stand-ins: what the paper says of the order or the trend holds, its figures do not.
Verdict = Literal["reproduced", "shape only", "differs", "not done"]


class Claim(BaseModel):
    """A statement of a paper that can be checked.

    Parameters
    ----------
    paper, id
        Its full name is ``<paper>.<id>``.
    where
        Table, figure or section.
    what
        The quantity, and the set-up it holds for.
    kind
        ``value``, ``range``, ``order`` or ``trend``.
    unit
        Unit of the figures; empty for a number without one.
    published
        The paper's figure or figures (``value``), names best first (``order``), or ``+``, ``-``, ``~`` (``trend``).
    tol
        Allowed relative difference of a ``value``.
    low, high
        Between which a ``range`` has to lie.
    data
        ``model``, ``trace:NAME`` or ``stand-in``.
    note
        What a reader of the verdict must know.
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
    note: str = ""

    @property
    def name(self) -> str:
        """The full name."""
        return f"{self.paper}.{self.id}"

    @property
    def stand_in(self) -> bool:
        """Whether a generator stands in for the paper's trace."""
        return self.data == "stand-in"

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
            return "reproduced"
        return "shape only" if self.stand_in and finding.shape_holds else "differs"

    def _holds(self, ours: Any) -> bool:
        figures = figures_of(ours)
        if self.kind == "value" and figures is not None:
            published = figures_of(self.published) or ()
            if len(figures) == len(published):
                tol = self.tol or 0.0
                return all(abs(mine - its) <= tol * abs(its) for mine, its in zip(figures, published, strict=True))
        elif self.kind == "range" and figures and self.low is not None and self.high is not None:
            return all(self.low <= mine <= self.high for mine in figures)
        elif (self.kind == "order" and figures is None and isinstance(ours, tuple)) or (
            self.kind == "trend" and isinstance(ours, str)
        ):
            return bool(ours == self.published)
        raise TypeError(
            f"{self.name} is of kind {self.kind}, with {self.published!r}: {ours!r} can't be compared with it"
        )


def figures_of(value: Any) -> tuple[float, ...] | None:
    """Return the figures of what is published or found.

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
