"""Schlosser and Ganger 2004: G2, the disk made to match it, seeks over the plane, and schedulers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sledsim.devices import MemsStorage
from sledsim.runs import Result
from sledsim_papers.harness.claim import claims
from sledsim_papers.harness.finding import Finding, Probe, order
from sledsim_papers.harness.intervals import of_mean, of_ratio
from sledsim_papers.harness.motion import DECOMPOSED
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study
from sledsim_papers.schlosser2000.experiments import reversals_ms

# Importing these modules registers their experiments and pictures.
from sledsim_papers.schlosser2004 import bricks, contract, tables  # noqa: F401
from sledsim_papers.schlosser2004.array import DISKSIM_OVERHEAD_MS, G2, UBERDISK
from sledsim_papers.schlosser2004.contract import MIXED, accesses

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "SCHEDULERS",
    "plane",
    "schedule",
]

#: Schedulers of section 5.4 with the paper's names.
SCHEDULERS = {"fcfs": "FCFS", "clook": "CLOOK", "sstf_lbn": "SSTF", "sdf": "SDF", "sptf": "SPTF"}

#: Heavy loads, requests/s, by settling constants: first come, first served saturates between the first two rates, the
#: other schedulers hold all of them.
HEAVY = {1.0: (1120.0, 1180.0, 1250.0), 0.0: (1400.0, 1500.0, 1600.0)}

#: Factor that counts as several times larger.
SEVERAL = 3.0


@experiment("schlosser2004.g2-capacity")
def g2_capacity(study: Study) -> Finding:
    """Capacity of the geometry."""
    device = study.sled("g2")
    how = (
        f"g2: {device.cylinders:,} cylinders of {device.tracks} tracks of {device.rows} rows of "
        f"{device.blocks_per_row} blocks of {device.block_bytes} B."
    )
    return Finding(device.capacity_bytes * 1e-9, how)


#: Probe of claims on springs.
DISKSIMS = (
    f"{DECOMPOSED} motion, that of DiskSim, whose springs act with the wrong sign at the last reversal before a row"
)


@experiment("schlosser2004.g2-streaming")
def g2_streaming(study: Study) -> Finding:
    """Sustained sequential bandwidth."""
    how = "g2: 20 cylinders in the middle of the media, every turnaround and servo burst counted; time-optimal motion."
    free = study.sled("g2", spring_factor=0.0, seek_model=DECOMPOSED)
    return Finding(
        study.sled("g2").streaming_bandwidth_mb_s,
        how,
        decimals=2,
        cause="The printed figure lies between a sled whose springs help it to turn and one without springs.",
        probes=(
            Probe(DISKSIMS, study.sled("g2", seek_model=DECOMPOSED).streaming_bandwidth_mb_s),
            Probe(f"{DECOMPOSED} motion, no springs", free.streaming_bandwidth_mb_s),
        ),
    )


@experiment("schlosser2004.g2-access")
def g2_access(study: Study) -> Finding:
    """Mean access time, without command overhead."""
    scenario = accesses(G2, **MIXED)
    run = study.run(scenario)
    service_ms, bus_ms = float(run.service.mean_ms), float(run.bus.mean_ms)
    with_overhead_ms = _with_overhead_ms(study)
    rows = [
        {"included": "positioning, passes", "access, ms": service_ms - bus_ms},
        {"included": "the bus, too", "access, ms": service_ms},
        {"included": f"a command overhead of {DISKSIM_OVERHEAD_MS} ms, too", "access, ms": with_overhead_ms},
    ]

    def others() -> tuple[Probe, ...]:
        changes = {
            "reads alone": accesses(G2),
            "data of writes that cross the bus while the sled moves": accesses(
                {**G2, "write_transfer": "overlapped"}, **MIXED
            ),
            "exponential sizes with a mean of 4 KB": accesses(
                G2, **MIXED, size_bytes={"kind": "exponential", "mean": 4096}
            ),
        }
        runs = study.runs(changes.values())
        return tuple(Probe(name, float(run.service.mean_ms)) for name, run in zip(changes, runs, strict=True))

    return Finding(
        service_ms,
        f"g2 without command overhead, 100,000 random requests of 4 KB, 67 % of them reads, one at a time: "
        f"positioning, passes and bus ({bus_ms:.3f} ms). The data of a write cross the bus before its pass.",
        intervals=of_mean(run.service),
        scenarios=(scenario,),
        curve=tuple(rows),
        probes=(
            *study.probes(others),
            Probe(f"with DiskSim's command overhead of {DISKSIM_OVERHEAD_MS} ms", with_overhead_ms),
        ),
    )


def _with_overhead_ms(study: Study) -> float:
    """Return the mean response of one request at a time with DiskSim's command overhead: it and the access."""
    run = study.run(accesses({**G2, "overhead_ms": DISKSIM_OVERHEAD_MS}, **MIXED))
    return float(run.response.mean_ms)


