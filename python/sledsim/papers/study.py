"""The runs that experiments share: each is made once, in a few threads."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self, TypeVar

from sledsim._core import SledsimError
from sledsim._run import run_resolved
from sledsim.result import Result
from sledsim.scenario import Sets, resolve

__all__ = ["TRACES", "MissingTraceError", "Study"]

Item = TypeVar("Item")
Found = TypeVar("Found")

#: Traces that claims rest on, and where they lie in the folder of reference data; Sledsim ships none of them.
TRACES: dict[str, str] = {
    "hplajw": "traces/hplajw-1992-1week.srt",
    "st41601n": "drives/st41601n/st41601n.trace",
    "cheetah4LP": "drives/cheetah4LP",
}


class MissingTraceError(SledsimError):
    """A trace that a claim rests on is not at hand."""


class Study:
    """A set of runs, quick or full, each made once however many claims and figures ask for it.

    Parameters
    ----------
    quick
        Whether smaller samples than the papers' will do.
    workers
        Runs at a time; as many as there are processors if not given.
    reference
        Folder with the traces; ``$SLEDSIM_REFERENCE`` if not given.
    """

    def __init__(self, *, quick: bool = True, workers: int | None = None, reference: Path | None = None) -> None:
        self.quick = quick
        named = os.environ.get("SLEDSIM_REFERENCE")
        self.reference = reference or (Path(named) if named else None)
        self.stopped = threading.Event()
        self._pool = ThreadPoolExecutor(workers or os.cpu_count() or 1, thread_name_prefix="sledsim-study")
        self._lock = threading.Lock()
        self._made: dict[Any, Future[Any]] = {}
        self._local = threading.local()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def requests(self, full: int, quick: int) -> int:
        """Return the size of a sample: the paper's, or one that a quick study takes."""
        return quick if self.quick else full

    def trace(self, name: str) -> Path:
        """Return where a trace lies.

        Parameters
        ----------
        name
            One of :data:`TRACES`.

        Raises
        ------
        MissingTraceError
            Where it is not at hand.
        """
        path = self.reference / TRACES[name] if self.reference else None
        if path is None or not path.exists():
            raise MissingTraceError(
                f"the trace {name} is not at hand: set SLEDSIM_REFERENCE to a folder that holds {TRACES[name]}"
            )
        return path

    def run(self, scenario: Mapping[str, Any], settings: Sets = (), *, log: bool = False) -> Result:
        """Run a scenario, or return its result if it has been run.

        Parameters
        ----------
        scenario
            Nested keys; the seed is 1 unless it says otherwise.
        settings
            Values that replace those of the scenario, such as ``["device=g2"]`` or ``{"run.requests": 1000}``.
        log
            Whether the log of requests is needed.
        """
        return self.runs([(scenario, settings)], log=log)[0]

    def runs(self, many: "Iterable[tuple[Mapping[str, Any], Sets]]", *, log: bool = False) -> list[Result]:
        """Run several scenarios at the same time; see :meth:`run`. The results are in the order asked for."""
        return [finish() for finish in [self._begin(scenario, settings, log) for scenario, settings in many]]

    def map(self, function: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
        """Apply a function to items at the same time; the outcomes are in their order."""
        if self._inside():
            return [function(item) for item in items]
        parts = [self._pool.submit(self._timed, lambda item=item: function(item)) for item in items]
        return [self._charged(part.result()) for part in parts]

    def once(self, key: str, make: Callable[[], Found]) -> Found:
        """Return what ``make`` returns; it is called the first time that the key is asked for."""
        future, mine = self._future(("once", key))
        if mine:
            try:
                future.set_result(make())
            except BaseException as error:
                future.set_exception(error)
        found: Found = future.result()
        return found

    def seconds(self, work: Callable[[], Found]) -> tuple[Found, float]:
        """Do some work in this thread; return what it returns and its time in seconds, that of its runs included."""
        self._local.spent = 0.0
        begin = time.thread_time()
        found = work()
        return found, time.thread_time() - begin + self._local.spent

    def _begin(self, scenario: Mapping[str, Any], settings: Sets, log: bool) -> Callable[[], Result]:
        """Have a run made, unless it has been; return what waits for its result."""
        resolved = resolve({"seed": 1, **scenario}, settings)
        future, mine = self._future((json.dumps(resolved.values, sort_keys=True), log))
        if not mine:
            return lambda: future.result()[0]

        def work() -> None:
            try:
                future.set_result(self._timed(lambda: run_resolved(resolved, log=log, progress=self._watch)))
            except BaseException as error:
                future.set_exception(error)

        if self._inside():
            work()
            return lambda: future.result()[0]
        self._pool.submit(work)
        return lambda: self._charged(future.result())

    def _watch(self, *_: object) -> None:
        """End a run, of which this is told now and then, where the study has been stopped."""
        if self.stopped.is_set():
            raise KeyboardInterrupt

    def _timed(self, work: Callable[[], Found]) -> tuple[Found, float]:
        """Do work in a thread of the pool; return what it returns and how long it took, s."""
        outermost, self._local.inside = not self._inside(), True
        begin = time.perf_counter()
        try:
            return work(), time.perf_counter() - begin
        finally:
            self._local.inside = not outermost

    def _charged(self, timed: tuple[Found, float]) -> Found:
        """Count the time of a run towards the work that asked for it first."""
        self._local.spent = getattr(self._local, "spent", 0.0) + timed[1]
        return timed[0]

    def _inside(self) -> bool:
        return getattr(self._local, "inside", False)

    def _future(self, key: Any) -> "tuple[Future[Any], bool]":
        with self._lock:
            mine = key not in self._made
            return self._made.setdefault(key, Future()), mine
