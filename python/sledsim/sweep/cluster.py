"""Runs of a sweep on the workers of a Dask cluster."""

import collections
import logging
import os
import queue
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from sledsim import _core
from sledsim._core import Fault, SledsimError
from sledsim._guarding import end_when_stuck
from sledsim.scenario.reading import Resolved
from sledsim.show.faults import make_error
from sledsim.show.frames import need
from sledsim.sweep.description import Task
from sledsim.sweep.execution import Outcome, Prepared, execute, not_run
from sledsim.sweep.queueing import TICK_S, Finished, Queue

__all__ = ["Cluster"]

LOCAL = "local"

#: Timeouts of the connection to a scheduler, and of its first worker, s.
REACH_S, WORKER_S = 10.0, 30.0

#: Preloaded in local workers. A terminal sends Ctrl-C to all its processes, but the process of the sweep stops the
#: workers itself.
IGNORE_INTERRUPTS = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"

#: Timeout of closing the client and the local cluster, s.
CLOSE_S = 0.4

#: How long a scheduler may be unreachable while a sweep runs, s.
LOST_S = 30.0

#: Target duration of a package of runs, s, so that results are in the store within a second.
PACKAGE_S = 0.2

#: Maximum number of runs in a package, and number of queued packages per thread of a worker.
MOST_RUNS, WAITING = 500, 3

#: Interval at which the threads of the workers are counted, s.
RECOUNT_S = 1.0

#: How long a local worker that died may take to restart before another one is started, s; long for busy machines.
RETURN_S = 60

#: How long a cluster may be without workers, s; long, as workers of a batch system may wait in a queue.
WORKERLESS_S = 1800.0


class ClusterError(SledsimError):
    """The error for a cluster that cannot be reached or was lost."""


def execute_some(runs: Sequence[Resolved], limit_s: float) -> list[Outcome]:
    """Run scenarios in sequence, on a worker, until all are done or the time limit is exceeded; run at least the first.

    Parameters
    ----------
    runs
        The scenarios.
    limit_s
        The time limit, s.
    """
    end_when_stuck()
    until = time.monotonic() + limit_s
    outcomes: list[Outcome] = []
    for scenario in runs:
        if outcomes and time.monotonic() > until:
            break
        outcomes.append(execute(scenario))
    return outcomes


@dataclass
class Package:
    """Runs that are submitted to a worker together.

    Parameters
    ----------
    runs
        The runs.
    is_suspect
        True if workers have died with it. It then runs alone, so that the cause of another death is known.
    """

    runs: list[tuple[Task, Prepared]]
    is_suspect: bool = False


