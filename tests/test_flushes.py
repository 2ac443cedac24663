"""Flushes and forced unit access from Python and the command line: sessions, traces, results, errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sledsim

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

#: A disk that reports a write when it is in the buffer.
DISK = {"device": "atlas10k"}
#: Two writes, a flush between them; the second is forced to the medium.
TRACE = "t_ns,device,offset_bytes,bytes,op\n0,0,40960000,4096,W\n5000000,0,0,0,F\n90000000,0,81920000,4096,WF\n"


def test_arrays_of_requests_hold_flushes_and_forced_writes() -> None:
    session, arrays = sledsim.Session(DISK, log=True), sledsim.Session(DISK, log=True)
    for number in range(12):
        at_ns = number * 4_000_000
        if number % 3 == 2:
            session.flush(at_ns=at_ns)
        else:
            session.submit(number * 100_000, 8, read=False, fua=number % 3 == 1, at_ns=at_ns)
    numbers = np.arange(12)
    arrays.serve(
        numbers * 100_000,
        8,
        read=False,
        fua=numbers % 3 == 1,
        flush=numbers % 3 == 2,
        at_ns=numbers * 4_000_000,
    )
    session.drain()
    assert session.result().summary == arrays.result().summary
    log = arrays.result().log
    for name, place in (("fua", 1), ("flush", 2)):
        assert log[name][np.argsort(log["id"])].tolist() == (numbers % 3 == place).tolist()
    assert not np.logical_and(log["read"], log["flush"]).any()
    assert (log["blocks"] == np.where(log["flush"], 0, 8)).all()


def test_forced_reads_are_refused() -> None:
    session = sledsim.Session(DISK)
    with pytest.raises(sledsim.SledsimError, match="read = False"):
        session.submit(0, 8, fua=True)
    with pytest.raises(sledsim.SledsimError, match="read = False"):
        session.serve([0, 8], 8, read=[False, True], fua=True)
    assert session.under_way == 0, "none of them was handed in"


def test_results_count_flushes_separately(tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(TRACE)
    shown = sledsim_cli("replay", path, "-d", "atlas10k", "--json")
    assert shown.status == 0, shown.err
    summary: dict[str, Any] = json.loads(shown.out)
    assert (summary["requests"]["submitted"], summary["requests"]["measured"]) == (3, 2)
    assert summary["response"]["count"] == summary["writes"]["response"]["count"] == 2
    assert summary["flushes"]["response"]["count"] == 1
    full = sledsim_cli("replay", path, "-d", "atlas10k", "--full")
    assert "flush response" in full.out
    assert "flushes: 1" in full.out
    assert "flush response (ms)" in sledsim_cli("replay", path, "-d", "atlas10k").out
    # Without flushes the result does not mention them.
    path.write_text(TRACE.replace("5000000,0,0,0,F\n", ""))
    assert '"flushes"' not in sledsim_cli("replay", path, "-d", "atlas10k", "--json").out


def test_traces_keep_flushes_and_forced_writes(tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(TRACE)
    trace = sledsim.traces.open_trace(path)
    assert trace.head()["flush"].tolist() == [False, True, False]
    assert trace.head()["fua"].tolist() == [False, False, True]
    for name in ("again.parquet", "again.csv"):
        copy = tmp_path / name
        assert trace.convert(copy) == 3
        assert {key: column.tolist() for key, column in sledsim.traces.open_trace(copy).head().items()} == {
            key: column.tolist() for key, column in trace.head().items()
        }
    assert (tmp_path / "again.csv").read_text() == TRACE
    assert trace.convert(tmp_path / "without", to="mqsim") == 2
    result = sledsim_cli("trace", path, "--to", "mqsim", "-o", tmp_path / "without")
    assert (result.status, result.out) == (0, "")
    assert f"wrote {tmp_path / 'without'}: 2 records\n" in result.err
    assert "note: 1 flush record left out: mqsim has none" in result.err
    assert "note: 1 durable write written as ordinary writes" in result.err
    path.write_text("t_ns,device,offset_bytes,bytes,op\n0,0,0,0,F\n")
    result = sledsim_cli("trace", path, "--to", "mqsim", "-o", tmp_path / "none")
    assert result.status == 2
    assert "the trace has only flushes, and mqsim has none: choose csv or parquet" in result.err
    assert not (tmp_path / "none").exists()
    path.write_text(TRACE)
    info = trace.info()
    assert (info["records"], info["writes"], info["flushes"], info["durable_writes"]) == (3, 2, 1, 1)
    shown = sledsim_cli("trace", path).out
    assert all(word in shown for word in ("flushes", "durable writes"))
    first = sledsim_cli("trace", path, "--head", "10").out
    assert all(word in first for word in ("write", "flush", "write, FUA"))
    assert trace.relation().aggregate("count(*) FILTER (flush)").fetchall() == [(1,)]
