"""Several enclosures side by side."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sledsim.reliability.analysis import YEARS, ReliabilityReport
from sledsim.reliability.beyond_chains import needs_simulation
from sledsim.reliability.curves import SurvivalCurves, disk_curve
from sledsim.reliability.description import ReliabilityError
from sledsim.reliability.monte_carlo import LifetimesCallback
from sledsim.reliability.reading import DescriptionLike, Sets
from sledsim.reliability.reporting import SimulatedReport, report
from sledsim.reliability.shown import Shown
from sledsim.reliability.wording import enclosure_text, years_text
from sledsim.show.arguments import require_several
from sledsim.show.faults import make_error
from sledsim.show.tables import Table, number

if TYPE_CHECKING:
    import altair

__all__ = ["ReliabilityComparison", "compare_enclosures"]

#: Figures compared at every time: keys in a report's rows, and labels.
COUNTED = {"loss": "loss of data", "repairs": "repairs, mean", "replaced": "devices replaced, mean"}


class ReliabilityComparison(Shown):
    """Several enclosures side by side, with ratios to the first.

    Parameters
    ----------
    reports
        One report for each enclosure, all with the same times.
    """

    def __init__(self, reports: Sequence[ReliabilityReport | SimulatedReport]) -> None:
        if not reports:
            raise make_error(ReliabilityError, "missing", "nothing to compare; give descriptions of enclosures")
        self.reports = list(reports)
        self.complete = all(each.complete for each in reports)

    @property
    def names(self) -> list[str]:
        """The unique names of the enclosures."""
        names: list[str] = []
        for each in self.reports:
            name = each.name or enclosure_text(each.description)
            count = sum(known == name or known.startswith(f"{name} (") for known in names)
            names.append(f"{name} ({count + 1})" if name in names else name)
        return names

    def metrics(self) -> list[dict[str, Any]]:
        """Return the compared metrics: label, values of the enclosures, ratios to the first.

        A value is ``None`` if it is unknown. ``bounds`` has an upper bound of the probability of loss for enclosures
        of which no simulated lifetime lost data.
        """
        first = self.reports[0]
        times = min(len(each.rows) for each in self.reports)
        found = [_metric("MTTF (years)", [each.mttf_years for each in self.reports])]
        for key, label in COUNTED.items():
            for place, row in enumerate(first.rows[:times]):
                rows = [each.rows[place] for each in self.reports]
                found.append(
                    _metric(
                        f"{label}, {years_text(row['years'])}",
                        [each[key] for each in rows],
                        [each.get("bound") if key == "loss" and each[key] is None else None for each in rows],
                    )
                )
        designs = [each.design for each in self.reports]
        currency = first.description.cost.currency if first.description.cost else ""
        found.append(_metric(f"spent ({currency})", [each.spent if each else None for each in designs]))
        found.append(_metric(f"total ({currency})", [each.total if each else None for each in designs]))
        return [metric for metric in found if any(metric["values"]) or any(metric["bounds"])]

    def tables(self) -> list[Table]:
        """Return a table of the enclosures, and one of their figures side by side."""
        enclosures = [[name, _describe(each)] for name, each in zip(self.names, self.reports, strict=True)]
        rows = []
        for metric in self.metrics():
            values = [
                number(value) if bound is None else f"< {number(bound, 3)}"
                for value, bound in zip(metric["values"], metric["bounds"], strict=True)
            ]
            ratios = ["–" if ratio is None else f"×{number(ratio, 3)}" for ratio in metric["ratios"]]
            pairs = zip(values[1:], ratios[1:], strict=True)
            rows.append([metric["label"], values[0], *(cell for pair in pairs for cell in pair)])
        first, *others = self.names
        headers = ["", first, *(header for name in others for header in (name, "ratio"))]
        return [Table(["enclosure", ""], enclosures, left=frozenset({1})), Table(headers, rows)]

    def to_dict(self) -> dict[str, Any]:
        """Return the reports and their comparison as plain values."""
        reports = [{**each.to_dict(), "name": name} for name, each in zip(self.names, self.reports, strict=True)]
        return {"enclosures": reports, "metrics": self.metrics()}

    def curves(self, years: float | None = None) -> SurvivalCurves:
        """Compute the survival of each enclosure over time, with a single device for comparison.

        Parameters
        ----------
        years
            Length of the curves; by default, the last time of the reports.
        """
        end = max(row["years"] for row in self.reports[0].rows) if years is None else years
        curves = [each.curve(name, end) for name, each in zip(self.names, self.reports, strict=True)]
        # A single device is drawn only if it fails at a constant rate.
        by_chain = [each.description.device.mttf.h for each in self.reports if not needs_simulation(each.description)]
        curves += [disk_curve(mttf_h, end, "a device") for mttf_h in dict.fromkeys(by_chain)]
        simulated = "Straight lines: simulated at their ends" if len(by_chain) < len(self.reports) else ""
        subtitle = "; ".join(each for each in ("Dashed: a single device" if by_chain else "", simulated) if each)
        return SurvivalCurves(curves, "Survival and loss of data", subtitle, "enclosure")

    def plot(self) -> "altair.TopLevelMixin":
        """Draw survival and loss over time."""
        return self.curves().plot()

    def __repr__(self) -> str:
        return f"<ReliabilityComparison of {', '.join(self.names)}>"


def compare_enclosures(
    sources: Iterable[DescriptionLike] | Mapping[str, DescriptionLike],
    *,
    years: Sequence[float] = YEARS,
    overrides: Sets = (),
    lifetimes: int | None = None,
    precision: float | None = None,
    seed: int = 1,
    progress: LifetimesCallback | bool | None = None,
) -> ReliabilityComparison:
    """Compare several enclosures.

    Parameters
    ----------
    sources
        Enclosures, each as for :func:`sledsim.reliability.load`; the keys of a dictionary are their names.
    years
        Times to report, above 0.
    overrides
        Values that replace those of every description.
    lifetimes, precision, seed, progress
        As for :func:`sledsim.reliability.simulate`, for enclosures that a Markov chain cannot represent.

    Returns
    -------
    ReliabilityComparison
        The comparison. If a simulation is interrupted, the enclosures after it are left out.

    Examples
    --------
    >>> enclosure = {
    ...     "enclosure": {"data": 19, "parity": 1},
    ...     "device": {"mttf": "200000 h"},
    ...     "rebuild": {"time": "15 min"},
    ... }
    >>> spared = {**enclosure, "enclosure": {"data": 19, "parity": 1, "spares": 2}}
    >>> found = compare_enclosures({"bare": enclosure, "spared": spared})
    >>> [round(each.mttf_years, 1) for each in found.reports]
    [2.3, 4.6]
    """
    named: Iterable[tuple[str | None, DescriptionLike]]
    if isinstance(sources, Mapping):
        named = sources.items()
    else:
        several = require_several(ReliabilityError, "sources", sources, "enclosures, such as a list of files")
        named = ((None, each) for each in several)
    sets = overrides if isinstance(overrides, Mapping | str) else list(overrides)
    reports: list[ReliabilityReport | SimulatedReport] = []
    for name, each in named:
        found = report(
            each,
            years=years,
            overrides=sets,
            name=name,
            lifetimes=lifetimes,
            precision=precision,
            seed=seed,
            progress=progress,
        )
        reports.append(found)
        if not found.complete:
            break
    return ReliabilityComparison(reports)


def _describe(found: ReliabilityReport | SimulatedReport) -> str:
    """Return an enclosure in words, and the reason if it was simulated."""
    needed = needs_simulation(found.description)
    return enclosure_text(found.description) + (f"; simulated ({', '.join(needed)})" if needed else "")


def _metric(label: str, values: Sequence[float | None], bounds: Sequence[float | None] | None = None) -> dict[str, Any]:
    """Return values with their ratios to the first."""
    first = values[0]
    ratios = [value / first if value is not None and first else None for value in values]
    return {"label": label, "values": list(values), "bounds": list(bounds or [None] * len(values)), "ratios": ratios}
