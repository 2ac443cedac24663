"""Runs of a sweep on threads of this process; the core releases the GIL while it resolves and simulates."""

import threading
from collections.abc import Generator, Iterator
from types import TracebackType
from typing import Any, Self

from sledsim.runs.threads import in_threads
from sledsim.sweep.description import Task
from sledsim.sweep.execution import Outcome, Prepared, Stopped, execute, not_run
from sledsim.sweep.queueing import TICK_S, Finished, Queue

__all__ = ["Threads"]


class Threads:
    """Threads that execute the runs of a queue.

    Parameters
    ----------
    count
        Number of threads.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._stop = threading.Event()
        self._outcomes: Generator[Any] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._outcomes:
            self._outcomes.close()

    def work(self, tasks: Queue) -> Iterator[Finished | None]:
        """Execute all runs; yield each finished run, and ``None`` about ten times a second.

        Parameters
        ----------
        tasks
            The queue of runs.
        """
        taken = iter(tasks.take, None)
        outcomes = in_threads(lambda task: self._finish(task, tasks), taken, self._count, tick_s=TICK_S, join=True)
        self._outcomes = outcomes
        for each in outcomes:
            if each is None:
                yield None
            elif not isinstance(each[1].exception(), Stopped):
                yield each[1].result()

    def _finish(self, task: Task, tasks: Queue) -> Finished:
        prepared = tasks.prepare(task)
        if not tasks.claim(prepared.key):
            return Finished(task, prepared, None)
        return Finished(task, prepared, self._outcome(prepared))

    def _outcome(self, prepared: Prepared) -> Outcome:
        if prepared.scenario is None:
            return not_run(*prepared.faults)
        return execute(prepared.scenario, lambda: not self._stop.is_set())
