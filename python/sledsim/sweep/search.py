"""What a search for good designs is: a base scenario, parameters with their ranges, objectives, constraints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sledsim._core import ScenarioError
from sledsim.scenario.reading import Resolved, ScenarioLike, Sets, Written, set_list, written
from sledsim.show.naming import did_you_mean
from sledsim.sweep.axes import Assignment, Range, axis_values, range_of
from sledsim.sweep.description import Sweep, axes_of, errors_of, leaves_of, scenario_of, source_tables, table_of
from sledsim.sweep.measures import PRICES, with_unit

__all__ = ["Constraint", "Objective", "Search", "SearchLike"]

#: Which way an objective is to go.
GOALS = ("minimise", "maximise")
#: Objectives that are better the larger they are, unless they say otherwise.
LARGER = frozenset({"bandwidth", "capacity", "streaming_bandwidth"})

#: How the next designs are chosen, each by a sampler of Optuna.
SAMPLERS = ("tpe", "nsga2", "random")

#: Keys of a file.
FILE_KEYS = (
    "name", "scenario", "set", "seed", "trials", "batch", "sampler", "replications",
    "parameters", "objectives", "constraints", "prices",
)  # fmt: skip


@dataclass(frozen=True)
class Objective:
    """A quantity to be made as small or as large as possible.

    Parameters
    ----------
    metric
        ``response``, ``bandwidth``, ``energy``, ``power``, ``capacity``, ``streaming_bandwidth``, ``cost``,
        ``cost_per_gb``, or the path of any number that a run reports, such as ``response.p99_ms``.
    goal
        ``minimise`` or ``maximise``; by the metric where it is not given.
    """

    metric: str
    goal: str = ""

    def __post_init__(self) -> None:
        if not self.goal:
            object.__setattr__(self, "goal", "maximise" if self.metric in LARGER else "minimise")
        if self.goal not in GOALS:
            raise ScenarioError(f"objective {self.metric}: goal = {self.goal!r}{did_you_mean(self.goal, GOALS)}")


@dataclass(frozen=True)
class Constraint:
    """A bound that a design has to keep.

    Parameters
    ----------
    metric
        As for an :class:`Objective`.
    at_most, at_least
        The bounds; one of them at least.
    """

    metric: str
    at_most: float | None = None
    at_least: float | None = None

    def __post_init__(self) -> None:
        if self.at_most is None and self.at_least is None:
            raise ScenarioError(f"constraint {self.metric}: needs at_most or at_least")
        for key in ("at_most", "at_least"):
            _number(getattr(self, key) or 0.0, f"constraint {self.metric}.{key}")

    def excess(self, value: float) -> float:
        """Return by how much a value breaks the bounds; 0 or less where it keeps them.

        Parameters
        ----------
        value
            The quantity.
        """
        above = value - self.at_most if self.at_most is not None else float("-inf")
        below = self.at_least - value if self.at_least is not None else float("-inf")
        return max(above, below)

    def __str__(self) -> str:
        low = f"{self.at_least:g} ≤ " if self.at_least is not None else ""
        return f"{low}{with_unit(self.metric)}" + (f" ≤ {self.at_most:g}" if self.at_most is not None else "")


@dataclass(frozen=True, eq=False)
class Search:
    """A search for the designs, or policies, that serve one or several objectives best.

    Parameters
    ----------
    scenario
        The base: anything that :func:`sledsim.run` takes.
    parameters
        By path, as for ``--set``: a :class:`~sledsim.sweep.Range` to search, or a list of values to choose from.
        Several paths with commas between them have the same value.
    objectives
        What is to be made small or large; several ask for the designs of which none is worse in all.
    constraints
        Bounds that designs have to keep.
    prices
        What ``cost`` is made of: ``mems_per_gb``, ``mems_per_sled``, ``mems_per_tip``, ``disk_per_gb``,
        ``disk_per_drive``, ``ram_per_gb``.
    trials
        How many designs are tried.
    batch
        How many are chosen at a time, before the results of any of them are known.
    sampler
        ``tpe`` (tree-structured Parzen estimators), ``nsga2`` (a genetic algorithm), or ``random``.
    replications
        How often each design is run, with another seed each time; means are compared.
    seed
        Of the sampler and of the runs.
    set
        Values that replace those of the base scenario.
    name
        What the store calls the search.
    """

    scenario: ScenarioLike | Written
    parameters: Mapping[str, Any]
    objectives: Sequence[Objective]
    constraints: Sequence[Constraint] = ()
    prices: Mapping[str, float] = field(default_factory=dict)
    trials: int = 100
    batch: int = 8
    sampler: str = "tpe"
    replications: int = 1
    seed: int = 1
    set: Sets = ()
    name: str = "search"

    def __post_init__(self) -> None:
        object.__setattr__(self, "set", tuple(set_list(self.set)))
        for key, least in (("trials", 1), ("batch", 1), ("replications", 1), ("seed", 0)):
            value = getattr(self, key)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ScenarioError(f"{self.name}: {key} = {value!r}: expected a whole number, at least {least}")
        if self.sampler not in SAMPLERS:
            raise ScenarioError(f"{self.name}: sampler = {self.sampler!r}{did_you_mean(str(self.sampler), SAMPLERS)}")
        if not self.objectives:
            raise ScenarioError(f'{self.name}: has no objectives, such as [[objectives]] metric = "response"')
        if not self.parameters:
            raise ScenarioError(f"{self.name}: has no parameters to choose")
        for name, price in self.prices.items():
            if name not in PRICES:
                raise ScenarioError(f"{self.name}: prices: no price {name!r}{did_you_mean(name, PRICES)}")
            if _number(price, f"{self.name}: prices.{name}") < 0:
                raise ScenarioError(f"{self.name}: prices.{name} = {price}: expected 0 or more")
        asked = {each.metric for each in self.objectives} | {each.metric for each in self.constraints}
        if not self.prices and any(each in ("cost", "cost_per_gb") for each in asked):
            raise ScenarioError(f"{self.name}: a cost needs [prices], such as mems_per_gb (known: {', '.join(PRICES)})")
        if len({each.metric for each in self.objectives}) < len(self.objectives):
            raise ScenarioError(f"{self.name}: an objective stands there twice")

    @classmethod
    def load(cls, source: "SearchLike", *, set: Sets = ()) -> "Search":  # noqa: A002  as on the command line
        """Read a search.

        Parameters
        ----------
        source
            A file (TOML or JSON), a dictionary with the keys of one, or a search.
        set
            Values that replace those of the base scenario, after those of the file.

        Raises
        ------
        ScenarioError
            Where the search is wrong: names the file, the key, the value and what is allowed.
        """
        more = set_list(set)
        if isinstance(source, Search):
            return replace(source, set=(*set_list(source.set), *more)) if more else source
        tables, place, folder, name = source_tables(source, "search")
        return _of_tables(tables, place, folder, more, name)

    def trying(self, trials: int) -> "Search":
        """Return the search with another number of trials."""
        return replace(self, trials=trials)

    @cached_property
    def base(self) -> Written:
        """The base scenario as written."""
        return self.scenario if isinstance(self.scenario, Written) else written(self.scenario)

    @cached_property
    def spaces(self) -> dict[str, "Range | list[Any]"]:
        """For each parameter the range that is searched, or the values that are chosen from."""
        return {path: _space(each, f"{self.name}: parameters.{path}") for path, each in self.parameters.items()}

    def settings(self, design: Assignment) -> Assignment:
        """Return a design's parameters path by path.

        Parameters
        ----------
        design
            The parameters.
        """
        return {path.strip(): value for paths, value in design.items() for path in paths.split(",")}

    def designs(self, values: Sequence[Assignment]) -> Sweep:
        """Return some designs as a sweep.

        Parameters
        ----------
        values
            The parameters of each.
        """
        rows = [self.settings(each) for each in values]
        together = {path: [row[path] for row in rows] for path in rows[0]}
        return Sweep(self.base, zipped=[together], seed=self.seed, set=self.set, name=self.name)

    def check(self) -> Resolved:
        """Resolve the design in the middle of every range, and those at the ends of each.

        Returns
        -------
        Resolved
            The scenario in the middle.
        """
        middle = {path: _ends(space)[1] for path, space in self.spaces.items()}
        ends = [middle | {path: end} for path, space in self.spaces.items() for end in _ends(space)]
        return self.designs([middle, *ends]).check()


#: What can be searched: a file, the tables of one, or a search.
SearchLike = Search | Mapping[str, Any] | Path | str


def _ends(space: "Range | list[Any]") -> tuple[Any, Any, Any]:
    """Return the first value, one in the middle, and the last."""
    if isinstance(space, Range):
        return space.at(0.0), space.at(0.5), space.at(1.0)
    return space[0], space[len(space) // 2], space[-1]


def _space(axis: Any, place: str) -> "Range | list[Any]":
    """Return what a parameter can be."""
    if isinstance(axis, Mapping):
        axis = range_of(axis, place)
    if not isinstance(axis, Range):
        return axis_values(axis, place)
    axis.check_ends(place)
    if axis.count is not None:
        raise ScenarioError(f"{place}.count: a range to search has no count; a list has fixed values")
    if axis.stop <= axis.start:
        raise ScenarioError(f"{place}: from {axis.start} to {axis.stop}: the second has to be above the first")
    if axis.step is not None and axis.scale == "log":
        raise ScenarioError(f"{place}.step: a log range has no step")
    return axis


def _number(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise ScenarioError(f"{place} = {value!r}: expected a number")
    return float(value)


def _of_tables(tables: Mapping[str, Any], place: str, folder: Path, sets: Sequence[str], name: str) -> Search:
    """Make a search of the tables of a file."""
    for key in tables:
        if key not in FILE_KEYS:
            raise ScenarioError(f"{place}: unknown key {key!r} of a search{did_you_mean(str(key), FILE_KEYS)}")
    for key in ("scenario", "parameters", "objectives"):
        if key not in tables:
            raise ScenarioError(f"{place}: {key} is missing")
    own = {key: tables[key] for key in ("trials", "batch", "sampler", "replications", "seed") if key in tables}
    base = scenario_of(tables["scenario"], place, folder)
    parameters = axes_of(table_of(tables, "parameters", place), f"{place}: parameters")
    prices = table_of(tables, "prices", place)
    with errors_of(place):
        return Search(
            base,
            parameters,
            [_made(Objective, each, "objectives", i) for i, each in enumerate(_listed(tables["objectives"]))],
            [
                _made(Constraint, each, "constraints", i)
                for i, each in enumerate(_listed(tables.get("constraints", [])))
            ],
            set=(*set_list(leaves_of(table_of(tables, "set", place))), *sets),
            name=str(tables.get("name", name)),
            prices=prices,
            **own,
        )


def _listed(tables: Any) -> list[Any]:
    return list(tables) if isinstance(tables, list) else [tables]


def _made(kind: Any, table: Any, key: str, place: int) -> Any:
    """Make an objective or a constraint of its table, or an objective of its metric alone."""
    if isinstance(table, str):
        table = {"metric": table}
    known = list(kind.__dataclass_fields__)
    if not isinstance(table, Mapping) or "metric" not in table:
        raise ScenarioError(f"{key}[{place}] = {table!r}: expected a table with a metric")
    for each in table:
        if each not in known:
            raise ScenarioError(f"{key}[{place}]: unknown key {each!r}{did_you_mean(str(each), known)}")
    return kind(**table)
