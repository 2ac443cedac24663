"""Jobs on a simulated drive: the log that fio would write."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sledsim.runs.session import Session
from sledsim.studies.drive_calibration.jobs import FLUSH, READ, SECTOR_BYTES, Job

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Log", "log_lines", "serve_job", "serve_model"]

#: Mean time from the end of an access to the next one, ns: that of fio on an idle machine.
GAP_NS = 3000


class Log(NamedTuple):
    """A latency log of fio with offsets, in the order of its lines.

    Parameters
    ----------
    stamps_ms
        When each access was complete, rounded down to milliseconds.
    latency_ms
        Latency.
    reads
        True for reads, false for writes. Flushes are not in logs.
    lbns, sectors
        First sector and number of sectors of 512 bytes.
    """

    stamps_ms: "NDArray[np.float64]"
    latency_ms: "NDArray[np.float64]"
    reads: "NDArray[np.bool_]"
    lbns: "NDArray[np.int64]"
    sectors: "NDArray[np.int64]"


def serve_job(session: Session, job: Job, *, jitter_us: float = 0.0, seed: int = 0) -> Log:
    """Serve a job by a session, and return the log.

    Parameters
    ----------
    session
        The drive. Its time advances.
    job
        The job.
    jitter_us
        Scale of the delays of completions (absolute values of normal ones), µs.
    seed
        Seed of the delays, and of the times between accesses.
    """
    import numpy as np

    random = np.random.default_rng(seed)
    number = len(job.lbns)
    late = np.abs(random.normal(0.0, jitter_us * 1e3, number)).astype(np.int64).tolist()
    gaps = random.integers(GAP_NS // 2, GAP_NS * 3 // 2, number).tolist()
    lbns, sectors, ops = job.lbns.tolist(), job.sectors.tolist(), job.ops.tolist()
    started = now = session.now_ns
    under_way: dict[int, tuple[int, int]] = {}
    ended: list[tuple[int, int, int]] = []
    issued = 0
    while issued < number or under_way:
        while issued < number and len(under_way) < job.outstanding:
            if ops[issued] == FLUSH:
                request = session.flush(at_ns=now)
            else:
                request = session.submit(lbns[issued], sectors[issued], read=ops[issued] == READ, at_ns=now)
            under_way[request] = (issued, now)
            issued += 1
        for done in session.advance():
            row, began = under_way.pop(done.id)
            end = done.end_ns + late[row]
            ended.append((row, began, end))
            now = max(now, end + gaps[row])
    order, begins, ends = np.array(ended).T
    kept = job.ops[order] != FLUSH
    session.advance(max(now, session.now_ns))
    return Log(
        ((ends - started) // 1_000_000).astype(np.float64)[kept],
        ((ends - begins) / 1e6)[kept],
        job.ops[order][kept] == READ,
        job.lbns[order][kept],
        job.sectors[order][kept],
    )


#: Writes before a stream of writes that fill the write cache.
BEFORE = 1024


def serve_model(device: "Mapping[str, Any]", name: str, jobs: "Mapping[str, Job]", accesses: int | None = None) -> Log:
    """Serve a job by a model of a drive, and return the log.

    A stream of writes starts with a write cache that the writes of the job ``writes`` have filled.

    Parameters
    ----------
    device
        The keys of the device.
    name, jobs
        The name of the job, and all jobs.
    accesses
        Number of accesses, the first of the job; ``None`` for all.
    """
    session = Session({"device": {"name": "calibrated", **device}})
    if name == "write-stream":
        serve_job(session, _rows(jobs["writes"], slice(-BEFORE, None)))
    return serve_job(session, _rows(jobs[name], slice(accesses)))


def _rows(job: Job, rows: slice) -> Job:
    return replace(job, lbns=job.lbns[rows], sectors=job.sectors[rows], ops=job.ops[rows])


def log_lines(log: Log) -> str:
    """Return a log in fio's format: time, latency, direction, size, offset, priority."""
    rows = zip(*(column.tolist() for column in log), strict=True)
    return "".join(
        f"{round(stamp)}, {round(latency * 1e6)}, {int(not read)}, {sectors * SECTOR_BYTES}, {lbn * SECTOR_BYTES}, 0\n"
        for stamp, latency, read, lbn, sectors in rows
    )
