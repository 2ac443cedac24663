"""Comparison of devices and schedulers on one trace: which keep up with it, and which is fastest."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim._core import SledsimError
from sledsim.devices.headings import system_questions
from sledsim.runs.assumptions import replay_assumptions
from sledsim.runs.confidence import Interval
from sledsim.runs.labels import device_of_run
from sledsim.runs.replaying import replay
from sledsim.runs.result import Result
from sledsim.runs.running import ProgressCallback
from sledsim.runs.summary_tables import NO_ENERGY, comparison_notes
from sledsim.scenario.reading import Sets
from sledsim.show.arguments import require_several
from sledsim.show.faults import make_error
from sledsim.show.naming import label_of, with_count
from sledsim.show.shown import OneTable, Shown
from sledsim.show.tables import Table, number
from sledsim.traces.trace import Trace

if TYPE_CHECKING:
    import altair

__all__ = [
    "DEFAULT_DEVICES",
    "Combination",
    "TraceComparison",
    "combination_names",
    "compare_combinations",
    "compare_on_trace",
    "too_small_notes",
]

#: Default devices of a comparison: two generations of MEMS storage and two disks with known powers.
DEFAULT_DEVICES = ("g2", "g3", "travelstar", "ultrastar36z15")

HEADERS = ["device, scheduler", "keeps up", "mean (ms)", "p99 (ms)", "busy (%)", "mJ/request"]


@dataclass(frozen=True)
class Combination:
    """The replay of a trace on one device with one scheduler.

    Parameters
    ----------
    device, scheduler
        Their names.
    result
        The result; ``None`` if the replay failed.
    error
        The reason why it failed.
    """

    device: str
    scheduler: str
    result: Result | None
    error: SledsimError | None = None

    @cached_property
    def heading(self) -> str:
        """The device with its changed values."""
        return self.device if self.result is None else device_of_run(self.result.summary)

    @property
    def name(self) -> str:
        """The device with its changed values, and the scheduler."""
        return f"{self.heading}, {self.scheduler}"

    @property
    def keeps_up(self) -> bool:
        """True if requests are served as fast as they arrive."""
        return self.result is not None and self.result["overload"] is None

    @property
    def mean_ms(self) -> float | None:
        """Mean response time, ms; ``None`` if nothing was measured."""
        response = self.result["response"] if self.result is not None else None
        return response["mean_ms"] if response else None

    def row(self) -> list[str]:
        """Return the row of the table."""
        if self.result is None:
            return [self.name, "too small", *["–"] * (len(HEADERS) - 2)]
        found = self.result
        response, energy, busy = found["response"] or {}, found["energy"], found["utilisation"]["fraction"]
        return [
            self.name,
            "–" if not found.complete else "yes" if self.keeps_up else "no",
            number(response.get("mean_ms")),
            number(response.get("p99_ms")),
            number(None if busy is None else 100 * busy, 3),
            number(energy["per_request_mj"] if energy else None),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return names, summary and error as plain values."""
        summary = None if self.result is None else self.result.summary
        error = None if self.error is None else str(self.error)
        keeps_up = None if self.result is None else self.keeps_up
        return {
            "device": self.device,
            "scheduler": self.scheduler,
            "keeps_up": keeps_up,
            "summary": summary,
            "error": error,
        }


