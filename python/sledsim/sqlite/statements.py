"""Statements with their accesses to the system."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sledsim.show.shown import OneTable, Plain
from sledsim.show.tables import Table, number

__all__ = ["Statement", "Statements"]

#: Maximum length of a statement in a table.
SHOWN_CHARACTERS = 48


@dataclass
class Statement:
    """A statement and its accesses to the system."""

    sql: str
    """Text of the statement; empty for accesses outside of statements, such as opening and closing."""
    time_ns: int = 0
    """Time spent waiting for the system, ns of virtual time."""
    reads: int = 0
    """Number of read requests."""
    writes: int = 0
    """Number of write requests."""
    syncs: int = 0
    """Number of syncs."""
    read_bytes: int = 0
    """Bytes read."""
    written_bytes: int = 0
    """Bytes written."""
    energy_j: float | None = 0.0
    """Energy of its requests, J; ``None`` if the powers of the device are unknown."""

    def add(self, other: "Statement") -> None:
        """Add the accesses of another statement to this one.

        Parameters
        ----------
        other
            A statement on the same system.
        """
        for counted in ("time_ns", "reads", "writes", "syncs", "read_bytes", "written_bytes"):
            setattr(self, counted, getattr(self, counted) + getattr(other, counted))
        if self.energy_j is not None and other.energy_j is not None:
            self.energy_j += other.energy_j

    @property
    def time_ms(self) -> float:
        """Time spent waiting for the system, ms of virtual time."""
        return self.time_ns / 1e6


class Statements(OneTable, Plain, Sequence[Statement]):
    """The statements of a connection, in the order of their starts.

    Parameters
    ----------
    statements
        The statements.
    """

    def __init__(self, statements: Sequence[Statement]) -> None:
        self._statements = tuple(statements)

    def __len__(self) -> int:
        return len(self._statements)

    def __getitem__(self, place: int) -> Statement:  # type: ignore[override]  # no slices: they would be another list
        return self._statements[place]

    @property
    def time_ns(self) -> int:
        """Total time that the statements waited for the system, ns."""
        return sum(each.time_ns for each in self)

    def table(self) -> Table:
        """Return a table with a row for each statement."""
        headers = ("statement", "time (ms)", "reads", "writes", "syncs", "read (KiB)", "written (KiB)", "energy (mJ)")
        rows = [
            (
                _shorten(each.sql),
                number(each.time_ms),
                f"{each.reads:,}",
                f"{each.writes:,}",
                f"{each.syncs:,}",
                number(each.read_bytes / 1024),
                number(each.written_bytes / 1024),
                number(None if each.energy_j is None else each.energy_j * 1e3),
            )
            for each in self
        ]
        return Table(headers, rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the statements as plain values."""
        return {"statements": [asdict(each) for each in self]}


def _shorten(sql: str) -> str:
    text = " ".join(sql.split()) or "(no statement)"
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"
