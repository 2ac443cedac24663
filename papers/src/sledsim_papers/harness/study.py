"""The runs that experiments share: each is made once, in a few threads."""

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
from sledsim.show import wrong
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

#: Why a claim is not done whose runs on whole machines are not at hand.
NO_MACHINES = (
    "its runs on whole machines are not at hand: `make machine applications` makes the paper's; after `make machine` "
    "those with another value of a device (`--set`) are made when they are asked for"
)

#: Traces that claims rest on, and where they lie in the folder of reference data; Sledsim ships none of them.
TRACES: dict[str, str] = {
    "hplajw": "traces/hplajw-1992-1week.srt",
    "st41601n": "drives/st41601n/st41601n.trace",
    "cheetah4LP": "drives/cheetah4LP",
}


class MissingTraceError(SledsimError):
    """A trace that a claim rests on is not at hand."""


class MissingRunsError(MissingTraceError):
    """Runs on whole machines that a claim rests on were not made here: they take hours of a processor."""

    def __init__(self) -> None:
        super().__init__(NO_MACHINES)


class Study:
    """A set of runs, quick or full, each made once however many claims and figures ask for it.

    A scenario that names no seed is run with each of :data:`~sledsim_papers.harness.averaging.SEEDS`, and its result is
    the mean. Runs have a few threads of their own and wait for nothing, so whoever waits for a run gets it. All methods
    may be called from any thread. Sleds move as their entries of the catalogue say, or all of them by one model: see
    :meth:`under`. Values of what is run can be replaced: see :meth:`changed`.

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
        """End the runs. Whoever waits for one, or asks for another, hears of it by an exception."""
        with self._lock:
            self._stopped.set()
            self._pool.stop()

    def under(self, motion: Motion) -> Self:
        """Return this study with sleds that move by a model; both share their runs, threads and end.

        Parameters
        ----------
        motion
            The model.
        """
        view = copy.copy(self)
        view.motion = motion
        return view

    def perturbed(self, perturbation: Perturbation) -> Self:
        """Return this study with a change in every run and device; as for :meth:`under`.

        Parameters
        ----------
        perturbation
            The change.
        """
        view = copy.copy(self)
        view.perturbation = perturbation
        return view

    def seeded(self, seed: int) -> Self:
        """Return this study with one seed in the place of several; as for :meth:`under`.

        Parameters
        ----------
        seed
            The seed of scenarios that name none. Seeds that are named count from it: 1 is this one, 2 the next.
        """
        view = copy.copy(self)
        view.seeds, view.averaged_over = (seed,), 1
        return view

    def by_seed(self) -> list[Self]:
        """Return this study once for each of its seeds, with that one alone, to average what each of them finds."""
        views = [self.seeded(seed) for seed in self.seeds]
        for view in views:
            view.averaged_over = len(views)
        return views

    def changed(self, settings: Settings) -> Self:
        """Return this study with settings laid over what it runs; both share their runs, threads and end.

        Parameters
        ----------
        settings
            What is replaced; remembers whether it changed anything.
        """
        view = copy.copy(self)
        view.settings = settings
        return view

    def unprobed(self) -> Self:
        """Return this study without probes, where figures alone are asked for; as for :meth:`under`."""
        view = copy.copy(self)
        view.probing = False
        return view

    def tallied(self) -> Self:
        """Return this study with a count of its own of what is run; as for :meth:`under`."""
        view = copy.copy(self)
        view.tally = Tally()
        return view

    def probes(self, make: Callable[[], tuple[Probe, ...]]) -> tuple[Probe, ...]:
        """Return the probes of an experiment, none where figures alone are asked for.

        Parameters
        ----------
        make
            Makes them.
        """
        if not self.probing:
            return ()
        self.tally.probing = True
        try:
            return make()
        finally:
            self.tally.probing = False

    def sled(self, name: str, **changes: Any) -> MemsStorage:
        """Return MEMS storage by itself, moving by the model of this study.

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
        """Return a disk by itself.

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
        """Return a device of any kind by itself; a sled moves by the model of this study.

        Parameters
        ----------
        device
            Entry of the catalogue, or one with values that replace its own.
        """
        return Device(self._given(device))

    def _apart(self, name: str, changes: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the entry of a device as this study has it, and the values that replace those of the entry."""
        values = table_of(self._given({"name": name, **changes}))
        return values.pop("name"), values

    def _given(self, device: Given) -> Given:
        """Return a device as this study has it: settings count last, as they may say how it moves."""
        moved = device_moving(device, self.motion) if self.motion else device
        made = self.perturbation.of_device(moved) if self.perturbation else moved
        return self.settings.device(made) if self.settings else made

    def enclosure(self, tables: Mapping[str, Any]) -> Description:
        """Return an enclosure of devices, as models of its reliability take it.

        Parameters
        ----------
        tables
            Its tables, as in a file.
        """
        if self.settings:
            return self.settings.enclosure(tables)
        return load(tables, overrides=self.perturbation.enclosure if self.perturbation else ())

    def drawing(self, name: str, changes: Mapping[str, Any]) -> Drawing:
        """Return a drawing of a device.

        Parameters
        ----------
        name
            Which.
        changes
            Values that replace its own.
        """
        return self.settings.drawing(name, changes) if self.settings else design(name, overrides=changes).drawing

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
            says = f"the trace {name} is not at hand: set SLEDSIM_REFERENCE to a folder that holds {TRACES[name]}"
            raise wrong(MissingTraceError, "unreadable", says, value=name)
        return path

    def run(self, scenario: Mapping[str, Any], settings: Sets = (), *, log: bool = False) -> Result:
        """Run a scenario, or return its result if it has been run.

        Parameters
        ----------
        scenario
            Nested keys. Where no seed is among them it is run with several, and what is returned are means.
        settings
            Values that replace those of the scenario, such as ``["device=g2"]`` or ``{"run.requests": 1000}``.
        log
            Whether the log of requests is needed.
        """
        return self.runs([scenario], settings, log=log)[0]

    def runs(self, many: Iterable[Mapping[str, Any]], settings: Sets = (), *, log: bool = False) -> list[Result]:
        """Run several scenarios at the same time; see :meth:`run`. The results are in the order asked for."""
        begun = []
        for scenario in many:
            seeded = self._with_seeds(scenario)
            self.tally.add(seeded, settings, len(seeded) if "seed" in scenario else self.averaged_over)
            begun.append([self._begin(each, settings, log=log) for each in seeded])
        return [self._mean(of_seeds) for of_seeds in begun]

    def _mean(self, begun: "Sequence[tuple[Future[Any], bool]]") -> Result:
        """Return the result of a run, or the mean of several, which is made once."""
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
        """Return a scenario with each of its seeds; with one where nothing is drawn at random."""
        if "seed" in scenario:
            return [{**scenario, "seed": scenario["seed"] + self.seeds[0] - SEEDS[0]}]
        return [{**scenario, "seed": seed} for seed in (self.seeds if draws(scenario) else self.seeds[:1])]

    def map(self, function: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
        """Apply a function to items at the same time; the outcomes are in their order."""

        def timed(item: Item) -> tuple[Found, float]:
            self._go_on()
            return self.seconds(lambda: function(item))

        outcomes = in_threads(timed, items, self._workers)
        found = {index: self._charged(outcome.result()) for index, outcome in outcomes}
        return [found[index] for index in sorted(found)]

    def once(self, key: str, make: Callable[[Self], Found]) -> Found:
        """Return what ``make`` returns; it is called the first time that the key is asked for in a view.

        Parameters
        ----------
        key
            Names it; no two things of a study have the same.
        make
            Makes it by the study that it is called with. It may not ask for the same key.
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
        """Do some work in this thread; return what it returns, and the processor's time for it and for its runs, s.

        What is shared counts towards the work that asked for it first.
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
        """Time of the runs that this thread's work asked for first, s."""
        return getattr(self._local, "spent", 0.0)

    def _begin(self, scenario: Mapping[str, Any], settings: Sets, *, log: bool) -> "tuple[Future[Any], bool]":
        """Have a run made, unless it has been; tell whether this made it."""
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
        """Make a run in a thread of the pool; return its result and the processor's time for it, s."""
        begin = time.thread_time()
        result = run_resolved(resolved, log=log, progress=self._go_on)
        # A run that has been stopped returns what it has found so far.
        self._go_on()
        return result, time.thread_time() - begin

    def _finished(self, future: "Future[tuple[Result, float]]", *, mine: bool) -> Result:
        return self._charged(future.result()) if mine else future.result()[0]

    def _go_on(self, *_: object) -> None:
        """End what calls this, as each run does now and then, where the study has been stopped."""
        if self._stopped.is_set():
            raise KeyboardInterrupt

    def _charged(self, timed: tuple[Found, float]) -> Found:
        """Count time towards this thread's work."""
        self._local.spent = self._spent + timed[1]
        return timed[0]
