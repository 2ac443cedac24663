"""Schlosser and Ganger 2004, sections 1 and 6: rewrites, and bricks of many devices."""

from collections.abc import Mapping
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from sledsim_papers.harness.finding import Finding, order, trend
from sledsim_papers.harness.registry import computed, experiment
from sledsim_papers.harness.study import Study
from sledsim_papers.schlosser2004.array import DISK, G2, UBERDISK
from sledsim_papers.schlosser2004.contract import scan_s

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__: list[str] = []

#: Values that switch a drive's buffer off.
NO_BUFFER: dict[str, Any] = {"buffer_caching": False, "read_ahead": "none", "fast_write": "none"}

#: The devices of the rewrites, by the names of the claims; the Überdisk has no buffer.
DEVICES: dict[str, Mapping[str, Any]] = {"g2": G2, "uberdisk": UBERDISK, "cheetah73": {"name": DISK, **NO_BUFFER}}

BRICK_BYTES = 100e9


#: Places all over a device at which a block is written, and how often in a row.
PLACES, REWRITES = 20, 50


def _log_writes(study: Study, device: Mapping[str, Any], place: int, reads: float = 0.0) -> dict[str, Any]:
    """Return accesses to one block over and over, each awaited, as to the end of a log, at one of the places."""
    blocks = study.device(device).capacity_blocks
    # Spread by the golden ratio, so that they lie at as many different rows of a sled.
    first = int((place + 1) * (sqrt(5) - 1) / 2 % 1 * blocks)
    # From within the block before to within the one behind: the block is all that lies in between.
    fractions = {"start_fraction": max(first - 0.5, 0) / blocks, "end_fraction": min(first + 1.5, blocks) / blocks}
    return {
        "workload": {
            "arrival": {"kind": "closed", "outstanding": 1},
            "size_bytes": {"kind": "fixed", "value": 512},
            "location": {"kind": "sequential"},
            "range": fractions,
            "read_fraction": reads,
        },
        "system": {"device": dict(device)},
        "run": {"requests": REWRITES, "warmup_requests": 1},
    }


def _rewrites_ms(study: Study, device: Mapping[str, Any], reads: float = 0.0) -> "NDArray[np.float64]":
    """Return the mean responses of accesses to a block that was just accessed, by place, ms."""
    runs = study.runs([_log_writes(study, device, place, reads) for place in range(PLACES)])
    return np.array([float(run.response.mean_ms) for run in runs])


@experiment("schlosser2004.rewrite-disk")
def rewrite_disk(study: Study) -> Finding:
    """Time from the end of writing a sector until the head is over it again."""
    times_ms = _rewrites_ms(study, DEVICES["cheetah73"])
    how = (
        f"{DISK} with its buffer off, {PLACES} sectors all over the disk, each written {REWRITES} times in a row: from "
        f"end to end, {times_ms.min():.3f} to {times_ms.max():.3f} ms by place."
    )
    return Finding(float(times_ms.mean()), how, scenarios=(_log_writes(study, DEVICES["cheetah73"], 0),))


@experiment("schlosser2004.log-rewrite")
def log_rewrite(study: Study) -> Finding:
    """One block written over and over."""
    means = {name: float(_rewrites_ms(study, device).mean()) for name, device in DEVICES.items()}
    said = ", ".join(f"{name} {mean:.3f}" for name, mean in means.items())
    how = (
        f"{PLACES} blocks all over each device, each written {REWRITES} times in a row, each write awaited, buffers "
        f"off: {said} ms from end to end."
    )
    return Finding(
        order(means),
        how,
        scenarios=tuple(_log_writes(study, device, 0) for device in DEVICES.values()),
        curve=tuple({"device": name, "rewrite, ms": mean} for name, mean in means.items()),
    )


#: Accesses to one block over and over: the device, with a buffer for reads and without one for writes, and the share of
#: reads.
REPEATED: dict[str, tuple[Mapping[str, Any], float]] = {
    "disk_reads": ({"name": DISK}, 1.0),
    "g2_reads": ({**G2, "buffer_rows": 1}, 1.0),
    "g2_writes": (G2, 0.0),
    "disk_writes": (DEVICES["cheetah73"], 0.0),
}


