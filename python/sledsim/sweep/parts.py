"""Parts of a store: which there are, and what is said of one that no sweep has written."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sledsim._core import SledsimError
from sledsim.show.faults import wrong
from sledsim.show.frames import quoted, quoted_path
from sledsim.sweep.tables import COLUMNS, SCHEMA_VERSION

if TYPE_CHECKING:
    import duckdb

__all__ = ["StoreError", "files_in", "foreign", "other_schema", "require_parts"]

#: How Parquet holds each type of column.
HELD = {
    "VARCHAR": "BYTE_ARRAY",
    "BIGINT": "INT64",
    "UBIGINT": "INT64",
    "TIMESTAMP": "INT64",
    "INTEGER": "INT32",
    "DOUBLE": "DOUBLE",
}

#: Columns that have a value in each row.
FILLED = {
    "parameters": ("sweep", "definition", "point", "replication", "key"),
    "metrics": ("key", "metric", "value"),
    "histograms": ("key", "quantity", "low_ms", "high_ms", "count"),
    "provenance": ("key",),
    "runs": ("key", "status", "version"),
}


class StoreError(SledsimError):
    """A store cannot be read or written."""


def files_in(folder: Path, suffix: str) -> list[Path]:
    """Return the files of a folder of a store, in the order of their names; none where there is no such folder.

    Parameters
    ----------
    folder
        The folder.
    suffix
        What their names end in.
    """
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == suffix)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise wrong(StoreError, "unreadable", f"cannot be read: {error.strerror}", file=folder) from None


def require_parts(connection: "duckdb.DuckDBPyConnection", table: str, parts: Sequence[Path]) -> None:
    """Refuse parts that are by another schema, have not the columns of their table, or lack values.

    Parameters
    ----------
    connection
        Of DuckDB, whose error says where one cannot be read at all.
    table
        The table.
    parts
        Its parts.
    """
    files = f"[{', '.join(map(quoted_path, parts))}]"
    marks = connection.execute(
        f"SELECT file_name, decode(value) FROM parquet_kv_metadata({files}) WHERE decode(key) = 'sledsim_sweep_schema'"
    ).fetchall()
    for name, schema in marks:
        if schema != str(SCHEMA_VERSION):
            raise other_schema(schema, Path(name))
    held: dict[str, dict[str, str]] = {}
    for name, column, kind in connection.execute(
        f"SELECT file_name, name, type FROM parquet_schema({files})"
    ).fetchall():
        held.setdefault(name, {})[column] = kind
    for name, columns in held.items():
        if any(columns.get(column) != HELD[kind] for column, kind in COLUMNS[table].items()):
            raise foreign(Path(name))
    lacking = connection.execute(
        f"SELECT file_name FROM parquet_metadata({files}) "
        f"WHERE stats_null_count > 0 AND path_in_schema IN ({', '.join(map(quoted, FILLED[table]))})"
    ).fetchall()
    for (name,) in lacking:
        raise foreign(Path(name))


def foreign(part: Path) -> StoreError:
    """Return what is said of a part that no sweep has written, or that is damaged.

    Parameters
    ----------
    part
        The file.
    """
    says = "is no part of a store, or is damaged: move it away, or put back what was there"
    return wrong(StoreError, "unreadable", says, file=part)


def other_schema(schema: object, file: Path) -> StoreError:
    """Return what is said of what another version of the tables' schema has written.

    Parameters
    ----------
    schema
        Its version.
    file
        The store, or the part.
    """
    says = (
        f"written by schema {schema} of the tables; this version of Sledsim reads and writes schema "
        f"{SCHEMA_VERSION}: use the version that wrote it, or another store"
    )
    return wrong(StoreError, "unsupported", says, value=schema, allowed=str(SCHEMA_VERSION), file=file)
