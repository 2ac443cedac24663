"""Means over seeds, and claims with fewer seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sledsim
from sledsim_papers.harness import reproduction
from sledsim_papers.harness.averaging import SEEDS, draws
from sledsim_papers.harness.finding import Finding, Probe
from sledsim_papers.harness.intervals import over_seeds
from sledsim_papers.harness.reproduction import reproduce
from sledsim_papers.harness.study import Study
from sledsim_papers.harness.verdicts import verdicts
from sledsim_papers.harness.wording import fewer_seeds_text

if TYPE_CHECKING:
    from pathlib import Path

READS: dict[str, Any] = {
    "workload": {"arrival": {"kind": "poisson", "rate_per_s": 900.0}, "read_fraction": 0.5},
    "system": {"device": "g2"},
    "run": {"requests": 3000},
}


def by_seed(key: str, name: str) -> list[float]:
    """Return a figure of a run with each seed."""
    return [sledsim.run({**READS, "seed": seed})[key][name] for seed in SEEDS]


def test_a_scenario_without_a_seed_is_run_with_three_and_is_their_mean() -> None:
    assert SEEDS == (1, 2, 3)
    with Study() as study:
        found = study.run(READS, log=True)
        for key, name in (("response", "mean_ms"), ("response", "max_ms"), ("throughput", "requests_per_s")):
            assert found[key][name] == pytest.approx(np.mean(by_seed(key, name)), rel=1e-12)
        assert found.response.mean_ms == found["response"]["mean_ms"]
        assert found["requests"]["completed"] == 3000
        assert found["scenario"]["workload"]["read_fraction"] == 0.5
        # Requests of all three, and so their mean too.
        assert len(found.log["id"]) == 3 * 3000
        assert found.log["response_ns"].mean() / 1e6 == pytest.approx(found.response.mean_ms, rel=1e-6)


def test_the_interval_of_a_mean_over_seeds_is_that_of_independent_means() -> None:
    with Study() as study:
        response = study.run(READS)["response"]
    halves = [
        (high - low) / 2
        for low, high in zip(by_seed("response", "ci95_low_ms"), by_seed("response", "ci95_high_ms"), strict=True)
    ]
    half = (response["ci95_high_ms"] - response["ci95_low_ms"]) / 2
    assert half == pytest.approx(np.sqrt(np.square(halves).sum()) / 3, rel=1e-9)
    assert response["ci95_low_ms"] < response["mean_ms"] < response["ci95_high_ms"]


def test_a_seed_that_is_named_counts_and_a_trace_is_run_once(tmp_path: Path) -> None:
    trace = tmp_path / "few.csv"
    rows = [f"{i * 2_000_000},0,{i * 7919 % 1000 * 4096},4096,R" for i in range(50)]
    trace.write_text("\n".join(["t_ns,device,offset_bytes,bytes,op", *rows, ""]))
    replayed = {"workload": {"kind": "trace", "path": str(trace)}, "system": {"device": "g2"}}
    assert draws(READS)
    assert not draws(replayed)
    with Study() as study:
        named = study.run({**READS, "seed": 2})
        assert named["response"]["mean_ms"] == by_seed("response", "mean_ms")[1]
        assert study.seeded(2).run(READS)["response"]["mean_ms"] == named["response"]["mean_ms"]
        # Of experiments that name their seeds the second is the one after.
        assert study.seeded(2).run({**READS, "seed": 1})["response"]["mean_ms"] == named["response"]["mean_ms"]
        assert study.run(replayed)["scenario"]["seed"] == 1
        assert study.tally.least(of_probes=False) == 1
        assert len(study._made) == 2


def test_figures_over_seeds_have_the_interval_of_their_means() -> None:
    def figures(study: Study) -> tuple[float, float]:
        run = study.run(READS)
        return run.response.mean_ms, run.service.mean_ms

    with Study() as study:
        means, intervals = over_seeds(study, figures)
        assert means == pytest.approx(figures(study))
        assert all(low < mean < high for mean, (low, high) in zip(means, intervals, strict=True))
        assert study.tally.least(of_probes=False) == 3
        alone, points = over_seeds(study.seeded(1), figures)
        assert alone == figures(study.seeded(1))
        assert points == tuple((each, each) for each in alone)


def test_claims_with_fewer_seeds_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    def probed(study: Study) -> Finding:
        shared = study.once("key", lambda made: made.run({**READS, "seed": 1}))
        study.run(READS, {"run.requests": 500})
        one = study.probes(lambda: (Probe("one seed", study.run({**READS, "seed": 7}).response.mean_ms),))
        return Finding(shared.response.mean_ms, "a run", scenarios=(READS,), probes=one)

    def plain(study: Study) -> Finding:
        return Finding(study.run(READS).response.mean_ms, "a run", scenarios=(READS,))

    def formula(_: Study) -> Finding:
        return Finding(0.7, "a formula")

    made_up = {"griffin1999.seek-mean": probed, "griffin1999.seek-max": plain, "griffin1999.settle-time": formula}
    monkeypatch.setattr(reproduction, "experiments", lambda: made_up)
    found = reproduce("griffin1999")
    seeds = {answer.claim.id: (answer.seeds, answer.probe_seeds) for answer in found.answers if answer.finding}
    # The probe's run is the figure's but for the seed.
    assert seeds == {"seek-mean": (2, None), "seek-max": (3, None), "settle-time": (None, None)}
    [said] = [each for each in verdicts(found)["claims"] if each["name"] == "griffin1999.seek-mean"]
    assert (said["seeds"], said["probe_seeds"]) == (2, None)


@pytest.mark.parametrize(
    ("seeds", "probe_seeds", "said"),
    [
        (3, 3, ""),
        (None, None, ""),
        (None, 1, "Runs of probes with 1 in place of 3."),
        (2, 1, "Runs of the figure with 2; runs of probes with 1 in place of 3."),
    ],
)
def test_text_for_few_seeds(seeds: int | None, probe_seeds: int | None, said: str) -> None:
    assert fewer_seeds_text(seeds, probe_seeds) == said
