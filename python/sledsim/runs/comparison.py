"""Several runs side by side."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from sledsim._core import SledsimError
from sledsim.devices.headings import system_questions
from sledsim.runs.confidence import Interval
from sledsim.runs.labels import label_of_run
from sledsim.runs.paired_runs import PairedRuns, run_to_difference
from sledsim.runs.result import Result
from sledsim.runs.running import ProgressCallback, run
from sledsim.runs.summary_tables import NO_ENERGY, comparison_notes, metric_rows
from sledsim.runs.trace_comparison import TraceComparison, compare_on_trace
from sledsim.scenario.reading import ScenarioLike, Sets
from sledsim.show.arguments import require_several
from sledsim.show.faults import Sentence, make_error
from sledsim.show.naming import with_count
from sledsim.show.shown import OneTable, Shown
from sledsim.show.tables import Table, number

if TYPE_CHECKING:
    import altair

__all__ = ["Comparison", "compare"]


class Comparison(OneTable, Shown):
    """Several runs side by side, with ratios to the first.

    Parameters
    ----------
    results
        The runs by name; the first is the reference.
    paired
        The runs if they were to end when the differences of their mean responses were precise enough.
    """

    def __init__(self, results: Mapping[str, Result], *, paired: PairedRuns | None = None) -> None:
        self.results = dict(results)
        self._paired = paired

    @property
    def complete(self) -> bool:
        """False if a run was interrupted."""
        is_ended = self._paired is None or self._paired.complete
        return is_ended and all(result.complete for result in self.results.values())

    def metrics(self) -> list[dict[str, Any]]:
        """Return the compared metrics: label, key in the summary, values of the runs, ratios to the first run."""
        columns = [metric_rows(result.summary) for result in self.results.values()]
        rows = []
        for cells in zip(*columns, strict=True):
            label, key, first = cells[0]
            values = [value for _, _, value in cells]
            if any(value is not None for value in values):
                ratios = [value / first if value is not None and first else None for value in values]
                rows.append({"label": label, "key": key, "values": values, "ratios": ratios})
        return rows

    def response_differences(self) -> dict[str, Interval]:
        """Return the mean response time of each run minus that of the first, ms, with its 95 % interval.

        Requests are paired in order of completion: chance that they have in common cancels out. Runs without an
        interval are left out: they are too short, differ in the number of requests, or cannot keep up with their load.
        The runs of ``compare(…, difference=…)`` have intervals with a confidence of 96.5 % each, see
        :meth:`Result.response_difference`.
        """
        (_, first), *others = self.results.items()
        found = {}
        for name, result in others:
            if first["overload"] or result["overload"] or not (first.complete and result.complete):
                continue
            interval = result.response_difference(first, ended_when_precise=self._paired is not None)
            if interval is not None:
                found[name] = interval
        return found

    def _difference_notes(self) -> list[str]:
        first, reference = next(iter(self.results.items()))
        notes = []
        for name, found in self.response_differences().items():
            half, mean = (found.high - found.low) / 2, reference["response"]["mean_ms"]
            share, half_share = number(100 * found.mean / mean, 3), number(100 * half / mean, 2)
            notes.append(
                f"{name}: mean response minus that of {first}: {number(found.mean, 3)} ± {number(half, 2)} ms "
                f"({share} ± {half_share} %), 95 % interval, "
                f"{with_count(reference['requests']['measured'], 'request')} in pairs, without control variates"
            )
        return notes

    def precision(self) -> dict[str, Any] | None:
        """Return the precision of the differences; ``None`` without a target for it.

        ``target`` and the ``half_width`` of each run are fractions of the first mean; ``reached`` is true if each
        half-width is within the target; a ``note`` is the reason why a run has no interval, and ``warmup_note`` the
        reason why the warm-up is uncertain.
        """
        if self._paired is None:
            return None
        target, found = self._paired.target, self.response_differences()
        (first, reference), *others = self.results.items()
        runs = []
        for name, result in others:
            half = None
            if name in found:
                half = (found[name].high - found[name].low) / 2 / reference["response"]["mean_ms"]
            note = None if half is not None else _reason_without_interval(first, reference, name, result)
            runs.append(
                {"name": name, "half_width": half, "reached": half is not None and half <= target, "note": note}
            )
        return {
            "target": target,
            # After an interruption there may be no run but the first.
            "reached": bool(runs) and all(each["reached"] for each in runs),
            "requests": reference["requests"]["submitted"],
            "runs": runs,
            "warmup_note": self._paired.warmup_note,
        }

    def _precision_notes(self) -> list[str]:
        """Return notes on targets that were not reached, and on an uncertain warm-up."""
        found = self.precision()
        if found is None:
            several = [precision for each in self.results.values() if (precision := each.summary.get("precision"))]
            missed = sum(not precision["reached"] for precision in several)
            return [f"{missed} of {len(several)} runs did not reach their precision"] if missed else []
        end = f"target {number(100 * found['target'], 2)} % not reached in {with_count(found['requests'], 'request')}"
        notes = []
        for each in found["runs"]:
            if not each["reached"]:
                half = each["note"] or f"± {number(100 * each['half_width'], 2)} %"
                notes.append(f"{each['name']}: precision of the difference: {half}, {end}")
        return notes + ([f"warm-up: {found['warmup_note']}"] if found["warmup_note"] else [])

    def table(self) -> Table:
        """Return a table of the metrics, with the values of each run and the ratios to the first run."""
        names = [name if result.complete else f"{name} (incomplete)" for name, result in self.results.items()]
        rows = []
        for metric in self.metrics():
            cells = [number(metric["values"][0])]
            for value, ratio in zip(metric["values"][1:], metric["ratios"][1:], strict=True):
                cells += [number(value), f"×{ratio:.3f}" if ratio is not None else "–"]
            rows.append([metric["label"], *cells])
        headers = ["", names[0], *(header for name in names[1:] for header in (name, "ratio"))]
        overloads = ((name, result["overload"]) for name, result in self.results.items())
        notes = [f"{name}: {overload['note']}" for name, overload in overloads if overload]
        unpowered = [name for name, result in self.results.items() if not result["energy"]]
        notes = self._difference_notes() + self._precision_notes() + notes
        notes += comparison_notes(((name, result.summary) for name, result in self.results.items()), full=True)
        notes += [f"{NO_ENERGY}: {', '.join(unpowered)}"] if unpowered else []
        systems = [each.summary["scenario"]["system"] for each in self.results.values()]
        notes += dict.fromkeys(note for system in systems for note in system_questions(system))
        return Table(headers, rows, notes=notes)

    def to_dict(self) -> dict[str, Any]:
        """Return the runs' summaries and their comparison as plain values."""
        runs = [{"name": name, "summary": result.summary} for name, result in self.results.items()]
        differences = [
            {"name": name, "mean_ms": found.mean, "ci95_low_ms": found.low, "ci95_high_ms": found.high}
            for name, found in self.response_differences().items()
        ]
        found = {"runs": runs, "metrics": self.metrics(), "response_differences": differences}
        precision = self.precision()
        return found if precision is None else {**found, "difference_precision": precision}

    def _rows(self) -> list[dict[str, Any]]:
        """Return a row for each run with its name and summary."""
        return [
            {"name": name, **{key: value for key, value in result.summary.items() if key != "scenario"}}
            for name, result in self.results.items()
        ]

    def plot(self, key: str = "response.mean_ms") -> "altair.TopLevelMixin":
        """Draw one of the metrics as bars.

        Parameters
        ----------
        key
            The key of the metric in the summary, as in :meth:`metrics`.
        """
        from sledsim.runs.comparison_chart import comparison_bars

        return comparison_bars(self, key)

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.results)}>"

    def __getitem__(self, name: str) -> Result:
        try:
            return self.results[name]
        except KeyError:
            raise KeyError(f"no run {name!r}; there are {', '.join(self.results)}") from None

    def __len__(self) -> int:
        return len(self.results)


