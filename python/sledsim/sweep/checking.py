"""Validation of the values of axes before a sweep runs; each fault names the axis that causes it."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sledsim import _core
from sledsim._core import Fault, ScenarioError, SledsimError
from sledsim.scenario.reading import Resolved, Setting, Written
from sledsim.scenario.source import Source
from sledsim.show.faults import facts_of, with_facts
from sledsim.sweep.axes import Assignment

__all__ = ["Checks", "beside", "order_settings", "own_path"]

#: Approximate maximum number of values of a group that are checked.
MOST_CHECKED = 200

#: Faults by kind, path and axis, which identify a fault.
Found = dict[tuple[str, str | None, str | None], Fault]


def own_path(path: str) -> str:
    """Return a path of the base scenario without the optional prefixes ``scenario.`` and ``system.``."""
    return path.strip().removeprefix("scenario.").removeprefix("system.")


def order_settings(settings: Sequence[Setting]) -> list[Setting]:
    """Return settings in the order in which they replace values: tables before the keys in them.

    Parameters
    ----------
    settings
        The settings.
    """

    def depth(setting: Setting) -> int:
        path = setting.partition("=")[0] if isinstance(setting, str) else setting[0]
        return own_path(path).count(".")

    return sorted(settings, key=depth)


@dataclass(frozen=True)
class Checks:
    """Checks the values of axes by resolving the scenario with them.

    Parameters
    ----------
    base
        The scenario.
    settings
        Returns the settings of a point.
    key
        Returns the key of an axis, or of one of its values by number, in the sweep's document.
    located
        Adds the location of its key in that document to a fault.
    """

    base: Written
    settings: Callable[[Assignment], list[Setting]]
    key: Callable[[str, int | None], str]
    located: Callable[[Fault], Fault]

    def first(self, groups: Sequence[Sequence[Assignment]]) -> Resolved:
        """Resolve the first point of crossed groups."""
        return _raise_if_any(*self._try(_merge_groups(groups, 0), {}, {}))

    def every(self, groups: Sequence[Sequence[Assignment]]) -> Resolved:
        """Resolve the first point of crossed groups, and each value combined with the first values of other groups.

        A value with faults may be valid with other values. It is tried again with the last valid value of each group,
        and with the last values if their point is valid; only faults that occur in all cases are raised.
        """
        first, valid, last = _merge_groups(groups, 0), _merge_groups(groups, 0), _merge_groups(groups, -1)
        scenario, before = self._try(first, {}, {})
        suspects: list[tuple[Assignment, dict[str, int], Found]] = []
        for group in groups:
            for i in range(1, len(group), max(1, len(group) // MOST_CHECKED)):
                values, numbers = group[i], dict.fromkeys(group[i], i)
                found = self._try(first | values, numbers, before)[1]
                if found.keys() <= before.keys():
                    valid |= values
                else:
                    suspects.append((values, numbers, found))
        known = dict(before)
        others = [valid, last] if suspects and self._try(last, {}, {})[0] else [valid]
        for values, numbers, found in suspects:
            still = [self._try(other | values, numbers, before)[1] for other in others]
            for each in found:
                if all(each in every for every in still):
                    known.setdefault(each, found[each])
        return _raise_if_any(scenario, known)

    def _try(self, values: Assignment, numbers: Mapping[str, int], before: Found) -> tuple[Resolved | None, Found]:
        """Resolve a point and return its faults; ``numbers`` has the indices of the checked values of axes."""
        try:
            resolved = self.base.resolve(self.settings(values))
            if resolved.values["workload"]["kind"] == "session":
                # A session has no requests, so that the core rejects the run.
                _core.run(resolved)
            return resolved, {}
        except ScenarioError as error:
            found: Found = {}
            for fault in error.faults:
                axis = _axis_of(fault, values, numbers)
                if axis is None and len(numbers) == 1 and (fault.kind, fault.path, None) not in before:
                    # A fault caused by this value without being located at it, such as a key of another kind.
                    (axis,) = numbers
                key, named = None, self.located(fault)
                if axis is not None:
                    key, named = self._of_axis(fault, axis, numbers.get(axis, 0), values[axis])
                found.setdefault((fault.kind, fault.path, key), named)
            return None, found

    def _of_axis(self, fault: Fault, axis: str, number: int, value: Any) -> tuple[str, Fault]:
        """Return the key of an axis, and the fault relocated from the scenario's file to that key."""
        below = _below(own_path(fault.path or ""), own_path(axis))
        unknown = fault.kind == "unknown-key" and _below(own_path(axis), own_path(fault.path or "")) is not None
        key = self.key(axis, None if unknown else number)
        at = self.located(Fault("conflict", path=key))
        place = {"setting": at.setting, "file": at.file, "line": at.line}
        if unknown:
            table = own_path(axis).rpartition(".")[0]
            if fault.suggestion and "drawing" in table.split("."):
                # The values of a resolved scenario have no drawing; the drawing has the nearest key.
                nearest: str | None = f"{table}.{fault.suggestion}"
            else:
                nearest = self._nearest(axis) or fault.suggestion
            return key, with_facts(fault, path=key.split("."), suggestion=nearest, **place)
        within = isinstance(value, Mapping | list)
        if facts_of(fault)["location"]["used_by"] is None:
            if below is not None and (within or below in ([], ["name"])):
                return key, with_facts(fault, path=[*key.split("."), *(below if within else [])], **place)
            fault = with_facts(fault, **place)
        kind = "parameter" if key.startswith("parameters.") else "axis"
        return key, fault.about(f"{kind} {axis!r} = {json.dumps(value)}")

    def _nearest(self, axis: str) -> str | None:
        """Return the parameter with the name most similar to that of an axis."""
        try:
            values = self.base.resolve(self.settings({})).values
        except SledsimError:
            return None
        known = [own_path(each) for each in _leaf_paths(values)]
        # Prefer names that contain the given one to other similar names.
        last = axis.strip().rpartition(".")[2]
        longer = [each for each in known if last in each.rpartition(".")[2]]
        return next(iter(_core.most_like(own_path(axis), longer or known, 1)), None)


