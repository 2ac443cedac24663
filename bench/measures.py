"""The measurements of the benchmarks, with public names of Sledsim only, so that any build can be measured."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Scenario = dict[str, Any]
Found = dict[str, float]

TRACES = Path(os.environ.get("SLEDSIM_REFERENCE", Path(__file__).resolve().parents[2] / "shared")) / "traces"
TRACE = TRACES / "hplajw-1992-1week.srt"
# Four million references to pages of 512 bytes, in a quarter of a million requests.
CACHE_TRACE = TRACES / "arc-P3.lis.zst"
CACHE_PAGES = 32_768
# Two hours of a virtual machine's disk, scaled to a smaller disk.
MCD_TRACE = TRACES / "cloudphysics-2hour.vscsi.zst"
# MEMS that holds the working set, and a tenth of it.
MCD_BYTES = {"mcd": 2_500_000_000, "mcd_small": 256_000_000}
# Runs of DiskSim: its parameter file and overrides; then the blocks of the device and of a request, the share of reads,
# the number of requests that arrive together (on average half of them are pending), and ms between arrivals.
DISKSIM_RUNS: dict[str, tuple[list[str], tuple[int, int, float, int, float]]] = {
    "disksim_mems": (["mems.g2.parv", "mems0", "Spring constant factor", "0.75"], (6_750_000, 8, 1.0, 1, 2.0)),
    "disksim_disk": (["atlas10k.parv"], (17_938_986, 16, 0.67, 1, 10.0)),
    "disksim_sptf": (
        ["atlas10k.parv", "driver0", "Scheduler:Scheduling policy", "8"],
        (17_938_986, 16, 0.67, 32, 32 * 10.0),
    ),
}
# Requests of a run so short that the time is that of the sweep, and of a longer one.
SMALL_REQUESTS, SWEEP_REQUESTS = 20, 10_000


def count(items: int, scale: float) -> int:
    """Return a scaled number of items."""
    return max(1, round(items * scale))


def random_scenario(requests: int) -> Scenario:
    """Return a scenario of random 4 KB reads, FCFS, open arrivals at 500 a second."""
    return {
        "workload": {"kind": "synthetic", "arrival": {"kind": "poisson", "rate_per_s": 500.0}},
        "system": {"device": "g2", "scheduler": "fcfs"},
        "run": {"requests": requests},
    }


def thrifty_scenario(requests: int) -> Scenario:
    """Return the same scenario with every power strategy, and requests that need only parts of their blocks."""
    scenario = random_scenario(requests)
    scenario["workload"] |= {"last_block": "uniform", "metadata": {"share": 0.2}}
    merge = {"requests": 16, "anywhere": True, "writes": True, "rows": True}
    scenario["system"] |= {"spin_down": "adaptive", "merge": merge, "subsector": True}
    return scenario


def disk_scenario(requests: int, *, buffer: bool) -> Scenario:
    """Return a scenario of random 8 KB reads and writes, FCFS, open arrivals at 100 a second, on a disk."""
    off = {"buffer_caching": False, "read_ahead": "none", "fast_write": "none"}
    arrival = {"kind": "poisson", "rate_per_s": 100.0}
    size = {"kind": "fixed", "value": 8192}
    return {
        "workload": {"kind": "synthetic", "arrival": arrival, "size_bytes": size, "read_fraction": 0.67},
        "system": {"device": {"name": "atlas10k"} | ({} if buffer else off), "scheduler": "fcfs"},
        "run": {"requests": requests},
    }


def pending_scenario(scenario: Scenario, pending: int) -> Scenario:
    """Return a scenario with SPTF and a constant number of pending requests."""
    scenario["workload"]["arrival"] = {"kind": "closed", "outstanding": pending}
    scenario["system"]["scheduler"] = "sptf"
    return scenario


def looped_scenario(times: int) -> Scenario:
    """Return a scenario that repeats the week of hplajw."""
    workload = {"kind": "trace", "path": str(TRACE), "repeat": times}
    return {"workload": workload, "system": {"device": "g2", "scheduler": "fcfs"}}


def mcd_scenario(times: int, mems_bytes: int) -> Scenario:
    """Return a scenario that repeats two hours of CloudPhysics on a disk with a MEMS cache of 64 KiB segments.

    2.5 GB of MEMS hold the working set after the first pass. A tenth of that does not, so the disk is simulated, too.
    """
    fcfs = {"scheduler": "fcfs"}
    return {
        "workload": {"kind": "trace", "path": str(MCD_TRACE), "repeat": times, "fit": "scale"},
        "system": {
            "kind": "mcd",
            "mems": {"device": "hong2006"} | fcfs,
            "disk": {"device": "atlas10k"} | fcfs,
            "mems_bytes": mems_bytes,
        },
    }


# Each scenario, and its number of requests or of passes through its trace. There are many more requests than pending
# ones, so that the time to fill the queue does not matter.
SCENARIOS: dict[str, tuple[Callable[[int], Scenario], int]] = {
    "random": (random_scenario, 2_000_000),
    "thrifty": (thrifty_scenario, 1_000_000),
    "looped": (looped_scenario, 30),
    "sptf_1000": (lambda requests: pending_scenario(random_scenario(requests), 1_000), 500_000),
    "sptf_10000": (lambda requests: pending_scenario(random_scenario(requests), 10_000), 500_000),
    "disk_few": (partial(disk_scenario, buffer=False), 200_000),
    "disk": (partial(disk_scenario, buffer=False), 2_000_000),
    "disk_buffer": (partial(disk_scenario, buffer=True), 1_000_000),
    "disk_sptf_16": (lambda requests: pending_scenario(disk_scenario(requests, buffer=True), 16), 200_000),
    "disk_sptf_1000": (lambda requests: pending_scenario(disk_scenario(requests, buffer=True), 1_000), 100_000),
    "disk_sptf_10000": (lambda requests: pending_scenario(disk_scenario(requests, buffer=True), 10_000), 100_000),
    "mcd": (lambda times: mcd_scenario(times, MCD_BYTES["mcd"]), 10),
    "mcd_small": (lambda times: mcd_scenario(times, MCD_BYTES["mcd_small"]), 5),
}


def needed_trace(case: str) -> Path | None:
    """Return the trace of a case; none for cases without."""
    caches = dict.fromkeys(["lru", "lru_rust", "libcachesim", "own_lru_compiled", "own_lru_class"], CACHE_TRACE)
    return {"looped": TRACE, **caches, "mcd": MCD_TRACE, "mcd_small": MCD_TRACE}.get(case)


def run_scenario(name: str, scale: float, folder: Path, *, log: bool = False) -> Found:
    """Run a scenario, with or without a log in a file; return the time per request and the process's peak memory."""
    import sledsim

    make, items = SCENARIOS[name]
    sledsim.run(random_scenario(1))
    start = time.process_time()
    requests = sledsim.run(make(count(items, scale)), log=folder / "log.parquet" if log else False).requests
    spent = time.process_time() - start
    assert requests.completed == requests.submitted > 0, requests
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts in KiB, macOS in bytes.
    return {"each_s": spent / requests.completed, "peak_mb": (peak if sys.platform == "darwin" else peak * 1024) / 1e6}


