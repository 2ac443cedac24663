"""Scenarios read: from a file, a text, a dictionary or typed classes; the core checks them and fills in defaults."""

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

from sledsim import _core
from sledsim._core import ScenarioError
from sledsim.scenario.document_kinds import not_a_device, not_a_scenario
from sledsim.scenario.drawings.loading import load_drawing
from sledsim.scenario.folders import catalog_folders
from sledsim.scenario.models.scenario import ScenarioModel
from sledsim.scenario.policy_loading import load
from sledsim.scenario.texts import is_document, require_text, text_of
from sledsim.show.faults import brief, is_there, make_error
from sledsim.show.fitting import visible

__all__ = [
    "Resolved",
    "Scenario",
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


class Scenario(ScenarioModel):
    """The one description of a run: workload, system, and what is measured.

    Examples
    --------
    >>> from sledsim.scenario.models import AsptfScheduler, DriveSystem, PoissonArrival, Run, SyntheticWorkload
    >>> scenario = Scenario(
    ...     workload=SyntheticWorkload(arrival=PoissonArrival(rate_per_s=500.0), read_fraction=0.67),
    ...     system=DriveSystem(device="g2", scheduler=AsptfScheduler(weight=0.01)),
    ...     run=Run(requests=10_000),
    ... )
    >>> scenario.resolve()["system"]["device"]["bit_nm"]
    40.0
    """

    @classmethod
    def load(cls, source: "ScenarioLike", *, overrides: "Sets" = ()) -> Self:
        """Read a scenario and fill in every default.

        Parameters
        ----------
        source
            A file (TOML, YAML or JSON), ``"-"`` for standard input, a text of several lines, a dictionary,
            or another scenario.
        overrides
            Values that replace those of the scenario: ``["device.settle_constants=0"]`` or a dictionary.

        Raises
        ------
        ScenarioError
            Where the scenario is wrong: names the file, the key, the value and what is allowed.
        """
        return cls(**resolve(source, overrides).values)

    def resolve(self, *, overrides: "Sets" = ()) -> dict[str, Any]:
        """Return the scenario with every key explicit; running that gives the same result."""
        return resolve(self, overrides).values

    def to_json(self) -> str:
        """Return the keys that were given, as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)


#: A scenario as written; what messages call it, and the folder from which its relative paths start, go with it.
Written = _core.Written
#: A scenario with every key explicit, checked, its paths absolute.
Resolved = _core.Scenario
#: A scenario, its file or its text.
ScenarioLike = Scenario | Resolved | Mapping[str, Any] | Path | str
#: A value that replaces one of a scenario: a text ``path=value``, or a path and a value.
Setting = str | tuple[str, Any]
#: Values that replace those of a scenario.
Sets = Iterable[str] | Mapping[str, Any]


def resolve(source: ScenarioLike | Written, sets: Sets = ()) -> Resolved:
    """Have the core check a scenario and fill in its defaults.

    Parameters
    ----------
    source
        Anything :meth:`Scenario.load` takes.
    sets
        Values that replace those of the scenario.

    Raises
    ------
    ScenarioError
        Where the scenario is wrong.
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


def _require_known(source: object) -> None:
    """Raise for a value that is no scenario."""
    if not isinstance(source, ScenarioModel | Mapping | Path | str):
        shown, is_whole = brief(source)
        says = (
            f"{type(source).__name__} {shown} is of the wrong type: expected the path of a file, a text, "
            "a dictionary or a Scenario"
        )
        raise make_error(ScenarioError, "wrong-type", says, value=source if is_whole else shown, file="scenario")


def written(source: ScenarioLike) -> Written:
    """Read a scenario, without settings and defaults.

    Parameters
    ----------
    source
        Anything :meth:`Scenario.load` takes.

    Raises
    ------
    ScenarioError
        Where there is no such file, or nothing in it.
    """
    if isinstance(source, Resolved):
        source = source.values
    _require_known(source)
    catalog = catalog_folders()
    if isinstance(source, ScenarioModel | Mapping):
        values = source.to_dict() if isinstance(source, ScenarioModel) else dict(source)
        return Written(
            values, name="scenario", base_dir=working_folder(), catalog=catalog, policies=load, drawings=load_drawing
        )
    text, notation, name, base_dir = text_of(source, "scenario")
    return Written(
        text, format=notation, name=name, base_dir=base_dir, catalog=catalog, policies=load, drawings=load_drawing
    )


def working_folder() -> str:
    """Return the folder from which the relative paths of what is no file start."""
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
            says = (
                f"overrides: expected texts PATH=VALUE, or values by path, not {type(sets).__name__} {brief(sets)[0]}"
            )
            raise make_error(ScenarioError, "wrong-type", says, path="overrides") from None
    require_text(*settings)
    return settings


def resolve_relative(sets: Sets) -> list[str]:
    """Convert overrides to texts ``path=value``; the files that they name are relative to the working folder.

    Parameters
    ----------
    sets
        As for :func:`set_list`. A file that is not there is left to the scenario's folder.
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
