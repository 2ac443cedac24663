"""Runs of a sweep into a store; runs that are already in the store are skipped."""

import hashlib
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, overload

from sledsim._core import __version__
from sledsim.runs.threads import threads_of
from sledsim.scenario.reading import Sets, set_list
from sledsim.show.progress import ProgressBar, duration_in_words
from sledsim.sweep.description import Sweep, SweepLike
from sledsim.sweep.execution import canonical, contents_of
from sledsim.sweep.local import Threads
from sledsim.sweep.queueing import Finished, Queue, Workers
from sledsim.sweep.recording import Progress, Recorder
from sledsim.sweep.result_set import Results
from sledsim.sweep.store import Store
from sledsim.sweep.tables import Definition

__all__ = ["ProgressCallback", "SweepReport", "define", "interruption", "record", "run", "workers_for"]

#: Hexadecimal digits of the hash of a definition.
DEFINITION_DIGITS = 12


#: Called about twice a second while a sweep runs.
ProgressCallback = Callable[[Progress], object]


@dataclass(frozen=True)
class SweepReport(Progress):
    """Outcome of a command that ran a sweep.

    Parameters
    ----------
    sweep
        Name of the sweep in the store.
    definition
        Hash of the sweep.
    store
        Folder of the store.
    seconds
        Time that it took.
    complete
        False if it was interrupted.
    """

    sweep: str = ""
    definition: str = ""
    store: Path = Path()
    seconds: float = 0.0
    complete: bool = True


@overload
def run(
    sweep: SweepLike,
    store: None = None,
    *,
    overrides: Sets = (),
    threads: int | None = None,
    cluster: str | None = None,
    retry_failed: bool = False,
    progress: ProgressCallback | bool | None = None,
) -> Results: ...


@overload
def run(
    sweep: SweepLike,
    store: str | Path,
    *,
    overrides: Sets = (),
    threads: int | None = None,
    cluster: str | None = None,
    retry_failed: bool = False,
    progress: ProgressCallback | bool | None = None,
) -> SweepReport: ...


def run(
    sweep: SweepLike,
    store: str | Path | None = None,
    *,
    overrides: Sets = (),
    threads: int | None = None,
    cluster: str | None = None,
    retry_failed: bool = False,
    progress: ProgressCallback | bool | None = None,
) -> Results | SweepReport:
    """Run a sweep, and keep its results in memory or in a store.

    An interruption (Ctrl-C, or the notebook's stop button) ends it within about a second, with the results so far.
    With a store, only runs that are not in the store are executed: the same call continues an interrupted sweep.

    Parameters
    ----------
    sweep
        A file (TOML, YAML or JSON), a dictionary with the keys of one, or a :class:`Sweep`.
    store
        Folder of the store, created if it does not exist; by default, results are kept in memory.
    overrides
        Values that replace those of the base scenario.
    threads
        Number of concurrent runs; by default, the number of processors.
    cluster
        Workers to use instead of threads: ``"local"`` for processes on this machine, or the address of a Dask
        scheduler, ``"tcp://host:8786"``. Needs the extra ``cluster``.
    retry_failed
        True to repeat failed runs.
    progress
        A function called about twice a second, or true for a progress bar on a terminal.

    Returns
    -------
    Results or SweepReport
        The results without a store; with a store, the numbers of runs, and :func:`results` reads the results.

    Raises
    ------
    SledsimError
        If the sweep, the store or the cluster is invalid, or the store cannot be written; finished runs are in the
        store.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> base = {"workload": {"arrival": {"kind": "poisson", "rate_per_s": 500.0}}, "system": {"device": "g2"}}
    >>> sweep = Sweep(base, {"scheduler": ["fcfs", "sptf"]}, overrides={"run.requests": 100})
    >>> run(sweep).relation().select('"scheduler"', '"requests.completed"').fetchall()
    [('fcfs', 100.0), ('sptf', 100.0)]
    >>> folder = mkdtemp()
    >>> run(sweep, folder).done
    2
    >>> run(sweep, folder).skipped
    2
    """
    clock = time.perf_counter()
    loaded = Sweep.load(sweep, overrides=overrides)
    first = loaded.check().values
    if store is None:
        with TemporaryDirectory(prefix="sledsim-") as temporary:
            report = run(
                loaded,
                Path(temporary, "store"),
                threads=threads,
                cluster=cluster,
                retry_failed=retry_failed,
                progress=progress,
            )
            place = Store(report.store)
            return Results(place.in_memory(), place.definition())
    folder = Path(store)
    digests = contents_of([first, loaded.groups], loaded.base.base_dir)
    identity = [first, loaded.groups, loaded.base_seed, loaded.random_numbers, digests]
    definition = define(loaded, identity, len(loaded), _command(sweep, folder, overrides, cluster))
    # Raise errors of an existing store before connecting to a cluster.
    existing = Store.create(folder) if folder.exists() else None
    with interruption() as interrupted, workers_for(threads, cluster) as workers, _show_progress(progress) as show:
        place = existing or Store.create(folder)
        recorder = Recorder(place, definition)
        tasks = Queue(loaded.tasks(), loaded.prepare, place.keys(failed=not retry_failed))
        complete = record(workers, tasks, recorder, show, interrupted)
    if complete:
        recorder.merge()
    return SweepReport(
        **recorder.progress.__dict__,
        sweep=loaded.name,
        definition=definition.definition,
        store=place.path,
        seconds=time.perf_counter() - clock,
        complete=complete,
    )


