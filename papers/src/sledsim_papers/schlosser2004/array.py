"""Schlosser and Ganger 2004, section 5.3: the busiest volume of each busy disk moves to a faster device."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from sledsim.devices import DiskDrive
from sledsim.runs import Result, mean_interval
from sledsim.scenario import resolve
from sledsim_papers.harness.finding import Finding, Probe, order
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study

__all__ = [
    "DISK",
    "DISKS",
    "DISKSIM_OVERHEAD_MS",
    "FASTER",
    "G2",
    "UBERDISK",
    "Moved",
    "alone",
    "moved",
    "moved_to",
]

#: The disk of the array, and how many of them; each has a seed of the stand-in.
DISK, DISKS = "cheetah73", 8
WORKLOAD = "symmetrix-like"
#: The volume that moves, and the stream of the stand-in that asks for it.
BUSIEST, BUSIEST_STREAM = "busiest", 6
#: The part of the Überdisk that is used: as much as G2 holds.
UBERDISK: dict[str, Any] = {"name": "uberdisk", "capacity_blocks": 6_750_000}
#: The device of the paper, which names no command overhead for it; and that of DiskSim's parameter file, ms. The data
#: of its writes cross the bus before their pass, as in DiskSim, which the paper ran.
G2: dict[str, Any] = {"name": "g2", "overhead_ms": 0.0, "write_transfer": "before"}
DISKSIM_OVERHEAD_MS = 0.2

#: Devices that the volume moves to, by their names in claims.
FASTER: dict[str, str | Mapping[str, Any]] = {
    "g2": G2,
    "uberdisk": UBERDISK,
    "simpledisk_constant": "simpledisk-constant",
    "simpledisk_linear": "simpledisk-linear",
}
#: Mean responses of the moved volume and of the whole that the paper prints, ms.
PUBLISHED_MS: dict[str, tuple[float, float | None]] = {
    "g2": (0.86, 5.24),
    "uberdisk": (0.84, 5.21),
    "simpledisk_constant": (0.92, None),
    "simpledisk_linear": (0.52, None),
}


def _volumes() -> list[dict[str, Any]]:
    """Return the volumes of the stand-in's streams and the space between them."""
    blocks = DiskDrive(DISK).capacity_blocks
    streams = resolve({"workload": WORKLOAD, "system": {"device": DISK}}).values["workload"]["streams"]
    ranges = sorted(
        (floor(stream["range"]["start_fraction"] * blocks), ceil(stream["range"]["end_fraction"] * blocks), number)
        for number, stream in enumerate(streams)
    )
    volumes: list[dict[str, Any]] = []
    next_block = 0
    for (first, end, stream), (after, *_) in zip(ranges, [*ranges[1:], (blocks, 0, 0)], strict=True):
        if first > next_block:
            volumes.append(_volume("rest", first - next_block))
        last = min(end, after)
        volumes.append(_volume(BUSIEST if stream == BUSIEST_STREAM else f"stream {stream}", last - first))
        next_block = last
    return volumes


def _volume(name: str, blocks: int) -> dict[str, Any]:
    return {"name": name, "bytes": blocks * 512, "member": 0}


def alone(seed: int) -> dict[str, Any]:
    """Return a busy disk before the move: its stand-in with a seed.

    Parameters
    ----------
    seed
        Which of the disks, from 1.
    """
    return {"workload": WORKLOAD, "system": {"device": DISK}, "seed": seed}


