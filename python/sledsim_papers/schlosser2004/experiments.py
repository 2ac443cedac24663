"""Schlosser and Ganger 2004: G2, the disk made to match it, seeks over the plane, and schedulers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sledsim.devices import Device, MemsStorage
from sledsim.runs import Result
from sledsim_papers.harness.finding import Finding, Probe, order
from sledsim_papers.harness.intervals import of_mean
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study
from sledsim_papers.schlosser2000.experiments import reversals_ms

# What registers experiments and pictures of a subject of its own.
from sledsim_papers.schlosser2004 import tables  # noqa: F401
from sledsim_papers.schlosser2004.array import MATCHED_OVERHEAD_MS, UBERDISK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "SCHEDULERS",
    "accesses",
    "plane",
    "schedule",
]

#: Those of section 5.4, and what the paper calls them.
SCHEDULERS = {"fcfs": "FCFS", "clook": "CLOOK", "sstf_lbn": "SSTF", "sdf": "SDF", "sptf": "SPTF"}

#: Heavy loads, requests/s, by settling constants: first come, first served saturates between the first two rates, the
#: other schedulers hold all of them.
HEAVY = {1.0: (1120.0, 1180.0, 1250.0), 0.0: (1400.0, 1500.0, 1600.0)}

#: A share is several times larger from here on.
SEVERAL = 3.0


@experiment("schlosser2004.g2-capacity")
def g2_capacity(study: Study) -> Finding:
    """Capacity of the geometry."""
    device = MemsStorage("g2")
    how = (
        f"g2: {device.cylinders:,} cylinders of {device.tracks} tracks of {device.rows} rows of "
        f"{device.blocks_per_row} blocks of {device.block_bytes} B."
    )
    return Finding(device.capacity_bytes * 1e-9, how)


@experiment("schlosser2004.g2-streaming")
def g2_streaming(study: Study) -> Finding:
    """Sustained sequential bandwidth."""
    how = "g2: 20 cylinders in the middle of the media, every turnaround and servo burst counted."
    return Finding(MemsStorage("g2").streaming_bandwidth_mb_s, how, decimals=2)


def accesses(device: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return random reads of 4 KB, one at a time.

    Parameters
    ----------
    device
        Entry of the catalogue, with changes if there are any.
    """
    return {
        "workload": {"arrival": {"kind": "closed", "outstanding": 1}},
        "system": {"device": device},
        "run": {"requests": 100_000},
    }


@experiment("schlosser2004.g2-access")
def g2_access(study: Study) -> Finding:
    """Mean access time, command overhead left out."""
    scenario = accesses("g2")
    run = study.run(scenario)
    overhead_ms: float = MemsStorage("g2").parameters["overhead_ms"]
    service_ms, bus_ms = float(run.service.mean_ms), float(run.bus.mean_ms)
    rows = [
        {"included": "positioning, passes", "access, ms": service_ms - bus_ms},
        {"included": "the bus, too", "access, ms": service_ms},
        {"included": "the command overhead, too", "access, ms": float(run.response.mean_ms)},
    ]
    how = (
        f"g2, 100,000 reads of 4 KB, one at a time: positioning, passes and bus ({bus_ms:.3f} ms), without the "
        f"command overhead of {overhead_ms} ms."
    )
    cause = (
        "The command overhead, of which the paper says nothing: without it the figure is too short, with the 0.2 ms "
        "that DiskSim's parameter file has it is too long. The figure printed lies between them."
    )
    # One request at a time never waits: its response is the command overhead and the access.
    probes = tuple(
        Probe(f"with a command overhead of {each} ms", float(study.run(accesses(changed)).response.mean_ms))
        for each in (overhead_ms, MATCHED_OVERHEAD_MS)
        for changed in [{"name": "g2", "overhead_ms": each}]
    )
    intervals = of_mean(run.service)
    return Finding(
        service_ms, how, intervals=intervals, scenarios=(scenario,), curve=tuple(rows), cause=cause, probes=probes
    )


