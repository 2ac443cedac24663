"""Coverage of the intervals of comparisons that end when a difference is precise enough."""

from typing import Any

import pytest

from sledsim.runs.comparison import Comparison, compare

#: 90 % of the seeds, two standard errors below 93 %.
SEEDS, LEAST_COVERED = range(1, 201), 180


def _scenario(rate_per_s: float, device: str = "g2", scheduler: str = "fcfs") -> dict[str, Any]:
    arrival = {"kind": "poisson", "rate_per_s": rate_per_s}
    return {"workload": {"arrival": arrival}, "system": {"device": device, "scheduler": scheduler}}


PAIRS = {
    "g2, FCFS and SPTF, 800/s": (_scenario(800.0), _scenario(800.0, scheduler="sptf")),
    "g2, FCFS and SPTF, 900/s": (_scenario(900.0), _scenario(900.0, scheduler="sptf")),
    "g2, C-LOOK and SPTF, 1200/s": (_scenario(1200.0, scheduler="clook"), _scenario(1200.0, scheduler="sptf")),
    "g2 and g3, FCFS, 600/s": (_scenario(600.0), _scenario(600.0, "g3")),
    "atlas10k and cheetah9LP, FCFS, 40/s": (_scenario(40.0, "atlas10k"), _scenario(40.0, "cheetah9LP")),
    "atlas10k, FCFS and SPTF, 69/s": (_scenario(69.0, "atlas10k"), _scenario(69.0, "atlas10k", "sptf")),
}


def _submitted(found: Comparison) -> int:
    return int(next(iter(found.results.values())).requests.submitted)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
def test_intervals_at_a_precision_contain_the_long_run_difference(name: str) -> None:
    pair = PAIRS[name]
    length = {"seed": 1000, "run.requests": 5_001_000, "run.warmup_requests": 1000}
    # The half-width of this difference is at most 0.16 % of the first mean.
    [reference] = compare(pair, overrides=length).response_differences().values()
    runs = [compare(pair, difference="1%", overrides={"seed": seed}) for seed in SEEDS]
    intervals = [interval for each in runs for interval in each.response_differences().values()]
    covered = sum(each.low <= reference.mean <= each.high for each in intervals)
    requests = sum(map(_submitted, runs)) / len(runs)
    print(f"| {name} | {reference.mean:.4f} | {requests:.0f} | {covered} of {len(runs)} |")
    assert len(intervals) == len(runs)
    assert covered >= LEAST_COVERED
