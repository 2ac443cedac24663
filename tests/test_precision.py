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
    found = compare(runs, overrides={"run.precision.response": "10%"})
    assert "controlled_response.mean_ms" in [metric["key"] for metric in found.metrics()]


def test_traces_have_no_precision(tmp_path: Path) -> None:
    trace = tmp_path / "one.csv"
    trace.write_text("time_s,op,lbn,blocks\n0,R,0,8\n")
    scenario = {"workload": {"kind": "trace", "path": str(trace)}, "system": {"device": "g2"}}
    with pytest.raises(sledsim.ScenarioError, match="needs generated requests"):
        sledsim.run(scenario, overrides={"run.precision.response": "1%"})
