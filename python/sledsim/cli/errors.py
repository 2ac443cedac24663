"""Errors of the package in terms of the command line: options instead of keys, and commands that would work."""

import json
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sledsim.cli.streams import write

if TYPE_CHECKING:
    from sledsim._core import Fault, SledsimError
    from sledsim.show.faults import Words

__all__ = [
    "device_with_room",
    "key_formatter",
    "name_and_form",
    "option_hint",
    "print_suggestions",
    "usage_error",
    "with_options",
]


def print_suggestions(typed: Sequence[str], options: Iterable[str], command: Any) -> None:
    """Print commands that would work instead of the one that failed.

    Parameters
    ----------
    typed
        The arguments of the failed command, without the program's name.
    options
        Options that would fix it, one for each suggestion.
    command
        The command that was called.
    """
    forms = {form: parameter.opts for parameter in command.params for form in parameter.opts}
    commands = [
        f"  {shlex.join(['sledsim', *_without(forms.get(name, [name]), _without_settings(name, typed))])} {option}"
        for option in options
        if (name := option.split()[0]).startswith("--")
    ]
    # Standard input has been read and cannot be read again.
    if commands and "-" not in typed:
        write("\n".join([f"to go on, {'one of' if len(commands) > 1 else 'with'}:", *commands]), err=True)


def _without_settings(option: str, typed: Sequence[str]) -> list[str]:
    """Return arguments without settings of the key that an option sets: ``--set workload.mode=closed`` for --mode."""
    key, kept = option.removeprefix("--").replace("-", "_"), list[str]()
    for word in typed:
        setting = word.removeprefix("--set=")
        is_attached = setting != word
        is_setting = is_attached or kept[-1:] in (["--set"], ["-s"])
        if not is_setting or setting.partition("=")[0].rpartition(".")[2] != key:
            kept.append(word)
        elif not is_attached:
            kept.pop()
    return kept


def _without(forms: Sequence[str], typed: Sequence[str]) -> list[str]:
    """Return arguments without an option, in any of its forms; ``--set`` and ``--column`` are repeatable and stay."""
    if "--set" in forms or "--column" in forms:
        return list(typed)
    # A value may be attached: --device=g2, -dg2.
    attached = tuple(f"{form}=" if form.startswith("--") else form for form in forms)
    kept, is_value = list[str](), False
    for word in typed:
        if not is_value and word not in forms and not word.startswith(attached):
            kept.append(word)
        is_value = word in forms and not is_value
    return kept


#: Keys of a replay that are set with ``--set``; some are options of other commands that read traces.
KEYS_OF_REPLAY = ("start_s", "end_s", "first_record", "repeat", "sector_bytes", "event", "time_unit")


def option_hint(option: str | None, command: Any) -> str | None:
    """Return the setting to write instead of an option that `replay` does not have; ``None`` if there is none.

    Parameters
    ----------
    option
        The option that was typed.
    command
        The command that was called; ``None`` if none was.
    """
    key = (option or "").lstrip("-").replace("-", "_")
    if command is None or command.name != "replay" or key not in KEYS_OF_REPLAY:
        return None
    return f"No such option: {option}; write --set workload.{key}=VALUE instead"


def usage_error(error: Any) -> str:
    """Return the message of a wrong option or argument, which starts with its name: ``--trials 0 is out of range``.

    Parameters
    ----------
    error
        The error of Typer.
    """
    from typer import BadParameter

    parameter: Any = getattr(error, "param", None)
    hint = getattr(error, "param_hint", None)
    if not isinstance(error, BadParameter) or (parameter is None and hint is None):
        return str(error.format_message())
    if type(error) is not BadParameter:
        # The subclass for missing arguments.
        return f"{parameter.metavar or name_and_form(parameter)[1]} is missing: {str(parameter.help).rstrip('.')}"
    form = str(hint or name_and_form(parameter)[1])
    # Typer converts numbers with pydantic.
    cause: Any = error.__cause__
    faults = cause.errors() if hasattr(cause, "errors") else [{"type": None}]
    return _number_message(form, faults[0]) or f"{form}: {error.message}"


