"""Block traces: what is in them, their records, and other formats."""

import os
import shutil
import weakref
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Any

from sledsim import _core
from sledsim._core import SledsimError, TraceError
from sledsim.scenario.texts import no_text
from sledsim.show.arguments import require_integer, require_kind, require_path
from sledsim.show.faults import convert_error, is_there, make_error, missing_file, require_plain
from sledsim.show.frames import COPY_OPTIONS, connected, copy_atomically, quoted_path, require_utf8
from sledsim.show.section import Section
from sledsim.show.tables import Table
from sledsim.traces.parquet import copied, is_parquet, require_other, told_of

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "WITH_FLUSHES",
    "Trace",
    "formats_table",
    "open_trace",
    "records_table",
    "require_file",
    "trace_formats",
    "written_as",
]

#: Columns of a CSV trace that the core has written: left to guess, DuckDB takes numbers beyond 2^63 for floats.
CSV_COLUMNS = "{t_ns: 'UBIGINT', device: 'UINTEGER', offset_bytes: 'UBIGINT', bytes: 'UBIGINT', op: 'VARCHAR'}"

#: Records that are read at once.
BATCH_RECORDS = 65_536


class Trace:
    """A block trace on disk; see :func:`open_trace`.

    Parameters
    ----------
    path
        The trace.
    format
        Its format; recognised by its content when not given.
    skip_bad
        Malformed records to pass over.
    sector_bytes
        Bytes in a sector, where it is not what the format says.
    columns
        For CSV and Parquet: which column holds what.
    event, time_unit
        As for :func:`open_trace`.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        format: str | None = None,  # noqa: A002  the word of the field
        skip_bad: int = 0,
        sector_bytes: int | None = None,
        columns: Mapping[str, str] | None = None,
        event: str | None = None,
        time_unit: str | None = None,
    ) -> None:
        self.path = require_path(TraceError, "path", path)
        self._options = reading_options(format, skip_bad, sector_bytes, columns, event, time_unit)
        self._readable = self.path
        require_file(self.path)
        self._is_parquet = is_parquet(self.path)
        if self._is_parquet:
            folder = mkdtemp(prefix="sledsim-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._readable = copied(self.path, Path(folder), columns)
            self._options["format"] = "csv"
        # A trace that cannot be read is better refused here than at the first record.
        self._reader()

    def _reader(self) -> _core.TraceReader:
        with self._told():
            return _core.TraceReader(str(self._readable), **self._options)

    def _told(self) -> AbstractContextManager[None]:
        """Tell what is wrong with a copy as wrong with the trace."""
        return told_of(self.path, self._readable) if self._is_parquet else nullcontext()

    @property
    def format(self) -> str:
        """The trace's format."""
        return "parquet" if self._is_parquet else self._reader().format

    @property
    def has_responses(self) -> bool:
        """True if it says what requests took where it was recorded."""
        return self._reader().has_responses

    def batches(self, records: int = BATCH_RECORDS) -> "Iterator[dict[str, NDArray[np.generic]]]":
        """Read the trace from its start, some records at a time.

        Parameters
        ----------
        records
            Records in each batch but the last.

        Yields
        ------
        dict
            NumPy columns ``time_ns`` (from the first record), ``device``, ``offset_bytes``, ``bytes``, ``read``,
            ``flush`` and ``fua`` (forced unit access); in DiskSim's validation format also ``service_ns``, ``gap_ns``
            and ``outcome``, as measured. A flush has no bytes, and is no read. Of a CSV or Parquet trace with a column
            of what requests took, such as ``response_us``, also ``response_ns``.
        """
        records = require_integer(TraceError, "records", records, 1)
        reader = self._reader()
        while True:
            with self._told():
                batch = reader.read(records)
            if not len(batch["time_ns"]):
                return
            yield batch

    def __iter__(self) -> "Iterator[dict[str, NDArray[np.generic]]]":
        return self.batches()

    def head(self, records: int = 10) -> "dict[str, NDArray[np.generic]]":
        """Return the first records, as columns.

        Parameters
        ----------
        records
            How many.
        """
        records = require_integer(TraceError, "records", records)
        reader = self._reader()
        with self._told():
            return reader.read(records)

    def info(self) -> Section:
        """Read the whole trace and say what is in it: counts, shares, sizes, times."""
        with self._told():
            info = _core.trace_info(str(self._readable), **self._options)
        if self._is_parquet:
            info.update(format="parquet", format_detected_by="its first bytes")
        return Section(info)

    def relation(self) -> "duckdb.DuckDBPyRelation":
        """Return the records as a DuckDB relation named ``trace``, to be queried in SQL."""
        connection = connected()
        columns = "time_ns UBIGINT, device UINTEGER, offset_bytes UBIGINT, bytes UBIGINT"
        columns += ", read BOOLEAN, flush BOOLEAN, fua BOOLEAN"
        if self.format == "disksim-validate":
            columns += ", service_ns UBIGINT, gap_ns UBIGINT, outcome VARCHAR"
        elif self.has_responses:
            columns += ", response_ns UBIGINT"
        connection.execute(f"CREATE TABLE trace ({columns})")
        for batch in self:
            connection.register("batch", batch)
            connection.execute("INSERT INTO trace BY NAME SELECT * FROM batch")
            connection.unregister("batch")
        return connection.table("trace")

    def convert(self, destination: str | Path, *, to: str | None = None) -> int:
        """Write the trace in another format.

        Parameters
        ----------
        destination
            The file to write.
        to
            ``"csv"``, ``"parquet"``, ``"disksim-ascii"`` or ``"mqsim"``; by the file's name when not given.

        Returns
        -------
        int
            Records written.
        """
        path = require_path(TraceError, "destination", destination)
        chosen = written_as(path, to)
        require_plain(TraceError, path)
        if is_there(path) and path.samefile(self.path):
            says = "a trace cannot be converted into its own file; choose another"
            raise make_error(TraceError, "conflict", says, value=str(path), file=path)
        if chosen not in WITH_FLUSHES:
            self._require_data(chosen, path)
        if chosen == "parquet":
            require_utf8(TraceError, Path(os.path.realpath(path)).parent, path)
        else:
            with self._told():
                return _core.trace_convert(str(self._readable), str(path), to=chosen, **self._options)

        with TemporaryDirectory(prefix="sledsim-") as folder:
            copy = Path(folder, "trace.csv")
            with self._told():
                count = _core.trace_convert(str(self._readable), str(copy), to="csv", **self._options)
            read = f"header = true, hive_partitioning = false, columns = {CSV_COLUMNS}"
            query = f"SELECT * FROM read_csv({quoted_path(copy)}, {read})"
            try:
                with connected() as connection:
                    copy_atomically(connection, query, path, COPY_OPTIONS[".parquet"])
            except SledsimError as error:
                raise convert_error(TraceError, error) from None
        return count

    def _require_data(self, chosen: str, path: Path) -> None:
        """Raise if a trace of flushes alone is written in a format without flushes."""
        is_empty = True
        for batch in self:
            if not batch["flush"].all():
                return
            is_empty = is_empty and not len(batch["flush"])
        if not is_empty:
            says = f"the trace holds flushes alone, which {chosen} can't hold: choose {' or '.join(WITH_FLUSHES)}"
            raise make_error(TraceError, "unsupported", says, path="to", file=path, value=chosen)

    def _repr_html_(self) -> str:
        first = records_table(self.head())
        return replace(first, title=f"{self.path} ({self.format}): the first records")._repr_html_()

    def __repr__(self) -> str:
        return f"<Trace {self.path} ({self.format})>"


