"""Refinement of a drive model with a passive trace: some of its times, fitted to the first half of the trace."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sledsim._core import SledsimError, TraceError
from sledsim.runs.running import run_resolved
from sledsim.scenario.reading import resolve
from sledsim.scenario.system_tree import drive_of
from sledsim.show.faults import make_error
from sledsim.show.progress import ProgressBar
from sledsim.studies.drive_calibration.calibration import DriveCalibration, Residual
from sledsim.studies.drive_calibration.fitting import Parameter
from sledsim.studies.drive_calibration.passive import (
    ASSUMPTIONS,
    UNCHANGED,
    PassiveAccesses,
    PassiveModel,
    model_of_trace,
)
from sledsim.studies.validation.drive import MEASURED, demerit_ms, measured_model, measured_trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sledsim.studies.validation.drive import MeasuredModel
    from sledsim.traces.trace import TraceLike

__all__ = ["refine_drive"]

#: Changes that are fitted: name, unit, step of the differences. Times are added; scales multiply.
CHANGES = (
    ("seek curve, added", "ms", 0.1),
    ("seek curve, scale", "", 0.03),
    ("head_switch_ms, added", "ms", 0.1),
    ("write_settle_ms, added", "ms", 0.1),
    ("read_completion_ms, added", "ms", 0.05),
    ("write_completion_ms, added", "ms", 0.05),
    ("read hit overhead, added", "ms", 0.05),
    ("bus_ms_per_block, scale", "", 0.05),
)
#: Changes that are factors less 1.
SCALES = ("seek curve, scale", "bus_ms_per_block, scale")
#: Keys of the overheads of read hits.
READ_HITS = ("read_hit_after_read_ms", "read_hit_after_write_ms")
#: Parts of the first half, in time, for the cross-validation.
FOLDS = 5
#: Least number of folds whose error and whose demerit must fall.
LEAST_FOLDS = 4
#: Least reduction of the mean error, as a share, and least ratios of the reductions of error and demerit to their
#: standard errors.
LEAST_GAIN, ERROR_RATIO, DEMERIT_RATIO = 0.02, 2.0, 1.0
#: Least number of requests: 100 in each fold, and as many in the second half.
LEAST_REQUESTS = 1000
#: Limit of the error of a single request in the mean absolute error, revolutions.
LARGEST_ERROR = 0.1
#: Errors below this one are not reduced further, ms.
SMALLEST_ERROR_MS = 0.02
#: Most Gauss-Newton steps, and the least reduction of the error, as a share, that warrants another one.
STEPS, CONVERGED = 4, 0.001
#: A change of one step costs as much as this mean square, ms²: changes without effect stay 0.
STEP_COST = 1e-4
#: Standard errors by which a change must differ from 0 to be identifiable by itself.
SIGNIFICANT = 2.0
#: Changes that are printed as 0.
NEGLIGIBLE = 0.0005
#: Simulations whose times are kept: more than those of a step and of its folds.
KEPT = 32
#: Demerit of the model as given, as a share of the mean, above which it may be that of another drive.
OTHER_DRIVE = 0.5
#: Keys of parts of a drive that stay as given, and their names.
KEPT_PARTS = {"read_retries": "read retries", "command_queue": "command queue", "write_cache": "write cache"}


def refine_drive(
    specs: str | Path | Mapping[str, Any] | None, trace: "TraceLike", *, progress: bool = False
) -> DriveCalibration:
    """Fit times of a drive model to the first half of a trace, and compare both with the second half.

    Layout and buffer stay: a passive trace does not show them well enough. The changes are fitted jointly, by
    Gauss-Newton steps on the error: the demerit of reads and writes plus the mean absolute error, in which the error of
    a request is limited. The change with the smallest ratio of value to standard error is then set to 0 and the others
    are fitted again, until none is left. A cross-validation with five folds in time chooses among these sets of changes
    and the model as given. Standard errors are those of the jackknife over the folds.

    Parameters
    ----------
    specs
        As for :func:`~sledsim.studies.validate_drive`; ``None`` to estimate the model, with its layout, from the first
        half of the trace.
    trace
        As for :func:`~sledsim.studies.validate_drive`.
    progress
        True for a progress bar on a terminal.

    Raises
    ------
    SledsimError
        If the drive is not a disk, or as for :func:`~sledsim.studies.validate_drive`.
    TraceError
        If the trace has fewer than 1000 requests, or does not show the layout of a drive without a model.
    """
    import numpy as np

    estimated: PassiveModel | None = None
    if specs is None:
        estimated = _estimated_model(trace, progress=progress)
        specs = estimated.device
    model = measured_model(specs, trace)
    replay = _Replay(model)
    fit = _choose(replay, progress=progress)
    device = _changed(replay.device, fit.changes)
    parameters = _corrections(replay, fit) if estimated is None else estimated.parameters(device)
    number = len(replay.measured)
    start, fitted = (replay.serve(changes, number) for changes in (0 * fit.changes, fit.changes))
    residuals, notes = [], []
    if estimated is not None:
        notes.append(ASSUMPTIONS)
    elif not fit.changes.any():
        notes.append("no correction is accepted: the model stays as given")
    for kind, rows in (("all", np.ones(number, dtype=np.bool_)), ("reads", replay.read), ("writes", ~replay.read)):
        second = rows & (np.arange(number) >= replay.half)
        if second.any():
            pair = [
                Residual(
                    label,
                    int(second.sum()),
                    float(replay.measured[second].mean()),
                    float(found[second].mean()),
                    demerit_ms(replay.measured[second], found[second]),
                    float(np.abs(found[second] - replay.measured[second]).mean()),
                    unseen=True,
                )
                for label, found in ((f"{kind}, fitted", fitted), (f"{kind}, as given", start))
            ]
            residuals += pair if estimated is None else pair[:1]
            notes += _notes(kind, *pair) if estimated is None else []
    return DriveCalibration(
        device,
        parameters,
        residuals,
        Path(model.trace.name).name,
        is_passive=True,
        notes=notes,
        left_out=model.left_out,
    )


def _estimated_model(trace: "TraceLike", *, progress: bool) -> PassiveModel:
    """Return the model of a drive that is estimated from the first half of a trace."""
    import numpy as np

    opened, columns = measured_trace(trace)
    file = Path(opened.name).name
    requests = len(columns["read"])
    _require_requests(requests, opened.path)
    lbns, sectors = (columns[name].astype(np.int64) // 512 for name in ("offset_bytes", "bytes"))
    if opened.format == MEASURED:
        service = columns["service_ns"].astype(np.float64) / 1e6
        gaps = columns["gap_ns"].astype(np.float64) / 1e6
        end = np.cumsum(service) + np.concatenate([[0.0], np.cumsum(gaps)[:-1]])
    else:
        service = columns["response_ns"].astype(np.float64) / 1e6
        end = columns["time_ns"].astype(np.float64) / 1e6 + service
    alone = end - service >= np.concatenate([[-np.inf], np.maximum.accumulate(end)[:-1]]) - 1e-6
    alone &= ~columns["flush"].astype(np.bool_) & (sectors > 0)
    read = columns["read"].astype(np.bool_)
    keys = {"format": MEASURED, "mode": "closed"} if opened.format == MEASURED else {}
    workload, half = opened.workload(**keys), slice(requests // 2)
    accesses = PassiveAccesses(lbns, sectors, read, service, end, alone).rows(half)

    def serve(device: Mapping[str, Any]) -> "NDArray[np.float64]":
        return _served_ms(workload, device, requests // 2)

    with ProgressBar("estimating", "steps") as bar:

        def report(share: float, name: str) -> None:
            if progress:
                bar.show(share, name)

        return model_of_trace(accesses, int((lbns + sectors).max()), file, serve, report)


def _require_requests(number: int, file: Path | None) -> None:
    if number < LEAST_REQUESTS:
        message = f"{number:,} requests: a fit needs at least {LEAST_REQUESTS:,}"
        raise make_error(TraceError, "out-of-range", message, path="trace", value=number, file=file)


def _served_ms(workload: Mapping[str, Any], device: Mapping[str, Any], requests: int) -> "NDArray[np.float64]":
    """Return the modelled times of the first requests of a trace, ms."""
    import numpy as np

    scenario = {"workload": workload, "system": {"device": device}, "run": {"requests": requests}}
    log = run_resolved(resolve(scenario), log=True).log
    return log["response_ns"][np.argsort(log["id"])].astype(np.float64) / 1e6


def _notes(kind: str, fitted: Residual, given: Residual) -> list[str]:
    """Return sentences on a model of another drive, and on requests of the second half for which the fit is worse."""
    notes = []
    share = (given.demerit_ms or 0.0) / given.measured_mean_ms
    if kind == "all" and share > OTHER_DRIVE:
        notes.append(f"the model as given is wrong by {100 * share:.0f} % of the mean: is it another drive's?")
    for name, before, after in (
        ("demerit", given.demerit_ms, fitted.demerit_ms),
        ("mean error", given.mean_absolute_error_ms, fitted.mean_absolute_error_ms),
    ):
        if before is not None and after is not None and round(after, 3) > round(before, 3):
            notes.append(f"the fit makes {kind} of the second half worse: {name} {before:.3f} to {after:.3f} ms")
    return notes


class _Fit(NamedTuple):
    """Fitted changes.

    Parameters
    ----------
    changes, standard_errors
        All changes, and their standard errors.
    errors, demerits
        Errors and demerits of the folds, ms, each with the changes that were fitted to the other folds.
    by_kind
        Means of error and demerit over the folds, ms, of reads and of writes (four numbers).
    """

    changes: "NDArray[np.float64]"
    standard_errors: "NDArray[np.float64]"
    errors: "NDArray[np.float64]"
    demerits: "NDArray[np.float64]"
    by_kind: "NDArray[np.float64]"


class _Replay:
    """The replay of a trace on a drive with changed times.

    Parameters
    ----------
    model
        The drive and the trace.
    """

    def __init__(self, model: "MeasuredModel") -> None:
        import numpy as np

        values = model.resolved.values
        self.device: Mapping[str, Any] = drive_of(values["system"])["device"]
        if self.device["mechanism"] != "disk":
            message = f"{self.device['name']} is not a disk; give --from a disk"
            raise make_error(SledsimError, "unsupported", message, path="from", value=self.device["name"])
        self.workload = values["workload"]
        column = "service_ns" if model.trace.format == MEASURED else "response_ns"
        self.measured = model.measured[column].astype(np.float64) / 1e6
        _require_requests(len(self.measured), model.trace.path)
        self.read = model.measured["read"].astype(np.bool_)
        self.half = len(self.measured) // 2
        self.fold = np.arange(self.half) * FOLDS // self.half
        self.lowest = _lowest(self.device)
        self.cap_ms = LARGEST_ERROR * 60_000 / self.device["rotation_rpm"]
        self._served: dict[bytes, NDArray[np.float64]] = {}

    def serve(self, changes: "NDArray[np.float64]", requests: int) -> "NDArray[np.float64]":
        """Return the modelled times of the first requests, ms."""
        return _served_ms(self.workload, _changed(self.device, changes), requests)

    def modelled(self, changes: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Return the modelled times of the first half, ms; calls with recent changes need no simulation."""
        key = changes.tobytes()
        if key not in self._served:
            if len(self._served) >= KEPT:
                del self._served[next(iter(self._served))]
            self._served[key] = self.serve(changes, self.half)
        return self._served[key]

    def quantiles(self, times: "NDArray[np.float64]", rows: "NDArray[np.bool_]") -> "NDArray[np.float64]":
        """Return the sorted times of the reads among some rows of the first half, then those of the writes."""
        import numpy as np

        read = self.read[: self.half]
        return np.concatenate([np.sort(times[rows & read]), np.sort(times[rows & ~read])])

    def demerit_ms(self, changes: "NDArray[np.float64]", rows: "NDArray[np.bool_]") -> float:
        """Return the demerit of some rows, of reads and of writes (root mean square by number), ms."""
        import numpy as np

        apart = self.quantiles(self.modelled(changes), rows) - self.quantiles(self.measured[: self.half], rows)
        return float(np.sqrt(np.mean(np.square(apart))))

    def error_ms(self, changes: "NDArray[np.float64]", rows: "NDArray[np.bool_]") -> float:
        """Return the error of some rows: demerit plus mean absolute error.

        The demerit does not depend on the order of requests. The absolute errors of single requests are limited, so
        that they hardly depend on lost revolutions.
        """
        import numpy as np

        single = np.abs(self.modelled(changes)[rows] - self.measured[: self.half][rows])
        return self.demerit_ms(changes, rows) + float(np.minimum(single, self.cap_ms).mean())


