"""Traces in memory: conversion of arrays, frames and Parquet files to the columns of the core."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim import _core
from sledsim._core import TraceError
from sledsim.show.faults import brief, make_error
from sledsim.show.frames import connect, parquet_rows, require_utf8
from sledsim.show.signals import handled_interrupts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    #: Numbers, or different texts with the index of each row's text.
    CoreColumn = NDArray[np.generic] | tuple[list[str], NDArray[np.uint32]]

__all__ = ["MEMORY", "column_names", "for_each_row", "is_frame", "is_parquet", "parquet_table", "table_of"]

#: Prefix of the name of a trace in memory, followed by the hash of its content.
MEMORY = "memory:"
#: Hexadecimal digits of the hash.
NAME_DIGITS = 16

#: Column types of DuckDB that NumPy holds exactly; others are read as texts.
EXACT = frozenset(f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")) | {
    "FLOAT",
    "DOUBLE",
    "BOOLEAN",
    "VARCHAR",
}

#: Texts of missing values in object columns.
MISSING = frozenset({"nan", "<NA>", "NaT"})

#: Boolean columns of :meth:`sledsim.Trace.head`, which replace an operation column.
OPERATION_FLAGS = ("flush", "fua")
READ_FLAGS = ("is_read", "read")


def is_parquet(path: Path) -> bool:
    """Return True if a file is Parquet by its first bytes."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        # The error is reported when the file is read.
        return False


def is_frame(value: object) -> bool:
    """Return True if a value has named columns: a frame of pandas or polars, an Arrow table, a relation, a mapping."""
    return isinstance(value, Mapping) or hasattr(value, "columns")


def column_names(frame: Any) -> list[Any]:
    """Return the names of the columns of a frame; see :func:`is_frame`."""
    if isinstance(frame, Mapping):
        return list(frame)
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def for_each_row(columns: Mapping[str, Any]) -> "dict[str, NDArray[Any]]":
    """Return columns as arrays of equal length; single values are repeated."""
    import numpy as np

    arrays = {}
    for name, value in columns.items():
        try:
            arrays[name] = np.asarray(value)
        except (ValueError, TypeError, OverflowError) as error:
            raise _no_column(name, value, str(error)) from None
    rows = max((array.shape[0] for array in arrays.values() if array.ndim), default=1)
    return {name: array if array.ndim else np.full(rows, array) for name, array in arrays.items()}


def parquet_table(path: Path, columns: Mapping[str, str] | None) -> tuple[_core.TraceTable, dict[str, str] | None]:
    """Read a Parquet trace into memory.

    Parameters
    ----------
    path
        The Parquet file.
    columns
        Column names by meaning, as for :func:`sledsim.traces.open_trace`.

    Returns
    -------
    TraceTable, dict
        The columns that are read, and their names by meaning.

    Raises
    ------
    TraceError
        The file is damaged, or a column that every trace needs is missing.
    """
    import duckdb

    require_utf8(TraceError, path)
    try:
        with handled_interrupts(), connect() as connection:
            return table_of(connection.sql(f"SELECT * FROM {parquet_rows(path)}"), columns, name=str(path))
    except (MemoryError, duckdb.OutOfMemoryException):
        raise make_error(TraceError, "unreadable", "there is not enough memory to read it", file=path) from None
    except duckdb.Error:
        message = "a damaged or incomplete Parquet file: download or write it again"
        raise make_error(TraceError, "unreadable", message, file=path) from None


def table_of(
    frame: Any, columns: Mapping[str, str] | None = None, *, name: str | None = None
) -> tuple[_core.TraceTable, dict[str, str] | None]:
    """Copy the columns of a trace from a frame.

    Parameters
    ----------
    frame
        A frame; see :func:`is_frame`.
    columns
        Column names by meaning, as for :func:`sledsim.traces.open_trace`.
    name
        Its name in messages; by default ``memory:`` and a hash of its content.

    Returns
    -------
    TraceTable, dict
        The columns that are read, and their names by meaning.

    Raises
    ------
    TraceError
        A column that every trace needs is missing, or is no column of numbers or texts.
    """
    import numpy as np

    named = {str(each): each for each in column_names(frame)}
    flags = _flags(named, columns)
    offered = [each for each in named if each not in flags] + (["op"] if flags else [])
    mapped = None if columns is None else dict(columns)
    used = list(dict.fromkeys(_core.used_columns(name or "trace", offered, mapped)))
    arrays = _arrays(frame, {each: named[each] for each in [*used, *flags] if each in named})
    if flags and "op" in used:
        arrays["op"] = _operations({each: arrays.pop(each) for each in flags})
    time = used[0]
    if arrays[time].dtype.kind in "mM":
        # A date and a length of time state their unit.
        arrays[time] = arrays[time].astype(f"{arrays[time].dtype.kind}8[ns]").astype(np.int64)
        mapped = {**(mapped or {}), "time": time, "time_unit": "ns"}
    found = [(each, _core_column(each, arrays[each])) for each in used]
    return _core.TraceTable(name or f"{MEMORY}{_digest(found)}", found), mapped


