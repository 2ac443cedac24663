"""What requests of applications take when their traces are replayed, on the same device or on one that is another."""

from collections import deque
from collections.abc import Mapping
from typing import Any

from sledsim.runs import run as simulated
from sledsim_papers.harness.study import Study
from sledsim_papers.schlosser2000.applications import SLED

__all__ = ["BEFORE", "single_changes", "spent_ms", "spent_on_turns"]

#: A write is one again of a sector where one of so many before it wrote it.
BEFORE = 4


def _log(made: Mapping[str, Any], system: Mapping[str, Any]) -> Any:
    """Return the log of a replay, from the program's start on."""
    scenario = {
        "system": system,
        "workload": {"kind": "trace", "path": str(made["trace"])},
        "run": {"warmup_s": made["starts_s"]},
    }
    return simulated(scenario, log=True).log


def spent_ms(made: Mapping[str, Any], system: Mapping[str, Any], phase: str = "service") -> float:
    """Return what all requests of a run take without waiting for each other, or one phase of that, ms.

    Parameters
    ----------
    made
        What the run found.
    system
        The storage that they are replayed on.
    phase
        A phase of the service, such as ``transfer``.
    """
    return float(_log(made, system)[f"{phase}_ns"].sum()) / 1e6


def single_changes(study: Study) -> dict[str, dict[str, Any]]:
    """Return what a g2 has and a g1 has not, each by itself, as changes to a g1.

    Parameters
    ----------
    study
        Whose g2.
    """
    given = study.sled("g2-paper", **SLED).parameters
    keys = {
        "two_way": ("bidirectional",),
        "settling": ("settle_constants",),
        "tips' rate": ("bit_rate_kbit_s",),
        "bits": ("bit_nm",),
        "acceleration": ("acceleration_x_m_s2", "acceleration_y_m_s2"),
    }
    return {name: {key: given[key] for key in its} for name, its in keys.items()}


def spent_on_turns(made: Mapping[str, Any], system: Mapping[str, Any], before: int = BEFORE) -> dict[str, float]:
    """Return where the time of a disk goes, ms: ``turns`` until a sector comes again, ``seeks``, and the ``rest``.

    Parameters
    ----------
    made
        What the run found.
    system
        The storage that its requests are replayed on.
    before
        A sector comes again where one of so many writes before had written it.
    """
    log = _log(made, system)
    lately: deque[int] = deque(maxlen=before)
    spent = {"turns": 0.0, "seeks": 0.0, "rest": 0.0}
    columns = ("lbn", "read", "service_ns", "seek_ns", "rotation_ns")
    for lbn, read, service, seek, rotation in zip(*(log[each].tolist() for each in columns), strict=True):
        turn = rotation * (not read and lbn in lately)
        spent["turns"] += turn / 1e6
        spent["seeks"] += seek / 1e6
        spent["rest"] += (service - seek - turn) / 1e6
        if not read:
            lately.append(lbn)
    return spent
