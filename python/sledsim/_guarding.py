"""Code of one's own that does not come back: what wakes it, and what ends a command where nothing does."""

import faulthandler
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import TypeVar

__all__ = ["end_when_stuck", "call_with_timeout"]

_Found = TypeVar("_Found")

#: What wakes the main thread: nobody else sends it, and who does not listen for it does not notice.
WAKES: signal.Signals | None = getattr(signal, "SIGURG", None)
#: What has a thread show its stack.
SHOWS: signal.Signals | None = getattr(signal, "SIGUSR2", None)
#: The standard error stream.
STDERR = 2

#: Whether this process is to end.
_ends = threading.Event()


def call_with_timeout(name: str, limit_s: float, function: Callable[[], _Found]) -> _Found:
    """Call what runs code of one's own, and have it raise where it takes too long.

    Parameters
    ----------
    name
        What messages call it.
    limit_s
        How long it may take, s of real time.
    function
        What is called.

    Raises
    ------
    ScenarioError
        Where it takes longer.
    """
    from sledsim import _core

    _listen()
    if _ends.is_set():
        _tell_core()
    found: _Found = _core.call_with_timeout(name, limit_s, function)
    return found


def end_when_stuck() -> None:
    """Have this process end, with exit status 2, where code of one's own does not come back and nothing else ends it.

    It says what was called and when, and shows where in Python it was. Meant for processes that have nothing to lose:
    those of the command line, and workers.
    """
    if SHOWS is not None:
        faulthandler.register(SHOWS, file=STDERR, all_threads=False)
    _ends.set()
    # Where the core is not there yet it is told with the first class: many a command has none.
    if "sledsim._core" in sys.modules:
        _tell_core()


def _tell_core() -> None:
    from sledsim import _core

    _core.end_when_stuck(SHOWS)


def _listen() -> None:
    """Let the main thread be woken from what it waits for, unless the program has a use of its own for the signal."""
    if WAKES is None or threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(WAKES) is signal.SIG_DFL:
        # In an interpreter beside the main one there are no handlers.
        from sledsim import _core

        with suppress(ValueError):
            signal.signal(WAKES, _woken)
            _core.wake_by(WAKES)


def _woken(_signal: int, _frame: FrameType | None) -> None:
    """Do nothing: whatever the thread was made to raise is raised as this is called."""
