"""Costs of an enclosure over its economic lifetime, for different numbers of spares and repair strategies.

hong2006 (section 6) leaves the trade-off between maintenance and spares open. This module computes the cost of an
enclosure for each number of spares and each repair strategy::

    spent = (N + 1) device + k spare + E[visits] visit + E[replaced] device
    total = spent + P(loss) loss

Visits, replaced devices and loss are expected values over the economic lifetime. Visits count only until data is lost:
the price of a loss includes that of a new enclosure.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sledsim.reliability.chain import MAX_STATES
from sledsim.reliability.curves import spares_of
from sledsim.reliability.description import Cost, Description, ReliabilityError
from sledsim.reliability.duration import Duration
from sledsim.reliability.maintenance import STRATEGIES, with_strategy
from sledsim.reliability.models import MarkovModel
from sledsim.reliability.reading import DescriptionLike, Sets, load
from sledsim.reliability.shown import Shown
from sledsim.reliability.wording import device_count_text, money
from sledsim.show.faults import make_error
from sledsim.show.naming import with_count
from sledsim.show.tables import Table, number

if TYPE_CHECKING:
    import altair

__all__ = ["CostCurve", "PricedDesign", "VisitPrice", "cost_curve", "priced"]

#: A curve ends when another spare lowers the probability of loss by less than this share.
LEAST_GAIN = 0.05
#: Maximum number of designs for each strategy.
MOST_DESIGNS = 30
#: Spares increase in steps of one for each so many expected failures.
FAILURES_A_STEP = 10
#: While the probability of loss is above this, another spare is tried even if the last one did not help.
LIKELY = 0.5
#: Mean time to a repair if the description has none.
USUAL_REPAIR = Duration("1 week")


@dataclass(frozen=True)
class PricedDesign:
    """The cost of an enclosure with a given number of spares and repair strategy over its economic lifetime.

    Parameters
    ----------
    strategy
        ``"none"``, ``"preventive"`` or ``"mandatory"``.
    spares
        Number of spares, k.
    purchase
        Price of the initial devices and spares.
    visits, replaced
        Mean numbers of service visits and of devices replaced by them.
    replacement
        Price of the replaced devices.
    service
        Price of the visits.
    loss_probability
        Probability that data is lost.
    expected_loss
        Probability of loss times the price of a loss.
    """

    strategy: str
    spares: int
    purchase: float
    visits: float
    replaced: float
    replacement: float
    service: float
    loss_probability: float
    expected_loss: float

    @property
    def spent(self) -> float:
        """Price of devices, spares, visits and replaced devices."""
        return self.purchase + self.replacement + self.service

    @property
    def total(self) -> float:
        """Price of devices, spares and service, and the expected price of data loss."""
        return self.spent + self.expected_loss

    def to_dict(self) -> dict[str, Any]:
        """Return the design as plain values."""
        return {**asdict(self), "spent": self.spent, "total": self.total}


@dataclass(frozen=True)
class VisitPrice:
    """The break-even price of a visit: a design with spares alone and a maintained design cost the same.

    Parameters
    ----------
    loss_probability
        Probability of loss of the design without repair.
    spares
        Spares of the design without repair.
    price
        Break-even price: for visits below it, the maintained design is cheaper and at least as safe; ``None`` if there
        is no such design at any price.
    strategy, maintained_spares
        The maintained design with the highest break-even price.
    """

    loss_probability: float
    spares: int
    price: float | None
    strategy: str | None
    maintained_spares: int | None


class CostCurve(Shown):
    """Cost and probability of data loss for each design of an enclosure.

    Parameters
    ----------
    designs
        The designs, ordered by strategy and number of spares.
    cost
        The prices.
    repair
        Mean times to a repair, by strategy.
    subtitle
        Summary of the enclosure.
    notes
        Assumptions and limits of the designs.
    """

    title = "Cost against loss of data"

    def __init__(
        self,
        designs: Sequence[PricedDesign],
        cost: Cost,
        repair: dict[str, Duration],
        subtitle: str,
        notes: Sequence[str] = (),
    ) -> None:
        self.designs = list(designs)
        self.cost = cost
        self.repair = repair
        self.subtitle = subtitle
        self.notes = list(notes)

    @property
    def frontier(self) -> list[PricedDesign]:
        """The Pareto-optimal designs by price spent and probability of loss, cheapest first."""
        found: list[PricedDesign] = []
        for design in sorted(self.designs, key=lambda each: (each.spent, each.loss_probability)):
            if not found or design.loss_probability < found[-1].loss_probability:
                found.append(design)
        return found

    @property
    def cheapest(self) -> PricedDesign:
        """The design with the lowest total, which includes the expected price of data loss."""
        return min(self.designs, key=lambda each: (each.total, each.loss_probability))

    @property
    def visit_prices(self) -> list[VisitPrice]:
        """The break-even price of a visit for each number of spares without repair."""
        bare = [each for each in self.designs if each.strategy == "none"]
        kept = [each for each in self.designs if each.strategy != "none"]
        return [_visit_price(design, kept) for design in bare]

    def tables(self) -> list[Table]:
        """Return designs, break-even prices of a visit and notes as tables."""
        return [self._design_table(), *self._visit_table(), *self._note_table()]

    def to_dict(self) -> dict[str, Any]:
        """Return designs, frontier and break-even prices as plain values."""
        return {
            "title": self.title,
            "subtitle": self.subtitle,
            "prices": self.cost.model_dump(mode="json"),
            "repair": {strategy: str(time) for strategy, time in self.repair.items()},
            "designs": [{**each.to_dict(), "on_frontier": each in self.frontier} for each in self.designs],
            "cheapest": self.cheapest.to_dict(),
            "visit_prices": [asdict(each) for each in self.visit_prices],
            "notes": self.notes,
        }

    def plot(self) -> "altair.TopLevelMixin":
        """Draw cost against the probability of loss, and the break-even price of a visit."""
        from sledsim.reliability.cost_chart import cost_lines

        return cost_lines(self)

    def _design_table(self) -> Table:
        frontier, cheapest = self.frontier, self.cheapest
        priced_loss = self.cost.loss > 0
        rows = []
        for design in self.designs:
            marks = ["Pareto-optimal"] * (design in frontier) + ["least total"] * (priced_loss and design is cheapest)
            amounts = [design.purchase, design.service, design.replacement, design.spent]
            amounts += [design.expected_loss, design.total] if priced_loss else []
            rows.append(
                [
                    f"{design.strategy}, {with_count(design.spares, 'spare')}",
                    number(design.loss_probability, 3),
                    number(design.visits, 3),
                    *(money(amount) for amount in amounts),
                    ", ".join(marks),
                ]
            )
        extra = ["mean loss", "total"] if priced_loss else []
        headers = ["repair", "P(loss)", "visits", "devices", "service", "replaced", "spent", *extra, ""]
        title = f"{self.title} within {self.cost.lifetime} ({self.cost.currency}) · {self.subtitle}"
        return Table(headers, rows, title=title, left=frozenset({len(headers) - 1}))

    def _visit_table(self) -> list[Table]:
        rows = [
            [
                with_count(each.spares, "spare"),
                number(each.loss_probability, 3),
                "–" if each.price is None else money(each.price),
                f"{each.strategy}, {with_count(each.maintained_spares or 0, 'spare')}" if each.strategy else "none",
            ]
            for each in self.visit_prices
        ]
        headers = ["without repair", "P(loss)", f"break-even visit ({self.cost.currency})", "maintained design"]
        return [Table(headers, rows, left=frozenset({3}))] if rows else []

    def _note_table(self) -> list[Table]:
        return [Table(["note"], [[note] for note in self.notes])] if self.notes else []


def priced(description: DescriptionLike) -> PricedDesign:
    """Compute the cost of an enclosure with its own spares and repair strategy.

    Parameters
    ----------
    description
        The enclosure, with prices, as for :func:`sledsim.reliability.load`.

    Raises
    ------
    ReliabilityError
        If the description has no prices.
    """
    description = load(description)
    cost = require_cost(description)
    enclosure = description.enclosure
    life_h = cost.lifetime.h
    model = MarkovModel(description)
    visits, put_in, loss = model.repairs(life_h), model.replaced(life_h), model.loss_probability(life_h)
    spare = cost.device if cost.spare is None else cost.spare
    return PricedDesign(
        strategy=description.repair.strategy,
        spares=enclosure.spares,
        purchase=enclosure.devices * cost.device + enclosure.spares * spare,
        visits=visits,
        replaced=put_in,
        replacement=put_in * cost.device,
        service=visits * cost.visit,
        loss_probability=loss,
        expected_loss=loss * cost.loss,
    )


def require_cost(description: Description) -> Cost:
    """Return the prices of an enclosure, and raise if it has none."""
    if description.cost is None:
        message = (
            "cost: missing; give the prices, such as [cost] device = 100.0, visit = 500.0, loss = 1e6, "
            'lifetime = "5 years"'
        )
        raise make_error(ReliabilityError, "missing", message, path="cost")
    return description.cost


def cost_curve(
    source: DescriptionLike,
    *,
    spares: Sequence[int] | None = None,
    overrides: Sets = (),
) -> CostCurve:
    """Compute the cost of an enclosure for several numbers of spares and each repair strategy.

    Parameters
    ----------
    source
        As for :func:`sledsim.reliability.load`, with prices. Its times to a repair are used for both strategies; one
        week if it has none.
    spares
        Numbers of spares. By default, from 0 until another spare lowers the probability of loss by less than 5 %, in
        larger steps if more than ten failures are expected.
    overrides
        Values that replace those of the description.

    Raises
    ------
    ReliabilityError
        If the description is invalid or has no prices.

    Examples
    --------
    >>> found = cost_curve({
    ...     "enclosure": {"data": 19, "parity": 1},
    ...     "device": {"mttf": "200000 h"},
    ...     "rebuild": {"time": "15 min"},
    ...     "cost": {"device": 100.0, "visit": 500.0, "loss": 100_000.0},
    ... })
    >>> found.cheapest.strategy, found.cheapest.spares, round(found.cheapest.total)
    ('preventive', 7, 2897)
    """
    description = load(source, overrides=overrides)
    cost = require_cost(description)
    repair = description.repair
    usual = repair.preventive or repair.mandatory or USUAL_REPAIR
    times = {"preventive": repair.preventive or usual, "mandatory": repair.mandatory or usual}
    counts = None if spares is None else spares_of(spares)
    step = math.ceil(_failures_expected(description) / FAILURES_A_STEP) or 1
    designs = []
    for strategy in ("none", *STRATEGIES):
        designs += _by_spares(with_strategy(description, strategy, **times), counts, step)
    subtitle = f"{device_count_text(description)}, a repair takes {_times_text(times)}"
    notes = []
    if step > 1 and spares is None:
        notes.append(
            f"spares are tried in steps of {step}, as {_failures_expected(description):.0f} failures are expected"
        )
    most = _most_spares(description)
    if spares is None and any(each.spares == most for each in designs):
        notes.append(f"more than {most} spares are not tried: a chain has at most {MAX_STATES} states")
    if repair.preventive is None and repair.mandatory is None:
        notes.append(
            f"the description has no time of repair; {USUAL_REPAIR} is taken (repair.preventive, repair.mandatory)"
        )
    return CostCurve(designs, cost, times, subtitle, notes)


def _times_text(times: dict[str, Duration]) -> str:
    preventive, mandatory = times["preventive"], times["mandatory"]
    return f"{preventive}" if preventive == mandatory else f"{preventive} (preventive) or {mandatory} (mandatory)"


def _by_spares(description: Description, spares: Sequence[int] | None, step: int) -> list[PricedDesign]:
    """Compute the cost of an enclosure for several numbers of spares."""
    if spares is not None:
        return [priced(description.replace(enclosure={"spares": count})) for count in spares]
    expected = _failures_expected(description)
    designs = [priced(description.replace(enclosure={"spares": 0}))]
    most = _most_spares(description)
    for count in sorted({min(count, most) for count in range(step, MOST_DESIGNS * step, step)} - {0}):
        design = priced(description.replace(enclosure={"spares": count}))
        least = designs[-1].loss_probability
        # While nearly every enclosure loses data, one more spare has no visible effect.
        if design.loss_probability > (1 - LEAST_GAIN) * least and (least < LIKELY or count > expected):
            break
        designs.append(design)
    return designs


def _most_spares(description: Description) -> int:
    """Return the maximum number of spares for which the chain does not exceed ``MAX_STATES``."""
    return MAX_STATES // (description.enclosure.parity + 1) - 1


def _failures_expected(description: Description) -> float:
    """Return the mean number of device failures within the economic lifetime."""
    return description.enclosure.devices * require_cost(description).lifetime.h / description.device.mttf.h


def _visit_price(bare: PricedDesign, kept: Sequence[PricedDesign]) -> VisitPrice:
    """Return the highest price of a visit at which a maintained design is as cheap and safe as one without repair."""
    break_even = [
        ((bare.spent - each.purchase - each.replacement) / each.visits, each)
        for each in kept
        if each.loss_probability <= bare.loss_probability and each.visits > 0
    ]
    price, best = max(break_even, key=lambda each: each[0], default=(None, None))
    if price is None or best is None or price <= 0:
        return VisitPrice(bare.loss_probability, bare.spares, None, None, None)
    return VisitPrice(bare.loss_probability, bare.spares, price, best.strategy, best.spares)
