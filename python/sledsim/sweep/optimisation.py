"""Searching for good designs: a sampler chooses some, they are run into a store, their results say where to look."""

import hashlib
import json
import math
import shlex
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from sledsim._core import __version__
from sledsim.frames import need
from sledsim.scenario import Sets, set_list
from sledsim.sweep.axes import Assignment, Range
from sledsim.sweep.description import Task
from sledsim.sweep.execution import Prepared, canonical, contents_of, prepare
from sledsim.sweep.measures import measured
from sledsim.sweep.outcome import SearchOutcome, Trial
from sledsim.sweep.queueing import Queue
from sledsim.sweep.recording import Recorder
from sledsim.sweep.running import DEFINITION_DIGITS, ProgressCallback, interruption, record, shown, workers_of
from sledsim.sweep.search import Search, SearchLike
from sledsim.sweep.store import Definition, Store

if TYPE_CHECKING:
    import threading

    from sledsim.sweep.queueing import Workers

__all__ = ["optimise"]


def optimise(
    search: SearchLike,
    store: str | Path | None = None,
    *,
    set: Sets = (),  # noqa: A002  the name it has on the command line
    trials: int | None = None,
    threads: int | None = None,
    cluster: str | None = None,
    progress: ProgressCallback | bool | None = None,
) -> SearchOutcome:
    """Search for the designs that serve one or several objectives best.

    The same search into the same store chooses the same designs again and takes their results from there, so one that
    was interrupted goes on, and one with more trials begins where the shorter one ended.

    Parameters
    ----------
    search
        A file (TOML or JSON), a dictionary with the keys of one, or a :class:`~sledsim.sweep.Search`.
    store
        The folder that the runs go to, made where there is none; ``NAME.sweep`` otherwise.
    set
        Values that replace those of the base scenario.
    trials
        How many designs are tried, instead of the number in the file.
    threads
        How many runs at a time; as many as there are processors otherwise.
    cluster
        Where to run instead, as for :func:`sledsim.sweep.run`.
    progress
        A function called about twice a second, or true for a progress bar on a terminal.

    Raises
    ------
    SledsimError
        Where the search, the store or the cluster is wrong; what was done until then is in the store.
    """
    whole = Search.load(search, set=set)
    if trials is not None:
        whole = whole.trying(trials)
    first = whole.check()
    folder = Path(store) if store is not None else Path(f"{whole.name}.sweep")
    definition = _define(whole, first, _command(search, folder, set, cluster, trials))
    guide = _Guide(whole)
    place = Store.create(folder)
    with interruption() as interrupted, workers_of(threads, cluster) as workers, shown(progress) as show:
        place.remember(definition)
        laboratory = _Laboratory(whole, place, Recorder(place, definition), workers, show, interrupted)
        found, complete = _search(whole, guide, laboratory)
    if complete:
        laboratory.recorder.merge()
    return SearchOutcome(whole, found, place.path, laboratory.recorder.progress, complete=complete)


def _search(whole: Search, guide: "_Guide", laboratory: "_Laboratory") -> tuple[list[Trial], bool]:
    """Try designs, some at a time; return them, and whether all were tried."""
    found: list[Trial] = []
    while len(found) < whole.trials:
        values = guide.ask(min(whole.batch, whole.trials - len(found)))
        tried = laboratory.try_out(values, len(found))
        if tried is None:
            return found, False
        guide.tell(tried)
        found += tried
    return found, True


class _Guide:
    """Chooses designs, through a sampler of Optuna."""

    def __init__(self, search: Search) -> None:
        optuna = need("optuna", "optimise")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._search = search
        self._distributions = {path: _distribution(optuna, space) for path, space in search.spaces.items()}
        directions = [each.goal.replace("ise", "ize") for each in search.objectives]
        self._study = optuna.create_study(directions=directions, sampler=_sampler(optuna, search))
        self._failed = optuna.trial.TrialState.FAIL
        self._open: list[Any] = []

    def ask(self, count: int) -> list[Assignment]:
        """Choose the next designs."""
        with warnings.catch_warnings():
            # Which samplers and options are experimental is no concern of who searches.
            warnings.simplefilter("ignore")
            self._open = [self._study.ask(self._distributions) for _ in range(count)]
        return [{path: self._value(path, trial.params[path]) for path in self._distributions} for trial in self._open]

    def tell(self, tried: Sequence[Trial]) -> None:
        """Say what became of the designs that were chosen last, in their order."""
        for trial, found in zip(self._open, tried, strict=True):
            if found.error is not None:
                self._study.tell(trial, state=self._failed)
            else:
                trial.set_user_attr(EXCESS, list(found.excess))
                self._study.tell(trial, list(found.objectives))

    def _value(self, path: str, chosen: Any) -> Any:
        """Return a parameter as it is written into a scenario."""
        space = self._search.spaces[path]
        return space.written(chosen) if isinstance(space, Range) else space[chosen]


#: Where a trial of Optuna keeps by how much the design breaks each constraint.
EXCESS = "excess"


