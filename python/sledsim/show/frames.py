"""Columns as DuckDB relations, and so as files and as frames of other libraries."""

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

# How DuckDB writes each kind of file.
COPY_OPTIONS = {
    ".parquet": "FORMAT parquet, COMPRESSION zstd",
    ".csv": "FORMAT csv, HEADER true",
    ".json": "FORMAT json, ARRAY true",
}


def need(package: str, extra: str) -> Any:
    """Import a package that not everybody has, or say how to get it.

    Parameters
    ----------
    package
        Name of the package.
    extra
        Extra of Sledsim that brings it.
    """
    try:
        return import_module(package)
    except ImportError:
        name = package.partition(".")[0]
        says = f"this needs the package {name}, which is not installed: {install_command(extra, name)}"
        raise make_error(SledsimError, "unsupported", says, value=package) from None


def install_command(extra: str, package: str) -> str:
    """Return the command that installs what an extra of Sledsim brings; Sledsim itself is on no package index.

    Parameters
    ----------
    extra
        Name of the extra.
    package
        What to install where Sledsim is not installed but run from its sources.
    """
    try:
        requirements = requires("sledsim") or []
    except PackageNotFoundError:
        requirements = []
    parts = (requirement.partition(";") for requirement in requirements)
    names = [name.strip() for name, _, marker in parts if re.search(rf"extra == ['\"]{extra}['\"]", marker)]
    return f"pip install {shlex.join(names or [package])}"


def relation_of(columns: "Mapping[str, NDArray[np.generic]]", name: str = "log") -> "duckdb.DuckDBPyRelation":
    """Make a DuckDB relation of columns.

    Parameters
    ----------
    columns
        NumPy arrays of the same length.
    name
        What SQL calls the relation.
    """
    connection = connect()
    connection.register(name, dict(columns))
    return connection.table(name)


def relation_of_rows(rows: Sequence[Mapping[str, Any]]) -> "duckdb.DuckDBPyRelation":
    """Make a DuckDB relation of rows of plain values.

    Parameters
    ----------
    rows
        Values by column. The keys of a table within a row become columns of their own, such as ``response.mean_ms``;
        a list becomes a text of JSON. A value that a row lacks is null.
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
    """Return DuckDB's type of the values of a column."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {int}:
        return "BIGINT" if all(value is None or abs(value) < 2**63 for value in values) else "DOUBLE"
    return "DOUBLE" if kinds and kinds <= {int, float} else "VARCHAR"


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class Framed(ABC):
    """Base of results that DuckDB can query, and that frames of pandas and polars and Arrow tables can hold."""

    @abstractmethod
    def relation(self, *args: Any) -> "duckdb.DuckDBPyRelation":
        """Return it as a DuckDB relation, to be queried in SQL."""

    def polars(self, *args: Any) -> "pl.DataFrame":
        """Return it as a polars frame; arguments as for :meth:`relation`."""
        polars = need("polars", "frames")
        frame: pl.DataFrame = polars.DataFrame(self.relation(*args))
        return frame

    def pandas(self, *args: Any) -> "pd.DataFrame":
        """Return it as a pandas frame; arguments as for :meth:`relation`."""
        need("pandas", "frames")
        frame: pd.DataFrame = self.relation(*args).df()
        return frame

    def arrow(self, *args: Any) -> "pa.Table":
        """Return it as an Arrow table; arguments as for :meth:`relation`."""
        need("pyarrow", "frames")
        return self.relation(*args).to_arrow_table()


def require_utf8(error: type[SledsimError], path: Path, named: Path | None = None) -> None:
    """Raise for a path that DuckDB cannot read: one with bytes that are not UTF-8.

    Parameters
    ----------
    error
        The type of what is raised.
    path
        The path.
    named
        What messages call it, if not by itself.
    """
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        says = "its whole path has to be UTF-8 text, and has other bytes: rename what has them, or name another place"
        raise make_error(error, "notation", says, file=named or path) from None


def connect() -> "duckdb.DuckDBPyConnection":
    """Connect to a DuckDB database in memory.

    Files are written by the calling thread: the writer threads of DuckDB 2 may deadlock where a write fails.
    """
    import duckdb

    return duckdb.connect(config={} if duckdb.__version__.startswith("1.") else {"async_threads": 0})


def sql_path(path: Path) -> str:
    """Write a file's path in SQL for functions that take ``*``, ``?`` and ``[`` for patterns.

    It is made absolute, as a name that begins with ``~`` or ``file:`` would be another file.

    Parameters
    ----------
    path
        The path.
    """
    return sql_literal(re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", str(path.absolute())))


def parquet_rows(*paths: Path) -> str:
    """Return the rows of Parquet files in SQL; a folder's name such as ``value=7`` does not become a column.

    Parameters
    ----------
    *paths
        The files.
    """
    return f"read_parquet([{', '.join(map(sql_path, paths))}], hive_partitioning = false)"


def sql_literal(text: str) -> str:
    """Return a text as a string literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def write_columns(
    columns: "Mapping[str, NDArray[np.generic]]", path: Path, metadata: Mapping[str, str] | None = None
) -> None:
    """Write columns to a file of the kind that its name tells.

    Parameters
    ----------
    columns
        NumPy arrays of the same length.
    path
        Ends in ``.parquet``, ``.csv`` or ``.json``.
    metadata
        What a Parquet file is to carry beside the columns.
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
            # DuckDB's own temporary file would take the place of the one that is locked.
            connection.execute(f"COPY ({query}) TO {sql_literal(str(unfinished))} ({options}, USE_TMP_FILE false)")
    except duckdb.Error as error:
        reason = unwritable(path.parent) or error
        raise make_error(SledsimError, "unreadable", f"cannot be written: {reason}{remedy}", file=path) from None
    except OSError as error:
        raise make_error(
            SledsimError, "unreadable", f"cannot be written: {error.strerror}{remedy}", file=path
        ) from None
