"""Functions run on threads, with their results in order of completion."""

import os
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar, overload

from sledsim import _core
from sledsim.show.arguments import require_integer
from sledsim.show.faults import make_error, most_of

__all__ = ["Pool", "in_threads", "processors", "threads_of"]

MOST_THREADS = most_of("threads")
#: False in a browser, where functions run one after another instead.
HAS_THREADS = sys.platform != "emscripten"

Item = TypeVar("Item")
Found = TypeVar("Found")


def processors() -> int:
    """Return the number of processors that this process may use."""
    if not HAS_THREADS:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_of(given: int | None, path: str = "threads") -> int:
    """Return the number of threads; the number of processors if not given.

    Parameters
    ----------
    given
        The given number, or ``None``.
    path
        The name of the argument.

    Raises
    ------
    SledsimError
        If the number is out of range.
    """
    if given is None:
        return processors()
    require_integer(_core.SledsimError, path, given, 1, MOST_THREADS)
    return given


class Pool:
    """A pool of threads that runs calls in order of submission.

    The threads are daemons: calls in progress do not delay the exit of the program. Without threads, as in a browser,
    each call runs when it is submitted.

    Parameters
    ----------
    threads
        Maximum number of threads, which are started on demand; fewer if the system cannot start more.
    """

    def __init__(self, threads: int) -> None:
        self._most = threads
        self._threads: list[threading.Thread] = []
        self._calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()

    def submit(self, call: Callable[[], Found]) -> "Future[Found]":
        """Submit a call; the future has its result or exception.

        Raises
        ------
        SledsimError
            If the system cannot start a single thread.
        """
        future: Future[Found] = Future()
        if not HAS_THREADS:
            _finish(call, future)
            return future
        if len(self._threads) < self._most:
            self._start_thread()
        self._calls.put((call, future))
        return future

    def _start_thread(self) -> None:
        """Start one more thread if the system can."""
        thread = threading.Thread(target=self._work, daemon=True, name="sledsim")
        try:
            thread.start()
        except RuntimeError:
            self._most = len(self._threads)
            if not self._threads:
                message = "the system has no room for one more thread: end other programs, or raise its limits"
                raise make_error(_core.SledsimError, "unsupported", message) from None
        else:
            self._threads.append(thread)

    def stop(self, *, join: bool = False) -> None:
        """Cancel all waiting calls.

        Parameters
        ----------
        join
            True to wait for the calls in progress.
        """
        with suppress(Empty):
            while True:
                waiting = self._calls.get_nowait()
                if waiting is not None:
                    waiting[1].cancel()
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads if join else ():
            thread.join()

    def _work(self) -> None:
        while (taken := self._calls.get()) is not None:
            call, future = taken
            if future.set_running_or_notify_cancel():
                _finish(call, future)


def _finish(call: Callable[[], Found], future: "Future[Found]") -> None:
    """Make a call, and store its result or exception in a future."""
    try:
        future.set_result(call())
    except BaseException as error:
        future.set_exception(error)


@overload
def in_threads(
    function: Callable[[Item], Found],
    items: Iterable[Item],
    threads: int,
    *,
    join: bool = False,
    over: threading.Event | None = None,
) -> "Generator[tuple[int, Future[Found]]]": ...
@overload
def in_threads(
    function: Callable[[Item], Found], items: Iterable[Item], threads: int, *, tick_s: float, join: bool = False
) -> "Generator[tuple[int, Future[Found]] | None]": ...
def in_threads(
    function: Callable[[Item], Found],
    items: Iterable[Item],
    threads: int,
    *,
    tick_s: float | None = None,
    join: bool = False,
    over: threading.Event | None = None,
) -> "Generator[tuple[int, Future[Found]] | None]":
    """Apply a function to items in parallel, and yield the outcomes in order of completion.

    When the generator is closed, as after Ctrl-C, no further item is started. The threads are daemons: calls in
    progress do not delay the exit of the program. Without threads, as in a browser, items follow one another.

    Parameters
    ----------
    function
        The function; its exceptions are stored in the outcomes.
    items
        The items, in order of their starts; each is taken from the iterable when a thread is free.
    threads
        Maximum number of threads.
    tick_s
        Interval at which ``None`` is yielded while there is no outcome, s; never if not given.
    join
        True to wait at the end for the calls in progress.
    over
        An event that is set when the generator is closed, before the wait: long calls may check it and stop.

    Yields
    ------
    tuple
        The index of an item, and its outcome.
    """
    if not HAS_THREADS:
        for place, item in enumerate(items):
            outcome: Future[Found] = Future()
            _finish(partial(function, item), outcome)
            yield place, outcome
        return
    waiting, taking, over = enumerate(items), threading.Lock(), over or threading.Event()
    done: SimpleQueue[tuple[int, Future[Found]] | None] = SimpleQueue()

    def work() -> None:
        place = -1
        while True:
            outcome: Future[Found] = Future()
            try:
                with taking:
                    taken = None if over.is_set() else next(waiting, None)
                if taken is None:
                    break
                place, item = taken
                outcome.set_result(function(item))
            except BaseException as error:
                outcome.set_exception(error)
            done.put((place, outcome))
        done.put(None)

    pool = Pool(threads)
    for _ in range(threads):
        pool.submit(work)
    try:
        at_work = threads
        while at_work:
            try:
                found = done.get(timeout=tick_s)
            except Empty:
                yield None
                continue
            if found is None:
                at_work -= 1
            else:
                yield found
    finally:
        over.set()
        pool.stop(join=join)
