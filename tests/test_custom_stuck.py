"""Custom code that does not return: its call is ended, or if that is impossible, the command."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from conftest import SCENARIO
from sledsim.scenario import policy_loading
from sledsim.sweep import results

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = [sys.executable, "-c", "from sledsim.cli import main; main()"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, from which classes are imported."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


#: By role: the base class, the method that blocks, and a system with the class.
WAITING = {
    "scheduler": ("schedulers:Policy", "pick(self, now_ns, pending)", {"device": "g2", "scheduler": "mine:Mine"}),
    "replacement": (
        "caches:Replacement",
        "admitted(self, slot, key, evicted)",
        {"kind": "ram-cache", "bytes": 1 << 30, "child": "g2", "policy": "mine:Mine"},
    ),
}


def write(folder: Path, role: str, before: str = "", within: str = "sleep(1000)", limit_s: float = 1.5) -> Any:
    """Write a module with a class Mine, and return a system with it."""
    base, method, system = WAITING[role]
    module, _, name = base.partition(":")
    text = f"""\
        from time import sleep
        from sledsim.{module} import {name}
        {before}

        class Mine({name}):
            limit_s = {limit_s}
            calls = 0

            def hit(self, slot, key):
                pass

            def {method}:
                self.calls += 1
                if self.calls > 5:
                    {within}
                return 0
    """
    (folder / "mine.py").write_text(dedent(text))
    return system


def command(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Call the command line."""
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False, timeout=600, cwd=folder)


@pytest.mark.parametrize("body", ["while True: pass", "sleep(1000)"])
def test_construction_has_a_time_limit(body: str, folder: Path) -> None:
    system = write(folder, "scheduler")
    text = (folder / "mine.py").read_text()
    (folder / "mine.py").write_text(f"{text}\n    def __post_init__(self):\n        {body}\n")
    with pytest.raises(sledsim.ScenarioError, match=r"mine:Mine.__init__ did not return within 1.5 s") as caught:
        sledsim.run({**SCENARIO, "system": system})
    assert (caught.value.kind, caught.value.path) == ("policy", "system.scheduler.python")
    assert "__post_init__" in (caught.value.traceback or "")


@pytest.mark.parametrize("limit", ["0", "-1", "float('nan')", "'x'", "None", "True"])
def test_invalid_time_limits_are_refused(limit: str, folder: Path) -> None:
    system = write(folder, "scheduler", within="pass")
    text = (folder / "mine.py").read_text().replace("limit_s = 1.5", f"limit_s = {limit}")
    (folder / "mine.py").write_text(text)
    with pytest.raises(
        sledsim.ScenarioError, match=r"mine:Mine.limit_s is .+: expected seconds, a number above 0"
    ) as caught:
        sledsim.run({**SCENARIO, "system": system})
    assert caught.value.path == "system.scheduler.python"


def test_time_limits_may_be_infinite(folder: Path) -> None:
    system = write(folder, "scheduler", within="pass")
    text = (folder / "mine.py").read_text().replace("limit_s = 1.5", "limit_s = float('inf')")
    (folder / "mine.py").write_text(text)
    assert sledsim.run({**SCENARIO, "system": system}).complete


def test_imports_have_a_time_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_loading, "IMPORT_S", 0.2)
    system = write(folder, "scheduler", before="sleep(1000)")
    with pytest.raises(sledsim.ScenarioError, match=r"the import of mine did not return within 0.2 s"):
        sledsim.run({**SCENARIO, "system": system})


def test_commands_end_when_custom_code_holds_the_interpreter(folder: Path) -> None:
    system = write(folder, "scheduler", within="sum(range(10**12))")
    (folder / "scenario.json").write_text(json.dumps({**SCENARIO, "system": system}))
    done = command("run", "scenario.json", folder=folder)
    assert done.returncode == 2
    assert "error: mine:Mine.pick did not return within 1.5 s at 0." in done.stderr
    assert "with request 5, and could not be stopped" in done.stderr
    assert f'File "{folder / "mine.py"}", line' in done.stderr
    assert "in pick" in done.stderr


#: Expressions that hold the interpreter for years: one checks for signals at times, the other does not.
BACKTRACKS, COUNTS = "re.match('(a+)+$', 'a' * 60 + 'b')", "sum(range(10**12))"


def test_code_that_holds_the_interpreter_and_checks_signals_is_ended(folder: Path) -> None:
    system = write(folder, "scheduler", before="import re", within=BACKTRACKS)
    with pytest.raises(sledsim.RunError, match=r"did not return within 1.5 s") as caught:
        sledsim.run({**SCENARIO, "system": system})
    assert "re.match" in (caught.value.traceback or "")
    assert caught.value.request == 5


@pytest.mark.parametrize(
    "cache",
    [
        {"kind": "ram-cache", "bytes": 1 << 30, "child": "g2"},
        pytest.param({"kind": "mcd", "mems": "g2", "disk": "atlas10k", "mems_bytes": 1 << 28}, marks=pytest.mark.slow),
    ],
    ids=lambda cache: str(cache["kind"]),
)
def test_blocked_replacement_policy_is_reported_with_time_key_and_request(cache: dict[str, Any], folder: Path) -> None:
    scenario = {**SCENARIO, "system": {**cache, "policy": "mine:Mine"}}
    write(folder, "replacement", within="raise ValueError")
    with pytest.raises(sledsim.RunError) as caught:
        sledsim.run(scenario)
    found = re.search(r"at (0\.\d+) s, with (?:line|segment) (\d+) and request (\d+)", str(caught.value))
    assert found
    write(folder, "replacement", within=COUNTS)
    (folder / "scenario.json").write_text(json.dumps(scenario))
    done = command("run", "scenario.json", folder=folder)
    assert done.returncode == 2
    place = f"at {found[1]} s with key {found[2]} of request {found[3]}"
    assert f"error: mine:Mine.admitted did not return within 1.5 s {place}, and could not be stopped" in done.stderr
    assert "in admitted" in done.stderr


def test_blocked_policy_without_a_clock_is_reported_with_its_key(folder: Path) -> None:
    write(folder, "replacement", within=COUNTS)
    (folder / "trace.lis").write_text("".join(f"{at * 7} 1 0 {at}\n" for at in range(10)))
    words = ["--pages", "100", "--page-bytes", "512", "--policy", "mine:Mine"]
    done = command("hit-ratio", "trace.lis", *words, folder=folder)
    assert done.returncode == 2
    assert "error: mine:Mine.admitted did not return within 1.5 s with key 35, and could not" in done.stderr


def test_finished_runs_are_kept_when_a_blocked_run_ends_the_command(folder: Path) -> None:
    system = write(folder, "scheduler")
    (folder / "base.json").write_text(json.dumps({**SCENARIO, "system": system}))
    (folder / "kinds.toml").write_text('scenario = "base.json"\n[axes]\nscheduler = ["fcfs", "mine:Mine"]\n')
    done = command("sweep", "run", "kinds.toml", "--threads", "1", folder=folder)
    assert (done.returncode, "mine:Mine.pick did not return" in done.stderr) == (2, True), done.stderr
    rows = results(folder / "kinds.sweep").rows(["response.mean_ms"])
    assert rows[0]["metrics"]["response.mean_ms"] is not None
