"""By which model sleds move: each paper has one, whatever comes of its claims."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

from sledsim.devices import catalog

__all__ = ["TIME_OPTIMAL", "Given", "Motion", "device_moving", "is_sled", "moving", "table_of", "with_devices"]

#: The models that a scenario can name.
Motion = Literal["first-order", "decomposed", "time-optimal"]
#: A device as a scenario gives it: an entry of the catalogue, or one with values that replace its own.
Given = str | Mapping[str, Any]
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
    return with_devices(scenario, lambda device: device_moving(device, motion))


def device_moving(device: Given, motion: Motion) -> Given:
    """Return a device that moves by a model if it is a sled, and does not name one itself.

    Parameters
    ----------
    device
        Entry of the catalogue, or one with values that replace its own.
    motion
        The model.
    """
    given = table_of(device)
    if is_sled(given) and "seek_model" not in given:
        return {**given, "seek_model": motion}
    return device


def table_of(device: Given) -> dict[str, Any]:
    """Return a device as a table, though it may be given by its name alone."""
    return {"name": device} if isinstance(device, str) else dict(device)


def is_sled(device: Given) -> bool:
    """Tell whether a device is MEMS storage of the catalogue, or one with values that replace its own."""
    return table_of(device).get("name") in _entries("mems")


def with_devices(scenario: Mapping[str, Any], change: Callable[[Given], Given]) -> dict[str, Any]:
    """Return a scenario with each device of its system changed, wherever it stands.

    Parameters
    ----------
    scenario
        Nested keys.
    change
        What becomes of a device.
    """
    parts = {key: _part(scenario[key], change) for key in ("system", "components") if key in scenario}
    return {**scenario, **parts}


def _part(part: Any, change: Callable[[Given], Given]) -> Any:
    """Return a part of a system with its devices changed; a text may be a device that is a system by itself."""
    if isinstance(part, str):
        changed = change(part) if part in _entries() else part
        return part if changed == part else {"device": changed}
    if isinstance(part, Mapping):
        return {key: value if key in LABELS else _of_key(key, value, change) for key, value in part.items()}
    return [_part(each, change) for each in part] if isinstance(part, list | tuple) else part


def _of_key(key: str, value: Any, change: Callable[[Given], Given]) -> Any:
    return change(value) if key == "device" else _part(value, change)


@cache
def _entries(mechanism: str | None = None) -> frozenset[str]:
    """Return the devices of the catalogue, or those of a mechanism."""
    return frozenset(name for name, entry in catalog().items() if mechanism in (None, entry.mechanism))
