"""Runs of a sweep on threads of this process: the core lets go of Python's lock while it resolves and simulates."""

import os
import queue
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from sledsim.sweep.description import Task
from sledsim.sweep.execution import Outcome, Prepared, Stopped, execute, not_run
from sledsim.sweep.queueing import TICK_S, Finished, Queue

__all__ = ["Threads", "processors"]


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Threads:
    """Threads that run what a queue gives them.

    Parameters
    ----------
    count
        How many.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._stop = threading.Event()
        self._finished: queue.SimpleQueue[Finished | BaseException | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def work(self, tasks: Queue) -> Iterator[Finished | None]:
        """Do runs until there are no more; yield each, and nothing about ten times a second.

        Parameters
        ----------
        tasks
            The runs.
        """
        self._threads = [threading.Thread(target=self._run, args=(tasks,), daemon=True) for _ in range(self._count)]
        for thread in self._threads:
            thread.start()
        ended = 0
        while ended < self._count:
            try:
                found = self._finished.get(timeout=TICK_S)
            except queue.Empty:
                yield None
                continue
            if isinstance(found, BaseException):
                raise found
            if found is None:
                ended += 1
            else:
                yield found

    def _run(self, tasks: Queue) -> None:
        """Do runs, as long as there are any and nobody asks to stop."""
        try:
            while not self._stop.is_set():
                task = tasks.take()
                if task is None:
                    break
                self._finished.put(self._done(task, tasks))
            self._finished.put(None)
        except Stopped:
            self._finished.put(None)
        except BaseException as error:
            # It is the waiting side that has to fail.
            self._finished.put(error)

    def _done(self, task: Task, tasks: Queue) -> Finished:
        prepared = tasks.prepare(task)
        if not tasks.claim(prepared.key):
            return Finished(task, prepared, None)
        return Finished(task, prepared, self._outcome(prepared))

    def _outcome(self, prepared: Prepared) -> Outcome:
        if prepared.scenario is None:
            return not_run(prepared.error or "")
        return execute(prepared.scenario, lambda: not self._stop.is_set())
