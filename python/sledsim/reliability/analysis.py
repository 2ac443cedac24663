"""Analysis of an enclosure by its Markov chain."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sledsim.reliability.cost import PricedDesign, priced
from sledsim.reliability.curves import Curve, SurvivalCurves, curve_of, disk_curve, require_times
from sledsim.reliability.description import Description, ReliabilityError
from sledsim.reliability.duration import YEAR_H
from sledsim.reliability.models import MarkovModel
from sledsim.reliability.reading import DescriptionLike, Sets, load, name_of
from sledsim.reliability.shown import Shown
from sledsim.reliability.wording import enclosure_table, enclosure_text, money, survival_text, years_text
from sledsim.show.arguments import require_kind
from sledsim.show.faults import by_arguments
from sledsim.show.tables import Table, number

if TYPE_CHECKING:
    import altair

__all__ = ["YEARS", "ReliabilityReport", "analyse"]

#: Times (years) for which hong2006 reports survival.
YEARS = (1.0, 3.0, 5.0)


class ReliabilityReport(Shown):
    """The analysis of an enclosure by its Markov chain, see :func:`analyse`.

    Parameters
    ----------
    description
        The enclosure.
    mttf_h
        Mean time to loss of data, in hours.
    rows
        For each time: ``years``, probabilities of ``survival`` and ``loss``, mean numbers of ``repairs`` and of
        devices ``replaced`` by them, and the probability of ``device_loss`` for a single device.
    design
        The costs; ``None`` if the description has no prices.
    name
        The name in headings.
    """

    def __init__(
        self,
        description: Description,
        mttf_h: float,
        rows: Sequence[dict[str, float]],
        design: PricedDesign | None = None,
        name: str | None = None,
    ) -> None:
        self.description = description
        self.mttf_h = mttf_h
        self.rows = list(rows)
        self.design = design
        self.name = name

    @property
    def mttf_years(self) -> float:
        """Mean time to loss of data, in years of 8,760 h."""
        return self.mttf_h / YEAR_H

    def tables(self) -> list[Table]:
        """Return tables of the enclosure with its MTTF, of the figures for each time, and of the costs if known."""
        mttf = f"{number(self.mttf_years)} years ({number(self.mttf_h)} h)"
        about = enclosure_table(self.description, self.name, mttf)
        return [about, self._years_table(), *([_cost_table(self)] if self.design else [])]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return {
            "name": self.name,
            "description": self.description.to_dict(),
            "mttf_h": self.mttf_h,
            "mttf_years": self.mttf_years,
            "within": self.rows,
            "cost": self.design.to_dict() if self.design else None,
        }

    def curves(self, years: float | None = None) -> SurvivalCurves:
        """Compute survival over time, with a single device for comparison.

        Parameters
        ----------
        years
            Length of the curves; by default, the last time of the report.
        """
        end = max(row["years"] for row in self.rows) if years is None else years
        curves = [
            self.curve(self.name or "enclosure", end),
            disk_curve(self.description.device.mttf.h, end, "a device"),
        ]
        return SurvivalCurves(curves, "Survival and loss of data", enclosure_text(self.description), "enclosure")

    def curve(self, name: str, years: float) -> Curve:
        """Compute the probability of loss over time.

        Parameters
        ----------
        name
            Name of the curve.
        years
            Length of the curve.
        """
        return curve_of(self.description, name, years)

    def plot(self) -> "altair.TopLevelMixin":
        """Draw survival and loss over time."""
        return self.curves().plot()

    def __repr__(self) -> str:
        return f"<ReliabilityReport of {enclosure_text(self.description)}: MTTF {number(self.mttf_years)} years>"

    def _years_table(self) -> Table:
        cells: dict[str, list[str]] = {
            "survival": [survival_text(row["loss"], row["survival"]) for row in self.rows],
            "loss of data": [number(row["loss"]) for row in self.rows],
            "loss of a single device": [number(row["device_loss"]) for row in self.rows],
        }
        if self.description.repair.strategy != "none":
            cells["repairs, mean"] = [number(row["repairs"]) for row in self.rows]
            cells["devices replaced, mean"] = [number(row["replaced"]) for row in self.rows]
        headers = ["within", *(years_text(row["years"]) for row in self.rows)]
        return Table(headers, [[label, *texts] for label, texts in cells.items()])


def analyse(
    source: DescriptionLike,
    *,
    years: Sequence[float] = YEARS,
    overrides: Sets = (),
    name: str | None = None,
) -> ReliabilityReport:
    """Compute the MTTF, probabilities of data loss and numbers of repairs of an enclosure from its Markov chain.

    Parameters
    ----------
    source
        As for :func:`sledsim.reliability.load`.
    years
        Times to report, above 0.
    overrides
        Values that replace those of the description.
    name
        The name in headings; by default, the name of the file.

    Raises
    ------
    ReliabilityError
        If the description is invalid, or has keys that a Markov chain cannot represent.

    Examples
    --------
    >>> found = analyse({
    ...     "enclosure": {"data": 19, "parity": 1, "spares": 5},
    ...     "device": {"mttf": "200000 h"},
    ...     "rebuild": {"time": "15 min"},
    ... })
    >>> round(found.mttf_years, 1), round(found.rows[1]["loss"], 4)
    (8.1, 0.0175)
    """
    description = load(source, overrides=overrides)
    times = require_times(years)
    if name is not None:
        require_kind(ReliabilityError, "name", name, str, "a text")
    model = MarkovModel(description)
    with by_arguments({"time": "years"}):
        rows = _rows(description, model, times)
    design = priced(description) if description.cost else None
    return ReliabilityReport(description, model.mttf_h, rows, design, name or name_of(source))


def _rows(description: Description, model: MarkovModel, times: Sequence[float]) -> list[dict[str, float]]:
    """Return a row of figures for each time."""
    hours = np.array(times) * YEAR_H
    columns = {
        "years": times,
        "survival": model.survival(hours),
        "loss": model.loss_probability(hours),
        "repairs": model.repairs(hours),
        "replaced": model.replaced(hours),
        "device_loss": -np.expm1(-hours / description.device.mttf.h),
    }
    return [
        {key: float(value) for key, value in zip(columns, row, strict=True)}
        for row in zip(*columns.values(), strict=True)
    ]


def _cost_table(report: ReliabilityReport) -> Table:
    """Return a table of the parts of the cost."""
    design, cost = report.design, report.description.cost
    if design is None or cost is None:
        return Table([], [])
    rows = [["devices and spares", money(design.purchase)]]
    if design.visits:
        rows += [
            [f"service, {number(design.visits, 3)} visits", money(design.service)],
            [f"{number(design.replaced, 3)} devices put in", money(design.replacement)],
        ]
    rows.append(["spent", money(design.spent)])
    if cost.loss:
        rows += [
            [f"loss of data, probability {number(design.loss_probability, 3)}", money(design.expected_loss)],
            ["total", money(design.total)],
        ]
    return Table([f"cost over {cost.lifetime}, mean", cost.currency], rows)
