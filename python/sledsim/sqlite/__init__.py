"""SQLite in virtual time: a database whose reads, writes and syncs a simulated system serves."""

from sledsim.sqlite.connection import Connection, connect
from sledsim.sqlite.statements import Statement, Statements

__all__ = [
    "Connection",
    "Statement",
    "Statements",
    "connect",
]
