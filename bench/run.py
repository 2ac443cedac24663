"""Measure whole runs against the speed and memory that Sledsim promises.

Every measurement is a process of its own, so that its peak memory is its own; the rounds go through all of them in
turn, so that a slow spell of the machine does not fall on one alone. Medians are printed and written to
``out/bench.json``.

    make bench                        10 million random requests
    BENCH_FULL=1 make bench           100 million
    BENCH_ROUNDS=5 make bench         five rounds instead of three

The traces come from the reference data: below ``SLEDSIM_REFERENCE``, or else ``../shared``.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
CATALOG = ROOT / "python" / "sledsim" / "catalog"
TRACES = Path(os.environ.get("SLEDSIM_REFERENCE", ROOT.parent / "shared")) / "traces"
TRACE = TRACES / "hplajw-1992-1week.srt"
# Four million references to pages of 512 bytes, in a quarter of a million requests.
CACHE_TRACE = TRACES / "arc-P3.lis.zst"
CACHE_PAGES = 32_768
# The case of a cache, by its policy.
CACHE = "lru"
# Two hours of a virtual machine's disk, mapped onto one that is smaller.
MCD_TRACE = TRACES / "cloudphysics-2hour.vscsi.zst"
MCD_LOOPS = 40
# MEMS that holds what is used, and MEMS that does not.
MCD_BYTES = {"mcd": 2_500_000_000, "mcd_small": 256_000_000}

RANDOM_REQUESTS = 100_000_000 if os.environ.get("BENCH_FULL") == "1" else 10_000_000
LOOPS = 200
# Many times the pending requests, so that filling the queue does not count.
DISPATCHES = {1_000: 2_000_000, 10_000: 1_000_000}
DISK_DISPATCHES = {1_000: 500_000, 10_000: 300_000}
# The sweeps: so many runs of so many requests each, and runs so small that nothing but the sweep counts.
SWEEP_RUNS, SWEEP_REQUESTS = 1_000, 10_000
# What threads sustain shows in a process that has loaded everything.
WARMING_RUNS, SUSTAINED_RUNS = 100, 3_000
SMALL_RUNS, SMALL_REQUESTS = 5_000, 20
# Memory must not grow from the one to the other.
FEW_DISK_REQUESTS, MANY_DISK_REQUESTS = 1_000_000, 20_000_000
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))


@dataclass(frozen=True)
class Row:
    """A measured quantity and what is promised of it."""

    what: str
    value: float
    unit: str
    target: float
    at_least: bool

    @property
    def met(self) -> bool:
        """Whether the promise is kept."""
        return self.value >= self.target if self.at_least else self.value <= self.target

    def line(self) -> str:
        """Return the row as text."""
        sign = "≥" if self.at_least else "≤"
        verdict = "ok" if self.met else "MISS  <<<<<<"
        return f"{self.what:<58} {self.value:>14,.3f}  {sign} {self.target:<12,g} {self.unit:<14} {verdict}"


def random_scenario() -> dict[str, Any]:
    """Describe random 4 KB reads, FCFS, open at 500 a second."""
    arrival = {"kind": "poisson", "rate_per_s": 500.0}
    return {
        "workload": {"kind": "synthetic", "arrival": arrival, "size_bytes": {"kind": "fixed", "value": 4096}},
        "system": {"device": "g2", "scheduler": "fcfs"},
        "run": {"requests": RANDOM_REQUESTS},
    }


def thrifty_scenario() -> dict[str, Any]:
    """Describe the same with every power strategy on, and requests that need only parts of their blocks."""
    scenario = random_scenario()
    scenario["workload"] |= {"last_block": "uniform", "metadata": {"share": 0.2}}
    merge = {"requests": 16, "anywhere": True, "writes": True, "rows": True}
    scenario["system"] |= {"spin_down": "adaptive", "merge": merge, "subsector": True}
    return scenario


def pending_scenario(pending: int) -> dict[str, Any]:
    """Describe random 4 KB reads, SPTF, with so many of them pending at all times."""
    arrival = {"kind": "closed", "outstanding": pending}
    return {
        "workload": {"kind": "synthetic", "arrival": arrival},
        "system": {"device": "g2", "scheduler": "sptf"},
        "run": {"requests": DISPATCHES[pending]},
    }


def looped_scenario() -> dict[str, Any]:
    """Describe the week of hplajw, over and over."""
    workload = {"kind": "trace", "path": str(TRACE), "repeat": LOOPS}
    return {"workload": workload, "system": {"device": "g2", "scheduler": "fcfs"}}


def mcd_scenario(mems_bytes: int) -> dict[str, Any]:
    """Describe two hours of CloudPhysics, over and over, on a disk that MEMS caches in segments of 64 KiB.

    2.5 GB of MEMS hold all that is used: the first round brings it, and 0.99 of all pieces are found after 4. A tenth
    of that does not, and there the speed is that of the disk's simulation, too.
    """
    fcfs = {"scheduler": "fcfs"}
    return {
        "workload": {"kind": "trace", "path": str(MCD_TRACE), "repeat": MCD_LOOPS, "fit": "scale"},
        "system": {
            "kind": "mcd",
            "mems": {"device": "hong2006"} | fcfs,
            "disk": {"device": "atlas10k"} | fcfs,
            "mems_bytes": mems_bytes,
        },
    }


def disk_scenario(requests: int, *, buffer: bool) -> dict[str, Any]:
    """Describe random 8 KB reads and writes, FCFS, open at 100 a second, on a disk with its buffer or without."""
    off = {"buffer_caching": False, "read_ahead": "none", "fast_write": "none"}
    arrival = {"kind": "poisson", "rate_per_s": 100.0}
    size = {"kind": "fixed", "value": 8192}
    return {
        "workload": {"kind": "synthetic", "arrival": arrival, "size_bytes": size, "read_fraction": 0.67},
        "system": {"device": {"name": "atlas10k"} | ({} if buffer else off), "scheduler": "fcfs"},
        "run": {"requests": requests},
    }


def disk_pending_scenario(pending: int) -> dict[str, Any]:
    """Describe random 8 KB reads and writes on a disk, SPTF, with so many of them pending at all times."""
    scenario = disk_scenario(DISK_DISPATCHES[pending], buffer=True)
    scenario["workload"]["arrival"] = {"kind": "closed", "outstanding": pending}
    scenario["system"]["scheduler"] = "sptf"
    return scenario


SCENARIOS: dict[str, Callable[[], dict[str, Any]]] = {
    "random": random_scenario,
    "thrifty": thrifty_scenario,
    "looped": looped_scenario,
    "sptf_1000": lambda: pending_scenario(1_000),
    "sptf_10000": lambda: pending_scenario(10_000),
    "disk": lambda: disk_scenario(MANY_DISK_REQUESTS, buffer=False),
    "disk_few": lambda: disk_scenario(FEW_DISK_REQUESTS, buffer=False),
    "disk_buffer": lambda: disk_scenario(MANY_DISK_REQUESTS, buffer=True),
    "disk_sptf_1000": lambda: disk_pending_scenario(1_000),
    "mcd": lambda: mcd_scenario(MCD_BYTES["mcd"]),
    "mcd_small": lambda: mcd_scenario(MCD_BYTES["mcd_small"]),
    "disk_sptf_10000": lambda: disk_pending_scenario(10_000),
}


def run_scenario(name: str) -> dict[str, float]:
    """Run a scenario in this process."""
    from sledsim import _core

    text = json.dumps(SCENARIOS[name]())
    resolved = _core.resolve(text, format="json", source="bench", sets=[], catalog=[str(CATALOG)], base_dir=".")
    start, cpu_start = time.perf_counter(), time.process_time()
    output = _core.run(resolved, base_dir=".")
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    requests = json.loads(output.summary())["requests"]
    assert requests["completed"] == requests["submitted"] > 0, requests
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts in KiB, macOS in bytes.
    peak_bytes = peak if sys.platform == "darwin" else peak * 1024
    # Far apart, wall-clock and processor time say that the machine was busy with something else.
    per_s = requests["completed"] / seconds
    return {"per_s": per_s, "seconds": seconds, "cpu_seconds": cpu_seconds, "peak_mb": peak_bytes / 1e6}


def count_hits(policy: str) -> dict[str, float]:
    """Send a trace through a cache in this process."""
    from sledsim import _core

    caches = json.dumps([[policy, CACHE_PAGES]])
    start, cpu_start = time.perf_counter(), time.process_time()
    found = json.loads(_core.hit_ratios(str(CACHE_TRACE), caches=caches, page_bytes=512))
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    assert found["references"] > found["requests"] > 0, found
    return {"per_s": found["references"] / seconds, "seconds": seconds, "cpu_seconds": cpu_seconds}


def import_package(_: str) -> dict[str, float]:
    """Import the package in this process, then everything that it loads on first use."""
    start = time.perf_counter()
    import sledsim

    seconds = time.perf_counter() - start
    for name in sledsim.__all__:
        getattr(sledsim, name)
    return {"seconds": seconds, "used_seconds": time.perf_counter() - start}


def draw_figure_4(_: str) -> dict[str, float]:
    """Solve Figure 4 of hong2006 in this process: MTTF with 0 to 5 spares, two strategies, five times to a repair."""
    from sledsim.reliability import Description, mttf_h

    tables = {"device": {"mttf": "200000 h"}, "rebuild": {"time": "15 min"}}
    start = time.perf_counter()
    for strategy in ("preventive", "mandatory"):
        for repair in ("1 day", "1 week", "2 weeks", "1 month", "3 months"):
            for spares in range(6):
                enclosure = {"data": 19, "parity": 1, "spares": spares}
                maintained = {"enclosure": enclosure, "repair": {"strategy": strategy, strategy: repair}}
                assert mttf_h(Description.of(tables | maintained)) > 0
    return {"seconds": time.perf_counter() - start}


def enclosure_tables(parity: int, **repair: str) -> dict[str, Any]:
    """Describe an enclosure of hong2006 with five spares."""
    enclosure = {"data": 19, "parity": parity, "spares": 5}
    return {"enclosure": enclosure, "device": {"mttf": "200000 h"}, "rebuild": {"time": "15 min"}, "repair": repair}


def simulate_lifetimes(_: str) -> dict[str, float]:
    """Follow a million enclosures of hong2006 to their loss of data on two threads."""
    from sledsim.reliability import simulate

    start = time.perf_counter()
    found = simulate(enclosure_tables(1), method="plain", lifetimes=1_000_000, to_loss=True, threads=2)
    assert found.complete
    assert found.mttf_h is not None
    return {"seconds": time.perf_counter() - start}


def simulate_rare_loss(_: str) -> dict[str, float]:
    """Estimate a loss of 1.4e-9 to 10 % with 95 % confidence on two threads."""
    from sledsim.reliability import simulate

    start = time.perf_counter()
    tables = enclosure_tables(2, strategy="preventive", preventive="3 days")
    found = simulate(tables, years=[1], method="biased", precision=0.1, threads=2).loss[0]
    assert found["estimate"] is not None
    assert 1e-9 < found["low"] < found["high"] < 2e-9
    return {"seconds": time.perf_counter() - start, "lifetimes": found["lifetimes"]}


def described_sweep(runs: int, requests: int) -> Any:
    """Describe a sweep of random 4 KB reads, FCFS, at ten rates."""
    from sledsim.sweep import Range, Sweep

    scenario = random_scenario() | {"run": {"requests": requests}}
    rates = {"workload.arrival.rate_per_s": Range(100, 1000, count=10)}
    return Sweep(scenario, rates, replications=runs // 10)


def run_sweep(case: str) -> dict[str, float]:
    """Run a sweep into a new store: the long one on as many threads as the case's name ends in, the other on two."""
    from sledsim.sweep import run

    runs, threads = (SWEEP_RUNS, 2) if case == "sweep" else (SUSTAINED_RUNS, int(case[-1]))
    with TemporaryDirectory() as folder:
        if case != "sweep":
            run(described_sweep(WARMING_RUNS, SWEEP_REQUESTS), f"{folder}/warming", threads=threads)
        report = run(described_sweep(runs, SWEEP_REQUESTS), f"{folder}/store", threads=threads)
    assert report.done == runs
    return {"seconds": report.seconds, "per_s": report.runs / report.seconds}


