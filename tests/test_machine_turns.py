"""The emulator's own thread and the guest's processor: they never run at once, so that no clock jumps too far."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sledsim.machine.emulation import PROCESSOR, put_in_turn

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="how threads take turns is Linux's")

#: A process with a second thread, which has a name; it goes on until its input ends.
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


def test_an_emulators_main_thread_runs_only_where_the_guest_has_nothing_to_do() -> None:
    allowed = os.sched_getaffinity(0)
    places = []
    for _ in allowed:
        with emulator(PROCESSOR) as process:
            assert put_in_turn(process)
            found = threads(process)
            processor = found.pop(PROCESSOR)
            assert list(found.values()) == [process]
            assert os.sched_getscheduler(process) == os.SCHED_IDLE
            assert os.sched_getscheduler(processor) == os.SCHED_OTHER
            place = os.sched_getaffinity(process)
            assert place == os.sched_getaffinity(processor)
            places.append(place)
    # Machines one after the other are shared out over all processors.
    assert all(len(place) == 1 for place in places)
    assert set.union(*places) == allowed
    assert os.sched_getaffinity(0) == allowed


def test_an_emulator_whose_processor_is_not_there_yet_is_left_as_it_is() -> None:
    with emulator("another") as process:
        assert not put_in_turn(process)
        assert os.sched_getscheduler(process) == os.SCHED_OTHER
        assert os.sched_getaffinity(process) == os.sched_getaffinity(0)
    assert not put_in_turn(process)
