"""Schlosser et al. 2000: three generations of devices and their springs."""

from functools import partial
from typing import TYPE_CHECKING

from sledsim.devices import MemsStorage
from sledsim_papers.harness.finding import Finding, Probe
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study

# What registers experiments of a subject of its own.
from sledsim_papers.schlosser2000 import (  # noqa: F401
    application_claims,
    cache,
    contradictions,
    devices,
    drawings,
    energy,
    failures,
    tradeoffs,
)
from sledsim_papers.schlosser2000.microbenchmark import NO_BUFFER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["GENERATIONS", "reversals_ms", "settling"]

GENERATIONS = ("g1", "g2", "g3")

#: The speed at which the force of a reversal is taken, over the access speed: the sled then hardly leaves the place,
#: and the force is within 1e-6 of that there.
SLOWLY = 1e-3


def settling(study: Study, generation: str) -> tuple[str, float]:
    """Return the catalogue's device whose resonant frequency gives the settling time of Table 2, and that time.

    The first two generations take the 739 Hz of DiskSim's sets: the 729 Hz printed do not fit the times printed.
    """
    device = "g3-paper" if generation == "g3" else generation
    return device, study.sled(device).settle_ms


def _settle(generation: str, study: Study) -> Finding:
    device, settle_ms = settling(study, generation)
    rows = [
        {"device": each.name, "resonance, Hz": each.parameters["resonance_hz"], "settling, ms": each.settle_ms}
        for each in map(study.sled, dict.fromkeys([device, f"{generation}-paper"]))
    ]
    how = f"Constants over 2 pi times the resonant frequency; {device}, beside it the frequency that the paper prints."
    return Finding(settle_ms, how, decimals=4, curve=tuple(rows))


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
    # Away from the centre is pushed a sled that comes in, towards it one that goes out.
    forces = [_free_reversal_ms(slow) / slow.seek_y_ms(edge_um, edge_um, way, -way).item() for way in (-1, 1)]
    how = (
        "g2: time of a reversal without springs over that at the end of travel, at a thousandth of the access speed, "
        "where the sled does not leave its place; coming in, and going out."
    )
    return Finding((forces[0], forces[1]), how)


@experiment("schlosser2000.spring-turnaround")
def spring_turnaround(study: Study) -> Finding:
    """Reversal at the edge of a sled that comes in, over one without springs."""
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
        "The paper gives one figure for all places, and it lies below a reversal without springs, even if the way back "
        "over the servo burst is left out: only a sled that moves away from the centre turns so soon. One that moves "
        "inward turns against the springs."
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

    drive = study.disk("atlas10k", **NO_BUFFER)
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
