"""Policies of one's own found by their names: the module, the class, its parameters, the hash of its source."""

import hashlib
import importlib
import inspect
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticInvalidForJsonSchema

from sledsim import _core
from sledsim._core import Fault, ScenarioError, error_of
from sledsim._guarding import call_with_timeout
from sledsim.scenario.compiled_policies import COMPILED_ONLY, require_kept
from sledsim.scenario.policies import CopyChoice, Mechanism, Own, Policy, Replacement, SpinDown
from sledsim.scenario.rules import Wrong, told
from sledsim.show.faults import wrong

__all__ = ["CLASS_NAME", "Loaded", "found_class", "load"]

#: The module of a program's own file, or of a notebook.
MAIN = "__main__"
#: How long a module may take to be imported, s: some compile functions, or load half of Python.
IMPORT_S = 30.0
#: More than this no call takes, s: who sets no limit says infinity.
LONGEST_S = 1e9
#: What says where a policy is.
DOORS = ("python", "library", "address")
#: What a class of each role is made from, where users find that, and the methods that it may go without.
ROLES: dict[str, tuple[type[Own], str, tuple[str, str]]] = {
    "scheduler": (Policy, "sledsim.schedulers.Policy", ("arrived", "completed")),
    "replacement policy": (Replacement, "sledsim.caches.Replacement", ("admits", "removed")),
    "choice of a copy": (CopyChoice, "sledsim.mirrors.CopyChoice", ("arrived", "completed")),
    "spin-down policy": (SpinDown, "sledsim.spin_down.SpinDown", ("ended", "served")),
    "mechanism": (Mechanism, "sledsim.devices.Mechanism", ("positioning_ns", "serve")),
}
#: How a class is named.
CLASS_NAME = re.compile(r"(?P<module>\w+(?:\.\w+)*):(?P<name>\w+(?:\.\w+)*)")


@dataclass(frozen=True)
class Loaded:
    """A policy that was found.

    Parameters
    ----------
    folder
        The folder that its module was found in; none where Python itself found it.
    source
        SHA-256 of the file, or of the class where that is no part of one.
    parameters
        Every parameter, as a scenario has it.
    positioning
        Whether it looks at positioning times.
    make
        Makes an instance of a class.
    limit_s
        How long a call of it may take.
    hooks
        Whether it has the two methods that a class of its role may go without.
    """

    folder: str | None
    source: str | None
    parameters: dict[str, Any]
    positioning: bool
    make: Callable[[], Own] | None = None
    limit_s: float = 0.0
    hooks: tuple[bool, bool] = (False, False)


def load(role: str, wanted: Mapping[str, Any], base: str | Path) -> Loaded | None:
    """Find a policy, and check the parameters that a scenario gives it.

    Parameters
    ----------
    role
        What it decides: one of :data:`ROLES`.
    wanted
        What the scenario says of it: ``python`` and ``parameters``; ``folder`` if it has been found before.
    base
        The folder of the scenario.

    Returns
    -------
    Loaded or None
        A class; none for a function at an address, which the core asks by itself.

    Raises
    ------
    ScenarioError
        Where there is no such module or class, or a parameter is wrong; or nobody keeps a function at the address.
    """
    known = wanted.get("folder")
    folders = [Path(known)] if known else list(dict.fromkeys([Path(base), Path.cwd()]))
    doors = [key for key in DOORS if wanted.get(key) is not None]
    if not doors:
        says = ": the class of a policy of one's own, such as my_module:MyPolicy"
        raise error_of(ScenarioError, [Fault("missing", says, path="python")])
    if len(doors) > 1:
        says = f": a policy has {' or '.join(doors)}, not both"
        raise error_of(ScenarioError, [Fault("conflict", says, path=doors[1])])
    compiled_only = [key for key in COMPILED_ONLY if wanted.get(key) is not None]
    if doors == ["python"]:
        if compiled_only:
            says = ": a class says so itself; this is of compiled policies"
            raise error_of(ScenarioError, [Fault("conflict", says, path=compiled_only[0])])
        return _class_loaded(role, wanted, folders)
    require_kept(wanted["address"])
    return None


