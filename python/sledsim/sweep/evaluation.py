"""Evaluation of points chosen one after another, as in a search: each is run into a store, or read from it."""

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sledsim._core import Fault, SledsimError, error_of
from sledsim.runs.threads import threads_of
from sledsim.scenario.reading import ScenarioLike, Sets, Written
from sledsim.scenario.tables import collect_faults
from sledsim.show.arguments import require_kind, require_several
from sledsim.show.faults import CanFail, facts_of, make_error
from sledsim.show.frames import sql_literal
from sledsim.sweep.axes import derived_seed, plain_value_of
from sledsim.sweep.description import Sweep, Task
from sledsim.sweep.execution import canonical, contents_of
from sledsim.sweep.queueing import Finished, Queue, Workers
from sledsim.sweep.recording import Recorder
from sledsim.sweep.running import define, interruption, record, workers_for
from sledsim.sweep.store import Store
from sledsim.sweep.tables import faults_of_json

__all__ = ["Evaluated", "Evaluation"]


@dataclass(frozen=True)
class Evaluated(CanFail):
    """A run at a point.

    Parameters
    ----------
    key
        Key of the run in the store.
    seed
        Seed of the run.
    faults
        Reasons of a failure; empty if it succeeded.
    metrics
        The numbers of its summary by path, such as ``response.mean_ms``; empty if it failed.
    """

    key: str
    seed: int
    faults: tuple[Fault, ...]
    metrics: dict[str, float]


