"""Two sides of an experiment compared run by run: with common random numbers, most of what is chance cancels."""

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

#: Label of all points together.
ALL_POINTS = "all points"

#: Differences are tables of their own: fewer metrics than a table of one sweep has.
DEFAULT_METRICS = ("response.mean_ms", "response.p99_ms", "energy.per_request_mj")

#: Relative difference of sums taken in another order: some thousand roundings of a double.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Difference:
    """How much a metric differs between both sides at a point.

    Parameters
    ----------
    values
        What the axes say that both sides share; ``None`` for all points together.
    metric
        Its path in the summary.
    a
        Mean of the first side over the pairs.
    b
        Mean of the second.
    difference
        Of the pairs, second less first, with its 95 % confidence interval by Student's t.
    overloaded
        The sides, of ``"A"`` and ``"B"``, that cannot keep up with their load where the metric grows with the length of
        the runs; there is no interval then.
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
        What tables call it.
    chosen
        What axes have to say for a run to be of this side.
    """

    results: Results
    name: str
    chosen: Mapping[str, str]

    def places(self, shared: Sequence[str]) -> dict[tuple[tuple[str, ...], int], tuple[int, int]]:
        """Return point and replication of each run by what the shared axes say and the run's seed.

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
                says = (
                    f"{self.name}: several runs fit the same one of the other side, as only this side varies "
                    f"{', '.join(own)}"
                )
                raise make_error(StoreError, "conflict", says, value=own)
            found[identity] = place
        return found


class PairedComparison(OneTable, Plain):
    """Two sides of an experiment, compared run by run.

    Runs make a pair where the axes that both sides have say the same and the seeds are the same.

    Parameters
    ----------
    a
        The first side.
    b
        The second; differences are this one less the first.

    Raises
    ------
    StoreError
        Where no two runs make a pair.
    """

    def __init__(self, a: Side, b: Side) -> None:
        self.a, self.b = a, b
        others = set(b.results.parameters) - set(b.chosen)
        self.shared = [name for name in a.results.parameters if name in others and name not in a.chosen]
        first, second = a.places(self.shared), b.places(self.shared)
        #: Places of both runs of each pair, by what the shared axes say.
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
            says = (
                f"{self.a.name} and {self.b.name} have no seeds in common, so no two runs make a pair: run both with "
                'random_numbers = "common" and the same seed'
            )
            raise make_error(StoreError, "conflict", says, path="sweep.seed")
        raise make_error(StoreError, "conflict", f"{self.a.name} and {self.b.name} have no points in common")

    def differences(self, metrics: Sequence[str] = ()) -> list[Difference]:
        """Return how much metrics differ at each point, and over all points together.

        Parameters
        ----------
        metrics
            Their paths in the summary; some of general interest otherwise.
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
            whole = self._over_all(by_point)
            if whole:
                found.append(_difference(None, metric, whole, overloaded))
        if not found:
            says = (
                f"{self.a.name} and {self.b.name}: no two runs that make a pair have both been done; "
                "`sledsim sweep status` says what failed"
            )
            raise make_error(
                StoreError,
                "missing",
                says,
            )
        return found

    def _overloaded(self, metric: str, pairs: Sequence[tuple[tuple[int, int], tuple[int, int]]]) -> set[str]:
        """Return the sides that cannot keep up with their load at some of the pairs, if the metric grows then."""
        sides = zip("AB", (self.a, self.b), zip(*pairs, strict=True), strict=True)
        return {name for name, side, places in sides if any(side.results.grows(metric, point) for point, _ in places)}

    def _known(self) -> list[str]:
        known = set(self.a.results.metrics()) & set(self.b.results.metrics())
        return [metric for metric in DEFAULT_METRICS if metric in known]

    def _over_all(self, by_point: Mapping[tuple[str, ...], list[tuple[float, float]]]) -> list[tuple[float, float]]:
        """Return the means over all points of each replication: these are independent, whatever the points share."""
        counts = {len(pairs) for pairs in by_point.values()}
        if len(by_point) < 2 or len(counts) > 1:
            return []
        rows = zip(*by_point.values(), strict=True)
        return [(sum(a for a, _ in row) / len(row), sum(b for _, b in row) / len(row)) for row in rows]

    def table(self, metrics: Sequence[str] = ()) -> Table:
        """Return the differences as a table.

        Parameters
        ----------
        metrics
            Their paths in the summary; some of general interest otherwise.
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
            Their paths in the summary; some of general interest otherwise.
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
        The first side, or the sweep that has both.
    second
        The second side.
    axis
        In its place: an axis of the first sweep, and its values of both sides, as tables show them.
    """
    for name, side in (("first", first), ("second", second)):
        if side is not None or name == "first":
            require_kind(StoreError, name, side, Results, "the results of a sweep")
    if second is not None and axis is None:
        return PairedComparison(
            *(Side(each, f"{each.definition.sweep} in {each.store.path}", {}) for each in (first, second))
        )
    if second is not None or axis is None:
        says: Sentence = "two sides are compared: give a second sweep, or axis = (name, first value, second value)"
        raise make_error(StoreError, "missing", says, path="axis")
    asked = require_several(StoreError, "axis", axis, "(name, first value, second value)")
    if len(asked) != 3 or not all(isinstance(each, str) for each in asked):
        says = f": expected three texts, (name, first value, second value) (got {brief(axis)[0]})"
        raise make_error(StoreError, "wrong-type", says, path="axis", value=brief(axis)[0])
    name, *values = asked
    require_axis(first.parameters, name, "axis")
    known = list(dict.fromkeys(point[name] for point in first.points.values() if name in point))
    for value in values:
        if value not in known:
            says = [("axis",), f" {name}: no runs with {value!r}"]
            raise make_error(StoreError, "unknown-name", says, path="axis", value=value, known=known)
    return PairedComparison(*(Side(first, f"{name} = {value}", {name: value}) for value in values))
