"""Traces from Python: reading, looking into, converting."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pytest

import sledsim
from sledsim import TraceError, open_trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome


def parquet_of(source: Path, query: str = "SELECT * FROM trace") -> Path:
    """Write a CSV trace as Parquet, as a user would with other tools."""
    path = source.with_suffix(".parquet")
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE trace AS FROM read_csv('{source}')")
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
    return path


def test_a_trace_is_read_in_batches(trace_file: Path) -> None:
    trace = open_trace(trace_file)
    assert trace.format == "csv"
    assert [len(batch["time_ns"]) for batch in trace.batches(20)] == [20, 20, 10]
    [whole] = list(trace)
    assert whole["time_ns"].tolist() == [i * 1_000_000 for i in range(50)]
    assert whole["offset_bytes"].tolist() == [i * 40_960 for i in range(50)]
    assert set(whole["bytes"].tolist()) == {4096}
    assert whole["read"].tolist() == [i % 3 != 0 for i in range(50)]
    assert {name: column[:2].tolist() for name, column in whole.items()}.items() <= {
        name: column.tolist() for name, column in trace.head(2).items()
    }.items()
    assert "small.csv" in repr(trace)


def test_what_is_in_a_trace(trace_file: Path) -> None:
    info = open_trace(trace_file).info()
    assert info.records == 50
    assert info.reads == 33
    assert info.writes == 17
    assert info.duration_s == pytest.approx(0.049)


def test_histograms_and_devices_of_a_trace(tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    path = tmp_path / "many.csv"
    devices = [0, 1, 2, 3, 7, 9, 10, 400]
    rows = [f"{i * 1_000_000},{devices[i % 8]},{i << 27},{1024 << i % 3},{'R' if i % 4 else 'W'}" for i in range(48)]
    path.write_text("\n".join(["t_ns,device,offset_bytes,bytes,op", *rows, ""]))
    info = open_trace(path).info()
    assert [(each["to_bytes"], each["reads"], each["writes"]) for each in info["sizes"]] == [
        (1024, 12, 4),
        (2048, 12, 4),
        (4096, 12, 4),
    ]
    assert info["gaps"] == [{"to_s": 0.001, "gaps": 47}]
    told = sledsim_cli("trace", "info", path).out
    assert "8: 0 to 3, 7, 9 to 10, 400" in told
    # 47 steps of 128 MiB and 4 KiB: 6.308 GB, more than a g3 has, less than an atlas10k.
    [fits] = re.findall(r"^fits +(.+)$", told, flags=re.MULTILINE)
    [small] = re.findall(r"^does not fit +(.+)$", told, flags=re.MULTILINE)
    assert {"atlas10k", "uberdisk"} <= set(re.findall(r"[\w-]+", fits))
    assert "g3 (6.143 GB)" in small
    assert "--fit scale" in small
    assert re.search(r"^2 KiB +16 +33.3 +75.0 +█{32}$", told, flags=re.MULTILINE)
    assert re.search(r"^1 ms +47 +100.0 +█{32}$", told, flags=re.MULTILINE)
    found = json.loads(sledsim_cli("trace", "info", path, "--json").out)
    assert (found["fits"]["g3"], found["fits"]["atlas10k"]) == (False, True)
    for name, fits_it in (("g3", 2), ("atlas10k", 0)):
        assert sledsim_cli("replay", path, "--device", name).status == fits_it


def test_a_trace_is_a_relation(trace_file: Path) -> None:
    relation = open_trace(trace_file).relation()
    [(count, last_ns, size)] = relation.aggregate("count(*), max(time_ns), sum(bytes)::BIGINT").fetchall()
    assert (count, last_ns, size) == (50, 49_000_000, 50 * 4096)


@pytest.mark.parametrize(
    ("name", "to"), [("t.csv", None), ("t.parquet", None), ("t.mqsim", None), ("t", "disksim-ascii")]
)
def test_conversion_keeps_every_record(trace_file: Path, tmp_path: Path, name: str, to: str | None) -> None:
    original = open_trace(trace_file)
    copy = tmp_path / "copies" / name
    copy.parent.mkdir()
    assert original.convert(copy, to=to) == 50
    [first], [second] = list(original), list(open_trace(copy))
    for column in ("time_ns", "device", "offset_bytes", "bytes", "read"):
        assert np.array_equal(first[column], second[column]), column


@pytest.mark.parametrize(
    ("destination", "to", "message"),
    [
        ("t.foo", None, "choose one of csv, parquet"),
        ("t.csv", "hp-srt", "cannot write format 'hp-srt'"),
        ("small.csv", None, "into its own file"),
        ("nowhere/t.parquet", None, "cannot be written"),
    ],
)
def test_conversions_that_cannot_be(trace_file: Path, destination: str, to: str | None, message: str) -> None:
    before = trace_file.read_bytes()
    with pytest.raises(TraceError, match=message):
        open_trace(trace_file).convert(trace_file.parent / destination, to=to)
    assert trace_file.read_bytes() == before


def test_parquet_is_a_trace_like_any_other(trace_file: Path) -> None:
    path = parquet_of(trace_file)
    trace = open_trace(path)
    assert trace.format == "parquet"
    assert trace.info().records == 50
    scenario = {"workload": {"kind": "trace", "path": str(trace_file)}, "system": {"device": "g2"}}
    from_csv = sledsim.run(scenario)
    from_parquet = sledsim.run(scenario, set={"workload.path": str(path)})
    assert from_parquet.response == from_csv.response
    assert from_parquet.scenario.workload.path == str(path), "the result names the user's file, not our copy"
    assert sledsim.run(from_parquet.summary["scenario"]).to_json() == from_parquet.to_json()


def test_columns_of_parquet_can_be_named(trace_file: Path) -> None:
    query = "SELECT t_ns / 1e6 AS arrives, offset_bytes AS place, bytes AS many, op AS kind, 'x,y' AS remark FROM trace"
    path = parquet_of(trace_file, query)
    columns = {"time": "arrives", "time_unit": "ms", "offset": "place", "bytes": "many", "op": "kind"}
    [batch] = list(open_trace(path, columns=columns))
    assert batch["time_ns"].tolist() == [i * 1_000_000 for i in range(50)]
    workload = {"kind": "trace", "path": str(path), "columns": columns}
    assert sledsim.run({"workload": workload, "system": {"device": "g2"}}).requests.completed == 50


def test_a_damaged_parquet_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "bad.parquet"
    path.write_bytes(b"PAR1 and then nothing of the kind")
    with pytest.raises(TraceError, match=r"bad\.parquet"):
        open_trace(path)


def test_a_trace_that_is_not_there_names_the_nearest(trace_file: Path) -> None:
    with pytest.raises(TraceError, match=r"smal\.csv: no such file; did you mean .*small\.csv"):
        open_trace(trace_file.with_name("smal.csv"))
    with pytest.raises(TraceError, match="a folder"):
        open_trace(trace_file.parent)
