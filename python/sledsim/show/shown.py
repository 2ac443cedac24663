"""Base classes of results: tables in terminals and notebooks, JSON, frames and charts."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sledsim._core import SledsimError
from sledsim.show.faults import make_error
from sledsim.show.frames import Framed, relation_of_rows
from sledsim.show.tables import Table

if TYPE_CHECKING:
    import altair
    import duckdb

__all__ = ["Catalog", "Drawn", "OneTable", "Plain", "Shown", "Tabled", "json_text"]


class Tabled(ABC):
    """A result that is printed and displayed in notebooks as tables."""

    @abstractmethod
    def tables(self, *args: Any, **kwargs: Any) -> list[Table]:
        """Return the result as tables."""

    def __str__(self) -> str:
        return "\n\n".join(str(table) for table in self.tables())

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self.tables())


class OneTable(Tabled):
    """A result that is one table."""

    @abstractmethod
    def table(self, *args: Any, **kwargs: Any) -> Table:
        """Return the result as a table."""

    def tables(self, *args: Any, **kwargs: Any) -> list[Table]:
        """Return a list with the one table of :meth:`table`."""
        return [self.table(*args, **kwargs)]


class Drawn(ABC):
    """A result that can be drawn."""

    @abstractmethod
    def plot(self, *args: Any, **kwargs: Any) -> "altair.TopLevelMixin":
        """Draw a chart of the result."""

    def save_plot(self, path: str | Path, *args: Any, **kwargs: Any) -> None:
        """Save the chart of :meth:`plot` to a file.

        Parameters
        ----------
        path
            The file, with suffix ``.html``, ``.png``, ``.svg`` or ``.json`` (Vega-Lite).
        *args, **kwargs
            As for :meth:`plot`.
        """
        from sledsim.show.saving import save

        save(self.plot(*args, **kwargs), path)


class Plain(Framed):
    """A result that can be written as JSON and converted to frames."""

    @abstractmethod
    def to_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the result as plain dictionaries, lists, numbers and texts."""

    def relation(self, *args: Any) -> "duckdb.DuckDBPyRelation":
        """Return a DuckDB relation with the rows of the first list in :meth:`to_dict`, or one row with everything.

        Keys of nested tables are columns such as ``response.mean_ms``.
        """
        return relation_of_rows(self._rows(*args))

    def _rows(self, *args: Any) -> list[dict[str, Any]]:
        """Return the rows of :meth:`relation`."""
        values = self.to_dict(*args)
        lists = (each for each in values.values() if isinstance(each, list | tuple) and each)
        rows = next((each for each in lists if all(isinstance(row, Mapping) for row in each)), None)
        return [values] if rows is None else list(rows)

    def to_json(self, *args: Any, indent: int | None = 2, **kwargs: Any) -> str:
        """Return the result as JSON.

        Parameters
        ----------
        *args, **kwargs
            As for :meth:`to_dict`.
        indent
            Spaces per level; ``None`` for a single line.
        """
        return json_text(self.to_dict(*args, **kwargs), indent)


Entry = TypeVar("Entry", bound=Plain)


class Catalog(Mapping[str, Entry], Tabled, Plain):
    """Entries by name, printed and displayed in notebooks as tables.

    Parameters
    ----------
    entries
        The entries by name.
    tables
        A function that returns the tables.
    """

    def __init__(self, entries: Mapping[str, Entry], tables: Callable[[], list[Table]]) -> None:
        self._entries = dict(entries)
        self._tables = tables

    def __getitem__(self, name: str) -> Entry:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return str(self)

    def tables(self) -> list[Table]:
        """Return the entries as tables."""
        return self._tables()

    def to_dict(self) -> dict[str, Any]:
        """Return the entries by name as plain values."""
        return {name: entry.to_dict() for name, entry in self.items()}


def json_text(value: Any, indent: int | None = 2) -> str:
    """Return plain values as JSON, and raise an error that names a number that is not finite.

    Parameters
    ----------
    value
        The values.
    indent
        Spaces per level; ``None`` for a single line.
    """
    try:
        return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    except ValueError:
        path, number = next(_not_finite(value, ""), ("", math.nan))
        message = f": the result is {number}, which JSON cannot represent; change the arguments"
        raise make_error(SledsimError, "out-of-range", message, path=path or "result", value=str(number)) from None


def _not_finite(value: Any, path: str) -> Iterator[tuple[str, float]]:
    """Yield the numbers that are not finite, with their paths."""
    if isinstance(value, float) and not math.isfinite(value):
        yield path, value
    inner = value.items() if isinstance(value, Mapping) else enumerate(value if isinstance(value, list | tuple) else ())
    for key, each in inner:
        yield from _not_finite(each, f"{path}.{key}" if path else str(key))


class Shown(Tabled, Drawn, Plain):
    """A result that can be printed, drawn and saved."""