@overload
def compare(
    runs: Iterable[Result | ScenarioLike] | Mapping[str, Result | ScenarioLike],
    *,
    difference: float | str | None = None,
    overrides: Sets = (),
    progress: ProgressCallback | bool | None = None,
) -> Comparison: ...


@overload
def compare(
    runs: Any,
    *,
    devices: Iterable[str] | str,
    schedulers: Iterable[str] | str | None = None,
    overrides: Sets = (),
    progress: ProgressCallback | bool | None = None,
    **workload: Any,
) -> TraceComparison: ...


def compare(
    runs: Any,
    *,
    devices: Iterable[str] | str | None = None,
    schedulers: Iterable[str] | str | None = None,
    difference: float | str | None = None,
    overrides: Sets = (),
    progress: ProgressCallback | bool | None = None,
    **workload: Any,
) -> Comparison | TraceComparison:
    """Compare several runs, or devices and schedulers on one trace.

    Parameters
    ----------
    runs
        Results, or scenarios to run. The keys of a dictionary are their names; otherwise a run is named by its title,
        its file, or its device and scheduler. With `devices`, a trace, as for :func:`sledsim.replay`.
    devices, schedulers
        Names or files of devices, and names of schedulers (``fcfs`` by default): the trace is replayed on every
        combination.
    difference
        Simulate until the difference of each mean response from that of the first scenario is known within this share
        of the first mean, from 0.0001 to 1, or a text such as ``"1%"``. There must be at least two scenarios with
        generated requests.
    overrides
        Values that replace those of every scenario.
    progress
        As for :func:`sledsim.run`.
    **workload
        Keys of a replay, such as ``fit="scale"``.

    Returns
    -------
    Comparison or TraceComparison
        The comparison; after an interrupted run, the remaining runs are left out.

    Examples
    --------
    >>> workload = {"arrival": {"kind": "poisson", "rate_per_s": 300.0}}
    >>> runs = {name: {"workload": workload, "system": {"device": name}} for name in ("g1", "g3")}
    >>> comparison = compare(runs, overrides={"run.requests": 1000})
    >>> comparison["g3"].response.mean_ms < comparison["g1"].response.mean_ms
    True
    >>> found = compare("my-trace.gz", devices=["g2", "g3"], schedulers=["fcfs", "sptf"])  # doctest: +SKIP
    """
    if devices is not None and difference is not None:
        message: Sentence = [("difference",), " needs generated requests, as traces have a fixed length: leave it out"]
        raise make_error(SledsimError, "conflict", message, path="difference")
    if devices is not None:
        return compare_on_trace(runs, devices, schedulers, overrides=overrides, progress=progress, **workload)
    if schedulers is not None or workload:
        option = "schedulers" if schedulers is not None else next(iter(workload))
        message = [(option,), " needs a trace and devices: give devices, or leave it out"]
        raise make_error(SledsimError, "conflict", message, path=option)
    named: Iterable[tuple[str | None, Result | ScenarioLike]]
    if isinstance(runs, Mapping):
        named = runs.items()
    else:
        several = require_several(SledsimError, "runs", runs, "results, or scenarios to run, such as a list of files")
        named = ((None, each) for each in several)
    sets = _as_given(overrides)
    results: dict[str, Result] = {}
    paired = None
    if difference is not None:
        named, paired = _run_all(named, difference, sets, progress)
    for name, each in named:
        result = each if isinstance(each, Result) else run(each, overrides=sets, progress=progress)
        results[_free_name(name or _name(each, result), results)] = result
        if not result.complete and not isinstance(each, Result):
            break
    if not results:
        raise make_error(
            SledsimError, "missing", "nothing to compare; give results, or scenarios to run", path="sources"
        )
    return Comparison(results, paired=paired)


