"""What a search for good designs is: a base scenario, parameters with their ranges, objectives, constraints."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from sledsim._core import Fault
from sledsim.scenario.documents import BasedOnScenario, OneOrMore, Read, Table, gathered, made, raised, settled
from sledsim.scenario.place import Place
from sledsim.scenario.reading import Resolved, ScenarioLike, Sets, Written
from sledsim.sweep.axes import (
    DIGITS,
    LARGEST_WHOLE,
    Assignment,
    Axes,
    Number,
    Range,
    axis_values,
    flat,
    range_of,
    unnamed,
)
from sledsim.sweep.checking import beside, own_path
from sledsim.sweep.description import Count, Name, Sweep, Task
from sledsim.sweep.filed import Filed
from sledsim.sweep.measures import PriceList, with_unit

__all__ = ["Constraint", "Objective", "Search", "SearchFile", "SearchLike"]

#: Objectives that are better the larger they are, unless they say otherwise.
LARGER = frozenset({"bandwidth", "capacity", "streaming_bandwidth"})


class Objective(Table):
    """A quantity to be made as small or as large as possible."""

    if TYPE_CHECKING:
        # Values may go by their place.
        def __init__(self, *values: Any, **keys: Any) -> None: ...

    metric: str
    """``response``, ``bandwidth``, ``energy``, ``power``, ``capacity``, ``streaming_bandwidth``, ``cost``,
    ``cost_per_gb``, or the path of any number that a run reports, such as ``response.p99_ms``."""
    goal: Literal["minimise", "maximise"] = "minimise"
    """Which way it is to go; by the metric where it is not given."""

    @model_validator(mode="before")
    @classmethod
    def _goal_by_metric(cls, keys: Any) -> Any:
        if isinstance(keys, Mapping) and "goal" not in keys:
            metric = keys.get("metric")
            if isinstance(metric, str) and metric in LARGER:
                return {**keys, "goal": "maximise"}
        return keys


def _has_a_bound(metric: str, at_most: float | None, at_least: float | None) -> Iterator[Fault]:
    if at_most is None and at_least is None:
        yield Fault("missing", f": the constraint of {metric} needs at_most or at_least", path="at_most")


class Constraint(Table):
    """A bound that a design has to keep."""

    rules = (_has_a_bound,)

    if TYPE_CHECKING:
        # Values may go by their place.
        def __init__(self, *values: Any, **keys: Any) -> None: ...

    metric: str
    """As for an objective."""
    at_most: Number | None = None
    """The bound above."""
    at_least: Number | None = None
    """The bound below; one of them at least."""

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


def _can_be_searched(parameters: Axes) -> list[Fault]:
    found = [] if parameters else [Fault("out-of-range", ": has no parameters to choose", path="parameters")]
    named = [path for paths in flat(parameters) for path in _paths(paths)]
    found += unnamed(named, "parameters")
    if "seed" in map(own_path, named):
        says = ": the seeds of runs are made from the search's own: set that, and leave this out"
        found.append(Fault("conflict", says, path="parameters.seed"))
    for path, each in flat(parameters).items():
        with gathered(found, f"parameters.{path}"):
            _space(each)
    return found


def _costs_have_prices(
    objectives: Sequence[Objective], constraints: Sequence[Constraint], prices: PriceList
) -> Iterator[Fault]:
    asked = {each.metric for each in objectives} | {each.metric for each in constraints}
    if not prices.model_fields_set and asked & {"cost", "cost_per_gb"}:
        known = ", ".join(PriceList.model_fields)
        yield Fault("missing", f": a cost needs [prices], such as mems_per_gb (known: {known})", path="prices")


def _objectives_are_once(objectives: Sequence[Objective]) -> Iterator[Fault]:
    for i, each in enumerate(objectives):
        if each.metric in [other.metric for other in objectives[:i]]:
            yield Fault("conflict", ": stands there twice", path=f"objectives.{i}", value=each.metric)


class SearchKeys(Table):
    """What a search looks for, and how."""

    rules = (_can_be_searched, _costs_have_prices, _objectives_are_once)

    name: Name | None = None
    """What the store calls it; the file's name where it is left out."""
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**32)] = 1
    """Of the sampler, which takes 32 bits of it, and of the runs."""
    trials: Count = 100
    """How many designs are tried."""
    batch: Count = 8
    """How many are chosen at a time, before the results of any of them are known."""
    sampler: Literal["tpe", "nsga2", "random"] = "tpe"
    """How the next designs are chosen, each by a sampler of Optuna."""
    replications: Count = 1
    """How often each design is run, with another seed each time; means are compared."""
    parameters: Axes
    """By path, a range to search or a list to choose from; paths with commas between them have the same value."""
    objectives: Annotated[list[Objective], Field(min_length=1), OneOrMore("metric")]
    """What is to be made small or large."""
    constraints: Annotated[list[Constraint], OneOrMore()] = Field(default_factory=list)
    """Bounds that designs have to keep."""
    prices: PriceList = Field(default_factory=PriceList)
    """What a cost is made of."""


