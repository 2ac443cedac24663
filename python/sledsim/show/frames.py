"""Results as DuckDB relations, which can be saved to files and converted to frames of other libraries."""

import json
import os
import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim._core import SledsimError
from sledsim.show.arguments import require_path
from sledsim.show.faults import make_error, unknown_kind
from sledsim.show.files import atomic_write, unwritable
from sledsim.show.signals import handled_interrupts

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = [
    "Framed",
    "connect",
    "copy_atomically",
    "install_command",
    "need",
    "parquet_rows",
    "relation_of",
    "relation_of_rows",
    "require_utf8",
    "sql_literal",
    "sql_path",
    "write_columns",
]

# DuckDB's COPY options by file suffix.
COPY_OPTIONS = {
    ".parquet": "FORMAT parquet, COMPRESSION zstd",
    ".csv": "FORMAT csv, HEADER true",
    ".json": "FORMAT json, ARRAY true",
}


def need(package: str, extra: str) -> Any:
    """Import an optional package; the error for a missing package has the command that installs it.

    Parameters
    ----------
    package
        Name of the package.
    extra
        Extra of Sledsim that includes the package.
    """
    try:
        return import_module(package)
    except ImportError:
        name = package.partition(".")[0]
        message = f"this needs the package {name}, which is not installed: {install_command(extra, name)}"
        raise make_error(SledsimError, "unsupported", message, value=package) from None


def install_command(extra: str, package: str) -> str:
    """Return the command that installs the packages of an extra; Sledsim itself is not on a package index.

    Parameters
    ----------
    extra
        Name of the extra.
    package
        The package to install if Sledsim runs from its sources.
    """
    try:
        requirements = requires("sledsim") or []
    except PackageNotFoundError:
        requirements = []
    parts = (requirement.partition(";") for requirement in requirements)
    names = [name.strip() for name, _, marker in parts if re.search(rf"extra == ['\"]{extra}['\"]", marker)]
    return f"pip install {shlex.join(names or [package])}"


def relation_of(columns: "Mapping[str, NDArray[np.generic]]", name: str = "log") -> "duckdb.DuckDBPyRelation":
    """Create a DuckDB relation from columns.

    Parameters
    ----------
    columns
        NumPy arrays of the same length.
    name
        Name of the relation in SQL.
    """
    connection = connect()
    connection.register(name, dict(columns))
    return connection.table(name)


