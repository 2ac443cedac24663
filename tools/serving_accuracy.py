"""How exactly answers of a served block device come, and how many go through it: a table for docs/how-to/serve.md.

For each time that a device takes, fio asks it one request after the other through its `nbd` engine. Two see how far
the answers were off: the server, which knows when each left, and fio, which has its own way to the server besides; what
that way takes is measured on a device that takes no time. The load beside each row is how many processors other
programs kept busy meanwhile. An otherwise idle machine is asked for: with --tries a row is measured again until less
than a twentieth of a processor was, and the quietest counts; with --first fio runs before other programs, as the
server does (SCHED_FIFO, as root).

    python tools/serving_accuracy.py [--seconds 5] [--tries 1] [--first]
    python tools/serving_accuracy.py --tries 5 --write       the table of docs/how-to/serve.md anew
"""

import argparse
import json
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from textwrap import wrap
from typing import Any

#: What a device takes for each request, ms, and how much slower its clock runs.
CASES = [(0.3, 1), (1.0, 1), (5.0, 1), (0.3, 10), (1.0, 10), (0.3, 30), (1.0, 30)]
PAGE = Path(__file__).resolve().parent.parent / "docs" / "how-to" / "serve.md"
BLOCK = re.compile(r"(?<=<!-- measured: serving -->\n).*?(?=<!-- end -->)", re.DOTALL)
#: Requests under way at once, for throughput, and how many a second an idle machine has to answer then.
UNDER_WAY, LEAST_RATE = 64, 30_000
#: As the server: an answer is on time within this share of what it should take.
SHARE = 0.02
#: Other programs that keep less than so many processors busy leave the machine idle.
IDLE = 0.05
#: How long it is looked what the machine takes away by itself.
LOOKED_S = 3.0
HEADERS = (
    *("a request takes", "dilation", "server: error, median", "p99", "within 2 %"),
    *("fio: error, median", "p99", "within 2 %", "other load"),
)


@dataclass
class Measuring:
    """How it is measured."""

    seconds: float
    """How long, each time."""
    tries: int = 1
    """How often at most, until the machine is idle."""
    first: bool = False
    """Whether fio runs before other programs."""


@dataclass
class Seen:
    """What server and fio saw of a device's answers."""

    delivery: dict[str, Any]
    """What the server says."""
    took_us: list[float]
    """What each request took for fio once it was handed in, µs of the machine's clock."""
    whole_us: list[float]
    """The same with handing it in."""
    rate: float
    """Requests a second that fio had answered."""
    others: float
    """Processors that other programs kept busy meanwhile."""


def requirement() -> str | None:
    """Say what is missing, if something is."""
    if not which("fio"):
        return "fio is missing: Debian has it in the package fio"
    engines = subprocess.run(["fio", "--enghelp"], capture_output=True, text=True, check=True).stdout
    return None if "nbd" in engines.split() else "fio has no engine for network block devices"


def asked(folder: Path, measuring: Measuring, under_way: int) -> tuple[list[float], list[float], float]:
    """Let fio ask the server of a folder; return the times of ``Seen``, and how many a second were answered."""
    command = [
        *(("chrt", "--fifo", "1") if measuring.first else ()),
        *("fio", "--name=asked", "--ioengine=nbd", f"--uri=nbd+unix:///?socket={folder / 'sledsim.sock'}"),
        *(
            "--rw=randread",
            "--bs=4k",
            "--size=4m",
            "--time_based",
            f"--runtime={measuring.seconds}",
            f"--iodepth={under_way}",
        ),
        *("--output-format=json", "--output=found.json"),
    ]
    logs = [] if under_way > 1 else ["--write_lat_log=log"]
    subprocess.run([*command, *logs], cwd=folder, check=True)
    [job] = json.loads((folder / "found.json").read_text())["jobs"]
    if job["error"]:
        raise RuntimeError(f"fio ended with {job['error']}")
    took = {each: logged(folder / f"log_{each}.1.log") if logs else [] for each in ("clat", "lat")}
    return took["clat"], took["lat"], job["read"]["iops"]


