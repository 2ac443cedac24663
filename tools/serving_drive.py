"""Compare a drive of the catalogue under fio with its simulation: the second table of docs/how-to/serve.md.

Each row is the same sequence of requests twice: fio's `nbd` engine sends it to `sledsim serve`, and a session simulates
it. Rows measure the quantities of "Drives of today" in docs/reference/validation.md. The load is the number of
processors used by other programs.

    python tools/serving_drive.py [--drive barracuda-2t] [--share 1]
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import sledsim
from serving_accuracy import busy_s, own_s, requirement

SMALL, LARGE = 4096, 1 << 20
#: The flush of a list of requests; others are operation, offset and length in bytes.
FLUSH = ("sync", 0, 0)
Requests = list[tuple[str, int, int]]


@dataclass
class Times:
    """The times of a list of requests."""

    response_ms: "np.ndarray"
    """Of the reads and writes."""
    flush_ms: float
    """Median of the flushes."""
    whole_s: float
    """From the first arrival to the last completion."""


@dataclass
class Job:
    """Requests, and the figures that are shown."""

    requests: Requests
    outstanding: int
    figures: dict[str, Callable[[Times], float]]


def scattered(op: str, count: int, size: int, seed: int) -> Requests:
    """Return accesses of 4 KiB anywhere on a drive."""
    places = random.Random(seed)
    return [(op, places.randrange(size // SMALL) * SMALL, SMALL) for _ in range(count)]


def sequential(op: str, count: int, size: int) -> Requests:
    """Return accesses of 1 MiB in 16 sequential parts over a drive."""
    firsts = [size // 16 * part // SMALL * SMALL for part in range(16)]
    return [(op, first + each * LARGE, LARGE) for first in firsts for each in range(count // 16)]


def jobs(size: int, share: float) -> Iterator[Job]:
    """Return the jobs for a drive of a size."""
    count = round(3000 * share)

    def rate(times: Times) -> float:
        return len(times.response_ms) / times.whole_s

    def mb_s(times: Times) -> float:
        return rate(times) * LARGE / 1e6

    yield Job(
        scattered("read", count, size, 1),
        1,
        {
            "random read, mean (ms)": lambda times: float(times.response_ms.mean()),
            "random read, median (ms)": lambda times: float(np.percentile(times.response_ms, 50)),
            "random read, 99th percentile (ms)": lambda times: float(np.percentile(times.response_ms, 99)),
        },
    )
    yield Job(scattered("read", count, size, 2), 32, {"random reads per second, 32 outstanding": rate})
    yield Job(sequential("read", count, size), 1, {"sequential read (MB/s)": mb_s})
    yield Job(sequential("write", count, size), 1, {"sequential write (MB/s)": mb_s})
    # About 30 s.
    yield Job(scattered("write", count, size, 3), 1, {"random writes per second": rate})
    for writes in (8, 64):
        number = max(round(1000 * share) // writes, 1)
        groups = [[*scattered("write", writes, size, seed), FLUSH] for seed in range(number)]
        median = {f"flush after {writes} random writes, median (ms)": lambda times: times.flush_ms}
        yield Job([each for group in groups for each in group], 1, median)


def simulated(drive: str, job: Job) -> Times:
    """Simulate a job."""
    session = sledsim.Session(drive)
    block = session.block_bytes
    responses_ms: list[float] = []
    flushes_ms: list[float] = []
    kinds: dict[int, str] = {}
    left = iter(job.requests)

    def submit() -> None:
        if (request := next(left, None)) is None:
            return
        op, offset, length = request
        if op == "sync":
            kinds[session.flush()] = op
        else:
            kinds[session.submit(offset // block, length // block, read=op == "read")] = op

    for _ in range(job.outstanding):
        submit()
    while session.under_way:
        for done in session.advance():
            flush = kinds.pop(done.id) == "sync"
            (flushes_ms if flush else responses_ms).append(done.response_ns / 1e6)
            submit()
    return Times(np.array(responses_ms), float(np.median(flushes_ms or [0])), session.now_ns / 1e9)


def measured(drive: str, job: Job, folder: Path) -> tuple[Times, float]:
    """Serve a drive, and measure a job with fio; return its times and the load of other programs."""
    lines = [f"drive {op} {offset} {length}" for op, offset, length in job.requests]
    text = "\n".join(["fio version 2 iolog", "drive add", "drive open", *lines, "drive close", ""])
    (folder / "job.iolog").write_text(text)
    serve = [str(Path(sys.executable).with_name("sledsim")), "serve", drive]
    with subprocess.Popen(serve, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            process.stderr.readline()
            began, busy, own = time.monotonic(), busy_s(), own_s()
            fio = [
                *("fio", "--name=job", "--ioengine=nbd", "--uri=nbd+unix:///?socket=sledsim.sock"),
                *("--read_iolog=job.iolog", "--replay_no_stall=1", f"--iodepth={job.outstanding}"),
                # Zeroes take no memory in the server.
                *("--zero_buffers=1", "--write_lat_log=job", "--output-format=json", "--output=found.json"),
            ]
            subprocess.run(fio, cwd=folder, check=True)
            others = (busy_s() - busy - (own_s() - own)) / (time.monotonic() - began)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
    [found] = json.loads((folder / "found.json").read_text())["jobs"]
    if found["error"]:
        raise RuntimeError(f"fio ended with {found['error']}")
    rows = [line.split(",") for line in (folder / "job_lat.1.log").read_text().splitlines()]
    responses_ms = np.array([int(row[1]) / 1e6 for row in rows if row[2].strip() in {"0", "1"}])
    flush_ms = found["sync"]["lat_ns"].get("percentile", {}).get("50.000000", 0) / 1e6
    return Times(responses_ms, flush_ms, found["job_runtime"] / 1e3), others


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Compare a served drive under fio with its simulation.")
    parser.add_argument("--drive", default="barracuda-2t")
    parser.add_argument("--share", type=float, default=1.0, help="factor on the number of requests")
    options = parser.parse_args()
    if missing := requirement():
        print(f"error: {missing}", file=sys.stderr)
        return 2
    session = sledsim.Session(options.drive)
    print(f"| `{options.drive}` | simulated | fio | difference | other load |\n| --- | --- | --- | --- | --- |")
    for job in jobs(session.capacity_blocks * session.block_bytes, options.share):
        expected = simulated(options.drive, job)
        with TemporaryDirectory() as name:
            found, others = measured(options.drive, job, Path(name))
        for title, figure in job.figures.items():
            ours, fios = figure(expected), figure(found)
            print(f"| {title} | {ours:.1f} | {fios:.1f} | {fios / ours - 1:+.1%} | {others:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
