"""Failures of a custom policy on the command line, in sweeps, sessions and threads, and with Ctrl-C."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from conftest import SCENARIO
from ctrl_c import interrupted

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, which has a place for classes."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, body: str) -> str:
    """Write a module with a class Mine."""
    (folder / "mine.py").write_text("from sledsim.schedulers import Policy\n\n" + dedent(body))
    return "mine:Mine"


def scenario_with(scheduler: object, **run: Any) -> dict[str, Any]:
    return {**SCENARIO, "system": {"device": "g2", "scheduler": scheduler}, "run": {"requests": 300, **run}}


RAISES = """\
    class Mine(Policy):
        after: int = 100

        def __post_init__(self):
            self.picks = 0

        def pick(self, now_ns, pending):
            self.picks += 1
            if self.picks > self.after:
                return self.fail(pending)
            return 0

        def fail(self, pending):
            {what}
"""


HANGS = """\
    class Mine(Policy):
        limit_s = {limit_s}

        def pick(self, now_ns, pending):
            {before}
            while now_ns > 5e7:
                try:
                    sum(range(100))
                except Exception:
                    pass
            return 0
"""


def test_a_policy_that_hangs_in_a_thread_ends_the_run(folder: Path) -> None:
    mine = write(folder, HANGS.format(limit_s=0.3, before=""))
    found: list[Exception] = []

    def work() -> None:
        try:
            sledsim.run(scenario_with({"python": mine}))
        except sledsim.RunError as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert len(found) == 1


def test_ctrl_c_ends_a_run_with_a_custom_policy(folder: Path) -> None:
    body = "class Mine(Policy):\n    def pick(self, now_ns, pending):\n        return 0\n"
    (folder / "scenario.json").write_text(
        json.dumps(scenario_with({"python": write(folder, body)}, requests=4_000_000_000))
    )
    status, out, err = interrupted("run", folder / "scenario.json", "--json")
    assert status == 130
    assert json.loads(out)["run"]["end"] == "interrupted"
    assert "interrupted" in err


def test_ctrl_c_in_a_hanging_policy_keeps_partial_results(folder: Path) -> None:
    body = """\
        import os, signal

        class Mine(Policy):
            def pick(self, now_ns, pending):
                if now_ns > 1e8:
                    os.kill(os.getpid(), signal.SIGINT)
                    while True:
                        pass
                return 0
    """
    result = sledsim.run(scenario_with({"python": write(folder, body)}))
    assert result.summary["run"]["end"] == "interrupted"
    assert result.requests.completed > 10


def test_failed_runs_print_partial_results(folder: Path) -> None:
    write(folder, RAISES.replace("{what}", "raise ValueError('nothing left')"))
    (folder / "scenario.json").write_text(json.dumps(SCENARIO))
    command = [sys.executable, "-c", "from sledsim.cli import main; main()", "run", "scenario.json", "--json"]
    sets = ["--set", "scheduler.python=mine:Mine", "--set", "scheduler.after=40", "--log", "log.csv"]
    done = subprocess.run([*command, *sets], capture_output=True, text=True, check=False, timeout=600, cwd=folder)
    assert done.returncode == 2
    assert json.loads(done.stdout)["run"]["end"] == "failed"
    assert len((folder / "log.csv").read_text().splitlines()) == 41
    assert "mine:Mine.pick raised ValueError: nothing left" in done.stderr
    assert f'File "{folder / "mine.py"}"' in done.stderr
    assert "sledsim/cli" not in done.stderr


def test_sweeps_continue_after_a_policy_failure(folder: Path) -> None:
    from sledsim.sweep import Sweep, results, run

    write(folder, RAISES.replace("{what}", "raise ValueError('nothing left')"))
    kinds = ["sptf", {"python": "mine:Mine", "after": 10}, {"python": "mine:Mine", "after": 1000}]
    report = run(Sweep(scenario_with("fcfs"), {"scheduler": kinds}), folder / "kinds.sweep", threads=2)
    assert report.failed == 1
    rows = results(folder / "kinds.sweep").rows(["response.mean_ms"])
    assert [row["metrics"]["response.mean_ms"] is None for row in rows] == [False, True, False]


def test_policy_failure_ends_the_session(folder: Path) -> None:
    mine = write(folder, RAISES.replace("{what}", "return None"))
    session = sledsim.Session({"device": "g2", "scheduler": {"python": mine, "after": 3}})
    for number in range(10):
        session.submit(number * 1000)
    with pytest.raises(sledsim.RunError, match="returned None") as caught:
        session.drain()
    assert (caught.value.kind, caught.value.path) == ("policy", "system.scheduler")
    # The last may still be on its way back when the device is free for the next.
    assert session.result().requests.completed in (2, 3)


def test_a_policy_that_runs_its_own_scenario_ends_the_run(folder: Path) -> None:
    body = """\
        import sledsim

        class Mine(Policy):
            def pick(self, now_ns, pending):
                sledsim.replay("small.csv", scheduler="mine:Mine")
                return 0
        """
    (folder / "small.csv").write_text("t_ns,device,offset_bytes,bytes,op\n0,0,0,512,R\n")
    with pytest.raises(sledsim.RunError, match="simulations are nested deeper than 8"):
        sledsim.replay("small.csv", scheduler=write(folder, body))
