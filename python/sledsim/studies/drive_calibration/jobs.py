"""Jobs for fio that measure a drive: access patterns, and the files that make fio run them."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sledsim._core import SledsimError
from sledsim.show.faults import make_error

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SECTOR_BYTES", "Job", "JobFiles", "make_jobs", "read_description", "write_jobs"]

#: fio's patterns and all addresses of a calibration are in units of this size.
SECTOR_BYTES = 512
#: Size of a random access, sectors: a physical sector of a 512e drive.
SMALL = 8
#: Sizes of an access of a sequential stream, sectors, by the capacity up to which they are used. Several of the small
#: ones fit on a track, so that the stream shows where tracks end; the large ones are not slower than the medium even if
#: commands take long. They are prime multiples of 4 KiB: accesses then begin at every 4 KiB of a track, which
#: locates its ends to 4 KiB.
STREAM = {80_000_000_000: (8 * 7, 8 * 31), 300_000_000_000: (8 * 13, 8 * 31), 1 << 60: (8 * 31, 8 * 97)}
#: Seed of the patterns.
SEED = 1
#: The smallest drive with room for the patterns, and the largest one, bytes.
LEAST_BYTES, MOST_BYTES = 100_000_000, 1 << 60

#: Operations of a pattern.
READ, WRITE, FLUSH = 0, 1, 2


@dataclass(frozen=True)
class Job:
    """A sequence of accesses that fio runs with a number of them outstanding.

    Parameters
    ----------
    name
        The name of the job and of its files.
    purpose
        The parameters that it measures.
    lbns, sectors
        First sector and number of sectors of each access; 0 for flushes.
    ops
        0 for a read, 1 for a write, 2 for a flush.
    outstanding
        Number of outstanding accesses.
    """

    name: str
    purpose: str
    lbns: "NDArray[np.int64]" = field(repr=False)
    sectors: "NDArray[np.int64]" = field(repr=False)
    ops: "NDArray[np.int8]" = field(repr=False)
    outstanding: int = 1

    @property
    def writes(self) -> bool:
        """True if the job overwrites data."""
        return bool((self.ops == WRITE).any())


def make_jobs(capacity_bytes: int, *, scale: float = 1.0) -> list[Job]:
    """Return the jobs for a drive.

    Parameters
    ----------
    capacity_bytes
        Capacity of the drive, from 100 MB to 1 EiB.
    scale
        Factor on the number of random accesses and of streams; less than 1 measures faster and less precisely.

    Raises
    ------
    SledsimError
        If the capacity is out of range.
    """
    import numpy as np

    if not LEAST_BYTES <= capacity_bytes <= MOST_BYTES:
        message = f": {capacity_bytes:,} bytes: expected a drive of {LEAST_BYTES:,} to {MOST_BYTES:,} bytes"
        raise make_error(SledsimError, "out-of-range", message, path="capacity_bytes", value=capacity_bytes)
    sectors = capacity_bytes // SECTOR_BYTES
    streams = _streams(sectors, next(sizes for most, sizes in STREAM.items() if capacity_bytes <= most), scale)

    def count(number: int) -> int:
        return max(round(number * scale), 64)

    def job(
        name: str,
        purpose: str,
        lbns: "NDArray[np.int64]",
        size: "NDArray[np.int64] | int" = SMALL,
        op: int = READ,
        depth: int = 1,
    ) -> Job:
        lbns = np.minimum(lbns // SMALL * SMALL, sectors // SMALL * SMALL - size)
        sizes = np.broadcast_to(size, lbns.shape).copy()
        return Job(name, purpose, lbns, sizes, np.full(len(lbns), op, dtype=np.int8), depth)

    def random_lbns(name: str, number: int) -> "NDArray[np.int64]":
        return generator(name).integers(0, sectors - SMALL, number)

    jobs = [
        job("rotation", "rotational period", _revisits(generator("rotation"), sectors, count(512))),
        job("probes", "sectors, zones, seek curve", _probes(generator("probes"), sectors, count(16_000))),
        job("streams", "tracks, media rates", *streams),
        _hits(generator("hits"), sectors),
    ]
    jobs += [
        job(f"queue-{depth}", "command queue", random_lbns(f"queue-{depth}", count(2000)), depth=depth)
        for depth in (2, 4, 8, 16, 32)
    ]
    jobs += [
        job("writes", "settling of writes, write cache", _probes(generator("writes"), sectors, count(4000)), op=WRITE),
        job("write-stream", "media rate of writes", np.arange(2048) * 2048 + sectors // 3, 2048, WRITE),
        *(_flushes(generator(f"flush-{number}"), sectors, number) for number in (1, 8, 64)),
    ]
    return jobs


def generator(name: str) -> "np.random.Generator":
    """Return the random numbers of a job."""
    import numpy as np

    return np.random.default_rng([SEED, *name.encode()])


def _revisits(random: "np.random.Generator", sectors: int, places: int) -> "NDArray[np.int64]":
    """Return places that are read eight times each: two reads of a place end a whole number of revolutions apart."""
    import numpy as np

    chosen = random.integers(0, sectors - SMALL, places)
    return np.concatenate([random.permutation(chosen) for _ in range(8)])


def _probes(random: "np.random.Generator", sectors: int, number: int) -> "NDArray[np.int64]":
    """Return accesses, half of them anywhere and half at distances from the access before of every magnitude."""
    import numpy as np

    lbns = random.integers(0, sectors - SMALL, number)
    near = np.exp(random.uniform(np.log(SMALL), np.log(sectors / 4), number)) * random.choice([-1, 1], number)
    for i in range(1, number, 2):
        reached = int(lbns[i - 1] + near[i])
        lbns[i] = reached if 0 <= reached < sectors - SMALL else int(lbns[i - 1] - near[i])
    return np.clip(lbns, 0, sectors - SMALL)


def _streams(sectors: int, sizes: tuple[int, int], scale: float) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Return sequential reads at places over the whole drive, first of the smaller and then of the larger size.

    Every eighth stream of the smaller size is 16 times as long.
    """
    import numpy as np

    places = max(round(96 * scale), 24)
    # The last ones are in the last zone, even if it is narrow.
    starts = np.linspace(0, sectors - min(1 << 17, sectors // places), places).astype(np.int64)
    is_long = np.arange(places) % 8 == 0
    lbns, counts = [], []
    for size, longest in zip(sizes, (1 << 21, 1 << 17), strict=True):
        lengths = np.where(is_long, longest, 1 << 17)
        lengths = np.minimum(lengths, np.where(is_long, 4, 1) * (sectors // places))
        lengths = np.minimum(lengths, sectors - starts)
        parts = [start + np.arange(0, length - size, size) for start, length in zip(starts, lengths, strict=True)]
        lbns += parts
        counts += [np.full(len(part), size) for part in parts]
    return np.concatenate(lbns), np.concatenate(counts)


def _hits(random: "np.random.Generator", sectors: int) -> Job:
    """Return reads that are repeated at once, so that the second comes from the drive's buffer."""
    import numpy as np

    sizes = np.tile([8, 16, 32, 64, 128, 256], 24)
    lbns = random.integers(0, sectors - 256, len(sizes)) // SMALL * SMALL
    reads = np.zeros(2 * len(sizes), dtype=np.int8)
    return Job("hits", "command overhead, link rate", np.repeat(lbns, 2), np.repeat(sizes, 2), reads)


def _flushes(random: "np.random.Generator", sectors: int, writes: int) -> Job:
    """Return groups of random writes, each followed by a flush."""
    import numpy as np

    groups = 500 // writes + 30
    lbns = random.integers(0, sectors - SMALL, (groups, writes + 1)) // SMALL * SMALL
    ops = np.full((groups, writes + 1), WRITE, dtype=np.int8)
    ops[:, -1] = FLUSH
    lbns[:, -1] = 0
    sizes = np.where(ops == FLUSH, 0, SMALL)
    return Job(f"flush-{writes}", "flush", lbns.ravel(), sizes.ravel(), ops.ravel())


@dataclass(frozen=True)
class JobFiles:
    """The files that :func:`write_jobs` wrote.

    Parameters
    ----------
    reads, writes
        The job file that only reads, and the one that overwrites data on the drive.
    jobs
        The jobs.
    """

    reads: Path
    writes: Path
    jobs: list[Job]


#: File that describes the drive and the jobs.
DESCRIPTION = "calibration.json"
#: Lines before and after the accesses of a pattern in fio's format.
IOLOG_HEAD = "fio version 2 iolog\n{0} add\n{0} open\n"
IOLOG_TAIL = "{0} close\n"


def write_jobs(folder: str | Path, device: str, capacity_bytes: int, *, scale: float = 1.0) -> JobFiles:
    """Write fio's job files and access patterns for the calibration of a drive.

    Parameters
    ----------
    folder
        The folder, which is created.
    device
        The path of the drive on the measuring machine, such as ``/dev/sdb``.
    capacity_bytes
        Its capacity.
    scale
        As for :func:`make_jobs`.

    Raises
    ------
    SledsimError
        If the capacity is out of range, or the path contains a blank or a colon, which fio cannot read.
    """
    if any(each in device for each in " :\t\n"):
        message = f"{device!r}: fio cannot read paths with blanks or colons: use another name of the drive"
        raise make_error(SledsimError, "conflict", message, path="device", value=device)
    jobs = make_jobs(capacity_bytes, scale=scale)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    described = {"device": device, "capacity_bytes": capacity_bytes, "scale": scale}
    (target / DESCRIPTION).write_text(json.dumps(described, indent=2) + "\n")
    for job in jobs:
        (target / f"{job.name}.iolog").write_text(_iolog(job, device))
    reads, writes = target / "reads.fio", target / "writes.fio"
    note = "# Measures {}; {}. Run it in this folder: fio {}\n"
    for file, chosen, effect in (
        (reads, [job for job in jobs if not job.writes], "only reads"),
        (writes, [job for job in jobs if job.writes], "OVERWRITES DATA ON THE DRIVE"),
    ):
        file.write_text(note.format(device, effect, file.name) + "".join(_section(job) for job in chosen))
    return JobFiles(reads, writes, jobs)


def _section(job: Job) -> str:
    engine = "libaio" if job.outstanding > 1 else "psync"
    lines = [
        f"\n# {job.purpose}",
        f"[{job.name}]",
        "direct=1",
        "thread=1",
        f"ioengine={engine}",
        f"iodepth={job.outstanding}",
        f"read_iolog={job.name}.iolog",
        "replay_no_stall=1",
        f"write_lat_log={job.name}",
        "log_offset=1",
        "stonewall",
    ]
    return "\n".join([*lines, ""])


def _iolog(job: Job, device: str) -> str:
    """Return the accesses of a job in fio's format."""
    name: Callable[[int], str] = ("read", "write", "sync").__getitem__
    lines = [
        f"{device} {name(op)} {lbn * SECTOR_BYTES} {sectors * SECTOR_BYTES}\n"
        for op, lbn, sectors in zip(job.ops.tolist(), job.lbns.tolist(), job.sectors.tolist(), strict=True)
    ]
    return "".join([IOLOG_HEAD.format(device), *lines, IOLOG_TAIL.format(device)])


def read_description(folder: Path) -> tuple[int, float]:
    """Return the capacity in bytes and the scale for which :func:`write_jobs` wrote the jobs of a folder.

    Parameters
    ----------
    folder
        The folder.

    Raises
    ------
    SledsimError
        If the folder has no valid description.
    """
    path = folder / DESCRIPTION
    if folder.is_dir() and not path.exists():
        message = f"has no jobs: name a trace file, or write the jobs first, with sledsim calibrate --jobs {folder}"
        raise make_error(SledsimError, "missing", message, path="folder", value=str(folder), file=folder)
    try:
        described = json.loads(path.read_text())
        return int(described["capacity_bytes"]), float(described["scale"])
    except (OSError, ValueError, KeyError, TypeError):
        message = f"not a folder of jobs: write the jobs first, with sledsim calibrate --jobs {folder}"
        raise make_error(SledsimError, "missing", message, path="folder", value=str(folder), file=path) from None
