"""A virtual file system for SQLite that also submits every access to a session."""

from typing import Any
from weakref import WeakKeyDictionary

import apsw

from sledsim.runs.session import Session
from sledsim.sqlite.extents import Extents
from sledsim.sqlite.statements import Statement

__all__ = ["Charges", "Files"]

#: Operation codes of session requests.
READ, WRITE, FLUSH = 0, 1, 2
#: Journals and write-ahead logs: on POSIX systems, SQLite also syncs the folder after the first fsync of a new one.
JOURNALS = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL | apsw.SQLITE_OPEN_WAL
#: Extents by session: connections that share a session allocate from the same system.
_extents: WeakKeyDictionary[Session, Extents] = WeakKeyDictionary()


class Charges:
    """Submits accesses to a session, one after the other, and charges each to the current statement.

    Parameters
    ----------
    session
        The system.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.extents = _extents.setdefault(session, Extents(session.capacity_blocks, session.block_bytes))
        self._has_energy = session.result().energy is not None
        self.statement = self.new_statement("")

    def new_statement(self, sql: str) -> Statement:
        """Return a statement without accesses.

        Parameters
        ----------
        sql
            Its text; empty for accesses outside of statements.
        """
        return Statement(sql, energy_j=0.0 if self._has_energy else None)

    def access(self, file: str, offset: int, size: int, *, read: bool) -> None:
        """Access a range of bytes of a file, and advance the time until the access completes.

        Parameters
        ----------
        file
            Name of the file.
        offset
            Offset of the first byte.
        size
            Number of bytes.
        read
            True to read, false to write.
        """
        if not size:
            return
        with self.extents.lock:
            pieces = self.extents.lbns(file, offset, size)
            if pieces is None:
                raise apsw.FullError(f"{file}: no room left on the system of {self.extents.count} MiB")
            statement = self.statement
            failed = self._serve(READ if read else WRITE, pieces)
        if read:
            statement.reads += len(pieces)
            statement.read_bytes += size
        else:
            statement.writes += len(pieces)
            statement.written_bytes += size
        if failed:
            raise apsw.IOError(f"{file}: a request completed with status {failed!r}")

    def sync(self) -> None:
        """Flush the system, so that completed writes survive a power cut."""
        with self.extents.lock:
            statement = self.statement
            failed = self._serve(FLUSH, [(0, 0)])
        statement.syncs += 1
        if failed:
            raise apsw.IOError(f"flush: the request completed with status {failed!r}")

    def _serve(self, op: int, pieces: list[tuple[int, int]]) -> str | None:
        """Advance the time until an access completes, and charge the time and energy to the current statement.

        Returns the status of a request that was not served, or ``None``.
        """
        session, statement = self.session, self.statement
        began_ns = session.now_ns
        try:
            # Requests that the program submitted itself stay queued until it collects them.
            completions = session._serve_now(op, pieces)
        finally:
            # Failed accesses take time, too.
            statement.time_ns += session.now_ns - began_ns
        failed = None
        for each in completions:
            if statement.energy_j is not None:
                statement.energy_j += each.energy_j
            if each.status != "served":
                failed = each.status
        return failed


class Files(apsw.VFS):
    """A SQLite virtual file system (VFS).

    Parameters
    ----------
    name
        Name under which SQLite registers it.
    charges
        The recipient of all accesses.
    """

    def __init__(self, name: str, charges: Charges) -> None:
        super().__init__(name, "", maxpathname=0)
        self.name = name
        self._charges = charges

    def xOpen(self, name: Any, flags: list[int]) -> "File":  # noqa: N802  as SQLite calls it
        """Open a file, or create a temporary file without a name."""
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        return File(name, flags, path or self._charges.extents.temporary_name(), self._charges)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802  as SQLite calls it
        """Delete a file, free its extents, and sync its folder if ``syncdir`` is true."""
        super().xDelete(filename, syncdir)
        self._charges.extents.truncate(filename, 0)
        if syncdir:
            self._charges.sync()


class File(apsw.VFSFile):
    """A file of the operating system whose accesses are also submitted to the session.

    Parameters
    ----------
    name, flags
        The arguments of ``xOpen``.
    extent_name
        Name of its extents.
    charges
        The recipient of all accesses.
    """

    def __init__(self, name: Any, flags: list[int], extent_name: str, charges: Charges) -> None:
        super().__init__("", name, flags)
        self._extent_name, self._charges = extent_name, charges
        self._delete_on_close = bool(flags[0] & apsw.SQLITE_OPEN_DELETEONCLOSE)
        self._folder_is_unsynced = bool(flags[0] & apsw.SQLITE_OPEN_CREATE and flags[0] & JOURNALS)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802  as SQLite calls it
        """Read some bytes; only bytes before the end of the file are charged."""
        data = super().xRead(amount, offset)
        self._charges.access(self._extent_name, offset, len(data), read=True)
        return data

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802  as SQLite calls it
        """Write some bytes."""
        self._charges.access(self._extent_name, offset, len(data), read=False)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802  as SQLite calls it
        """Flush the file, and after the first time for a new journal also its folder entry."""
        super().xSync(flags)
        self._charges.sync()
        if self._folder_is_unsynced:
            self._charges.sync()
            self._folder_is_unsynced = False

    def xTruncate(self, newsize: int) -> None:  # noqa: N802  as SQLite calls it
        """Truncate the file, and free the extents beyond its new size."""
        super().xTruncate(newsize)
        self._charges.extents.truncate(self._extent_name, newsize)

    def xClose(self) -> None:  # noqa: N802  as SQLite calls it
        """Close the file; free the extents of a file that is deleted on close."""
        super().xClose()
        if self._delete_on_close:
            self._charges.extents.truncate(self._extent_name, 0)
