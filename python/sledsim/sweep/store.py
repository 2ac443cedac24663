"""The store of sweeps: a folder of tables in Parquet parts, which DuckDB reads. ``parts`` describes its layout."""

import json
import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from sledsim._core import SledsimError, error_of
from sledsim.show.arguments import require_kind
from sledsim.show.faults import Sentence, make_error, missing_file
from sledsim.show.files import UNFINISHED, files_at_once, remove_abandoned, unfinished_files, write_atomically
from sledsim.show.fitting import visible
from sledsim.show.frames import Framed, connect, parquet_rows, require_utf8, sql_literal
from sledsim.show.signals import handled_interrupts
from sledsim.sweep.execution import FAILED
from sledsim.sweep.parts import (
    BATCHES,
    Manifest,
    StoreError,
    files_in,
    is_intact,
    manifest_path,
    part_path,
    read_manifest,
    refuse_links,
    write_batch,
    write_manifest,
)
from sledsim.sweep.tables import COLUMNS, RUN_TABLES, SCHEMA_VERSION, Batch, Definition

if TYPE_CHECKING:
    import duckdb

__all__ = ["Store", "Writer", "is_store"]

#: The file that marks a folder as a store and has the version of its schema.
MARK, FORMAT = "store.json", "sledsim sweep store"

#: Upper limit of the size of a mark, bytes.
MARK_BYTES = 1000

#: Batches smaller than this are merged at the end of a sweep if there are at least so many of them.
SMALL_BYTES, MANY_BATCHES = 64_000_000, 8
# Memory of a merge, independent of the number of runs.
MERGE_MEMORY = "64 MB"

#: Attempts to read a store whose batches another process is merging.
ATTEMPTS = 5

LOG = logging.getLogger("sledsim.sweep")


