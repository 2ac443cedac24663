"""Work shared out among threads, the outcomes as they come."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

__all__ = ["in_threads"]

Item = TypeVar("Item")
Found = TypeVar("Found")


def in_threads(
    function: Callable[[Item], Found], items: Iterable[Item], threads: int
) -> "Iterator[tuple[int, Future[Found]]]":
    """Apply a function to items at the same time, and yield the outcomes as they come.

    Once nobody asks for more, as after Ctrl-C, no further item is begun. The threads are daemons: what they are at then
    does not keep the program from ending.

    Parameters
    ----------
    function
        What is applied; what it raises stands in the outcome.
    items
        To what, in the order in which they are begun.
    threads
        At most so many at a time.

    Yields
    ------
    tuple
        The place of an item, and its outcome.
    """
    waiting: SimpleQueue[tuple[int, Item]] = SimpleQueue()
    for place in enumerate(items):
        waiting.put(place)
    count = waiting.qsize()
    done: SimpleQueue[tuple[int, Future[Found]]] = SimpleQueue()

    def work() -> None:
        while True:
            try:
                index, item = waiting.get_nowait()
            except Empty:
                return
            outcome: Future[Found] = Future()
            try:
                outcome.set_result(function(item))
            except BaseException as error:
                outcome.set_exception(error)
            done.put((index, outcome))

    for _ in range(min(threads, count)):
        threading.Thread(target=work, daemon=True, name="sledsim-papers").start()
    try:
        for _ in range(count):
            yield done.get()
    finally:
        while not waiting.empty():
            # Another thread may take the last one first.
            with suppress(Empty):
                waiting.get_nowait()
