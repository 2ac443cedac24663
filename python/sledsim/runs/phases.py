"""Which phases of a service and which states of a mechanism there are to show for a run."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sledsim.scenario.system_tree import drives_in

__all__ = ["PHASES", "STATES", "Part", "mechanisms_of", "phases_of", "states_of"]


class Part(NamedTuple):
    """A phase or a state.

    Parameters
    ----------
    key
        Its key in the summary.
    label
        What people read.
    depth
        0, or how deep it lies within the phases above it.
    mechanisms
        Those that always show it; all where empty. Others show it where it occurs, unless it is a part.
    """

    key: str
    label: str
    depth: int = 0
    mechanisms: tuple[str, ...] = ()


MEMS, DISK = ("mems",), ("disk",)

PHASES = (
    Part("overhead", "overhead", mechanisms=MEMS),
    Part("startup", "start-up", mechanisms=MEMS),
    Part("command", "command", mechanisms=DISK),
    Part("background", "waiting for the drive's own work", mechanisms=DISK),
    Part("seek", "seek", mechanisms=MEMS + DISK),
    Part("seek_x", "along X", 1, MEMS),
    Part("settle", "settling", 2, MEMS),
    Part("seek_y", "along Y", 1, MEMS),
    Part("seek_turnaround", "turnarounds", 2, MEMS),
    Part("rotation", "rotation", mechanisms=DISK),
    Part("turnaround", "turnarounds between rows", mechanisms=MEMS + DISK),
    Part("servo", "servo", mechanisms=MEMS),
    Part("transfer", "transfer", mechanisms=MEMS + DISK),
    Part("bus", "bus", mechanisms=MEMS + DISK),
)

STATES = (
    Part("startup", "start-up", mechanisms=MEMS),
    Part("inactive", "inactive", mechanisms=MEMS),
    Part("seek", "seek", mechanisms=MEMS + DISK),
    Part("rotation", "rotation", mechanisms=DISK),
    Part("servo", "servo", mechanisms=MEMS),
    Part("data", "data"),
    Part("idle", "idle"),
)

# What a phase is called where the mechanism has another word for it.
LABELS = {("disk", "turnaround"): "between tracks"}


def mechanisms_of(summary: Mapping[str, Any]) -> list[str]:
    """List the kinds of devices that a run had.

    Parameters
    ----------
    summary
        What the run found.
    """
    return list(dict.fromkeys(drive["device"]["mechanism"] for drive in drives_in(summary["scenario"]["system"])))


def phases_of(summary: Mapping[str, Any]) -> list[Part]:
    """List the phases to show for a run: those of its mechanisms, and whatever else occurred.

    Parameters
    ----------
    summary
        What the run found.
    """
    mechanisms = mechanisms_of(summary)
    # Where there are several, the general word.
    only = mechanisms[0] if len(mechanisms) == 1 else ""
    return [
        part._replace(label=LABELS.get((only, part.key), part.label))
        for part in PHASES
        if _is_shown(part, mechanisms, summary[part.key]["mean_ms"])
    ]


def states_of(summary: Mapping[str, Any]) -> list[Part]:
    """List the states to show for a run: those of its mechanisms, and whatever else occurred.

    Parameters
    ----------
    summary
        What the run found.
    """
    mechanisms, time = mechanisms_of(summary), summary["state_time"]
    return [part for part in STATES if _is_shown(part, mechanisms, time[f"{part.key}_s"])]


def _is_shown(part: Part, mechanisms: list[str], amount: float) -> bool:
    # Of a phase with parts only some mechanisms have more to say than the whole.
    its_own = any(mechanism in part.mechanisms for mechanism in mechanisms)
    return not part.mechanisms or its_own or (amount > 0 and not part.depth)
