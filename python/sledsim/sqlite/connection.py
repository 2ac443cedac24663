"""Connections to databases stored on a simulated system."""

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sledsim._core import SledsimError
from sledsim.runs.result import Result
from sledsim.runs.session import Session
from sledsim.scenario.reading import ScenarioLike, Sets, set_list
from sledsim.show.arguments import require_integer, require_kind, require_path
from sledsim.show.faults import brief, make_error
from sledsim.show.frames import need
from sledsim.sqlite.statements import Statement, Statements

if TYPE_CHECKING:
    import apsw

    from sledsim.scenario.models.model import Model

__all__ = ["Connection", "connect"]

#: Largest cache that SQLite accepts, KiB.
MOST_CACHE_KIB = 2**31 - 1
#: SQLite identifies virtual file systems by name, so that each connection needs a unique name.
_numbers: Iterator[int] = count()


def connect(
    path: str | bytes | os.PathLike[str],
    system: "ScenarioLike | Model | Session",
    *,
    overrides: Sets = (),
    cache_kib: int | None = None,
) -> "Connection":
    """Open a database as if it were stored on a system.

    SQLite works on the given file. The simulated system also serves each read, write and sync that SQLite requests from
    the operating system, one after the other. Each takes its service time in virtual time; the program does not wait.
    Processor time is not counted. The only cache is SQLite's page cache.

    Parameters
    ----------
    path
        The database; created if it does not exist.
    system
        As for :class:`sledsim.Session`; or a session, so that several connections share a system, or the program can
        advance the time between statements. Requests that the program submits to the session itself complete only in
        its own calls.
    overrides
        Values that replace those of the system; not allowed with a session.
    cache_kib
        SQLite's page cache, KiB; SQLite's default (2,000) if not given.

    Raises
    ------
    ScenarioError
        If the system is invalid.
    SledsimError
        If the package ``apsw`` is missing, overrides are given with a session, the system is smaller than 1 MiB, the
        file cannot be opened, or SQLite does not support the cache size.
    TypeError
        If ``path`` is not a path.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sledsim.sqlite import connect
    >>> with TemporaryDirectory() as folder, connect(f"{folder}/stock.db", "g2") as database:
    ...     _ = database.execute("create table stock(item, count)")
    ...     _ = database.execute("insert into stock values('sled', 3)")
    ...     database.execute("select count from stock").fetchall()
    ...     database.now_ns == database.statements.time_ns
    [(3,)]
    True
    """
    need("apsw", "sqlite")
    if cache_kib is not None:
        cache_kib = require_integer(SledsimError, "cache_kib", cache_kib, 1, MOST_CACHE_KIB)
    if isinstance(system, Session):
        if set_list(overrides):
            message = ": not allowed with a session; give the overrides to Session()"
            raise make_error(SledsimError, "conflict", message, path="overrides", value=brief(overrides)[0])
        session = system
    else:
        session = Session(system, overrides=overrides)
    return Connection(Path(os.fsdecode(path)), session, cache_kib)


