"""The benchmarks run, and their table is complete."""

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
    # A benchmark of this size is no measure of speed: it may be above its limit.
    assert ran.returncode in {0, 1}, ran.stderr
    rows = [line.split("×")[0].split()[-1] for line in ran.stdout.splitlines() if "× baseline.mems" in line]
    assert len(rows) == 1
    assert float(rows[0].replace(",", "")) > 0


def test_every_row_has_a_measurement(bench: Any) -> None:
    cases = {*bench.MEASURES, "import", "import_all", "help", "baseline", "threads"}
    assert {row.measured.split(".")[0] for row in bench.BENCHMARKS} <= cases
    assert {key for row in bench.BENCHMARKS if (key := row.baseline) and key.split(".")[0] not in cases} == set()


def test_the_page_has_every_benchmark_within_its_limit(bench: Any) -> None:
    page = bench.PAGE.read_text(encoding="utf-8")
    written = page.partition("<!-- measured: speed -->\n")[2].partition("<!-- end -->")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in written.splitlines() if line.startswith("|")]
    names = [row[0] for row in rows[2:]]
    # Other simulators are not on every machine.
    optional = {row.name for row in bench.BENCHMARKS if (row.baseline or "").startswith(("libcachesim", "disksim"))}
    assert names == [row.name for row in bench.BENCHMARKS if row.name not in optional.difference(names)]
    assert all(row[1] for row in rows)
    assert "EXCEEDED" not in written


def test_growth_has_at_least_three_sizes(bench: Any, tmp_path: Path) -> None:
    measures = [measure for measure, _ in bench.GROWTH.values()]
    assert measures[0](400, tmp_path)["each_s"] > 0
    assert all(len(sizes) > 2 and sizes == sorted(sizes) for _, sizes in bench.GROWTH.values())


@pytest.mark.parametrize("case", ["figure_4", "lifetimes", "rare_loss", "session_one", "own_built_in", "lru"])
def test_a_measurement_runs(case: str, bench: Any, tmp_path: Path) -> None:
    if trace := bench.needed_trace(case):
        reference(str(trace))
    found = bench.MEASURES[case](0.01, tmp_path)
    assert found
    assert all(value > 0 for value in found.values())
