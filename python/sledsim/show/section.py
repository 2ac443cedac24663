"""Read-only access to nested values, by key and by attribute."""

from collections.abc import Iterator, Mapping
from typing import Any

from sledsim.show.tables import Table, number

__all__ = ["Section"]

#: Maximum number of values shown in a notebook.
MOST_ROWS = 100


class Section(Mapping[str, Any]):
    """Part of a result: ``part["mean_ms"]`` and ``part.mean_ms`` are the same.

    Parameters
    ----------
    values
        The values; dictionaries become sections on access.
    name
        The path of the section in the result, for messages.
    """

    def __init__(self, values: Mapping[str, Any], name: str = "") -> None:
        self._values = values
        self._name = name

    def __getitem__(self, key: str) -> Any:
        value = self._values[key]
        return Section(value, self._path(key)) if isinstance(value, Mapping) else value

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_"):
            raise AttributeError(key)
        try:
            return self[key]
        except KeyError:
            known = ", ".join(self._values)
            raise AttributeError(f"no {self._path(key)}; there are {known}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(key for key in self._values if key.isidentifier())]

    def __repr__(self) -> str:
        return f"{self._name or 'section'}: {dict(self._values)!r}"

    def _repr_html_(self) -> str:
        rows = list(_rows(self._values))
        return Table([self._name or "key", ""], rows[:MOST_ROWS], notes=_more(len(rows)))._repr_html_()

    def _path(self, key: str) -> str:
        return f"{self._name}.{key}" if self._name else key

    def to_dict(self) -> dict[str, Any]:
        """Return the values as plain dictionaries."""
        return dict(self._values)


def _rows(values: Mapping[str, Any], indent: str = "") -> Iterator[list[str]]:
    """Yield the values as rows, with nested sections indented below their name."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield [f"{indent}{key}", ""]
            yield from _rows(value, f"{indent}  ")
        else:
            yield [f"{indent}{key}", _text(value)]


def _text(value: Any) -> str:
    """Return the text of a value."""
    if isinstance(value, bool) or not isinstance(value, int | float | list | tuple | None):
        return str(value)
    if isinstance(value, list | tuple):
        nested = any(isinstance(each, Mapping | list) for each in value)
        return f"{len(value)} entries" if nested else ", ".join(map(_text, value))
    return number(value)


def _more(rows: int) -> list[str]:
    return [f"and {rows - MOST_ROWS} more"] if rows > MOST_ROWS else []