@experiment("schlosser2004.uberdisk-access")
def uberdisk_access(study: Study) -> Finding:
    """Mean access time of the first 3.46 GB."""
    scenario = accesses(UBERDISK)
    run = study.run(scenario)
    parts = ("seek", "rotation", "transfer", "bus")
    rows = [{"phase": name, "mean, ms": float(run[name].mean_ms)} for name in parts]
    how = "uberdisk, first 3.46 GB, 100,000 reads of 4 KB, one at a time; the bus as far as it outlasts the transfer."
    return Finding(
        float(run.service.mean_ms), how, intervals=of_mean(run.service), scenarios=(scenario,), curve=tuple(rows)
    )


def plane(device: MemsStorage, points: int) -> "dict[str, NDArray[np.float64]]":
    """Return seek times from the centre, where the sled moves up, to places all over the plane.

    Parameters
    ----------
    device
        The device.
    points
        Places along each axis, from 1 µm inside one edge of the travel to 1 µm inside the other: a seek of the least
        distance needs room to brake.

    Returns
    -------
    dict
        ``place_um`` along either axis, ``x_ms`` and ``y_ms`` for these places, and ``seek_ms``, a row for each Y.
    """
    import numpy as np

    place_um = np.linspace(-49.0, 49.0, points)
    x_ms, y_ms = device.seek_x_ms(0.0, place_um), device.seek_y_ms(0.0, place_um, 1)
    return {"place_um": place_um, "x_ms": x_ms, "y_ms": y_ms, "seek_ms": np.maximum(x_ms[None, :], y_ms[:, None])}


def _share_of_y(device: MemsStorage) -> float:
    """Return the share of the variance of seek times over the plane that Y alone explains."""
    seek_ms = plane(device, 201)["seek_ms"]
    return float(seek_ms.mean(axis=1).var() / seek_ms.var())


@experiment("schlosser2004.seek-y-uncorrelated")
def seek_y_uncorrelated(study: Study) -> Finding:
    """Share of the variance explained by Y, with settling."""
    how = (
        "g2: seeks from the centre, moving up, to 201 × 201 places; variance of the means of rows of equal Y over "
        "that of all."
    )
    return Finding(_share_of_y(MemsStorage("g2")), how)


@experiment("schlosser2004.seek-y-correlated-without-settle")
def seek_y_correlated_without_settle(study: Study) -> Finding:
    """Whether that share grows several times where nothing settles."""
    device = MemsStorage("g2")
    half = MemsStorage("g2", settle_constants=device.parameters["settle_constants"] / 2)
    shares = [_share_of_y(each) for each in (device, half, MemsStorage("g2", settle_constants=0.0))]
    rows = [
        {"settling constants": each, "share of Y": share} for each, share in zip((1.0, 0.5, 0.0), shares, strict=True)
    ]
    grows = shares[2] >= SEVERAL * shares[0] and shares[0] <= shares[1] <= shares[2]
    how = (
        "The seeks of seek-y-uncorrelated with fewer settling constants: a rise where the share grows with each "
        "step and is three times as large without settling."
    )
    return Finding("+" if grows else "?", how, curve=tuple(rows))


@experiment("schlosser2004.spring-position-effect")
def spring_position_effect(study: Study) -> Finding:
    """Spread of the time of a seek of given length by where it starts."""
    import numpy as np

    device, rows = MemsStorage("g2"), []
    for length_um in range(5, 100, 5):
        start_um = np.linspace(-50.0, 50.0 - length_um, 101)
        times_ms = device.seek_x_ms(start_um, np.minimum(start_um + length_um, 50.0))
        mean_ms = float(times_ms.mean())
        rows.append(
            {
                "length, µm": length_um,
                "mean, ms": mean_ms,
                "standard deviation over mean": float(times_ms.std()) / mean_ms,
                "longest less shortest over mean": float(times_ms.max() - times_ms.min()) / mean_ms,
            }
        )
    spreads = [float(row["standard deviation over mean"]) for row in rows]
    how = (
        "g2: seeks along X of 5 to 95 µm with settling; standard deviation over mean by starting place, averaged "
        "over lengths."
    )
    return Finding(sum(spreads) / len(spreads), how, curve=tuple(rows))


