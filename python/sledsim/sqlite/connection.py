"""A connection to a database that lies on a simulated system."""

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

#: Largest cache that SQLite takes, KiB.
MOST_CACHE_KIB = 2**31 - 1
#: Doors of connections have names of their own, since SQLite knows them by these.
_numbers: Iterator[int] = count()


def connect(
    path: str | bytes | os.PathLike[str],
    system: "ScenarioLike | Model | Session",
    *,
    overrides: Sets = (),
    cache_kib: int | None = None,
) -> "Connection":
    """Open a database as if it lay on a system.

    SQLite runs as it always does, on the file that is given. Each read, write and sync that it asks of the operating
    system is also served by the simulated system, one after the other, and takes its service time in virtual time; the
    program does not wait. Processor time is not counted. There is no cache but SQLite's own.

    Parameters
    ----------
    path
        The database; it is made if it is not there.
    system
        As for :class:`sledsim.Session`; or a session, so that several connections share a system, or a program of yours
        lets time pass between statements. What it has handed in itself comes back to it alone.
    overrides
        Values that replace those of the system, where it is none of a session.
    cache_kib
        SQLite's own cache, KiB; as SQLite has it (2,000) where it is left out.

    Raises
    ------
    ScenarioError
        Where the system is wrong.
    SledsimError
        Where the package ``apsw`` is missing, settings are given beside a session, the system is smaller than 1 MiB,
        the file can't be opened, or the cache is of no size that SQLite takes.
    TypeError
        Where ``path`` is none.

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
            says = ": a session has its system already; set its values where it is made"
            raise make_error(SledsimError, "conflict", says, path="overrides", value=brief(overrides)[0])
        session = system
    else:
        session = Session(system, overrides=overrides)
    return Connection(Path(os.fsdecode(path)), session, cache_kib)


class Connection:
    """A database, the session that serves it, and what each statement took; :func:`connect` opens it.

    Parameters
    ----------
    path
        The database.
    session
        The system.
    cache_kib
        SQLite's own cache, KiB.
    """

    session: Session
    """The system: its clock, and what it has done so far."""
    sqlite: "apsw.Connection"
    """SQLite's own connection, with all that APSW offers."""

    def __init__(self, path: Path, session: Session, cache_kib: int | None = None) -> None:
        import apsw

        from sledsim.sqlite.files import Charges, Files

        require_path(SledsimError, "path", path)
        require_kind(SledsimError, "session", session, Session, "a session")
        self.session = session
        self._charges = Charges(session)
        #: The first is none: what belongs to it is that of no other.
        self._statements = [self._charges.begun("")]
        #: Those that have begun and not ended, by SQLite's number: the last is charged.
        self._under_way: dict[int, Statement] = {}
        #: The one that ended last, with its number; and what was charged since, whose it is only the next event tells:
        #: a statement that was prepared before the schema changed ends, is prepared again, and ends once more.
        self._ended: tuple[int, Statement | None] = (0, None)
        self._since = self._charges.statement
        # It has to live as long as the connection does.
        self._files = Files(f"sledsim-{next(_numbers)}", self._charges)
        try:
            self.sqlite = apsw.Connection(str(path), vfs=self._files.name)
        except (apsw.CantOpenError, ValueError):
            # The latter of names that no file can have.
            raise make_error(
                SledsimError, "unreadable", f": cannot be opened: {path}", path="path", value=str(path)
            ) from None
        # Memory-mapped pages would be read without the file functions.
        self.sqlite.execute("pragma mmap_size=0").fetchall()
        if cache_kib is not None:
            self.sqlite.execute(f"pragma cache_size={-cache_kib}").fetchall()
        self.sqlite.trace_v2(apsw.SQLITE_TRACE_STMT | apsw.SQLITE_TRACE_PROFILE, self._traced)

    def _traced(self, event: "dict[str, Any]") -> None:
        import apsw

        number = event["id"]
        if event["code"] == apsw.SQLITE_TRACE_STMT:
            if number in self._under_way:
                # The work of a trigger counts for the statement that fired it.
                return
            self._settle()
            statement = self._charges.begun(event["sql"])
            self._statements.append(statement)
            self._under_way[number] = self._charges.statement = statement
            return
        ended = self._under_way.get(number)
        if ended is None and self._ended[0] == number:
            ended = self._ended[1]
            self._settle(ended)
        else:
            self._settle()
        self._under_way.pop(number, None)
        self._ended = (number, ended)
        self._charges.statement = self._since

    def _settle(self, again: Statement | None = None) -> None:
        """Charge what was requested since a statement ended: to it where it ends again, else to what is under way."""
        payer = again or next(reversed(self._under_way.values()), self._statements[0])
        payer.add(self._since)
        self._since = self._charges.begun("")

    def execute(self, sql: str, values: Any = ()) -> "apsw.Cursor":
        """Run one or several statements; rows come as they are requested.

        Parameters
        ----------
        sql
            The statements.
        values
            What stands for ``?`` or ``:name`` in them.

        Returns
        -------
        apsw.Cursor
            The rows; ``fetchall()`` asks for all of them.

        Raises
        ------
        SledsimError
            Where ``sql`` has a character of code 0, or it, or a value as far as it is known by then, has half of a
            character; or where a request of your own is to arrive later than one of the statement's.
        TypeError
            Where one of them is of no type that SQLite takes.
        OverflowError
            Where a number has more than 64 bits.
        apsw.Error
            What SQLite says of the statements, or of how many values there are.
        KeyError
            Where ``values`` has no value for a name.
        """
        given: object = sql
        if isinstance(given, str) and "\0" in given:
            says = f"sql: {sql!r} has a character of code 0, at which SQLite takes a statement for ended: leave it out"
            raise make_error(SledsimError, "misfit", says, path="sql", value=sql)
        try:
            return self.sqlite.execute(sql, values)
        except UnicodeEncodeError as error:
            path, text = "sql" if error.object == sql else "values", error.object
            says = f"{path}: {text[error.start]!r} is half of a character, which no UTF-8 text holds"
            raise make_error(SledsimError, "misfit", says, path=path, value=text) from None

    @property
    def now_ns(self) -> int:
        """The session's clock, ns."""
        return self.session.now_ns

    @property
    def statements(self) -> Statements:
        """What each statement took, in the order in which they began; the first is none, it has what belongs to none.

        Where the rows of several are requested in turns, accesses count for the one that began last.
        """
        is_between = self._charges.statement is self._since
        self._settle()
        if is_between:
            self._charges.statement = self._since
        return Statements(self._statements)

    def result(self) -> Result:
        """Return the result of the session so far: the system's times, its use, its energy."""
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
