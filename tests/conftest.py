"""What the tests of the package share: small scenarios, a small trace, and the command line."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent

SCENARIO: dict[str, Any] = {
    "seed": 3,
    "workload": {
        "kind": "synthetic",
        "read_fraction": 0.6,
        "arrival": {"kind": "poisson", "rate_per_s": 600.0},
    },
    "system": {"device": {"name": "g2"}, "scheduler": {"name": "sptf"}},
    "run": {"requests": 3000},
}

TOML = """\
seed = 3
[workload]
read_fraction = 0.6
arrival = { kind = "poisson", rate_per_s = 600.0 }
[system]
device = "g2"
scheduler = "sptf"
[run]
requests = 3000
"""


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    status: int
    out: str
    err: str


@pytest.fixture
def sledsim_command() -> Callable[..., Outcome]:
    """Return a function that runs the command line in a process of its own."""

    def call(*arguments: str | Path, given: str = "") -> Outcome:
        command = [sys.executable, "-c", "from sledsim.cli import main; main()", *map(str, arguments)]
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=120)
        assert "Traceback" not in done.stderr
        return Outcome(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def sledsim_cli() -> Callable[..., Outcome]:
    """Return a function that runs the command line in this process, which is quicker."""
    from typer.testing import CliRunner

    from sledsim.cli.app import app

    def call(*arguments: str | Path, given: str | None = None) -> Outcome:
        done = CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Outcome(done.exit_code, done.stdout, done.stderr)

    return call


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    """Return a small scenario on disk."""
    path = tmp_path / "small.toml"
    path.write_text(TOML)
    return path


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    """Return a small trace on disk: 50 requests, a millisecond apart, every third a write."""
    rows = [f"{i * 1_000_000},0,{i * 40_960},4096,{'W' if i % 3 == 0 else 'R'}" for i in range(50)]
    path = tmp_path / "small.csv"
    path.write_text("\n".join(["t_ns,device,offset_bytes,bytes,op", *rows, ""]))
    return path
