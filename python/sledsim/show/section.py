"""Read-only access to nested values, by key and by attribute."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["Section"]


class Section(Mapping[str, Any]):
    """Part of a result: ``part["mean_ms"]`` and ``part.mean_ms`` are the same.

    Parameters
    ----------
    values
        The values; those that are dictionaries become sections when asked for.
    name
        Where they stand, for messages.
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

    def _path(self, key: str) -> str:
        return f"{self._name}.{key}" if self._name else key

    def to_dict(self) -> dict[str, Any]:
        """Return the values as plain dictionaries."""
        return dict(self._values)
