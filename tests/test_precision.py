"""Runs that end at a precision, from the command line and in Python."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import sledsim
from conftest import Outcome
from sledsim.runs.comparison import compare

SCENARIO = {"workload": {"arrival": {"kind": "poisson", "rate_per_s": 500.0}}, "system": {"device": "g2"}}
TEXT = '[workload]\narrival = { kind = "poisson", rate_per_s = 500 }\n[system]\ndevice = "g2"\n'


def test_stopped_run_equals_a_run_of_that_size() -> None:
    stopped = sledsim.run(SCENARIO, overrides={"run.precision.response": "10%"})
    size = {"run.requests": stopped.precision.requests, "run.warmup_requests": stopped.warmup.requests}
    assert stopped.precision.reached
    assert sledsim.run(SCENARIO, overrides=size).response.to_dict() == stopped.response.to_dict()


def test_command_line_prints_the_precision(tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(TEXT)
    outcome = sledsim_cli("run", file, "--precision", "response=10%,utilisation=10%", "--json")
    results = json.loads(outcome.out)["precision"]["results"]
    assert [(each["result"], each["target"], each["reached"]) for each in results] == [
        ("response", 0.1, True),
        ("utilisation", 0.1, True),
    ]


def test_comparison_has_the_mean_with_control_variates() -> None:
    runs = {device: {**SCENARIO, "system": {"device": device}} for device in ("g2", "g3")}
    found = compare(runs, overrides={"run.precision.response": "1%"})
    assert "controlled_response.mean_ms" in [metric["key"] for metric in found.metrics()]


SCHEDULERS = {
    name: {
        "workload": {"arrival": {"kind": "poisson", "rate_per_s": 800.0}},
        "system": {"device": "g2", "scheduler": name},
    }
    for name in ("fcfs", "sptf")
}


def test_comparison_has_intervals_of_paired_differences() -> None:
    found = compare(SCHEDULERS, overrides={"run.requests": 20_000})
    fcfs, sptf = found.results.values()
    paired = found.response_differences()["sptf"]
    assert paired.mean == pytest.approx(sptf.response.mean_ms - fcfs.response.mean_ms)
    unpaired = fcfs.response.ci95_high_ms - fcfs.response.ci95_low_ms
    assert paired.high < 0
    assert paired.high - paired.low < unpaired
    assert f"{found.to_dict()['response_differences'][0]['mean_ms']:.3g}" in " ".join(found.table().notes)


def test_runs_of_different_lengths_have_no_paired_difference() -> None:
    short = sledsim.run(SCHEDULERS["fcfs"], overrides={"run.requests": 5_000})
    long = sledsim.run(SCHEDULERS["fcfs"], overrides={"run.requests": 6_000})
    assert compare([short, long]).response_differences() == {}


def test_comparison_ends_when_the_difference_is_known() -> None:
    found = compare(SCHEDULERS, difference="2%")
    fcfs, sptf = found.results.values()
    paired = found.response_differences()["sptf"]
    assert paired.high - paired.low <= 2 * 0.02 * fcfs.response.mean_ms
    # Runs of that length have the same results.
    requests = fcfs.requests.submitted
    length = {"run.requests": requests, "run.warmup_requests": fcfs.requests.warmup}
    again = compare(SCHEDULERS, overrides=length)
    assert again["sptf"].response.to_dict() == sptf.response.to_dict()
    assert sptf.requests.submitted == requests


def test_comparison_at_a_difference_needs_scenarios(tmp_path: Path) -> None:
    result = sledsim.run(SCENARIO, overrides={"run.requests": 1000})
    with pytest.raises(sledsim.SledsimError, match="needs scenarios to run, not results"):
        compare([result, SCENARIO], difference=0.01)
    with pytest.raises(sledsim.SledsimError, match="needs generated requests"):
        compare("trace.csv", devices=["g2"], difference=0.01)


def test_command_line_compares_to_a_difference(tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    for name in ("fcfs", "sptf"):
        (tmp_path / f"{name}.toml").write_text(f'{TEXT}scheduler = "{name}"\n')
    files = [tmp_path / "fcfs.toml", tmp_path / "sptf.toml"]
    outcome = sledsim_cli("compare", *files, "--precision", "difference=5%", "--json")
    [found] = json.loads(outcome.out)["response_differences"]
    assert found["name"] == "sptf"
    assert found["ci95_low_ms"] < found["mean_ms"] < found["ci95_high_ms"]
    mixed = sledsim_cli("compare", *files, "--precision", "difference=5%,p99=5%")
    assert mixed.status == 2
    assert "difference cannot be combined with other results" in mixed.err


def test_long_run_of_a_fixed_length_has_the_mean_with_control_variates() -> None:
    length = {"run.requests": 30_000, "run.warmup_requests": 1000}
    found = sledsim.run(SCENARIO, overrides=length)
    half_width = (found.controlled_response.ci95_high_ms - found.controlled_response.ci95_low_ms) / 2
    assert half_width < (found.response.ci95_high_ms - found.response.ci95_low_ms) / 2
    assert any("with control variates" in note for note in found.brief().notes)


def test_traces_have_no_precision(tmp_path: Path) -> None:
    trace = tmp_path / "one.csv"
    trace.write_text("time_s,op,lbn,blocks\n0,R,0,8\n")
    scenario = {"workload": {"kind": "trace", "path": str(trace)}, "system": {"device": "g2"}}
    with pytest.raises(sledsim.ScenarioError, match="needs generated requests"):
        sledsim.run(scenario, overrides={"run.precision.response": "1%"})
