"""Benchmarks of speed and memory: each is a ratio to a baseline, with a limit.

A ratio is the same on any machine. The baselines are a small program without the simulator (``baseline.rs``), which
does the same arithmetic with closed-form seeks, and the start of a bare Python. Baselines and benchmarks alternate in
rounds; each runs in a process of its own. Times are processor times, which depend little on other load. The table has
medians over the rounds.

    python bench/run.py                            a few minutes
    BENCH_FULL=1 python bench/run.py               ten times the requests
    python bench/run.py --against OLD/bin/python   alternate with the build of another virtual environment
    python bench/run.py --only 'disk*'             some benchmarks
    python bench/run.py --only 'l[ri][ub]*'        LRU hit ratios; libCacheSim's too, if its `cachesim` is on the PATH
    python bench/run.py --only '[dr]*'             DiskSim 4.0 too, if a link to its `disksim` is on the PATH
    python bench/run.py --growth                   how the time of one item grows with the size of the problem
    python bench/run.py --write                    write the table of docs/reference/validation.md
    python bench/run.py --growth --write           write the table of growth there

Exit status 1: a ratio is above its limit; with ``--against``, a benchmark is slower by more than 3 %. The traces are
those of the reference data: below ``SLEDSIM_REFERENCE``, or else ``../shared``.
"""

from __future__ import annotations

import argparse
import json
import math
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

from measures import GROWTH, MEASURES, needed_trace

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
BASELINE = ROOT / "out" / "baseline"
PAGE = ROOT / "docs" / "reference" / "validation.md"
BASELINE_ITEMS = {"mems": 1_000_000, "disk": 4_000_000, "cache": 4_000_000}
# A build that is slower by this factor is slower; less is noise.
SLOWER = 1.03
NAN = float("nan")
INFINITE = float("inf")

# Compiled modules are kept outside the source folders, also if the environment forbids to write them.
ENVIRONMENT = os.environ | {"PYTHONPYCACHEPREFIX": str(ROOT / "out" / "bytecode"), "PYTHONDONTWRITEBYTECODE": ""}

Round = dict[str, float]


class Benchmark(NamedTuple):
    """A row of the table.

    ``measured`` and ``baseline`` are keys of a round. Without a baseline the limit is one of the measured value itself.
    """

    name: str
    measured: str
    baseline: str | None
    limit: float


