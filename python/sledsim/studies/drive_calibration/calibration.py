"""Calibration of a drive: from the logs of fio's jobs to a device file and its errors on unseen requests."""

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim._core import SledsimError, TraceError, __version__
from sledsim.devices.device import Device
from sledsim.runs.serving import require_dilation
from sledsim.runs.session import Session
from sledsim.scenario.disksim import LeftOut
from sledsim.show.arguments import require_path
from sledsim.show.faults import make_error
from sledsim.show.files import write_atomically
from sledsim.show.progress import ProgressBar
from sledsim.show.shown import Plain, Tabled
from sledsim.show.tables import Table, number
from sledsim.studies.drive_calibration.fitting import Fit, Parameter, fit_behaviour, fit_mechanics, flush_times_ms
from sledsim.studies.drive_calibration.jobs import FLUSH, Job, make_jobs, read_description
from sledsim.studies.drive_calibration.serving import Log, serve_job, serve_model
from sledsim.studies.validation.drive import demerit_ms, left_out_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["DriveCalibration", "Residual", "calibrate_drive", "fit_drive"]

#: Share of the random reads, the first ones, that the drive is fitted to; the others test it.
FITTED_SHARE = 0.75
#: Jobs without which there is no calibration.
REQUIRED = ("rotation", "probes", "streams", "hits")
#: Sequential accesses that are simulated for the comparison.
COMPARED = 20_000
#: File with the finished steps of a calibration.
STATE = "calibration.state.json"


@dataclass(frozen=True)
class Residual:
    """Measured and modelled times of a kind of request.

    Parameters
    ----------
    kind
        The kind.
    requests
        Number of requests.
    measured_mean_ms, modelled_mean_ms
        Mean latencies.
    demerit_ms
        Root mean square horizontal distance between the distributions (Ruemmler and Wilkes 1994); ``None`` for means.
    mean_absolute_error_ms
        Mean absolute error of single requests, if the model has the phase of the platters; otherwise ``None``.
    unseen
        True if the drive was not fitted to these requests.
    """

    kind: str
    requests: int
    measured_mean_ms: float
    modelled_mean_ms: float
    demerit_ms: float | None
    mean_absolute_error_ms: float | None
    unseen: bool


