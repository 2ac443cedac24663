"""Schlosser et al. 2000, section 4.2: MEMS storage as a non-volatile cache of disks, a day of cello."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from sledsim.devices import DiskDrive
from sledsim.runs import Result, mean_interval
from sledsim.workloads import workload_entry
from sledsim_papers.harness.finding import Finding, Probe, order
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study
from sledsim_papers.schlosser2000.devices import DISKS

__all__ = ["ARRANGEMENTS", "arrangement"]

#: A disk and what the paper's cache holds; whole segments, so a little less than the 2.5 GB.
DISK, CACHE_BYTES = DISKS["atlas10k"], 2_500_000_000
COUNT = 8
#: The device of the cache, without command overhead.
MEMS = "g2-paper"
#: The default segment of the caching disk, and the size of most requests; the paper names none.
SEGMENT_BYTES, SMALL_SEGMENT_BYTES = 65536, 8192
#: A G2 with three times its tips, of which as many are active: 10.4 GB, to hold a disk of 9.2 GB.
LARGE_G2 = {"name": MEMS, "tips": 19200}

#: Arrangements and the mean responses of the paper, ms.
ARRANGEMENTS: dict[str, float | None] = {
    "disk": 14.66,
    "disk with cache": 4.03,
    "MEMS alone": 2.76,
    "one cache for all": 4.66,
    "disk with cache, 8 KiB segments": 4.03,
    "one cache for all, 8 KiB segments": 4.66,
    "one large disk": None,
}
#: Arrangements of the paper; the others are for probes.
OWN = tuple(ARRANGEMENTS)[:4]


def _cached(disk: Any, segment_bytes: int) -> dict[str, Any]:
    whole = CACHE_BYTES // SEGMENT_BYTES * SEGMENT_BYTES
    return {"kind": "mcd", "mems": MEMS, "disk": {"device": disk}, "mems_bytes": whole, "segment_bytes": segment_bytes}


def _eight(member: Mapping[str, Any]) -> dict[str, Any]:
    """Return eight components one after the other: each serves its own of the workload's eight disks."""
    return {"kind": "concat", "members": [{"count": COUNT, **member}]}


def _large_disk() -> dict[str, Any]:
    """Return eight disks in one: eight times the surfaces, all else as it was."""
    given = DiskDrive(DISK["name"]).parameters
    larger = {key: COUNT * given[key] for key in ("surfaces", "capacity_blocks")}
    return {"device": {**DISK, **larger}}


def arrangement(name: str, seed: int = 1) -> dict[str, Any]:
    """Return the scenario of one of :data:`ARRANGEMENTS`: a day of the stand-in for cello.

    Parameters
    ----------
    name
        Which.
    seed
        Of the day.
    """
    segment_bytes = SMALL_SEGMENT_BYTES if "8 KiB" in name else SEGMENT_BYTES
    if name == "disk":
        system = _eight({"device": DISK})
    elif name == "MEMS alone":
        system = _eight({"device": LARGE_G2})
    elif name == "one large disk":
        system = _large_disk()
    elif name.startswith("one cache"):
        system = _cached(_large_disk()["device"], segment_bytes)
    else:
        system = _eight({"system": _cached(DISK, segment_bytes)})
    return {"workload": "cello-like", "system": system, "seed": seed}


def _rows(study: Study) -> dict[str, dict[str, Any]]:
    """Return mean responses of all arrangements, those of reads and writes, and those of each day."""

    def run(made: Study) -> dict[str, dict[str, Any]]:
        names = tuple(ARRANGEMENTS) if study.probing else OWN
        days = _days(study)
        runs = iter(made.runs([arrangement(name, day) for name in names for day in days]))
        return {name: _row(name, [next(runs) for _ in days]) for name in names}

    return study.once("schlosser2000 arrangements", run)


def _days(study: Study) -> range:
    """Return the days that an arrangement serves, each a seed of the stand-in."""
    return range(1, study.requests(5, 3) + 1)


#: Cause of claims on caches.
SEGMENTS = (
    "The size of segments decides how long a miss takes and how much of the following data it loads; 64 KiB is the "
    "default of the component."
)


@experiment("schlosser2000.mems-cache")
def mems_cache(study: Study) -> Finding:
    """Responses of a disk alone and behind a cache, and of the paper's other arrangements."""
    rows = _rows(study)
    disk, cached = rows["disk"], rows["disk with cache"]
    ratios = [before / after for before, after in zip(disk["days"], cached["days"], strict=True)]

    def small_segments() -> tuple[Probe, ...]:
        small = rows["disk with cache, 8 KiB segments"]["days"]
        gains = [before / after for before, after in zip(disk["days"], small, strict=True)]
        return (Probe("segments of 8 KiB, the size of most requests", sum(gains) / len(gains)),)

    how = (
        f"Stand-in cello-like, {len(disk['days'])} days (seeds) of 466,560 requests over eight atlas10k, each behind a "
        "caching disk of 2.5 GB of a g2-paper, empty at first; segments of 64 KiB and all else as the component comes, "
        "of which the paper gives nothing. One cache for all: the same 2.5 GB before an atlas10k of eight times "
        f"the surfaces. As the paper says, writes gain: {disk['writes, ms']:.1f} to {cached['writes, ms']:.1f} ms, "
        f"where reads, which wait for whole segments, go from {disk['reads, ms']:.1f} to {cached['reads, ms']:.1f} "
        "ms."
    )
    return Finding(
        sum(ratios) / len(ratios),
        how,
        decimals=2,
        intervals=(mean_interval(ratios).ends,),
        scenarios=tuple(arrangement(name) for name in OWN),
        curve=tuple({key: value for key, value in row.items() if key != "days"} for row in rows.values()),
        shape_holds=cached["ours, ms"] < disk["ours, ms"],
        cause=SEGMENTS,
        probes=study.probes(small_segments),
    )


