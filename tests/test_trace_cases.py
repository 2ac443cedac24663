"""Traces as printed, copied, packed and damaged by other tools."""

from __future__ import annotations

import io
import json
import shlex
import struct
import tarfile
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from conftest import reference
from sledsim import TraceError
from sledsim.traces import open_trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

EVENTS = """\
  8,0    0        1     0.000000000   100  Q   R 2048 + 8 [app]
  8,0    0        2     0.000003000   102  D   R 2048 + 8 [kworker/0:1]
  8,0    0        3     0.004000000     0  C   R 2048 + 8 [0]
  8,0    1        1     0.010000000   101  Q  WS 4096 + 16 [my app]
  8,0    1        2     0.010003000   101  D  WS 4096 + 16 [my app]
  8,0    1        3     0.012000000     0  C  WS 4096 + 16 [0]
"""


def info_of(sledsim_cli: Callable[..., Outcome], path: Path, *options: str) -> dict[str, Any]:
    """Return the summary of `sledsim trace`."""
    done = sledsim_cli("trace", path, *options, "--json")
    assert done.status == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


@pytest.mark.parametrize(
    ("letter", "typed", "event", "option"),
    [("D", [], "dispatched", "--event dispatched"), ("Q", ["--event", "dispatched"], "queued", "--event queued")],
)
def test_error_of_a_missing_event_names_the_recorded_events(
    sledsim_cli: Callable[..., Outcome], tmp_path: Path, letter: str, typed: list[str], event: str, option: str
) -> None:
    path = tmp_path / "events.txt"
    path.write_text("".join(line for line in EVENTS.splitlines(keepends=True) if f"  {letter}  " in line))
    done = sledsim_cli("trace", path, *typed)
    assert done.status == 2
    assert f"but 2 among its {letter} events: give {option}" in done.err
    assert done.err.splitlines()[-1].endswith(option)
    assert info_of(sledsim_cli, path, "--event", event)["records"] == 2
    with pytest.raises(TraceError, match=f'give event = "{event}"$'):
        open_trace(path, event=typed[1] if typed else None).info()


