"""Machines whose command is ended before they are: nothing of them is left, no process and no folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sledsim import RunError
from sledsim.machine import run_each
from stand_in import emulator_in
from waiting import PATIENCE_S, wait_for_system, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="how a process ends with another is Linux's")

COMMAND = [
    sys.executable,
    "-c",
    "from sledsim.cli import main; main()",
    "machine",
    "g2",
    "--program",
    "postmark",
]
#: A time that no machine of these tests reaches, s.
LONG_S = 1_000


def emulators(folder: Path) -> list[int]:
    """Return the processes of the machines that have been begun."""
    ids = folder / "bin" / "ids"
    return [int(line) for line in ids.read_text().splitlines()] if ids.exists() else []


def is_running(process: int) -> bool:
    """Return true if a process exists and has not ended."""
    try:
        stat = Path("/proc", str(process), "stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


@contextmanager
def machines(folder: Path, machine: Path, count: int, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command until this number of endless machines has started; end them all on exit."""
    emulator_in(folder / "bin", b"", seconds=LONG_S)
    (folder / "temporary").mkdir()
    places = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "TMPDIR": str(folder / "temporary")}
    command = [*COMMAND, "--machine", str(machine), *more]
    try:
        with subprocess.Popen(command, env=os.environ | places, stderr=subprocess.PIPE) as process:
            try:
                assert wait_until(lambda: len(emulators(folder)) == count, process)
                yield process
            finally:
                process.kill()
    finally:
        for each in filter(is_running, emulators(folder)):
            os.kill(each, signal.SIGKILL)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("devices", [(), ("--device", "g1", "--device", "g3", "--threads", "2")])
def test_terminated_commands_leave_no_machine_and_no_folder(
    tmp_path: Path, machine: Path, sent: signal.Signals, devices: tuple[str, ...]
) -> None:
    with machines(tmp_path, machine, 2 if devices else 1, *devices) as process:
        assert all(map(is_running, emulators(tmp_path)))
        process.send_signal(sent)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, err) == (130, b"error: interrupted\n")
        assert not any(map(is_running, emulators(tmp_path)))
        assert not list((tmp_path / "temporary").glob("sledsim-machine-*"))


@pytest.mark.parametrize("devices", [(), ("--device", "g1", "--device", "g3", "--threads", "2")])
def test_killed_commands_leave_no_machine(tmp_path: Path, machine: Path, devices: tuple[str, ...]) -> None:
    with machines(tmp_path, machine, 2 if devices else 1, *devices) as process:
        process.kill()
        process.wait()
        assert wait_for_system(lambda: not any(map(is_running, emulators(tmp_path))))


def test_failure_of_one_machine_ends_the_others(
    tmp_path: Path, machine: Path, emulated: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    emulated(b"", seconds=LONG_S)
    script = tmp_path / "bin" / "qemu-system-x86_64"
    # The second of them fails once the first has begun.
    waits = f'until [ -s "{tmp_path}/bin/ids" ]; do sleep 0.02; done; exit 7'
    fails = f"mkdir {tmp_path}/first 2> /dev/null || exec sh -c '{waits}'\n"
    script.write_text(script.read_text().replace("\n", f"\n{fails}", 1))
    before = set(threading.enumerate())
    with pytest.raises(RunError, match="QEMU ended with status 7"):
        run_each({"g1": "g1", "g3": "g3"}, "postmark", machine=machine, threads=2)
    [first] = emulators(tmp_path)
    assert not is_running(first)
    assert set(threading.enumerate()) <= before