def compiled(name: str, folder: Path) -> str:
    """Compile a policy of this folder into a shared library."""
    import sledsim

    library, source = folder / f"{name}.so", Path(__file__).with_name(f"{name}.c")
    include = f"-I{sledsim.schedulers.include_folder()}"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", include, "-o", library, source], check=True)
    return str(library)


def timed(scenario: Scenario) -> Found:
    """Run a scenario after a short run of it; return the processor time per request."""
    import sledsim

    sledsim.run(scenario, overrides={"run.requests": 100})
    start = time.process_time()
    done = sledsim.run(scenario).requests.completed
    return {"each_s": (time.process_time() - start) / done}


def ask_custom_scheduler(way: str, scale: float, folder: Path) -> Found:
    """Dispatch with 64 pending requests by a class, a compiled function or a built-in policy."""
    schedulers: dict[str, Any] = {"built_in": "clook", "class": {"python": "custom_scheduler:LowestLbn"}}
    if way == "compiled":
        library = compiled("custom_scheduler", folder)
        schedulers["compiled"] = {"library": library, "symbol": "lowest_lbn", "positioning": False}
    requests = count(200_000 if way == "class" else 1_000_000, scale)
    scenario = pending_scenario(random_scenario(requests), 64)
    scenario["system"]["scheduler"] = schedulers[way]
    return timed(scenario)


