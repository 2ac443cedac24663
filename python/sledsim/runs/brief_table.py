"""The brief table of a run: main figures, and the precision of the mean."""

from collections.abc import Mapping
from typing import Any

from sledsim.runs.assumptions import replay_assumptions
from sledsim.runs.labels import device_of_run, workload_of_run
from sledsim.runs.phases import phases_of
from sledsim.runs.summary_tables import ENDS, NO_ENERGY, measured_notes, recorded_rows
from sledsim.show.naming import with_count
from sledsim.show.tables import Table, number

__all__ = ["brief_table", "headline"]

#: A run is long enough if the half-width of the 95 % interval is at most this share of the mean response time.
LONG_ENOUGH = 0.05
#: Maximum number of phases in the table, by decreasing mean; the full tables have all.
MOST_PHASES = 3
COLUMNS = ("mean_ms", "p50_ms", "p99_ms", "max_ms")


def headline(summary: Mapping[str, Any]) -> str:
    """Return two lines, subject and main figures; for an interrupted run, preceded by a line stating this.

    Parameters
    ----------
    summary
        The summary of the run.
    """
    run, energy = summary["run"], summary["energy"]
    subject = f"{device_of_run(summary)}, {summary['scheduler']}"
    flushes = summary.get("flushes")
    flushed = f", flushes: {flushes['response']['count']:,}" if flushes else ""
    measured = f"{_counted_requests(summary)}{flushed}, {_length(summary)}"
    lines = [" · ".join(each for each in (summary["title"], subject, workload_of_run(summary), measured) if each)]
    response, found = summary["response"], []
    if response:
        share = _half_width(response) / response["mean_ms"] if _has_interval(response) and response["mean_ms"] else None
        interval = "" if share is None else f" ± {_percent(share)}"
        found = [f"response {number(response['mean_ms'])} ms{interval}, p99 {number(response['p99_ms'])} ms"]
    elif summary["in_system"]["completed"]:
        found = [f"throughput {number(summary['throughput']['requests_per_s'])} requests/s"]
    if found:
        found.append(f"{_percent(summary['utilisation']['fraction'], 3)} busy")
        found += [f"{number(energy['per_request_mj'])} mJ per request"] if energy else []
        lines.append(" · ".join(found))
    if not run["complete"]:
        lines.insert(0, f"INCOMPLETE ({run['note'] or ENDS.get(run['end'], run['end'])})")
    return "\n".join(lines)


def brief_table(summary: Mapping[str, Any]) -> Table:
    """Return a table of the main figures, with the headline as title, and notes.

    Parameters
    ----------
    summary
        The summary of the run.
    """
    rows = []
    for name in ("response", "wait", "service"):
        rows.append(_times(f"{name} (ms)", summary[name]))
        if name == "response" and summary["reads"] and summary["writes"]:
            rows += [_times(f"  {op} (ms)", summary[op][name]) for op in ("reads", "writes")]
        if name == "response" and summary.get("flushes"):
            rows.append(_times("flush response (ms)", summary["flushes"]["response"]))
        if name == "response" and summary.get("recorded"):
            rows += [_times(f"{label} (ms)", found) for label, found in recorded_rows(summary["recorded"])]
        if name == "response" and summary[name] and summary["overhead"]["mean_ms"]:
            rows.append(_mean("overhead (ms)", summary["overhead"]["mean_ms"]))
    phases = [part for part in phases_of(summary) if part.key != "overhead" and not part.depth]
    longest = sorted(phases, key=lambda part: -summary[part.key]["mean_ms"])[:MOST_PHASES]
    for part in phases:
        found = summary[part.key]
        if part in longest and found["mean_ms"]:
            rows.append([f"  {part.label} (ms)", number(found["mean_ms"]), "", "", "", number(found["max_ms"])])
    queue, energy = summary["queue"], summary["energy"]
    rows.append(["queue (requests)", number(queue["mean"]), "", "", "", number(queue["max"])])
    rows.append(_mean("throughput (requests/s)", summary["throughput"]["requests_per_s"]))
    rows.append(_mean("bandwidth (MB/s)", summary["bandwidth"]["mb_per_s"]))
    busy = summary["utilisation"]["fraction"]
    rows.append(_mean("utilisation (%)", None if busy is None else 100 * busy))
    if energy:
        rows.append(_mean("energy per request (mJ)", energy["per_request_mj"]))
        rows.append(_mean("power (W)", energy["mean_power_w"]))
    else:
        rows.append([NO_ENERGY, "", "", "", "", ""])
    return Table(["", "mean", "95 % ±", "p50", "p99", "max"], rows, title=headline(summary), notes=_notes(summary))


def _times(label: str, stats: Mapping[str, Any] | None) -> list[str]:
    found = stats or {}
    mean, *others = (number(found.get(key)) for key in COLUMNS)
    return [label, mean, number(_half_width(found), 2) if _has_interval(found) else "–", *others]


def _mean(label: str, value: float | None) -> list[str]:
    return [label, number(value), "", "", "", ""]


def _has_interval(stats: Mapping[str, Any]) -> bool:
    return stats.get("ci95_low_ms") is not None


def _half_width(stats: Mapping[str, Any]) -> float:
    return float(stats["ci95_high_ms"] - stats["ci95_low_ms"]) / 2


def _counted_requests(summary: Mapping[str, Any]) -> str:
    """Return the number of requests with response times; if there are none, the number of completed requests."""
    measured, completed = summary["requests"]["measured"], summary["in_system"]["completed"]
    return (
        f"{with_count(completed, 'request')} completed"
        if completed and not measured
        else with_count(measured, "request")
    )


def _length(summary: Mapping[str, Any]) -> str:
    """Return a text on the precision of the mean, or on overload."""
    response, overload = summary["response"], summary["overload"]
    if overload:
        return str(overload["note"])
    if not response:
        if summary["in_system"]["completed"]:
            return "no response times"
        failed = summary["requests"]["failed"]
        return f"all {failed:,} failed" if failed else "nothing to measure"
    if not _has_interval(response):
        return "not long enough"
    known = _half_width(response) <= LONG_ENOUGH * response["mean_ms"]
    return "long enough" if known else "not long enough"


def _notes(summary: Mapping[str, Any]) -> list[str]:
    """Return the notes below the table."""
    requests, run = summary["requests"], summary["run"]
    # The note of a complete run has the reasons of failures.
    failed = () if run["note"] and run["complete"] else (("failed", "request", "failed"),)
    counts = (
        *failed,
        ("in_flight", "request", "under way at the end"),
        ("skipped_records", "bad record", "skipped"),
    )
    notes = [f"{with_count(requests[key], what)} {how}" for key, what, how in counts if requests[key]]
    notes = [f"note: {'; '.join(notes)}"] if notes else []
    parts = [key.replace("_", " ") for key in ("components", "power_cuts") if summary.get(key)]
    notes += [f"note: the full result (--full) also has tables of {' and '.join(parts)}"] if parts else []
    notes += [f"note: {run['note']}"] if run["note"] and run["complete"] else []
    notes += measured_notes(summary)
    response = summary["response"]
    if not summary["overload"] and response and not response["ci95_note"] and _length(summary) != "long enough":
        ended = "the trace is too short" if summary.get("replay") else "simulate more requests"
        notes.append(f"note: the mean is not known within {number(100 * LONG_ENOUGH, 1)} %: {ended}")
    if summary.get("replay"):
        notes.append(f"assumed: {replay_assumptions(summary)}")
    return notes


def _percent(share: float | None, digits: int = 2) -> str:
    return "–" if share is None else f"{number(100 * share, digits)} %"