class Cluster:
    """The workers of a Dask cluster.

    Parameters
    ----------
    address
        ``"local"`` for processes on this machine, or the address of a scheduler.
    workers
        Number of local processes.

    Raises
    ------
    ClusterError
        If the scheduler cannot be reached.
    """

    def __init__(self, address: str, workers: int) -> None:
        self._distributed = need("distributed", "cluster")
        self._address = address
        self._size, self._counted_at, self._seen_at = 1, 0.0, time.monotonic()
        self._workers = 0
        self._lost_at: float | None = None
        self._local: Any = None
        self._client: Any = None
        self._answers: queue.SimpleQueue[tuple[Any, Any]] = queue.SimpleQueue()
        self._under_way: dict[Any, Package] = {}
        self._again: collections.deque[Package] = collections.deque()
        if address != LOCAL and "://" not in address:
            expected = "local or the address of a Dask scheduler, such as tcp://host:8786"
            raise make_error(ClusterError, "wrong-type", path="cluster", value=address, allowed=expected)
        if address == LOCAL:
            self._start(workers)
        else:
            self._reach(address)

    def _start(self, workers: int) -> None:
        """Start processes on this machine."""
        self._workers = workers
        # Silence warnings of workers that died, as their runs are submitted again. They may also be logged later,
        # after `silence_logs` of the cluster has ended.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        need("dask.config", "cluster").set({"distributed.deploy.lost-worker-timeout": f"{RETURN_S}s"})
        self._local = self._distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            # Any free port, as two sweeps may run at a time.
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            silence_logs=logging.CRITICAL,
            preload=[IGNORE_INTERRUPTS],
        )
        self._client = self._distributed.Client(self._local, set_as_default=False)

    def _reach(self, address: str) -> None:
        """Connect to a scheduler, and wait for its first worker."""
        try:
            self._client = self._distributed.Client(address, timeout=REACH_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            message = f"there is no Dask scheduler to reach ({str(error) or 'no answer'}); start one with "
            raise self._wrong("unreadable", f"{message}`dask scheduler`, or run without ", ("cluster",)) from None
        try:
            self._client.wait_for_workers(1, timeout=WORKER_S)
        except TimeoutError:
            self._client.close()
            message = f"the scheduler has no workers; start some with `dask worker {address}`"
            raise self._wrong("unreadable", message) from None

    def _wrong(self, kind: str, *message: str | tuple[str]) -> ClusterError:
        """Return an error of the cluster."""
        parts = [("cluster",), f" {self._address}: ", *message]
        return make_error(ClusterError, kind, parts, path="cluster", value=self._address)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for future in list(self._under_way):
            future.cancel()
        if self._local is not None:
            # Kill the workers, as a regular shutdown would wait for their runs, which are no longer needed.
            for nanny in self._local.workers.values():
                nanny.auto_restart = False
                with suppress(ProcessLookupError, TypeError):
                    os.kill(nanny.pid, signal.SIGKILL)
        for each in (self._client, self._local):
            if each is not None:
                with suppress(TimeoutError):
                    each.close(timeout=CLOSE_S)
        if self._local is not None:
            # Otherwise Dask would wait another ten seconds for the shutdown at the exit of the process.
            self._local.shutdown_on_close = False

    def work(self, tasks: Queue) -> Iterator[Finished | None]:
        """Execute all runs; yield each finished run, and ``None`` about ten times a second.

        Parameters
        ----------
        tasks
            The queue of runs.
        """
        seconds_a_run = PACKAGE_S
        more = True
        while more or self._under_way or self._again:
            while self._again and self._has_room(self._again[0]):
                self._submit(self._again.popleft())
            while more and not self._again and self._has_room():
                package, skipped = _package(tasks, max(1, min(MOST_RUNS, int(PACKAGE_S / seconds_a_run))))
                more = bool(package.runs or skipped)
                if package.runs:
                    self._submit(package)
                yield from skipped
                yield None
            try:
                future, answer = self._answers.get(timeout=TICK_S)
            except queue.Empty:
                self._has_room()
                self._check_reach()
                yield None
                continue
            # Remove the package only when its answer is processed, so that the loop waits for it.
            package = self._under_way.pop(future)
            if isinstance(answer, list):
                took_s = sum(outcome.seconds for outcome in answer) / len(answer)
                # Exponential smoothing, as runs differ in duration.
                seconds_a_run = 0.5 * (seconds_a_run + took_s)
                if len(answer) < len(package.runs):
                    self._again.append(Package(package.runs[len(answer) :]))
                for (task, prepared), outcome in zip(package.runs, answer, strict=False):
                    yield Finished(task, prepared, outcome)
            else:
                yield from self._not_done(package, answer)

    def _has_room(self, package: Package | None = None) -> bool:
        """Return true if another package may be submitted."""
        if time.monotonic() - self._counted_at > RECOUNT_S and self._client.status == "running":
            self._recount()
        if (package and package.is_suspect) or any(each.is_suspect for each in self._under_way.values()):
            return not self._under_way
        return len(self._under_way) < WAITING * max(1, self._size)

    def _recount(self) -> None:
        """Count the threads of the workers, and replace local workers that did not restart."""
        self._counted_at = time.monotonic()
        with suppress(OSError, TimeoutError):
            # If the scheduler is unreachable, `_check_reach` reports it.
            self._size = sum(self._client.nthreads().values())
        if self._size:
            self._seen_at = self._counted_at
        if self._local is not None and self._size < self._workers:
            self._local.scale(self._workers)

    def _submit(self, package: Package) -> None:
        runs = [prepared.scenario for _, prepared in package.runs]
        future = self._client.submit(execute_some, runs, 2 * PACKAGE_S, pure=False)
        self._under_way[future] = package
        future.add_done_callback(self._answered)

    def _answered(self, future: Any) -> None:
        """Queue the answer of a worker; called in a thread of the client."""
        try:
            # If a worker dies before its result is fetched, Dask repeats the package, and this call waits for it.
            answer = future.result()
        except BaseException as error:
            # Errors are handled by the consumer of the queue.
            answer = error
        self._answers.put((future, answer))

    def _not_done(self, package: Package, error: BaseException | None) -> Iterator[Finished]:
        """Handle a package that failed: repeat its runs one by one, or report the run that kills workers."""
        if not isinstance(error, self._distributed.KilledWorker):
            self._check_reach()
            message = f"a worker could not run anything ({type(error).__name__}: {error}); it needs Sledsim "
            raise self._wrong("unsupported", f"{message}{_core.__version__}, and the same folders for traces")
        if not package.is_suspect:
            # Any run of the package, or of packages at the same worker, may be the cause: repeat each run alone.
            self._again += [Package([each], is_suspect=True) for each in package.runs]
            return
        for task, prepared in package.runs:
            message = f"every worker that ran it died: {error}"
            yield Finished(task, prepared, not_run(Fault("unsupported", message)))

    def _check_reach(self) -> None:
        """Raise if the scheduler has been unreachable for long."""
        if self._client.status == "running":
            self._lost_at = None
            if time.monotonic() - self._seen_at > WORKERLESS_S:
                message = f"the scheduler has had no workers for {WORKERLESS_S / 60:.0f} minutes; finished runs are in "
                raise self._wrong("unreadable", f"{message}the store: start workers and run the sweep again")
            return
        self._lost_at = self._lost_at or time.monotonic()
        if self._client.status == "closed" or time.monotonic() - self._lost_at > LOST_S:
            message = "the connection to the scheduler is lost; finished runs are in the store: run the sweep again"
            raise self._wrong("unreadable", message)


def _package(tasks: Queue, size: int) -> tuple[Package, list[Finished]]:
    """Return the next package of runs, and runs that are finished without a worker."""
    runs: list[tuple[Task, Prepared]] = []
    finished: list[Finished] = []
    while len(runs) < size and len(finished) < MOST_RUNS:
        task = tasks.take()
        if task is None:
            break
        prepared = tasks.prepare(task)
        if not tasks.claim(prepared.key):
            finished.append(Finished(task, prepared, None))
        elif prepared.scenario is None:
            finished.append(Finished(task, prepared, not_run(*prepared.faults)))
        else:
            runs.append((task, prepared))
    return Package(runs), finished
