"""What a sweep is: a base scenario, axes, replications; from a file or from Python."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from sledsim._core import Fault, ScenarioError
from sledsim.scenario.documents import BasedOnScenario, OneOrMore, Read, Table, Wrong, gathered, made, raised, settled
from sledsim.scenario.place import Place
from sledsim.scenario.reading import Resolved, ScenarioLike, Sets, Written, set_list
from sledsim.sweep.axes import Assignment, Axes, Range, Sample, axes_faults, crossed, derived_seed, flat, zipped
from sledsim.sweep.checking import beside, ordered, own_path
from sledsim.sweep.execution import Prepared, prepared
from sledsim.sweep.filed import NAME_SIGNS, Filed, is_name

__all__ = ["Count", "Name", "Sweep", "SweepFile", "SweepLike", "Task"]


def check_name(name: str | None) -> str | None:
    """Refuse a name that no file could have.

    Parameters
    ----------
    name
        The name, if there is one.
    """
    if name is not None and not is_name(name):
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


#: Replications, seed and random numbers of a sweep that says nothing of them.
_ONCE = tuple(map(Repeated.default_of, ("replications", "seed", "random_numbers")))


def _axes_have_values(axes: Axes) -> list[Fault]:
    return axes_faults(flat(axes), "axes")


def _groups_go_together(zip: Sequence[Axes]) -> list[Fault]:  # noqa: A002  as in the file
    found: list[Fault] = []
    for i, group in enumerate(zip):
        with gathered(found, f"zip.{i}"):
            zipped(flat(group))
    return found


def _axes_are_once(axes: Axes, zip: Sequence[Axes], sample: Sequence[Sample]) -> list[Fault]:  # noqa: A002
    return _twice(_tables_of(axes, zip, sample))


def _seeds_are_left(
    axes: Axes,
    zip: Sequence[Axes],  # noqa: A002
    sample: Sequence[Sample],
    replications: int,
    seed: int | None,
    random_numbers: str,
) -> list[Fault]:
    plain = (replications, seed, random_numbers) == _ONCE
    return _without_seeds(_tables_of(axes, zip, sample), is_plain=plain)


class SweepFile(BasedOnScenario, Repeated):
    """A sweep as a file has it."""

    what: ClassVar[str] = "sweep"
    example: ClassVar[str] = 'a base scenario: scenario = "base.toml"'
    own: ClassVar[str] = "sweep."
    is_tried: ClassVar[bool] = True
    rules = (_axes_have_values, _groups_go_together, _axes_are_once, _seeds_are_left)

    axes: Axes = Field(default_factory=dict)
    """By parameter, a list or a range: every value goes with every one of the others."""
    zip: Annotated[list[Axes], OneOrMore()] = Field(default_factory=list)
    """Groups of axes whose values go together, one by one."""
    sample: Annotated[list[Sample], OneOrMore()] = Field(default_factory=list)
    """Groups of axes whose points are drawn at random."""

    @classmethod
    def wrongly_named(cls, keys: Mapping[str, Any], place: Place, settings: Sequence[str]) -> list[Fault]:
        """Return what is wrong with the base scenario, and with values of axes that are right by themselves."""
        if "scenario" not in keys:
            return []
        given = {key: _flat_of(place.values.get(key)) for key in ("axes", "zip", "sample")}
        axes = {path: axis for path, axis in given["axes"].items() if not axes_faults({path: axis}, "axes")}
        untried = [path for table in given.values() for path in table if path not in axes]

        def key(path: str, number: int | None) -> str:
            return f"axes.{path}" if number is None or isinstance(axes[path], Mapping) else f"axes.{path}.{number}"

        return beside(keys["scenario"], place, settings, crossed(axes), key, untried)


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
class Sweep(Filed):
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
    overrides
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

    file: ClassVar[type[BasedOnScenario]] = SweepFile

    scenario: ScenarioLike | Written
    axes: Mapping[str, Any] = field(default_factory=dict)
    zipped: Sequence[Mapping[str, Any]] = ()
    samples: Sequence[Sample] = ()
    replications: int = Repeated.default_of("replications")
    seed: int | None = Repeated.default_of("seed")
    random_numbers: str = Repeated.default_of("random_numbers")
    overrides: Sets = ()
    name: str = "sweep"
    _read: Read[SweepFile] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        found: list[Fault] = []
        with raised(self.name):
            with gathered(found):
                made(Repeated, {key: getattr(self, key) for key in Repeated.model_fields})
            plain = bool(found) or (self.replications, self.seed, self.random_numbers) == _ONCE
            settled([*found, *_twice(self._tables), *_without_seeds(self._tables, is_plain=plain)])

    @classmethod
    def _keys_of(cls, table: SweepFile) -> dict[str, Any]:
        own = {key: getattr(table, key) for key in Repeated.model_fields}
        return own | {"axes": flat(table.axes), "zipped": [flat(each) for each in table.zip], "samples": table.sample}

    @cached_property
    def base_seed(self) -> int:
        """What the seeds of replications are derived from."""
        if self.seed is not None:
            return self.seed
        return self._checks(self._ordered, self._key).first(self._fixed_groups).seed

    @cached_property
    def _fixed_groups(self) -> list[list[Assignment]]:
        """The groups that take no random numbers."""
        with raised(self.name):
            settled(axes_faults(self.axes, "axes"))
            return crossed(self.axes) + [zipped(group) for group in self.zipped]

    @cached_property
    def groups(self) -> list[list[Assignment]]:
        """What is crossed: lists of assignments of values to parameters."""
        return self._drawn(self.base_seed if self.samples else 0)

    def _drawn(self, seed: int) -> list[list[Assignment]]:
        return self._fixed_groups + [sample.assignments(seed) for sample in self.samples]

    @property
    def parameters(self) -> list[str]:
        """The parameters that are varied."""
        return [path for _, axes in self._tables for path in axes]

    @cached_property
    def _tables(self) -> list[tuple[str, Mapping[str, Any]]]:
        return _tables_of(self.axes, self.zipped, self.samples)

    def _key(self, path: str, number: int | None) -> str:
        """Return the key in a file of an axis, or of a value of it; those of a range, and what is drawn, have its."""
        table, axis = next((table, axes[path]) for table, axes in self._tables if path in axes)
        listed = number is not None and not table.startswith("sample") and not isinstance(axis, Mapping | Range)
        return f"{table}.{path}.{number}" if listed else f"{table}.{path}"

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
        sets = [*set_list(self.overrides), *set_list(values)]
        if seed is not None:
            sets.append(f"seed={seed}")
        return ordered(sets)

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
            With every axis that names no parameter, and every value that is not allowed: its key in the sweep's file,
            such as ``axes.scheduler.1``, with file and line where there is one.
        """
        try:
            groups = self.groups
        except ScenarioError:
            # Why there is no seed is found among all that is wrong; so long, any other will do.
            groups = self._drawn(0)
        return self._checks(self._ordered, self._key).every(groups)