def _corrections(replay: _Replay, fit: _Fit) -> list[Parameter]:
    """Return the corrections of a given model, with their standard errors."""
    parameters = []
    for index, (name, unit, _) in enumerate(CHANGES):
        value, error = fit.changes[index], fit.standard_errors[index]
        if abs(value) < NEGLIGIBLE:
            parameters.append(Parameter(name, "unchanged", unit, UNCHANGED))
            continue
        text = f"×{1 + value:.3f}" if name in SCALES else f"{value:+.3f}"
        remarks = [f"{error:.3f}"] if error >= NEGLIGIBLE else []
        if value <= replay.lowest[index] + NEGLIGIBLE:
            remarks.append("at its lower bound")
        elif not remarks:
            remarks.append("none: small changes have no effect")
        if abs(value) < SIGNIFICANT * error:
            remarks.append("not identifiable by itself")
        parameters.append(Parameter(name, text, unit, "; ".join(remarks)))
    kept = [label for key, label in KEPT_PARTS.items() if replay.device.get(key)]
    return [*parameters, Parameter(", ".join(["zones, skews, buffer", *kept]), "unchanged", "", UNCHANGED)]


def _choose(replay: _Replay, *, progress: bool) -> _Fit:
    """Return the fewest changes that are about as good as the best ones in the cross-validation, or none."""
    import numpy as np

    none = np.zeros(len(CHANGES))
    given = _validated(replay, none, none, np.tile(none, (FOLDS, 1)))
    free, changes = list(range(len(CHANGES))), none
    better = []
    with ProgressBar("calibrating", "sets of changes") as bar:
        while free:
            fit = _fit(replay, changes, free)
            if _is_better(fit, given):
                better.append(fit)
            ratio = np.abs(fit.changes[free]) / (fit.standard_errors[free] + 1e-12)
            dropped = free.pop(int(np.argmin(ratio)))
            changes = fit.changes.copy()
            changes[dropped] = 0.0
            if progress:
                bar(len(CHANGES) - len(free), len(CHANGES))
    if not better:
        return given
    best = min(better, key=lambda fit: float(fit.errors.mean()))
    return next(fit for fit in reversed(better) if _gain(best.errors, fit.errors, 1.0) <= 0)