def ask_custom_mirror(way: str, scale: float, folder: Path) -> Found:
    """Read from a mirror of four; a class, a compiled function or a built-in rule chooses the copy."""
    choices: dict[str, Any] = {"built_in": "shortest-queue", "class": {"python": "custom_mirror:Fewest"}}
    if way == "compiled":
        library = compiled("custom_mirror", folder)
        choices["compiled"] = {"library": library, "symbol": "fewest", "positioning": False}
    scenario = random_scenario(count(200_000 if way == "class" else 1_000_000, scale))
    members = [{"count": 4, "system": scenario["system"]}]
    return timed({**scenario, "system": {"kind": "mirror", "members": members, "read": choices[way]}})


def ask_custom_spin_down(way: str, scale: float, folder: Path) -> Found:
    """Stop a sled after 5 ms of idleness by a class, a compiled function or a built-in policy."""
    policies: dict[str, Any] = {
        "built_in": {"name": "timeout", "after_ms": 5},
        "class": {"python": "custom_spin_down:Timeout"},
    }
    if way == "compiled":
        policies["compiled"] = {"library": compiled("custom_spin_down", folder), "symbol": "timeout"}
    scenario = random_scenario(count(200_000 if way == "class" else 1_000_000, scale))
    scenario["system"] |= {"scheduler": "sptf", "spin_down": policies[way]}
    return timed(scenario)


def drive_session(way: str, scale: float, _: Path) -> Found:
    """Drive a session with random 4 KB reads at 500 a second, one by one or as arrays."""
    import numpy as np

    import sledsim

    requests = count(200_000 if way == "one" else 2_000_000, scale)
    session = sledsim.Session({"device": "g2", "scheduler": "fcfs"})
    lbns = np.random.default_rng(1).integers(0, session.capacity_blocks - 8, requests)
    at_ns = np.arange(1, requests + 1) * 2_000_000
    one_by_one = list(zip(lbns.tolist(), at_ns.tolist(), strict=True)) if way == "one" else []
    back = 0
    start = time.process_time()
    if way == "one":
        for lbn, now_ns in one_by_one:
            session.submit(lbn, 8, at_ns=now_ns)
            for completion in session.advance(now_ns):
                back += completion.end_ns > completion.arrival_ns
        back += len(session.drain())
    else:
        back = len(session.serve(lbns, 8, at_ns=at_ns)["end_ns"])
    spent = time.process_time() - start
    assert back == requests
    return {"each_s": spent / requests}


def drive_from_c(scale: float, folder: Path) -> Found:
    """Drive the same requests one by one through the C interface, which is built first."""
    root = Path(__file__).resolve().parents[1]
    program, prefix = folder / "session", folder / "library"
    subprocess.run(["make", "--silent", "lib", f"PREFIX={prefix}"], check=True, cwd=root, stdout=subprocess.DEVNULL)
    source = [str(root / "bench" / "session.c"), "-O2", f"-I{prefix / 'include'}"]
    linked = [f"-L{prefix / 'lib'}", "-lsledsim", f"-Wl,-rpath,{prefix / 'lib'}"]
    subprocess.run(["cc", *source, "-o", str(program), *linked], check=True)
    command = [str(program), str(count(2_000_000, scale))]
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return {"each_s": float(ran.stdout)}


