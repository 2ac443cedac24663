"""The fuzzer: cases of fixed seeds, earlier findings, and detection of planted errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import fuzz
from conftest import size
from fuzzing.campaign import Tally, Worker, cases, try_cases
from fuzzing.targets import NAMES, TURNS, Case, targets
from fuzzing.worker import packed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Inputs that once caused a crash, a hang or a broken invariant.
FINDINGS = sorted(fuzz.FINDINGS.glob("*.json"))
#: Cases of each process of a test.
CASES = size(450, 900)
#: Seeds of the quick tier, and of all.
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))]


@pytest.mark.parametrize("seed", SEEDS)
def test_fuzzed_inputs_are_refused_or_keep_the_invariants(seed: int) -> None:
    tally = Tally()
    try_cases(cases(seed, 0, 1), tally, count=CASES)
    findings = [f"{finding.name} {finding.kind}: {finding.detail[-1_500:]}" for finding in tally.findings]
    assert not findings, "\n".join(findings[:5])
    assert tally.cases == CASES
    for name in NAMES:
        counts = {outcome: tally.by_target[name, outcome] for outcome in ("accepted", "refused")}
        # If a target accepts all inputs or none, its inputs test nothing.
        assert min(counts.values()) > CASES // 200, (name, counts)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.stop()


@pytest.mark.parametrize("path", FINDINGS, ids=lambda path: path.stem)
def test_earlier_findings_are_fixed(worker: Worker, path: Path) -> None:
    kept = json.loads(path.read_text())
    outcome, finding = worker.attempt(f"{kept['target']}:0:0", packed(kept["given"]))
    assert outcome in {"accepted", "refused"}, finding


def test_the_same_case_makes_the_same_input() -> None:
    known = targets()
    assert set(known) == set(NAMES) == set(TURNS)
    for name in NAMES:
        inputs = [json.dumps(known[name].make(Case(name, 7, number).random())) for number in (3, 4, 3)]
        assert inputs[0] == inputs[2] != inputs[1]
    assert str(Case.of("trace:7:3")) == "trace:7:3"
