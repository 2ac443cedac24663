"""Schlosser et al. 2000: the generations, their springs, and the disks beside them (Tables 2 and 3, section 4.3)."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sledsim.devices import DiskDrive, MemsStorage
from sledsim_papers.harness.finding import Finding, Probe
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study
from sledsim_papers.schlosser2000 import (  # noqa: F401
    application_claims,
    cache,
    energy,
    tradeoffs,
)
from sledsim_papers.schlosser2000.devices import DISKS, NO_BUFFER
from sledsim_papers.schlosser2000.microbenchmark import microbenchmark

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GENERATIONS", "reversals_ms", "settling"]

GENERATIONS = ("g1", "g2", "g3")

#: The speed at which the force of a reversal is taken, over the access speed: the sled then hardly leaves the place,
#: and the force is within 1e-6 of that there.
SLOWLY = 1e-3


#: Resonant frequency of DiskSim's parameter files of the first two generations, Hz.
DISKSIM_HZ = 739.0


def settling(study: Study, generation: str) -> float:
    """Return the settling time of a generation by the constants and the frequency of Table 2, ms."""
    return study.sled(f"{generation}-paper").settle_ms


def _settle(generation: str, study: Study) -> Finding:
    sled = study.sled(f"{generation}-paper")
    hz = sled.parameters["resonance_hz"]
    probes: tuple[Probe, ...] = ()
    if generation != "g3":
        other = study.sled(f"{generation}-paper", resonance_hz=DISKSIM_HZ).settle_ms
        probes = (Probe(f"{DISKSIM_HZ:.0f} Hz, of DiskSim's parameter file", other),)
    how = f"{generation}-paper: constants over 2π times the printed frequency of {hz:.0f} Hz."
    return Finding(sled.settle_ms, how, decimals=4, probes=probes)


def _bandwidth(generation: str, study: Study) -> Finding:
    how = f"{generation}-paper: active tips times bit rate, encoded bits over 10, servo bits counted as data."
    return Finding(study.sled(f"{generation}-paper").peak_bandwidth_mb_s, how, decimals=1)


def _capacity(generation: str, study: Study) -> Finding:
    how = f"{generation}-paper: bits under all tips, encoded bits over 10, servo bits counted as data."
    return Finding(study.sled(f"{generation}-paper").raw_capacity_bytes * 1e-9, how)


for _generation in GENERATIONS:
    experiment(f"schlosser2000.{_generation}-settle")(partial(_settle, _generation))
    experiment(f"schlosser2000.{_generation}-peak-bandwidth")(partial(_bandwidth, _generation))
    experiment(f"schlosser2000.{_generation}-capacity")(partial(_capacity, _generation))


def _free_reversal_ms(device: MemsStorage) -> float:
    """Return the time of a reversal without springs, at the constant force of the actuator."""
    acceleration_m_s2: float = device.parameters["acceleration_y_m_s2"]
    return 2 * device.access_speed_m_s / acceleration_m_s2 * 1e3


@experiment("schlosser2000.spring-force-range")
def spring_force_range(study: Study) -> Finding:
    """Force while reversing at the edge, from the time that it takes."""
    device = study.sled("g2")
    slow = study.sled("g2", bit_rate_kbit_s=device.parameters["bit_rate_kbit_s"] * SLOWLY)
    edge_um = device.parameters["y_range_um"] / 2
    # The actuator pushes an incoming sled outward and an outgoing sled inward.
    forces = [_free_reversal_ms(slow) / slow.seek_y_ms(edge_um, edge_um, way, -way).item() for way in (-1, 1)]
    how = (
        "g2: time of a reversal without springs over that at the end of travel, at a thousandth of the access speed, "
        "where the sled does not leave its place; coming in, and going out."
    )
    return Finding((forces[0], forces[1]), how)


@experiment("schlosser2000.spring-turnaround")
def spring_turnaround(study: Study) -> Finding:
    """Reversal of an incoming sled at the edge, over one without springs."""
    ratios = []
    for name in GENERATIONS:
        device = study.sled(name)
        edge_um = device.parameters["y_range_um"] / 2
        ratios.append(device.seek_y_ms(edge_um, edge_um, -1, 1).item() / _free_reversal_ms(device))
    how = "g1, g2, g3: a reversal at the end of travel, the sled coming in at access speed."
    return Finding(tuple(ratios), how, decimals=2)


def reversals_ms(device: MemsStorage, *, servo: bool = True) -> "dict[int, NDArray[np.float64]]":
    """Return times from the end of a pass over each row until the sled may pass over it again the other way.

    Parameters
    ----------
    device
        The device.
    servo
        Whether the servo burst before the row is to be read again; otherwise the reversal alone.

    Returns
    -------
    dict
        Times in ms row by row, of passes upward (1) and downward (-1).
    """
    import numpy as np

    given = device.parameters
    pitch_bits = given["servo_bits"] + given["tip_sector_bytes"] * given["encoded_bits_per_byte"]

    bit_um, half_um = float(given["bit_nm"]) * 1e-3, float(given["y_range_um"]) / 2

    def y_um(bits: "NDArray[np.int64]") -> "NDArray[np.float64]":
        return bits.astype(np.float64) * bit_um - half_um

    rows = np.arange(device.rows)
    # Servo bursts lie below and above each row: a pass upward ends where the one above begins, and the pass back is
    # entered above that burst.
    below, above = y_um(rows * pitch_bits), y_um((rows + 1) * pitch_bits)
    burst_um = given["servo_bits"] * bit_um
    ends = {1: above, -1: below + burst_um}
    begins = {1: above + burst_um, -1: below} if servo else ends
    return {way: device.seek_y_ms(ends[way], begins[way], way, -way) for way in (1, -1)}


@experiment("schlosser2000.rewrite-turnaround")
def rewrite_turnaround(study: Study) -> Finding:
    """Mean over rows and directions, until the servo burst before the sector."""
    import numpy as np

    device, springless = study.sled("g2"), study.sled("g2", spring_factor=0.0)
    whole, alone, free = (reversals_ms(device), reversals_ms(device, servo=False), reversals_ms(springless))
    rows = np.arange(device.rows)
    # The upper half of the rows, left upwards: the sled moves away from the centre, and the springs help it to turn.
    outward = alone[1][rows > device.rows // 2]
    table = [
        {"row": row, "way": name, "with the servo burst, ms": float(burst_ms), "alone, ms": float(alone_ms)}
        for way, name in ((1, "up"), (-1, "down"))
        for row, (burst_ms, alone_ms) in enumerate(zip(whole[way], alone[way], strict=True))
    ]
    times = np.concatenate(list(whole.values()))
    reversal = np.concatenate(list(alone.values()))
    how = (
        "g2: mean over rows and directions until the servo burst before the sector can be read; "
        f"{times.min():.3f} to {times.max():.3f} ms by place. The reversal alone takes {reversal.mean():.3f} ms "
        f"({reversal.min():.3f} to {reversal.max():.3f})."
    )
    cause = (
        "Only the reversal of a sled that moves away from the centre, without the way back over the servo burst, is as "
        "short as printed."
    )
    probes = (
        Probe("the reversal alone, of rows that the sled leaves moving away from the centre", float(outward.mean())),
        Probe("no springs", float(np.concatenate(list(free.values())).mean())),
        Probe("without the way back over the servo burst", float(reversal.mean())),
    )
    return Finding(float(times.mean()), how, decimals=4, curve=tuple(table), cause=cause, probes=probes)


@experiment("schlosser2000.rewrite-disk")
def rewrite_disk(study: Study) -> Finding:
    """Time from the end of writing a sector until the head is over it again."""
    import numpy as np

    drive = study.disk(**DISKS["atlas10k"], **NO_BUFFER)
    places = np.arange(100, dtype=np.uint64) * np.uint64(drive.capacity_blocks) // np.uint64(100)
    served = drive.serve(np.repeat(places, 2), 1, read=False)
    end_ns, transfer_ns = served["end_ns"].astype(np.float64), served["transfer_ns"].astype(np.float64)
    # The second write of each pair ends one sector after the head was over it again.
    times_ms = (end_ns[1::2] - end_ns[::2] - transfer_ns[1::2]) * 1e-6
    how = (
        "atlas10k with its buffer off, 100 sectors all over the disk, each written twice: a revolution less the "
        f"sector, {times_ms.min():.3f} to {times_ms.max():.3f} ms."
    )
    return Finding(float(times_ms.mean()), how)


#: The generations, as Table 2 prints them.
PRINTED = ("g1-paper", "g2-paper", "g3-paper")


@experiment("schlosser2000.access-speed")
def access_speed(study: Study) -> Finding:
    """Width times rate."""
    sleds = [study.sled(name) for name in PRINTED]
    widest_nm = sleds[0].parameters["bit_nm"]
    at_widest = tuple(float(sled.parameters["bit_rate_kbit_s"] * widest_nm * 1e-3) for sled in sleds)
    return Finding(
        tuple(sled.access_speed_m_s * 1e3 for sled in sleds),
        f"{', '.join(PRINTED)}: width of a bit times the rate of a tip, both from the same table.",
        decimals=1,
        cause="The printed speeds are the printed rates times the bit width of G1.",
        probes=(Probe("bits as wide as those of G1 in all three", at_widest),),
    )


@experiment("schlosser2000.power-limited-bandwidth")
def power_limited_bandwidth(study: Study) -> Finding:
    """Bandwidth of a thousand tips."""
    thousand = study.sled("g2-paper", block_bytes=8000, tips=6000, active_tips=1000)
    return Finding(
        thousand.peak_bandwidth_mb_s,
        "g2-paper with 1,000 tips at once, which at 1 mW take 1 W: times bit rate, encoded bits over 10, servo bits "
        "counted as data.",
        decimals=1,
        cause="The tips of Table 2, which transfer the printed rate, take 1.28 W.",
        probes=(Probe("the 1,280 tips of Table 2", study.sled("g2-paper").peak_bandwidth_mb_s),),
    )


def _seeks_ms(drive: DiskDrive, longest: int | None = None) -> tuple[float, float, float, float]:
    """Return the mean of seeks over all pairs of cylinders and the longest seek, of reads and of writes, ms.

    Parameters
    ----------
    drive
        The disk.
    longest
        Distance of the longest seek, cylinders; the whole stroke if not given.
    """
    cylinders = drive.cylinders
    distance = np.arange(1, cylinders)
    pairs = 2 * (cylinders - distance) / (cylinders * (cylinders - 1))

    def mean(times: "NDArray[np.float64]") -> float:
        return float((times * pairs).sum())

    curves = [drive.seek_ms(distance, read=read) for read in (True, False)]
    last = (longest or cylinders - 1) - 1
    return mean(curves[0]), mean(curves[1]), float(curves[0][last]), float(curves[1][last])


@experiment("schlosser2000.atlas-seek")
def atlas_seek(study: Study) -> Finding:
    """Seeks of the Atlas 10K."""
    drive = study.disk(**DISKS["atlas10k"])
    measured = int(drive.parameters["seek"]["points"][-1][0])
    return Finding(
        _seeks_ms(drive, measured),
        "atlas10k, DiskSim's parameters of the drive: mean over all pairs of cylinders, and the last point of the "
        f"measured curve, {measured:,} of {drive.cylinders:,} cylinders.",
        decimals=2,
        probes=(Probe("the whole stroke, extrapolated", _seeks_ms(drive)),),
    )


@experiment("schlosser2000.superdisk-seek")
def superdisk_seek(study: Study) -> Finding:
    """Seeks of the SuperDisk."""
    how = "superdisk: mean over all pairs of cylinders, and the whole stroke, of the curve that was made to have them."
    return Finding(_seeks_ms(study.disk(**DISKS["superdisk"])), how, decimals=2)


@experiment("schlosser2000.atlas-latency", "atlas10k")
@experiment("schlosser2000.superdisk-latency", "superdisk")
def latency(study: Study, name: str) -> Finding:
    """Rotational latency of a disk."""
    off, on = (microbenchmark(name, **changes) for changes in (NO_BUFFER, {}))
    without, with_buffer = study.runs([off, on])
    half_ms = study.disk(**DISKS[name]).rotation_ms / 2
    return Finding(
        float(without["rotation"]["mean_ms"]),
        f"{name}, the 10,000 random requests of section 4.1, buffer off: mean wait for the sector; half a turn is "
        f"{half_ms:.3f} ms.",
        decimals=2,
        scenarios=(off,),
        cause="A head that arrives at a random time waits for half a turn on average.",
        probes=(Probe("the drive's buffer on", float(with_buffer["rotation"]["mean_ms"])),),
    )


def _disk_bandwidth(study: Study, name: str, **more: Any) -> Finding:
    zones = study.disk(**DISKS[name]).zones()
    streaming, medium = float(zones["streaming_mb_s"].max()), float(zones["media_mb_s"].max())
    how = (
        f"{name}: a long read of the outermost zone, head and cylinder switches counted; {medium:.1f} MB/s pass under "
        "a head."
    )
    return Finding(streaming, how, decimals=1, probes=(Probe("what passes under a head", medium),), **more)


@experiment("schlosser2000.atlas-bandwidth")
def atlas_bandwidth(study: Study) -> Finding:
    """Streaming of the Atlas 10K."""
    cause = "The printed figure lies between the streaming bandwidth and the media rate."
    return _disk_bandwidth(study, "atlas10k", cause=cause)


@experiment("schlosser2000.superdisk-bandwidth")
def superdisk_bandwidth(study: Study) -> Finding:
    """Streaming of the SuperDisk."""
    cause = "The tracks of the model are made so that the media rate is the printed 125 MB/s."
    return _disk_bandwidth(study, "superdisk", cause=cause)


@experiment("schlosser2000.disk-zone-bandwidth")
def disk_zone_bandwidth(study: Study) -> Finding:
    """Outermost and innermost zones of the Atlas 10K."""
    mb_s = study.disk(**DISKS["atlas10k"]).zones()["streaming_mb_s"]
    outer, inner = float(mb_s.max()), float(mb_s.min())
    return Finding(
        outer / inner,
        f"atlas10k: long reads of the outermost and of the innermost zone, {outer:.1f} and {inner:.1f} MB/s.",
    )


#: Parts of the address space, and blocks read of each.
PARTS, LONG_BLOCKS = 20, 200_000


@experiment("schlosser2000.mems-uniform-bandwidth")
def mems_uniform_bandwidth(study: Study) -> Finding:
    """Long reads all over a G2."""
    sled = study.sled("g2-paper")
    starts = np.linspace(0, sled.capacity_blocks - LONG_BLOCKS, PARTS).astype(np.uint64)
    # Each after the one before; what the way there takes is not the part's own.
    ns = {name: times.astype(np.float64) for name, times in sled.serve(starts, LONG_BLOCKS).items()}
    took_ns = ns["end_ns"] - ns["start_ns"] - ns["seek_ns"] - ns["startup_ns"] - ns["command_ns"]
    mb_s = LONG_BLOCKS * sled.block_bytes / took_ns * 1e3
    how = (
        f"g2-paper: 20 reads of {LONG_BLOCKS * sled.block_bytes / 1e6:.0f} MB from the first to the last block, the "
        f"way there left out: {mb_s.min():.2f} to {mb_s.max():.2f} MB/s."
    )
    curve = tuple({"first block": int(start), "MB/s": float(each)} for start, each in zip(starts, mb_s, strict=True))
    return Finding(float(mb_s.max() / mb_s.min() - 1), how, decimals=5, curve=curve)
