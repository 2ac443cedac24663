"""The store of sweeps: a folder of Parquet parts, written whole, that DuckDB reads as tables."""

import json
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter

from sledsim._core import SledsimError
from sledsim.show.arguments import require_kind
from sledsim.show.faults import Sentence, missing_file, wrong
from sledsim.show.files import UNFINISHED, files_at_once, write_whole
from sledsim.show.frames import Framed, connected, parquet_rows, require_utf8
from sledsim.show.signals import signals_heard
from sledsim.sweep.execution import FAILED
from sledsim.sweep.parts import StoreError, files_in, foreign, other_schema, require_parts
from sledsim.sweep.tables import COLUMNS, SCHEMA_VERSION, Batch, copy_part

if TYPE_CHECKING:
    import duckdb

__all__ = ["Definition", "Store", "is_store"]

#: Names the folder as a store, and says by which schema.
MARK, FORMAT = "store.json", "sledsim sweep store"
SWEEPS = "sweeps"

#: Parts of a table smaller than this are merged at the end of a sweep, if there are so many.
SMALL_BYTES, MANY_PARTS = 16_000_000, 8

#: An unfinished file of this age belongs to nobody who is still writing, s.
STALE_S = 3600.0

#: How often a reader looks anew for the parts where others were merging them meanwhile.
ATTEMPTS = 5

#: The end of the last year that a date can have, s since 1970.
LAST_SECOND = 253402300799


