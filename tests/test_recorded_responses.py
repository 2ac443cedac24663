"""Recorded response times, of served devices and other traces, beside those of the replay."""

from __future__ import annotations

import csv
import json
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sledsim
from sledsim import SledsimError
from test_serving import served

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

#: A system that serves in another order than requests come in.
OVERTAKING = {"device": {"name": "g2"}, "scheduler": "sptf"}
COUNT = 40


@pytest.fixture
def recorded_file(tmp_path: Path) -> Path:
    """Return a trace with responses, of requests that overtake one another: some writes, every tenth a flush."""
    rows = []
    for i in range(COUNT):
        op = "F" if i % 10 == 9 else "W" if i % 4 == 0 else "R"
        rows.append(f"{i * 200_000},{i * 7919 % 4000 * 4096},4096,{op},{100 + i * i}.25,x")
    path = tmp_path / "recorded.csv"
    path.write_text("\n".join(["t_ns,offset_bytes,bytes,op,response_us,more", *rows, ""]))
    return path


def responses_ms(path: Path, ops: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    rows = csv.DictReader(path.read_text().splitlines())
    return np.array([float(row["response_us"]) / 1e3 for row in rows if row["op"] in ops])


def test_replays_include_recorded_response_times(recorded_file: Path) -> None:
    found = sledsim.run({"system": OVERTAKING, "workload": {"kind": "trace", "path": str(recorded_file)}}, log=True)
    assert np.any(np.diff(found.log["id"].astype(np.int64)) < 0), "none overtook another"
    for key, ops in (("response", "RW"), ("reads", "R"), ("writes", "W"), ("flushes", "F")):
        expected = responses_ms(recorded_file, ops)
        stats = found.recorded[key]
        assert (stats["count"], stats["max_ms"]) == (len(expected), expected.max())
        assert stats["mean_ms"] == pytest.approx(expected.mean())
        # Quantiles are off by less than 1/512.
        assert stats["p50_ms"] == pytest.approx(np.quantile(expected, 0.5, method="inverted_cdf"), rel=1 / 500)
    assert found.recorded["response"]["count"] == found.response["count"]


@pytest.mark.parametrize(
    ("workload", "run", "chosen"),
    [
        ({}, {"warmup_requests": 7}, range(7, COUNT)),
        ({}, {"warmup_s": 0.001}, range(5, COUNT)),
        ({"first_record": 3, "records": 11}, {}, range(3, 14)),
        ({"mode": "outstanding", "outstanding": 5}, {}, range(COUNT)),
        ({"repeat": 2}, {"warmup_requests": 5}, [*range(5, COUNT), *range(COUNT)]),
    ],
)
def test_recorded_responses_belong_to_measured_requests(
    recorded_file: Path, workload: dict[str, Any], run: dict[str, Any], chosen: range | list[int]
) -> None:
    workload |= {"kind": "trace", "path": str(recorded_file)}
    found = sledsim.run({"system": OVERTAKING, "workload": workload, "run": run})
    every = responses_ms(recorded_file, "RWF")
    expected = [every[place] for place in chosen if place % 10 != 9]
    assert found.recorded["response"]["count"] == found.response["count"] == len(expected)
    assert found.recorded["response"]["mean_ms"] == pytest.approx(np.mean(expected))


def test_truncated_runs_have_recorded_responses_of_completed_requests(recorded_file: Path) -> None:
    workload = {"kind": "trace", "path": str(recorded_file)}
    found = sledsim.run({"system": OVERTAKING, "workload": workload, "run": {"time_s": 0.003}}, log=True)
    assert 0 < found.response["count"] < COUNT / 2
    every = responses_ms(recorded_file, "RWF")
    served_ids = found.log["id"][~found.log["flush"].astype(bool)].tolist()
    assert found.recorded["response"]["mean_ms"] == pytest.approx(np.mean([every[place] for place in served_ids]))


def test_power_cuts_keep_recorded_responses_of_completed_requests(recorded_file: Path) -> None:
    workload = {"kind": "trace", "path": str(recorded_file)}
    run = {"power_cuts": {"times_s": [0.0031, 0.0052]}}
    found = sledsim.run({"system": OVERTAKING, "workload": workload, "run": run}, log=True)
    assert found.requests["failed"] > 0
    every = responses_ms(recorded_file, "RWF")
    served_ids = found.log["id"][~found.log["flush"].astype(bool)].tolist()
    assert found.recorded["response"]["count"] == len(served_ids)
    assert found.recorded["response"]["mean_ms"] == pytest.approx(np.mean([every[place] for place in served_ids]))


def test_traces_without_recorded_responses_have_none(trace_file: Path) -> None:
    assert "recorded" not in sledsim.replay(trace_file).summary
    assert not sledsim.traces.open_trace(trace_file).has_responses
    assert "response_ns" not in sledsim.traces.open_trace(trace_file).head(1)


def test_recorded_responses_are_shown_beside_simulated_ones(
    recorded_file: Path, measured_file: Path, sledsim_cli: Callable[..., Outcome]
) -> None:
    brief = sledsim_cli("replay", recorded_file, "--device", "g2").out
    assert "recorded response (ms)" in brief
    assert "recorded flush response (ms)" in brief
    assert "recorded response" in sledsim_cli("replay", recorded_file, "--device", "g2", "--full").out
    assert sledsim.traces.open_trace(recorded_file).head(2)["response_ns"].tolist() == [100_250, 101_250]
    assert "response (ms)" in sledsim_cli("trace", recorded_file, "--head", "10").out
    rows = sledsim.traces.open_trace(recorded_file).relation()
    assert rows.aggregate("count(*), max(response_ns)").fetchall() == [(COUNT, 1_621_250)]
    # Measured times of a drive are recorded responses, too.
    replayed = sledsim.replay(measured_file)
    assert replayed.recorded["response"]["mean_ms"] == pytest.approx(8.0005 + 0.1 * 59 / 2)
    assert replayed.recorded["flushes"] is None


def test_invalid_response_is_a_bad_record(recorded_file: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    recorded_file.write_text(recorded_file.read_text().replace("104.25", "soon"))
    found = sledsim_cli("replay", recorded_file, "--device", "g2")
    assert found.status == 2
    assert "line 4: field `response`" in found.err
    assert sledsim_cli("replay", recorded_file, "--skip-bad", 1).status == 0


def test_models_are_compared_with_recorded_responses_by_request(
    recorded_file: Path, tmp_path: Path, sledsim_cli: Callable[..., Outcome]
) -> None:
    found = sledsim.studies.validate_drive("g2", recorded_file)
    assert found.columns["measured_ms"].tolist() == pytest.approx(responses_ms(recorded_file, "RWF").tolist())
    replayed = sledsim.replay(recorded_file, device="g2", log=True)
    modelled = replayed.log["response_ns"][np.argsort(replayed.log["id"])].astype(float) / 1e6
    assert found.columns["modelled_ms"].tolist() == modelled.tolist()
    assert list(found.groups) == ["all", "reads", "writes", "flushes"]
    every, reads, writes, flushes = (found.groups[name] for name in ("all", "reads", "writes", "flushes"))
    assert every.requests == reads.requests + writes.requests == COUNT - flushes.requests
    assert every.measured_mean_ms == pytest.approx(responses_ms(recorded_file, "RW").mean())
    assert flushes.measured_mean_ms == pytest.approx(responses_ms(recorded_file, "F").mean())
    assert found.quantiles(2)["measured_ms"] == pytest.approx(
        np.quantile(responses_ms(recorded_file, "RW"), [0.25, 0.75])
    )
    sledsim.traces.open_trace(recorded_file).relation().write_parquet(str(tmp_path / "recorded.parquet"))
    parquet = tmp_path / "again.parquet"
    columns = "time_ns AS t_ns, offset_bytes, bytes, response_ns"
    op = "CASE WHEN flush THEN 'F' WHEN read THEN 'R' ELSE 'W' END AS op"
    sledsim.traces.open_trace(recorded_file).relation().project(f"{columns}, {op}").write_parquet(str(parquet))
    assert sledsim.studies.validate_drive("g2", parquet).to_dict() == found.to_dict() | {"trace": parquet.name}
    shown = sledsim_cli("validate-drive", "g2", recorded_file)
    assert shown.status == 0
    assert "\nflushes" in shown.out


def test_traces_of_flushes_are_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "flushes.csv"
    path.write_text("t_ns,offset_bytes,bytes,op,response_ns\n0,0,0,F,0\n")
    with pytest.raises(SledsimError, match="only flushes"):
        sledsim.studies.validate_drive("g2", path)


@pytest.mark.skipif(sys.platform != "linux", reason="a block device is served on Linux")
def test_replayed_server_logs_have_client_waiting_times(tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    log = tmp_path / "log.csv"
    with served(tmp_path, "--log", "log.csv", system="device = 'atlas10k'") as server:
        client = server.client()
        client.go()
        for place in range(30):
            block = place * 104_729 % 1_600_000
            if place % 3:
                client.read(512 * block, 4096)
            else:
                client.write(512 * block, bytes(4096))
        client.close()
        server.end()
    rows = [row for row in csv.DictReader(log.read_text().splitlines()) if row["op"] != "F"]
    waited_ms = np.array([int(row["response_ns"]) / 1e6 for row in rows])
    due_ms = np.array([(int(row["due_ns"]) - int(row["t_ns"])) / 1e6 for row in rows])
    replayed = json.loads(sledsim_cli("replay", log, "--device", "atlas10k", "--json").out)
    assert replayed["response"]["mean_ms"] == pytest.approx(due_ms.mean())
    assert replayed["recorded"]["response"]["count"] == 30
    assert replayed["recorded"]["response"]["mean_ms"] == pytest.approx(waited_ms.mean())
    assert replayed["recorded"]["writes"]["count"] == 10
    found = sledsim.studies.validate_drive("atlas10k", log)
    assert found.columns["measured_ms"][1:].tolist() == pytest.approx(waited_ms.tolist())
    assert found.columns["modelled_ms"][1:].tolist() == pytest.approx(due_ms.tolist())
    # The difference is the accuracy of the server.
    assert found.median_absolute_error_ms == pytest.approx(np.median(np.abs(waited_ms - due_ms)))
