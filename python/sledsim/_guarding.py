"""Time limits for custom Python code: wakes a call that waits too long, and ends a command that cannot be woken."""

import faulthandler
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import TypeVar

__all__ = ["call_with_timeout", "end_when_stuck"]

_Found = TypeVar("_Found")

#: Signal that wakes the main thread; it is ignored by default.
WAKES: signal.Signals | None = getattr(signal, "SIGURG", None)
#: Signal that makes a thread print its stack.
SHOWS: signal.Signals | None = getattr(signal, "SIGUSR2", None)
#: The standard error stream.
STDERR = 2

#: Set if this process ends when custom code is stuck.
_ends = threading.Event()


def call_with_timeout(name: str, limit_s: float, function: Callable[[], _Found]) -> _Found:
    """Call a function that runs custom code, and raise if it takes too long.

    Parameters
    ----------
    name
        Name in messages.
    limit_s
        Time limit, s of real time.
    function
        The function to call.

    Raises
    ------
    ScenarioError
        If the function takes longer.
    """
    from sledsim import _core

    _listen()
    if _ends.is_set():
        _pass_on()
    found: _Found = _core.call_with_timeout(name, limit_s, function)
    return found


def end_when_stuck() -> None:
    """End this process with exit status 2 if custom code does not return and cannot be interrupted.

    A message names the method and its time limit, and the Python stack is printed. Meant for processes that have no
    state to lose: those of the command line, and workers.
    """
    if SHOWS is not None:
        faulthandler.register(SHOWS, file=STDERR, all_threads=False)
    _ends.set()
    # If the core is not loaded yet, the first custom class passes this on: most commands need no core for it.
    if "sledsim._core" in sys.modules:
        _pass_on()


def _pass_on() -> None:
    from sledsim import _core

    _core.end_when_stuck(SHOWS)


def _listen() -> None:
    """Let the signal wake the main thread, unless the program handles the signal itself."""
    if WAKES is None or threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(WAKES) is signal.SIG_DFL:
        # Subinterpreters have no signal handlers.
        from sledsim import _core

        with suppress(ValueError):
            signal.signal(WAKES, _woken)
            _core.wake_by(WAKES)


def _woken(_signal: int, _frame: FrameType | None) -> None:
    """Do nothing: the thread's pending exception is raised when this is called."""
