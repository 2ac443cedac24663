"""Replay one trace on one device."""

from pathlib import Path
from typing import Any

from sledsim.runs.result import Result
from sledsim.runs.running import ProgressCallback, run
from sledsim.runs.timeline import Stretch
from sledsim.scenario.reading import Sets
from sledsim.show.faults import by_arguments

__all__ = ["replay", "replay_scenario"]

#: What stands in the scenario of a replay, by its path.
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
    trace: str | Path,
    device: str = "g2",
    *,
    scheduler: str | None = None,
    seek_model: str | None = None,
    set: Sets = (),  # noqa: A002  the name it has on the command line
    log: bool = False,
    timeline: Stretch = False,
    progress: ProgressCallback | bool | None = None,
    check: bool = False,
    **workload: Any,
) -> Result:
    """Replay a block trace on a device.

    Parameters
    ----------
    trace
        The trace, compressed or not.
    device
        A device of the catalogue, or a file.
    scheduler
        Its scheduler; ``fcfs`` if not given.
    seek_model
        Of MEMS storage: ``"first-order"``, ``"decomposed"`` or ``"time-optimal"``.
    set, log, timeline, progress, check
        As for :func:`sledsim.run`.
    **workload
        Keys of the workload, such as ``fit="scale"``, ``time_scale=0.5``, ``records=1000``, ``format="spc"``.

    Raises
    ------
    SledsimError
        Where the trace cannot be read, reaches beyond the device, or a key is wrong.
    """
    scenario = replay_scenario(trace, device, scheduler=scheduler, seek_model=seek_model, **workload)
    with by_arguments(ARGUMENTS):
        return run(scenario, set=set, log=log, timeline=timeline, progress=progress, check=check)


def replay_scenario(
    trace: str | Path, device: str, *, scheduler: str | None = None, seek_model: str | None = None, **workload: Any
) -> dict[str, Any]:
    """Return the scenario of a replay; what is ``None`` is left out, as the core knows the defaults.

    Parameters
    ----------
    trace, device, scheduler, seek_model, **workload
        As for :func:`replay`.
    """
    system = {
        "device": _given({"name": device, "seek_model": seek_model}),
        "scheduler": None if scheduler is None else {"name": scheduler},
    }
    return {"workload": _given({"kind": "trace", "path": str(trace), **workload}), "system": _given(system)}


def _given(keys: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in keys.items() if value is not None}