def sweep_overhead(_: str) -> dict[str, float]:
    """Take the time of a sweep of small runs on one thread, less that of the same runs by themselves."""
    from sledsim import _core
    from sledsim.sweep import run
    from sledsim.sweep.execution import prepare

    sweep = described_sweep(SMALL_RUNS, SMALL_REQUESTS)
    texts = [prepare(sweep.base, sweep.settings(task)).text for task in sweep.tasks()]
    start = time.perf_counter()
    for text in texts:
        assert text is not None
        _core.run(text, base_dir=".")
    alone_s = time.perf_counter() - start
    with TemporaryDirectory() as folder:
        report = run(sweep, folder, threads=1)
    assert report.done == SMALL_RUNS
    return {"overhead_ms": 1e3 * (report.seconds - alone_s) / SMALL_RUNS, "alone_ms": 1e3 * alone_s / SMALL_RUNS}


# What is measured besides scenarios, in a process of its own.
OTHERS: dict[str, Callable[[str], dict[str, float]]] = {
    "import": import_package,
    "figure_4": draw_figure_4,
    CACHE: count_hits,
    "lifetimes": simulate_lifetimes,
    "rare_loss": simulate_rare_loss,
    "sweep": run_sweep,
    "sweep_threads_1": run_sweep,
    "sweep_threads_2": run_sweep,
    "sweep_overhead": sweep_overhead,
}


