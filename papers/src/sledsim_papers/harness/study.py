"""Runs shared by experiments; each distinct run is simulated once, in a thread pool."""

import copy
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self, TypeVar

from sledsim import SledsimError
from sledsim.devices import Device, DiskDrive, MemsStorage
from sledsim.reliability import Description, load
from sledsim.runs import Pool, Result, in_threads, run_resolved, threads_of
from sledsim.scenario import Resolved, Sets, resolve
from sledsim.show import make_error
from sledsim.studies.sled_design import Drawing, design
from sledsim_papers.harness.averaging import SEEDS, Averaged, draws
from sledsim_papers.harness.finding import Probe
from sledsim_papers.harness.motion import Given, Motion, device_moving, moving, table_of
from sledsim_papers.harness.perturbations import Perturbation
from sledsim_papers.harness.settings import Settings
from sledsim_papers.harness.tally import Tally

__all__ = ["TRACES", "MissingTraceError", "Study"]

Item = TypeVar("Item")
Found = TypeVar("Found")

#: Traces used by claims, and their paths in the folder of reference data. Sledsim does not ship them.
TRACES: dict[str, str] = {
    "hplajw": "traces/hplajw-1992-1week.srt",
    "st41601n": "drives/st41601n/st41601n.trace",
    "cheetah4LP": "drives/cheetah4LP",
}


class MissingTraceError(SledsimError):
    """A trace used by a claim is missing."""