def relation_of_rows(rows: Sequence[Mapping[str, Any]]) -> "duckdb.DuckDBPyRelation":
    """Create a DuckDB relation from rows of plain values.

    Parameters
    ----------
    rows
        Values by column. The keys of a nested table become separate columns, such as ``response.mean_ms``; a list
        becomes a JSON text. Missing values are null.
    """
    flat = [dict(_columns_of(row)) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    columns = {name: [row.get(name) for row in flat] for name in names}
    types = {name: _type_of(values) for name, values in columns.items()}
    given = [
        [str(value) if types[name] == "VARCHAR" and value is not None else value for value in values]
        for name, values in columns.items()
    ]
    selected = (
        ", ".join(f"unnest(?::{types[name]}[]) AS {_quoted_name(name)}" for name in names) or "0 AS empty LIMIT 0"
    )
    connection = connect()
    connection.execute(f"CREATE TABLE result AS SELECT {selected}", given)
    return connection.table("result")


def _columns_of(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from _columns_of(value, f"{prefix}{key}.")
        elif isinstance(value, list | tuple):
            yield f"{prefix}{key}", json.dumps(value, ensure_ascii=False)
        else:
            yield f"{prefix}{key}", value


def _type_of(values: Iterable[Any]) -> str:
    """Return the DuckDB type of a column."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {int}:
        return "BIGINT" if all(value is None or abs(value) < 2**63 for value in values) else "DOUBLE"
    return "DOUBLE" if kinds and kinds <= {int, float} else "VARCHAR"


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class Framed(ABC):
    """Base class of results that can be converted to DuckDB relations, pandas and polars frames, and Arrow tables."""

    @abstractmethod
    def relation(self, *args: Any) -> "duckdb.DuckDBPyRelation":
        """Return the result as a DuckDB relation, for SQL queries."""

    def polars(self, *args: Any) -> "pl.DataFrame":
        """Return the result as a polars frame; arguments as for :meth:`relation`."""
        polars = need("polars", "frames")
        frame: pl.DataFrame = polars.DataFrame(self.relation(*args))
        return frame

    def pandas(self, *args: Any) -> "pd.DataFrame":
        """Return the result as a pandas frame; arguments as for :meth:`relation`."""
        need("pandas", "frames")
        frame: pd.DataFrame = self.relation(*args).df()
        return frame

    def arrow(self, *args: Any) -> "pa.Table":
        """Return the result as an Arrow table; arguments as for :meth:`relation`."""
        need("pyarrow", "frames")
        return self.relation(*args).to_arrow_table()


def require_utf8(error: type[SledsimError], path: Path, named: Path | None = None) -> None:
    """Raise if the absolute path has bytes that are not UTF-8, as DuckDB cannot open it.

    Parameters
    ----------
    error
        The type of the error.
    path
        The path.
    named
        The name of the file in messages; by default, the path.
    """
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        message = "its absolute path has bytes that are not UTF-8 text: rename the file or folder, or name another file"
        raise make_error(error, "notation", message, file=named or path) from None


def connect() -> "duckdb.DuckDBPyConnection":
    """Connect to a DuckDB database in memory.

    Files are written by the calling thread, as the writer threads of DuckDB 2 may deadlock when a write fails.
    """
    import duckdb

    return duckdb.connect(config={} if duckdb.__version__.startswith("1.") else {"async_threads": 0})


def sql_path(path: Path) -> str:
    """Return a path as an SQL literal, with ``*``, ``?`` and ``[`` escaped for functions that accept patterns.

    The path is made absolute, as DuckDB expands names that begin with ``~`` or ``file:``.

    Parameters
    ----------
    path
        The path.
    """
    return sql_literal(re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", str(path.absolute())))


def parquet_rows(*paths: Path) -> str:
    """Return an SQL table expression for the rows of Parquet files; folders such as ``value=7`` do not become columns.

    Parameters
    ----------
    *paths
        The files.
    """
    return f"read_parquet([{', '.join(map(sql_path, paths))}], hive_partitioning = false)"


def sql_literal(text: str) -> str:
    """Return a text as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def write_columns(
    columns: "Mapping[str, NDArray[np.generic]]", path: Path, metadata: Mapping[str, str] | None = None
) -> None:
    """Write columns to a file; its suffix selects the format.

    Parameters
    ----------
    columns
        NumPy arrays of the same length.
    path
        The file, with suffix ``.parquet``, ``.csv`` or ``.json``.
    metadata
        Key-value metadata of a Parquet file.
    """
    path = require_path(SledsimError, "path", path)
    options = COPY_OPTIONS.get(path.suffix.lower())
    if options is None:
        raise unknown_kind(SledsimError, path, COPY_OPTIONS)
    if metadata and path.suffix.lower() == ".parquet":
        pairs = ", ".join(f"{key}: {sql_literal(text)}" for key, text in metadata.items())
        options += f", KV_METADATA {{{pairs}}}"

    with connect() as connection:
        connection.register("columns", dict(columns))
        copy_atomically(connection, "SELECT * FROM columns", path, options)


def copy_atomically(
    connection: "duckdb.DuckDBPyConnection",
    query: str,
    path: Path,
    options: str,
    *,
    durable: bool = False,
    remedy: str = "",
) -> None:
    """Write the rows of a query to a file with :func:`~sledsim.show.files.atomic_write`.

    Parameters
    ----------
    connection
        A DuckDB connection.
    query
        The query.
    path
        The file.
    options
        Options of SQL's ``COPY``.
    durable
        Sync the file and its folder before returning.
    remedy
        End of the error message if the file cannot be written.
    """
    import duckdb

    require_utf8(SledsimError, Path(os.path.realpath(path)).parent, path)
    try:
        with atomic_write(path, durable=durable) as unfinished, handled_interrupts():
            # With a temporary file of its own, DuckDB would replace the locked file.
            connection.execute(f"COPY ({query}) TO {sql_literal(str(unfinished))} ({options}, USE_TMP_FILE false)")
    except duckdb.Error as error:
        reason = unwritable(path.parent) or error
        raise make_error(SledsimError, "unreadable", f"cannot be written: {reason}{remedy}", file=path) from None
    except OSError as error:
        raise make_error(
            SledsimError, "unreadable", f"cannot be written: {error.strerror}{remedy}", file=path
        ) from None