def built_example(name: str) -> Path:
    """Build a program of this folder as an example of the crate sledsim-testing; return its path."""
    root = Path(__file__).resolve().parents[1]
    wanted = ["--release", "--locked", "--package", "sledsim-testing", "--example", name]
    place = os.environ | {"CARGO_TARGET_DIR": str(root / "target")}
    subprocess.run(["cargo", "build", "--quiet", *wanted], check=True, cwd=root, env=place)
    return root / "target" / "release" / "examples" / name


def drive_in_rust(way: str, scale: float, _: Path) -> Found:
    """Run the same requests in a Rust program, or drive a session there; the program is built first."""
    program = built_example("session")
    requests = count(2_000_000, scale)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(program), way, str(requests)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"each_s": (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / requests}


def count_hits(way: str, _: float, folder: Path) -> Found:
    """Send a trace through a built-in cache, a compiled one or a class; return the processor time per reference."""
    import sledsim

    policies: dict[str, Any] = {"built_in": "lru", "class": "custom_cache:Lru"}
    if way == "compiled":
        library = compiled("custom_cache", folder)
        policies["compiled"] = {"library": library, "symbol": "lru", "state_bytes": 16, "slot_bytes": 8}
    start = time.process_time()
    found = sledsim.studies.hit_ratio(CACHE_TRACE, policies[way], CACHE_PAGES, page_bytes=512)
    assert found.references > found.requests > 0, found
    return {"each_s": (time.process_time() - start) / found.references}


def count_hits_in_rust(_: float, __: Path) -> Found:
    """Send the same references from memory through the policy alone."""
    program = built_example("hit_ratio")
    command = [str(program), str(CACHE_TRACE), "512", "lru", str(CACHE_PAGES), "5"]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {"each_s": float(printed.split()[-1]) * 1e-9}


def count_hits_in_libcachesim(_: float, folder: Path) -> Found:
    """Send the same references through libCacheSim's LRU, if it is installed."""
    import numpy as np

    import sledsim

    cachesim = shutil.which("cachesim")
    if cachesim is None:
        return {}
    pages = []
    for batch in sledsim.Trace(CACHE_TRACE).batches():
        offsets = batch["offset_bytes"].astype(np.int64)
        first = offsets // 512
        counts = (offsets + batch["bytes"].astype(np.int64) - 1) // 512 - first + 1
        starts = np.cumsum(counts) - counts
        pages.append(np.repeat(first - starts, counts) + np.arange(counts.sum()))
    keys = np.concatenate(pages)
    # The format oracleGeneral: time, object, bytes, index of the next reference (which LRU does not use).
    records = np.zeros(len(keys), np.dtype([("time", "<u4"), ("key", "<u8"), ("bytes", "<u4"), ("next", "<i8")]))
    records["key"], records["bytes"], records["next"] = keys, 1, -1
    path = folder / "references.oracleGeneral"
    records.tofile(path)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [cachesim, str(path), "oracleGeneral", "LRU", str(CACHE_PAGES), "--ignore-obj-size", "1", "-o", "out"]
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    misses = float(ran.stdout.split("miss ratio ")[1].split(",")[0])
    hits = sledsim.studies.hit_ratio(CACHE_TRACE, "lru", CACHE_PAGES, page_bytes=512).ratio("lru", CACHE_PAGES)
    assert hits is not None
    assert abs(1 - hits - misses) < 1e-4, ran.stdout
    return {"each_s": (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / len(keys)}


def run_disksim(case: str, scale: float, folder: Path) -> Found:
    """Run random requests through DiskSim 4.0, if it is installed; return the processor time of a request.

    ``disksim`` on the PATH is a link to the program in its source tree, which has the parameter files in ``valid``.
    The difference of two runs leaves out the start.
    """
    disksim = shutil.which("disksim")
    if disksim is None:
        return {}
    (parameters, *overrides), (capacity, blocks, reads, together, gap_ms) = DISKSIM_RUNS[case]
    valid = Path(disksim).resolve().parents[1] / "valid"
    random = Random(1)

    def spent(requests: int) -> float:
        trace, now_ms = folder / f"{requests}.trace", 0.0
        with trace.open("w") as lines:
            for index in range(requests):
                if index % together == 0:
                    now_ms += random.expovariate(1 / gap_ms) if together == 1 else gap_ms
                read = int(random.random() < reads)
                lines.write(f"{now_ms:.6f} 0 {random.randrange(capacity - blocks)} {blocks} {read}\n")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [disksim, parameters, str(folder / "out"), "ascii", str(trace), "0", *overrides]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=valid)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    few, many = count(5_000, scale), count(45_000, scale)
    return {"each_s": (spent(many) - spent(few)) / (many - few)}