class Study:
    """Simulates scenarios for claims and figures, each distinct scenario once.

    A scenario without a seed is run with each of :data:`~sledsim_papers.harness.averaging.SEEDS`, and its result is the
    mean. Runs use a thread pool and never wait for each other, so waiting for a run cannot deadlock. All methods may be
    called from any thread. :meth:`under` chooses the model of motion of sleds, and :meth:`changed` replaces values.

    Parameters
    ----------
    quick
        Use smaller samples than the papers.
    workers
        Runs at a time; the number of processors if not given.
    reference
        Folder with the traces; ``$SLEDSIM_REFERENCE`` if not given.
    """

    def __init__(self, *, quick: bool = True, workers: int | None = None, reference: Path | None = None) -> None:
        self.quick = quick
        named = os.environ.get("SLEDSIM_REFERENCE")
        self.reference = reference or (Path(named) if named else None)
        self._workers = threads_of(workers, "workers")
        self._pool = Pool(self._workers)
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self.motion: Motion | None = None
        self.perturbation: Perturbation | None = None
        self.seeds: tuple[int, ...] = SEEDS
        self.averaged_over = len(SEEDS)
        self.settings: Settings | None = None
        self.probing = True
        self.tally = Tally()
        self._made: dict[Any, Future[Any]] = {}
        self._local = threading.local()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._pool.stop(join=True)

    def stop(self) -> None:
        """Stop all runs. Waiting for a run or starting one then raises ``KeyboardInterrupt``."""
        with self._lock:
            self._stopped.set()
            self._pool.stop()

    def under(self, motion: Motion) -> Self:
        """Return a view of this study in which sleds move by a model; views share runs and threads.

        Parameters
        ----------
        motion
            The model.
        """
        view = copy.copy(self)
        view.motion = motion
        return view

    def perturbed(self, perturbation: Perturbation) -> Self:
        """Return a view of this study with a perturbation in every run and device.

        Parameters
        ----------
        perturbation
            The perturbation.
        """
        view = copy.copy(self)
        view.perturbation = perturbation
        return view

    def seeded(self, seed: int) -> Self:
        """Return a view of this study with one seed instead of several.

        Parameters
        ----------
        seed
            The seed of scenarios without one. Named seeds are offset by it: 1 becomes this one, 2 the next.
        """
        view = copy.copy(self)
        view.seeds, view.averaged_over = (seed,), 1
        return view

    def by_seed(self) -> list[Self]:
        """Return a view for each seed, with that seed only, to average their findings."""
        views = [self.seeded(seed) for seed in self.seeds]
        for view in views:
            view.averaged_over = len(views)
        return views

    def changed(self, settings: Settings) -> Self:
        """Return a view of this study with settings that replace values in all its runs.

        Parameters
        ----------
        settings
            The settings; they record whether they changed anything.
        """
        view = copy.copy(self)
        view.settings = settings
        return view

    def unprobed(self) -> Self:
        """Return a view of this study that skips probes."""
        view = copy.copy(self)
        view.probing = False
        return view

    def tallied(self) -> Self:
        """Return a view of this study with its own tally of seeds."""
        view = copy.copy(self)
        view.tally = Tally()
        return view

    def probes(self, make: Callable[[], tuple[Probe, ...]]) -> tuple[Probe, ...]:
        """Return the probes of an experiment; none if this view skips probes.

        Parameters
        ----------
        make
            Computes them.
        """
        if not self.probing:
            return ()
        self.tally.probing = True
        try:
            return make()
        finally:
            self.tally.probing = False

    def sled(self, name: str, **changes: Any) -> MemsStorage:
        """Return a MEMS device that moves by the model of this study.

        Parameters
        ----------
        name
            Entry of the catalogue.
        **changes
            Values that replace those of the entry.
        """
        entry, values = self._apart(name, changes)
        return MemsStorage(entry, **values)

    def disk(self, name: str, **changes: Any) -> DiskDrive:
        """Return a disk.

        Parameters
        ----------
        name
            Entry of the catalogue.
        **changes
            Values that replace those of the entry.
        """
        entry, values = self._apart(name, changes)
        return DiskDrive(entry, **values)

    def device(self, device: Given) -> Device:
        """Return a device of any kind; a sled moves by the model of this study.

        Parameters
        ----------
        device
            Name of a catalogue entry, or a mapping with ``name`` and values that replace those of the entry.
        """
        return Device(self._given(device))

    def _apart(self, name: str, changes: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the catalogue entry of a device in this study, and its replaced values."""
        values = table_of(self._given({"name": name, **changes}))
        return values.pop("name"), values

    def _given(self, device: Given) -> Given:
        """Return a device as changed by this study; settings come last because they may set the motion."""
        moved = device_moving(device, self.motion) if self.motion else device
        made = self.perturbation.of_device(moved) if self.perturbation else moved
        return self.settings.device(made) if self.settings else made

    def enclosure(self, tables: Mapping[str, Any]) -> Description:
        """Return an enclosure as changed by this study.

        Parameters
        ----------
        tables
            The tables of an enclosure file.
        """
        if self.settings:
            return self.settings.enclosure(tables)
        return load(tables, overrides=self.perturbation.enclosure if self.perturbation else ())

    def drawing(self, name: str, changes: Mapping[str, Any]) -> Drawing:
        """Return a drawing of a device as changed by this study.

        Parameters
        ----------
        name
            Name of the drawing.
        changes
            Values that replace those of the drawing.
        """
        return self.settings.drawing(name, changes) if self.settings else design(name, overrides=changes).drawing

    def requests(self, full: int, quick: int) -> int:
        """Return the number of requests of a full or of a quick study."""
        return quick if self.quick else full

    def trace(self, name: str) -> Path:
        """Return the path of a trace.

        Parameters
        ----------
        name
            One of :data:`TRACES`.

        Raises
        ------
        MissingTraceError
            If the trace is missing.
        """
        path = self.reference / TRACES[name] if self.reference else None
        if path is None or not path.exists():
            message = f"the trace {name} is missing: set SLEDSIM_REFERENCE to a folder that holds {TRACES[name]}"
            raise make_error(MissingTraceError, "unreadable", message, value=name)
        return path

    def run(self, scenario: Mapping[str, Any], settings: Sets = (), *, log: bool = False) -> Result:
        """Return the result of a scenario, which is simulated at most once.

        Parameters
        ----------
        scenario
            Nested keys. Without a seed it is run with several, and the result has their means.
        settings
            Values that replace those of the scenario, such as ``["device=g2"]`` or ``{"run.requests": 1000}``.
        log
            Whether the log of requests is needed.
        """
        return self.runs([scenario], settings, log=log)[0]

    def runs(self, many: Iterable[Mapping[str, Any]], settings: Sets = (), *, log: bool = False) -> list[Result]:
        """Run several scenarios in parallel; see :meth:`run`. The results are in the order of the scenarios."""
        begun = []
        for scenario in many:
            seeded = self._with_seeds(scenario)
            self.tally.add(seeded, settings, len(seeded) if "seed" in scenario else self.averaged_over)
            begun.append([self._begin(each, settings, log=log) for each in seeded])
        return [self._mean(of_seeds) for of_seeds in begun]

    def _mean(self, begun: "Sequence[tuple[Future[Any], bool]]") -> Result:
        """Return the result of a run, or the mean of several, which is computed once."""
        found = [self._finished(future, mine=mine) for future, mine in begun]
        if len(found) == 1:
            return found[0]
        named = ("mean", *(future for future, _ in begun))
        with self._lock:
            if named not in self._made:
                self._made[named] = Future()
                self._made[named].set_result(Averaged(found))
            mean: Result = self._made[named].result()
        return mean

    def _with_seeds(self, scenario: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return a scenario with each seed; with one seed if nothing is random."""
        if "seed" in scenario:
            return [{**scenario, "seed": scenario["seed"] + self.seeds[0] - SEEDS[0]}]
        return [{**scenario, "seed": seed} for seed in (self.seeds if draws(scenario) else self.seeds[:1])]

    def map(self, function: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
        """Apply a function to items in parallel; the results are in the order of the items."""

        def timed(item: Item) -> tuple[Found, float]:
            self._go_on()
            return self.seconds(lambda: function(item))

        outcomes = in_threads(timed, items, self._workers)
        found = {index: self._charged(outcome.result()) for index, outcome in outcomes}
        return [found[index] for index in sorted(found)]

    def once(self, key: str, make: Callable[[Self], Found]) -> Found:
        """Return the value of ``make``, which is called once for each key and kind of view.

        Parameters
        ----------
        key
            Unique name of the value.
        make
            Computes the value with the study passed to it. It must not request the same key.
        """
        view = (self.motion, self.settings, self.perturbation and self.perturbation.claim, self.seeds, self.probing)
        named = ("once", *view, key)
        with self._lock:
            mine = named not in self._made
            future: Future[tuple[Found, Tally]] = self._made.setdefault(named, Future())
        if mine:
            apart = self.tallied()
            try:
                self._go_on()
                future.set_result((make(apart), apart.tally))
            except BaseException as error:
                future.set_exception(error)
        found, tally = future.result()
        self.tally.take(tally)
        return found

    def seconds(self, work: Callable[[], Found]) -> tuple[Found, float]:
        """Call a function; return its value and the processor time of it and of its runs, s.

        A shared run counts for the first work that requested it.
        """
        outer, self._local.spent = self._spent, 0.0
        begin = time.thread_time()
        try:
            found = work()
            return found, time.thread_time() - begin + self._spent
        finally:
            self._local.spent = outer

    @property
    def _spent(self) -> float:
        """Processor time of the runs that this thread requested first, s."""
        return getattr(self._local, "spent", 0.0)

    def _begin(self, scenario: Mapping[str, Any], settings: Sets, *, log: bool) -> "tuple[Future[Any], bool]":
        """Start a run unless it exists; return its future and true if it was started here."""
        moved = moving(scenario, self.motion) if self.motion else scenario
        made = self.perturbation.of_scenario(moved) if self.perturbation else moved
        resolved = self.settings.scenario(made, settings) if self.settings else resolve(made, settings)
        with self._lock:
            self._go_on()
            for logged in {log, True}:
                if (resolved, logged) in self._made:
                    return self._made[resolved, logged], False
            self._made[resolved, log] = self._pool.submit(lambda: self._run(resolved, log))
            return self._made[resolved, log], True

    def _run(self, resolved: Resolved, log: bool) -> tuple[Result, float]:
        """Simulate in a thread of the pool; return the result and the processor time, s."""
        begin = time.thread_time()
        result = run_resolved(resolved, log=log, progress=self._go_on)
        # A stopped run returns an incomplete result.
        self._go_on()
        return result, time.thread_time() - begin

    def _finished(self, future: "Future[tuple[Result, float]]", *, mine: bool) -> Result:
        return self._charged(future.result()) if mine else future.result()[0]

    def _go_on(self, *_: object) -> None:
        """Raise ``KeyboardInterrupt`` if the study was stopped; runs call this regularly."""
        if self._stopped.is_set():
            raise KeyboardInterrupt

    def _charged(self, timed: tuple[Found, float]) -> Found:
        """Add time to this thread's work and return the value."""
        self._local.spent = self._spent + timed[1]
        return timed[0]
