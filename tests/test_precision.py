"""Runs that end at a precision, from the command line and in Python."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sledsim
from conftest import Outcome
from sledsim.runs.comparison import compare
from sledsim.runs.result import Result
from sledsim.runs.running import run_resolved
from sledsim.scenario.reading import Resolved, resolve

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


def test_missed_precision_of_a_difference_is_stated() -> None:
    found = compare(SCHEDULERS, difference="0.1%", overrides={"run.requests": 20_000})
    precision = found.to_dict()["difference_precision"]
    [run] = precision["runs"]
    assert (precision["target"], precision["reached"], precision["requests"]) == (0.001, False, 20_000)
    assert (run["name"], run["reached"]) == ("sptf", False)
    assert run["half_width"] > 0.001
    note = f"± {100 * run['half_width']:.2g} %, target 0.10 % not reached in 20,000 requests"
    assert f"sptf: precision of the difference: {note}" in found.table().notes


def test_runs_that_measure_different_numbers_of_requests_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_without_some(resolved: Resolved, **options: Any) -> Result:
        lost = ["run.requests=9900"] if resolved.values["system"]["scheduler"]["name"] == "sptf" else []
        return run_resolved(resolve(resolved, lost), **options)

    monkeypatch.setattr("sledsim.runs.paired_runs.run_resolved", run_without_some)
    found = compare(SCHEDULERS, difference="1%", overrides={"run.warmup_requests": 0, "run.warmup": "fixed"})
    assert found["fcfs"].requests.measured == 10_000
    [run] = found.to_dict()["difference_precision"]["runs"]
    assert run["note"] == "no interval (the runs measured 10,000 and 9,900 requests)"


def test_missed_precisions_of_compared_runs_are_counted() -> None:
    found = compare(SCHEDULERS, overrides={"run.precision.p99": "1%", "run.requests": 5000})
    assert "2 of 2 runs did not reach their precision" in found.table().notes


def test_interrupted_repetition_keeps_the_last_complete_runs(
    tmp_path: Path, sledsim_cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = 0

    def run_interrupted(resolved: Resolved, **options: Any) -> Result:
        nonlocal runs
        runs += 1
        # After two runs to find the warm-up and two of the first round, interrupt the second run of the next round.
        if runs < 6:
            return run_resolved(resolved, **options)
        endless = resolve(resolved, ["run.requests=4000000000"])
        return run_resolved(endless, progress=lambda *_: signal.raise_signal(signal.SIGINT))

    monkeypatch.setattr("sledsim.runs.paired_runs.run_resolved", run_interrupted)
    for name in ("fcfs", "sptf"):
        (tmp_path / f"{name}.toml").write_text(f'{TEXT}scheduler = "{name}"\n')
    files = [tmp_path / "fcfs.toml", tmp_path / "sptf.toml"]
    outcome = sledsim_cli("compare", *files, "--precision", "difference=0.1%", "--json")
    found = json.loads(outcome.out)
    assert outcome.status == 130
    assert "interrupted: the results are those of the last complete runs" in outcome.err
    assert [run["summary"]["requests"]["measured"] for run in found["runs"]] == [10_000, 10_000]
    assert [each["name"] for each in found["response_differences"]] == ["sptf"]
    assert not found["difference_precision"]["reached"]


def test_warmup_of_a_comparison_is_that_of_its_runs() -> None:
    rate = {"workload.arrival.rate_per_s": 1240.0}
    alone = [sledsim.run(each, overrides=rate | {"run.precision.response": "100%"}) for each in SCHEDULERS.values()]
    found = compare(SCHEDULERS, difference="100%", overrides=rate)
    # With 1,000 requests the pilot run does not find the warm-up.
    assert max(each.warmup.pilot_requests for each in alone) > 1000
    assert found["sptf"].requests.warmup == max(each.warmup.requests for each in alone)
    assert not any("warm-up" in note for note in found.table().notes)


@pytest.mark.parametrize("share", ["0%", -1, float("nan"), "200%", "much", True])
def test_difference_out_of_range_is_rejected(share: float | str) -> None:
    with pytest.raises(sledsim.SledsimError, match=r"difference=.*: expected a share from 0.0001 to 1"):
        compare(SCHEDULERS, difference=share)


def test_difference_needs_two_scenarios() -> None:
    with pytest.raises(sledsim.SledsimError, match="difference needs at least two scenarios"):
        compare([SCENARIO], difference=0.01)


@pytest.mark.parametrize("key", ["p99=1%", "response=1%", "control_variates=false"])
def test_difference_excludes_a_precision_of_the_runs(key: str) -> None:
    with pytest.raises(sledsim.ScenarioError, match=r"difference and run.precision exclude each other"):
        compare(SCHEDULERS, difference=0.01, overrides=[f"run.precision.{key}"])


def test_difference_excludes_a_duration() -> None:
    with pytest.raises(sledsim.ScenarioError, match=r"^difference and run.time_s both end the run"):
        compare(SCHEDULERS, difference=0.01, overrides={"run.time_s": 1.0})


@pytest.mark.parametrize(
    ("command", "precision", "message"),
    [
        ("run", "difference=1%", "difference is for compare"),
        ("run", "response=1", "did you mean response=1%?"),
        ("run", "response=2%,response=5%", "response is given 2 times"),
        ("compare", "difference=0%", "--precision difference=0%: expected a share"),
        ("compare", "difference=1%", "--precision difference needs at least two scenarios"),
    ],
)
def test_wrong_precision_names_the_option(
    command: str, precision: str, message: str, tmp_path: Path, sledsim_cli: Callable[..., Outcome]
) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(TEXT)
    outcome = sledsim_cli(command, file, "--precision", precision)
    assert outcome.status == 2
    assert message in outcome.err


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
    assert any("more precise mean response" in note for note in found.brief().notes)


def test_traces_have_no_precision(tmp_path: Path) -> None:
    trace = tmp_path / "one.csv"
    trace.write_text("time_s,op,lbn,blocks\n0,R,0,8\n")
    scenario = {"workload": {"kind": "trace", "path": str(trace)}, "system": {"device": "g2"}}
    with pytest.raises(sledsim.ScenarioError, match="needs generated requests"):
        sledsim.run(scenario, overrides={"run.precision.response": "1%"})