#: Formats that are written with flushes, and with writes that have to be on the medium when they complete.
WITH_FLUSHES = ("csv", "parquet")


def written_as(path: Path, to: str | None) -> str:
    """Return the format in which a trace is written.

    Parameters
    ----------
    path
        The file to write.
    to
        The format; by the file's name when not given.

    Raises
    ------
    TraceError
        Where there is no such format, or the name does not tell one.
    """
    written = {each["name"]: each["suffix"] for each in trace_formats() if each["written"]}
    meant = (name for name, suffix in written.items() if suffix == path.suffix.lower())
    if to is not None:
        require_kind(TraceError, "to", to, str, "the name of a format")
    chosen = to or next(meant, None)
    if chosen is None:
        says = f"the name does not tell the format; choose one of {', '.join(written)}"
        raise make_error(TraceError, "unknown-format", says, path="to", allowed=list(written), file=path)
    if chosen not in written:
        says = f"cannot write format {chosen!r}"
        raise make_error(TraceError, "unknown-format", says, path="to", file=path, value=chosen, known=written)
    return chosen


def open_trace(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002  the word of the field
    skip_bad: int = 0,
    sector_bytes: int | None = None,
    columns: Mapping[str, str] | None = None,
    event: str | None = None,
    time_unit: str | None = None,
) -> Trace:
    """Open a block trace, compressed or not.

    Parameters
    ----------
    path
        The trace.
    format
        Its format (``sledsim list formats`` lists them); recognised by its content when not given.
    skip_bad
        Malformed records to pass over; one more is an error.
    sector_bytes
        Bytes in a sector, where it is not what the format says.
    columns
        For CSV and Parquet: the columns ``time``, ``device``, ``offset``, ``bytes`` and ``op`` by name or number
        (from 0), where the header does not name them as Sledsim does. Units that a column's name does not state:
        ``time_unit`` (``"s"``, ``"ms"``, ``"us"``, ``"ns"``, ``"filetime"``), ``offset_unit`` and ``length_unit``
        (``"bytes"``, ``"sectors"``). Codes of operations: ``read`` and ``write``.
    event
        Of a blkparse trace: which event is the arrival, ``"queued"`` (the default) or ``"dispatched"``.
    time_unit
        Timestamp unit of a fio iolog, version 3; ``"us"`` when not given, as fio writes them.

    Returns
    -------
    Trace
        The trace, to iterate over in batches, to look into or to convert.

    Raises
    ------
    TraceError
        Where the trace cannot be read.
    """
    return Trace(
        path,
        format=format,
        skip_bad=skip_bad,
        sector_bytes=sector_bytes,
        columns=columns,
        event=event,
        time_unit=time_unit,
    )


