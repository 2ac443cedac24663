"""What a sweep is: a base scenario, axes, replications; from a file or from Python."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from sledsim._core import Fault, ScenarioError
from sledsim.scenario.documents import (
    BasedOnScenario,
    OneOrMore,
    Read,
    Table,
    Wrong,
    gathered,
    made,
    own_sets,
    raised,
    read,
    settings_of,
    settled,
)
from sledsim.scenario.reading import Resolved, ScenarioLike, Sets, Written, set_list, written
from sledsim.show.faults import about
from sledsim.sweep.axes import Assignment, Axes, Sample, axes_faults, crossed, derived_seed, flat, zipped
from sledsim.sweep.execution import Prepared, checked, prepared

__all__ = [
    "Sweep",
    "SweepFile",
    "SweepLike",
    "Task",
    "check_name",
    "errors_of",
    "refuse_own",
    "stem_of",
]

#: Values of a group that are looked at before anything runs.
MOST_CHECKED = 200

#: Signs that a sweep's name may have beside letters and digits: it becomes part of a file's.
NAME_SIGNS = "-_. +"


def check_name(name: str | None) -> str | None:
    """Refuse a name that no file could have.

    Parameters
    ----------
    name
        The name, if there is one.
    """
    if name is not None and (not name.strip() or not all(sign.isalnum() or sign in NAME_SIGNS for sign in name)):
        raise Wrong(Fault("wrong-type", f": expected letters, digits and any of {NAME_SIGNS!r}", value=name))
    return name


Name = Annotated[str, AfterValidator(check_name)]
Count = Annotated[int, Field(strict=True, ge=1)]
Seed = Annotated[int, Field(strict=True, ge=0)]


class Repeated(Table):
    """How a sweep is called and repeated."""

    name: Name | None = None
    """What the store calls it; the file's name where it is left out."""
    seed: Seed | None = None
    """What all seeds are derived from; that of the scenario where it is left out."""
    replications: Count = 1
    """How often each point is run, with another seed each time."""
    random_numbers: Literal["common", "independent"] = "common"
    """Whether a replication has the same seed at every point, or another at each."""


class SweepFile(BasedOnScenario, Repeated):
    """A sweep as a file has it."""

    what: ClassVar[str] = "sweep"
    example: ClassVar[str] = 'a base scenario: scenario = "base.toml"'
    own: ClassVar[str] = "sweep."

    axes: Axes = Field(default_factory=dict)
    """By parameter, a list or a range: every value goes with every one of the others."""
    zip: Annotated[list[Axes], OneOrMore()] = Field(default_factory=list)
    """Groups of axes whose values go together, one by one."""
    sample: Annotated[list[Sample], OneOrMore()] = Field(default_factory=list)
    """Groups of axes whose points are drawn at random."""

    @model_validator(mode="after")
    def _axes_have_values(self) -> Self:
        found = axes_faults(flat(self.axes), "axes")
        for i, group in enumerate(self.zip):
            with gathered(found, f"zip.{i}"):
                zipped(flat(group))
        settled(found)
        return self


@dataclass(frozen=True)
class Task:
    """One run of a sweep.

    Parameters
    ----------
    point
        Which point, from 0.
    replication
        Which replication of it, from 0.
    values
        What the axes say, by parameter.
    seed
        What the run's random numbers are made from; ``None`` where the scenario or an axis says it.
    """

    point: int
    replication: int
    values: Assignment
    seed: int | None


