"""Scenarios without what their devices have anyway."""

from pathlib import Path
from typing import Any

from sledsim.scenario.folders import catalog_folders
from sledsim.scenario.reading import Resolved, resolve
from sledsim.scenario.system_tree import with_drives

__all__ = ["short_scenario"]


def short_scenario(resolved: Resolved) -> dict[str, Any]:
    """Return a scenario as a page begins with it: of each device the name, and values that differ from the catalogue.

    So another device can be chosen in the page, and copied scenarios are short.

    Parameters
    ----------
    resolved
        The scenario.
    """
    document: dict[str, Any] = _present(resolved.values)
    return document | {"system": with_drives(document["system"], _short_drive)}


def _short_drive(drive: dict[str, Any]) -> dict[str, Any]:
    device = drive["device"]
    name = device.get("name")
    # The page has only Sledsim's own catalogue.
    if not name or not (Path(catalog_folders()[0]) / "devices" / f"{name}.toml").is_file():
        return drive
    workload = {"arrival": {"kind": "poisson", "rate_per_s": 1.0}}
    alone = resolve({"workload": workload, "system": {"device": name}})
    own = _present(alone.values["system"])["device"]
    return drive | {"device": {"name": name} | {key: value for key, value in device.items() if own.get(key) != value}}


def _present(value: Any) -> Any:
    """Return a value without absent keys."""
    if isinstance(value, dict):
        return {key: _present(inner) for key, inner in value.items() if inner is not None}
    return [_present(inner) for inner in value] if isinstance(value, list) else value
