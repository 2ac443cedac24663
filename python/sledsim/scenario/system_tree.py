"""The system of a resolved scenario: a tree of components that ends in drives."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sledsim._core import ScenarioError
from sledsim.show.faults import make_error

__all__ = ["components_in", "drive_of", "drives_in", "with_drives"]

#: Keys of components below a component.
CHILD_KEYS = ("child", "mems", "disk", "fast", "slow")


def components_in(system: Mapping[str, Any], count: int = 1) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Yield a component and all below it, identical ones once, with their number.

    Parameters
    ----------
    system
        A component of a resolved scenario.
    count
        Number of components identical to it.
    """
    yield system, count
    for key in CHILD_KEYS:
        if key in system:
            yield from components_in(system[key], count)
    for member in system.get("members", ()):
        yield from components_in(member["system"], count * int(member["count"]))


def drives_in(system: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the drives of a system, identical ones once.

    Parameters
    ----------
    system
        A component of a resolved scenario.
    """
    return (dict(component) for component, _ in components_in(system) if component["kind"] == "drive")


def with_drives(system: Mapping[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """Return a system with each of its drives changed.

    Parameters
    ----------
    system
        A component of a resolved scenario.
    change
        Returns the changed drive.
    """
    if system["kind"] == "drive":
        return change(dict(system))
    changed = dict(system)
    for key in CHILD_KEYS:
        if key in changed:
            changed[key] = with_drives(changed[key], change)
    if "members" in changed:
        changed["members"] = [
            {**member, "system": with_drives(member["system"], change)} for member in changed["members"]
        ]
    return changed


def drive_of(system: Mapping[str, Any]) -> dict[str, Any]:
    """Return a system that is a single drive, or raise.

    Parameters
    ----------
    system
        The system of a resolved scenario.
    """
    if system["kind"] != "drive":
        message = (
            f"system.kind = {system['kind']!r}: only one drive can be looked at here; make one of its drives the system"
        )
        raise make_error(ScenarioError, "unsupported", message, path="system.kind", value=system["kind"])
    return dict(system)