@experiment("schlosser2004.repeated-access")
def repeated_access(study: Study) -> Finding:
    """One block read over and over from a buffer, and written over and over."""
    means = {name: float(_rewrites_ms(study, *of).mean()) for name, of in REPEATED.items()}
    unbuffered = float(_rewrites_ms(study, G2, 1.0).mean())
    said = ", ".join(f"{name} {mean:.3f}" for name, mean in means.items())
    return Finding(
        order(means),
        f"{PLACES} blocks all over each device, each accessed {REWRITES} times in a row, each access awaited: {said} "
        f"ms. Without a buffer a G2 reads the block again in {unbuffered:.3f} ms.",
        scenarios=tuple(_log_writes(study, device, 0, reads) for device, reads in REPEATED.values()),
        curve=tuple({"access": name, "mean, ms": mean} for name, mean in means.items()),
    )


#: Members of the arrays, which serve one request at a time.
MEMBERS = 5


def _small_writes(device: Mapping[str, Any], *, plain: bool = False) -> dict[str, Any]:
    """Return random writes of 4 KB, one at a time, to an array of parity, or to a device by itself."""
    array = {"kind": "raid5", "members": [{"count": MEMBERS, "device": dict(device)}], "write": "rmw"}
    size = {"kind": "fixed", "value": 4096}
    return {
        "workload": {"arrival": {"kind": "closed", "outstanding": 1}, "size_bytes": size, "read_fraction": 0.0},
        "system": {"device": dict(device)} if plain else array,
        "run": {"requests": 10_000},
    }


@experiment("schlosser2004.raid5-small-write")
def raid5_small_write(study: Study) -> Finding:
    """Small writes to arrays."""
    scenarios = {name: _small_writes(device) for name, device in DEVICES.items()}
    alone = [_small_writes(device, plain=True) for device in DEVICES.values()]
    runs = study.runs([*scenarios.values(), *alone])
    means = {name: float(run.response.mean_ms) for name, run in zip(scenarios, runs, strict=False)}
    plain = {name: float(run.response.mean_ms) for name, run in zip(scenarios, runs[len(scenarios) :], strict=True)}
    said = "; ".join(
        f"{name} {means[name]:.2f} ms, {means[name] / plain[name]:.2f} times a plain write" for name in means
    )
    return Finding(
        order(means),
        f"Five devices each in a `raid5`, 10,000 random writes of 4 KB, one at a time, old data and parity read "
        f"first: {said}.",
        curve=tuple({"device": name, "small write, ms": means[name], "plain write, ms": plain[name]} for name in means),
        scenarios=tuple(scenarios.values()),
    )


@experiment("schlosser2004.bandwidth-per-capacity")
def bandwidth_per_capacity(study: Study) -> Finding:
    """Streaming over capacity."""
    sled, disk = study.sled("g2"), study.disk(DISK)
    shares = [each.streaming_bandwidth_mb_s / each.capacity_bytes for each in (sled, disk)]
    sled_s, disk_s = (scan_s(study, name) for name in ("g2", DISK))
    how = (
        f"g2: {sled.streaming_bandwidth_mb_s:.1f} MB/s of {sled.capacity_bytes * 1e-9:.2f} GB; {DISK}: "
        f"{disk.streaming_bandwidth_mb_s:.1f} MB/s of {disk.capacity_bytes * 1e-9:.1f} GB, all of it read in order. "
        f"Reading all of either in pieces of 32 MB takes {sled_s:.1f} and {disk_s:,.0f} s."
    )
    return Finding(shares[0] / shares[1], how, decimals=1)


@computed("schlosser2004.device-scan-example")
def device_scan_example() -> Finding:
    """Capacity over bandwidth."""
    how = "10 GB and 72 GB over 100 MB/s: the arithmetic of the text."
    return Finding(tuple(size * 1e9 / 100e6 for size in (10.0, 72.0)), how, decimals=0)


def _devices(study: Study) -> int:
    return ceil(BRICK_BYTES / study.sled("g2").capacity_bytes)


@experiment("schlosser2004.brick-devices")
def brick_devices(study: Study) -> Finding:
    """G2 devices that hold a brick."""
    how = "100 GB over the room for data of a g2, rounded up."
    return Finding(float(_devices(study)), how, decimals=0)