class Connection:
    """A database, the session that serves it, and the accesses of each statement; opened by :func:`connect`.

    Parameters
    ----------
    path
        The database.
    session
        The system.
    cache_kib
        SQLite's page cache, KiB.
    """

    session: Session
    """The session of the system, with its clock and statistics."""
    sqlite: "apsw.Connection"
    """The APSW connection."""

    def __init__(self, path: Path, session: Session, cache_kib: int | None = None) -> None:
        import apsw

        from sledsim.sqlite.files import Charges, Files

        require_path(SledsimError, "path", path)
        require_kind(SledsimError, "session", session, Session, "a session")
        self.session = session
        self._charges = Charges(session)
        #: The first entry has the accesses outside of any statement.
        self._statements = [self._charges.new_statement("")]
        #: Running statements by SQLite's identifier; accesses are charged to the last.
        self._running: dict[int, Statement] = {}
        #: The statement that ended last, with its identifier, and the accesses since then. The next event determines
        #: the statement of these accesses: a statement prepared before a change of the schema ends, is prepared again
        #: and ends a second time.
        self._ended: tuple[int, Statement | None] = (0, None)
        self._unassigned = self._charges.statement
        # The VFS must live as long as the connection.
        self._files = Files(f"sledsim-{next(_numbers)}", self._charges)
        try:
            self.sqlite = apsw.Connection(str(path), vfs=self._files.name)
        except (apsw.CantOpenError, ValueError):
            # APSW raises ValueError for invalid file names.
            raise make_error(
                SledsimError, "unreadable", f": cannot be opened: {path}", path="path", value=str(path)
            ) from None
        # SQLite would read memory-mapped pages without calling the VFS.
        self.sqlite.execute("pragma mmap_size=0").fetchall()
        if cache_kib is not None:
            self.sqlite.execute(f"pragma cache_size={-cache_kib}").fetchall()
        self.sqlite.trace_v2(apsw.SQLITE_TRACE_STMT | apsw.SQLITE_TRACE_PROFILE, self._traced)

    def _traced(self, event: "dict[str, Any]") -> None:
        import apsw

        number = event["id"]
        if event["code"] == apsw.SQLITE_TRACE_STMT:
            if number in self._running:
                # Accesses of a trigger count for the statement that fired it.
                return
            self._assign()
            statement = self._charges.new_statement(event["sql"])
            self._statements.append(statement)
            self._running[number] = self._charges.statement = statement
            return
        ended = self._running.get(number)
        if ended is None and self._ended[0] == number:
            ended = self._ended[1]
            self._assign(ended)
        else:
            self._assign()
        self._running.pop(number, None)
        self._ended = (number, ended)
        self._charges.statement = self._unassigned

    def _assign(self, ended_again: Statement | None = None) -> None:
        """Charge the unassigned accesses to a statement that ended again, else to the last running statement."""
        statement = ended_again or next(reversed(self._running.values()), self._statements[0])
        statement.add(self._unassigned)
        self._unassigned = self._charges.new_statement("")

    def execute(self, sql: str, values: Any = ()) -> "apsw.Cursor":
        """Run one or several statements; rows are computed as they are fetched.

        Parameters
        ----------
        sql
            The statements.
        values
            Values of the parameters ``?`` or ``:name``.

        Returns
        -------
        apsw.Cursor
            The rows; ``fetchall()`` returns all of them.

        Raises
        ------
        SledsimError
            If ``sql`` contains a NUL character, ``sql`` or a value contains an unpaired surrogate, or a request that
            you submitted to the session arrives later than a request of the statement.
        TypeError
            If SQLite does not support the type of a value.
        OverflowError
            If an integer has more than 64 bits.
        apsw.Error
            If SQLite reports an error, such as a wrong statement or number of values.
        KeyError
            If ``values`` has no value for a name.
        """
        given: object = sql
        if isinstance(given, str) and "\0" in given:
            message = f"sql: {sql!r} contains a NUL character, which ends a statement in SQLite: leave it out"
            raise make_error(SledsimError, "misfit", message, path="sql", value=sql)
        try:
            return self.sqlite.execute(sql, values)
        except UnicodeEncodeError as error:
            path, text = "sql" if error.object == sql else "values", error.object
            message = f"{path}: {text[error.start]!r} is an unpaired surrogate, which UTF-8 cannot encode"
            raise make_error(SledsimError, "misfit", message, path=path, value=text) from None

    @property
    def now_ns(self) -> int:
        """The session's clock, ns."""
        return self.session.now_ns

    @property
    def statements(self) -> Statements:
        """The accesses of each statement, in the order of their starts; the first entry has those outside statements.

        If the rows of several statements are fetched alternately, accesses count for the one that started last.
        """
        is_between = self._charges.statement is self._unassigned
        self._assign()
        if is_between:
            self._charges.statement = self._unassigned
        return Statements(self._statements)

    def result(self) -> Result:
        """Return the result of the session so far: response times, utilisation and energy of the system."""
        return self.session.result()

    def close(self) -> None:
        """Close the database."""
        self.sqlite.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Connection to {self.sqlite.filename}: {len(self._statements) - 1} statements, {self.session!r}>"
