"""Searches for good designs: a sampler proposes designs, which are run into a store, and learns from their results."""

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
from sledsim.sweep.measures import CONTROLLED, metric_function
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
    """Search for designs that are optimal for one objective, or Pareto-optimal for several.

    A repeated search proposes the same designs and takes finished runs from the store. An interrupted search therefore
    continues, and a search with more trials continues where the shorter one ended.

    Parameters
    ----------
    search
        A file (TOML, YAML or JSON), a dictionary with the keys of one, or a :class:`~sledsim.sweep.Search`.
    store
        The folder of the store, created if it does not exist; by default ``NAME.sweep``.
    overrides
        Values that replace those of the base scenario.
    trials
        Number of designs to try, instead of the number in the file.
    threads
        Number of concurrent runs; by default, the number of processors.
    cluster
        The cluster to run on instead of threads, as for :func:`sledsim.sweep.run`.
    progress
        A function called after every batch, or true for a progress bar on a terminal.

    Raises
    ------
    SledsimError
        If the search, the store or the cluster fails; finished runs are in the store.
    """
    loaded = Search.load(search, overrides=overrides)
    if trials is not None:
        loaded = loaded.trying(trials)
    loaded.check()
    sampler = _DesignSampler(loaded)
    folder = Path(store) if store is not None else Path(f"{loaded.name}.sweep")
    evaluation = Evaluation(
        loaded.base,
        folder,
        name=loaded.name,
        replications=loaded.replications,
        seed=loaded.seed,
        overrides=loaded.overrides,
        threads=threads,
        cluster=cluster,
    )
    found: list[Trial] = []
    with evaluation, _show_progress(progress) as show:
        try:
            while len(found) < loaded.trials:
                designs = sampler.propose(min(loaded.batch, loaded.trials - len(found)))
                runs = evaluation.evaluate([loaded.settings(design) for design in designs])
                tried = [
                    _trial(loaded, number, design, replications)
                    for number, (design, replications) in enumerate(zip(designs, runs, strict=True), start=len(found))
                ]
                sampler.record(tried)
                found += tried
                show(Progress(loaded.trials, len(found), sum(each.error is not None for each in found)))
        except KeyboardInterrupt:
            return SearchOutcome(loaded, found, folder, complete=False)
    return SearchOutcome(loaded, found, folder, complete=True)


class _DesignSampler:
    """Proposes designs with an Optuna sampler."""

    def __init__(self, search: Search) -> None:
        optuna = need("optuna", "optimise")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._search = search
        self._distributions = {path: _distribution(optuna, space) for path, space in search.spaces.items()}
        directions = [each.goal.replace("ise", "ize") for each in search.objectives]
        self._study = optuna.create_study(directions=directions, sampler=_sampler(optuna, search))
        self._failed = optuna.trial.TrialState.FAIL
        self._open: list[Any] = []

    def propose(self, count: int) -> list[Assignment]:
        """Return the next designs."""
        with warnings.catch_warnings():
            # Ignore Optuna's warnings about experimental samplers and options.
            warnings.simplefilter("ignore")
            self._open = [self._study.ask(self._distributions) for _ in range(count)]
        return [{path: self._value(path, trial.params[path]) for path in self._distributions} for trial in self._open]

    def record(self, tried: Sequence[Trial]) -> None:
        """Record the results of the last proposed designs, in their order."""
        for trial, found in zip(self._open, tried, strict=True):
            if found.error is not None:
                self._study.tell(trial, state=self._failed)
            else:
                trial.set_user_attr(EXCESS, list(found.excess))
                self._study.tell(trial, list(found.objectives))

    def _value(self, path: str, chosen: Any) -> Any:
        """Return the value of a parameter in the form of a scenario."""
        space = self._search.spaces[path]
        return space.written(chosen) if isinstance(space, Range) else space[chosen]


#: The attribute of an Optuna trial with the violation of each constraint.
EXCESS = "excess"


def _sampler(optuna: Any, search: Search) -> Any:
    """Return the Optuna sampler of a search."""

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
    """Return the Optuna distribution of a parameter; for a list, that of its indices."""
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
    """Return the last value that steps from a start reach, computed in decimals to avoid rounding errors."""
    first, last, each = (Decimal(str(number)) for number in (start, stop, step))
    steps = (last - first) // each
    reached = first + steps * each
    return stop if reached == last else type(start + step)(reached)


def _trial(search: Search, number: int, design: Assignment, runs: Sequence[Evaluated]) -> Trial:
    """Return the trial of a design from its replications."""
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
        imprecise=sum(each.metrics.get("precision.reached") == 0 for each in runs),
        controlled=sum(CONTROLLED in each.metrics for each in runs if "precision.reached" in each.metrics),
    )


@contextmanager
def _show_progress(progress: ProgressCallback | bool | None) -> Iterator[ProgressCallback]:
    """Yield the progress callback: a progress bar, the given function, or none."""
    if progress is not True:
        yield progress or (lambda _: None)
        return
    with ProgressBar("searching", "designs") as bar:
        yield lambda now: bar(now.done, now.runs)