def enclosure_tables(parity: int, spares: int, **repair: str) -> Scenario:
    """Return the tables of an enclosure of hong2006."""
    enclosure = {"data": 19, "parity": parity, "spares": spares}
    return {"enclosure": enclosure, "device": {"mttf": "200000 h"}, "rebuild": {"time": "15 min"}, "repair": repair}


def draw_figure_4(_: float, __: Path) -> Found:
    """Solve Figure 4 of hong2006: MTTF with 0 to 5 spares, two strategies, five times to a repair."""
    from sledsim.reliability import Description, mttf_h

    # The first call loads modules, which is not measured here.
    mttf_h(Description.load(enclosure_tables(1, 0)))
    start = time.process_time()
    for strategy in ("preventive", "mandatory"):
        for repair in ("1 day", "1 week", "2 weeks", "1 month", "3 months"):
            for spares in range(6):
                tables = enclosure_tables(1, spares, **{"strategy": strategy, strategy: repair})
                assert mttf_h(Description.load(tables)) > 0
    return {"each_s": time.process_time() - start}


def simulate_lifetimes(scale: float, _: Path) -> Found:
    """Simulate enclosures of hong2006 until they lose data; return the processor time per enclosure."""
    from sledsim.reliability import simulate

    # The first call loads modules, which is not measured here.
    simulate(enclosure_tables(1, 5), lifetimes=1_000)
    lifetimes = count(200_000, scale)
    start = time.process_time()
    found = simulate(enclosure_tables(1, 5), method="plain", lifetimes=lifetimes, to_loss=True, threads=2)
    assert found.complete
    assert found.mttf_h is not None
    return {"each_s": (time.process_time() - start) / lifetimes}


def simulate_rare_loss(_: float, __: Path) -> Found:
    """Estimate a loss probability of 1.4e-9 to 10 % with 95 % confidence."""
    from sledsim.reliability import simulate

    # The first call loads modules, which is not measured here.
    simulate(enclosure_tables(1, 5), lifetimes=1_000)
    start = time.process_time()
    tables = enclosure_tables(2, 5, strategy="preventive", preventive="3 days")
    found = simulate(tables, years=[1], method="biased", precision=0.1, threads=2).loss[0]
    assert 1e-9 < found["low"] < found["high"] < 2e-9
    return {"each_s": time.process_time() - start}


def run_sweep(tens: int, requests: int, threads: int, scale: float, folder: Path) -> Found:
    """Run a sweep of ten rates into a new store, after a short sweep that loads everything.

    ``each_s`` is the processor time per request, or per run if runs are short; ``wall_s`` is the wall time.
    """
    from sledsim.sweep import Range, Sweep, run

    def sweep(replications: int) -> Any:
        rates = {"workload.arrival.rate_per_s": Range(100, 1000, count=10)}
        return Sweep(random_scenario(requests), rates, replications=replications)

    run(sweep(1), folder / "warming", threads=threads)
    wall_start, start = time.perf_counter(), time.process_time()
    report = run(sweep(count(tens, scale)), folder / "store", threads=threads)
    spent, wall_s = time.process_time() - start, time.perf_counter() - wall_start
    assert report.done == 10 * count(tens, scale)
    return {"each_s": spent / report.done / (requests if requests == SWEEP_REQUESTS else 1), "wall_s": wall_s}


