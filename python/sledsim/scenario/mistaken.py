"""A document that is taken for one of another kind: told in one sentence, with the command that takes it."""

from collections.abc import Collection

from sledsim._core import Fault, ScenarioError, error_of

__all__ = ["kind_of", "not_a_scenario"]

#: What a document is, the command that takes it, and keys at its top that only such a one has.
KINDS = (
    ("a scenario", "run", ("workload", "system")),
    ("a sweep", "sweep run", ("axes",)),
    ("a search", "optimise", ("parameters", "objectives")),
    ("a description of an enclosure", "reliability", ("enclosure",)),
    ("a role", "specificity", ("role",)),
    ("a comparison of caches", "cost", ("mems_bytes",)),
    ("a comparison of caches", "cost", ("nvram_prices_per_gb",)),
    ("a comparison of caches", "cost", ("ratios",)),
)
#: Keys that several kinds have.
SHARED = {"scenario", "overrides", "name", "seed", "replications", "device"}


def kind_of(keys: Collection[str], known: Collection[str] = ()) -> tuple[str, str] | None:
    """Return what a document is by its keys: the key that tells, and a sentence; nothing where they do not tell.

    Parameters
    ----------
    keys
        The keys at its top.
    known
        Keys of what it is taken for, which tell nothing; one that no other kind has says that it is that.
    """
    if any(key in known and key not in SHARED for key in keys):
        return None
    for what, command, marks in KINDS:
        if all(mark in keys for mark in marks) and marks[0] not in known:
            return marks[0], f": this is {what}, which `sledsim {command}` takes"
    return None


def not_a_scenario(error: ScenarioError) -> ScenarioError:
    """Say in one sentence what a document is that is no scenario; return the error itself where that can't be told.

    Parameters
    ----------
    error
        What is wrong with it as a scenario.
    """
    wrong = [fault for fault in error.faults if fault.kind == "unknown-key" and fault.setting is None]
    unknown = {fault.path: fault for fault in wrong if fault.path}
    lacks = {fault.path for fault in error.faults if fault.kind == "missing"}
    found = kind_of(unknown) if {"workload", "system"} <= lacks else None
    if not found:
        return error
    key, says = found
    place = unknown[key]
    whole = f"{says}; a scenario has [workload] and [system]"
    return error_of(ScenarioError, [Fault("unknown-key", whole, path=key, file=place.file, line=place.line)])