@experiment("schlosser2004.uberdisk-matches-g2")
def uberdisk_matches_g2(study: Study) -> Finding:
    """Mean access of the disk over that of the device."""
    disk, g2 = study.runs([accesses(UBERDISK, **MIXED), accesses(G2, **MIXED)])
    disk_reads, g2_reads = study.runs([accesses(UBERDISK), accesses(G2)])
    return Finding(
        disk.service.mean_ms / g2.service.mean_ms,
        "The runs of uberdisk-access and g2-access.",
        intervals=of_ratio(disk.service, g2.service),
        scenarios=(accesses(UBERDISK, **MIXED), accesses(G2, **MIXED)),
        probes=(
            Probe("reads alone", disk_reads.service.mean_ms / g2_reads.service.mean_ms),
            Probe(
                f"g2 with DiskSim's command overhead of {DISKSIM_OVERHEAD_MS} ms",
                disk.service.mean_ms / _with_overhead_ms(study),
            ),
        ),
    )


@experiment("schlosser2004.uberdisk-access")
def uberdisk_access(study: Study) -> Finding:
    """Mean access time of the first 3.46 GB."""
    scenario = accesses(UBERDISK, **MIXED)
    run = study.run(scenario)
    parts = ("seek", "rotation", "transfer", "bus")
    rows = [{"phase": name, "mean, ms": float(run[name].mean_ms)} for name in parts]
    how = (
        "uberdisk, first 3.46 GB, 100,000 random requests of 4 KB, 67 % of them reads, one at a time; the bus as far "
        "as it outlasts the transfer."
    )
    return Finding(
        float(run.service.mean_ms), how, intervals=of_mean(run.service), scenarios=(scenario,), curve=tuple(rows)
    )


@experiment("schlosser2004.uberdisk-streaming")
def uberdisk_streaming(study: Study) -> Finding:
    """Streaming bandwidth of the Überdisk."""
    disk, bus = study.disk("uberdisk"), accesses("uberdisk", 200, **LONG_READS)
    over_bus = float(study.run(bus).bandwidth.mb_per_s)
    return Finding(
        over_bus,
        "uberdisk: 200 sequential reads of 32 MB, one at a time. Its bus is set to the 100 MB/s of Table 2; "
        f"{disk.streaming_bandwidth_mb_s:.0f} MB/s come from the media.",
        decimals=1,
        scenarios=(bus,),
        cause="The geometry of Table 2 passes nearly five times the printed bandwidth.",
        probes=(Probe("from the media, without the bus", disk.streaming_bandwidth_mb_s),),
    )


#: Long sequential reads.
LONG_READS: dict[str, Any] = {"location": {"kind": "sequential"}, "size_bytes": {"kind": "fixed", "value": 1 << 25}}


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
    return Finding(_share_of_y(study.sled("g2")), how)


@experiment("schlosser2004.seek-y-correlated-without-settle")
def seek_y_correlated_without_settle(study: Study) -> Finding:
    """Compare that share without settling."""
    device = study.sled("g2")
    half = study.sled("g2", settle_constants=device.parameters["settle_constants"] / 2)
    shares = [_share_of_y(each) for each in (device, half, study.sled("g2", settle_constants=0.0))]
    rows = [
        {"settling constants": each, "share of Y": share} for each, share in zip((1.0, 0.5, 0.0), shares, strict=True)
    ]
    grows = shares[2] >= SEVERAL * shares[0] and shares[0] <= shares[1] <= shares[2]
    how = (
        "The seeks of seek-y-uncorrelated with fewer settling constants: a rise where the share grows with each "
        "step and is three times as large without settling."
    )
    return Finding("+" if grows else "?", how, curve=tuple(rows))


