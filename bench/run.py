"""Measure whole runs, and hold what Sledsim promises of its speed and memory.

A promise of speed is a multiple of a floor, so that it holds on any machine: the arithmetic that no simulation can do
without, in a small program of its own (``floor.rs``), or the start of a bare Python. Floors and measurements take turns
in rounds; each is a process of its own, and counts processor time, which what else runs there changes least. Printed
are medians over the rounds.

    python bench/run.py                            a few minutes
    BENCH_FULL=1 python bench/run.py               ten times the requests
    python bench/run.py --against OLD/bin/python   the build of another virtual environment in the same rounds
    python bench/run.py --only 'disk*'             some of it
    python bench/run.py --only 'l[ri][ub]*'        LRU hit ratios, beside libCacheSim's if its `cachesim` is on the PATH
    python bench/run.py --write                    the table of docs/reference/validation.md anew

Exit status 1: a promise is broken; with ``--against``, something is worse by more than 3 %. The traces come from the
reference data: below ``SLEDSIM_REFERENCE``, or else ``../shared``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from measures import MEASURES, needed_trace

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
FLOOR = ROOT / "out" / "floor"
PAGE = ROOT / "docs" / "reference" / "validation.md"
BLOCK = re.compile(r"(?<=<!-- measured: speed -->\n).*?(?=<!-- end -->)", re.DOTALL)
FLOOR_ITEMS = {"mems": 1_000_000, "disk": 4_000_000, "cache": 4_000_000}
# Slower by this is slower, not noise.
SLOWER = 1.03
NAN = float("nan")
INFINITE = float("inf")

# Modules are compiled once, wherever the environment says.
ENVIRONMENT = os.environ | {"PYTHONPYCACHEPREFIX": str(ROOT / "out" / "bytecode"), "PYTHONDONTWRITEBYTECODE": ""}

Round = dict[str, float]


class Promise(NamedTuple):
    """What is measured, what it is a multiple of (nothing: of its unit), and the most that it may be, if anything."""

    what: str
    measured: str
    over: str | None
    most: float


# Multiples of a floor: half as much again as rounds found on two loaded cores (AMD EPYC), as libraries and caches
# of other machines weigh the two sides differently. Multiples of another row, and memory: what users can rely on.
PROMISES = [
    Promise("random 4 KB, FCFS on `g2`, open at 500/s", "random.each_s", "floor.mems", 1.7),
    Promise("the same: peak memory of the process", "random.peak_mb", None, 100),
    Promise("the same with every power strategy on", "thrifty.each_s", "random.each_s", 2),
    Promise("with them: peak memory of the process", "thrifty.peak_mb", None, 100),
    Promise("hplajw on `g2`, over and over, trace read included", "looped.each_s", "floor.mems", 1.8),
    Promise("SPTF on `g2` with 1,000 pending: a dispatch", "sptf_1000.each_s", "floor.mems", 6.5),
    Promise("the same with 10,000 pending", "sptf_10000.each_s", "sptf_1000.each_s", 4),
    Promise("8 KB, FCFS on `atlas10k`, no buffer", "disk.each_s", "floor.disk", 7),
    Promise("the same: peak memory over that of a tenth of the requests", "disk.growth_mb", None, 2),
    Promise("the same with the buffer", "disk_buffer.each_s", "floor.disk", 12),
    Promise("SPTF on `atlas10k` with 1,000 pending: a dispatch", "disk_sptf_1000.each_s", "floor.disk", 60),
    Promise("the same with 10,000 pending", "disk_sptf_10000.each_s", "disk_sptf_1000.each_s", 4),
    Promise("random 4 KB, FCFS on `g2`, one by one in Python", "session_one.each_s", "floor.mems", 8),
    Promise("the same as arrays", "session_arrays.each_s", "floor.mems", 4),
    Promise("random 4 KB, FCFS on `g2`, one by one from C", "session_c.each_s", "floor.mems", 3),
    Promise("random 4 KB, FCFS on `g2`, a run in Rust", "rust_run.each_s", "floor.mems", INFINITE),
    # The run takes the in-order shortcut and the session runs by events, so this ratio is reported and not promised.
    Promise("the same by a session, one by one", "rust_session.each_s", "rust_run.each_s", INFINITE),
    Promise("CloudPhysics on a caching disk, over and over", "mcd.each_s", "floor.mems", 8.5),
    Promise("the same with a tenth of the MEMS", "mcd_small.each_s", "floor.mems", 12.5),
    Promise("LRU cache of 32,768 pages, P3: a reference", "lru.each_s", "floor.cache", 4.5),
    Promise("the same, times libCacheSim's", "lru.each_s", "libcachesim.each_s", 1 / 3),
    Promise("the same in Rust, references in memory", "lru_rust.each_s", "floor.cache", 3),
    # Nothing is promised of what users write: these say what calling it takes.
    Promise("lowest block of 64 pending, as C-LOOK: a dispatch", "own_built_in.each_s", "floor.mems", INFINITE),
    Promise("the same by a compiled function", "own_compiled.each_s", "floor.mems", INFINITE),
    Promise("the same by a Python class", "own_class.each_s", "floor.mems", INFINITE),
    Promise("mirror of four, fewest blocks under way: a read", "custom_mirror_built_in.each_s", "floor.mems", INFINITE),
    Promise("the same by a compiled function", "custom_mirror_compiled.each_s", "floor.mems", INFINITE),
    Promise("the same by a Python class", "custom_mirror_class.each_s", "floor.mems", INFINITE),
    Promise("a sled that stops after 5 ms: a request", "custom_spin_down_built_in.each_s", "floor.mems", INFINITE),
    Promise("the same by a compiled function", "custom_spin_down_compiled.each_s", "floor.mems", INFINITE),
    Promise("the same by a Python class", "custom_spin_down_class.each_s", "floor.mems", INFINITE),
    Promise("the LRU cache by a compiled function: a reference", "own_lru_compiled.each_s", "floor.cache", INFINITE),
    Promise("the same by a Python class", "own_lru_class.each_s", "floor.cache", INFINITE),
    Promise("`import sledsim`", "import.each_s", "floor.start", 3),
    Promise("the same, every public name used", "import_all.each_s", "floor.start", 50),
    Promise("`sledsim --help`", "help.each_s", "floor.start", 16),
    Promise("hong2006's Figure 4 whole, 60 enclosures", "figure_4.each_s", "floor.mems", 225_000),
    Promise("enclosure of hong2006 followed to its loss", "lifetimes.each_s", "floor.mems", 6.5),
    Promise("a loss of 1.4e-9 to 10 %, 95 % sure", "rare_loss.each_s", "floor.mems", 400_000),
    Promise("sweep of runs of 10,000 requests: a request", "threads_2.each_s", "floor.mems", 3.7),
    Promise("such runs: two threads' time over one's", "threads.ratio", "floor.threads", 1.4),
    Promise("sweep of runs of 20 requests: a run", "sweep_small.each_s", "floor.start", 0.2),
]


def process(command: list[str]) -> tuple[str, float, float]:
    """Run a process; return what it prints, its processor time and its time, s."""
    start = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.perf_counter() - start


def started(*command: str) -> float:
    """Return the processor time of a short process that finds all modules compiled, s."""
    process([*command])
    return statistics.median(process([*command])[1] for _ in range(5))


def build_floor() -> None:
    """Compile the floor as the simulator is compiled."""
    source = Path(__file__).with_name("floor.rs")
    if FLOOR.exists() and FLOOR.stat().st_mtime > source.stat().st_mtime:
        return
    FLOOR.parent.mkdir(exist_ok=True)
    options = ["--edition", "2021", "-C", "opt-level=3", "-C", "overflow-checks=on"]
    subprocess.run([os.environ.get("RUSTC", "rustc"), *options, "-o", FLOOR, source], check=True)


def floors(scale: float) -> Round:
    """Measure the floors."""
    found = {}
    items = {kind: max(1, round(count * min(scale, 1))) for kind, count in FLOOR_ITEMS.items()}
    for kind, count in items.items():
        found[f"floor.{kind}"] = process([str(FLOOR), kind, str(count)])[1] / count
    one, two = (process([str(FLOOR), "mems", str(2 * items["mems"] // count), str(count)])[2] for count in (1, 2))
    return found | {"floor.threads": two / one, "floor.start": started(sys.executable, "-c", "pass")}


def measured(python: Path, case: str, scale: float) -> Round:
    """Measure a case in the build of a virtual environment."""
    if case == "help":
        return {"help.each_s": started(str(python.parent / "sledsim"), "--help")}
    if case == "import":
        return {"import.each_s": started(str(python), "-c", "import sledsim")}
    if case == "import_all":
        every = "import sledsim\nfor name in sledsim.__all__: getattr(sledsim, name)"
        return {"import_all.each_s": started(str(python), "-c", every)}
    found = json.loads(process([str(python), __file__, "--case", case, "--scale", str(scale)])[0])
    return {f"{case}.{key}": value for key, value in found.items()}


def derived(found: Round) -> Round:
    """Add the figures that are made of others."""
    growth = found.get("disk.peak_mb", NAN) - found.get("disk_few.peak_mb", NAN)
    ratio = found.get("threads_2.wall_s", NAN) / found.get("threads_1.wall_s", NAN)
    return found | {"disk.growth_mb": growth, "threads.ratio": ratio}


def rounds(pythons: list[Path], cases: list[str], count: int, scale: float) -> Iterator[list[Round]]:
    """Yield what each round found in each build; the builds take turns in being first."""
    for turn in range(count):
        floor = floors(scale)
        found = [dict(floor) for _ in pythons]
        for case in cases:
            for which in range(len(pythons)) if turn % 2 == 0 else reversed(range(len(pythons))):
                print(f"round {turn + 1} of {count}: {case} {pythons[which]}", file=sys.stderr)
                found[which] |= measured(pythons[which], case, scale)
        yield [derived(one) for one in found]


def median(found: list[Round], key: str, over: str | None = None) -> float:
    """Return the median of a figure, or of its multiples of another in the same round; NaN where it is missing."""
    values = [one.get(key, NAN) / (one.get(over, NAN) if over else 1) for one in found]
    return NAN if any(value != value for value in values) else statistics.median(values)


def figure(value: float, key: str) -> str:
    """Return a figure with its unit."""
    if key.endswith("_mb"):
        return f"{value:.1f} MB"
    if not key.endswith("_s"):
        return f"{value:.2f}"
    units = ((1, "s"), (1e3, "ms"), (1e6, "µs"))
    factor, unit = next((pair for pair in units if value * pair[0] >= 1), (1e9, "ns"))
    return f"{value * factor:.3g} {unit}"


def number(value: float) -> str:
    """Return a multiple as text."""
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def machine() -> str:
    """Return when and on what is measured."""
    model = platform.processor() or platform.machine()
    cpus = Path("/proc/cpuinfo")
    if cpus.exists():
        found = re.search(r"^model name\s*: (.*)$", cpus.read_text(), re.MULTILINE)
        model = found[1] if found else model
    today = datetime.now(UTC).date()
    return f"{today}; {model}, {os.cpu_count()} cores, {platform.system()}, load {os.getloadavg()[0]:.1f}"


def table(found: list[Round]) -> tuple[list[str], int]:
    """Return the promises that were measured as lines of a table, and how many are broken."""
    rows, broken = [("what", "measured", "times what", "promised"), ("---",) * 4], 0
    for what, key, over, most in PROMISES:
        multiple = median(found, key, over)
        if multiple != multiple:
            continue
        verdict = "" if multiple <= most else " BROKEN"
        broken += bool(verdict)
        times, limit = (
            (f"{number(multiple)} × {over.removesuffix('.each_s')}", number(most)) if over else ("", f"{most} MB")
        )
        promised = f"at most {limit}{verdict}" if most < INFINITE else ""
        rows.append((what, figure(median(found, key), key), times, promised))
    return [f"| {what:<60} | {value:>8} | {times:<27} | {most:<18} |" for what, value, times, most in rows], broken


def compared(old: list[Round], new: list[Round]) -> int:
    """Print both builds side by side; return how many figures are worse by more than 3 %.

    Worse is what is worse in the median of the rounds and at its best: other work on the machine seldom does both.
    """
    worse = 0
    print(f"{'':<60} {'old':>10} {'new':>10}   new/old, and at their best")
    for promise in PROMISES:
        key = promise.measured
        both = [{"old": one.get(key, NAN), "new": other.get(key, NAN)} for one, other in zip(old, new, strict=True)]
        ratio = median(both, "new", "old")
        # What memory grows by is next to nothing, and so no denominator.
        if ratio != ratio or key == "disk.growth_mb":
            continue
        best = min(one["new"] for one in both) / min(one["old"] for one in both)
        flag = "  WORSE" if min(ratio, best) > SLOWER else ""
        worse += bool(flag)
        sides = f"{figure(median(both, 'old'), key):>10} {figure(median(both, 'new'), key):>10}"
        print(f"{promise.what:<60} {sides}   {ratio:.3f} {best:.3f}{flag}")
    return worse


def main() -> int:
    """Measure, and print what was found."""
    full = 10.0 if os.environ.get("BENCH_FULL") == "1" else 1.0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="PYTHON", help="the Python of another build")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="cases of such names")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--scale", type=float, default=full, metavar="X", help="so many times the requests")
    parser.add_argument("--write", action="store_true", help="write the table of docs/reference/validation.md")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        with TemporaryDirectory() as folder:
            print(json.dumps(MEASURES[options.case](options.scale, Path(folder))))
        return 0
    if options.write and (options.against or options.only != "*"):
        parser.error("--write takes all rows of this build")
    build_floor()
    names = ["import", "import_all", "help", *MEASURES]
    chosen = [case for case in names if fnmatchcase(case, options.only)]
    missing = {case for case in chosen if (trace := needed_trace(case)) and not trace.exists()}
    where = machine()
    pythons = [Path(sys.executable), *([options.against.absolute()] if options.against else [])]
    cases = [case for case in chosen if case not in missing]
    sides = list(zip(*rounds(pythons, cases, options.rounds, options.scale), strict=True))
    title = f"Medians of {options.rounds} rounds; {where}."
    if options.against:
        print(title)
        failed = compared(list(sides[1]), list(sides[0]))
    else:
        lines, failed = table(list(sides[0]))
        text = "\n".join([title, "", *lines, ""])
        print(text)
        if options.write:
            PAGE.write_text(BLOCK.sub(lambda _: text, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    for case in sorted(missing):
        print(f"{case} was not measured: {needed_trace(case)} is missing; set SLEDSIM_REFERENCE to the reference data")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
