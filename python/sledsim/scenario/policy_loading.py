"""Loads custom policies by name: the module, the class, its parameters, the hash of its source."""

import hashlib
import importlib
import inspect
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticInvalidForJsonSchema

from sledsim import _core
from sledsim._core import Fault, ScenarioError, error_of
from sledsim._guarding import call_with_timeout
from sledsim.scenario.compiled_policies import COMPILED_ONLY, require_alive
from sledsim.scenario.policies import CopyChoice, Mechanism, Plugin, Policy, Replacement, SpinDown
from sledsim.scenario.tables import validator_faults
from sledsim.show.faults import make_error

__all__ = ["CLASS_NAME", "Loaded", "find_class", "load"]

#: The module of a program's own file, or of a notebook.
MAIN = "__main__"
#: Time limit of an import, s: some modules compile functions.
IMPORT_S = 30.0
#: Greatest time limit of a call, s; larger ones, such as infinity, count as this.
LONGEST_S = 1e9
#: The keys that locate a policy.
LOCATION_KEYS = ("python", "library", "address")


@dataclass(frozen=True)
class _Role:
    """A role of plugins: its base class, the public name of that, and the optional methods."""

    base: type[Plugin]
    public: str
    hooks: tuple[str, ...] = ()


#: The roles, by their names in the core.
ROLES = {
    "scheduler": _Role(Policy, "sledsim.schedulers.Policy", ("arrived", "completed")),
    "replacement policy": _Role(Replacement, "sledsim.caches.Replacement", ("admits", "removed")),
    "choice of a copy": _Role(CopyChoice, "sledsim.mirrors.CopyChoice", ("arrived", "completed")),
    "spin-down policy": _Role(SpinDown, "sledsim.spin_down.SpinDown", ("ended", "served")),
    "mechanism": _Role(Mechanism, "sledsim.devices.Mechanism", ("power_cut",)),
}
#: The name of a class, with its module.
CLASS_NAME = re.compile(r"(?P<module>\w+(?:\.\w+)*):(?P<name>\w+(?:\.\w+)*)")


@dataclass(frozen=True)
class Loaded:
    """A loaded class.

    Parameters
    ----------
    folder
        The folder that its module was found in; None if Python's path was used.
    source
        SHA-256 of the file, or of the source of a class that is in no file.
    parameters
        All parameters, as a scenario has them.
    positioning
        True if it uses positioning times.
    make
        Makes an instance.
    limit_s
        Time limit of a call.
    hooks
        Names of the optional methods that the class defines.
    """

    folder: str | None
    source: str | None
    parameters: dict[str, Any]
    positioning: bool
    make: Callable[[], Plugin] | None = None
    limit_s: float = 0.0
    hooks: list[str] = field(default_factory=list)


def load(role: str, wanted: Mapping[str, Any], base: str | Path) -> Loaded | None:
    """Load a policy, and check its parameters.

    Parameters
    ----------
    role
        One of :data:`ROLES`.
    wanted
        The keys of the policy: ``python`` and ``parameters``; ``folder`` if it has been loaded before.
    base
        The folder of the scenario.

    Returns
    -------
    Loaded or None
        A class; None for a function at an address, which the core calls.

    Raises
    ------
    ScenarioError
        If the module or class does not exist, a parameter is wrong, or the address is not of a known function.
    """
    known = wanted.get("folder")
    folders = [Path(known)] if known else list(dict.fromkeys([Path(base), Path.cwd()]))
    locations = [key for key in LOCATION_KEYS if wanted.get(key) is not None]
    if not locations:
        message = ": the class of a custom policy, such as my_module:MyPolicy"
        raise error_of(ScenarioError, [Fault("missing", message, path="python")])
    if len(locations) > 1:
        message = f": a policy has {' or '.join(locations)}, not both"
        raise error_of(ScenarioError, [Fault("conflict", message, path=locations[1])])
    compiled_only = [key for key in COMPILED_ONLY if wanted.get(key) is not None]
    if locations == ["python"]:
        if compiled_only:
            message = ": only for compiled policies; a Python class sets this in its code"
            raise error_of(ScenarioError, [Fault("conflict", message, path=compiled_only[0])])
        return _class_loaded(role, wanted, folders)
    require_alive(wanted["address"])
    return None