class Store(Framed):
    """A store of sweeps, opened for reading. Every part is verified against its checksum before it is read.

    Parameters
    ----------
    path
        The folder.

    Raises
    ------
    StoreError
        If the folder is not a store, or a store of another schema.
    """

    _memory: "duckdb.DuckDBPyConnection | None" = None

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        require_utf8(StoreError, self.path)
        _check_mark(self.path)

    @classmethod
    def create(cls, path: str | Path) -> "Store":
        """Open a store for writing, or create it.

        Damaged parts are logged and removed, so that the next sweep repeats their runs.

        Parameters
        ----------
        path
            The folder: a new one, an empty one, or a store.
        """
        folder = Path(path)
        require_utf8(StoreError, folder)
        folders = (*COLUMNS, BATCHES)
        refuse_links(folder, (MARK, *folders))
        try:
            if not (folder / MARK).exists():
                is_other = folder.is_dir() and any(folder.iterdir()) and not _is_half_made(folder)
                # Another process may have made it a store in the meantime.
                if is_other and not (folder / MARK).exists():
                    message = "is not a store, and not empty: name a store or a new folder"
                    raise make_error(StoreError, "conflict", message, file=folder)
                for name in folders:
                    (folder / name).mkdir(parents=True, exist_ok=True)
                mark = {"format": FORMAT, "schema": SCHEMA_VERSION}
                write_atomically(folder / MARK, json.dumps(mark, indent=2) + "\n", durable=True)
            store = cls(folder)
            store._repair()
            store._remove_leftovers()
        except OSError as error:
            raise make_error(StoreError, "unreadable", f"cannot be written: {error.strerror}", file=folder) from None
        return store

    def _repair(self) -> None:
        """Remove damaged files, and all outcomes of each batch that has a damaged file of outcomes."""
        batches, damaged = self._check()
        for batch, files in damaged.items():
            for file in files:
                LOG.warning("%s: damaged or missing; its runs will be repeated", visible(str(file)))
            manifest = batches.get(batch, Manifest({}))
            bad = {file.parent.name for file in files}
            if bad.intersection(RUN_TABLES):
                bad.update(RUN_TABLES)
            kept = {table: checksum for table, checksum in manifest.parts.items() if table not in bad}
            if kept:
                write_manifest(self.path, batch, replace(manifest, parts=kept))
            self._remove(batch, keep=kept)

    def _remove(self, batch: str, keep: Sequence[str] | dict[str, str] = ()) -> None:
        """Remove a batch, except for the parts in ``keep``."""
        if not keep:
            manifest_path(self.path, batch).unlink(missing_ok=True)
        for table in COLUMNS:
            if table not in keep:
                part_path(self.path, table, batch).unlink(missing_ok=True)

    def _remove_leftovers(self) -> None:
        """Remove the files of writers that were killed."""
        parts = [part for table in COLUMNS for part in files_in(self.path / table, ".parquet")]
        for folder in (".", BATCHES, *COLUMNS):
            remove_abandoned(self.path / folder)
        # A writer has an unfinished manifest from before its first part until it renames it. So if there is none now,
        # the listed parts either have their manifest or never will.
        if unfinished_files(self.path / BATCHES):
            return
        known = {path.stem for path in files_in(self.path / BATCHES, ".json")}
        for part in parts:
            if part.stem not in known and re.fullmatch("[0-9a-f]{32}", part.stem):
                part.unlink(missing_ok=True)

    def _check(self, *, cached: bool = True) -> tuple[dict[str, Manifest], dict[str, list[Path]]]:
        """Return the manifests of the batches, and damaged or missing files, both by name of the batch."""
        for _ in range(ATTEMPTS):
            batches, damaged = dict[str, Manifest](), dict[str, list[Path]]()
            for path in files_in(self.path / BATCHES, ".json"):
                try:
                    batches[path.stem] = read_manifest(path)
                except FileNotFoundError:
                    continue
                except OSError as error:
                    raise make_error(StoreError, "unreadable", f"cannot be read: {error.strerror}", file=path) from None
                except ValueError:
                    damaged[path.stem] = [path]
            replaced = {name for manifest in batches.values() for name in manifest.replaces}
            batches = {name: manifest for name, manifest in batches.items() if name not in replaced}
            for name, manifest in batches.items():
                parts = [(part_path(self.path, table, name), checksum) for table, checksum in manifest.parts.items()]
                bad = [part for part, checksum in parts if not is_intact(part, checksum, cached=cached)]
                if bad:
                    damaged[name] = bad
            # A merged batch loses its manifest before its parts.
            if all(manifest_path(self.path, name).exists() for name in damaged):
                return batches, {name: files for name, files in damaged.items() if name not in replaced}
        raise make_error(StoreError, "unreadable", "other processes keep changing it: try again", file=self.path)

    def _intact_batches(self) -> dict[str, Manifest]:
        """Return the batches; raise an error that names all damaged or missing files, if there are any."""
        batches, damaged = self._check()
        message = "damaged or missing: run the same sweep again into this store to repeat the affected runs"
        faults = [
            fault
            for files in damaged.values()
            for file in files
            for fault in make_error(StoreError, "unreadable", message, file=file).faults
        ]
        if faults:
            raise error_of(StoreError, faults)
        return batches

    def parts(self, table: str) -> list[Path]:
        """Return the parts of a table.

        Parameters
        ----------
        table
            Name of the table.
        """
        batches = self._intact_batches()
        return [part_path(self.path, table, name) for name, manifest in batches.items() if table in manifest.parts]

    def connect(self) -> "duckdb.DuckDBPyConnection":
        """Return a DuckDB connection with a view of each table: ``runs``, ``parameters``, ``metrics`` and the others.

        A run that two sweeps did at the same time occurs once.
        """
        import duckdb

        if self._memory is not None:
            cursor = self._memory.cursor()
            cursor.execute("SET schema = 'held'")
            return cursor
        connection = connect()
        # A notebook without ipywidgets has no progress bar, and DuckDB refuses the setting there.
        with suppress(duckdb.InvalidInputException):
            connection.execute("SET enable_progress_bar = false")
        batches = self._intact_batches()
        parts = {
            table: [part_path(self.path, table, name) for name, manifest in batches.items() if table in manifest.parts]
            for table in COLUMNS
        }
        most = files_at_once()
        for table, columns in COLUMNS.items():
            select = f"SELECT {', '.join(f'{name}::{kind} AS {name}' for name, kind in columns.items())} FROM"
            if not parts[table]:
                nulls = ", ".join(f"NULL AS {name}" for name in columns)
                connection.execute(f"CREATE VIEW all_{table} AS {select} (SELECT {nulls} WHERE false)")
            elif sum(map(len, parts.values())) <= most:
                connection.execute(f"CREATE VIEW all_{table} AS {select} {parquet_rows(*parts[table])}")
            else:
                # A query of a view may open every part at the same time: read the parts now, in groups.
                connection.execute(f"CREATE TABLE all_{table} AS {select} {parquet_rows(*parts[table][:most])}")
                for first in range(most, len(parts[table]), most):
                    some = parts[table][first : first + most]
                    connection.execute(f"INSERT INTO all_{table} {select} {parquet_rows(*some)}")
        # Only the last row of a definition counts. A run that failed and was done later is done.
        connection.execute(
            "CREATE VIEW sweeps AS SELECT DISTINCT ON (sweep, definition) * FROM all_sweeps "
            "ORDER BY sweep, definition, sequence DESC, points DESC, replications DESC, command"
        )
        connection.execute(
            "CREATE VIEW runs AS SELECT DISTINCT ON (key) * FROM all_runs ORDER BY key, status, faults, version"
        )
        for table in ("parameters", "metrics", "histograms", "provenance"):
            connection.execute(
                f"CREATE VIEW {table} AS SELECT DISTINCT * FROM all_{table} SEMI JOIN all_runs USING (key)"
            )
        return connection

    def in_memory(self) -> "Store":
        """Return a copy of the tables in memory, for reading; it does not need the folder."""
        connection = self.connect()
        connection.execute("CREATE SCHEMA held")
        for table in (*COLUMNS, "all_parameters"):
            connection.execute(f"CREATE TABLE held.{table} AS FROM {table}")
        connection.execute("CREATE VIEW held.all_metrics AS FROM held.metrics")
        copy = type(self).__new__(type(self))
        copy.path, copy._memory = Path("results in memory"), connection
        return copy

    def relation(self, table: str) -> "duckdb.DuckDBPyRelation":
        """Return a table as a DuckDB relation, for SQL queries.

        Parameters
        ----------
        table
            ``"runs"``, ``"parameters"``, ``"metrics"``, ``"histograms"``, ``"provenance"`` or ``"sweeps"``.
        """
        if table not in COLUMNS:
            raise make_error(
                StoreError, "unknown-name", f"no table {table!r}", path="table", value=table, known=COLUMNS
            )
        return self.query(f"FROM {table}")

    def query(self, sql: str) -> "duckdb.DuckDBPyRelation":
        """Query the tables in SQL.

        Parameters
        ----------
        sql
            A query of the tables listed for :meth:`relation`.
        """
        import duckdb

        try:
            with handled_interrupts():
                return self.connect().sql(sql)
        except duckdb.Error as error:
            raise make_error(StoreError, "notation", f"{error}", path="sql", value=sql, file=self.path) from None

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Query the tables in SQL and return the rows of the result.

        Parameters
        ----------
        sql
            The query.
        values
            Values of its question marks.
        """
        import duckdb

        for attempt in range(ATTEMPTS):
            try:
                with handled_interrupts(), self.connect() as connection:
                    return connection.execute(sql, list(values)).fetchall()
            except duckdb.IOException as error:
                # Another process has merged the listed parts in the meantime.
                if attempt == ATTEMPTS - 1:
                    raise make_error(StoreError, "unreadable", f"cannot be read: {error}", file=self.path) from None
            except duckdb.Error as error:
                raise make_error(StoreError, "unreadable", f"cannot be read: {error}", file=self.path) from None
        raise AssertionError("the last attempt returns or raises")

    def refuse_contradictions(self, condition: str = "true") -> None:
        """Raise an error if two parts have different values of a metric of one run.

        Parameters
        ----------
        condition
            A condition in SQL on the rows of ``metrics`` that are checked.
        """
        sql = f"SELECT key, metric FROM metrics WHERE {condition} GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL LIMIT 1"
        for key, metric in self.rows(sql):
            message = (
                f"two processes ran {key} and found different values of {metric}: run the sweep into another store"
            )
            raise make_error(StoreError, "conflict", message, file=self.path)

    def keys(self, *, failed: bool = True) -> set[str]:
        """Return the keys of the runs in the store.

        Parameters
        ----------
        failed
            Include failed runs.
        """
        return {key for key, status in self.rows("SELECT key, status FROM runs") if failed or status != FAILED}

    def members(self, definition: str) -> set[tuple[int, int, str]]:
        """Return point, replication and key of each run of a sweep that is or was in the store.

        Parameters
        ----------
        definition
            Hash of the sweep.
        """
        sql = "SELECT DISTINCT point, replication, key FROM all_parameters WHERE definition = ?"
        return {(point, replication, key) for point, replication, key in self.rows(sql, [definition])}

    def definitions(self) -> list[Definition]:
        """Return the sweeps, in the order in which they were last changed."""
        found = []
        for row in self.rows("SELECT * FROM sweeps ORDER BY sequence, sweep, definition"):
            facts = dict(zip(COLUMNS["sweeps"], row, strict=True))
            del facts["sequence"]
            try:
                facts["parameters"] = json.loads(facts["parameters"])
                found.append(TypeAdapter(Definition).validate_python(facts))
            except (ValueError, TypeError):
                message = "its table of sweeps has values that Sledsim does not write: use another store"
                raise make_error(StoreError, "unreadable", message, file=self.path) from None
        return found

    def definition(self, sweep: str | None = None) -> Definition:
        """Return a sweep.

        Parameters
        ----------
        sweep
            Its name, or ``name@definition`` for an earlier version of it. Optional if all sweeps of the store have the
            same name.
        """
        if sweep is not None:
            require_kind(StoreError, "sweep", sweep, str, "the name of a sweep")
        found = self.definitions()
        for lost in self.lost_sweeps():
            if sweep is None or lost.startswith(f"{sweep.partition('@')[0]}@"):
                raise make_error(
                    StoreError, "missing", f"the definition of {lost} is missing: run the sweep again", file=self.path
                )
        if not found:
            raise make_error(StoreError, "missing", "no sweep has been run into this store", file=self.path)
        names = sorted({each.sweep for each in found})
        if sweep is None:
            if len(names) > 1:
                message: Sentence = ["holds several sweeps; choose one with ", ("sweep",), f": {', '.join(names)}"]
                raise make_error(StoreError, "missing", message, path="sweep", allowed=names, file=self.path)
            return found[-1]
        name, _, definition = sweep.partition("@")
        fitting = [each for each in found if each.sweep == name and each.definition.startswith(definition)]
        if not fitting:
            known = names if name not in names else [f"{e.sweep}@{e.definition}" for e in found if e.sweep == name]
            message = f"no sweep {sweep!r}"
            raise make_error(
                StoreError, "unknown-name", message, path="sweep", file=self.path, value=sweep, known=known
            )
        return fitting[-1]

    def lost_sweeps(self) -> list[str]:
        """Return the sweeps, as ``name@definition``, that have runs in the store but whose definition is missing."""
        sql = "SELECT DISTINCT sweep, definition FROM all_parameters ANTI JOIN sweeps USING (sweep, definition)"
        return sorted(f"{sweep}@{definition}" for sweep, definition in self.rows(sql))

    def writer(self) -> "Writer":
        """Return a writer of the store."""
        return Writer(self)


class Writer:
    """Writes runs into a store, in batches.

    Parameters
    ----------
    store
        The store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._connection = connect()
        # Leave the other processors to the runs.
        self._connection.execute("SET threads = 1")
        self.batch = Batch()

    def record(self, definition: Definition) -> None:
        """Record a sweep durably as the latest one.

        Parameters
        ----------
        definition
            The sweep.
        """
        if definition not in self._store.definitions()[-1:]:
            [(last,)] = self._store.rows("SELECT max(sequence) FROM sweeps")
            self.batch.add_definition(definition, (last or 0) + 1)
            self.flush()

    def flush(self) -> None:
        """Write the rows added since the last flush durably."""
        if self.batch:
            batch, self.batch = self.batch, Batch()
            batch.write(self._connection, self._store.path)

    def merge(self) -> None:
        """Merge small batches into one if there are many.

        A batch is removed after the batch that replaces it is durable; duplicate rows are read once.
        """
        import duckdb

        batches, damaged = self._store._check(cached=False)
        small = [name for name in batches if name not in damaged and self._size(name) < SMALL_BYTES]
        small = small[: files_at_once()]
        if len(small) < MANY_BATCHES:
            return
        parts = {
            table: [part_path(self._store.path, table, name) for name in small if table in batches[name].parts]
            for table in COLUMNS
        }
        selects = [
            (table, f"SELECT DISTINCT * FROM {parquet_rows(*of_table)} ORDER BY ALL")
            for table, of_table in parts.items()
            if of_table
        ]
        try:
            with handled_interrupts(), TemporaryDirectory(prefix="sledsim-") as folder:
                # Sorting would take 30 KB of memory a run. Beyond this limit it uses files of this folder.
                self._connection.execute(f"SET memory_limit = '{MERGE_MEMORY}'")
                self._connection.execute(f"SET temp_directory = {sql_literal(folder)}")
                write_batch(self._connection, self._store.path, selects, replaces=small)
        except (duckdb.Error, SledsimError):
            # Another process merges them, or the disk is full: keep them.
            return
        for name in small:
            self._store._remove(name)

    def _size(self, batch: str) -> int:
        parts = (part_path(self._store.path, table, batch) for table in COLUMNS)
        return sum(part.stat().st_size for part in parts if part.exists())