def _sampler(optuna: Any, search: Search) -> Any:
    """Return what chooses designs."""

    def excess(trial: Any) -> list[float]:
        return list(trial.user_attrs.get(EXCESS, [math.inf] * len(search.constraints)))

    bounds = excess if search.constraints else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if search.sampler == "tpe":
            return optuna.samplers.TPESampler(
                seed=search.seed, multivariate=True, constant_liar=True, constraints_func=bounds
            )
        if search.sampler == "nsga2":
            return optuna.samplers.NSGAIISampler(seed=search.seed, constraints_func=bounds)
        return optuna.samplers.RandomSampler(seed=search.seed)


def _distribution(optuna: Any, space: "Range | list[Any]") -> Any:
    """Return what a parameter can be, for Optuna; of a list, the place in it."""
    kinds = optuna.distributions
    if not isinstance(space, Range):
        return kinds.CategoricalDistribution(list(range(len(space))))
    log = space.scale == "log"
    if space.integer:
        return kinds.IntDistribution(int(space.start), int(space.stop), log=log, step=int(space.step or 1))
    return kinds.FloatDistribution(float(space.start), float(space.stop), log=log, step=space.step)


@dataclass
class _Laboratory:
    """Runs designs into a store and reads what they reached."""

    search: Search
    store: Store
    recorder: Recorder
    workers: "Workers"
    show: ProgressCallback
    interrupted: "threading.Event"

    def __post_init__(self) -> None:
        self._known = self.store.keys()

    def try_out(self, values: Sequence[Assignment], first: int) -> list[Trial] | None:
        """Run designs; return what they reached, or nothing where that was interrupted.

        Parameters
        ----------
        values
            The parameters of each.
        first
            The number of the first.
        """
        sweep = self.search.designs(values)
        prepared: dict[tuple[int, int], Prepared] = {}

        def ready(task: Task) -> Prepared:
            made = prepare(sweep.base, sweep.settings(task))
            prepared[task.point, task.replication] = made
            return made

        tasks = [Task(first + each.point, each.replication, each.values, each.seed) for each in sweep.tasks()]
        if not record(self.workers, Queue(tasks, ready, self._known), self.recorder, self.show, self.interrupted):
            return None
        results = self._results([each.key for each in prepared.values()])
        replications = range(self.search.replications)
        return [
            self._trial(first + i, design, [prepared[first + i, r] for r in replications], results)
            for i, design in enumerate(values)
        ]

    def _results(self, keys: list[str]) -> dict[str, "dict[str, float] | str"]:
        """Return for each run the numbers that it reports, or why it failed."""
        found: dict[str, dict[str, float] | str] = {}
        for key, error in self.store.rows("SELECT key, error FROM runs WHERE list_contains(?, key)", [keys]):
            found[key] = error if error is not None else {}
        for key, metric, value in self.store.rows(
            "SELECT key, metric, value FROM metrics WHERE list_contains(?, key)", [keys]
        ):
            numbers = found[key]
            if isinstance(numbers, dict) and value is not None:
                numbers[metric] = value
        return found

    def _trial(
        self, number: int, values: Assignment, runs: list[Prepared], results: dict[str, "dict[str, float] | str"]
    ) -> Trial:
        """Sum up the replications of a design."""
        quantities: list[Callable[[str], float]] = []
        for run in runs:
            numbers = results[run.key]
            if isinstance(numbers, str) or run.text is None:
                return Trial(number, values, error=str(numbers))
            quantities.append(measured(numbers, json.loads(run.text), self.search.prices))

        def found(metric: str) -> tuple[float, ...]:
            return tuple(quantity(metric) for quantity in quantities)

        bounds = self.search.constraints
        held = [fmean(found(each.metric)) for each in bounds]
        return Trial(
            number,
            values,
            samples=tuple(found(each.metric) for each in self.search.objectives),
            held=tuple(held),
            excess=tuple(bound.excess(value) for bound, value in zip(bounds, held, strict=True)),
        )


def _define(search: Search, first: str, command: str) -> Definition:
    """Give a search the hash of what it says; how many trials it has is not part of that."""
    says = {key: value for key, value in asdict(search).items() if key not in ("trials", "scenario", "set", "name")}
    identity = canonical([__version__, json.loads(first), says, contents_of([first], search.base.base_dir)])
    return Definition(
        sweep=search.name,
        definition=hashlib.sha256(identity.encode()).hexdigest()[:DEFINITION_DIGITS],
        points=search.trials,
        replications=search.replications,
        parameters=list(search.parameters),
        seed=search.seed,
        random_numbers="common",
        started=time.time(),
        command=command,
    )


def _command(search: SearchLike, store: Path, sets: Sets, cluster: str | None, trials: int | None) -> str:
    """Return the command that goes on with a search."""
    if not isinstance(search, str | Path):
        return "sledsim.sweep.optimise(…) with the same search and store"
    words = ["sledsim", "optimise", str(search), "--store", str(store)]
    words += [word for each in set_list(sets) for word in ("--set", each)]
    words += ["--trials", str(trials)] if trials is not None else []
    return shlex.join(words + (["--cluster", cluster] if cluster else []))