@dataclass(frozen=True, eq=False)
class Sweep:
    """A base scenario, and what is varied in it.

    Parameters
    ----------
    scenario
        The base: anything that :func:`sledsim.run` takes.
    axes
        By parameter (a path as for ``--set``) a list of values or a :class:`Range`; every value goes with every one
        of the others.
    zipped
        Groups of axes whose values go together, one by one.
    samples
        Groups of axes whose points are drawn at random.
    replications
        How often each point is run, with another seed each time.
    seed
        What all seeds are derived from; that of the scenario where it is ``None``. Replication 0 has it itself.
    random_numbers
        ``"common"``: a replication has the same seed at every point, so that points differ only in what was varied;
        ``"independent"``: another seed at every point.
    set
        Values that replace those of the base scenario.
    name
        What the store calls the sweep.

    Examples
    --------
    >>> from sledsim.sweep import Range
    >>> base = {"workload": {"arrival": {"kind": "poisson", "rate_per_s": 500.0}}, "system": {"device": "g2"}}
    >>> sweep = Sweep(base, {"scheduler": ["fcfs", "sptf"], "workload.arrival.rate_per_s": Range(200, 1000, count=5)})
    >>> len(sweep)
    10
    >>> sweep.point(9)
    {'scheduler': 'sptf', 'workload.arrival.rate_per_s': 1000}
    """

    scenario: ScenarioLike | Written
    axes: Mapping[str, Any] = field(default_factory=dict)
    zipped: Sequence[Mapping[str, Any]] = ()
    samples: Sequence[Sample] = ()
    replications: int = 1
    seed: int | None = None
    random_numbers: str = "common"
    set: Sets = ()
    name: str = "sweep"

    def __post_init__(self) -> None:
        object.__setattr__(self, "set", tuple(set_list(self.set)))
        keys = ("name", "seed", "replications", "random_numbers")
        with raised(self.name):
            made(Repeated, {key: getattr(self, key) for key in keys})
            _once(self)

    @classmethod
    def load(cls, source: "SweepLike", *, set: Sets = ()) -> "Sweep":  # noqa: A002  as on the command line
        """Read a sweep.

        Parameters
        ----------
        source
            A file (TOML, YAML or JSON), a dictionary with the keys of one, or a sweep.
        set
            Values that replace those of the base scenario, after those of the file; and of the file's own keys,
            with ``sweep.`` in front: ``sweep.replications=3``.

        Raises
        ------
        ScenarioError
            Where the sweep is wrong: all that is, with file, line, key, value and what is allowed.
        """
        own, more = own_sets(set, SweepFile)
        if isinstance(source, Sweep):
            refuse_own(own, "sweep")
            return source if not more else source.replacing(more)
        return _of_file(read(SweepFile, source, own), more)

    def replacing(self, sets: Sequence[str]) -> "Sweep":
        """Return the sweep with more values of its base scenario replaced."""
        return replace(self, set=(*set_list(self.set), *sets))

    @cached_property
    def base(self) -> Written:
        """The base scenario as written."""
        return self.scenario if isinstance(self.scenario, Written) else written(self.scenario)

    @cached_property
    def base_seed(self) -> int:
        """What the seeds of replications are derived from."""
        if self.seed is not None:
            return self.seed
        first = {path: value for group in self._fixed_groups for path, value in group[0].items()}
        return checked(self.base, self._ordered(first), self.parameters).seed

    @cached_property
    def _fixed_groups(self) -> list[list[Assignment]]:
        """The groups that take no random numbers."""
        with raised(self.name):
            settled(axes_faults(self.axes, "axes"))
            return crossed(self.axes) + [zipped(group) for group in self.zipped]

    @cached_property
    def groups(self) -> list[list[Assignment]]:
        """What is crossed: lists of assignments of values to parameters."""
        seed = self.base_seed if self.samples else 0
        return self._fixed_groups + [sample.assignments(seed) for sample in self.samples]

    @property
    def parameters(self) -> list[str]:
        """The parameters that are varied."""
        return _paths(self)

    def __len__(self) -> int:
        """Return the number of points."""
        return prod(len(group) for group in self.groups)

    @property
    def runs(self) -> int:
        """How many runs the sweep is made of: points times replications."""
        return len(self) * self.replications

    def point(self, number: int) -> Assignment:
        """Return what the axes say at a point; the last axis goes fastest.

        Parameters
        ----------
        number
            Which point, from 0.
        """
        parts: list[Assignment] = []
        for group in reversed(self.groups):
            number, i = divmod(number, len(group))
            parts.append(group[i])
        return {path: value for part in reversed(parts) for path, value in part.items()}

    def tasks(self) -> Iterator[Task]:
        """Yield the runs: every point once, then every point again with the next seed."""
        for replication in range(self.replications):
            for number in range(len(self)):
                values = self.point(number)
                yield Task(number, replication, values, self.seed_of(values, replication))

    def seed_of(self, values: Assignment, replication: int) -> int | None:
        """Return the seed of a run; ``None`` where the scenario or an axis says it.

        Parameters
        ----------
        values
            What the axes say at its point.
        replication
            Which replication of it.
        """
        if self.replications == 1 and self.seed is None and self.random_numbers == "common":
            return None
        if self.random_numbers == "independent":
            return derived_seed(self.base_seed, replication, json.dumps(values, sort_keys=True))
        return derived_seed(self.base_seed, replication) if replication else self.base_seed

    def settings(self, task: Task) -> list[str]:
        """Return what replaces values of the base scenario in a run: whole tables before the keys in them.

        Parameters
        ----------
        task
            The run.
        """
        return self._ordered(task.values, task.seed)

    def _ordered(self, values: Assignment, seed: int | None = None) -> list[str]:
        sets = [*set_list(self.set), *set_list(values)]
        if seed is not None:
            sets.append(f"seed={seed}")
        return sorted(sets, key=lambda text: _own_path(text.partition("=")[0]).count("."))

    def prepare(self, task: Task) -> Prepared:
        """Resolve a run and give it its key.

        Parameters
        ----------
        task
            The run.
        """
        return prepared(self.base, self.settings(task))

    def check(self) -> Resolved:
        """Resolve the first point, and every value of every axis with the first values of the others.

        A value that is not allowed there may go with their last ones: an axis of requests beside one of those left
        out at the beginning, say. Of a long axis, a share of its values is looked at.

        Returns
        -------
        Resolved
            The first point's scenario.

        Raises
        ------
        ScenarioError
            Where an axis names no parameter, or a value is not allowed.
        """
        first, last = self.point(0), self.point(len(self) - 1)
        scenario = self._checked(first, first)
        for group in self.groups:
            for i in range(1, len(group), max(1, len(group) // MOST_CHECKED)):
                try:
                    self._checked(first | group[i], group[i])
                except ScenarioError as error:
                    try:
                        self._checked(last | group[i], group[i])
                    except ScenarioError:
                        raise error from None
        return scenario

    def _checked(self, values: Assignment, suspected: Assignment) -> Resolved:
        """Resolve a point; where that fails for what an axis says, name the axis, as the scenario's file is right."""
        try:
            return checked(self.base, self._ordered(values), self.parameters)
        except ScenarioError as error:
            named = {_own_path(key) for fault in error.faults if fault.kind != "unknown-key" for key in fault.keys}
            guilty = [path for path in suspected if any(_meet(_own_path(path), key) for key in named)]
            if not guilty:
                raise
            raise about(error, f"axis {guilty[0]!r} = {json.dumps(values[guilty[0]])}", instead=True) from None


#: What can be swept: a file, the tables of one, or a sweep.
SweepLike = Sweep | Mapping[str, Any] | Path | str


def _paths(sweep: Sweep) -> list[str]:
    return [*sweep.axes, *(path for group in (*sweep.zipped, *(flat(s.axes) for s in sweep.samples)) for path in group)]


def _meet(path: str, key: str) -> bool:
    """Tell whether one of two paths leads to the other."""
    return f"{path}.".startswith(f"{key}.") or f"{key}.".startswith(f"{path}.")


def _own_path(path: str) -> str:
    """Return a path without the ``system.`` that may go without saying."""
    return path.strip().removeprefix("system.")


def _once(sweep: Sweep) -> None:
    """Refuse a parameter on two axes, and a seed both derived and on an axis."""
    seen: dict[str, str] = {}
    for path in _paths(sweep):
        if _own_path(path) in seen:
            says = f": stands there twice (as {seen[_own_path(path)]!r})"
            raise Wrong(Fault("conflict", says, path=f"axes.{path}"))
        seen[_own_path(path)] = path
    if "seed" in seen and (sweep.replications > 1 or sweep.seed is not None or sweep.random_numbers != "common"):
        says = " leaves no seeds to derive: leave out the axis, or replications, seed and random_numbers"
        raise Wrong(Fault("conflict", says, path="axes.seed"))


def _of_file(found: Read[SweepFile], sets: Sequence[str]) -> Sweep:
    """Make a sweep of a file."""
    table = found.table
    with found.blamed():
        return Sweep(
            found.scenario(),
            flat(table.axes),
            zipped=[flat(group) for group in table.zip],
            samples=table.sample,
            replications=table.replications,
            seed=table.seed,
            random_numbers=table.random_numbers,
            set=(*settings_of(table.set), *sets),
            name=table.name or stem_of(found.name),
        )


def stem_of(name: str) -> str:
    """Return what a sweep of a file is called that has no name itself: its file without folder and ending."""
    return Path(name).stem


def refuse_own(sets: Sequence[str], what: str) -> None:
    """Refuse settings of a file's own keys where there is no file.

    Parameters
    ----------
    sets
        The settings.
    what
        What it would be.
    """
    if sets:
        says = f"{sets[0]}: a {what} of Python's has its keys already; make it with others"
        with raised():
            raise Wrong(Fault("conflict", says))


@contextmanager
def errors_of(source: object) -> Iterator[None]:
    """Let messages begin with the file that is wrong.

    Parameters
    ----------
    source
        The file; anything else leaves messages as they are.
    """
    try:
        yield
    except ScenarioError as error:
        if not isinstance(source, str | Path):
            raise
        raise about(error, str(source)) from None
