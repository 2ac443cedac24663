"""How far the sweeps of a store are, and what failed."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sledsim.show.tables import Table, number
from sledsim.sweep.execution import FAILED
from sledsim.sweep.store import Definition, Store
from sledsim.sweep.tables import COLUMNS

__all__ = ["Failure", "SweepStatus", "status", "status_tables", "status_to_json"]

#: How many failures a table lists; JSON has them all.
SHOWN_FAILURES = 20


@dataclass(frozen=True)
class Failure:
    """A run that failed.

    Parameters
    ----------
    key
        The run's.
    values
        What the axes say at its point.
    replication
        Which replication of the point.
    error
        Why it failed.
    """

    key: str
    values: dict[str, str]
    replication: int
    error: str


@dataclass(frozen=True)
class SweepStatus:
    """How far a sweep is.

    Parameters
    ----------
    definition
        The sweep.
    latest
        Whether it is the last that was run by its name: what was run before the sweep was changed is not.
    done
        Runs that are done.
    failures
        Runs that failed.
    """

    definition: Definition
    latest: bool
    done: int
    failures: list[Failure]

    @property
    def missing(self) -> int:
        """Runs that are still to be done."""
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
            "failures": [failure.__dict__ for failure in self.failures],
        }


def status(store: Store, sweep: str | None = None) -> list[SweepStatus]:
    """Return how far the sweeps of a store are.

    Parameters
    ----------
    store
        The store.
    sweep
        Only the one of this name.
    """
    ordered = {each.definition: each.parameters for each in store.definitions()}
    definitions = [store.definition(sweep)] if sweep is not None else store.definitions()
    latest = {each.sweep: each.definition for each in store.definitions()}
    counts = dict(
        store.rows(
            "SELECT definition, count(DISTINCT (point, replication)) FROM parameters SEMI JOIN "
            "(SELECT key FROM runs WHERE status = 'done') USING (key) "
            "GROUP BY definition"
        )
    )
    failures: dict[str, dict[tuple[int, int], Failure]] = {}
    for definition, point, replication, key, parameter, value, error in store.rows(
        "SELECT definition, point, replication, key, parameter, value, error FROM parameters JOIN runs USING (key) "
        "WHERE status = ? ORDER BY ALL",
        [FAILED],
    ):
        of_sweep = failures.setdefault(definition, {})
        blank = dict.fromkeys(ordered.get(definition, []), "")
        failure = of_sweep.setdefault((point, replication), Failure(key, blank, replication, error))
        if parameter is not None:
            failure.values[parameter] = value
    return [
        SweepStatus(
            each,
            latest[each.sweep] == each.definition,
            counts.get(each.definition, 0),
            list(failures.get(each.definition, {}).values()),
        )
        for each in definitions
    ]


def status_tables(store: Store, found: list[SweepStatus]) -> list[Table]:
    """Lay out how far sweeps are, and what failed.

    Parameters
    ----------
    store
        The store.
    found
        The sweeps.
    """
    rows = []
    for each in found:
        name = (
            each.definition.sweep if each.latest else f"{each.definition.sweep}@{each.definition.definition} (before)"
        )
        when = datetime.fromtimestamp(each.definition.started, UTC).strftime("%Y-%m-%d %H:%M")
        counts = [each.definition.points, each.definition.replications, each.done, len(each.failures), each.missing]
        rows.append([name, *map(number, counts), when])
    parts = [part for table in COLUMNS for part in store.parts(table)]
    megabytes = sum(part.stat().st_size for part in parts) / 1e6
    title = f"{store.path}: {number(megabytes, 3)} MB in {len(parts):,} parts"
    headers = ["sweep", "points", "replications", "done", "failed", "missing", "last run (UTC)"]
    tables = [Table(headers, rows, title=title)]
    for each in found:
        if each.failures:
            shown = each.failures[:SHOWN_FAILURES]
            cells = [[_values(failure), str(failure.replication), failure.error] for failure in shown]
            of_all = f" (the first {len(shown)} of {len(each.failures):,})" if len(shown) < len(each.failures) else ""
            headers = ["point", "replication", "error"]
            tables.append(Table(headers, cells, title=f"{each.definition.sweep}: failed{of_all}", left=frozenset({2})))
    return tables


def _values(failure: Failure) -> str:
    return ", ".join(f"{name} = {value}" for name, value in failure.values.items()) or "the scenario itself"


def status_to_json(store: Store, found: list[SweepStatus]) -> str:
    """Return how far sweeps are as JSON.

    Parameters
    ----------
    store
        The store.
    found
        The sweeps.
    """
    parts = {table: len(store.parts(table)) for table in COLUMNS}
    document = {"store": str(store.path), "parts": parts, "sweeps": [each.to_dict() for each in found]}
    return json.dumps(document, indent=2, ensure_ascii=False)