def in_process(name: str) -> dict[str, float]:
    """Measure in a process of its own."""
    command = [sys.executable, __file__, name]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def command_help(_: str) -> dict[str, float]:
    """Run ``sledsim --help`` and take the time of the whole process."""
    command = Path(sys.executable).parent / "sledsim"
    start = time.perf_counter()
    subprocess.run([command, "--help"], check=True, stdout=subprocess.DEVNULL)
    return {"seconds": time.perf_counter() - start}


def measure() -> dict[str, list[dict[str, float]]]:
    """Go through all measurements, round by round."""
    needs = {"looped": TRACE} | dict.fromkeys(MCD_BYTES, MCD_TRACE)
    names = [name for name in SCENARIOS if name not in needs or needs[name].exists()]
    others = [name for name in OTHERS if name != CACHE or CACHE_TRACE.exists()]
    cases = dict.fromkeys([*names, *others], in_process) | {"help": command_help}
    results: dict[str, list[dict[str, float]]] = {name: [] for name in cases}
    for turn in range(ROUNDS):
        for name, measure_one in cases.items():
            print(f"round {turn + 1} of {ROUNDS}: {name}", file=sys.stderr)
            try:
                results[name].append(measure_one(name))
            except (OSError, subprocess.CalledProcessError) as error:
                print(f"{name} could not be measured: {error}", file=sys.stderr)
    return results


