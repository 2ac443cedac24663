"""Systems of several components: explained, run and shown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

import sledsim
from sledsim import RunError, ScenarioError, _core
from sledsim.scenario import Scenario, resolve
from sledsim.scenario.models import DriveSystem, Member, PartitionSystem, VolumesSystem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

WORKLOAD = {"arrival": {"kind": "poisson", "rate_per_s": 200.0}}
SYSTEM: dict[str, Any] = {
    "kind": "volumes",
    "name": "shelf",
    "members": [
        {"count": 2, "device": "g2", "scheduler": "sptf"},
        {"kind": "partition", "child": "g3", "bytes": "1 GiB"},
    ],
}
SCENARIO: dict[str, Any] = {"workload": WORKLOAD, "system": SYSTEM, "run": {"requests": 300}}


def test_typed_classes_and_dictionaries_mean_the_same() -> None:
    part = PartitionSystem(child=DriveSystem(device="g3"), bytes="1 GiB")
    drive = DriveSystem(device="g2", scheduler="sptf")
    shelf = VolumesSystem(name="shelf", members=[Member(count=2, system=drive), Member(system=part)])
    typed = Scenario(workload=SCENARIO["workload"], system=shelf, run=SCENARIO["run"])
    assert resolve(typed).values == resolve(SCENARIO).values
    assert Scenario.load(SCENARIO).resolve() == resolve(SCENARIO).values


# One system of every kind, with the keys that it can't do without.
KINDS: dict[str, dict[str, Any]] = {
    "drive": {"device": "g2"},
    "partition": {"child": "g2", "bytes": "1 GiB"},
    "volumes": {"members": ["g2", "g3"]},
    "concat": {"members": ["g2", "g3"]},
    "stripe": {"members": ["g2", "g2"]},
    "mirror": {"members": ["g2", "g2"]},
    "raid4": {"members": [{"count": 4, "device": "g2"}]},
    "raid5": {"members": [{"count": 4, "device": "g2"}], "journal": {"size_bytes": "1 MiB"}},
    "raid6": {"members": [{"count": 5, "device": "g2"}]},
    "ram-cache": {"child": "g2", "bytes": "1 MiB"},
    "mwb": {"mems": "g2", "disk": "atlas10k"},
    "mcd": {"mems": "g2", "disk": "atlas10k"},
    "tiers": {"fast": "g2", "slow": "atlas10k"},
    "zoned": {"child": "atlas10k"},
}


def test_every_kind_has_an_example() -> None:
    variants = _core.schema()["$defs"]["SystemSpec"]["oneOf"]
    # The last is a name.
    assert {each["properties"]["kind"]["const"] for each in variants if "properties" in each} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_resolved_system_of_every_kind_makes_typed_classes(kind: str) -> None:
    resolved = resolve({"workload": WORKLOAD, "system": {"kind": kind, **KINDS[kind]}}).values
    assert Scenario.load(resolved).resolve() == resolved


def test_written_scenarios_match_the_editor_schema() -> None:
    check = jsonschema.Draft202012Validator(_core.schema(document=True))
    check.validate(SCENARIO)
    check.validate(resolve(SCENARIO).values)
    check.validate({**SCENARIO, "system": {"kind": "volumes", "members": ["a", "g2"]}, "components": {"a": "g3"}})
    wrong = {**SCENARIO, "system": {"kind": "partition", "child": "g2", "bites": 512}}
    assert not check.is_valid(wrong)


def test_an_explanation_draws_the_tree(sledsim_command: Callable[..., Outcome], tmp_path: Path) -> None:
    found = sledsim.scenario.explain(SCENARIO)
    drawn = str(found)
    for text in ("volumes shelf", "├─ members[0..1]: 2 × drive", "└─ members[2]: partition", "   └─ child: drive"):
        assert text in drawn
    assert "device g3, scheduler fcfs" in drawn
    assert "1 GiB" in drawn
    assert "system.members[2].child" in drawn
    assert found.tree["children"][0]["count"] == 2
    assert "writes wait for the medium here" in drawn
    file = tmp_path / "shelf.json"
    file.write_text(json.dumps(SCENARIO))
    printed = sledsim_command("check", file)
    assert printed.status == 0, printed.err
    assert "2 × drive" in printed.out
    as_json = sledsim_command("check", file, "--json", "--set", "system.members.0.count=5")
    assert json.loads(as_json.out)["children"][0]["count"] == 5


def test_a_run_reports_each_component() -> None:
    result = sledsim.run(SCENARIO, timeline=True)
    assert result.device.name == "shelf"
    assert [each["path"] for each in result.components] == [
        "system",
        "system.members[0]",
        "system.members[1]",
        "system.members[2]",
        "system.members[2].child",
    ]
    assert sum(path["requests"] for path in result.components[0]["paths"]) == 300
    assert result.components[0]["requests"] == 300
    assert result.requests.lost == 0
    text = str(result)
    for line in ("system: volumes shelf", "member 0", "members[0]: drive g2", "child: drive g3", "split requests"):
        assert line in text
    # Both kinds of sled have the same states.
    assert {0, 1, 2} == set(result.timeline["mechanism"].tolist())
    drive = sledsim.run({**SCENARIO, "system": "g2"})
    assert "components" not in drive.summary
    assert "component" not in str(drive)


def test_functions_for_a_single_drive_refuse_trees() -> None:
    with pytest.raises(ScenarioError, match="only one drive can be looked at here"):
        sledsim.power(SCENARIO)
    with pytest.raises(ScenarioError, match="only one drive can be looked at here"):
        sledsim.device("g2", overrides={"system": {"kind": "partition", "child": "g2", "bytes": 512}})
    disks = {**SCENARIO, "system": {"kind": "volumes", "members": ["g2", "atlas10k"]}}
    with pytest.raises(RunError, match="the powers of atlas10k are not known"):
        sledsim.run(disks, timeline=True)
