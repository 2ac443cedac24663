"""Entries of the catalogue: every one of a kind, and the one that a name means."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from sledsim._core import ScenarioError
from sledsim.scenario.reading import catalog_folders
from sledsim.show.naming import did_you_mean

__all__ = ["entries", "entry_named"]

Entry = TypeVar("Entry")


def entries(kind: str, read: Callable[[Path], Entry]) -> dict[str, Entry]:
    """Return the entries of a kind by name.

    Parameters
    ----------
    kind
        ``"device"`` or ``"workload"``.
    read
        Makes an entry of its file.
    """
    folders = [Path(folder, f"{kind}s") for folder in catalog_folders()]
    return {path.stem: read(path) for folder in folders for path in sorted(folder.glob("*.toml"))}


def entry_named(kind: str, name: str, found: Mapping[str, Entry]) -> Entry:
    """Return one of the entries of a kind, or say which name is nearest.

    Parameters
    ----------
    kind
        As for :func:`entries`.
    name
        Its name.
    found
        All of them.
    """
    if name not in found:
        raise ScenarioError(f"{kind} {name!r} is not in the catalogue{did_you_mean(name, found)}")
    return found[name]
