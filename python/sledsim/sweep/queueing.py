"""The task queue between a sweep and its workers."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from sledsim.sweep.description import Task
from sledsim.sweep.execution import Outcome, Prepared

__all__ = ["TICK_S", "Finished", "Queue", "Workers"]

#: Interval at which workers yield ``None`` while no run finishes, s.
TICK_S = 0.1


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished run.

    Parameters
    ----------
    task
        The run of the sweep.
    prepared
        Its scenario and key.
    outcome
        Its outcome; ``None`` if it was already in the store.
    """

    task: Task
    prepared: Prepared
    outcome: Outcome | None


class Queue:
    """A thread-safe queue of the runs of a sweep.

    Parameters
    ----------
    tasks
        The runs.
    prepare
        Prepares a run.
    known
        Keys of the runs that are already done.
    """

    def __init__(self, tasks: Iterable[Task], prepare: Callable[[Task], Prepared], known: set[str]) -> None:
        self._tasks = iter(tasks)
        self._lock = threading.Lock()
        self._known = known
        self.prepare = prepare

    def take(self) -> Task | None:
        """Return the next run; ``None`` if there are no more."""
        with self._lock:
            return next(self._tasks, None)

    def claim(self, key: str) -> bool:
        """Return true if the caller has to execute a run; false if it is done or claimed by another caller.

        Parameters
        ----------
        key
            Key of the run.
        """
        with self._lock:
            if key in self._known:
                return False
            self._known.add(key)
            return True


class Workers(AbstractContextManager["Workers"], Protocol):
    """Workers that execute runs: local threads, or the workers of a cluster."""

    def work(self, tasks: Queue) -> Iterator[Finished | None]:
        """Execute all runs; yield each finished run, and ``None`` about ten times a second."""
