"""Tables of a store: their columns, and the rows that runs add to them."""

import json
import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, Field

from sledsim._core import Fault
from sledsim.show.faults import facts_of, fault_of
from sledsim.sweep.description import Task
from sledsim.sweep.execution import DONE, FAILED, Bins, Outcome, Prepared, canonical
from sledsim.sweep.parts import write_batch

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "COLUMNS",
    "RUN_TABLES",
    "SCHEMA_VERSION",
    "Batch",
    "Definition",
    "Membership",
    "faults_as_json",
    "faults_of_json",
    "label",
]

#: Version of the tables and of the layout of a store; raised when an older reader would misread a newer store.
SCHEMA_VERSION = 3

#: Columns of each table, with their types.
COLUMNS: dict[str, dict[str, str]] = {
    "sweeps": {
        "sweep": "VARCHAR",
        "definition": "VARCHAR",
        "points": "BIGINT",
        "replications": "INTEGER",
        "parameters": "VARCHAR",
        "seed": "UBIGINT",
        "random_numbers": "VARCHAR",
        "command": "VARCHAR",
        "sequence": "BIGINT",
    },
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

#: Tables with outcomes of runs: if a part of one is damaged, the runs of its batch are repeated.
RUN_TABLES = ("metrics", "histograms", "provenance", "runs")

#: Tables of numbers, with the column of the number's name.
_NUMBERED = {"metrics": "metric", "histograms": "quantity"}

# NumPy types of columns; others are columns of objects.
_NUMPY_TYPES = {"INTEGER": "int32", "BIGINT": "int64", "UBIGINT": "uint64", "DOUBLE": "float64", "TIMESTAMP": "int64"}
_CASTS = {"DOUBLE": "CASE WHEN isnan({0}) THEN NULL ELSE {0} END", "TIMESTAMP": "make_timestamp({0})"}


@dataclass(frozen=True)
class Definition:
    """The definition of a sweep in a store.

    Parameters
    ----------
    sweep
        Name of the sweep.
    definition
        Hash of its points, seeds and Sledsim's version.
    points
        Number of points.
    replications
        Runs of each point.
    parameters
        Paths of the axes, in the order of the sweep.
    seed
        Seed from which the seeds of all runs are derived.
    random_numbers
        ``"common"`` or ``"independent"``.
    command
        Command that continues the sweep.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    sweep: str
    definition: str
    points: Annotated[int, Field(ge=0)]
    replications: Annotated[int, Field(ge=1)]
    parameters: list[str]
    seed: Annotated[int, Field(ge=0)]
    random_numbers: Annotated[str, Field(pattern="^(common|independent)$")]
    command: str

    @property
    def runs(self) -> int:
        """Number of runs of the sweep."""
        return self.points * self.replications


@dataclass(frozen=True, slots=True)
class Membership:
    """Place of a run in a sweep.

    Parameters
    ----------
    sweep
        Name of the sweep.
    definition
        Hash of the sweep.
    task
        Point, replication and values of the run.
    """

    sweep: str
    definition: str
    task: Task


def label(value: Any) -> str:
    """Return the text of a parameter's value for tables.

    Parameters
    ----------
    value
        A text, returned unchanged, or another value, returned as JSON.
    """
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def faults_as_json(faults: Iterable[Fault]) -> str | None:
    """Return faults as JSON for the table ``runs``; ``None`` if there are none."""
    held = [facts_of(fault) for fault in faults]
    return json.dumps(held, ensure_ascii=False) if held else None


def faults_of_json(text: str | None) -> tuple[Fault, ...]:
    """Return the faults of a row of ``runs``."""
    return tuple(fault_of(facts) for facts in json.loads(text or "[]"))


class Batch:
    """Pending rows of a store, by table."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in COLUMNS if table not in _NUMBERED}
        # Most rows of a store are metrics and histograms: names and keys are kept once and joined when written.
        self._keys: list[str] = []
        self._names: dict[str, int] = {}
        self._metrics: tuple[list[int], list[int], list[float]] = ([], [], [])
        self._bins: list[tuple[int, int, Bins]] = []

    def __bool__(self) -> bool:
        return any(self._rows.values())

    def add_definition(self, definition: Definition, sequence: int) -> None:
        """Add a sweep.

        Parameters
        ----------
        definition
            The sweep.
        sequence
            Position in the order of sweeps: the latest has the highest.
        """
        facts = definition.__dict__ | {"parameters": canonical(definition.parameters), "sequence": sequence}
        self._rows["sweeps"].append(tuple(facts[column] for column in COLUMNS["sweeps"]))

    def add_run(self, prepared: Prepared, outcome: Outcome) -> None:
        """Add the outcome of a run.

        Parameters
        ----------
        prepared
            The run.
        outcome
            Its outcome.
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
        """Add the place of a run in a sweep.

        Parameters
        ----------
        key
            Key of the run.
        membership
            Its place.
        """
        task = membership.task
        place = (membership.sweep, membership.definition, task.point, task.replication, key)
        rows = self._rows["parameters"]
        # A sweep without axes has a row for each run, too.
        for parameter, value in task.values.items() or [(None, None)]:
            number = math.nan
            if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < sys.float_info.max:
                number = float(value)
            rows.append((*place, parameter, None if parameter is None else label(value), number))

    def write(self, connection: "duckdb.DuckDBPyConnection", folder: Path) -> None:
        """Write the rows into a store durably.

        Parameters
        ----------
        connection
            A DuckDB connection.
        folder
            The folder of the store.
        """
        write_batch(connection, folder, self._selects(connection))

    def _selects(self, connection: "duckdb.DuckDBPyConnection") -> Iterator[tuple[str, str]]:
        """Yield the tables with rows, each with a query of its rows, which is valid until the next one."""
        for table, columns in COLUMNS.items():
            source = self._joined(connection, table) if table in _NUMBERED else self._source(connection, table)
            if source:
                casts = ", ".join(
                    f"{_CASTS.get(kind, '{0}::' + kind).format(column)} AS {column}" for column, kind in columns.items()
                )
                yield table, f"SELECT {casts} FROM {source}"

    def _source(self, connection: "duckdb.DuckDBPyConnection", table: str) -> str | None:
        """Register the rows of a table with DuckDB, and return the name; ``None`` if there are no rows."""
        import numpy as np

        rows = self._rows[table]
        if not rows:
            return None
        columns = zip(COLUMNS[table].items(), zip(*rows, strict=True), strict=True)
        arrays = {name: np.array(values, dtype=_NUMPY_TYPES.get(kind, object)) for (name, kind), values in columns}
        connection.register(f"new_{table}", arrays)
        return f"new_{table}"

    def _joined(self, connection: "duckdb.DuckDBPyConnection", table: str) -> str | None:
        """Register metrics or histograms with DuckDB, and return a query that joins them with keys and names."""
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