def _is_better(fit: _Fit, given: _Fit) -> bool:
    """Return true if error and demerit of the folds are below those of the model as given by more than chance.

    Neither reads nor writes become worse.
    """
    return (
        bool((fit.by_kind <= given.by_kind).all())
        and min((fit.errors < given.errors).sum(), (fit.demerits < given.demerits).sum()) >= LEAST_FOLDS
        and _gain(fit.errors, given.errors, ERROR_RATIO) >= 0
        and _gain(fit.demerits, given.demerits, DEMERIT_RATIO) >= 0
        and bool(fit.errors.mean() <= (1 - LEAST_GAIN) * given.errors.mean())
    )


def _gain(low: "NDArray[np.float64]", high: "NDArray[np.float64]", ratio: float) -> float:
    """Return the mean difference of the folds less some of its standard errors."""
    apart = high - low
    return float(apart.mean() - ratio * apart.std(ddof=1) / FOLDS**0.5)


def _fit(replay: _Replay, changes: "NDArray[np.float64]", free: list[int]) -> _Fit:
    """Fit some of the changes jointly, from a start, and cross-validate them."""
    import numpy as np

    every = np.ones(replay.half, dtype=np.bool_)
    least = replay.error_ms(changes, every)
    for _ in range(STEPS):
        target = _solve(replay, changes, free, every)
        tried = [changes + share * (target - changes) for share in (1.0, 0.5, 0.25)]
        found = min(tried, key=lambda each: replay.error_ms(each, every))
        before, least = least, min(least, replay.error_ms(found, every))
        if least > (1 - CONVERGED) * before:
            break
        changes = found
    left_out = np.array([_solve(replay, changes, free, replay.fold != fold) for fold in range(FOLDS)])
    variance = (FOLDS - 1) / FOLDS * np.square(left_out - left_out.mean(axis=0)).sum(axis=0)
    return _validated(replay, changes, np.sqrt(variance), left_out)