class TraceComparison(OneTable, Shown):
    """One trace replayed on several devices and schedulers.

    Parameters
    ----------
    trace
        The name of the trace.
    combinations
        The replays, in the order of the table.
    not_run
        Names of the combinations that an interrupt left out.
    """

    def __init__(self, trace: str, combinations: Sequence[Combination], not_run: Sequence[str] = ()) -> None:
        self.trace = trace
        self.combinations = list(combinations)
        self.not_run = list(not_run)

    @property
    def complete(self) -> bool:
        """True if no replay was interrupted."""
        return all(each.result is None or each.result.complete for each in self.combinations)

    @property
    def ranked(self) -> list[Combination]:
        """The combinations that keep up, by mean response time."""
        served = [each for each in self.combinations if each.keeps_up and each.mean_ms is not None]
        return sorted(served, key=lambda each: each.mean_ms or 0.0)

    @property
    def best(self) -> Combination | None:
        """The combination with the lowest mean response time among those that keep up; ``None`` if none does."""
        return next(iter(self.ranked), None)

    def margin(self, other: Combination) -> Interval | None:
        """Return the mean response time of another combination minus that of the best, ms, with its 95 % interval.

        Requests are paired in order of completion, so the load of the trace cancels out.

        Parameters
        ----------
        other
            A combination that keeps up.

        Returns
        -------
        Interval or None
            ``None`` without a best combination, or if the runs are too short for an interval.
        """
        best = self.best
        if best is None or best.result is None or other.result is None:
            return None
        return other.result.response_difference(best.result)

    def verdict(self) -> str:
        """Return the best combination and its margin over the second best, in one sentence."""
        if not self.complete:
            return ""
        if not self.ranked:
            return "no combination keeps up with the trace"
        best, *others = self.ranked
        if not others:
            return f"only {best.name} keeps up with the trace" if len(self.combinations) > 1 else ""
        second = others[0]
        margin = self.margin(second)
        text = f"lowest mean response: {best.name}"
        if margin is None:
            return f"{text}; second: {second.name}; no confidence interval: too few independent requests"
        if margin.low == margin.high == 0:
            return f"{text}, equal to {second.name}"
        if margin.low <= 0:
            return f"{text}; the difference from {second.name} may be chance: {_interval(margin)}"
        return f"{text}: {_interval(margin)} below {second.name}"

    def table(self) -> Table:
        """Return a row per combination, with the best one and the assumptions below."""
        replayed = [each.result for each in self.combinations if each.result is not None]
        requests = f" · {_counted(replayed[0])}" if replayed else ""
        notes = [text for text in (self.verdict(),) if text]
        notes += [
            f"{each.name}: interrupted after {with_count(each.result['in_system']['completed'], 'request')}"
            for each in self.combinations
            if each.result is not None and not each.result.complete
        ]
        if self.not_run:
            notes.append(f"not run: {'; '.join(self.not_run)}")
        overloads = [each for each in self.combinations if each.result is not None and not each.keeps_up]
        notes += [f"{each.name}: {each.result['overload']['note']}" for each in overloads if each.result is not None]
        notes += comparison_notes(
            (each.name, each.result.summary) for each in self.combinations if each.result is not None
        )
        notes += too_small_notes([(each.heading, each.error) for each in self.combinations if each.error is not None])
        unpowered = [
            each.heading for each in self.combinations if each.result is not None and not each.result["energy"]
        ]
        if unpowered:
            notes.append(f"{NO_ENERGY}: {', '.join(dict.fromkeys(unpowered))}")
        systems = [each.result["scenario"]["system"] for each in self.combinations if each.result is not None]
        notes += dict.fromkeys(note for system in systems for note in system_questions(system))
        if replayed:
            notes.append(f"assumed: {replay_assumptions(*(each.summary for each in replayed))}")
        title = f"trace {Path(self.trace).name}{requests}"
        return Table(HEADERS, [each.row() for each in self.combinations], title=title, notes=notes)

    def to_dict(self) -> dict[str, Any]:
        """Return the combinations and the best one as plain values."""
        best = self.best
        return {
            "trace": self.trace,
            "combinations": [each.to_dict() for each in self.combinations],
            "best": None if best is None else {"device": best.device, "scheduler": best.scheduler},
            "verdict": self.verdict(),
        }

    def plot(self) -> "altair.TopLevelMixin":
        """Draw the mean response time of each combination over the trace; needs ``log=True``."""
        from sledsim.runs.trace_comparison_chart import response_lines

        return response_lines(self)

    def __repr__(self) -> str:
        return f"<TraceComparison of {', '.join(each.name for each in self.combinations)}>"

    def __len__(self) -> int:
        return len(self.combinations)

    def __getitem__(self, key: tuple[str, str]) -> Result:
        """Return the result on a device with a scheduler."""
        for each in self.combinations:
            if (each.device, each.scheduler) == key and each.result is not None:
                return each.result
        raise KeyError(f"no result of {key!r}; there are {', '.join(each.name for each in self.combinations)}")


