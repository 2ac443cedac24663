"""Sweeps: a base scenario, axes and replications, from a file or from Python."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from sledsim._core import Fault, ScenarioError
from sledsim.scenario.documents import Settings
from sledsim.scenario.reading import Resolved, Setting
from sledsim.scenario.source import Source
from sledsim.scenario.tables import KeysError, OneOrMore, collect_faults
from sledsim.sweep.axes import (
    Assignment,
    Axes,
    Range,
    Sample,
    axis_values,
    cross_axes,
    derived_seed,
    flat,
    path_faults,
    zip_axes,
)
from sledsim.sweep.checking import beside, order_settings, own_path
from sledsim.sweep.execution import Prepared, prepare_base
from sledsim.sweep.varied import Count, Name, Seed, VariedScenario

__all__ = ["Sweep", "SweepLike", "Task"]


@dataclass(frozen=True)
class Task:
    """One run of a sweep.

    Parameters
    ----------
    point
        Number of the point, from 0.
    replication
        Number of the replication, from 0.
    values
        Values of the axes, by parameter.
    seed
        Seed of the run; ``None`` if the scenario or an axis sets it.
    """

    point: int
    replication: int
    values: Assignment
    seed: int | None


class Sweep(VariedScenario):
    """A base scenario with varied parameters. Its fields are the keys of a file.

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

    what: ClassVar[str] = "sweep"
    example: ClassVar[str] = 'a base scenario: scenario = "base.toml"'
    prefix: ClassVar[str] = "sweep."

    if TYPE_CHECKING:
        # Scenario and axes can be positional.
        def __init__(self, *values: Any, **keys: Any) -> None: ...

    axes: Axes = Field(default_factory=dict)
    """By path of a parameter, a list of values or a range. Axes are crossed (full factorial)."""
    zip: Annotated[list[Axes], OneOrMore()] = Field(default_factory=list)
    """Groups of axes whose values are paired in order."""
    sample: Annotated[list[Sample], OneOrMore()] = Field(default_factory=list)
    """Groups of axes whose points are drawn at random."""
    replications: Count = 1
    """Number of runs of each point, with different seeds."""
    seed: Seed | None = None
    """Seed of replication 0, from which all other seeds are derived. Default: that of the scenario."""
    random_numbers: Literal["common", "independent"] = "common"
    """``common``: a replication has the same seed at every point (common random numbers). ``independent``: every point
    has its own seeds."""
    overrides: Settings = ()
    """Values that replace those of the scenario, by path."""
    name: Name = "sweep"
    """Name in the store. Default: the name of the file."""

    @field_validator("axes")
    @classmethod
    def _axes_have_values(cls, axes: Mapping[str, Any]) -> Mapping[str, Any]:
        if faults := _axes_faults(axes):
            raise KeysError(*faults)
        return axes

    @field_validator("zip")
    @classmethod
    def _groups_fit(cls, groups: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        faults: list[Fault] = []
        for i, group in enumerate(groups):
            with collect_faults(faults, str(i)):
                zip_axes(group)
        if faults:
            raise KeysError(*faults)
        return groups

    @field_validator("sample")
    @classmethod
    def _parameters_are_on_one_axis(cls, sample: list[Sample], info: ValidationInfo) -> list[Sample]:
        if {"axes", "zip"} <= info.data.keys():
            seen: dict[str, str] = {}
            faults = []
            for key, path in _axis_keys(info.data["axes"], info.data["zip"], sample):
                first = seen.setdefault(own_path(path), key)
                if first != key:
                    faults.append(Fault("conflict", f": is an axis already (as {first})", path=key))
            if faults:
                raise KeysError(*faults, beside=True)
        return sample

    @field_validator("random_numbers")
    @classmethod
    def _seeds_can_be_derived(cls, random_numbers: str, info: ValidationInfo) -> str:
        keys = info.data
        if {"axes", "zip", "replications", "seed"} <= keys.keys():
            derives = (keys["replications"], keys["seed"], random_numbers) != (1, None, "common")
            message = " leaves no seeds to derive: leave out the axis, or replications, seed and random_numbers"
            on_axes = [
                key for key, path in _axis_keys(keys["axes"], keys["zip"], keys.get("sample", [])) if path == "seed"
            ]
            if derives and on_axes:
                raise KeysError(*(Fault("conflict", message, path=key) for key in on_axes), beside=True)
        return random_numbers

    @classmethod
    def _named_faults(cls, values: Mapping[str, Any], source: Source, settings: Sequence[str]) -> list[Fault]:
        """Return the faults of the scenario with the values of valid axes."""
        if not isinstance(values.get("scenario"), str | dict):
            return []
        given = {key: _flat_of(values.get(key)) for key in ("axes", "zip", "sample")}
        axes = {path: axis for path, axis in given["axes"].items() if not _axes_faults({path: axis})}
        untried = [path for table in given.values() for path in table if path not in axes]

        def key(path: str, number: int | None) -> str:
            return f"axes.{path}" if number is None or isinstance(axes[path], Mapping) else f"axes.{path}.{number}"

        return beside(source, settings, cross_axes(axes), key, untried)

    @cached_property
    def base_seed(self) -> int:
        """The value from which the seeds of replications are derived."""
        if self.seed is not None:
            return self.seed
        return self._checks(self._ordered, self._key).first(self._fixed_groups).seed

    @cached_property
    def _fixed_groups(self) -> list[list[Assignment]]:
        """The groups of assignments that are not drawn at random."""
        return cross_axes(self.axes) + [zip_axes(group) for group in self.zip]

    @cached_property
    def groups(self) -> list[list[Assignment]]:
        """The groups of assignments, which are crossed."""
        return self._drawn(self.base_seed if self.sample else 0)

    def _drawn(self, seed: int) -> list[list[Assignment]]:
        return self._fixed_groups + [sample.assignments(seed) for sample in self.sample]

    @property
    def parameters(self) -> list[str]:
        """The varied parameters."""
        return [path for _, axes in self._tables for path in axes]

    @cached_property
    def _tables(self) -> list[tuple[str, Mapping[str, Any]]]:
        return _tables_of(self.axes, self.zip, self.sample)

    def _key(self, path: str, number: int | None) -> str:
        """Return the key of an axis, or of one of its values if it is a list, in a file."""
        table, axis = next((table, axes[path]) for table, axes in self._tables if path in axes)
        listed = number is not None and not table.startswith("sample") and not isinstance(axis, Mapping | Range)
        return f"{table}.{path}.{number}" if listed else f"{table}.{path}"

    def __len__(self) -> int:
        """Return the number of points."""
        return prod(len(group) for group in self.groups)

    @property
    def runs(self) -> int:
        """Number of runs: points times replications."""
        return len(self) * self.replications

    def point(self, number: int) -> Assignment:
        """Return the values of the axes at a point; the last axis varies fastest.

        Parameters
        ----------
        number
            Number of the point, from 0.
        """
        parts: list[Assignment] = []
        for group in reversed(self.groups):
            number, i = divmod(number, len(group))
            parts.append(group[i])
        return {path: value for part in reversed(parts) for path, value in part.items()}

    def tasks(self) -> Iterator[Task]:
        """Yield the runs: replication 0 of every point, then replication 1, and so on."""
        for replication in range(self.replications):
            for number in range(len(self)):
                values = self.point(number)
                yield Task(number, replication, values, self.seed_of(values, replication))

    def seed_of(self, values: Assignment, replication: int) -> int | None:
        """Return the seed of a run; ``None`` if the scenario or an axis sets it.

        Parameters
        ----------
        values
            Values of the axes at the point.
        replication
            Number of the replication.
        """
        if self.replications == 1 and self.seed is None and self.random_numbers == "common":
            return None
        if self.random_numbers == "independent":
            return derived_seed(self.base_seed, replication, json.dumps(values, sort_keys=True))
        return derived_seed(self.base_seed, replication) if replication else self.base_seed

    def settings(self, task: Task) -> list[Setting]:
        """Return the settings that replace values of the base scenario in a run: tables before the keys in them.

        Parameters
        ----------
        task
            The run.
        """
        return self._ordered(task.values, task.seed)

    def _ordered(self, values: Assignment, seed: int | None = None) -> list[Setting]:
        of_task = values if seed is None else values | {"seed": seed}
        return order_settings([*self.overrides, *of_task.items()])

    def prepare(self, task: Task) -> Prepared:
        """Resolve a run and compute its key.

        Parameters
        ----------
        task
            The run.
        """
        return prepare_base(self.base, self.settings(task))

    def check(self) -> Resolved:
        """Resolve the first point, and each value of each axis combined with the first values of the others.

        A value with faults may be valid with other values, such as a number of requests with another warm-up. It is
        tried again with the last values of the other axes. For long axes, only a part of the values is checked.

        Returns
        -------
        Resolved
            The scenario of the first point.

        Raises
        ------
        ScenarioError
            If an axis is not a parameter, or a value is invalid. There is a fault for each, with its key in the sweep's
            file, such as ``axes.scheduler.1``, and with file and line if there is a file.
        """
        try:
            groups = self.groups
        except ScenarioError:
            # The scenario has no valid seed. The check below reports its faults, so that any seed serves.
            groups = self._drawn(0)
        return self._checks(self._ordered, self._key).every(groups)


#: A sweep, its file, or the tables of a file.
SweepLike = Sweep | Mapping[str, Any] | Path | str


def _flat_of(given: Any) -> dict[str, Any]:
    """Return the axes by path of one table or several, without values that are not tables, and of samples."""
    tables = [each for each in (given if isinstance(given, list) else [given]) if isinstance(each, Mapping)]
    return {path.removeprefix("axes."): axis for each in tables for path, axis in flat(each).items()}


def _axes_faults(axes: Mapping[str, Any]) -> list[Fault]:
    faults = path_faults(axes)
    for path, axis in axes.items():
        with collect_faults(faults, path):
            axis_values(axis)
    return faults


def _tables_of(
    axes: Mapping[str, Any], groups: Sequence[Mapping[str, Any]], samples: Sequence[Sample]
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the tables of axes, each with its key."""
    zips = [(f"zip.{i}", group) for i, group in enumerate(groups)]
    return [("axes", axes), *zips, *((f"sample.{i}.axes", each.axes) for i, each in enumerate(samples))]


def _axis_keys(
    axes: Mapping[str, Any], groups: Sequence[Mapping[str, Any]], samples: Sequence[Sample]
) -> list[tuple[str, str]]:
    """Return the key and the parameter of each axis."""
    return [(f"{table}.{path}", path) for table, within in _tables_of(axes, groups, samples) for path in within]