def _validated(
    replay: _Replay,
    changes: "NDArray[np.float64]",
    standard_errors: "NDArray[np.float64]",
    left_out: "NDArray[np.float64]",
) -> _Fit:
    """Return a fit with the errors of each fold for the changes that were fitted without it."""
    import numpy as np

    folds = [(each, replay.fold == fold) for fold, each in enumerate(left_out)]
    measures = (replay.error_ms, replay.demerit_ms)
    errors, demerits = (np.array([of(*each) for each in folds]) for of in measures)
    read = replay.read[: replay.half]
    by_kind = [
        np.mean([of(each, rows & kind) for each, rows in folds if (rows & kind).any()] or [0.0])
        for kind in (read, ~read)
        for of in measures
    ]
    return _Fit(changes, standard_errors, errors, demerits, np.array(by_kind))


def _solve(
    replay: _Replay, changes: "NDArray[np.float64]", free: list[int], rows: "NDArray[np.bool_]"
) -> "NDArray[np.float64]":
    """Return the changes after a Gauss-Newton step that reduces the error of some rows.

    The absolute errors are minimised as squares, each divided by its current size.
    """
    import numpy as np

    steps = np.array([step for _, _, step in CHANGES])
    measured, modelled = replay.measured[: replay.half], replay.modelled(changes)
    demerit = max(replay.demerit_ms(changes, rows), SMALLEST_ERROR_MS)
    errors = (measured - modelled)[rows]
    weights = (np.abs(errors) < replay.cap_ms) / np.maximum(np.abs(errors), SMALLEST_ERROR_MS)
    distributed, single = [], []
    for index in free:
        step = np.zeros(len(CHANGES))
        step[index] = steps[index]
        later, sooner = (replay.modelled(changes + sign * step) for sign in (1, -1))
        distributed.append((replay.quantiles(later, rows) - replay.quantiles(sooner, rows)) / 2)
        slope = (later - sooner)[rows] / 2
        # A request that gains or loses a revolution has no slope.
        weights = weights * (np.abs(slope) < replay.cap_ms)
        single.append(slope)
    missing = replay.quantiles(measured, rows) - replay.quantiles(modelled, rows)
    slopes, slopes_of_single = np.stack(distributed), np.stack(single)
    cost = STEP_COST * len(missing) / demerit
    curvature = slopes @ slopes.T / demerit + (slopes_of_single * weights) @ slopes_of_single.T
    gradient = slopes @ missing / demerit + slopes_of_single @ (weights * errors)
    solved = np.linalg.solve(curvature + cost * np.eye(len(free)), gradient - cost * changes[free] / steps[free])
    found = changes.copy()
    found[free] += solved * steps[free]
    return np.maximum(found, replay.lowest)


