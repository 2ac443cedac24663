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
        As for :class:`CatalogEntry`.
    stands_in_for
        The trace that it replaces.
    requests
        Default number of requests of a run.
    measured_on
        The device on which the statistics were measured, unless a statistic names another.
    disks
        Number of disks of the traced system, which are equal, consecutive parts of the address space.
    values
        Keys of its file, each with value, unit, source, place, kind and note.
    statistics
        Published statistics with their sources, and the values that it reaches.
    assumptions
        Values without a published source: what, value and reason.
    """

    stands_in_for: str
    requests: int | None
    measured_on: str
    disks: int
    values: Mapping[str, Mapping[str, Any]]
    statistics: tuple[Mapping[str, Any], ...]
    assumptions: tuple[Mapping[str, str], ...]

    def tables(self) -> list[Table]:
        """Return tables of the statistics, the values with their sources, and the assumptions."""
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
        values = []
        for name, value in self.values.items():
            # The first number has the unit; the name of a distribution has none.
            unit = value.get("unit", "")
            for path, shown in _leaves(name, value["value"]):
                has_unit = bool(unit) and shown[:1].isdigit()
                values.append([path, shown, unit if has_unit else ""])
                unit = "" if has_unit else unit
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
    """Return a workload of the catalogue or of a workload file; the error for an unknown name suggests the nearest one.

    Parameters
    ----------
    name
        Name of the workload, or path of its file.
    """
    return entry_named("workload", name, _of_content)


def _table() -> Table:
    """Return a table of the workloads of the catalogue."""
    rows = [
        [name, f"{entry.requests:,}" if entry.requests else "–", entry.stands_in_for, entry.title]
        for name, entry in catalog().items()
    ]
    return Table(["workload", "requests", "stands in for", ""], rows, left=frozenset({2, 3}))


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the leaves of a nested value as text, each with the path of its key."""
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