def logged(path: Path) -> list[float]:
    """Return the times of one of fio's logs, µs."""
    return [int(line.split(",")[1]) / 1e3 for line in path.read_text().splitlines()]


def busy_s() -> float:
    """Return how long the machine's processors have been busy, all together."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    idle = int(fields[3]) + int(fields[4])
    # What guests have is among the first two.
    return (sum(map(int, fields[:8])) - idle) / os.sysconf("SC_CLK_TCK")


def own_s() -> float:
    """Return how long this program and those that it ran have kept a processor busy."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def taken() -> tuple[float, float]:
    """Return what the machine takes from a program that only reads the clock, before other programs where it may.

    Share of its time that is taken in gaps of more than 20 µs, and gaps of more than 100 µs a second.
    """
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    gaps_ns = []
    began_ns = now_ns = time.monotonic_ns()
    while now_ns < began_ns + LOOKED_S * 1e9:
        before_ns, now_ns = now_ns, time.monotonic_ns()
        if now_ns - before_ns > 20_000:
            gaps_ns.append(now_ns - before_ns)
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return sum(gaps_ns) / 1e9 / LOOKED_S, sum(each > 100_000 for each in gaps_ns) / LOOKED_S


def served(folder: Path, measuring: Measuring, access_ms: float, dilation: float, under_way: int = 1) -> Seen:
    """Serve a device that takes a constant time, and let fio ask it."""
    text = "[workload]\nkind = 'session'\n[system]\nscheduler = 'fcfs'\n[system.device]\nname = 'simpledisk-constant'\n"
    (folder / "constant.toml").write_text(f"{text}access_ms = {access_ms}\n")
    program = str(Path(sys.executable).with_name("sledsim"))
    command = [program, "serve", "constant.toml", "--dilation", str(dilation), "--json"]
    began, busy, own = time.monotonic(), busy_s(), own_s()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            process.stderr.readline()
            took_us, whole_us, rate = asked(folder, measuring, under_way)
        finally:
            process.send_signal(signal.SIGTERM)
            out, _ = process.communicate(timeout=60)
    others = (busy_s() - busy - (own_s() - own)) / (time.monotonic() - began)
    return Seen(json.loads(out)["delivery"], took_us, whole_us, rate, max(others, 0.0))


def quietest(folder: Path, measuring: Measuring, access_ms: float, dilation: float, under_way: int = 1) -> Seen:
    """Measure until the machine is idle, at most so often; return what was measured when least else was done."""
    found: Seen | None = None
    for _ in range(measuring.tries):
        seen = served(folder, measuring, access_ms, dilation, under_way)
        if found is None or seen.others < found.others:
            found = seen
        if found.others < IDLE:
            break
    assert found
    return found


@dataclass
class Row:
    """How far answers were off, for server and fio; µs and shares."""

    access_ms: float
    dilation: float
    server: tuple[float, float, float]
    """Median, p99, share within 2 %."""
    fio: tuple[float, float, float]
    """The same."""
    others: float

    def line(self) -> str:
        """Return it as a line of the table."""
        cells = [f"{self.access_ms:g} ms", f"{self.dilation:g}"]
        for median_us, p99_us, share in (self.server, self.fio):
            cells += [f"{median_us:.1f} µs", f"{p99_us:.1f} µs", f"{100 * share:.1f} %"]
        return f"| {' | '.join([*cells, f'{self.others:.2f}'])} |"

    def beyond(self) -> list[str]:
        """Say where fio saw more than is asked of a server on an idle machine."""
        median_us, p99_us, share = self.fio
        asked_us = 1e3 * self.access_ms * self.dilation
        if self.dilation >= 30:
            return [f"{100 * share:.1f} % are within 2 %, not 99"] if share < 0.99 else []
        most = (20.0, 300.0) if self.dilation == 1 else (0.01 * asked_us, 0.05 * asked_us)
        named = zip(("median", "p99"), (median_us, p99_us), most, strict=True)
        return [f"its {name} is {found:.1f} µs, not {limit:g}" for name, found, limit in named if found > limit]


