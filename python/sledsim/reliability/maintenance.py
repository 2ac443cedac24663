"""MTTF of enclosures by maintenance strategy, number of spares and mean time to a repair."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sledsim.reliability.curves import spare_counts, spares_of
from sledsim.reliability.description import Description, ReliabilityError
from sledsim.reliability.duration import YEAR_H, Duration, NoDurationError
from sledsim.reliability.models import mttf_h
from sledsim.reliability.reading import DescriptionLike, Sets, load
from sledsim.reliability.shown import Shown
from sledsim.reliability.wording import device_count_text, duration_text
from sledsim.show.arguments import require_several
from sledsim.show.faults import make_error
from sledsim.show.naming import with_count
from sledsim.show.tables import Table, number

if TYPE_CHECKING:
    import altair

__all__ = ["REPAIR_TIMES", "STRATEGIES", "MttfByMaintenance", "mttf_by_maintenance", "with_strategy"]

#: Mean times to a repair in hong2006, section 3.2.2.
REPAIR_TIMES = ("1 day", "1 week", "2 weeks", "1 month", "3 months")
STRATEGIES = ("preventive", "mandatory")


class MttfByMaintenance(Shown):
    """MTTFs by strategy, spares and mean time to a repair.

    Parameters
    ----------
    rows
        ``strategy``, ``spares``, ``repair`` (text), ``repair_h``, ``mttf_h``, ``mttf_years``; without repair,
        ``repair`` and ``repair_h`` are ``None``.
    subtitle
        Summary of the enclosure.
    """

    title = "MTTF under maintenance"

    def __init__(self, rows: Sequence[dict[str, Any]], subtitle: str) -> None:
        self.rows = list(rows)
        self.subtitle = subtitle

    def tables(self) -> list[Table]:
        """Return a table of MTTFs in years for each strategy."""
        counts = list(dict.fromkeys(row["spares"] for row in self.rows))
        repairs = list(dict.fromkeys(row["repair"] for row in self.rows if row["repair"]))
        found = {(row["strategy"], row["spares"], row["repair"]): row["mttf_years"] for row in self.rows}
        tables = []
        for strategy in STRATEGIES:
            cells = [
                [with_count(count, "spare"), number(found["none", count, None])]
                + [number(found[strategy, count, repair]) for repair in repairs]
                for count in counts
            ]
            tables.append(Table([f"{strategy} repair (years)", "never", *repairs], cells))
        first, *others = tables
        return [Table(first.headers, first.rows, title=f"{self.title} (years) · {self.subtitle}"), *others]

    def to_dict(self) -> dict[str, Any]:
        """Return the MTTFs as plain values."""
        return {"title": self.title, "subtitle": self.subtitle, "rows": self.rows}

    def plot(self) -> "altair.TopLevelMixin":
        """Draw the MTTF against the mean time to a repair."""
        from sledsim.reliability.charts import maintenance_lines

        return maintenance_lines(self)


def mttf_by_maintenance(
    source: DescriptionLike,
    *,
    spares: Sequence[int] | None = None,
    repair_times: Sequence[str | Duration] = REPAIR_TIMES,
    overrides: Sets = (),
) -> MttfByMaintenance:
    """Compute the MTTF under both repair strategies and without repair: Figure 4 of hong2006.

    The mean time to a repair is the same under both (ρ0 = ρ1 under the preventive strategy, ρ1 = 0 under the mandatory
    one).

    Parameters
    ----------
    source
        As for :func:`sledsim.reliability.load`; its own repair strategy and times are ignored.
    spares
        Numbers of spares; by default, 0 to 5, or to the number of spares of the enclosure if that is larger.
    repair_times
        Mean times to a repair, 1/ρ.
    overrides
        Values that replace those of the description.

    Raises
    ------
    ReliabilityError
        If the description or an argument is invalid.

    Examples
    --------
    >>> enclosure = {
    ...     "enclosure": {"data": 19, "parity": 1},
    ...     "device": {"mttf": "200000 h"},
    ...     "rebuild": {"time": "15 min"},
    ... }
    >>> found = mttf_by_maintenance(enclosure, spares=[1], repair_times=["1 week"])
    >>> {row["strategy"]: round(row["mttf_years"]) for row in found.rows}
    {'none': 3, 'preventive': 4097, 'mandatory': 146}
    """
    description = load(source, overrides=overrides)
    counts = spare_counts(description) if spares is None else spares_of(spares)
    try:
        given = require_several(ReliabilityError, "repair_times", repair_times, 'times, such as ["1 week", "1 month"]')
        times = [Duration.read(each) for each in given]
    except NoDurationError as error:
        raise make_error(ReliabilityError, "wrong-type", f"repair_times: {error}", path="repair_times") from None
    rows = []
    for strategy in ("none", *STRATEGIES):
        for count in counts:
            for time in times if strategy != "none" else [None]:
                chosen = with_strategy(description, strategy, preventive=time, mandatory=time)
                chosen = chosen.replace(enclosure={"spares": count})
                life_h = mttf_h(chosen)
                rows.append(
                    {
                        "strategy": strategy,
                        "spares": count,
                        "repair": str(time) if time else None,
                        "repair_h": time.h if time else None,
                        "mttf_h": life_h,
                        "mttf_years": life_h / YEAR_H,
                    }
                )
    subtitle = (
        f"{device_count_text(description)}, MTTF of a device {duration_text(description.device.mttf)}, "
        f"{description.enclosure.sparing} spares"
    )
    return MttfByMaintenance(rows, subtitle)


def with_strategy(
    description: Description, strategy: str, *, preventive: Duration | None = None, mandatory: Duration | None = None
) -> Description:
    """Return an enclosure with a repair strategy.

    Parameters
    ----------
    description
        The enclosure.
    strategy
        ``"none"``, ``"preventive"`` or ``"mandatory"``.
    preventive, mandatory
        Mean times to a repair, 1/ρ1 and 1/ρ0; required unless the strategy is ``"none"``.
    """
    if strategy == "none":
        return description.replace(repair=None)
    return description.replace(
        repair={"strategy": strategy, "preventive": preventive, "mandatory": mandatory},
    )
