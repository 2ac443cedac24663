"""The examples run and print the documented results."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import sledsim
from conftest import EXAMPLES, ROOT, examples_of

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = ROOT / "examples"


@pytest.mark.parametrize("path", examples_of("scenario"), ids=lambda path: path.name)
def test_scenarios(path: Path) -> None:
    result = sledsim.run(path)
    assert result.complete
    assert result.requests.completed == result.requests.submitted > 0


def test_the_closed_example_keeps_its_clients() -> None:
    result = sledsim.run(EXAMPLES / "closed.toml")
    assert result.queue.max < 16
    assert result.scheduler == "asptf"


def test_the_replay_example_serves_its_trace() -> None:
    records = sledsim.traces.open_trace(EXAMPLES / "office.csv").info().records
    assert sledsim.run(EXAMPLES / "replay.toml").requests.completed == records


def test_the_power_example_saves_energy_with_every_strategy() -> None:
    rows = {row["name"]: row for row in sledsim.power(EXAMPLES / "power.toml").rows()}
    for name in ("merging", "subsector"):
        assert rows[name]["servicing_j"] < rows["base"]["servicing_j"]
        assert rows[name]["response_ratio"] < 1
    # Lin et al. 2002 save about half with all three; this workload is another.
    assert rows["together"]["saved_share"] > rows["spin-down"]["saved_share"] > 0.3
    assert rows["together"]["response_ratio"] < rows["spin-down"]["response_ratio"]


def test_the_notebook(tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAMS / "explore.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Without settling" in done.stdout
    assert len(list(tmp_path.glob("*.html"))) == 4


def test_only_equivalent_blocks_are_fast_by_rows_and_columns() -> None:
    command = [sys.executable, str(PROGRAMS / "relation.py"), "--records", "300000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "g2: rows are fetched and attributes scanned quickly by equivalent" in done.stdout
    assert "uberdisk: rows are fetched and attributes scanned quickly by no layout" in done.stdout


def test_the_generations_are_compared(trace_file: Path) -> None:
    command = [sys.executable, str(PROGRAMS / "generations.py")]
    for arguments in ([], ["--trace", str(trace_file)]):
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[0].split() == ["g1", "g2", "ratio", "g3", "ratio"]
