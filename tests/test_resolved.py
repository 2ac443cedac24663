"""Resolved scenarios as objects: equal or not, handed to other processes, and the text by which stores know them."""

from __future__ import annotations

import json
import math
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from conftest import SCENARIO, examples_of
from sledsim import ScenarioError, _core
from sledsim.runs.running import run_resolved
from sledsim.scenario import catalog_folders, resolve

if TYPE_CHECKING:
    from sledsim.scenario import Resolved

#: Numbers that languages write in different ways.
NUMBERS = (1e-5, 1.5e-7, 1e-4, 0.1 + 0.2, 1e15, 1e16, 123456789012345680.0, 1e9, 5e-324, 3.0)


def as_python_writes(values: dict[str, Any]) -> str:
    """Return the text that the keys of runs are hashes of."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("example", examples_of("scenario"), ids=lambda path: path.stem)
def test_canonical_text_depends_only_on_values(example: Path) -> None:
    scenario = resolve(example)
    assert scenario.canonical() == as_python_writes(scenario.values)
    assert resolve(scenario.values) == scenario


@pytest.mark.parametrize("number", NUMBERS)
def test_format_of_numbers_is_stable(number: float) -> None:
    scenario = resolve({**SCENARIO, "title": f'é\n\t\x01\x7f"\\/ {number}', "run": {"time_s": min(number, 1e10)}})
    assert scenario.canonical() == as_python_writes(scenario.values)
    assert scenario.values["run"]["time_s"] == min(number, 1e10)


def test_equivalent_scenarios_are_equal() -> None:
    one, same, other = resolve(SCENARIO), resolve(SCENARIO), resolve(SCENARIO, {"seed": 9})
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != one.values
    assert {one: "found"}[same] == "found"
    assert (one.seed, other.seed) == (SCENARIO["seed"], 9)
    assert repr(other) == "<Scenario: synthetic on g2, seed 9>"


def test_scenarios_are_immutable() -> None:
    scenario = resolve(SCENARIO)
    with pytest.raises(AttributeError):
        scenario.seed = 4  # type: ignore[misc]
    scenario.values["system"]["device"]["bit_nm"] = 1.0
    assert scenario == resolve(SCENARIO)
    with pytest.raises(TypeError):
        _core.Scenario()


def mean_of(scenario: Resolved) -> tuple[float, list[str]]:
    """Run a scenario in another process."""
    return run_resolved(scenario).response.mean_ms, scenario.citations


def test_scenarios_can_be_pickled() -> None:
    scenario = resolve(SCENARIO)
    assert pickle.loads(pickle.dumps(scenario)) == scenario
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        there = pool.submit(mean_of, scenario).result()
    assert there == mean_of(scenario)
    assert scenario.citations == sledsim.run(SCENARIO)["citations"] != []


def test_a_moved_trace_has_the_same_canonical_text(trace_file: Path) -> None:
    scenario = resolve({"workload": {"path": str(trace_file)}, "system": "g2"})
    assert scenario.trace == (trace_file, None)
    values = scenario.values
    values["workload"]["path"] = ["small.csv", "0123"]
    assert scenario.canonical(("small.csv", "0123")) == as_python_writes(values)
    assert resolve(SCENARIO).trace is None


def test_unknown_powers_are_named() -> None:
    assert resolve(SCENARIO).unpowered == []
    members = [{"device": "atlas10k"}, {"device": "g2"}]
    assert resolve({**SCENARIO, "system": {"kind": "concat", "members": members}}).unpowered == ["atlas10k"]


@pytest.mark.parametrize(
    ("title", "said"),
    [
        (math.nan, "title: nan is not a finite number"),
        ({"a": [1, object()]}, "title.a.1: object <object object at"),
    ],
)
def test_values_outside_the_document_model_are_refused_by_path(title: object, said: str) -> None:
    with pytest.raises(ScenarioError, match=r"^scenario: ") as raised:
        resolve({**SCENARIO, "title": title})
    assert said in str(raised.value)


def test_recursive_tables_are_refused() -> None:
    endless: dict[str, Any] = dict(SCENARIO)
    endless["system"] = endless
    with pytest.raises(ScenarioError, match="nested deeper"):
        resolve(endless)


@pytest.mark.parametrize(
    ("given", "sets"),
    [
        ("g22", []),
        ({"name": "g2", "tipps": 3}, []),
        ({"name": "g2"}, ["device.tips=-1"]),
        ({"name": "g2"}, ["devices.tips=1"]),
        ({"mechanism": "mems", "name": "own"}, []),
        ("missing.toml", []),
        ({"name": "atlas10k", "heads": 0}, []),
    ],
)
def test_a_device_alone_is_refused_as_in_a_scenario(given: Any, sets: list[str], tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as alone:
        _core.Device(given, sets=sets, catalog=catalog_folders(), base_dir=str(Path.cwd()))
    with pytest.raises(ScenarioError) as within:
        resolve({"workload": SCENARIO["workload"], "system": {"device": given}}, sets)
    assert str(alone.value) == str(within.value)
    assert alone.value.faults == within.value.faults


def test_only_drives_can_be_opened_as_devices() -> None:
    sets = ["system.kind=partition", "system.child=g2", "system.bytes=1000000"]
    with pytest.raises(ScenarioError):
        sledsim.Device("g2", overrides=sets)
