"""Public names of a package, loaded on first use (PEP 562), and the choice of the core."""

import os
import re
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["CORE", "CoreError", "attach", "take_core"]

#: The environment variable that names another module as the core.
CORE = "SLEDSIM_CORE"
#: The core.
OWN = "sledsim._core"
#: A public name in a stub: its module, its name there, and its public name.
IMPORT = re.compile(r"^from (\S+) import (\w+) as (\w+)$", re.MULTILINE)


class CoreError(ImportError):
    """The module that :data:`CORE` names cannot be used as the core."""


class _Missing(ModuleType):
    """Stands for a missing core: every access raises an error with the reason."""

    def __init__(self, why: str) -> None:
        super().__init__(OWN)
        self.why = why

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        raise CoreError(self.why)


def take_core() -> None:
    """Use the module that :data:`CORE` names as the core: one built with plugins in Rust."""
    named = os.environ.get(CORE)
    if not named or OWN in sys.modules:
        return
    try:
        core = import_module(named)
    except ImportError as error:
        core = _Missing(f"{CORE} is {named}, which can't be imported: {error}")
    else:
        if not hasattr(core, "Written"):
            core = _Missing(f"{CORE} is {named}, which is not a Sledsim core: unset it, or name a core")
        elif core.__version__ != (ours := _version()):
            core = _Missing(f"{CORE} is {named}, built from Sledsim {core.__version__}: rebuild it from {ours}")
    sys.modules[OWN] = core


def _version() -> str:
    """Return the version of the installed distribution."""
    from importlib.metadata import version

    return version("sledsim")


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose public names are loaded on first use.

    The names are those of the package's stub, ``__init__.pyi``: one ``from MODULE import NAME as NAME`` a line.

    Parameters
    ----------
    package
        The package's name.
    """
    # `pathlib` would take a third of the time to import the package.
    with open(f"{sys.modules[package].__file__}i", encoding="utf-8") as file:  # noqa: PTH123
        stub = file.read()
    homes = {name: (module, original) for module, original, name in IMPORT.findall(stub)}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = homes[name]
        if module == package:
            return import_module(f"{package}.{name}")
        value = getattr(import_module(module), original)
        setattr(sys.modules[package], name, value)
        return value

    names = sorted(homes)
    return load, lambda: names, names
