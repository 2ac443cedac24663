"""The bench measures, and sees a broken promise and a slower build."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT, reference

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RUN = ROOT / "bench" / "run.py"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(RUN.parent)
    yield importlib.import_module("run")
    del sys.modules["run"], sys.modules["measures"]


def test_a_benchmark_runs_at_tiny_size() -> None:
    command = [sys.executable, str(RUN), "--only", "sptf_1000*", "--rounds", "1", "--scale", "0.01"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    # So small a row is no measure of speed: its promises may be broken.
    assert ran.returncode in {0, 1}, ran.stderr
    rows = [line.split("×")[0].split()[-1] for line in ran.stdout.splitlines() if "× floor.mems" in line]
    assert len(rows) == 1
    assert float(rows[0].replace(",", "")) > 0


def test_every_target_has_a_benchmark(bench: Any) -> None:
    cases = {*bench.MEASURES, "import", "import_all", "help", "floor", "threads"}
    assert {promise.measured.split(".")[0] for promise in bench.PROMISES} <= cases
    assert {key for promise in bench.PROMISES if (key := promise.over) and key.split(".")[0] not in cases} == set()


def test_the_page_has_every_target_and_all_are_met(bench: Any) -> None:
    [written] = bench.BLOCK.findall(bench.PAGE.read_text(encoding="utf-8"))
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in written.splitlines() if line.startswith("|")]
    assert [row[0] for row in rows[2:]] == [promise.what for promise in bench.PROMISES]
    assert all(row[1] for row in rows)
    assert "BROKEN" not in written


@pytest.mark.parametrize("case", ["figure_4", "lifetimes", "rare_loss", "session_one", "own_built_in", "lru"])
def test_a_measurement_runs(case: str, bench: Any, tmp_path: Path) -> None:
    if trace := bench.needed_trace(case):
        reference(str(trace))
    found = bench.MEASURES[case](0.01, tmp_path)
    assert found
    assert all(value > 0 for value in found.values())
