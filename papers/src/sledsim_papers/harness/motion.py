"""Models of motion of sleds. Each paper has one, that of its own equations or simulator."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

from sledsim.devices import catalog

__all__ = [
    "DECOMPOSED",
    "TIME_OPTIMAL",
    "Given",
    "Motion",
    "device_moving",
    "is_sled",
    "moving",
    "table_of",
    "with_devices",
]

#: The models that a scenario can name.
Motion = Literal["first-order", "decomposed", "time-optimal"]
#: A device in a scenario: the name of a catalogue entry, or a table with ``name`` and replaced values.
Given = str | Mapping[str, Any]
#: The fastest motion; every figure is computed with it for comparison.
TIME_OPTIMAL: Motion = "time-optimal"
#: The motion of DiskSim.
DECOMPOSED: Motion = "decomposed"

#: Keys whose values do not name a device.
LABELS = frozenset({"kind", "name"})


def moving(scenario: Mapping[str, Any], motion: Motion) -> dict[str, Any]:
    """Return a scenario whose sleds move by a model, except those that name one.

    Other documents, such as enclosures, are returned unchanged.

    Parameters
    ----------
    scenario
        Nested keys.
    motion
        The model.
    """
    return with_devices(scenario, lambda device: device_moving(device, motion))


def device_moving(device: Given, motion: Motion) -> Given:
    """Return a device with a model of motion if it is a sled and names none.

    Parameters
    ----------
    device
        Name of a catalogue entry, or a table with ``name`` and replaced values.
    motion
        The model.
    """
    given = table_of(device)
    if is_sled(given) and "seek_model" not in given:
        return {**given, "seek_model": motion}
    return device


def table_of(device: Given) -> dict[str, Any]:
    """Return a device as a table."""
    return {"name": device} if isinstance(device, str) else dict(device)


def is_sled(device: Given) -> bool:
    """Return true if a device is a MEMS device of the catalogue, also with replaced values."""
    return table_of(device).get("name") in _entries("mems")


def with_devices(scenario: Mapping[str, Any], change: Callable[[Given], Given]) -> dict[str, Any]:
    """Return a scenario with every device of its system changed.

    Parameters
    ----------
    scenario
        Nested keys.
    change
        Returns the changed device.
    """
    parts = {key: _part(scenario[key], change) for key in ("system", "components") if key in scenario}
    return {**scenario, **parts}


def _part(part: Any, change: Callable[[Given], Given]) -> Any:
    """Return a part of a system with its devices changed; a text may name a device."""
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
    """Return the names of the catalogue's devices, or of those with a mechanism."""
    return frozenset(name for name, entry in catalog().items() if mechanism in (None, entry.mechanism))