def _number_message(form: str, fault: dict[str, Any]) -> str | None:
    """Return the message for a number that pydantic did not accept; ``None`` for other faults."""
    from sledsim._core import SledsimError
    from sledsim.show.faults import make_error

    kind: str | None = fault["type"]
    typed: Any = fault.get("input")
    if kind in ("int_parsing", "int_parsing_size", "float_parsing"):
        allowed: dict[str, object] = {"whole": kind != "float_parsing"}
        return str(make_error(SledsimError, "wrong-type", path=form, value=typed, allowed=allowed))
    bounds = {"greater_than_equal": ("least", "ge"), "less_than_equal": ("most", "le")}
    if kind not in bounds:
        return None
    name, key = bounds[kind]
    bound = fault["ctx"][key]
    value = int(typed) if isinstance(bound, int) else float(typed)
    allowed = {name: bound, "whole": isinstance(bound, int)}
    return str(make_error(SledsimError, "out-of-range", path=form, value=value, allowed=allowed))


def device_with_room(error: "SledsimError") -> list[tuple[str, Any]]:
    """Return a larger device as a suggestion (key, value) if a trace does not fit the chosen one."""
    needed = [
        fault.allowed["least"]
        for fault in error.faults
        if fault.kind == "misfit"
        and fault.path is None
        and isinstance(fault.allowed, dict)
        and fault.allowed.get("least")
    ]
    if not needed:
        return []
    from sledsim.devices.entries import with_room

    name = with_room(max(needed))
    return [("device", name)] if name else []


def key_formatter(command: Any) -> "Words":
    """Return a function that formats a key and value for the command line: an option of the command, or ``--set``.

    Parameters
    ----------
    command
        The command that was called.
    """
    options = {name: form for name, form in _forms(command).items() if form.startswith("--")}

    def formatted(path: str, value: Any) -> str:
        text = "" if value is None else shlex.quote(value if isinstance(value, str) else json.dumps(value))
        name = path.removeprefix("workload.")
        if name in options and value is True:
            return options[name]
        if name in options and path != "overrides":
            # Options take a list of numbers with commas.
            numbers = ",".join(map(str, value)) if isinstance(value, list) else text
            return f"{options[name]} {numbers}".rstrip()
        table, _, key = name.rpartition(".")
        if table == "columns" and table in options:
            return f"{options[table]} {key}={text or 'VALUE'}"
        if path == "overrides" and "set" in options:
            return f"--set {text}".rstrip()
        if "set" in options and text:
            if "." in path or path in TOP_LEVEL_KEYS:
                return f"--set {path}={text}"
            if "columns" in options:
                # `replay`: a reader of traces names its keys without their table.
                return f"--set workload.{path}={text}"
        return f"{path} = {text}" if text else path

    return formatted


#: Keys of a scenario outside its tables that errors suggest.
TOP_LEVEL_KEYS = ("accept_missing",)


def with_options(error: "SledsimError", command: Any) -> "SledsimError":
    """Return an error whose faults name the options and arguments of a command instead of keys.

    Faults in a file keep the file, line and key, and faults of ``--set`` keep the setting.

    Parameters
    ----------
    error
        The error.
    command
        The command that was called.
    """
    from sledsim._core import error_of
    from sledsim.show.faults import make_error, with_facts

    forms = _forms(command)

    def option_of(path: str) -> str | None:
        steps = path.split(".")
        # A command that takes a device or system puts it at this place of the scenario.
        while len(steps) > 1 and steps[-1] in ("name", "device") and ("system" in forms or steps[-1] not in forms):
            steps.pop()
        # An element of a list of numbers.
        if len(steps) > 1 and steps[-1].isdigit():
            steps.pop()
        outer = set(steps[:-1]) - {"workload", "system", "device", "child"}
        return None if outer else forms.get(steps[-1])

    def converted(fault: "Fault") -> "Fault":
        if fault.path is None:
            return fault
        if fault.setting is None and fault.file not in (None, "scenario"):
            # A fault of a trace names the trace, but options say how to read it.
            option = option_of(fault.path) if "columns" in forms else None
            return with_facts(fault, path=[option]) if option else fault
        key = fault.path if fault.setting is None else fault.setting.partition("=")[0]
        if nested := _with_nested_key(fault):
            return nested
        outer, _, last = fault.path.rpartition(".")
        if fault.kind == "unknown-key" and outer == "run.precision" and "precision" in forms:
            message = f": {json.dumps(last)} is not known"
            known = [key.replace("99_9", "99.9") for key in fault.allowed if key != "control_variates"]
            known += ["difference"] * (command.name == "compare")
            return make_error(type(error), "unknown-name", message, path="--precision", value=last, known=known).faults[
                0
            ]
        # `replay` passes its options as settings.
        if fault.setting is not None and command.name != "replay":
            return fault
        if fault.kind == "unknown-key" and (option := option_of(outer) or forms.get("parameter")):
            # An option that takes KEY=VALUE, with an unknown KEY; the name of a policy is not such a key.
            known = [key for key in fault.allowed if key != "name"]
            message = f": {json.dumps(last)} is not known"
            listed = "" if known else "there are no parameters"
            return make_error(
                type(error), "unknown-name", message, path=option, value=last, known=known, listed=listed
            ).faults[0]
        option = option_of(key)
        return fault if option is None else _with_options_in_text(fault.of_option(option), option_of)

    return error_of(type(error), [converted(fault) for fault in error.faults]) if error.faults else error