def record(
    workers: Workers,
    tasks: Queue,
    recorder: Recorder,
    show: ProgressCallback,
    interrupted: threading.Event,
    note: Callable[[Finished], object] | None = None,
) -> bool:
    """Execute runs and record them.

    Parameters
    ----------
    workers
        The workers.
    tasks
        The queue of runs.
    recorder
        Records finished runs.
    show
        Called with the progress.
    interrupted
        An event that stops the execution.
    note
        Called with each finished run.

    Returns
    -------
    bool
        True if all runs are finished.
    """
    try:
        for finished in workers.work(tasks):
            if finished is not None:
                recorder.take(finished)
                if note:
                    note(finished)
            if interrupted.is_set():
                return False
            if recorder.flush_when_due():
                show(recorder.progress)
    finally:
        recorder.flush()
    show(recorder.progress)
    return True


def define(sweep: Sweep, identity: list[Any], points: int, command: str) -> Definition:
    """Return the definition of a sweep, with the hash of its identity.

    Parameters
    ----------
    sweep
        The sweep.
    identity
        The values that identify the sweep, without replications, so that replications can be added.
    points
        Number of points.
    command
        The command that continues the sweep.
    """
    text = canonical([__version__, identity])
    return Definition(
        sweep=sweep.name,
        definition=hashlib.sha256(text.encode()).hexdigest()[:DEFINITION_DIGITS],
        points=points,
        replications=sweep.replications,
        parameters=sweep.parameters,
        seed=sweep.base_seed,
        random_numbers=sweep.random_numbers,
        command=command,
    )


def _command(sweep: SweepLike, store: Path, sets: Sets, cluster: str | None) -> str:
    """Return the command that continues a sweep."""
    if not isinstance(sweep, str | Path):
        return "sledsim.sweep.run(…) with the same sweep and store"
    words = ["sledsim", "sweep", "run", str(sweep), "--store", str(store)]
    words += [word for each in set_list(sets) for word in ("--set", each)]
    command = shlex.join(words + (["--cluster", cluster] if cluster else []))
    # File names may have bytes that are not UTF-8 text, which the store requires.
    return command.encode(errors="backslashreplace").decode()


def workers_for(threads: int | None, cluster: str | None) -> Workers:
    """Return the workers for the runs.

    Parameters
    ----------
    threads
        Number of concurrent runs; by default, the number of processors.
    cluster
        The address of a scheduler, or ``"local"``; ``None`` for threads of this process.
    """
    count = threads_of(threads)
    if cluster is None:
        return Threads(count)
    from sledsim.sweep.cluster import Cluster

    return Cluster(cluster, count)


@contextmanager
def interruption() -> Iterator[threading.Event]:
    """Yield an event set by the first Ctrl-C, which then does not interrupt a write; the second one acts as usual."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return

    def pressed(*_: object) -> None:
        event.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, pressed)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _show_progress(progress: ProgressCallback | bool | None) -> Iterator[ProgressCallback]:
    """Yield the progress callback: a progress bar, the given function, or none."""
    if progress is not True:
        yield progress or (lambda _: None)
        return
    started = time.monotonic()
    with ProgressBar("sweeping", "runs") as bar:

        def show(now: Progress) -> None:
            seconds = time.monotonic() - started
            fresh = now.done + now.failed
            rate = fresh / seconds if seconds else 0.0
            left = f", {duration_in_words((now.runs - now.over) / rate)} left" if rate else ""
            counts = f"{now.done + now.skipped:,} of {now.runs:,} runs done, {now.failed:,} failed"
            bar.show(now.over / now.runs, f"{counts}, {rate:,.0f}/s{left}")

        yield show