def _brick(study: Study, **system: Any) -> dict[str, Any]:
    return {"kind": "concat", "members": [{"count": _devices(study), "device": dict(G2), **system}]}


#: Requests outstanding at saturation.
OUTSTANDING = 256


def _saturated(system: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "workload": {"arrival": {"kind": "closed", "outstanding": OUTSTANDING}},
        "system": dict(system),
        "run": {"requests": 20_000},
    }


@experiment("schlosser2004.brick-concurrency")
def brick_concurrency(study: Study) -> Finding:
    """Find requests a second of either brick."""
    systems = {
        "mems_brick": _brick(study),
        "disk_brick": {"device": {"name": DISK, **NO_BUFFER}},
        "uberdisk": {"device": {"name": "uberdisk"}},
    }
    runs = study.runs([_saturated(system) for system in systems.values()])
    rates = {name: float(run.throughput.requests_per_s) for name, run in zip(systems, runs, strict=True)}
    said = ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items())
    # The slower of both disks would be the easier case.
    ours = order({"mems_brick": -rates["mems_brick"], "disk_brick": -max(rates["disk_brick"], rates["uberdisk"])})
    return Finding(
        ours,
        f"{_devices(study)} g2 one after the other, and one disk, {DISK} or uberdisk, the faster of which counts: "
        f"random reads of 4 KB, {OUTSTANDING} outstanding, first come first served: {said} per second.",
        scenarios=tuple(_saturated(system) for system in systems.values()),
    )


@experiment("schlosser2004.brick-idle-power")
def brick_idle_power(study: Study) -> Finding:
    """Energy of the brick, its idle devices left on, and turned off."""
    scenarios = [
        {
            "workload": {"arrival": {"kind": "poisson", "rate_per_s": 100.0}},
            "system": _brick(
                study, spin_down={"name": rule} if rule != "timeout" else {"name": rule, "after_ms": 20.0}
            ),
            "run": {"requests": 5_000},
        }
        for rule in ("never", "timeout", "immediate")
    ]
    joules = [float(run.energy.total_j) for run in study.runs(scenarios)]
    said = ", ".join(f"{each:.1f}" for each in joules)
    return Finding(
        trend(joules),
        f"{_devices(study)} g2 one after the other, 5,000 random reads of 4 KB, Poisson 100/s; idle devices left on, "
        f"turned off after 20 ms, and at once: {said} J.",
        scenarios=tuple(scenarios),
    )


#: Devices of the brick read in parallel, and the request size of 32 MB.
AT_ONCE, SCAN_BYTES = (1, 2, 4, 8, 16), 1 << 25


def _scanned(study: Study, at_once: int) -> dict[str, Any]:
    """Return reads of all that the brick holds, in order and as many at a time as devices are read at once."""
    row = {"kind": "concat", "members": [{"count": ceil(_devices(study) / at_once), "device": dict(G2)}]}
    rows = {"kind": "stripe", "unit_bytes": SCAN_BYTES, "members": [{"count": at_once, **row}]}
    return {
        "workload": {
            "arrival": {"kind": "closed", "outstanding": at_once},
            "size_bytes": {"kind": "fixed", "value": SCAN_BYTES},
            "location": {"kind": "sequential"},
        },
        "system": rows if at_once > 1 else row,
        "run": {"requests": ceil(BRICK_BYTES / SCAN_BYTES)},
    }


@experiment("schlosser2004.brick-scan")
def brick_scan(study: Study) -> Finding:
    """Time to read the brick."""
    scenarios = [_scanned(study, at_once) for at_once in AT_ONCE]
    runs = study.runs(scenarios)
    times_s = [scenarios[0]["run"]["requests"] / float(run.throughput.requests_per_s) for run in runs]
    return Finding(
        trend(times_s),
        f"Reads of 32 MB in order until 100 GB are read, of one to 16 rows of g2 side by side, a read of each at once "
        f"and no bus between them: {times_s[0]:,.0f} to {times_s[-1]:,.0f} s.",
        scenarios=tuple(scenarios),
        curve=tuple({"at once": at_once, "s": each} for at_once, each in zip(AT_ONCE, times_s, strict=True)),
    )
