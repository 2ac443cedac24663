"""Searching for good designs: a sampler chooses some, they are run into a store, their results say where to look."""

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from statistics import fmean
from typing import Any

from sledsim.scenario.reading import Sets
from sledsim.show.frames import need
from sledsim.show.progress import ProgressBar
from sledsim.sweep.axes import Assignment, Range
from sledsim.sweep.description import Task
from sledsim.sweep.evaluation import Evaluated, Evaluation
from sledsim.sweep.measures import metric_function
from sledsim.sweep.outcome import SearchOutcome, Trial
from sledsim.sweep.recording import Progress
from sledsim.sweep.running import ProgressCallback
from sledsim.sweep.search import Search, SearchLike

__all__ = ["optimise"]


def optimise(
    search: SearchLike,
    store: str | Path | None = None,
    *,
    overrides: Sets = (),
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
        A file (TOML, YAML or JSON), a dictionary with the keys of one, or a :class:`~sledsim.sweep.Search`.
    store
        The folder that the runs go to, made where there is none; ``NAME.sweep`` otherwise.
    overrides
        Values that replace those of the base scenario.
    trials
        How many designs are tried, instead of the number in the file.
    threads
        How many runs at a time; as many as there are processors otherwise.
    cluster
        Where to run instead, as for :func:`sledsim.sweep.run`.
    progress
        A function called after every batch, or true for a progress bar on a terminal.

    Raises
    ------
    SledsimError
        Where the search, the store or the cluster is wrong; what was done until then is in the store.
    """
    whole = Search.load(search, overrides=overrides)
    if trials is not None:
        whole = whole.trying(trials)
    whole.check()
    guide = _Guide(whole)
    folder = Path(store) if store is not None else Path(f"{whole.name}.sweep")
    evaluation = Evaluation(
        whole.base,
        folder,
        name=whole.name,
        replications=whole.replications,
        seed=whole.seed,
        overrides=whole.overrides,
        threads=threads,
        cluster=cluster,
    )
    found: list[Trial] = []
    with evaluation, _show_progress(progress) as show:
        try:
            while len(found) < whole.trials:
                designs = guide.ask(min(whole.batch, whole.trials - len(found)))
                runs = evaluation.evaluate([whole.settings(design) for design in designs])
                tried = [
                    _trial(whole, number, design, replications)
                    for number, (design, replications) in enumerate(zip(designs, runs, strict=True), start=len(found))
                ]
                guide.tell(tried)
                found += tried
                show(Progress(whole.trials, len(found), sum(each.error is not None for each in found)))
        except KeyboardInterrupt:
            return SearchOutcome(whole, found, folder, complete=False)
    return SearchOutcome(whole, found, folder, complete=True)


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
        low = max(round(space.start), 1) if log else round(space.start)
        step = int(space.step or 1)
        return kinds.IntDistribution(low, max(low, _last(low, round(space.stop), step)), log=log, step=step)
    last = space.stop if space.step is None else _last(space.start, space.stop, space.step)
    return kinds.FloatDistribution(float(space.start), float(last), log=log, step=space.step)


def _last(start: float, stop: float, step: float) -> Any:
    """Return the last value that steps from a start reach, in decimals as people write them."""
    first, last, each = (Decimal(str(number)) for number in (start, stop, step))
    steps = (last - first) // each
    reached = first + steps * each
    return stop if reached == last else type(start + step)(reached)


def _trial(search: Search, number: int, design: Assignment, runs: Sequence[Evaluated]) -> Trial:
    """Sum up the replications of a design."""
    failed = next((each.faults for each in runs if each.faults), None)
    if failed is not None:
        return Trial(number, design, faults=failed)
    designs = search.designs([design])
    scenario = search.base.resolve(designs.settings(Task(0, 0, search.settings(design), None)))
    quantities = [metric_function(each.metrics, scenario, search.prices) for each in runs]
    bounds = search.constraints
    held = tuple(fmean(quantity(each.metric) for quantity in quantities) for each in bounds)
    return Trial(
        number,
        design,
        samples=tuple(tuple(quantity(each.metric) for quantity in quantities) for each in search.objectives),
        held=held,
        excess=tuple(bound.excess(value) for bound, value in zip(bounds, held, strict=True)),
    )


@contextmanager
def _show_progress(progress: ProgressCallback | bool | None) -> Iterator[ProgressCallback]:
    """Show how far a search is: on a terminal, to a function, or not at all."""
    if progress is not True:
        yield progress or (lambda _: None)
        return
    with ProgressBar("searching", "designs") as bar:
        yield lambda now: bar(now.done, now.runs)