def raid_scenario(members: int, requests: int) -> Scenario:
    """Return a scenario of random 4 KB reads and writes to RAID 5."""
    scenario = random_scenario(requests)
    scenario["workload"] |= {"read_fraction": 0.5}
    scenario["system"] = {"kind": "raid5", "members": [{"count": members, "system": scenario["system"]}]}
    return scenario


def each_dispatch(device: str, scheduler: str, pending: float, _: Path) -> Found:
    """Run with a constant number of pending requests; return the processor time per dispatch."""
    scenario = pending_scenario(random_scenario(20_000 + 2 * round(pending)), round(pending))
    scenario["system"] |= {"device": device, "scheduler": scheduler}
    return timed(scenario)


def each_raid_request(members: float, _: Path) -> Found:
    """Send requests to RAID 5; return the processor time per request."""
    return timed(raid_scenario(round(members), 20_000))


def each_request(requests: float, _: Path) -> Found:
    """Run a number of requests; return the processor time per request."""
    return timed(random_scenario(round(requests)))


# Times that should not depend on a size, or little: the time of one item, and the sizes.
GROWTH: dict[str, tuple[Callable[[float, Path], Found], list[int]]] = {
    "FCFS on `g2`: a request, by length of the run": (each_request, [20_000, 200_000, 2_000_000]),
    "SPTF on `g2`: a dispatch, by pending requests": (partial(each_dispatch, "g2", "sptf"), [100, 1_000, 10_000]),
    "SDF on `g2`: a dispatch, by pending requests": (partial(each_dispatch, "g2", "sdf"), [100, 1_000, 10_000]),
    "SPTF on `atlas10k`: a dispatch, by pending requests": (
        partial(each_dispatch, "atlas10k", "sptf"),
        [100, 1_000, 10_000],
    ),
    "RAID 5: a request, by members": (each_raid_request, [4, 32, 256]),
}

# Each measurement takes the scale of its size and a folder for its files.
MEASURES: dict[str, Callable[[float, Path], Found]] = {
    **{name: partial(run_scenario, name) for name in SCENARIOS},
    "logged": partial(run_scenario, "random", log=True),
    "own_built_in": partial(ask_custom_scheduler, "built_in"),
    "own_class": partial(ask_custom_scheduler, "class"),
    "own_compiled": partial(ask_custom_scheduler, "compiled"),
    **{f"custom_mirror_{way}": partial(ask_custom_mirror, way) for way in ("built_in", "class", "compiled")},
    **{f"custom_spin_down_{way}": partial(ask_custom_spin_down, way) for way in ("built_in", "class", "compiled")},
    "session_one": partial(drive_session, "one"),
    "session_arrays": partial(drive_session, "arrays"),
    "session_c": drive_from_c,
    "rust_run": partial(drive_in_rust, "run"),
    "rust_session": partial(drive_in_rust, "session"),
    "lru": partial(count_hits, "built_in"),
    "lru_rust": count_hits_in_rust,
    "libcachesim": count_hits_in_libcachesim,
    **{case: partial(run_disksim, case) for case in DISKSIM_RUNS},
    "own_lru_compiled": partial(count_hits, "compiled"),
    "own_lru_class": partial(count_hits, "class"),
    "figure_4": draw_figure_4,
    "lifetimes": simulate_lifetimes,
    "rare_loss": simulate_rare_loss,
    "threads_1": partial(run_sweep, 40, SWEEP_REQUESTS, 1),
    "threads_2": partial(run_sweep, 40, SWEEP_REQUESTS, 2),
    "sweep_small": partial(run_sweep, 50, SMALL_REQUESTS, 1),
}