def _flags(named: Iterable[str], columns: Mapping[str, str] | None) -> list[str]:
    """Return the names of the boolean columns that give the operation, the one of reads first."""
    if columns is not None and "op" in columns:
        return []
    read = [each for each in READ_FLAGS if each in named]
    return [*read[:1], *(each for each in OPERATION_FLAGS if each in named)] if read else []


def _arrays(frame: Any, named: Mapping[str, Any]) -> "dict[str, NDArray[Any]]":
    """Return columns of a frame as arrays."""
    import numpy as np

    if hasattr(frame, "fetchnumpy"):
        kinds = dict(zip(frame.columns, map(str, frame.types), strict=True))
        quoted = {each: '"' + each.replace('"', '""') + '"' for each in named}
        exact = {each for each in named if kinds[each] in EXACT or kinds[each].startswith("TIMESTAMP")}
        selected = (text if each in exact else f"{text}::VARCHAR AS {text}" for each, text in quoted.items())
        fetched = frame.project(", ".join(selected)).fetchnumpy()
        return {each: _fill_missing(fetched[each]) for each in named}
    arrays = {}
    for each, key in named.items():
        try:
            arrays[each] = _fill_missing(np.asarray(frame[key]))
        except (ValueError, TypeError, OverflowError) as error:
            raise _no_column(each, frame[key], str(error)) from None
    return arrays


def _fill_missing(array: "NDArray[Any]") -> "NDArray[Any]":
    """Return an array with missing values as empty texts, as in a CSV file."""
    import numpy as np

    if isinstance(array, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(array), "", array.data.astype(str)) if array.mask.any() else array.data
    return array


def _operations(flags: "Mapping[str, NDArray[Any]]") -> "NDArray[Any]":
    """Return the operation of each row from boolean columns."""
    import numpy as np

    for name, array in flags.items():
        if not (array.dtype.kind == "b" or (array.dtype.kind in "iu" and np.isin(array, (0, 1)).all())):
            raise _no_column(name, array, "expected true or false")
    read, *others = (array.astype(bool) for array in flags.values())
    found = np.where(read, "R", "W")
    for name, array in zip(list(flags)[1:], others, strict=True):
        found = np.where(array, "F", found) if name == "flush" else np.where(array & (found == "W"), "WF", found)
    return found


def _core_column(name: str, array: "NDArray[Any]") -> "CoreColumn":
    """Return a column in the format of the core."""
    import numpy as np

    if array.ndim != 1:
        raise _no_column(name, array, f"expected one row of values, not the shape {array.shape}")
    if array.dtype.kind == "O":
        array = _numbers_or_texts(array)
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "f" and size < 8:
        # Convert through the shortest decimal form, as in a CSV file.
        return array.astype(str).astype(np.float64)
    if kind in "iuf":
        if kind == "f" and size > 8:
            raise _no_column(name, array, f"expected numbers of at most 64 bits, not {array.dtype}")
        return np.ascontiguousarray(array.astype({"i": np.int64, "u": np.uint64, "f": np.float64}[kind], copy=False))
    if kind in "bU":
        words, codes = np.unique(array.astype(str, copy=False), return_inverse=True)
        return words.tolist(), codes.astype(np.uint32)
    raise _no_column(name, array, f"expected numbers or texts, not {array.dtype}")


def _numbers_or_texts(array: "NDArray[Any]") -> "NDArray[Any]":
    """Return objects as numbers if all of them are, and as texts otherwise; a missing value is an empty text."""
    import numpy as np

    values = array.tolist()
    if values and all(isinstance(each, int) and not isinstance(each, bool) for each in values):
        numbers = np.asarray(values)
        if numbers.dtype.kind in "iu":
            return numbers
    return np.array(["" if each is None or str(each) in MISSING else str(each) for each in values])


def _digest(columns: "Iterable[tuple[str, CoreColumn]]") -> str:
    """Return the hash of columns with their names."""
    found = hashlib.sha256()
    for name, column in columns:
        words, numbers = column if isinstance(column, tuple) else ([], column)
        found.update(repr((name, words, numbers.dtype.str, numbers.size)).encode(errors="surrogatepass"))
        found.update(numbers.tobytes())
    return found.hexdigest()[:NAME_DIGITS]


def _no_column(name: str, value: object, message: str) -> TraceError:
    return make_error(TraceError, "wrong-type", f"column {name!r}: {message}", path=name, value=brief(value)[0])
