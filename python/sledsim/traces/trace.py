"""Block traces: statistics, records, and conversion to other formats."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

from sledsim import _core
from sledsim._core import SledsimError, TraceError
from sledsim.scenario.texts import no_text
from sledsim.show.arguments import require_integer, require_kind, require_path
from sledsim.show.faults import brief, convert_error, is_there, make_error, missing_file, require_plain
from sledsim.show.frames import COPY_OPTIONS, connect, copy_atomically, require_utf8, sql_path
from sledsim.show.naming import with_count
from sledsim.show.section import Section
from sledsim.show.tables import Table
from sledsim.traces.table import for_each_row, is_frame, is_parquet, parquet_table, table_of

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "WITH_FLUSHES",
    "Source",
    "Trace",
    "TraceLike",
    "as_trace",
    "formats_table",
    "open_trace",
    "records_table",
    "require_file",
    "require_other",
    "source_of",
    "trace_formats",
    "written_as",
]

#: Column types of a CSV trace written by the core. By default, DuckDB reads numbers beyond 2^63 as floats.
CSV_COLUMNS = "{t_ns: 'UBIGINT', device: 'UINTEGER', offset_bytes: 'UBIGINT', bytes: 'UBIGINT', op: 'VARCHAR'}"

#: Default number of records in a batch.
BATCH_RECORDS = 65_536

#: The path of a trace, a :class:`Trace`, or a frame as for :meth:`Trace.from_frame`.
TraceLike = Any


class Trace:
    """A block trace: a file, or columns in memory.

    :func:`open_trace` opens a file. :meth:`from_columns` and :meth:`from_frame` take columns in memory. A trace can
    replace the path of a trace in every function, such as :func:`sledsim.replay` and
    :func:`sledsim.studies.hit_ratio`, and is a ``workload`` of a scenario or a sweep.

    Parameters
    ----------
    path
        The trace.
    format
        Its format; detected from the content by default.
    skip_bad
        Number of malformed records to skip.
    sort
        True to sort the records by time.
    sector_bytes
        Sector size, bytes, if it differs from that of the format.
    columns
        For CSV and Parquet: names of columns by meaning.
    event, time_unit
        As for :func:`open_trace`.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        format: str | None = None,  # noqa: A002  the word of the field
        skip_bad: int = 0,
        sort: bool = False,
        sector_bytes: int | None = None,
        columns: Mapping[str, str] | None = None,
        event: str | None = None,
        time_unit: str | None = None,
    ) -> None:
        options = reading_options(format, skip_bad, sector_bytes, columns, event, time_unit, sort=sort)
        self._source = _file_source(path, options)
        # Raise errors of the file here rather than at the first record.
        self._reader()

    @classmethod
    def from_columns(
        cls,
        *,
        time_s: "ArrayLike | None" = None,
        time_ms: "ArrayLike | None" = None,
        time_us: "ArrayLike | None" = None,
        time_ns: "ArrayLike | None" = None,
        lbn: "ArrayLike | None" = None,
        offset_bytes: "ArrayLike | None" = None,
        blocks: "ArrayLike | None" = None,
        bytes: "ArrayLike | None" = None,  # noqa: A002  the unit
        is_read: "ArrayLike | None" = None,
        op: "ArrayLike | None" = None,
        device: "ArrayLike | None" = None,
        sector_bytes: int | None = None,
        skip_bad: int = 0,
        sort: bool = False,
    ) -> Self:
        """Create a trace from columns in memory: arrays, lists or Series of one length, with a row for each request.

        The trace replays exactly as a CSV file with these columns. The columns are copied, so a later change of them
        does not change the trace.

        Parameters
        ----------
        time_s, time_ms, time_us, time_ns
            Arrival times, not decreasing, in the unit of the name; give one of the four. Times count from the first
            request and are rounded to nanoseconds.
        lbn, offset_bytes
            First block, or first byte, of each request; give one of both.
        blocks, bytes
            Length of each request, at least 1; give one of both.
        is_read
            True for reads, false for writes.
        op
            Instead of ``is_read``: texts ``R`` or ``read``, ``W`` or ``write``, ``WF`` (write with forced unit access),
            ``F`` or ``flush``, and ``ZR`` or ``reset`` (of zones).
        device
            Device numbers; 0 by default.
        sector_bytes
            Size of the blocks of ``lbn`` and ``blocks``, bytes; 512 by default.
        skip_bad
            Number of malformed records to skip; one more is an error.
        sort
            True to sort the records by time.

        Raises
        ------
        TraceError
            If a column is missing or given twice, columns differ in length, or a value is invalid: the error names its
            index.

        Examples
        --------
        >>> trace = Trace.from_columns(time_ms=[0, 1.5, 2], lbn=[0, 800, 16], blocks=8, is_read=[True, False, True])
        >>> sledsim.replay(trace, "g2").requests.completed
        3
        """
        given = {
            "time": {"time_s": time_s, "time_ms": time_ms, "time_us": time_us, "time_ns": time_ns},
            "offset": {"lbn": lbn, "offset_bytes": offset_bytes},
            "length": {"blocks": blocks, "bytes": bytes},
            "operation": {"is_read": is_read, "op": op},
        }
        columns: dict[str, Any] = {}
        for meaning, choices in given.items():
            chosen = {name: value for name, value in choices.items() if value is not None}
            if len(chosen) != 1:
                names = ", ".join(chosen or choices)
                message = f"the {meaning}: give one of {names}" + (", not several" if chosen else "")
                raise make_error(
                    TraceError, "conflict" if chosen else "missing", message, path=next(iter(chosen or choices))
                )
            columns |= chosen
        if device is not None:
            columns["device"] = device
        return cls.from_frame(for_each_row(columns), sector_bytes=sector_bytes, skip_bad=skip_bad, sort=sort)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        columns: Mapping[str, str] | None = None,
        sector_bytes: int | None = None,
        skip_bad: int = 0,
        sort: bool = False,
    ) -> Self:
        """Create a trace from a frame in memory.

        The trace replays exactly as a CSV file with the same columns. Columns are found as in a CSV file: by their
        names, such as ``time_ms``, ``lbn``, ``blocks`` and ``op``, or by ``columns``. If neither states a unit, an
        error is raised. Other columns are ignored. The boolean columns ``read``, ``flush`` and ``fua`` of
        :meth:`batches` replace ``op``; ``is_read`` is the same as ``read``. Times may be dates.

        Parameters
        ----------
        frame
            A frame of pandas or polars, an Arrow table, a DuckDB relation, or a dictionary of arrays. It is copied.
        columns
            Column names by meaning, as for :func:`open_trace`.
        sector_bytes
            Size of the sectors of columns such as ``lbn`` and ``blocks``, bytes; 512 by default.
        skip_bad
            Number of malformed records to skip; one more is an error.
        sort
            True to sort the records by time.

        Raises
        ------
        TraceError
            If a column or its unit is missing, or a value is invalid: the error names its index.

        Examples
        --------
        >>> frame = {"t_us": [0, 40, 90], "lbn": [0, 8, 64], "blocks": [8, 8, 16], "op": ["R", "W", "R"]}
        >>> Trace.from_frame(frame).info().records
        3
        """
        if not is_frame(frame):
            expected = "a frame of pandas or polars, an Arrow table, a DuckDB relation or a dictionary of columns"
            raise make_error(TraceError, "wrong-type", path="frame", value=brief(frame)[0], allowed=expected)
        options = reading_options(None, skip_bad, sector_bytes, columns, None, None, sort=sort)
        table, options["columns"] = table_of(frame, columns)
        trace = cls.of_source(Source(None, table, options, "memory"))
        # A malformed record is reported here rather than when the trace is replayed.
        trace.info()
        return trace

    @classmethod
    def of_source(cls, source: "Source") -> Self:
        """Open the trace of a source from :func:`source_of`."""
        trace = cls.__new__(cls)
        trace._source = source
        trace._reader()
        return trace

    @property
    def path(self) -> Path | None:
        """The file; ``None`` for a trace in memory."""
        return self._source.path

    @property
    def name(self) -> str:
        """The path of a file; for a trace in memory ``memory:`` and a hash of its content."""
        return self._source.name

    def _reader(self) -> _core.TraceReader:
        return _core.TraceReader(self._source.given, **self._source.options)

    @property
    def format(self) -> str:
        """The trace's format; ``"memory"`` for one in memory."""
        return self._source.format or self._reader().format

    @property
    def has_responses(self) -> bool:
        """True if the trace has recorded response times."""
        return self._reader().has_responses

    def workload(self, **keys: Any) -> dict[str, Any]:
        """Return a workload for a scenario that replays the trace.

        Parameters
        ----------
        **keys
            Keys of the workload, such as ``fit="scale"``, ``time_scale=0.5`` or ``records=1000``.
        """
        path, table = self.path, self._source.given
        where = (
            InMemory(table) if isinstance(table, _core.TraceTable) and path is None else str(Path(self.name).absolute())
        )
        options = {key: value for key, value in self._source.options.items() if value not in (None, 0)}
        return {"kind": "trace", "path": where, **options, **keys}

    def to_dict(self) -> dict[str, Any]:
        """Return :meth:`workload` without further keys, so that a trace can be a value in a scenario."""
        return self.workload()

    def batches(self, records: int = BATCH_RECORDS) -> "Iterator[dict[str, NDArray[np.generic]]]":
        """Read the trace from its start, in batches.

        Parameters
        ----------
        records
            Number of records in each batch but the last.

        Yields
        ------
        dict
            NumPy columns ``time_ns`` (from the first record), ``device``, ``offset_bytes``, ``bytes``, ``read``,
            ``flush`` and ``fua`` (forced unit access); for DiskSim's validation format also the measured
            ``service_ns``, ``gap_ns`` and ``outcome``. A flush has no bytes and is not a read. CSV and Parquet traces
            with a column of response times, such as ``response_us``, and latency logs of fio also have
            ``response_ns``.
        """
        records = require_integer(TraceError, "records", records, 1)
        reader = self._reader()
        while True:
            batch = reader.read(records)
            if not len(batch["time_ns"]):
                return
            yield batch

    def __iter__(self) -> "Iterator[dict[str, NDArray[np.generic]]]":
        return self.batches()

    def head(self, records: int = 10) -> "dict[str, NDArray[np.generic]]":
        """Return the first records as columns; see :meth:`batches`.

        Parameters
        ----------
        records
            Number of records.
        """
        records = require_integer(TraceError, "records", records)
        return self._reader().read(records)

    def info(self) -> Section:
        """Read the whole trace and return its statistics: counts, shares, sizes, times."""
        info = _core.trace_info(self._source.given, **self._source.options)
        if self._source.format is not None:
            by = "its first bytes" if self._source.format == "parquet" else "its columns"
            info.update(format=self._source.format, format_detected_by=by)
        return Section(info)

    def relation(self) -> "duckdb.DuckDBPyRelation":
        """Return the records as a DuckDB relation named ``trace``, for SQL queries."""
        connection = connect()
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
            ``"csv"``, ``"parquet"``, ``"disksim-ascii"`` or ``"mqsim"``; by default, from the file name.

        Returns
        -------
        int
            Number of records written.
        """
        path = require_path(TraceError, "destination", destination)
        chosen = written_as(path, to)
        require_plain(TraceError, path)
        if self.path is not None and is_there(path) and is_there(self.path) and path.samefile(self.path):
            message = "a trace cannot be converted into its own file; choose another"
            raise make_error(TraceError, "conflict", message, value=str(path), file=path)
        if chosen not in WITH_FLUSHES:
            self._require_data(chosen, path)
        if chosen == "parquet":
            require_utf8(TraceError, Path(os.path.realpath(path)).parent, path)
        else:
            return _core.trace_convert(self._source.given, str(path), to=chosen, **self._source.options)

        with TemporaryDirectory(prefix="sledsim-") as folder:
            copy = Path(folder, "trace.csv")
            count = _core.trace_convert(self._source.given, str(copy), to="csv", **self._source.options)
            read = f"header = true, hive_partitioning = false, columns = {CSV_COLUMNS}"
            query = f"SELECT * FROM read_csv({sql_path(copy)}, {read})"
            try:
                with connect() as connection:
                    copy_atomically(connection, query, path, COPY_OPTIONS[".parquet"])
            except SledsimError as error:
                raise convert_error(TraceError, error) from None
        return count

    def _require_data(self, chosen: str, path: Path) -> None:
        """Raise if the trace has only flushes, which the chosen format cannot represent."""
        is_empty = True
        for batch in self:
            if not batch["flush"].all():
                return
            is_empty = is_empty and not len(batch["flush"])
        if not is_empty:
            message = f"the trace has only flushes, and {chosen} has none: choose {' or '.join(WITH_FLUSHES)}"
            raise make_error(TraceError, "unsupported", message, path="to", file=path, value=chosen)

    def _repr_html_(self) -> str:
        first = records_table(self.head())
        return replace(first, title=f"{self.name} ({self.format}): the first records")._repr_html_()

    def __repr__(self) -> str:
        table = self._source.given
        held = with_count(len(table), "record") if isinstance(table, _core.TraceTable) else self.format
        return f"<Trace {self.name}: {held}>"


@dataclass(frozen=True)
class Source:
    """The source of a trace: a file or columns in memory, with reading options.

    Parameters
    ----------
    path
        The file; ``None`` for a trace in memory.
    given
        The path or the columns, for the core.
    options
        Reading options, for the core.
    format
        The format, if it differs from the one reported by the core.
    """

    path: Path | None
    given: "str | _core.TraceTable"
    options: dict[str, Any]
    format: str | None = None

    @property
    def name(self) -> str:
        """The path, or the name of a trace in memory."""
        return self.given if isinstance(self.given, str) else self.given.name


def _file_source(path: str | Path, options: dict[str, Any], argument: str = "path") -> Source:
    file = require_path(TraceError, argument, path)
    require_file(file)
    if not is_parquet(file):
        return Source(file, str(file), options)
    table, columns = parquet_table(file, options["columns"])
    return Source(file, table, options | {"columns": columns}, "parquet")


def source_of(
    trace: TraceLike,
    *,
    argument: str = "trace",
    format: str | None = None,  # noqa: A002  the word of the field
    skip_bad: int = 0,
    sort: bool = False,
    sector_bytes: int | None = None,
    columns: Mapping[str, str] | None = None,
    event: str | None = None,
    time_unit: str | None = None,
) -> Source:
    """Return the source of a trace.

    Parameters
    ----------
    trace
        A path, a :class:`Trace`, or a frame as for :meth:`Trace.from_frame`.
    argument
        The name of the argument in messages.
    format, skip_bad, sort, sector_bytes, columns, event, time_unit
        As for :func:`open_trace`.

    Raises
    ------
    TraceError
        If the file does not exist, or an option does not apply to the trace.
    """
    options = reading_options(format, skip_bad, sector_bytes, columns, event, time_unit, sort=sort)
    if not (isinstance(trace, Trace) or is_frame(trace)):
        return _file_source(trace, options, argument)
    of_frames = () if isinstance(trace, Trace) else ("skip_bad", "sort", "sector_bytes", "columns")
    for name, value in options.items():
        if value not in (None, 0) and name not in of_frames:
            message = ": does not apply to an open trace or one in memory: leave it out"
            raise make_error(TraceError, "conflict", message, path=name)
    given = {name: options[name] for name in of_frames}
    return (trace if isinstance(trace, Trace) else Trace.from_frame(trace, **given))._source


class InMemory(str):
    """The name of a trace in memory, with a reference to the trace, which keeps it alive while a scenario uses it.

    Parameters
    ----------
    table
        The trace.
    """

    __slots__ = ("table",)

    table: _core.TraceTable

    def __new__(cls, table: _core.TraceTable) -> Self:
        """Return the name of a trace."""
        name = super().__new__(cls, table.name)
        name.table = table
        return name

    def __reduce__(self) -> tuple[type[Self], tuple[_core.TraceTable]]:
        return type(self), (self.table,)


def as_trace(source: object) -> "Trace | None":
    """Return a trace or frame as a trace; ``None`` for anything else, such as a path.

    Parameters
    ----------
    source
        The value given as a trace.
    """
    return source if isinstance(source, Trace) else Trace.from_frame(source) if is_frame(source) else None


#: Output formats with flushes and writes with forced unit access.
WITH_FLUSHES = ("csv", "parquet")


def written_as(path: Path, to: str | None) -> str:
    """Return the output format of a trace.

    Parameters
    ----------
    path
        The file to write.
    to
        The format; by default, from the suffix of the file name.

    Raises
    ------
    TraceError
        If the format cannot be written, or the suffix does not imply one.
    """
    written = {each["name"]: each["suffix"] for each in trace_formats() if each["written"]}
    meant = (name for name, suffix in written.items() if suffix == path.suffix.lower())
    if to is not None:
        require_kind(TraceError, "to", to, str, "the name of a format")
    chosen = to or next(meant, None)
    if chosen is None:
        message = f"the file name does not show the format; choose one of {', '.join(written)}"
        raise make_error(TraceError, "unknown-format", message, path="to", allowed=list(written), file=path)
    if chosen not in written:
        message = f"cannot write format {chosen!r}"
        raise make_error(TraceError, "unknown-format", message, path="to", file=path, value=chosen, known=written)
    return chosen


def open_trace(
    path: TraceLike,
    *,
    format: str | None = None,  # noqa: A002  the word of the field
    skip_bad: int = 0,
    sort: bool = False,
    sector_bytes: int | None = None,
    columns: Mapping[str, str] | None = None,
    event: str | None = None,
    time_unit: str | None = None,
) -> Trace:
    """Open a block trace, compressed or not.

    Parameters
    ----------
    path
        The file of the trace, or a tar or ZIP archive that contains it; for blktrace one of its files (all processors
        are read), their folder, or their name without ``.blktrace.N``. Or a frame, as for :meth:`Trace.from_frame`.
    format
        Its format (``sledsim list formats`` lists them); detected from the content by default.
    skip_bad
        Number of malformed records to skip; one more is an error.
    sort
        True to sort the records by time, in bounded memory; records with equal times keep their order.
    sector_bytes
        Sector size, bytes, if it differs from that of the format.
    columns
        For CSV and Parquet: the columns ``time``, ``device``, ``offset``, ``bytes`` and ``op`` by name or number
        (from 0), if the header has other names than Sledsim's. Units that a column's name does not state:
        ``time_unit`` (``"s"``, ``"ms"``, ``"us"``, ``"ns"``, ``"filetime"``), ``offset_unit`` and ``length_unit``
        (``"bytes"``, ``"sectors"``). Codes of operations: ``read`` and ``write``.
    event
        For blkparse and blktrace: the event that is the arrival, ``"queued"`` (the default) or ``"dispatched"``.
    time_unit
        Timestamp unit of a fio v3 iolog; ``"us"`` by default, as fio writes.

    Returns
    -------
    Trace
        The trace.

    Raises
    ------
    TraceError
        If the trace cannot be read.
    """
    source = source_of(
        path,
        argument="path",
        format=format,
        skip_bad=skip_bad,
        sort=sort,
        sector_bytes=sector_bytes,
        columns=columns,
        event=event,
        time_unit=time_unit,
    )
    return Trace.of_source(source)


def trace_formats() -> list[dict[str, Any]]:
    """Return the supported formats: name, description, ``has_times``, ``lists_objects``, ``written`` and ``suffix``.

    ``written`` is true for output formats; ``suffix`` is the file suffix that selects one.
    """
    parquet = {"name": "parquet", "description": "Parquet with named columns, as in CSV", "has_times": True}
    parquet |= {"lists_objects": False, "written": True, "suffix": ".parquet"}
    return [*_core.trace_formats(), parquet]


def formats_table() -> Table:
    """Return a table of the supported formats."""
    rows = [[each["name"], "yes" if each["has_times"] else "no", each["description"]] for each in trace_formats()]
    return Table(["format", "times", "record"], rows, left=frozenset({1, 2}))


def records_table(records: "Mapping[str, NDArray[np.generic]]") -> Table:
    """Return a table of records.

    Parameters
    ----------
    records
        Columns of the records, from :meth:`Trace.head`.
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
    *,
    sort: bool = False,
) -> dict[str, Any]:
    """Return the reading options of a trace for the core, after checking them.

    Parameters
    ----------
    format, skip_bad, sector_bytes, columns, event, time_unit, sort
        As for :func:`open_trace`.

    Raises
    ------
    TraceError
        If an option has the wrong type or is out of range.
    """
    words: dict[str, object] = {"format": format, "event": event, "time_unit": time_unit}
    for path, word in words.items():
        if word is not None and not isinstance(word, str):
            raise make_error(TraceError, "wrong-type", path=path, value=repr(word)[:200], allowed="a text")
    require_other(format)
    require_kind(TraceError, "sort", sort, bool, "true or false")
    skip_bad = require_integer(TraceError, "skip_bad", skip_bad)
    if sector_bytes is not None:
        sector_bytes = require_integer(TraceError, "sector_bytes", sector_bytes, 1, (1 << 32) - 1)
    given: object = columns
    words_alone = isinstance(given, Mapping) and all(isinstance(word, str) for pair in given.items() for word in pair)
    if given is not None and not words_alone:
        expected = "column names by meaning, such as {'time': 'Timestamp'}"
        raise make_error(TraceError, "wrong-type", path="columns", value=repr(given)[:200], allowed=expected)
    named = [*words.items(), *(("columns", word) for pair in (columns or {}).items() for word in pair)]
    for path, word in named:
        if isinstance(word, str) and (message := no_text(word)):
            raise make_error(TraceError, "notation", f": {message}", path=path)
    return {
        "format": format,
        "skip_bad": skip_bad,
        "sort": sort,
        "sector_bytes": sector_bytes,
        "columns": None if columns is None else dict(columns),
        "event": event,
        "time_unit": time_unit,
    }


def require_other(format_name: str | None) -> None:
    """Raise if the given format is Parquet, which is always detected from the content.

    Parameters
    ----------
    format_name
        The given format, or ``None``.
    """
    if format_name == "parquet":
        message = ": Parquet files are recognised by their content: leave it out"
        raise make_error(TraceError, "conflict", message, path="format", value=format_name)


def require_file(path: Path) -> None:
    """Raise if a trace does not exist or is not a regular file.

    Traces of blktrace may be given by their folder, or by their common name without ``.blktrace.N``.

    Parameters
    ----------
    path
        The trace.
    """
    if not is_there(path):
        if any(path.parent.glob(f"{escape(path.name)}.blktrace.*")):
            return
        raise missing_file(TraceError, path)
    if path.is_dir():
        if any(path.glob("*.blktrace.*")):
            return
        raise make_error(TraceError, "unreadable", "a folder, not a trace", value=str(path), file=path)
    if not path.is_file():
        # Opening a pipe blocks until its writer opens it, and traces are read more than once.
        message = "it is not a regular file; write the output of a pipe to a file first"
        raise make_error(TraceError, "unreadable", message, value=str(path), file=path)
