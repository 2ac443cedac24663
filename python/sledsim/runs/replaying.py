"""Replay one trace on one device."""

from pathlib import Path
from typing import Any

from sledsim._core import ScenarioError, TraceError
from sledsim.runs.result import Result
from sledsim.runs.running import ProgressCallback, run_resolved
from sledsim.runs.timeline import Stretch
from sledsim.scenario.reading import Resolved, Sets, resolve
from sledsim.show.arguments import require_path
from sledsim.show.faults import by_arguments, make_error
from sledsim.traces.trace import Source, Trace, TraceLike, as_trace, open_trace

__all__ = ["replay", "replay_scenario", "require_effect"]

#: The format of traces with gaps between requests instead of times.
GAPS = "disksim-validate"

#: Arguments of :func:`replay` by path in its scenario.
ARGUMENTS = {
    "system.device": "device",
    "system.device.name": "device",
    "system.device.python": "device",
    "system.device.seek_model": "seek_model",
    "system.scheduler": "scheduler",
    "system.scheduler.name": "scheduler",
    "system.scheduler.python": "scheduler",
    "workload": "",
    "workload.path": "trace",
}


def replay(
    trace: TraceLike,
    device: str = "g2",
    *,
    scheduler: str | None = None,
    seek_model: str | None = None,
    overrides: Sets = (),
    log: bool | str | Path = False,
    timeline: Stretch = False,
    progress: ProgressCallback | bool | None = None,
    check: bool = False,
    **workload: Any,
) -> Result:
    """Replay a block trace on a device.

    Parameters
    ----------
    trace
        The path of a trace, compressed or not; a :class:`~sledsim.Trace`; or a frame of pandas or polars, an Arrow
        table, a DuckDB relation or a dictionary of arrays, as for :meth:`sledsim.Trace.from_frame`.
    device
        A device of the catalogue, or a file.
    scheduler
        Its scheduler; ``fcfs`` if not given.
    seek_model
        For MEMS storage: ``"first-order"``, ``"decomposed"`` or ``"time-optimal"``.
    overrides, log, timeline, progress, check
        As for :func:`sledsim.run`.
    **workload
        Keys of the workload, such as ``fit="scale"``, ``time_scale=0.5``, ``records=1000``, ``format="spc"``.

    Raises
    ------
    SledsimError
        If the trace cannot be read, exceeds the device, or a key is invalid.
    """
    scenario = replay_scenario(trace, device, scheduler=scheduler, seek_model=seek_model, **workload)
    with by_arguments(ARGUMENTS):
        resolved = resolve(scenario, overrides)
        require_effect(resolved)
        return run_resolved(resolved, log=log, timeline=timeline, progress=progress, check=check)


def replay_scenario(
    trace: TraceLike, device: str, *, scheduler: str | None = None, seek_model: str | None = None, **workload: Any
) -> dict[str, Any]:
    """Return the scenario of a replay, without keys that are ``None``, which get the defaults of the core.

    Parameters
    ----------
    trace, device, scheduler, seek_model, **workload
        As for :func:`replay`.
    """
    system = {
        "device": _given({"name": device, "seek_model": seek_model}),
        "scheduler": None if scheduler is None else {"name": scheduler},
    }
    given = as_trace(trace)
    if given is None:
        require_path(TraceError, "trace", trace)
    source = {"kind": "trace", "path": str(trace)} if given is None else given.workload()
    return {"workload": _given({**source, **workload}), "system": _given(system)}


def require_effect(resolved: Resolved) -> None:
    """Raise for keys of a replay without effect: times for a trace without times, ``outstanding`` in another mode.

    Parameters
    ----------
    resolved
        The scenario of the replay.
    """
    workload = resolved.values["workload"]
    defaults = (("time_scale", 1), ("start_s", 0), ("end_s", None))
    time_keys = [key for key, default in defaults if workload[key] != default]
    has_outstanding = workload["outstanding"] != 1
    if not (time_keys or has_outstanding) or workload["mode"] == "outstanding":
        return
    options = {key: workload[key] for key in ("skip_bad", "sort", "sector_bytes", "columns", "time_unit")}
    if resolved.table is None:
        trace = open_trace(
            workload["path"], **options, format=None if workload["format"] == "auto" else workload["format"]
        )
    else:
        trace = Trace.of_source(Source(None, resolved.table, options, "memory"))
    # Gaps between requests count as times.
    has_times = trace.format == GAPS or trace.info()["has_times"]
    if time_keys and not has_times:
        message = ": has no effect on a trace without times: leave it out"
        raise make_error(ScenarioError, "conflict", message, path=f"workload.{time_keys[0]}")
    if has_outstanding and (has_times or workload["mode"] != "auto"):
        message = ": has no effect if requests arrive as recorded: leave it out, or add "
        parts: list[str | tuple[str]] = [("workload.outstanding",), message, ("workload.mode",), " outstanding"]
        raise make_error(ScenarioError, "conflict", parts, path="workload.outstanding")


def _given(keys: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in keys.items() if value is not None}
