"""Ctrl-C ends a run within a second, with the results so far."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import signal
import subprocess
import termios
import threading
import time
from typing import TYPE_CHECKING

import pytest

import sledsim
from conftest import EXAMPLES, SCENARIO
from ctrl_c import COMMAND, interrupted, shown_on_a_terminal
from sledsim.reliability import simulate
from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LONG = ["--set", "run.requests=4000000000"]


def test_a_run_is_interrupted(scenario_file: Path) -> None:
    status, out, err = interrupted("run", scenario_file, *LONG, "--json")
    assert status == 130
    summary = json.loads(out)
    assert summary["run"]["end"] == "interrupted"
    assert not summary["run"]["complete"]
    assert summary["requests"]["completed"] > 1000
    assert "interrupted" in err
    assert "Traceback" not in err


def test_tables_of_interrupted_runs_are_marked_incomplete(scenario_file: Path) -> None:
    status, out, _ = interrupted("run", scenario_file, *LONG)
    assert status == 130
    assert out.startswith("INCOMPLETE")


def test_a_comparison_is_interrupted(scenario_file: Path) -> None:
    status, out, err = interrupted("compare", scenario_file, scenario_file, *LONG)
    assert status == 130
    assert "small (incomplete)" in out
    assert "run 1 of 2" in err


def test_a_comparison_on_a_trace_is_interrupted(trace_file: Path) -> None:
    many = ("--device", "g2,g3", "--scheduler", "fcfs,sptf", "--set", "workload.repeat=100000000")
    status, out, err = interrupted("replay", trace_file, *many)
    assert status == 130
    assert "g2, fcfs: interrupted after" in out
    assert "not run: g2, sptf; g3, fcfs; g3, sptf" in out
    assert "lowest mean response" not in out
    assert "interrupted" in err


def test_a_comparison_of_power_strategies_is_interrupted(scenario_file: Path) -> None:
    status, out, err = interrupted("power", scenario_file, *LONG)
    assert status == 130
    assert "base (incomplete)" in out
    assert "spin-down" not in out.partition("notes")[0].partition("strategy")[0]
    assert "interrupted during run 'base'" in err
    assert "Traceback" not in err


def test_simulated_lifetimes_are_interrupted() -> None:
    enclosure = EXAMPLES / "weak-devices.toml"
    status, out, err = interrupted("reliability", enclosure, "--precision", "loss=1e-6")
    assert status == 130
    assert "INCOMPLETE" in out
    assert "loss of data within 1 year" in out
    assert "interrupted" in err
    assert "Traceback" not in err


def test_ctrl_c_while_the_scenario_is_read() -> None:
    with subprocess.Popen([*COMMAND, "run", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        process.stdin.write("seed = 1")
        process.stdin.flush()
        given = process.stdin
        # It has read all available input and waits for more.
        assert wait_until(lambda: not any(fcntl.ioctl(given, termios.FIONREAD, bytes(4))), process)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=600) == 130
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize("progress", [None, lambda *_: None])
def test_a_run_in_python_returns_its_result(progress: object) -> None:
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    result = sledsim.run(SCENARIO, overrides=["run.requests=4000000000"], progress=progress)  # type: ignore[arg-type]
    timer.join()
    assert not result.complete
    assert result.requests.completed > 1000
    assert str(result).startswith("INCOMPLETE")


@pytest.fixture
def press_ctrl_c() -> Iterator[Callable[[float], None]]:
    """Yield a function that presses Ctrl-C after a while."""
    timers = []

    def press(after_s: float) -> None:
        timers.append(threading.Timer(after_s, os.kill, (os.getpid(), signal.SIGINT)))
        timers[-1].start()

    yield press
    for timer in timers:
        timer.cancel()
        timer.join()


@pytest.fixture(scope="module")
def blank_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trace of one request and blank lines that take seconds to read."""
    path = tmp_path_factory.mktemp("blank") / "blank.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as trace:
        trace.write(b"t_ns,device,offset_bytes,bytes,op\n0,0,0,512,R\n")
        for _ in range(1_500):
            trace.write(b"\n" * (1 << 20))
    return path


@pytest.mark.parametrize("use", ["head", "info", "hit_ratio"])
def test_ctrl_c_ends_a_trace_of_blank_lines(use: str, blank_trace: Path, press_ctrl_c: Callable[[float], None]) -> None:
    uses: dict[str, Callable[[], object]] = {
        "head": lambda: sledsim.traces.open_trace(blank_trace).head(),
        "info": lambda: sledsim.traces.open_trace(blank_trace).info(),
        "hit_ratio": lambda: sledsim.studies.hit_ratio(blank_trace, ["lru"], [10]),
    }
    press_ctrl_c(0.3)
    with pytest.raises(KeyboardInterrupt):
        uses[use]()


def test_a_replay_of_lines_without_a_request_is_interrupted(
    blank_trace: Path, press_ctrl_c: Callable[[float], None]
) -> None:
    press_ctrl_c(0.3)
    workload = {"kind": "trace", "path": str(blank_trace)}
    result = sledsim.run({"workload": workload, "system": {"device": "g2"}})
    assert not result.complete


def test_columns_of_a_long_log_can_be_interrupted() -> None:
    run = {"requests": 200_000, "time_s": 1e6}
    results = [sledsim.run(SCENARIO | {"run": run}, log=True) for _ in range(2)]
    begun = time.process_time()
    assert len(results[0].log["id"]) > 100_000
    whole_s = time.process_time() - begun
    before = signal.signal(signal.SIGVTALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, whole_s / 8)
        with pytest.raises(KeyboardInterrupt):
            _ = results[1].log
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def raise_sigint(*_: object) -> None:
    """Press Ctrl-C. Python raises KeyboardInterrupt here, not where the core checks for signals."""
    signal.raise_signal(signal.SIGINT)


def test_ctrl_c_in_a_progress_callback_keeps_the_result_so_far() -> None:
    result = sledsim.run(SCENARIO, overrides=["run.requests=4000000000"], progress=raise_sigint)
    assert not result.complete
    assert result.requests.completed > 0
    enclosure = EXAMPLES / "weak-devices.toml"
    found = simulate(enclosure, precision=1e-6, progress=raise_sigint)
    assert not found.complete
    assert found.lifetimes > 0


def test_errors_of_a_progress_callback_are_passed_on() -> None:
    def fail(*_: object) -> None:
        raise LookupError("as asked")

    with pytest.raises(LookupError, match="as asked"):
        sledsim.run(SCENARIO, overrides=["run.requests=4000000000"], progress=fail)
    with pytest.raises(LookupError, match="as asked"):
        simulate(EXAMPLES / "weak-devices.toml", precision=1e-6, progress=fail)


def test_a_long_run_shows_its_progress_on_a_terminal(scenario_file: Path) -> None:
    out = shown_on_a_terminal("run", scenario_file, *LONG, "--json", words=["simulating", "/s", "left"])
    assert json.loads(out)["requests"]["completed"] > 0
