"""Runs of several scenarios that end when the differences of their mean responses are precise enough."""

from collections.abc import Sequence

from sledsim.runs.result import Result
from sledsim.runs.running import ProgressCallback, run_resolved
from sledsim.scenario.reading import Resolved, ScenarioLike, Sets, resolve, resolve_relative

__all__ = ["run_to_difference"]

#: Requests of the runs that find the warm-up, and measured requests of the first runs after them.
WARMUP_RUN, FIRST_RUN = 4_000, 10_000
#: A repeated run has MARGIN times the predicted requests, from LEAST_GROWTH to MOST_GROWTH times those of the last run.
MARGIN, LEAST_GROWTH, MOST_GROWTH = 1.05, 1.5, 8.0


def run_to_difference(
    scenarios: Sequence[ScenarioLike],
    share: float | str,
    *,
    overrides: Sets = (),
    progress: ProgressCallback | bool | None = None,
) -> list[Result]:
    """Run scenarios, with equal numbers of requests, until the differences of their means are precise enough.

    All runs are repeated with more requests until the half-width of each paired interval is at most `share` of the
    first mean, a system cannot keep up with its load, or the maximum of a scenario is reached.

    Parameters
    ----------
    scenarios
        The scenarios, at least one, with generated requests.
    share
        The precision, as a fraction or a text such as ``"1%"``.
    overrides, progress
        As for :func:`sledsim.run`.

    Returns
    -------
    list
        The results; after an interrupted run, the remaining results are left out.

    Raises
    ------
    ScenarioError
        If a scenario is invalid, or cannot be run to a precision.
    """
    settings = [*resolve_relative(overrides), f"run.precision.response={share}"]
    resolved = [resolve(scenario, settings) for scenario in scenarios]
    length = [each.values["run"] for each in resolved]
    target = float(length[0]["precision"]["response"])
    most = min(run["requests"] for run in length)
    warmup = max(run["warmup_requests"] for run in length)
    if any(run["warmup"] == "auto" for run in length):
        found = _run_all(resolved, f'{{requests={WARMUP_RUN}, warmup="auto"}}', progress)
        if not found[-1].complete:
            return found
        warmup = max(warmup, *(each.warmup.requests for each in found))
    requests = min(most, warmup + FIRST_RUN)
    while True:
        results = _run_all(resolved, f"{{requests={requests}, warmup_requests={min(warmup, requests - 1)}}}", progress)
        first, *others = results
        if requests >= most or any(not each.complete or each["overload"] for each in results):
            return results
        needed = max((_needed_growth(each, first, target) for each in others), default=0.0)
        if needed <= 1:
            return results
        growth = min(max(MARGIN * needed, LEAST_GROWTH), MOST_GROWTH)
        requests = min(most, warmup + round((requests - warmup) * growth))


def _run_all(resolved: Sequence[Resolved], run: str, progress: ProgressCallback | bool | None) -> list[Result]:
    """Run scenarios with another length; an interrupted run is the last."""
    results: list[Result] = []
    for each in resolved:
        results.append(run_resolved(resolve(each, [f"run={run}"]), progress=progress))
        if not results[-1].complete:
            break
    return results


def _needed_growth(result: Result, first: Result, target: float) -> float:
    """Return the factor by which two runs must be longer for the precision of their difference."""
    interval = result.response_difference(first, at_check=True)
    if interval is None:
        return MOST_GROWTH
    return ((interval.high - interval.low) / 2 / (target * float(first.response.mean_ms))) ** 2
