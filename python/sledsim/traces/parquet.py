"""Parquet traces: copied to CSV, which the core reads; what is wrong with the copy is told of the trace."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sledsim import _core
from sledsim._core import SledsimError, TraceError
from sledsim.show.faults import facts_of, make_error, with_facts, with_faults
from sledsim.show.files import unwritable
from sledsim.show.frames import COPY_OPTIONS, connected, parquet_rows, quoted, require_utf8
from sledsim.show.signals import signals_heard

if TYPE_CHECKING:
    import duckdb

__all__ = ["copied", "is_parquet", "parquet_as_csv", "require_other", "told_of"]


#: Keys of a column map that name a column, and those that every trace needs.
NEEDED_KEYS = frozenset({"time", "offset", "bytes", "op"})
MAPPED_KEYS = NEEDED_KEYS | {"device"}


def is_parquet(path: Path) -> bool:
    """Tell by its first bytes whether a file is Parquet."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        # Whoever reads the file says what is wrong with it.
        return False


def require_other(format_name: str | None) -> None:
    """Raise for Parquet as the name of the format to read a trace in: its files are known without it.

    Parameters
    ----------
    format_name
        The name that was given, if one was.
    """
    if format_name == "parquet":
        says = ": Parquet files are told by their content, whatever their name: leave it out"
        raise make_error(TraceError, "conflict", says, path="format", value=format_name)


@contextmanager
def parquet_as_csv(path: Path, folder: Path, columns: Mapping[str, str] | None = None) -> Iterator[Path]:
    """Copy a Parquet trace, row group by row group, into a CSV that the core reads.

    Parameters
    ----------
    path
        The Parquet file.
    folder
        Where the copy goes.
    columns
        Which column holds what; every column is copied when not given.

    Yields
    ------
    Path
        The copy. What is wrong with it is told of the trace.

    Raises
    ------
    TraceError
        Where it is no Parquet file that can be read.
    """
    copy = copied(path, folder, columns)
    with told_of(path, copy):
        yield copy


def copied(path: Path, folder: Path, columns: Mapping[str, str] | None = None) -> Path:
    """Copy a Parquet trace as :func:`parquet_as_csv` does.

    Parameters
    ----------
    path, folder, columns
        As there.
    """
    import duckdb

    require_utf8(TraceError, path)
    copy = folder / path.name
    source = parquet_rows(path)
    try:
        with signals_heard(), connected() as connection:
            wanted = _wanted(connection, source, columns)
            connection.execute(f"COPY (SELECT {wanted} FROM {source}) TO {quoted(str(copy))} ({COPY_OPTIONS['.csv']})")
    except (MemoryError, duckdb.OutOfMemoryException):
        raise make_error(TraceError, "unreadable", "there is not enough memory to read it", file=path) from None
    except duckdb.Error:
        if reason := unwritable(folder):
            says = f"it is copied to be read, and nothing can be written in {folder}: {reason}"
        else:
            says = "it begins as Parquet does, but is damaged, or not whole: fetch it, or write it, once more"
        raise make_error(TraceError, "unreadable", says, file=path) from None
    return copy


@contextmanager
def told_of(path: Path, copy: Path) -> Iterator[None]:
    """Tell what is wrong with a CSV as wrong with the Parquet trace that it is a copy of.

    Parameters
    ----------
    path
        The trace.
    copy
        The CSV.
    """
    try:
        yield
    except SledsimError as error:
        told = [_of_parquet(fault, path) if fault.file == str(copy) else fault for fault in error.faults]
        if tuple(told) == error.faults:
            raise
        raise with_faults(error, told) from error.__cause__


def _of_parquet(fault: _core.Fault, path: Path) -> _core.Fault:
    """Return a fault of a CSV as one of the Parquet trace that it is a copy of: of a record instead of a line."""
    words = facts_of(fault)["message"]
    if fault.kind == "record" and fault.line is not None:
        # The first line is the header.
        words = [{"text": f", in record {fault.line - 1} (from 1); "}, *words[1:]]
    elif fault.kind == "missing" and fault.line is None:
        words = [{"text": "the trace contains no records: give one that has some"}]
    return with_facts(fault, file=str(path), line=None, byte=None, message=words)


def _wanted(connection: "duckdb.DuckDBPyConnection", source: str, columns: Mapping[str, str] | None) -> str:
    """Say in SQL which columns to copy: those mapped, where all that are needed are, else every column.

    Whole numbers that floating-point columns hold are written as such, not as ``1.28e17``.
    """
    types = {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}
    mapped = {key: name for key, name in (columns or {}).items() if key in MAPPED_KEYS}
    is_complete = mapped.keys() >= NEEDED_KEYS and types.keys() >= set(mapped.values())
    wanted = dict.fromkeys(mapped.values() if is_complete else types)
    return ", ".join(_exactly(name, types[name]) for name in wanted)


def _exactly(name: str, kind: str) -> str:
    """Say in SQL a column, and how its whole numbers are to be written."""
    column = '"' + name.replace('"', '""') + '"'
    if kind not in {"DOUBLE", "FLOAT"}:
        return column
    is_whole = f"{column} = floor({column}) AND abs({column}) < 1.8e19"
    return f"CASE WHEN {is_whole} THEN {column}::HUGEINT::VARCHAR ELSE {column}::VARCHAR END AS {column}"
