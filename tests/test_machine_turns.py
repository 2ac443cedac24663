"""The emulator's own thread and the guest's processor: they take turns on one, so that no clock jumps too far."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sledsim.machine import emulation
from sledsim.machine.emulation import PROCESSOR, claim_processor, share_processor

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="how threads take turns is Linux's")

#: A process with a named second thread; it runs until its input ends.
THREADS = """import sys, threading
ready = threading.Event()
def wait():
    open(f"/proc/self/task/{threading.get_native_id()}/comm", "w").write(sys.argv[1])
    ready.set()
    sys.stdin.read()
threading.Thread(target=wait).start()
ready.wait()
print(flush=True)
"""


@contextmanager
def emulator(thread: str) -> Iterator[int]:
    """Begin a process with a thread of this name beside its main thread."""
    with subprocess.Popen([sys.executable, "-c", THREADS, thread], stdin=-1, stdout=-1) as process:
        assert process.stdout
        process.stdout.readline()
        yield process.pid
        assert process.stdin
        process.stdin.close()


def threads(process: int) -> dict[str, int]:
    """Return the threads of a process by their names."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    return {(task / "comm").read_text(encoding="utf-8").strip(): int(task.name) for task in tasks}


def test_main_thread_and_guest_thread_share_a_processor() -> None:
    chosen = max(os.sched_getaffinity(0))
    with emulator(PROCESSOR) as process:
        assert share_processor(process, chosen)
        found = threads(process)
        processor = found.pop(PROCESSOR)
        assert list(found.values()) == [process]
        assert os.sched_getscheduler(process) == os.SCHED_IDLE
        assert os.sched_getscheduler(processor) == os.SCHED_OTHER
        assert os.sched_getaffinity(process) == os.sched_getaffinity(processor) == {chosen}


def test_emulator_without_a_guest_thread_is_left_unchanged() -> None:
    with emulator("another") as process:
        assert not share_processor(process, 0)
        assert os.sched_getscheduler(process) == os.SCHED_OTHER
        assert os.sched_getaffinity(process) == os.sched_getaffinity(0)
    assert not share_processor(process, 0)


def test_emulator_runs_unchanged_if_scheduling_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    with emulator(PROCESSOR) as process:
        # It is not tried again.
        assert share_processor(process, 0)
        assert os.sched_getaffinity(process) == os.sched_getaffinity(0)


def test_machines_do_not_share_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    # Machines of other tests that run meanwhile have names of their own.
    monkeypatch.setattr(emulation, "TAKEN", f"\0sledsim-test-{os.getpid()}-{{}}")
    allowed = sorted(os.sched_getaffinity(0))
    with ExitStack() as machines:
        ends = [machines.enter_context(ExitStack()) for _ in allowed]
        assert [end.enter_context(claim_processor()) for end in ends] == allowed
        with claim_processor() as none:
            assert none is None
        ends[-1].close()
        with claim_processor() as free:
            assert free == allowed[-1]