@experiment("schlosser2004.turnaround-under-tenth-ms")
def turnaround_under_tenth_ms(study: Study) -> Finding:
    """Mean time until a row passed upwards may be passed downwards."""
    times_ms = reversals_ms(MemsStorage("g2"))[1]
    how = (
        "g2: mean over rows left upwards until the servo burst above them is entered downwards; "
        f"{times_ms.min():.3f} to {times_ms.max():.3f} ms by row."
    )
    return Finding(float(times_ms.mean()), how, decimals=4)


#: Requests of a whole scan: 32 MB.
SCAN_BLOCKS = 65536


def _scan_s(name: str) -> float:
    """Return the time to read all of a device in order."""
    import numpy as np

    device = Device(name)
    first = np.arange(0, device.capacity_blocks, SCAN_BLOCKS, dtype=np.uint64)
    blocks = np.minimum(SCAN_BLOCKS, device.capacity_blocks - first)
    return float(device.serve(first, blocks)["end_ns"][-1]) * 1e-9


@experiment("schlosser2004.device-scan")
def device_scan(study: Study) -> Finding:
    """Time to read all of a Cheetah 73 over that to read all of G2."""
    g2_s, cheetah_s = _scan_s("g2"), _scan_s("cheetah73")
    how = f"Reads of 32 MB in order: all of cheetah73 in {cheetah_s:,.0f} s, all of g2 in {g2_s:.1f} s."
    return Finding(cheetah_s / g2_s, how, decimals=1)


def schedule(scheduler: str, rate_per_s: float, settle_constants: float) -> dict[str, Any]:
    """Return 250,000 random reads of 8 KB on G2.

    Parameters
    ----------
    scheduler
        One of :data:`SCHEDULERS`.
    rate_per_s
        Poisson arrivals.
    settle_constants
        1 as the device comes, 0 without settling.
    """
    return {
        "workload": {
            "arrival": {"kind": "poisson", "rate_per_s": rate_per_s},
            "size_bytes": {"kind": "fixed", "value": 8192},
        },
        "system": {"device": {"name": "g2", "settle_constants": settle_constants}, "scheduler": scheduler},
        "run": {"requests": 250_000},
    }


def _heavy(study: Study, settle_constants: float) -> Finding:
    """Find the order of schedulers where it is the same at each heavy load."""
    rates = HEAVY[settle_constants]
    scenarios = [schedule(name, rate, settle_constants) for rate in rates for name in SCHEDULERS]
    runs = iter(study.runs([(each, ()) for each in scenarios]))
    rows, orders = [], set()
    for rate in rates:
        found: dict[str, Result] = {name: next(runs) for name in SCHEDULERS}
        orders.add(order({name: float(run.response.mean_ms) for name, run in found.items()}))
        rows += [_row(name, rate, run) for name, run in found.items()]
    ours = orders.pop() if len(orders) == 1 else ("depends on the load",)
    loads = ", ".join(f"{rate:.0f}" for rate in rates)
    how = (
        f"g2 with {settle_constants:.0f} settling constants, 250,000 random reads of 8 KB, Poisson {loads}/s: mean "
        "responses, the order where it is the same at each rate."
    )
    return Finding(ours, how, scenarios=tuple(scenarios[: len(SCHEDULERS)]), curve=tuple(rows))


def _row(name: str, rate_per_s: float, run: Result) -> dict[str, Any]:
    response = run.response
    return {
        "scheduler": name,
        "rate, 1/s": rate_per_s,
        "response, ms": response.mean_ms,
        "from, ms": response.ci95_low_ms,
        "to, ms": response.ci95_high_ms,
    }


@experiment("schlosser2004.sdf-order")
def sdf_order(study: Study) -> Finding:
    """Schedulers under heavy load."""
    return _heavy(study, 1.0)


@experiment("schlosser2004.sdf-no-settle")
def sdf_no_settle(study: Study) -> Finding:
    """Schedulers under heavy load without settling."""
    return _heavy(study, 0.0)
