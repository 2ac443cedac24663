"""The highest load within a bound: `sledsim.find_limit` and `sledsim replay --find-limit`."""

from __future__ import annotations

import json
import math
import re
import signal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sledsim
from sledsim import SledsimError
from sledsim.runs.load_limit import Bound
from sledsim.runs.running import run_resolved
from sledsim.scenario.reading import resolve

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome
    from sledsim.runs.result import Result
    from sledsim.scenario.reading import Resolved

#: Service time of simpledisk-constant, ms.
SERVICE_MS = 0.88


def scenario(requests: int = 100_000, device: str = "simpledisk-constant", **arrival: Any) -> dict[str, Any]:
    return {
        "workload": {"arrival": {"kind": "poisson", "rate_per_s": 100.0} | arrival},
        "system": {"device": device},
        "run": {"requests": requests},
    }


def share_within(response_ms: float, rate_per_ms: float) -> float:
    """Return the share of responses of an M/D/1 queue up to a time (Erlang's series of the wait)."""
    wait, load = response_ms - SERVICE_MS, rate_per_ms * SERVICE_MS
    terms = (
        (-rate_per_ms * (wait - k * SERVICE_MS)) ** k
        * math.exp(rate_per_ms * (wait - k * SERVICE_MS))
        / math.factorial(k)
        for k in range(math.floor(wait / SERVICE_MS) + 1)
    )
    return (1 - load) * sum(terms)


def rate_of_p99(response_ms: float) -> float:
    """Return the rate per second at which the p99 of an M/D/1 queue is this."""
    low, high = 1e-3, 1 / SERVICE_MS
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if share_within(response_ms, middle) > 0.99 else (low, middle)
    return 1e3 * low


@pytest.mark.parametrize("p99_ms", [3.0, 6.0])
def test_the_limit_of_p99_is_that_of_an_m_d_1_queue(p99_ms: float) -> None:
    found = sledsim.find_limit(scenario(400_000), p99_ms=p99_ms)
    (limit,) = found.limits
    assert limit.limit is not None
    assert limit.limit.setting == pytest.approx(rate_of_p99(p99_ms), rel=0.03)
    assert limit.limit.rate_per_s == pytest.approx(limit.limit.setting, rel=0.01)
    assert limit.limited_by == "p99"


@pytest.mark.parametrize("mean_ms", [1.0, 2.0])
def test_the_limit_of_the_mean_is_that_of_an_m_d_1_queue(mean_ms: float) -> None:
    # Mean response: D (1 + ρ / 2 (1 − ρ)).
    wait = mean_ms / SERVICE_MS - 1
    load = 2 * wait / (1 + 2 * wait)
    found = sledsim.find_limit(scenario(), mean_ms=mean_ms)
    assert found.limits[0].limit is not None
    assert found.limits[0].limit.setting == pytest.approx(1e3 * load / SERVICE_MS, rel=0.03)


def test_the_limit_grows_with_the_bound_and_is_known_to_the_precision() -> None:
    rates = []
    for p99_ms in (2.0, 3.0, 5.0, 10.0):
        (limit,) = sledsim.find_limit(scenario(20_000), p99_ms=p99_ms, precision=0.005).limits
        assert limit.limit is not None
        assert limit.above is not None
        assert limit.limit.value_ms <= p99_ms < limit.above.value_ms
        assert limit.above.load / limit.limit.load <= 1.0051
        # Fewer requests meet the bound at a higher load.
        values = [point.value_ms for point in limit.points]
        assert values == sorted(values)
        rates.append(limit.limit.rate_per_s)
    assert rates == sorted(rates)
    assert len(set(rates)) == len(rates)


def test_a_device_that_cannot_keep_up_misses_any_bound() -> None:
    (limit,) = sledsim.find_limit(scenario(20_000), mean_ms=1e6).limits
    assert limit.limited_by == "overload"
    assert limit.limit is not None
    assert 0.9 * 1e3 / SERVICE_MS < limit.limit.rate_per_s < 1.03 * 1e3 / SERVICE_MS


def test_a_bound_below_the_service_time_is_missed_at_every_load() -> None:
    found = sledsim.find_limit(scenario(2000), p99_ms=0.5)
    (limit,) = found.limits
    assert (limit.limit, found.best) == (None, None)
    assert "missed at every load" in str(limit.note())
    assert "no load meets it" in str(found)
    assert found.pandas()["rate_per_s"].isna().all()


