"""The Markov models of enclosures: closed forms, exact arithmetic, and invariants."""

from __future__ import annotations

import math
import subprocess
import sys
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from enclosures import TABLES, enclosure
from sledsim.reliability import (
    LOSS,
    Chain,
    Description,
    Duration,
    MarkovModel,
    ReliabilityError,
    Transient,
    failures_at_most,
    failures_tolerated,
    mean_rebuild_h,
    mean_time_to_loss_h,
    more_repairs_than,
    mttf_h,
    unrepaired_survival,
)
from sledsim.reliability.duration import YEAR_H

if TYPE_CHECKING:
    from collections.abc import Sequence

# Tolerance for rounding, in chains of up to some hundred states.
ROUNDING = 1e-12

# Closed forms.


@pytest.mark.parametrize(("devices", "parity"), [(20, 1), (10, 2), (14, 4), (2, 1), (12, 11)])
@pytest.mark.parametrize("time_h", [1e-6, 1.0, 8760.0, 1e6])
def test_loss_without_spares_is_the_tail_of_a_binomial(devices: int, parity: int, time_h: float) -> None:
    tables = TABLES | {"enclosure": {"devices": devices, "parity": parity}}
    dead = -math.expm1(-time_h / 200_000)
    expected = math.fsum(
        math.comb(devices, failed) * dead**failed * (1 - dead) ** (devices - failed)
        for failed in range(parity + 1, devices + 1)
    )
    # Down to 1e-132; both sides are sums of some ten positive terms with some twenty factors each.
    assert MarkovModel(Description.load(tables)).loss_probability(time_h) == pytest.approx(
        expected, rel=ROUNDING, abs=0
    )


@pytest.mark.parametrize("spares", [0, 1, 5, 30])
def test_mttf_without_repair_is_a_sum(spares: int) -> None:
    # From each number of spares: a failure within 10,000 h, then a rebuild in a race against the next failure.
    rate, rebuild = 1 / 200_000, 4.0
    rebuilt = rebuild / (rebuild + 19 * rate)
    expected = 1 / (20 * rate) + 1 / (19 * rate)
    for _ in range(spares):
        expected = 1 / (20 * rate) + 1 / (rebuild + 19 * rate) + rebuilt * expected
    assert mttf_h(enclosure(spares)) == pytest.approx(expected, rel=ROUNDING, abs=0)


def test_equation_1_is_the_limit_of_instant_rebuilds() -> None:
    # Equation 1 counts 20 devices always; in degraded mode 19 are left, so that the chain survives longer.
    fast = enclosure(5).replace(rebuild={"time": "0.001 s"})
    years = ["1 year", "3 years", "5 years"]
    with_20 = unrepaired_survival(enclosure(5), years)
    assert np.all(MarkovModel(fast).survival(years) > with_20)
    # With 20 devices at every failure they are the same.
    used_up = Chain.of(6, [(left, left - 1, 20 / 200_000) for left in range(6, 0, -1)] + [(0, LOSS, 20 / 200_000)])
    assert failures_at_most(6, 20, 200_000, "3 years", complement=True) == pytest.approx(
        Transient(used_up, 3 * YEAR_H).probabilities(np.array([3 * YEAR_H]))[0][0, -1], rel=ROUNDING, abs=0
    )


def test_failures_tolerated_as_the_paper_counts() -> None:
    assert failures_tolerated(2) == 3
    assert failures_tolerated(5, parity=2) == 7
    assert failures_tolerated(3, 1, "preventive") == 6
    assert failures_tolerated(3, 1, "mandatory") == 8
    assert failures_tolerated(0, 1, "preventive") == failures_tolerated(0, 1, "mandatory") == 2
    assert failures_at_most(6, 20, 200_000, 0) == 1
    # The first term of the series; the second is 1e-7 of it.
    tiny = 1e-7**7 / math.factorial(7)
    assert failures_at_most(6, 20, 200_000, 1e-3, complement=True) == pytest.approx(tiny, rel=1e-6, abs=0)


@pytest.mark.parametrize("expected", [1e-9, 0.3, 2.0, 7.5, 40.0, 700.0, 3000.0])
def test_probabilities_of_equation_1_match_scipy(expected: float) -> None:
    for failures in sorted({0, 1, 6, int(expected), int(expected) + 1, int(expected / 2), int(2 * expected), 10_000}):
        for complement, exact in ((False, special.pdtr), (True, special.pdtrc)):
            found = failures_at_most(failures, 1, 1.0, expected, complement=complement)
            assert found == pytest.approx(exact(failures, expected), rel=1e-10, abs=1e-300)


