"""Run each program on a machine several times, and compare the runs: times, and traces byte by byte.

make repeats                 (after `make machine`; a minute or two of a processor for each run of each program)
make repeats ARGS="--program link --runs 20 --small"

What differs is told with how far it lies apart. Where that is a microsecond or more, or requests are others, the tool
ends with 1.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from dataclasses import dataclass

from sledsim.machine import MachineRun, is_there, run_each

#: What a run is told to be: each has to be the same, to the microsecond.
TIMES = ("run_ms", "processor_ms", "kernel_ms", "server_ms", "sync_ms")
#: How the kernel divides processor time among program and kernel, which goes by the ticks of its clock.
SPLIT = "user_ms"
#: Programs, and how much they have to do where little is asked of them.
SMALL: dict[str, dict[str, int]] = {
    "postmark": {"files": 50, "transactions": 50, "folders": 2},
    "andrew": {"copies": 1},
    "link": {"objects": 100},
    "tpch": {"first": 6, "last": 6},
    "browse": {"pages": 20, "visits": 20, "cache_kib": 512, "pause_ms": 10},
    "fio": {},
}
NS_PER_US = 1000
HEADERS = ("program", "runs", "run time (ms)", "requests", "times", "trace", "split of processor time")


@dataclass(frozen=True)
class Compared:
    """Runs of one program."""

    name: str
    """The program."""
    runs: int
    """How many."""
    run_ms: float
    """What the first took."""
    requests: int
    """What the first asked the device for."""
    apart_us: float
    """How far the times of any two lie apart, at most."""
    split_us: float
    """How far the kernel's division of processor time does."""
    others: int
    """Runs whose trace is not that of the first."""
    shifted_ns: int | None
    """Where they ask for the same: how far requests and answers lie from the first's, at most."""

    def equal(self) -> bool:
        """Tell whether requests are the same, and every time of them and of the program to the microsecond."""
        alike = self.others == 0 or (self.shifted_ns is not None and self.shifted_ns < NS_PER_US)
        return alike and self.apart_us < 1

    def row(self) -> tuple[str, ...]:
        """Return a row of the table."""
        trace = "equal"
        if self.others:
            by = "other requests" if self.shifted_ns is None else f"up to {self.shifted_ns} ns apart"
            trace = f"{self.others} others: {by}"
        times, split = (f"{us:.3f} µs apart" if us else "equal" for us in (self.apart_us, self.split_us))
        return (self.name, str(self.runs), f"{self.run_ms:.3f}", f"{self.requests:,}", times, trace, split)


def spread(values: list[float]) -> float:
    """Return how far the largest lies from the smallest, µs of values in ms; nothing below what a float tells."""
    return round(1e3 * (max(values) - min(values)), 6)


def asked_for(trace: bytes) -> list[tuple[str, ...]]:
    """Return the requests of a trace without their times."""
    rows = csv.DictReader(io.StringIO(trace.decode()))
    return [tuple(row[key] for key in ("offset_bytes", "bytes", "op")) for row in rows]


def times_of(trace: bytes) -> list[int]:
    """Return when the requests of a trace came, were due, and were answered, ns."""
    rows = csv.DictReader(io.StringIO(trace.decode()))
    return [int(row[key]) for row in rows for key in ("t_ns", "due_ns", "sent_ns")]


def shift(first: bytes, other: bytes) -> int | None:
    """Return how far requests and answers of two traces lie apart, at most; ``None`` where they are other requests."""
    if asked_for(first) != asked_for(other):
        return None
    return max(abs(one - two) for one, two in zip(times_of(first), times_of(other), strict=True))


def compared(name: str, found: list[MachineRun]) -> Compared:
    """Compare runs of a program with one another."""
    first = found[0]
    others = [each.trace for each in found if each.trace != first.trace]
    shifts = [shift(first.trace, each) for each in others]
    known = [each for each in shifts if each is not None]
    return Compared(
        name=name,
        runs=len(found),
        run_ms=first.run_ms,
        requests=first.requests,
        apart_us=max(spread([getattr(each, key) for each in found]) for key in TIMES),
        split_us=spread([getattr(each, SPLIT) for each in found]),
        others=len(others),
        shifted_ns=max(known) if known and len(known) == len(shifts) else None,
    )


def repeated(name: str, runs: int, system: str, threads: int | None, *, small: bool) -> Compared:
    """Run a program so often, several at a time, and compare."""
    sizes = SMALL[name] if small else None
    found = run_each({str(each): system for each in range(runs)}, name, threads=threads, sizes=sizes)
    return compared(name, list(found.runs.values()))


def main() -> int:
    """Run them, and print the table."""
    parser = argparse.ArgumentParser(description="Compare runs of programs on machines.")
    parser.add_argument("--program", action="append", choices=list(SMALL), help="all if none is given")
    parser.add_argument("--runs", type=int, default=5, help="of each program")
    parser.add_argument("--system", default="g2", help="a device, or a scenario's file")
    parser.add_argument("--threads", type=int, help="machines at a time; else as many as processors")
    parser.add_argument("--small", action="store_true", help="little to do for each")
    options = parser.parse_args()
    if not is_there():
        print("error: no machine: it takes `make machine` and the package qemu-system-x86", file=sys.stderr)
        return 2
    print(f"| {' | '.join(HEADERS)} |\n|{' --- |' * len(HEADERS)}")
    all_equal = True
    for name in options.program or SMALL:
        found = repeated(name, options.runs, options.system, options.threads, small=options.small)
        print(f"| {' | '.join(found.row())} |", flush=True)
        all_equal &= found.equal()
    return 0 if all_equal else 1


if __name__ == "__main__":
    sys.exit(main())