def found_class(named: str) -> object:
    """Return what a name such as ``my_module:MyPolicy`` stands for, from the working folder or where Python looks.

    Parameters
    ----------
    named
        The name.

    Returns
    -------
    object
        The class, or what else bears the name; none where that is no name of a class, or there is nothing.

    Raises
    ------
    ScenarioError
        Where there is no such module.
    """
    match = CLASS_NAME.fullmatch(named)
    if match is None:
        return None
    folders = [Path.cwd()]
    module = call_with_timeout(
        f"the import of {match['module']}", IMPORT_S, lambda: _module(match["module"], folders, named)
    ).module
    return _named(module, match["name"])


def _named(module: ModuleType, name: str) -> Any:
    found: Any = module
    for step in name.split("."):
        found = getattr(found, step, None)
    return found


def _class_loaded(role: str, wanted: Mapping[str, Any], folders: list[Path]) -> Loaded:
    named = wanted["python"]
    match = CLASS_NAME.fullmatch(named)
    if match is None:
        expected = "a module and a class of it, such as my_module:MyPolicy"
        raise error_of(ScenarioError, [Fault("wrong-type", path="python", value=named, allowed=expected)])
    found = call_with_timeout(f"the import of {match['module']}", IMPORT_S, lambda: _module(match["module"], folders, named))
    kind = _class(role, found.module, match["name"], named)
    limit_s = _limit_of(kind, named)
    parameters = _Parameters(kind)

    def tried() -> BaseModel:
        given = parameters.checked(wanted.get("parameters") or {})
        _try(kind, parameters, given)
        return given

    given = call_with_timeout(f"{named}.__init__", limit_s, tried)
    return Loaded(
        folder=found.folder,
        source=found.source or _source_of(kind),
        parameters=json.loads(given.model_dump_json()),
        make=lambda: parameters.made(given),
        positioning=bool(getattr(kind, "positioning", False)),
        limit_s=limit_s,
        hooks=(_has(kind, role, 0), _has(kind, role, 1)),
    )


def _limit_of(kind: type[Own], named: str) -> float:
    """Return how many seconds a call of a class may take."""
    limit: object = kind.limit_s
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not limit > 0:
        says = f"{named}.limit_s is {limit!r}: expected seconds, a number above 0"
        raise wrong(ScenarioError, "wrong-type", says, path="python", value=named)
    return min(float(limit), LONGEST_S)


def _has(kind: type[Own], role: str, place: int) -> bool:
    """Tell whether a class has one of the methods that it may go without."""
    base, _, methods = ROLES[role]
    return getattr(kind, methods[place]) is not getattr(base, methods[place])


@dataclass(frozen=True)
class _Found:
    module: ModuleType
    folder: str | None
    source: str | None


_lock = threading.RLock()
#: Modules by file and content: one that was edited is read again.
_modules: dict[tuple[Path, str], ModuleType] = {}


def _module(name: str, folders: list[Path], named: str) -> _Found:
    for folder in folders:
        path = folder / f"{name}.py"
        if "." not in name and name != MAIN and path.is_file():
            module, source = _read(path.resolve(), name)
            return _Found(module, str(path.resolve().parent), source)
    with _lock, _on_path(folders):
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise
            places = ", ".join(str(folder / f"{name.replace('.', '/')}.py") for folder in folders)
            says = f"no module {name}: neither {places} is there, nor does Python find it"
            raise wrong(ScenarioError, "unreadable", says, path="python", value=named) from None
    file = getattr(module, "__file__", None)
    if name == MAIN or file is None:
        return _Found(module, None, None)
    inside = next((folder for folder in folders if Path(file).is_relative_to(folder.resolve())), None)
    return _Found(module, None if inside is None else str(inside.resolve()), _digest(Path(file).read_bytes()))