# Exact arithmetic.


def exact(chain: Chain, time_h: float) -> tuple[float, float]:
    """Return loss probability and mean repairs from the generator's power series, in decimals with digits to lose."""
    size = len(chain.states) + 2
    per_h = zip(chain.rates_per_h, chain.loss_per_h, chain.counts_per_h["repairs"], strict=True)
    with localcontext() as context:
        context.prec = 120
        generator = [[Decimal(0)] * size for _ in range(size)]
        for i, (row, loss, repaired) in enumerate(per_h):
            leaving = [*map(Decimal, row.tolist()), Decimal(float(loss))]
            generator[i] = [*leaving, Decimal(float(repaired))]
            generator[i][i] = -sum(leaving, Decimal(0))
        fastest = max(-generator[i][i] for i in range(size)) * Decimal(time_h)
        halvings = max(0, math.ceil(math.log2(fastest)) + 4)
        step = [[value * Decimal(time_h) / 2**halvings for value in row] for row in generator]
        total = term = [[Decimal(int(i == j)) for j in range(size)] for i in range(size)]
        for k in range(1, 60):
            term = [[value / k for value in row] for row in product(term, step)]
            total = [[a + b for a, b in zip(x, y, strict=True)] for x, y in zip(total, term, strict=True)]
        for _ in range(halvings):
            total = product(total, total)
        return float(total[0][-2]), float(total[0][-1])


def product(a: Sequence[Sequence[Decimal]], b: Sequence[Sequence[Decimal]]) -> list[list[Decimal]]:
    columns = list(zip(*b, strict=True))
    return [[sum((x * y for x, y in zip(row, column, strict=True)), Decimal(0)) for column in columns] for row in a]


STIFF = {
    "an hour of a mirror that is rebuilt in a second": (
        {"data": 1, "parity": 1, "spares": 1},
        {"time": "1 s"},
        {"strategy": "mandatory", "mandatory": "1 h"},
        ["1 s", "1 h", "100 years"],
    ),
    "three parity devices, lifetimes of decades": (
        {"data": 5, "parity": 3, "spares": 1},
        {"time": "5 min"},
        {"strategy": "preventive", "preventive": "1 week"},
        ["1 s", "1 min", "1 day", "30 years"],
    ),
    "hong2006, preventive": (
        {"data": 19, "parity": 1, "spares": 2},
        {"time": "15 min"},
        {"strategy": "preventive", "preventive": "1 day"},
        ["1 s", "1 h", "5 years"],
    ),
}


@pytest.mark.parametrize("name", STIFF)
def test_tiny_probabilities_of_stiff_chains_have_correct_digits(name: str) -> None:
    enclosure, rebuild, repair, times = STIFF[name]
    model = MarkovModel(Description.load(TABLES | {"enclosure": enclosure, "rebuild": rebuild, "repair": repair}))
    expected = [exact(model.chain, time_h) for time_h in (Duration(time).h for time in times)]
    losses, repaired = zip(*expected, strict=True)
    assert min(losses) < 1e-15
    # Some thirty squarings of matrices of some ten states: far from the 1e-6 that is promised.
    assert list(model.loss_probability(times)) == pytest.approx(losses, rel=1e-10, abs=0)
    assert list(model.repairs(times)) == pytest.approx(repaired, rel=1e-10, abs=0)
    for time, loss in zip(times, losses, strict=True):
        assert model.loss_probability(time) == pytest.approx(loss, rel=1e-10, abs=0)


def test_counts_until_loss_are_the_long_time_limit() -> None:
    model = MarkovModel(enclosure(2, "mandatory", "3 months"))
    late_h = 60 * model.mttf_h
    assert model.survival(late_h) < 1e-20
    assert model.repairs(late_h) == pytest.approx(model.repairs_until_loss, rel=ROUNDING, abs=0)
    assert model.replaced(late_h) == pytest.approx(model.replaced_until_loss, rel=ROUNDING, abs=0)
    # All of the three devices that are missing then.
    assert model.replaced_until_loss == pytest.approx(3 * model.repairs_until_loss, rel=ROUNDING, abs=0)


# Invariants.

# The same cases everywhere, however slow the machine.
settled = settings(derandomize=True, deadline=None)

COUNTS = st.integers(0, 6)
HOURS = st.floats(1e-3, 1e6)


