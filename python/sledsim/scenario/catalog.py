"""Entries of the catalogue: every one of a kind, and the one that a name means."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from sledsim import _core
from sledsim.scenario.folders import catalog_folders
from sledsim.scenario.texts import require_text
from sledsim.show.shown import Plain, Tabled

__all__ = ["CatalogEntry", "entries", "entry_named"]


@dataclass(frozen=True)
class CatalogEntry(Tabled, Plain):
    """An entry of the catalogue.

    Parameters
    ----------
    name
        What scenarios call it.
    title
        One line.
    description
        What it is.
    citations
        Keys of the works it is taken from.
    """

    name: str
    title: str
    description: str
    citations: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)


Entry = TypeVar("Entry", bound=CatalogEntry)
#: Makes an entry of what every entry has and of what its file says.
Make = Callable[[dict[str, Any], Mapping[str, Any]], Entry]


def entries(kind: str, make: Make[Entry]) -> dict[str, Entry]:
    """Return the entries of a kind by name.

    Parameters
    ----------
    kind
        ``"device"`` or ``"workload"``.
    make
        Makes an entry of what every entry has and of what its file says.
    """
    return {name: entry_named(kind, name, make) for name in _core.catalog_names(kind, catalog=catalog_folders())}


def entry_named(kind: str, name: str, make: Make[Entry]) -> Entry:
    """Return an entry of the catalogue or of a file, or say which name is nearest.

    Parameters
    ----------
    kind, make
        As for :func:`entries`.
    name
        Its name, or the path of its file.
    """
    require_text(name)
    said = _core.catalog_entry(kind, name, catalog=catalog_folders(), base_dir=str(Path.cwd()))
    common = {
        "name": name,
        "title": said.get("title", Path(name).stem),
        "description": said.get("description", ""),
        "citations": tuple(said["citations"]),
    }
    return make(common, said)