def _with_nested_key(fault: "Fault") -> "Fault | None":
    """Return the fault of a setting with an unknown key that an inner table has; ``None`` for other faults."""
    from sledsim._core import SledsimError
    from sledsim.show.faults import make_error

    if fault.setting is None or fault.kind != "unknown-key" or fault.suggestion or "workload" not in fault.allowed:
        return None
    key, equals, value = fault.setting.partition("=")
    inner = _nested_key(key)
    if inner in (None, key):
        return None
    message = f"--set {fault.setting}: unknown key {key}; did you mean {inner}{equals}{value}?"
    [nested] = make_error(SledsimError, "unknown-key", message, suggestion=inner).faults
    return nested


def _nested_key(name: str) -> str | None:
    """Return the shortest path to a key of this name in the tables of a scenario; ``None`` if there is none."""
    from sledsim._core import schema

    document = schema(document=True)
    tables: list[tuple[str, Any]] = [("", document)]
    visited = set[str]()
    for path, table in tables:
        reference = table.get("$ref")
        if reference is not None and reference not in visited:
            visited.add(reference)
            tables.append((path, document["$defs"][reference.rpartition("/")[2]]))
        for kind in ("anyOf", "oneOf"):
            tables += [(path, option) for option in table.get(kind, ())]
        for key, value in table.get("properties", {}).items():
            if key == name:
                return f"{path}{key}".removeprefix("system.")
            if isinstance(value, dict):
                tables.append((f"{path}{key}.", value))
    return None


def _with_options_in_text(fault: "Fault", option_of: "Callable[[str], str | None]") -> "Fault":
    """Return a fault whose message names options instead of the other keys that it mentions."""
    from sledsim.show.faults import facts_of, with_facts

    def converted(word: dict[str, Any]) -> dict[str, Any]:
        path, value = word.get("key", ([], None))
        option = option_of(".".join(path)) if path else None
        return {"text": f"{option} {value:g}" if isinstance(value, float) else f"{option} {value}"} if option else word

    return with_facts(fault, message=[converted(word) for word in facts_of(fault)["message"]])


def _forms(command: Any) -> dict[str, str]:
    """Return how each option and argument of a command is written, by its name on the command line and in Python."""
    forms: dict[str, str] = {}
    for parameter in command.params:
        name, form = name_and_form(parameter)
        forms |= dict.fromkeys((parameter.name, name), form)
    # A key in bytes may have an option that takes a size with a unit.
    return {f"{name.removesuffix('_size')}_bytes": form for name, form in forms.items()} | forms


def name_and_form(parameter: Any) -> tuple[str, str]:
    """Return the name of an option or argument with underscores, and its form: ``--page-bytes`` or ``FILE``."""
    longest = max(parameter.opts, key=len)
    return longest.lstrip("-").replace("-", "_"), longest if longest.startswith("--") else longest.upper()