#: What can be swept: a file, the tables of one, or a sweep.
SweepLike = Sweep | Mapping[str, Any] | Path | str


def _flat_of(given: Any) -> dict[str, Any]:
    """Return the axes by path of one table or of several, as far as they are tables; a sample has a table of them."""
    tables = [each for each in (given if isinstance(given, list) else [given]) if isinstance(each, Mapping)]
    return {path.removeprefix("axes."): axis for each in tables for path, axis in flat(each).items()}


def _tables_of(
    axes: Mapping[str, Any], groups: Sequence[Mapping[str, Any]], samples: Sequence[Sample]
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the tables of axes, each with its key in a file."""
    zips = [(f"zip.{i}", flat(group)) for i, group in enumerate(groups)]
    return [("axes", flat(axes)), *zips, *((f"sample.{i}.axes", flat(each.axes)) for i, each in enumerate(samples))]


def _twice(tables: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Fault]:
    """Return the parameters that are on two axes."""
    seen: dict[str, str] = {}
    found = []
    for key, path in ((f"{table}.{path}", path) for table, axes in tables for path in axes):
        first = seen.setdefault(own_path(path), key)
        if first != key:
            found.append(Fault("conflict", f": stands there twice (as {first})", path=key))
    return found


def _without_seeds(tables: Sequence[tuple[str, Mapping[str, Any]]], *, is_plain: bool) -> list[Fault]:
    """Return the axes of the seed, where seeds are to be derived."""
    says = " leaves no seeds to derive: leave out the axis, or replications, seed and random_numbers"
    on_axes = [] if is_plain else [f"{table}.seed" for table, axes in tables if "seed" in axes]
    return [Fault("conflict", says, path=path) for path in on_axes]
