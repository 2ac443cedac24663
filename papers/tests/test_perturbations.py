"""Perturbations of claims, and verdicts by seed."""

import time
from typing import Any

import pytest

from sledsim_papers.harness import reproduction
from sledsim_papers.harness.claim import PAPERS, claims
from sledsim_papers.harness.finding import Finding, Probe
from sledsim_papers.harness.overview import tables
from sledsim_papers.harness.pages import Pages
from sledsim_papers.harness.perturbations import Perturbation, perturbations
from sledsim_papers.harness.registry import experiments
from sledsim_papers.harness.reproduction import reproduce
from sledsim_papers.harness.study import Study
from sledsim_papers.harness.verdicts import verdicts

#: Claims that keep their verdict under their perturbation; docs/papers/claims.md says why.
INSENSITIVE = {
    "hong2006.hplajw-mcd",
    "schlosser2000.bit-size-bandwidth",
    "schlosser2004.contract-near",
    "schlosser2004.seek-under-1-ms",
}
#: Those whose experiments take no run, or hardly any.
CHEAP = [
    *(f"griffin1999.{name}" for name in ("capacity", "tip-rate", "settle-time", "turnaround-time")),
    *(f"schlosser2000.{name}" for name in ("density", "force-turnaround", "spring-force-range", "bit-size-bandwidth")),
    *(f"lin2002.{name}" for name in ("access-power", "startup-energy", "request-tips")),
    *(f"schlosser2004.{name}" for name in ("g2-capacity", "contract-near")),
    *(f"hong2006.{name}" for name in ("max-seek", "capacity", "max-throughput", "replication-share")),
    *(f"hong2006.{name}" for name in ("mttf-no-repair", "survival-crossing-by-spares", "preventive-gain")),
]


def test_sixty_claims_of_all_papers_have_perturbations() -> None:
    assert len(perturbations()) >= 60
    assert {name.partition(".")[0] for name in perturbations()} == set(PAPERS)
    assert set(perturbations()) <= set(claims()) & set(experiments())
    for perturbation in perturbations().values():
        assert perturbation.change
        changes = (
            perturbation.times,
            perturbation.values,
            perturbation.device,
            perturbation.scheduler,
            perturbation.enclosure,
        )
        assert sum(map(bool, changes)) == 1, perturbation.claim


@pytest.mark.parametrize(
    "name", [*CHEAP, *(pytest.param(name, marks=pytest.mark.slow) for name in perturbations() if name not in CHEAP)]
)
def test_a_perturbation_changes_the_verdict_unless_listed(study: Study, name: str) -> None:
    [answer] = reproduce(name, perturb=True, study=study).answers
    assert answer.finding, answer.reason
    assert answer.perturbed
    assert answer.perturbed.ours is not None, answer.perturbed.reason
    assert answer.insensitive == (name in INSENSITIVE), (answer.finding.ours, answer.perturbed.ours)


SYSTEM: dict[str, Any] = {
    "system": {
        "kind": "mcd",
        "cache": {"device": {"name": "g2", "bit_nm": 30.0}, "scheduler": "sptf"},
        "disk": {"device": "atlas10k", "scheduler": {"name": "clook"}},
    }
}


def test_a_change_reaches_every_device_that_has_the_value() -> None:
    twice = Perturbation(claim="", change="", times={"bit_nm": 2.0, "active_tips": 0.5})
    made = twice.of_scenario(SYSTEM)["system"]
    assert made["cache"]["device"] == {"name": "g2", "bit_nm": 60.0, "active_tips": 640}
    assert made["disk"]["device"] == "atlas10k"
    assert SYSTEM["system"]["cache"]["device"]["bit_nm"] == 30.0
    set_to = Perturbation(claim="", change="", values={"spring_factor": 0.0})
    assert set_to.of_device("g2") == {"name": "g2", "spring_factor": 0.0}
    assert set_to.of_device("atlas10k") == "atlas10k"
    other = Perturbation(claim="", change="", device={"g2": "atlas10k"})
    assert other.of_device({"name": "g2", "bit_nm": 30.0}) == "atlas10k"
    assert other.of_device("g3") == "g3"
    fcfs = Perturbation(claim="", change="", scheduler="fcfs").of_scenario(SYSTEM)["system"]
    assert [fcfs[part]["scheduler"] for part in ("cache", "disk")] == ["fcfs", "fcfs"]