def test_a_bound_that_is_never_reached_is_reported(tmp_path: Path) -> None:
    trace = tmp_path / "three.csv"
    trace.write_text("t_ns,device,offset_bytes,bytes,op\n0,0,0,512,R\n1000000,0,0,512,R\n9000000,0,0,512,R\n")
    found = sledsim.find_limit(trace, "simpledisk-constant", p99_ms=100.0)
    assert (found.limits[0].above, found.best) == (None, None)
    assert "the bound is never reached" in str(found)
    assert found.limits[0].limited_by == "nothing"


def poisson_trace(path: Path, rate_per_s: float, requests: int = 20_000) -> Path:
    stream = np.random.default_rng(3)
    times_ns = np.cumsum(stream.exponential(1e9 / rate_per_s, requests)).astype(np.int64)
    rows = "\n".join(f"{time},0,{512 * k % 40_960_000},512,R" for k, time in enumerate(times_ns))
    path.write_text(f"t_ns,device,offset_bytes,bytes,op\n{rows}\n")
    return path


def test_a_trace_is_scaled_in_time(tmp_path: Path) -> None:
    trace = poisson_trace(tmp_path / "poisson.csv", 100.0)
    found = sledsim.find_limit(trace, ["simpledisk-constant", "g2"], p99_ms=6.0)
    limit = found["simpledisk-constant", "fcfs"].limit
    assert limit is not None
    assert limit.rate_per_s == pytest.approx(rate_of_p99(6.0), rel=0.05)
    # The time scale of the row gives the same run.
    result = sledsim.replay(trace, "simpledisk-constant", time_scale=limit.setting)
    assert result.response.p99_ms == limit.p99_ms
    assert len(found) == 2
    assert found.pandas().columns[:2].tolist() == ["device", "scheduler"]


