"""A search for good designs: a base scenario, parameters with their ranges, objectives, constraints."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from sledsim._core import Fault
from sledsim.scenario.documents import Settings
from sledsim.scenario.reading import Resolved
from sledsim.scenario.source import Source
from sledsim.scenario.tables import KeysError, OneOrMore, Table, collect_faults
from sledsim.sweep.axes import (
    DIGITS,
    LARGEST_WHOLE,
    Assignment,
    Axes,
    Number,
    Range,
    axis_values,
    flat,
    path_faults,
    range_of,
)
from sledsim.sweep.checking import beside, own_path
from sledsim.sweep.description import Sweep, Task
from sledsim.sweep.measures import PriceList, with_unit
from sledsim.sweep.varied import Count, Name, VariedScenario

__all__ = ["Constraint", "Objective", "Search", "SearchLike"]

#: Objectives that are better the larger they are, unless they say otherwise.
LARGER = frozenset({"bandwidth", "capacity", "streaming_bandwidth"})


class Objective(Table):
    """A quantity to be made as small or as large as possible."""

    if TYPE_CHECKING:
        # Values can be positional.
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


class Constraint(Table):
    """A bound that a design has to keep."""

    if TYPE_CHECKING:
        # Values can be positional.
        def __init__(self, *values: Any, **keys: Any) -> None: ...

    metric: str
    """As for an objective."""
    at_most: Number | None = None
    """The bound above."""
    at_least: Number | None = None
    """The bound below; one of them at least."""

    @field_validator("at_least")
    @classmethod
    def _has_a_bound(cls, at_least: float | None, info: ValidationInfo) -> float | None:
        if at_least is None and {"metric", "at_most"} <= info.data.keys() and info.data["at_most"] is None:
            says = f": the constraint of {info.data['metric']} needs at_most or at_least"
            raise KeysError(Fault("missing", says, path="at_most"), beside=True)
        return at_least

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


class Search(VariedScenario):
    """A search for the designs, or policies, that meet one or several objectives best.

    Its fields are the keys of a file.
    """

    what: ClassVar[str] = "search"
    example: ClassVar[str] = 'a base scenario: scenario = "base.toml"'
    prefix: ClassVar[str] = "search."

    if TYPE_CHECKING:
        # Scenario, parameters and objectives can be positional.
        def __init__(self, *values: Any, **keys: Any) -> None: ...

    parameters: Axes
    """By path, a range to search or a list to choose from. Several paths, separated by commas, have the same value."""
    objectives: Annotated[list[Objective], Field(min_length=1), OneOrMore("metric")]
    """Quantities to minimise or maximise. Several ask for the Pareto-optimal designs."""
    constraints: Annotated[list[Constraint], OneOrMore()] = Field(default_factory=list)
    """Bounds that designs have to keep."""
    prices: PriceList = Field(default_factory=PriceList)
    """Prices from which ``cost`` is computed."""
    trials: Count = 100
    """Number of designs to try."""
    batch: Count = 8
    """Designs chosen at a time, before the result of any of them is known."""
    sampler: Literal["tpe", "nsga2", "random"] = "tpe"
    """Sampler of Optuna that chooses the next designs: ``tpe`` (tree-structured Parzen estimators), ``nsga2`` (a
    genetic algorithm), or ``random``."""
    replications: Count = 1
    """Runs of each design, each with another seed; means are compared."""
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**32)] = 1
    """Seed of the sampler, which takes 32 bits, and of the runs."""
    overrides: Settings = ()
    """Values that replace those of the scenario, by path."""
    name: Name = "search"
    """Name in the store. Default: the name of the file."""

    @field_validator("parameters")
    @classmethod
    def _can_be_searched(cls, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        if faults := _parameter_faults(parameters):
            raise KeysError(*faults)
        return parameters

    @field_validator("objectives")
    @classmethod
    def _objectives_are_distinct(cls, objectives: list[Objective]) -> list[Objective]:
        metrics = [each.metric for each in objectives]
        again = [i for i, metric in enumerate(metrics) if metric in metrics[:i]]
        if again:
            raise KeysError(*(Fault("conflict", ": is repeated", path=str(i), value=metrics[i]) for i in again))
        return objectives

    @field_validator("prices")
    @classmethod
    def _costs_have_prices(cls, prices: PriceList, info: ValidationInfo) -> PriceList:
        measured = [*info.data.get("objectives", ()), *info.data.get("constraints", ())]
        if not prices.model_fields_set and {each.metric for each in measured} & {"cost", "cost_per_gb"}:
            known = ", ".join(PriceList.model_fields)
            raise KeysError(Fault("missing", f": a cost needs [prices], such as mems_per_gb (known: {known})"))
        return prices

    @classmethod
    def _named_faults(cls, values: Mapping[str, Any], source: Source, settings: Sequence[str]) -> list[Fault]:
        """Return the faults of the scenario with the ends of parameters that are right by themselves."""
        if not isinstance(values.get("scenario"), str | dict):
            return []
        given = values.get("parameters")
        parameters = flat(given) if isinstance(given, Mapping) else {}
        spaces = {paths: _space(each) for paths, each in parameters.items() if not _parameter_faults({paths: each})}
        named = {path: paths for paths in parameters for path in _paths(paths)}
        groups = [[dict.fromkeys(_paths(paths), end) for end in _ends(space)] for paths, space in spaces.items()]
        untried = [path for path, paths in named.items() if paths not in spaces]
        return beside(source, settings, groups, lambda path, _: f"parameters.{named[path]}", untried)

    def trying(self, trials: int) -> "Search":
        """Return the search with another number of trials."""
        return self.model_copy(update={"trials": trials})

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
        return Sweep(self.base, zip=[together], seed=self.seed, overrides=self.overrides, name=self.name)

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


#: A search, its file, or the tables of a file.
SearchLike = Search | Mapping[str, Any] | Path | str


def _paths(paths: str) -> list[str]:
    """Return the paths of a parameter."""
    return [path.strip() for path in paths.split(",")]


def _ends(space: "Range | list[Any]") -> tuple[Any, Any, Any]:
    """Return a value in the middle, the first and the last."""
    if isinstance(space, Range):
        return space.at(0.5), space.at(0.0), space.at(1.0)
    return space[len(space) // 2], space[0], space[-1]


def _parameter_faults(parameters: Mapping[str, Any]) -> list[Fault]:
    faults = [] if parameters else [Fault("out-of-range", ": has no parameters to choose")]
    named = [path for paths in parameters for path in _paths(paths)]
    faults += path_faults(named)
    counts = Counter(map(own_path, named))
    if "seed" in counts:
        says = ": the seeds of runs are derived from that of the search: set that, and leave this out"
        faults.append(Fault("conflict", says, path="seed"))
    faults += [Fault("conflict", ": is repeated", path=path) for path, count in counts.items() if count > 1]
    for paths, axis in parameters.items():
        with collect_faults(faults, paths):
            _space(axis)
    return faults


def _space(axis: Any) -> "Range | list[Any]":
    """Return the range of a parameter, or the values that are chosen from."""
    return range_of(axis, _SearchedRange) if isinstance(axis, Mapping | Range) else axis_values(axis)


class _SearchedRange(Range):
    """A range to search: it rises, and a step, if there is one, divides it."""

    @field_validator("stop")
    @classmethod
    def _rises(cls, stop: float, info: ValidationInfo) -> float:
        start = info.data.get("start")
        if start is not None and stop <= start:
            raise KeysError(Fault("conflict", f" has to be above from = {start}", value=stop))
        return stop

    @field_validator("count")
    @classmethod
    def _has_no_count(cls, count: int | None) -> int | None:
        if count is not None:
            raise KeysError(Fault("conflict", ": a range to search has no count; a list has fixed values", value=count))
        return count

    @field_validator("integer")
    @classmethod
    def _values_are_distinct(cls, integer: bool, info: ValidationInfo) -> bool:
        """Check that the sampler can distinguish the values: by the step, and integers by their size."""
        start, stop, step = (info.data.get(key) for key in ("start", "stop", "step"))
        if start is None or stop is None:
            return integer
        faults = []
        if step is not None:
            least = 1 if integer else max(abs(start), abs(stop)) * 10.0 ** (1 - DIGITS)
            if step < least or (integer and not float(step).is_integer()):
                kind = "whole numbers" if integer else f"numbers from {start} to {stop}"
                says = f": {kind} go in steps of at least {least:g}" + (", whole ones" if integer else "")
                faults.append(Fault("conflict", says, path="step", value=step))
            elif step > stop - start:
                says = f": is longer than the range from {start} to {stop}, which has a single value then"
                faults.append(Fault("conflict", says, path="step", value=step))
        for key, end in (("from", start), ("to", stop)):
            if integer and abs(end) > LARGEST_WHOLE:
                says = f": whole numbers are searched from {-LARGEST_WHOLE:,} to {LARGEST_WHOLE:,}"
                faults.append(Fault("conflict", says, path=key, value=end))
        if faults:
            raise KeysError(*faults, beside=True)
        return integer