class SearchFile(BasedOnScenario, SearchKeys):
    """A search as a file has it."""

    what: ClassVar[str] = "search"
    example: ClassVar[str] = 'a base scenario: scenario = "base.toml"'
    own: ClassVar[str] = "search."
    is_tried: ClassVar[bool] = True

    @classmethod
    def wrongly_named(cls, keys: Mapping[str, Any], place: Place, settings: Sequence[str]) -> list[Fault]:
        """Return what is wrong with the base scenario, and with ends of parameters that are right by themselves."""
        given = place.values.get("parameters")
        parameters = flat(given) if isinstance(given, Mapping) else {}
        spaces = {paths: _space(each) for paths, each in parameters.items() if not _can_be_searched({paths: each})}
        named = {path: paths for paths in parameters for path in _paths(paths)}
        groups = [[dict.fromkeys(_paths(paths), end) for end in _ends(space)] for paths, space in spaces.items()]
        untried = [path for path, paths in named.items() if paths not in spaces]

        def key(path: str, _: int | None) -> str:
            return f"parameters.{named[path]}"

        return beside(keys["scenario"], place, settings, groups, key, untried) if "scenario" in keys else []


@dataclass(frozen=True, eq=False)
class Search(Filed):
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
        Of the sampler, which takes 32 bits of it, and of the runs.
    overrides
        Values that replace those of the base scenario.
    name
        What the store calls the search.
    """

    file: ClassVar[type[BasedOnScenario]] = SearchFile

    scenario: ScenarioLike | Written
    parameters: Mapping[str, Any]
    objectives: Sequence[Objective]
    constraints: Sequence[Constraint] = ()
    prices: Mapping[str, float] = field(default_factory=dict)
    trials: int = SearchKeys.default_of("trials")
    batch: int = SearchKeys.default_of("batch")
    sampler: str = SearchKeys.default_of("sampler")
    replications: int = SearchKeys.default_of("replications")
    seed: int = SearchKeys.default_of("seed")
    overrides: Sets = ()
    name: str = "search"
    _read: Read[SearchFile] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        with raised(self.name):
            made(SearchKeys, {key: getattr(self, key) for key in SearchKeys.model_fields})
            times = Counter(own_path(path) for paths in self.parameters for path in _paths(paths))
            twice = [f"parameters.{path}" for path, count in times.items() if count > 1]
            settled([Fault("conflict", ": stands there twice", path=path) for path in twice])

    @classmethod
    def _keys_of(cls, table: SearchFile) -> dict[str, Any]:
        own = {key: getattr(table, key) for key in SearchKeys.model_fields}
        return own | {"parameters": flat(table.parameters), "prices": table.prices.to_dict()}

    def trying(self, trials: int) -> "Search":
        """Return the search with another number of trials."""
        return replace(self, trials=trials)

    @cached_property
    def spaces(self) -> dict[str, "Range | list[Any]"]:
        """For each parameter the range that is searched, or the values that are chosen from."""
        return {path: _space(each) for path, each in self.parameters.items()}

    def settings(self, design: Assignment) -> Assignment:
        """Return a design's parameters path by path.

        Parameters
        ----------
        design
            The parameters.
        """
        return {path: value for paths, value in design.items() for path in _paths(paths)}

    def designs(self, values: Sequence[Assignment]) -> Sweep:
        """Return some designs as a sweep.

        Parameters
        ----------
        values
            The parameters of each.
        """
        rows = [self.settings(each) for each in values]
        together = {path: [row[path] for row in rows] for path in rows[0]}
        return Sweep(self.base, zipped=[together], seed=self.seed, overrides=self.overrides, name=self.name)

    def check(self) -> Resolved:
        """Resolve the design in the middle of every range, and those at the ends of each.

        Returns
        -------
        Resolved
            The scenario in the middle.

        Raises
        ------
        ScenarioError
            With all that is wrong.
        """
        keys = {path: f"parameters.{paths}" for paths in self.parameters for path in _paths(paths)}
        groups = [[self.settings({path: end}) for end in _ends(space)] for path, space in self.spaces.items()]
        designs = Sweep(self.base, seed=self.seed, overrides=self.overrides)
        return self._checks(
            lambda values: designs.settings(Task(0, 0, values, None)), lambda path, _: keys[path]
        ).every(groups)


#: What can be searched: a file, the tables of one, or a search.
SearchLike = Search | Mapping[str, Any] | Path | str


def _paths(paths: str) -> list[str]:
    """Return the paths of a parameter."""
    return [path.strip() for path in paths.split(",")]


def _ends(space: "Range | list[Any]") -> tuple[Any, Any, Any]:
    """Return a value in the middle, the first and the last."""
    if isinstance(space, Range):
        return space.at(0.5), space.at(0.0), space.at(1.0)
    return space[len(space) // 2], space[0], space[-1]


def _space(axis: Any) -> "Range | list[Any]":
    """Return what a parameter can be."""
    if not isinstance(axis, Mapping | Range):
        return axis_values(axis)
    return range_of(axis, _no_count, _rises, _step_is_a_step, _is_counted)


def _no_count(count: int | None) -> Iterator[Fault]:
    if count is not None:
        yield Fault("conflict", ": a range to search has no count; a list has fixed values", path="count", value=count)


def _rises(start: float, stop: float) -> Iterator[Fault]:
    if stop <= start:
        yield Fault("conflict", f" has to be above from = {start}", path="to", value=stop)


def _step_is_a_step(start: float, stop: float, step: float | None, integer: bool) -> Iterator[Fault]:
    """Refuse a step that leads nowhere, by which numbers would not change, or that is longer than the way."""
    if step is None or stop <= start:
        return
    least = 1 if integer else max(abs(start), abs(stop)) * 10.0 ** (1 - DIGITS)
    if step < least or (integer and not float(step).is_integer()):
        kind = "whole numbers" if integer else f"numbers from {start} to {stop}"
        says = f": {kind} go in steps of at least {least:g}" + (", whole ones" if integer else "")
        yield Fault("conflict", says, path="step", value=step)
    elif step > stop - start:
        says = f": is longer than the way from {start} to {stop}, on which there would be one value alone"
        yield Fault("conflict", says, path="step", value=step)


def _is_counted(start: float, stop: float, integer: bool) -> Iterator[Fault]:
    """Refuse whole numbers that a sampler could not tell apart."""
    for key, end in (("from", start), ("to", stop)):
        if integer and abs(end) > LARGEST_WHOLE:
            says = f": whole numbers are searched from {-LARGEST_WHOLE:,} to {LARGEST_WHOLE:,}"
            yield Fault("conflict", says, path=key, value=end)