def _of(study: Study, name: str, **more: Any) -> Finding:
    """Return the mean response of an arrangement."""
    rows = _rows(study)
    row = rows[name]
    return Finding(
        row["ours, ms"],
        f"The runs of mems-cache, {name}: {len(row['days'])} days, {row['least day, ms']:.2f} to "
        f"{row['longest day, ms']:.2f} ms.",
        decimals=2,
        intervals=(mean_interval(row["days"]).ends,),
        scenarios=(arrangement(name),),
        curve=tuple({key: value for key, value in each.items() if key != "days"} for each in rows.values()),
        **more,
    )


@experiment("schlosser2000.cache-disk-alone")
def cache_disk_alone(study: Study) -> Finding:
    """Eight disks."""
    return _of(study, "disk")


@experiment("schlosser2000.cache-with")
def cache_with(study: Study) -> Finding:
    """Find a cache for each disk."""
    rows = _rows(study)
    small = "disk with cache, 8 KiB segments"
    return _of(
        study,
        "disk with cache",
        cause=SEGMENTS,
        probes=study.probes(lambda: (Probe("segments of 8 KiB, the size of most requests", rows[small]["ours, ms"]),)),
        shape_holds=_rising(rows, "MEMS alone", "disk with cache", "disk"),
    )


def _at_once() -> list[dict[str, Any]]:
    """Return the streams of the stand-in for cello, with a hundredth of the time between the requests of a burst."""
    streams: list[dict[str, Any]] = deepcopy(workload_entry("cello-like").values["streams"]["value"])
    for stream in streams:
        within, _ = stream["arrival"]["interarrival_ms"]["means"]
        within["value"] /= 100
    return streams


@experiment("schlosser2000.cache-mems-alone")
def cache_mems_alone(study: Study) -> Finding:
    """MEMS storage in place of each disk."""
    rows = _rows(study)

    def at_once() -> tuple[Probe, ...]:
        denser = {"workload": {"name": "cello-like", "streams": _at_once()}}
        runs = study.runs([arrangement("MEMS alone", day) | denser for day in _days(study)])
        means = [float(run.response.mean_ms) for run in runs]
        return (Probe("requests of a burst at once: a hundredth of the time between them", sum(means) / len(means)),)

    return _of(
        study,
        "MEMS alone",
        cause="In the stand-in the requests of a burst arrive at least 1.5 ms apart on average, when MEMS storage has "
        "served the previous one.",
        probes=study.probes(at_once),
        shape_holds=_rising(rows, "MEMS alone", "disk with cache"),
    )


@experiment("schlosser2000.cache-shared")
def cache_shared(study: Study) -> Finding:
    """One cache and one larger disk."""
    rows = _rows(study)
    small = "one cache for all, 8 KiB segments"
    return _of(
        study,
        "one cache for all",
        cause=f"One disk moves the segments of eight. {SEGMENTS}",
        probes=study.probes(lambda: (Probe("segments of 8 KiB, the size of most requests", rows[small]["ours, ms"]),)),
        shape_holds=_rising(rows, "disk with cache", "one cache for all", "disk"),
    )


def _rising(rows: Mapping[str, Mapping[str, Any]], *names: str) -> bool:
    means = [rows[name]["ours, ms"] for name in names]
    return means == sorted(means)


@experiment("schlosser2000.cache-gain-writes")
def cache_gain_writes(study: Study) -> Finding:
    """Time saved by kind of request."""
    rows = _rows(study)
    disk, cached = rows["disk"], rows["disk with cache"]
    share = disk["share of reads"]
    gains = {
        "reads": share * (disk["reads, ms"] - cached["reads, ms"]),
        "writes": (1 - share) * (disk["writes, ms"] - cached["writes, ms"]),
    }
    return Finding(
        order({name: -gain for name, gain in gains.items()}),
        f"The runs of mems-cache: of the mean response reads save {gains['reads']:.2f} ms and writes "
        f"{gains['writes']:.2f} ms, each by its share of the requests.",
        scenarios=(arrangement("disk"), arrangement("disk with cache")),
    )


def _row(name: str, days: Sequence[Result]) -> dict[str, Any]:
    """Return mean responses over days, and those of each day."""
    of_each = [float(run.response.mean_ms) for run in days]
    return {
        "arrangement": name,
        "ours, ms": sum(of_each) / len(days),
        "paper, ms": ARRANGEMENTS[name],
        "share of reads": sum(float(run.reads.share) for run in days) / len(days),
        "reads, ms": sum(run.reads.response.mean_ms for run in days) / len(days),
        "writes, ms": sum(run.writes.response.mean_ms for run in days) / len(days),
        "least day, ms": min(of_each),
        "longest day, ms": max(of_each),
        "days": of_each,
    }
