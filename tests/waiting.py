"""Waiting for what other processes do: until it has happened, not for some time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    import subprocess
    from collections.abc import Callable

#: Seconds after which what was to happen is given up; a busy machine takes its time to load Python.
PATIENCE_S = 120.0
#: How often to look, s: what is killed as soon as it has begun has not come far.
LOOK_S = 0.005


def until(condition: Callable[[], object], process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> bool:
    """Wait until a process has brought something about; tell whether it has, or has ended without."""
    given_up = time.monotonic() + PATIENCE_S
    while not condition():
        if process.poll() is not None:
            return bool(condition())
        assert time.monotonic() < given_up, f"not within {PATIENCE_S} s"
        time.sleep(LOOK_S)
    return True


def in_time(condition: Callable[[], object]) -> bool:
    """Wait until something has come about that no process of ours tells of; tell whether it has."""
    given_up = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < given_up:
        time.sleep(LOOK_S)
    return bool(condition())


def at_some_moment(moments: random.Random, most_s: float) -> None:
    """Let a random time pass, so that what comes next cuts off whatever happens then: nothing is awaited."""
    time.sleep(moments.uniform(0.0, most_s))
