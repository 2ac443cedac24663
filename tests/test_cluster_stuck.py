"""Custom code that blocks a worker of a cluster: the worker ends, its run fails, the others complete."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from conftest import SCENARIO
from sledsim.sweep import results

if TYPE_CHECKING:
    from pathlib import Path

HOLDS = """\
from sledsim.schedulers import Policy

class Mine(Policy):
    limit_s = 0.2
    calls = 0

    def pick(self, now_ns, pending):
        self.calls += 1
        if self.calls > 5:
            sum(range(10**12))
        return 0
"""
#: A run is given up with the first worker that died of it, for the test's sake.
ENVIRONMENT = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}


@pytest.mark.slow
def test_a_worker_that_is_held_for_ever_ends_and_the_other_runs_are_done(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HOLDS)
    (tmp_path / "base.json").write_text(json.dumps({**SCENARIO, "run": {"requests": 50}}))
    (tmp_path / "kinds.toml").write_text('scenario = "base.json"\n[axes]\nscheduler = ["fcfs", "mine:Mine"]\n')
    program = [sys.executable, "-c", "from sledsim.cli import main; main()"]
    command = [*program, "sweep", "run", "kinds.toml", "--cluster", "local", "--threads", "1"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=600, cwd=tmp_path, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr
    assert "note: 1 run failed: sledsim sweep status kinds.sweep" in done.stderr
    assert "mine:Mine.pick did not return within 0.2 s at 0." in done.stderr
    assert "with request 5, and could not be stopped" in done.stderr
    assert "in pick" in done.stderr
    [fcfs, *rest] = results(tmp_path / "kinds.sweep").rows(["response.mean_ms"])
    assert fcfs["values"]["scheduler"] == "fcfs"
    assert fcfs["metrics"]["response.mean_ms"]["mean"] > 0
    assert all(row["metrics"]["response.mean_ms"] is None for row in rest)
