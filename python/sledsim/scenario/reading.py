"""Reading of scenarios from files, texts, dictionaries and typed classes, which the core checks and completes."""

import json
import sys
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from sledsim import _core
from sledsim._core import ScenarioError
from sledsim.scenario.document_kinds import not_a_device, not_a_scenario
from sledsim.scenario.drawings.loading import load_drawing
from sledsim.scenario.folders import catalog_folders
from sledsim.scenario.texts import is_document, require_text, text_of
from sledsim.show.faults import brief, is_there, make_error
from sledsim.show.fitting import visible

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from sledsim.scenario.typed import Scenario

__all__ = [
    "Resolved",
    "ScenarioLike",
    "Sets",
    "Setting",
    "Written",
    "files_of",
    "from_argument",
    "plain_value",
    "resolve",
    "resolve_relative",
    "set_list",
    "toml_lines",
    "working_folder",
    "written",
]


#: A scenario as written, with its name in messages and the folder that its relative paths start from.
Written = _core.Written
#: A checked scenario with every key explicit and absolute paths.
Resolved = _core.Scenario
#: A scenario, its file or its text.
ScenarioLike = Union["Scenario", Resolved, Mapping[str, Any], Path, str]
#: A value that replaces one of a scenario: a text ``path=value``, or a path and a value.
Setting = str | tuple[str, Any]
#: Values that replace those of a scenario.
Sets = Iterable[str] | Mapping[str, Any]


def resolve(source: ScenarioLike | Written, sets: Sets = ()) -> Resolved:
    """Check a scenario and fill in its defaults.

    Parameters
    ----------
    source
        Anything :meth:`sledsim.Scenario.load` takes.
    sets
        Values that replace those of the scenario.

    Raises
    ------
    ScenarioError
        If the scenario is wrong.
    """
    settings = resolve_relative(sets)
    if isinstance(source, Resolved) and not settings:
        return source
    try:
        return (source if isinstance(source, Written) else written(source)).resolve(settings)
    except ScenarioError as error:
        raise not_a_device(not_a_scenario(error)) from None


def from_argument(name: str) -> "Path | str":
    """Return the source that an argument of the command line names: a file, or ``-`` for standard input."""
    return name if name in ("", "-") else Path(name)


def _is_typed(source: object) -> "TypeIs[Scenario]":
    """Return true for an instance of the class of scenarios, without loading it."""
    typed = sys.modules.get("sledsim.scenario.models.scenario")
    return typed is not None and isinstance(source, typed.ScenarioModel)


def _load_policy(*arguments: Any, **keywords: Any) -> Any:
    """Load a custom policy. Few scenarios have one, so the loader is imported at first use."""
    from sledsim.scenario.policy_loading import load

    return load(*arguments, **keywords)


def _require_known(source: object) -> None:
    """Raise if a value is not a scenario."""
    if not (_is_typed(source) or isinstance(source, Mapping | Path | str)):
        shown, is_whole = brief(source)
        message = (
            f"{type(source).__name__} {shown} is of the wrong type: expected the path of a file, a text, "
            "a dictionary or a Scenario"
        )
        raise make_error(ScenarioError, "wrong-type", message, value=source if is_whole else shown, file="scenario")


def written(source: ScenarioLike) -> Written:
    """Read a scenario, without settings and defaults.

    Parameters
    ----------
    source
        Anything :meth:`Scenario.load` takes.

    Raises
    ------
    ScenarioError
        If the file does not exist or is empty.
    """
    if isinstance(source, Resolved):
        source = source.values
    _require_known(source)
    catalog = catalog_folders()
    if _is_typed(source) or isinstance(source, Mapping):
        values = source.to_dict() if _is_typed(source) else dict(source)
        base_dir = working_folder()
        return Written(
            values, name="scenario", base_dir=base_dir, catalog=catalog, policies=_load_policy, drawings=load_drawing
        )
    text, notation, name, base_dir = text_of(source, "scenario")
    return Written(
        text,
        format=notation,
        name=name,
        base_dir=base_dir,
        catalog=catalog,
        policies=_load_policy,
        drawings=load_drawing,
    )


def working_folder() -> str:
    """Return the folder from which relative paths start in scenarios that are not files."""
    return str(Path.cwd())


def plain_value(value: Any) -> Any:
    """Convert a Python value in a scenario to a value of JSON.

    Parameters
    ----------
    value
        A path, a length of time, an array or a number of NumPy, a class, a trace, a device or a design, or an object
        with a method ``to_dict``.
    """
    if isinstance(value, type):
        return f"{value.__module__}:{value.__qualname__}"
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, timedelta):
        return f"{value.total_seconds()!r} s"
    for plain in ("_in_scenario", "to_dict", "tolist"):
        if hasattr(value, plain):
            return getattr(value, plain)()
    raise TypeError(f"{type(value).__name__} {value!r} has no place in a scenario")


def files_of(resolved: Resolved) -> list[Path]:
    """List the files that a scenario names: its traces, and those of its devices and workloads.

    Parameters
    ----------
    resolved
        The scenario; the paths in it are absolute.
    """
    found = list[Path]()
    values: list[Any] = [resolved.values]
    while values:
        value = values.pop()
        if isinstance(value, str) and Path(value).is_absolute() and is_there(Path(value)):
            found.append(Path(value))
        elif isinstance(value, Mapping | list):
            values += value.values() if isinstance(value, Mapping) else value
    return found


def set_list(sets: Sets) -> list[str]:
    """Convert overrides to texts ``path=value``, the value written as in TOML.

    Parameters
    ----------
    sets
        Texts of that form, or values by path.
    """
    if isinstance(sets, str):
        settings = [sets]
    elif isinstance(sets, Mapping):
        settings = [_setting(path, value) for path, value in sets.items()]
    else:
        try:
            settings = list(sets)
        except TypeError:
            message = (
                f"overrides: expected texts PATH=VALUE, or values by path, not {type(sets).__name__} {brief(sets)[0]}"
            )
            raise make_error(ScenarioError, "wrong-type", message, path="overrides") from None
    require_text(*settings)
    return settings


def resolve_relative(sets: Sets) -> list[str]:
    """Convert overrides to texts ``path=value``; the files that they name are relative to the working folder.

    Parameters
    ----------
    sets
        As for :func:`set_list`. The path of a missing file stays relative to the scenario's folder.
    """
    return [_found(each) for each in set_list(sets)]


def _found(setting: str) -> str:
    path, _, value = setting.partition("=")
    name = value.strip().strip("\"'")
    if is_document(name) and Path(name).is_file():
        return f"{path}={json.dumps(str(Path(name).absolute()), ensure_ascii=False)}"
    return setting


def toml_lines(key: str, value: Any) -> list[str]:
    """Write a key as a TOML file has it: a list of tables with a line for each.

    Parameters
    ----------
    key
        The key.
    value
        Its value.
    """
    if isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value):
        return [f"{key} = [", *(f"  {_toml(item)}," for item in value), "]"]
    return [f"{key} = {_toml(value)}"]


def _setting(path: str, value: Any) -> str:
    try:
        return f"{path}={_toml(value)}"
    except (TypeError, ValueError, RecursionError) as error:
        raise make_error(ScenarioError, "wrong-type", f"{visible(str(path))}: {error}", path=str(path)) from None


def _toml(value: Any) -> str:
    if hasattr(value, "_in_scenario") or hasattr(value, "to_dict"):
        return _toml(plain_value(value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(value, default=plain_value, ensure_ascii=False)