def test_perturbed_and_seeded_views_have_separate_runs() -> None:
    scenario = {
        "workload": {"arrival": {"kind": "poisson", "rate_per_s": 100.0}},
        "system": {"device": "g2"},
        "run": {"requests": 500},
    }
    with Study() as study:
        mean = study.run(scenario)["response"]["mean_ms"]
        slower = Perturbation(claim="", change="", values={"acceleration_x_m_s2": 100.0})
        assert study.perturbed(slower).run(scenario)["response"]["mean_ms"] > 1.2 * mean
        other = study.seeded(2).run(scenario)["response"]["mean_ms"]
        assert other != mean
        assert study.run({**scenario, "seed": 2})["response"]["mean_ms"] == other
        assert study.once("key", lambda _: 1) == 1
        assert study.seeded(2).once("key", lambda _: 2) == 2
        assert study.perturbed(slower).once("key", lambda _: 3) == 3
        assert study.perturbed(slower).sled("g2").parameters["acceleration_x_m_s2"] == 100.0


def test_verdicts_by_seed_and_perturbed_are_in_table_report_and_json(study: Study, tmp_path: Any) -> None:
    by_seed = reproduce("griffin1999.turnarounds-per-seek", seeds=3, study=study)
    [answer] = by_seed.answers
    assert answer.by_seed == ("reproduced",) * 3
    assert not answer.unstable
    assert "1 claims with 3 seeds; the verdict of 0 depends on the seed" in "".join(map(str, tables(by_seed)))
    assert not reproduce("griffin1999.capacity", seeds=3, study=study).answers[0].by_seed
    insensitive = reproduce("schlosser2000.bit-size-bandwidth", perturb=True, study=study)
    assert "1 keep their verdict" in "".join(map(str, tables(insensitive)))
    [said] = verdicts(insensitive)["claims"]
    assert said["perturbed"]["insensitive"]
    assert said["perturbed"]["change"] == "the same bits, whichever are asked for"
    Pages(tmp_path).write(insensitive)
    assert "the claim is insensitive to the change" in (tmp_path / "schlosser2000.html").read_text(encoding="utf-8")


def test_variants_of_an_experiment_skip_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Finding] = []

    def probed(study: Study) -> Finding:
        probes = study.probes(lambda: (Probe("no springs", 1.8),))
        found.append(Finding(0.72, "formula", scenarios=({"workload": {}},), probes=probes))
        return found[-1]

    monkeypatch.setattr(reproduction, "experiments", lambda: {"griffin1999.settle-time": probed})
    [answer] = reproduce("griffin1999.settle-time", time_optimal=True, seeds=3, perturb=True).answers
    assert answer.finding is found[0]
    assert [len(each.probes) for each in found] == [1, 0, 0, 0, 0, 0]
    assert (len(answer.by_seed), answer.time_optimal) == (3, 0.72)
    assert answer.perturbed
    assert answer.perturbed.ours == 0.72


def test_the_time_of_a_claim_includes_its_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(_: Study) -> Finding:
        until = time.thread_time() + 0.05
        while time.thread_time() < until:
            pass
        return Finding(0.72, "formula", scenarios=({"workload": {}},))

    monkeypatch.setattr(reproduction, "experiments", lambda: {"griffin1999.settle-time": busy})
    [answer] = reproduce("griffin1999.settle-time", time_optimal=True, seeds=2, perturb=True).answers
    assert answer.seconds >= 5 * 0.05