def test_the_command_prints_draws_and_writes_limits(tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    trace = poisson_trace(tmp_path / "poisson.csv", 100.0, 2000)
    found = sledsim.find_limit(trace, ["simpledisk-constant", "g2"], ["fcfs", "sptf"], p99_ms=6.0)
    options = ("--device", "simpledisk-constant,g2", "--scheduler", "fcfs,sptf", "--find-limit", "p99=6ms")
    shown = sledsim_cli("replay", trace, *options, "--plot", tmp_path / "limits.json")
    assert shown.status == 0, shown.err
    assert "highest load with p99 of the response ≤ 6 ms" in shown.out
    assert "assumed: format csv" in shown.out
    assert json.loads((tmp_path / "limits.json").read_text())["layer"]
    rows = json.loads(sledsim_cli("replay", trace, *options, "--json").out)["limits"]
    assert rows == found.to_dict()["limits"]


def test_time_scales_of_a_trace_add_to_the_search(tmp_path: Path) -> None:
    trace = poisson_trace(tmp_path / "poisson.csv", 100.0, 2000)
    plain = sledsim.find_limit(trace, "simpledisk-constant", mean_ms=1.2).limits[0].limit
    scaled = sledsim.find_limit(trace, "simpledisk-constant", mean_ms=1.2, time_scale=0.1).limits[0].limit
    assert plain is not None
    assert scaled is not None
    assert scaled.setting == pytest.approx(plain.setting, rel=0.011)


@pytest.mark.parametrize(
    ("text", "measure", "ms"),
    [
        ("20", "p99", 20.0),
        ("p99=20ms", "p99", 20.0),
        ("p99=0.02s", "p99", 20.0),
        ("mean=500us", "mean", 0.5),
        ("p99.9 = 1e2 ms", "p99.9", 100.0),
    ],
)
def test_bounds_are_parsed(text: str, measure: str, ms: float) -> None:
    bound = Bound.parse(text)
    assert bound.measure == measure
    assert bound.ms == pytest.approx(ms)


@pytest.mark.parametrize("text", ["", "fast", "p98=3", "p99=3 min", "-1", "0", "nan", "p99=", "p99=1ms2"])
def test_other_bounds_are_refused(text: str, tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    with pytest.raises(SledsimError, match="expected a response time such as p99=20ms"):
        Bound.parse(text)
    trace = poisson_trace(tmp_path / "poisson.csv", 100.0, 10)
    done = sledsim_cli("replay", trace, f"--find-limit={text}")
    assert (done.status, "--find-limit" in done.err) == (2, True)


def test_arrivals_without_a_rate_are_refused(tmp_path: Path) -> None:
    closed = scenario(100, kind="closed", outstanding=2)
    del closed["workload"]["arrival"]["rate_per_s"]
    with pytest.raises(SledsimError, match="arrivals of kind closed cannot be scaled"):
        sledsim.find_limit(closed, p99_ms=5.0)
    trace = tmp_path / "untimed.lis"
    trace.write_text("0 1 0 0\n1 1 0 1\n0 1 0 2\n7 2 0 3\n")
    with pytest.raises(SledsimError, match="no highest load exists in mode outstanding"):
        sledsim.find_limit(trace, "g2", p99_ms=5.0)


@pytest.mark.parametrize("wrong", [{}, {"p99_ms": 1.0, "mean_ms": 1.0}, {"p99_ms": -1.0}, {"p99_ms": math.inf}])
def test_one_positive_bound_is_needed(wrong: dict[str, float]) -> None:
    with pytest.raises(SledsimError, match=r"expected one bound|milliseconds above 0"):
        sledsim.find_limit(scenario(100), **wrong)  # type: ignore[arg-type]


def test_other_outputs_are_refused_beside_a_search(tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    trace = poisson_trace(tmp_path / "poisson.csv", 100.0, 10)
    done = sledsim_cli("replay", trace, "--find-limit", "5", "--log", tmp_path / "x.csv")
    assert (done.status, "cannot be combined with --find-limit" in done.err) == (2, True)


def test_run_finds_the_limit_of_a_scenario(tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    path = tmp_path / "constant.json"
    path.write_text(json.dumps(scenario(20_000)))
    shown = sledsim_cli("run", path, "--find-limit", "mean=1.2ms")
    assert shown.status == 0, shown.err
    assert "constant.json · highest load with mean response ≤ 1.2 ms" in shown.out
    (row,) = json.loads(sledsim_cli("run", path, "--find-limit", "mean=1.2ms", "--json").out)["limits"]
    assert row["limit"] == sledsim.find_limit(path, mean_ms=1.2).to_dict()["limits"][0]["limit"]
    refused = sledsim_cli("run", path, "--find-limit", "mean=1.2ms", "--full")
    assert (refused.status, "cannot be combined with --find-limit" in refused.err) == (2, True)


def interrupt_run(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Interrupt a run of the next search by Ctrl-C, by its number from 1."""
    runs = 0

    def run_interrupted(resolved: Resolved, **options: Any) -> Result:
        nonlocal runs
        runs += 1
        if runs < number:
            return run_resolved(resolved, **options)
        endless = resolve(resolved, ["run.requests=4000000000"])
        return run_resolved(endless, progress=lambda *_: signal.raise_signal(signal.SIGINT))

    monkeypatch.setattr("sledsim.runs.load_limit.run_resolved", run_interrupted)


@pytest.mark.parametrize(
    ("number", "note"),
    [
        (1, "interrupted: the limit is unknown"),
        (3, r"interrupted: the limit is at least [\d.]+/s"),
        (6, r"interrupted: the limit is between [\d.]+ and [\d.]+/s"),
    ],
)
def test_an_interrupted_search_has_no_limit(
    number: int, note: str, tmp_path: Path, sledsim_cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "constant.json"
    file.write_text(json.dumps(scenario(5000)))
    interrupt_run(monkeypatch, number)
    outcome = sledsim_cli("run", file, "--find-limit", "p99=6ms", "--json")
    found = json.loads(outcome.out)
    [limit] = found["limits"]
    assert outcome.status == 130
    assert "interrupted: the limits are incomplete" in outcome.err
    assert (found["complete"], limit["complete"], limit["limit"]) == (False, False, None)
    assert re.fullmatch(note, limit["note"])
    interrupt_run(monkeypatch, number)
    table = sledsim_cli("run", file, "--find-limit", "p99=6ms").out
    assert limit["note"] in table
    assert "misses it" not in table


def test_a_bound_of_the_mean_uses_the_mean_that_has_the_precision() -> None:
    base = scenario(device="g2", rate_per_s=800.0) | {"run": {"precision": {"response": "5%"}}}
    [limit] = sledsim.find_limit(base, mean_ms=2.0).limits
    point = limit.points[0]
    repeated = sledsim.run(base, overrides={"workload.arrival.rate_per_s": point.setting})
    assert point.value_ms == repeated.controlled_response.mean_ms != point.mean_ms


def test_failed_requests_at_the_limit_are_noted() -> None:
    failing = scenario(2000) | {"system": {"kind": "zoned", "child": "atlas10k"}}
    failing["workload"]["read_fraction"] = 0.5
    found = sledsim.find_limit(failing, p99_ms=100.0)
    [limit] = found.limits
    assert limit.limit is not None
    assert f"{limit.name}: {limit.limit.failed:,} requests failed at the limit" in found.table().notes
