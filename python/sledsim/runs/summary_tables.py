"""Tables of a run's summary."""

from collections.abc import Iterable, Mapping
from typing import Any

from sledsim._core import SledsimError
from sledsim.devices.headings import system_questions
from sledsim.runs.component_tables import component_tables
from sledsim.runs.labels import label_of_run, workload_of_run
from sledsim.runs.phases import PHASES, STATES, phases_of, states_of
from sledsim.runs.power_cut_table import power_cut_table
from sledsim.scenario.system_tree import drives_in
from sledsim.show.faults import make_error
from sledsim.show.naming import with_count
from sledsim.show.tables import Table, number

__all__ = [
    "ENDS",
    "NO_ENERGY",
    "comparison_notes",
    "measured_notes",
    "metric_rows",
    "precision_notes",
    "recorded_rows",
    "require_metric",
    "summary_tables",
]

TIME_COLUMNS = (
    ("mean", "mean_ms"),
    ("std dev", "std_ms"),
    ("min", "min_ms"),
    ("p50", "p50_ms"),
    ("p90", "p90_ms"),
    ("p99", "p99_ms"),
    ("p99.9", "p99_9_ms"),
    ("max", "max_ms"),
)

ENDS = {
    "workload-ended": "the workload ended",
    "requests": "the number of requests was reached",
    "time": "the time was up",
    "precision": "the precision was reached",
    "overload": "the system cannot keep up with its load, so the precision can't be reached",
    "interrupted": "interrupted: incomplete",
    "failed": "a custom policy failed: incomplete",
}

#: The text in place of energy and power if a device's powers are unknown.
NO_ENERGY = "energy is not modelled"

# Metrics of comparisons: label with unit, path in the summary.
METRICS = (
    ("response, mean (ms)", "response.mean_ms"),
    ("response, corrected mean (ms)", "controlled_response.mean_ms"),
    ("response, median (ms)", "response.p50_ms"),
    ("response, p99 (ms)", "response.p99_ms"),
    ("response, p99.9 (ms)", "response.p99_9_ms"),
    ("response, max (ms)", "response.max_ms"),
    ("response of reads, mean (ms)", "reads.response.mean_ms"),
    ("response of writes, mean (ms)", "writes.response.mean_ms"),
    ("response, scv", "response.scv"),
    ("wait, mean (ms)", "wait.mean_ms"),
    ("service, mean (ms)", "service.mean_ms"),
    ("seek, mean (ms)", "seek.mean_ms"),
    ("rotation, mean (ms)", "rotation.mean_ms"),
    ("throughput (requests/s)", "throughput.requests_per_s"),
    ("bandwidth (MB/s)", "bandwidth.mb_per_s"),
    ("utilisation", "utilisation.fraction"),
    ("queue, mean (requests)", "queue.mean"),
    ("queue, max (requests)", "queue.max"),
    ("energy, total (J)", "energy.total_j"),
    ("energy per request (mJ)", "energy.per_request_mj"),
    ("power, mean (W)", "energy.mean_power_w"),
    ("power, peak over 1 ms (W)", "energy.peak_power_w"),
)


#: Fewest requests above a percentile for which no note says that it is uncertain.
FEWEST_ABOVE = 10
PHASE_KEYS = frozenset(part.key for part in PHASES)


def summary_tables(summary: Mapping[str, Any]) -> list[Table]:
    """Return tables of a summary: times, phases, load, states with their energy, components, and power cuts."""
    tables = [_times(summary), _phases(summary), _load(summary), _states(summary)]
    tables += component_tables(summary["components"]) if summary.get("components") else []
    return tables + ([power_cut_table(summary["power_cuts"])] if summary.get("power_cuts") else [])


def metric_rows(summary: Mapping[str, Any]) -> list[tuple[str, str, float | None]]:
    """Return the metrics of a run: label with unit, path in the summary, value (``None`` for phases without time)."""
    return [(label, path, _lookup(summary, path)) for label, path in METRICS]


def require_metric(key: str) -> None:
    """Raise if a metric is unknown.

    Parameters
    ----------
    key
        Path of the metric in the summary.
    """
    keys = [path for _, path in METRICS]
    if key not in keys:
        raise make_error(
            SledsimError, "unknown-name", f"no metric {key!r} to draw", path="metric", value=key, known=keys
        )


def _lookup(summary: Mapping[str, Any], path: str) -> float | None:
    value: Any = summary
    for key in path.split("."):
        if value is None:
            return None
        value = value.get(key)
    if path.partition(".")[0] in PHASE_KEYS and not value:
        return None
    return value if isinstance(value, int | float) else None


