"""Runs of several scenarios that end when the differences of their mean responses are precise enough."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sledsim._core import ScenarioError, SledsimError, error_of
from sledsim.runs.result import Result
from sledsim.runs.running import ProgressCallback, run_resolved
from sledsim.scenario.reading import Resolved, ScenarioLike, Sets, resolve, resolve_relative, written
from sledsim.show.faults import Sentence, brief, make_error

__all__ = ["PairedRuns", "run_to_difference"]

#: Measured requests of the first runs after the warm-up.
FIRST_RUN = 10_000
#: A repeated run has MARGIN times the predicted requests, from LEAST_GROWTH to MOST_GROWTH times those of the last run.
MARGIN, LEAST_GROWTH, MOST_GROWTH = 1.05, 1.5, 8.0
#: The predicted growth of runs without an interval, whose batches are still correlated.
GROWTH_WITHOUT_INTERVAL = 2.0
#: Smallest precision, as a share of the first mean.
LEAST_SHARE = 1e-4
#: Keys of a run that each round sets itself.
SET_BY_ROUNDS = ("precision", "requests", "warmup", "warmup_requests")


@dataclass(frozen=True)
class PairedRuns:
    """Runs of the same number of requests, to compare their mean responses.

    Parameters
    ----------
    results
        The results; after an interrupted run, the remaining ones are left out.
    target
        The requested half-width of each difference, as a fraction of the first mean.
    complete
        False if a run was interrupted. If an earlier round was complete, the results are those of that round.
    warmup_note
        The reason why the warm-up is uncertain; ``None`` if it is certain or was given.
    """

    results: Sequence[Result]
    target: float
    complete: bool
    warmup_note: str | None


def run_to_difference(
    scenarios: Sequence[ScenarioLike],
    difference: float | str,
    *,
    overrides: Sets = (),
    progress: ProgressCallback | bool | None = None,
) -> PairedRuns:
    """Run scenarios, with equal numbers of requests, until the differences of their means are precise enough.

    All runs are repeated with more requests until the half-width of each paired interval is at most `difference` of the
    first mean, a system cannot keep up with its load, the runs measure different numbers of requests, or the maximum of
    a scenario is reached.

    Parameters
    ----------
    scenarios
        The scenarios, at least two, with generated requests.
    difference
        The precision, as a fraction from 0.0001 to 1, or a text such as ``"1%"``.
    overrides, progress
        As for :func:`sledsim.run`.

    Raises
    ------
    ScenarioError
        If a scenario is invalid, or cannot be run to a precision.
    SledsimError
        If there are fewer than two scenarios, or `difference` is out of range.
    """
    target = _share(difference)
    if len(scenarios) < 2:
        message: Sentence = [("difference",), " needs at least two scenarios: give another, or leave it out"]
        raise make_error(SledsimError, "missing", message, path="difference")
    settings = resolve_relative(overrides)
    resolved = [_resolve(scenario, settings, target) for scenario in scenarios]
    length = [each.values["run"] for each in resolved]
    most = min(run["requests"] for run in length)
    warmup = max(run["warmup_requests"] for run in length)
    warmup_note = None
    for each in resolved:
        if each.values["run"]["warmup"] != "auto":
            continue
        # With a precision of 100 % a run finds its warm-up and ends at the first interval.
        any_interval = ["run.precision.response=1.0", "run.precision.control_variates=false"]
        found = run_resolved(resolve(each, any_interval), progress=progress)
        if not found.complete:
            return PairedRuns([found], target, complete=False, warmup_note=None)
        warmup = max(warmup, found.warmup.requests)
        # The result states an overload itself.
        warmup_note = warmup_note or (None if found["overload"] else found.warmup.note)
    requests, last = min(most, warmup + FIRST_RUN), list[Result]()
    while True:
        results = _run_all(resolved, requests, min(warmup, requests - 1), progress)
        if not results[-1].complete:
            return PairedRuns(last or results, target, complete=False, warmup_note=warmup_note)
        first, *others = last = results
        is_last = requests >= most or any(each["overload"] for each in results)
        if is_last or any(each["requests"]["measured"] != first["requests"]["measured"] for each in others):
            break
        needed = max(_needed_growth(each, first, target) for each in others)
        if needed <= 1:
            break
        growth = min(max(MARGIN * needed, LEAST_GROWTH), MOST_GROWTH)
        requests = min(most, warmup + round((requests - warmup) * growth))
    return PairedRuns(last, target, complete=True, warmup_note=warmup_note)


def _share(given: float | str) -> float:
    """Return a precision as a fraction."""
    text = str(given).strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not LEAST_SHARE <= share <= 1:
        shown = given if isinstance(given, str) else brief(given)[0]
        message: Sentence = [("difference",), f"={shown}: expected a share from {LEAST_SHARE:g} to 1 (0.01 % to 100 %)"]
        raise make_error(SledsimError, "out-of-range", message, path="difference", value=shown)
    return share


def _resolve(scenario: ScenarioLike, settings: Sequence[str], target: float) -> Resolved:
    """Resolve a scenario for runs to a precision.

    Raises
    ------
    ScenarioError
        If the scenario is invalid, cannot be run to a precision, or has a precision itself.
    """
    document = written(scenario)
    setting = f"run.precision.response={target!r}"
    try:
        resolved = resolve(document, [*settings, setting])
    except ScenarioError as error:
        faults = [fault.of_option("difference") if fault.setting == setting else fault for fault in error.faults]
        raise error_of(ScenarioError, faults) from None
    own = {key: value for key, value in resolved.values["run"]["precision"].items() if value is not None}
    if own.pop("control_variates") and len(own) == 1 and "precision" not in resolve(document, settings).values["run"]:
        return resolved
    message: Sentence = [("difference",), " and run.precision exclude each other: leave out run.precision"]
    raise make_error(ScenarioError, "conflict", message, path="difference")


def _run_all(
    resolved: Sequence[Resolved], requests: int, warmup_requests: int, progress: ProgressCallback | bool | None
) -> list[Result]:
    """Run scenarios with a fixed length; an interrupted run is the last."""
    results: list[Result] = []
    for each in resolved:
        run = _of_length(each.values["run"], requests, warmup_requests)
        results.append(run_resolved(resolve(each, {"run": run}), progress=progress))
        if not results[-1].complete:
            break
    return results


def _of_length(run: Mapping[str, Any], requests: int, warmup_requests: int) -> dict[str, Any]:
    """Return the table `run` of a scenario with a fixed length instead of a precision."""
    kept = {key: value for key, value in run.items() if key not in SET_BY_ROUNDS and value is not None}
    return {**kept, "requests": requests, "warmup_requests": warmup_requests}


def _needed_growth(result: Result, first: Result, target: float) -> float:
    """Return the factor by which two runs must be longer for the precision of their difference."""
    interval = result.response_difference(first, ended_when_precise=True)
    if interval is None:
        return GROWTH_WITHOUT_INTERVAL
    return ((interval.high - interval.low) / 2 / (target * float(first.response.mean_ms))) ** 2
