"""Registry of the experiments of claims, and of the figures and tables that are redrawn."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from sledsim import SledsimError
from sledsim.show import make_error
from sledsim_papers.harness.claim import PAPERS, claims, motion
from sledsim_papers.harness.finding import Finding
from sledsim_papers.harness.motion import Motion, moving
from sledsim_papers.harness.study import Study

if TYPE_CHECKING:
    import altair

    from sledsim.show import Table

__all__ = [
    "Drawn",
    "Experiment",
    "Picture",
    "computed",
    "experiment",
    "experiments",
    "picture",
    "pictures",
    "select",
    "sketch",
]

#: Computes the finding for one claim.
Experiment = Callable[[Study], Finding]

Experimenter = TypeVar("Experimenter", bound=Callable[..., Finding])


@dataclass(frozen=True)
class Drawn:
    """A figure or a table of a paper, redrawn.

    Parameters
    ----------
    shown
        An Altair chart, or a table.
    how
        The runs behind it, in a sentence or two.
    stand_in
        True if a stand-in replaces the paper's trace.
    scenarios
        The scenarios that were run.
    """

    shown: "altair.TopLevelMixin | Table"
    how: str
    stand_in: bool = False
    scenarios: tuple[Mapping[str, Any], ...] = ()


#: Result of an experiment or of drawing.
Shown = TypeVar("Shown", Finding, Drawn)

#: Default reason for not redrawing a figure.
NO_DATA = "a drawing that holds no data"


@dataclass(frozen=True)
class Picture:
    """A figure or table that can be redrawn.

    Parameters
    ----------
    paper, where
        Such as ``griffin1999`` and ``Figure 6``.
    title
        Content in words.
    draw
        Draws it; ``None`` if it is not redrawn.
    reason
        Why it is not redrawn.
    """

    paper: str
    where: str
    title: str
    draw: Callable[[Study], Drawn] | None
    reason: str = NO_DATA

    @property
    def stem(self) -> str:
        """Stem of its file names, such as ``griffin1999-figure-6``."""
        return "-".join(re.findall(r"[a-z0-9]+", f"{self.paper} {self.where}".lower()))


_experiments: dict[str, Experiment] = {}
_pictures: list[Picture] = []


def experiment(name: str, *given: Any, **named: Any) -> Callable[[Experimenter], Experimenter]:
    """Register the experiment of a claim. A function may serve several claims with different arguments.

    Parameters
    ----------
    name
        Full name of the claim.
    *given, **named
        Arguments for the function after the study.
    """

    def register(function: Experimenter) -> Experimenter:
        if name not in claims() or name in _experiments:
            raise ValueError(f"{name} is not a claim, or has an experiment already")
        claim = claims()[name]
        chosen = claim.motion or motion(claim.paper)
        _experiments[name] = _in_motion(chosen, lambda study: function(study, *given, **named))
        return function

    return register


def computed(name: str, *given: Any) -> Callable[[Experimenter], Experimenter]:
    """Register the experiment of a claim that needs no study; see :func:`experiment`."""

    def register(function: Experimenter) -> Experimenter:
        experiment(name)(lambda _: function(*given))
        return function

    return register


def picture(paper: str, where: str, title: str) -> Callable[[Callable[[Study], Drawn]], Callable[[Study], Drawn]]:
    """Register a function that redraws a figure or a table; see :class:`Picture`."""

    def register(draw: Callable[[Study], Drawn]) -> Callable[[Study], Drawn]:
        _list(Picture(paper, where, title, _in_motion(motion(paper), draw)))
        return draw

    return register


def sketch(paper: str, where: str, title: str, reason: str = NO_DATA) -> None:
    """Register a figure that is not redrawn; see :class:`Picture`."""
    _list(Picture(paper, where, title, None, reason))


def _in_motion(default: Motion, work: Callable[[Study], Shown]) -> Callable[[Study], Shown]:
    """Return work done with the study's model of motion, or else a default, and named in its scenarios."""

    def moved(study: Study) -> Shown:
        chosen = study.motion or default
        done = work(study.under(chosen))
        return replace(done, scenarios=tuple(moving(each, chosen) for each in done.scenarios))

    return moved


def _list(added: Picture) -> None:
    if any(each.stem == added.stem for each in _pictures):
        raise ValueError(f"{added.paper} has a picture of {added.where} already")
    _pictures.append(added)


def experiments() -> Mapping[str, Experiment]:
    """Return the experiments by the full names of their claims."""
    _load()
    return _experiments


def pictures(paper: str | None = None) -> list[Picture]:
    """Return the figures and tables of a paper, or of all papers, in the order of their numbers."""
    _load()
    return sorted((each for each in _pictures if paper in (None, each.paper)), key=_place)


def _place(each: Picture) -> tuple[int, str, int]:
    number = re.search(r"\d+", each.where)
    return PAPERS.index(each.paper), each.where.split()[0], int(number[0]) if number else 0


def _load() -> None:
    """Import the modules of all papers, which registers their experiments and pictures."""
    for paper in PAPERS:
        import_module(f"sledsim_papers.{paper}.experiments")
        import_module(f"sledsim_papers.{paper}.figures")


def select(name: str | None) -> list[str]:
    """Return the full names of all claims, of those of a paper, or of one.

    Parameters
    ----------
    name
        ``None``, ``PAPER`` or ``PAPER.CLAIM``.

    Raises
    ------
    SledsimError
        If there is no such paper or claim; the nearest name is suggested.
    """
    known = list(claims())
    found = [each for each in known if name is None or each == name or each.startswith(f"{name}.")]
    if not found:
        listed = f"papers are {', '.join(PAPERS)}"
        message = f"there is no claim {name}"
        raise make_error(SledsimError, "unknown-name", message, value=name, known=[*PAPERS, *known], listed=listed)
    return found
