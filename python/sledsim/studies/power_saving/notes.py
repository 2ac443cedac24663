"""Notes on runs with different power strategies: reasons for missing effects, and remedies."""

from collections.abc import Mapping
from typing import Any

from sledsim.runs.result import Result

__all__ = ["policy_notes", "strategy_notes"]

#: A saving of total energy below this share of the saved servicing energy counts as none.
LOST = 0.01
NOTHING = (
    "no request was completed in the measurement window, so there is nothing to compare: let the runs last longer "
    "(run.requests, run.time_s), or start measuring sooner (run.warmup_requests, run.warmup_s)"
)
LOOSER = "{ requests = 16, anywhere = true, writes = true, rows = true }"


def strategy_notes(values: Mapping[str, Any], results: Mapping[str, Result]) -> list[str]:
    """Return notes on the runs of a scenario's strategies.

    Parameters
    ----------
    values
        The scenario.
    results
        The runs by strategy, the base first.
    """
    base = next(iter(results.values()))
    if not base["in_system"]["completed"]:
        return [NOTHING]
    notes = []
    for name, explain in (("spin-down", _spin_down), ("merging", _merging), ("subsector", _subsector)):
        if name in results and results[name].complete and _same(base, results[name]):
            notes.append(explain(values, base))
    stopped = results.get("spin-down")
    if stopped is not None and stopped.complete and stopped["energy"]["total_j"] > base["energy"]["total_j"]:
        notes.append(
            "spin-down takes more energy than it saves here: idle times are too short "
            "(`sledsim device DEVICE --break-even`); --policies compares other policies"
        )
    if _is_spent_idle(base, results.get("merging")):
        notes.append(
            "merging saves servicing energy but hardly any total energy: the device idles in the saved time, at nearly "
            "the same power; with spin-down the total falls"
        )
    if values["system"]["delayed_startup"] is not None:
        notes.append("delayed start-up, which the scenario sets, is part of the runs with spin-down, not of the others")
    return [*notes, *_different_work(results)]


def policy_notes(values: Mapping[str, Any], results: Mapping[str, Result]) -> list[str]:
    """Return notes on the runs of spin-down policies.

    Parameters
    ----------
    values
        The scenario.
    results
        The runs by policy, the first of which keeps the device ready.
    """
    if not next(iter(results.values()))["in_system"]["completed"]:
        return [NOTHING]
    notes = [
        "hindsight: the energy of an ideal policy in the idle times of that run; offline is that policy, which no real "
        "device can have because it knows the future"
    ]
    if values["system"]["delayed_startup"] is not None:
        notes.append("delayed start-up, which the scenario sets, is part of all runs but never")
    return [*notes, *_different_work(results)]


def _same(base: Result, other: Result) -> bool:
    """Return true if a strategy had no effect."""
    return all(base[key] == other[key] for key in ("energy", "response", "state_time"))


def _is_spent_idle(base: Result, merging: Result | None) -> bool:
    """Return true if merging saves servicing energy but hardly any total energy."""
    if merging is None or not merging.complete:
        return False
    servicing_j, total_j = (base["energy"][key] - merging["energy"][key] for key in ("servicing_j", "total_j"))
    return bool(servicing_j > 0 and total_j < LOST * servicing_j)


def _different_work(results: Mapping[str, Result]) -> list[str]:
    counts = {result["in_system"]["completed"] for result in results.values() if result.complete}
    if len(counts) < 2:
        return []
    return [
        f"the runs completed from {min(counts):,} to {max(counts):,} requests: compare the energy per request, "
        "or end them all with run.requests"
    ]


def _spin_down(values: Mapping[str, Any], base: Result) -> str:
    policy = values["system"]["spin_down"]
    if policy is not None and policy["name"] == "never":
        return 'spin-down did nothing: system.spin_down = "never" keeps the device ready; leave it out for immediate'
    time = base["state_time"]
    if time["inactive_s"] > 0 and time["idle_s"] < time["inactive_s"]:
        return "spin-down did nothing: the device stops by itself as soon (its own timeouts belong to the base)"
    return "spin-down did nothing: the device was never idle long enough; lower the load to see an effect"


def _merging(values: Mapping[str, Any], base: Result) -> str:
    workload = values["workload"]
    if base["queue"]["max"] < 2:
        return f"merging did nothing: no two requests ever waited together; raise the load ({_more_load(workload)})"
    if values["system"]["merge"] is None:
        # The requests of a trace cannot be changed.
        runs = "" if workload["kind"] == "trace" else ", or give the workload sequential runs"
        return (
            "merging did nothing: the rule of Lin et al. wants two reads next to each other in the queue, the second "
            f"where the first ends; set system.merge = {LOOSER} for a looser one{runs}"
        )
    return (
        "merging did nothing: no pending requests fitted the rule that system.merge sets; "
        f"the loosest is {LOOSER}, with more requests"
    )


def _more_load(workload: Mapping[str, Any]) -> str:
    """Return the keys that increase the load of a workload."""
    if workload["kind"] == "synthetic":
        closed = workload["arrival"]["kind"] == "closed"
        return "workload.arrival.outstanding" if closed else "workload.arrival"
    if workload["kind"] == "mix":
        return "workload.time_scale below 1"
    faster = "workload.time_scale below 1"
    together = 'workload.mode = "outstanding" with workload.outstanding above 1'
    if workload["mode"] == "auto":
        return f"{faster} for a trace replayed at its own times, else {together}"
    return faster if workload["mode"] == "open" else together


def _subsector(values: Mapping[str, Any], _: Result) -> str:
    workload = values["workload"]
    streams = workload.get("streams", [workload])
    place = "workload.streams.0" if "streams" in workload else "workload"
    metadata = [stream["metadata"] for stream in streams if stream["metadata"] is not None]
    whole = all(stream["last_block"] == "whole" for stream in streams)
    if not metadata and whole:
        return (
            "subsector access did nothing: the workload needs every byte of its blocks; "
            f'set {place}.last_block = "uniform", or {place}.metadata = {{ share = 0.5 }}'
        )
    if not any(spec["share"] for spec in metadata) and whole:
        return (
            "subsector access did nothing: none of the requests is metadata; "
            f'set {place}.metadata.share above 0, or {place}.last_block = "uniform"'
        )
    return "subsector access did nothing: every row that was visited holds only needed bytes"