@dataclass(frozen=True)
class Definition:
    """What a store knows of a sweep.

    Parameters
    ----------
    sweep
        Its name.
    definition
        Hash of what it says: points, seeds, version.
    points
        How many points it has.
    replications
        How often each is run.
    parameters
        What is varied, in the order of the sweep.
    seed
        What the seeds are derived from.
    random_numbers
        ``"common"`` or ``"independent"``.
    started
        When it was last run, in seconds since 1970.
    command
        How to go on with it.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    sweep: str
    definition: str
    points: Annotated[int, Field(ge=0)]
    replications: Annotated[int, Field(ge=1)]
    parameters: list[str]
    seed: Annotated[int, Field(ge=0)]
    random_numbers: Annotated[str, Field(pattern="^(common|independent)$")]
    started: Annotated[float, Field(ge=0, le=LAST_SECOND)]
    command: str

    @property
    def runs(self) -> int:
        """How many runs it is made of."""
        return self.points * self.replications


class Store(Framed):
    """A store of sweeps, to be read.

    Parameters
    ----------
    path
        The folder.

    Raises
    ------
    StoreError
        Where there is no store, or one by another schema.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._right = set[Path]()
        require_utf8(StoreError, self.path)
        _check_mark(self.path)

    @classmethod
    def create(cls, path: str | Path) -> "Store":
        """Open a store, and make it first where there is none.

        Parameters
        ----------
        path
            The folder; a new one, an empty one, or a store.
        """
        folder = Path(path)
        require_utf8(StoreError, folder)
        try:
            if not (folder / MARK).exists():
                if folder.is_dir() and any(folder.iterdir()) and not _is_half_made(folder):
                    says = "is a folder of something else; give a store or a new folder"
                    raise wrong(StoreError, "conflict", says, file=folder)
                for name in (*COLUMNS, SWEEPS):
                    (folder / name).mkdir(parents=True, exist_ok=True)
                mark = {"format": FORMAT, "schema": SCHEMA_VERSION}
                write_whole(folder / MARK, json.dumps(mark, indent=2) + "\n", lasting=True)
            store = cls(folder)
            store._remove_stale()
        except OSError as error:
            raise wrong(StoreError, "unreadable", f"cannot be written: {error.strerror}", file=folder) from None
        return store

    def _remove_stale(self) -> None:
        """Remove what writers that were killed left unfinished."""
        for path in self.path.glob(f"*/*{UNFINISHED}"):
            # One that is gone was finished meanwhile: another writer gave it its name.
            with suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > STALE_S:
                    path.unlink(missing_ok=True)

    def parts(self, table: str) -> list[Path]:
        """Return the parts of a table.

        Parameters
        ----------
        table
            Its name.
        """
        return files_in(self.path / table, ".parquet")

    def connect(self) -> "duckdb.DuckDBPyConnection":
        """Return a DuckDB connection with a view for each table: ``runs``, ``parameters``, ``metrics`` and the others.

        A run that two sweeps did at the same time stands there once. What a writer has not finished is not there.
        """
        import duckdb

        connection = connected()
        # A notebook without ipywidgets can have no bar, and DuckDB refuses to hear of one there.
        with suppress(duckdb.InvalidInputException):
            connection.execute("SET enable_progress_bar = false")
        # What stands in `runs` has been written to the other tables before: so these are listed after it.
        parts = {table: self.parts(table) for table in reversed(COLUMNS)}
        room = files_at_once()
        self._require(connection, parts, room)
        for table, columns in reversed(COLUMNS.items()):
            select = f"SELECT {', '.join(columns)} FROM"
            if not parts[table]:
                kinds = ", ".join(f"NULL::{kind} AS {name}" for name, kind in columns.items())
                connection.execute(f"CREATE VIEW all_{table} AS {select} (SELECT {kinds} WHERE false)")
            elif sum(map(len, parts.values())) <= room:
                connection.execute(f"CREATE VIEW all_{table} AS {select} {parquet_rows(*parts[table])}")
            else:
                # One query of them all may hold every part open: they are read now, in groups.
                connection.execute(f"CREATE TABLE all_{table} AS {select} {parquet_rows(*parts[table][:room])}")
                for first in range(room, len(parts[table]), room):
                    some = parts[table][first : first + room]
                    connection.execute(f"INSERT INTO all_{table} {select} {parquet_rows(*some)}")
        # A run that failed and was done later is done; one whose metrics are lost is not.
        connection.execute(
            f"CREATE VIEW runs AS SELECT DISTINCT ON (key) * FROM all_runs WHERE status = '{FAILED}' OR "
            "key IN (SELECT key FROM all_metrics) ORDER BY key, status, faults"
        )
        for table in ("metrics", "histograms"):
            connection.execute(
                f"CREATE VIEW {table} AS SELECT DISTINCT * FROM all_{table} SEMI JOIN all_runs USING (key)"
            )
        for table in ("parameters", "provenance"):
            connection.execute(
                f"CREATE VIEW {table} AS SELECT DISTINCT * FROM all_{table} SEMI JOIN all_runs USING (key)"
            )
        return connection

    def _require(self, connection: "duckdb.DuckDBPyConnection", parts: dict[str, list[Path]], room: int) -> None:
        """Refuse parts that no sweep has written, which have not been looked at before."""
        import duckdb

        for table, all_of_it in parts.items():
            new = [part for part in all_of_it if part not in self._right]
            for first in range(0, len(new), room):
                some = new[first : first + room]
                try:
                    require_parts(connection, table, some)
                except duckdb.IOException:
                    raise
                except duckdb.Error:
                    raise foreign(self._damaged({table: some}) or self.path) from None
                self._right.update(some)

    def relation(self, table: str) -> "duckdb.DuckDBPyRelation":
        """Return a table as a DuckDB relation, to be queried in SQL.

        Parameters
        ----------
        table
            ``"runs"``, ``"parameters"``, ``"metrics"``, ``"histograms"`` or ``"provenance"``.
        """
        if table not in COLUMNS:
            raise wrong(StoreError, "unknown-name", f"no table {table!r}", path="table", value=table, known=COLUMNS)
        return self.query(f"FROM {table}")

    def query(self, sql: str) -> "duckdb.DuckDBPyRelation":
        """Ask the tables in SQL.

        Parameters
        ----------
        sql
            A query of ``runs``, ``parameters``, ``metrics``, ``histograms``, ``provenance``.
        """
        import duckdb

        try:
            with signals_heard():
                return self.connect().sql(sql)
        except duckdb.Error as error:
            raise wrong(StoreError, "notation", f"{error}", path="sql", value=sql, file=self.path) from None

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Ask the tables in SQL and return the answer's rows.

        Parameters
        ----------
        sql
            The query.
        values
            What stands for its question marks.
        """
        import duckdb

        for attempt in range(ATTEMPTS):
            try:
                with signals_heard(), self.connect() as connection:
                    return connection.execute(sql, list(values)).fetchall()
            except duckdb.IOException as error:
                # Another writer has just merged parts that were listed: the merged one has their rows.
                if attempt == ATTEMPTS - 1:
                    raise wrong(StoreError, "unreadable", f"cannot be read: {error}", file=self.path) from None
            except duckdb.Error as error:
                damaged = self._damaged({table: self.parts(table) for table in COLUMNS})
                if damaged is not None:
                    raise foreign(damaged) from None
                raise wrong(StoreError, "unreadable", f"{error}", file=self.path) from None
        raise AssertionError("the last attempt returns or raises")

    def _damaged(self, parts: dict[str, list[Path]]) -> Path | None:
        """Return a part that cannot be read, if there is one."""
        import duckdb

        with connected() as connection:
            for part in (part for table in parts.values() for part in table):
                try:
                    connection.execute(f"SELECT max(COLUMNS(*)::VARCHAR) FROM {parquet_rows(part)}").fetchall()
                except duckdb.Error:
                    return part
        return None

    def require_one_value(self, which: str = "true") -> None:
        """Refuse metrics of which a run has two values.

        Parameters
        ----------
        which
            A condition in SQL of those that are looked at.
        """
        sql = f"SELECT key, metric FROM metrics WHERE {which} GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL LIMIT 1"
        for key, metric in self.rows(sql):
            with connected() as connection:
                found = [
                    part
                    for part in self.parts("metrics")
                    if connection.execute(
                        f"SELECT 1 FROM {parquet_rows(part)} WHERE key = ? AND metric = ? LIMIT 1", [key, metric]
                    ).fetchall()
                ]
            says = f"run {key} has two values of {metric}: move away the part that does not belong there"
            others = f" ({' or '.join(part.name for part in found)})" if len(found) > 1 else ""
            raise wrong(StoreError, "conflict", says + others, file=self.path / "metrics" if others else found[0])

    def keys(self, *, failed: bool = True) -> set[str]:
        """Return the keys of the runs that are there.

        Parameters
        ----------
        failed
            Those that failed too.
        """
        return {key for key, status in self.rows("SELECT key, status FROM runs") if failed or status != FAILED}

    def without_metrics(self, definition: Definition) -> int:
        """Return how many runs of a sweep were done, and have lost their metrics.

        Parameters
        ----------
        definition
            The sweep's.
        """
        sql = (
            "SELECT count(DISTINCT (point, replication)) FROM all_parameters SEMI JOIN all_runs USING (key) "
            "ANTI JOIN runs USING (key) WHERE definition = ? AND replication < ?"
        )
        [(count,)] = self.rows(sql, [definition.definition, definition.replications])
        return int(count)

    def members(self, definition: str) -> set[tuple[int, int, str]]:
        """Return which runs are there of a sweep: point, replication and key.

        Parameters
        ----------
        definition
            The sweep's.
        """
        sql = "SELECT DISTINCT point, replication, key FROM all_parameters WHERE definition = ?"
        return {(point, replication, key) for point, replication, key in self.rows(sql, [definition])}

    def definitions(self) -> list[Definition]:
        """Return the sweeps, those that were run last at the end."""
        found = []
        for path in files_in(self.path / SWEEPS, ".json"):
            try:
                found.append(TypeAdapter(Definition).validate_json(path.read_bytes()))
            except OSError as error:
                raise wrong(StoreError, "unreadable", f"cannot be read: {error.strerror}", file=path) from None
            except ValueError:
                says = "is not what a sweep writes there: remove it, or run the sweep into another store"
                raise wrong(StoreError, "unreadable", says, file=path) from None
        return sorted(found, key=lambda each: each.started)

    def definition(self, sweep: str | None = None) -> Definition:
        """Return a sweep of the store.

        Parameters
        ----------
        sweep
            Its name, or ``name@definition`` for one that was run before it was changed; may be left out where the
            store has sweeps of one name alone.
        """
        found = self.definitions()
        if not found:
            raise wrong(StoreError, "missing", "no sweep has been run into this store", file=self.path)
        names = sorted({each.sweep for each in found})
        if sweep is not None:
            require_kind(StoreError, "sweep", sweep, str, "the name of a sweep")
        if sweep is None:
            if len(names) > 1:
                says: Sentence = ["holds several sweeps; choose one with ", ("sweep",), f": {', '.join(names)}"]
                raise wrong(StoreError, "missing", says, path="sweep", allowed=names, file=self.path)
            return found[-1]
        name, _, definition = sweep.partition("@")
        fitting = [each for each in found if each.sweep == name and each.definition.startswith(definition)]
        if not fitting:
            known = names if name not in names else [f"{e.sweep}@{e.definition}" for e in found if e.sweep == name]
            says = f"no sweep {sweep!r}"
            raise wrong(StoreError, "unknown-name", says, path="sweep", file=self.path, value=sweep, known=known)
        return fitting[-1]

    def remember(self, definition: Definition) -> None:
        """Write down what a sweep says.

        Parameters
        ----------
        definition
            The sweep.
        """
        path = self.path / SWEEPS / f"{definition.sweep}@{definition.definition}.json"
        try:
            text = json.dumps(definition.__dict__, indent=2, ensure_ascii=False) + "\n"
            write_whole(path, text, lasting=True)
        except OSError as error:
            raise wrong(StoreError, "unreadable", f"cannot be written: {error.strerror}", file=self.path) from None

    def writer(self) -> "Writer":
        """Return what writes into the store."""
        return Writer(self)


class Writer:
    """Writes runs into a store, each table a part at a time.

    Parameters
    ----------
    store
        The store.
    """

    def __init__(self, store: Store) -> None:

        self._store = store
        self._connection = connected()
        # The processors are for the runs.
        self._connection.execute("SET threads = 1")
        self.batch = Batch()

    def flush(self) -> None:
        """Write what has been added since the last time; it is on the disk when this returns."""
        if self.batch:
            batch, self.batch = self.batch, Batch()
            batch.write(self._connection, self._store.path)

    def merge(self) -> None:
        """Merge small parts, where there are many.

        A part is removed only after one that holds all its rows is on the disk, so that nothing is lost whoever merges
        at the same time and whenever they are killed; what is there twice meanwhile is read once.
        """
        import duckdb

        for table in COLUMNS:
            small = [part for part in self._store.parts(table) if _size(part) < SMALL_BYTES][: files_at_once()]
            if len(small) < MANY_PARTS:
                continue
            select = f"SELECT DISTINCT * FROM {parquet_rows(*small)} ORDER BY ALL"
            try:
                with signals_heard():
                    self._connection.execute(f"SELECT count(*) FROM {parquet_rows(*small)}")
                copy_part(self._connection, select, self._store.path / table / f"{uuid.uuid4().hex}.parquet")
            except (duckdb.Error, SledsimError):
                # Somebody else merges them just now, or the disk has no room for both: they stay as they are.
                continue
            for part in small:
                part.unlink(missing_ok=True)


def _size(part: Path) -> int:
    try:
        return part.stat().st_size
    except FileNotFoundError:
        return SMALL_BYTES


def _check_mark(folder: Path) -> None:
    """Refuse a folder that is no store, and a store by another schema."""
    try:
        mark = json.loads((folder / MARK).read_text(encoding="utf-8"))
        schema = mark["schema"] if isinstance(mark, dict) else None
    except FileNotFoundError:
        if not folder.exists():
            raise missing_file(StoreError, folder, "no such store") from None
        raise wrong(StoreError, "unreadable", f"is not a store of sweeps: it has no {MARK}", file=folder) from None
    except OSError as error:
        raise wrong(StoreError, "unreadable", f"cannot be read: {error.strerror}", file=folder / MARK) from None
    except (ValueError, KeyError, RecursionError):
        schema = None
    if not isinstance(schema, int):
        says = "is not what a sweep writes there: name a folder that a sweep has made, or a new one"
        raise wrong(StoreError, "unreadable", says, file=folder / MARK)
    if schema != SCHEMA_VERSION:
        raise other_schema(schema, folder)


def is_store(folder: Path) -> bool:
    """Tell whether a folder is a store, of whatever schema.

    Parameters
    ----------
    folder
        The folder.
    """
    try:
        return FORMAT.encode() in (folder / MARK).read_bytes()
    except OSError:
        return False


def _is_half_made(folder: Path) -> bool:
    """Tell whether a folder is a store whose maker was killed before it was done."""
    return all(entry.name in (*COLUMNS, SWEEPS) or entry.suffix == UNFINISHED for entry in folder.iterdir())