def _headline(summary: Mapping[str, Any]) -> str:
    requests, run = summary["requests"], summary["run"]
    parts = [
        summary["title"],
        label_of_run(summary),
        workload_of_run(summary) if summary["scenario"]["workload"]["kind"] == "trace" else None,
        f"{with_count(requests['measured'], 'request')} measured",
        f"flushes: {flushes['response']['count']:,}" if (flushes := summary.get("flushes")) else None,
        f"{number(run['simulated_s'])} s simulated",
        summary["overload"]["note"] if summary["overload"] else None,
    ]
    line = " · ".join(part for part in parts if part)
    if not run["complete"]:
        line = f"INCOMPLETE ({run['note'] or ENDS.get(run['end'], run['end'])})\n{line}"
    return line


def _times(summary: Mapping[str, Any]) -> Table:
    rows = []
    for name in ("response", "wait", "service"):
        rows.append(_time_row(name, summary[name] or {}))
        # With only one kind of request, its rows would repeat the totals.
        for op in ("reads", "writes") if summary["reads"] and summary["writes"] else ():
            rows.append(_time_row(f"  {op}", summary[op][name] or {}))
    if flushes := summary.get("flushes"):
        rows.append(_time_row("flush response", flushes["response"]))
    if recorded := summary.get("recorded"):
        rows += [_time_row(label, found) for label, found in recorded_rows(recorded)]
    headers = ["time (ms)", "mean", "95 % ±", *(label for label, _ in TIME_COLUMNS[1:])]
    return Table(headers, rows, title=_headline(summary))


