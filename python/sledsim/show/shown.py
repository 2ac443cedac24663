"""What whatever was found has in common: tables in a terminal and a notebook, JSON, pictures in files."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim.show.tables import Table

if TYPE_CHECKING:
    import altair

__all__ = ["Drawn", "Listing", "OneTable", "Plain", "Shown", "Tabled"]


class Tabled(ABC):
    """What can be printed, and shown in a notebook, as tables."""

    @abstractmethod
    def tables(self, *args: Any, **kwargs: Any) -> list[Table]:
        """Return everything as tables."""

    def __str__(self) -> str:
        return "\n\n".join(str(table) for table in self.tables())

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self.tables())


class OneTable(Tabled):
    """What is one table."""

    @abstractmethod
    def table(self, *args: Any, **kwargs: Any) -> Table:
        """Return it as a table."""

    def tables(self, *args: Any, **kwargs: Any) -> list[Table]:
        """Return everything as tables: here the one of :meth:`table`."""
        return [self.table(*args, **kwargs)]


class Drawn(ABC):
    """What can be drawn."""

    @abstractmethod
    def plot(self, *args: Any, **kwargs: Any) -> "altair.TopLevelMixin":
        """Draw it."""

    def save_plot(self, path: str | Path, *args: Any, **kwargs: Any) -> None:
        """Draw it into a file.

        Parameters
        ----------
        path
            Ends in ``.html``, ``.png``, ``.svg`` or ``.json`` (Vega-Lite).
        *args, **kwargs
            As for :meth:`plot`.
        """
        from sledsim.show.saving import save

        save(self.plot(*args, **kwargs), path)


class Listing(dict[str, Any]):
    """Things by name, which a notebook shows as tables.

    Parameters
    ----------
    things
        They, by name.
    tables
        Makes the tables.
    """

    def __init__(self, things: Mapping[str, Any], tables: Callable[[], Iterable[Table]]) -> None:
        super().__init__(things)
        self._tables = tables

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self._tables())


class Plain(ABC):
    """What can be written as JSON."""

    @abstractmethod
    def to_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return everything as plain dictionaries, lists, numbers and texts."""

    def to_json(self, *args: Any, indent: int | None = 2, **kwargs: Any) -> str:
        """Return everything as JSON.

        Parameters
        ----------
        *args, **kwargs
            As for :meth:`to_dict`.
        indent
            Spaces per level; ``None`` for a single line.
        """
        return json.dumps(self.to_dict(*args, **kwargs), indent=indent, ensure_ascii=False)


class Shown(Tabled, Drawn, Plain):
    """Figures ready to be printed, drawn and written."""