@st.composite
def descriptions(draw: st.DrawFn) -> Description:
    """Draw an enclosure with dedicated spares that do not fail, and with rebuilds quicker than repairs."""
    parity = draw(st.integers(0, 3))
    repair_h = draw(HOURS)
    strategy = draw(st.sampled_from(["none", "preventive", "mandatory"]))
    # A spare only helps where rebuilding all that may have failed, one by one, is quicker than a repair of them all.
    rebuild_h = repair_h / max(parity, 1) * draw(st.floats(1e-3, 1.0))
    return Description.load(
        {
            "enclosure": {"data": draw(st.integers(1, 30)), "parity": parity, "spares": draw(COUNTS)},
            "device": {"mttf": f"{draw(st.floats(1.0, 1e7))!r} h"},
            "rebuild": {"time": f"{rebuild_h!r} h"},
            "repair": {"strategy": strategy, "preventive": f"{repair_h!r} h", "mandatory": f"{repair_h!r} h"},
        }
    )


@settled
@given(descriptions(), st.integers(1, 4))
def test_more_spares_never_shorten_life(description: Description, more: int) -> None:
    spares = description.enclosure.spares + more
    assert mttf_h(description.replace(enclosure={"spares": spares})) >= mttf_h(description) * (1 - ROUNDING)


@settled
@given(descriptions(), st.floats(1e-3, 1.0))
def test_faster_repair_never_lowers_mttf(description: Description, faster: float) -> None:
    # Not quicker than the rebuilds, as drawn.
    least_h = mean_rebuild_h(description) * max(description.enclosure.parity, 1)
    for key in ["preventive", "mandatory"]:
        sooner_h = max(least_h, getattr(description.repair, key).h * faster)
        sooner = description.replace(repair={key: f"{sooner_h!r} h"})
        assert mttf_h(sooner) >= mttf_h(description) * (1 - ROUNDING)


@settled
@given(descriptions())
def test_preventive_repair_is_never_worse_than_mandatory(description: Description) -> None:
    preventive, mandatory = (description.replace(repair={"strategy": name}) for name in ("preventive", "mandatory"))
    none = description.replace(repair={"strategy": "none"})
    assert mttf_h(preventive) >= mttf_h(mandatory) * (1 - ROUNDING)
    assert mttf_h(mandatory) >= mttf_h(none) * (1 - ROUNDING)


@settled
@given(
    descriptions(),
    st.sampled_from(["dedicated", "distributed"]),
    st.booleans(),
    st.floats(0, 1e7),
)
def test_survival_never_rises_and_is_a_probability(
    description: Description, sparing: str, spares_fail: bool, horizon_h: float
) -> None:
    model = MarkovModel(description.replace(enclosure={"sparing": sparing, "spares_fail": spares_fail}))
    # Close together, so that rounding shows.
    times_h = np.linspace(0, horizon_h, 101)
    alive, lost = model.survival(times_h), model.loss_probability(times_h)
    assert np.all((alive >= 0) & (alive <= 1))
    assert np.all((lost >= 0) & (lost <= 1))
    assert np.all(np.diff(alive) <= 0)
    assert np.all(np.diff(lost) >= 0)
    assert alive + lost == pytest.approx(np.ones(len(times_h)), rel=ROUNDING, abs=0)
    assert (alive[0], lost[0]) == (1, 0)


@pytest.mark.parametrize("parity", [1, 2, 3])
def test_rounding_keeps_probabilities_valid_and_loss_monotone(parity: int) -> None:
    tables = {"device": {"mttf": "1000 h"}, "rebuild": {"time": "10 h"}}
    repair = {"strategy": "mandatory", "mandatory": "100 h"}
    for data in range(1, 21):
        for spares in range(4):
            keys = {"data": data, "parity": parity, "spares": spares}
            model = MarkovModel(Description.load(tables | {"enclosure": keys, "repair": repair}))
            for horizon_h in [1e-2, 1e4]:
                times_h = np.linspace(horizon_h / 100, horizon_h, 100)
                assert np.all(model.survival(times_h) <= 1)
                assert np.all(np.diff(model.loss_probability(times_h)) >= 0)


def test_times_may_come_in_any_order_and_twice() -> None:
    model = MarkovModel(enclosure(2))
    alive = model.survival(["3 years", "1 year", "3 years", "5 years"])
    assert alive[0] == alive[2]
    assert alive[1] > alive[0] > alive[3]


