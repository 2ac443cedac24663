"""Progress of the sweeps in a store, with the failed runs."""

import shlex
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from sledsim._core import Fault
from sledsim.show.faults import CanFail, facts_of
from sledsim.show.shown import json_text
from sledsim.show.tables import Table, number
from sledsim.sweep.execution import FAILED
from sledsim.sweep.store import LOG, Store
from sledsim.sweep.tables import COLUMNS, Definition, faults_of_json

__all__ = ["Failure", "SweepStatus", "status", "status_tables", "status_to_json"]

#: Maximum number of failures in a table; JSON has all of them.
SHOWN_FAILURES = 20


@dataclass(frozen=True)
class Failure(CanFail):
    """A run that failed.

    Parameters
    ----------
    key
        Key of the run.
    values
        Values of its point, by axis.
    replication
        Number of the replication.
    faults
        Reasons of the failure.
    """

    key: str
    values: dict[str, str]
    replication: int
    faults: tuple[Fault, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the failure as plain values."""
        return {**self.__dict__, "error": self.error, "faults": [facts_of(fault) for fault in self.faults]}


@dataclass(frozen=True)
class SweepStatus:
    """Progress of a sweep.

    Parameters
    ----------
    definition
        The sweep.
    latest
        True if it is the latest definition of its name; false if the sweep was changed since.
    done
        Number of runs done.
    failures
        The failed runs.
    last_run
        Start of its last run (UTC); ``None`` before the first.
    """

    definition: Definition
    latest: bool
    done: int
    failures: list[Failure]
    last_run: datetime | None

    @property
    def missing(self) -> int:
        """Number of remaining runs."""
        return self.definition.runs - self.done - len(self.failures)

    def to_dict(self) -> dict[str, Any]:
        """Return the status as plain values."""
        return {
            **self.definition.__dict__,
            "latest": self.latest,
            "runs": self.definition.runs,
            "done": self.done,
            "failed": len(self.failures),
            "missing": self.missing,
            "failures": [failure.to_dict() for failure in self.failures],
            "last_run": self.last_run and self.last_run.isoformat(),
        }


def status(store: str | Path | Store, sweep: str | None = None) -> list[SweepStatus]:
    """Return the progress of the sweeps in a store.

    Parameters
    ----------
    store
        The store, or its folder.
    sweep
        Name of a sweep; by default, all sweeps.
    """
    store = store if isinstance(store, Store) else Store(store)
    known = store.definitions()
    ordered = {each.definition: each.parameters for each in known}
    latest = {each.sweep: each.definition for each in known}
    for lost in store.lost_sweeps():
        LOG.warning("%s: the definition of %s is missing: run the sweep again", store.path, lost)
    counts = {
        definition: (done, last_run)
        for definition, done, last_run in store.rows(
            "SELECT definition, count(DISTINCT (point, replication)) FILTER (status = 'done'), max(started) "
            "FROM parameters JOIN runs USING (key) JOIN provenance USING (key) GROUP BY definition"
        )
    }
    failures: dict[str, dict[tuple[int, int], Failure]] = {}
    for definition, point, replication, key, parameter, value, faults in store.rows(
        "SELECT definition, point, replication, key, parameter, value, faults FROM parameters JOIN runs USING (key) "
        "WHERE status = ? ORDER BY ALL",
        [FAILED],
    ):
        of_sweep = failures.setdefault(definition, {})
        blank = dict.fromkeys(ordered.get(definition, []), "")
        failure = of_sweep.setdefault((point, replication), Failure(key, blank, replication, faults_of_json(faults)))
        if parameter is not None:
            failure.values[parameter] = value
    return [
        SweepStatus(
            replace(each, command=_command_here(each.command, store.path)),
            latest[each.sweep] == each.definition,
            counts.get(each.definition, (0, None))[0],
            list(failures.get(each.definition, {}).values()),
            counts.get(each.definition, (0, None))[1],
        )
        for each in (known if sweep is None else [store.definition(sweep)])
    ]


def _command_here(command: str, store: Path) -> str:
    """Return the command that continues a sweep, with the current folder of the store."""
    try:
        words = shlex.split(command)
        words[words.index("--store") + 1] = str(store)
    except (ValueError, IndexError):
        return command
    return shlex.join(words)


def status_tables(store: Store, found: list[SweepStatus]) -> list[Table]:
    """Return tables of the progress of sweeps.

    Parameters
    ----------
    store
        The store.
    found
        Its sweeps.
    """
    rows = [
        [
            of.sweep if each.latest else f"{of.sweep}@{of.definition} (before)",
            *map(number, (of.points, of.replications, each.done, len(each.failures), each.missing)),
            each.last_run.strftime("%Y-%m-%d %H:%M") if each.last_run else "–",
        ]
        for each in found
        for of in [each.definition]
    ]
    parts = [part for table in COLUMNS for part in store.parts(table)]
    megabytes = sum(part.stat().st_size for part in parts) / 1e6
    title = f"{store.path}: {number(megabytes, 3)} MB in {len(parts):,} parts"
    headers = ["sweep", "points", "replications", "done", "failed", "missing", "last run (UTC)"]
    tables = [Table(headers, rows, title=title)]
    for each in found:
        if each.failures:
            shown = each.failures[:SHOWN_FAILURES]
            cells = [[_values(failure), str(failure.replication), failure.error or ""] for failure in shown]
            of_all = f" (the first {len(shown)} of {len(each.failures):,})" if len(shown) < len(each.failures) else ""
            headers = ["point", "replication", "error"]
            tables.append(Table(headers, cells, title=f"{each.definition.sweep}: failed{of_all}", left=frozenset({2})))
    return tables


def _values(failure: Failure) -> str:
    return ", ".join(f"{name} = {value}" for name, value in failure.values.items()) or "the scenario itself"


def status_to_json(store: Store, found: list[SweepStatus]) -> str:
    """Return the progress of sweeps as JSON; arguments as for :func:`status_tables`."""
    parts = {table: len(store.parts(table)) for table in COLUMNS}
    document = {"store": str(store.path), "parts": parts, "sweeps": [each.to_dict() for each in found]}
    return json_text(document)
