"""The highest load at which the response time stays within a bound, by bisection."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sledsim._core import ScenarioError, SledsimError
from sledsim.runs.assumptions import replay_assumptions
from sledsim.runs.labels import device_of_run
from sledsim.runs.replaying import replay_scenario, require_effect
from sledsim.runs.result import Result
from sledsim.runs.running import ProgressCallback, run_resolved
from sledsim.runs.trace_comparison import DEFAULT_DEVICES, combination_names, too_small_notes
from sledsim.scenario.reading import Resolved, ScenarioLike, Sets, resolve, set_list
from sledsim.scenario.texts import is_document
from sledsim.scenario.typed import Scenario
from sledsim.show.arguments import require_number
from sledsim.show.faults import make_error
from sledsim.show.naming import label_of, with_count
from sledsim.show.shown import OneTable, Shown
from sledsim.show.tables import Table, number
from sledsim.traces.trace import Trace, TraceLike

if TYPE_CHECKING:
    import altair

__all__ = ["Bound", "LoadLimit", "LoadLimits", "LoadPoint", "find_limit", "limits_of"]

#: Measures of the response time that can be bounded, and their keys in a result.
MEASURES = {"mean": "mean_ms", "p99": "p99_ms", "p99.9": "p99_9_ms"}
#: Milliseconds of the units in which a bound can be written.
UNITS_MS = {"us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3}
BOUND = re.compile(r"(?:(?P<measure>[a-z0-9.]+) *= *)?(?P<number>[0-9.eE+-]+) *(?P<unit>[a-zµ]*)")

#: The longest bound, a day.
LONGEST_MS = 86_400_000.0
#: Maximum number of doublings or halvings of the load until the limit is bracketed.
MOST_DOUBLINGS = 30
#: Below this mean wait, as a share of the mean response time, a lower load does not shorten the response.
NO_WAIT = 1e-3
#: Significant digits of the tried settings, so that a setting in the table repeats the run exactly.
DIGITS = 5
#: The relative difference between the limit and a load that is too high, and the smallest that the digits allow.
PRECISION, LEAST_PRECISION = 0.01, 0.001

#: Arrivals of a scenario whose rate can be changed.
RATED = ("poisson", "constant", "on-off")
TIME_SCALE, RATE = "workload.time_scale", "workload.arrival.rate_per_s"


@dataclass(frozen=True)
class Bound:
    """The longest response time that is accepted.

    Parameters
    ----------
    measure
        ``"mean"``, ``"p99"`` or ``"p99.9"``.
    ms
        The time, ms.
    """

    measure: str
    ms: float

    def __post_init__(self) -> None:
        """Raise if the time is not a positive number."""
        require_number(SledsimError, MEASURES[self.measure], self.ms, above=0.0, most=LONGEST_MS, unit="milliseconds")

    @classmethod
    def parse(cls, text: str) -> "Bound":
        """Return the bound in a text such as ``p99=20ms``, ``mean=1.5`` (ms) or ``20`` (p99, ms).

        Raises
        ------
        SledsimError
            If the text is not a bound.
        """
        found = BOUND.fullmatch(text.strip())
        try:
            measure, unit = (found["measure"] or "p99", found["unit"] or "ms") if found else ("", "")
            ms = float(found["number"]) * UNITS_MS[unit] if found else math.nan
        except (ValueError, KeyError):
            ms = math.nan
        if not (measure in MEASURES and 0 < ms <= LONGEST_MS):
            message = ": expected a response time such as p99=20ms, p99.9=50ms, mean=5ms, or 20 (p99 in ms)"
            raise make_error(SledsimError, "wrong-type", message, path="find_limit", value=text)
        return cls(measure, ms)

    def __str__(self) -> str:
        kind = "mean response" if self.measure == "mean" else f"{self.measure} of the response"
        return f"{kind} ≤ {self.ms:g} ms"


class LoadPoint(NamedTuple):
    """One run of the search.

    ``load`` is relative to the scenario or the trace as given; ``setting`` is the value of the key that was varied.
    ``value_ms`` is the bounded measure: for ``mean`` in runs to a precision, the mean with control variates if there is
    one. ``failed`` is the number of failed requests.
    """

    load: float
    setting: float
    rate_per_s: float
    mean_ms: float
    p99_ms: float
    value_ms: float
    utilisation: float | None
    keeps_up: bool
    is_met: bool
    failed: int


@dataclass(frozen=True)
class LoadLimit:
    """The highest load of one device and scheduler within a bound.

    Parameters
    ----------
    device, scheduler
        Their names.
    bound
        The bound.
    points
        Every run of the search, by load.
    heading
        The device with its changed values.
    waits
        False if no request waited at the lowest load tried.
    error
        The reason why there is no run; ``None`` if there are some.
    complete
        False if the search was interrupted. The limit is then between :attr:`highest_met` and :attr:`above`.
    """

    device: str
    scheduler: str
    bound: Bound
    points: tuple[LoadPoint, ...]
    heading: str
    waits: bool = True
    error: SledsimError | None = None
    complete: bool = True

    @property
    def name(self) -> str:
        """The device with its changed values, and the scheduler."""
        return f"{self.heading}, {self.scheduler}"

    @property
    def limit(self) -> LoadPoint | None:
        """The highest load that meets the bound; ``None`` if there is none, or if the search was interrupted."""
        return self.highest_met if self.complete else None

    @property
    def highest_met(self) -> LoadPoint | None:
        """The highest load tried below the first that misses the bound; ``None`` if the lowest misses it."""
        found = None
        for point in self.points:
            if not point.is_met:
                break
            found = point
        return found

    @property
    def above(self) -> LoadPoint | None:
        """The lowest load tried that misses the bound; ``None`` if every one meets it."""
        return next((point for point in self.points if not point.is_met), None)

    @property
    def limited_by(self) -> str:
        """The reason for the limit: the bounded measure, ``overload``, or ``nothing``; ``–`` if unknown."""
        if not self.complete:
            return "–"
        above = self.above
        if above is None:
            return "nothing" if self.points else "–"
        return self.bound.measure if above.value_ms > self.bound.ms else "overload"

    def note(self) -> str | None:
        """Return the reason why there is no limit; ``None`` if there is one."""
        if self.error is not None:
            return str(self.error)
        if not self.complete:
            return f"interrupted: {self._range()}"
        lowest, highest = self.points[0], self.points[-1]
        if self.above is None:
            return (
                f"the bound is never reached: at {number(highest.rate_per_s)}/s, the highest load tried, the "
                f"{self.bound.measure} is {number(highest.value_ms)} ms"
            )
        if self.limit is None:
            reason = "" if self.waits else ", although no request waits: no load meets it"
            return (
                f"the bound is missed at every load tried: at {number(lowest.rate_per_s)}/s the {self.bound.measure} "
                f"is {number(lowest.value_ms)} ms{reason}"
            )
        return None

    def _range(self) -> str:
        """Return the range of the limit that an interrupted search has found."""
        low, high = self.highest_met, self.above
        if low is not None and high is not None:
            return f"the limit is between {number(low.rate_per_s)} and {number(high.rate_per_s)}/s"
        if low is not None:
            return f"the limit is at least {number(low.rate_per_s)}/s"
        return "the limit is unknown" if high is None else f"the limit is below {number(high.rate_per_s)}/s"

    def row(self) -> list[str]:
        """Return the row of the table."""
        point = self.limit
        if point is None or self.above is None:
            missing = "too small" if self.error is not None else "none" if self.complete else "interrupted"
            return [self.name, missing, *["–"] * 3, self.limited_by]
        busy = None if point.utilisation is None else 100 * point.utilisation
        return [
            self.name,
            number(point.rate_per_s),
            f"{point.setting:g}",
            number(point.value_ms),
            number(busy, 3),
            self.limited_by,
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return names, limit and the runs of the search as plain values."""
        point = self.limit if self.above is not None else None
        return {
            "device": self.device,
            "scheduler": self.scheduler,
            "limit": None if point is None else point._asdict(),
            "above": None if self.above is None else self.above._asdict(),
            "limited_by": self.limited_by,
            "complete": self.complete,
            "note": self.note(),
            "points": [each._asdict() for each in self.points],
        }


