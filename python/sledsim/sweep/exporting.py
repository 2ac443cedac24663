"""Export of sweeps to files for other programs."""

from collections.abc import Sequence
from pathlib import Path

from sledsim._core import SledsimError
from sledsim.show.faults import require_writable
from sledsim.show.frames import COPY_OPTIONS, copy_atomically, sql_literal
from sledsim.sweep.result_set import Results
from sledsim.sweep.store import Store
from sledsim.sweep.tables import COLUMNS

__all__ = ["runs_query", "write_runs", "write_table"]


def write_table(store: Store, table: str, path: Path) -> None:
    """Write a table of a store, without duplicate runs.

    Parameters
    ----------
    store
        The store.
    table
        Name of the table.
    path
        The file, with suffix ``.parquet``, ``.csv`` or ``.json``.
    """
    order = ", ".join(COLUMNS[table]) if table in COLUMNS else ""
    store.relation(table)
    for name in sorted({each.sweep for each in store.definitions()}):
        Results(store, store.definition(name)).warn_if_incomplete()
    _copy(store, f"SELECT * FROM {table} ORDER BY {order}", path)


def write_runs(results: Results, path: Path, metrics: Sequence[str] = ()) -> None:
    """Write the rows of :func:`runs_query`, one for each run of a sweep.

    Parameters
    ----------
    results
        The sweep.
    path
        The file, with suffix ``.parquet``, ``.csv`` or ``.json``.
    metrics
        Paths of the metrics in the summary; all if empty.
    """
    _copy(results.store, runs_query(results, metrics), path)


def runs_query(results: Results, metrics: Sequence[str] = ()) -> str:
    """Return an SQL query for the runs of a sweep: point, replication, seed, status, values of the axes, metrics.

    Parameters
    ----------
    results
        The sweep.
    metrics
        Paths of the metrics in the summary; all if empty.
    """
    known = results.metrics()
    for metric in metrics:
        if metric not in known:
            # Raises an error that suggests the nearest metrics.
            results.values(metric)
    definition = sql_literal(results.definition.definition)
    results.store.refuse_contradictions(f"key IN (SELECT key FROM parameters WHERE definition = {definition})")
    axes = [
        f"any_value({_kind(results, name)}) FILTER (parameter = {sql_literal(name)}) AS {_column(name)}"
        for name in results.parameters
    ]
    of_run = (
        f"SELECT {', '.join(['point', 'replication', 'key', *axes])} FROM parameters "
        f"WHERE definition = {definition} AND replication < {results.definition.replications} GROUP BY ALL"
    )
    names = ", ".join(sql_literal(name) for name in (metrics or known))
    of_metrics = (
        f"PIVOT metrics ON metric IN ({names}) USING any_value(value) GROUP BY key" if names else "SELECT key FROM runs"
    )
    return (
        "SELECT p.point, p.replication, r.seed, r.status, p.* EXCLUDE (point, replication, key), m.* EXCLUDE (key), "
        f"p.key FROM ({of_run}) p JOIN runs r USING (key) LEFT JOIN ({of_metrics}) m USING (key) ORDER BY p.point, "
        "p.replication"
    )


def _kind(results: Results, parameter: str) -> str:
    return "number" if results.is_numeric(parameter) else "value"


def _column(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _copy(store: Store, select: str, path: Path) -> None:
    require_writable(SledsimError, path, COPY_OPTIONS)
    with store.connect() as connection:
        copy_atomically(connection, select, path, COPY_OPTIONS[path.suffix.lower()])
