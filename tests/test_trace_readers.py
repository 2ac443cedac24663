"""Traces of caches, of fio's latency logs and of FIU, and traces that are sorted."""

from __future__ import annotations

import json
import random
import shutil
import struct
import subprocess
from collections import OrderedDict
from typing import TYPE_CHECKING

import pytest

import sledsim
from sledsim import ScenarioError, TraceError
from sledsim.traces import Trace, open_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable
    from pathlib import Path

    from conftest import Outcome


def lru_hits(keys: Iterable[Hashable], size: int) -> int:
    """Count the hits of an LRU cache."""
    held: OrderedDict[Hashable, None] = OrderedDict()
    hits = 0
    for key in keys:
        if key in held:
            hits += 1
            held.move_to_end(key)
        else:
            held[key] = None
            if len(held) > size:
                held.popitem(last=False)
    return hits


def zipf_keys(count: int, universe: int) -> list[int]:
    """Return keys of which some are much more frequent than others."""
    drawn = random.Random(7)
    return [int(universe * drawn.random() ** 4) for _ in range(count)]


def oracle_general(keys: list[int], first: int = 0) -> bytes:
    """Return a trace of libCacheSim with these objects; the index of the next request counts from ``first``."""
    following: dict[int, int] = {}
    records = []
    for index in reversed(range(len(keys))):
        key = keys[index]
        records.append(struct.pack("<IQIq", index // 10, key, 1 + key % 5000, following.get(key, -1)))
        following[key] = index + first
    return b"".join(reversed(records))


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("hashed", [False, True])
def test_hit_ratios_of_oracle_general_are_those_of_its_objects(tmp_path: Path, first: int, hashed: bool) -> None:
    keys = [key * 0x9E3779B97F4A7C15 % 2**64 if hashed else key for key in zipf_keys(20_000, 3000)]
    path = tmp_path / "trace.oracleGeneral.bin"
    path.write_bytes(oracle_general(keys, first))
    assert open_trace(path).format == "oracle-general"
    found = sledsim.studies.hit_ratio(path, ["lru", "fifo"], [10, 300])
    assert (found.requests, found.references, found.page_bytes) == (20_000, 20_000, None)
    for pages in (10, 300):
        hits = next(cache.hits for cache in found.caches if (cache.label, cache.pages) == ("lru", pages))
        assert hits == lru_hits(keys, pages)
    assert found.plot() is not None


def test_compressed_oracle_general_is_read(tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    if not (zstd := shutil.which("zstd")):
        pytest.skip("zstd is not installed")
    path = tmp_path / "trace.oracleGeneral"
    path.write_bytes(oracle_general([1, 2, 1, 3, 1]))
    subprocess.run([zstd, "-q", path], check=True)
    done = sledsim_cli("hit-ratio", tmp_path / "trace.oracleGeneral.zst", "--pages", "10")
    assert "5 references" in done.out
    assert "each key or object counts as one page" in done.out
    assert "40.00" in done.out


def test_objects_of_size_0_are_no_requests(tmp_path: Path) -> None:
    path = tmp_path / "trace.bin"
    path.write_bytes(struct.pack("<IQIq", 0, 5, 0, -1) + struct.pack("<IQIq", 0, 6, 512, -1))
    assert sledsim.studies.hit_ratio(path).requests == 1


def test_hit_ratios_of_a_list_of_keys(tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    numbers = zipf_keys(5000, 400)
    words = [f"user:{key}" if key % 2 else str(key) for key in numbers]
    path = tmp_path / "keys.txt"
    for keys in (numbers, words):
        path.write_text("".join(f"{key}\n" for key in keys))
        found = sledsim.studies.hit_ratio(path, pages=[5, 50])
        assert (found.format, found.page_bytes) == ("keys", None)
        assert [cache.hits for cache in found.caches] == [lru_hits(keys, 5), lru_hits(keys, 50)]
    done = sledsim_cli("hit-ratio", path, "--pages", "50")
    assert "(keys: each key or object counts as one page, whatever its size)" in done.out
    with pytest.raises(ScenarioError, match="each object of a trace of format keys counts as one page: leave it out"):
        sledsim.studies.hit_ratio(path, page_bytes=4096)
    assert "lists objects of a cache" in sledsim_cli("replay", path, "--device", "g2").err
    assert "lists objects of a cache" in sledsim_cli("trace", path, "--out", tmp_path / "out.csv").err
    shown = sledsim_cli("trace", path)
    assert "without addresses" in shown.out
    assert "offset" not in shown.out


FIO_LOG = """\
0, 463970, 0, 4096, 249856, 0
0, 278801, 0, 4096, 3104768, 0
3, 1016492, 1, 4096, 1683456, 0
6, 5200000, 0, 8192, 4096, 0
6, 300000, 2, 4096, 0, 0
"""


def test_latencies_of_a_fio_log_are_recorded_responses(tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    path = tmp_path / "w_lat.1.log"
    path.write_text(FIO_LOG)
    trace = open_trace(path)
    assert (trace.format, trace.has_responses) == ("fio-log", True)
    head = trace.head()
    # Completions at 0, 0, 3 and 6 ms minus latencies, not before the start of the log.
    assert head["time_ns"].tolist() == [0, 0, 800_000, 1_983_508]
    assert head["response_ns"].tolist() == [463970, 278801, 5_200_000, 1_016_492]
    assert sledsim.replay(path, "g2")["recorded"] is not None
    done = sledsim_cli("validate-drive", "atlas10k", path, "--json")
    assert done.status == 0, done.err
    groups = json.loads(done.out)["groups"]
    assert groups["all"]["measured_mean_ms"] == pytest.approx((0.463970 + 0.278801 + 5.2 + 1.016492) / 4)


def test_logs_that_fio_writes_are_read(tmp_path: Path) -> None:
    if not (fio := shutil.which("fio")):
        pytest.skip("fio is not installed")
    options = ["--size=1m", "--rw=randrw", "--bs=4k", "--number_ios=40", "--ioengine=sync", "--thinktime=500"]
    log = ["--write_lat_log=w", "--log_offset=1", "--write_bw_log=w"]
    subprocess.run([fio, "--name=j", "--filename=file", *options, *log], cwd=tmp_path, check=True, capture_output=True)
    lines = [line.split(", ") for line in (tmp_path / "w_lat.1.log").read_text().splitlines()]
    trace = open_trace(tmp_path / "w_lat.1.log")
    info = trace.info()
    assert (info["format"], info["records"], info["total_bytes"]) == ("fio-log", len(lines), 4096 * len(lines))
    head = trace.head(1000)
    assert sorted(head["offset_bytes"].tolist()) == sorted(int(line[4]) for line in lines)
    assert sorted(head["response_ns"].tolist()) == sorted(int(line[1]) for line in lines)
    # A submission latency is no response.
    shutil.copy(tmp_path / "w_lat.1.log", tmp_path / "w_slat.1.log")
    assert not open_trace(tmp_path / "w_slat.1.log").has_responses
    with pytest.raises(TraceError, match="give the log of latencies"):
        open_trace(tmp_path / "w_bw.1.log")


def unsorted(count: int) -> list[tuple[int, int]]:
    """Return times in ns and sectors, in an order that is not that of time."""
    rows = [(1000 * number, 8 * number) for number in range(count)]
    random.Random(3).shuffle(rows)
    return rows


def test_an_unsorted_trace_is_sorted_as_the_error_says(tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    path = tmp_path / "merged.txt"
    rows = unsorted(500)
    path.write_text("".join(f"{time} 0 {sector} 8 1\n" for time, sector in rows))
    out = tmp_path / "out.csv"
    commands = [["trace", path], ["replay", path, "--device", "g2"], ["trace", path, "--out", out]]
    for words in commands:
        refused = sledsim_cli(*words)
        assert refused.status == 2
        assert "records are out of order: give --sort" in refused.err
        assert refused.err.splitlines()[-1].endswith(" --sort")
        assert sledsim_cli(*words, "--sort").status == 0
    assert open_trace(out).head(1000)["offset_bytes"].tolist() == [4096 * number for number in range(500)]
    assert sledsim.replay(path, "g2", sort=True).requests.completed == 500
    assert sledsim_cli("replay", path, "--device", "g2,g3", "--sort", "--fit", "wrap").status == 0
    with pytest.raises(TraceError, match="give sort = true"):
        open_trace(path).info()
    keys = [sector for _, sector in rows]
    sizes = {False: keys, True: sorted(keys)}
    for sort, order in sizes.items():
        assert sledsim.studies.hit_ratio(path, pages=20, sort=sort).caches[0].hits == lru_hits(order, 20)


def test_columns_in_memory_are_sorted(tmp_path: Path) -> None:
    rows = unsorted(200)
    times, sectors = [time for time, _ in rows], [sector for _, sector in rows]
    with pytest.raises(TraceError, match="give sort = true"):
        Trace.from_columns(time_ns=times, lbn=sectors, blocks=8, is_read=True)
    trace = Trace.from_columns(time_ns=times, lbn=sectors, blocks=8, is_read=True, sort=True)
    assert trace.head(3)["offset_bytes"].tolist() == [0, 4096, 8192]
    assert sledsim.replay(trace, "g2").requests.completed == 200
    parquet = tmp_path / "merged.parquet"
    import duckdb

    values = ", ".join(f"({time}, {sector * 512}, 4096, 'R')" for time, sector in rows)
    query = f"SELECT * FROM (VALUES {values}) t(t_ns, offset_bytes, bytes, op)"
    duckdb.execute(f"COPY ({query}) TO '{parquet}' (FORMAT parquet)")
    assert sledsim.replay(parquet, "g2", sort=True).requests.completed == 200