class LoadLimits(OneTable, Shown):
    """The highest loads of several devices and schedulers within a bound.

    Parameters
    ----------
    subject
        The name of the trace or the scenario.
    key
        The key that was varied.
    bound
        The bound.
    limits
        The limits, in the order of the table.
    precision
        The relative difference between a limit and the next load that is too high, at most.
    replays
        The summary of one replay on each device; none for other workloads.
    """

    def __init__(
        self,
        subject: str,
        key: str,
        bound: Bound,
        limits: Iterable[LoadLimit],
        precision: float,
        replays: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.subject = subject
        self.key = key
        self.bound = bound
        self.limits = list(limits)
        self.precision = precision
        # The time scale is a column of the table.
        self.assumptions = replay_assumptions(*replays, with_scale=False) if replays else None

    @property
    def complete(self) -> bool:
        """True if no search was interrupted."""
        return all(each.complete for each in self.limits)

    @property
    def best(self) -> LoadLimit | None:
        """The device and scheduler with the highest limit; ``None`` if there is none."""
        found = [(each.limit.rate_per_s, each) for each in self.limits if each.limit and each.above]
        return max(found, key=lambda pair: pair[0])[1] if found else None

    def table(self) -> Table:
        """Return a row per device and scheduler."""
        setting = self.key.rpartition(".")[2]
        measure = f"{self.bound.measure} (ms)"
        headers = ["device, scheduler", "limit (1/s)", setting, measure, "busy (%)", "limited by"]
        notes = [f"{each.name}: {note}" for each in self.limits if each.error is None and (note := each.note())]
        notes += [
            f"{each.name}: {with_count(each.limit.failed, 'request')} failed at the limit"
            for each in self.limits
            if each.above and each.limit and each.limit.failed
        ]
        notes += too_small_notes([(each.device, each.error) for each in self.limits if each.error is not None])
        if any(each.limit and each.above for each in self.limits):
            notes.append(
                f"each limit meets the bound; a load at most {100 * self.precision:g} % higher misses it; "
                f"to run at a limit, set {self.key} to the value in its row"
            )
        if any(each.limited_by == "overload" for each in self.limits):
            notes.append("overload: at a higher load the device cannot keep up, and the response grows with the run")
        notes += [f"assumed: {self.assumptions}"] if self.assumptions else []
        title = f"{self.subject} · highest load with {self.bound}"
        return Table(headers, [each.row() for each in self.limits], title=title, notes=notes)

    def to_dict(self) -> dict[str, Any]:
        """Return the limits as plain values."""
        return {
            "subject": self.subject,
            "key": self.key,
            "measure": self.bound.measure,
            "bound_ms": self.bound.ms,
            "precision": self.precision,
            "complete": self.complete,
            "limits": [each.to_dict() for each in self.limits],
        }

    def _rows(self) -> list[dict[str, Any]]:
        """Return a row per device and scheduler, with the figures at its limit."""
        rows = []
        for each in self.limits:
            point = each.limit if each.above is not None else None
            figures = dict.fromkeys(LoadPoint._fields) if point is None else point._asdict()
            del figures["is_met"]
            rows.append({"device": each.device, "scheduler": each.scheduler, **figures, "limited_by": each.limited_by})
        return rows

    def plot(self) -> "altair.TopLevelMixin":
        """Draw the response time over the load, with the bound."""
        from sledsim.runs.load_limit_chart import load_lines

        return load_lines(self)

    def __repr__(self) -> str:
        found = (f"{each.name}: {each.row()[1]}/s" for each in self.limits)
        return f"<LoadLimits for {self.bound}: {'; '.join(found)}>"

    def __len__(self) -> int:
        return len(self.limits)

    def __getitem__(self, key: tuple[str, str]) -> LoadLimit:
        """Return the limit of a device with a scheduler."""
        for each in self.limits:
            if (each.device, each.scheduler) == key:
                return each
        raise KeyError(f"no limit of {key!r}; there are {', '.join(each.name for each in self.limits)}")


def find_limit(
    load: TraceLike | ScenarioLike,
    device: Iterable[str] | str | None = None,
    scheduler: Iterable[str] | str | None = None,
    *,
    p99_ms: float | None = None,
    mean_ms: float | None = None,
    p99_9_ms: float | None = None,
    precision: float = PRECISION,
    overrides: Sets = (),
    progress: ProgressCallback | bool | None = None,
    **workload: Any,
) -> LoadLimits:
    """Find the highest load at which the response time stays within a bound.

    The times of a trace, or the arrival rate of a scenario, are scaled. A load at which the device cannot keep up
    misses the bound too, as the response then depends on the length of the run.

    Parameters
    ----------
    load
        A trace, as for :func:`sledsim.replay`; or a scenario with Poisson, constant or on-off arrivals, or with a
        trace.
    device, scheduler
        Names, one or several. By default those of the scenario; for a trace four devices and ``fcfs``.
    p99_ms, mean_ms, p99_9_ms
        The bound, ms: give one of them.
    precision
        The relative difference between the limit and the next load that misses the bound, at most.
    overrides, progress
        As for :func:`sledsim.run`.
    **workload
        For a trace: keys of the workload, such as ``fit="scale"``.

    Returns
    -------
    LoadLimits
        The limits, one per device and scheduler.

    Raises
    ------
    SledsimError
        If an argument is wrong, or the workload has no rate that can be scaled.

    Examples
    --------
    >>> scenario = {
    ...     "workload": {"arrival": {"kind": "poisson", "rate_per_s": 500.0}},
    ...     "system": {"device": "simpledisk-constant"},
    ...     "run": {"requests": 5000},
    ... }
    >>> found = find_limit(scenario, p99_ms=4.0)
    >>> 500 < found.limits[0].limit.rate_per_s < 650
    True
    """
    given = {"p99": p99_ms, "mean": mean_ms, "p99.9": p99_9_ms}
    bounds = [Bound(measure, value) for measure, value in given.items() if value is not None]
    if len(bounds) != 1:
        message = "expected one bound: p99_ms, mean_ms or p99_9_ms"
        raise make_error(SledsimError, "missing" if not bounds else "conflict", message, path="bound")
    sets = set_list(overrides)
    if _is_scenario(load):
        if workload:
            raise make_error(SledsimError, "conflict", " is for traces; use overrides", path=next(iter(workload)))

        def resolve_one(device: str | None, scheduler: str | None, more: list[str]) -> Resolved:
            chosen = {key: name for key, name in (("device", device), ("scheduler", scheduler)) if name is not None}
            return resolve(load, [*set_list(chosen), *sets, *more])

        devices = combination_names(device, (None,), "device")
        schedulers = combination_names(scheduler, (None,), "scheduler")
    else:

        def resolve_one(device: str | None, scheduler: str | None, more: list[str]) -> Resolved:
            scenario = replay_scenario(load, str(device), scheduler=scheduler, **workload)
            return resolve(scenario, [*sets, *more])

        devices = combination_names(device, DEFAULT_DEVICES, "device")
        schedulers = combination_names(scheduler, ("fcfs",), "scheduler")
    return limits_of(
        _name_of(load), bounds[0], devices, schedulers, resolve_one, precision=precision, progress=progress
    )


def _name_of(load: Any) -> str:
    """Return the name of a trace or a scenario in the table."""
    if isinstance(load, Trace):
        return Path(load.name).name
    is_text = isinstance(load, str) and ("\n" in load or load == "-")
    if isinstance(load, str | Path) and not is_text:
        return Path(load).name
    return "scenario" if _is_scenario(load) else "trace"


def _is_scenario(load: Any) -> bool:
    """Return True for a scenario rather than a trace."""
    if isinstance(load, Scenario | Resolved):
        return True
    if isinstance(load, Mapping):
        return bool({"workload", "system", "include"} & set(load))
    return isinstance(load, str | Path) and ("\n" in str(load) or str(load) == "-" or is_document(str(load)))


def limits_of(
    subject: str,
    bound: Bound,
    devices: "list[Any]",
    schedulers: "list[Any]",
    resolve_one: Callable[[str | None, str | None, list[str]], Resolved],
    *,
    precision: float = PRECISION,
    progress: ProgressCallback | bool | None = None,
) -> LoadLimits:
    """Find the limit of every combination of devices and schedulers; see :func:`find_limit`.

    Parameters
    ----------
    subject
        The name of the trace or the scenario.
    bound
        The bound.
    devices, schedulers
        Their names; ``None`` for that of the scenario.
    resolve_one
        Returns the scenario of a device and a scheduler with further settings.
    precision, progress
        As for :func:`find_limit`.
    """
    require_number(SledsimError, "precision", precision, least=LEAST_PRECISION, most=1)
    limits: list[LoadLimit] = []
    key, replays = TIME_SCALE, list[Mapping[str, Any]]()
    for device in devices:
        for scheduler in schedulers:
            try:
                found, key, last = _limit_of(bound, device, scheduler, resolve_one, precision, progress)
            except SledsimError as error:
                if any(fault.kind != "misfit" for fault in error.faults) or len(devices) == 1:
                    raise
                limits.append(LoadLimit(label_of(device), scheduler, bound, (), label_of(device), error=error))
                continue
            limits.append(found)
            if last.summary.get("replay"):
                replays.append(last.summary)
            if not last.complete:
                return LoadLimits(subject, key, bound, limits, precision, replays)
    if all(each.error is not None for each in limits):
        raise next(each.error for each in limits if each.error is not None)
    return LoadLimits(subject, key, bound, limits, precision, replays)


def _limit_of(
    bound: Bound,
    device: str | None,
    scheduler: str | None,
    resolve_one: Callable[[str | None, str | None, list[str]], Resolved],
    precision: float,
    progress: ProgressCallback | bool | None,
) -> tuple[LoadLimit, str, Result]:
    """Return the limit of one device and scheduler, the key that was varied, and the last run."""
    base = resolve_one(device, scheduler, [])
    key, given = _varied(base)
    if key == TIME_SCALE:
        require_effect(base)
    points: dict[float, LoadPoint] = {}
    last: Result | None = None

    def run_at(load: float) -> LoadPoint | None:
        """Run at about this load. Returns ``None`` if interrupted."""
        nonlocal last
        setting = float(f"{given / load if key == TIME_SCALE else given * load:.{DIGITS}g}")
        exact = given / setting if key == TIME_SCALE else setting / given
        if exact not in points:
            last = run_resolved(resolve_one(device, scheduler, [f"{key}={setting!r}"]), progress=progress)
            if not last.complete:
                return None
            points[exact] = _point(exact, setting, last, bound)
        return points[exact]

    waits = _search(run_at, lambda: last, precision)
    assert last is not None
    label, heading = label_of(last["device"]["name"]), device_of_run(last.summary)
    tried = tuple(points[load] for load in sorted(points))
    limit = LoadLimit(label, last["scheduler"], bound, tried, heading, waits, complete=last.complete)
    return limit, key, last


def _search(run_at: Callable[[float], LoadPoint | None], last: Callable[[], Result | None], precision: float) -> bool:
    """Run at loads that approach the limit; return False if no request waits at the lowest."""
    point = run_at(1.0)
    met = missed = None
    waits = True
    for _ in range(MOST_DOUBLINGS):
        if point is None:
            return waits
        met, missed = (point.load, missed) if point.is_met else (met, point.load)
        if met is not None and missed is not None:
            break
        if missed is not None and not (waits := _waits(last())):
            return waits
        point = run_at(2 * point.load if point.is_met else point.load / 2)
    if met is None or missed is None:
        return waits
    while missed / met > 1 + precision:
        point = run_at(math.sqrt(met * missed))
        if point is None or point.load in (met, missed):
            break
        met, missed = (point.load, missed) if point.is_met else (met, point.load)
    return waits


def _waits(result: Result | None) -> bool:
    """Return True if requests wait, so that a lower load may shorten the response."""
    if result is None or result["response"] is None:
        return False
    return bool(result["wait"]["mean_ms"] > NO_WAIT * result["response"]["mean_ms"])


def _varied(resolved: Resolved) -> tuple[str, float]:
    """Return the key that scales the load of a scenario, and its value.

    Raises
    ------
    ScenarioError
        If the arrivals have no rate.
    """
    workload = resolved.values["workload"]
    if workload["kind"] == "trace":
        return TIME_SCALE, float(workload["time_scale"])
    arrival = workload.get("arrival")
    if arrival is not None and arrival["kind"] in RATED:
        return RATE, float(arrival["rate_per_s"])
    kind = f"arrivals of kind {arrival['kind']}" if arrival is not None else f"a workload of kind {workload['kind']}"
    message = f": the load of {kind} cannot be scaled; use arrivals of kind {', '.join(RATED)}, or a trace"
    raise make_error(ScenarioError, "conflict", message, path="workload.arrival" if arrival is not None else "workload")


def _point(load: float, setting: float, result: Result, bound: Bound) -> LoadPoint:
    response, overload, replayed = result["response"], result["overload"], result.summary.get("replay")
    if replayed and replayed["mode"] != "open":
        message = (
            f": no highest load exists in mode {replayed['mode']}: each request waits for an earlier one to complete; "
            "use a trace with arrival times, in mode open"
        )
        raise make_error(ScenarioError, "conflict", message, path="workload.mode")
    if response is None:
        raise make_error(ScenarioError, "missing", "no response time was measured: give more requests")
    rate = result["in_system"]["arrived"] / result["run"]["measured_s"] if result["run"]["measured_s"] else math.inf
    value = response[MEASURES[bound.measure]]
    if bound.measure == "mean" and result.summary.get("precision"):
        # The mean that has the precision.
        value = (result.summary.get("controlled_response") or response)["mean_ms"]
    return LoadPoint(
        load,
        setting,
        overload["offered_per_s"] if overload else rate,
        response["mean_ms"],
        response["p99_ms"],
        value,
        result["utilisation"]["fraction"],
        keeps_up=not overload,
        is_met=not overload and value <= bound.ms,
        failed=result["requests"]["failed"],
    )
