"""Reports on an enclosure: from its Markov chain if possible, else from simulated lifetimes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sledsim.reliability.analysis import YEARS, ReliabilityReport, analyse
from sledsim.reliability.beyond_chains import needs_simulation
from sledsim.reliability.curves import Curve
from sledsim.reliability.duration import YEAR_H
from sledsim.reliability.monte_carlo import LifetimesCallback, MonteCarlo, simulate
from sledsim.reliability.reading import DescriptionLike, Sets, load, name_of
from sledsim.reliability.shown import Shown
from sledsim.reliability.table import ReliabilityError
from sledsim.reliability.wording import enclosure_table, enclosure_text
from sledsim.show.arguments import require_flag
from sledsim.show.tables import Table

if TYPE_CHECKING:
    import altair

    from sledsim.reliability.cost import PricedDesign
    from sledsim.reliability.description import Description

__all__ = ["SimulatedReport", "report"]

#: Lifetimes are simulated until the loss only for enclosures that survive at most this many failures.
FOLLOWED_FAILURES = 32


class SimulatedReport(Shown):
    """The result of simulated lifetimes, and of the chain if there is one; see :func:`report`.

    Parameters
    ----------
    simulated
        The simulated lifetimes.
    chain
        The report from the Markov chain; ``None`` if a chain cannot represent the enclosure.
    name
        The name of the enclosure in headings.
    """

    def __init__(self, simulated: MonteCarlo, chain: ReliabilityReport | None = None, name: str | None = None) -> None:
        self.simulated = simulated
        self.chain = chain
        self.name = name
        self.complete = simulated.complete

    @property
    def description(self) -> "Description":
        """The enclosure."""
        return self.simulated.description

    @property
    def mttf_years(self) -> float | None:
        """Mean time to loss of data in years, from the chain if there is one; ``None`` if unknown."""
        if self.chain:
            return self.chain.mttf_years
        found = self.simulated.mttf_h
        return found["estimate"] / YEAR_H if found and found["estimate"] is not None else None

    @property
    def design(self) -> "PricedDesign | None":
        """The costs from the chain; ``None`` without a chain or prices."""
        return self.chain.design if self.chain else None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """For each time: ``years``, ``loss``, mean numbers of ``repairs`` and of devices ``replaced``.

        They come from the chain if there is one. A figure is ``None`` if no event was observed; ``bound`` is then the
        upper bound of the probability of loss.
        """
        if self.chain:
            return list(self.chain.rows)
        found = self.simulated
        return [
            {
                "years": loss["years"],
                "loss": loss["estimate"],
                "bound": loss["high"],
                "repairs": repairs["estimate"] if repairs else None,
                "replaced": replaced["estimate"] if replaced else None,
            }
            for loss, repairs, replaced in zip(found.loss, found.repairs, found.replaced, strict=True)
        ]

    def curve(self, name: str, years: float) -> Curve:
        """Compute the probability of loss over time: from the chain, or else at the simulated times.

        Parameters
        ----------
        name
            Name of the curve.
        years
            Length of the curve; has no effect without a chain.
        """
        if self.chain:
            return self.chain.curve(name, years)
        seen = [(loss["years"], loss["estimate"]) for loss in self.simulated.loss if loss["estimate"] is not None]
        points = [(0.0, 0.0), *sorted(seen)]
        return Curve(name, [at for at, _ in points], [loss for _, loss in points])

    def tables(self) -> list[Table]:
        """Return the tables of the chain, or else one of the enclosure, and those of the simulation."""
        about = self.chain.tables() if self.chain else [enclosure_table(self.description, self.name, None)]
        return [*about, *self.simulated.tables()]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        simulated = {key: value for key, value in self.simulated.to_dict().items() if key != "description"}
        chain = self.chain.to_dict() if self.chain else {"name": self.name, "description": self.description.to_dict()}
        return {**chain, "beyond_chains": needs_simulation(self.description), "simulated": simulated}

    def plot(self) -> "altair.TopLevelMixin":
        """Draw the simulated probabilities of loss with their intervals, and the curve of the chain if there is one."""
        from sledsim.reliability.loss_chart import loss_intervals

        end = max((row["years"] for row in self.rows), default=0.0)
        return loss_intervals(self.simulated, self.curve("chain", end) if self.chain and end else None)

    def __repr__(self) -> str:
        return f"<SimulatedReport of {enclosure_text(self.description)}: {self.simulated.lifetimes:,} lifetimes>"


def report(
    source: DescriptionLike,
    *,
    years: Sequence[float] = YEARS,
    overrides: Sets = (),
    name: str | None = None,
    simulated: bool = False,
    lifetimes: int | None = None,
    precision: float | None = None,
    seed: int = 1,
    progress: LifetimesCallback | bool | None = None,
) -> ReliabilityReport | SimulatedReport:
    """Report on an enclosure from its Markov chain, or from simulated lifetimes if a chain cannot represent it.

    Parameters
    ----------
    source, years, overrides, name
        As for :func:`sledsim.reliability.analyse`.
    simulated
        True to simulate in any case, in addition to the chain if there is one.
    lifetimes, precision, seed, progress
        As for :func:`sledsim.reliability.simulate`. Without repairs and with at most 32 spares and parity devices,
        lifetimes are simulated until the loss, which gives the MTTF.

    Examples
    --------
    >>> enclosure = {
    ...     "enclosure": {"data": 19, "parity": 1, "spares": 5},
    ...     "device": {"mttf": "200000 h"},
    ...     "rebuild": {"time": "15 min"},
    ... }
    >>> report(enclosure)
    <ReliabilityReport of 19 + 1 devices, 5 dedicated spares; no repair: MTTF 8.051 years>
    >>> weibull = {"device.lifetime": {"kind": "weibull", "shape": 0.7}}
    >>> report(enclosure, overrides=weibull, years=[3], lifetimes=1000)
    <SimulatedReport of 19 + 1 devices, 5 dedicated spares; no repair: 1,000 lifetimes>
    """
    require_flag(ReliabilityError, "simulated", simulated)
    description = load(source, overrides=overrides)
    called = name or name_of(source)
    chain = None if needs_simulation(description) else analyse(description, years=years, name=called)
    if chain and not simulated:
        return chain
    found = simulate(
        description,
        years=years,
        lifetimes=lifetimes,
        precision=precision,
        seed=seed,
        to_loss=_ends_soon(description),
        progress=progress,
    )
    return SimulatedReport(found, chain, called)


def _ends_soon(description: "Description") -> bool:
    """Return true if a few failures end every lifetime: no repairs, and few spares and parity devices."""
    enclosure = description.enclosure
    return description.repair.strategy == "none" and enclosure.spares + enclosure.parity <= FOLLOWED_FAILURES