def _spreads(study: Study, **changes: Any) -> list[dict[str, Any]]:
    """Return by length how seeks along X depend on where they start and which way they go."""
    import numpy as np

    device, rows = study.sled("g2", **changes), []
    for length_um in range(5, 100, 5):
        start_um = np.linspace(-50.0, 50.0 - length_um, 101)
        end_um = np.minimum(start_um + length_um, 50.0)
        times_ms = np.concatenate([device.seek_x_ms(start_um, end_um), device.seek_x_ms(end_um, start_um)])
        rows.append(
            {
                "length, µm": length_um,
                "mean, ms": float(times_ms.mean()),
                "shortest, ms": float(times_ms.min()),
                "longest, ms": float(times_ms.max()),
                "longest over shortest, less 1": float(times_ms.max() / times_ms.min()) - 1,
            }
        )
    return rows


def _worst(rows: list[dict[str, Any]]) -> float:
    return max(float(row["longest over shortest, less 1"]) for row in rows)


@experiment("schlosser2004.spring-position-effect")
def spring_position_effect(study: Study) -> Finding:
    """Spread of the time of a seek of given length by where it starts."""
    rows = _spreads(study)
    worst = max(rows, key=lambda row: float(row["longest over shortest, less 1"]))
    return Finding(
        _worst(rows),
        f"g2: seeks along X of 5 to 95 µm with settling, from 101 places, both ways; the worst are those of "
        f"{worst['length, µm']} µm.",
        curve=tuple(rows),
        cause="It hangs on the springs: near the edge they leave a quarter of the force, at the centre all of it.",
        probes=(Probe("springs of half the force", _worst(_spreads(study, spring_factor=0.5))),),
    )


@experiment("schlosser2004.turnaround-under-tenth-ms")
def turnaround_under_tenth_ms(study: Study) -> Finding:
    """Mean time until a row passed upwards may be passed downwards."""

    def mean_ms(*, servo: bool = True, **changes: Any) -> float:
        return float(reversals_ms(study.sled("g2", **changes), servo=servo)[1].mean())

    times_ms = reversals_ms(study.sled("g2"))[1]
    how = (
        "g2: mean over rows left upwards until the servo burst above them is entered downwards; time-optimal motion; "
        f"{times_ms.min():.3f} to {times_ms.max():.3f} ms by row."
    )
    return Finding(
        float(times_ms.mean()),
        how,
        decimals=4,
        cause="The sled turns, passes over the servo burst that it has left, and turns again before the row.",
        probes=(
            Probe(DISKSIMS, mean_ms(seek_model=DECOMPOSED)),
            Probe(f"{DECOMPOSED} motion, the reversal alone", mean_ms(servo=False, seek_model=DECOMPOSED)),
            Probe(f"{DECOMPOSED} motion, no springs", mean_ms(spring_factor=0.0, seek_model=DECOMPOSED)),
        ),
    )


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
        "system": {"device": {**G2, "settle_constants": settle_constants}, "scheduler": scheduler},
        "run": {"requests": 250_000},
    }


