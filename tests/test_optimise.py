"""Searches for designs: results, errors, and continuation."""

from __future__ import annotations

import itertools
import json
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from conftest import EXAMPLES, ROOT
from sledsim.scenario import resolve
from sledsim.sweep import Store
from sledsim.sweep.measures import PriceList, metric_function
from sledsim.sweep.optimisation import optimise
from sledsim.sweep.search import Constraint, Objective, Search
from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sledsim.sweep.outcome import SearchOutcome

BASE = {
    "workload": {"arrival": {"kind": "poisson", "rate_per_s": 300.0}},
    "system": {"device": "g2"},
    "run": {"requests": 300},
}
TWO_OBJECTIVES: dict[str, Any] = {
    "scenario": BASE,
    "trials": 24,
    "parameters": {"device.x_range_um": {"from": 50, "to": 150}, "device.active_tips": [320, 640, 1280]},
    "objectives": ["capacity", "response"],
    "constraints": [{"metric": "response", "at_most": 1.3}],
}


def runs_done(store: Path) -> int:
    """Return how many runs were made for a store."""
    return int(Store(store).rows("SELECT count(*) FROM all_runs")[0][0])


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> SearchOutcome:
    return optimise(TWO_OBJECTIVES, tmp_path_factory.mktemp("search") / "store")


def test_the_front_has_exactly_the_pareto_optimal_designs(found: SearchOutcome) -> None:
    def beats(one: Any, other: Any) -> bool:
        (room, time_ms), (other_room, other_time_ms) = one.objectives, other.objectives
        return bool(room >= other_room and time_ms <= other_time_ms and one.objectives != other.objectives)

    feasible = [each for each in found.trials if each.held[0] <= 1.3]
    front = {each.number for each in found.front}
    assert 1 < len(front) < len(feasible)
    for each in feasible:
        beaten = any(beats(other, each) for other in feasible)
        repeated = any(other.objectives == each.objectives and other.number < each.number for other in feasible)
        assert (each.number in front) == (not beaten and not repeated)


def test_the_front_keeps_the_constraints_and_some_designs_break_them(found: SearchOutcome) -> None:
    assert all(each.feasible and each.objectives[1] <= 1.3 for each in found.front)
    assert any(not each.feasible for each in found.trials)


def test_figures_of_a_design_equal_its_run(found: SearchOutcome) -> None:
    best = found.front[0]
    result = sledsim.run(BASE, overrides={**best.values, "seed": 1})
    device = sledsim.devices.MemsStorage("g2", overrides=best.values)
    assert best.objectives == (device.capacity_bytes / 1e9, result.response.mean_ms)


def test_repeated_searches_run_nothing_and_find_the_same(found: SearchOutcome) -> None:
    before = runs_done(found.store)
    again = optimise(TWO_OBJECTIVES, found.store, threads=1)
    assert runs_done(found.store) == before == 24
    assert again.to_json() == found.to_json()


def test_more_trials_continue_a_search(tmp_path: Path, found: SearchOutcome) -> None:
    short = optimise(TWO_OBJECTIVES, tmp_path / "store", trials=8)
    assert runs_done(tmp_path / "store") == 8
    longer = optimise(TWO_OBJECTIVES, tmp_path / "store")
    assert runs_done(tmp_path / "store") == 24
    assert longer.trials[:8] == short.trials
    assert longer.trials == found.trials


def test_the_best_velocity_is_found_and_depends_on_the_acceleration(tmp_path: Path) -> None:
    search = Search.load(EXAMPLES / "velocity.toml")
    best = optimise(search, tmp_path / "store").front[0]
    # The curve is flat beyond 75 mm/s: 1.219 ms at its best, of those that the page lists.
    assert best.objectives[0] == pytest.approx(1.219, abs=0.015)
    rate, acceleration = best.values.values()
    assert rate > 1500
    assert acceleration > 700


def test_the_page_has_the_figures_of_its_runs() -> None:
    search = Search.load(EXAMPLES / "velocity.toml")
    page = (ROOT / "docs" / "how-to" / "optimise.md").read_text()
    header, *rows = re.findall(r"^\|.*(?:mm/s|m/s²) \|.*$|^\| [\d.]+ m/s².*$", page, re.M)
    velocities = [float(each) for each in re.findall(r"(\d+) mm/s", header)]
    assert len(rows) == 2
    for row in rows:
        acceleration, *shown = (float(each) for each in re.findall(r"[\d.]+", row.replace("m/s²", "")))
        # A bit is 50 nm wide; 41 mm/s are 820 kbit/s.
        settings = [
            {"device.bit_rate_kbit_s": 20 * each, **dict.fromkeys(ACCELERATIONS, acceleration), "seed": 1}
            for each in velocities
        ]
        found = [sledsim.run(json.loads(search.base.text or ""), overrides=each).response.mean_ms for each in settings]
        assert [f"{each:.3f}" for each in found] == [f"{each:.3f}" for each in shown]


ACCELERATIONS = ("device.acceleration_x_m_s2", "device.acceleration_y_m_s2")


