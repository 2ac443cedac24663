"""Refinement of a drive model with a passive trace: some of its times, fitted to the first half of the trace."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim._core import SledsimError
from sledsim.runs.running import run_resolved
from sledsim.scenario.reading import resolve
from sledsim.scenario.system_tree import drive_of
from sledsim.show.faults import make_error
from sledsim.show.frames import install_command
from sledsim.show.progress import ProgressBar
from sledsim.studies.drive_calibration.calibration import DriveCalibration, Residual
from sledsim.studies.drive_calibration.fitting import NOT_IDENTIFIABLE, Parameter
from sledsim.studies.validation.drive import MEASURED, demerit_ms, measured_model

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from sledsim.traces.trace import TraceLike

__all__ = ["refine_drive"]

#: Changes that are fitted: name, unit, first step. Times are added; the scale multiplies the seek curve.
CHANGES = (
    ("seek curve, added", "ms", 0.1),
    ("seek curve, scale", "", 0.03),
    ("head_switch_ms, added", "ms", 0.1),
    ("write_settle_ms, added", "ms", 0.1),
    ("read_completion_ms, added", "ms", 0.05),
    ("write_completion_ms, added", "ms", 0.05),
)
#: Share of the first half, its beginning, that times are fitted to; the rest decides whether they are better.
FITTED_SHARE = 0.7
#: Most evaluations of the simplex.
EVALUATIONS = 160
#: A change of the demerit that does not distinguish two values, as a share.
ALIKE = 0.02


def refine_drive(specs: str | Path, trace: "TraceLike", *, progress: bool = False) -> DriveCalibration:
    """Fit times of a drive model to the first half of a trace, and compare both with the second half.

    Layout and buffer stay: a passive trace does not show them well enough.

    Parameters
    ----------
    specs, trace
        As for :func:`~sledsim.studies.validate_drive`.
    progress
        True for a progress bar on a terminal.

    Raises
    ------
    SledsimError
        If the drive is not a disk, or as for :func:`~sledsim.studies.validate_drive`.
    """
    import numpy as np

    try:
        from scipy.optimize import minimize
    except ImportError:
        message = f"this needs SciPy: {install_command('reliability', 'scipy')}"
        raise make_error(SledsimError, "unsupported", message, value="scipy") from None
    model = measured_model(specs, trace)
    device, name = drive_of(model.resolved.values["system"])["device"], model.trace.name
    if device["mechanism"] != "disk":
        message = f"{device['name']} is no disk: calibrate fits disks"
        raise make_error(SledsimError, "unsupported", message, path="from", value=device["name"])
    column = "service_ns" if model.trace.format == MEASURED else "response_ns"
    measured = model.measured[column].astype(np.float64) / 1e6
    read = model.measured["read"].astype(np.bool_)
    workload = model.resolved.values["workload"]
    half = len(measured) // 2

    def served(changes: "NDArray[np.float64]", requests: int) -> "NDArray[np.float64]":
        scenario = {
            "workload": workload,
            "system": {"device": _changed(device, changes)},
            "run": {"requests": requests},
        }
        log = run_resolved(resolve(scenario), log=True).log
        return log["response_ns"][np.argsort(log["id"])].astype(np.float64) / 1e6

    fitted_end = int(FITTED_SHARE * half)

    def error(changes: "NDArray[np.float64]", first: int, end: int) -> float:
        found, true, reads = served(changes, end)[first:], measured[first:end], read[first:end]
        kinds = [rows for rows in (reads, ~reads) if rows.any()]
        return float(sum(demerit_ms(true[rows], found[rows]) ** 2 * rows.mean() for rows in kinds) ** 0.5)

    steps = np.array([step for _, _, step in CHANGES])
    tried: list[tuple[NDArray[np.float64], float]] = []
    with ProgressBar("calibrating", "evaluations") as bar:

        def objective(scaled: "NDArray[np.float64]") -> float:
            tried.append((scaled * steps, error(scaled * steps, 0, fitted_end)))
            if progress:
                bar(len(tried), EVALUATIONS)
            return tried[-1][1]

        simplex = np.vstack([np.zeros(len(steps)), np.eye(len(steps))])
        options: Any = {"maxfev": EVALUATIONS, "initial_simplex": simplex, "fatol": 1e-4, "xatol": 1e-2}
        minimize(objective, np.zeros(len(steps)), method="Nelder-Mead", options=options)
    best, least = min(tried, key=lambda each: each[1])
    alike = np.array([changes for changes, found in tried if found <= least * (1 + ALIKE)])
    improves = error(best, fitted_end, half) < error(0 * best, fitted_end, half)
    if not improves:
        # The rest of the first half decides whether the changes are more than noise.
        best = 0 * best
    parameters = [
        Parameter(name, f"{value:+.3f}", unit, f"{low:+.3f} to {high:+.3f}" if improves else NOT_IDENTIFIABLE)
        for (name, unit, _), value, low, high in zip(CHANGES, best, alike.min(axis=0), alike.max(axis=0), strict=True)
    ]
    parameters.append(Parameter("zones, skews, buffer", "unchanged", "", NOT_IDENTIFIABLE))
    start, fitted = served(np.zeros(len(steps)), len(measured)), served(best, len(measured))
    residuals = []
    for kind, rows in (("all", np.ones(len(read), dtype=np.bool_)), ("reads", read), ("writes", ~read)):
        second = rows & (np.arange(len(rows)) >= half)
        for label, found in ((f"{kind}, fitted", fitted), (f"{kind}, as given", start)):
            if second.any():
                residuals.append(
                    Residual(
                        label,
                        int(second.sum()),
                        float(measured[second].mean()),
                        float(found[second].mean()),
                        demerit_ms(measured[second], found[second]),
                        float(np.abs(found[second] - measured[second]).mean()),
                        unseen=True,
                    )
                )
    return DriveCalibration(_changed(device, best), parameters, residuals, Path(name).name)


def _changed(device: "Mapping[str, Any]", changes: "NDArray[np.float64]") -> dict[str, Any]:
    """Return a device with changed times, which are not negative."""
    added, scale, switch, settle, reads, writes = (float(each) for each in changes)
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

    return {
        **device,
        "seek": seek,
        "head_switch_ms": later("head_switch_ms", switch),
        "write_settle_ms": (device.get("write_settle_ms") or 0.0) + settle,
        "read_completion_ms": later("read_completion_ms", reads),
        "write_completion_ms": later("write_completion_ms", writes),
    }
