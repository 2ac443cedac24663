"""The kind of a document, recognised by its keys."""

from collections.abc import Collection

from sledsim._core import Fault, ScenarioError, error_of

__all__ = ["kind_of", "not_a_device", "not_a_scenario"]

#: Kinds of documents: name, the command that takes it, and keys at its top that no other kind has.
KINDS = (
    ("a scenario", "run", ("workload", "system")),
    ("a sweep", "sweep run", ("axes",)),
    ("a search", "optimise", ("parameters", "objectives")),
    ("a description of an enclosure", "reliability", ("enclosure",)),
    ("a role", "role-test", ("role",)),
    ("a lesson", "explore --lesson", ("steps",)),
    ("a drawing", "design", ("drawing",)),
    ("a device file", "device", ("mechanism",)),
    ("a comparison of caches", "cost", ("mems_bytes",)),
    ("a comparison of caches", "cost", ("nvram_prices_per_gb",)),
    ("a comparison of caches", "cost", ("ratios",)),
)
#: Keys that several kinds have.
SHARED = {"scenario", "overrides", "name", "seed", "replications", "device"}


def kind_of(keys: Collection[str], known: Collection[str] = ()) -> tuple[str, str] | None:
    """Return the key that identifies the kind of a document and a sentence that names it, or ``None``.

    Parameters
    ----------
    keys
        The keys at its top.
    known
        Keys of the expected kind. A document with one of them that no other kind has is of the expected kind.
    """
    if any(key in known and key not in SHARED for key in keys):
        return None
    for name, command, marks in KINDS:
        if all(mark in keys for mark in marks) and marks[0] not in known:
            return marks[0], f": this is {name}, which `sledsim {command}` takes"
    return None


def not_a_scenario(error: ScenarioError) -> ScenarioError:
    """Return an error that names the kind of a document that was read as a scenario, or the error itself.

    Parameters
    ----------
    error
        The error of the scenario.
    """
    wrong = [fault for fault in error.faults if fault.kind == "unknown-key" and fault.setting is None]
    unknown = {fault.path: fault for fault in wrong if fault.path}
    lacks = {fault.path for fault in error.faults if fault.kind == "missing"}
    found = kind_of(unknown) if {"workload", "system"} <= lacks else None
    if not found:
        moved = [_in_system(fault) if fault in wrong else fault for fault in error.faults]
        return error_of(ScenarioError, moved) if moved != list(error.faults) else error
    key, message = found
    at = unknown[key]
    sentence = f"{message}; a scenario has [workload] and [system]"
    return error_of(ScenarioError, [Fault("unknown-key", sentence, path=key, file=at.file, line=at.line)])


def not_a_device(error: ScenarioError) -> ScenarioError:
    """Return an error that names the kind of a document that was read as a device file, or the error itself.

    Parameters
    ----------
    error
        The error of the device.
    """
    unknown = {fault.path: fault for fault in error.faults if fault.kind == "unknown-key" and fault.path and fault.file}
    lacks = {fault.path for fault in error.faults if fault.kind == "missing"}
    found = kind_of(unknown) if {"mechanism", "values"} <= lacks else None
    if not found:
        return error
    key, message = found
    at = unknown[key]
    sentence = f"{message}; a device file has a mechanism and [values]"
    return error_of(ScenarioError, [Fault("unknown-key", sentence, path=key, file=at.file, line=at.line)])


def _in_system(fault: Fault) -> Fault:
    """Return the fault of an unknown key with the table it belongs to, if that is the system's."""
    if fault.path not in {"device", "scheduler"}:
        return fault
    message = f": unknown key at the top of a scenario: did you mean system.{fault.path}?"
    suggestion = f"system.{fault.path}"
    return Fault("unknown-key", message, path=fault.path, suggestion=suggestion, file=fault.file, line=fault.line)