def _run_all(
    named: Iterable[tuple[str | None, Result | ScenarioLike]],
    difference: float | str,
    sets: Sets,
    progress: ProgressCallback | bool | None,
) -> tuple[list[tuple[str | None, Result | ScenarioLike]], PairedRuns]:
    """Run scenarios until their differences are precise enough; return the results with their names, and the runs."""
    names, scenarios = [], []
    for name, each in named:
        if isinstance(each, Result):
            message: Sentence = [
                ("difference",),
                " needs scenarios to run, not results: give scenarios, or leave it out",
            ]
            raise make_error(SledsimError, "conflict", message, path="difference")
        names.append(name)
        scenarios.append(each)
    paired = run_to_difference(scenarios, difference, overrides=sets, progress=progress)
    # After an interruption there are fewer results.
    runs = zip(names, scenarios, paired.results, strict=False)
    return [(name or _name(each, result), result) for name, each, result in runs], paired


def _reason_without_interval(first: str, reference: Result, name: str, result: Result) -> str:
    """Return the reason why a difference from the first run has no interval."""
    overloaded = [each for each, found in ((first, reference), (name, result)) if found["overload"]]
    if overloaded:
        return f"no interval ({' and '.join(overloaded)} cannot keep up)"
    counts = [found["requests"]["measured"] for found in (reference, result)]
    if result.complete and counts[0] != counts[1]:
        return f"no interval (the runs measured {counts[0]:,} and {counts[1]:,} requests)"
    return "no interval (too few independent batches)" if result.complete else "no interval (interrupted)"


def _as_given(sets: Sets) -> Sets:
    """Return overrides that can be read once per run: an iterator becomes a list."""
    return sets if isinstance(sets, Mapping | str) else list(sets)


def _name(each: Result | ScenarioLike, result: Result) -> str:
    title = result["title"]
    if title:
        return str(title)
    if isinstance(each, Path) or (isinstance(each, str) and each != "-" and "\n" not in each):
        return Path(each).stem
    return label_of_run(result.summary)


def _free_name(name: str, taken: Mapping[str, Result]) -> str:
    """Return a unique name, with a number appended if the name is taken."""
    free, count = name, 1
    while free in taken:
        count += 1
        free = f"{name} ({count})"
    return free
