"""Workloads of the catalogue: stand-ins for traces that are not public."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sledsim._core import ScenarioError
from sledsim.scenario.catalog import entries, entry_named
from sledsim.show.tables import Table

__all__ = ["WorkloadEntry", "catalog", "workload_entry", "workload_tables", "workloads_table"]

# How a value with a source came about; distributions and arrivals are of other kinds.
KINDS = ("published", "derived", "assumed")


@dataclass(frozen=True)
class WorkloadEntry:
    """A stand-in of the catalogue: a seeded generator, and the published statistics it was matched to.

    Parameters
    ----------
    name
        What scenarios call it.
    title
        One line.
    description
        What it is, and what it lacks.
    stands_in_for
        The trace in whose place it stands.
    requests
        Requests that a run has if it does not say otherwise.
    measured_on
        The device on which statistics that need one are reached, unless they say otherwise.
    disks
        Equal parts of the address space that are the disks of the traced system, one after the other.
    citations
        Keys of the works it is taken from.
    values
        Its keys as they stand in its file: value, unit, source, place, kind and note of each.
    statistics
        What it was matched to, with source, and what it reaches.
    assumptions
        What nothing is published of: what, its value, and why it was chosen.
    """

    name: str
    title: str
    description: str
    stands_in_for: str
    requests: int | None
    measured_on: str
    disks: int
    citations: tuple[str, ...]
    values: Mapping[str, Mapping[str, Any]]
    statistics: tuple[Mapping[str, Any], ...]
    assumptions: tuple[Mapping[str, str], ...]


def catalog() -> dict[str, WorkloadEntry]:
    """Return the workloads of the catalogue by name."""
    return entries("workload", _entry)


def workload_entry(name: str) -> WorkloadEntry:
    """Return a workload of the catalogue or of a workload file, or say which name is nearest.

    Parameters
    ----------
    name
        Its name, or the path of its file (``.toml``).
    """
    if name.endswith(".toml"):
        return replace(_entry(Path(name)), name=name)
    return entry_named("workload", name, catalog())


def workloads_table() -> Table:
    """Return the workloads of the catalogue as a table."""
    rows = [
        [name, f"{entry.requests:,}" if entry.requests else "–", entry.stands_in_for, entry.title]
        for name, entry in catalog().items()
    ]
    return Table(["workload", "requests", "stands in for", ""], rows, left=frozenset({2, 3}))


def workload_tables(entry: WorkloadEntry) -> list[Table]:
    """Return what a workload was matched to and what it reaches, its values with their sources, and what was assumed.

    Parameters
    ----------
    entry
        The workload.
    """
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
        for each in entry.statistics
    ]
    values = [
        [key, shown, *(str(value.get(part, "")) for part in ("unit", "source", "where", "kind", "note"))]
        for name, value in entry.values.items()
        for key, shown in _shown(name, value["value"])
    ]
    assumptions = [[each[part] for part in ("what", "value", "why")] for each in entry.assumptions]
    title = f"{entry.name}, a stand-in for {entry.stands_in_for or 'a trace'}: {entry.title}"
    headers = ["statistic", "published", "reached", "unit", "matched", "source", "where", "note"]
    return [
        Table(headers, statistics, title=title, left=frozenset({3, 4, 5, 6, 7})),
        Table(["key", "", "unit", "source", "where", "kind", "note"], values, left=frozenset(range(1, 7))),
        *([Table(["assumed", "", "why"], assumptions, left=frozenset({1, 2}))] if assumptions else []),
    ]


def _shown(name: str, value: Any) -> list[tuple[str, str]]:
    """Return the rows of a value: streams have one for each of their keys."""
    if name != "streams" or not isinstance(value, list):
        return [(name, str(value))]
    return [
        (f"streams.{number}.{key}", str(part)) for number, stream in enumerate(value) for key, part in stream.items()
    ]


def _range(published: Any) -> str:
    return " to ".join(f"{each:,}" for each in (published if isinstance(published, list) else [published]))


def _entry(path: Path) -> WorkloadEntry:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        return WorkloadEntry(
            name=path.stem,
            title=content.get("title", path.stem),
            description=content.get("description", ""),
            stands_in_for=content.get("stands_in_for", ""),
            requests=content.get("requests"),
            measured_on=content.get("measured_on", ""),
            disks=content.get("disks", 1),
            citations=tuple(content.get("citations", ())),
            values={key: _value(value) for key, value in content["values"].items()},
            statistics=tuple(content.get("statistics", ())),
            assumptions=tuple(content.get("assumptions", ())),
        )
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ScenarioError(f"{path}: not a workload of the catalogue: {error}") from None


def _value(value: Any) -> Mapping[str, Any]:
    """Read a value; in a workload file of a user's it may be the bare value, such as a distribution."""
    sourced = isinstance(value, dict) and "value" in value and value.get("kind", "assumed") in KINDS
    return value if sourced else {"value": value}
