"""Searches for good designs: base scenario, parameters with ranges, objectives and constraints."""

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

#: Metrics that are maximised by default.
LARGER = frozenset({"bandwidth", "capacity", "streaming_bandwidth"})


class Objective(Table):
    """A metric to minimise or maximise."""

    if TYPE_CHECKING:
        # Values can be positional.
        def __init__(self, *values: Any, **keys: Any) -> None: ...

    metric: str
    """``response``, ``bandwidth``, ``energy``, ``power``, ``capacity``, ``streaming_bandwidth``, ``cost``,
    ``cost_per_gb``, or the path of any number in a run's result, such as ``response.p99_ms``."""
    goal: Literal["minimise", "maximise"] = "minimise"
    """Direction of the optimisation. Default: ``maximise`` for bandwidths and capacity, else ``minimise``."""

    @model_validator(mode="before")
    @classmethod
    def _goal_by_metric(cls, keys: Any) -> Any:
        if isinstance(keys, Mapping) and "goal" not in keys:
            metric = keys.get("metric")
            if isinstance(metric, str) and metric in LARGER:
                return {**keys, "goal": "maximise"}
        return keys


class Constraint(Table):
    """A bound that a design must meet."""

    if TYPE_CHECKING:
        # Values can be positional.
        def __init__(self, *values: Any, **keys: Any) -> None: ...

    metric: str
    """As for an objective."""
    at_most: Number | None = None
    """The upper bound."""
    at_least: Number | None = None
    """The lower bound; at least one bound is required."""

    @field_validator("at_least")
    @classmethod
    def _has_a_bound(cls, at_least: float | None, info: ValidationInfo) -> float | None:
        if at_least is None and {"metric", "at_most"} <= info.data.keys() and info.data["at_most"] is None:
            message = f": the constraint of {info.data['metric']} needs at_most or at_least"
            raise KeysError(Fault("missing", message, path="at_most"), beside=True)
        return at_least

    def excess(self, value: float) -> float:
        """Return the violation of the bounds by a value; 0 or less if it meets them.

        Parameters
        ----------
        value
            The value of the metric.
        """
        above = value - self.at_most if self.at_most is not None else float("-inf")
        below = self.at_least - value if self.at_least is not None else float("-inf")
        return max(above, below)

    def __str__(self) -> str:
        low = f"{self.at_least:g} ≤ " if self.at_least is not None else ""
        return f"{low}{with_unit(self.metric)}" + (f" ≤ {self.at_most:g}" if self.at_most is not None else "")


class Search(VariedScenario):
    """A search for designs or policies that are optimal for one objective, or Pareto-optimal for several.

    Its fields are the keys of a file.
    """

    what: ClassVar[str] = "search"
    example: ClassVar[str] = 'a base scenario: scenario = "base.toml"'
    prefix: ClassVar[str] = "search."

    if TYPE_CHECKING:
        # Scenario, parameters and objectives can be positional.
        def __init__(self, *values: Any, **keys: Any) -> None: ...

    parameters: Axes
    """By path, a range to search or a list of choices. Several paths, separated by commas, get the same value."""
    objectives: Annotated[list[Objective], Field(min_length=1), OneOrMore("metric")]
    """Metrics to minimise or maximise. With several, the search finds Pareto-optimal designs."""
    constraints: Annotated[list[Constraint], OneOrMore()] = Field(default_factory=list)
    """Bounds that designs must meet."""
    prices: PriceList = Field(default_factory=PriceList)
    """Prices for ``cost``."""
    trials: Count = 100
    """Number of designs to try."""
    batch: Count = 8
    """Number of designs proposed at a time and run in parallel."""
    sampler: Literal["tpe", "nsga2", "random"] = "tpe"
    """Optuna sampler that proposes designs: ``tpe`` (tree-structured Parzen estimator), ``nsga2`` (genetic algorithm),
    or ``random``."""
    replications: Count = 1
    """Number of runs of each design, with different seeds; means are compared."""
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**32)] = 1
    """Seed of the sampler (32 bits) and of the runs."""
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
        """Return the faults of the scenario with the ends of valid parameters."""
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
        """For each parameter, its range or its list of choices."""
        return {path: _space(each) for path, each in self.parameters.items()}

    def settings(self, design: Assignment) -> Assignment:
        """Return the parameters of a design by path.

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
            The parameters of each design.
        """
        rows = [self.settings(each) for each in values]
        columns = {path: [row[path] for row in rows] for path in rows[0]}
        return Sweep(self.base, zip=[columns], seed=self.seed, overrides=self.overrides, name=self.name)

    def check(self) -> Resolved:
        """Resolve the design in the middle of all ranges, and the designs at the ends of each range.

        Returns
        -------
        Resolved
            The scenario in the middle.

        Raises
        ------
        ScenarioError
            If any of them is invalid. The error lists all faults.
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
    """Return a value in the middle, the first value and the last."""
    if isinstance(space, Range):
        return space.at(0.5), space.at(0.0), space.at(1.0)
    return space[len(space) // 2], space[0], space[-1]


def _parameter_faults(parameters: Mapping[str, Any]) -> list[Fault]:
    faults = [] if parameters else [Fault("out-of-range", ": has no parameters to choose")]
    named = [path for paths in parameters for path in _paths(paths)]
    faults += path_faults(named)
    counts = Counter(map(own_path, named))
    if "seed" in counts:
        message = ": the seeds of runs are derived from that of the search: set that, and leave this out"
        faults.append(Fault("conflict", message, path="seed"))
    faults += [Fault("conflict", ": is repeated", path=path) for path, count in counts.items() if count > 1]
    for paths, axis in parameters.items():
        with collect_faults(faults, paths):
            _space(axis)
    return faults


def _space(axis: Any) -> "Range | list[Any]":
    """Return the range of a parameter, or its list of choices."""
    return range_of(axis, _SearchedRange) if isinstance(axis, Mapping | Range) else axis_values(axis)


class _SearchedRange(Range):
    """A range to search: increasing, with an optional step."""

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
        """Raise if the step is too small or too large, or integers are too large to be exact as doubles."""
        start, stop, step = (info.data.get(key) for key in ("start", "stop", "step"))
        if start is None or stop is None:
            return integer
        faults = []
        if step is not None:
            least = 1 if integer else max(abs(start), abs(stop)) * 10.0 ** (1 - DIGITS)
            if step < least or (integer and not float(step).is_integer()):
                kind = "whole numbers" if integer else f"numbers from {start} to {stop}"
                message = f": {kind} go in steps of at least {least:g}" + (", whole ones" if integer else "")
                faults.append(Fault("conflict", message, path="step", value=step))
            elif step > stop - start:
                message = f": is longer than the range from {start} to {stop}, which has a single value then"
                faults.append(Fault("conflict", message, path="step", value=step))
        for key, end in (("from", start), ("to", stop)):
            if integer and abs(end) > LARGEST_WHOLE:
                message = f": whole numbers are searched from {-LARGEST_WHOLE:,} to {LARGEST_WHOLE:,}"
                faults.append(Fault("conflict", message, path=key, value=end))
        if faults:
            raise KeysError(*faults, beside=True)
        return integer
