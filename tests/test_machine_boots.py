"""Machines that boot: device time is waiting time, and traces of guests can be replayed."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sledsim
from conftest import missing
from sledsim import RunError, Session
from sledsim.machine import Guest, MachineRuns, is_there, run, run_each
from sledsim.machine.browsing import Cache, browsing

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

JOB = """[random]
filename=data
size=4m
rw=randread
bs=4k
direct=1
ioengine=psync
number_ios=200
fallocate=none
"""
READS = 200
#: Access time of the device, ms; the second device has twice that.
ACCESS_MS = 0.5
#: Limit of the time that system call, file system, kernel, socket and server add to a read, µs: 56 was measured.
MOST_WAY_US = 80
SYSTEMS: dict[str, dict[str, Any]] = {
    name: {"device": {"name": "simpledisk-constant", "access_ms": access_ms}, "scheduler": "fcfs"}
    for name, access_ms in (("once", ACCESS_MS), ("twice", 2 * ACCESS_MS))
} | {"turns": {"device": {"name": "atlas10k"}, "scheduler": "fcfs"}}
#: How far apart the ways to two systems are, on average, and those of one system, µs.
WAYS_APART_US, WAYS_OF_ONE_APART_US = 2, 10
#: fio prints quantiles by bins of this relative width.
BIN = 1 / 64
#: Up to which quantile ways are alike, %.
MOST_QUANTILE = 95


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> MachineRuns:
    """Return fio on a device, on one that is half as fast, and on a disk that turns: three boots."""
    if not is_there():
        missing("no machine: it takes `make machine` and the package qemu-system-x86")
    job: Path = tmp_path_factory.mktemp("machine") / "jobs.fio"
    job.write_text(JOB, encoding="utf-8")
    return run_each(SYSTEMS, "fio", job=job)


def test_slower_device_adds_only_waiting_time(found: MachineRuns) -> None:
    once, twice = found["once"], found["twice"]
    assert once.status == twice.status == 0
    # More interrupts of the timer come in a longer time, and nothing else.
    assert twice.processor_ms == pytest.approx(once.processor_ms, rel=0.03)
    # Sequential reads; the earlier writes of fio to its file are not part of them.
    assert twice.waiting_ms - once.waiting_ms > READS * ACCESS_MS


@pytest.mark.parametrize("name", SYSTEMS)
def test_replay_of_a_guest_trace_gives_the_times_of_the_guest(found: MachineRuns, name: str) -> None:
    run, session = found[name], Session(SYSTEMS[name])
    rows = list(csv.DictReader(io.StringIO(run.trace.decode())))
    assert [row["op"] for row in rows].count("R") >= READS
    for row in rows:
        at, block = int(row["t_ns"]), session.block_bytes
        if row["op"] == "F":
            session.flush(at_ns=at)
        else:
            size = int(row["bytes"]) // block
            fua = row["op"].endswith("F")
            session.submit(int(row["offset_bytes"]) // block, size, read=row["op"] == "R", fua=fua, at_ns=at)
    ends: dict[int, int] = {}
    while session.under_way:
        ends |= {each.id: each.end_ns for each in session.advance()}
    assert [ends[place] for place in sorted(ends)] == [int(row["due_ns"]) for row in rows]


def test_fio_in_the_guest_measures_replay_time_plus_constant_overhead(found: MachineRuns, tmp_path: Path) -> None:
    ways_us = []
    for name, each in found.runs.items():
        assert each.fio is not None
        [job] = each.fio["jobs"]
        assert job["read"]["total_ios"] == READS
        each.save_trace(tmp_path / "trace.csv")
        workload = {"kind": "trace", "path": str(tmp_path / "trace.csv")}
        log = sledsim.run({"system": SYSTEMS[name], "workload": workload}, log=True).log
        # Before its reads fio lays its file out, for which the file system reads too.
        before = log["arrival_ns"].astype(np.float64) < each.ends_s * 1e9
        replayed_us = log["response_ns"].astype(np.float64)[log["read"].astype(bool) & before][-READS:] / 1e3
        seen = job["read"]["clat_ns"]
        way_us = seen["mean"] / 1e3 - replayed_us.mean()
        assert each.path_us is not None
        assert 0 < each.path_us < way_us < MOST_WAY_US
        # The longest way of all is that of the first, whose code the kernel has not run before.
        for quantile, took_ns in seen["percentile"].items():
            if float(quantile) <= MOST_QUANTILE:
                expected_us = np.quantile(replayed_us, float(quantile) / 100, method="inverted_cdf") + way_us
                assert took_ns / 1e3 == pytest.approx(expected_us, rel=BIN, abs=WAYS_OF_ONE_APART_US), (name, quantile)
        ways_us.append(way_us)
    assert max(ways_us) - min(ways_us) < WAYS_APART_US


def test_replay_is_compared_with_waiting_times_of_the_guest(found: MachineRuns) -> None:
    for each in found.runs.values():
        simulated, recorded = each.result["reads"]["response"], each.result["recorded"]["reads"]
        # The difference is the server's part of the path.
        assert 0 < 1e3 * (recorded["mean_ms"] - simulated["mean_ms"]) < MOST_WAY_US / 2


def test_warm_machine_with_a_faster_processor_rereads_nothing() -> None:
    if not is_there():
        missing("no machine: it takes `make machine` and the package qemu-system-x86")
    guest = Guest(cache="warm", cpu=2)
    system = {"once": SYSTEMS["once"]}
    found = run_each(system, "tpch", sizes={"first": 6, "last": 6}, guest=guest)["once"]
    assert (found.status, found.requests) == (0, 0)
    # Everything has been read before the program starts; the remaining wait is the guest's.
    assert b",R," in found.trace
    assert found.waiting_ms < 0.2 * found.run_ms
    # SQLite takes some 75 ms of one instruction a nanosecond for the query.
    assert found.processor_ms == pytest.approx(75 / 2, rel=0.2)


def test_failed_programs_return_output_and_status() -> None:
    if not is_there():
        missing("no machine: it takes `make machine` and the package qemu-system-x86")
    found = run(SYSTEMS["once"], command="echo said; echo wrong >&2; exit 3")
    assert (found.status, found.output, found.errors) == (3, "said\n", "wrong\n")


def test_a_guest_that_panics_ends_with_the_last_lines_of_its_console() -> None:
    if not is_there():
        missing("no machine: it takes `make machine` and the package qemu-system-x86")
    with pytest.raises(RunError, match="the guest ended before its program did; last lines of its console:") as caught:
        run(SYSTEMS["once"], command="echo c > /proc/sysrq-trigger")
    assert "Kernel panic - not syncing: sysrq triggered crash" in str(caught.value)


#: A small browsing workload of which little fits the cache.
BROWSED = {"pages": 20, "visits": 30, "cache_kib": 512, "pause_ms": 200}


def test_browser_cache_is_correct_and_reproducible() -> None:
    if not is_there():
        missing("no machine: it takes `make machine` and the package qemu-system-x86")
    drawn = browsing(**BROWSED)
    cache = Cache(BROWSED["cache_kib"] << 10, drawn.kept)
    for page in drawn.visits:
        cache.look(page, drawn.sizes)
    assert min(cache.fetched, cache.found, cache.removed) > 0
    # Created and removed files reach the device at once.
    guest = Guest(file_system="ext2", mount="dirsync", read_ahead_kib=64)
    found = run_each({"first": SYSTEMS["once"], "again": SYSTEMS["once"]}, "browse", sizes=BROWSED, guest=guest)
    first, again = found["first"], found["again"]
    assert (first.status, first.errors) == (0, "")
    assert first.output == f"fetched {cache.fetched}, found {cache.found}, removed {cache.removed}\n"
    # An object that is fetched has its entry in the folder written, one that is removed, too.
    assert first.requests >= cache.fetched + cache.removed
    assert first.waiting_ms > 1e3 * sum(drawn.pauses_s) + ACCESS_MS * (cache.fetched + cache.removed)
    assert first.trace == again.trace
    times, times_again = ({**run.to_dict(), "result": run.result.summary["energy"]} for run in (first, again))
    assert times == times_again


#: Prints the mount options and the read-ahead of a file system.
TELLS = "grep /mnt /proc/mounts; cat /sys/block/nbd0/queue/read_ahead_kb; echo kept > file; cat file; df -m /mnt"


@pytest.mark.parametrize(
    ("file_system", "mount", "read_ahead_kib"), [("ext2", "sync,noatime", 64), ("xfs", "noatime,wsync", 256)]
)
def test_the_requested_file_system_is_used(file_system: str, mount: str, read_ahead_kib: int) -> None:
    if not is_there():
        missing("no machine: it takes `make machine` and the package qemu-system-x86")
    guest = Guest(file_system=file_system, mount=mount, read_ahead_kib=read_ahead_kib, file_system_mib=1000)
    found = run("g2", command=TELLS, guest=guest)
    assert (found.status, found.errors) == (0, "")
    mounted, ahead, kept, _, space = found.output.splitlines()
    # The file system's own structures take up to a tenth.
    assert 900 <= int(space.split()[1]) <= 1000
    device, place, kind, options, *_ = mounted.split()
    assert (device, place, kind, ahead, kept) == ("/dev/nbd0", "/mnt", file_system, str(read_ahead_kib), "kept")
    assert set(mount.split(",")) <= set(options.split(","))
    assert b",W" in found.trace
