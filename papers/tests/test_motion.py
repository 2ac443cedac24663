"""Models of motion in experiments, and figures with time-optimal motion."""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Any

import pytest

from conftest import SCENARIO
from sledsim.scenario import resolve
from sledsim_papers.harness.claim import PAPERS, motion
from sledsim_papers.harness.finding import Finding
from sledsim_papers.harness.motion import TIME_OPTIMAL, Motion, device_moving, moving
from sledsim_papers.harness.registry import experiments
from sledsim_papers.harness.reproduction import reproduce
from sledsim_papers.harness.study import Study
from sledsim_papers.harness.wording import time_optimal_text


def scenario(requests: int) -> dict[str, Any]:
    return {**SCENARIO, "run": {"requests": requests}}


def test_figures_with_time_optimal_motion_are_shown_for_comparison() -> None:
    finding = Finding(1.0, "", decimals=2, intervals=((0.9, 1.1),))
    assert time_optimal_text(0.97, finding) == "0.97"
    assert time_optimal_text(1.001, finding) == "the same"
    assert time_optimal_text(None, finding) == "–"
    assert time_optimal_text(1.0, None) == "–"


def test_each_paper_has_the_motion_of_its_own_simulator() -> None:
    assert {paper: motion(paper) for paper in PAPERS} == {
        "griffin1999": "first-order",
        "schlosser2000": "decomposed",
        "lin2002": "decomposed",
        "schlosser2004": "decomposed",
        "hong2006": "decomposed",
    }


#: Systems with sleds at every place of a device, and the number of sleds of each.
SYSTEMS: list[tuple[dict[str, Any], int]] = [
    ({"device": "g2"}, 1),
    ({"device": {"name": "g3", "sleds": 2}, "scheduler": "sptf"}, 1),
    ({"device": "cheetah73"}, 0),
    ({"kind": "concat", "members": [{"count": 3, "device": "hong2006"}]}, 1),
    ({"kind": "mirror", "members": ["g2", {"device": "g2"}]}, 2),
    ({"kind": "ram-cache", "bytes": 1 << 22, "child": {"kind": "mcd", "mems": "hong2006", "disk": "atlas10k"}}, 1),
]


def sleds_of(value: Any) -> list[str]:
    """Return the motion models of all sleds of a resolved scenario."""
    if isinstance(value, dict):
        own = [value["seek_model"]] if "seek_model" in value else []
        return own + [each for inner in value.values() for each in sleds_of(inner)]
    return [each for inner in value for each in sleds_of(inner)] if isinstance(value, list) else []


@pytest.mark.parametrize(("system", "sleds"), SYSTEMS)
@pytest.mark.parametrize("model", ["first-order", "decomposed"])
def test_motion_model_applies_to_all_sleds(system: dict[str, Any], sleds: int, model: Motion) -> None:
    before = {"workload": SCENARIO["workload"], "system": system}
    moved = moving(before, model)
    assert sleds_of(resolve(moved).values) == [model] * sleds
    assert moving(moved, model) == moved
    # Nothing else is changed.
    assert resolve(moving(before, TIME_OPTIMAL)).values == resolve(before).values


def test_a_sled_that_names_its_motion_keeps_it() -> None:
    named = {"name": "g2", "seek_model": "first-order"}
    assert device_moving(named, "decomposed") == named
    assert device_moving("cheetah73", "decomposed") == "cheetah73"
    enclosure = {"enclosure": {"data": 19}, "device": {"mttf": "200000 h"}}
    assert moving(enclosure, "decomposed") == enclosure


def test_views_of_a_study_share_runs_and_stop_together() -> None:
    with Study(workers=1) as study:
        slow = study.under("decomposed")
        assert slow.run(scenario(200)) is study.under("decomposed").run(scenario(200))
        assert slow.run(scenario(200)) is not study.run(scenario(200))
        # The catalogue's own motion is the time-optimal one.
        assert study.under("time-optimal").run(scenario(200)).summary == study.run(scenario(200)).summary
        assert slow.sled("g2").parameters["seek_model"] == "decomposed"
        assert slow.sled("g2", seek_model="first-order").parameters["seek_model"] == "first-order"
        assert slow.device({"name": "g2"}).parameters["seek_model"] == "decomposed"
        assert study.sled("griffin1999").parameters["seek_model"] == "first-order"
        asked = []
        for each in (slow, study.under("decomposed"), study):
            each.once("motion", lambda _: asked.append(1))
        assert len(asked) == 2
        study.stop()
        with pytest.raises((KeyboardInterrupt, CancelledError)):
            slow.run(scenario(10))


def test_motion_model_is_that_of_the_paper_unless_the_study_overrides_it() -> None:
    turnaround = experiments()["schlosser2000.spring-turnaround"]
    with Study() as study:
        found, beside = turnaround(study), turnaround(study.under(TIME_OPTIMAL))
        assert found == turnaround(study.under("decomposed"))
        assert found.ours != beside.ours
        run = experiments()["schlosser2000.all-tips-power"](study)
    assert run.scenarios[0]["system"]["device"]["seek_model"] == "decomposed"


def test_time_optimal_figures_are_computed_on_request() -> None:
    name = "schlosser2000.spring-turnaround"
    [alone] = reproduce(name).answers
    [both] = reproduce(name, time_optimal=True).answers
    assert alone.time_optimal is None
    assert both.finding == alone.finding
    assert both.verdict == alone.verdict
    assert both.time_optimal not in {None, both.finding and both.finding.ours}
