"""Entries of the catalogues: devices, workloads and policies."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from sledsim import _core
from sledsim.scenario.folders import catalog_folders
from sledsim.scenario.texts import require_text
from sledsim.show.shown import Catalog, OneTable, Plain, Tabled
from sledsim.show.tables import Table, with_default

__all__ = ["CatalogEntry", "PolicyEntry", "entries", "entry_named", "policy_catalog"]


@dataclass(frozen=True)
class CatalogEntry(Tabled, Plain):
    """An entry of the catalogue.

    Parameters
    ----------
    name
        Its name in scenarios.
    title
        One line.
    description
        A description of it.
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


@dataclass(frozen=True)
class PolicyEntry(OneTable, Plain):
    """A built-in policy.

    Parameters
    ----------
    name
        The name in a scenario.
    title
        One line.
    description
        A description of the policy.
    source
        The publication.
    parameters
        The JSON Schema of each parameter by name.
    """

    name: str
    title: str
    description: str
    source: str
    parameters: Mapping[str, Any]

    def table(self) -> Table:
        """Return the parameters with their defaults and meanings."""
        rows = [[with_default(key, schema), schema.get("description", "")] for key, schema in self.parameters.items()]
        title = f"{self.title}: {self.description} ({self.source})"
        return Table([f"parameter of {self.name}", ""], rows, title=title, left=frozenset({1}))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)


Policy = TypeVar("Policy", bound=PolicyEntry)


def policy_catalog(policies: Iterable[Policy], headers: Sequence[str]) -> Catalog[Policy]:
    """Return policies by name, with a table of their parameters and descriptions.

    Parameters
    ----------
    policies
        The policies.
    headers
        The headers of the table's three columns.
    """
    by_name = {each.name: each for each in policies}

    def tables() -> list[Table]:
        rows = []
        for each in by_name.values():
            parameters = ", ".join(with_default(key, schema) for key, schema in each.parameters.items())
            rows.append([each.name, parameters, each.description])
        return [Table(list(headers), rows, left=frozenset({1, 2}))]

    return Catalog(by_name, tables)


Entry = TypeVar("Entry", bound=CatalogEntry)
#: Makes an entry from the fields of every entry and the content of its file.
Make = Callable[[dict[str, Any], Mapping[str, Any]], Entry]


def entries(kind: str, make: Make[Entry]) -> dict[str, Entry]:
    """Return the entries of a kind by name.

    Parameters
    ----------
    kind
        ``"device"`` or ``"workload"``.
    make
        Makes an entry from the fields of every entry and the content of its file.
    """
    return {name: entry_named(kind, name, make) for name in _core.catalog_names(kind, catalog=catalog_folders())}


def entry_named(kind: str, name: str, make: Make[Entry]) -> Entry:
    """Return an entry of the catalogue or of a file; the error for an unknown name suggests the nearest.

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
