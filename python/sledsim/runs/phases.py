"""The phases of a service and the states of a mechanism that are shown for a run."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sledsim import _core
from sledsim.scenario.system_tree import drives_in

__all__ = ["PHASES", "STATES", "Part", "mechanisms_of", "phases_of", "state_word", "states_of"]


class Part(NamedTuple):
    """A phase or a state.

    Parameters
    ----------
    key
        Its key in the summary.
    label
        Its label in tables and charts.
    depth
        Nesting depth within other phases.
    mechanisms
        Mechanisms that always show it; empty for all. Other mechanisms show it if it occurs and is not nested.
    """

    key: str
    label: str
    depth: int = 0
    mechanisms: tuple[str, ...] = ()


MEMS, DISK = ("mems",), ("disk",)

# Labels of phases by mechanism.
LABELS = {
    (mechanism, key): label for key, _, _, mechanisms in _core.phases() for mechanism, label in mechanisms.items()
}


def _phases(within: str = "", depth: int = 0) -> list[Part]:
    """Return the phases within another phase, each followed by its own parts."""
    parts: list[Part] = []
    for key, label, whole, mechanisms in _core.phases():
        if whole == within:
            parts += [Part(key, label, depth, tuple(mechanisms)), *_phases(key, depth + 1)]
    return parts


PHASES = (Part("overhead", "overhead", mechanisms=MEMS), *_phases())

STATES = (
    Part("startup", "start-up", mechanisms=MEMS),
    Part("inactive", "inactive", mechanisms=MEMS),
    Part("seek", "seek", mechanisms=MEMS + DISK),
    Part("rotation", "rotation", mechanisms=DISK),
    Part("servo", "servo", mechanisms=MEMS),
    Part("data", "data"),
    Part("idle", "idle"),
)


WORDS = {part.key: part.label for part in STATES}


def state_word(state: str) -> str:
    """Return the label of a state in tables and charts.

    Parameters
    ----------
    state
        Its key in the summary, or the name of an idle mode.
    """
    return WORDS.get(state, state)


def mechanisms_of(summary: Mapping[str, Any]) -> list[str]:
    """Return the mechanisms of a run's devices.

    Parameters
    ----------
    summary
        The summary of the run.
    """
    return list(dict.fromkeys(drive["device"]["mechanism"] for drive in drives_in(summary["scenario"]["system"])))


def phases_of(summary: Mapping[str, Any]) -> list[Part]:
    """Return the phases to show for a run: those of its mechanisms, and others that occurred.

    Parameters
    ----------
    summary
        The summary of the run.
    """
    mechanisms = mechanisms_of(summary)
    # Several mechanisms share the general labels.
    only = mechanisms[0] if len(mechanisms) == 1 else ""
    return [
        part._replace(label=LABELS.get((only, part.key), part.label))
        for part in PHASES
        if _is_shown(part, mechanisms, summary[part.key]["mean_ms"])
    ]


def states_of(summary: Mapping[str, Any]) -> list[Part]:
    """Return the states to show for a run: those of its mechanisms, and others that occurred.

    Parameters
    ----------
    summary
        The summary of the run.
    """
    mechanisms, time = mechanisms_of(summary), summary["state_time"]
    return [part for part in STATES if _is_shown(part, mechanisms, time[f"{part.key}_s"])]


def _is_shown(part: Part, mechanisms: list[str], amount: float) -> bool:
    # Nested phases are shown only for their own mechanisms.
    is_own = any(mechanism in part.mechanisms for mechanism in mechanisms)
    return not part.mechanisms or is_own or (amount > 0 and not part.depth)
