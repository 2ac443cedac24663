"""What hong2006 says of enclosures (section 3), against the Markov models and equation 1."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from conftest import ROOT
from enclosures import disk, enclosure
from sledsim.reliability import loss_probability, more_repairs_than, mttf_h, survival, unrepaired_survival
from sledsim.reliability.duration import YEAR_H

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

REFERENCE = Path(os.environ.get("SLEDSIM_REFERENCE", ROOT.parent / "shared"))

REPAIR_TIMES = ["1 day", "1 week", "2 weeks", "1 month", "3 months"]


def figure_4(strategy: str, time: str) -> list[float]:
    """Return the MTTF in years with 0 to 5 spares."""
    return [mttf_h(enclosure(spares, strategy, time)) / YEAR_H for spares in range(6)]


@pytest.fixture(scope="module")
def claims() -> dict[str, dict[str, Any]]:
    path = REFERENCE / "claims" / "hong2006.toml"
    if not path.exists() and os.environ.get("CI") != "true":
        pytest.skip(f"{path} is not at hand; set SLEDSIM_REFERENCE to the reference data")
    with path.open("rb") as file:
        return {claim["id"]: claim for claim in tomllib.load(file)["claim"]}


# What the claims of section 3 with a published value are compared with.
VALUES: dict[str, Callable[[], Sequence[float] | NDArray[np.float64]]] = {
    "mttf-no-repair": lambda: [mttf_h(enclosure(spares)) / YEAR_H for spares in range(6)],
    "loss-5-spares-3-years": lambda: [loss_probability(enclosure(5), "3 years")],
    "loss-disk-3-years": lambda: [loss_probability(disk(), "3 years")],
    "loss-without-spares-1-year": lambda: [loss_probability(enclosure(0), "1 year")],
    "disk-survival": lambda: survival(disk(), ["1 year", "3 years", "5 years"]),
    "durability-2-spares-1-year": lambda: [unrepaired_survival(enclosure(2), "1 year")],
    "durability-5-spares-5-years": lambda: [unrepaired_survival(enclosure(5), "5 years")],
    "repairs-preventive": lambda: [more_repairs_than(enclosure(3, "preventive"), 1, "5 years")],
    "repairs-mandatory": lambda: [more_repairs_than(enclosure(3, "mandatory"), 1, "5 years")],
}


@pytest.mark.parametrize("claim", VALUES)
def test_published_values(claims: dict[str, dict[str, Any]], claim: str) -> None:
    published, ours = np.atleast_1d(claims[claim]["published"]), VALUES[claim]()
    assert list(ours) == pytest.approx(list(published), rel=claims[claim]["tol"], abs=0)


def test_preventive_repair_gains_one_to_two_orders_of_magnitude(claims: dict[str, dict[str, Any]]) -> None:
    low, high = claims["preventive-gain"]["low"], claims["preventive-gain"]["high"]
    outside: dict[tuple[int, str], float] = {}
    for time in REPAIR_TIMES:
        none, *some = figure_4("preventive", time)
        gains = {(spares, time): mttf / none for spares, mttf in enumerate(some, start=1)}
        outside |= {key: gain for key, gain in gains.items() if not low <= gain <= high}
    # 24 of the 25 points reproduce the claim. With one spare and three months to a repair the gain is 5.7-fold: 18 % of
    # enclosures that are out of spares have a failure before they are repaired, and 17 % of these then lose data.
    assert list(outside) == [(1, "3 months")]
    # The same from the three states' equations, for rebuilds that take no time, which are 0.1 % of the risk here.
    rate, repair = 1 / 200_000, 1 / (YEAR_H / 4)
    normal, spareless, degraded = np.linalg.solve(
        [
            [20 * rate, -20 * rate, 0],
            [-repair, 20 * rate + repair, -20 * rate],
            [-repair, 0, 19 * rate + repair],
        ],
        [1, 1, 1],
    )
    without = np.linalg.solve([[20 * rate, -20 * rate], [-repair, 19 * rate + repair]], [1, 1])[0]
    assert normal > spareless > degraded
    assert outside[1, "3 months"] == pytest.approx(normal / without, rel=2e-3)


def test_preventive_beats_mandatory_at_equal_spares_and_rate(claims: dict[str, dict[str, Any]]) -> None:
    assert claims["preventive-beats-mandatory"]["published"] == ["preventive", "mandatory"]
    for time in REPAIR_TIMES:
        preventive, mandatory = figure_4("preventive", time), figure_4("mandatory", time)
        # Without spares the two strategies are the same.
        assert preventive[0] == mandatory[0]
        assert all(better > worse for better, worse in zip(preventive[1:], mandatory[1:], strict=True))


def test_preventive_repair_reaches_a_thousand_years(claims: dict[str, dict[str, Any]]) -> None:
    best = figure_4("preventive", "1 week")[5]
    assert claims["thousand-years"]["low"] <= best <= claims["thousand-years"]["high"]


def test_distributed_sparing_is_as_reliable(claims: dict[str, dict[str, Any]]) -> None:
    low, high = claims["distributed-sparing"]["low"], claims["distributed-sparing"]["high"]
    for time in ["1 day", "1 week", "2 weeks", "1 month"]:
        for strategy in ["preventive", "mandatory"]:
            for spares in range(6):
                dedicated = mttf_h(enclosure(spares, strategy, time))
                distributed = mttf_h(enclosure(spares, strategy, time, sparing="distributed"))
                assert low <= abs(distributed - dedicated) / dedicated <= high, (time, strategy, spares)


def test_every_claim_of_section_3_is_tested(claims: dict[str, dict[str, Any]]) -> None:
    section_3 = {
        name for name, claim in claims.items() if claim["data"] == "model" and not claim["where"].startswith("Table I")
    }
    shapes = {"preventive-gain", "preventive-beats-mandatory", "thousand-years", "distributed-sparing"}
    assert section_3 == {*VALUES, *shapes}