def test_traces_of_completions_only_are_reported(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "events.txt"
    path.write_text("".join(line for line in EVENTS.splitlines(keepends=True) if "  C  " in line))
    done = sledsim_cli("replay", path)
    assert done.status == 2
    assert "contains no requests among its Q events; its other events are 2 C" in done.err


def stray(count: int, strays: dict[int, float]) -> str:
    """Return a trace with a read each millisecond, except for some at the given times, s."""
    times = [strays.get(number, number / 1000) for number in range(count)]
    return "".join(
        f"  8,0   0 {number + 1:8} {time:.9f}  100  Q   R {2048 + 8 * number} + 8 [app]\n"
        for number, time in enumerate(times)
    )


def test_a_stray_time_is_named_and_can_be_skipped(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    strays = {40: 9e8, 900: 9e8}
    path = tmp_path / "events.txt"
    path.write_text(stray(1000, strays))
    refused = sledsim_cli("replay", path)
    assert refused.status == 2
    assert f"line {min(strays) + 1}: field `time`" in refused.err
    assert f"give --skip-bad {len(strays)}, which leaves out {len(strays)} of 1000 records" in refused.err
    # The suggested option works, and so does a larger number.
    for skip_bad in (len(strays), 1000):
        found = info_of(sledsim_cli, path, "--skip-bad", str(skip_bad))
        assert (found["records"], found["skipped"]) == (1000 - len(strays), len(strays))
        assert found["duration_s"] == pytest.approx(0.999, abs=0.01)


def test_hit_ratios_depend_only_on_trace_order(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "merged.spc"
    path.write_text("0,0,4096,R,0.5\n0,8,4096,R,0.1\n0,0,4096,R,0.6\n")
    found = json.loads(sledsim_cli("hit-ratio", path, "--pages", "10", "--json").out)
    assert (found["references"], found["caches"][0]["hits"], found["skipped"]) == (3, 1, 0)
    untimed = tmp_path / "pages.csv"
    untimed.write_text("lba,size,op\n0,4096,R\n8,4096,R\n0,4096,R\n")
    assert sledsim.studies.hit_ratio(untimed, pages=10).caches[0].hits == 1
    parquet = tmp_path / "merged.parquet"
    import duckdb

    rows = "(VALUES (9, 0, 4096, 'R'), (5, 4096, 4096, 'R'), (11, 0, 4096, 'R')) t(t_ns, offset_bytes, bytes, op)"
    duckdb.execute(f"COPY (SELECT * FROM {rows}) TO '{parquet}' (FORMAT parquet)")
    assert sledsim.studies.hit_ratio(parquet, pages=10).caches[0].hits == 1
    # Times do not matter either in mode outstanding.
    assert sledsim.replay(path, mode="outstanding").requests.completed == 3
    with pytest.raises(TraceError, match="field `time`"):
        sledsim.replay(path)


def test_the_page_of_a_list_of_the_arc_paper_is_its_block(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "list.lis"
    path.write_text("0 1 0 0\n1 1 0 1\n0 1 0 2\n7 2 0 3\n")
    found = sledsim_cli("hit-ratio", path, "--pages", "10").out
    assert "5 references to pages of 512 bytes" in found
    assert sledsim.studies.hit_ratio(path, pages=10).caches[0].hits == 1
    assert sledsim.studies.hit_ratio(path, pages=10, sector_bytes=8192).page_bytes == 8192
    assert sledsim.studies.hit_ratio(path, pages=10, page_bytes=4096).caches[0].hits == 3


RECORDS = "".join(f"{1538323200 + number},{8 * number},8,0,7\n" for number in range(200)).encode()


def test_a_tar_archive_with_one_trace_is_replayed(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "hour.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in (("README", b"200 records\n"), ("hour-0.csv", RECORDS)):
            member = tarfile.TarInfo(f"folder/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    found = info_of(sledsim_cli, path)
    assert (found["format"], found["records"]) == ("tencent", 200)
    assert found["format_detected_by"].endswith("hour-0.csv")
    assert sledsim_cli("replay", path, "--device", "g2").status == 0


def blktrace_record(number: int, time_ns: int, cpu: int) -> bytes:
    """Return a queued read of blktrace."""
    queued_read = 1 | 1 << 20 | 1 << 16
    return struct.pack(
        "<IIQQIIIIIHH", 0x65617407, number, time_ns, 2048 + 8 * number, 4096, queued_read, 100, 8 << 20, cpu, 0, 0
    )


def test_the_files_of_blktrace_are_one_trace(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    for cpu in range(2):
        records = [blktrace_record(n, 10**9 + 10**6 * n, cpu) for n in range(20) if n // 3 % 2 == cpu]
        (tmp_path / f"sda.blktrace.{cpu}").write_bytes(b"".join(records))
    for path in (tmp_path, tmp_path / "sda", tmp_path / "sda.blktrace.1"):
        found = info_of(sledsim_cli, path)
        assert (found["format"], found["records"], found["sequential_read_share"]) == ("blktrace", 20, 0.95)
        assert sledsim.replay(path, "g2").requests.completed == 20
    done = sledsim_cli("trace", tmp_path / "sda", "--out", tmp_path / "out.csv")
    assert done.status == 0
    assert info_of(sledsim_cli, tmp_path / "out.csv")["records"] == 20
    assert sledsim_cli("trace", tmp_path / "sdb").status == 2
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "a folder, not a trace" in sledsim_cli("trace", empty).err


#: Tables that are not recognised, by the kind of their columns; with records, bytes and duration.
TABLES = {
    "own names": ("when,what,where,much\n0,r,8,8\n10,w,16,16\n20,R,5000,8\n", (3, 16384, 0.02)),
    "without a unit": ("time,offset,size,op\n0.0,4096,4096,R\n0.5,8192,512,W\n", (2, 4608, 0.5)),
    "codes 0 and 1": ("time_s,offset,size,op\n0.0,4096,4096,0\n0.5,8192,512,1\n0.6,0,512,0\n", (3, 5120, 0.6)),
    "flag of writes": ("time_s,offset,size,is_write\n0.0,4096,4096,0\n0.5,8192,512,1\n", (2, 4608, 0.5)),
    "SCSI commands": ("t_ms,lba,blocks,cmd\n0,4096,8,28\n5,8192,1,2A\n6,0,1,8a\n", (3, 5120, 0.006)),
    "SCSI commands in hexadecimal": ("t_ms,lba,blocks,cdb\n0,4096,8,0x28\n5,8192,1,0x2A\n", (2, 4608, 0.005)),
    "letters of blktrace": ("ts,sector,sectors,rwbs\n0.1,4096,8,RA\n0.6,8192,1,WS\n0.7,0,1,FWS\n", (3, 5120, 0.6)),
    "letters of blktrace in part": ("t_s,lba,bytes,op\n0.1,4096,8,R\n0.6,8192,8,W\n0.7,0,1,WS\n", (3, 17, 0.6)),
    "FILETIME": ("ts,start,len,rw\n128166372003061629,4096,4096,R\n128166372013061629,8192,512,W\n", (2, 4608, 1.0)),
    "blanks": ("when where  much kind\n0.1   100 8 R\n0.3 300    8 W\n", (2, 8192, 0.2)),
    "no header": ("0.1 100 8 R\n0.3 300 8 W\n0.5 500 1 W\n", (3, 8704, 0.4)),
    "semicolons and quotes": ('"my time";"op code";"lba";"nblocks"\n0.1;r;100;8\n0.3;w;300;8\n', (2, 8192, 0.2)),
    "seconds since 1970": ("stamp,addr,bytes,rw\n1700000000.1,100,512,R\n1700000000.6,300,512,W\n", (2, 1024, 0.5)),
}


@pytest.mark.parametrize("kind", TABLES)
def test_the_printed_command_reads_an_unrecognised_table(
    sledsim_cli: Callable[..., Outcome], tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "my table.csv"
    content, expected = TABLES[kind]
    path.write_text(content)
    refused = sledsim_cli("trace", path)
    assert refused.status == 2
    assert "to go on, with:" in refused.err
    program, *words = shlex.split(refused.err.splitlines()[-1])
    assert (program, words[:2]) == ("sledsim", ["trace", str(path)])
    found = info_of(sledsim_cli, path, *words[2:])
    assert (found["records"], found["total_bytes"], found["duration_s"]) == pytest.approx(expected)
    # The command of a replay has the same columns.
    refused = sledsim_cli("replay", path, "--device", "superdisk")
    assert shlex.split(refused.err.splitlines()[-1])[5:] == words[2:]
    shown = sledsim_cli("replay", path, "--device", "superdisk", *words[2:])
    assert shown.status == 0, shown.err
    assert f"{expected[0]} requests" in shown.out
    assert "assumed: format csv (the columns given), times in " in shown.out


def test_names_of_columns_decide_units(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    for header, (offset, length) in {
        "time_s,lba,blocks,op": (512, 512),
        "time_s,sector,size,op": (512, 1),
        "time_s,lbn,bytes,op": (512, 1),
        "time_s,offset,sectors,op": (1, 512),
        "time_s,byte_offset,length,op": (1, 1),
    }.items():
        path.write_text(f"{header}\n1,1024,1024,R\n2.5,2048,1024,w\n")
        found = info_of(sledsim_cli, path)
        assert (found["max_offset_bytes"], found["total_bytes"], found["duration_s"]) == (
            2048 * offset,
            2048 * length,
            1.5,
        )
    path.write_text("when,where,much,op\n1,1024,1024,R\n2.5,2048,1024,w\n")
    mapped = ["time=when", "time_unit=s", "offset=where", "bytes=much", "length_unit=sectors"]
    found = info_of(sledsim_cli, path, *(word for each in mapped for word in ("--column", each)))
    assert (found["max_offset_bytes"], found["units"]) == (2048 * 512, "times in s, addresses in sectors of 512 bytes")


@pytest.mark.parametrize(
    ("case", "options", "expected"),
    [
        ("blkparse-input-lines/first.txt", [], {"records": 2, "duration_s": 0.01, "total_bytes": 12288}),
        ("blkparse-input-lines/many.txt", [], {"records": 2, "duration_s": 0.01, "total_bytes": 12288}),
        ("blkparse-input-lines/quiet.txt", [], {"records": 2, "duration_s": 0.01, "total_bytes": 12288}),
        ("blkparse-passthrough/trace.txt", ["--event", "dispatched"], {"records": 1, "reads": 1, "total_bytes": 4096}),
        ("dispatched-only/trace.txt", ["--event", "dispatched"], {"records": 2}),
        ("msr-floats/trace.csv", ["--format", "msr"], {"records": 2, "total_bytes": 36864}),
        ("msr-floats/trace.csv", [], {"records": 2, "total_bytes": 36864}),
        ("tar-as-trace/hour.tgz", [], {"records": 200, "format": "tencent"}),
        ("stray-time/trace.txt", ["--skip-bad", "1000"], {"records": 999, "skipped": 1, "duration_s": 0.999}),
    ],
)
def test_recorded_traces_are_read(
    sledsim_cli: Callable[..., Outcome], case: str, options: list[str], expected: dict[str, Any]
) -> None:
    found = info_of(sledsim_cli, reference(f"cases/{case}"), *options)
    for key, value in expected.items():
        assert found[key] == (value if isinstance(value, str) else pytest.approx(value))


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("dispatched-only/trace.txt", "but 2 among its D events: give --event dispatched"),
        ("stray-time/trace.txt", "line 11: field `time`: expected a time between those of the records around it"),
        ("stray-time/trace.txt", "give --skip-bad 1, which leaves out 1 of 1000 records"),
    ],
)
def test_errors_of_recorded_traces_are_reported(sledsim_cli: Callable[..., Outcome], case: str, said: str) -> None:
    done = sledsim_cli("trace", reference(f"cases/{case}"))
    assert done.status == 2
    assert said in done.err


def test_hit_ratios_of_an_unordered_recorded_trace(sledsim_cli: Callable[..., Outcome]) -> None:
    done = sledsim_cli("hit-ratio", reference("cases/hit-ratio-order/trace.spc"), "--pages", "10", "--json")
    found = json.loads(done.out)
    assert (found["references"], found["caches"][0]["hits"]) == (3, 1)
