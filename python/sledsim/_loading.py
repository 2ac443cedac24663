"""Public names of a package that are loaded when they are first asked for (PEP 562)."""

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["on_first_use"]


def on_first_use(
    package: str, homes: Mapping[str, str], rooms: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return what a package has for ``__getattr__`` and ``__dir__``.

    Parameters
    ----------
    package
        Its name.
    homes
        The module within it where each of its names lives.
    rooms
        Packages within it.
    """
    places = {**homes, **dict.fromkeys(rooms)}

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = places[name]
        if home is None:
            return import_module(f"{package}.{name}")
        value = getattr(import_module(f"{package}.{home}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted(places)

    return load, names
