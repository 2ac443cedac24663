"""Cost of enclosures: closed forms, comparison with every other design, and break-even prices of visits."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from scipy import stats

from sledsim import reliability
from sledsim.reliability import cost
from sledsim.reliability.description import ReliabilityError

YEARS_H = 5 * 8760.0
PRICES = {"device": 100.0, "visit": 500.0, "loss": 100_000.0, "lifetime": "5 years"}
#: The enclosure of hong2006 with prices that are made up.
ENCLOSURE: dict[str, Any] = {
    "enclosure": {"data": 19, "parity": 1},
    "device": {"mttf": "200000 h"},
    "rebuild": {"time": "15 min"},
    "repair": {"strategy": "none", "preventive": "1 week", "mandatory": "2 days"},
    "cost": PRICES,
}


def described(**tables: dict[str, Any]) -> reliability.Description:
    return reliability.load(ENCLOSURE).replace(**tables)


@pytest.fixture(scope="module")
def curve() -> reliability.CostCurve:
    return reliability.cost_curve(ENCLOSURE)


def test_without_repair_only_devices_spares_and_losses_cost() -> None:
    description = described(enclosure={"spares": 3}, cost={"spare": 60.0})
    design = reliability.priced(description)
    assert (design.visits, design.replaced, design.service, design.replacement) == (0, 0, 0, 0)
    assert design.spent == design.purchase == 20 * 100 + 3 * 60
    loss = reliability.MarkovModel(description).loss_probability("5 years")
    assert design.loss_probability == loss
    assert design.total == design.spent + 100_000 * loss


@pytest.mark.parametrize("strategy", ["preventive", "mandatory"])
@pytest.mark.parametrize("spares", [1, 3])
def test_visits_follow_from_counting_failures_where_nothing_takes_time(strategy: str, spares: int) -> None:
    # Failures are then a Poisson process. Every k-th brings a preventive visit, every (k+1)-th a mandatory one.
    design = reliability.priced(
        described(
            enclosure={"spares": spares},
            rebuild={"time": "1 s"},
            repair={"strategy": strategy, "preventive": "1 s", "mandatory": "1 s"},
        )
    )
    between = spares if strategy == "preventive" else spares + 1
    failures = stats.poisson(20 / 200_000 * YEARS_H)
    visits = sum(float(failures.sf(between * count - 1)) for count in range(1, 60))
    # Rebuilds and repairs take 1 s, and 10,000 h pass between failures: 3e-8 of the time.
    assert design.visits == pytest.approx(visits, rel=1e-6)
    assert design.replaced == pytest.approx(between * visits, rel=1e-6)
    assert design.spent == pytest.approx(2000 + 100 * spares + (500 + 100 * between) * visits, rel=1e-6)


def test_the_curve_has_the_cost_of_each_design(curve: reliability.CostCurve) -> None:
    assert {each.strategy for each in curve.designs} == {"none", "preventive", "mandatory"}
    for design in curve.designs:
        alone = reliability.priced(described(enclosure={"spares": design.spares}, repair={"strategy": design.strategy}))
        assert design == alone
        parts = design.purchase + design.service + design.replacement
        assert design.spent == pytest.approx(parts, rel=1e-15)
        assert design.total == pytest.approx(parts + 100_000 * design.loss_probability, rel=1e-15)


def test_a_curve_ends_where_another_spare_hardly_helps(curve: reliability.CostCurve) -> None:
    for strategy in ("none", "preventive", "mandatory"):
        losses = [each.loss_probability for each in curve.designs if each.strategy == strategy]
        spares = [each.spares for each in curve.designs if each.strategy == strategy]
        assert spares == list(range(len(spares)))
        assert all(later <= 0.95 * sooner for sooner, later in itertools.pairwise(losses))
        further = reliability.priced(described(enclosure={"spares": len(spares)}, repair={"strategy": strategy}))
        assert 0.95 * losses[-1] < further.loss_probability <= losses[-1]


def test_no_design_beats_the_frontier(curve: reliability.CostCurve) -> None:
    def place(design: reliability.PricedDesign) -> tuple[float, float]:
        return design.spent, design.loss_probability

    def beaten(design: reliability.PricedDesign) -> bool:
        spent, loss = place(design)
        others = {place(other) for other in curve.designs} - {place(design)}
        return any(other_spent <= spent and other_loss <= loss for other_spent, other_loss in others)

    assert curve.frontier
    for design in curve.designs:
        # Without spares both strategies give the same design, which is on the frontier at most once.
        assert (place(design) in {place(each) for each in curve.frontier}) != beaten(design)
    assert curve.cheapest.total == min(each.total for each in curve.designs)


def test_a_visit_pays_up_to_its_break_even_price_and_no_further(curve: reliability.CostCurve) -> None:
    def least_of_maintained(visit: float, loss: float) -> float:
        found = reliability.cost_curve(ENCLOSURE, overrides={"cost.visit": visit})
        kept = [each for each in found.designs if each.strategy != "none" and each.loss_probability <= loss]
        return min((each.spent for each in kept), default=float("inf"))

    bare = {each.spares: each for each in curve.designs if each.strategy == "none"}
    priced = [each for each in curve.visit_prices if each.price is not None]
    assert [each.spares for each in curve.visit_prices] == list(bare)
    assert len(priced) >= 5
    for each in priced[::3]:
        assert each.price is not None
        spent, loss = bare[each.spares].spent, each.loss_probability
        assert least_of_maintained(0.99 * each.price, loss) < spent < least_of_maintained(1.01 * each.price, loss)
    for each in curve.visit_prices:
        if each.price is None:
            # Even with free visits, the replaced devices cost more than the spares.
            assert least_of_maintained(0.0, each.loss_probability) >= bare[each.spares].spent


def test_expensive_visits_favour_spares_and_cheap_ones_repairs() -> None:
    cheap, dear = (reliability.cost_curve(ENCLOSURE, overrides={"cost.visit": visit}).cheapest for visit in (1.0, 1e6))
    assert cheap.strategy == "preventive"
    assert dear.strategy == "none"
    assert dear.spares > cheap.spares


def test_spares_can_be_chosen() -> None:
    found = reliability.cost_curve(ENCLOSURE, spares=[2, 7])
    assert [each.spares for each in found.designs] == [2, 7] * 3


def test_times_of_repair_are_those_of_the_description_or_a_week(curve: reliability.CostCurve) -> None:
    assert {strategy: time.h for strategy, time in curve.repair.items()} == {"preventive": 168, "mandatory": 48}
    assert curve.notes == []
    without = {key: table for key, table in ENCLOSURE.items() if key != "repair"}
    found = reliability.cost_curve(without)
    assert {time.h for time in found.repair.values()} == {168}
    assert "1 week is taken" in str(found)
    only = reliability.cost_curve({**without, "repair": {"strategy": "none", "mandatory": "3 days"}})
    assert {time.h for time in only.repair.values()} == {72}


def test_loss_without_a_price_leaves_totals_out() -> None:
    found = reliability.cost_curve(ENCLOSURE, overrides={"cost.loss": 0.0})
    assert "total" not in str(found.tables()[0].headers)
    assert "Ring" not in str(found.plot().to_dict()["title"]["subtitle"])


def test_prices_are_needed() -> None:
    with pytest.raises(ReliabilityError, match=r"cost: missing; give the prices"):
        reliability.cost_curve({key: table for key, table in ENCLOSURE.items() if key != "cost"})


def test_where_many_failures_are_expected_spares_are_tried_in_steps() -> None:
    # 201 devices for five years at 200,000 h each: 44 failures.
    found = reliability.cost_curve(ENCLOSURE, overrides={"enclosure.data": 200})
    bare = [each for each in found.designs if each.strategy == "none"]
    assert [each.spares for each in bare] == list(range(0, 5 * len(bare), 5))
    # The first steps hardly reduce the loss, but the search goes on.
    assert bare[2].loss_probability > 0.99
    assert bare[-1].loss_probability < 0.02
    assert "steps of 5, as 44 failures are expected" in str(found)


def test_the_curve_ends_at_the_limit_of_chain_states(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "MAX_STATES", 40)
    short = described(
        enclosure={"data": 4, "parity": 1},
        device={"mttf": "1000 h"},
        repair={"strategy": "none", "preventive": "1 week", "mandatory": None},
        cost={"device": 1.0, "visit": 1.0, "loss": 1.0},
    )
    found = reliability.cost_curve(short)
    assert max(each.spares for each in found.designs) == 19
    assert "more than 19 spares are not tried: a chain has at most 40 states" in str(found)


def test_spares_do_not_help_without_redundancy() -> None:
    found = reliability.cost_curve(ENCLOSURE, overrides={"enclosure.parity": 0})
    assert found.cheapest.spares == 0
    assert len(found.frontier) == 1
    assert all(each.price is None for each in found.visit_prices)
    assert found.plot().to_dict()["title"]
