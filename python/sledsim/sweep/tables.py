"""The tables of a store: their columns, and how rows of them come from runs."""

import json
import math
import sys
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim._core import Fault
from sledsim.show.faults import facts_of, fault_of
from sledsim.show.frames import COPY_OPTIONS, copy_whole
from sledsim.sweep.description import Task
from sledsim.sweep.execution import DONE, FAILED, Bins, Outcome, Prepared

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["COLUMNS", "SCHEMA_VERSION", "Batch", "Membership", "copy_part", "faults_as_json", "faults_of_json", "label"]

#: Raised whenever a reader of the older tables would misread the newer.
SCHEMA_VERSION = 2

#: Every table by name: its columns with their types. `runs` is written last: what stands there is whole.
COLUMNS: dict[str, dict[str, str]] = {
    "parameters": {
        "sweep": "VARCHAR",
        "definition": "VARCHAR",
        "point": "BIGINT",
        "replication": "INTEGER",
        "key": "VARCHAR",
        "parameter": "VARCHAR",
        "value": "VARCHAR",
        "number": "DOUBLE",
    },
    "metrics": {"key": "VARCHAR", "metric": "VARCHAR", "value": "DOUBLE"},
    "histograms": {
        "key": "VARCHAR",
        "quantity": "VARCHAR",
        "low_ms": "DOUBLE",
        "high_ms": "DOUBLE",
        "count": "UBIGINT",
    },
    "provenance": {
        "key": "VARCHAR",
        "started": "TIMESTAMP",
        "seconds": "DOUBLE",
        "host": "VARCHAR",
        "process": "BIGINT",
        "python": "VARCHAR",
        "platform": "VARCHAR",
        "citations": "VARCHAR",
    },
    "runs": {
        "key": "VARCHAR",
        "status": "VARCHAR",
        "faults": "VARCHAR",
        "version": "VARCHAR",
        "seed": "UBIGINT",
        "scenario": "VARCHAR",
    },
}

#: Tables of numbers: for each, what the numbers are told apart by besides their run.
_NUMBERED = {"metrics": "metric", "histograms": "quantity"}

# How rows in Python become columns: those that are not named here become objects.
_NUMPY_TYPES = {"INTEGER": "int32", "BIGINT": "int64", "UBIGINT": "uint64", "DOUBLE": "float64", "TIMESTAMP": "int64"}
_CASTS = {"DOUBLE": "CASE WHEN isnan({0}) THEN NULL ELSE {0} END", "TIMESTAMP": "make_timestamp({0})"}


@dataclass(frozen=True, slots=True)
class Membership:
    """A run's place in a sweep.

    Parameters
    ----------
    sweep
        Name of the sweep.
    definition
        Hash of what the sweep says.
    task
        Which run of it.
    """

    sweep: str
    definition: str
    task: Task


def label(value: Any) -> str:
    """Write a parameter's value as tables show it.

    Parameters
    ----------
    value
        A text as it is; anything else as JSON.
    """
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def faults_as_json(faults: Iterable[Fault]) -> str | None:
    """Write faults as ``runs`` has them; nothing where there are none."""
    held = [facts_of(fault) for fault in faults]
    return json.dumps(held, ensure_ascii=False) if held else None


def faults_of_json(text: str | None) -> tuple[Fault, ...]:
    """Read faults as ``runs`` has them."""
    return tuple(fault_of(facts) for facts in json.loads(text or "[]"))


