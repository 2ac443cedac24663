"""Headings of devices, and notes about implausible values."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from sledsim import _core
from sledsim._core import SledsimError
from sledsim.scenario.folders import catalog_folders
from sledsim.scenario.plausible import Plausible, questions
from sledsim.scenario.reading import working_folder
from sledsim.scenario.system_tree import drives_in
from sledsim.scenario.texts import is_document
from sledsim.show.naming import label_of

__all__ = ["device_heading", "device_questions", "system_questions"]

#: Maximum number of changed values in a heading.
MOST_CHANGES = 3

_ACCELERATION = Plausible(1, 10_000, "m/s²", "0.1–1,000 g; published devices: 12–105 g")
_RANGE = Plausible(1, 1_000, "µm", "published devices: 100 µm")
_OVERHEAD = Plausible(1e-4, 100, "ms", "controllers")

#: Plausible ranges of device values; a note questions values outside.
PLAUSIBLE: Mapping[str, Plausible] = {
    "x_range_um": _RANGE,
    "y_range_um": _RANGE,
    "bit_nm": Plausible(2, 1_000, "nm", "a few atoms to early optical recording"),
    "tips": Plausible(64, 1_000_000, "tips", "published devices: 6,400"),
    "acceleration_x_m_s2": _ACCELERATION,
    "acceleration_y_m_s2": _ACCELERATION,
    "resonance_hz": Plausible(20, 20_000, "Hz", "published devices: 220 to 1,108 Hz"),
    "bit_rate_kbit_s": Plausible(1, 100_000, "kbit/s", "published devices: 400 to 1,000 kbit/s"),
    "settle_constants": Plausible(0.01, 20, "", "published devices: 0 to 2"),
    "sled_mw": Plausible(0.001, 10_000, "mW", "published devices: 100 mW"),
    "tip_mw": Plausible(1e-4, 100, "mW", "published devices: 1 mW"),
    "overhead_ms": _OVERHEAD,
    "startup_ms": Plausible(1e-4, 60_000, "ms", "sleds to large disks"),
    "rotation_rpm": Plausible(1_000, 22_000, "rpm", "the fastest drive sold: 15,000 rpm"),
    "head_switch_ms": Plausible(0.01, 20, "ms", "disk drives"),
    "write_settle_ms": Plausible(0.001, 20, "ms", "disk drives"),
    "request_overhead_ms": _OVERHEAD,
    "access_ms": Plausible(1e-4, 1_000, "ms", "memory to slow disks"),
}


def device_heading(device: Mapping[str, Any]) -> str:
    """Return the name of a device in headings, with the values that differ from the device of that name.

    Parameters
    ----------
    device
        All values of the device, as in a resolved scenario.
    """
    label = label_of(str(device["name"]))
    changed = _changed(device)
    if not changed:
        return label
    if len(changed) > MOST_CHANGES:
        return f"{label} with {len(changed)} changed values"
    return f"{label} with {', '.join(_written(key, device[key]) for key in changed)}"


def device_questions(device: Mapping[str, Any]) -> list[str]:
    """Return a note for each implausible value of a device, except values of the catalogue.

    Parameters
    ----------
    device
        All values of the device, as in a resolved scenario.
    """
    original = _original(device)
    if original is None:
        # Values of a drawing are computed, so that an implausible one is not a typing error.
        return questions(device, PLAUSIBLE, prefix="device.", suggest=False)
    checked = device if is_document(str(device["name"])) else {key: device[key] for key in _changed(device)}
    return questions(checked, PLAUSIBLE, prefix="device.")


def system_questions(system: Mapping[str, Any]) -> list[str]:
    """Return the notes about all devices of a system, without duplicates.

    Parameters
    ----------
    system
        The system of a resolved scenario.
    """
    found: Iterable[str] = (note for drive in drives_in(system) for note in device_questions(drive["device"]))
    return list(dict.fromkeys(found))


def _changed(device: Mapping[str, Any]) -> list[str]:
    original = _original(device)
    return [key for key in device if original is not None and key in original and device[key] != original[key]]


def _original(device: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the original values of the device with this name; ``None`` if the name is only a label."""
    name = device["name"]
    if not isinstance(name, str) or device["mechanism"] == "custom":
        return None
    try:
        # Files are not cached, as they may change while the program runs.
        folders = tuple(catalog_folders())
        found = _read(name, folders) if is_document(name) else _of_catalog(name, folders)
    except SledsimError:
        return None
    return found if found["mechanism"] == device["mechanism"] else None


@cache
def _of_catalog(name: str, folders: tuple[str, ...]) -> Mapping[str, Any]:
    return _read(name, folders)


def _read(name: str, folders: tuple[str, ...]) -> Mapping[str, Any]:
    core = _core.Device({"name": name}, catalog=list(folders), base_dir=working_folder())
    return {**core.parameters, "name": name}


def _written(key: str, value: Any) -> str:
    if isinstance(value, Mapping | list):
        return f"{key} changed"
    return f"{key} {value:.6g}" if isinstance(value, float) else f"{key} {str(value).lower()}"
