"""The queue of runs between a sweep and its workers."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from sledsim.sweep.description import Task
from sledsim.sweep.execution import Outcome, Prepared

__all__ = ["TICK_S", "Finished", "Queue", "Workers"]

#: How often those who wait for runs look whether there is something else to do, s.
TICK_S = 0.1


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that is over.

    Parameters
    ----------
    task
        Which run of the sweep.
    prepared
        Its scenario and key.
    outcome
        What became of it; ``None`` where it was in the store already.
    """

    task: Task
    prepared: Prepared
    outcome: Outcome | None


class Queue:
    """The runs of a sweep, for several takers.

    Parameters
    ----------
    tasks
        The runs.
    prepare
        Makes one ready.
    known
        Keys of the runs that need not be done.
    """

    def __init__(self, tasks: Iterable[Task], prepare: Callable[[Task], Prepared], known: set[str]) -> None:
        self._tasks = iter(tasks)
        self._lock = threading.Lock()
        self._known = known
        self.prepare = prepare

    def take(self) -> Task | None:
        """Return the next run; nothing where there are no more."""
        with self._lock:
            return next(self._tasks, None)

    def claim(self, key: str) -> bool:
        """Return true for the first caller of a run that has to be done, which then does it.

        Parameters
        ----------
        key
            The run's.
        """
        with self._lock:
            if key in self._known:
                return False
            self._known.add(key)
            return True


class Workers(AbstractContextManager["Workers"], Protocol):
    """Those who do the runs: threads here, or the workers of a cluster."""

    def work(self, tasks: Queue) -> Iterator[Finished | None]:
        """Do runs until there are no more; yield each, and nothing about ten times a second."""