class Batch:
    """Rows that wait to be written, by table."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in COLUMNS if table not in _NUMBERED}
        # Metrics and histograms are most of a store: their names and keys are written down once, and joined when they
        # are written.
        self._keys: list[str] = []
        self._names: dict[str, int] = {}
        self._metrics: tuple[list[int], list[int], list[float]] = ([], [], [])
        self._bins: list[tuple[int, int, Bins]] = []

    def __bool__(self) -> bool:
        return bool(self._rows["runs"] or self._rows["parameters"])

    def add_run(self, prepared: Prepared, outcome: Outcome) -> None:
        """Add what became of a run.

        Parameters
        ----------
        prepared
            The run.
        outcome
            What became of it.
        """
        status = FAILED if outcome.metrics is None else DONE
        scenario = None if prepared.scenario is None else prepared.scenario.canonical()
        faults = faults_as_json(outcome.faults)
        run = (prepared.key, status, faults, outcome.place.version, prepared.seed, scenario)
        self._rows["runs"].append(run)
        when = (int(outcome.started_s * 1e6), outcome.seconds)
        place = outcome.place
        where = (place.host, place.process, place.python, place.platform)
        self._rows["provenance"].append((prepared.key, *when, *where, outcome.citations))
        if outcome.metrics is not None:
            runs, names, values = self._metrics
            known = self._names
            runs += [len(self._keys)] * len(outcome.metrics)
            names += [known.setdefault(name, len(known)) for name in outcome.metrics]
            values += outcome.metrics.values()
            for quantity, bins in outcome.histograms.items():
                self._bins.append((len(self._keys), known.setdefault(quantity, len(known)), bins))
            self._keys.append(prepared.key)

    def add_membership(self, key: str, membership: Membership) -> None:
        """Add that a run belongs to a sweep.

        Parameters
        ----------
        key
            The run's.
        membership
            Its place there.
        """
        task = membership.task
        place = (membership.sweep, membership.definition, task.point, task.replication, key)
        rows = self._rows["parameters"]
        # Without axes, the run has to stand there all the same.
        for parameter, value in task.values.items() or [(None, None)]:
            number = math.nan
            if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < sys.float_info.max:
                number = float(value)
            rows.append((*place, parameter, None if parameter is None else label(value), number))

    def write(self, connection: "duckdb.DuckDBPyConnection", folder: Path) -> None:
        """Write the rows as a part of each table, `runs` last.

        Parameters
        ----------
        connection
            Of DuckDB.
        folder
            The store.
        """
        name = f"{uuid.uuid4().hex}.parquet"
        for table, columns in COLUMNS.items():
            source = self._joined(connection, table) if table in _NUMBERED else self._source(connection, table)
            if source:
                casts = ", ".join(
                    f"{_CASTS.get(kind, '{0}::' + kind).format(column)} AS {column}" for column, kind in columns.items()
                )
                copy_part(connection, f"SELECT {casts} FROM {source}", folder / table / name)

    def _source(self, connection: "duckdb.DuckDBPyConnection", table: str) -> str | None:
        """Show DuckDB the rows of a table."""
        import numpy as np

        rows = self._rows[table]
        if not rows:
            return None
        columns = zip(COLUMNS[table].items(), zip(*rows, strict=True), strict=True)
        arrays = {name: np.array(values, dtype=_NUMPY_TYPES.get(kind, object)) for (name, kind), values in columns}
        connection.register(f"new_{table}", arrays)
        return f"new_{table}"

    def _joined(self, connection: "duckdb.DuckDBPyConnection", table: str) -> str | None:
        """Show DuckDB the metrics or histograms: numbers of runs and of names, to be looked up."""
        import numpy as np

        if not self._keys:
            return None
        for what, texts in (("keys", self._keys), ("names", list(self._names))):
            numbers = np.arange(len(texts), dtype=np.int32)
            connection.register(f"new_{what}", {"number": numbers, "text": np.array(texts, dtype=object)})
        connection.register("new_values", self._values() if table == "metrics" else self._all_bins())
        named = _NUMBERED[table]
        rest = ", ".join(f"v.{column}" for column in COLUMNS[table] if column not in ("key", named))
        return (
            f"(SELECT k.text AS key, n.text AS {named}, {rest} FROM new_values v "
            "JOIN new_keys k ON v.run = k.number JOIN new_names n ON v.name = n.number)"
        )

    def _values(self) -> "dict[str, NDArray[np.generic]]":
        """Return the metrics of all runs as columns."""
        import numpy as np

        runs, names, values = self._metrics
        return {
            "run": np.array(runs, np.int32),
            "name": np.array(names, np.int32),
            "value": np.array(values, np.float64),
        }

    def _all_bins(self) -> "dict[str, NDArray[np.generic]]":
        """Return the bins of all runs as columns."""
        import numpy as np

        sizes = [len(counts) for _, _, (_, _, counts) in self._bins]
        low, high, counts = (np.concatenate([bins[i] for _, _, bins in self._bins]) for i in range(3))
        return {
            "run": np.repeat(np.array([run for run, _, _ in self._bins], np.int32), sizes),
            "name": np.repeat(np.array([name for _, name, _ in self._bins], np.int32), sizes),
            "low_ms": low,
            "high_ms": high,
            "count": counts,
        }


def copy_part(connection: "duckdb.DuckDBPyConnection", select: str, part: Path) -> None:
    """Write the rows of a query as a part of a table, which is there whole or not at all, and on the disk.

    Parameters
    ----------
    connection
        Of DuckDB.
    select
        The query.
    part
        The file.
    """
    options = f"{COPY_OPTIONS['.parquet']}, KV_METADATA {{sledsim_sweep_schema: '{SCHEMA_VERSION}'}}"
    remedy = "; what was written before is whole, and once there is room, the same command goes on"
    copy_whole(connection, select, part, options, lasting=True, remedy=remedy)