@pytest.mark.parametrize("sampler", ["nsga2", "random"])
def test_every_sampler_searches_and_continues(tmp_path: Path, sampler: str) -> None:
    search = {**TWO_OBJECTIVES, "sampler": sampler, "trials": 12}
    first = optimise(search, tmp_path / "store")
    again = optimise(search, tmp_path / "store")
    assert len({json.dumps(each.values) for each in first.trials}) > 6
    assert again.to_json() == first.to_json()


def test_replications_have_the_same_seeds_for_every_design(tmp_path: Path) -> None:
    found = optimise({**TWO_OBJECTIVES, "trials": 4, "replications": 3}, tmp_path / "store")
    assert all(len(set(samples)) == 3 for samples in (each.samples[1] for each in found.trials))
    rows = Store(found.store).rows("SELECT DISTINCT replication, seed FROM parameters JOIN runs USING (key) ORDER BY 1")
    assert len(rows) == 3


def test_designs_that_fail_are_reported_and_counted(tmp_path: Path) -> None:
    # Requests for the last blocks of a device of 3.456 GB don't fit one whose sled is smaller.
    trace = tmp_path / "requests.csv"
    trace.write_text("time_s,lbn,blocks,op\n" + "".join(f"{i},{6_700_000 - i},8,r\n" for i in range(20)))
    search = {
        "scenario": {"workload": {"kind": "trace", "path": str(trace)}, "system": {"device": "g2"}},
        "trials": 12,
        "parameters": {"device.y_range_um": {"from": 50, "to": 150}},
        "objectives": ["response"],
    }
    found = optimise(search, tmp_path / "store")
    failed = [each for each in found.trials if each.error is not None]
    assert 0 < len(failed) < 12
    assert all("beyond" in str(each.error) for each in failed)
    assert {fault.kind for each in failed for fault in each.faults} == {"misfit"}
    assert f"{len(failed)} could not be run" in str(found)


def test_search_without_valid_designs_prints_the_reason(tmp_path: Path, sledsim_cli: Callable[..., Any]) -> None:
    trace = tmp_path / "far.csv"
    trace.write_text("t_ns,device,offset_bytes,bytes,op\n0,0,99999999999999488,512,R\n")
    search = {"trials": 2, "parameters": {"scheduler": ["fcfs", "sptf"]}, "objectives": ["response"]}
    for workload, said in (
        ({"kind": "session"}, "requests come from the program that drives a session"),
        ({"kind": "trace", "path": str(trace)}, "no design could be run; the first: "),
    ):
        file = tmp_path / "search.json"
        file.write_text(json.dumps({**search, "scenario": {"workload": workload, "system": {"device": "g2"}}}))
        result = sledsim_cli("optimise", file, "--store", tmp_path / "s")
        assert result.status == 2
        assert said in result.err


def test_cost_is_the_sum_of_the_components() -> None:
    scenario = resolve(
        {
            **BASE,
            "system": {
                "kind": "ram-cache",
                "bytes": "1 GB",
                "child": {"kind": "stripe", "members": [{"count": 3, "device": {"name": "g2", "sleds": 2}}]},
            },
        }
    )
    prices = PriceList(mems_per_gb=2.0, mems_per_sled=10.0, mems_per_tip=0.01, ram_per_gb=100.0)
    quantity = metric_function({}, scenario, prices)
    device = sledsim.devices.MemsStorage("g2", sleds=2)
    one = 2 * (10.0 + 0.01 * 6400 + 2.0 * device.capacity_bytes / 1e9)
    assert quantity("cost") == pytest.approx(3 * one + 100.0, rel=1e-12)
    assert quantity("cost_per_gb") == pytest.approx(quantity("cost") / quantity("capacity"), rel=1e-12)
    assert quantity("streaming_bandwidth") == pytest.approx(3 * device.streaming_bandwidth_mb_s, rel=1e-12)


def test_constraint_violations_have_a_size() -> None:
    both = Constraint("capacity", at_most=4.0, at_least=2.0)
    assert [both.excess(value) for value in (1.5, 3.0, 5.0)] == [0.5, -1.0, 1.0]
    assert str(both) == "2 ≤ capacity (GB) ≤ 4"
    assert [Objective(each).goal for each in ("capacity", "response")] == ["maximise", "minimise"]


def write(path: Path, search: dict[str, Any]) -> Path:
    path.write_text(json.dumps(search))
    return path


def test_the_command_prints_and_draws(tmp_path: Path, sledsim_cli: Callable[..., Any]) -> None:
    file = write(tmp_path / "design.json", {**TWO_OBJECTIVES, "trials": 8})
    found = sledsim_cli("optimise", file, "--store", tmp_path / "store", "--plot", tmp_path / "front.svg")
    assert found.status == 0, found.err
    assert "capacity (GB) ↑" in found.out
    assert "<svg" in (tmp_path / "front.svg").read_text()
    listed = json.loads(sledsim_cli("optimise", file, "--store", tmp_path / "store", "--json").out)
    assert [each["trial"] for each in listed["trials"]] == list(range(8))
    wrong = sledsim_cli("optimise", tmp_path / "desing.json")
    assert wrong.status == 2
    assert "did you mean" in wrong.err
    assert "Traceback" not in wrong.err


