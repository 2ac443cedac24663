"""Waits for events of other processes instead of for fixed times."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    import subprocess
    from collections.abc import Callable

#: Time limit of a wait, s; a busy machine takes long to load Python.
PATIENCE_S = 600.0
#: Polling interval, s: short, so that a process is killed soon after it starts.
LOOK_S = 0.005


def wait_until(condition: Callable[[], object], process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> bool:
    """Wait until a condition holds or the process ends; return true if the condition holds."""
    given_up = time.monotonic() + PATIENCE_S
    while not condition():
        if process.poll() is not None:
            return bool(condition())
        assert time.monotonic() < given_up, f"not within {PATIENCE_S} s"
        time.sleep(LOOK_S)
    return True


def wait_for_system(condition: Callable[[], object]) -> bool:
    """Wait until a condition of another system holds; return true if it does."""
    given_up = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < given_up:
        time.sleep(LOOK_S)
    return bool(condition())


def sleep_randomly(moments: random.Random, most_s: float) -> None:
    """Sleep for a random time, to interrupt a process at a random point."""
    time.sleep(moments.uniform(0.0, most_s))
