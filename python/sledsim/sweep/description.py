"""What a sweep is: a base scenario, axes, replications; from a file or from Python."""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

from sledsim._core import ScenarioError
from sledsim.scenario.reading import Resolved, ScenarioLike, Sets, Written, set_list, written, written_table
from sledsim.show.faults import about
from sledsim.show.naming import did_you_mean, nearest_file
from sledsim.sweep.axes import RANGE_KEYS, Assignment, Sample, crossed, derived_seed, zipped
from sledsim.sweep.execution import Prepared, checked, prepared

__all__ = [
    "Sweep",
    "SweepLike",
    "Task",
    "axes_of",
    "errors_of",
    "leaves_of",
    "scenario_of",
    "source_tables",
    "table_of",
]

#: How the random numbers of points are related.
RANDOM_NUMBERS = ("common", "independent")

#: Keys of a sweep file.
FILE_KEYS = ("name", "scenario", "set", "seed", "replications", "random_numbers", "axes", "zip", "sample")

#: Values of a group that are looked at before anything runs.
MOST_CHECKED = 200

#: Signs that a sweep's name may have beside letters and digits: it becomes part of a file's.
NAME_SIGNS = "-_. +"


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
        for key, least in (("replications", 1), ("seed", 0)):
            value = getattr(self, key)
            whole = isinstance(value, int) and not isinstance(value, bool) and value >= least
            if not whole and not (key == "seed" and value is None):
                raise ScenarioError(f"{self.name}: {key} = {value!r}: expected a whole number, at least {least}")
        if self.random_numbers not in RANDOM_NUMBERS:
            hint = did_you_mean(str(self.random_numbers), RANDOM_NUMBERS)
            raise ScenarioError(f"{self.name}: random_numbers = {self.random_numbers!r} is not known{hint}")
        if not self.name.strip() or not all(sign.isalnum() or sign in NAME_SIGNS for sign in self.name):
            raise ScenarioError(f"name = {self.name!r}: expected letters, digits and any of {NAME_SIGNS!r}")
        _once(self)

    @classmethod
    def load(cls, source: "SweepLike", *, set: Sets = ()) -> "Sweep":  # noqa: A002  as on the command line
        """Read a sweep.

        Parameters
        ----------
        source
            A file (TOML or JSON), a dictionary with the keys of one, or a sweep.
        set
            Values that replace those of the base scenario, after those of the file.

        Raises
        ------
        ScenarioError
            Where the sweep is wrong: names the file, the key, the value and what is allowed.
        """
        more = set_list(set)
        if isinstance(source, Sweep):
            return source if not more else source.replacing(more)
        tables, place, folder, name = source_tables(source, "sweep")
        return _of_tables(tables, place, folder, more, name)

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
        groups = crossed(self.axes, f"{self.name}: axes")
        return groups + [zipped(group, f"{self.name}: zip[{i}]") for i, group in enumerate(self.zipped)]

    @cached_property
    def groups(self) -> list[list[Assignment]]:
        """What is crossed: lists of assignments of values to parameters."""
        seed = self.base_seed if self.samples else 0
        drawn = [sample.assignments(seed, f"{self.name}: sample[{i}]") for i, sample in enumerate(self.samples)]
        return self._fixed_groups + drawn

    def read_axes(self) -> None:
        """Raise what is wrong with the axes, which otherwise shows when the first point is asked for."""
        len(self.groups)

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
            raise about(error, f"axis {guilty[0]!r} = {json.dumps(values[guilty[0]])}") from None


#: What can be swept: a file, the tables of one, or a sweep.
SweepLike = Sweep | Mapping[str, Any] | Path | str


def _paths(sweep: Sweep) -> list[str]:
    return [*sweep.axes, *(path for group in (*sweep.zipped, *(s.axes for s in sweep.samples)) for path in group)]


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
            raise ScenarioError(f"{sweep.name}: axis {path!r} stands there twice (as {seen[_own_path(path)]!r})")
        seen[_own_path(path)] = path
    if "seed" in seen and (sweep.replications > 1 or sweep.seed is not None or sweep.random_numbers != "common"):
        raise ScenarioError(
            f"{sweep.name}: the axis 'seed' leaves no seeds to derive: leave out the axis, or replications, seed and "
            "random_numbers"
        )


def source_tables(source: Mapping[str, Any] | Path | str, what: str) -> tuple[Mapping[str, Any], str, Path, str]:
    """Return the tables of a description, what messages call it, where its paths start from, and its name.

    Parameters
    ----------
    source
        A file, or the tables themselves.
    what
        What it is to hold: the name where there is no file.
    """
    if isinstance(source, Mapping):
        return source, what, Path.cwd(), what
    path = Path(source)
    return _read_tables(path, what), str(path), path.parent.resolve(), path.stem


