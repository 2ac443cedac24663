"""Processes killed while writing leave complete files or none; a rerun gives the result of an undisturbed run."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from conftest import size
from sledsim.sweep import Store
from sledsim.sweep.optimisation import optimise
from sledsim.sweep.search import Search
from waiting import sleep_randomly, wait_until

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = [sys.executable, "-c", "from sledsim.cli import main; main()"]

SCENARIO = """\
workload.arrival = {{ kind = "poisson", rate_per_s = 500 }}
system.device = "g2"
run.requests = {requests}
"""


def contents(folder: Path) -> dict[str, bytes]:
    """Return the finished files below a folder, without processor times."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(folder)): re.sub(rb'("seconds": |Processor time</dt><dd>)[\d.e-]+', b"", path.read_bytes())
        for path in files
        if not path.name.startswith(".sledsim-") and not path.name.endswith(".partial")
    }


def write_times(folder: Path, pattern: str) -> dict[Path, int]:
    """Return the modification times of all files below a folder; files that vanish meanwhile are left out."""
    state = {}
    for path in folder.glob(pattern):
        with suppress(FileNotFoundError):
            state[path] = path.stat().st_mtime_ns
    return state


def kill_while_it_writes(
    command: list[str | Path], folder: Path, moments: random.Random, most_s: float, pattern: str = "**/*"
) -> bool:
    """Start a command and kill it at a random moment after it begins to write; return true if it was running.

    The first of several kills comes at once, so that a write is interrupted on a machine of any speed.
    """
    before = write_times(folder, pattern)
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        wait_until(lambda: write_times(folder, pattern) != before, process)
        sleep_randomly(moments, most_s)
        process.kill()
        process.wait()
        return process.returncode == -signal.SIGKILL


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trace that takes some tenths of a second to convert."""
    path = tmp_path_factory.mktemp("trace") / "long.csv"
    lines = (f"{i * 1000},0,{i % 5000 * 4096},4096,{'RW'[i % 3 == 0]}" for i in range(size(150_000, 600_000)))
    path.write_text("\n".join(["t_ns,device,offset_bytes,bytes,op", *lines, ""]))
    return path


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a scenario whose log takes some tenths of a second to be written."""
    path = tmp_path_factory.mktemp("scenario") / "long.toml"
    path.write_text(SCENARIO.format(requests=size(75_000, 300_000)))
    return path


@pytest.mark.parametrize("name", ["log.parquet", "trace.csv", *size([], ["log.csv", "trace.csv.zst", "trace.parquet"])])
def test_file_writes_are_atomic(
    scenario: Path, trace: Path, tmp_path: Path, request: pytest.FixtureRequest, name: str
) -> None:
    folder = tmp_path / "written"
    folder.mkdir()
    target = folder / name
    command: list[str | Path]
    if name.startswith("log"):
        command = [*COMMAND, "run", scenario, "--log", target]
    else:
        command = [*COMMAND, "trace", trace, "--out", target, "--to", "csv" if ".csv" in name else "parquet"]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    whole = target.read_bytes()
    target.unlink()
    moments, killed = random.Random(1), 0
    for turn in range(size(1, 25)):
        before = b"an earlier one" if turn % 2 else None
        if before is not None:
            target.write_bytes(before)
        killed += kill_while_it_writes(command, folder, moments, 0.1 if turn else 0.0)
        found = target.read_bytes() if target.exists() else None
        assert found in (before, whole), f"{len(found or b'')} of {len(whole)} bytes"
        target.unlink(missing_ok=True)
    assert killed, "it was always done before"
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    assert contents(folder) == {name: whole}


def test_rerun_completes_a_report(tmp_path: Path) -> None:
    command: list[str | Path] = [*COMMAND, "reproduce", "griffin1999.settle-time", "--report"]
    subprocess.run(list(map(str, [*command, tmp_path / "undisturbed"])), check=True, capture_output=True)
    undisturbed = contents(tmp_path / "undisturbed")
    assert {"index.html", "verdicts.json"} <= undisturbed.keys()
    report, moments, killed = tmp_path / "report", random.Random(2), 0
    report.mkdir()
    for turn in range(size(1, 12)):
        killed += kill_while_it_writes([*command, report], report, moments, 1.0 if turn else 0.0)
        assert contents(report).items() <= undisturbed.items()
    assert killed, "it was always done before"
    subprocess.run(list(map(str, [*command, report])), check=True, capture_output=True)
    assert contents(report) == undisturbed


def test_continued_search_gives_the_same_result(tmp_path: Path) -> None:
    search: dict[str, Any] = {
        "scenario": {
            "workload": {"arrival": {"kind": "poisson", "rate_per_s": 300}},
            "system": {"device": "g2"},
            "run": {"requests": 2_000},
        },
        "parameters": {"device.bit_nm": {"from": 30, "to": 60}, "scheduler": ["fcfs", "sptf"]},
        "objectives": ["response"],
        "trials": size(24, 60),
        "batch": 4,
        "seed": 3,
    }
    file = tmp_path / "design.json"
    file.write_text(json.dumps(search))
    store, moments, killed = tmp_path / "store", random.Random(3), 0
    store.mkdir()
    for turn in range(size(1, 10)):
        command: list[str | Path] = [*COMMAND, "optimise", file, "--store", store]
        # A batch writes this last: a batch without it stays incomplete.
        killed += kill_while_it_writes(command, store, moments, 0.5 if turn else 0.0, "runs/*.parquet")
        if (store / "runs").exists() and any((store / "runs").glob("*.parquet")):
            assert Store(store).rows("SELECT key FROM runs ANTI JOIN metrics USING (key)") == []
    assert killed, "it was always done before"
    resumed = optimise(file, store)
    undisturbed = optimise(Search.load(file), tmp_path / "other")
    assert resumed.trials == undisturbed.trials
    assert Store(store).keys() == Store(tmp_path / "other").keys()