# Limits of ratios to the baseline program are one and a half times the ratios on two loaded cores (AMD EPYC), because
# libraries and caches of other machines change the two sides differently. Other limits are for users to rely on.
BENCHMARKS = [
    Benchmark("random 4 KB, FCFS on `g2`, open at 500/s", "random.each_s", "baseline.mems", 1.7),
    Benchmark("the same: peak memory of the process", "random.peak_mb", None, 100),
    Benchmark("the same with a log in a Parquet file", "logged.each_s", "random.each_s", 4.5),
    Benchmark("with the log: peak memory of the process", "logged.peak_mb", None, 150),
    Benchmark("the same with every power strategy on", "thrifty.each_s", "random.each_s", 2),
    Benchmark("with them: peak memory of the process", "thrifty.peak_mb", None, 100),
    Benchmark("hplajw on `g2`, over and over, trace read included", "looped.each_s", "baseline.mems", 1.8),
    Benchmark("SPTF on `g2` with 1,000 pending: a dispatch", "sptf_1000.each_s", "baseline.mems", 6.5),
    Benchmark("the same with 10,000 pending", "sptf_10000.each_s", "sptf_1000.each_s", 4),
    Benchmark("8 KB, FCFS on `atlas10k`, no buffer", "disk.each_s", "baseline.disk", 7),
    Benchmark("the same: peak memory over that of a tenth of the requests", "disk.growth_mb", None, 2),
    Benchmark("the same with the buffer", "disk_buffer.each_s", "baseline.disk", 12),
    Benchmark("SPTF on `atlas10k` with 1,000 pending: a dispatch", "disk_sptf_1000.each_s", "baseline.disk", 60),
    Benchmark("the same with 10,000 pending", "disk_sptf_10000.each_s", "disk_sptf_1000.each_s", 4),
    Benchmark("FCFS on `g2`, times DiskSim's", "random.each_s", "disksim_mems.each_s", 1 / 30),
    Benchmark("FCFS on `atlas10k`, times DiskSim's", "disk_buffer.each_s", "disksim_disk.each_s", 1 / 15),
    Benchmark(
        "SPTF on `atlas10k`, 16 pending, times DiskSim's in bursts",
        "disk_sptf_16.each_s",
        "disksim_sptf.each_s",
        1 / 12,
    ),
    Benchmark("random 4 KB, FCFS on `g2`, one by one in Python", "session_one.each_s", "baseline.mems", 8),
    Benchmark("the same as arrays", "session_arrays.each_s", "baseline.mems", 4),
    Benchmark("random 4 KB, FCFS on `g2`, one by one from C", "session_c.each_s", "baseline.mems", 3),
    Benchmark("random 4 KB, FCFS on `g2`, a run in Rust", "rust_run.each_s", "baseline.mems", INFINITE),
    # The run needs no events, the session does: this ratio has no limit.
    Benchmark("the same by a session, one by one", "rust_session.each_s", "rust_run.each_s", INFINITE),
    Benchmark("CloudPhysics on a caching disk, over and over", "mcd.each_s", "baseline.mems", 8.5),
    Benchmark("the same with a tenth of the MEMS", "mcd_small.each_s", "baseline.mems", 12.5),
    Benchmark("LRU cache of 32,768 pages, P3: a reference", "lru.each_s", "baseline.cache", 4.5),
    Benchmark("the same, times libCacheSim's", "lru.each_s", "libcachesim.each_s", 1 / 3),
    Benchmark("the same in Rust, references in memory", "lru_rust.each_s", "baseline.cache", 3),
    # Calls of custom code, without limits.
    Benchmark("lowest block of 64 pending, as C-LOOK: a dispatch", "own_built_in.each_s", "baseline.mems", INFINITE),
    Benchmark("the same by a compiled function", "own_compiled.each_s", "baseline.mems", INFINITE),
    Benchmark("the same by a Python class", "own_class.each_s", "baseline.mems", INFINITE),
    Benchmark(
        "mirror of four, fewest blocks under way: a read", "custom_mirror_built_in.each_s", "baseline.mems", INFINITE
    ),
    Benchmark("the same by a compiled function", "custom_mirror_compiled.each_s", "baseline.mems", INFINITE),
    Benchmark("the same by a Python class", "custom_mirror_class.each_s", "baseline.mems", INFINITE),
    Benchmark("a sled that stops after 5 ms: a request", "custom_spin_down_built_in.each_s", "baseline.mems", INFINITE),
    Benchmark("the same by a compiled function", "custom_spin_down_compiled.each_s", "baseline.mems", INFINITE),
    Benchmark("the same by a Python class", "custom_spin_down_class.each_s", "baseline.mems", INFINITE),
    Benchmark(
        "the LRU cache by a compiled function: a reference", "own_lru_compiled.each_s", "baseline.cache", INFINITE
    ),
    Benchmark("the same by a Python class", "own_lru_class.each_s", "baseline.cache", INFINITE),
    Benchmark("`import sledsim`", "import.each_s", "baseline.start", 3),
    Benchmark("the same, every public name used", "import_all.each_s", "baseline.start", 50),
    Benchmark("`sledsim --help`", "help.each_s", "baseline.start", 16),
    Benchmark("hong2006's Figure 4 whole, 60 enclosures", "figure_4.each_s", "baseline.mems", 225_000),
    Benchmark("enclosure of hong2006 followed to its loss", "lifetimes.each_s", "baseline.mems", 6.5),
    Benchmark("a loss of 1.4e-9 to 10 %, 95 % sure", "rare_loss.each_s", "baseline.mems", 400_000),
    Benchmark("sweep of runs of 10,000 requests: a request", "threads_2.each_s", "baseline.mems", 3.7),
    Benchmark("such runs: two threads' time over one's", "threads.ratio", "baseline.threads", 1.4),
    Benchmark("sweep of runs of 20 requests: a run", "sweep_small.each_s", "baseline.start", 0.2),
]


def process(command: list[str]) -> tuple[str, float, float]:
    """Run a process; return its output, its processor time and its wall time, s."""
    start = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.perf_counter() - start