@settled
@given(descriptions(), st.lists(st.floats(1e-3, 1e6), min_size=2, max_size=2))
def test_a_time_alone_and_among_others_gives_the_same(description: Description, times_h: list[float]) -> None:
    model = MarkovModel(description)
    together = model.loss_probability(times_h)
    alone = [model.loss_probability(time_h) for time_h in times_h]
    # Rounding of some thirty squarings; denormal numbers have fewer digits.
    assert list(together) == pytest.approx(alone, rel=1e-9, abs=1e-290)
    assert MarkovModel(description).repairs(times_h[0]) == pytest.approx(
        model.repairs(times_h)[0], rel=1e-9, abs=1e-290
    )
    assert MarkovModel(description).replaced(times_h[0]) == pytest.approx(
        model.replaced(times_h)[0], rel=1e-9, abs=1e-290
    )


# Errors.


def test_figures_without_a_chain_are_refused() -> None:
    many = enclosure(600)
    with pytest.raises(ReliabilityError, match=r"enclosure\.spares: 600 spares and a parity of 1 make 1,202 states"):
        mttf_h(many)
    wrong: list[Any] = [-1, math.nan, math.inf, "3", "3 parsecs", ["1 year", "-1 h"]]
    for times in wrong:
        with pytest.raises(ReliabilityError, match="time: "):
            MarkovModel(enclosure(1)).survival(times)
    with pytest.raises(ReliabilityError, match="span more of them than can be counted"):
        MarkovModel(enclosure(1).replace(rebuild={"time": "1e-9 s"})).survival("1000 years")
    with pytest.raises(ReliabilityError, match=r"beyond 1\.8e308 h"):
        mttf_h(enclosure(0, "mandatory", "1 s", data=1, parity=60))
    with pytest.raises(ReliabilityError, match=r"enclosure\.sparing: equation 1"):
        unrepaired_survival(enclosure(2, sparing="distributed"), "1 year")
    with pytest.raises(ReliabilityError, match=r"enclosure\.spares_fail: equation 1"):
        more_repairs_than(enclosure(2, "preventive", spares_fail=True), 1, "1 year")
    with pytest.raises(ReliabilityError, match=r'repair\.strategy: "none" makes no repairs'):
        more_repairs_than(enclosure(2), 1, "1 year")


@pytest.mark.parametrize(
    ("table", "keys", "named"),
    [
        ("device", {"lifetime": {"kind": "weibull", "shape": 0.7}}, "device.lifetime"),
        ("rebuild", {"distribution": "fixed"}, "rebuild.distribution"),
    ],
)
def test_non_constant_rates_are_refused(table: str, keys: dict[str, Any], named: str) -> None:
    exponential = enclosure(5).replace(device={"lifetime": {"kind": "exponential"}})
    assert mttf_h(exponential) == mttf_h(enclosure(5))
    with pytest.raises(ReliabilityError, match=rf"^{named}: a Markov chain needs constant rates of failures"):
        mttf_h(exponential.replace(**{table: keys}))


def test_transitions_between_the_same_states_add_up() -> None:
    chain = Chain.of("a", [("a", LOSS, 1.0), ("a", LOSS, 2.0), ("a", "a", 5.0)])
    assert mean_time_to_loss_h(chain) == pytest.approx(1 / 3, rel=ROUNDING, abs=0)


def test_custom_chains() -> None:
    mirror = Chain.of("both", [("both", "one", 2e-3), ("one", "both", 0.1), ("one", LOSS, 1e-3), ("gone", LOSS, 1.0)])
    assert mirror.states == ("both", "one")
    assert repr(mirror) == "<Chain of 2 states and loss, from 'both'>"
    # (3λ + μ) / 2λ², as Patterson, Gibson and Katz (1988) have it.
    assert mean_time_to_loss_h(mirror) == pytest.approx((3e-3 + 0.1) / (2 * 1e-3**2), rel=ROUNDING, abs=0)


def test_chains_work_without_scipy_and_other_functions_name_it() -> None:
    code = """
import sys
sys.modules["scipy"] = None
from sledsim.reliability import Description, MarkovModel, ReliabilityError, failures_at_most
tables = {"enclosure": {"data": 19, "parity": 1}, "device": {"mttf": "200000 h"}, "rebuild": {"time": "15 min"}}
model = MarkovModel(Description.load(tables))
print(f"{model.mttf_years:.2f} {failures_at_most(3, 20, 2e5, '1 year'):.3f}")
try:
    model.chain.generator()
except ReliabilityError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == "2.34 0.988"
    assert second.startswith("this needs SciPy: pip install 'scipy>=")
