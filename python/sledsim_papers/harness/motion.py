"""By which model sleds move: each paper has one, whatever comes of its claims."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

from sledsim.devices import catalog

__all__ = ["TIME_OPTIMAL", "Motion", "device_moving", "moving", "with_devices"]

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
    return with_devices(scenario, lambda device: device_moving(device, motion))


#: Makes a device, by its name or with values of its own, into another; what it has nothing to do with comes back as is.
OfDevice = Callable[[str | Mapping[str, Any]], str | dict[str, Any]]


def with_devices(scenario: Mapping[str, Any], of_device: OfDevice) -> dict[str, Any]:
    """Return a scenario in which each device has been made into another.

    Parameters
    ----------
    scenario
        Nested keys.
    of_device
        Makes a device into another.
    """
    parts = {key: _part(scenario[key], of_device) for key in ("system", "components") if key in scenario}
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


def _part(part: Any, of_device: OfDevice) -> Any:
    """Return a part of a system with its devices made into others; a text may be a device, a system by itself."""
    if isinstance(part, str):
        made = of_device(part)
        return part if made == part else {"device": made}
    if isinstance(part, Mapping):
        return {key: value if key in LABELS else _of_key(key, value, of_device) for key, value in part.items()}
    return [_part(each, of_device) for each in part] if isinstance(part, list | tuple) else part


def _of_key(key: str, value: Any, of_device: OfDevice) -> Any:
    return of_device(value) if key == "device" else _part(value, of_device)


@cache
def _sleds() -> frozenset[str]:
    """Return the entries of the catalogue that are MEMS storage."""
    return frozenset(name for name, entry in catalog().items() if entry.mechanism == "mems")
