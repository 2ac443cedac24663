"""Results of a sweep: means and confidence intervals over replications for each point."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from sledsim.runs.confidence import mean_interval
from sledsim.runs.summary_tables import METRICS, NO_ENERGY
from sledsim.show.arguments import require_kind
from sledsim.show.faults import Sentence, make_error
from sledsim.show.frames import sql_literal
from sledsim.show.naming import with_count
from sledsim.show.shown import OneTable, Plain
from sledsim.show.tables import Table, number
from sledsim.sweep.execution import FAILED
from sledsim.sweep.measures import WITHOUT_CONTROLS
from sledsim.sweep.parts import StoreError
from sledsim.sweep.store import LOG, Store
from sledsim.sweep.tables import Definition

if TYPE_CHECKING:
    import altair
    import duckdb

__all__ = [
    "DEFAULT_METRICS",
    "Estimate",
    "Overload",
    "Results",
    "estimate",
    "metric_label",
    "results",
    "without_interval",
]

#: Default metrics of tables, if they were measured.
DEFAULT_METRICS = ("response.mean_ms", "response.p99_ms", "throughput.requests_per_s", "energy.per_request_mj")

LABELS = {key: label for label, key in METRICS}

#: Metrics that grow with the length of a run in which the system cannot keep up with its load.
GROWING = tuple(f"{of}{time}." for of in ("", "reads.", "writes.") for time in ("response", "wait"))
GROWING += ("queue.", "in_system.")

#: Maximum number of overloaded points in a note.
MOST_LISTED = 5


@dataclass(frozen=True)
class Estimate:
    """A mean over replications.

    Parameters
    ----------
    mean
        The mean.
    low
        Lower end of its 95 % confidence interval; ``None`` with fewer than two replications, or if the system cannot
        keep up with its load and the metric grows with the length of the run.
    high
        Upper end of the interval.
    count
        Number of replications.
    """

    mean: float
    low: float | None
    high: float | None
    count: int

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean of independent values and its 95 % confidence interval by Student's t.

    Parameters
    ----------
    values
        At least one value.
    """
    count = len(values)
    if count < 2:
        return without_interval(values)
    around = mean_interval(values)
    return Estimate(around.mean, around.low, around.high, count)


def without_interval(values: Sequence[float]) -> Estimate:
    """Return the mean of values without a confidence interval.

    Parameters
    ----------
    values
        At least one value.
    """
    return Estimate(fmean(values), None, None, len(values))


@dataclass(frozen=True)
class Overload:
    """The rates of an overloaded point with open arrivals.

    Parameters
    ----------
    offered_per_s
        Arrived requests per second, mean over the overloaded replications.
    served_per_s
        Completed requests per second.
    """

    offered_per_s: float
    served_per_s: float

    def __str__(self) -> str:
        return f"{number(self.offered_per_s)}/s offered, {number(self.served_per_s)}/s served"


def metric_label(metric: str) -> str:
    """Return the label of a metric in tables and charts.

    Parameters
    ----------
    metric
        Path of the metric in the summary.
    """
    return LABELS.get(metric, metric)