def _read_tables(path: Path, what: str) -> dict[str, Any]:
    """Read a file in TOML or JSON.

    Parameters
    ----------
    path
        The file.
    what
        What it is to hold, for messages.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ScenarioError(f"{path}: no such file{nearest_file(path)}") from None
    except UnicodeDecodeError as error:
        wrong = f"byte {error.start} is not UTF-8 text"
        raise ScenarioError(f"{path}: {wrong}; expected a {what} in TOML or JSON") from None
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}") from None
    if not text.strip():
        raise ScenarioError(f"{path}: empty; expected a {what} in TOML or JSON")
    is_json = text.lstrip().startswith("{")
    try:
        tables = json.loads(text) if is_json else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise ScenarioError(f"{path}: is not {'JSON' if is_json else 'TOML'}: {error}") from None
    return dict(tables)


def _of_tables(tables: Mapping[str, Any], place: str, folder: Path, sets: Sequence[str], name: str = "sweep") -> Sweep:
    """Make a sweep of the tables of a file."""
    if "workload" in tables and "scenario" not in tables:
        raise ScenarioError(
            f'{place}: this is a scenario, which `sledsim run` takes; a sweep names one: scenario = "base.toml"'
        )
    for key in tables:
        if key not in FILE_KEYS:
            raise ScenarioError(f"{place}: unknown key {key!r} of a sweep{did_you_mean(str(key), FILE_KEYS)}")
    if "scenario" not in tables:
        raise ScenarioError(f'{place}: names no base scenario: scenario = "base.toml", or a table [scenario]')
    own = {key: tables[key] for key in ("seed", "replications", "random_numbers") if key in tables}
    given = tables.get("name", name)
    if not isinstance(given, str):
        raise ScenarioError(f"{place}: name = {given!r}: expected a text")
    base = scenario_of(tables["scenario"], place, folder)
    axes = axes_of(table_of(tables, "axes", place), f"{place}: axes")
    together = [axes_of(group, f"{place}: zip.{i}") for i, group in enumerate(_tables(tables, "zip", place))]
    samples = [_sample(each, f"{place}: sample.{i}") for i, each in enumerate(_tables(tables, "sample", place))]
    replaced = (*set_list(leaves_of(table_of(tables, "set", place))), *sets)
    with errors_of(place):
        sweep = Sweep(base, axes, zipped=together, samples=samples, set=replaced, name=given, **own)
        sweep.read_axes()
    return sweep


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


def scenario_of(scenario: Any, place: str, folder: Path) -> Path | Written:
    """Return the base scenario: a file beside that of the sweep, or a table in it."""
    if isinstance(scenario, str):
        return folder / scenario
    if not isinstance(scenario, Mapping):
        raise ScenarioError(f"{place}: scenario = {scenario!r}: expected the path of a file, or a table")
    return written_table(scenario, f"{place}: scenario", str(folder))


def table_of(tables: Mapping[str, Any], key: str, place: str) -> Mapping[str, Any]:
    """Return the table of a key; an empty one where the key is not there.

    Parameters
    ----------
    tables
        The tables of a file.
    key
        The key.
    place
        What messages call the file.
    """
    table = tables.get(key, {})
    if not isinstance(table, Mapping):
        raise ScenarioError(f"{place}: {key} = {table!r}: expected a table")
    return table


def _tables(tables: Mapping[str, Any], key: str, place: str) -> list[Mapping[str, Any]]:
    """Return the tables of a key: one, or an array of them."""
    found = tables.get(key, [])
    found = [found] if isinstance(found, Mapping) else found
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        raise ScenarioError(f"{place}: {key} = {found!r}: expected tables: [[{key}]]")
    return found


def _sample(table: Mapping[str, Any], place: str) -> Sample:
    for key in table:
        if key not in ("axes", "count", "method"):
            raise ScenarioError(f"{place}: unknown key {key!r}{did_you_mean(str(key), ('axes', 'count', 'method'))}")
    if "count" not in table:
        raise ScenarioError(f"{place}: needs a count of points")
    axes = axes_of(table_of(table, "axes", place), f"{place}.axes")
    return Sample(axes, table["count"], str(table.get("method", "random")))


def axes_of(tables: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return axes by path, whether the path was written in quotes or as nested tables."""
    found: dict[str, Any] = {}
    for key, value in tables.items():
        if isinstance(value, Mapping) and not ("from" in value and set(value) <= set(RANGE_KEYS)):
            if set(value) & set(RANGE_KEYS) and not any(isinstance(each, Mapping | list) for each in value.values()):
                # Neither a range nor a path: the range says what is wrong with it.
                found[key] = value
                continue
            found |= {f"{key}.{path}": axis for path, axis in axes_of(value, f"{place}.{key}").items()}
        else:
            found[key] = value
    return found


def leaves_of(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by path, whether the path was written in quotes or as nested tables."""
    found: dict[str, Any] = {}
    for key, value in tables.items():
        found |= (
            {f"{key}.{path}": leaf for path, leaf in leaves_of(value).items()}
            if value and isinstance(value, Mapping)
            else {key: value}
        )
    return found
