"""By which model sleds move: each paper has one, whatever comes of its claims."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from sledsim.devices import catalog

__all__ = ["TIME_OPTIMAL", "Motion", "device_moving", "moving"]

#: The models that a scenario can name.
Motion = Literal["first-order", "decomposed", "time-optimal"]
#: What every figure is computed with besides: no controller does better.
TIME_OPTIMAL: Motion = "time-optimal"

#: Keys whose texts name no part of a system.
LABELS = frozenset({"kind", "name"})


def moving(scenario: Mapping[str, Any], motion: Motion) -> dict[str, Any]:
    """Return a scenario whose sleds all move by a model, but for those of which it names one itself.

    What is no scenario, such as an enclosure, comes back as it is.

    Parameters
    ----------
    scenario
        Nested keys.
    motion
        The model.
    """
    parts = {key: _part(scenario[key], motion) for key in ("system", "components") if key in scenario}
    return {**scenario, **parts}


def device_moving(device: str | Mapping[str, Any], motion: Motion) -> str | dict[str, Any]:
    """Return a device that moves by a model if it is a sled, and does not name one itself.

    Parameters
    ----------
    device
        Entry of the catalogue, or one with values that replace its own.
    motion
        The model.
    """
    given = {"name": device} if isinstance(device, str) else dict(device)
    if given.get("name") in _sleds():
        return given if "seek_model" in given else {**given, "seek_model": motion}
    return device if isinstance(device, str) else given


def _part(part: Any, motion: Motion) -> Any:
    """Return a part of a system with its sleds moving by a model; a text may be a device that is a system by itself."""
    if isinstance(part, str):
        moved = device_moving(part, motion)
        return part if moved == part else {"device": moved}
    if isinstance(part, Mapping):
        return {key: value if key in LABELS else _of_key(key, value, motion) for key, value in part.items()}
    return [_part(each, motion) for each in part] if isinstance(part, list | tuple) else part


def _of_key(key: str, value: Any, motion: Motion) -> Any:
    return device_moving(value, motion) if key == "device" else _part(value, motion)


@cache
def _sleds() -> frozenset[str]:
    """Return the entries of the catalogue that are MEMS storage."""
    return frozenset(name for name, entry in catalog().items() if entry.mechanism == "mems")