class Evaluation:
    """Runs points that are chosen during the evaluation, on threads or a cluster, into a store without duplicates.

    Use it in a ``with`` statement. Several evaluations may write to one store at a time.

    Parameters
    ----------
    scenario
        The base scenario.
    store
        The folder of the store, created if it does not exist.
    name
        The name in the store.
    replications
        Number of runs of each point.
    seed
        Seed from which all seeds are derived, the same for all points; by default, that of the scenario.
    overrides
        Values that replace those of the base scenario.
    threads
        Number of concurrent runs; by default, the number of processors.
    cluster
        As for :func:`sledsim.sweep.run`.
    retry_failed
        True to repeat failed runs.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> base = {"workload": {"arrival": {"kind": "poisson", "rate_per_s": 500.0}}, "system": {"device": "g2"}}
    >>> with Evaluation(base, mkdtemp(), replications=2, overrides={"run.requests": 100}) as evaluation:
    ...     runs = evaluation.evaluate([{"device.settle_constants": 0}, {"device.settle_constants": 2}])
    >>> [len(of_point) for of_point in runs]
    [2, 2]
    >>> runs[0][0].metrics["response.mean_ms"] < runs[1][0].metrics["response.mean_ms"]
    True
    """

    def __init__(
        self,
        scenario: ScenarioLike | Written,
        store: str | Path,
        *,
        name: str = "evaluation",
        replications: int = 1,
        seed: int | None = None,
        overrides: Sets = (),
        threads: int | None = None,
        cluster: str | None = None,
        retry_failed: bool = False,
    ) -> None:
        count = threads_of(threads)
        self._sweep = Sweep(scenario, replications=replications, seed=seed, overrides=overrides, name=name)
        self._store = Store.create(store)
        self._workers_for = (count, cluster)
        self._retry_failed = retry_failed
        self._stack = ExitStack()
        self._lock = threading.Lock()
        self._found: dict[str, Evaluated] = {}
        self._workers: Workers | None = None

    def __enter__(self) -> Self:
        command = "sledsim.sweep.Evaluation(…) with the same scenario and store"
        self._definition = define(self._sweep, self._identity(), 0, command)
        self._workers = self._stack.enter_context(workers_for(*self._workers_for))
        for known in self._store.definitions():
            if (known.sweep, known.definition) == (self._definition.sweep, self._definition.definition):
                self._definition = replace(self._definition, points=known.points, parameters=known.parameters)
        self._recorder = Recorder(self._store, self._definition)
        self._known = self._store.keys(failed=not self._retry_failed)
        self._numbers = {point for point, _, _ in self._store.members(self._definition.definition)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()
        self._workers = None
        if kind is None:
            self._recorder.merge()

    def _identity(self) -> list[Any]:
        """Return the identity of this evaluation: the resolved base scenario, digests of its files, and the seed."""
        base = self._sweep.base
        try:
            values: Any = base.resolve(list(self._sweep.overrides)).values
        except SledsimError as error:
            # A base scenario that is invalid without points is identified by its text and its faults.
            values = [base.text, list(self._sweep.overrides), [facts_of(fault) for fault in error.faults]]
        return [values, contents_of(values, base.base_dir), self._sweep.base_seed]

    def evaluate(self, points: Sequence[Mapping[str, Any]]) -> list[list[Evaluated]]:
        """Run points that are not in the store; a replication has the same seed at every point.

        Parameters
        ----------
        points
            Values by parameter, whose paths are as for ``--set``.

        Returns
        -------
        list of list of Evaluated
            The replications of each point.

        Raises
        ------
        SledsimError
            If the store or the cluster fails. A failed run raises no error; its ``faults`` have the reasons.
        KeyboardInterrupt
            After Ctrl-C, within about a second; finished runs are in the store.
        """
        if self._workers is None:
            message = (
                "an Evaluation is used in a `with` statement: with Evaluation(…) as evaluation: evaluation.evaluate(…)"
            )
            raise make_error(SledsimError, "conflict", message)
        points = [_point(each) for each in require_several(SledsimError, "points", points, "a list of dictionaries")]
        with self._lock, interruption() as interrupted:
            numbers = [derived_seed(0, "point", canonical(dict(point))) for point in points]
            tasks = [
                Task(number, replication, dict(point), self._sweep.seed_of(dict(point), replication))
                for number, point in zip(numbers, points, strict=True)
                for replication in range(self._sweep.replications)
            ]
            places: dict[tuple[int, int], str] = {}

            def note(finished: Finished) -> None:
                key, outcome = finished.prepared.key, finished.outcome
                places[finished.task.point, finished.task.replication] = key
                if outcome is not None:
                    self._found[key] = Evaluated(key, finished.prepared.seed, outcome.faults, outcome.metrics or {})

            # Record the points before the first run, so that the store of an interrupted evaluation has the number of
            # missing runs.
            self._record_points(numbers, points)
            queue = Queue(tasks, self._sweep.prepare, self._known)
            if not record(self._workers, queue, self._recorder, lambda _: None, interrupted, note):
                raise KeyboardInterrupt
            self._read_stored([key for key in places.values() if key not in self._found])
            of_point = [[places[number, i] for i in range(self._sweep.replications)] for number in numbers]
        if interrupted.is_set():
            # Ctrl-C after the last run also ends the search.
            raise KeyboardInterrupt
        return [[self._found[key] for key in keys] for keys in of_point]

    def _record_points(self, numbers: Sequence[int], points: Sequence[Mapping[str, Any]]) -> None:
        """Record the number of points, and the varied parameters."""
        self._numbers.update(numbers)
        names = dict.fromkeys([*self._definition.parameters, *(name for point in points for name in point)])
        if len(self._numbers) != self._definition.points or list(names) != self._definition.parameters:
            self._definition = replace(self._definition, points=len(self._numbers), parameters=list(names))
            self._recorder.record(self._definition)

    def _read_stored(self, keys: Sequence[str]) -> None:
        """Read the results of runs that were already in the store."""
        listed = ", ".join(sql_literal(key) for key in keys)
        if not listed:
            return
        metrics: dict[str, dict[str, float]] = {key: {} for key in keys}
        self._store.refuse_contradictions(f"key IN ({listed})")
        for key, metric, value in self._store.rows(f"SELECT key, metric, value FROM metrics WHERE key IN ({listed})"):
            metrics[key][metric] = value
        for key, seed, faults in self._store.rows(f"SELECT key, seed, faults FROM runs WHERE key IN ({listed})"):
            self._found[key] = Evaluated(key, seed, faults_of_json(faults), metrics[key])


def _point(given: Any) -> dict[str, Any]:
    """Return a point with its values in the form of a scenario file."""
    point: Mapping[Any, Any] = require_kind(SledsimError, "points", given, dict, "values by parameter")
    found: list[Fault] = []
    values = {}
    for path, value in point.items():
        require_kind(SledsimError, "points", path, str, "the paths of parameters")
        with collect_faults(found, f"points.{path}"):
            values[path] = plain_value_of(value)
    if found:
        raise error_of(SledsimError, found)
    return values
