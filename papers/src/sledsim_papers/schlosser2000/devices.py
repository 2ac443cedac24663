"""Schlosser et al. 2000, Tables 2 and 3 and section 4.3: the generations, and the disks beside them, as printed."""

from typing import TYPE_CHECKING, Any

import numpy as np

from sledsim.devices import DiskDrive
from sledsim_papers.harness.finding import Finding, Probe
from sledsim_papers.harness.ledger import claims, figures_of
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study
from sledsim_papers.schlosser2000.microbenchmark import NO_BUFFER, microbenchmark

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GENERATIONS"]

#: The generations, as Table 2 prints them.
GENERATIONS = ("g1-paper", "g2-paper", "g3-paper")


@experiment("schlosser2000.access-speed")
def access_speed(study: Study) -> Finding:
    """Width times rate."""
    sleds = [study.sled(name) for name in GENERATIONS]
    widest_nm = sleds[0].parameters["bit_nm"]
    at_widest = tuple(float(sled.parameters["bit_rate_kbit_s"] * widest_nm * 1e-3) for sled in sleds)
    return Finding(
        tuple(sled.access_speed_m_s * 1e3 for sled in sleds),
        f"{', '.join(GENERATIONS)}: width of a bit times the rate of a tip, both from the same table.",
        decimals=1,
        cause="The speeds printed are the rates printed times the bits of G1, whichever the generation's own are: a "
        "slip of the paper.",
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
        cause="The figure printed is that of the tips of Table 2, which take 1.28 W.",
        probes=(Probe("the 1,280 tips of Table 2", study.sled("g2-paper").peak_bandwidth_mb_s),),
    )


def _seeks_ms(drive: DiskDrive) -> tuple[float, float, float, float]:
    """Return the mean of seeks over all pairs of cylinders and the full stroke, of reads and of writes."""
    cylinders = drive.cylinders
    distance = np.arange(1, cylinders)
    pairs = 2 * (cylinders - distance) / (cylinders * (cylinders - 1))

    def mean(times: "NDArray[np.float64]") -> float:
        return float((times * pairs).sum())

    curves = [drive.seek_ms(distance, read=read) for read in (True, False)]
    return mean(curves[0]), mean(curves[1]), float(curves[0][-1]), float(curves[1][-1])


@experiment("schlosser2000.atlas-seek")
def atlas_seek(study: Study) -> Finding:
    """Seeks of the Atlas 10K."""
    drive = study.disk("atlas10k")
    ours = _seeks_ms(drive)
    # The last but a thirtieth of the stroke, which a run of random requests hardly ever crosses.
    nearly = [
        float(drive.seek_ms([drive.cylinders * 29 // 30], read=read)[0])
        for read in (True, False)
    ]  # fmt: skip
    _, _, printed_ms, _ = figures_of(claims()["schlosser2000.atlas-seek"].published) or ()
    longer_ms = ours[2] - float(printed_ms)
    return Finding(
        ours,
        "atlas10k, DiskSim's parameters of the drive: mean over all pairs of cylinders, and the whole stroke.",
        decimals=2,
        cause=f"DiskSim's curve for this drive was measured on one, and its whole stroke takes {longer_ms:.2f} ms "
        "longer than the table's; the means agree.",
        probes=(Probe("the whole stroke less a thirtieth of it", (ours[0], ours[1], nearly[0], nearly[1])),),
    )


@experiment("schlosser2000.superdisk-seek")
def superdisk_seek(study: Study) -> Finding:
    """Seeks of the SuperDisk."""
    how = "superdisk: mean over all pairs of cylinders, and the whole stroke, of the curve that was made to have them."
    return Finding(_seeks_ms(study.disk("superdisk")), how, decimals=2)


@experiment("schlosser2000.atlas-latency", "atlas10k")
@experiment("schlosser2000.superdisk-latency", "superdisk")
def latency(study: Study, name: str) -> Finding:
    """Rotational latency of a disk."""
    off, on = (microbenchmark(name, **changes) for changes in (NO_BUFFER, {}))
    without, with_buffer = study.runs([off, on])
    half_ms = study.disk(name).rotation_ms / 2
    return Finding(
        float(without["rotation"]["mean_ms"]),
        f"{name}, the 10,000 random requests of section 4.1, buffer off: mean wait for the sector; half a turn is "
        f"{half_ms:.3f} ms.",
        decimals=2,
        scenarios=(off,),
        cause="A head that comes to its track at any time waits for half a turn on average. What is less than that in "
        "the table the paper does not say; with the buffer on, which takes the writes, the mean over all requests is "
        "less.",
        probes=(Probe("the drive's buffer on", float(with_buffer["rotation"]["mean_ms"])),),
    )


def _bandwidth(study: Study, name: str, **more: Any) -> Finding:
    zones = study.disk(name).zones()
    streaming, medium = float(zones["streaming_mb_s"].max()), float(zones["media_mb_s"].max())
    how = (
        f"{name}: a long read of the outermost zone, head and cylinder switches counted; {medium:.1f} MB/s pass under "
        "a head."
    )
    return Finding(streaming, how, decimals=1, probes=(Probe("what passes under a head", medium),), **more)


@experiment("schlosser2000.atlas-bandwidth")
def atlas_bandwidth(study: Study) -> Finding:
    """Streaming of the Atlas 10K."""
    cause = (
        "The printed figure lies between the two: DiskSim's skews of the drive cost a sixth of what passes under a "
        "head."
    )
    return _bandwidth(study, "atlas10k", cause=cause)


@experiment("schlosser2000.superdisk-bandwidth")
def superdisk_bandwidth(study: Study) -> Finding:
    """Find what passes under a head of the SuperDisk."""
    zones = study.disk("superdisk").zones()
    how = (
        "superdisk: what passes under a head in the outermost zone, whose tracks were made so; a long read of it, "
        f"switches counted, has {float(zones['streaming_mb_s'].max()):.1f} MB/s."
    )
    return Finding(float(zones["media_mb_s"].max()), how, decimals=1)


@experiment("schlosser2000.disk-zone-bandwidth")
def disk_zone_bandwidth(study: Study) -> Finding:
    """Outermost and innermost zones of the Atlas 10K."""
    mb_s = study.disk("atlas10k").zones()["streaming_mb_s"]
    outer, inner = float(mb_s.max()), float(mb_s.min())
    return Finding(
        1 - inner / outer,
        f"atlas10k: long reads of the outermost and of the innermost zone, {outer:.1f} and {inner:.1f} MB/s; the share "
        "of the larger.",
        cause="The share depends on which of the two it is of, and about 40 % is said of disks in general.",
        probes=(Probe("the difference as a share of the smaller", outer / inner - 1),),
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