@experiment("schlosser2004.sdf-order", "sdf-order", 1.0)
@experiment("schlosser2004.sdf-no-settle", "sdf-no-settle", 0.0)
def heavy(study: Study, claim: str, settle_constants: float) -> Finding:
    """Find the order of schedulers where it is the same at each heavy load."""
    rates = HEAVY[settle_constants]
    requests = study.requests(250_000, 100_000)
    scenarios = [
        {**schedule(name, rate, settle_constants), "run": {"requests": requests}}
        for rate in rates
        for name in SCHEDULERS
    ]
    runs = iter(study.runs(scenarios))
    rows, orders = [], set()
    for rate in rates:
        found: dict[str, Result] = {name: next(runs) for name in SCHEDULERS}
        ranked = order({name: float(run.response.mean_ms) for name, run in found.items()})
        # Schedulers that the paper does not rank may change places between loads.
        orders.add(claims()[f"schlosser2004.{claim}"].joined(ranked))
        rows += [_row(name, rate, run) for name, run in found.items()]
    ours = orders.pop() if len(orders) == 1 else ("depends on the load",)
    loads = ", ".join(f"{rate:.0f}" for rate in rates)
    how = (
        f"g2 with {settle_constants:.0f} settling constants, {requests:,} random reads of 8 KB, Poisson {loads}/s: "
        "mean responses, the order where it is the same at each rate."
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


def _held(study: Study, scheduler: str, limit_ms: float) -> float:
    """Return the highest rate at which the mean response without settling is no longer than a limit, 1/s."""
    requests = {"run.requests": study.requests(250_000, 20_000)}
    low, high = 500.0, 4_000.0
    for _ in range(STEPS):
        rate = 0.5 * (low + high)
        run = study.run(schedule(scheduler, rate, 0.0), requests)
        low, high = (rate, high) if run.response.mean_ms <= limit_ms else (low, rate)
    return low


#: Precision of a bisection over rates, relative to the initial range.
STEPS = 11


#: Schedulers whose rates are compared without settling.
COMPARED = ("sptf", "sdf", "sstf_lbn", "clook")


def _rates_held(study: Study) -> tuple[dict[str, float], str]:
    """Return the highest rate that each scheduler holds without settling, 1/s, and how it was found."""
    light = study.run(schedule("fcfs", 1.0, 0.0), {"run.requests": 20_000})
    limit_ms = 2 * float(light.response.mean_ms)
    held = dict(zip(COMPARED, study.map(lambda name: _held(study, name, limit_ms), COMPARED), strict=True))
    said = ", ".join(f"{SCHEDULERS[name]} {rate:.0f}" for name, rate in held.items())
    return held, (
        f"g2 without settling, random reads of 8 KB: rates held at a mean response of {limit_ms:.3f} ms, twice that of "
        f"FCFS under light load: {said} per second."
    )


def _rows_held(held: Mapping[str, float]) -> tuple[dict[str, Any], ...]:
    return tuple({"scheduler": SCHEDULERS[name], "rate, 1/s": rate} for name, rate in held.items())


@experiment("schlosser2004.sdf-tracks-sptf")
def sdf_tracks_sptf(study: Study) -> Finding:
    """Rate that SDF holds over that of SPTF."""
    held, how = _rates_held(study)
    return Finding(
        held["sdf"] / held["sptf"],
        how,
        curve=_rows_held(held),
        scenarios=tuple(schedule(name, rate, 0.0) for name, rate in held.items()),
        cause="Shortest distance is not shortest time: a seek that has to turn round takes longer than its distance "
        "says, and so does a short one at the edge of the springs.",
        probes=(
            Probe("SSTF in SDF's place", held["sstf_lbn"] / held["sptf"]),
            Probe("CLOOK in SDF's place", held["clook"] / held["sptf"]),
        ),
    )


@experiment("schlosser2004.sdf-lead-no-settle")
def sdf_lead_no_settle(study: Study) -> Finding:
    """Rate that SDF holds over that of the better of CLOOK and SSTF."""
    held, how = _rates_held(study)
    better = max(("sstf_lbn", "clook"), key=lambda name: held[name])
    heaviest = HEAVY[0.0][-1]

    def at_heaviest() -> tuple[Probe, ...]:
        requests = {"run.requests": study.requests(250_000, 100_000)}
        of_better, of_sdf = (study.run(schedule(name, heaviest, 0.0), requests) for name in (better, "sdf"))
        change = f"mean response of {SCHEDULERS[better]} over that of SDF, both at {heaviest:.0f} requests/s"
        return (Probe(change, float(of_better.response.mean_ms / of_sdf.response.mean_ms)),)

    return Finding(
        held["sdf"] / held[better],
        how,
        curve=_rows_held(held),
        scenarios=tuple(schedule(name, held[name], 0.0) for name in ("sdf", better)),
        cause="Responses rise steeply near saturation, so a large difference of responses at one rate is a small "
        "difference of rates at one response.",
        probes=study.probes(at_heaviest),
    )