def compare_on_trace(
    trace: Any,
    devices: Iterable[str] | str | None = None,
    schedulers: Iterable[str] | str | None = None,
    *,
    overrides: Sets = (),
    log: bool = False,
    progress: ProgressCallback | bool | None = None,
    **workload: Any,
) -> TraceComparison:
    """Replay a trace on every combination of devices and schedulers.

    Parameters
    ----------
    trace
        The trace, as for :func:`sledsim.replay`.
    devices
        Names or files of devices; :data:`DEFAULT_DEVICES` if not given.
    schedulers
        Names of schedulers; ``fcfs`` if not given.
    overrides, progress
        As for :func:`sledsim.run`.
    log
        True to keep the log of requests, for a plot.
    **workload
        Keys of the workload, such as ``fit="scale"``.

    Returns
    -------
    TraceComparison
        A combination whose device is too small for the trace has the error.

    Raises
    ------
    SledsimError
        If the trace, a name or a key is invalid, or every device is too small.
    """
    sets = overrides if isinstance(overrides, Mapping | str) else list(overrides)

    def run_one(device: str, scheduler: str) -> Result:
        return replay(trace, device, scheduler=scheduler, overrides=sets, log=log, progress=progress, **workload)

    name = trace.name if isinstance(trace, Trace) else str(trace)
    return compare_combinations(name, devices, schedulers, run_one)


def compare_combinations(
    trace: str,
    devices: Iterable[str] | str | None,
    schedulers: Iterable[str] | str | None,
    run_one: Callable[[str, str], Result],
) -> TraceComparison:
    """Compare the results of a function for every combination of devices and schedulers.

    Parameters
    ----------
    trace
        The name of the trace.
    devices, schedulers
        As for :func:`compare_on_trace`.
    run_one
        Replays the trace on a device with a scheduler.

    Raises
    ------
    SledsimError
        An error other than a device that is too small; or the first one, if every device is too small.
    """
    found: list[Combination] = []
    pairs = list(
        product(
            combination_names(devices, DEFAULT_DEVICES, "devices"),
            combination_names(schedulers, ("fcfs",), "schedulers"),
        )
    )
    for place, (device, scheduler) in enumerate(pairs):
        try:
            result = run_one(device, scheduler)
        except SledsimError as error:
            if any(fault.kind != "misfit" for fault in error.faults):
                raise
            found.append(Combination(label_of(device), scheduler, None, error))
            continue
        found.append(Combination(label_of(device), scheduler, result))
        if not result.complete:
            return TraceComparison(trace, found, [f"{label_of(one)}, {other}" for one, other in pairs[place + 1 :]])
    if all(each.result is None for each in found):
        raise next(each.error for each in found if each.error is not None)
    return TraceComparison(trace, found)


def combination_names(given: Iterable[str] | str | None, default: Sequence[Any], argument: str) -> list[Any]:
    """Return the names of devices or schedulers, without duplicates.

    Parameters
    ----------
    given
        One name or several.
    default
        The default names.
    argument
        The name of the argument in errors.
    """
    if given is None:
        return list(default)
    names = [given] if isinstance(given, str) else require_several(SledsimError, argument, given, "a list of names")
    if not names:
        raise make_error(SledsimError, "missing", "expected at least one name", path=argument)
    return list(dict.fromkeys(names))


def too_small_notes(failed: Iterable[tuple[str, SledsimError]]) -> list[str]:
    """Return a note with the devices that are too small for a trace and the remedies, and one for each other error.

    Parameters
    ----------
    failed
        Devices, each with the error of its replay.
    """
    small: dict[str, int] = {}
    needed, notes = 0.0, dict[str, None]()
    for name, error in failed:
        needs = [
            (fault.value, fault.allowed["least"])
            for fault in error.faults
            if isinstance(fault.value, int) and isinstance(fault.allowed, dict) and fault.allowed.get("least")
        ]
        if needs:
            [(small[name], least), *_] = needs
            needed = max(needed, least)
        else:
            # A single request is larger than the device.
            notes[f"{name}: {error}"] = None
    if small:
        capacities = ", ".join(f"{name} ({number(capacity / 1e9)} GB)" for name, capacity in small.items())
        notes[
            f"too small: {capacities}; the trace needs at least {number(needed / 1e9)} GB: choose a larger device, or "
            'map addresses with --fit wrap or --fit scale (in Python fit="wrap" or fit="scale")'
        ] = None
    return list(notes)


def _counted(result: Result) -> str:
    """Return the numbers of requests and flushes, as in the headline of a run."""
    flushes = result["flushes"]["response"]["count"] if result.summary.get("flushes") else 0
    requests = with_count(result["requests"]["submitted"] - flushes, "request")
    return f"{requests}, flushes: {flushes:,}" if flushes else requests


def _interval(found: Interval) -> str:
    return f"{number(found.mean, 3)} ms ({number(found.low, 3)} to {number(found.high, 3)}, 95 % confidence)"