def started(*command: str) -> float:
    """Return the processor time of a short process whose modules are compiled already, s."""
    process([*command])
    return statistics.median(process([*command])[1] for _ in range(5))


def build_baseline() -> None:
    """Compile the baseline program with the options of the simulator."""
    source = Path(__file__).with_name("baseline.rs")
    if BASELINE.exists() and BASELINE.stat().st_mtime > source.stat().st_mtime:
        return
    BASELINE.parent.mkdir(exist_ok=True)
    options = ["--edition", "2021", "-C", "opt-level=3", "-C", "overflow-checks=on"]
    subprocess.run([os.environ.get("RUSTC", "rustc"), *options, "-o", BASELINE, source], check=True)


def baselines(scale: float) -> Round:
    """Measure the baselines."""
    found = {}
    items = {kind: max(1, round(count * min(scale, 1))) for kind, count in BASELINE_ITEMS.items()}
    for kind, count in items.items():
        found[f"baseline.{kind}"] = process([str(BASELINE), kind, str(count)])[1] / count
    one, two = (process([str(BASELINE), "mems", str(2 * items["mems"] // count), str(count)])[2] for count in (1, 2))
    return found | {"baseline.threads": two / one, "baseline.start": started(sys.executable, "-c", "pass")}


def measured(python: Path, case: str, scale: float) -> Round:
    """Measure a case with the build of a virtual environment."""
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
    """Add the figures that follow from others."""
    growth = found.get("disk.peak_mb", NAN) - found.get("disk_few.peak_mb", NAN)
    ratio = found.get("threads_2.wall_s", NAN) / found.get("threads_1.wall_s", NAN)
    return found | {"disk.growth_mb": growth, "threads.ratio": ratio}


def rounds(pythons: list[Path], cases: list[str], count: int, scale: float) -> Iterator[list[Round]]:
    """Yield the figures of each round for each build. The builds alternate, and so does the one that is first."""
    for turn in range(count):
        baseline = baselines(scale)
        found = [dict(baseline) for _ in pythons]
        for case in cases:
            for which in range(len(pythons)) if turn % 2 == 0 else reversed(range(len(pythons))):
                print(f"round {turn + 1} of {count}: {case} {pythons[which]}", file=sys.stderr)
                found[which] |= measured(pythons[which], case, scale)
        yield [derived(one) for one in found]


def median(found: list[Round], key: str, baseline: str | None = None) -> float:
    """Return the median of a figure, or of its ratios to another one of the same round; NaN if it is missing."""
    values = [one.get(key, NAN) / (one.get(baseline, NAN) if baseline else 1) for one in found]
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
    """Return a ratio as text."""
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def machine() -> str:
    """Return the date, the processor and the load of the machine."""
    model = platform.processor() or platform.machine()
    cpus = Path("/proc/cpuinfo")
    if cpus.exists():
        found = re.search(r"^model name\s*: (.*)$", cpus.read_text(), re.MULTILINE)
        model = found[1] if found else model
    today = datetime.now(UTC).date()
    return f"{today}; {model}, {os.cpu_count()} cores, {platform.system()}, load {os.getloadavg()[0]:.1f}"


def table(found: list[Round]) -> tuple[list[str], int]:
    """Return the measured benchmarks as lines of a table, and the number of those above their limit."""
    rows, above = [("benchmark", "measured", "ratio", "limit"), ("---",) * 4], 0
    for name, key, baseline, limit in BENCHMARKS:
        ratio = median(found, key, baseline)
        if ratio != ratio:
            continue
        verdict = "" if ratio <= limit else " EXCEEDED"
        above += bool(verdict)
        shown = f"{number(ratio)} × {baseline.removesuffix('.each_s')}" if baseline else ""
        unit = "" if baseline else " MB"
        most = f"{number(limit)}{unit}{verdict}" if limit < INFINITE else ""
        rows.append((name, figure(median(found, key), key), shown, most))
    return [f"| {name:<60} | {value:>8} | {ratio:<27} | {limit:<16} |" for name, value, ratio, limit in rows], above


def compared(old: list[Round], new: list[Round]) -> int:
    """Print both builds side by side; return the number of figures that are worse by more than 3 %.

    A figure is worse if both its median and its best value over the rounds are: other load seldom causes both.
    """
    worse = 0
    print(f"{'':<60} {'old':>10} {'new':>10}   new/old: median, best")
    for benchmark in BENCHMARKS:
        key = benchmark.measured
        both = [{"old": one.get(key, NAN), "new": other.get(key, NAN)} for one, other in zip(old, new, strict=True)]
        ratio = median(both, "new", "old")
        # The growth of memory is close to 0, so a ratio of it means nothing.
        if ratio != ratio or key == "disk.growth_mb":
            continue
        best = min(one["new"] for one in both) / min(one["old"] for one in both)
        flag = "  WORSE" if min(ratio, best) > SLOWER else ""
        worse += bool(flag)
        sides = f"{figure(median(both, 'old'), key):>10} {figure(median(both, 'new'), key):>10}"
        print(f"{benchmark.name:<60} {sides}   {ratio:.3f} {best:.3f}{flag}")
    return worse


def growth() -> list[str]:
    """Measure times of one item at several sizes; return a table with their exponents of growth."""
    rows = [("time", "sizes", "measured", "exponent"), ("---",) * 4]
    for name, (_, sizes) in GROWTH.items():
        command = [sys.executable, __file__, "--case", name, "--scale"]
        times = [json.loads(process([*command, str(size)])[0])["each_s"] for size in sizes]
        # The slope of the line of least squares through the logarithms.
        slope = statistics.linear_regression(
            *([math.log(value) for value in values] for values in (sizes, times))
        ).slope
        shown = ", ".join(figure(value, "each_s") for value in times)
        rows.append((name, ", ".join(f"{size:,}" for size in sizes), shown, f"{slope:.2f}"))
    return [f"| {name:<52} | {sizes:<26} | {times:<26} | {slope:<8} |" for name, sizes, times, slope in rows]


def write(block: str, text: str) -> None:
    """Replace a block of the page."""
    found = re.compile(rf"(?<=<!-- measured: {block} -->\n).*?(?=<!-- end -->)", re.DOTALL)
    PAGE.write_text(found.sub(lambda _: text, PAGE.read_text(encoding="utf-8"), count=1), encoding="utf-8")


def main() -> int:
    """Measure and print."""
    full = 10.0 if os.environ.get("BENCH_FULL") == "1" else 1.0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="PYTHON", help="compare with the Python of another build")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="only cases with such names")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--scale", type=float, default=full, metavar="X", help="multiply the number of requests")
    parser.add_argument("--write", action="store_true", help="write the table into docs/reference/validation.md")
    parser.add_argument("--growth", action="store_true", help="measure how times grow with sizes")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        with TemporaryDirectory() as folder:
            measure = GROWTH[options.case][0] if options.case in GROWTH else MEASURES[options.case]
            print(json.dumps(measure(options.scale, Path(folder))))
        return 0
    if options.growth:
        text = "\n".join([f"{machine()}.", "", *growth(), ""])
        print(text)
        if options.write:
            write("growth", text)
        return 0
    if options.write and (options.against or options.only != "*"):
        parser.error("--write needs all benchmarks of this build: leave out --against and --only")
    build_baseline()
    names = ["import", "import_all", "help", *MEASURES]
    chosen = [case for case in names if fnmatchcase(case, options.only)]
    missing = {case for case in chosen if (trace := needed_trace(case)) and not trace.exists()}
    where = machine()
    pythons = [Path(sys.executable), *([options.against.absolute()] if options.against else [])]
    cases = [case for case in chosen if case not in missing]
    sides = list(zip(*rounds(pythons, cases, options.rounds, options.scale), strict=True))
    size = "" if options.scale == full else f" of {options.scale:g} times the requests"
    title = f"Medians of {options.rounds} rounds{size}; {where}."
    if options.against:
        print(title)
        failed = compared(list(sides[1]), list(sides[0]))
    else:
        lines, failed = table(list(sides[0]))
        text = "\n".join([title, "", *lines, ""])
        print(text)
        if options.write:
            write("speed", text)
    for case in sorted(missing):
        print(f"{case} was not measured: {needed_trace(case)} is missing; set SLEDSIM_REFERENCE to the reference data")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
