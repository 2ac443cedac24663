"""Schlosser and Ganger 2004, sections 2 to 4.2: seeks, and whether G2 keeps the unwritten contract of disks."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sledsim.runs import Result, batched_interval
from sledsim_papers.harness.averaging import SEEDS, SEEDS_SAID
from sledsim_papers.harness.claim import claims
from sledsim_papers.harness.finding import Finding, Probe, order, trend
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study
from sledsim_papers.schlosser2004.array import DISK, G2

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MIXED", "accesses", "scan_s"]

#: The random workload: as many reads as in griffin1999 (section 3), of the same group. The paper names the size only.
MIXED: dict[str, Any] = {"read_fraction": 0.67}


def accesses(device: str | Mapping[str, Any], requests: int = 100_000, **workload: Any) -> dict[str, Any]:
    """Return random reads of 4 KB, one at a time.

    Parameters
    ----------
    device
        Entry of the catalogue, with changes if there are any.
    requests
        How many.
    workload
        Keys of the workload that are changed.
    """
    return {
        "workload": {"arrival": {"kind": "closed", "outstanding": 1}, **workload},
        "system": {"device": device},
        "run": {"requests": requests},
    }


#: Requests of a whole scan: 32 MB.
SCAN_BLOCKS = 65536


def scan_s(study: Study, name: str) -> float:
    """Return the time to read all of a device in order.

    Parameters
    ----------
    study
        Knows how sleds move.
    name
        Entry of the catalogue.
    """
    device = study.device(name)
    first = np.arange(0, device.capacity_blocks, SCAN_BLOCKS, dtype=np.uint64)
    blocks = np.minimum(SCAN_BLOCKS, device.capacity_blocks - first)
    return float(device.serve(first, blocks)["end_ns"][-1]) * 1e-9


@experiment("schlosser2004.seek-under-1-ms")
def seek_under_1_ms(study: Study) -> Finding:
    """Mean seek of G2."""
    run = study.run(accesses(G2), log=True)
    seeks_ms = run.log["seek_ns"].astype(np.float64) * 1e-6
    how = "g2, 100,000 random reads of 4 KB, one at a time: positioning before the first pass, settling included."
    return Finding(float(seeks_ms.mean()), how, intervals=(batched_interval(seeks_ms).ends,), scenarios=(accesses(G2),))


def _longer_along_x(run: Result) -> "NDArray[np.float64]":
    """Return 1 for each request whose way along X took longer than that along Y, 0 for the others."""
    x_ns, y_ns = (run.log[name].astype(np.float64) for name in ("seek_x_ns", "seek_y_ns"))
    return (x_ns > y_ns).astype(np.float64)


@experiment("schlosser2004.x-dominates-y")
def x_dominates_y(study: Study) -> Finding:
    """Seeks whose way along X takes longer."""
    longer = _longer_along_x(study.run(accesses(G2), log=True))
    how = (
        "g2, 100,000 random reads of 4 KB, one at a time: seeks along X, settling included, that take longer than "
        "along Y."
    )
    free = _longer_along_x(study.run(accesses({**G2, "settle_constants": 0.0}), log=True))
    return Finding(
        float(longer.mean()),
        how,
        intervals=(batched_interval(longer).ends,),
        scenarios=(accesses(G2),),
        cause="It is settling that makes X the longer; where a seek along X is short and one along Y turns round, Y "
        "is.",
        probes=(Probe("no settling", float(free.mean())),),
    )


@experiment("schlosser2004.disk-seek")
def disk_seek(study: Study) -> Finding:
    """Mean seek of the array's disk."""
    drive, other = study.disk(DISK), study.disk("ultrastar36z15")
    return Finding(
        drive.mean_seek_ms,
        f"{DISK}: mean over all pairs of cylinders, reads.",
        decimals=2,
        cause="The paper's figure is of no particular disk, and disks of higher rotational speed have shorter seeks.",
        probes=(Probe("a disk of 15,000 rpm, ultrastar36z15", other.mean_seek_ms),),
    )


@experiment("schlosser2004.disk-zone-variation")
def disk_zone_variation(study: Study) -> Finding:
    """Outermost over innermost zone of the array's disk."""
    zones = study.disk(DISK).zones()
    mb_s = zones["streaming_mb_s"]
    outer, inner = float(mb_s.max()), float(mb_s.min())
    media = float(zones["media_mb_s"].max() / zones["media_mb_s"].min()) - 1
    how = (
        f"{DISK}: long reads of the outermost and innermost zones, {outer:.1f} and {inner:.1f} MB/s, every switch "
        "counted."
    )
    return Finding(
        outer / inner - 1,
        how,
        cause="Switches of heads and cylinders cost the same time in each zone.",
        probes=(Probe("what passes under a head", media),),
    )


