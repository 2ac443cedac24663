"""Ctrl-C ends a run within a second, with the results so far."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

import sledsim
from conftest import ROOT, SCENARIO

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = [sys.executable, "-c", "from sledsim.cli import main; main()"]
LONG = ["--set", "run.requests=4000000000"]

#: Seconds that a run may take to end, and what a busy machine may add to print it.
PROMPT_S = 1.0
SLACK_S = 1.0


def interrupted(*arguments: str | Path) -> tuple[int, str, str, float]:
    """Run a command, press Ctrl-C while it simulates, and tell how long it took to end."""
    command = [*COMMAND, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(2.0)
        assert process.poll() is None
        pressed = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        return process.returncode, out, err, time.monotonic() - pressed


def test_a_run_is_interrupted(scenario_file: Path) -> None:
    status, out, err, took_s = interrupted("run", scenario_file, *LONG, "--json")
    assert status == 130
    assert took_s < PROMPT_S + SLACK_S
    summary = json.loads(out)
    assert summary["run"]["end"] == "interrupted"
    assert not summary["run"]["complete"]
    assert summary["requests"]["completed"] > 1000
    assert "interrupted" in err
    assert "Traceback" not in err


def test_a_table_of_an_interrupted_run_says_incomplete(scenario_file: Path) -> None:
    status, out, _, _ = interrupted("run", scenario_file, *LONG)
    assert status == 130
    assert out.startswith("INCOMPLETE")


def test_a_comparison_is_interrupted(scenario_file: Path) -> None:
    status, out, err, took_s = interrupted("compare", scenario_file, scenario_file, *LONG)
    assert status == 130
    assert took_s < PROMPT_S + SLACK_S
    assert "small (incomplete)" in out
    assert "run 1 of 2" in err


def test_a_comparison_of_power_strategies_is_interrupted(scenario_file: Path) -> None:
    status, out, err, took_s = interrupted("power", scenario_file, *LONG)
    assert status == 130
    assert took_s < PROMPT_S + SLACK_S
    assert "base (incomplete)" in out
    assert "spin-down" not in out.partition("notes")[0].partition("strategy")[0]
    assert "interrupted during run 'base'" in err
    assert "Traceback" not in err


def test_simulated_lifetimes_are_interrupted() -> None:
    enclosure = ROOT / "examples" / "enclosures" / "weak-devices.toml"
    status, out, err, took_s = interrupted("reliability", enclosure, "--precision", "1e-6")
    assert status == 130
    assert took_s < PROMPT_S + SLACK_S
    assert "INCOMPLETE" in out
    assert "loss of data within 1 year" in out
    assert "interrupted" in err
    assert "Traceback" not in err


def test_ctrl_c_while_the_scenario_is_awaited() -> None:
    with subprocess.Popen([*COMMAND, "run", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 130
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize("progress", [None, lambda *_: None])
def test_a_run_in_python_returns_its_result(progress: object) -> None:
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    result = sledsim.run(SCENARIO, set=["run.requests=4000000000"], progress=progress)  # type: ignore[arg-type]
    timer.join()
    assert not result.complete
    assert result.requests.completed > 1000
    assert str(result).startswith("INCOMPLETE")


def test_a_long_run_shows_its_progress_on_a_terminal(scenario_file: Path) -> None:
    terminal, other_end = pty.openpty()
    command = [*COMMAND, "run", str(scenario_file), *LONG, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=other_end, text=True) as process:
        time.sleep(4.0)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    os.close(other_end)
    shown = os.read(terminal, 1_000_000).decode()
    os.close(terminal)
    assert "simulating" in shown
    assert "/s" in shown
    assert "left" in shown
    assert json.loads(out)["requests"]["completed"] > 0
