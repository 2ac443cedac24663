"""Public names of a package that are loaded when they are first asked for (PEP 562), and the core behind them."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["CORE", "CoreError", "on_first_use", "take_core"]

#: The variable of the environment that names a module in the place of the package's core.
CORE = "SLEDSIM_CORE"
#: The core.
OWN = "sledsim._core"


class CoreError(ImportError):
    """The module that is to be the core is none."""


class _Missing(ModuleType):
    """Stands where a core would be, and says why there is none to whoever asks for anything of it."""

    def __init__(self, why: str) -> None:
        super().__init__(OWN)
        self.why = why

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        raise CoreError(self.why)


def take_core() -> None:
    """Take the module that :data:`CORE` names for the core: one of a crate in Rust, with parts of its own besides."""
    named = os.environ.get(CORE)
    if not named or OWN in sys.modules:
        return
    try:
        core = import_module(named)
    except ImportError as error:
        core = _Missing(f"{CORE} is {named}, which can't be imported: {error}")
    else:
        if not hasattr(core, "Written"):
            core = _Missing(f"{CORE} is {named}, which is no core of Sledsim: leave it unset, or name one")
        elif core.__version__ != (ours := _version()):
            core = _Missing(f"{CORE} is {named}, built of Sledsim {core.__version__}: build it anew with {ours}")
    sys.modules[OWN] = core


def _version() -> str:
    """Return the version of the package, which only its core and its distribution know."""
    from importlib.metadata import version

    return version("sledsim")


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