@experiment("schlosser2004.contract-sequential")
def contract_sequential(study: Study) -> Finding:
    """Bandwidth in order and at random."""
    scenarios = {
        "sequential": accesses(G2, location={"kind": "sequential"}),
        "random": accesses(G2),
    }
    runs = dict(zip(scenarios, study.runs(scenarios.values()), strict=True))
    mb_s = {name: float(run.bandwidth.mb_per_s) for name, run in runs.items()}
    said = ", ".join(f"{name} {value:.2f}" for name, value in mb_s.items())
    how = f"g2, 100,000 reads of 4 KB, one at a time: {said} MB/s."
    return Finding(order({name: -value for name, value in mb_s.items()}), how, scenarios=tuple(scenarios.values()))


#: Distances from one request to the next, cylinders.
DISTANCES = (1, 3, 10, 30, 100, 300, 1000, 1900)
PAIRS = 5_000


@experiment("schlosser2004.contract-near")
def contract_near(study: Study) -> Finding:
    """Positioning by distance in LBNs."""
    device = study.sled("g2")
    cylinder = device.tracks * device.rows * device.blocks_per_row
    rngs = [np.random.default_rng(seed) for seed in SEEDS]

    def mean_ms(cylinders: int, rng: np.random.Generator) -> float:
        # Not whole cylinders: whether their number is even decides which way the serpentine order goes there.
        far = (rng.uniform(0.75, 1.25, PAIRS) * cylinders * cylinder).astype(np.int64)
        start = (rng.random(PAIRS) * (device.capacity_blocks - far)).astype(np.int64)
        pairs = np.stack([start, start + far], axis=1)
        seeks_ns = device.serve(pairs.ravel())["seek_ns"].astype(np.float64)
        return float(seeks_ns[1::2].mean()) * 1e-6

    means = [sum(mean_ms(cylinders, rng) for rng in rngs) / len(rngs) for cylinders in DISTANCES]
    how = (
        f"g2: {PAIRS:,} pairs of blocks at each of eight distances from about one cylinder to about 1,900, with each "
        f"of {SEEDS_SAID}: {means[0]:.3f} to {means[-1]:.3f} ms."
    )
    rows = tuple({"cylinders": far, "mean seek, ms": mean} for far, mean in zip(DISTANCES, means, strict=True))
    return Finding(trend(means), how, curve=rows)


@experiment("schlosser2004.contract-ranges")
def contract_ranges(study: Study) -> Finding:
    """Mean accesses within each tenth of the device."""
    requests = study.requests(100_000, 20_000)
    scenarios = [
        accesses(G2, requests, range={"start_fraction": tenth / 10, "end_fraction": (tenth + 1) / 10})
        for tenth in range(10)
    ]
    means = [float(run.service.mean_ms) for run in study.runs(scenarios)]
    how = (
        f"g2, {requests:,} random reads of 4 KB within each tenth, one at a time: {min(means):.4f} to "
        f"{max(means):.4f} ms."
    )
    free = [{**each, "system": {"device": {**G2, "spring_factor": 0.0}}} for each in scenarios]
    free_means = [float(run.service.mean_ms) for run in study.runs(free)]
    rows = tuple({"tenth": tenth, "mean access, ms": mean} for tenth, mean in enumerate(means, 1))
    return Finding(
        max(means) / min(means) - 1,
        how,
        decimals=4,
        curve=rows,
        scenarios=tuple(scenarios[:1]),
        cause="The springs make the short seeks within an outer tenth longer than those within an inner one.",
        probes=(Probe("no springs", max(free_means) / min(free_means) - 1),),
    )


@experiment("schlosser2004.tip-set-free")
def tip_set_free(study: Study) -> Finding:
    """Find accesses at one place by different sets of tips."""
    device = study.sled("g2")
    before = device.capacity_blocks // 3
    slots, times, places = (
        device.blocks_per_row,
        [],
        (1_000, device.capacity_blocks // 2, device.capacity_blocks - 5_000),
    )
    for lbn in places:
        same = [lbn, *(int(each) for each in device.equivalent(lbn))]
        for each in same:
            served = device.serve([before, each])
            times.append(float(served["end_ns"][1] - served["start_ns"][1]) / 1e6)
    per = len(times) // len(places)
    spread = max(
        max(part) / min(part) for part in (times[place * per : (place + 1) * per] for place in range(len(places)))
    )
    claim = claims()["schlosser2004.tip-set-free"]
    how = (
        f"g2: blocks at three places of the sled, from the same place before, by each of the {per} sets of tips that "
        f"reach a block there ({slots} in a row): times differ by {100 * (spread - 1):.4f} % at most."
    )
    # From the first to the one that differs from it most.
    return Finding(trend([1.0, spread], claim.hardly_moves), how)