def recorded_rows(recorded: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the recorded response times of a trace: label and statistics of each row.

    Parameters
    ----------
    recorded
        The key ``recorded`` of a summary.
    """
    rows = [("recorded response", recorded["response"])]
    if recorded["reads"] and recorded["writes"]:
        rows += [(f"  {op}", recorded[op]) for op in ("reads", "writes")]
    rows.append(("recorded flush response", recorded["flushes"]))
    return [(label, found) for label, found in rows if found]


def _time_row(label: str, stats: Mapping[str, Any]) -> list[str]:
    low, high = stats.get("ci95_low_ms"), stats.get("ci95_high_ms")
    half = None if low is None or high is None else (high - low) / 2
    values = [number(stats.get(key)) for _, key in TIME_COLUMNS]
    return [label, values[0], number(half, 2), *values[1:]]


def _phases(summary: Mapping[str, Any]) -> Table:
    rows = []
    for part in phases_of(summary):
        # Without requests there are no means, even of constant phases.
        phase = summary[part.key] if summary["response"] else {}
        figures = (number(phase.get(column)) for column in ("mean_ms", "std_ms", "max_ms"))
        rows.append(["  " * part.depth + part.label, *figures])
    return Table(["phase (ms per request)", "mean", "std dev", "max"], rows)


def _load(summary: Mapping[str, Any]) -> Table:
    requests, run, in_system = summary["requests"], summary["run"], summary["in_system"]
    counts = ("submitted", "completed", "failed", "in_flight")
    rows = [[f"requests {key.replace('_', ' ')}", number(requests[key]), ""] for key in counts]
    for label, key in (("requests of the warm-up", "warmup"), ("bad records skipped", "skipped_records")):
        if requests[key]:
            rows.append([label, number(requests[key]), ""])
    drives = list(drives_in(summary["scenario"]["system"]))
    if any(drive["merge"] is not None or drive["batch_max"] > 1 for drive in drives):
        rows.append(["requests served together", number(requests["merged"]), ""])
        rows.append(["accesses that served them", number(requests["merged_accesses"]), ""])
    rows += [
        ["reads", _percent(summary["reads"]["share"] if summary["reads"] else 0.0), "%"],
        ["measured", number(run["measured_s"]), "s"],
        ["  arrived", number(in_system["arrived"]), "requests"],
        ["  completed", number(in_system["completed"]), "requests"],
        ["throughput", number(summary["throughput"]["requests_per_s"]), "requests/s"],
        ["bandwidth", number(summary["bandwidth"]["mb_per_s"]), "MB/s"],
        ["utilisation", _percent(summary["utilisation"]["fraction"]), "%"],
        ["service demand", number(summary["utilisation"]["demand_ms"]), "ms"],
        ["in the system, mean", number(in_system["mean"]), "requests"],
        ["time in the system", number(in_system["time_ms"]), "ms"],
        ["queue, mean", number(summary["queue"]["mean"]), "requests"],
        ["queue, max", number(summary["queue"]["max"]), "requests"],
    ]
    notes = [f"end of the run: {ENDS.get(run['end'], run['end'])}"]
    if run["note"] and run["complete"]:
        notes.append(f"note: {run['note']}")
    notes += measured_notes(summary, full=True)
    return Table(["load", "", "unit"], rows, left=frozenset({2}), notes=notes)


def measured_notes(summary: Mapping[str, Any], *, full: bool = False) -> list[str]:
    """Return notes on implausible device values, the measured requests, a missing interval and an uncertain percentile.

    Parameters
    ----------
    summary
        The summary of the run.
    full
        True to list the control variates, and for tables that have p99.9; otherwise p99 is the highest percentile.
    """
    notes, in_system = system_questions(summary["scenario"]["system"]), summary["in_system"]
    completed, measured = in_system["completed"], summary["requests"]["measured"]
    if measured and completed != measured:
        notes.append(
            f"note: times are of the {with_count(measured, 'request')} that arrived and completed in the measured "
            f"{number(summary['run']['measured_s'])} s; throughput, bandwidth and energy count the {completed:,} "
            "completed"
        )
    notes += precision_notes(summary, full=full)
    response = summary["response"]
    if summary["overload"]:
        notes.append(
            f"{summary['overload']['note']}; requests queue for as long as they arrive, so response and wait times "
            "depend on the length of the run and have no 95 % interval"
        )
    elif response and response["ci95_note"]:
        notes.append(f"no 95 % interval: {response['ci95_note']}")
    if response and (above := measured // (1000 if full else 100)) < FEWEST_ABOVE:
        percentile = "p99.9" if full else "p99"
        notes.append(f"note: {percentile} is uncertain: {above} of {with_count(measured, 'request')} took longer")
    return notes


def comparison_notes(runs: Iterable[tuple[str, Mapping[str, Any]]], *, full: bool = False) -> list[str]:
    """Return notes on the failed requests of several runs, and on a percentile that is uncertain in some of them.

    Parameters
    ----------
    runs
        Names and summaries of the runs.
    full
        True for tables that have p99.9; otherwise p99 is the highest percentile.
    """
    notes, uncertain = [], []
    percentile, inverse_share = ("p99.9", 1000) if full else ("p99", 100)
    for name, summary in runs:
        if summary["requests"]["failed"]:
            notes.append(f"{name}: {summary['run']['note']}")
        if summary["response"] and summary["requests"]["measured"] // inverse_share < FEWEST_ABOVE:
            uncertain.append(name)
    if uncertain:
        notes.append(
            f"{percentile} is uncertain, fewer than {FEWEST_ABOVE} requests took longer: {'; '.join(uncertain)}"
        )
    return notes


def precision_notes(summary: Mapping[str, Any], *, full: bool = False) -> list[str]:
    """Return lines on results with a target for their precision, control variates, and the warm-up that was detected.

    Parameters
    ----------
    summary
        The summary of the run.
    full
        True to list the control variates.
    """
    notes = []
    controlled = summary.get("controlled_response")
    for found in (summary.get("precision") or {"results": []})["results"]:
        half = "no interval" if found["half_width"] is None else f"± {number(100 * found['half_width'], 2)} %"
        value = f"{number(found['value'])} {found['unit']}".rstrip()
        how = " with control variates" if controlled and found["result"] == "response" else ""
        reached = "reached" if found["reached"] else "not reached"
        notes.append(
            f"precision: {found['result']} {value} {half}{how}, target {number(100 * found['target'], 2)} % {reached}"
        )
    if controlled:
        half = number((controlled["ci95_high_ms"] - controlled["ci95_low_ms"]) / 2, 2)
        listed = f" ({', '.join(controlled['controls'])})" if full else ""
        notes.append(
            f"more precise mean response: {number(controlled['mean_ms'])} ± {half} ms, corrected for chance in "
            f"arrivals and requests by control variates{listed}"
        )
    if warmup := summary.get("warmup"):
        uncertain = f"; {warmup['note']}" if warmup["note"] else ""
        notes.append(
            f"warm-up: {with_count(warmup['requests'], 'request')} by {warmup['method']} (a pilot run of "
            f"{with_count(warmup['pilot_requests'], 'request')}){uncertain}"
        )
    return notes


def _percent(fraction: float | None) -> str:
    return "–" if fraction is None else number(100 * fraction)


def _states(summary: Mapping[str, Any]) -> Table:
    energy, time = summary["energy"], summary["state_time"]
    total_s = sum(time.values())
    if energy is None or not energy["states"]:
        # The powers of a device are unknown, or the devices have different states.
        rows = [
            [part.label, number(time[f"{part.key}_s"]), _share(time[f"{part.key}_s"], total_s)]
            for part in states_of(summary)
        ]
        notes = [] if energy else [NO_ENERGY]
        return Table(["state", "time (s)", "%"], [*rows, ["total", number(total_s), ""]], notes=notes)
    total_j, labels = energy["total_j"], {part.key: part.label for part in STATES}
    rows = [
        [
            labels.get(state["state"], state["state"]),
            number(state["time_s"]),
            _share(state["time_s"], total_s),
            number(state["energy_j"]),
            _share(state["energy_j"], total_j),
            number(state["entered"]),
        ]
        for state in energy["states"]
    ]
    rows.append(["total", number(total_s), "", number(total_j), "", ""])
    for label, key in (
        ("  per request (mJ)", "per_request_mj"),
        ("  mean power (W)", "mean_power_w"),
        ("  peak power over 1 ms (W)", "peak_power_w"),
        ("  with hindsight in idle periods (J)", "hindsight_j"),
    ):
        rows.append([label, "", "", number(energy[key]), "", ""])
    return Table(["state", "time (s)", "%", "energy (J)", "%", "entered"], rows)


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}" if whole else "–"