def moved_to(device: str | Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return a busy disk whose busiest volume has moved.

    Parameters
    ----------
    device
        Entry of the catalogue, with changes if there are any.
    seed
        Which of the disks, from 1.
    """
    system = {
        "kind": "volumes",
        "members": [DISK, {"device": device}],
        "volumes": _volumes(),
        "moved": {BUSIEST: 1},
    }
    return {"workload": WORKLOAD, "system": system, "seed": seed}


@dataclass(frozen=True)
class Moved:
    """Mean responses of each disk, ms.

    Parameters
    ----------
    before_ms
        Of all requests before the move.
    after_ms
        Of all requests after it.
    stays_ms
        Of those that the disk goes on serving.
    volume_ms
        Of those of the volume that moved.
    """

    before_ms: tuple[float, ...]
    after_ms: tuple[float, ...]
    stays_ms: tuple[float, ...]
    volume_ms: tuple[float, ...]


def moved(study: Study, device: str | Mapping[str, Any]) -> Moved:
    """Return mean responses over the eight disks, before and after the move.

    Parameters
    ----------
    study
        Where they are run.
    device
        What the busiest volumes move to, each to one of its own.
    """
    seeds = range(1, DISKS + 1)
    runs = study.runs([alone(seed) for seed in seeds] + [moved_to(device, seed) for seed in seeds])
    before, after = runs[:DISKS], runs[DISKS:]
    parts = [_parts(run) for run in after]
    return Moved(
        tuple(float(run.response.mean_ms) for run in before),
        tuple(float(run.response.mean_ms) for run in after),
        tuple(stays for stays, _ in parts),
        tuple(volume for _, volume in parts),
    )


def _parts(run: Result) -> tuple[float, float]:
    """Return the mean responses of what stays and of the volume that moved, ms."""
    ways = {way["name"]: way for way in run.components[0]["paths"]}
    volume = ways.pop(BUSIEST)
    asked = [way for way in ways.values() if way["requests"]]
    requests = sum(way["requests"] for way in asked)
    return sum(way["requests"] * way["mean_ms"] for way in asked) / requests, volume["mean_ms"]


def _mean(values: tuple[float, ...]) -> float:
    return sum(values) / len(values)


@experiment("schlosser2004.array-all-disks")
def array_all_disks(study: Study) -> Finding:
    """Mean response before the move over that after it."""
    found = moved(study, G2)
    ratios = [before / after for before, after in zip(found.before_ms, found.after_ms, strict=True)]
    rows = [
        {"to": name, "what": what, "ours, ms": _mean(ours), "paper, ms": paper}
        for name in ("g2", "uberdisk")
        for each in [moved(study, FASTER[name])]
        for what, ours, paper in (
            ("before", each.before_ms, 15.1),
            ("after", each.after_ms, PUBLISHED_MS[name][1]),
            ("what stays", each.stays_ms, 7.56),
            ("the moved volume", each.volume_ms, PUBLISHED_MS[name][0]),
        )
    ]
    how = (
        "Stand-in symmetrix-like, seeds 1 to 8 for eight cheetah73 of 51,750 requests (12.5 minutes) each; the "
        "busiest volume, of which 3.4 GB are asked for, moves to a g2 of its own. Means over disks; interval over "
        "disks."
    )
    return Finding(
        _mean(found.before_ms) / _mean(found.after_ms),
        how,
        decimals=2,
        intervals=(mean_interval(ratios).ends,),
        scenarios=(alone(1), moved_to(G2, 1)),
        curve=tuple(rows),
    )


@experiment("schlosser2004.array-not-specific")
def array_not_specific(study: Study) -> Finding:
    """Relative difference between G2 and Überdisk, disk by disk."""
    g2, uberdisk = moved(study, G2), moved(study, UBERDISK)
    pairs = zip(g2.after_ms, uberdisk.after_ms, strict=True)
    differences = [(mems / disk) - 1 for mems, disk in pairs]
    low, high = mean_interval(differences).ends
    mean = _mean(tuple(differences))
    rows = [
        {"disk": number, "g2, ms": mems, "Überdisk, ms": disk, "difference": difference}
        for number, (mems, disk, difference) in enumerate(
            zip(g2.after_ms, uberdisk.after_ms, differences, strict=True), start=1
        )
    ]
    how = (
        "The runs of array-all-disks with a g2 and with the first 3.46 GB of an uberdisk: difference over the "
        f"Überdisk's mean, of the same requests on each disk; G2 takes {100 * mean:+.2f} % (95 %: {100 * low:+.2f} "
        f"to {100 * high:+.2f} %). The paper's Überdisk is sooner by 0.6 %."
    )
    return Finding(
        abs(mean),
        how,
        decimals=4,
        intervals=((0.0 if low < 0 < high else min(abs(low), abs(high)), max(abs(low), abs(high))),),
        scenarios=(moved_to(G2, 1), moved_to(UBERDISK, 1)),
        curve=tuple(rows),
    )


@experiment("schlosser2004.simpledisk-constant")
def simpledisk_constant(study: Study) -> Finding:
    """Devices by the mean response of the volume that moved to them."""
    found = {name: moved(study, device) for name, device in FASTER.items()}
    volume = {name: _mean(each.volume_ms) for name, each in found.items()}
    rows = []
    for name, each in found.items():
        low, high = mean_interval(each.volume_ms).ends
        rows.append(
            {
                "device": name,
                "ours, ms": volume[name],
                "from, ms": low,
                "to, ms": high,
                "paper, ms": PUBLISHED_MS[name][0],
            }
        )

    def changed(change: str, **values: Any) -> Probe:
        of_g2 = moved(study, {**G2, **values})
        with_it = {**volume, "g2": _mean(of_g2.volume_ms)}
        return Probe(f"{change}: {with_it['g2']:.3f} ms", order(with_it))

    return Finding(
        order(volume),
        "The runs of array-all-disks with each of four devices: mean response of the moved volume over eight disks.",
        scenarios=tuple(moved_to(device, 1) for device in FASTER.values()),
        curve=tuple(rows),
        probes=study.probes(
            lambda: (
                changed("g2 with data of writes that cross the bus while the sled moves", write_transfer="overlapped"),
                changed("g2 with DiskSim's command overhead of 0.2 ms", overhead_ms=DISKSIM_OVERHEAD_MS),
            )
        ),
    )


def _array_finding(ours: float | tuple[float, ...], of_disks: list[tuple[float, ...]], *names: str) -> Finding:
    """Return mean responses over the eight disks, with intervals over the disks."""
    return Finding(
        ours,
        "The runs of array-all-disks: means over the eight disks; the interval is over disks.",
        decimals=2,
        intervals=tuple(mean_interval(each).ends for each in of_disks),
        scenarios=(alone(1), *(moved_to(FASTER[name], 1) for name in names)),
    )


@experiment("schlosser2004.array-before")
def array_before(study: Study) -> Finding:
    """Eight busy disks before the move."""
    found = moved(study, G2)
    return _array_finding(_mean(found.before_ms), [found.before_ms])


@experiment("schlosser2004.array-rest")
def array_rest(study: Study) -> Finding:
    """Mean response of the requests that stay on the disks."""
    found = moved(study, G2)
    return _array_finding(_mean(found.stays_ms), [found.stays_ms], "g2")


@experiment("schlosser2004.array-overall", "after_ms", "g2", "uberdisk")
@experiment("schlosser2004.array-moved", "volume_ms", "g2", "uberdisk")
@experiment("schlosser2004.array-simpledisks", "volume_ms", "simpledisk_constant", "simpledisk_linear")
def of_array(study: Study, figure: str, *names: str) -> Finding:
    """Find all requests after the move, or the moved volume alone, on each device."""
    found = [getattr(moved(study, FASTER[name]), figure) for name in names]
    return _array_finding(tuple(map(_mean, found)), found, *names)
