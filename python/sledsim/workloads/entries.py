"""Workloads of the catalogue: stand-ins for traces that are not public."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sledsim.scenario.catalog import CatalogEntry, entries, entry_named
from sledsim.show.shown import Catalog
from sledsim.show.tables import Table

__all__ = ["WorkloadEntry", "catalog", "workload_entry"]


@dataclass(frozen=True)
class WorkloadEntry(CatalogEntry):
    """A stand-in of the catalogue: a seeded generator, and the published statistics it was matched to.

    Parameters
    ----------
    name, title, description, citations
        As for every entry.
    stands_in_for
        The trace in whose place it stands.
    requests
        Requests that a run has if it does not say otherwise.
    measured_on
        The device on which statistics that need one are reached, unless they say otherwise.
    disks
        Equal parts of the address space that are the disks of the traced system, one after the other.
    values
        Its keys as they stand in its file: value, unit, source, place, kind and note of each.
    statistics
        What it was matched to, with source, and what it reaches.
    assumptions
        What nothing is published of: what, its value, and why it was chosen.
    """

    stands_in_for: str
    requests: int | None
    measured_on: str
    disks: int
    values: Mapping[str, Mapping[str, Any]]
    statistics: tuple[Mapping[str, Any], ...]
    assumptions: tuple[Mapping[str, str], ...]

    def tables(self) -> list[Table]:
        """Return what it was matched to and reaches, its values with their sources, and what was assumed."""
        statistics = [
            [
                each["what"],
                _range(each["published"]),
                each["reached"],
                each["unit"],
                "yes" if each["matched"] else "no",
                each["source"],
                each["where"],
                each.get("note", ""),
            ]
            for each in self.statistics
        ]
        values = [
            [path, shown, value.get("unit", "") if place == 0 else ""]
            for name, value in self.values.items()
            for place, (path, shown) in enumerate(_leaves(name, value["value"]))
        ]
        parts = ("source", "kind", "where", "note")
        sources = [[name, *(str(value.get(part, "")) for part in parts)] for name, value in self.values.items()]
        assumptions = [[each[part] for part in ("what", "value", "why")] for each in self.assumptions]
        title = f"{self.name}, a stand-in for {self.stands_in_for or 'a trace'}: {self.title}"
        headers = ["statistic", "published", "reached", "unit", "matched", "source", "where", "note"]
        return [
            Table(headers, statistics, title=title, left=frozenset({3, 4, 5, 6, 7})),
            Table(["key", "", "unit"], values, left=frozenset({1, 2})),
            Table(["key", *parts], sources, left=frozenset(range(1, 5))),
            *([Table(["assumed", "", "why"], assumptions, left=frozenset({1, 2}))] if assumptions else []),
        ]


def catalog() -> Catalog[WorkloadEntry]:
    """Return the workloads of the catalogue by name."""
    return Catalog(entries("workload", _of_content), lambda: [_table()])


def workload_entry(name: str) -> WorkloadEntry:
    """Return a workload of the catalogue or of a workload file, or say which name is nearest.

    Parameters
    ----------
    name
        Its name, or the path of its file.
    """
    return entry_named("workload", name, _of_content)


def _table() -> Table:
    """Return the workloads of the catalogue as a table."""
    rows = [
        [name, f"{entry.requests:,}" if entry.requests else "–", entry.stands_in_for, entry.title]
        for name, entry in catalog().items()
    ]
    return Table(["workload", "requests", "stands in for", ""], rows, left=frozenset({2, 3}))


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield what a value is made of, each part with the path that sets it."""
    if isinstance(value, Mapping) and set(value) == {"value", "weight"}:
        # A point of a distribution.
        yield path, f"{_plain(value['value'])}, weight {_plain(value['weight'])}"
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(f"{path}.{key}", part)
    elif isinstance(value, list) and any(isinstance(part, Mapping) for part in value):
        for number, part in enumerate(value):
            yield from _leaves(f"{path}.{number}", part)
    else:
        yield path, _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_plain(part) for part in value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.10g}" if isinstance(value, float) else str(value)


def _range(published: Any) -> str:
    return " to ".join(f"{each:,}" for each in (published if isinstance(published, list) else [published]))


def _of_content(common: dict[str, Any], content: Mapping[str, Any]) -> WorkloadEntry:
    return WorkloadEntry(
        **common,
        stands_in_for=content.get("stands_in_for", ""),
        requests=content.get("requests"),
        measured_on=content.get("measured_on", ""),
        disks=content.get("disks", 1),
        values=content["values"],
        statistics=tuple(content.get("statistics", ())),
        assumptions=tuple(content.get("assumptions", ())),
    )
