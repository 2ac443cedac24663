"""Paired comparison of two sides of an experiment: common random numbers reduce the variance of differences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sledsim.runs.summary_tables import NO_ENERGY
from sledsim.show.arguments import require_kind, require_several
from sledsim.show.faults import Sentence, brief, make_error
from sledsim.show.shown import OneTable, Plain
from sledsim.show.tables import Table, number
from sledsim.sweep.parts import StoreError
from sledsim.sweep.result_set import (
    Estimate,
    Results,
    common_values,
    estimate,
    metric_label,
    require_axis,
    without_interval,
)

__all__ = ["Difference", "PairedComparison", "Side", "compare_pairs"]

#: Label of the mean over all points.
ALL_POINTS = "all points"

#: Default metrics; fewer than in a table of one sweep, as each has its own rows.
DEFAULT_METRICS = ("response.mean_ms", "response.p99_ms", "energy.per_request_mj")

#: Relative rounding error of sums in different order.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Difference:
    """The difference of a metric between both sides at a point.

    Parameters
    ----------
    values
        Values of the shared axes; ``None`` for the mean over all points.
    metric
        Path of the metric in the summary.
    a
        Mean of the first side over the pairs.
    b
        Mean of the second side.
    difference
        Mean difference of the pairs, second minus first, with its 95 % confidence interval by Student's t.
    overloaded
        The sides, ``"A"`` or ``"B"``, that cannot keep up with their load, if the metric then grows with the length of
        the runs; in this case there is no interval.
    """

    values: dict[str, str] | None
    metric: str
    a: float
    b: float
    difference: Estimate
    overloaded: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """The conclusion: B is lower, B is higher, the same, may be chance; or the reason why there is no interval."""
        if self.overloaded:
            return f"{' and '.join(self.overloaded)} cannot keep up"
        low, high = self.difference.low, self.difference.high
        if low is None or high is None:
            return "one pair: no interval"
        if max(abs(low), abs(high)) <= ROUNDING * max(abs(self.a), abs(self.b)):
            return "the same"
        return "B is lower" if high < 0 else "B is higher" if low > 0 else "may be chance"

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain values."""
        return {
            "values": self.values,
            "metric": self.metric,
            "pairs": self.difference.count,
            "a": self.a,
            "b": self.b,
            "difference": self.difference.mean,
            "ci95_low": self.difference.low,
            "ci95_high": self.difference.high,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Side:
    """One side: the runs of a sweep, or those at one value of an axis.

    Parameters
    ----------
    results
        The sweep.
    name
        The name in tables.
    chosen
        Values of axes that select the runs of this side.
    """

    results: Results
    name: str
    chosen: Mapping[str, str]

    def places(self, shared: Sequence[str]) -> dict[tuple[tuple[str, ...], int], tuple[int, int]]:
        """Return point and replication of each run by the values of the shared axes and the seed.

        Parameters
        ----------
        shared
            The axes.
        """
        seeds = dict(self.results.store.rows("SELECT key, seed FROM runs"))
        found: dict[tuple[tuple[str, ...], int], tuple[int, int]] = {}
        for place, key in self.results.keys.items():
            values = self.results.points[place[0]]
            if any(values.get(name) != value for name, value in self.chosen.items()):
                continue
            identity = (common_values(values, shared), seeds[key])
            if identity in found:
                own = [name for name in self.results.parameters if name not in shared and name not in self.chosen]
                message = (
                    f"{self.name}: several runs match one run of the other side, as only this side varies "
                    f"{', '.join(own)}"
                )
                raise make_error(StoreError, "conflict", message, value=own)
            found[identity] = place
        return found


class PairedComparison(OneTable, Plain):
    """A paired comparison of two sides of an experiment.

    Two runs form a pair if the values of the shared axes and the seeds are equal.

    Parameters
    ----------
    a
        The first side.
    b
        The second side; differences are second minus first.

    Raises
    ------
    StoreError
        If there are no pairs.
    """

    def __init__(self, a: Side, b: Side) -> None:
        self.a, self.b = a, b
        others = set(b.results.parameters) - set(b.chosen)
        self.shared = [name for name in a.results.parameters if name in others and name not in a.chosen]
        first, second = a.places(self.shared), b.places(self.shared)
        #: Point and replication of both runs of each pair, by the values of the shared axes.
        self.pairs: dict[tuple[str, ...], list[tuple[tuple[int, int], tuple[int, int]]]] = {}
        for identity in sorted(first.keys() & second.keys(), key=lambda identity: first[identity]):
            self.pairs.setdefault(identity[0], []).append((first[identity], second[identity]))
        if not self.pairs:
            self._explain_no_pairs(first, second)
        self.unpaired = len(first.keys() ^ second.keys())

    def _explain_no_pairs(self, first: Mapping[Any, Any], second: Mapping[Any, Any]) -> None:
        for side, found in ((self.a, first), (self.b, second)):
            if not found:
                raise make_error(StoreError, "missing", f"{side.name}: no runs to compare", value=side.name)
        if {values for values, _ in first} & {values for values, _ in second}:
            message = (
                f"{self.a.name} and {self.b.name} have no seeds in common, so no two runs make a pair: run both with "
                'random_numbers = "common" and the same seed'
            )
            raise make_error(StoreError, "conflict", message, path="sweep.seed")
        raise make_error(StoreError, "conflict", f"{self.a.name} and {self.b.name} have no points in common")

    def differences(self, metrics: Sequence[str] = ()) -> list[Difference]:
        """Return the differences of metrics at each point, and their means over all points.

        Parameters
        ----------
        metrics
            Paths of the metrics in the summary; by default ``DEFAULT_METRICS``.
        """
        found = []
        for metric in metrics or self._known():
            first, second = self.a.results.values(metric), self.b.results.values(metric)
            by_point: dict[tuple[str, ...], list[tuple[float, float]]] = {}
            overloaded: set[str] = set()
            for values, pairs in self.pairs.items():
                measured = [(first[one], second[other]) for one, other in pairs if one in first and other in second]
                if measured:
                    by_point[values] = measured
                    named = dict(zip(self.shared, values, strict=True))
                    overloads = self._overloaded(metric, pairs)
                    found.append(_difference(named, metric, measured, overloads))
                    overloaded |= overloads
            means = self._over_all(by_point)
            if means:
                found.append(_difference(None, metric, means, overloaded))
        if not found:
            message = (
                f"{self.a.name} and {self.b.name}: no pair of runs is complete; "
                "`sledsim sweep status` lists failed runs"
            )
            raise make_error(
                StoreError,
                "missing",
                message,
            )
        return found

    def _overloaded(self, metric: str, pairs: Sequence[tuple[tuple[int, int], tuple[int, int]]]) -> set[str]:
        """Return the sides that cannot keep up with their load in some pair, if the metric then grows with the run."""
        sides = zip("AB", (self.a, self.b), zip(*pairs, strict=True), strict=True)
        return {name for name, side, places in sides if any(side.results.grows(metric, point) for point, _ in places)}

    def _known(self) -> list[str]:
        known = set(self.a.results.metrics()) & set(self.b.results.metrics())
        return [metric for metric in DEFAULT_METRICS if metric in known]

    def _over_all(self, by_point: Mapping[tuple[str, ...], list[tuple[float, float]]]) -> list[tuple[float, float]]:
        """Return the means over all points for each replication, which are independent of each other."""
        counts = {len(pairs) for pairs in by_point.values()}
        if len(by_point) < 2 or len(counts) > 1:
            return []
        rows = zip(*by_point.values(), strict=True)
        return [(sum(a for a, _ in row) / len(row), sum(b for _, b in row) / len(row)) for row in rows]

    def table(self, metrics: Sequence[str] = ()) -> Table:
        """Return a table of the differences.

        Parameters
        ----------
        metrics
            Paths of the metrics in the summary; by default ``DEFAULT_METRICS``.
        """
        rows = []
        for each in self.differences(metrics):
            points = list(each.values.values()) if each.values is not None else [ALL_POINTS, *[""] * len(self.shared)]
            ratio = f"×{each.b / each.a:.3f}" if each.a else "–"
            figures = [number(float(value)) for value in (each.a, each.b, each.difference.mean)]
            half = number(each.difference.half_width, 2)
            cells = points[: len(self.shared)] or [ALL_POINTS]
            rows.append(
                [*cells, metric_label(each.metric), str(each.difference.count), *figures, half, ratio, each.verdict]
            )
        headers = [*(self.shared or [""]), "metric", "pairs", "A", "B", "B − A", "95 % ±", "ratio", "verdict"]
        title = f"A: {self.a.name}\nB: {self.b.name}"
        if self.unpaired:
            title += f"\n{self.unpaired:,} runs have no partner and are left out"
        known = (metric for side in (self.a, self.b) for metric in side.results.metrics())
        notes = [] if any(metric.startswith("energy.") for metric in known) else [NO_ENERGY]
        left = frozenset({len(headers) - 8, len(headers) - 1})
        return Table(headers, rows, title=title, left=left, names=len(headers) - 7, notes=notes)

    def to_dict(self, metrics: Sequence[str] = ()) -> dict[str, Any]:
        """Return the differences as plain values.

        Parameters
        ----------
        metrics
            Paths of the metrics in the summary; by default ``DEFAULT_METRICS``.
        """
        return {
            "a": self.a.name,
            "b": self.b.name,
            "unpaired": self.unpaired,
            "differences": [each.to_dict() for each in self.differences(metrics)],
        }


def _difference(
    values: dict[str, str] | None, metric: str, pairs: Sequence[tuple[float, float]], overloaded: set[str]
) -> Difference:
    count = len(pairs)
    a, b = (sum(side) / count for side in zip(*pairs, strict=True))
    differences = [second - first for first, second in pairs]
    found = without_interval(differences) if overloaded else estimate(differences)
    return Difference(values, metric, a, b, found, tuple(sorted(overloaded)))


def compare_pairs(
    first: Results, second: Results | None = None, *, axis: tuple[str, str, str] | None = None
) -> PairedComparison:
    """Compare two sweeps at the points that they share, or two values of an axis of one sweep.

    Parameters
    ----------
    first
        The first side, or the sweep with both sides.
    second
        The second side.
    axis
        Instead of ``second``: an axis of the first sweep, and its values on both sides, as in tables.
    """
    for name, side in (("first", first), ("second", second)):
        if side is not None or name == "first":
            require_kind(StoreError, name, side, Results, "the results of a sweep")
    if second is not None and axis is None:
        return PairedComparison(
            *(Side(each, f"{each.definition.sweep} in {each.store.path}", {}) for each in (first, second))
        )
    if second is not None or axis is None:
        message: Sentence = "two sides are compared: give a second sweep, or axis = (name, first value, second value)"
        raise make_error(StoreError, "missing", message, path="axis")
    parts = require_several(StoreError, "axis", axis, "(name, first value, second value)")
    if len(parts) != 3 or not all(isinstance(each, str) for each in parts):
        message = f": expected three texts, (name, first value, second value) (got {brief(axis)[0]})"
        raise make_error(StoreError, "wrong-type", message, path="axis", value=brief(axis)[0])
    name, *values = parts
    require_axis(first.parameters, name, "axis")
    known = list(dict.fromkeys(point[name] for point in first.points.values() if name in point))
    for value in values:
        if value not in known:
            message = [("axis",), f" {name}: no runs with {value!r}"]
            raise make_error(StoreError, "unknown-name", message, path="axis", value=value, known=known)
    return PairedComparison(*(Side(first, f"{name} = {value}", {name: value}) for value in values))
