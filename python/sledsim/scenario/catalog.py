"""Entries of the catalogue: every one of a kind, and the one that a name means."""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from sledsim._core import ScenarioError
from sledsim.scenario.folders import catalog_folders
from sledsim.show.faults import wrong
from sledsim.show.shown import Plain, Tabled

__all__ = ["CatalogEntry", "entries", "entry_named", "read_entry"]


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


def entry_named(kind: str, name: str, read: Callable[[Path], Entry]) -> Entry:
    """Return an entry of the catalogue or of a file, or say which name is nearest.

    Parameters
    ----------
    kind, read
        As for :func:`entries`.
    name
        Its name, or the path of its file (``.toml``).
    """
    if name.endswith(".toml"):
        return replace(read(Path(name)), name=name)
    found = entries(kind, read)
    if name not in found:
        raise _not_there(kind, name, found)
    return found[name]


#: Most entries on top of each other.
MOST_BASES = 16
#: Keys of an entry that say what it is, and are no values.
DESCRIBING = frozenset(
    {
        *("base", "citations", "description", "mechanism", "requests", "title", "values"),
        *("assumptions", "disks", "measured_on", "stands_in_for", "statistics"),
    }
)


def _content(kind: str, path: Path, depth: int = 0) -> dict[str, Any]:
    """Read what stands in a file, over what stands in the entry that it is based on."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    base = content.pop("base", None)
    if base is None:
        return content
    if depth == MOST_BASES:
        says = f"base = {base!r}: a {kind} can't be based on itself, nor on so many"
        raise wrong(ScenarioError, "conflict", says, path="base", value=base, file=path)
    below = _content(kind, path.parent / base if str(base).endswith(".toml") else _file_of(kind, str(base)), depth + 1)
    own = content.pop("values", {}) | {key: content.pop(key) for key in [*content] if key not in DESCRIBING}
    cited = dict.fromkeys([*content.get("citations", ()), *below.get("citations", ())])
    about = {"title": f"based on {base}", **content, "citations": list(cited)}
    return {**below, **about, "values": {**below["values"], **own}}


def _not_there(kind: str, name: str, known: Iterable[str]) -> ScenarioError:
    says = f"{kind} {name!r} is not in the catalogue"
    return wrong(ScenarioError, "unknown-name", says, path=kind, value=name, known=known)


def _file_of(kind: str, name: str) -> Path:
    found = {path.stem: path for folder in catalog_folders() for path in Path(folder, f"{kind}s").glob("*.toml")}
    if name not in found:
        raise _not_there(kind, name, found)
    return found[name]


def read_entry(kind: str, path: Path, make: Callable[[dict[str, Any], Mapping[str, Any]], Entry]) -> Entry:
    """Read an entry from its file.

    Parameters
    ----------
    kind
        As for :func:`entries`.
    path
        The file.
    make
        Makes the entry of what every entry has and of what stands in the file.
    """
    try:
        content = _content(kind, path)
        common = {
            "name": path.stem,
            "title": content.get("title", path.stem),
            "description": content.get("description", ""),
            "citations": tuple(content.get("citations", ())),
        }
        return make(common, content)
    except OSError as error:
        raise wrong(ScenarioError, "unreadable", f"{error.strerror}", file=path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        raise wrong(ScenarioError, "syntax", f"not a {kind} of the catalogue: {error}", file=path) from None
