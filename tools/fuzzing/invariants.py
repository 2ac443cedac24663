"""Invariants of the results of all runs.

Sums of times and energies are compared to nine digits: a double carries fifteen, and some hundred terms are added up.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from fuzzing.targets import BrokenError
from sledsim import _core

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sledsim import Result

#: Relative tolerance of sums of doubles.
DIGITS = 1e-9
#: Kinds of device: each is a mechanism with a queue.
MOST_SLEDS = 1024
QUANTILES = ("min_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "p99_9_ms", "max_ms")
#: Every phase, and those that are not part of another: they add up to the service.
EVERY_PHASE = [key for key, *_ in _core.phases()]
PHASES = [key for key, _, whole, _ in _core.phases() if not whole]
ENERGIES = ("startup_j", "inactive_j", "seek_j", "rotation_j", "servo_j", "data_j", "idle_j")


def require(holds: object, violation: str) -> None:
    """Raise an error with this text unless the condition holds."""
    if not holds:
        raise BrokenError(violation)


def close(one: float, other: float, slack: float = 0.0) -> bool:
    """Return true if two sums are equal up to rounding."""
    return math.isclose(one, other, rel_tol=DIGITS, abs_tol=max(slack, 1e-15))


def numbers_in(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number of a summary with its path."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from numbers_in(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from numbers_in(each, f"{path}.{place}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


def check_result(result: Result) -> None:
    """Check the invariants of a result.

    Parameters
    ----------
    result
        The result; its log is checked where it has one.
    """
    found = {key: value for key, value in result.summary.items() if key != "scenario"}
    for path, number in numbers_in(found):
        require(math.isfinite(number), f"{path} = {number} is not finite")
        negative = path.split(".")[-1] in {"ci95_low_ms", "value"}
        require(number >= 0 or negative, f"{path} = {number} is negative")
    _check_counts(found)
    for name in ("response", "wait", "service"):
        _check_times(found, name)
    _check_phases(found)
    _check_shares(found)
    _check_rates(found)
    _check_energy(found)
    _check_components(found)
    try:
        log = result.log
    except Exception as error:
        require(type(error).__name__ == "RunError", f"the log: {error!r}")
        return
    device = result.summary["scenario"]["system"].get("device", {})
    check_log(found, log, is_alone=not found.get("components") and device.get("sleds", 1) == 1)


def _check_counts(found: Mapping[str, Any]) -> None:
    requests = found["requests"]
    ended = requests["completed"] + requests["failed"] + requests["in_flight"]
    require(requests["submitted"] == ended, f"submitted is not completed + failed + in_flight: {requests}")
    if found["run"]["end"] in {"requests", "workload-ended"}:
        require(requests["in_flight"] == 0, f"the run has ended, and requests are in flight: {requests}")
    require(requests["lost"] <= requests["failed"], f"more lost than failed: {requests}")
    require(requests["measured"] <= requests["completed"], f"more measured than completed: {requests}")
    require(requests["warmup"] <= requests["submitted"], f"more in the warm-up than submitted: {requests}")
    # Flushes are measured separately.
    flushes = (found.get("flushes") or {"response": {"count": 0}})["response"]["count"]
    left = requests["measured"] + flushes + requests["warmup"] + requests["failed"] + requests["in_flight"]
    require(left >= requests["submitted"], f"some neither measured nor in the warm-up: {requests}")
    if requests["warmup"] == 0:
        all_measured = requests["measured"] + flushes == requests["completed"]
        require(all_measured, f"no warm-up, and not all measured: {requests}")
    require(found["run"]["measured_s"] <= found["run"]["simulated_s"] * (1 + DIGITS), f"run: {found['run']}")


def _check_times(found: Mapping[str, Any], name: str) -> None:
    measured = found["requests"]["measured"]
    times = found.get(name)
    if not times:
        require(measured == 0, f"{name} is missing, and {measured} were measured")
        return
    require(times["count"] == measured, f"{name}.count = {times['count']}, measured {measured}")
    histogram = found["histogram"][name]
    edges, counts = histogram["edges_ms"], histogram["counts"]
    require(sum(counts) == measured, f"histogram.{name} holds {sum(counts)} of {measured}")
    require(len(edges) == len(counts) + 1 or not counts, f"histogram.{name}: {len(edges)} edges, {len(counts)} bins")
    require(edges == sorted(set(edges)), f"histogram.{name}: edges are not in order")
    if edges:
        low, high = times["min_ms"], times["max_ms"]
        require(edges[0] <= low and high <= edges[-1], f"histogram.{name}: {low} to {high} is not within its edges")
    _check_summary(times, name)
    parts = [found[op][name] for op in ("reads", "writes") if found.get(op) and found[op].get(name)]
    for part in parts:
        _check_summary(part, f"part of {name}")
    require(sum(part["count"] for part in parts) == measured, f"{name}: reads and writes are not all")
    total = sum(part["mean_ms"] * part["count"] for part in parts)
    require(close(total, times["mean_ms"] * measured), f"{name}: the means of reads and writes do not make the mean")
    require(max(part["max_ms"] for part in parts) == times["max_ms"], f"{name}: the largest is neither read nor write")


def _check_summary(times: Mapping[str, Any], name: str) -> None:
    steps = [times[key] for key in QUANTILES]
    require(steps == sorted(steps), f"{name}: quantiles are not in order: {steps}")
    mean, std = times["mean_ms"], times["std_ms"]
    require(times["min_ms"] * (1 - DIGITS) <= mean <= times["max_ms"] * (1 + DIGITS), f"{name}: mean {mean} beyond")
    require(std <= (times["max_ms"] - times["min_ms"]) * (1 + DIGITS) + 1e-9, f"{name}: std {std} beyond the range")
    scv = (std / mean) ** 2 if mean else 0.0
    require(math.isclose(times["scv"], scv, rel_tol=1e-6, abs_tol=1e-12), f"{name}: scv {times['scv']} is not {scv}")
    low, high = times["ci95_low_ms"], times["ci95_high_ms"]
    require((low is None) == (high is None), f"{name}: half an interval")
    if low is not None:
        require(
            low <= mean * (1 + DIGITS) and mean * (1 - DIGITS) <= high, f"{name}: mean {mean} not in {low} to {high}"
        )


def _check_phases(found: Mapping[str, Any]) -> None:
    if not found.get("service"):
        return
    parts = math.fsum(found[name]["mean_ms"] for name in PHASES)
    service = found["service"]["mean_ms"]
    require(close(parts, service, 1e-9), f"phases add up to {parts}, the service takes {service}")
    whole = found["overhead"]["mean_ms"] + found["wait"]["mean_ms"] + service
    require(
        close(whole, found["response"]["mean_ms"], 1e-9), f"overhead, wait and service are {whole}, not the response"
    )
    for name in EVERY_PHASE:
        phase = found[name]
        require(phase["mean_ms"] <= phase["max_ms"] * (1 + DIGITS), f"{name}: mean beyond the largest: {phase}")


def _check_shares(found: Mapping[str, Any]) -> None:
    fraction = found["utilisation"]["fraction"]
    require(fraction <= 1 + DIGITS, f"utilisation.fraction = {fraction}")
    shares = [found[op]["share"] for op in ("reads", "writes") if found.get(op)]
    require(not shares or close(sum(shares), 1.0), f"shares of reads and writes: {shares}")
    drives = max(1, sum(1 for each in found.get("components") or () if each["mechanisms"]))
    longest = found["queue"]["max"] * drives * MOST_SLEDS
    require(found["queue"]["mean"] <= longest * (1 + DIGITS), f"queue: {found['queue']}")


def _check_rates(found: Mapping[str, Any]) -> None:
    here, window, rate = found["in_system"], found["run"]["measured_s"], found["throughput"]["requests_per_s"]
    completed = here["completed"]
    if window > 0:
        require(close(rate * window, completed, 1e-6), f"{rate} a second for {window} s is not {completed}")
    left = completed + here["failed"] + here["at_end"]
    require(here["at_start"] + here["arrived"] == left, f"arrivals and departures do not balance: {here}")
    require(found["requests"]["measured"] <= min(here["arrived"], completed), f"more measured than arrived: {here}")
    require((here["time_ms"] is None) == (completed == 0), f"in_system.time_ms: {here}")
    if completed:
        inside = rate * here["time_ms"] / 1e3
        require(close(here["mean"], inside), f"Little's law: {here['mean']} in the system, not {inside}")
        use = found["utilisation"]
        busy = rate * use["demand_ms"] / 1e3
        require(close(use["fraction"], busy), f"utilisation law: {use['fraction']}, not {busy}")


def _check_energy(found: Mapping[str, Any]) -> None:
    energy = found.get("energy")
    if not energy:
        return
    total = energy["total_j"]
    require(close(math.fsum(energy[key] for key in ENERGIES), total), f"energies do not add up to {total}: {energy}")
    servicing = math.fsum(energy[key] for key in ("seek_j", "rotation_j", "servo_j", "data_j"))
    require(close(servicing, energy["servicing_j"]), f"energy.servicing_j is not {servicing}")
    if energy["states"]:
        states = math.fsum(each["energy_j"] for each in energy["states"])
        require(close(states, total), f"energies of states add up to {states}, not to {total}")
        drives = [each for each in found.get("components", ()) if each["mechanisms"]]
        times = math.fsum(each["time_s"] for each in energy["states"])
        window = found["run"]["measured_s"]
        alone = not found.get("components")
        multiples = times / window if window else 0.0
        counted = multiples if alone else float(len(drives))
        # A device of several sleds has as many mechanisms.
        whole = round(multiples)
        require(math.isclose(multiples, whole, abs_tol=1e-6), f"times of states are {multiples} windows")
        require(whole >= round(counted) or not window, f"times of states are {multiples} windows for {counted} drives")
    by_state = math.fsum(found["state_time"][key] for key in found["state_time"])
    window = found["run"]["measured_s"]
    if window:
        multiples = by_state / window
        require(math.isclose(multiples, round(multiples), abs_tol=1e-6), f"state_time is {multiples} windows")
        require(close(energy["mean_power_w"] * window, total), "mean power times the window is not the energy")
        require(
            energy["peak_power_w"] >= energy["mean_power_w"] * (1 - DIGITS), f"the peak is below the mean: {energy}"
        )
    completed = found["in_system"]["completed"]
    if completed and energy["per_request_mj"] is not None:
        require(close(energy["per_request_mj"] * completed / 1e3, total), "energy by request is not the energy")


def _check_components(found: Mapping[str, Any]) -> None:
    rows = found.get("components") or []
    paths = [each["path"] for each in rows]
    require(len(set(paths)) == len(paths), f"components: paths twice: {paths}")
    energies = []
    for each in rows:
        require(each["parent"] is None or each["parent"] in paths, f"components: {each['path']} has no parent")
        mechanisms = each["mechanisms"]
        if mechanisms:
            share = mechanisms["utilisation"]
            require(share <= 1 + DIGITS, f"{each['path']}: utilisation {share}")
            energies.append(mechanisms["energy_j"])
        for way in each["paths"]:
            mean = way["mean_ms"]
            require(mean is None or mean <= way["max_ms"] * (1 + DIGITS), f"{each['path']}: {way}")
            require((mean is None) == (way["requests"] == 0), f"{each['path']}: {way}")
    if energies and found.get("energy") and None not in energies:
        total = found["energy"]["total_j"]
        require(
            close(math.fsum(energies), total), f"energies of drives add up to {math.fsum(energies)}, not to {total}"
        )


def check_log(found: Mapping[str, Any], log: Mapping[str, Any], *, is_alone: bool) -> None:
    """Check the log against the summary, and invariants of the log; for a single mechanism, more of them."""
    import numpy as np

    rows = {name: np.asarray(column) for name, column in log.items()}
    count = len(rows["id"])
    measured = found["requests"]["measured"]
    require(count >= measured, f"the log has {count} rows, measured were {measured}")
    require(count <= found["requests"]["completed"], f"the log has {count} rows, completed {found['requests']}")
    if not count:
        return
    signed = {name: column.astype(np.int64) for name, column in rows.items() if name.endswith("_ns")}
    require(
        np.array_equal(signed["response_ns"], signed["end_ns"] - signed["arrival_ns"]), "response is not end - arrival"
    )
    require(np.array_equal(signed["service_ns"], signed["end_ns"] - signed["start_ns"]), "service is not end - start")
    require(
        (signed["wait_ns"] <= signed["start_ns"] - signed["arrival_ns"]).all(), "a wait is longer than until the start"
    )
    parts = sum(signed[f"{name}_ns"] for name in PHASES)
    require(np.array_equal(parts, signed["service_ns"]), "phases in the log do not add up to the service")
    require((np.diff(signed["end_ns"]) >= 0).all(), "the log is not in the order of completion")
    require(len(np.unique(rows["id"])) == count, "an id occurs twice in the log")
    moves = ~rows["flush"].astype(bool)
    require(((rows["blocks"] > 0) == moves).all(), "a request of no blocks, or a flush of some")
    # Flushes have separate statistics.
    rows, count = {name: column[moves] for name, column in rows.items()}, int(moves.sum())
    signed = {name: column[moves] for name, column in signed.items()}
    last = rows["lbn"] + rows["blocks"]
    require((last <= found["device"]["capacity_blocks"]).all(), "a request beyond the device")
    needed = rows["needed_bytes"] <= rows["blocks"].astype(np.uint64) * found["device"]["block_bytes"]
    require(needed.all(), "a request needs more blocks than it has")
    if count != measured or not measured:
        return
    for name in ("response", "wait", "service"):
        column = signed[f"{name}_ns"]
        times = found[name]
        require(close(column.mean() / 1e6, times["mean_ms"], 1e-9), f"{name}: mean of the log {column.mean() / 1e6}")
        require(close(column.max() / 1e6, times["max_ms"]), f"{name}: largest of the log {column.max() / 1e6}")
        require(close(column.min() / 1e6, times["min_ms"]), f"{name}: smallest of the log {column.min() / 1e6}")
        if count > 1:
            spread = column.std(ddof=1) / 1e6
            # The summary subtracts the squared mean exactly; here it is rounded to a double.
            require(
                math.isclose(spread, times["std_ms"], rel_tol=1e-6, abs_tol=1e-6), f"{name}: spread of the log {spread}"
            )
        _check_median(name, column, times)
    for name in EVERY_PHASE:
        column, phase = signed[f"{name}_ns"], found[name]
        require(close(column.mean() / 1e6, phase["mean_ms"], 1e-9), f"{name}: mean of the log {column.mean() / 1e6}")
        require(close(column.max() / 1e6, phase["max_ms"], 1e-9), f"{name}: largest of the log {column.max() / 1e6}")
        spread = column.std() / 1e6
        require(
            math.isclose(spread, phase["std_ms"], rel_tol=1e-2, abs_tol=1e-4), f"{name}: spread of the log {spread}"
        )
    if is_alone:
        _check_drive(found, signed)
    reads = found["reads"]["response"]["count"] if found.get("reads") else 0
    require(int(rows["read"].sum()) == reads, f"{int(rows['read'].sum())} reads in the log, {reads} in the summary")
    moved = float(rows["blocks"].astype(np.uint64).sum()) * found["device"]["block_bytes"] / 1e6
    window = found["run"]["measured_s"] if found["in_system"]["completed"] == measured else 0
    require(
        not window or close(found["bandwidth"]["mb_per_s"] * window, moved),
        "bandwidth is not that of the log",
    )


def _check_drive(found: Mapping[str, Any], signed: Mapping[str, Any]) -> None:
    """Check invariants of a single drive: a seek is the longer of two moves, and waiting requests are in the queue."""
    import numpy as np

    requests, window = found["requests"], found["run"]["measured_s"]
    if not requests["merged"]:
        longer = np.maximum(signed["seek_x_ns"], signed["seek_y_ns"])
        apart = signed["seek_x_ns"] + signed["seek_y_ns"] == 0
        require((apart | (signed["seek_ns"] == longer)).all(), "a seek is not the longer of its two moves")
    whole = requests["completed"] == requests["submitted"] == requests["measured"]
    if whole and window and "power_cuts" not in found:
        waited = float(signed["wait_ns"].sum()) / 1e9
        require(
            close(found["queue"]["mean"] * window, waited, 1e-6),
            f"mean queue and waiting times differ: {waited} s",
        )


def _check_median(name: str, column: Any, times: Mapping[str, Any]) -> None:
    """Check quantiles against the sorted log: within 1/512, and within one rank."""
    import numpy as np

    ordered = np.sort(column) / 1e6
    for key, share in (("p50_ms", 0.5), ("p90_ms", 0.9), ("p99_ms", 0.99)):
        rank = share * len(ordered)
        low = ordered[max(0, math.floor(rank) - 2)]
        high = ordered[min(len(ordered) - 1, math.ceil(rank) + 1)]
        inside = low * (1 - 1 / 256) - 1e-9 <= times[key] <= high * (1 + 1 / 256) + 1e-9
        require(inside, f"{name}.{key} = {times[key]}, in the log {low} to {high}")


def same_again(first: Result, second: Result) -> None:
    """Check that a resolved scenario gave the same bytes."""
    one, other = (json.dumps(each.summary, sort_keys=True) for each in (first, second))
    if one != other:
        pairs = zip(numbers_in(first.summary), numbers_in(second.summary), strict=False)
        where = next((f"{a} and {b}" for a, b in pairs if a != b), "another shape")
        raise BrokenError(f"the resolved scenario gave something else: {where}")
