"""Workloads of the catalogue: every figure has a source, and results name the workload."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sledsim

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

CATALOG = Path(__file__).parents[1] / "python" / "sledsim" / "catalog"
FILES = {path.stem: tomllib.loads(path.read_text()) for path in sorted((CATALOG / "workloads").glob("*.toml"))}
BIBLIOGRAPHY = (CATALOG / "citations.bib").read_text()


@pytest.mark.parametrize("name", FILES)
def test_stand_ins_have_a_description_and_sources(name: str) -> None:
    file = FILES[name]
    keys = {"title", "description", "stands_in_for", "requests", "measured_on", "citations", "values", "statistics"}
    assert keys <= set(file) <= {*keys, "disks", "assumptions"}
    assert (CATALOG / "devices" / f"{file['measured_on']}.toml").is_file()
    # The keys of a stream share one source; our own choices are listed separately.
    assert ("assumptions" in file) == ("streams" in file["values"])
    for assumption in file.get("assumptions", ()):
        assert set(assumption) == {"what", "value", "why"}
    assert "stand-in" in file["description"].lower()
    sources = set()
    for value in file["values"].values():
        assert set(value) == {"value", "unit", "source", "where", "kind", "note"}
        assert value["kind"] in {"published", "derived", "assumed"}
        sources.add(value["source"])
    for statistic in file["statistics"]:
        needed = {"id", "what", "unit", "published", "reached", "matched", "source", "where"}
        assert needed <= set(statistic) <= {*needed, "note"}
        sources.add(statistic["source"])
    assert sources == set(file["citations"])
    for source in sources:
        assert f"{{{source},\n" in BIBLIOGRAPHY


def test_results_of_stand_ins_are_labelled() -> None:
    run = {"requests": 100}
    result = sledsim.run({"workload": "snake-like", "system": {"device": "g3"}, "run": run})
    assert result["stand_in"] == "snake-like"
    assert "snake-like (stand-in)" in str(result)
    assert {"disksim4", "schlosser2000", "lin2002", "ruemmler1993", "hplajw1992"} <= set(result["citations"])
    compared = sledsim.compare(
        [{"workload": "snake-like", "system": {"device": name}, "run": run} for name in ("g2", "g3")]
    )
    assert "snake-like (stand-in)" in str(compared)
    plain = {"workload": {"arrival": {"kind": "poisson", "rate_per_s": 5}}, "system": {"device": "g3"}, "run": run}
    result = sledsim.run(plain)
    assert result["stand_in"] is None
    assert "stand-in" not in str(result)


@pytest.mark.parametrize("name", FILES)
def test_every_stand_in_runs_under_its_name(name: str) -> None:
    result = sledsim.run({"workload": name, "system": {"device": "atlas10k"}, "run": {"requests": 50}}, log=True)
    assert result["stand_in"] == name
    assert set(FILES[name]["citations"]) <= set(result["citations"])
    streams = FILES[name]["values"].get("streams", {"value": [None]})["value"]
    assert set(result.log["origin"].tolist()) <= set(range(len(streams)))
    assert sledsim.run({"workload": name, "system": {"device": "atlas10k"}}, overrides={"run.requests": 1}).complete


def test_workloads_are_listed_and_shown(sledsim_cli: Callable[..., Outcome]) -> None:
    assert set(sledsim.workloads.catalog()) == set(FILES)
    listing = sledsim_cli("list", "workloads").out
    assert all(name in listing for name in FILES)
    assert set(json.loads(sledsim_cli("list", "workloads", "--json").out)) == set(FILES)
    shown = sledsim_cli("list", "workloads", "snake-like").out
    assert "a stand-in for snake" in shown
    assert "1.7 to 8.9" in shown
    entry = json.loads(sledsim_cli("list", "workloads", "snake-like", "--json").out)
    assert entry["requests"] == 77372
    assert (entry["measured_on"], entry["disks"], entry["assumptions"]) == ("hp_c2247a", 1, [])
    shown = sledsim_cli("list", "workloads", "cello-like").out
    assert "streams.3.arrival" in shown
    assert "466,560 requests a day" in shown
    assert json.loads(sledsim_cli("list", "workloads", "cello-like", "--json").out)["disks"] == 8
    wrong = sledsim_cli("list", "workloads", "snake")
    assert wrong.status == 2
    assert 'did you mean "snake-like"?' in wrong.err


def test_a_workload_file_can_be_shown(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[values]\narrival = {kind = "poisson", rate_per_s = 5}\n')
    assert "poisson" in sledsim_cli("list", "workloads", str(path)).out
    path.write_text("[value]\n")
    wrong = sledsim_cli("list", "workloads", str(path))
    assert wrong.status == 2
    assert "mine.toml" in wrong.err
    missing = sledsim_cli("list", "workloads", str(tmp_path / "none.toml"))
    assert missing.status == 2
    assert "none.toml" in missing.err