def beside(
    source: Source,
    settings: Sequence[str],
    groups: Sequence[Sequence[Assignment]],
    key: Callable[[str, int | None], str],
    untried: Iterable[str],
) -> list[Fault]:
    """Return the faults of a document's base scenario and of its valid axes, if other axes are invalid.

    Parameters
    ----------
    source
        The source of the document.
    settings
        Values that replace those of the scenario.
    groups
        Assignments of each valid axis.
    key
        As for :class:`Checks`.
    untried
        Paths of the invalid axes. Faults that may depend on them are left out.
    """
    try:
        base = source.written(source.scenario("scenario"), "scenario")
        Checks(base, lambda values: order_settings([*settings, *values.items()]), key, source.located).every(groups)
    except SledsimError as error:
        missing = [_changed_path(path.strip().removeprefix("scenario.")) for path in untried]
        return [fault for fault in error.faults if not any(_may_depend(fault, path) for path in missing)]
    return []


def _changed_path(path: str) -> str:
    """Return the path of the part of a scenario that an axis changes: for a kind or name, the whole table."""
    table, _, key = path.rpartition(".")
    return (table or "system") if key in ("kind", "name", "mechanism") else path


def _may_depend(fault: Fault, path: str) -> bool:
    """Return true if a fault may depend on the value at a path."""
    keys = [key.removeprefix("scenario.") for key in fault.keys]
    return any(_meet(own_path(path), own_path(key)) or _meet(path, key) for key in keys)


def _raise_if_any(scenario: Resolved | None, found: Found) -> Resolved:
    """Return the scenario, or raise an error with the faults if there are any."""
    if scenario is None or found:
        raise _core.error_of(ScenarioError, list(found.values()))
    return scenario


def _merge_groups(groups: Sequence[Sequence[Assignment]], number: int) -> Assignment:
    return {path: value for group in groups for path, value in group[number].items()}


def _axis_of(fault: Fault, values: Assignment, numbers: Mapping[str, int]) -> str | None:
    """Return the axis at or above the path of a fault; else an axis related to a key in its message."""
    own = [axis for axis in values if _below(own_path(fault.path or ""), own_path(axis)) is not None]
    keys = [own_path(key) for key in fault.keys]
    meeting = [axis for axis in (*numbers, *values) if any(_meet(own_path(axis), key) for key in keys)]
    return max(own, key=len) if own else next(iter(meeting), None)


def _below(path: str, axis: str) -> list[str] | None:
    """Return the keys of a path below an axis; ``None`` if it is not below the axis."""
    return f"{path}.".removeprefix(f"{axis}.").split(".")[:-1] if f"{path}.".startswith(f"{axis}.") else None


def _meet(axis: str, key: str) -> bool:
    """Return true if one of two paths is equal to or below the other."""
    return f"{axis}.".startswith(f"{key}.") or f"{key}.".startswith(f"{axis}.")


def _leaf_paths(values: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for key, value in values.items():
        yield f"{before}{key}"
        if isinstance(value, Mapping):
            yield from _leaf_paths(value, f"{before}{key}.")