def _lowest(device: Mapping[str, Any]) -> "NDArray[np.float64]":
    """Return the smallest changes for which no time of a device becomes negative."""
    import numpy as np

    settle = device.get("write_settle_ms") or 0.0
    return np.array(
        [
            -np.inf,
            -0.9,
            -device["head_switch_ms"],
            # A negative settling time shortens reads.
            -settle if settle >= 0 else -np.inf,
            -(device.get("read_completion_ms") or 0.0),
            -(device.get("write_completion_ms") or 0.0),
            -min(device.get(key) or 0.0 for key in READ_HITS),
            -0.9,
        ]
    )


def _changed(device: Mapping[str, Any], changes: "NDArray[np.float64]") -> dict[str, Any]:
    """Return a device with changed times, which are not negative."""
    added, scale, switch, settle, reads, writes, hits, bus = (float(each) for each in changes)
    seek = device["seek"]
    if seek["curve"] == "table":
        points = [[d, max(t * (1 + scale) + added, 0.0)] for d, t in seek["points"]]
        seek = {**seek, "points": points}
    elif seek["curve"] == "hpl":
        seek = {**seek, "first_ms": [max(t * (1 + scale) + added, 0.0) for t in seek.get("first_ms") or ()]}
        for part in ("short", "long"):
            seek[f"{part}_constant_ms"] = seek[f"{part}_constant_ms"] * (1 + scale) + added
        seek["short_sqrt_ms"] *= 1 + scale
        seek["long_linear_ms"] *= 1 + scale
    else:
        seek = {
            key: max(value * (1 + scale) + added, 0.0) if key.endswith("_ms") else value for key, value in seek.items()
        }

    def later(key: str, change: float) -> float:
        return max((device.get(key) or 0.0) + change, 0.0)

    buses = ("bus_ms_per_block", "bus_write_ms_per_block")
    return {
        **device,
        **{key: device[key] * (1 + bus) for key in buses if device.get(key) is not None},
        **{key: later(key, hits) for key in READ_HITS},
        "seek": seek,
        "head_switch_ms": later("head_switch_ms", switch),
        "write_settle_ms": (device.get("write_settle_ms") or 0.0) + settle,
        "read_completion_ms": later("read_completion_ms", reads),
        "write_completion_ms": later("write_completion_ms", writes),
    }
