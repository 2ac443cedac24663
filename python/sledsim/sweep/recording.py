"""Recording of finished runs in a store, at least once a second."""

import time
from dataclasses import dataclass, replace

from sledsim._core import SledsimError, __version__
from sledsim.show.faults import make_error
from sledsim.sweep.queueing import Finished
from sledsim.sweep.store import Store
from sledsim.sweep.tables import Definition, Membership

__all__ = ["Progress", "Recorder"]

#: Time between writes, s. With the time that a write takes it stays below a second.
FLUSH_S = 0.5


@dataclass(frozen=True)
class Progress:
    """Progress of a sweep.

    Parameters
    ----------
    runs
        Number of runs of the sweep.
    done
        Runs done by this command.
    failed
        Runs that failed in this command.
    skipped
        Runs that were in the store before.
    """

    runs: int = 0
    done: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def over(self) -> int:
        """Number of runs that are done, failed or skipped."""
        return self.done + self.failed + self.skipped


class Recorder:
    """Writes the finished runs of a sweep into its store.

    Parameters
    ----------
    store
        The store.
    definition
        The sweep.
    """

    def __init__(self, store: Store, definition: Definition) -> None:
        self._writer = store.writer()
        self.record(definition)
        self._members = store.members(definition.definition)
        self._written_at = time.monotonic()
        self.progress = Progress(definition.runs)

    def record(self, definition: Definition) -> None:
        """Record the definition of the sweep.

        Parameters
        ----------
        definition
            The sweep.
        """
        self._definition = definition
        self._writer.record(definition)

    def take(self, finished: Finished) -> None:
        """Add a finished run, to be written by the next flush.

        Parameters
        ----------
        finished
            The run.
        """
        task, key, outcome = finished.task, finished.prepared.key, finished.outcome
        place = (task.point, task.replication, key)
        if place not in self._members:
            self._members.add(place)
            membership = Membership(self._definition.sweep, self._definition.definition, task)
            self._writer.batch.add_membership(key, membership)
        if outcome is None:
            self.progress = replace(self.progress, skipped=self.progress.skipped + 1)
            return
        worker = outcome.place
        if worker.version != __version__:
            message = f"{worker.host} has Sledsim {worker.version}, this is {__version__}: use the same on every worker"
            raise make_error(SledsimError, "conflict", message, value=worker.version, allowed=__version__)
        self._writer.batch.add_run(finished.prepared, outcome)
        if outcome.metrics is not None:
            self.progress = replace(self.progress, done=self.progress.done + 1)
        else:
            self.progress = replace(self.progress, failed=self.progress.failed + 1)

    def flush_when_due(self) -> bool:
        """Write the runs added since the last write if it is due; return true if it was."""
        if time.monotonic() - self._written_at < FLUSH_S:
            return False
        self.flush()
        return True

    def flush(self) -> None:
        """Write the runs added since the last write."""
        self._writer.flush()
        self._written_at = time.monotonic()

    def merge(self) -> None:
        """Merge the small batches of the store."""
        self._writer.merge()
