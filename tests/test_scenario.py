"""Scenarios: all notations, and their resolved form."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml

import sledsim
from conftest import ROOT, SCENARIO, TOML, examples_of
from sledsim import Scenario, ScenarioError, _core
from sledsim.scenario import resolve
from sledsim.scenario.models import DriveSystem, MemsDevice, PoissonArrival, Run, SptfScheduler, SyntheticWorkload

if TYPE_CHECKING:
    from pathlib import Path

    from sledsim.scenario import ScenarioLike


def test_typed_classes_match_the_schema() -> None:
    command = [sys.executable, str(ROOT / "tools" / "generate_scenario.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_every_notation_means_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = resolve(SCENARIO).values
    as_yaml, as_json = yaml.safe_dump(SCENARIO), json.dumps(SCENARIO)
    sources: list[ScenarioLike] = [
        TOML,
        as_yaml,
        as_json,
        write(tmp_path, "a.toml", TOML),
        str(write(tmp_path, "a.yaml", as_yaml)),
        write(tmp_path, "a.json", as_json),
        write(tmp_path, "toml-without-suffix", TOML),
        write(tmp_path, "yaml-without-suffix", as_yaml),
        Scenario(**SCENARIO),
        Scenario.load(SCENARIO),
    ]
    for source in sources:
        assert resolve(source).values == wanted, source
    for text in (TOML, as_yaml, as_json):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        assert resolve("-").values == wanted


def test_a_loaded_scenario_has_every_key_and_is_typed() -> None:
    scenario = Scenario.load(SCENARIO)
    assert scenario.seed == 3
    assert scenario.run is not None
    assert scenario.run.requests == 3000
    assert scenario.to_dict()["system"]["device"]["bit_nm"] == 40.0
    assert json.loads(scenario.to_json()) == scenario.to_dict()


def test_resolved_scenarios_match_the_schema_and_are_stable() -> None:
    once = resolve(SCENARIO).values
    jsonschema.Draft202012Validator(_core.schema()).validate(once)
    jsonschema.Draft202012Validator(_core.schema()).validate(SCENARIO)
    assert resolve(once).values == once
    assert Scenario(**SCENARIO).resolve() == once


@pytest.mark.parametrize(
    ("sets", "path", "value"),
    [
        (["device.settle_constants=0"], ("system", "device", "settle_constants"), 0.0),
        (["system.device.name=g3"], ("system", "device", "bit_nm"), 30.0),
        (["device=g1"], ("system", "device", "name"), "g1"),
        (["scheduler=look"], ("system", "scheduler", "name"), "look"),
        ({"run.requests": 10}, ("run", "requests"), 10),
        ({"workload.arrival": {"kind": "constant", "rate_per_s": 5.0}}, ("workload", "arrival", "kind"), "constant"),
        (["device.overhead_ms=200 us"], ("system", "device", "overhead_ms"), 0.2),
    ],
)
def test_values_can_be_replaced(sets: Any, path: tuple[str, ...], value: object) -> None:
    found: Any = resolve(TOML, sets).values
    for key in path:
        found = found[key]
    assert found == value


def test_relative_paths_start_at_the_scenario(tmp_path: Path, trace_file: Path) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    scenario = write(folder, "replay.toml", 'workload.path = "../small.csv"\nsystem.device = "g2"\n')
    assert sledsim.run(scenario).requests.completed == 50


def test_values_outside_json_are_refused() -> None:
    with pytest.raises(ScenarioError, match="has no place in a scenario"):
        resolve({**SCENARIO, "title": object()})


def test_typed_classes_equal_dictionaries() -> None:
    typed = Scenario(
        seed=3,
        workload=SyntheticWorkload(read_fraction=0.6, arrival=PoissonArrival(rate_per_s=600.0)),
        system=DriveSystem(device=MemsDevice(name="g2", overhead_ms="200 us"), scheduler=SptfScheduler()),
        run=Run(requests=3000),
    )
    assert typed.resolve() == resolve(SCENARIO).values


def test_numpy_values_are_accepted() -> None:
    import numpy as np

    resolved = resolve({**SCENARIO, "run": {"requests": np.int64(7)}}).values
    assert resolved["run"]["requests"] == 7


@pytest.mark.parametrize("example", examples_of("scenario"))
def test_the_schema_for_documents_accepts_the_examples(example: Path) -> None:
    """The editor schema must accept everything that the reader accepts."""
    document = tomllib.loads(example.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(_core.schema(document=True)).validate(document)


def test_the_schema_for_documents_refuses_unknown_keys() -> None:
    """It takes quantities as texts and a workload without its kind, and nothing else besides."""
    validator = jsonschema.Draft202012Validator(_core.schema(document=True))
    arrival = {"kind": "poisson", "rate_per_s": 500}
    good = {"workload": {"arrival": arrival}, "system": {"device": {"name": "g2", "overhead_ms": "100 us"}}}
    validator.validate(good)
    assert not validator.is_valid({**good, "sead": 1})
    assert not validator.is_valid({**good, "workload": {"arival": arrival}})
