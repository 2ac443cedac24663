"""Ranges, names and prices of a search: refused before anything runs, or kept to."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from sledsim import SledsimError
from sledsim.sweep import Search, Sweep, optimise

if TYPE_CHECKING:
    from pathlib import Path

RATE = "workload.arrival.rate_per_s"
SCENARIO: dict[str, Any] = {
    "workload": {"arrival": {"kind": "poisson", "rate_per_s": 300.0}},
    "system": {"device": "g2"},
    "run": {"requests": 20},
}


def search(parameters: dict[str, Any], **keys: Any) -> Search:
    document = {"scenario": SCENARIO, "parameters": parameters, "objectives": ["response"], "trials": 8} | keys
    return Search.load(document)


@pytest.mark.parametrize(
    ("axis", "key", "says"),
    [
        ({"from": 100, "to": 200, "step": 0}, "step", "at least 2e-09"),
        ({"from": 100, "to": 200, "step": -5}, "step", "at least 2e-09"),
        ({"from": 100, "to": 200, "step": 1e-320}, "step", "at least 2e-09"),
        ({"from": 100, "to": 200, "step": 500}, "step", "longer than the range from 100 to 200"),
        ({"from": 100, "to": 200, "step": 1e300}, "step", "longer than the range"),
        ({"from": 1, "to": 9, "step": 2.5, "integer": True}, "step", "whole ones"),
        ({"from": 1, "to": 1e300, "integer": True}, "to", "9,007,199,254,740,992"),
    ],
)
def test_steps_that_never_reach_the_end_are_refused(axis: dict[str, Any], key: str, says: str) -> None:
    with pytest.raises(SledsimError, match=says) as raised:
        search({RATE: axis})
    assert raised.value.path == f"parameters.{RATE}.{key}"


@pytest.mark.parametrize(
    ("axis", "allowed"),
    [
        ({"from": 100, "to": 200, "step": 30}, {100, 130, 160, 190}),
        ({"from": 0.5, "to": 1.2, "step": 0.3}, {0.5, 0.8, 1.1}),
        ({"from": 100, "to": 200, "step": 100}, {100, 200}),
        ({"from": 1, "to": 9, "step": 3, "integer": True}, {1, 4, 7}),
        ({"from": 0.6, "to": 2, "scale": "log", "integer": True}, {1, 2}),
    ],
)
def test_steps_stay_within_their_range(axis: dict[str, Any], allowed: set[float], tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = optimise(search({RATE: axis}), tmp_path / "st", threads=1)
    assert {each.values[RATE] for each in found.trials} <= allowed


@pytest.mark.parametrize("paths", ["seed", "scheduler, seed", "scenario.seed"])
def test_seeds_are_refused_as_search_parameters(paths: str) -> None:
    with pytest.raises(SledsimError, match="seeds of runs") as raised:
        search({paths: [1, 2]})
    assert raised.value.path == "parameters.seed"


@pytest.mark.parametrize("path", ["", " ", "a..b", ".a"])
def test_unnamed_axes_are_reported_with_their_place(path: str) -> None:
    with pytest.raises(SledsimError, match="is not the path of a parameter") as raised:
        search({path: [1]})
    assert raised.value.path == "parameters"
    for table, keys in (("axes", {"axes": {path: [1]}}), ("zip.0", {"zip": [{path: [1]}]})):
        with pytest.raises(SledsimError, match="is not the path of a parameter") as raised:
            Sweep.load({"scenario": SCENARIO} | keys).check()
        assert raised.value.path == table


def test_prices_keep_costs_finite(tmp_path: Path) -> None:
    with pytest.raises(SledsimError, match=r"prices.mems_per_sled = 1e\+308 is out of range"):
        search({RATE: [100]}, objectives=["cost"], prices={"mems_per_sled": 1e308})
    prices = {"mems_per_sled": 1e15, "mems_per_tip": 1e15, "mems_per_gb": 1e15}
    dear = search({RATE: [100]}, objectives=["cost", "cost_per_gb"], prices=prices, trials=1)
    found = optimise(dear, tmp_path / "st", threads=1)
    assert all(map(math.isfinite, found.trials[0].objectives))
    assert "Infinity" not in found.to_json()
