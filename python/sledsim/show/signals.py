"""Ctrl-C during calls of DuckDB, which replaces the exceptions of signal handlers by its own."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["handled_interrupts"]


@contextmanager
def handled_interrupts() -> Iterator[None]:
    """Raise the exception of the Ctrl-C handler, also if the signal arrives during a call of DuckDB.

    DuckDB replaces the exception by a ``RuntimeError``, which differs from other errors only in its text. Only the main
    thread receives signals.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    raised: list[BaseException] = []

    def record(number: int, frame: FrameType | None) -> None:
        try:
            handler(number, frame)
        except BaseException as error:
            raised.append(error)
            raise

    signal.signal(signal.SIGINT, record)
    try:
        yield
    except RuntimeError:
        if raised:
            raise raised[0] from None
        raise
    finally:
        signal.signal(signal.SIGINT, handler)
