"""Fixtures of the package tests: small scenarios, a small trace, and the command line."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
#: Documents and traces that `sledsim example` writes.
EXAMPLES = ROOT / "python" / "sledsim" / "examples"
#: A key that occurs in one kind of document only.
KEYS = {
    "enclosure": "enclosure",
    "search": "objectives",
    "cost": "mems_bytes",
    "role": "role",
    "scenario": "workload",
    "drawing": "drawing",
    "lesson": "steps",
}
#: The folder of reference data, which is not part of this repository.
REFERENCE = Path(os.environ.get("SLEDSIM_REFERENCE") or ROOT.parent / "shared")

# Output of commands has its natural width in tests. pytest-xdist sets the variable, and so does readline, which pytest
# imports, outside `os.environ`.
os.environ.pop("COLUMNS", None)
os.unsetenv("COLUMNS")

T = TypeVar("T")


def examples_of(kind: str) -> list[Path]:
    """Return the examples of a kind of document: scenario, sweep, search, enclosure, cost, role or lesson."""

    def kind_of(path: Path) -> str:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        return next((name for name, key in KEYS.items() if key in document), "sweep")

    return [path for path in sorted(EXAMPLES.glob("*.toml")) if kind_of(path) == kind]


def size(few: T, many: T) -> T:
    """Return ``few``, or ``many`` in `make test-all`."""
    return many if os.environ.get("SLEDSIM_TESTS") == "all" else few


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

# A shell turns off Ctrl-C in programs that it starts in the background, but many tests need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

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


# A drive of 24,000 blocks: two zones of 100 cylinders and 2 surfaces, 6,000 revolutions a minute, no read-ahead.
DISK = """\
title = "A small disk"
mechanism = "disk"
[values]
surfaces = 2
cylinders = 200
rotation_rpm = 6000
head_switch_ms = 0.8
write_settle_ms = 0.5
bus_ms_per_block = 0.01
read_miss_after_read_ms = 0.3
read_miss_after_write_ms = 0.3
write_miss_after_read_ms = 0.3
write_miss_after_write_ms = 0.3
read_hit_after_read_ms = 0.1
read_hit_after_write_ms = 0.1
[values.seek]
value = { curve = "table", points = [[1, 1.0], [10, 2.0], [199, 10.0]] }
[[values.zones.value]]
first_cylinder = 0
last_cylinder = 99
sectors_per_track = 80
track_skew_sectors = 10
cylinder_skew_sectors = 20
[[values.zones.value]]
first_cylinder = 100
last_cylinder = 199
sectors_per_track = 40
track_skew_sectors = 5
cylinder_skew_sectors = 10
"""


def reference(place: str) -> Path:
    """Return a file or folder of the reference data; skip the test if it is missing, or fail if ``CI=true``."""
    path = REFERENCE / place
    if not path.exists():
        missing(f"{path} is missing; set SLEDSIM_REFERENCE to the reference data")
    return path


def missing(what: str) -> NoReturn:
    """Skip a test because something is missing, or fail it if ``CI=true``."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


@dataclass(frozen=True)
class Outcome:
    """Exit status and output of a command."""

    status: int
    out: str
    err: str


@pytest.fixture
def sledsim_command() -> Callable[..., Outcome]:
    """Return a function that runs the command line in a new process."""

    def call(*arguments: str | Path, given: str = "") -> Outcome:
        command = [sys.executable, "-c", "from sledsim.cli import main; main()", *map(str, arguments)]
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=600)
        assert "Traceback" not in done.stderr
        return Outcome(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def sledsim_cli() -> Callable[..., Outcome]:
    """Return a function that runs the command line in this process, which is quicker."""
    from typer.testing import CliRunner

    from sledsim.cli.app import app

    def call(*arguments: str | Path, given: str | None = None) -> Outcome:
        done = CliRunner().invoke(app, [str(argument) for argument in arguments], input=given, prog_name="sledsim")
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
def disk_file(tmp_path: Path) -> Path:
    """Return a small disk drive on disk."""
    path = tmp_path / "small-disk.toml"
    path.write_text(DISK)
    return path


@pytest.fixture
def measured_file(tmp_path: Path) -> Path:
    """Return a small trace in DiskSim's validation format: 60 requests, every third a write, every fifth read a hit."""
    lines = []
    for i in range(60):
        op = "W" if i % 3 == 0 else "R"
        outcome = "Hit" if i % 5 == 0 and op == "R" else "Miss"
        lines.append(f"{op} {outcome} {i * 397 % 23000} 4 {8000 + 100 * i}.5 {1000 * (i % 7)}.0")
    path = tmp_path / "measured.trace"
    path.write_text("\n".join([*lines, ""]))
    return path


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    """Return a small trace on disk: 50 requests, a millisecond apart, every third a write."""
    rows = [f"{i * 1_000_000},0,{i * 40_960},4096,{'W' if i % 3 == 0 else 'R'}" for i in range(50)]
    path = tmp_path / "small.csv"
    path.write_text("\n".join(["t_ns,device,offset_bytes,bytes,op", *rows, ""]))
    return path


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the path of a Chromium."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    return found or missing("no chromium")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Return a folder such as `make machine` makes, with dummy files."""
    from stand_in import machine_in

    return machine_in(tmp_path / "machine")


@pytest.fixture
def emulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that installs a script in place of QEMU with the given output and messages."""
    from stand_in import emulator_in

    def put(archive: bytes, **what: Any) -> None:
        emulator_in(tmp_path / "bin", archive, **what)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")

    return put