def _read_mark(folder: Path) -> bytes:
    """Return the mark of a store; raise an error if it is not a regular file."""
    path = folder / MARK
    if path.exists() and not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(MARK_BYTES)


def _check_mark(folder: Path) -> None:
    """Raise an error if a folder is not a store of this schema."""
    try:
        mark = json.loads(_read_mark(folder))
        schema = mark["schema"] if isinstance(mark, dict) else None
    except FileNotFoundError:
        if not folder.exists():
            raise missing_file(StoreError, folder, "no such store") from None
        raise make_error(StoreError, "unreadable", f"is not a store of sweeps: it has no {MARK}", file=folder) from None
    except OSError as error:
        raise make_error(StoreError, "unreadable", f"cannot be read: {error.strerror}", file=folder / MARK) from None
    except (ValueError, KeyError, RecursionError):
        schema = None
    if not isinstance(schema, int):
        message = "is not the mark of a store: name a folder created by a sweep, or a new one"
        raise make_error(StoreError, "unreadable", message, file=folder / MARK)
    if schema != SCHEMA_VERSION:
        message = (
            f"is a store of schema {schema}; this version of Sledsim reads and writes schema {SCHEMA_VERSION}: "
            "run the sweep into another store"
        )
        raise make_error(StoreError, "unsupported", message, value=schema, allowed=str(SCHEMA_VERSION), file=folder)


def is_store(folder: Path) -> bool:
    """Return true if a folder is a store, of any schema.

    Parameters
    ----------
    folder
        The folder.
    """
    try:
        return FORMAT.encode() in _read_mark(folder)
    except OSError:
        return False


def _is_half_made(folder: Path) -> bool:
    """Return true if a folder has only the files of a store whose creation was interrupted."""
    return all(entry.name in (*COLUMNS, BATCHES) or entry.suffix == UNFINISHED for entry in folder.iterdir())