def trace_formats() -> list[dict[str, Any]]:
    """List the formats that can be read: name, description, whether records have times, whether it can be written too.

    ``suffix`` is the ending of a file's name that means a format when a trace is written.
    """
    parquet = {"name": "parquet", "description": "Parquet with named columns, as in CSV", "has_times": True}
    return [*_core.trace_formats(), parquet | {"written": True, "suffix": ".parquet"}]


def formats_table() -> Table:
    """Return the formats that can be read, as a table."""
    rows = [[each["name"], "yes" if each["has_times"] else "no", each["description"]] for each in trace_formats()]
    return Table(["format", "times", "record"], rows, left=frozenset({1, 2}))


def records_table(records: "Mapping[str, NDArray[np.generic]]") -> Table:
    """Return records as a table.

    Parameters
    ----------
    records
        Columns, as :meth:`Trace.head` gives them.
    """
    columns = {
        "time (ms)": [f"{time_ns / 1e6:,.6f}" for time_ns in records["time_ns"].tolist()],
        "device": [str(device) for device in records["device"].tolist()],
        "offset (B)": [f"{offset:,}" for offset in records["offset_bytes"].tolist()],
        "size (B)": [f"{size:,}" for size in records["bytes"].tolist()],
        "op": [
            "flush" if flush else "read" if read else "write, FUA" if fua else "write"
            for read, flush, fua in zip(*(records[name].tolist() for name in ("read", "flush", "fua")), strict=True)
        ],
    }
    if "response_ns" in records:
        columns["response (ms)"] = [f"{time_ns / 1e6:,.6f}" for time_ns in records["response_ns"].tolist()]
    if "service_ns" in records:
        columns["outcome"] = records["outcome"].tolist()
        columns["service (ms)"] = [f"{time_ns / 1e6:,.6f}" for time_ns in records["service_ns"].tolist()]
        columns["gap (ms)"] = [f"{time_ns / 1e6:,.6f}" for time_ns in records["gap_ns"].tolist()]
    left = {place for place, name in enumerate(columns) if name in {"op", "outcome"}}
    return Table(list(columns), list(zip(*columns.values(), strict=True)), left=frozenset(left))


def reading_options(
    format: str | None,  # noqa: A002  the word of the field
    skip_bad: int,
    sector_bytes: int | None,
    columns: Mapping[str, str] | None,
    event: str | None,
    time_unit: str | None,
) -> dict[str, Any]:
    """Return how to read a trace, as the core takes it.

    Parameters
    ----------
    format, skip_bad, sector_bytes, columns, event, time_unit
        As for :func:`open_trace`.

    Raises
    ------
    TraceError
        Where one of them is of another type, or no number that a trace can have.
    """
    words: dict[str, object] = {"format": format, "event": event, "time_unit": time_unit}
    for path, word in words.items():
        if word is not None and not isinstance(word, str):
            raise make_error(TraceError, "wrong-type", path=path, value=repr(word)[:200], allowed="a text")
    require_other(format)
    skip_bad = require_integer(TraceError, "skip_bad", skip_bad)
    if sector_bytes is not None:
        sector_bytes = require_integer(TraceError, "sector_bytes", sector_bytes, 1, (1 << 32) - 1)
    given: object = columns
    words_alone = isinstance(given, Mapping) and all(isinstance(word, str) for pair in given.items() for word in pair)
    if given is not None and not words_alone:
        expected = "column names by what they hold, such as {'time': 'Timestamp'}"
        raise make_error(TraceError, "wrong-type", path="columns", value=repr(given)[:200], allowed=expected)
    named = [*words.items(), *(("columns", word) for pair in (columns or {}).items() for word in pair)]
    for path, word in named:
        if isinstance(word, str) and (says := no_text(word)):
            raise make_error(TraceError, "notation", f": {says}", path=path)
    return {
        "format": format,
        "skip_bad": skip_bad,
        "sector_bytes": sector_bytes,
        "columns": None if columns is None else dict(columns),
        "event": event,
        "time_unit": time_unit,
    }


def require_file(path: Path) -> None:
    """Raise for a trace that is not there, or is no file.

    Parameters
    ----------
    path
        The trace.
    """
    if not is_there(path):
        raise missing_file(TraceError, path)
    if path.is_dir():
        raise make_error(TraceError, "unreadable", "a folder, not a trace", value=str(path), file=path)
    if not path.is_file():
        # Opening a pipe waits for whoever writes into it, and traces are read more than once.
        says = "it is not a regular file; write what comes from a pipe to a file first"
        raise make_error(TraceError, "unreadable", says, value=str(path), file=path)