def _read(path: Path, name: str) -> tuple[ModuleType, str]:
    """Run the file of a module, unless that was done with what is in it now: an import would keep what was there."""
    content = path.read_bytes()
    digest = _digest(content)
    with _lock:
        module = _modules.get((path, digest))
        if module is None:
            module = ModuleType(f"{name}@{digest[:12]}")
            module.__file__ = str(path)
            # Classes look up their module while they are made.
            sys.modules[module.__name__] = module
            try:
                with _on_path([path.parent]):
                    exec(compile(content, str(path), "exec"), vars(module))
            except BaseException:
                del sys.modules[module.__name__]
                raise
            _modules[path, digest] = module
    return module, digest


@contextmanager
def _on_path(folders: list[Path]) -> Iterator[None]:
    """Let modules be imported from folders."""
    added = [str(folder.absolute()) for folder in folders if str(folder.absolute()) not in sys.path]
    sys.path[:0] = added
    try:
        yield
    finally:
        for folder in added:
            sys.path.remove(folder)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _source_of(kind: type[Own]) -> str | None:
    """Return the hash of a class that stands in no file of its own, as in a notebook."""
    try:
        return _digest(inspect.getsource(kind).encode())
    except (OSError, TypeError):
        return None


def _class(role: str, module: ModuleType, name: str, named: str) -> type[Own]:
    base, public, _ = ROLES[role]
    found = _named(module, name)
    if isinstance(found, type) and issubclass(found, base):
        return found
    if found is not None:
        says = f"{named} is no class made from {public}"
        raise wrong(ScenarioError, "wrong-type", says, path="python", value=named)
    classes = [key for key, value in vars(module).items() if isinstance(value, type) and issubclass(value, base)]
    stem = named.partition(":")[0]
    own = [f"{stem}:{key}" for key in classes if vars(module)[key] is not base]
    file = getattr(module, "__file__", None) or module.__name__
    raise wrong(ScenarioError, "unknown-name", f"no {name} in {file}", path="python", value=named, known=own)


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", protected_namespaces=(), arbitrary_types_allowed=True)


class _Parameters:
    """The parameters of a class: the arguments that make it.

    Parameters
    ----------
    kind
        The class.
    """

    def __init__(self, kind: type[Own]) -> None:
        self._kind = kind
        hints = get_type_hints(kind.__init__, include_extras=True)
        kept: dict[str, Any] = getattr(kind, "__dataclass_fields__", {})
        factories = {name: each.default_factory for name, each in kept.items()}
        arguments: dict[str, Any] = {}
        for name, argument in inspect.signature(kind).parameters.items():
            if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD):
                continue
            default = ... if argument.default is argument.empty else argument.default
            if factories.get(name, MISSING) is not MISSING:
                default = Field(default_factory=factories[name])
            arguments[name] = (hints.get(name, Any), default)
        self._model = create_model(kind.__name__, __base__=_Strict, **arguments)

    def checked(self, given: Mapping[str, Any]) -> BaseModel:
        """Return the parameters, with their defaults.

        Raises
        ------
        ScenarioError
            Where one is wrong.
        """
        try:
            return self._model.model_validate_json(json.dumps(given))
        except ValidationError as error:
            found = self._of_schema(given)
            raise error_of(ScenarioError, found + told(Wrong(refused=error), found)) from None

    def made(self, values: BaseModel) -> Own:
        """Return an instance; what it may change is its own."""
        own = values.model_copy(deep=True)
        return self._kind(**{name: getattr(own, name) for name in self._model.model_fields})

    def _of_schema(self, given: Mapping[str, Any]) -> list[Fault]:
        try:
            return _core.Schema(self._model.model_json_schema()).faults(dict(given))
        except PydanticInvalidForJsonSchema:
            # Of a type of its own only pydantic says what is wrong.
            return []


def _try(kind: type[Own], parameters: _Parameters, given: BaseModel) -> None:
    """Have a class say now what it has against its parameters."""
    try:
        parameters.made(given)
    except ValueError as error:
        says = f"{kind.__name__} refuses its parameters: {error}"
        raise wrong(ScenarioError, "conflict", says, path="python", value=kind.__name__) from None