class DriveCalibration(Tabled, Plain):
    """A drive model fitted to measurements; see :func:`calibrate_drive`.

    Parameters
    ----------
    device
        All keys of the device.
    parameters
        The fitted parameters with their intervals.
    residuals
        Errors by kind of request.
    source
        The name of the measurements.
    is_passive
        True if the measurements are a passive trace: the intervals are standard errors, and no residual was fitted.
    notes
        Sentences on the fit.
    left_out
        Parameters of the given model's file that the model does not have.
    """

    def __init__(
        self,
        device: Mapping[str, Any],
        parameters: list[Parameter],
        residuals: list[Residual],
        source: str,
        *,
        is_passive: bool = False,
        notes: Sequence[str] = (),
        left_out: Sequence[LeftOut] = (),
    ) -> None:
        self.device = dict(device)
        self.parameters = parameters
        self.residuals = residuals
        self.source = source
        self.is_passive = is_passive
        self.notes = list(notes)
        self.left_out = tuple(left_out)

    @property
    def demerit_ms(self) -> float:
        """The demerit of random reads that the drive was not fitted to."""
        return next(each.demerit_ms or 0.0 for each in self.residuals if each.unseen)

    def to_toml(self) -> str:
        """Return the device file."""
        return Device({"name": "calibrated", **self.device}).to_toml()

    def save(self, path: str | Path) -> None:
        """Write the device file, which :class:`sledsim.Device` and scenarios take.

        Parameters
        ----------
        path
            The file (``.toml``).
        """
        write_atomically(Path(path), self.to_toml())

    def tables(self) -> list[Table]:
        """Return the tables of parameters, of errors, and of parameters that the given model lacks."""
        rows = [[each.name, each.value, each.unit, each.interval] for each in self.parameters]
        only_errors = self.is_passive and not any(each.interval.startswith("±") for each in self.parameters)
        parameters = Table(
            ["parameter", "value", "unit", "standard error" if only_errors else "interval"],
            rows,
            title=f"drive of {self.source}",
            left=frozenset({2, 3}),
        )
        errors = [
            [
                each.kind,
                *([] if self.is_passive else ["no" if each.unseen else "yes"]),
                number(each.requests),
                number(each.measured_mean_ms),
                number(each.modelled_mean_ms),
                number(each.demerit_ms),
                number(each.mean_absolute_error_ms),
            ]
            for each in self.residuals
        ]
        figures = ["number", "measured", "modelled", "demerit", "mean error"]
        headers = ["requests", *figures] if self.is_passive else ["requests of", "fitted", *figures]
        title = "second half of the trace, not used for the fit" if self.is_passive else "measured and modelled"
        left = frozenset[int]() if self.is_passive else frozenset({1})
        title = f"{title}: means, demerit and mean absolute error in ms"
        compared = Table(headers, errors, title=title, left=left, notes=[f"note: {each}" for each in self.notes])
        lacking = left_out_table(self.left_out)
        return [parameters, compared, *([lacking] if lacking else [])]

    def to_dict(self) -> dict[str, Any]:
        """Return parameters, errors, notes and the device as plain dictionaries."""
        return {
            "source": self.source,
            "parameters": [asdict(each) for each in self.parameters],
            "residuals": [asdict(each) for each in self.residuals],
            "notes": self.notes,
            "left_out": [asdict(each) for each in self.left_out if each.changes_results],
            "device": self.device,
        }

    def __repr__(self) -> str:
        return f"<DriveCalibration of {self.source}: demerit {self.demerit_ms:.3g} ms>"


