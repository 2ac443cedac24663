"""Traces from Python: reading, looking into, converting."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pytest

import sledsim
from conftest import reference
from sledsim import TraceError
from sledsim.traces import open_trace

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


def test_trace_summary(trace_file: Path) -> None:
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
    message = sledsim_cli("trace", path).out
    assert "8: 0 to 3, 7, 9 to 10, 400" in message
    # 47 steps of 128 MiB and 4 KiB: 6.308 GB, more than a g3 has, less than an atlas10k.
    [fits] = re.findall(r"^fits other devices +(.+)$", message, flags=re.MULTILINE)
    [sleds] = re.findall(r"^fits MEMS storage +(.+)$", message, flags=re.MULTILINE)
    [small] = re.findall(r"^does not fit +(.+)$", message, flags=re.MULTILINE)
    assert {"atlas10k", "uberdisk"} <= set(re.findall(r"[\w-]+", fits))
    assert sleds == "none"
    assert "g3 (6.143 GB)" in small
    assert "--fit scale" in small
    assert re.search(r"^2 KiB +16 +33.3 +75.0 +█{32}$", message, flags=re.MULTILINE)
    assert re.search(r"^1 ms +47 +100.0 +█{32}$", message, flags=re.MULTILINE)
    found = json.loads(sledsim_cli("trace", path, "--json").out)
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
        ("t.foo", None, "choose one of .*csv, parquet"),
        ("t.csv", "hp-srt", "cannot write format 'hp-srt'"),
        ("small.csv", None, "into its own file"),
        ("nowhere/t.parquet", None, "cannot be written"),
    ],
)
def test_impossible_conversions_are_refused(trace_file: Path, destination: str, to: str | None, message: str) -> None:
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
    from_parquet = sledsim.run(scenario, overrides={"workload.path": str(path)})
    assert from_parquet.response == from_csv.response
    assert from_parquet.scenario.workload.path == str(path), "the result names the user's file, not our copy"
    assert sledsim.run(from_parquet.summary["scenario"]).to_json() == from_parquet.to_json()


def test_columns_of_parquet_can_be_named(trace_file: Path) -> None:
    query = "SELECT t_ns / 1e6 AS arrives, offset_bytes AS place, bytes AS many, op AS kind, 'x,y' AS remark FROM trace"
    path = parquet_of(trace_file, query)
    columns = {
        "time": "arrives",
        "time_unit": "ms",
        "offset": "place",
        "bytes": "many",
        "length_unit": "bytes",
        "op": "kind",
    }
    [batch] = list(open_trace(path, columns=columns))
    assert batch["time_ns"].tolist() == [i * 1_000_000 for i in range(50)]
    workload = {"kind": "trace", "path": str(path), "columns": columns}
    assert sledsim.run({"workload": workload, "system": {"device": "g2"}}).requests.completed == 50


def test_a_column_of_parquet_may_have_a_quote_in_its_name(trace_file: Path) -> None:
    name = 'pl"a""ce, "too"'
    quoted = name.replace('"', '""')
    path = parquet_of(trace_file, f'SELECT t_ns, offset_bytes AS "{quoted}", bytes, op FROM trace')
    columns = {"time": "t_ns", "offset": name, "offset_unit": "bytes", "bytes": "bytes", "op": "op"}
    assert open_trace(path, columns=columns).head(2)["offset_bytes"].tolist() == [0, 40_960]


@pytest.mark.parametrize("folder", ["op=R", "bytes=8192", "~", "a[b]"])
def test_parquet_folder_names_add_no_columns(trace_file: Path, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = parquet_of(trace_file)
    monkeypatch.chdir(path.parent)
    (path.parent / folder).mkdir()
    path.rename(path.parent / folder / path.name)
    for read in (open_trace(f"{folder}/{path.name}"), open_trace(path.parent / folder / path.name)):
        found, expected = read.head(50), open_trace(trace_file).head(50)
        assert {name: column.tolist() for name, column in found.items()} == {
            name: column.tolist() for name, column in expected.items()
        }


def test_errors_of_parquet_traces_have_their_place(trace_file: Path) -> None:
    query = "SELECT t_ns, CASE WHEN t_ns = 2000000 THEN -5 ELSE offset_bytes END AS offset_bytes, bytes, op FROM trace"
    path = parquet_of(trace_file, query)
    says = f'{path}: field `offset`: expected a whole number from 0, below 2^64, found "-5", in record 2 (from 0); '
    workload, system = {"kind": "trace", "path": str(path)}, {"device": "g2"}
    tries: list[Callable[[], object]] = [
        lambda: open_trace(path).info(),
        lambda: open_trace(path).head(),
        lambda: list(open_trace(path)),
        lambda: open_trace(path).convert(path.with_suffix(".csv")),
        lambda: open_trace(path).convert(path.with_name("other.parquet")),
        lambda: sledsim.studies.hit_ratio(path, pages=10),
        lambda: sledsim.run({"workload": workload, "system": system}),
    ]
    for attempt in tries:
        with pytest.raises(TraceError) as caught:
            attempt()
        assert str(caught.value).startswith(f"{says}repair it, or give ")
        assert str(caught.value).endswith("skip_bad = 1, which leaves out 1 of 50 records")
        assert (caught.value.faults[0].file, caught.value.faults[0].line) == (str(path), None)
    with pytest.raises(TraceError, match=r"contains no records: give one that has some$"):
        open_trace(parquet_of(trace_file, "SELECT * FROM trace WHERE t_ns < 0")).info()


def test_damaged_parquet_is_reported(trace_file: Path) -> None:
    path = parquet_of(trace_file)
    content = path.read_bytes()
    for damaged in (content[:-40], content[:20] + b"\xff" * 30 + content[50:], b"PAR1"):
        path.write_bytes(damaged)
        with pytest.raises(TraceError) as caught:
            open_trace(path)
        says = "a damaged or incomplete Parquet file: download or write it again"
        assert str(caught.value) == f"{path}: {says}"


def test_integer_columns_may_be_floats(tmp_path: Path) -> None:
    path = tmp_path / "floats.csv"
    path.write_text("t_ns,device,offset_bytes,bytes,op\n0.0,0.0,4096.0,512.0,R\n5e3,1,8.192e3,1024,W\n")
    expected = {"time_ns": [0, 5000], "device": [0, 1], "offset_bytes": [4096, 8192], "bytes": [512, 1024]}
    names = ("t_ns", "device", "offset_bytes")
    floats = f"SELECT {', '.join(f'{name}::DOUBLE AS {name}' for name in names)}, bytes, op FROM trace"
    for source in (path, parquet_of(path, floats)):
        sledsim.traces.open_trace(source).convert(tmp_path / "again.parquet")
        for trace in (open_trace(source), open_trace(tmp_path / "again.parquet")):
            head = trace.head()
            assert {name: head[name].tolist() for name in expected} == expected
    path.write_text("t_ns,device,offset_bytes,bytes,op\n0,0,4096.5,512,R\n")
    with pytest.raises(TraceError, match="whole number"):
        open_trace(path, format="csv").head()


def test_the_largest_numbers_survive_a_conversion(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    largest = [2**64 - 1, 2**32 - 1, 2**63 + 1, 2**62 + 1]
    path.write_text(f"t_ns,device,offset_bytes,bytes,op\n0,0,0,512,R\n{','.join(map(str, largest))},W\n")
    for name in ("large.parquet", "again.csv"):
        open_trace(path).convert(tmp_path / name)
        path = tmp_path / name
        assert [column[1] for column in open_trace(path).head().values()] == [*largest, 0, 0, 0]
    folder = tmp_path / "of-floats"
    folder.mkdir()
    # As others write ticks since 1601: a float that is whole, and more than 15 digits long.
    with duckdb.connect() as connection:
        row = "1.281663720030616e17::DOUBLE AS t_ns, 0 AS offset_bytes, 512.0::DOUBLE AS bytes, 'R' AS op"
        connection.execute(f"COPY (SELECT {row}) TO '{folder / 't.parquet'}' (FORMAT parquet)")
    assert open_trace(folder / "t.parquet").info().records == 1


def test_msr_records_may_have_an_index_or_a_header(tmp_path: Path) -> None:
    lines = ["128166372003061629,hm,0,Read,383496192,32768,413", "128166372016853566,hm,1,Write,2822144,4096,1376"]
    plain = tmp_path / "plain.csv"
    plain.write_text("\n".join(lines))
    expected = {name: column.tolist() for name, column in open_trace(plain).head().items()}
    head = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n"
    for index, header in (("{},", ""), ("{} ", ""), ("hm_0.csv_{},", ""), ("hm_0.csv_{} ", ""), ("", head)):
        path = tmp_path / "hm_0.csv_899"
        path.write_text(header + "\n".join(index.format(899 + i) + line for i, line in enumerate(lines)))
        trace = open_trace(path)
        assert trace.format == "msr"
        assert {name: column.tolist() for name, column in trace.head().items()} == expected


def test_byte_addresses_are_not_read_as_sectors(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "bytes.txt"
    path.write_text("0.5 0 1048576 512 1\n1.5 0 2097152 4096 0\n")
    found = sledsim_cli("replay", path)
    assert found.status == 2
    assert "choose with --set workload.sector_bytes=512 or --set workload.sector_bytes=1" in found.err
    assert open_trace(path, sector_bytes=1).head()["bytes"].tolist() == [512, 4096]
    result = sledsim_cli("trace", path, "--sector-bytes", "1")
    assert "2 of its first 2 lines" in result.out


def test_ambiguous_format_details_are_keys(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    events, iolog = tmp_path / "blkparse.txt", tmp_path / "iolog"
    lines = ["0.0 697 Q W 80 + 8", "0.0005 697 D W 80 + 8", "0.009 697 Q R 64 + 16", "0.010 697 D R 64 + 16"]
    events.write_text("".join(f"8,0 3 {number} {line} [dd]\n" for number, line in enumerate(lines, 1)))
    iolog.write_text("fio version 3 iolog\n0 a add\n0 a open\n2 a write 0 4096\n7 a read 8192 4096\n9 a close\n")
    assert open_trace(events).head()["time_ns"].tolist() == [0, 9_000_000]
    assert open_trace(events, event="dispatched").head()["time_ns"].tolist() == [0, 9_500_000]
    assert open_trace(iolog).head()["time_ns"].tolist() == [0, 5_000]
    assert open_trace(iolog, time_unit="ms").head()["time_ns"].tolist() == [0, 5_000_000]
    # In a scenario, in a replay, on the command line.
    found = sledsim.replay(iolog, time_unit="ms", log=True)
    assert np.diff(found.log["arrival_ns"]).tolist() == [5_000_000]
    assert found["scenario"]["workload"]["time_unit"] == "ms"
    result = sledsim_cli("replay", events, "--device", "g2", "--set", "workload.event=dispatched", "--json")
    assert json.loads(result.out)["scenario"]["workload"]["event"] == "dispatched"
    assert sledsim_cli("trace", iolog, "--time-unit", "us", "--json").status == 0
    with pytest.raises(TraceError, match=r"time_unit.*format.*blkparse"):
        open_trace(events, time_unit="us")
    refused = sledsim_cli("replay", events, "--set", "workload.event=dispatchd")
    assert refused.status == 2
    assert "dispatched" in refused.err
    with pytest.raises(sledsim.SledsimError) as told_of:
        open_trace(iolog, time_unit="usec")
    assert (told_of.value.path, told_of.value.value) == ("time_unit", "usec")


def test_the_recorded_fio_iolog_lasts_two_seconds() -> None:
    path = reference("cases/fio-iolog-unit/recorded.iolog")
    info = open_trace(path).info()
    assert (info["records"], info["reads"], info["writes"], info["flushes"]) == (22, 12, 8, 2)
    assert info["duration_s"] == pytest.approx(1.914, abs=0.001)
    result = sledsim.replay(path, device="g2")
    assert result.throughput.requests_per_s == pytest.approx(10.45, abs=0.01)
    assert result.energy.per_request_mj == pytest.approx(9.57, rel=0.01)


def mapped(sledsim_cli: Callable[..., Outcome], path: Path, *columns: str) -> Outcome:
    """Return the records of a trace read with a column map, as JSON."""
    return sledsim_cli(
        "trace", path, "--head", "10", "--json", *(word for column in columns for word in ("--column", column))
    )


def test_mapped_columns_need_a_unit(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "blocks.csv"
    path.write_text("when,start,count,op\n1,8,8,R\n3,16,8,W\n")
    columns = ["time=when", "offset=start", "bytes=count"]
    refused = mapped(sledsim_cli, path, *columns)
    assert refused.status == 2
    assert 'column "when" (0) does not name its unit: give --column time_unit=VALUE (s, ms, us' in refused.err
    assert "--column offset_unit=VALUE (bytes or sectors)" in refused.err
    assert "--column length_unit=VALUE" in refused.err
    found = json.loads(mapped(sledsim_cli, path, *columns, "time_unit=ms", "length_unit=sectors").out)
    assert (found["time_ns"], found["offset_bytes"]) == ([0, 2_000_000], [4096, 8192])
    with pytest.raises(TraceError, match=r"give columns\.offset_unit \(bytes or sectors\)"):
        open_trace(path, columns={"time": "when", "time_unit": "ms", "offset": "start", "bytes": "count"})


def test_damaged_parquet_files_raise_an_error(tmp_path: Path) -> None:
    path = tmp_path / "bad.parquet"
    path.write_bytes(b"PAR1 and then nothing of the kind")
    with pytest.raises(TraceError, match=r"bad\.parquet"):
        open_trace(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_pipes_are_refused_without_blocking(sledsim_command: Callable[..., Outcome], tmp_path: Path) -> None:
    pipe, scenario = tmp_path / "pipe", tmp_path / "s.toml"
    os.mkfifo(pipe)
    scenario.write_text(f"workload = {{ kind = 'trace', path = '{pipe}' }}\nsystem.device = 'g2'\n")
    commands = [("trace", pipe), ("replay", pipe, "--device", "g2"), ("hit-ratio", pipe), ("run", scenario)]
    for words in (*commands, ("validate-drive", "atlas10k", pipe), ("cost", "--trace", pipe)):
        done = sledsim_command(*words)
        assert done.status == 2
        assert "it is not a regular file; write the output of a pipe to a file first" in done.err


@pytest.mark.parametrize("format_", [None, *(each["name"] for each in sledsim.traces.trace_formats())])
def test_errors_do_not_print_file_contents(
    tmp_path: Path, format_: str | None, sledsim_cli: Callable[..., Outcome]
) -> None:
    file = tmp_path / "passwords"
    file.write_text("root:secret:0:0:root:/root:/bin/bash\ndaemon:secret:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n" * 20)
    named = [] if format_ is None else ["--format", format_]
    for command in (["trace", file], ["replay", file, "--device", "g2"]):
        result = sledsim_cli(*command, *named)
        # Any text is a list of keys.
        assert result.status == 2 or (format_ == "keys" and command[0] == "trace")
        assert "secret" not in result.err + result.out
        assert "bash" not in result.err