def rows(results: dict[str, list[dict[str, float]]]) -> list[Row]:
    """Compare medians with what is promised."""

    def median(name: str, key: str) -> float:
        values = [result[key] for result in results.get(name, [])]
        return statistics.median(values) if values else float("nan")

    def median_ratio(name: str, other: str) -> float:
        return median(name, "per_s") / median(other, "per_s")

    def pending_ratio(name: str) -> float:
        return median(f"{name}_1000", "per_s") / median(f"{name}_10000", "per_s")

    sweep_ratio = median_ratio("sweep_threads_2", "sweep_threads_1")
    sweep = f"sweep, {SWEEP_RUNS:,} runs of {SWEEP_REQUESTS:,} requests"
    disk_growth_mb = median("disk", "peak_mb") - median("disk_few", "peak_mb")
    disk = f"8 KB, FCFS on atlas10k, no buffer, {MANY_DISK_REQUESTS / 1e6:g} million"
    million = f"{RANDOM_REQUESTS / 1e6:g} million"
    return [
        Row(f"random 4 KB, FCFS on g2, open at 500/s, {million}", median("random", "per_s"), "requests/s", 5e6, True),
        Row("the same: peak memory of the process", median("random", "peak_mb"), "MB", 100, False),
        Row("the same with every power strategy on, of that speed", median_ratio("thrifty", "random"), "", 0.5, True),
        Row("with them: peak memory of the process", median("thrifty", "peak_mb"), "MB", 100, False),
        Row(f"hplajw on g2, {LOOPS} times, trace read included", median("looped", "per_s"), "requests/s", 3e6, True),
        Row("SPTF with 1,000 pending", median("sptf_1000", "per_s"), "dispatches/s", 5e5, True),
        Row("SPTF with 10,000 pending: cost over that with 1,000", pending_ratio("sptf"), "times", 4, False),
        Row(disk, median("disk", "per_s"), "requests/s", 3e6, True),
        Row("the same: peak memory over that of 1 million", disk_growth_mb, "MB", 2, False),
        Row("the same with the buffer", median("disk_buffer", "per_s"), "requests/s", 1e6, True),
        Row("SPTF on atlas10k with 1,000 pending", median("disk_sptf_1000", "per_s"), "dispatches/s", 1e5, True),
        Row("the same with 10,000 pending: cost over that", pending_ratio("disk_sptf"), "times", 4, False),
        Row(f"CloudPhysics on a caching disk, {MCD_LOOPS} times", median("mcd", "per_s"), "requests/s", 1e6, True),
        Row("the same with a tenth of the MEMS", median("mcd_small", "per_s"), "requests/s", 5e5, True),
        Row(f"hits in an LRU cache of {CACHE_PAGES:,} pages, P3", median(CACHE, "per_s"), "references/s", 1e7, True),
        Row("import sledsim", median("import", "seconds"), "s", 0.3, False),
        Row("import sledsim, every public name used", median("import", "used_seconds"), "s", 0.3, False),
        Row("hong2006's Figure 4 whole, 60 enclosures", median("figure_4", "seconds"), "s", 1, False),
        Row("a million enclosures to their loss, two threads", median("lifetimes", "seconds"), "s", 2, False),
        Row("a loss of 1.4e-9 to 10 %, 95 % sure, two threads", median("rare_loss", "seconds"), "s", 10, False),
        Row(f"{sweep}, two threads", median("sweep", "seconds"), "s", 10, False),
        Row(f"{SUSTAINED_RUNS:,} such runs: two threads over one", sweep_ratio, "times", 1.8, True),
        Row("a sweep's time over that of its runs, each", median("sweep_overhead", "overhead_ms"), "ms", 1, False),
        Row("sledsim --help", median("help", "seconds"), "s", 0.4, False),
    ]


