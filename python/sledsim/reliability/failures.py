"""Numbers of device failures within a time, and of the repairs they require: equation 1 of hong2006."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sledsim.reliability.beyond_chains import needs_simulation
from sledsim.reliability.curves import spread, times_of, whole_years
from sledsim.reliability.description import Description, ReliabilityError
from sledsim.reliability.durability import MOST_FAILURES, failures_at_most, more_repairs_than, unrepaired_survival
from sledsim.reliability.duration import YEAR_H, Duration
from sledsim.reliability.maintenance import STRATEGIES, with_strategy
from sledsim.reliability.reading import DescriptionLike, Sets, load
from sledsim.reliability.shown import Shown
from sledsim.reliability.wording import devices_text, duration_text, years_text
from sledsim.show.arguments import require_integer, require_several
from sledsim.show.faults import make_error
from sledsim.show.tables import Table, number

if TYPE_CHECKING:
    import altair
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FailureCounts", "failure_counts"]

#: The default numbers of failures go at least up to this.
FAILURES = 6


class FailureCounts(Shown):
    """Probabilities of at most k device failures over time; created by :func:`failure_counts`.

    Parameters
    ----------
    rows
        ``failures`` (k), ``years``, ``probability`` of at most k failures.
    repairs
        ``need``, ``years``, ``probability`` that the failures require this number of repairs.
    subtitle
        Summary of the enclosure.
    """

    title = "Failures of devices"

    def __init__(self, rows: Sequence[dict[str, Any]], repairs: Sequence[dict[str, Any]], subtitle: str) -> None:
        self.rows = list(rows)
        self.repairs = list(repairs)
        self.subtitle = subtitle

    def tables(self) -> list[Table]:
        """Return tables of the probabilities at whole years and at the last time."""
        counts = _table("failures", "failures", self.rows, lambda count: f"up to {count}" if count else "none")
        needs = _table("repairs", "need", self.repairs, str)
        return [Table(counts.headers, counts.rows, title=f"{self.title} · {self.subtitle}"), needs]

    def to_dict(self) -> dict[str, Any]:
        """Return the probabilities as plain values."""
        return {"title": self.title, "subtitle": self.subtitle, "rows": self.rows, "repairs": self.repairs}

    def plot(self) -> "altair.TopLevelMixin":
        """Draw the probabilities over time."""
        from sledsim.reliability.charts import failure_lines

        return failure_lines(self)


def failure_counts(
    source: DescriptionLike,
    *,
    failures: Sequence[int] | None = None,
    years: float = 5.0,
    overrides: Sets = (),
) -> FailureCounts:
    """Compute probabilities of numbers of device failures and required repairs: equation 1 and Figure 5 of hong2006.

    Rebuilds and repairs are assumed instantaneous.

    Parameters
    ----------
    source
        As for :func:`sledsim.reliability.load`; its own repair strategy is ignored.
    failures
        Numbers of failures; by default, up to the number that the enclosure survives without repair, and at least up to
        six.
    years
        Length of the curves, above 0.
    overrides
        Values that replace those of the description.

    Raises
    ------
    ReliabilityError
        If the description is invalid, or the number of devices that can fail is not constant.

    Examples
    --------
    >>> found = failure_counts({
    ...     "enclosure": {"data": 19, "parity": 1, "spares": 3},
    ...     "device": {"mttf": "200000 h"},
    ...     "rebuild": {"time": "15 min"},
    ... })
    >>> {row["need"]: round(row["probability"], 3) for row in found.repairs if row["years"] == 5}
    {'none to survive': 0.555, 'more than one, preventive': 0.154, 'more than one, mandatory': 0.035}
    """
    description = load(source, overrides=overrides)
    for key in needs_simulation(description):
        if key.startswith("device."):
            message = f"{key}: equation 1 holds for devices that fail at a constant rate"
            raise make_error(ReliabilityError, "unsupported", message, path=key)
    enclosure = description.enclosure
    times = times_of(years)
    needs = _needs(description, times * YEAR_H)
    counts = spread(max(FAILURES, enclosure.spares + enclosure.parity))
    if failures is not None:
        several = require_several(ReliabilityError, "failures", failures, "numbers of failures, such as [0, 1, 2]")
        counts = [require_integer(ReliabilityError, "failures", each, 0, MOST_FAILURES) for each in several]
    mttf_h = description.device.mttf.h
    chances = {count: failures_at_most(count, enclosure.devices, mttf_h, times * YEAR_H) for count in counts}
    subtitle = f"{devices_text(description)}, device MTTF {duration_text(description.device.mttf)}"
    return FailureCounts(_rows("failures", chances, times), _rows("need", needs, times), subtitle)


def _needs(description: Description, hours: "NDArray[np.float64]") -> "dict[str, NDArray[np.float64]]":
    """Return the probabilities that no repair is needed, and that each strategy needs more than one."""
    found = {"none to survive": unrepaired_survival(description, hours)}
    # The time to a repair has no effect, but a strategy requires one.
    any_time = Duration("1 h")
    for strategy in STRATEGIES:
        repaired = with_strategy(description, strategy, preventive=any_time, mandatory=any_time)
        found[f"more than one, {strategy}"] = more_repairs_than(repaired, 1, hours)
    return found


def _rows(key: str, chances: "dict[Any, NDArray[np.float64]]", times: "NDArray[np.float64]") -> list[dict[str, Any]]:
    return [
        {key: what, "years": float(at), "probability": float(chance)}
        for what, curve in chances.items()
        for at, chance in zip(times, curve, strict=True)
    ]


def _table(header: str, key: str, rows: Sequence[dict[str, Any]], label: Callable[[Any], str]) -> Table:
    """Return a table of probabilities at whole years, with a row for each value of ``key``."""
    times = sorted({row["years"] for row in rows})
    chosen = [times[mark] for mark in whole_years(times)]
    found = {(row[key], row["years"]): row["probability"] for row in rows}
    lines = [
        [label(what), *(number(found[what, at]) for at in chosen)] for what in dict.fromkeys(row[key] for row in rows)
    ]
    return Table([header, *(years_text(round(at, 3)) for at in chosen)], lines)