@pytest.mark.slow
def test_interrupted_search_continues_to_the_same_result(tmp_path: Path) -> None:
    search = {**TWO_OBJECTIVES, "trials": 2000, "batch": 4}
    file = write(tmp_path / "design.json", search)
    code = "import sys; from sledsim.cli import main; main()"
    command = [sys.executable, "-c", code, "optimise", str(file), "--store", str(tmp_path / "store")]
    for stop in (signal.SIGINT, signal.SIGKILL):
        grown = parts_changed_since_now(tmp_path / "store")
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(grown, running)
        running.send_signal(stop)
        _, errors = running.communicate(timeout=600)
        assert running.returncode == (130 if stop == signal.SIGINT else -signal.SIGKILL), errors
    before = runs_done(tmp_path / "store")
    assert before > 0
    resumed = optimise(file, tmp_path / "store", trials=max(40, before))
    undisturbed = optimise(search, tmp_path / "other", trials=max(40, before))
    assert runs_done(tmp_path / "store") == runs_done(tmp_path / "other")
    assert resumed.trials == undisturbed.trials


def parts_changed_since_now(store: Path) -> Callable[[], bool]:
    """Return a function that returns true if the parts of a store have changed."""

    def parts() -> set[Path]:
        return {*(store / "runs").glob("*.parquet")}

    before = parts()
    return lambda: parts() != before


def test_plots_show_one_two_and_three_objectives(tmp_path: Path, found: SearchOutcome) -> None:
    for count, metrics in itertools.islice(enumerate([["response"], ["capacity", "response", "energy"]]), 2):
        other = optimise({**TWO_OBJECTIVES, "objectives": metrics, "trials": 6}, tmp_path / f"store{count}")
        spec = json.dumps(other.plot().to_dict())
        assert all(metric in spec for metric in metrics)
    assert "best" in json.dumps(found.plot().to_dict())


def test_searches_without_a_feasible_design_are_reported(tmp_path: Path) -> None:
    search = {**TWO_OBJECTIVES, "trials": 2, "constraints": [{"metric": "response", "at_most": 1e-6}]}
    found = optimise(search, tmp_path / "store")
    assert not found.front
    assert "none of 2 designs meets all constraints (2 break a constraint)" in str(found)
    assert "no design meets response (ms) ≤ 1e-06: the nearest has " in str(found)


def test_designs_of_a_search_are_saved_as_device_files(tmp_path: Path, sledsim_cli: Callable[..., Any]) -> None:
    found = optimise(TWO_OBJECTIVES, tmp_path / "store", trials=12)
    saved = found.save_design(tmp_path / "best.toml")
    assert saved.number in {each.number for each in found.front}
    settings = found.search.settings(saved.values)
    device = resolve(BASE, settings).values["system"]["device"]
    written = sledsim.Device(str(tmp_path / "best.toml")).parameters
    assert {**written, "name": ""} == {**device, "name": ""}
    other = next(each.number for each in found.trials if each.number != saved.number)
    assert found.save_design(tmp_path / "other.toml", other).number == other
    result = sledsim.run(BASE, overrides={"device": str(tmp_path / "best.toml")})
    assert result["response"]["mean_ms"] == pytest.approx(saved.objectives[1])
    for number, message in ((99, "there is no trial 99"), (-1, "there is no trial -1")):
        with pytest.raises(sledsim.SledsimError, match=message):
            found.save_design(tmp_path / "none.toml", number)
    refused = sledsim_cli("optimise", "search.toml", "--design", "3")
    assert (refused.status, "--save" in refused.err) == (2, True)


def test_searches_of_policies_have_no_design_to_save(tmp_path: Path) -> None:
    keys = {**TWO_OBJECTIVES, "trials": 2, "parameters": {"scheduler": ["fcfs", "sptf"]}, "constraints": []}
    with pytest.raises(sledsim.SledsimError, match="no parameter of search belongs to a device"):
        optimise(keys, tmp_path / "store").save_design(tmp_path / "best.toml")


def test_a_search_states_its_estimates_of_the_mean_response(tmp_path: Path) -> None:
    search = {
        "scenario": {**BASE, "run": {"precision": {"response": "5%"}}},
        "trials": 6,
        "parameters": {"workload.arrival.rate_per_s": [100.0, 1100.0]},
        "objectives": ["response"],
    }
    outcome = optimise(search, tmp_path / "store")
    assert {(each.values["workload.arrival.rate_per_s"], each.controlled) for each in outcome.trials} == {
        (100.0, 1),
        (1100.0, 1),
    }
    assert "response: mean with control variates in 6 of 6 runs" in outcome.table().notes


def test_a_search_counts_runs_without_their_precision(tmp_path: Path) -> None:
    base = {**BASE, "run": {"precision": {"response": "1%"}, "requests": 2000}}
    outcome = optimise({**TWO_OBJECTIVES, "scenario": base, "trials": 3}, tmp_path / "store")
    assert "3 of 3 runs did not reach their precision" in outcome.table().notes
