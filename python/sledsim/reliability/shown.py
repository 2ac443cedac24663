"""What is computed of enclosures, as tables, JSON and pictures."""

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim.show.tables import Table

if TYPE_CHECKING:
    import altair

__all__ = ["Shown"]


class Shown(ABC):
    """Figures of one or several enclosures, ready to be printed, drawn and written.

    Attributes
    ----------
    complete : bool
        Whether everything asked for is there; false where a simulation was interrupted.
    """

    complete: bool = True

    @abstractmethod
    def tables(self) -> list[Table]:
        """Return the figures as tables."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain dictionaries, lists, numbers and texts."""

    @abstractmethod
    def plot(self) -> "altair.TopLevelMixin":
        """Draw them."""

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return the figures as JSON.

        Parameters
        ----------
        indent
            Spaces per level; ``None`` for a single line.
        """
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def save_plot(self, path: str | Path) -> None:
        """Draw them into a file (``.html``, ``.png``, ``.svg`` or ``.json``)."""
        from sledsim.show.saving import save

        save(self.plot(), path)

    def __str__(self) -> str:
        return "\n\n".join(str(table) for table in self.tables())

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self.tables())