class Results(OneTable, Plain):
    """The results of one sweep in a store.

    Parameters
    ----------
    store
        The store.
    definition
        The sweep.
    """

    def __init__(self, store: Store, definition: Definition) -> None:
        self.store = store
        self.definition = definition
        self._points: dict[int, dict[str, str]] = {}
        self._numbers: dict[tuple[str, str], float] = {}
        #: Keys of the runs in the store, by point and replication.
        self.keys: dict[tuple[int, int], str] = {}
        failed: set[str] = set()
        rows = store.rows(
            "SELECT point, replication, key, parameter, value, number, status FROM parameters JOIN runs USING (key) "
            "WHERE definition = ? AND replication < ? ORDER BY ALL",
            [definition.definition, definition.replications],
        )
        for point, replication, key, parameter, value, value_number, status in rows:
            if status == FAILED:
                failed.add(key)
            self.keys[point, replication] = key
            values = self._points.setdefault(point, {})
            if parameter is not None:
                values[parameter] = value
            if value_number is not None:
                self._numbers[parameter, value] = value_number
        #: Number of failed runs.
        self.failed = sum(key in failed for key in self.keys.values())

    @property
    def parameters(self) -> list[str]:
        """The varied parameters, in the order of the sweep."""
        return self.definition.parameters

    @property
    def points(self) -> dict[int, dict[str, str]]:
        """The values of the axes at each point with runs in the store."""
        return self._points

    @property
    def missing(self) -> int:
        """Number of runs of the sweep that are not in the store."""
        return self.definition.runs - len(self.keys)

    def number(self, parameter: str, value: str) -> float | None:
        """Return a value of an axis as a number; ``None`` if it is not a number.

        Parameters
        ----------
        parameter
            The axis.
        value
            The value, as in tables.
        """
        return self._numbers.get((parameter, value))

    def metrics(self) -> list[str]:
        """Return the measured metrics, sorted by name."""
        rows = self.store.rows(
            # Without removing repeated rows, which takes much memory.
            "SELECT DISTINCT metric FROM all_metrics SEMI JOIN (SELECT key FROM parameters WHERE definition = ?) "
            "USING (key) ORDER BY metric",
            [self.definition.definition],
        )
        return [metric for (metric,) in rows]

    def values(self, metric: str) -> dict[tuple[int, int], float]:
        """Return a metric of every run by point and replication; runs without the metric are left out.

        Parameters
        ----------
        metric
            Path of the metric in the summary, such as ``response.mean_ms``.
        """
        require_kind(StoreError, "metric", metric, str, "the path of a metric in the summary, such as response.mean_ms")
        rows = self.store.rows("SELECT key, value FROM metrics WHERE metric = ?", [metric])
        found = dict(rows)
        if len(found) < len(rows):
            self.store.refuse_contradictions(f"metric = {sql_literal(metric)}")
        values = {place: found[key] for place, key in self.keys.items() if key in found}
        if not values and self.keys:
            known = self.metrics()
            if known and metric not in known:
                raise _unknown_metric(metric, known, self.store.path)
        return values

    @cached_property
    def overloads(self) -> dict[int, Overload]:
        """The points at which the system cannot keep up with its load in at least one replication."""
        names = ("overload.offered_per_s", "overload.served_per_s")
        rows = self.store.rows("SELECT key, metric, value FROM metrics WHERE metric IN (?, ?)", list(names))
        found = {(key, metric): value for key, metric, value in rows}
        by_point: dict[int, list[tuple[float, ...]]] = {}
        for (point, _), key in self.keys.items():
            if (key, names[0]) in found:
                by_point.setdefault(point, []).append(tuple(found[key, name] for name in names))
        return {point: Overload(*map(fmean, zip(*rates, strict=True))) for point, rates in sorted(by_point.items())}

    def grows(self, metric: str, point: int) -> bool:
        """Return true if a metric grows with the length of the runs at a point, because the system is overloaded there.

        Parameters
        ----------
        metric
            Path of the metric in the summary.
        point
            Number of the point.
        """
        return metric.startswith(GROWING) and point in self.overloads

    def estimates(self, metric: str) -> dict[int, Estimate]:
        """Return the mean of a metric over the replications of each point, with its confidence interval.

        Parameters
        ----------
        metric
            Path of the metric in the summary.
        """
        by_point: dict[int, list[float]] = {}
        for (point, _), value in sorted(self.values(metric).items()):
            by_point.setdefault(point, []).append(value)
        return {
            point: without_interval(values) if self.grows(metric, point) else estimate(values)
            for point, values in by_point.items()
        }

    def rows(self, metrics: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Return a row for each point: values of the axes, overload, and mean and interval of each metric.

        Parameters
        ----------
        metrics
            Paths of the metrics in the summary; by default ``DEFAULT_METRICS``.
        """
        estimates = {metric: self.estimates(metric) for metric in self._chosen_metrics(metrics)}
        replications = Counter(point for point, _ in self.keys)
        return [
            {
                "point": point,
                "values": values,
                "overload": self.overloads[point].__dict__ if point in self.overloads else None,
                "replications": replications[point],
                "metrics": {
                    metric: found[point].__dict__ if point in found else None for metric, found in estimates.items()
                },
            }
            for point, values in sorted(self._points.items())
        ]

    def _chosen_metrics(self, metrics: Sequence[str]) -> list[str]:
        if metrics:
            return list(metrics)
        known = set(self.metrics())
        return [metric for metric in DEFAULT_METRICS if metric in known]

    def table(self, metrics: Sequence[str] = ()) -> Table:
        """Return a table of the points; ± is the half-width of the 95 % confidence interval over replications.

        Parameters
        ----------
        metrics
            Paths of the metrics in the summary; by default ``DEFAULT_METRICS``.
        """
        chosen = self._chosen_metrics(metrics)
        with_interval = self.definition.replications > 1
        headers = [*(self.parameters or ["point"]), "runs"]
        for metric in chosen:
            headers += [metric_label(metric), "95 % ±"] if with_interval else [metric_label(metric)]
        rows = []
        for row in self.rows(chosen):
            cells = [row["values"].get(parameter, "") for parameter in self.parameters] or [str(row["point"])]
            cells.append(str(row["replications"]))
            for metric in chosen:
                found = row["metrics"][metric]
                mean = found and Estimate(**found)
                cells.append(number(float(mean.mean)) if mean else "–")
                if with_interval:
                    cells.append(number(mean.half_width, 2) if mean else "–")
            rows.append(cells)
        left = frozenset(i for i, parameter in enumerate(self.parameters) if not self.is_numeric(parameter))
        names = max(len(self.parameters), 1)
        notes = self._overload_notes()
        if runs := self._runs_with_failed_requests():
            notes.append(f"some requests failed in {with_count(runs, 'run')} (metric requests.failed)")
        if self.keys and not any(metric.startswith("energy.") for metric in self.metrics()):
            notes.append(NO_ENERGY)
        return Table(headers, rows, title=self._heading(), left=left, names=names, notes=notes)

    def _runs_with_failed_requests(self) -> int:
        rows = self.store.rows("SELECT key FROM metrics WHERE metric = 'requests.failed' AND value > 0")
        found = {key for (key,) in rows}
        return sum(key in found for key in self.keys.values())

    def _overload_notes(self) -> list[str]:
        """Return notes on the points at which the system cannot keep up with its load."""
        notes = []
        for point, overload in list(self.overloads.items())[:MOST_LISTED]:
            named = ", ".join(f"{name} = {value}" for name, value in self._points[point].items()) or f"point {point}"
            notes.append(f"cannot keep up: {overload} ({named})")
        others = len(self.overloads) - len(notes)
        return [*notes, f"cannot keep up: {with_count(others, 'more point')}"] if others else notes

    def _heading(self) -> str:
        text = f"{self.definition.sweep}: {len(self.keys):,} of {self.definition.runs:,} runs"
        text += f", {self.failed:,} failed" if self.failed else ""
        return f"INCOMPLETE ({self.missing:,} runs are missing)\n{text}" if self.missing else text

    def warn_if_incomplete(self) -> None:
        """Log a warning if runs of the sweep are missing."""
        if self.missing:
            name, runs = self.definition.sweep, self.definition.runs
            LOG.warning("%s: INCOMPLETE: %d of %d runs of %s are missing", self.store.path, self.missing, runs, name)

    def is_numeric(self, parameter: str) -> bool:
        """Return true if all values of an axis are numbers.

        Parameters
        ----------
        parameter
            The axis.
        """
        return parameter not in self._parameters_with_text

    @cached_property
    def _parameters_with_text(self) -> set[str]:
        """The parameters of which some value is no number."""
        named = {item for point in self._points.values() for item in point.items()}
        return {parameter for parameter, value in named if (parameter, value) not in self._numbers}

    def to_dict(self, metrics: Sequence[str] = ()) -> dict[str, Any]:
        """Return the points as plain values.

        Parameters
        ----------
        metrics
            Paths of the metrics in the summary; by default ``DEFAULT_METRICS``.
        """
        return {
            "sweep": self.definition.sweep,
            "definition": self.definition.definition,
            "parameters": self.parameters,
            "runs": self.definition.runs,
            "there": len(self.keys),
            "points": self.rows(metrics),
        }

    def relation(self, metrics: Sequence[str] = ()) -> "duckdb.DuckDBPyRelation":
        """Return a row for each run as a DuckDB relation: point, replication, seed, values of the axes, and metrics.

        Parameters
        ----------
        metrics
            Paths of the metrics in the summary, such as ``response.mean_ms``; all if empty.
        """
        from sledsim.sweep.exporting import runs_query

        self.warn_if_incomplete()
        return self.store.query(runs_query(self, metrics))

    def __repr__(self) -> str:
        return f"<Results of {self._heading()}>"

    def export(self, path: str | Path, metrics: Sequence[str] = ()) -> None:
        """Write a row for each run: point, replication, seed, values of the axes, and metrics.

        Parameters
        ----------
        path
            The file, with suffix ``.parquet``, ``.csv`` or ``.json``.
        metrics
            Paths of the metrics in the summary; all if empty.
        """
        from sledsim.sweep.exporting import write_runs

        self.warn_if_incomplete()
        write_runs(self, Path(path), metrics)

    def plot(
        self,
        metric: str = DEFAULT_METRICS[0],
        *,
        x: str | None = None,
        colour: str | None = None,
        facet: str | None = None,
        log_scale: bool = False,
    ) -> "altair.TopLevelMixin":
        """Draw a metric over an axis, with a band for the 95 % confidence interval over replications.

        Parameters
        ----------
        metric
            Path of the metric in the summary.
        x
            The horizontal axis; by default, the first numeric one.
        colour
            The axis shown by colours.
        facet
            The axis with a panel for each value.
        log_scale
            True for a logarithmic axis of the metric.
        """
        from sledsim.sweep.chart import sweep_chart

        self.warn_if_incomplete()
        return sweep_chart(self, metric, x=x, colour=colour, facet=facet, log_scale=log_scale)


def results(store: str | Path | Store, sweep: str | None = None) -> Results:
    """Read the results of a sweep.

    Parameters
    ----------
    store
        The store, or its folder.
    sweep
        Name of the sweep; may be left out if the store has only one.
    """
    place = store if isinstance(store, Store) else Store(store)
    return Results(place, place.definition(sweep))


def require_axis(known: Sequence[str], given: str, what: str) -> None:
    """Raise if a sweep does not have an axis.

    Parameters
    ----------
    known
        The axes of the sweep.
    given
        The name of the axis.
    what
        The name of the argument in messages.
    """
    if given not in known:
        message: Sentence = [(what,), f" {given!r} is not an axis of the sweep"]
        raise make_error(StoreError, "unknown-name", message, path=what, value=given, known=known)


def _unknown_metric(metric: str, known: Sequence[str], store: Path) -> StoreError:
    """Return the error for an unknown metric, which suggests a few similar ones, as there are many."""
    from sledsim._core import most_like

    if metric.startswith("controlled_response."):
        message = f"no run has metric {metric!r}{WITHOUT_CONTROLS}"
        return make_error(StoreError, "missing", message, path="metric", value=metric, file=store)
    near = most_like(metric, list(known), 5)
    message, listed = f"no metric {metric!r}", f"{len(known)} are known, such as {', '.join(near)}"
    return make_error(
        StoreError, "unknown-name", message, path="metric", value=metric, known=known, listed=listed, file=store
    )


def common_values(values: Mapping[str, str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the values of some axes at a point.

    Parameters
    ----------
    values
        Values of all axes.
    names
        Names of the axes.
    """
    return tuple(values.get(name, "") for name in names)