def calibrate_drive(folder: str | Path, *, dilation: float = 1.0, progress: bool = False) -> DriveCalibration:
    """Fit a drive model to the logs of the jobs that :func:`write_jobs` wrote.

    The random reads are split in time: the drive is fitted to the first three quarters, and tested on the last. A
    calibration that was interrupted continues from ``calibration.state.json`` in the folder.

    Parameters
    ----------
    folder
        The folder of the jobs, in which fio ran.
    dilation
        How many times slower than in reality the drive ran, as of :func:`sledsim.runs.serve`. Times of the logs are
        divided by it.
    progress
        True for a progress bar on a terminal.

    Raises
    ------
    SledsimError
        If the folder is not one of jobs, the dilation is not from 1 to 1000, or the logs show no rotation or no tracks.
    TraceError
        If a log is missing or malformed.
    """
    target = require_path(SledsimError, "folder", folder)
    require_dilation(dilation)
    capacity_bytes, scale = read_description(target)
    jobs = {job.name: job for job in make_jobs(capacity_bytes, scale=scale)}
    logs = {name: log for name, job in jobs.items() if (log := _read_log(target, job, dilation)) is not None}
    for name in REQUIRED:
        if name not in logs:
            message = f"no such file: run fio reads.fio in {target} first"
            raise make_error(TraceError, "missing", message, path=name, file=target / f"{name}_lat.*.log")
    return fit_drive(logs, jobs, capacity_bytes // 512, target.name, state=target / STATE, progress=progress)


def fit_drive(
    logs: Mapping[str, Log],
    jobs: Mapping[str, Job],
    capacity: int,
    source: str,
    *,
    state: Path | None = None,
    progress: bool = False,
) -> DriveCalibration:
    """Fit a drive model to logs in memory.

    Parameters
    ----------
    logs, jobs
        The logs and their jobs, by name.
    capacity
        Number of sectors of 512 bytes.
    source
        The name of the measurements.
    state
        File with the finished steps, which are not repeated for the same logs; ``None`` for no file.
    progress
        True for a progress bar on a terminal.
    """
    key = _digest(logs)
    kept = _read_state(state, key)
    fitted = {**logs, "probes": _part(logs["probes"], 0.0, FITTED_SHARE)}
    with ProgressBar("calibrating", "steps") as bar:

        def step(share: float, name: str) -> None:
            if progress:
                bar.show(share, name)

        step(0.05, "rotation, zones and seeks")
        if "mechanics" in kept:
            fit = _fit_of(kept["mechanics"])
        else:
            fit = fit_mechanics(fitted, capacity)
            _write_state(state, key, kept, "mechanics", fit)
        if "behaviour" in kept:
            fit = _fit_of(kept["behaviour"])
        else:
            fit_behaviour(fit, logs, jobs, lambda name: step(0.5, name))
            _write_state(state, key, kept, "behaviour", fit)
        step(0.9, "errors")
        residuals = _residuals(fit, logs, jobs)
    return DriveCalibration(fit.device, fit.parameters, residuals, source)


def _part(log: Log, first: float, last: float) -> Log:
    """Return the part of a log between two shares of its accesses."""
    number = len(log.stamps_ms)
    rows = slice(int(first * number), int(last * number))
    return Log(*(column[rows] for column in log))  # type: ignore[arg-type]


def _residuals(fit: Fit, logs: Mapping[str, Log], jobs: Mapping[str, Job]) -> list[Residual]:
    """Return the errors of the fitted drive."""
    import numpy as np

    device = {"name": "calibrated", **fit.device}
    unseen = _part(logs["probes"], FITTED_SHARE, 1.0)
    job = Job("unseen", "", unseen.lbns, unseen.sectors, np.zeros(len(unseen.lbns), dtype=np.int8))
    modelled = _in_phase(device, job, unseen.latency_ms)
    random = np.arange(len(job.lbns)) % 2 == (len(logs["probes"].lbns) - len(job.lbns)) % 2
    found = [
        _compared("random reads", unseen.latency_ms[random], modelled[random], paired=True, unseen=True),
        _compared("reads near the last one", unseen.latency_ms[~random], modelled[~random], paired=True, unseen=True),
    ]
    for name, log in logs.items():
        if name in ("rotation", "probes", "hits"):
            continue
        model = serve_model(fit.device, name, jobs, COMPARED)
        if name.startswith("flush-"):
            writes = int(name.removeprefix("flush-"))
            means = flush_times_ms(log, writes), flush_times_ms(model, writes)
            groups = len(log.stamps_ms) // writes
            found.append(Residual(f"flushes after {writes} writes", groups, *means, None, None, unseen=False))
            continue
        kind = {"streams": "sequential reads", "write-stream": "sequential writes", "writes": "random writes"}
        label = kind.get(name, name.replace("queue-", "random reads, outstanding: "))
        # fio does not log the accesses that are outstanding at the end.
        number = min(len(log.latency_ms), len(model.latency_ms))
        found.append(_compared(label, log.latency_ms[:number], model.latency_ms[:number]))
    return found


def _compared(
    kind: str,
    measured: "NDArray[np.float64]",
    modelled: "NDArray[np.float64]",
    *,
    paired: bool = False,
    unseen: bool = False,
) -> Residual:
    import numpy as np

    return Residual(
        kind,
        len(measured),
        float(measured.mean()),
        float(modelled.mean()),
        demerit_ms(measured, modelled),
        float(np.abs(modelled - measured).mean()) if paired else None,
        unseen,
    )


def _in_phase(device: Mapping[str, Any], job: Job, measured: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return the modelled latencies of reads, with the platters turned so that the first of them agree best.

    The phase of the platters at the beginning of a measurement is arbitrary: it is one number for all reads.
    """
    import numpy as np

    period = 60_000 / device["rotation_rpm"]

    def served(turned_ms: float, reads: int) -> "NDArray[np.float64]":
        session = Session({"device": dict(device)})
        session.advance(int(turned_ms * 1e6))
        rows = slice(0, reads)
        return serve_job(
            session, replace(job, lbns=job.lbns[rows], sectors=job.sectors[rows], ops=job.ops[rows])
        ).latency_ms

    def error(turned_ms: float, reads: int) -> float:
        return float(np.abs(served(turned_ms, reads) - measured[:reads]).mean())

    best = min(np.arange(0.0, 1.0, 0.01) * period, key=lambda turned: error(turned, 60))
    best = min((best + np.linspace(-0.02, 0.02, 21) * period) % period, key=lambda turned: error(turned, 300))
    return served(float(best), len(job.lbns))


def _read_log(folder: Path, job: Job, dilation: float = 1.0) -> Log | None:
    """Read the newest latency log of a job in the order of its lines, in the drive's time; ``None`` if it is absent."""
    import numpy as np

    # fio numbers the jobs of a file: the log of the second one is NAME_lat.2.log.
    paths = sorted(folder.glob(f"{job.name}_lat.*.log"), key=lambda path: path.stat().st_mtime_ns)
    if not paths:
        return None
    path = paths[-1]
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "loadtxt: input contained no data")
            columns = np.loadtxt(path, delimiter=",", usecols=(0, 1, 2, 3, 4), dtype=np.int64, ndmin=2).T
    except OSError as error:
        raise make_error(TraceError, "unreadable", str(error.strerror), path=job.name, file=path) from None
    except ValueError:
        number, line = _bad_line(path)
        message = (
            f"{path}:{number}: {line!r}: expected time, latency, direction, size and offset, whole numbers separated "
            "by commas, from log_offset=1"
        )
        raise make_error(TraceError, "unreadable", message, path=job.name, file=path) from None
    # fio does not log flushes, nor the accesses that are outstanding when it has read the last line of the pattern.
    logged = int((job.ops != FLUSH).sum())
    if columns.shape[1] < logged - job.outstanding + 1:
        message = f"{columns.shape[1]:,} of {logged:,} accesses: the job did not end; run it again"
        raise make_error(TraceError, "missing", message, path=job.name, file=path)
    stamps, latency, direction, size, offset = columns
    ordered, expected = job.outstanding == 1, job.lbns[job.ops != FLUSH]
    if not (np.array_equal(offset // 512, expected) if ordered else np.isin(offset // 512, expected).all()):
        message = f"the accesses are not those of {job.name}.iolog: run the job again"
        raise make_error(TraceError, "misfit", message, path=job.name, file=path)
    return Log(stamps / dilation, latency / 1e6 / dilation, direction == 0, offset // 512, size // 512)


def _bad_line(path: Path) -> tuple[int, str]:
    """Return number and text of the first line of a log that does not begin with five whole numbers."""
    with path.open(errors="replace") as file:
        for number, text in enumerate(file, 1):
            fields = [each.strip() for each in text.split(",")[:5]]
            if text.strip() and (len(fields) < 5 or not all(each.lstrip("-").isdecimal() for each in fields)):
                return number, text.strip()[:60]
    return 1, ""


def _digest(logs: Mapping[str, Log]) -> str:
    """Return a hash of logs and of the version that reads them."""
    found = hashlib.sha256(__version__.encode())
    for name, log in sorted(logs.items()):
        found.update(name.encode())
        for column in log:
            found.update(column.tobytes())
    return found.hexdigest()


def _read_state(path: Path | None, key: str) -> dict[str, Any]:
    if path is None or not path.is_file():
        return {}
    try:
        kept = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) and kept.get("logs") == key else {}


def _write_state(path: Path | None, key: str, kept: dict[str, Any], step: str, fit: Fit) -> None:
    kept |= {"logs": key, step: {"device": fit.device, "parameters": [asdict(each) for each in fit.parameters]}}
    if path is not None:
        write_atomically(path, json.dumps(kept))


def _fit_of(kept: Mapping[str, Any]) -> Fit:
    return Fit(dict(kept["device"]), [Parameter(**each) for each in kept["parameters"]])
