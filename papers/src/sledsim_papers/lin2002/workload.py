"""The devices and workloads that the experiments of Lin et al. 2002 share."""

from collections.abc import Mapping
from typing import Any

from sledsim.runs import Result
from sledsim_papers.harness.averaging import SEEDS_SAID
from sledsim_papers.harness.study import Study

__all__ = [
    "AVERAGED",
    "IDLE",
    "MOVING_W",
    "START_S",
    "STOPPED_W",
    "TENFOLD",
    "TIMEOUT_MS",
    "TIME_SCALES",
    "day",
    "joules",
    "mean_ms",
    "saved",
    "seagate",
]

#: The paper's idle sled: it keeps sweeping (section 4.2), and the tips of the last access go on reading servo bursts.
#: The sled stops and starts in place; the paper describes no move to the centre (sections 4.1 and 5.1).
IDLE = {"idle": "sweep", "idle_tips": "last-access", "stop_at": "in-place"}

#: Power of the sled in motion and stopped, W, and time of a start-up, s (section 4.1).
MOVING_W, STOPPED_W, START_S = 0.1, 0.05, 0.5e-3

#: The idle timeout of Table 1.
TIMEOUT_MS = 1000

#: The day ten times faster, as the paper replays it for Table 1.
TENFOLD = 0.1

#: By what the times of the day may be multiplied, slowest first; at the last the device has hardly time for it.
TIME_SCALES = (0.1, 0.03, 0.01, 0.003, 0.001)

#: Remark on the seeds of the day.
AVERAGED = f"On average over {SEEDS_SAID}."


def seagate(study: Study, timeout_ms: float, **changes: Any) -> dict[str, Any]:
    """Return a scenario with the paper's trace of the disk ST41601N on the device G2.

    Parameters
    ----------
    study
        Knows where the trace lies.
    timeout_ms
        Idle time after which the sled stops.
    **changes
        Values that replace those of the device.
    """
    device = {"name": "g2", **IDLE, "inactive_after_ms": timeout_ms, **changes}
    return {"workload": {"kind": "trace", "path": str(study.trace("st41601n"))}, "system": {"device": device}}


def day(
    time_scale: float,
    *,
    device: str | Mapping[str, Any] = "g3",
    workload: Mapping[str, Any] | None = None,
    **system: Any,
) -> dict[str, Any]:
    """Return a scenario with the stand-in of the day of snake.

    Parameters
    ----------
    time_scale
        By what its times are multiplied.
    device
        Entry of the catalogue, or one with values that replace its own.
    workload
        Values that replace those of the stand-in.
    **system
        Strategies, such as ``subsector=True``.
    """
    return {
        "workload": {"name": "snake-like", "time_scale": time_scale, **(workload or {})},
        "system": {"device": device, **system},
    }


def mean_ms(result: Result) -> float:
    """Return the mean response time of a run without the command overhead of the request, ms."""
    return float(result["response"]["mean_ms"] - result["overhead"]["mean_ms"])


def joules(result: Result, part: str = "total") -> float:
    """Return the energy of a run, or of a part of it such as ``servicing``, J."""
    return float(result["energy"][f"{part}_j"])


def saved(before: float, after: float) -> float:
    """Return the share of a quantity that is saved."""
    return 1.0 - after / before
