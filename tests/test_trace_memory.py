"""Traces in memory: they replay as the CSV file with the same columns, wherever a trace is taken."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sledsim
from sledsim import Trace, TraceError, sweep
from sledsim.scenario.models import DriveSystem, TraceWorkload
from sledsim.studies import hit_ratio
from sledsim.traces import open_trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = 300
SYSTEM = {"device": "g2", "scheduler": "sptf"}


@pytest.fixture(scope="module")
def columns() -> dict[str, Any]:
    """Return the columns of a trace that needs every digit of its times."""
    random = np.random.default_rng(7)
    time_ms = np.cumsum(random.exponential(1.3, ROWS))
    lbn = random.integers(0, 6_000_000, ROWS)
    blocks = random.integers(1, 64, ROWS).astype(np.uint16)
    return {"time_ms": time_ms, "lbn": lbn, "blocks": blocks, "op": np.where(random.random(ROWS) < 0.7, "R", "W")}


@pytest.fixture(scope="module")
def file(columns: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same trace as a CSV file, written by pandas."""
    path = tmp_path_factory.mktemp("trace") / "trace.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def records(trace: Trace) -> dict[str, list[Any]]:
    return {name: column.tolist() for name, column in trace.head(ROWS + 1).items()}


def same(one: sledsim.Result, other: sledsim.Result) -> bool:
    """Return True if two results differ at most in the path of the trace and in how its format was recognised."""
    first, second = copy.deepcopy((one.to_dict(), other.to_dict()))
    for each in (first, second):
        del each["scenario"]["workload"]["path"]
        each["replay"].pop("detected_by")
    return first == second


FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "dictionary": dict,
    "lists": lambda columns: {name: column.tolist() for name, column in columns.items()},
    "pandas": pd.DataFrame,
    "nullable pandas": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "polars": pl.DataFrame,
    "Arrow": pa.table,
    "DuckDB": lambda columns: duckdb.from_arrow(pa.table(columns)),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_is_read_as_its_csv_file(kind: str, columns: dict[str, Any], file: Path) -> None:
    trace = Trace.from_frame(FRAMES[kind](columns))
    assert records(trace) == records(open_trace(file))
    assert (trace.path, trace.format, trace.info().records) == (None, "memory", ROWS)


@pytest.mark.parametrize("dtype", [np.int32, np.uint64, np.float32, np.float64])
def test_columns_may_have_any_type_of_numbers(dtype: type) -> None:
    whole: np.ndarray[Any, Any] = np.arange(1, 9, dtype=dtype)
    trace = Trace.from_columns(time_us=whole, lbn=whole, blocks=whole, is_read=whole > 3)
    assert records(trace)["offset_bytes"] == [512 * block for block in range(1, 9)]
    assert records(trace)["time_ns"] == [1000 * time for time in range(8)]
    assert records(trace)["read"] == [False] * 3 + [True] * 5


def test_in_memory_traces_give_the_results_of_their_file(columns: dict[str, Any], file: Path) -> None:
    trace = Trace.from_columns(
        time_ms=columns["time_ms"], lbn=columns["lbn"], blocks=columns["blocks"], is_read=columns["op"] == "R"
    )
    of_file = sledsim.replay(file, scheduler="sptf")
    assert same(sledsim.replay(trace, scheduler="sptf"), of_file)
    assert same(sledsim.replay(pl.DataFrame(columns), scheduler="sptf"), of_file)
    assert same(sledsim.run({"workload": trace, "system": SYSTEM}), of_file)
    both = sledsim.compare({"memory": {"workload": trace, "system": SYSTEM}, "file": of_file})
    assert same(both["memory"], both["file"])
    hits = [hit_ratio(each, ["lru", "arc"], [10, 100]).caches for each in (trace, file)]
    assert hits[0] == hits[1]
    scaled = sledsim.run({"workload": trace.workload(time_scale=0.5), "system": SYSTEM})
    assert same(scaled, sledsim.replay(file, scheduler="sptf", time_scale=0.5))
    assert open_trace(trace) is not trace
    assert records(open_trace(trace)) == records(trace)


def test_typed_scenarios_take_traces_and_devices(columns: dict[str, Any], file: Path) -> None:
    device: Any = sledsim.device("g2")
    typed = DriveSystem(device=device, scheduler="sptf")
    for trace in (Trace.from_frame(columns), open_trace(file)):
        workloads: list[Any] = [trace, TraceWorkload(path=trace), {"kind": "trace", "path": trace}]
        for workload in workloads:
            assert same(
                sledsim.run(sledsim.Scenario(workload=workload, system=typed)), sledsim.replay(file, scheduler="sptf")
            )
        slower = sledsim.Scenario(workload=TraceWorkload(path=trace, time_scale=2.0), system=typed)
        assert same(sledsim.run(slower), sledsim.replay(file, scheduler="sptf", time_scale=2.0))


def test_traces_in_memory_are_values_of_an_axis(columns: dict[str, Any]) -> None:
    half = {name: column[: ROWS // 2] for name, column in columns.items()}
    base = {"workload": Trace.from_frame(columns), "system": SYSTEM}
    found = sweep.run({"scenario": base, "axes": {"workload": [Trace.from_frame(columns), Trace.from_frame(half)]}})
    assert sorted(found.values("requests.completed").values()) == [ROWS // 2, ROWS]


def test_results_and_scenarios_are_pickled_with_their_trace(columns: dict[str, Any]) -> None:
    resolved = sledsim.scenario.resolve({"workload": Trace.from_frame(columns), "system": SYSTEM})
    assert sledsim.run(pickle.loads(pickle.dumps(resolved))).requests.completed == ROWS


def test_frames_of_sledsim_are_accepted_as_traces(trace_file: Path) -> None:
    trace = open_trace(trace_file)
    assert records(Trace.from_frame(trace.relation())) == records(trace)
    assert records(Trace.from_frame(trace.head(100))) == records(trace)


def test_dates_are_times() -> None:
    frame = pd.DataFrame({"lbn": [0, 8], "blocks": [8, 8], "op": ["R", "R"]})
    frame["when"] = pd.Timestamp("2026-01-01") + pd.to_timedelta([0, 250], unit="ms")
    trace = Trace.from_frame(frame, columns={"time": "when"})
    assert records(trace)["time_ns"] == [0, 250_000_000]


def test_columns_are_copied(columns: dict[str, Any]) -> None:
    mine = {name: column.copy() for name, column in columns.items()}
    trace = Trace.from_frame(mine)
    before = records(trace)
    mine["lbn"][:] = 0
    assert records(trace) == before


def test_bad_records_of_a_frame_can_be_skipped() -> None:
    given = {"time_ms": [0, 1, 2], "lbn": [0, -8, 16], "blocks": [1, 2, 3], "op": ["R", "R", "W"]}
    trace = Trace.from_frame(given, skip_bad=1)
    assert trace.info().records == 2
    assert sledsim.replay(trace).requests.completed == 2


@pytest.mark.parametrize("value", [3, None, [1, 2], object()], ids=lambda value: type(value).__name__)
def test_other_types_are_refused_as_traces(value: Any) -> None:
    for call in (sledsim.replay, open_trace, hit_ratio):
        with pytest.raises(TraceError, match="expected the path of a file"):
            call(value)


def test_missing_traces_raise_an_error() -> None:
    trace = Trace.from_columns(time_s=[0, 1], lbn=[5, 6], blocks=8, is_read=True)
    summary = sledsim.replay(trace).summary["scenario"]
    del trace
    with pytest.raises(TraceError, match="this trace was in memory and is no longer there; keep its Trace object"):
        sledsim.run(summary)
