"""Signals during calls of a library that replaces their exceptions by its own."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["signals_heard"]


@contextmanager
def signals_heard() -> Iterator[None]:
    """Raise what Ctrl-C raises, also where it comes while DuckDB is at work.

    DuckDB stops then, too, but what its caller gets is a ``RuntimeError`` of its own, which nothing but its words tells
    from others. So what the handler raised is kept meanwhile. Only the main thread receives signals.
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
