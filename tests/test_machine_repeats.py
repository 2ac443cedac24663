"""The tool that repeats programs on machines: equal runs are equal, and differences are reported."""

from __future__ import annotations

import sys

import pytest

import machine_repeats
from conftest import missing
from machine_repeats import repeated
from sledsim.machine import is_there


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