def too_few(rate: float) -> list[str]:
    """Say where fewer requests a second were answered than is asked of a server on an idle machine."""
    return [f"- {rate:,.0f} requests/s, not {LEAST_RATE:,}"] if rate < LEAST_RATE else []


def at(values: list[float], share: float) -> float:
    """Return what this share of values is at most."""
    return sorted(values)[int(share * (len(values) - 1))]


def row_of(access_ms: float, dilation: float, seen: Seen) -> Row:
    """Return the row of what was seen."""
    asked_us = 1e3 * access_ms * dilation
    errors_us = sorted(abs(each - asked_us) for each in seen.took_us)
    within = sum(each <= SHARE * asked_us for each in errors_us) / len(errors_us)
    fio = (statistics.median(errors_us), at(errors_us, 0.99), within)
    found = seen.delivery
    server = (found["median_error_us"], found["p99_error_us"], found["on_time"])
    return Row(access_ms, dilation, server, fio, seen.others)


def said(measuring: Measuring) -> Iterator[str]:
    """Measure, and say what was found, line by line."""
    yield f"| {' | '.join(HEADERS)} |"
    yield f"|{' --- |' * len(HEADERS)}"
    beyond = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        for access_ms, dilation in CASES:
            row = row_of(access_ms, dilation, quietest(folder, measuring, access_ms, dilation))
            yield row.line()
            beyond += [f"- {access_ms:g} ms, dilation {dilation}: {each}" for each in row.beyond()]
        way = quietest(folder, measuring, 0.0, 1)
        many = quietest(folder, measuring, 0.0, 1, UNDER_WAY)
    beyond += too_few(many.rate)
    first = ", with fio before other programs" if measuring.first else ""
    ways_us = [statistics.median(way.took_us), statistics.median(way.whole_us), at(way.whole_us, 0.99)]
    share, often = taken()
    after_us, whole_us, p99_us = (f"{each:.1f} µs" for each in ways_us)
    told = (
        f"Measured on {datetime.now(UTC).date()} on {os.cpu_count()} cores{first}, "
        f"{measuring.seconds:g} s for each row. "
        f"fio's own way: a request that takes the device no time takes fio {whole_us} in the median, p99 {p99_us}, and "
        f"{after_us} from when it is handed in, from where errors are counted (other load {way.others:.2f}). "
        f"{many.rate:,.0f} requests/s go through such a device with {UNDER_WAY} under way "
        f"(other load {many.others:.2f}). From a program that only reads the clock the machine itself took "
        f"{100 * share:.1f} % of its time, in gaps of more than 20 µs, {often:.1f} a second of more than 100 µs: "
        f"an answer that is due in one comes late."
    )
    yield from ["", *wrap(told, 120)]
    yield ""
    yield "As fio sees it, beyond what is asked of an idle machine:" + ("" if beyond else " nothing.")
    yield from ["", *beyond] if beyond else []


def main() -> int:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description="Measure how exactly a served device answers.")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each row")
    parser.add_argument("--tries", type=int, default=1, help="for each row, until the machine is idle")
    parser.add_argument("--first", action="store_true", help="let fio run before other programs, as the server does")
    parser.add_argument("--write", action="store_true", help="write the table of docs/how-to/serve.md")
    options = parser.parse_args()
    if missing := requirement():
        print(f"error: {missing}", file=sys.stderr)
        return 2
    lines = []
    for line in said(Measuring(options.seconds, options.tries, first=options.first)):
        print(line, flush=True)
        lines.append(line)
    if options.write:
        text = "\n".join(["", *lines, "", ""])
        PAGE.write_text(BLOCK.sub(lambda _: text, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
