"""The outcome of a search for good designs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from sledsim._core import Fault, SledsimError
from sledsim.devices.device import Device
from sledsim.scenario.system_tree import drives_in
from sledsim.show.arguments import require_path
from sledsim.show.faults import CanFail, facts_of, make_error, require_writable
from sledsim.show.files import write_atomically
from sledsim.show.shown import OneTable, Shown
from sledsim.show.tables import Table, number
from sledsim.sweep.axes import Assignment
from sledsim.sweep.description import Task
from sledsim.sweep.measures import with_unit
from sledsim.sweep.search import Objective, Search
from sledsim.sweep.tables import label

if TYPE_CHECKING:
    import altair

__all__ = ["SearchOutcome", "Trial"]


@dataclass(frozen=True)
class Trial(CanFail):
    """A trial of a design.

    Parameters
    ----------
    number
        Number of the trial, from 0.
    values
        Parameters of the design.
    samples
        For each objective, the value of each replication.
    held
        For each constraint, the mean of its metric.
    excess
        For each constraint, its violation; 0 or less if it is met.
    imprecise
        Number of replications that did not reach their precision.
    controlled
        Number of replications, run to a precision, whose metric ``response`` is the mean with control variates. In the
        others it is the plain mean.
    faults
        Reasons why the design could not be run; empty if it ran.
    """

    number: int
    values: Assignment
    samples: tuple[tuple[float, ...], ...] = ()
    held: tuple[float, ...] = ()
    excess: tuple[float, ...] = ()
    imprecise: int = 0
    controlled: int = 0
    faults: tuple[Fault, ...] = ()

    @property
    def objectives(self) -> tuple[float, ...]:
        """For each objective, the mean over the replications."""
        return tuple(fmean(each) for each in self.samples)

    @property
    def feasible(self) -> bool:
        """True if the design ran and meets all constraints."""
        return self.error is None and all(each <= 0 for each in self.excess)


@dataclass(frozen=True)
class SearchOutcome(OneTable, Shown):
    """The trials of a search, and the best designs.

    Parameters
    ----------
    search
        The search.
    trials
        The trials in order.
    store
        The store of the runs.
    complete
        True if the search ended; false if it was interrupted.
    """

    search: Search
    trials: Sequence[Trial]
    store: Path
    complete: bool

    @property
    def front(self) -> list[Trial]:
        """The Pareto-optimal trials among those that meet all constraints; with one objective, the best one.

        They are sorted by the first objective, the best value first.
        """
        feasible = [each for each in self.trials if each.feasible]
        signed = {each.number: self._signed(each) for each in feasible}
        best = [
            each for each in feasible if not any(_dominates(other, signed[each.number]) for other in signed.values())
        ]
        # Of trials with equal objectives, keep the first.
        first = {signed[each.number]: each for each in reversed(best)}
        return [first[reached] for reached in sorted(first)]

    def _signed(self, trial: Trial) -> tuple[float, ...]:
        """Return the objectives of a trial with signs such that smaller is better."""
        signs = (-1.0 if each.goal == "maximise" else 1.0 for each in self.search.objectives)
        return tuple(sign * value for sign, value in zip(signs, trial.objectives, strict=True))

    def table(self) -> Table:
        """Return a table of the best designs."""
        search = self.search
        headers = ["trial", *(_header(each) for each in search.objectives), *(str(each) for each in search.constraints)]
        rows = [
            [
                str(each.number),
                *(number(value, 5) for value in each.objectives),
                *(number(value, 5) for value in each.held),
                *(_parameter(value) for value in each.values.values()),
            ]
            for each in self.front
        ]
        notes = self._nearest_to_constraints() + self._precision_notes()
        return Table([*headers, *search.parameters], rows, title=self._title(), notes=notes)

    def _precision_notes(self) -> list[str]:
        """Return notes on runs that did not reach their precision, and on the estimate of the mean response."""
        ran = [each for each in self.trials if each.error is None]
        runs, imprecise = sum(len(each.samples[0]) for each in ran), sum(each.imprecise for each in ran)
        controlled = sum(each.controlled for each in ran)
        notes = [f"{imprecise} of {runs} runs did not reach their precision"] if imprecise else []
        metrics = [each.metric for each in self.search.objectives] + [each.metric for each in self.search.constraints]
        if "response" in metrics and controlled:
            others = (
                "; the others have the plain mean, as control variates need 10,000 requests and independent batches"
                if controlled < runs
                else ""
            )
            notes.append(f"response: mean with control variates in {controlled} of {runs} runs{others}")
        return notes

    def _nearest_to_constraints(self) -> list[str]:
        """Return a note with the nearest value for each constraint that no trial meets."""
        notes = []
        ran = [each for each in self.trials if each.error is None]
        for i, constraint in enumerate(self.search.constraints):
            nearest = min(ran, key=lambda trial: trial.excess[i], default=None)
            if nearest is not None and nearest.excess[i] > 0:
                value = f"{number(nearest.held[i], 5)} (trial {nearest.number})"
                notes.append(f"no design meets {constraint}: the nearest has {value}")
        return notes

    def _title(self) -> str:
        tried, failed = len(self.trials), sum(each.error is not None for each in self.trials)
        broken = sum(each.error is None and not each.feasible for each in self.trials)
        what = "the best design" if len(self.search.objectives) == 1 else "Pareto-optimal designs"
        what = f"{what}, of {tried} tried" if self.front else f"none of {tried} designs meets all constraints"
        out = [f"{broken} break a constraint"] if broken else []
        out += [f"{failed} could not be run"] if failed else []
        return f"{self.search.name}: {what}" + (f" ({', '.join(out)})" if out else "")

    def _rows(self, *args: Any) -> list[dict[str, Any]]:
        """Return a row for each trial."""
        return list(self.to_dict(*args)["trials"])

    def to_dict(self) -> dict[str, Any]:
        """Return all trials as plain values; ``front`` marks the Pareto-optimal ones."""
        best = {each.number for each in self.front}
        return {
            "search": self.search.name,
            "objectives": [each.__dict__ for each in self.search.objectives],
            "constraints": [each.__dict__ for each in self.search.constraints],
            "complete": self.complete,
            "store": str(self.store),
            "trials": [self._trial_tables(each, each.number in best) for each in self.trials],
        }

    def _trial_tables(self, trial: Trial, best: bool) -> dict[str, Any]:
        metrics = [each.metric for each in self.search.objectives]
        bounds = [each.metric for each in self.search.constraints]
        return {
            "trial": trial.number,
            "parameters": trial.values,
            "objectives": dict(zip(metrics, trial.objectives, strict=False)),
            "replications": dict(zip(metrics, trial.samples, strict=False)),
            "constraints": dict(zip(bounds, trial.held, strict=False)),
            "imprecise": trial.imprecise,
            "controlled": trial.controlled,
            "feasible": trial.feasible,
            "front": best,
            "error": trial.error,
            "faults": [facts_of(fault) for fault in trial.faults],
        }

    def trial(self, index: int | None = None) -> Trial:
        """Return a trial that ran.

        Parameters
        ----------
        index
            Its number; by default the best one. With several objectives that is the Pareto-optimal design nearest to
            the best values of all objectives, each scaled to its range on the front.

        Raises
        ------
        SledsimError
            If there is no such trial, or it could not be run.
        """
        if index is None:
            return self._nearest_to_ideal()
        found = next((each for each in self.trials if each.number == index), None)
        front = [each.number for each in self.front]
        if found is None:
            message = f"there is no trial {index}: trials are 0 to {len(self.trials) - 1}"
            message += f", Pareto-optimal {', '.join(map(str, front))}" if front else ""
            raise make_error(SledsimError, "unknown-name", message, path="design", value=index)
        if found.error is not None:
            raise make_error(SledsimError, "unsupported", f"trial {index} could not be run: {found.error}")
        return found

    def design(self, index: int | None = None) -> Device:
        """Return the device of a trial.

        Parameters
        ----------
        index
            As for :meth:`trial`.

        Raises
        ------
        SledsimError
            If no parameter belongs to a device, or the system has several different devices.
        """
        if not any("device" in path.split(".") for paths in self.search.parameters for path in paths.split(",")):
            message = f"no parameter of {self.search.name} belongs to a device, so there is no design to save"
            raise make_error(SledsimError, "unsupported", message, path="parameters")
        chosen = self.trial(index)
        designs = self.search.designs([chosen.values])
        task = Task(0, 0, self.search.settings(chosen.values), None)
        scenario = self.search.base.resolve(designs.settings(task))
        devices = [Device(each["device"]) for each in drives_in(scenario.values["system"])]
        different = {each.label: each for each in devices if each.parameters != devices[0].parameters}
        if different:
            listed = ", ".join([devices[0].label, *different])
            message = f"the system has several devices ({listed}), and a device file has one: search a system with one"
            raise make_error(SledsimError, "unsupported", message, path="system")
        return devices[0]

    def save_design(self, path: str | Path, index: int | None = None) -> Trial:
        """Write the device of a trial as a device file.

        Parameters
        ----------
        path
            The file, with suffix ``.toml``.
        index
            As for :meth:`trial`.

        Returns
        -------
        Trial
            The saved trial.
        """
        target = require_path(SledsimError, "path", path)
        require_writable(SledsimError, target, [".toml"])
        chosen, device = self.trial(index), self.design(index)
        reached = ", ".join(
            f"{with_unit(each.metric)} {number(value, 5)}"
            for each, value in zip(self.search.objectives, chosen.objectives, strict=True)
        )
        comment = f"# Trial {chosen.number} of the search {self.search.name}: {reached}."
        write_atomically(target, f"{comment}\n{device.to_toml()}")
        return chosen

    def _nearest_to_ideal(self) -> Trial:
        front = self.front
        if not front:
            message = f"{self.search.name}: there is no design to save: none meets all constraints"
            raise make_error(SledsimError, "unsupported", message, path="trials")
        points = {each.number: self._signed(each) for each in front}
        columns = [(min(column), max(column)) for column in zip(*points.values(), strict=True)]

        def distance(trial: Trial) -> float:
            pairs = zip(points[trial.number], columns, strict=True)
            return math.hypot(*((value - low) / (high - low) for value, (low, high) in pairs if high > low))

        return min(front, key=distance)

    def plot(self) -> "altair.TopLevelMixin":
        """Draw all trials and the Pareto front; with one objective, its value and the best so far by trial."""
        from sledsim.sweep.search_chart import search_plot

        return search_plot(self)


def _dominates(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Return true if one point Pareto-dominates another; smaller values are better."""
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def _header(objective: Objective) -> str:
    return f"{with_unit(objective.metric)} {'↑' if objective.goal == 'maximise' else '↓'}"


def _parameter(value: Any) -> str:
    return number(value, 5) if isinstance(value, float) else label(value)
