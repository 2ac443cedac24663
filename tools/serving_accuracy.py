"""How exactly answers of a served block device come, and how many go through it: a table for docs/how-to/serve.md.

For each time that a device takes, fio asks it one request after the other through its `nbd` engine. Two see how far
the answers were off: the server, which knows when each left, and fio, which has its own way to the server besides; what
that way takes is measured on a device that takes no time. What the machine makes late by itself is seen by two bare
programs that pass a request and its answer to each other after the same wait, and do nothing else, before fio runs and
after it. The load beside each row is how many processors other programs kept busy meanwhile. An otherwise idle machine
is asked for: with --tries a row is measured again until less than a twentieth of a processor was and the bare programs
keep to what is asked of the server; of such tries, else of those beside the least load, the one counts in which the
bare programs were disturbed least. With --first fio runs before other programs, as the server does (SCHED_FIFO, as
root); the bare program that asks does not.

    python tools/serving_accuracy.py [--seconds 5] [--tries 1] [--first]
    python tools/serving_accuracy.py --seconds 20 --tries 3 --write    the table of docs/how-to/serve.md anew
"""

import argparse
import json
import math
import os
import re
import resource
import select
import signal
import socket
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
#: From this dilation on a share of the answers is asked for.
DILATED = 30
#: Other programs that keep less than so many processors busy leave the machine idle.
IDLE = 0.05
#: Bytes of a request, and of an answer with what was read.
ASKED, ANSWERED = 28, 16 + 4096
HEADERS = (
    *("a request takes", "dilation", "server: error, median", "p99", "within 2 %"),
    *("fio: error, median", "p99", "within 2 %", "bare: p99", "within 2 %", "other load"),
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
    bare_us: list[float]
    """What two bare programs took for the same, none where many requests are under way at once."""


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


def passed(wait_s: float, seconds: float) -> list[float]:
    """Let two bare programs pass a request and its answer to each other for some time; return what each took, µs.

    The one that answers waits as the server does: before other programs and with processors kept awake, where it may;
    the last tenth of the wait awake, at least 0.1 ms and at most 1 ms. The one that asks is this program.
    """
    here, there = socket.socketpair()
    command = [sys.executable, __file__, "--answer-after", str(wait_s)]
    with here, subprocess.Popen(command, stdin=there.fileno()) as other:
        there.close()
        exchange(here)
        took_us = []
        end_s = time.monotonic() + seconds
        while (began_s := time.monotonic()) < end_s:
            exchange(here)
            took_us.append(1e6 * (time.monotonic() - began_s))
        here.close()
    if other.returncode:
        raise RuntimeError(f"the program that answers ended with {other.returncode}")
    return took_us


def exchange(asked: socket.socket) -> None:
    """Ask once, and wait for the answer."""
    asked.sendall(bytes(ASKED))
    select.select([asked], [], [])
    if len(asked.recv(ANSWERED, socket.MSG_WAITALL)) < ANSWERED:
        raise RuntimeError("the program that answers has gone")


def answer(asked_by: socket.socket, wait_s: float) -> None:
    """Answer each request after a wait, until nobody asks."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    with suppress(OSError):
        # It counts as long as it is open.
        os.write(os.open("/dev/cpu_dma_latency", os.O_WRONLY), bytes(4))
    awake_s = min(max(wait_s / 10, 1e-4), 1e-3)
    while asked_by.recv(ASKED, socket.MSG_WAITALL):
        due_s = time.monotonic() + wait_s
        time.sleep(max(wait_s - awake_s, 0.0))
        while time.monotonic() < due_s:
            pass
        asked_by.sendall(bytes(ANSWERED))


def served(folder: Path, measuring: Measuring, access_ms: float, dilation: float, under_way: int = 1) -> Seen:
    """Serve a device that takes a constant time, and let fio ask it."""
    text = "[workload]\nkind = 'session'\n[system]\nscheduler = 'fcfs'\n[system.device]\nname = 'simpledisk-constant'\n"
    (folder / "constant.toml").write_text(f"{text}access_ms = {access_ms}\n")
    program = str(Path(sys.executable).with_name("sledsim"))
    command = [program, "serve", "constant.toml", "--dilation", str(dilation), "--json"]
    began, busy, own = time.monotonic(), busy_s(), own_s()

    def half() -> list[float]:
        return passed(access_ms * dilation / 1e3, measuring.seconds / 2) if under_way == 1 else []

    bare_us = half()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            process.stderr.readline()
            took_us, whole_us, rate = asked(folder, measuring, under_way)
        finally:
            process.send_signal(signal.SIGTERM)
            out, _ = process.communicate(timeout=60)
    bare_us += half()
    others = (busy_s() - busy - (own_s() - own)) / (time.monotonic() - began)
    return Seen(json.loads(out)["delivery"], took_us, whole_us, rate, max(others, 0.0), bare_us)


def most(access_ms: float, dilation: float) -> tuple[float, float]:
    """Return what is asked of a server on an idle machine: its error's median and p99 at most, µs."""
    asked_us = 1e3 * access_ms * dilation
    if dilation == 1:
        return 20.0, 300.0
    return (0.01 * asked_us, 0.05 * asked_us) if dilation < DILATED else (math.inf, SHARE * asked_us)


def quietest(folder: Path, measuring: Measuring, access_ms: float, dilation: float, under_way: int = 1) -> Seen:
    """Measure until the machine is idle, at most so often; return what was measured when it was disturbed least."""
    found: tuple[float, float, Seen] | None = None
    for _ in range(measuring.tries):
        seen = served(folder, measuring, access_ms, dilation, under_way)
        _, late_us, _ = bare(seen, 0.0)
        tried = (max(seen.others, IDLE), late_us, seen)
        if found is None or tried[:2] < found[:2]:
            found = tried
        if found[0] == IDLE and found[1] <= most(access_ms, dilation)[1]:
            break
    assert found
    return found[-1]


@dataclass
class Row:
    """How far answers were off, for server and fio; µs and shares."""

    access_ms: float
    dilation: float
    server: tuple[float, float, float]
    """Median, p99, share within 2 %."""
    fio: tuple[float, float, float]
    """The same."""
    bare: tuple[float, float]
    """p99 and share of two bare programs, about what they took in the median."""
    others: float

    def line(self) -> str:
        """Return it as a line of the table."""
        cells = [f"{self.access_ms:g} ms", f"{self.dilation:g}"]
        for *errors_us, share in (self.server, self.fio, self.bare):
            cells += [*(f"{each:.1f} µs" for each in errors_us), f"{100 * share:.1f} %"]
        return f"| {' | '.join([*cells, f'{self.others:.2f}'])} |"

    def beyond(self) -> list[str]:
        """Say where fio saw more than is asked of a server on an idle machine."""
        median_us, p99_us, share = self.fio
        bare_us, bare_share = self.bare
        limits_us = most(self.access_ms, self.dilation)
        if self.dilation >= DILATED:
            told = f"{100 * share:.1f} % are within 2 %, not 99; of two bare programs' {100 * bare_share:.1f} %"
            return [told] if share < 0.99 else []
        found = []
        if median_us > limits_us[0]:
            found.append(f"its median is {median_us:.1f} µs, not {limits_us[0]:g}")
        if p99_us > limits_us[1]:
            found.append(
                f"its p99 is {p99_us:.1f} µs, not {limits_us[1]:g}; that of two bare programs is {bare_us:.1f} µs"
            )
        return found


def too_few(rate: float) -> list[str]:
    """Say where fewer requests a second were answered than is asked of a server on an idle machine."""
    return [f"- {rate:,.0f} requests/s, not {LEAST_RATE:,}"] if rate < LEAST_RATE else []


def at(values: list[float], share: float) -> float:
    """Return what this share of values is at most."""
    return sorted(values)[int(share * (len(values) - 1))]


def errors(took_us: list[float], due_us: float, asked_us: float) -> tuple[float, float, float]:
    """Return how far times were off: median, p99, and the share within 2 % of what was asked."""
    errors_us = sorted(abs(each - due_us) for each in took_us)
    within = sum(each <= SHARE * asked_us for each in errors_us) / len(errors_us)
    return statistics.median(errors_us), at(errors_us, 0.99), within


def bare(seen: Seen, asked_us: float) -> tuple[float, float, float]:
    """Return the same of two bare programs, about what they took in the median; nothing where they did not run."""
    return errors(seen.bare_us, statistics.median(seen.bare_us), asked_us) if seen.bare_us else (0.0, 0.0, 1.0)


def row_of(access_ms: float, dilation: float, seen: Seen) -> Row:
    """Return the row of what was seen."""
    asked_us = 1e3 * access_ms * dilation
    found = seen.delivery
    server = (found["median_error_us"], found["p99_error_us"], found["on_time"])
    fio = errors(seen.took_us, asked_us, asked_us)
    return Row(access_ms, dilation, server, fio, bare(seen, asked_us)[1:], seen.others)


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
    after_us, whole_us, p99_us = (f"{each:.1f} µs" for each in ways_us)
    told = (
        f"Measured on {datetime.now(UTC).date()} on {os.cpu_count()} cores{first}, "
        f"{measuring.seconds:g} s for each row. "
        f"fio's own overhead: with a device that takes no time a request takes fio {whole_us} in the median, "
        f"p99 {p99_us}, and {after_us} from its submission, from which errors count (other load {way.others:.2f}). "
        f"Such a device serves {many.rate:,.0f} requests/s with {UNDER_WAY} outstanding "
        f"(other load {many.others:.2f})."
    )
    yield from ["", *wrap(told, 120)]
    yield ""
    yield "Targets that fio's measurements missed:" if beyond else "All fio measurements met the targets."
    yield from ["", *beyond] if beyond else []


def main() -> int:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description="Measure how exactly a served device answers.")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each row")
    parser.add_argument("--tries", type=int, default=1, help="for each row, until the machine is idle")
    parser.add_argument("--first", action="store_true", help="let fio run before other programs, as the server does")
    parser.add_argument("--write", action="store_true", help="write the table of docs/how-to/serve.md")
    parser.add_argument("--answer-after", type=float, metavar="S", help="be the bare program that answers on its input")
    options = parser.parse_args()
    if options.answer_after is not None:
        answer(socket.socket(fileno=0), options.answer_after)
        return 0
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
