"""SQLite's files: kept where they are, with every access charged to a session."""

from typing import Any
from weakref import WeakKeyDictionary

import apsw

from sledsim.runs.session import Session
from sledsim.sqlite.extents import Extents
from sledsim.sqlite.statements import Statement

__all__ = ["Charges", "Files"]

#: Requests as a session numbers their kinds.
READ, WRITE, FLUSH = 0, 1, 2
#: Journals and logs: when one is new, SQLite syncs its folder after the first sync of the file, as on POSIX systems.
JOURNALS = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL | apsw.SQLITE_OPEN_WAL
#: Where files lie on the system of each session: connections that share it share its blocks.
_extents: WeakKeyDictionary[Session, Extents] = WeakKeyDictionary()


class Charges:
    """Submits accesses to a session, one after the other, and records the statement of each.

    Parameters
    ----------
    session
        The system.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.extents = _extents.setdefault(session, Extents(session.capacity_blocks, session.block_bytes))
        self._knows_energy = session.result().energy is not None
        self.statement = self.begun("")

    def begun(self, sql: str) -> Statement:
        """Return a statement that has requested nothing yet.

        Parameters
        ----------
        sql
            Its text; empty for none.
        """
        return Statement(sql, energy_j=0.0 if self._knows_energy else None)

    def access(self, file: str, offset: int, size: int, *, read: bool) -> None:
        """Access some bytes of a file, and advance the time until the access is complete.

        Parameters
        ----------
        file
            Its name.
        offset
            The first byte.
        size
            How many.
        read
            True if they are read; written otherwise.
        """
        if not size:
            return
        with self.extents.turn:
            pieces = self.extents.lbns(file, offset, size)
            if pieces is None:
                raise apsw.FullError(f"{file}: the system has room for {self.extents.count} MiB")
            statement = self.statement
            failed = self._serve(READ if read else WRITE, pieces)
        if read:
            statement.reads += len(pieces)
            statement.read_bytes += size
        else:
            statement.writes += len(pieces)
            statement.written_bytes += size
        if failed:
            raise apsw.IOError(f"{file}: the system says {failed}")

    def sync(self) -> None:
        """Flush the system, so that completed writes survive a power cut."""
        with self.extents.turn:
            statement = self.statement
            failed = self._serve(FLUSH, [(0, 0)])
        statement.syncs += 1
        if failed:
            raise apsw.IOError(f"flush: the system says {failed}")

    def _serve(self, op: int, pieces: list[tuple[int, int]]) -> str | None:
        """Advance the time until an access is complete, and charge it to its statement; return its failure, if any."""
        session, statement = self.session, self.statement
        began_ns = session.now_ns
        try:
            # Requests that the program submitted itself stay queued until it collects them.
            back = session._serve_now(op, pieces)
        finally:
            # Time has passed, whatever came of it.
            statement.time_ns += session.now_ns - began_ns
        failed = None
        for each in back:
            if statement.energy_j is not None:
                statement.energy_j += each.energy_j
            if each.status != "served":
                failed = each.status
        return failed


class Files(apsw.VFS):
    """The virtual file system (VFS) of SQLite.

    Parameters
    ----------
    name
        What SQLite calls it.
    charges
        Who pays.
    """

    def __init__(self, name: str, charges: Charges) -> None:
        super().__init__(name, "", maxpathname=0)
        self.name = name
        self._charges = charges

    def xOpen(self, name: Any, flags: list[int]) -> "File":  # noqa: N802  as SQLite calls it
        """Open a file, or a new one that has no name."""
        called = name.filename() if isinstance(name, apsw.URIFilename) else name
        return File(name, flags, called or self._charges.extents.unnamed(), self._charges)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802  as SQLite calls it
        """Remove a file, and sync its folder if SQLite asks for that; the file's extents are free again."""
        super().xDelete(filename, syncdir)
        self._charges.extents.cut(filename, 0)
        if syncdir:
            self._charges.sync()


class File(apsw.VFSFile):
    """A file of the machine's own, whose accesses a system is charged with.

    Parameters
    ----------
    name, flags
        As SQLite has them.
    called
        What its extents are known by.
    charges
        Who pays.
    """

    def __init__(self, name: Any, flags: list[int], called: str, charges: Charges) -> None:
        super().__init__("", name, flags)
        self._called, self._charges = called, charges
        self._goes = bool(flags[0] & apsw.SQLITE_OPEN_DELETEONCLOSE)
        self._folder_is_unsynced = bool(flags[0] & apsw.SQLITE_OPEN_CREATE and flags[0] & JOURNALS)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802  as SQLite calls it
        """Read some bytes; beyond the end there are none, and nothing is charged."""
        data = super().xRead(amount, offset)
        self._charges.access(self._called, offset, len(data), read=True)
        return data

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802  as SQLite calls it
        """Write some bytes."""
        self._charges.access(self._called, offset, len(data), read=False)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802  as SQLite calls it
        """Make durable what has been written, and of a new journal its entry in the folder."""
        super().xSync(flags)
        self._charges.sync()
        if self._folder_is_unsynced:
            self._charges.sync()
            self._folder_is_unsynced = False

    def xTruncate(self, newsize: int) -> None:  # noqa: N802  as SQLite calls it
        """Make the file shorter."""
        super().xTruncate(newsize)
        self._charges.extents.cut(self._called, newsize)

    def xClose(self) -> None:  # noqa: N802  as SQLite calls it
        """Close the file; one that goes with it gives its extents back."""
        super().xClose()
        if self._goes:
            self._charges.extents.cut(self._called, 0)