def main() -> int:
    """Measure everything, print the table, write the figures."""
    load_before = os.getloadavg()
    results = measure()
    table = rows(results)
    print(f"Medians of {ROUNDS}; {os.cpu_count()} cores, load before and after: ", end="")
    print(f"{load_before[0]:.2f} and {os.getloadavg()[0]:.2f}")
    for row in table:
        print(row.line())
    missed = [row for row in table if not row.met]
    print(f"{len(table) - len(missed)} of {len(table)} targets met" + (": LOOK AT THE MISSES" if missed else ""))
    for trace in (TRACE, CACHE_TRACE, MCD_TRACE):
        if not trace.exists():
            print(f"A trace was not measured: {trace} is missing; set SLEDSIM_REFERENCE to the reference data")
    out = ROOT / "out"
    out.mkdir(exist_ok=True)
    # A quantity that could not be measured is null.
    figures = [asdict(row) | {"value": row.value if row.value == row.value else None, "met": row.met} for row in table]
    document = {"cores": os.cpu_count(), "load_before": load_before, "rows": figures, "rounds": results}
    (out / "bench.json").write_text(json.dumps(document, indent=1) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        case = sys.argv[1]
        print(json.dumps(OTHERS.get(case, run_scenario)(case)))
        sys.exit(0)
    sys.exit(main())
