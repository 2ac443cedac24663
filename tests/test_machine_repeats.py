"""The tool that repeats programs on machines: equal runs are equal, and differences are reported."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import pytest

import machine_repeats
from conftest import missing
from machine_repeats import compared, repeated
from sledsim.machine import is_there
from sledsim.machine.programs import PROGRAMS

TRACE = """t_ns,device,offset_bytes,bytes,op,due_ns,sent_ns,response_ns
0,0,0,0,F,0,0,0
{at},0,0,4096,R,1001000,{sent},1000000
"""


@dataclass
class FakeRun:
    """The compared data of a run."""

    run_ms: float = 1868.216
    user_ms: float = 60.0
    processor_ms: float = 80.0
    kernel_ms: float = 0.02
    server_ms: float = 0.3
    sync_ms: float = 10.0
    requests: int = 1023
    trace: bytes = TRACE.format(at=1000, sent=1001000).encode()


def comparison_of(*found: FakeRun) -> tuple[Any, tuple[str, ...]]:
    result = compared("fio", list(found))  # type: ignore[arg-type]
    return result, result.row()


def test_equal_runs_are_equal() -> None:
    found, row = comparison_of(FakeRun(), FakeRun(), FakeRun())
    assert found.equal()
    assert row == ("fio", "3", "1868.216", "1,023", "equal", "equal", "equal")


@pytest.mark.parametrize(
    ("other", "equal", "says"),
    [
        (FakeRun(run_ms=1868.217), False, ("1.000 µs apart", "equal", "equal")),
        (FakeRun(kernel_ms=0.020008), True, ("0.008 µs apart", "equal", "equal")),
        (FakeRun(user_ms=73.0), True, ("equal", "equal", "13000.000 µs apart")),
        (
            FakeRun(trace=TRACE.format(at=1008, sent=1001000).encode()),
            True,
            ("equal", "1 others: up to 8 ns apart", "equal"),
        ),
        (
            FakeRun(trace=TRACE.format(at=1000, sent=1001000).replace(",R,", ",W,").encode()),
            False,
            ("equal", "1 others: other requests", "equal"),
        ),
        (
            FakeRun(trace=TRACE.format(at=1000, sent=1002000).encode()),
            False,
            ("equal", "1 others: up to 1000 ns apart", "equal"),
        ),
    ],
)
def test_differences_between_runs_are_reported(other: FakeRun, equal: bool, says: tuple[str, ...]) -> None:
    found, row = comparison_of(FakeRun(), other)
    assert found.equal() == equal
    assert row[4:] == says


def test_every_program_is_run() -> None:
    assert set(machine_repeats.SMALL) == set(PROGRAMS)
    for name, sizes in machine_repeats.SMALL.items():
        assert set(sizes) == set(PROGRAMS[name].sizes)


def test_missing_machine_is_reported_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLEDSIM_MACHINE", "nowhere")
    monkeypatch.setattr(sys, "argv", ["machine_repeats.py"])
    assert machine_repeats.main() == 2
    assert "`make machine`" in capsys.readouterr().err


@pytest.mark.slow
def test_runs_of_a_program_repeat_to_the_microsecond() -> None:
    if not is_there():
        missing("no machine: it takes `make machine` and the package qemu-system-x86")
    # Two at a time: other work of the machine must not affect a run.
    found = repeated("link", 2, "g2", threads=2, small=True)
    assert found.equal(), found.row()
    assert found.requests > 50
