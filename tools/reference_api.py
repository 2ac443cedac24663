"""The Python API for the reference pages of the site: a page for each package, filled by Sphinx from the docstrings."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import TYPE_CHECKING

import sledsim

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

__all__ = ["api_pages"]

#: What a page takes from a class that it describes; of the typed scenarios the docstring has every key.
MEMBERS = "\n   :members:\n   :inherited-members: Mapping, Exception, BaseModel, dict"


def api_pages() -> dict[str, str]:
    """Return a page for the package, and one for each package within it that has public names."""
    pages = {"sledsim": _package()}
    for module in _subpackages(sledsim):
        pages[module.__name__] = _subpackage_page(module)
    return pages


def _subpackages(package: ModuleType) -> Iterator[ModuleType]:
    """Yield the packages within a package that have public names."""
    for found in pkgutil.iter_modules(package.__path__):
        if found.ispkg and found.name not in {"cli", "catalog", "examples"}:
            module = importlib.import_module(f"{package.__name__}.{found.name}")
            if getattr(module, "__all__", None):
                yield module
            yield from _subpackages(module)


def _package() -> str:
    """Return the page of the package itself: what each of its names is, and where it is described."""
    rows = []
    for name in sledsim.__all__:
        value = getattr(sledsim, name)
        if inspect.ismodule(value) or isinstance(value, str):
            continue
        homes = [
            subpackage.__name__ for subpackage in _subpackages(sledsim) if getattr(subpackage, name, None) is value
        ]
        rows += [f"   * - :py:obj:`{name} <{homes[0]}.{name}>`" if homes else f"   * - ``{name}``"]
        rows += [f"     - {(inspect.getdoc(value) or '').partition(chr(10))[0]}"]
    errors = [name for name in sledsim.__all__ if _is_error(name)]
    head = [*_title("sledsim"), ".. automodule:: sledsim", ""]
    listed = [".. list-table:: Names that ``import sledsim`` offers", "   :widths: 30 70", "", *rows, ""]
    return "\n".join([*head, *listed, *(line for name in errors for line in _class(f"sledsim.{name}"))])


def _is_error(name: str) -> bool:
    value = getattr(sledsim, name)
    return inspect.isclass(value) and issubclass(value, Exception)


def _subpackage_page(module: ModuleType) -> str:
    """Return the page of a package within it."""
    parts = [*_title(module.__name__), f".. automodule:: {module.__name__}", ""]
    for name in module.__all__:
        value, path = getattr(module, name), f"{module.__name__}.{name}"
        if inspect.ismodule(value):
            # A package has its own page.
            continue
        if inspect.isclass(value):
            typed = value.__module__.startswith("sledsim.scenario.models")
            [first, *_] = (
                subpackage for subpackage in _subpackages(sledsim) if getattr(subpackage, name, None) is value
            )
            # A name of several packages is described on the page of each; the index has the first.
            elsewhere = "" if first is module else "\n   :no-index:"
            parts += _class(path, ("" if typed else MEMBERS) + elsewhere)
        elif inspect.isroutine(value):
            parts += [f".. autofunction:: {path}", ""]
        else:
            parts += [f".. autodata:: {path}", "   :no-value:", ""]
    return "\n".join(parts)


def _class(path: str, members: str = MEMBERS) -> list[str]:
    return [f".. autoclass:: {path}{members}", ""]


def _title(name: str) -> list[str]:
    return [name, "=" * len(name), ""]