def find_class(named: str) -> object:
    """Return the object with a name such as ``my_module:MyPolicy``, from the working folder or Python's path.

    Parameters
    ----------
    named
        The name.

    Returns
    -------
    object
        The class or other object of this name; ``None`` if there is none, or if the text has another form.

    Raises
    ------
    ScenarioError
        If the module does not exist.
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
    found = call_with_timeout(
        f"the import of {match['module']}", IMPORT_S, lambda: _module(match["module"], folders, named)
    )
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
        make=lambda: parameters.instantiate(given),
        positioning=bool(getattr(kind, "positioning", False)),
        limit_s=limit_s,
        hooks=[name for name in ROLES[role].hooks if getattr(kind, name) is not getattr(ROLES[role].base, name)],
    )


def _limit_of(kind: type[Plugin], named: str) -> float:
    """Return the time limit of a call in seconds."""
    limit: object = kind.limit_s
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not limit > 0:
        message = f"{named}.limit_s is {limit!r}: expected seconds, a number above 0"
        raise make_error(ScenarioError, "wrong-type", message, path="python", value=named)
    return min(float(limit), LONGEST_S)


@dataclass(frozen=True)
class _Found:
    module: ModuleType
    folder: str | None
    source: str | None


_lock = threading.RLock()
#: Modules by file and content, so that an edited module is read again.
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
            message = f"no module {name}: not found as {places}, nor by Python"
            raise make_error(ScenarioError, "unreadable", message, path="python", value=named) from None
    file = getattr(module, "__file__", None)
    if name == MAIN or file is None:
        return _Found(module, None, None)
    inside = next((folder for folder in folders if Path(file).is_relative_to(folder.resolve())), None)
    return _Found(module, None if inside is None else str(inside.resolve()), _digest(Path(file).read_bytes()))


def _read(path: Path, name: str) -> tuple[ModuleType, str]:
    """Run the file of a module, unless its present content was run before: an import would keep the old content."""
    content = path.read_bytes()
    digest = _digest(content)
    with _lock:
        module = _modules.get((path, digest))
        if module is None:
            module = ModuleType(f"{name}@{digest[:12]}")
            module.__file__ = str(path)
            # Class definitions look up their module.
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
    """Import modules from these folders, too."""
    added = [str(folder.absolute()) for folder in folders if str(folder.absolute()) not in sys.path]
    sys.path[:0] = added
    try:
        yield
    finally:
        for folder in added:
            sys.path.remove(folder)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _source_of(kind: type[Plugin]) -> str | None:
    """Return the hash of the source of a class that is in no file, as in a notebook."""
    try:
        return _digest(inspect.getsource(kind).encode())
    except (OSError, TypeError):
        return None


def _class(role: str, module: ModuleType, name: str, named: str) -> type[Plugin]:
    base, public = ROLES[role].base, ROLES[role].public
    found = _named(module, name)
    if isinstance(found, type) and issubclass(found, base):
        return found
    if found is not None:
        message = f"{named} is no class made from {public}"
        raise make_error(ScenarioError, "wrong-type", message, path="python", value=named)
    classes = [key for key, value in vars(module).items() if isinstance(value, type) and issubclass(value, base)]
    stem = named.partition(":")[0]
    own = [f"{stem}:{key}" for key in classes if vars(module)[key] is not base]
    file = getattr(module, "__file__", None) or module.__name__
    raise make_error(ScenarioError, "unknown-name", f"no {name} in {file}", path="python", value=named, known=own)


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", protected_namespaces=(), arbitrary_types_allowed=True)


class _Parameters:
    """The parameters of a class: the arguments of its constructor."""

    def __init__(self, kind: type[Plugin]) -> None:
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
        """Return the parameters, with their defaults, or raise a ScenarioError."""
        try:
            return self._model.model_validate_json(json.dumps(given))
        except ValidationError as error:
            found = self._of_schema(given)
            raise error_of(ScenarioError, found + validator_faults(error, found)) from None

    def instantiate(self, values: BaseModel) -> Plugin:
        """Return an instance with a copy of the parameters."""
        copied = values.model_copy(deep=True)
        return self._kind(**{name: getattr(copied, name) for name in self._model.model_fields})

    def _of_schema(self, given: Mapping[str, Any]) -> list[Fault]:
        try:
            return _core.Schema(self._model.model_json_schema()).faults(dict(given))
        except PydanticInvalidForJsonSchema:
            # Types without a schema are checked by pydantic alone.
            return []


def _try(kind: type[Plugin], parameters: _Parameters, given: BaseModel) -> None:
    """Report parameters that the class rejects with ValueError."""
    try:
        parameters.instantiate(given)
    except ValueError as error:
        message = f"{kind.__name__} refuses its parameters: {error}"
        raise make_error(ScenarioError, "conflict", message, path="python", value=kind.__name__) from None
